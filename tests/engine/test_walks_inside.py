"""Walks inside walks, checkpoints of functions that differentiate, and seeds of foreign types; here and in PyTorch."""

import contextlib
import datetime
import decimal
import fractions
import functools
import inspect
import sys

import numpy as np
import pytest
from golden import installed, peer

import lucidgrad as lg
from lucidgrad import refusals
from lucidgrad.utils import checkpoint as lg_checkpoint

#: PyTorch is held to the same, where it is installed.
LIBRARIES = ["lucidgrad", *["torch"] * installed()]


@pytest.fixture(params=LIBRARIES)
def lib(request):
    return lg if request.param == "lucidgrad" else peer("torch")


# --- depth ------------------------------------------------------------------------------------------------


def deep(lib):
    """A Function whose backward walks again, as often as its argument says."""

    class Deep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with lib.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x >= 0:
                with lib.enable_grad():
                    Deep.apply(ctx.x).sum().backward()
            return g

    return Deep


@pytest.mark.parametrize("levels", [1, 200, 600])
def test_walks_may_nest_deeply(lib, levels):
    limit = sys.getrecursionlimit()
    x = lib.tensor(float(levels), requires_grad=True)
    deep(lib).apply(x).sum().backward()
    assert x.grad.item() == 1.0
    assert sys.getrecursionlimit() == limit


def test_walks_without_end_are_an_error(monkeypatch):
    read, looked = refusals._packages, []
    monkeypatch.setattr(refusals, "_packages", lambda error: looked.append(error) or read(error))

    class Endless(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            with lg.enable_grad():
                Endless.apply(lg.ones(1, requires_grad=True)).sum().backward()
            return g

    limit, x = sys.getrecursionlimit(), lg.ones(1, requires_grad=True)
    with pytest.raises(RecursionError):
        Endless.apply(x).sum().backward()
    assert len(looked) < 10  # not at each of thousands of calls, each time through the whole traceback
    assert sys.getrecursionlimit() == limit
    assert x.grad is None
    assert lg.is_grad_enabled()


def nested(levels):
    return functools.reduce(lambda inner, _: [inner], range(levels), 1.0)


DEEP = {
    "backward": lambda x: x.sum().backward(),
    "layers": lg.nn.TransformerEncoder(lg.nn.TransformerEncoderLayer(2, 1, batch_first=True), 1),
    "lists": lambda x: lg.asarray(nested(60)),
    "transforms": lambda x: lg.func.vmap(lg.func.hessian(lg.sin))(x[0]),
}


@pytest.mark.parametrize("call", DEEP.values(), ids=DEEP)
def test_functions_without_end_are_told_so_wherever_the_limit_is_met(call):
    """In a frame of theirs or in one of this package: an error of arguments it never is."""
    x = lg.ones((1, 1, 2), requires_grad=True)

    def below(levels):
        return below(levels - 1) if levels else call(x)

    with contextlib.suppress(lg.DeviceError):
        lg.ones(1, device="cuda")  # a walk silences this library, too
    call(x)
    before = np.geterr()
    stopped, room = 0, sys.getrecursionlimit() - len(inspect.stack(0))
    for left in range(1, 200):
        try:
            below(room - left)
        except RecursionError:
            stopped += 1
        assert np.geterr() == before
        assert lg.is_grad_enabled()
    assert stopped


def test_arguments_without_end_are_told_as_such():
    with pytest.raises(ValueError, match="given obj=a list of 1"):
        lg.asarray(nested(5000))


# --- checkpoints ------------------------------------------------------------------------------------------


def twice(lib, w):
    def f(x):
        y = x.exp() * x
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        return g * y

    return f


def apart(lib, w):
    def f(x):
        z = x.detach().requires_grad_()
        with lib.enable_grad():
            (g,) = lib.autograd.grad((z.exp() * z).sum(), z)
        return (x * g).sin()

    return f


def kept(lib, w):
    def f(x):
        y = x.exp() * x
        (g,) = lib.autograd.grad(y.sum(), x, retain_graph=True)
        return (g * y).sin() * x

    return f


def closed(lib, w):
    def f(x):
        y = (x * w).sin()
        (g,) = lib.autograd.grad(y.sum(), w, create_graph=True)
        return (g * g).cos() * y

    return f


def freed(lib, w):
    def f(x):
        y = (x * w).sin()
        (g,) = lib.autograd.grad(y.sum(), w)
        return (x * g).exp()

    return f


@pytest.mark.parametrize("interior", [False, True])
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("make", [twice, apart, kept, closed, freed])
def test_checkpoints_of_functions_that_differentiate(lib, make, early, interior):
    if lib is lg:
        ours = lg_checkpoint
    else:
        import torch.utils.checkpoint as ours
    found = []
    for checkpointed in (False, True):
        x, w = (lib.tensor(v, requires_grad=True) for v in ([0.3, 0.5], [0.7, 0.2]))
        m, f = x * 1 if interior else x, make(lib, w)
        with ours.set_checkpoint_early_stop(early):
            y = ours.checkpoint(f, m, use_reentrant=False) if checkpointed else f(m)
            y.sum().backward()
        found.append([None if t.grad is None else t.grad.tolist() for t in (x, w)])
    assert found[0] == found[1]


# --- seeds ------------------------------------------------------------------------------------------------


class Arraylike:
    def __array__(self, dtype=None, copy=None):
        return np.ones(2)


FOREIGN = {
    "a string": "ab",
    "bytes": b"ab",
    "a set": {1.0},
    "a function": len,
    "a class": float,
    "an object": object(),
    "something with __array__": Arraylike(),
    "a Decimal": decimal.Decimal(2),
    "a date": datetime.date(2020, 1, 1),
    "a date of NumPy's": np.datetime64("2020-01-01"),
    "dates": np.array(["2020-01-01"] * 2, dtype="datetime64[D]"),
    "objects": np.array([1.0, 2.0], dtype=object),
    "strings": np.array(["a", "b"]),
    "a memoryview": memoryview(np.ones(2)),
}


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("what", FOREIGN)
def test_foreign_seeds_are_refused(what, bare):
    x, seed = lg.ones(2, requires_grad=True), FOREIGN[what]
    with pytest.raises(TypeError, match=r"^grad_outputs.*: given .*, expected .*(seed|Tensor)"):
        lg.autograd.grad(x * 3, x, seed if bare else [seed])
    with pytest.raises(TypeError, match=r"^grad_tensors.*: given .*, expected .*(seed|Tensor)"):
        (x * 3).backward(seed if bare else [seed])
    assert x.grad is None


@pytest.mark.parametrize("met", [False, True], ids=["", "used as a device before"])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_arrays_of_another_library_are_named(library, met):
    module, x = pytest.importorskip(library), lg.ones(2, requires_grad=True)
    if met:
        y = lg.asarray(module.ones(2)).requires_grad_()
        assert lg.autograd.grad(y * 3, y, module.ones(2))[0].tolist() == [3, 3]  # there they are at home
    for seed in (module.ones(2), [module.ones(2)]):
        with pytest.raises(TypeError, match=rf"given {library}\S* of dtype .*expected a Tensor, an array of numbers"):
            lg.autograd.grad(x * 3, x, seed)


@pytest.mark.parametrize(
    "seed",
    [2, 2.0, True, fractions.Fraction(2), np.float64(2), np.int8(2), np.array([2.0, 2.0]), np.array([2, 2], ">i4")],
    ids=str,
)
def test_numbers_and_arrays_are_seeds(seed):
    x = lg.ones(2, requires_grad=True)
    expected = [3.0, 3.0] if seed is True else [6.0, 6.0]
    assert lg.autograd.grad(x * 3, x, seed)[0].tolist() == expected
    assert lg.autograd.grad([x * 3], x, iter([seed]))[0].tolist() == expected
    assert lg.autograd.grad([x * 3], x, {"a": seed}.values())[0].tolist() == expected
