"""Order: sorting, the largest few, positions; and softmax."""

import math

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import grad

INF = math.inf
X = np.random.default_rng(0).standard_normal((2, 5, 3))


def leaf(values, dtype=np.float64):
    return lg.asarray(np.asarray(values, dtype)).requires_grad_()


def close(t, expected, tolerance=1e-12):
    t = t.detach().numpy() if isinstance(t, lg.Tensor) else t
    assert t.shape == np.shape(expected)
    np.testing.assert_allclose(t, expected, rtol=tolerance, atol=tolerance)


# -- sorting -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting_is_numpys(axis):
    for x in (X, np.round(X), np.round(X).astype(np.int32), X > 0, X.astype(np.float32)):
        y = lg.sort(lg.asarray(x), axis=axis)
        close(y, np.sort(x, axis=axis))
        assert y.dtype == x.dtype
        i = lg.argsort(lg.asarray(x), dim=axis)
        close(i, np.argsort(x, axis=axis, stable=True))
        assert i.dtype == lg.int64
        close(lg.sort(lg.asarray(x), axis=axis, descending=True), np.flip(np.sort(x, axis=axis), axis=axis))


def test_ties_keep_their_order_either_way():
    x = lg.asarray([2.0, 1.0, 2.0, 1.0, 3.0])
    assert lg.argsort(x).tolist() == [1, 3, 0, 2, 4]
    assert lg.argsort(x, descending=True).tolist() == [4, 0, 2, 1, 3]


def test_nan_is_the_largest():
    x = lg.asarray([2.0, math.nan, 1.0])
    close(lg.sort(x), [1.0, 2.0, math.nan])
    close(lg.sort(x, descending=True), [math.nan, 2.0, 1.0])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradients_go_back_to_their_places(axis, descending):
    x, w = leaf(X), np.random.default_rng(1).standard_normal(X.shape)
    (g,) = grad(lg.sort(x, axis=axis, descending=descending), [x], grad_outputs=lg.asarray(w))
    expected = np.empty(X.shape)
    i = np.argsort(-X if descending else X, axis=axis)
    np.put_along_axis(expected, i, w, axis)
    close(g, expected)


def test_second_derivatives_of_sorting():
    x = leaf([3.0, 1.0, 2.0])
    (g,) = grad((lg.sort(x) ** 3 * lg.asarray([1.0, 2.0, 3.0])).sum(), [x], create_graph=True)
    close(grad(g.sum(), [x])[0], [54.0, 6.0, 24.0])


def test_sorting_scalars_and_nothing():
    x = leaf(2.0)
    assert lg.argsort(x).shape == lg.sort(x).shape == ()
    close(grad(lg.sort(x), [x])[0], 1.0)
    assert lg.sort(leaf(np.zeros((2, 0)))).shape == (2, 0)
    with pytest.raises(IndexError):
        lg.sort(leaf(X), axis=3)


# -- the largest few ---------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dim", [1, -2])
def test_topk(k, largest, dim):
    x = leaf(X)
    values, indices = lg.topk(x, k, dim, largest)
    order = np.argsort(-X if largest else X, axis=dim)[:, :k]
    close(indices, order)
    close(values, np.take_along_axis(X, order, dim))
    expected = np.zeros(X.shape)
    np.put_along_axis(expected, order, 1.0, dim)
    close(grad(values, [x], grad_outputs=lg.ones_like(values))[0], expected)


def test_topk_names_its_parts_and_its_limits():
    top = lg.topk(lg.asarray([1.0, 3.0, 2.0]), k=2)
    assert top.values.tolist() == [3.0, 2.0] and top.indices.tolist() == [1, 2]
    assert lg.topk(lg.asarray(5.0), 1).values.shape == ()
    for k in (-1, 4):
        with pytest.raises(ValueError, match=f"k={k}"):
            lg.topk(lg.asarray([1.0, 3.0, 2.0]), k)


# -- positions ---------------------------------------------------------------------------------------
def test_nonzero():
    x = np.where(X > 0, X, 0)
    found = lg.nonzero(lg.asarray(x))
    assert isinstance(found, tuple)
    for i, expected in zip(found, np.nonzero(x), strict=True):
        close(i, expected)
        assert i.dtype == lg.int64
    with pytest.raises(ValueError, match="0d"):
        lg.nonzero(lg.asarray(1.0))


# -- softmax -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), None])
def test_softmax(axis):
    x, w = leaf(X), np.random.default_rng(1).standard_normal(X.shape)
    p = np.exp(X) / np.exp(X).sum(axis=axis, keepdims=True)
    y, z = lg.softmax(x, axis=axis), lg.log_softmax(x, axis=axis)
    close(y, p)
    close(z, np.log(p))
    close(grad(y, [x], grad_outputs=lg.asarray(w))[0], p * (w - (w * p).sum(axis=axis, keepdims=True)))
    close(grad(z, [x], grad_outputs=lg.asarray(w))[0], w - p * w.sum(axis=axis, keepdims=True))


def test_softmax_of_the_large_and_the_infinite():
    x = leaf([[1000.0, 1000.0], [-INF, 1.0], [-1000.0, 0.0]])
    close(lg.softmax(x), [[0.5, 0.5], [0.0, 1.0], [0.0, 1.0]])
    with np.errstate(divide="ignore"):
        z = lg.log_softmax(x)
    close(z, [[-math.log(2)] * 2, [-INF, 0.0], [-1000.0, 0.0]])
    (g,) = grad(z, [x], grad_outputs=lg.asarray([[1.0, 0.0]] * 3), create_graph=True)
    close(g, [[0.5, -0.5], [1.0, -1.0], [1.0, -1.0]])
    assert np.isfinite(grad(g[:1].sum(), [x])[0].numpy()).all()
    with np.errstate(invalid="ignore"):
        assert np.isnan(lg.softmax(lg.asarray([-INF, -INF])).numpy()).all()


def test_second_derivatives_of_softmax():
    v, w = X[0, :, 0], X[1, :, 0]
    p = np.exp(v) / np.exp(v).sum()
    x = leaf(v)
    (g,) = grad((lg.log_softmax(x) * lg.asarray(w)).sum(), [x], create_graph=True)
    rows = [grad(g[k], [x], retain_graph=True)[0].numpy() for k in range(len(v))]
    close(np.stack(rows), -w.sum() * (np.diag(p) - np.outer(p, p)))
    (g,) = grad((lg.softmax(x) * lg.asarray(w)).sum(), [x], create_graph=True)
    rows = [grad(g[k], [x], retain_graph=True)[0].numpy() for k in range(len(v))]
    u, j = p * (w - p @ w), np.diag(p) - np.outer(p, p)
    close(np.stack(rows), np.diag(u) - np.outer(u, p) - np.outer(p, j @ w))


def test_softmax_dtypes_scalars_and_nothing():
    for f, at_zero in ((lg.softmax, 1.0), (lg.log_softmax, 0.0)):
        for dtype in (np.float16, np.float32):
            x = leaf(X, dtype)
            y = f(x)
            (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
            assert y.dtype == g.dtype == dtype
        assert f(lg.asarray(np.array([1, 2]))).dtype == lg.float32
        x = leaf(3.0)
        close(f(x), at_zero)
        close(grad(f(x), [x])[0], 0.0)
        assert f(leaf(np.zeros((2, 0))), 0).shape == f(leaf(np.zeros((2, 0))), 1).shape == (2, 0)
