"""CuPy's arrays on the emulated device, compared with NumPy's."""

import numpy as np
import pytest

FLOATS = ["float32", "float64"]
NUMBERS = ["int8", "uint8", "int32", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SIZES = [0, 1, 33, 1025, 70_000]


def numbers(shape, dtype, seed=0):
    """Return numbers that every dtype can hold."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    values = generator.integers(0 if kind == "u" else -9, 10, shape)
    if kind == "f":
        return (values / 4).astype(dtype)
    if kind == "c":
        return (values / 4 + 1j * generator.integers(-9, 10, shape)).astype(dtype)
    return values.astype(dtype)


def same(ours, theirs, tolerance=0.0):
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours.get(), theirs, rtol=tolerance, atol=tolerance)


# --- making and moving ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
@pytest.mark.parametrize("size", SIZES)
def test_there_and_back(xp, dtype, size):
    x = numbers(size, dtype)
    assert (xp.asarray(x).get() == x).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_creation(xp, order):
    same(xp.arange(3, 50, 4), np.arange(3, 50, 4))
    same(xp.linspace(0, 1, 11), np.linspace(0, 1, 11), 1e-15)
    same(xp.eye(5, 7, 1), np.eye(5, 7, 1))
    same(xp.full((3, 2), 7.5, order=order), np.full((3, 2), 7.5))
    same(xp.zeros((4, 5), "int16", order), np.zeros((4, 5), "int16"))
    same(xp.tri(4), np.tri(4))
    for ours, theirs in zip(xp.meshgrid(xp.arange(3), xp.arange(4)), np.meshgrid(np.arange(3), np.arange(4))):
        same(ours, theirs)


def test_views_and_copies(xp):
    x = np.arange(60.0).reshape(3, 4, 5)
    y = xp.asarray(x)
    same(y.transpose(2, 0, 1).copy(), x.transpose(2, 0, 1))
    same(y[::-1, 1:, ::2].copy(), x[::-1, 1:, ::2])
    same(xp.ascontiguousarray(y.T), np.ascontiguousarray(x.T))
    same(y.reshape(-1, 2).astype("int32"), x.reshape(-1, 2).astype("int32"))
    same(xp.concatenate([y, y[:, ::-1]], 1), np.concatenate([x, x[:, ::-1]], 1))
    same(xp.pad(y, 1, "reflect"), np.pad(x, 1, "reflect"))
    same(xp.tile(y, (2, 1, 1)), np.tile(x, (2, 1, 1)))
    same(xp.roll(y, 3, 1), np.roll(x, 3, 1))
    y[1, :, ::2] = -1
    x[1, :, ::2] = -1
    same(y, x)


# --- elementwise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("op", "add subtract multiply maximum minimum equal less".split())
def test_binary_ufuncs(xp, op, dtype):
    if dtype.startswith("complex") and op in ("maximum", "minimum", "less"):
        x1, x2 = numbers((5, 33), dtype).real, numbers((33,), dtype, 1).real
    else:
        x1, x2 = numbers((5, 33), dtype), numbers((33,), dtype, 1)
    same(getattr(xp, op)(xp.asarray(x1), xp.asarray(x2)), getattr(np, op)(x1, x2))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "op", "exp log1p sin cos tan arctan sinh cosh tanh sqrt cbrt expm1 floor ceil rint abs sign reciprocal".split()
)
def test_unary_ufuncs(xp, op, dtype):
    x = np.linspace(0.1, 3, 1025).astype(dtype)
    same(getattr(xp, op)(xp.asarray(x)), getattr(np, op)(x), 1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("op", "exp log sin sqrt conj angle abs".split())
def test_complex_ufuncs(xp, op):
    x = numbers(257, "complex128") + 0.125
    same(getattr(xp, op)(xp.asarray(x)), getattr(np, op)(x), 1e-13)


def test_integer_division_rounds_down_and_survives_zero(xp):
    x1, x2 = np.array([7, -7, 7, -7, 5]), np.array([2, 2, -2, -2, 0])
    with np.errstate(divide="ignore"):
        same((xp.asarray(x1) // xp.asarray(x2))[:4], (x1 // x2)[:4])
        same((xp.asarray(x1) % xp.asarray(x2))[:4], (x1 % x2)[:4])


def test_special_values(xp):
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308, 5e-324])
    y = xp.asarray(x)
    for op in ("isnan", "isinf", "isfinite", "signbit"):
        same(getattr(xp, op)(y), getattr(np, op)(x))
    same(xp.nan_to_num(y), np.nan_to_num(x))
    same(xp.maximum(y, 0), np.maximum(x, 0))
    same(xp.fmax(y, 0), np.fmax(x, 0))


def test_where_clip_and_broadcast(xp):
    x = numbers((17, 1), "float32")
    y = numbers((1, 19), "float32", 1)
    same(xp.where(xp.asarray(x) > xp.asarray(y), xp.asarray(x), 2.0), np.where(x > y, x, np.float32(2)))
    same(xp.clip(xp.asarray(x), -1, 1), np.clip(x, -1, 1))
    same(xp.broadcast_to(xp.asarray(x), (17, 4)).copy(), np.broadcast_to(x, (17, 4)))


def test_fused_function(xp):
    @xp.fuse()
    def f(x, y):
        return xp.exp(-x * x) + y / 2

    x, y = np.linspace(-2, 2, 1000), np.arange(1000.0)
    same(f(xp.asarray(x), xp.asarray(y)), np.exp(-x * x) + y / 2, 1e-14)


# --- reductions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("op", "sum prod max min argmax argmin mean any all".split())
def test_reductions(xp, op, size):
    x = (numbers(size, "float64") / 9) + (op == "prod")
    same(xp.asarray(getattr(xp, op)(xp.asarray(x))), np.asarray(getattr(np, op)(x)), 1e-10)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (1, 2), None])
@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
def test_reductions_along_axes(xp, axis, dtype):
    x = numbers((6, 40, 35), dtype)
    same(xp.sum(xp.asarray(x), axis), np.asarray(np.sum(x, axis)), 1e-4)
    if dtype != "complex64":
        same(xp.max(xp.asarray(x), axis, keepdims=True), np.max(x, axis, keepdims=True))


def test_statistics(xp):
    x = numbers((30, 41), "float64")
    y = xp.asarray(x)
    for op in ("var", "std", "median", "nansum", "ptp"):
        same(xp.asarray(getattr(xp, op)(y, 0)), getattr(np, op)(x, 0), 1e-12)
    same(xp.cumsum(y, 1), np.cumsum(x, 1), 1e-12)
    same(xp.cumprod(y[:, :5], 0), np.cumprod(x[:, :5], 0), 1e-12)
    same(xp.percentile(y, 30), np.percentile(x, 30), 1e-12)
    same(xp.bincount(xp.abs(y.ravel()).astype(int)), np.bincount(abs(x.ravel()).astype(int)))
    same(xp.histogram(y, 7)[0], np.histogram(x, 7)[0])


def test_empty_reductions(xp):
    empty = xp.empty((0, 3))
    assert empty.sum().get() == 0
    assert empty.sum(0).get().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="zero-size"):
        empty.max()


# --- indexing, sorting, sets ------------------------------------------------------------------------------------------


def test_indexing(xp):
    x = np.arange(120.0).reshape(4, 5, 6)
    y = xp.asarray(x)
    i, j = np.array([3, 0, 0, 2]), np.array([[1], [4]])
    same(y[xp.asarray(i)], x[i])
    same(y[xp.asarray(i), :, xp.asarray(j)], x[i, :, j])
    same(y[y > 50], x[x > 50])
    same(xp.take(y, xp.asarray(i), 0), np.take(x, i, 0))
    same(xp.take_along_axis(y, xp.argsort(-y, 1), 1), np.take_along_axis(x, np.argsort(-x, 1), 1))
    y[xp.asarray(i[1:])] = 0
    x[i[1:]] = 0
    same(y, x)
    y[y > 100] *= -1
    x[x > 100] *= -1
    same(y, x)
    for ours, theirs in zip(xp.nonzero(y), np.nonzero(x)):
        same(ours, theirs)


def test_scattered_addition(xp):
    import cupyx

    i, x = np.random.default_rng(0).integers(0, 7, 500), np.ones(500)
    ours, theirs = xp.zeros(7), np.zeros(7)
    cupyx.scatter_add(ours, xp.asarray(i), xp.asarray(x))
    np.add.at(theirs, i, x)
    same(ours, theirs)
    xp.add.at(ours, xp.asarray(i), 1)
    np.add.at(theirs, i, 1)
    same(ours, theirs)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "float16", "float32", "float64", "complex64", "bool"])
def test_sorting(xp, dtype):
    x = numbers((9, 257), "int64").astype(dtype) if dtype == "bool" else numbers((9, 257), dtype)
    y = xp.asarray(x)
    same(xp.sort(y, 1), np.sort(x, 1))
    same(xp.sort(y, 0), np.sort(x, 0))
    order = xp.argsort(y, 1).get()
    assert (np.take_along_axis(x, order, 1) == np.sort(x, 1)).all()
    same(xp.unique(y), np.unique(x))


def test_partition_search_and_lexsort(xp):
    x = np.random.default_rng(0).permutation(1000)
    y = xp.asarray(x)
    assert xp.partition(y, 100)[100].get() == 100
    assert (xp.partition(y, 100)[:100].get() < 100).all()
    assert x[xp.argpartition(y, 10).get()[10]] == 10
    same(xp.searchsorted(xp.sort(y), xp.asarray([5, 500])), np.array([5, 500]))
    keys = np.stack([x % 7, x % 5])
    same(xp.lexsort(xp.asarray(keys)), np.lexsort(keys))
    same(xp.isin(y, xp.asarray([3, 5])), np.isin(x, [3, 5]))


# --- linear algebra and transforms ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 2e-2), ("float32", 1e-4), ("float64", 1e-12)])
def test_products_of_floats(xp, dtype, tolerance):
    a, b = numbers((4, 33, 17), dtype), numbers((17, 40), dtype, 1)
    same(xp.asarray(a) @ xp.asarray(b), a @ b, tolerance)
    same(xp.asarray(a[0]).T @ xp.asarray(a[1]), a[0].T @ a[1], tolerance)
    same(xp.asarray(b) @ xp.asarray(a[0, 0, :1].repeat(40)), b @ a[0, 0, :1].repeat(40), tolerance)
    same(xp.tensordot(xp.asarray(a), xp.asarray(a), ([0, 2], [0, 2])), np.tensordot(a, a, ([0, 2], [0, 2])), tolerance)


@pytest.mark.parametrize("dtype", ["int32", "complex64", "complex128"])
def test_products(xp, dtype):
    a, b = numbers((3, 20, 11), dtype), numbers((3, 11, 7), dtype, 1)
    same(xp.asarray(a) @ xp.asarray(b), a @ b, 1e-4)
    same(xp.einsum("bij,bjk->ik", xp.asarray(a), xp.asarray(b)), np.einsum("bij,bjk->ik", a, b), 1e-4)
    same(xp.vdot(xp.asarray(a[0, 0]), xp.asarray(a[0, 1])), np.asarray(np.vdot(a[0, 0], a[0, 1])), 1e-4)
    same(xp.outer(xp.asarray(a[0, 0]), xp.asarray(b[0, 0])), np.outer(a[0, 0], b[0, 0]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_linear_algebra(xp, dtype):
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-10
    a = numbers((12, 12), dtype) + 20 * np.eye(12, dtype=dtype)
    b = numbers((12, 3), dtype, 1)
    definite = a @ a.conj().T
    x, y = xp.asarray(a), xp.asarray(b)
    same(xp.linalg.solve(x, y), np.linalg.solve(a, b), tolerance)
    same(xp.linalg.inv(x), np.linalg.inv(a), tolerance)
    same(xp.linalg.cholesky(xp.asarray(definite)), np.linalg.cholesky(definite), tolerance)
    values, vectors = xp.linalg.eigh(xp.asarray(definite))
    np.testing.assert_allclose(values.get(), np.linalg.eigvalsh(definite), rtol=tolerance)
    same(vectors * values @ vectors.conj().T, definite, tolerance * 100)
    u, s, vh = xp.linalg.svd(x[:, :5], full_matrices=False)
    np.testing.assert_allclose(s.get(), np.linalg.svd(a[:, :5], compute_uv=False), rtol=tolerance)
    same(u * s @ vh, a[:, :5], tolerance * 10)
    q, r = xp.linalg.qr(x[:, :5])
    same(q @ r, a[:, :5], tolerance * 10)
    np.testing.assert_allclose(xp.linalg.slogdet(x)[1].get(), np.linalg.slogdet(a)[1], rtol=tolerance)
    same(xp.linalg.lstsq(x[:, :5], y)[0], np.linalg.lstsq(a[:, :5], b)[0], tolerance)


def test_batched_linear_algebra(xp):
    a = numbers((6, 8, 8), "float64") + 12 * np.eye(8)
    b = numbers((6, 8, 2), "float64", 1)
    same(xp.linalg.solve(xp.asarray(a), xp.asarray(b)), np.linalg.solve(a, b), 1e-11)
    same(xp.linalg.inv(xp.asarray(a)), np.linalg.inv(a), 1e-11)
    same(xp.linalg.det(xp.asarray(a)), np.linalg.det(a), 1e-7 * abs(np.linalg.det(a)).max())


@pytest.mark.parametrize("length", [1, 8, 15, 97, 360])
@pytest.mark.parametrize("op", ["fft", "ifft", "rfft", "hfft"])
def test_transforms(xp, op, length):
    x = numbers((3, length), "float64")
    if op in ("fft", "ifft"):
        x = x + 1j * numbers((3, length), "float64", 1)
    elif op == "hfft" and length == 1:
        x = numbers((3, 2), "float64")
    same(getattr(xp.fft, op)(xp.asarray(x)), getattr(np.fft, op)(x), 1e-10)


def test_transforms_along_several_axes(xp):
    x = numbers((6, 10, 7), "float64")
    same(xp.fft.fftn(xp.asarray(x)), np.fft.fftn(x), 1e-10)
    same(xp.fft.rfft2(xp.asarray(x)), np.fft.rfft2(x), 1e-10)
    same(xp.fft.irfftn(xp.fft.rfftn(xp.asarray(x)), x.shape), x, 1e-12)
    single = xp.fft.fft(xp.asarray(x.astype("float32")), axis=0)
    assert single.dtype == "complex64"
    np.testing.assert_allclose(single.get(), np.fft.fft(x, axis=0), atol=1e-4)


# --- random numbers ---------------------------------------------------------------------------------------------------


def test_seed_repeats(xp):
    xp.random.seed(3)
    first = xp.random.random(1000).get()
    xp.random.seed(3)
    assert (xp.random.random(1000).get() == first).all()
    assert (xp.random.random(1000).get() != first).any()


@pytest.mark.parametrize(
    ("name", "arguments", "mean", "deviation"),
    [
        ("random", (), 0.5, 12**-0.5),
        ("standard_normal", (), 0, 1),
        ("standard_exponential", (), 1, 1),
        ("poisson", (4.0,), 4, 2),
        ("gamma", (3.0, 2.0), 6, 12**0.5),
        ("beta", (2.0, 2.0), 0.5, 0.05**0.5),
        ("binomial", (20, 0.25), 5, 3.75**0.5),
    ],
)
def test_distributions(xp, name, arguments, mean, deviation):
    generator = xp.random.default_rng(1)
    x = getattr(generator, name)(*arguments, size=20_000).get().astype(float)
    assert abs(x.mean() - mean) < 5 * deviation / 20_000**0.5
    assert abs(x.std() / deviation - 1) < 0.05


def test_random_integers_and_permutations(xp):
    x = xp.random.default_rng(0).integers(3, 8, 5000).get()
    assert set(x) == {3, 4, 5, 6, 7}
    assert sorted(xp.random.permutation(100).get()) == list(range(100))
    assert set(xp.random.randint(0, 2, 100).get()) == {0, 1}
    assert abs(xp.random.RandomState(0).normal(2, 3, 20_000).mean().get() - 2) < 0.1
