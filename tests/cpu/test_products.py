"""Products of matrices: threads by their size, and the BLAS's own number of threads afterwards."""

import ctypes
import itertools

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import attention, blas, threads

SIZES = [(64, 64, 64), (65, 70, 67), (200, 150, 300), (1, 700, 800), (800, 1000, 3)]


@pytest.fixture
def two_threads():
    before = threads.get_num_threads()
    lg.config.set_num_threads(2)
    if blas.calls_of("f") is None:
        lg.config.set_num_threads(before)
        pytest.skip("NumPy's BLAS can't be told how many threads to have, or there is no compiler")
    yield blas._threads()[0]
    lg.config.set_num_threads(before)


def operand(rng, rows, columns, layout, dtype):
    if layout == "columns":
        return rng.standard_normal((columns, rows)).astype(dtype).T
    if layout == "part":
        return rng.standard_normal((rows, columns + 3)).astype(dtype)[:, 1:-2]
    if layout == "spread":
        return rng.standard_normal((2 * rows, 2 * columns)).astype(dtype)[::2, ::-2]
    if layout == "repeated":
        return np.broadcast_to(rng.standard_normal(columns).astype(dtype), (rows, columns))
    return rng.standard_normal((rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_every_layout_is_numpys_product(two_threads, size, dtype):
    m, k, n = size
    rng = np.random.default_rng(0)
    for one, two in itertools.product(("rows", "columns", "part", "spread", "repeated"), repeat=2):
        a, b = operand(rng, m, k, one, dtype), operand(rng, k, n, two, dtype)
        y = blas.product(a, b)
        assert y is not None and y.flags.c_contiguous
        expected = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(y, expected, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-3)
        assert two_threads() == 2


def test_small_products_and_others_are_numpys(two_threads):
    a = np.ones((80, 80), np.float32)
    assert blas.product(a[:10], a) is None  # the BLAS wakes nobody
    assert blas.product(a.astype(np.int64), a.astype(np.int64)) is None
    assert blas.product(a, a.astype(np.float64)) is None
    with pytest.raises(ValueError, match="matmul"):
        lg.asarray(np.ones((100, 90), np.float32)) @ lg.asarray(np.ones((100, 90), np.float32))
    assert two_threads() == 2


def watched(monkeypatch, watch, name="multiply"):
    """Look at each call of one of the functions in C."""

    def watching(own):
        return own._replace(**{name: lambda *args: watch(*args) or getattr(own, name)(*args)})

    monkeypatch.setattr(blas, "calls_of", {char: watching(blas.calls_of(char)) for char in "fd"}.get)


def test_what_fails_leaves_the_threads(two_threads, monkeypatch):
    def failing(*args):
        raise MemoryError

    monkeypatch.setattr(attention, "run", failing)
    q = np.ones((8, 40, 16), np.float32)
    with pytest.raises(MemoryError):
        attention.attend(q, q, q, np.empty_like(q), np.empty((8, 40), np.float32), 1.0, False)
    assert two_threads() == 2


def test_the_blas_has_one_thread_meanwhile(two_threads, monkeypatch):
    seen = []
    looking = ctypes.CFUNCTYPE(None)(lambda: seen.append(two_threads()))
    calls = blas.calls_of("f")._replace(gemm=ctypes.cast(looking, ctypes.c_void_p).value, affine=None)
    monkeypatch.setattr(blas, "calls_of", {"f": calls}.get)
    lg.asarray(np.ones((100, 100), np.float32)) @ lg.asarray(np.ones((100, 100), np.float32))
    lg.asarray(np.ones((2, 100, 600), np.float32)) @ lg.asarray(np.ones((2, 600, 100), np.float32))
    assert seen == [1] * 3 and two_threads() == 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_where_a_product_goes(two_threads, dtype):
    """Into rows that lie apart, and nothing between them; into what has other sizes or lies otherwise, nothing."""
    rng = np.random.default_rng(0)
    a, b, bias = (rng.standard_normal(shape).astype(dtype) for shape in ((70, 80), (80, 90), 90))
    room = np.full((70, 100), 7, dtype)
    y = room[:, 4:-6]
    assert blas.product(a, b, y, bias) is y and (room[:, :4] == 7).all() and (room[:, -6:] == 7).all()
    assert (y == blas.product(a, b, None, bias)).all()
    np.testing.assert_allclose(y, a @ b + bias, rtol=1e-4, atol=1e-4)
    for wrong in (room, room[:-1, :90], np.zeros((90, 70), dtype).T, np.zeros((70, 90), "float16")):
        before = wrong.copy()
        assert blas.product(a, b, wrong) is None and (wrong == before).all()
    for wrong in (bias[:-1], np.ones(180, dtype)[::2], np.ones((1, 90), dtype), bias.astype("float16")):
        assert blas.product(a, b, None, wrong) is None
    assert blas.product(a, b[:-1]) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_single_rows_and_columns(two_threads, dtype):
    """Of an axis with one element NumPy says any stride."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((600, 1200)).astype(dtype), rng.standard_normal(2400).astype(dtype)
    for row in (b[None, :600], b[None, ::4], b[::-4][None], b[:600].reshape(600, 1).T):
        np.testing.assert_allclose(blas.product(row, a), row @ a, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(blas.product(a.T, row.T), a.T @ row.T, rtol=1e-3, atol=1e-3)


def test_layers_use_it(two_threads, monkeypatch):
    """All three products of a linear layer's step: none wakes the BLAS's own threads."""
    calls, own = [], blas.product
    monkeypatch.setattr(blas, "product", lambda *args: calls.append(made := own(*args)) or made)
    layer, x = lg.nn.Linear(128, 96), lg.randn(64, 128, requires_grad=True)
    layer(x).sum().backward()
    assert len(calls) == 3 and all(made is not None for made in calls)


def test_odd_memory():
    """Bytes in the other order, and numbers that do not lie where they should."""
    rng = np.random.default_rng(0)
    a, b = rng.random((300, 200)), rng.random((200, 300))
    crooked = np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view("float64").reshape(a.shape)
    assert not crooked.flags.aligned
    for x, y in ((a.astype(">f8"), b.astype(">f8")), (crooked, b), (crooked.T, b.T)):
        found = lg.matmul(lg.asarray(x), lg.asarray(y)).numpy()
        np.testing.assert_allclose(found, x.astype("f8") @ y.astype("f8"), rtol=1e-12)


def stacks(rng, lead, rows, columns, layout, dtype):
    if layout == "turned":
        return rng.standard_normal((*lead, columns, rows)).astype(dtype).swapaxes(-1, -2)
    if layout == "heads":  # axes of a stack behind the rows, as attention has them
        return np.moveaxis(rng.standard_normal((lead[0], rows, lead[1], columns)).astype(dtype), 1, 2)
    if layout == "repeated":
        return np.broadcast_to(rng.standard_normal((rows, columns)).astype(dtype), (*lead, rows, columns))
    if layout == "backwards":
        return rng.standard_normal((*lead, rows, columns)).astype(dtype)[::-1, :, ::-1]
    return rng.standard_normal((*lead, rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stacks_of_matrices(two_threads, dtype, monkeypatch):
    """Whatever lies evenly is divided among threads, matrix by matrix: to the bit what one thread makes."""
    rng, taken = np.random.default_rng(0), []
    watched(monkeypatch, lambda *args: taken.append(args[-1]), "stack")
    layouts = ("rows", "turned", "heads", "repeated", "backwards")
    for lead, (m, k, n) in (((3, 2), (100, 90, 160)), ((5, 1), (64, 128, 250)), ((40, 7), (33, 31, 35))):
        for one, two in itertools.product(layouts, repeat=2):
            a, b = stacks(rng, lead, m, k, one, dtype), stacks(rng, lead, k, n, two, dtype)
            y = blas.products(a, b)
            assert y.shape == (*lead, m, n) and two_threads() == 2
            expected = a.astype(np.float64) @ b.astype(np.float64)
            np.testing.assert_allclose(y, expected, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-3)
            target = np.full((lead[0], m, lead[1], n), np.nan, dtype)
            blas.products(a, b, np.moveaxis(target, 1, 2))
            np.testing.assert_allclose(np.moveaxis(target, 1, 2), y, rtol=1e-5, atol=1e-3)
    assert len(taken) >= 40 and set(taken) == {2}
    before = len(taken)
    for a, b in (((3, 100, 90), (2, 90, 160)), ((4, 100, 90), (4, 80, 160))):
        with pytest.raises(ValueError, match="matmul"):
            lg.asarray(np.ones(a, dtype)) @ lg.asarray(np.ones(b, dtype))
    lg.asarray(np.ones((0, 100, 90), dtype)) @ lg.asarray(np.ones((0, 90, 100), dtype))
    assert (lg.asarray(np.ones((3, 2, 0), dtype)) @ lg.asarray(np.ones((3, 0, 2), dtype))).tolist() == [
        [[0.0] * 2] * 2
    ] * 3
    assert len(taken) == before


def test_einsum_divides_stacks(two_threads, monkeypatch):
    calls, own = [], blas.products
    monkeypatch.setattr(blas, "products", lambda *args: calls.append(1) or own(*args))
    a, b = (np.random.default_rng(k).standard_normal((8, 60, 70)) for k in range(2))
    found = lg.einsum("bij,bkj->bik", lg.asarray(a), lg.asarray(b)).numpy()
    np.testing.assert_allclose(found, a @ b.swapaxes(1, 2), rtol=1e-10, atol=1e-10)
    assert calls
