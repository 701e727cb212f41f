"""Dual tensors by hand, and `autograd.functional` with PyTorch's signatures."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import forward_ad as fwad, functional

rng = np.random.default_rng(3)
X, Y, V = (lg.asarray(rng.standard_normal(4)) for _ in range(3))


def close(a, b):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b.detach()), rtol=1e-10, atol=1e-12)


def test_dual_tensors_carry_tangents():
    with fwad.dual_level():
        d = fwad.make_dual(X, V)
        y = lg.sin(d) * d
        primal, tangent = fwad.unpack_dual(y)
        close(tangent, (lg.cos(X) * X + lg.sin(X)) * V)
        close(primal, lg.sin(X) * X)
        assert fwad.unpack_dual(X).tangent is None
        assert fwad.unpack_dual(y.detach()).tangent is None
    close(y + 1, lg.sin(X) * X + 1)  # after the level the tangents are forgotten


def test_reverse_over_forward_inside_the_level():
    p = X.detach().requires_grad_()
    with fwad.dual_level():
        tangent = fwad.unpack_dual((fwad.make_dual(p, V) ** 3).sum()).tangent
        tangent.backward()
    close(p.grad, 6 * X * V)


def test_levels_nest():
    with fwad.dual_level():
        outer = fwad.make_dual(X, V)
        with fwad.dual_level():
            inner = fwad.make_dual(outer, lg.ones_like(X))
            first = fwad.unpack_dual(inner**3).tangent
        close(fwad.unpack_dual(first).tangent, 6 * X * V)


def test_misuse_of_levels():
    with pytest.raises(RuntimeError, match="no dual level"):
        fwad.make_dual(X, V)
    with pytest.raises(RuntimeError, match="no dual level"):
        fwad.exit_dual_level()
    with fwad.dual_level(), pytest.raises(ValueError, match="shape"):
        fwad.make_dual(X, V[:2])


def both(x, y):
    return lg.sum(x * y**2) * x


def scalar(x, y):
    return lg.sum(x**2 * y**2) ** 2


def test_jacobian_has_one_entry_per_output_and_input():
    jx, jy = functional.jacobian(both, (X, Y))
    close(jx, lg.outer(X, Y**2) + lg.sum(X * Y**2) * lg.eye(4, dtype=lg.float64))
    close(jy, lg.outer(X, 2 * X * Y))
    ((a, _), (_, d)) = functional.jacobian(lambda x, y: (x * y, lg.sum(y)), (X, Y))
    close(a, lg.eye(4, dtype=lg.float64) * Y)
    close(d, lg.ones(4, dtype=lg.float64))
    close(functional.jacobian(both, (X, Y), strategy="forward-mode")[1], jy)


def test_products_with_the_jacobian_and_the_hessian():
    jx, jy = functional.jacobian(both, (X, Y))
    close(functional.vjp(both, (X, Y), V)[1][0], V @ jx)
    close(functional.jvp(both, (X, Y), (V, X))[1], jx @ V + jy @ X)
    h = functional.hessian(scalar, (X, Y))
    close(h[0][1], h[1][0].T)
    close(functional.hvp(scalar, (X, Y), (V, X))[1][0], h[0][0] @ V + h[0][1] @ X)
    close(functional.vhp(scalar, (X, Y), (V, X))[1][1], V @ h[0][1] + X @ h[1][1])
    forward = functional.hessian(scalar, (X, Y), outer_jacobian_strategy="forward-mode")
    close(forward[1][1], h[1][1])


def test_create_graph_and_strict():
    x = X.detach().requires_grad_()
    assert functional.jacobian(lambda x: x**2, x, create_graph=True).requires_grad
    assert not functional.jacobian(lambda x: x**2, x).requires_grad
    with pytest.raises(RuntimeError, match="independent"):
        functional.jacobian(lambda x: Y * 2, X, strict=True)
    with pytest.raises(RuntimeError, match="single element"):
        functional.vjp(lambda x: x, X)
