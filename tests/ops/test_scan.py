"""Scans: running sums, products, maxima; derivatives that divide by nothing; differences."""

import math

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import grad
from lucidgrad.ops.scan import recurrence

INF = math.inf
X = np.random.default_rng(0).standard_normal((2, 5, 3))


def leaf(values, dtype=np.float64):
    return lg.asarray(np.asarray(values, dtype)).requires_grad_()


def jacobian(f, x, create_graph=False):
    """Rows of derivatives, one for each element of the result."""
    y = lg.reshape(f(x), (-1,))
    return lg.stack(
        [grad(y[k], [x], lg.ones_like(y[k]), True, create_graph, materialize_grads=True)[0] for k in range(y.shape[0])]
    )


def close(t, expected, tolerance=1e-12):
    t = t.detach().numpy() if isinstance(t, lg.Tensor) else t
    assert t.shape == np.shape(expected)
    np.testing.assert_allclose(t, expected, rtol=tolerance, atol=tolerance)


def alike(name, x, axis=None, **keywords):
    """A scan's values are those of NumPy."""
    y = getattr(lg, name)(lg.asarray(x), axis=axis, **keywords)
    expected = getattr(np, name)(x, axis=axis, **keywords)
    close(y, expected)
    assert y.dtype == expected.dtype


# -- values ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_values_are_numpys(name, axis, initial):
    for x in (X, X + 1j, X.astype(np.float32), np.arange(30, dtype=np.int8).reshape(X.shape), X > 0):
        alike(name, x, axis, include_initial=initial)
    alike(name, X[0, 0], include_initial=initial)
    alike(name, np.zeros((2, 0, 3)), 1, include_initial=initial)
    alike(name, np.array(3.0), include_initial=initial)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_the_axis_must_be_named_where_there_are_several(name):
    with pytest.raises(ValueError, match="axis"):
        getattr(lg, name)(lg.asarray(X))
    with pytest.raises(IndexError, match="axis 3 is out of"):
        getattr(lg, name)(lg.asarray(X), axis=3)


# -- gradients of sums and products ------------------------------------------------------------------
def test_a_running_sum():
    lower = np.tril(np.ones((4, 4)))
    close(jacobian(lg.cumulative_sum, leaf(X[0, :4, 0])), lower)
    first = np.vstack([np.zeros((1, 4)), lower])
    close(jacobian(lambda x: lg.cumulative_sum(x, include_initial=True), leaf(X[0, :4, 0])), first)


def running_products(x, *gone):
    """What the running products are without some elements; 0 before those come in."""
    kept = np.array([1.0 if k in gone else v for k, v in enumerate(x)])
    return np.where(np.arange(len(x)) >= max(gone, default=0), np.cumprod(kept), 0)


@pytest.mark.parametrize("zeros", [(), (0,), (2,), (1, 3), (0, 1, 4), (0, 1, 2, 3, 4)])
@pytest.mark.parametrize("initial", [False, True])
def test_running_products_with_zeros_have_exact_derivatives(zeros, initial):
    x = np.arange(2.0, 7.0)
    x[list(zeros)] = 0
    n = len(x)
    first = np.stack([running_products(x, i) for i in range(n)], 1)
    second = np.stack(
        [[running_products(x, i, j) if i != j else np.zeros(n) for j in range(n)] for i in range(n)], 2
    ).transpose(1, 2, 0)
    if initial:
        first = np.vstack([np.zeros((1, n)), first])
        second = np.concatenate([np.zeros((1, n, n)), second])
    t = leaf(x)
    j = jacobian(lambda x: lg.cumulative_prod(x, include_initial=initial), t, create_graph=True)
    close(j, first)
    close(lg.reshape(jacobian(lambda _: j, t), second.shape), second)


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_running_products_along_axes(axis):
    x = np.where(np.arange(30).reshape(X.shape) % 4 == 0, 0, X)
    weights = np.random.default_rng(1).standard_normal(x.shape)
    t = leaf(x)
    (g,) = grad(lg.cumulative_prod(t, axis=axis), [t], grad_outputs=lg.asarray(weights))
    moved, w = np.moveaxis(x, axis, 0), np.moveaxis(weights, axis, 0)
    expected = np.zeros(moved.shape)
    for place in np.ndindex(moved.shape[1:]):
        column = moved[(slice(None), *place)]
        for i in range(len(column)):
            expected[(i, *place)] = running_products(column, i) @ w[(slice(None), *place)]
    close(g, np.moveaxis(expected, 0, axis))


def test_a_product_that_overflows_does_not_spoil_the_first_gradients():
    x = leaf([1e20] * 6, np.float32)
    with np.errstate(over="ignore"):
        y = lg.cumulative_prod(x)
    (g,) = grad(y[0], [x])
    close(g, np.float32([1, 0, 0, 0, 0, 0]))


def test_dtypes_and_zero_dimensions():
    for f in (lg.cumulative_sum, lg.cumulative_prod, lambda x: lg.logcumsumexp(x, 0)):
        for dtype in (np.float16, np.float32, np.float64):
            x = leaf([1.0, 0.0, 3.0], dtype)
            y = f(x)
            (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
            assert y.dtype == g.dtype == dtype
        x = leaf(3.0)
        y = f(x)
        (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
        close(g, 1.0)
    for f in (lg.cumulative_sum, lg.cumulative_prod):
        x = leaf([1.0, 2j, 3.0], complex)
        assert jacobian(f, x).dtype == x.dtype
    assert lg.logcumsumexp(lg.asarray(np.arange(3)), 0).dtype == lg.float32


def test_scans_of_nothing():
    for f in (
        lg.cumulative_sum,
        lg.cumulative_prod,
        lg.logcumsumexp,
        lambda x, axis: lg.cummax(x, axis).values,
    ):
        for axis in (0, 1):
            x = leaf(np.zeros((0, 3)))
            y = f(x, axis=axis)
            (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
            assert y.shape == g.shape == (0, 3)


# -- the recurrence ----------------------------------------------------------------------------------
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 8, 13])
def test_recurrence(n, reverse):
    a, b = np.random.default_rng(2).standard_normal((2, n, 3))
    expected, last = np.zeros((n, 3)), 0.0
    for k in reversed(range(n)) if reverse else range(n):
        last = expected[k] = a[k] * last + b[k]
    close(recurrence(lg.asarray(a), lg.asarray(b), axis=0, reverse=reverse), expected)


# -- logcumsumexp ------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_logcumsumexp(axis):
    close(lg.logcumsumexp(lg.asarray(X), axis), np.log(np.cumsum(np.exp(X), axis=axis)))


def test_logcumsumexp_never_overflows():
    x = [-1000.0, 0.0, 1000.0, 1000.0, -1000.0]
    t = leaf(x)
    two = 1000 + math.log(2)
    close(lg.logcumsumexp(t, 0), [-1000.0, 0.0, 1000.0, two, two])
    j = jacobian(lambda t: lg.logcumsumexp(t, 0), t, create_graph=True)
    expected = np.eye(5)
    expected[3:] = [0, 0, 0.5, 0.5, 0]
    close(j, expected)
    assert np.isfinite(jacobian(lambda _: j, t).numpy()).all()


def test_logcumsumexp_of_infinities():
    x = leaf([-INF, -INF, 1.0, -INF])
    y = lg.logcumsumexp(x, 0)
    close(y, [-INF, -INF, 1.0, 1.0])
    (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
    close(g, [0.0, 0.0, 2.0, 0.0])
    close(grad(g, [x], grad_outputs=lg.ones_like(g))[0], np.zeros(4))


def test_second_derivatives_of_logcumsumexp():
    x, w = X[0, :, 0], X[1, :, 0]
    t = leaf(x)
    (g,) = grad((lg.logcumsumexp(t, 0) * lg.asarray(w)).sum(), [t], create_graph=True)
    expected = np.zeros((5, 5))
    for k in range(5):
        p = np.where(np.arange(5) <= k, np.exp(x), 0) / np.exp(x[: k + 1]).sum()
        expected += w[k] * (np.diag(p) - np.outer(p, p))
    close(jacobian(lambda _: g, t), expected)


# -- running extremes --------------------------------------------------------------------------------
def test_of_ties_the_last_is_taken():
    x = leaf([1.0, 3.0, 3.0, 2.0, 3.0])
    values, indices = lg.cummax(x, 0)
    close(values, [1.0, 3.0, 3.0, 3.0, 3.0])
    assert indices.tolist() == [0, 1, 2, 2, 4] and indices.dtype == lg.int64
    close(grad(values.sum(), [x])[0], [1.0, 1.0, 2.0, 0.0, 1.0])
    assert lg.cummin(lg.asarray([1.0, 1.0, 0.0, 2.0]), 0).indices.tolist() == [0, 1, 2, 2]


def test_a_nan_stays():
    values, indices = lg.cummax(lg.asarray([1.0, math.nan, 2.0, math.nan, 3.0]), 0)
    close(values, [1.0] + [math.nan] * 4)
    assert indices.tolist() == [0, 1, 1, 3, 3]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_extremes_along_axes(axis):
    for f, ufunc in [(lg.cummax, np.maximum), (lg.cummin, np.minimum)]:
        values, indices = f(lg.asarray(X), dim=axis)
        close(values, ufunc.accumulate(X, axis=axis))
        close(np.take_along_axis(X, indices.numpy(), axis), values.numpy())
    values, indices = lg.cummax(leaf(2.0), 0)
    assert values.shape == indices.shape == ()


# -- differences -------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
def test_differences(axis, n):
    x = leaf(X)
    y = lg.diff(x, axis=axis, n=n)
    close(y, np.diff(X, n=n, axis=axis))
    assert grad(y, [x], grad_outputs=lg.ones_like(y))[0].shape == X.shape


def test_differences_with_ends():
    x = leaf([1.0, 4.0, 9.0])
    y = lg.diff(x, prepend=lg.asarray([0.0]), append=x[:1])
    close(y, [1.0, 3.0, 5.0, -8.0])
    close(grad(y, [x], grad_outputs=lg.asarray(np.array([1.0, 10, 100, 1000])))[0], [991.0, -90.0, -900.0])
    with pytest.raises(ValueError, match="n=-1"):
        lg.diff(x, n=-1)
    with pytest.raises(IndexError):
        lg.diff(lg.asarray(1.0))
