"""Kernels in frames: CuPy's own, for NVIDIA's compiler, and a plain one that takes many of them in one source."""

from lucidgrad.backends import codegen

HEADERS = """#include <cupy/complex.cuh>
#include <cupy/carray.cuh>
#include <cupy/atomics.cuh>
#include <cupy/math_constants.h>
#include "cupy/float16.cuh"
"""
_NUMBERS = {int: "long long", float: "double", complex: "complex<double>"}


def _type(dtype):
    return "float16" if dtype.name == "float16" else codegen.c_type(dtype)


def by_cupy(kernel, name=None):
    """A kernel function as CuPy's ElementwiseKernel writes it."""
    params = [f"const CArray<{_type(dtype)}, 1, 1, 1> _raw_{word}" for dtype, word in kernel.arrays]
    params += [f"const {_NUMBERS[dtype]} {word}" for dtype, word in kernel.numbers]
    params += [f"CArray<{_type(dtype)}, 1, 1, 1> _raw_{word}" for dtype, word in kernel.results]
    body = [f"const {_type(dtype)} &{word} = _raw_{word}[_ind.get()];" for dtype, word in kernel.arrays]
    body += [f"{_type(dtype)} &{word} = _raw_{word}[_ind.get()];" for dtype, word in kernel.results]
    return (
        f'extern "C" __global__ void {name or kernel.name}({", ".join(params)}, CIndexer<1, 1> _ind) {{\n;\n'
        "#pragma unroll 1\nCUPY_FOR(i, _ind.size()) {\n_ind.set(i);\n"
        + "\n".join((*body, *kernel.lines))
        + ";\n}\n;\n}\n"
    )


def by_pointers(kernel, name):
    """A kernel function of pointers to as many elements each, and numbers."""
    params = [f"const {_type(dtype)} *p_{word}" for dtype, word in kernel.arrays]
    params += [f"const {_NUMBERS[dtype]} {word}" for dtype, word in kernel.numbers]
    params += [f"{_type(dtype)} *p_{word}" for dtype, word in kernel.results]
    body = [f"const {_type(dtype)} &{word} = p_{word}[i];" for dtype, word in kernel.arrays]
    body += [f"{_type(dtype)} &{word} = p_{word}[i];" for dtype, word in kernel.results]
    return (
        f'extern "C" __global__ void {name}({", ".join(params)}, const long long n) {{\n'
        "const long long i = (long long)blockDim.x * blockIdx.x + threadIdx.x;\nif (i < n) {\n"
        + "\n".join((*body, *kernel.lines))
        + "\n}\n}\n"
    )


def source(kernels, frame):
    """One source of many kernels: pairs of name and kernel."""
    return HEADERS + codegen.CUDA.functions + "\n".join(frame(kernel, name) for name, kernel in kernels)


def signature(kernel):
    """What makes two kernels the same."""
    return kernel.arrays, kernel.numbers, kernel.results, kernel.lines
