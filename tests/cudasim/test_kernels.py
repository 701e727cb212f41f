"""Kernels that users write: generated, raw, with all that a block of threads can do together."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BLOCK_SUM = r"""
extern "C" __global__ void block_sum(const float *x, float *y, int n) {
    extern __shared__ float parts[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    parts[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) parts[t] += parts[t + half];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = parts[0];
}
"""


def test_elementwise_kernel(xp):
    kernel = xp.ElementwiseKernel("T x, T y, float32 z", "T d, int32 i_out", "d = (x - y) * z; i_out = i", "difference")
    x, y = np.arange(1000.0), np.ones(1000)
    d, i = kernel(xp.asarray(x), xp.asarray(y), 2)
    assert (d.get() == (x - y) * 2).all()
    assert (i.get() == np.arange(1000)).all()


def test_elementwise_kernel_with_raw_arguments_and_strides(xp):
    kernel = xp.ElementwiseKernel("raw T x, int64 n", "T y", "y = x[n - 1 - i]", "reversed")
    x = np.arange(24.0).reshape(4, 6)
    got = kernel(xp.asarray(x)[:, ::2], 12, xp.empty(12))
    assert (got.get() == x[:, ::2].ravel()[::-1]).all()


def test_reduction_kernel(xp):
    norm = xp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    x = np.random.default_rng(0).random((70, 300))
    np.testing.assert_allclose(norm(xp.asarray(x), axis=1).get(), np.linalg.norm(x, axis=1), rtol=1e-12)
    np.testing.assert_allclose(norm(xp.asarray(x), axis=0).get(), np.linalg.norm(x, axis=0), rtol=1e-12)


@pytest.mark.parametrize("n", [1, 33, 1000])
def test_shared_memory_and_barriers(xp, n):
    kernel = xp.RawKernel(BLOCK_SUM, "block_sum")
    x = np.arange(n, dtype="float32")
    blocks = -(-n // 128)
    y = xp.zeros(blocks, "float32")
    kernel((blocks,), (128,), (xp.asarray(x), y, n), shared_mem=512)
    expected = np.pad(x, (0, blocks * 128 - n)).reshape(blocks, 128).sum(1)
    assert (y.get() == expected).all()


def test_static_shared_memory_in_two_dimensions(xp):
    kernel = xp.RawKernel(
        r"""
        extern "C" __global__ void transpose(const double *x, double *y, int rows, int columns) {
            __shared__ double tile[16][17];
            int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
            if (i < rows && j < columns) tile[threadIdx.y][threadIdx.x] = x[i * columns + j];
            __syncthreads();
            i = blockIdx.x * 16 + threadIdx.y, j = blockIdx.y * 16 + threadIdx.x;
            if (i < columns && j < rows) y[i * rows + j] = tile[threadIdx.x][threadIdx.y];
        }""",
        "transpose",
    )
    x = np.arange(40.0 * 50).reshape(40, 50)
    y = xp.empty((50, 40))
    kernel((4, 3), (16, 16), (xp.asarray(x), y, 40, 50))
    assert (y.get() == x.T).all()


def test_shuffles_and_votes(xp):
    kernel = xp.RawKernel(
        r"""
        extern "C" __global__ void warps(const int *x, int *sums, unsigned *votes, int *neighbours, int *counts) {
            int i = blockIdx.x * blockDim.x + threadIdx.x, value = x[i];
            for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
            if (threadIdx.x % 32 == 0) sums[i / 32] = value;
            unsigned vote = __ballot_sync(0xffffffffu, x[i] % 3 == 0);
            if (threadIdx.x % 32 == 0) votes[i / 32] = vote;
            neighbours[i] = __shfl_xor_sync(0xffffffffu, x[i], 1);
            counts[i] = __syncthreads_count(x[i] % 2);
        }""",
        "warps",
    )
    x = np.random.default_rng(0).integers(0, 100, 256).astype("int32")
    sums, votes = xp.empty(8, "int32"), xp.empty(8, "uint32")
    neighbours, counts = xp.empty(256, "int32"), xp.empty(256, "int32")
    kernel((2,), (128,), (xp.asarray(x), sums, votes, neighbours, counts))
    assert (sums.get() == x.reshape(8, 32).sum(1)).all()
    expected = ((x.reshape(8, 32) % 3 == 0) << np.arange(32, dtype="uint64")).sum(1)
    assert (votes.get() == expected).all()
    assert (neighbours.get() == x.reshape(-1, 2)[:, ::-1].ravel()).all()
    assert (counts.get().reshape(2, 128) == (x % 2).reshape(2, 128).sum(1)[:, None]).all()


def test_atomics(xp):
    kernel = xp.RawKernel(
        r"""
        extern "C" __global__ void count(const int *x, int n, int *bins, float *total, int *largest, int *owner) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i >= n) return;
            atomicAdd(&bins[x[i]], 1);
            atomicAdd(total, 0.5f);
            atomicMax(largest, x[i]);
            atomicCAS(owner, -1, 7);
        }""",
        "count",
    )
    x = np.random.default_rng(0).integers(0, 10, 1000).astype("int32")
    bins, total = xp.zeros(10, "int32"), xp.zeros(1, "float32")
    largest, owner = xp.zeros(1, "int32"), xp.full(1, -1, "int32")
    kernel((8,), (128,), (xp.asarray(x), 1000, bins, total, largest, owner))
    assert (bins.get() == np.bincount(x, minlength=10)).all()
    assert (total.get()[0], largest.get()[0], owner.get()[0]) == (500, 9, 7)


def test_module_with_templates_constants_and_globals(xp):
    module = xp.RawModule(
        code=r"""
        __constant__ float factors[4];
        __device__ int calls = 0;
        template <typename T> __global__ void scale(T *x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[i] *= T(factors[i % 4]);
            if (i == 0) ++calls;
        }""",
        options=("-std=c++17",),
        name_expressions=["scale<float>", "scale<double>"],
    )
    factors = xp.ndarray(4, "float32", module.get_global("factors"))
    factors[...] = xp.asarray([1, 2, 3, 4], "float32")
    for dtype, name in (("float32", "scale<float>"), ("float64", "scale<double>")):
        x = xp.ones(10, dtype)
        module.get_function(name)((1,), (32,), (x, 10))
        assert (x.get() == np.tile([1, 2, 3, 4], 3)[:10]).all()
    assert xp.ndarray(1, "int32", module.get_global("calls")).get()[0] == 2


def test_options_reach_the_compiler(xp):
    code = 'extern "C" __global__ void f(int *x) { x[0] = WIDTH * 2; }'
    x = xp.zeros(1, "int32")
    xp.RawKernel(code, "f", options=("-DWIDTH=21",))((1,), (1,), (x,))
    assert x.get()[0] == 42


def test_a_source_that_does_not_compile(xp):
    with pytest.raises(xp.cuda.compiler.CompileException, match="nonsense"):
        xp.RawKernel('extern "C" __global__ void f(int *x) { x[0] = nonsense; }', "f").compile()


def test_the_other_compiler(xp):
    code = 'extern "C" __global__ void f(int *x) { x[threadIdx.x] = WIDTH; }'
    x = xp.zeros(3, "int32")
    xp.RawKernel(code, "f", options=("-DWIDTH=21",), backend="nvcc")((1,), (3,), (x,))
    assert x.get().tolist() == [21, 21, 21]
    with pytest.raises(xp.cuda.compiler.CompileException, match="nonsense"):
        xp.RawKernel(code.replace("WIDTH", "nonsense"), "f", backend="nvcc").compile()


def test_the_other_compiler_outlives_the_environment_that_built_it(xp, monkeypatch):
    recorded = Path(os.environ["NVCC"]).read_text()
    assert "CUDASIM_PYTHON" in recorded and os.environ["CUDASIM_PYTHON"] == sys.executable
    monkeypatch.setenv("CUDASIM_PYTHON", "/nowhere/python")
    gone = subprocess.run([os.environ["NVCC"], "--version"], capture_output=True, text=True)
    assert gone.returncode and "/nowhere/python" in gone.stderr
    monkeypatch.setenv("CUDASIM_PYTHON", sys.executable)
    found = subprocess.run([os.environ["NVCC"], "--version"], capture_output=True, text=True)
    assert "emulated" in found.stdout


def test_half_precision(xp):
    kernel = xp.RawKernel(
        r"""
        #include <cuda_fp16.h>
        extern "C" __global__ void halves(const __half *x, __half *y, int n) {
            int i = threadIdx.x;
            if (i < n) y[i] = __float2half(__half2float(x[i]) * 2.0f);
        }""",
        "halves",
    )
    x = np.linspace(-4, 4, 50).astype("float16")
    y = xp.empty(50, "float16")
    kernel((1,), (64,), (xp.asarray(x), y, 50))
    assert (y.get() == x * 2).all()


def test_three_dimensional_grid(xp):
    kernel = xp.RawKernel(
        r"""
        extern "C" __global__ void place(int *x) {
            int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
            int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
            int size = blockDim.x * blockDim.y * blockDim.z;
            x[block * size + thread] = block * size + thread;
        }""",
        "place",
    )
    x = xp.zeros(2 * 3 * 4 * 5 * 2 * 3, "int32")
    kernel((2, 3, 4), (5, 2, 3), (x,))
    assert (x.get() == np.arange(x.size)).all()


def test_kernels_written_in_python(xp):
    from cupyx import jit

    @jit.rawkernel()
    def twice(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] = x[i] * 2

    x, y = xp.arange(100, dtype="float32"), xp.zeros(100, "float32")
    twice((4,), (32,), (x, y, xp.uint32(100)))
    assert (y.get() == np.arange(100) * 2).all()


def test_attributes(xp):
    kernel = xp.RawKernel(BLOCK_SUM, "block_sum")
    assert kernel.max_threads_per_block == 1024
    kernel.max_dynamic_shared_size_bytes = 48 * 1024
    assert kernel.max_dynamic_shared_size_bytes == 48 * 1024
