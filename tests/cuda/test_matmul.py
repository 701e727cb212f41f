"""Products of matrices, picking and extremes on CUDA: NumPy's values for any memory layout, in one launch each."""

import gc

import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.backends.cuda.kernels import matmul as kernels_matmul
from lucidgrad.backends.cuda.kernels.indexing import take, take_along_axis
from lucidgrad.backends.cuda.kernels.matmul import matmul
from lucidgrad.backends.cuda.kernels.rows import extreme_pull

lg.zeros(1, device="cuda")  # loads the back end
counted = pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
TOLERANCE = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12}

SHAPES = [
    ((3, 4), (4, 5)), ((1, 1), (1, 1)), ((7, 1), (1, 9)), ((1, 33), (33, 1)), ((33, 17), (17, 31)),
    ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 3, 4), (1, 4, 5)), ((1, 3, 4), (6, 4, 5)),
    ((6, 1, 3, 4), (2, 4, 5)), ((6, 2, 3, 4), (6, 1, 4, 5)), ((6, 2, 3, 4), (2, 4, 5)), ((6, 3, 1, 4), (6, 3, 4, 1)),
    ((2, 3, 4, 3, 2), (2, 3, 4, 2, 3)), ((2, 1, 4, 3, 2), (1, 3, 1, 2, 3)), ((3, 1, 4), (4, 5)), ((5, 1, 4), (5, 4, 1)),
    ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 2, 3, 4), (4,)), ((4,), (4,)),
    ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((0, 3, 4), (4, 5)), ((2, 3, 0), (2, 0, 5)), ((2, 3, 4), (2, 4, 0)),
]  # fmt: skip


def values(shape, dtype, seed=0):
    rng = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "biu":
        return np.asarray(rng.integers(0, 5, shape)).astype(dtype)
    made = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return np.asarray(made).astype(dtype)


# -- memory layouts: each gives the values of an array, with the values of its own where it must ------------
def turned(x):
    """The last two axes are the other way round in memory."""
    return cupy.asarray(np.ascontiguousarray(x.swapaxes(-1, -2))).swapaxes(-1, -2) if x.ndim > 1 else cupy.asarray(x)


def sliced(x):
    """A part of larger matrices."""
    wide = cupy.full([n + 2 for n in x.shape], 7, x.dtype)
    part = wide[tuple(slice(1, 1 + n) for n in x.shape)]
    part[...] = cupy.asarray(x)
    return part


def stepped(x):
    """Every other element of each axis: cuBLAS cannot address that."""
    wide = cupy.full([2 * n for n in x.shape], 7, x.dtype)
    part = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    part[...] = cupy.asarray(x)
    return part


def backwards(x):
    flip = (slice(None, None, -1),) * x.ndim
    return cupy.asarray(np.ascontiguousarray(x[flip]))[flip]


def heads(x):
    """The batch is inside of the rows, as in attention."""
    if x.ndim < 3:
        return cupy.asarray(x)
    return cupy.asarray(np.ascontiguousarray(np.moveaxis(x, -2, 0))).transpose(*range(1, x.ndim - 1), 0, x.ndim - 1)


def batch_last(x):
    if x.ndim < 3:
        return cupy.asarray(x)
    return cupy.asarray(np.ascontiguousarray(np.moveaxis(x, 0, -1))).transpose(x.ndim - 1, *range(x.ndim - 1))


LAYOUTS = {f.__name__: f for f in (cupy.asarray, turned, sliced, stepped, backwards, heads, batch_last)}


def check(x1, x2, given1, given2, dtype):
    expected = np.matmul(x1.astype("complex128" if dtype[0] == "c" else "float64"), x2)
    y = matmul(given1, given2)
    assert type(y) is cupy.ndarray and y.dtype == np.dtype(dtype) and y.shape == expected.shape
    close = TOLERANCE.get(dtype, 0)
    np.testing.assert_allclose(cupy.asnumpy(y), expected, rtol=close, atol=5 * close)
    for x, given in ((x1, given1), (x2, given2)):
        np.testing.assert_array_equal(cupy.asnumpy(given), x)


@pytest.mark.parametrize("dtype", [*TOLERANCE, "int64", "int8"])
def test_values(dtype):
    for shape1, shape2 in SHAPES:
        x1, x2 = values(shape1, dtype), values(shape2, dtype, 1)
        if dtype == "int8":
            x1, x2 = x1 % 2, x2 % 2
        check(x1, x2, cupy.asarray(x1), cupy.asarray(x2), dtype)


@pytest.mark.parametrize("second", LAYOUTS)
@pytest.mark.parametrize("first", LAYOUTS)
def test_layouts(first, second):
    for k, shapes in enumerate(SHAPES):
        dtype = list(TOLERANCE)[k % 5] if first != second else "float32"
        x1, x2 = values(shapes[0], dtype), values(shapes[1], dtype, 1)
        check(x1, x2, LAYOUTS[first](x1), LAYOUTS[second](x2), dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_repeated_operands(dtype):
    for shapes in SHAPES[:-5]:
        for axes1 in ((), (0,), (-1,), (-2,), (0, -1, -2)):
            x1, x2 = values(shapes[0], dtype), values(shapes[1], dtype, 1)
            axes = [a for a in axes1 if -x1.ndim <= a]
            once = x1[tuple(slice(1) if a in [b % x1.ndim for b in axes] else slice(None) for a in range(x1.ndim))]
            x1 = np.broadcast_to(once, x1.shape)
            check(x1, x2, cupy.broadcast_to(cupy.asarray(once), x1.shape), cupy.asarray(x2), dtype)
            if x1.ndim > 1 and x2.ndim > 1:
                t1, t2 = x2.swapaxes(-1, -2), x1.swapaxes(-1, -2)
                given = cupy.broadcast_to(cupy.asarray(once), x1.shape).swapaxes(-1, -2)
                check(t1, t2, cupy.asarray(x2).swapaxes(-1, -2), given, dtype)


def test_mixed_dtypes_and_mismatches():
    a, b = cupy.ones((2, 3), "float32"), cupy.ones((3, 2), "float64")
    assert matmul(a, b).dtype == "float64"
    for shape in ((2, 2), (4,), (), (2, 4, 3)):
        with pytest.raises(ValueError, match="."):
            matmul(a, cupy.ones(shape, "float32"))


def test_single_precision_is_exact():
    x = np.asarray([[1 + 2.0**-20]], "float32")  # lost in TF32, which has ten bits
    assert matmul(cupy.asarray(x), cupy.asarray(x)).item() == (x @ x).item()
    assert all(how.compute in (68, 70) for how in kernels_matmul.TYPES.values())


# -- launches --------------------------------------------------------------------------------------
def launched(function, *args):
    gc.disable()  # results lie where those before did, unless something else is freed meanwhile
    try:
        for _ in range(3):  # compiled, and tables written
            with cudasim.counting() as found:
                y = function(*args)
            del y
    finally:
        gc.enable()
    assert found.synchronisations == found.copies_to_host == 0
    return dict(found.launches)


@counted
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex128"])
@pytest.mark.parametrize("second", [cupy.asarray, turned, sliced])
@pytest.mark.parametrize("first", [cupy.asarray, turned, sliced])
def test_one_call(first, second, dtype):
    most = 3 if dtype == "float16" else 4  # axes: a table of addresses there is none of halves
    for shapes in SHAPES:
        if 0 not in (*shapes[0], *shapes[1]) and shapes != ((4,), (4,)) and len(shapes[0]) <= most:
            x1, x2 = first(values(shapes[0], dtype)), second(values(shapes[1], dtype))
            assert sum(launched(matmul, x1, x2).values()) == 1, shapes


@counted
def test_rows_of_a_batch_are_one_product():
    x1, x2 = cupy.ones((4, 5, 6), "float32"), cupy.ones((6, 3), "float32")
    assert launched(matmul, x1, x2) == {"cublasGemmEx": 1}
    assert launched(matmul, x1, x2[None]) == {"cublasGemmEx": 1}
    assert launched(matmul, x1.transpose(0, 2, 1), cupy.ones((5, 3), "float32")) == {"cublasGemmStridedBatchedEx": 1}
    assert launched(matmul, x1[::2], x2) == {"cublasGemmStridedBatchedEx": 1}


@counted
def test_attention_copies_nothing():
    n, t, h, d = 3, 7, 4, 5
    packed = cupy.asarray(values((n, t, 3, h, d), "float32")).transpose(2, 0, 3, 1, 4)
    q, k, v = packed
    with cudasim.counting() as first:
        weights = matmul(q, k.swapaxes(-1, -2))
    assert dict(first.launches) == {"addresses": 1, "cublasSgemmBatched": 1}
    np.testing.assert_allclose(cupy.asnumpy(weights), cupy.asnumpy(q) @ cupy.asnumpy(k).swapaxes(-1, -2), rtol=1e-5)
    assert launched(matmul, weights, v) == {"cublasSgemmBatched": 1}  # where they lie is known by now


def test_tables_go_with_their_memory():
    x = [cupy.asarray(values((3, 7, 4, 5), "float32", k)).transpose(0, 2, 1, 3) for k in range(4)]
    for _ in range(3):
        for a in x:
            for b in x:
                y = matmul(a, b.swapaxes(-1, -2))
                expected = cupy.asnumpy(a) @ cupy.asnumpy(b).swapaxes(-1, -2)
                np.testing.assert_allclose(cupy.asnumpy(y), expected, rtol=1e-4, atol=1e-4)
    assert len(kernels_matmul._TABLES) <= kernels_matmul._MOST_TABLES


def test_tables_are_given_up(monkeypatch):
    monkeypatch.setattr(kernels_matmul, "_MOST_TABLES", 2)
    a = cupy.asarray(values((3, 7, 4, 5), "float32")).transpose(0, 2, 1, 3)
    kept = [matmul(a, a.swapaxes(-1, -2)) for _ in range(5)]  # each in memory of its own
    assert len(kernels_matmul._TABLES) <= 2
    for y in kept[1:]:
        np.testing.assert_array_equal(cupy.asnumpy(y), cupy.asnumpy(kept[0]))


def test_what_is_recorded_leaves_no_table():
    a = cupy.asarray(values((3, 7, 4, 5), "float32")).transpose(0, 2, 1, 3)
    matmul(a, a.swapaxes(-1, -2))  # all is compiled, and the thread has a handle
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        before = len(kernels_matmul._TABLES)
        stream.begin_capture()
        recorded = matmul(a, a.swapaxes(-1, -2))
        graph = stream.end_capture()
        assert len(kernels_matmul._TABLES) == before  # nothing has written it
        recorded.fill(0)
        usual = cupy.asnumpy(matmul(a, a.swapaxes(-1, -2)))
        for _ in range(2):
            graph.launch(stream)
    stream.synchronize()
    np.testing.assert_allclose(usual, cupy.asnumpy(a) @ cupy.asnumpy(a).swapaxes(-1, -2), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(cupy.asnumpy(recorded), usual)


def test_what_else_cublas_refuses_is_said():
    """Outside of a recording, an error is an error."""
    from lucidgrad.backends.cuda import recording

    def failing(*args):
        raise RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")

    with pytest.raises(RuntimeError, match="EXECUTION_FAILED"):
        recording.call(failing, 0)
    with pytest.raises(RuntimeError, match="cublasSetStream_v2 failed with status"):
        recording._function("cublasSetStream_v2", (recording._POINTER, recording._POINTER))(None, None)


def test_on_a_stream(lazy):
    a = cupy.asarray(values((3, 7, 4, 5), "float32"))
    host = cupy.asnumpy(a).transpose(0, 2, 1, 3)
    for _ in range(2):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            b = (a + 1).transpose(0, 2, 1, 3)
            y = cupy.asnumpy(matmul(b, b.swapaxes(-1, -2)))
        np.testing.assert_allclose(y, (host + 1) @ (host + 1).swapaxes(-1, -2), rtol=1e-4)


def test_on_another_device(second):
    x = lg.asarray(values((3, 2, 4, 5), "float32"), device=second)
    x = lg.permute_dims(x, (0, 2, 1, 3)).requires_grad_()
    y = x @ x.mT
    assert str(y.device) == second
    y.sum().backward()
    host = x.detach().cpu().requires_grad_()
    (host @ host.mT).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), host.grad.numpy(), rtol=1e-4, atol=1e-4)


# -- derivatives -------------------------------------------------------------------------------------
PULLS = {  # shapes, and launches back
    ((3, 4), (4, 5)): 2, ((2, 3, 4), (4, 5)): 2, ((2, 3, 4), (1, 4, 5)): 2, ((2, 3, 4), (4,)): 2,
    ((2, 3, 4), (2, 4, 5)): 2, ((6, 2, 3, 4), (6, 1, 4, 5)): 2, ((6, 2, 3, 4), (1, 1, 4, 5)): 2,
    ((3, 4), (2, 4, 5)): 3, ((6, 2, 3, 4), (2, 4, 5)): 3,
}  # fmt: skip


@counted
@pytest.mark.parametrize("shapes", PULLS, ids=str)
def test_derivatives(shapes):
    found = []
    for where in ("cpu", "cuda"):
        xs = [lg.asarray(values(s, "float64", k), device=where).requires_grad_() for k, s in enumerate(shapes)]
        y = lg.matmul(*xs)
        seed = lg.asarray(values(y.shape, "float64", 2), device=where)
        for _ in range(3):
            grads = None  # its memory is found again
            with cudasim.counting() as back:
                grads = lg.autograd.grad(y, xs, seed, retain_graph=True)
        again = lg.autograd.grad(lg.autograd.grad(y, xs, seed, create_graph=True), xs, [lg.ones_like(x) for x in xs])
        found.append([g.cpu().numpy() for g in (*grads, *again)])
    assert sum(back.launches.values()) == PULLS[shapes], back.launches
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


# -- picking -----------------------------------------------------------------------------------------
DTYPES = ["float16", "float32", "complex128", "int64", "int8", "bool"]
PICKED = [*((dtype, cupy.asarray) for dtype in DTYPES), ("float32", stepped), ("float32", backwards)]


@pytest.mark.parametrize(("dtype", "layout"), PICKED)
def test_take(dtype, layout):
    for shape, axis, positions in [
        ((5, 3), 0, [4, -1, 0, -5]), ((5, 3), 1, [[2, -3], [0, 0]]), ((5, 3), -1, 1), ((4,), None, [3, -4]),
        ((2, 4, 3), 1, [1]), ((2, 4, 3), 1, []), ((0, 4), 1, [2]), ((1,), 0, [0, -1]),
    ]:  # fmt: skip
        for kind in ("int64", "int32"):
            x, i = values(shape, dtype), np.asarray(positions, kind)
            y = take(layout(x), cupy.asarray(i), axis=axis)
            assert y.dtype == x.dtype
            np.testing.assert_array_equal(cupy.asnumpy(y), np.take(x, i, axis))


@pytest.mark.parametrize(("dtype", "layout"), PICKED)
def test_take_along_axis(dtype, layout):
    for shape, indices, axis in [
        ((5, 3), (2, 3), 0), ((5, 3), (5, 7), 1), ((5, 3), (5, 1), -1), ((5, 3), (1, 2), 1), ((1, 3), (5, 2), 1),
        ((2, 4, 3), (2, 5, 3), 1), ((2, 4, 3), (1, 5, 1), 1), ((2, 4, 3), (2, 0, 3), 1), ((0, 4), (0, 2), 1),
        ((1,), (3,), 0),
    ]:  # fmt: skip
        x, size = values(shape, dtype), shape[axis]
        i = np.random.default_rng(0).integers(-size, size, indices)
        y = take_along_axis(layout(x), layout(i), axis=axis)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(cupy.asnumpy(y), np.take_along_axis(x, i, axis))


def test_wrong_positions():
    x = cupy.ones((2, 3))
    for function, i, axis in [
        (take, cupy.asarray([0]), 2), (take, cupy.asarray([0]), None), (take, cupy.asarray([0.5]), 0),
        (take_along_axis, cupy.asarray([0]), 0), (take_along_axis, cupy.asarray([[0]]), 2),
        (take_along_axis, cupy.asarray([[0.5]]), 0),
    ]:  # fmt: skip
        with pytest.raises((ValueError, IndexError, TypeError)):
            function(x, i, axis=axis)
    for function in (take, take_along_axis):
        with pytest.raises(IndexError):
            function(cupy.ones((0,)), cupy.asarray([0]), axis=0)


@counted
def test_picking_is_one_launch():
    x, i = lg.rand(9, 4, device="cuda"), lg.asarray([1, -1, 5]).to("cuda")
    assert sum(launched(lambda: lg.take(x, i, axis=0)).values()) == 1
    assert sum(launched(lambda: lg.take(x.mT, i, axis=1)).values()) == 1
    j = lg.asarray([[1, -1, 5]]).to("cuda")
    assert sum(launched(lambda: lg.take_along_axis(x.mT, j, axis=1)).values()) == 1


# -- extremes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_shares(dtype):
    for shape, axis in [
        ((5, 33), 1), ((33, 5), 0), ((2, 1025), -1), ((3, 4, 5), (0, 2)), ((3, 4, 5), None), ((4, 1), 1), ((3, 2), ()),
        ((2, 3, 40, 40), 1), ((0, 3), 1), ((), None), ((1,), 0),
    ]:  # fmt: skip
        x = np.asarray(np.random.default_rng(0).integers(0, 4, shape)).astype(dtype)
        for keepdims in (False, True):
            s = np.asarray(np.max(x, axis=axis, keepdims=keepdims))
            h, top = values(s.shape, dtype), np.max(x, axis=axis, keepdims=True)
            hit = (x == top).astype("float64")
            expected = hit * (h.astype("float64").reshape(top.shape) / hit.sum(axis=axis, keepdims=True))
            for layout in (cupy.asarray, stepped, backwards):
                y = extreme_pull(layout(h), layout(s), layout(x), axis=axis, keepdims=keepdims)
                assert y.dtype == x.dtype
                np.testing.assert_allclose(cupy.asnumpy(y), expected, rtol=1e-3 if dtype == "float16" else 1e-6)


def test_nan_is_seen():
    x = lg.tensor([[1.0, float("nan")], [1.0, 1.0]], device="cuda", requires_grad=True)
    lg.max(x, axis=1).sum().backward()
    assert np.isnan(x.grad.cpu().numpy()).tolist() == [[True, True], [False, False]]


@counted
@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_extremes_are_one_launch_back(name):
    x = lg.rand(6, 7, 5, device="cuda").requires_grad_()
    for keywords in ({"dim": 1}, {"dim": (0, 1)}, {"dim": -1, "keepdim": True}):
        y = getattr(x, name)(**keywords) if name[0] == "a" else getattr(lg, name)(x, **keywords)
        seed = lg.ones_like(y)
        assert sum(launched(lambda y=y, g=seed: lg.autograd.grad(y, x, g, retain_graph=True)).values()) == 1


@pytest.mark.parametrize(("precision", "bits"), [("highest", 24), ("high", 11), ("medium", 8)])
def test_how_exact_products_of_float32_are(precision, bits):
    """Factors are rounded to so many bits, as tensor cores take them; sums are not."""
    x = np.asarray([[1.0 + 2.0 ** -(bits - 1), 1.0 + 2.0**-bits, 1.0 + 2.0**-23, 3.0]], "float32")
    kept = {24: x, 11: [[1 + 2.0**-10, 1.0, 1.0, 3.0]], 8: [[1 + 2.0**-7, 1.0, 1.0, 3.0]]}[bits]
    lg.set_float32_matmul_precision(precision)
    try:
        assert lg.get_float32_matmul_precision() == precision
        found = lg.matmul(lg.tensor(x.T, device="cuda"), lg.ones((1, 2), device="cuda"))
        double = lg.matmul(
            lg.tensor(x.T.astype("float64"), device="cuda"), lg.ones((1, 2), dtype="float64", device="cuda")
        )
        pairs = lg.rand(2, 3, 4, 5, device="cuda")  # a batch of batches, and one with one stride
        for batch in (pairs.transpose(0, 1), pairs.reshape(6, 4, 5)):
            assert lg.allclose(batch @ batch.mT, (batch.cpu() @ batch.cpu().mT).to("cuda"), rtol=2.0 ** (2 - bits))
    finally:
        lg.set_float32_matmul_precision("highest")
    np.testing.assert_array_equal(found.cpu().numpy(), np.broadcast_to(np.transpose(np.float32(kept)), (4, 2)))
    np.testing.assert_array_equal(double.cpu().numpy()[:, 0], x[0].astype("float64"))
    with pytest.raises(RuntimeError, match="expected 'highest', 'high' or 'medium'"):
        lg.set_float32_matmul_precision("low")
