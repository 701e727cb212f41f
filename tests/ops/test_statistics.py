"""Statistics: order statistics, averages, covariance, reductions without NaN, counts."""

import math
import warnings

import numpy as np
import pytest
from finite import check_orders, close

import lucidgrad as lg
from lucidgrad.core import dispatch
from lucidgrad.levels import batching, layer
from lucidgrad.ops import counting, quantiles, statistics
from lucidgrad.ops.quantiles import METHODS, lower_median

NAN, INF = math.nan, math.inf
rng = np.random.default_rng(11)
X = rng.standard_normal((4, 5, 3))
HOLES = np.where(rng.random(X.shape) < 0.3, NAN, X)
HOLES[0, :, 0] = NAN
WHOLE = rng.integers(-3, 4, X.shape)
AXES = [None, 0, -1, (0, 2), (2, 0), (0, 1, 2)]


def leaf(values, dtype=np.float64):
    return lg.asarray(np.asarray(values, dtype)).requires_grad_()


def slopes(y, *xs):
    return [g.tolist() for g in lg.autograd.grad(y, xs, materialize_grads=True)]


def vmapped(f, *arrays):
    """A function on every row of arrays at once, which must be what a loop gives."""
    with layer.Level("vmap") as level:
        found = f(*(dispatch.box(batching.Batched(a, level)) for a in arrays))
    found = found if isinstance(found, tuple) else (found,)
    loop = [f(*(lg.asarray(a[k]) for a in arrays)) for k in range(len(arrays[0]))]
    loop = [y if isinstance(y, tuple) else (y,) for y in loop]
    for y, *rows in zip(found, *loop, strict=True):
        close(y.array.value, np.stack([row.numpy() for row in rows]))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        yield


# -- values ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize(
    "name", "median nanmedian ptp average nansum nanprod nanmean nanvar nanstd nanmax nanmin".split()
)
def test_reductions_are_numpys(name, axis, keepdims):
    ours, reference = getattr(lg, name), getattr(np, name)
    for x in (X, HOLES):
        close(ours(lg.asarray(x), axis=axis, keepdims=keepdims), reference(x, axis=axis, keepdims=keepdims))
    close(ours(lg.asarray(WHOLE), dim=axis, keepdim=keepdims), reference(WHOLE, axis=axis, keepdims=keepdims), 1e-5)
    assert ours(lg.asarray(X.astype("float32")), axis=axis).dtype == lg.float32


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, (0, 2)])
def test_quantiles_are_numpys(method, axis):
    for q in (0, 0.3, 1.0, [0.1, 0.5], [[0.1, 0.25], [0.5, 0.9]]):
        for x in (X, HOLES):
            for name, by in (("quantile", 1), ("nanquantile", 1), ("percentile", 100), ("nanpercentile", 100)):
                q100 = (np.asarray(q) * by).tolist()
                if name.startswith("nan") and np.ndim(q) == 2 and isinstance(axis, tuple):
                    continue  # NumPy puts an axis of q in the wrong place
                options = {"axis": axis, "method": method, "keepdims": axis == 0}
                expected = getattr(np, name)(x, q100, **options)
                close(getattr(lg, name)(lg.asarray(x), q100, **options), expected)


def test_quantiles_keep_single_precision():
    y = quantiles.quantile(lg.asarray(X.astype("float32")), [0.3, 0.5], axis=1)
    assert y.dtype == lg.float32 and y.shape == (2, 4, 3)
    assert quantiles.quantile(lg.asarray([1, 2]), 0.5).dtype == lg.float32


def test_an_infinite_neighbour_without_weight_does_not_count():
    x = lg.asarray([1.0, 2.0, INF])
    assert quantiles.quantile(x, 0.5).item() == 2.0
    assert quantiles.quantile(x, 1.0).item() == INF


def test_medians_of_nothing_and_of_one():
    assert math.isnan(quantiles.median(lg.zeros(0)).item())
    assert math.isnan(quantiles.nanmedian(lg.zeros(0)).item())
    assert quantiles.median(lg.tensor(3.0)).item() == 3.0
    assert quantiles.quantile(lg.tensor(3.0), 0.2).item() == 3.0


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_kthvalue_and_mode(axis):
    x = np.round(X, 1)
    for k in (1, 3):
        values, indices = quantiles.kthvalue(lg.asarray(x), k, axis)
        close(values, np.take(np.sort(x, axis=axis), k - 1, axis=axis))
        close(np.take_along_axis(x, np.expand_dims(indices.numpy(), axis), axis).squeeze(axis), values.numpy())
    values, indices = lg.mode(lg.asarray(WHOLE), axis, keepdim=True)
    expected = np.apply_along_axis(lambda row: np.argmax(np.bincount(row + 9)) - 9, axis, WHOLE)
    close(values, np.expand_dims(expected, axis))
    close(np.take_along_axis(WHOLE, indices.numpy(), axis), values.numpy())


def test_numbers_are_their_own_order_statistics():
    x = leaf(2.0)
    for found in (quantiles.kthvalue(x, 1), quantiles.mode(x), lower_median(x, 0)):
        assert found.values.item() == 2.0 and found.indices.item() == 0
        assert slopes(found.values, x) == [1.0]


def test_the_lower_median_is_pytorchs():
    x = leaf([[4.0, 1.0, 3.0, 2.0], [NAN, 5.0, NAN, 7.0]])
    values, indices = lower_median(x, 1)
    assert values[0].item() == 2.0 and math.isnan(values[1].item()) and indices.tolist() == [3, 0]
    values, indices = lower_median(x, 1, True, skip=True)
    assert values.tolist() == [[2.0], [5.0]] and indices.tolist() == [[3], [1]]
    assert slopes(values.sum(), x) == [[[0, 0, 0, 1], [0, 1, 0, 0]]]
    assert lower_median(x, skip=True).item() == 3.0 and math.isnan(lower_median(x).item())
    assert lower_median(lg.asarray([3, 1, 2, 9])).item() == 2
    assert lower_median(lg.asarray([[3, 1, 2, 9]]), 1).values.tolist() == [2]


# -- gradients ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [
        lambda x: quantiles.median(x, axis=1),
        lambda x: quantiles.median(x, axis=(0, 2)),
        lambda x: quantiles.quantile(x, [0.3, 0.71], axis=1),
        lambda x: quantiles.quantile(x, 0.4, method="hazen"),
        lambda x: quantiles.kthvalue(x, 2, 1).values,
        lambda x: statistics.ptp(x, axis=1),
        lambda x: statistics.nanvar(x, axis=1, ddof=1),
        lambda x: statistics.nanstd(x, axis=(0, 2)),
        lambda x: statistics.nanmean(x),
        lambda x: statistics.nanprod(x, axis=1),
        lambda x: statistics.nancumsum(x, 1),
        lambda x: statistics.cumsum(x),
        lambda x: statistics.cumprod(x, 1),
        lambda x: statistics.var_mean(x, 1)[0],
        lambda x: statistics.std_mean(x, 1)[0],
        lambda x: statistics.cov(x[0]),
        lambda x: statistics.corrcoef(x[:, 0], rowvar=False)[0],
    ],
)
def test_gradients_of_two_orders(f):
    check_orders(f, X[:2])


def test_gradients_of_weights_and_fractions():
    w = np.array([1.0, 2.0, 0.5, 0.7, 1.5])
    check_orders(lambda x, w: statistics.average(x, axis=1, weights=w), X[:1], w)
    check_orders(lambda x, w: statistics.cov(x, aweights=w), X[:2, :, 0].copy(), w)
    check_orders(lambda x, q: quantiles.quantile(x, q, axis=1), X[:1], np.array([0.3, 0.6]))


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_the_gradient_goes_to_the_neighbours(method):
    x = leaf([40.0, 10.0, 30.0, 20.0])  # 0.4 stands at place 1.2
    y = quantiles.quantile(x, 0.4, interpolation=method)
    expected = {"linear": (0.8, 0.2), "lower": (1, 0), "higher": (0, 1), "midpoint": (0.5, 0.5), "nearest": (1, 0)}
    low, high = expected[method]
    np.testing.assert_allclose(slopes(y, x), [[0, 0, high, low]], atol=1e-12)


def test_nan_gets_no_gradient():
    x = leaf([[1.0, NAN, 3.0, 2.0], [NAN, NAN, NAN, NAN]])
    for name in "nansum nanmean nanvar nanstd nanmax nanmin nanprod nanmedian".split():
        y = getattr(lg, name)(x, axis=1)[0]
        (g,) = slopes(y, x)
        assert g[0][1] == 0 and all(map(math.isfinite, g[0])), name


def test_ties_share_or_choose():
    x = leaf([2.0, 5.0, 2.0, 5.0])
    assert slopes(statistics.ptp(x), x) == [[-0.5, 0.5, -0.5, 0.5]]
    assert slopes(statistics.nanmax(x), x) == [[0, 0.5, 0, 0.5]]
    assert slopes(lower_median(x), x) == [[0.5, 0, 0.5, 0]]
    assert sum(slopes(quantiles.median(x), x)[0]) == 1
    assert slopes(statistics.nanstd(leaf_ := leaf([3.0, 3.0])), leaf_) == [[0, 0]]


# -- covariance --------------------------------------------------------------------------------------
def test_covariance_is_numpys():
    x, y = X[:, :, 0].copy(), X[:2, :, 1].copy()
    f, a = np.array([1, 2, 1, 3, 1]), np.array([0.5, 1.0, 2.0, 0.1, 0.7])
    for options in ({}, {"rowvar": False}, {"bias": True}, {"ddof": 2}, {"y": y}, {"fweights": f}, {"aweights": a},
                    {"fweights": f, "aweights": a}, {"aweights": a, "ddof": 0}):  # fmt: skip
        ours = {k: lg.asarray(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        close(statistics.cov(lg.asarray(x), **ours), np.cov(x, **options))
    for z in (x, x[0], x + 1j * x[::-1]):
        close(statistics.cov(lg.asarray(z)), np.cov(z))
        close(statistics.corrcoef(lg.asarray(z)), np.corrcoef(z))
    close(statistics.corrcoef(lg.asarray(x[0]), lg.asarray(x[1])), np.corrcoef(x[0], x[1]))


def test_averages_with_weights():
    w, pair = np.abs(X[0, :, 0]), np.abs(X[:, 0, :].T.copy())
    close(statistics.average(lg.asarray(X), 1, lg.asarray(w)), np.average(X, 1, w))
    close(statistics.average(lg.asarray(X), (2, 0), lg.asarray(pair)), np.average(X, (2, 0), pair))
    for weights in (None, w):
        found = statistics.average(lg.asarray(X), 1, None if weights is None else lg.asarray(w), returned=True)
        for y, expected in zip(found, np.average(X, 1, weights, returned=True), strict=True):
            close(y, expected)


# -- counts ------------------------------------------------------------------------------------------
def test_bincount():
    i = rng.integers(0, 7, 20)
    w = rng.standard_normal(20)
    for size in (0, 9):
        y = counting.bincount(lg.asarray(i), minlength=size)
        close(y, np.bincount(i, minlength=size))
        assert y.dtype == lg.int64
    close(counting.bincount(lg.asarray(i), lg.asarray(w)), np.bincount(i, w))
    assert counting.bincount(lg.asarray(i[:0])).shape == (0,)
    check_orders(lambda w: counting.bincount(lg.asarray(i), w), w)


def test_histograms_are_numpys():
    edges = [-1.0, 0.0, 0.5, 2.0]
    x = np.concatenate([X.reshape(-1), edges])
    weight = x**2
    for options in ({}, {"bins": 7, "range": (-1, 1)}, {"bins": edges}, {"density": True}, {"bins": 5, "weights": 1},
                    {"weights": 1, "density": True}):  # fmt: skip
        reference = {**options, "weights": weight} if "weights" in options else options
        ours = {**options, "weights": lg.asarray(weight)} if "weights" in options else options
        for y, expected in zip(counting.histogram(lg.asarray(x), **ours), np.histogram(x, **reference), strict=True):
            close(y, expected)
            assert y.dtype == expected.dtype
    check_orders(lambda w: counting.histogram(lg.asarray(x), 4, weights=w, density=True)[0], weight)
    close(counting.histogram(lg.zeros(0))[1], np.histogram([])[1], 1e-6)
    close(counting.histogram(lg.ones(3))[0], np.histogram(np.ones(3))[0])


def test_histc():
    x = lg.asarray([0.0, 0.4, 1.0, 1.9, 2.0, NAN, 5.0])
    assert counting.histc(x, 4, 0, 2).tolist() == [2.0, 0.0, 1.0, 2.0]
    assert counting.histc(lg.ones(3), 4).tolist() == [0.0, 0.0, 3.0, 0.0]
    assert counting.histc(x, 4, 0, 2).dtype == x.dtype


@pytest.mark.parametrize("right", [False, True])
def test_intervals(right):
    edges = np.array([-1.0, 0.0, 0.5, 2.0])
    x = np.concatenate([X.reshape(-1), edges])
    for bins in (edges, edges[::-1].copy()):
        close(counting.digitize(lg.asarray(x), lg.asarray(bins), right), np.digitize(x, bins, right))
    close(counting.digitize(lg.asarray(x), edges.tolist(), right), np.digitize(x, edges, right))
    found = counting.bucketize(lg.asarray(x), lg.asarray(edges), right=right)
    close(found, np.searchsorted(edges, x, side="right" if right else "left"))
    assert found.dtype == lg.int64 and counting.bucketize(0.3, lg.asarray(edges), out_int32=True).dtype == lg.int32


@pytest.mark.parametrize("equal_nan", [False, True])
def test_unique_is_numpys(equal_nan):
    for x in (np.array([3, 1, 3, NAN, 2, NAN, 1.0]), np.array([NAN, NAN]), WHOLE, X):
        found = counting.unique(lg.asarray(x), True, True, True, equal_nan=equal_nan)
        for y, expected in zip(found, np.unique(x, True, True, True, equal_nan=equal_nan), strict=True):
            close(y, expected)
    close(counting.unique(lg.asarray(WHOLE)), np.unique(WHOLE))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_slices_are_numpys(axis):
    x = np.random.default_rng(0).integers(0, 2, (7, 3, 2)).astype(float)
    found = counting.unique(lg.asarray(x), True, True, True, axis)
    for y, expected in zip(found, np.unique(x, True, True, True, axis), strict=True):
        close(y, expected)


# -- batches and errors ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [
        lambda x: quantiles.median(x, axis=0),
        lambda x: quantiles.nanmedian(x),
        lambda x: quantiles.quantile(x, [0.3, 0.5], axis=1),
        lambda x: quantiles.nanquantile(x, 0.3, axis=0, keepdims=True),
        lambda x: tuple(quantiles.kthvalue(x, 2, 0)),
        lambda x: tuple(quantiles.mode(x, 0)),
        lambda x: tuple(lower_median(x, 0)),
        lambda x: lower_median(x, skip=True),
        lambda x: statistics.cov(x),
        lambda x: statistics.corrcoef(x),
        lambda x: statistics.average(x, 0),
        lambda x: statistics.nanstd(x, 0),
        lambda x: statistics.nanmax(x, 0),
        lambda x: statistics.cumsum(x),
        lambda x: counting.bucketize(x, lg.asarray([-1.0, 0.0, 1.0])),
    ],
)
def test_under_vmap(f):
    vmapped(f, X)
    assert not batching.loops


def test_fractions_may_be_batched():
    vmapped(lambda x, q: quantiles.quantile(x, q), X, np.array([0.1, 0.4, 0.5, 0.9]))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda x: quantiles.quantile(x, 1.5)),
        (ValueError, lambda x: quantiles.quantile(x, lg.asarray([-0.5]))),
        (ValueError, lambda x: quantiles.percentile(x, 101)),
        (ValueError, lambda x: quantiles.quantile(x, 0.5, method="closest")),
        (ValueError, lambda x: quantiles.quantile(x[:, :0], 0.5)),
        (TypeError, lambda x: quantiles.median(x + 1j)),
        (IndexError, lambda x: quantiles.median(x, axis=2)),
        (RuntimeError, lambda x: quantiles.kthvalue(x, 6)),
        (RuntimeError, lambda x: quantiles.kthvalue(x, 0)),
        (IndexError, lambda x: quantiles.mode(x[:, :0])),
        (ValueError, lambda x: statistics.cov(lg.ones((2, 2, 2)))),
        (ValueError, lambda x: statistics.cov(x, aweights=lg.ones(3))),
        (TypeError, lambda x: statistics.average(x, weights=lg.ones(5))),
        (ValueError, lambda x: statistics.average(x, 0, lg.ones(5))),
        (ValueError, lambda x: counting.bincount(x)),
        (ValueError, lambda x: counting.bincount(lg.asarray([-1]))),
        (ValueError, lambda x: counting.bincount(lg.asarray([1]), lg.ones(2))),
        (ValueError, lambda x: counting.histogram(x, 0)),
        (ValueError, lambda x: counting.histogram(x, [2.0, 1.0])),
        (ValueError, lambda x: counting.histogram(x / 0)),
        (ValueError, lambda x: counting.digitize(x, [1.0, 3.0, 2.0])),
        (ValueError, lambda x: counting.unique(x, axis=2)),
        (RuntimeError, lambda x: counting.histc(x, 0)),
    ],
)
def test_errors_name_the_function(error, call):
    with pytest.raises(error, match=r"^(axis|[a-z]+): "):
        call(lg.ones((4, 5)))


def test_every_method_has_a_place():
    assert set(METHODS) >= {"linear", "lower", "higher", "midpoint", "nearest"}
