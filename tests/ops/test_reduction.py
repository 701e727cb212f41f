"""Reductions: axes, dtypes, ties, zeros and kinks; second derivatives where they are delicate."""

import itertools
import math

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import grad
from lucidgrad.ops import reduction

INF = math.inf
AXES = [None, 0, 1, -1, (0, 2), (1,), (-1, 0), (0, 1, 2), ()]
X = np.random.default_rng(0).standard_normal((2, 3, 4))
C = X + 1j * np.random.default_rng(1).standard_normal(X.shape)


def leaf(values, dtype=np.float64):
    return lg.asarray(np.asarray(values, dtype)).requires_grad_()


def gradient(f, x, seed=None, create_graph=False):
    y = f(x)
    seed = lg.ones_like(y) if seed is None else seed
    return grad(y, [x], grad_outputs=seed, create_graph=create_graph)[0]


def hessian(f, values):
    """Of a scalar function, by two passes."""
    x = leaf(values)
    (g,) = grad(f(x), [x], create_graph=True)
    flat = lg.reshape(g, (-1,))
    rows = [grad(flat[k], [x], retain_graph=True, materialize_grads=True)[0] for k in range(flat.shape[0])]
    return np.stack([row.numpy().ravel() for row in rows])


def close(t, expected, tolerance=1e-12):
    t = t.detach().numpy() if isinstance(t, lg.Tensor) else t
    assert t.shape == np.shape(expected)
    np.testing.assert_allclose(t, expected, rtol=tolerance, atol=tolerance)


def kept_shape(shape, axis):
    axes = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return tuple(1 if k in [a % len(shape) for a in axes] else n for k, n in enumerate(shape))


# -- values, axes and shapes -------------------------------------------------------------------------
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "var", "std", "all", "any", "count_nonzero"])
def test_values_are_numpys(name, axis, keepdims):
    y = getattr(lg, name)(lg.asarray(X), axis=axis, keepdims=keepdims)
    expected = getattr(np, name)(X, axis=axis, keepdims=keepdims)
    close(y, expected)
    assert y.dtype == np.asarray(expected).dtype
    assert isinstance(y.array, np.ndarray)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
def test_a_sum_sends_its_gradient_to_every_element(axis, keepdims):
    x, shape = leaf(X), kept_shape(X.shape, axis)
    weights = np.random.default_rng(2).standard_normal(np.sum(X, axis=axis, keepdims=keepdims).shape)
    spread = np.broadcast_to(weights.reshape(shape), X.shape)
    n = X.size / math.prod(shape)
    close(gradient(lambda x: lg.sum(x, axis=axis, keepdims=keepdims), x, lg.asarray(weights)), spread)
    close(gradient(lambda x: lg.mean(x, axis=axis, keepdims=keepdims), x, lg.asarray(weights)), spread / n)


@pytest.mark.parametrize("axis", AXES)
def test_variance_and_deviation(axis):
    n = X.size / math.prod(kept_shape(X.shape, axis))
    d = X - X.mean(axis=axis, keepdims=True)
    close(gradient(lambda x: lg.var(x, axis=axis), leaf(X)), 2 * d / n)
    if n > 1:
        y = X.std(axis=axis, keepdims=True, ddof=1)
        close(gradient(lambda x: lg.std(x, axis=axis, correction=1), leaf(X)), d / y / (n - 1))


def test_spellings_of_torch():
    x = lg.asarray(X)
    assert lg.sum(x, dim=1, keepdim=True).shape == (2, 1, 4)
    assert lg.max(x, dim=[0, 1]).shape == (4,)
    assert lg.logsumexp(x, 0).shape == (3, 4)
    assert reduction.amax is lg.max and reduction.amin is lg.min


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "var", "all", "argmax", "logsumexp", "vector_norm"])
def test_an_axis_out_of_range(name):
    function = getattr(reduction, name)
    with pytest.raises((IndexError, ValueError), match="axis 3 is out of"):
        function(lg.asarray(X), axis=3)
    with pytest.raises((IndexError, TypeError)):
        function(lg.asarray(X), axis=-4)
    if name != "argmax":
        with pytest.raises(ValueError, match="duplicate"):
            function(lg.asarray(X), axis=(0, 0))


# -- dtypes ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64"])
def test_integers(dtype):
    x = lg.asarray(np.array([[3, 1], [0, 1]], dtype))
    for axis in (None, 0, (0, 1)):
        assert lg.sum(x, axis=axis).dtype == lg.prod(x, axis=axis).dtype == lg.int64
        assert lg.max(x, axis=axis).dtype == x.dtype
        assert lg.count_nonzero(x, axis=axis).dtype == lg.int64
        for f in (lg.mean, lg.var, lg.std, lg.logsumexp, reduction.vector_norm):
            assert f(x, axis=axis).dtype == lg.float32
    for axis in (None, 0):
        assert lg.argmax(x, axis=axis).dtype == lg.argmin(x, axis=axis).dtype == lg.int64


def test_small_integers_do_not_wrap():
    x = lg.asarray(np.array([200, 250], np.uint8))
    assert lg.sum(x).item() == 450
    close(reduction.vector_norm(x), np.float32(math.hypot(200, 250)))
    assert lg.logsumexp(x).item() == 250.0
    assert lg.mean(lg.asarray(np.array([127, 127], np.int8))).item() == 127.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_dtypes_are_kept_forward_and_backward(dtype):
    x = lg.asarray(X.astype(dtype)).requires_grad_()
    real = x.array.real.dtype
    names = ["sum", "prod", "mean", "var", "std"] + (["max", "logsumexp"] if x.dtype == real else [])
    for f in (*(getattr(lg, name) for name in names), reduction.vector_norm):
        for axis in (None, 1, (0, 2)):
            y = f(x, axis=axis)
            assert y.dtype == (real if f in (lg.var, lg.std, reduction.vector_norm) else x.dtype)
            (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
            assert g.dtype == x.dtype
            if g.requires_grad:
                assert grad(g, [x], grad_outputs=lg.ones_like(g))[0].dtype == x.dtype


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", [1, 1, 1]), ("prod", [6, 3, 2]), ("cumulative_sum", [3, 2, 1]), ("cumulative_prod", [9, 4, 2])],
)
def test_dtype_keyword(name, expected):
    f, x = getattr(lg, name), leaf([1.0, 2.0, 3.0], np.float32)
    y = f(x, dtype=lg.float64)
    assert y.dtype == lg.float64
    (g,) = grad(y, [x], grad_outputs=lg.ones_like(y), create_graph=True)
    assert g.dtype == lg.float32
    expected = {
        "sum": [1, 1, 1],
        "prod": [6, 3, 2],
        "cumulative_sum": [3, 2, 1],
        "cumulative_prod": [9, 4, 2],
    }
    close(g, np.float32(expected[name]))
    assert f(lg.asarray(np.arange(3)), dtype=lg.float64).dtype == lg.float64
    assert f(np.arange(3), dtype=lg.float64).dtype == lg.float64


def test_float16_means_add_up_in_higher_precision():
    x = lg.asarray(np.full(100_000, 2.0, np.float16))
    assert lg.mean(x).item() == 2.0 and lg.var(x).item() == 0.0


def test_complex_gradients():
    weights = np.array([1 + 2j, -1j, 3.0])
    x, w = leaf(C[0, :, 0], complex), lg.asarray(weights)
    close(gradient(lambda x: lg.sum(x * w), x), weights.conj())
    close(gradient(lambda x: lg.mean(x * w), x), weights.conj() / 3)
    close(gradient(lg.prod, x), np.conj([np.prod(np.delete(C[0, :, 0], k)) for k in range(3)]))
    d = C[0, :, 0] - C[0, :, 0].mean()
    close(gradient(lg.var, x), 2 * d / 3)
    close(gradient(lg.std, x), d / 3 / C[0, :, 0].std())
    close(gradient(reduction.vector_norm, x), C[0, :, 0] / np.linalg.norm(C[0, :, 0]))
    close(gradient(lambda x: reduction.vector_norm(x, ord=1), x), C[0, :, 0] / abs(C[0, :, 0]))


# -- nothing and scalars -----------------------------------------------------------------------------
def test_reductions_of_nothing():
    for shape, axis in [((0,), None), ((0,), 0), ((2, 0, 3), 1), ((2, 0), (0, 1))]:
        x = leaf(np.zeros(shape))
        rest = np.sum(x.detach().numpy(), axis=axis).shape
        for f, value in [(lg.sum, 0.0), (lg.prod, 1.0), (lg.logsumexp, -INF), (reduction.vector_norm, 0.0)]:
            y = f(x, axis=axis)
            close(y, np.full(rest, value))
            close(gradient(lambda x, f=f, axis=axis: f(x, axis=axis), x, create_graph=True), np.zeros(shape))
        with pytest.warns(RuntimeWarning):
            close(lg.mean(x, axis=axis), np.full(rest, np.nan))
        for f in (lg.max, lg.min):
            with pytest.raises(ValueError, match="zero-size"):
                f(x, axis=axis)
    close(gradient(lambda x: lg.max(x, axis=1), leaf(np.zeros((0, 3)))), np.zeros((0, 3)))


@pytest.mark.parametrize("axis", [None, 0, -1, ()])
def test_zero_dimensions(axis):
    for f, y, g in [
        (lg.sum, 3, 1),
        (lg.prod, 3, 1),
        (lg.mean, 3, 1),
        (lg.max, 3, 1),
        (lg.var, 0, 0),
        (lg.std, 0, 0),
    ]:
        x = leaf(3.0)
        close(f(x, axis=axis), float(y))
        close(gradient(lambda x, f=f: f(x, axis=axis), x), float(g))
    close(gradient(lambda x: lg.logsumexp(x, axis=axis), leaf(3.0)), 1.0)
    close(gradient(lambda x: reduction.vector_norm(x, axis=axis), leaf(-3.0)), -1.0)


# -- products ----------------------------------------------------------------------------------------
def others(x, *gone):
    return np.prod(np.delete(x.ravel(), gone))


@pytest.mark.parametrize("zeros", [(), (1,), (1, 4), (0, 2, 5), tuple(range(6))])
def test_products_of_zeros_have_exact_derivatives(zeros):
    x = np.arange(2.0, 8.0).reshape(2, 3)
    x.ravel()[list(zeros)] = 0
    n = x.size
    close(gradient(lg.prod, leaf(x)), np.reshape([others(x, k) for k in range(n)], x.shape))
    expected = [[others(x, i, j) if i != j else 0.0 for j in range(n)] for i in range(n)]
    close(hessian(lg.prod, x), expected)
    close(hessian(lambda x: lg.prod(x, axis=(1, 0)), x), expected)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 0), (0, 1, 2), (1, 2), ()])
def test_products_along_axes(axis):
    x = np.round(X, 1)
    x[0, 1, 2] = x[1, 1, 2] = x[1, 0, 0] = 0
    axes = tuple(range(3)) if axis is None else tuple(np.ravel(axis).astype(int) % 3)
    expected = np.empty(x.shape)
    for place in itertools.product(*map(range, x.shape)):
        key = tuple(slice(None) if a in axes else k for a, k in enumerate(place))
        rest = x.copy()
        rest[place] = 1
        expected[place] = np.prod(rest[key])
    for keepdims in (False, True):
        close(gradient(lambda x, k=keepdims: lg.prod(x, axis=axis, keepdims=k), leaf(x)), expected)


def test_third_derivative_of_a_product_of_zeros():
    x = leaf([0.0, 0.0, 0.0, 5.0])
    g = gradient(lg.prod, x, create_graph=True)
    h = gradient(lambda _: g[0], x, create_graph=True)
    close(h, [0.0, 0.0, 0.0, 0.0])
    close(gradient(lambda _: h[1], x), [0.0, 0.0, 5.0, 0.0])


# -- ties --------------------------------------------------------------------------------------------
def test_ties_share_evenly():
    x = [[1.0, 3.0, 3.0], [3.0, 0.0, 0.0]]
    close(gradient(lambda x: lg.max(x, axis=1), leaf(x)), [[0, 0.5, 0.5], [1, 0, 0]])
    close(gradient(lg.max, leaf(x)), [[0, 1 / 3, 1 / 3], [1 / 3, 0, 0]])
    close(gradient(lambda x: lg.min(x, axis=0), leaf(x)), [[1, 0, 0], [0, 1, 1]])
    close(gradient(lambda x: reduction.amin(x, axis=(0, 1), keepdims=True), leaf(x)), [[0, 0, 0], [0, 0.5, 0.5]])
    assert not hessian(lg.max, x).any()


def test_a_nan_is_the_extreme():
    x = leaf([1.0, math.nan])
    assert math.isnan(lg.max(x).item()) and math.isnan(lg.min(x).item())
    assert np.isnan(gradient(lg.max, x).numpy()).all()


# -- deviation without spread ------------------------------------------------------------------------
def test_the_deviation_of_equal_values_has_gradient_zero():
    x = leaf([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
    g = gradient(lambda x: lg.std(x, axis=1), x, create_graph=True)
    close(g[0], [0.0, 0.0, 0.0])
    second = gradient(lambda _: g * g, x).numpy()
    assert np.isfinite(second).all() and not second[0].any()


def test_too_few_values_for_the_correction():
    for f in (lg.var, lg.std):
        with pytest.warns(RuntimeWarning):
            y = f(leaf([1.0]), correction=1)
        assert math.isnan(y.item())


# -- logsumexp ---------------------------------------------------------------------------------------
def test_logsumexp_never_overflows():
    for big in (1000.0, -1000.0):
        x = leaf([big, big], np.float32)
        close(lg.logsumexp(x), np.float32(big + math.log(2)), 1e-6)
        close(gradient(lg.logsumexp, x), np.float32([0.5, 0.5]), 1e-4)
    x = X * 100
    soft = np.exp(x - x.max(1, keepdims=True))
    soft /= soft.sum(1, keepdims=True)
    close(gradient(lambda x: lg.logsumexp(x, axis=1), leaf(x)), soft)


@pytest.mark.filterwarnings("error")
def test_logsumexp_of_infinities():
    x = leaf([[-INF, -INF], [-INF, 1.0], [INF, 1.0]])
    close(lg.logsumexp(x, axis=1), [-INF, 1.0, INF])
    g = gradient(lambda x: lg.logsumexp(x, axis=1), x, create_graph=True)
    close(g[:2], [[0.0, 0.0], [0.0, 1.0]])
    close(gradient(lambda _: g[:2], x)[:2], np.zeros((2, 2)))


def test_hessian_of_logsumexp():
    p = np.exp(X[0, 0]) / np.exp(X[0, 0]).sum()
    close(hessian(lg.logsumexp, X[0, 0]), np.diag(p) - np.outer(p, p))


# -- norms -------------------------------------------------------------------------------------------
ORDERS = [0.5, 1, 1.5, 2, 2.5, 3, 4, 6, -1, -2, INF, -INF, 0]


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("order", ORDERS)
def test_norms_are_numpys(order, axis):
    for x in (X, C, X.astype(np.float32)):
        expected = np.linalg.vector_norm(x, axis=axis, ord=order)
        y = reduction.vector_norm(lg.asarray(x), axis=axis, ord=order)
        close(y, expected, 1e-6 if x.dtype == np.float32 else 1e-12)
        assert y.dtype == x.real.dtype


@pytest.mark.parametrize("order", ORDERS)
def test_norms_of_zero_have_gradient_zero(order):
    for dtype in (float, complex):
        x = leaf([[0.0, 0.0], [3.0, -4.0]], dtype)
        with np.errstate(divide="ignore"):
            g = gradient(lambda x: reduction.vector_norm(x, axis=1, ord=order), x, create_graph=True)
        close(g[0], np.zeros(2))
        if g.requires_grad:
            assert np.isfinite(gradient(lambda _, g=g: lg.abs(g[1]), x).numpy()).all()


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (0.5, [0.0, 2.154700538379252, -1.8660254037844386]),
        (1, [0.0, 1.0, -1.0]),
        (1.5, [0.0, 0.7329564758289748, -0.8463452372482761]),
        (2, [0.0, 0.6, -0.8]),
        (2.5, [0.0, 0.5118950223304005, -0.7881139438380965]),
        (3, [0.0, 0.4448513517305356, -0.7908468475209521]),
        (4, [0.0, 0.34327433817137415, -0.813687320109924]),
        (INF, [0.0, 0.0, -1.0]),
        (-INF, [0.0, 0.0, 0.0]),
        (0, [0.0, 0.0, 0.0]),
    ],
)
def test_norms_of_vectors_with_a_zero(order, expected):
    close(gradient(lambda x: reduction.vector_norm(x, ord=order), leaf([0.0, 3.0, -4.0])), expected, 1e-14)


def test_norms_of_ties():
    x = [3.0, -3.0, 1.0, 1.0]
    close(gradient(lambda x: reduction.vector_norm(x, ord=INF), leaf(x)), [0.5, -0.5, 0.0, 0.0])
    close(gradient(lambda x: reduction.vector_norm(x, ord=-INF), leaf(x)), [0.0, 0.0, 0.5, 0.5])


@pytest.mark.parametrize("order", [2, 4])
def test_hessian_of_a_norm_with_a_zero_among_its_elements(order):
    x = np.array([0.0, 3.0, -4.0])
    y = np.linalg.norm(x, order)
    u = (x / y) ** (order - 1)
    expected = (order - 1) / y * (np.diag((x / y) ** (order - 2)) - np.outer(u, u))
    close(hessian(lambda x: reduction.vector_norm(x, ord=order), x), expected)


# -- positions ---------------------------------------------------------------------------------------
def test_positions_are_numpys():
    x = np.round(X)
    for axis, keepdims in itertools.product([None, 0, 1, -1], [False, True]):
        for name in ("argmax", "argmin"):
            y = getattr(lg, name)(lg.asarray(x), axis=axis, keepdims=keepdims)
            close(y, getattr(np, name)(x, axis=axis, keepdims=keepdims))
    assert not lg.argmax(leaf(x)).requires_grad
    with pytest.raises(ValueError, match="empty"):
        lg.argmax(lg.asarray(np.zeros(0)))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_norms_of_halves_do_not_overflow_on_the_way(order):
    x = lg.full((100,), 300.0, dtype=lg.float16, requires_grad=True)
    y = lg.linalg.vector_norm(x, ord=order)
    assert y.dtype == lg.float16
    assert abs(float(y) / (300 * 100 ** (1 / order)) - 1) < 1e-3
    y.backward()
    assert x.grad.dtype == lg.float16 and bool(lg.all(lg.isfinite(x.grad)))
