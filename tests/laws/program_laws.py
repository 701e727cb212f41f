"""Laws of compiled functions: a program does what the calls did that it was traced from."""

import warnings

import numpy as np

import lucidgrad as lg

from .law import call, fixed_shapes, law, live, seeds_for, tensors, wanted, ways_of_programs


def _other(array):
    """The same values in another order: a program that has some of them built in shows it."""
    return np.ascontiguousarray(array.reshape(-1)[::-1].reshape(array.shape))


def _outcome(function, primitive, sample, where):
    """Values of the outputs, and gradients by the inputs that have some; None where the call is refused."""
    args = tensors(primitive, sample, where)
    xs = [args[i] for i in wanted(primitive, sample)]
    outputs = function(*args)
    growing = live(outputs)
    found = [y.detach().numpy(force=True) for y in outputs]
    if growing and xs:
        seeds = [lg.asarray(g, device=where) for g in seeds_for(growing)]
        grads = lg.autograd.grad(growing, xs, seeds, allow_unused=True)
        found += [None if g is None else g.numpy(force=True) for g in grads]
    return found


def _expected(function, primitive, sample, where):
    """The same, or None: values in another order may be no arguments that the primitive takes."""
    try:
        return _outcome(function, primitive, sample, where)
    except (ValueError, RuntimeError, IndexError, np.linalg.LinAlgError):
        return None


def _same(found, expected, what):
    """The same but for last bits: where a rule runs as one kernel or as several is not the same to the bit."""
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None), what
        if a is not None:
            assert (a.shape, a.dtype) == (b.shape, b.dtype), what
            eps = np.finfo(b.dtype).eps if b.dtype.kind in "fc" else 0
            size = np.max(np.abs(b[np.isfinite(b)]), initial=0) if b.dtype.kind in "fc" else 0
            np.testing.assert_allclose(a, b, rtol=64 * eps, atol=64 * eps * size, err_msg=what)


@law(fixed_shapes)
def compiled_is_eager(primitive, samples):
    """A compiled call has the values and gradients of the call itself, with other values than it was traced with."""
    for where, how in ways_of_programs(primitive):
        for sample in samples:
            if sample.data_dependent:
                continue

            def function(*args, sample=sample):
                return call(primitive, args, sample.keywords)

            compiled = lg.compile(function, options={"backend": how} if how else None)
            turned = sample.map(_other)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for given in (sample, sample, turned):
                    expected = _expected(function, primitive, given, where)
                    if expected is not None:
                        _same(_outcome(compiled, primitive, given, where), expected, f"{sample} on {where}, {how}")
