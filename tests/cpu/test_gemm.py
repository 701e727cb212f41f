"""Products of float32 of our own: what the BLAS would give within rounding, whatever is computed beside it."""

import ctypes
import itertools
import threading

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import blas, building

SIZES = [(24, 64, 342), (25, 24, 500), (64, 321, 32), (97, 101, 103), (128, 784, 40), (15, 400, 33), (300, 641, 31),
         (200, 97, 800), (40, 333, 1537), (460, 300, 70)]  # fmt: skip


@pytest.fixture(scope="module")
def own():
    """The functions themselves: they are right with any vectors, though only those of 512 bits pay."""
    library, found = building.load("gemm", ["gemm.c"], ["-pthread", "-ffp-contract=fast"]), blas.functions()
    if library is None or found is None:
        pytest.skip("there is no compiler, or NumPy's BLAS is an unknown one")
    if blas._own() is None:
        library.lg_gemm_begin(ctypes.c_void_p(found["sgemm"]))
    number, long, at = ctypes.c_int, ctypes.c_long, ctypes.c_void_p
    library.lg_affine.argtypes = [number] * 2 + [long] * 3 + [at, long, at, long, number, at, at, long]
    return library.lg_affine


def multiplied(own, a, b, c, bias=None, adds=0):
    """c = a @ b, where a and b are matrices or transposes of ones that have no gaps."""
    (m, k), n = a.shape, b.shape[1]
    turns = [111 if x.strides[1] == 4 else 112 for x in (a, b)]
    apart = [max(x.strides) // 4 for x in (a, b, c)]
    where = None if bias is None else bias.ctypes.data
    return own(*turns, m, n, k, a.ctypes.data, apart[0], b.ctypes.data, apart[1], adds, where, c.ctypes.data, apart[2])


def matrix(rng, rows, columns, turned):
    return (
        rng.standard_normal((columns, rows), np.float32).T
        if turned
        else rng.standard_normal((rows, columns), np.float32)
    )


@pytest.mark.parametrize("size", SIZES)
def test_every_size_and_layout(own, size):
    """Within the rounding of so many terms, and without a touch of what lies beside the result."""
    (m, k, n), rng = size, np.random.default_rng(0)
    for turn_a, turn_b, with_bias, adds in itertools.product((False, True), repeat=4):
        a, b, bias = matrix(rng, m, k, turn_a), matrix(rng, k, n, turn_b), rng.standard_normal(n, np.float32)
        wide = rng.standard_normal((m + 2, n + 5), np.float32)
        before, c = wide.copy(), wide[1:-1, 2:-3]
        ours = multiplied(own, a, b, c, bias if with_bias else None, adds)
        large = m >= 24 and n >= 32 and m * k * n >= 1 << 18
        assert ours == large, size
        if not large:
            assert (wide == before).all()
            continue
        parts = [before[1:-1, 2:-3] if adds else 0, bias if with_bias else 0]
        expected = a.astype(float) @ b.astype(float) + parts[0] + parts[1]
        size_of_terms = np.abs(a).astype(float) @ np.abs(b).astype(float) + np.abs(parts[0]) + np.abs(parts[1])
        assert (np.abs(c - expected) <= (k + 2) * 2.0**-24 * size_of_terms).all()
        wide[1:-1, 2:-3] = before[1:-1, 2:-3]
        assert (wide == before).all()


def test_an_element_does_not_depend_on_its_neighbours(own):
    """Rows and columns of a product are the products of rows and columns, to the bit, and threads change nothing."""
    rng = np.random.default_rng(1)
    a, b, bias = matrix(rng, 300, 700, False), matrix(rng, 700, 900, True), rng.standard_normal(900, np.float32)
    whole, part = np.empty((300, 900), np.float32), np.empty((77, 333), np.float32)
    assert multiplied(own, a, b, whole, bias)
    assert multiplied(own, a[100:177], b[:, 50:383], part, bias[50:383])
    assert (part == whole[100:177, 50:383]).all()
    if blas._own() is not None:
        before = lg.config.get_num_threads()
        try:
            for n in (1, 2, 3):
                lg.config.set_num_threads(n)
                assert (blas.product(a, b, None, bias) == whole).all()
        finally:
            lg.config.set_num_threads(before)


def test_a_bias_is_added_last(own):
    """As if it were added to the finished product: compiled programs do that, with whatever comes next."""
    rng = np.random.default_rng(2)
    a, b, bias = matrix(rng, 64, 900, False), matrix(rng, 900, 70, False), rng.standard_normal(70, np.float32)
    plain, both = (np.empty((64, 70), np.float32) for _ in range(2))
    assert multiplied(own, a, b, plain) and multiplied(own, a, b, both, bias)
    assert (both == plain + bias).all()


def test_what_is_not_finite_goes_through(own):
    a, b, c = np.ones((64, 64), np.float32), np.ones((64, 200), np.float32), np.empty((64, 200), np.float32)
    a[3, 5], a[7, 9], b[5, 11] = np.inf, np.nan, 0.0
    with np.errstate(invalid="ignore"):
        assert multiplied(own, a, b, c)
        np.testing.assert_array_equal(c, a @ b)


def test_each_thread_has_its_room_and_gives_it_back(own):
    rng = np.random.default_rng(3)
    a, b = matrix(rng, 64, 300, False), matrix(rng, 300, 200, False)
    expected = np.empty((64, 200), np.float32)
    assert multiplied(own, a, b, expected)
    found = [np.empty_like(expected) for _ in range(64)]

    def size():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * 4096

    start = size()
    for k in range(0, 64, 8):
        several = [threading.Thread(target=multiplied, args=(own, a, b, c)) for c in found[k : k + 8]]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
    assert all((c == expected).all() for c in found)
    assert size() - start < 48 << 20  # 64 rooms would be 128 MB


@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_is_eager_to_the_bit(threads):
    """A layer whose sums have several blocks, forward and backward."""
    before = lg.config.get_num_threads()
    lg.config.set_num_threads(threads)
    try:
        lg.manual_seed(0)
        layer, x = lg.nn.Linear(700, 130), lg.randn(96, 700, requires_grad=True)

        def step(x):
            return lg.autograd.grad((layer(x) ** 2).sum(), [x, layer.weight])

        for eager, compiled in zip(step(x), lg.compile(step)(x), strict=True):
            np.testing.assert_array_equal(eager.numpy(), compiled.numpy())
    finally:
        lg.config.set_num_threads(before)
