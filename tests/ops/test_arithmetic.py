"""Arithmetic, arranging and scattering under NumPy's and PyTorch's names."""

import math

import numpy as np
import pytest
from finite import check_orders, close

import lucidgrad as lg
from lucidgrad.core import dispatch
from lucidgrad.levels import batching
from lucidgrad.levels.layer import Level
from lucidgrad.ops import curves
from lucidgrad.ops.elementwise import arithmetic, choice, comparison, exponential
from lucidgrad.ops.indexing import scattering
from lucidgrad.ops.linalg import norms
from lucidgrad.ops.shape import arrangement

NAN, INF = math.nan, math.inf
rng = np.random.default_rng(5)
X = rng.standard_normal((4, 5, 3))
M = rng.standard_normal((3, 5))
V, W = rng.standard_normal(5), rng.standard_normal(5)


def leaf(values, dtype=np.float64):
    return lg.asarray(np.asarray(values, dtype)).requires_grad_()


def slopes(y, *xs):
    return [g.tolist() for g in lg.autograd.grad(y, xs, materialize_grads=True)]


def vmapped(f, *arrays):
    """A function on every row of arrays at once, which must be what a loop gives."""
    level = Level("vmap")
    y = f(*(dispatch.box(batching.Batched(a, level)) for a in arrays))
    close(y.array.value, np.stack([f(*(lg.asarray(a[k]) for a in arrays)).numpy() for k in range(len(arrays[0]))]))


# -- elementwise -------------------------------------------------------------------------------------
def test_logaddexp2_is_exact_for_powers():
    x = lg.tensor([3.0, 1000.0, -INF, INF])
    assert exponential.logaddexp2(x, x).tolist() == [4.0, 1001.0, -INF, INF]
    assert exponential.logaddexp2(lg.asarray([1]), lg.asarray([1])).dtype == lg.float32


def test_fmod_has_the_sign_of_the_dividend():
    a = np.array([5.5, -5.5, 5.5, -5.5, 7.0, -7.0])
    b = np.array([2.0, 2.0, -2.0, -2.0, INF, 0.5])
    close(arithmetic.fmod(lg.asarray(a), lg.asarray(b)), np.fmod(a, b))
    whole = np.array([7, -7, 7, -7]), np.array([3, 3, -3, -3])
    found = arithmetic.fmod(*map(lg.asarray, whole))
    close(found, np.fmod(*whole))
    assert found.dtype == lg.int64


def test_float_power_is_double():
    x = lg.tensor([2, 3])
    assert exponential.float_power(x, -1).dtype == lg.float64
    close(exponential.float_power(x, -1), [0.5, 1 / 3])
    close(exponential.float_power(2.0, lg.tensor([3.0])), [8.0])
    assert exponential.float_power(x, 1j).dtype == lg.complex128


def test_fused_names():
    a, b, c = (rng.standard_normal((2, 3)) for _ in range(3))
    close(arithmetic.addcmul(*map(lg.asarray, (a, b, c)), value=0.5), a + 0.5 * b * c)
    close(arithmetic.addcdiv(*map(lg.asarray, (a, b, c)), value=2), a + 2 * b / c)
    close(arithmetic.rsub(lg.asarray(a), lg.asarray(b), alpha=3), b - 3 * a)
    check_orders(lambda *t: arithmetic.addcmul(*t, value=0.5), a, b, c)
    check_orders(lambda *t: arithmetic.addcdiv(*t), a, b, np.abs(c) + 0.5)
    assert arithmetic.addcmul(lg.ones(2), lg.ones(2), lg.ones(2), value=0.5).dtype == lg.float32
    assert choice.clamp(lg.asarray([1.0, 5.0]), max=2.0).tolist() == [1.0, 2.0]
    assert comparison.lt(lg.asarray([1.0, 5.0]), 2.0).tolist() == [True, False]


@pytest.mark.parametrize("equal_nan", [False, True])
def test_closeness_is_numpys(equal_nan):
    a = np.array([1, INF, -INF, NAN, 1e-9, 2.0, INF, 1.0])
    b = np.array([1 + 1e-7, INF, INF, NAN, 0, 2.1, 5, INF])
    x, y = lg.asarray(a), lg.asarray(b)
    close(comparison.isclose(x, y, equal_nan=equal_nan), np.isclose(a, b, equal_nan=equal_nan))
    close(comparison.isclose(x, 1.0), np.isclose(a, 1.0))
    close(comparison.isclose(lg.asarray([1, 2]), lg.asarray([1, 3])), [True, False])
    assert comparison.allclose(x, x, equal_nan=equal_nan) is equal_nan
    assert comparison.array_equal(x, x, equal_nan=equal_nan) is equal_nan
    assert comparison.array_equal(lg.asarray([1, 2]), lg.asarray([1, 2])) is True
    assert comparison.array_equal(lg.ones(2), lg.ones((1, 2))) is False


# -- distances and norms -----------------------------------------------------------------------------
@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, INF])
def test_cdist(p):
    a, b = X[:2], X[2:3, :2]
    expected = np.linalg.norm(a[..., :, None, :] - b[..., None, :, :], ord=p, axis=-1)
    close(norms.cdist(lg.asarray(a), lg.asarray(b), p), expected)
    if p:
        check_orders(lambda x, y: norms.cdist(x, y, p), a[0, :2], b[0])
    x = leaf([[1.0, 2.0]])
    assert slopes(norms.cdist(x, x.detach(), p).sum(), x) == [[[0.0, 0.0]]]


@pytest.mark.parametrize("p", ["fro", 1, 2, 3, INF, -INF, 0])
def test_norm_is_pytorchs(p):
    order = 2 if p == "fro" else p
    close(norms.norm(lg.asarray(M), p), np.linalg.norm(M.reshape(-1), order))
    close(norms.norm(lg.asarray(M), p, 1, True), np.linalg.norm(M, order, axis=1, keepdims=True))
    assert norms.norm(lg.ones(2), p, dtype=lg.float64).dtype == lg.float64


def test_nuclear_norm():
    close(norms.norm(lg.asarray(M), "nuc"), np.linalg.norm(M, "nuc"))
    expected = np.linalg.norm(X, "nuc", axis=(0, 2), keepdims=True)
    close(lg.norm(lg.asarray(X), "nuc", (0, 2), keepdim=True), expected)


# -- one dimension -----------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(5, 3), (3, 5), (4, 4), (1, 3), (6, 2), (1, 1), (7, 4)])
def test_convolve_is_numpys(mode, sizes):
    a, b = (rng.standard_normal(n) for n in sizes)
    close(curves.convolve(lg.asarray(a), lg.asarray(b), mode), np.convolve(a, b, mode))
    check_orders(lambda x, y: curves.convolve(x, y, mode), a, b)


@pytest.mark.parametrize("options", [{}, {"left": 9.0, "right": -9.0}, {"period": 1.3}])
def test_interp_is_numpys(options):
    xp, fp = np.sort(V), W
    x = np.concatenate([rng.standard_normal(9) * 2, xp])
    close(curves.interp(*map(lg.asarray, (x, xp, fp)), **options), np.interp(x, xp, fp, **options))
    check_orders(lambda *t: curves.interp(*t, **options), x[:9], xp, fp)
    close(curves.interp(*map(lg.asarray, (x, xp[:1], fp[:1]))), np.interp(x, xp[:1], fp[:1]))


def test_trapezoid_is_numpys():
    y, x = lg.asarray(M), lg.asarray(V)
    close(curves.trapezoid(y, x), np.trapezoid(M, V))
    close(lg.trapezoid(y, dx=0.3, dim=0), np.trapezoid(M, dx=0.3, axis=0))
    close(curves.trapezoid(y, lg.asarray(V[:3]), axis=0), np.trapezoid(M, V[:3], axis=0))
    close(curves.trapezoid(y, lg.asarray(M * 2), axis=0), np.trapezoid(M, M * 2, axis=0))
    check_orders(lambda y, x: curves.trapezoid(y, x), M, V)


def test_ediff1d_is_numpys():
    i = np.array([1, 2, 5])
    close(curves.ediff1d(lg.asarray(i), [9, 9], 0), np.ediff1d(i, [9, 9], 0))
    close(curves.ediff1d(lg.asarray(M)), np.ediff1d(M))


# -- arranging ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0)])
@pytest.mark.parametrize("k", range(-2, 5))
def test_turning(k, axes):
    close(arrangement.rot90(lg.asarray(X), k, axes), np.rot90(X, k, axes))
    close(lg.rot90(lg.asarray(X), k, dims=axes), np.rot90(X, k, axes))
    close(arrangement.flipud(lg.asarray(X)), np.flipud(X))
    close(arrangement.fliplr(lg.asarray(X)), np.fliplr(X))


@pytest.mark.parametrize("k", [-1, 0, 2])
def test_diagonals(k):
    for x in (V, M):
        close(arrangement.diag(lg.asarray(x), k), np.diag(x, k))
    close(arrangement.diagflat(lg.asarray(M), k), np.diagflat(M, k))
    check_orders(lambda x: arrangement.diag(x, k) ** 2, V)
    for axes in ((-2, -1), (0, 2), (2, 0), (1, 0)):
        y = arrangement.diag_embed(lg.asarray(M), k, *axes)
        close(np.diagonal(y.numpy(), k, *axes), M)
        assert np.count_nonzero(y.numpy()) == M.size and y.size == 3 * (5 + abs(k)) ** 2


def test_vander_is_numpys():
    for options in ({}, {"N": 3}, {"N": 0}, {"N": 1}, {"N": 4, "increasing": True}):
        for x in (V, np.array([2, 3])):
            y = arrangement.vander(lg.asarray(x), **options)
            close(y, np.vander(x, **options))
            assert y.dtype == x.dtype
    check_orders(lambda x: arrangement.vander(x, 4), V)


def test_parts_along_an_axis():
    x = lg.asarray(M)
    close(arrangement.narrow(x, 1, -3, 2), M[:, 2:4])
    close(arrangement.select_slice(x, 1, -2), M[:, -2])
    assert [row.tolist() for row in arrangement.unbind(x)] == M.tolist()
    i = np.array([[0, 2], [1, 1], [4, 0]])
    close(arrangement.take_along_dim(x, lg.asarray(i), 1), np.take_along_axis(M, i, 1))
    close(arrangement.take_along_dim(x, lg.asarray(i)), M.reshape(-1)[i.reshape(-1)])
    close(arrangement.argwhere(lg.asarray(M > 0)), np.argwhere(M > 0))
    assert arrangement.argwhere(lg.tensor(1.0)).shape == (1, 0)
    close(arrangement.sum_to_size(lg.asarray(X), 1, 3), X.sum((0, 1)).reshape(1, 3))
    close(arrangement.sum_to_size(lg.asarray(X), (4, 1, 3)), X.sum(1, keepdims=True))


@pytest.mark.parametrize(("size", "step"), [(2, 1), (3, 2), (5, 1), (1, 3)])
def test_unfold(size, step):
    windows = np.lib.stride_tricks.sliding_window_view(X, size, 1)[:, ::step]
    close(arrangement.unfold(lg.asarray(X), 1, size, step), windows)
    check_orders(lambda x: arrangement.unfold(x, 1, size, step), M)
    assert arrangement.unfold(lg.tensor(2.0), 0, 1, 1).tolist() == [2.0]


def test_select_is_numpys():
    conditions, choices = [X > 1, X > 0], [X, X * 2]
    ours = arrangement.select([lg.asarray(c) for c in conditions], [lg.asarray(c) for c in choices], 7.0)
    close(ours, np.select(conditions, choices, 7.0))


# -- scattering --------------------------------------------------------------------------------------
def _scattered(x, dim, index, src, reduce, include_self):
    """Element by element, as PyTorch's documentation says."""
    groups = {}
    for at in np.ndindex(*index.shape):
        place = (*at[:dim], int(index[at]), *at[dim + 1 :])
        groups.setdefault(place, [x[place]] if include_self else []).append(src[at])
    y = x.copy()
    f = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
    for place, values in groups.items():
        y[place] = np.floor(f(values)) if x.dtype.kind == "i" else f(values)
    return y


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", scattering.REDUCTIONS)
@pytest.mark.parametrize(("dim", "shape"), [(0, (3, 5)), (1, (3, 5)), (0, (2, 4)), (1, (3, 7)), (0, (6, 2))])
def test_scatter_reduce(dim, shape, reduce, include_self):
    index = rng.integers(0, M.shape[dim], shape)
    src = rng.standard_normal(shape)
    src.reshape(-1)[0] = 0.0

    def f(x, s):
        return scattering.scatter_reduce(x, dim, lg.asarray(index), s, reduce, include_self=include_self)

    close(f(lg.asarray(M), lg.asarray(src)), _scattered(M, dim, index, src, reduce, include_self))
    check_orders(f, M, src)
    whole, more = rng.integers(-5, 5, M.shape), rng.integers(-5, 5, shape)
    found = f(lg.asarray(whole), lg.asarray(more))
    close(found, _scattered(whole, dim, index, more, reduce, include_self))
    assert found.dtype == lg.int64
    assert f(lg.asarray(M.astype("float32")), lg.asarray(src.astype("float32"))).dtype == lg.float32


def test_ties_share_what_falls_on_one_place():
    x, s, i = leaf([4.0, 1.0]), leaf([4.0, 2.0, 4.0]), lg.asarray([0, 1, 0])
    y = scattering.scatter_reduce(x, 0, i, s, "amax")
    np.testing.assert_allclose(slopes(y.sum(), x, s)[1], [1 / 3, 1, 1 / 3])
    y = scattering.scatter_reduce(x, 0, i, s, "amax", include_self=False)
    assert slopes(y.sum(), x, s) == [[0.0, 0.0], [0.5, 1.0, 0.5]]


def test_products_with_zeros():
    x, s, i = leaf([2.0, 3.0]), leaf([0.0, 5.0, 0.0, 0.0]), lg.asarray([0, 0, 1, 1])
    y = scattering.scatter_reduce(x, 0, i, s, "prod")
    assert slopes(y.sum(), x, s) == [[0.0, 0.0], [10.0, 0.0, 0.0, 0.0]]


def test_scattering_numbers_and_nothing():
    x = lg.tensor(2.0)
    assert scattering.scatter_reduce(x, 0, lg.tensor(0), lg.tensor(3.0), "prod").item() == 6.0
    nothing = lg.zeros((0,), dtype=lg.int64)
    assert scattering.scatter_reduce(lg.ones(2), 0, nothing, lg.zeros(0), "amax").tolist() == [1.0, 1.0]
    assert scattering.index_copy(lg.ones(2), 0, nothing, lg.zeros(0)).tolist() == [1.0, 1.0]
    assert scattering.index_fill(lg.ones(2), 0, nothing, 5.0).tolist() == [1.0, 1.0]
    assert scattering.masked_scatter(lg.ones(2), lg.asarray([False, False]), lg.zeros(0)).tolist() == [1.0, 1.0]


def test_writing_along_an_axis():
    i = lg.asarray([4, 0])
    expected = M.copy()
    expected[:, [4, 0]] = 3.0
    close(scattering.index_fill(lg.asarray(M), 1, i, 3.0), expected)
    check_orders(lambda x, v: scattering.index_fill(x, 1, i, v), M, np.array(2.0))
    source = rng.standard_normal((3, 2))
    expected[:, [4, 0]] = source
    close(scattering.index_copy(lg.asarray(M), -1, i, lg.asarray(source)), expected)
    check_orders(lambda x, s: scattering.index_copy(x, 1, i, s) ** 2, M, source)
    x, s = leaf([1.0]), leaf([2.0, 3.0])
    y = scattering.index_copy(x, 0, lg.asarray([0, 0]), s)
    assert y.tolist() == [3.0] and slopes(y.sum(), x, s) == [[0.0], [0.0, 1.0]]


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(accumulate):
    rows, columns, values = np.array([0, 2, 0]), np.array([1, 3, 2]), rng.standard_normal(3)
    for key, v in (((rows, columns), values), ((M > 0,), np.array(2.0)), ((rows[:2],), rng.standard_normal((2, 5)))):
        expected = M.copy()
        expected[key] = expected[key] + v if accumulate else v
        keys = tuple(map(lg.asarray, key))
        close(scattering.index_put(lg.asarray(M), keys, lg.asarray(v), accumulate), expected)
        check_orders(lambda x, v, k=keys: scattering.index_put(x, k, v, accumulate) ** 2, M, v)
    y = scattering.index_put(lg.zeros(2), (lg.asarray([1, 1]),), 3.0, accumulate=True)
    assert y.tolist() == [0.0, 6.0]


def test_masked_scatter():
    mask, source = M > 0, rng.standard_normal((3, 6))
    expected = M.copy()
    expected[mask] = source.reshape(-1)[: mask.sum()]
    close(scattering.masked_scatter(lg.asarray(M), lg.asarray(mask), lg.asarray(source)), expected)
    check_orders(lambda x, s: scattering.masked_scatter(x, lg.asarray(mask), s) ** 2, M, source)


# -- batches and errors ------------------------------------------------------------------------------
INDEX = lg.asarray([0, 2, 0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: norms.cdist(x, x * 2),
        lambda x: norms.norm(x, 2, 0),
        lambda x: curves.convolve(x[:, 0], x[0]),
        lambda x: curves.interp(x, lg.asarray([-1.0, 0.0, 1.0]), lg.asarray([3.0, 1.0, 2.0])),
        lambda x: curves.trapezoid(x, axis=0),
        lambda x: comparison.isclose(x, 1.0),
        lambda x: arrangement.rot90(x),
        lambda x: arrangement.diag(x[0]),
        lambda x: arrangement.diag_embed(x),
        lambda x: arrangement.vander(x[0]),
        lambda x: arrangement.unfold(x, 0, 2, 1),
        lambda x: arrangement.sum_to_size(x, 1, 3),
        lambda x: scattering.index_fill(x, 0, INDEX, 1.0),
        lambda x: scattering.index_copy(x, 0, INDEX, x[:3]),
        lambda x: scattering.masked_scatter(x, x > 0, x),
        lambda x: scattering.index_put(x, (INDEX,), 1.0, accumulate=True),
        *(lambda x, r=r: scattering.scatter_reduce(x[0], 0, INDEX, x[1], r) for r in scattering.REDUCTIONS),
    ],
)
def test_under_vmap(f):
    vmapped(f, X)
    assert not batching.loops


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda x: curves.convolve(x, x)),
        (ValueError, lambda x: curves.convolve(x[0], x[0], "some")),
        (ValueError, lambda x: curves.convolve(x[0], x[0, :0])),
        (RuntimeError, lambda x: norms.cdist(x, x[:, :2])),
        (RuntimeError, lambda x: norms.cdist(x, x, -1.0)),
        (RuntimeError, lambda x: norms.norm(x, "max")),
        (RuntimeError, lambda x: norms.norm(x[0], "nuc")),
        (ValueError, lambda x: curves.interp(x, x, x)),
        (ValueError, lambda x: curves.interp(x, x[0], x[0], period=0)),
        (IndexError, lambda x: curves.trapezoid(x, axis=2)),
        (ValueError, lambda x: arrangement.fliplr(x[0])),
        (ValueError, lambda x: arrangement.rot90(x, axes=(0, 0))),
        (ValueError, lambda x: arrangement.diag(lg.ones((2, 2, 2)))),
        (ValueError, lambda x: arrangement.vander(x)),
        (RuntimeError, lambda x: arrangement.narrow(x, 1, 4, 2)),
        (RuntimeError, lambda x: arrangement.unfold(x, 1, 6, 1)),
        (RuntimeError, lambda x: arrangement.unfold(x, 1, 2, 0)),
        (RuntimeError, lambda x: arrangement.sum_to_size(x, 2)),
        (ValueError, lambda x: arrangement.select([x > 0], [])),
        (RuntimeError, lambda x: scattering.scatter_reduce(x, 0, INDEX, x, "median")),
        (ValueError, lambda x: scattering.scatter_reduce(x, 0, INDEX, x, "sum")),
        (IndexError, lambda x: scattering.index_fill(x, 0, x, 1.0)),
        (RuntimeError, lambda x: scattering.index_fill(x, 0, INDEX, x[0])),
        (IndexError, lambda x: scattering.index_copy(x, 0, INDEX, x[:2])),
    ],
)
def test_errors_name_the_function(error, call):
    with pytest.raises(error, match=r"^[a-z0-9_]+: "):
        call(lg.ones((3, 5)))
