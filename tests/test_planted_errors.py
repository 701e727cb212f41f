"""Errors of many structures are planted into gradients: `gradcheck` finds them, slow and fast, with a margin."""

import pytest
from thoroughness import cases, draw

import lucidgrad as lg
from lucidgrad.autograd import Function, gradcheck, gradgradcheck
from lucidgrad.autograd.checks import GradcheckError


def at(n, place):
    return (lg.arange(n) == place).to(lg.float64)


#: From the right gradient g, the input x, a size and a place: what is added to g.
ERRORS = {
    "constant": lambda g, x, size, i: size * lg.ones_like(x),
    "of one entry": lambda g, x, size, i: size * at(x.numel(), i),
    "of the last entry": lambda g, x, size, i: size * at(x.numel(), x.numel() - 1),
    "off the diagonal": lambda g, x, size, i: size * lg.flip(g, axis=0),
    "from one entry to another": lambda g, x, size, i: size * g[i] * at(x.numel(), (i + 1) % x.numel()),
    "a shift": lambda g, x, size, i: size * lg.roll(g, 1),
    "a factor": lambda g, x, size, i: 4 * size * g,
    "a sum": lambda g, x, size, i: size * g.sum() * lg.ones_like(x),
    "alternating": lambda g, x, size, i: size * g.sum() * (1 - 2 * (lg.arange(x.numel()) % 2)),
    "of the value": lambda g, x, size, i: 4 * size * g * x * x,
}


def planted(error, size, place):
    """``sin(x) + x**2 / 2``, elementwise, with an error in its gradient."""

    class Planted(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return lg.sin(x) + x * x / 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            right = g * (lg.cos(x) + x)
            return right + ERRORS[error](right, x, size, place)

    return Planted.apply


@pytest.mark.parametrize("error", ERRORS)
def test_planted_errors_are_found(error):
    rng = draw(error)
    for _ in range(cases(3, 30)):
        n = rng.choice([2, 3, 8, 30])
        x = lg.tensor([rng.uniform(0.5, 1.5) for _ in range(n)], dtype=lg.float64, requires_grad=True)
        place = rng.randrange(n)
        for size in (1e-3, 1e-2, -1e-3, 1.0):
            function = planted(error, size, place)
            assert not gradcheck(function, (x,), fast_mode=True, raise_exception=False), (n, place, size)
            assert not gradcheck(function, (x,), raise_exception=False), (n, place, size)
        assert gradcheck(planted(error, 0.0, place), (x,), fast_mode=True)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("factor", [1.0, -1.0, 1 + 1e-2, 1 + 1e-2j, 1j], ids=str)
def test_signs_and_imaginary_parts_are_seen(factor, fast):
    class Square(Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * lg.conj(2 * z) * factor

    z = lg.tensor([1 + 2j, -0.5 + 1j, 2 - 1j], dtype=lg.complex128, requires_grad=True)
    assert gradcheck(Square.apply, (z,), fast_mode=fast, raise_exception=False) == (factor == 1.0)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("which", ["first", "second", "seed"])
def test_second_derivatives_with_errors_are_found(which, fast):
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            x0 = x.detach()
            extra = 1e-3 * x0 * x if which == "second" else 0.1 * x0 * g if which == "seed" else 0 * x
            return g * 3 * x * x + (extra - extra.detach())

    x = lg.tensor([0.5, 1.5, 2.0], dtype=lg.float64, requires_grad=True)
    assert gradcheck(Cube.apply, (x,), fast_mode=fast)
    assert gradgradcheck(Cube.apply, (x,), fast_mode=fast, raise_exception=False) == (which == "first")


def test_given_seeds_are_differentiated_if_they_require_grad():
    class Linear(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g.detach() * 2 * x  # has no derivative with respect to g

    x = lg.tensor([0.5, 1.5], dtype=lg.float64, requires_grad=True)
    seed = lg.tensor([1.0, -2.0], dtype=lg.float64)
    assert gradgradcheck(Linear.apply, (x,), (seed,))
    with pytest.raises(GradcheckError, match="input 1"):
        gradgradcheck(Linear.apply, (x,), (seed.requires_grad_(),))


def test_the_fast_mode_evaluates_little():
    calls = []

    def counted(x):
        calls.append(1)
        return lg.exp(lg.sin(x)) * x.sum()

    x = lg.linspace(0.1, 1.0, 60, dtype=lg.float64).requires_grad_()
    assert gradcheck(counted, (x,), fast_mode=True)
    assert len(calls) <= 12
