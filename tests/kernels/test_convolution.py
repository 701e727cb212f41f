"""Convolution: large tiles, batches beyond 32 bits, and the memory it takes."""

import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.backends.cuda.kernels import convolution
from lucidgrad.nn import functional

from .cases import CASES, conv, convolutions
from .comparison import compare

lg.zeros(1, device="cuda")  # loads the back end
NAMES = ("convolution", "convolution_input", "convolution_weight")


@pytest.mark.parametrize("name", NAMES)
def test_large_tiles(name, monkeypatch):
    monkeypatch.setattr(convolution, "_square", lambda *args: 8)
    shares = convolution._shares
    monkeypatch.setattr(convolution, "_shares", lambda *args: (8, shares(*args)[1]))
    with cudasim.counting() as found:
        for case in (CASES[name][k] for k in (3, 4, 5, 11)):
            compare(name, case, "float32")
    assert found.launches


@pytest.mark.parametrize("name", NAMES)
def test_batches_that_are_too_large_for_one_launch(name, monkeypatch):
    launched = []
    kernel = convolution.SOURCES.kernel
    monkeypatch.setattr(convolution.SOURCES, "kernel", lambda *args: launched.append(args) or kernel(*args))
    (case,) = convolutions(name, [conv(40, 5, (6,), 6, (3,))])
    compare(name, case, "float64")
    once = len(launched)
    a, b = case.arrays()
    monkeypatch.setattr(convolution, "_MOST", convolution._most_index(a[:15], b, **case.keywords))
    compare(name, case, "float64")
    assert len(launched) - once > once
    monkeypatch.setattr(convolution, "_MOST", 0)  # not even one example: the program
    compare(name, case, "float64")


def test_arguments_that_do_not_fit_are_refused():
    x, w = cupy.ones((2, 4, 5)), cupy.ones((6, 3, 2))
    steps = dict(stride=(1,), padding=(0,), dilation=(1,))
    with pytest.raises(RuntimeError, match="divisible by the groups"):
        convolution.TABLE["convolution"](x, w, **steps)
    with pytest.raises(ValueError, match="not aligned"):
        convolution.TABLE["convolution_input"](x, w, sizes=(6,), **steps)
    with pytest.raises(ValueError, match="shape"):
        convolution.TABLE["convolution_weight"](x, cupy.ones((3, 4, 4)), window=(2,), **steps)


#: Enough channels for tensor cores; examples of the first are taken in portions.
COLUMNS = [conv(76, 8, (5, 4), 64, (3, 3), padding=(1, 1)), conv(30, 22, (12,), 64, (3,), stride=(2,), dilation=(2,))]
POINTS = [conv(3, 5, (4, 3), 6, (1, 1))]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_columns_for_tensor_cores(name, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
        assert lg.bfloat16
    precision = "high" if dtype == "float32" else "highest"
    lg.set_float32_matmul_precision(precision)
    try:
        for least, case in zip((2, 1), convolutions(name, COLUMNS), strict=True):
            with cudasim.counting() as found:
                compare(name, case, "float16" if dtype == "float32" else dtype)  # as exact as 11 bits
            used = {"convolution": "unfold_windows", "convolution_input": "fold_windows"}.get(name, "folded_columns")
            assert found.launches.get(used, 0) >= least, found.launches
            if dtype == "float32":
                wide = [cupy.asarray(a.astype("float32")) for a in case.arrays()]
                close = convolution.TABLE[name](*wide, **case.keywords)
                lg.set_float32_matmul_precision("highest")
                exact = convolution.TABLE[name](*wide, **case.keywords)
                lg.set_float32_matmul_precision(precision)
                np.testing.assert_allclose(close.get(), exact.get(), rtol=1e-2, atol=2e-2 * float(abs(exact).max()))
                assert (close != exact).any()
    finally:
        lg.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("name", NAMES)
def test_windows_of_one_element(name):
    for case in convolutions(name, POINTS):
        for dtype in ("float16", "float32", "float64"):
            with cudasim.counting() as found:
                compare(name, case, dtype)
            if name != "convolution_weight":
                assert dict(found.launches) == {"cublasGemmStridedBatchedEx": 1}, found.launches


def test_memory_of_columns():
    """The input once more, and what is added up in float32."""
    x, w = cupy.zeros((40, 16, 8, 8), "float16"), cupy.zeros((64, 16, 3, 3), "float16")
    steps = dict(stride=(1, 1), padding=(1, 1), dilation=(1, 1))
    h = convolution.TABLE["convolution"](x, w, **steps)
    calls = {
        "convolution": ((x, w), {}, h.nbytes),
        "convolution_input": ((h, w), {"sizes": (8, 8)}, x.nbytes),
        "convolution_weight": ((x, h), {"window": (3, 3)}, 3 * w.nbytes + h.nbytes // 8),
    }
    for name, (args, more, result) in calls.items():
        before = cupy.get_default_memory_pool().used_bytes()
        with _peak() as peak:
            convolution.TABLE[name](*args, **more, **steps)
        assert peak.most - before <= x.nbytes + result + 8192, name


WAYS = {
    "1-d": (functional.conv1d, (4, 8, 60), (8, 8, 5), {"padding": 2}),
    "2-d": (functional.conv2d, (4, 8, 12, 12), (8, 8, 3, 3), {"padding": 1}),
    "3-d": (functional.conv3d, (2, 8, 6, 6, 6), (8, 8, 3, 3, 3), {"padding": 1}),
    "in groups": (functional.conv2d, (4, 8, 12, 12), (8, 1, 3, 3), {"padding": 1, "groups": 8}),
    "dilated": (functional.conv2d, (4, 8, 12, 12), (8, 8, 3, 3), {"padding": 2, "dilation": 2}),
    "in steps": (functional.conv2d, (4, 8, 12, 12), (8, 8, 3, 3), {"padding": 1, "stride": 2}),
    "transposed": (functional.conv_transpose2d, (4, 8, 6, 6), (8, 8, 3, 3), {"stride": 2, "padding": 1}),
}


@pytest.mark.parametrize("way", WAYS)
def test_memory(way):
    """Beside results no more than an input is taken, forth and back: columns would be nine times as much."""
    function, shape, window, options = WAYS[way]
    lg.manual_seed(0)
    x, w = lg.rand(*shape, device="cuda").requires_grad_(), lg.rand(*window, device="cuda").requires_grad_()
    for _ in range(2):
        x.grad = w.grad = None
        lg.cuda.synchronize()
        before = cupy.get_default_memory_pool().used_bytes()
        with _peak() as peak:
            y = function(x, w, **options)
            forth = peak.most - before
            g = lg.ones_like(y)
            y.backward(g)
        room = x.array.nbytes + w.array.nbytes + 4096
        assert forth <= y.array.nbytes + room
        # y and g are there; the gradients are results
        assert peak.most - before <= 2 * y.array.nbytes + 2 * room


class _peak(cupy.cuda.MemoryHook):
    """The most memory that was in use at a time."""

    name = "peak"

    def __enter__(self):
        self.most = 0
        return super().__enter__()

    def malloc_postprocess(self, **args):
        self.most = max(self.most, cupy.get_default_memory_pool().used_bytes())


def test_launches():
    lg.manual_seed(0)
    x, w = lg.rand(9, 6, 8, 8, device="cuda").requires_grad_(), lg.rand(20, 6, 3, 3, device="cuda").requires_grad_()
    for _ in range(2):
        with cudasim.counting() as forth:
            y = functional.conv2d(x, w, padding=1)
        g = lg.ones_like(y)
        with cudasim.counting() as back:
            lg.autograd.grad(y, [x, w], g)
    assert sum(forth.launches.values()) == 1, forth.launches
    assert sum(back.launches.values()) == 3, back.launches  # parts of weights are added up
    for found in (forth, back):
        assert found.synchronisations == found.copies_to_host == found.bytes_to_device == 0


def test_weights_have_the_same_bits_every_time():
    rng = np.random.default_rng(0)
    x, h = (cupy.asarray(rng.normal(size=s).astype("float32")) for s in ((9, 6, 8, 8), (9, 20, 8, 8)))
    run = lambda: convolution.TABLE["convolution_weight"](
        x, h, window=(3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1
    ).get()
    np.testing.assert_array_equal(run(), run())
