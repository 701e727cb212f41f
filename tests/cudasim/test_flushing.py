"""Flush-to-zero: what ``-ftz=true`` makes of float32, and of nothing else."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim

TINY = np.array([1e-39, -3e-42, 1e-38, 1e-30, 0.0, 1.0], "float32")


@pytest.fixture(params=[True, False], ids=["flushed", "kept"])
def flush(request):
    with cudasim.flush(request.param):
        yield request.param


def expected(values, flush):
    small = np.abs(values) < np.finfo("float32").smallest_normal
    return np.where(small & flush, np.copysign(np.float32(0), values), values).astype("float32")


def test_operands_and_results(xp, flush):
    x, y = xp.asarray(TINY), expected(TINY, flush)
    assert (xp.multiply(x, np.float32(1)).get() == y).all()
    assert (xp.add(x, x).get() == expected(y + y, flush)).all()
    assert (xp.multiply(xp.float32(2) * x, xp.float32(0.25)).get() == expected(expected(2 * y, flush) / 4, flush)).all()
    half = xp.asarray(np.array([2.0**-126], "float32")) * xp.float32(0.5)
    assert half.get().tolist() == ([0.0] if flush else [2.0**-127])


def test_functions_of_the_c_library(xp, flush):
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_allclose(xp.log(xp.asarray(TINY)).get(), np.log(expected(TINY, flush)), rtol=1e-6)
        np.testing.assert_allclose(xp.sqrt(xp.asarray(TINY)).get(), np.sqrt(expected(TINY, flush)), rtol=1e-6)
    scores = np.array([-87, -88, -103, 0], "float32")
    np.testing.assert_allclose(xp.exp(xp.asarray(scores)).get(), expected(np.exp(scores), flush), rtol=1e-6, atol=1e-45)


def test_other_precisions_are_exact(xp):
    with cudasim.flush():
        x = xp.asarray(np.array([1e-310, 1.0]))
        assert (x * 0.5).get().tolist() == [5e-311, 0.5]
        np.testing.assert_allclose(xp.log(x).get(), np.log([1e-310, 1.0]))
        h = xp.asarray(np.array([6e-8, 1.0], "float16"))  # below 2^-14, and a plain float32
        assert (h + h).get().tolist() == (np.array([6e-8, 1.0], "float16") * 2).tolist()


def test_a_kernel_that_asks_for_none_has_none(xp):
    source = 'extern "C" __global__ void product(float *x) { x[threadIdx.x] *= 0.5f; }'
    for option, kept in (("-ftz=true", False), ("-ftz=false", True)):
        x = xp.asarray(TINY[:1])
        program = cudasim_image(source, option)
        module = xp.cuda.function.Module()
        module.load(program)
        module.get_function("product")((1,), (1,), (x,))
        assert (x.get()[0] != 0) == kept


def cudasim_image(source, option):
    from cupy.cuda import nvrtc

    program = nvrtc.createProgram(source, "product.cu", (), ())
    nvrtc.compileProgram(program, (option, "-arch=sm_80"))
    try:
        return nvrtc.getCUBIN(program)
    finally:
        nvrtc.destroyProgram(program)


def test_the_host_is_as_it_was(xp):
    with cudasim.flush():
        xp.asarray(TINY) * xp.float32(2)
        faulty = xp.RawKernel('extern "C" __global__ void fault(float *x) { x[1ll << 45] = x[0] * 2.0f; }', "fault")
        with pytest.raises(Exception, match="illegal"):
            faulty((1,), (1,), (xp.zeros(1, "float32"),))
    assert (TINY * np.float32(1) == TINY).all()


def test_programs_survive(flush):
    """Scores 88 to 103 apart: the smallest probabilities are below 2^-126, and have logarithms."""
    scores = np.array([0.0, -88.0, -95.0, -103.0], "float32")
    x = lg.asarray(scores, device="cuda")
    for run in (lambda x: lg.log(lg.softmax(x, -1)), lg.compile(lambda x: lg.log(lg.softmax(x, -1)))):
        np.testing.assert_allclose(run(x).numpy(force=True), scores, rtol=2e-2)  # such numbers have few digits


def test_more_threads_than_the_bounds_say(xp):
    source = 'extern "C" __global__ void __launch_bounds__(64, 1) bounded(int *x) { x[threadIdx.x] = 1; }'
    kernel = xp.RawKernel(source, "bounded")
    kernel((1,), (64,), (xp.zeros(128, "int32"),))
    assert kernel.max_threads_per_block == 64
    with pytest.raises(Exception, match="invalid argument"):
        kernel((1,), (65,), (xp.zeros(128, "int32"),))
    assert "__launch_bounds__ are 64" in cudasim.last_fault()
