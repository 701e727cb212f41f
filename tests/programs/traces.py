"""Programs for tests: what a function of arrays comes to, and primitives with their samples."""

import numpy as np

import lucidgrad as lg


def apart(a, b):
    """How far arrays are apart, in units in the last place of their largest magnitude; NaN and infinities agree."""
    a, b = np.asarray(a), np.asarray(b)
    assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{a.shape} {a.dtype}, expected {b.shape} {b.dtype}"
    if not a.size or a.dtype.kind not in "fc":
        assert np.array_equal(a, b)
        return 0.0
    with np.errstate(all="ignore"):
        same = (a == b) | ((a != a) & (b != b))
        size = np.max(np.abs(np.where(np.isfinite(b), b, 0)))
        return float(np.max(np.where(same, 0, np.abs(a - b)) / np.spacing(max(size, np.finfo(b.dtype).tiny))))


def is_float(array):
    return isinstance(array, np.ndarray) and array.dtype.kind == "f"


def vjp(primitive, sample, dtype):
    """A function of the arrays of a sample, which gives results and cotangents; and these arrays."""
    arrays = [a.astype(dtype) if is_float(a) else a for a in sample.args if isinstance(a, np.ndarray)]

    def run(*given):
        rest = iter(given)
        args = [next(rest) if isinstance(a, np.ndarray) else a for a in sample.args]
        wanted = [x.requires_grad_() for x in args if isinstance(x, lg.Tensor) and x.dtype in (lg.float32, lg.float64)]
        y = primitive.op(*args, **sample.keywords)
        y = tuple(y) if isinstance(y, (tuple, list)) else (y,)
        live = [part for part in y if part.requires_grad]
        if live and wanted:
            rng = np.random.default_rng(len(live))
            seeds = [lg.asarray(rng.normal(size=part.shape).astype(part.detach().dtype)) for part in live]
            found = lg.autograd.grad(live, wanted, seeds, allow_unused=True)
            y += tuple(g for g in found if g is not None)
        return tuple(part.detach() for part in y)

    return run, arrays


def all_samples(primitive, samples, dtype):
    """The same for all samples together: one program for a primitive."""
    parts = [vjp(primitive, sample, dtype) for sample in samples]

    def run(*given):
        made, at = (), 0
        for function, arrays in parts:
            made += function(*given[at : at + len(arrays)])
            at += len(arrays)
        return made

    return run, [a for _, arrays in parts for a in arrays]
