# Written by `python -m tools.stubs`: what is wrong here is mended there.

import builtins
import os
from collections.abc import Mapping, Sequence
from typing import Any, IO, Literal, overload

import numpy as np

from lucidgrad import amp as amp
from lucidgrad import autograd as autograd
from lucidgrad import cuda as cuda
from lucidgrad import cudasim as cudasim
from lucidgrad import distributions as distributions
from lucidgrad import fft as fft
from lucidgrad import files as files
from lucidgrad import func as func
from lucidgrad import linalg as linalg
from lucidgrad import nn as nn
from lucidgrad import optim as optim
from lucidgrad import profiler as profiler
from lucidgrad import random as random
from lucidgrad import signal as signal
from lucidgrad import special as special
from lucidgrad import typing as typing
from lucidgrad import utils as utils
from lucidgrad import viz as viz
from lucidgrad.amp import GradScaler as GradScaler
from lucidgrad.amp import autocast as autocast
from lucidgrad.autograd.function import custom_vjp as custom_vjp
from lucidgrad.autograd.modes import enable_grad as enable_grad
from lucidgrad.autograd.modes import inference_mode as inference_mode
from lucidgrad.autograd.modes import no_grad as no_grad
from lucidgrad.autograd.modes import set_grad_enabled as set_grad_enabled
from lucidgrad.core.device import Device
from lucidgrad.core.device import Device as device
from lucidgrad.core.errors import DeviceError as DeviceError
from lucidgrad.core.errors import GradArgError as GradArgError
from lucidgrad.core.errors import OutOfMemoryError as OutOfMemoryError
from lucidgrad.datatypes import FloatInfo, IntegerInfo
from lucidgrad.inspection import Info
from lucidgrad.linalg import QRResult, SlogdetResult
from lucidgrad.ops.conventions import ValuesAndIndices
from lucidgrad.ops.linalg.classics import USVResult
from lucidgrad.ops.linalg.equations import TriangularSolveResult
from lucidgrad.ops.linalg.factors import GeqrfResult, LUResult
from lucidgrad.ops.linalg.subspaces import LobpcgResult
from lucidgrad.ops.sets import UniqueAll, UniqueCounts, UniqueInverse
from lucidgrad.random import Generator as Generator
from lucidgrad.tensor import Tensor as Tensor
from lucidgrad.typing import Array, ArrayLike, Axes, DType, DTypeLike, Data, DeviceLike, Shape, SupportsDLPack

__all__ = [
    "DeviceError",
    "Generator",
    "GradArgError",
    "GradScaler",
    "OutOfMemoryError",
    "Tensor",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",
    "abs",
    "acos",
    "acosh",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "all",
    "allclose",
    "amax",
    "amin",
    "amp",
    "angle",
    "any",
    "arange",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "array_equal",
    "array_split",
    "as_tensor",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autograd",
    "average",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "bfloat16",
    "bincount",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "bmm",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cat",
    "cdist",
    "ceil",
    "celu",
    "chain_matmul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clip",
    "clone",
    "column_stack",
    "complex128",
    "complex64",
    "concat",
    "conj",
    "convolve",
    "copysign",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cuda",
    "cudasim",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "cumulative_trapezoid",
    "custom_vjp",
    "deg2rad",
    "det",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diff",
    "digamma",
    "digitize",
    "distributions",
    "divide",
    "dot",
    "dstack",
    "e",
    "ediff1d",
    "einsum",
    "elu",
    "empty",
    "empty_like",
    "enable_grad",
    "entr",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expit",
    "expm1",
    "eye",
    "fft",
    "files",
    "finfo",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_divide",
    "fmod",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "func",
    "gather",
    "ge",
    "gelu",
    "geqrf",
    "ger",
    "get_default_device",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "greater",
    "greater_equal",
    "gt",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "heaviside",
    "histc",
    "histogram",
    "hstack",
    "hypot",
    "i0",
    "igamma",
    "igammac",
    "iinfo",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_select",
    "inf",
    "inference_mode",
    "inner",
    "int16",
    "int32",
    "int64",
    "int8",
    "interp",
    "inverse",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "isclose",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "istft",
    "kaiser_window",
    "kron",
    "kthvalue",
    "le",
    "leaky_relu",
    "lerp",
    "less",
    "less_equal",
    "lgamma",
    "linalg",
    "linspace",
    "load",
    "lobpcg",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsigmoid",
    "logsumexp",
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "min",
    "minimum",
    "mish",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "multinomial",
    "multiply",
    "mv",
    "mvlgamma",
    "nan",
    "nan_to_num",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "narrow",
    "ne",
    "negative",
    "newaxis",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "norm",
    "normal",
    "not_equal",
    "ones",
    "ones_like",
    "optim",
    "orgqr",
    "ormqr",
    "outer",
    "pad",
    "pca_lowrank",
    "percentile",
    "permute_dims",
    "pi",
    "pinverse",
    "polygamma",
    "positive",
    "pow",
    "prod",
    "profiler",
    "ptp",
    "qr",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "ravel",
    "real",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "renorm",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "rot90",
    "round",
    "rsqrt",
    "rsub",
    "save",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "select",
    "selu",
    "set_default_device",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "set_rng_state",
    "sgn",
    "show_config",
    "sigmoid",
    "sign",
    "signal",
    "signbit",
    "silu",
    "sin",
    "sinc",
    "sinh",
    "slogdet",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "sort",
    "special",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "stft",
    "subtract",
    "sum",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "take",
    "take_along_axis",
    "take_along_dim",
    "tan",
    "tanh",
    "tanhshrink",
    "tensor",
    "tensordot",
    "threshold",
    "tile",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "triu",
    "trunc",
    "typing",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unbind",
    "unflatten",
    "unfold",
    "uniform",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "use_deterministic_algorithms",
    "utils",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "vecdot",
    "viz",
    "vstack",
    "where",
    "xlogy",
    "zeros",
    "zeros_like",
]

__array_api_version__: str
__version__: str
bfloat16: np.dtype[Any]
bool: np.dtype[np.bool_]
complex128: np.dtype[np.complex128]
complex64: np.dtype[np.complex64]
e: float
float16: np.dtype[np.float16]
float32: np.dtype[np.float32]
float64: np.dtype[np.float64]
inf: float
int16: np.dtype[np.int16]
int32: np.dtype[np.int32]
int64: np.dtype[np.int64]
int8: np.dtype[np.int8]
nan: float
newaxis: None
pi: float
uint16: np.dtype[np.uint16]
uint32: np.dtype[np.uint32]
uint64: np.dtype[np.uint64]
uint8: np.dtype[np.uint8]

def __array_namespace_info__() -> Info: ...
def abs(x: ArrayLike, /) -> Tensor: ...
def acos(x: ArrayLike, /) -> Tensor: ...
def acosh(x: ArrayLike, /) -> Tensor: ...
def add(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def addbmm(
    input: ArrayLike,
    batch1: ArrayLike,
    batch2: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
) -> Tensor: ...
def addcdiv(input: ArrayLike, tensor1: ArrayLike, tensor2: ArrayLike, *, value: ArrayLike = 1) -> Tensor: ...
def addcmul(input: ArrayLike, tensor1: ArrayLike, tensor2: ArrayLike, *, value: ArrayLike = 1) -> Tensor: ...
def addmm(
    input: ArrayLike,
    mat1: ArrayLike,
    mat2: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
) -> Tensor: ...
def addmv(input: ArrayLike, mat: ArrayLike, vec: ArrayLike, *, beta: ArrayLike = 1, alpha: ArrayLike = 1) -> Tensor: ...
def addr(
    input: ArrayLike,
    vec1: ArrayLike,
    vec2: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
) -> Tensor: ...
@overload
def all(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def all(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def allclose(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool: ...
@overload
def amax(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def amax(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def amin(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def amin(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def angle(x: ArrayLike, /) -> Tensor: ...
@overload
def any(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def any(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def arange(
    start: ArrayLike,
    /,
    stop: ArrayLike | None = None,
    step: ArrayLike = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def are_deterministic_algorithms_enabled() -> builtins.bool: ...
@overload
def argmax(x: ArrayLike, /, axis: int | None = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def argmax(x: ArrayLike, /, dim: int | None = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def argmin(x: ArrayLike, /, axis: int | None = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def argmin(x: ArrayLike, /, dim: int | None = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def argsort(
    x: ArrayLike,
    /,
    axis: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor: ...
@overload
def argsort(
    x: ArrayLike,
    /,
    dim: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor: ...
def argwhere(x: ArrayLike, /) -> Tensor: ...
def array_equal(x1: ArrayLike, x2: ArrayLike, /, equal_nan: builtins.bool = False) -> builtins.bool: ...
def array_split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]: ...
def as_tensor(data: Data, dtype: DTypeLike | None = None, device: DeviceLike | None = None) -> Tensor: ...
def asarray(
    obj: Data,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: builtins.bool | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def asin(x: ArrayLike, /) -> Tensor: ...
def asinh(x: ArrayLike, /) -> Tensor: ...
def astype(
    x: ArrayLike,
    /,
    dtype: DTypeLike | None,
    *,
    copy: builtins.bool = True,
    device: DeviceLike | None = None,
) -> Tensor: ...
def atan(x: ArrayLike, /) -> Tensor: ...
def atan2(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def atanh(x: ArrayLike, /) -> Tensor: ...
def atleast_1d(x: ArrayLike) -> Tensor: ...
def atleast_2d(x: ArrayLike) -> Tensor: ...
def atleast_3d(x: ArrayLike) -> Tensor: ...
@overload
def average(
    x: ArrayLike,
    /,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[False] = False,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def average(
    x: ArrayLike,
    /,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: builtins.bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def average(
    x: ArrayLike,
    /,
    dim: Axes = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[False] = False,
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def average(
    x: ArrayLike,
    /,
    dim: Axes = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdim: builtins.bool = False,
) -> tuple[Tensor, Tensor]: ...
def baddbmm(
    input: ArrayLike,
    batch1: ArrayLike,
    batch2: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
) -> Tensor: ...
def bartlett_window(
    window_length: int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def bernoulli(p: Tensor, *, generator: Generator | None = None) -> Tensor: ...
def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Tensor: ...
def bitwise_and(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def bitwise_invert(x: ArrayLike, /) -> Tensor: ...
def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def bitwise_or(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def bitwise_xor(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def blackman_window(
    window_length: int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def bmm(input: ArrayLike, mat2: ArrayLike) -> Tensor: ...
def broadcast_arrays(*arrays: ArrayLike) -> tuple[Tensor, ...]: ...
def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]: ...
def broadcast_to(x: ArrayLike, /, shape: Shape) -> Tensor: ...
def bucketize(
    x: ArrayLike,
    boundaries: ArrayLike,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
) -> Tensor: ...
def can_cast(from_: Array | DTypeLike, to: DTypeLike, /) -> builtins.bool: ...
def cat(tensors: Sequence[ArrayLike], dim: int = 0) -> Tensor: ...
def cdist(x1: ArrayLike, x2: ArrayLike, p: float = 2.0, compute_mode: str | None = None) -> Tensor: ...
def ceil(x: ArrayLike, /) -> Tensor: ...
def celu(x: ArrayLike, /, alpha: float = 1.0) -> Tensor: ...
def chain_matmul(*matrices: ArrayLike) -> Tensor: ...
def cholesky(x: ArrayLike, /, upper: builtins.bool = False) -> Tensor: ...
def cholesky_inverse(L: ArrayLike, upper: builtins.bool = False) -> Tensor: ...
def cholesky_solve(B: ArrayLike, L: ArrayLike, upper: builtins.bool = False) -> Tensor: ...
def chunk(x: ArrayLike, chunks: int, dim: int = 0) -> tuple[Tensor, ...]: ...
def clamp(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor: ...
def clip(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor: ...
def clone(x: ArrayLike, /) -> Tensor: ...
def column_stack(arrays: Sequence[ArrayLike]) -> Tensor: ...
@overload
def concat(*xs: ArrayLike, axis: int | None = 0) -> Tensor: ...
@overload
def concat(*xs: ArrayLike, dim: int | None = 0) -> Tensor: ...
@overload
def concat(xs: Sequence[ArrayLike], /, axis: int | None = 0) -> Tensor: ...
@overload
def concat(xs: Sequence[ArrayLike], /, dim: int | None = 0) -> Tensor: ...
def conj(x: ArrayLike, /) -> Tensor: ...
def convolve(x1: ArrayLike, x2: ArrayLike, /, mode: str = "full") -> Tensor: ...
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def corrcoef(x: ArrayLike, /, y: ArrayLike | None = None, rowvar: builtins.bool = True) -> Tensor: ...
def correlate(x1: ArrayLike, x2: ArrayLike, /, mode: str = "valid") -> Tensor: ...
def cos(x: ArrayLike, /) -> Tensor: ...
def cosh(x: ArrayLike, /) -> Tensor: ...
@overload
def count_nonzero(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def count_nonzero(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def cov(
    x: ArrayLike,
    /,
    y: ArrayLike | None = None,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: float | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
) -> Tensor: ...
@overload
def cummax(x: ArrayLike, /, axis: int) -> ValuesAndIndices: ...
@overload
def cummax(x: ArrayLike, /, dim: int) -> ValuesAndIndices: ...
@overload
def cummin(x: ArrayLike, /, axis: int) -> ValuesAndIndices: ...
@overload
def cummin(x: ArrayLike, /, dim: int) -> ValuesAndIndices: ...
@overload
def cumprod(x: ArrayLike, /, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def cumprod(x: ArrayLike, /, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def cumsum(x: ArrayLike, /, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def cumsum(x: ArrayLike, /, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
@overload
def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    dim: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
@overload
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
@overload
def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    dim: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
@overload
def cumulative_trapezoid(y: ArrayLike, /, x: ArrayLike | None = None, *, dx: float = 1.0, axis: int = -1) -> Tensor: ...
@overload
def cumulative_trapezoid(y: ArrayLike, /, x: ArrayLike | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor: ...
def deg2rad(x: ArrayLike, /) -> Tensor: ...
def det(x: ArrayLike, /) -> Tensor: ...
def diag(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def diag_embed(x: ArrayLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: ...
def diagflat(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def diagonal(x: ArrayLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor: ...
@overload
def diff(
    x: ArrayLike,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tensor: ...
@overload
def diff(
    x: ArrayLike,
    /,
    n: int = 1,
    dim: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Tensor: ...
def digamma(x: ArrayLike, /) -> Tensor: ...
def digitize(x: ArrayLike, /, bins: ArrayLike | Sequence[float], right: builtins.bool = False) -> Tensor: ...
def divide(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def dot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def dstack(arrays: Sequence[ArrayLike]) -> Tensor: ...
def ediff1d(x: ArrayLike, /, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Tensor: ...
@overload
def einsum(
    subscripts: str,
    /,
    *operands: ArrayLike,
    optimize: builtins.bool | str | Sequence[object] = True,
) -> Tensor: ...
@overload
def einsum(
    operand: ArrayLike,
    sublist: Sequence[object],
    /,
    *arguments: ArrayLike | Sequence[object],
    optimize: builtins.bool | str | Sequence[object] = True,
) -> Tensor: ...
def elu(x: ArrayLike, /, alpha: float = 1.0) -> Tensor: ...
def empty(
    shape: Shape,
    *more: int,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def empty_like(
    x: ArrayLike,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def entr(x: ArrayLike, /) -> Tensor: ...
def eq(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def equal(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def erf(x: ArrayLike, /) -> Tensor: ...
def erfc(x: ArrayLike, /) -> Tensor: ...
def erfinv(x: ArrayLike, /) -> Tensor: ...
def exp(x: ArrayLike, /) -> Tensor: ...
def exp2(x: ArrayLike, /) -> Tensor: ...
@overload
def expand_dims(x: ArrayLike, /, axis: Axes = 0) -> Tensor: ...
@overload
def expand_dims(x: ArrayLike, /, dim: Axes = 0) -> Tensor: ...
def expit(x: ArrayLike, /) -> Tensor: ...
def expm1(x: ArrayLike, /) -> Tensor: ...
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def finfo(type: Array | DTypeLike, /) -> FloatInfo: ...
def flatten(x: ArrayLike, start_dim: int = 0, end_dim: int = -1) -> Tensor: ...
@overload
def flip(x: ArrayLike, /, axis: Axes = None) -> Tensor: ...
@overload
def flip(x: ArrayLike, /, dim: Axes = None) -> Tensor: ...
def fliplr(x: ArrayLike, /) -> Tensor: ...
def flipud(x: ArrayLike, /) -> Tensor: ...
def float_power(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def floor(x: ArrayLike, /) -> Tensor: ...
def floor_divide(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def from_dlpack(
    x: SupportsDLPack,
    /,
    *,
    device: DeviceLike | None = None,
    copy: builtins.bool | None = None,
) -> Tensor: ...
def from_numpy(array: np.ndarray[Any, Any] | np.generic) -> Tensor: ...
def full(
    shape: Shape,
    fill_value: ArrayLike,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def full_like(
    x: ArrayLike,
    /,
    fill_value: ArrayLike,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def gather(x: ArrayLike, dim: int, index: ArrayLike) -> Tensor: ...
def ge(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def gelu(x: ArrayLike, /, approximate: str = "none") -> Tensor: ...
def geqrf(input: ArrayLike) -> GeqrfResult: ...
def ger(input: ArrayLike, vec2: ArrayLike) -> Tensor: ...
def get_default_device() -> Device: ...
def get_default_dtype() -> DType: ...
def get_num_threads() -> int: ...
def get_rng_state(device: DeviceLike | None = None) -> dict[str, object]: ...
def greater(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def greater_equal(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def gt(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def hamming_window(
    window_length: int,
    periodic: builtins.bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def hann_window(
    window_length: int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def hardshrink(x: ArrayLike, /, lambd: float = 0.5) -> Tensor: ...
def hardsigmoid(x: ArrayLike, /) -> Tensor: ...
def hardswish(x: ArrayLike, /) -> Tensor: ...
def hardtanh(x: ArrayLike, /, min_val: float = -1.0, max_val: float = 1.0) -> Tensor: ...
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def histc(x: ArrayLike, bins: int = 100, min: float = 0, max: float = 0) -> Tensor: ...
def histogram(
    x: ArrayLike,
    /,
    bins: ArrayLike | Sequence[float] = 10,
    range: tuple[float, float] | None = None,
    density: builtins.bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Tensor, Tensor]: ...
def hstack(arrays: Sequence[ArrayLike]) -> Tensor: ...
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def i0(x: ArrayLike, /) -> Tensor: ...
def igamma(a: ArrayLike, x: ArrayLike) -> Tensor: ...
def igammac(a: ArrayLike, x: ArrayLike) -> Tensor: ...
def iinfo(type: Array | DTypeLike, /) -> IntegerInfo: ...
def imag(x: ArrayLike, /) -> Tensor: ...
def index_add(x: ArrayLike, dim: int, index: ArrayLike, source: ArrayLike, *, alpha: float = 1) -> Tensor: ...
def index_copy(x: ArrayLike, dim: int, index: ArrayLike, source: ArrayLike) -> Tensor: ...
def index_fill(x: ArrayLike, dim: int, index: ArrayLike, value: ArrayLike) -> Tensor: ...
def index_put(
    x: ArrayLike,
    indices: Sequence[ArrayLike],
    values: ArrayLike,
    accumulate: builtins.bool = False,
) -> Tensor: ...
def index_select(x: ArrayLike, dim: int, index: ArrayLike) -> Tensor: ...
def inner(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: float | None = None,
    right: float | None = None,
    period: float | None = None,
) -> Tensor: ...
def inverse(x: ArrayLike, /) -> Tensor: ...
def is_grad_enabled() -> builtins.bool: ...
def is_inference_mode_enabled() -> builtins.bool: ...
def isclose(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor: ...
def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> builtins.bool: ...
def isfinite(x: ArrayLike, /) -> Tensor: ...
def isin(x1: ArrayLike, x2: ArrayLike, /, *, invert: builtins.bool = False) -> Tensor: ...
def isinf(x: ArrayLike, /) -> Tensor: ...
def isnan(x: ArrayLike, /) -> Tensor: ...
def istft(
    input: ArrayLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ArrayLike | None = None,
    center: builtins.bool = True,
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    length: int | None = None,
    return_complex: builtins.bool = False,
) -> Tensor: ...
def kaiser_window(
    window_length: int,
    periodic: builtins.bool = True,
    beta: float = 12.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def kron(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def kthvalue(x: ArrayLike, /, k: int, axis: int = -1, keepdims: builtins.bool = False) -> ValuesAndIndices: ...
@overload
def kthvalue(x: ArrayLike, /, k: int, dim: int = -1, *, keepdim: builtins.bool = False) -> ValuesAndIndices: ...
def le(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def leaky_relu(x: ArrayLike, /, negative_slope: float = 0.01) -> Tensor: ...
def lerp(start: ArrayLike, end: ArrayLike, weight: ArrayLike) -> Tensor: ...
def less(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def less_equal(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def lgamma(x: ArrayLike, /) -> Tensor: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: builtins.bool = True,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def load(
    path: str | os.PathLike[str] | IO[bytes],
    map_location: DeviceLike | Mapping[str, DeviceLike] | None = None,
    *,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool | None = None,
    weights_only: builtins.bool | None = None,
) -> Any: ...
def lobpcg(
    A: ArrayLike,
    k: int | None = None,
    B: ArrayLike | None = None,
    X: ArrayLike | None = None,
    n: int | None = None,
    iK: ArrayLike | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: builtins.bool | None = None,
    method: str | None = None,
    tracker: ArrayLike | None = None,
    ortho_iparams: ArrayLike | None = None,
    ortho_fparams: ArrayLike | None = None,
    ortho_bparams: ArrayLike | None = None,
) -> LobpcgResult: ...
def log(x: ArrayLike, /) -> Tensor: ...
def log10(x: ArrayLike, /) -> Tensor: ...
def log1p(x: ArrayLike, /) -> Tensor: ...
def log2(x: ArrayLike, /) -> Tensor: ...
@overload
def log_softmax(x: ArrayLike, /, axis: Axes = -1) -> Tensor: ...
@overload
def log_softmax(x: ArrayLike, /, dim: Axes = -1) -> Tensor: ...
def logaddexp(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def logcumsumexp(x: ArrayLike, /, axis: int) -> Tensor: ...
@overload
def logcumsumexp(x: ArrayLike, /, dim: int) -> Tensor: ...
def logdet(input: ArrayLike) -> Tensor: ...
def logical_and(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def logical_not(x: ArrayLike, /) -> Tensor: ...
def logical_or(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def logical_xor(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def logit(x: ArrayLike, /, eps: float | None = None) -> Tensor: ...
def logsigmoid(x: ArrayLike, /) -> Tensor: ...
@overload
def logsumexp(x: ArrayLike, /, axis: Axes = None, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def logsumexp(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def lt(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def lu(A: ArrayLike, pivot: builtins.bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]: ...
@overload
def lu(A: ArrayLike, pivot: builtins.bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]: ...
def lu_solve(b: ArrayLike, LU_data: ArrayLike, LU_pivots: ArrayLike) -> Tensor: ...
def lu_unpack(
    LU_data: ArrayLike,
    LU_pivots: ArrayLike,
    unpack_data: builtins.bool = True,
    unpack_pivots: builtins.bool = True,
) -> LUResult: ...
def manual_seed(seed: int) -> Generator: ...
def masked_fill(x: ArrayLike, mask: ArrayLike, value: ArrayLike) -> Tensor: ...
def masked_scatter(x: ArrayLike, mask: ArrayLike, source: ArrayLike) -> Tensor: ...
def masked_select(x: ArrayLike, mask: ArrayLike) -> Tensor: ...
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def matrix_exp(x: ArrayLike, /) -> Tensor: ...
def matrix_power(x: ArrayLike, n: int, /) -> Tensor: ...
def matrix_transpose(x: ArrayLike, /) -> Tensor: ...
@overload
def max(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def max(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def maximum(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def mean(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def mean(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def median(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def median(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> tuple[Tensor, ...]: ...
@overload
def min(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def min(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def minimum(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def mish(x: ArrayLike, /) -> Tensor: ...
def mm(input: ArrayLike, mat2: ArrayLike) -> Tensor: ...
@overload
def mode(x: ArrayLike, /, axis: int = -1, keepdims: builtins.bool = False) -> ValuesAndIndices: ...
@overload
def mode(x: ArrayLike, /, dim: int = -1, *, keepdim: builtins.bool = False) -> ValuesAndIndices: ...
def moveaxis(x: ArrayLike, /, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor: ...
def movedim(x: ArrayLike, /, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor: ...
def multinomial(
    p: Tensor,
    num_samples: int,
    replacement: builtins.bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor: ...
def multiply(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def mv(input: ArrayLike, vec: ArrayLike) -> Tensor: ...
def mvlgamma(input: ArrayLike, p: int) -> Tensor: ...
def nan_to_num(
    x: ArrayLike,
    /,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor: ...
@overload
def nancumsum(x: ArrayLike, /, axis: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def nancumsum(x: ArrayLike, /, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def nanmax(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def nanmax(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def nanmean(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def nanmean(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def nanmedian(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def nanmedian(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def nanmin(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def nanmin(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def nanpercentile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanpercentile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    dim: Axes = None,
    *,
    method: str = "linear",
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def nanprod(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanprod(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def nanquantile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: builtins.bool = False,
    interpolation: str | None = None,
) -> Tensor: ...
@overload
def nanquantile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    dim: Axes = None,
    *,
    method: str = "linear",
    keepdim: builtins.bool = False,
    interpolation: str | None = None,
) -> Tensor: ...
@overload
def nanstd(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    ddof: float = 0,
    correction: float | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanstd(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    ddof: float = 0,
    correction: float | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def nansum(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nansum(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def nanvar(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    ddof: float = 0,
    correction: float | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanvar(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    ddof: float = 0,
    correction: float | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
def narrow(x: ArrayLike, dim: int, start: int, length: int) -> Tensor: ...
def ne(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def negative(x: ArrayLike, /) -> Tensor: ...
def nextafter(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def nonzero(x: ArrayLike, /) -> tuple[Tensor, ...]: ...
@overload
def norm(
    x: ArrayLike,
    /,
    p: float | str = "fro",
    axis: Axes = None,
    keepdims: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def norm(
    x: ArrayLike,
    /,
    p: float | str = "fro",
    dim: Axes = None,
    dtype: DTypeLike | None = None,
    *,
    keepdim: builtins.bool = False,
) -> Tensor: ...
def normal(
    mean: ArrayLike = 0.0,
    std: ArrayLike = 1.0,
    size: Shape | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def not_equal(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def ones(
    shape: Shape,
    *more: int,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def ones_like(
    x: ArrayLike,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def orgqr(A: ArrayLike, tau: ArrayLike) -> Tensor: ...
def ormqr(
    input: ArrayLike,
    tau: ArrayLike,
    other: ArrayLike,
    left: builtins.bool = True,
    transpose: builtins.bool = False,
) -> Tensor: ...
def outer(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def pad(
    x: ArrayLike,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    constant_values: ArrayLike = 0,
) -> Tensor: ...
def pca_lowrank(A: ArrayLike, q: int | None = None, center: builtins.bool = True, niter: int = 2) -> USVResult: ...
@overload
def percentile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def percentile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    dim: Axes = None,
    *,
    method: str = "linear",
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def permute_dims(x: ArrayLike, /, axes: Sequence[int]) -> Tensor: ...
@overload
def permute_dims(x: ArrayLike, /, dims: Sequence[int]) -> Tensor: ...
def pinverse(input: ArrayLike, rcond: ArrayLike = 1e-15) -> Tensor: ...
def polygamma(n: ArrayLike, x: ArrayLike, /) -> Tensor: ...
def positive(x: ArrayLike, /) -> Tensor: ...
def pow(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def prod(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def prod(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
@overload
def ptp(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def ptp(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def qr(input: ArrayLike, some: builtins.bool = True) -> QRResult: ...
@overload
def quantile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: builtins.bool = False,
    interpolation: str | None = None,
) -> Tensor: ...
@overload
def quantile(
    x: ArrayLike,
    /,
    q: ArrayLike | Sequence[float],
    dim: Axes = None,
    *,
    method: str = "linear",
    keepdim: builtins.bool = False,
    interpolation: str | None = None,
) -> Tensor: ...
def rad2deg(x: ArrayLike, /) -> Tensor: ...
def rand(
    *size: Shape,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def rand_like(
    x: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def randint(
    low: int,
    high: int | None = None,
    size: Shape | None = None,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def randn(
    *size: Shape,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def randn_like(
    x: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def ravel(x: ArrayLike) -> Tensor: ...
def real(x: ArrayLike, /) -> Tensor: ...
def reciprocal(x: ArrayLike, /) -> Tensor: ...
def relu(x: ArrayLike, /) -> Tensor: ...
def relu6(x: ArrayLike, /) -> Tensor: ...
def remainder(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def renorm(input: ArrayLike, p: float, dim: int, maxnorm: float) -> Tensor: ...
def repeat(x: ArrayLike, repeats: int | Sequence[int] | Array, /, axis: int | None = None) -> Tensor: ...
def reshape(x: ArrayLike, /, shape: Shape, *, copy: builtins.bool | None = None) -> Tensor: ...
def result_type(*arrays_and_dtypes: ArrayLike | DTypeLike) -> DType: ...
@overload
def roll(x: ArrayLike, /, shift: int | Sequence[int], axis: Axes = None) -> Tensor: ...
@overload
def roll(x: ArrayLike, /, shift: int | Sequence[int], dim: Axes = None) -> Tensor: ...
def rot90(
    x: ArrayLike,
    /,
    k: int = 1,
    axes: Sequence[int] = (0, 1),
    *,
    dims: Sequence[int] | None = None,
) -> Tensor: ...
def round(x: ArrayLike, /) -> Tensor: ...
def rsqrt(x: ArrayLike, /) -> Tensor: ...
def rsub(input: ArrayLike, other: ArrayLike, *, alpha: ArrayLike = 1) -> Tensor: ...
def save(
    obj: object,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    metadata: Mapping[str, str] | None = None,
) -> None: ...
def scatter(x: ArrayLike, dim: int, index: ArrayLike, src: ArrayLike, *, reduce: str | None = None) -> Tensor: ...
def scatter_add(x: ArrayLike, dim: int, index: ArrayLike, src: ArrayLike) -> Tensor: ...
def scatter_reduce(
    x: ArrayLike,
    dim: int,
    index: ArrayLike,
    src: ArrayLike,
    reduce: str,
    *,
    include_self: builtins.bool = True,
) -> Tensor: ...
def searchsorted(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: ArrayLike | None = None,
) -> Tensor: ...
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Tensor: ...
def selu(x: ArrayLike, /) -> Tensor: ...
def set_default_device(device: str | Device | None) -> None: ...
def set_default_dtype(dtype: DTypeLike) -> None: ...
def set_num_threads(n: int) -> None: ...
def set_rng_state(state: dict[str, object], device: DeviceLike | None = None) -> None: ...
def sgn(x: ArrayLike, /) -> Tensor: ...
def show_config() -> None: ...
def sigmoid(x: ArrayLike, /) -> Tensor: ...
def sign(x: ArrayLike, /) -> Tensor: ...
def signbit(x: ArrayLike, /) -> Tensor: ...
def silu(x: ArrayLike, /) -> Tensor: ...
def sin(x: ArrayLike, /) -> Tensor: ...
def sinc(x: ArrayLike, /) -> Tensor: ...
def sinh(x: ArrayLike, /) -> Tensor: ...
def slogdet(x: ArrayLike, /) -> SlogdetResult: ...
@overload
def softmax(x: ArrayLike, /, axis: Axes = -1) -> Tensor: ...
@overload
def softmax(x: ArrayLike, /, dim: Axes = -1) -> Tensor: ...
def softplus(x: ArrayLike, /, beta: float = 1.0, threshold: float = 20.0) -> Tensor: ...
def softshrink(x: ArrayLike, /, lambd: float = 0.5) -> Tensor: ...
def softsign(x: ArrayLike, /) -> Tensor: ...
@overload
def sort(
    x: ArrayLike,
    /,
    axis: int = -1,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor: ...
@overload
def sort(
    x: ArrayLike,
    /,
    dim: int = -1,
    *,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor: ...
def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]: ...
def sqrt(x: ArrayLike, /) -> Tensor: ...
def square(x: ArrayLike, /) -> Tensor: ...
@overload
def squeeze(x: ArrayLike, /, axis: Axes = None) -> Tensor: ...
@overload
def squeeze(x: ArrayLike, /, dim: Axes = None) -> Tensor: ...
@overload
def stack(*xs: ArrayLike, axis: int = 0) -> Tensor: ...
@overload
def stack(*xs: ArrayLike, dim: int = 0) -> Tensor: ...
@overload
def stack(xs: Sequence[ArrayLike], /, axis: int = 0) -> Tensor: ...
@overload
def stack(xs: Sequence[ArrayLike], /, dim: int = 0) -> Tensor: ...
@overload
def std(x: ArrayLike, /, axis: Axes = None, *, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def std(x: ArrayLike, /, dim: Axes = None, *, correction: float = 0.0, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def std_mean(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    correction: float = 1,
    keepdims: builtins.bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    correction: float = 1,
    keepdim: builtins.bool = False,
) -> tuple[Tensor, Tensor]: ...
def stft(
    input: ArrayLike,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: ArrayLike | None = None,
    center: builtins.bool = True,
    pad_mode: str = "reflect",
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    return_complex: builtins.bool | None = None,
    align_to_window: builtins.bool | None = None,
) -> Tensor: ...
def subtract(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def sum(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def sum(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
def svd(input: ArrayLike, some: builtins.bool = True, compute_uv: builtins.bool = True) -> USVResult: ...
def svd_lowrank(A: ArrayLike, q: int | None = 6, niter: int | None = 2, M: ArrayLike | None = None) -> USVResult: ...
def swapaxes(x: ArrayLike, axis1: int, axis2: int) -> Tensor: ...
@overload
def take(x: ArrayLike, i: ArrayLike, /, axis: int | None = None) -> Tensor: ...
@overload
def take(x: ArrayLike, i: ArrayLike, /, dim: int | None = None) -> Tensor: ...
@overload
def take_along_axis(x: ArrayLike, i: ArrayLike, /, axis: int = -1) -> Tensor: ...
@overload
def take_along_axis(x: ArrayLike, i: ArrayLike, /, dim: int = -1) -> Tensor: ...
def take_along_dim(x: ArrayLike, indices: ArrayLike, dim: int | None = None) -> Tensor: ...
def tan(x: ArrayLike, /) -> Tensor: ...
def tanh(x: ArrayLike, /) -> Tensor: ...
def tanhshrink(x: ArrayLike, /) -> Tensor: ...
def tensor(
    data: Data,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    dims: int | Sequence[int] | Sequence[Sequence[int]] | None = None,
) -> Tensor: ...
def threshold(x: ArrayLike, /, threshold: float, value: float) -> Tensor: ...
def tile(x: ArrayLike, repetitions: Shape, /) -> Tensor: ...
@overload
def topk(
    x: ArrayLike,
    /,
    k: int,
    axis: int = -1,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
) -> ValuesAndIndices: ...
@overload
def topk(
    x: ArrayLike,
    /,
    k: int,
    dim: int = -1,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
) -> ValuesAndIndices: ...
def trace(
    x: ArrayLike,
    /,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def transpose(x: ArrayLike, axes: Sequence[int] | None = None) -> Tensor: ...
@overload
def trapezoid(y: ArrayLike, /, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> Tensor: ...
@overload
def trapezoid(y: ArrayLike, /, x: ArrayLike | None = None, dx: float = 1.0, dim: int = -1) -> Tensor: ...
@overload
def trapz(y: ArrayLike, /, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> Tensor: ...
@overload
def trapz(y: ArrayLike, /, x: ArrayLike | None = None, dx: float = 1.0, dim: int = -1) -> Tensor: ...
def triangular_solve(
    b: ArrayLike,
    A: ArrayLike,
    upper: builtins.bool = True,
    transpose: builtins.bool = False,
    unitriangular: builtins.bool = False,
) -> TriangularSolveResult: ...
def tril(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def triu(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def trunc(x: ArrayLike, /) -> Tensor: ...
def unbind(x: ArrayLike, dim: int = 0) -> tuple[Tensor, ...]: ...
def unflatten(x: ArrayLike, dim: int, sizes: Shape) -> Tensor: ...
def unfold(x: ArrayLike, dimension: int, size: int, step: int) -> Tensor: ...
def uniform(
    low: float = 0.0,
    high: float = 1.0,
    size: Shape = (),
    *,
    generator: Generator | None = None,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def unique(
    x: ArrayLike,
    /,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: None = None,
    *,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> Tensor: ...
@overload
def unique(
    x: ArrayLike,
    /,
    *,
    return_index: Literal[True],
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: None = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    x: ArrayLike,
    /,
    return_index: builtins.bool = False,
    *,
    return_inverse: Literal[True],
    return_counts: builtins.bool = False,
    axis: None = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    x: ArrayLike,
    /,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    *,
    return_counts: Literal[True],
    axis: None = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
def unique_all(x: ArrayLike, /) -> UniqueAll: ...
def unique_counts(x: ArrayLike, /) -> UniqueCounts: ...
def unique_inverse(x: ArrayLike, /) -> UniqueInverse: ...
def unique_values(x: ArrayLike, /) -> Tensor: ...
@overload
def unstack(x: ArrayLike, /, axis: int = 0) -> tuple[Tensor, ...]: ...
@overload
def unstack(x: ArrayLike, /, dim: int = 0) -> tuple[Tensor, ...]: ...
def use_deterministic_algorithms(mode: builtins.bool, *, warn_only: builtins.bool = False) -> None: ...
def vander(x: ArrayLike, N: int | None = None, increasing: builtins.bool = False) -> Tensor: ...
@overload
def var(x: ArrayLike, /, axis: Axes = None, *, correction: float = 0.0, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def var(x: ArrayLike, /, dim: Axes = None, *, correction: float = 0.0, keepdim: builtins.bool = False) -> Tensor: ...
@overload
def var_mean(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    correction: float = 1,
    keepdims: builtins.bool = False,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    correction: float = 1,
    keepdim: builtins.bool = False,
) -> tuple[Tensor, Tensor]: ...
def vdot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1, dim: int | None = None) -> Tensor: ...
def vstack(arrays: Sequence[ArrayLike]) -> Tensor: ...
def where(condition: ArrayLike, x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def xlogy(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def zeros(
    shape: Shape,
    *more: int,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def zeros_like(
    x: ArrayLike,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
