"""`autograd.functional`: what is strict, and misuse; the values are those of `func`, which has tests of its own."""

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad.autograd import functional

X = lg.tensor([1.0, 2.0, 3.0], dtype=lg.float64)
Y = lg.tensor([0.5, -1.0], dtype=lg.float64)


def close(a, b):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b.detach()), rtol=1e-12, atol=1e-12)


square = lambda a: (a**2).sum()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: functional.vjp(lambda a, b: a * 2, (X, Y), X, strict=True), "independent of input 1"),
        (lambda: functional.vjp(lambda a: Y, X, Y, strict=True), "output 0 is independent"),
        (lambda: functional.vjp(lambda a: a * 2, X, X, create_graph=True, strict=True), "input 0 is a constant"),
        (lambda: functional.jvp(lambda a, b: a * 2, (X, Y), (X, Y), strict=True), "independent of input 1"),
        (lambda: functional.jvp(lambda a: (a, Y), X, X, strict=True), "output 1 is independent"),
        (lambda: functional.jvp(lambda a: a * 2, X, X, create_graph=True, strict=True), "input 0 is a constant"),
        (
            lambda: functional.jacobian(lambda a, b: (a * 2, b), (X, Y), strict=True),
            "output 0 is independent of input 1",
        ),
        (lambda: functional.jacobian(lambda a: a * 2, X, create_graph=True, strict=True), "input 0 is a constant"),
        (lambda: functional.hessian(lambda a: (a * 2).sum(), X, strict=True), "input 0 is a constant"),
        (lambda: functional.hessian(lambda a, b: square(a), (X, Y), strict=True), "independent of input 1"),
        (lambda: functional.hessian(lambda a, b: square(a) + square(b), (X, Y), strict=True), "output 0 .* input 1"),
        (
            lambda: functional.hvp(lambda a, b: square(a) + b.sum(), (X, Y), (X, Y), strict=True),
            "input 1 is a constant",
        ),
        (lambda: functional.vhp(lambda a: (a * 2).sum(), X, X, strict=True), "input 0 is a constant"),
    ],
)
def test_strict(call, says):
    with pytest.raises(RuntimeError, match=says):
        call()


def test_strict_lets_dependence_pass():
    both = (X, X + 1)
    functional.vjp(lambda a, b: (a * 2, b * 2), both, both, strict=True)
    functional.jvp(lambda a, b: (a * 2, b * 2), both, both, strict=True)
    functional.vjp(lambda a: a * a, X, X, create_graph=True, strict=True)
    functional.jacobian(lambda a, b: a * a * b * b, both, create_graph=True, strict=True)
    functional.hessian(square, X, strict=True)
    functional.hvp(lambda a, b: (a * b).sum(), both, both, strict=True)


@pytest.mark.parametrize(
    ("error", "call", "says"),
    [
        (ValueError, lambda: functional.hessian(square, X, outer_jacobian_strategy="foo"), "outer_jacobian_strategy"),
        (ValueError, lambda: functional.jacobian(square, X, strategy="foo"), "strategy"),
        (TypeError, lambda: functional.jacobian(lambda a: {"a": a}, X), "given a dict"),
        (TypeError, lambda: functional.vjp(lambda a: {"a": a}, X, X), "given a dict"),
        (TypeError, lambda: functional.jvp(lambda a: {"a": a}, X, X), "given a dict"),
        (TypeError, lambda: functional.hvp(lambda a: {"a": a}, X, X), "returned a dict"),
        (RuntimeError, lambda: functional.hessian(lambda a: (square(a),), X), "returned a tuple"),
        (RuntimeError, lambda: functional.hvp(lambda a: a, X, X), "one element"),
        (ValueError, lambda: functional.jacobian(lambda a: (), X), "empty tuple"),
        (ValueError, lambda: functional.jacobian(lambda: X, ()), "empty tuple"),
        (RuntimeError, lambda: functional.vjp(lambda a: a, X), "left out"),
    ],
)
def test_misuse_of_functional(error, call, says):
    with pytest.raises(error, match=says):
        call()


def test_create_graph_within_no_grad():
    w = X.detach().requires_grad_()
    with lg.no_grad():
        found = functional.jacobian(lambda a: a * a, w, create_graph=True)
        assert not functional.jacobian(lambda a: a * a, w).requires_grad
    close(lg.autograd.grad(found.sum(), w)[0], 2 * lg.ones_like(X))


def test_the_value_keeps_its_shape():
    y, hv = functional.hvp(lambda a: square(a).reshape(1), X, X)
    assert y.shape == (1,)
    close(hv, 2 * X)


# -- against PyTorch -----------------------------------------------------------------------------------
def both(a, b):
    return a[:2] * b, (a**2).sum(), b**3


def energy(a, b):
    return ((a[:2] * b).sum()) ** 2


CALLS = {
    "jacobian": lambda f, x, y: f.jacobian(both, (x, y)),
    "jacobian of an unused input": lambda f, x, y: f.jacobian(lambda a, b: a * 2, (x, y)),
    "jacobian of a tuple": lambda f, x, y: f.jacobian(lambda a: (a * a,), x),
    "jacobian in a tuple": lambda f, x, y: f.jacobian(lambda a: a * a, (x,)),
    "jacobian of a constant": lambda f, x, y: f.jacobian(lambda a: y, x),
    "forward mode": lambda f, x, y: f.jacobian(both, (x, y), vectorize=True, strategy="forward-mode"),
    "hessian": lambda f, x, y: f.hessian(energy, (x, y)),
    "hessian of an unused input": lambda f, x, y: f.hessian(lambda a, b: (a**3).sum(), (x, y)),
    "hessian of a row": lambda f, x, y: f.hessian(lambda a: (a**3).sum().reshape(1, 1), x),
    "hessian of a linear function": lambda f, x, y: f.hessian(lambda a: a.sum(), x),
    "forward over reverse": lambda f, x, y: f.hessian(
        energy, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
    "hvp": lambda f, x, y: f.hvp(energy, (x, y), (x, y)),
    "hvp of a row": lambda f, x, y: f.hvp(lambda a: (a**3).sum().reshape(1), x, x),
    "vhp": lambda f, x, y: f.vhp(energy, (x, y), (x, y)),
    "vjp": lambda f, x, y: f.vjp(lambda a, b: (a * 2, b * b), (x, y), (x, y)),
    "vjp of an unused input": lambda f, x, y: f.vjp(lambda a, b: a * a, (x, y), x),
    "jvp": lambda f, x, y: f.jvp(both, (x, y), (x, y)),
}


def values(tree):
    if isinstance(tree, (tuple, list)):
        return [values(part) for part in tree]
    return tree.detach().tolist()


@pytest.mark.parametrize("name", CALLS)
def test_structures_and_values_are_pytorchs(name):
    torch = peer("torch")
    ours = CALLS[name](functional, X, Y)
    theirs = CALLS[name](torch.autograd.functional, *(torch.tensor(t.tolist(), dtype=torch.float64) for t in (X, Y)))
    assert values(ours) == values(theirs)
