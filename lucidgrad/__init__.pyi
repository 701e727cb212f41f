# Written by `python -m tools.stubs`: what is wrong here is mended there.

import builtins
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, IO, Literal, overload

import numpy as np

from lucidgrad import amp as amp
from lucidgrad import autograd as autograd
from lucidgrad import cuda as cuda
from lucidgrad import cudasim as cudasim
from lucidgrad import distributed as distributed
from lucidgrad import distributions as distributions
from lucidgrad import fft as fft
from lucidgrad import files as files
from lucidgrad import func as func
from lucidgrad import hips as hips
from lucidgrad import linalg as linalg
from lucidgrad import nn as nn
from lucidgrad import numpy as numpy
from lucidgrad import optim as optim
from lucidgrad import profiler as profiler
from lucidgrad import random as random
from lucidgrad import signal as signal
from lucidgrad import special as special
from lucidgrad import torch as torch
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
from lucidgrad.compiling.compiled import compile as compile
from lucidgrad.compiling.imported import ImportedProgram
from lucidgrad.core.device import Device
from lucidgrad.core.device import Device as device
from lucidgrad.core.errors import DeviceError as DeviceError
from lucidgrad.core.errors import GradArgError as GradArgError
from lucidgrad.core.errors import OutOfMemoryError as OutOfMemoryError
from lucidgrad.datatypes import FloatInfo, IntegerInfo
from lucidgrad.func import vmap as vmap
from lucidgrad.inspection import Info
from lucidgrad.linalg import QRResult
from lucidgrad.linalg import cholesky as cholesky
from lucidgrad.linalg import cross as cross
from lucidgrad.linalg import det as det
from lucidgrad.linalg import matrix_exp as matrix_exp
from lucidgrad.linalg import matrix_power as matrix_power
from lucidgrad.linalg import slogdet as slogdet
from lucidgrad.nn.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from lucidgrad.nn.functional import alpha_dropout as alpha_dropout
from lucidgrad.nn.functional import avg_pool1d as avg_pool1d
from lucidgrad.nn.functional import bilinear as bilinear
from lucidgrad.nn.functional import channel_shuffle as channel_shuffle
from lucidgrad.nn.functional import conv1d as conv1d
from lucidgrad.nn.functional import conv2d as conv2d
from lucidgrad.nn.functional import conv3d as conv3d
from lucidgrad.nn.functional import conv_transpose1d as conv_transpose1d
from lucidgrad.nn.functional import conv_transpose2d as conv_transpose2d
from lucidgrad.nn.functional import conv_transpose3d as conv_transpose3d
from lucidgrad.nn.functional import cosine_similarity as cosine_similarity
from lucidgrad.nn.functional import dropout as dropout
from lucidgrad.nn.functional import feature_alpha_dropout as feature_alpha_dropout
from lucidgrad.nn.functional import group_norm as group_norm
from lucidgrad.nn.functional import layer_norm as layer_norm
from lucidgrad.nn.functional import max_pool1d as max_pool1d
from lucidgrad.nn.functional import max_pool2d as max_pool2d
from lucidgrad.nn.functional import max_pool3d as max_pool3d
from lucidgrad.nn.functional import pairwise_distance as pairwise_distance
from lucidgrad.nn.functional import pixel_shuffle as pixel_shuffle
from lucidgrad.nn.functional import pixel_unshuffle as pixel_unshuffle
from lucidgrad.nn.functional import prelu as prelu
from lucidgrad.nn.functional import rms_norm as rms_norm
from lucidgrad.nn.functional import rrelu as rrelu
from lucidgrad.ops.conventions import MantissaAndExponent, MinAndMax, ValuesAndIndices
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
    "absolute",
    "acos",
    "acosh",
    "adaptive_avg_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addr",
    "adjoint",
    "all",
    "allclose",
    "alpha_dropout",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
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
    "avg_pool1d",
    "baddbmm",
    "bartlett_window",
    "bernoulli",
    "bfloat16",
    "bilinear",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "bool",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdist",
    "ceil",
    "celu",
    "chain_matmul",
    "channel_shuffle",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "column_stack",
    "combinations",
    "compile",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolve",
    "copysign",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
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
    "detach",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "digitize",
    "dist",
    "distributed",
    "distributions",
    "div",
    "divide",
    "dot",
    "dropout",
    "dsplit",
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
    "export",
    "eye",
    "feature_alpha_dropout",
    "fft",
    "files",
    "finfo",
    "fix",
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
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frexp",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "func",
    "gather",
    "gcd",
    "ge",
    "gelu",
    "geqrf",
    "ger",
    "get_default_device",
    "get_default_dtype",
    "get_device",
    "get_num_threads",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "group_norm",
    "gt",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "heaviside",
    "hips",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "igamma",
    "igammac",
    "iinfo",
    "imag",
    "import_program",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_reduce",
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
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference",
    "is_inference_mode_enabled",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_tensor",
    "isclose",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "kaiser_window",
    "kron",
    "kthvalue",
    "layer_norm",
    "lcm",
    "ldexp",
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
    "logspace",
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
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
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
    "msort",
    "mul",
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
    "neg",
    "negative",
    "newaxis",
    "nextafter",
    "nn",
    "no_grad",
    "nonzero",
    "nonzero_static",
    "norm",
    "normal",
    "not_equal",
    "numel",
    "numpy",
    "ones",
    "ones_like",
    "optim",
    "orgqr",
    "ormqr",
    "outer",
    "pad",
    "pairwise_distance",
    "pca_lowrank",
    "pdist",
    "percentile",
    "permute",
    "permute_dims",
    "pi",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "prelu",
    "prod",
    "profiler",
    "promote_types",
    "ptp",
    "put",
    "qr",
    "quantile",
    "rad2deg",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
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
    "repeat_interleave",
    "reshape",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "row_stack",
    "rrelu",
    "rsqrt",
    "rsub",
    "save",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "select",
    "select_scatter",
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
    "slice_scatter",
    "slogdet",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "sort",
    "special",
    "split",
    "split_with_sizes",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "stft",
    "sub",
    "subtract",
    "sum",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_axis",
    "take_along_dim",
    "tan",
    "tanh",
    "tanhshrink",
    "tensor",
    "tensor_split",
    "tensordot",
    "threshold",
    "tile",
    "topk",
    "torch",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triu",
    "triu_indices",
    "true_divide",
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
    "unique_consecutive",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unravel_index",
    "unsqueeze",
    "unstack",
    "use_deterministic_algorithms",
    "utils",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "vecdot",
    "view_as_complex",
    "view_as_real",
    "viz",
    "vmap",
    "vsplit",
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
def absolute(x: ArrayLike, /) -> Tensor: ...
def acos(x: ArrayLike, /) -> Tensor: ...
def acosh(x: ArrayLike, /) -> Tensor: ...
def add(x1: ArrayLike, x2: ArrayLike, /, *, alpha: ArrayLike = 1) -> Tensor: ...
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
def adjoint(x: ArrayLike, /) -> Tensor: ...
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
@overload
def aminmax(x: ArrayLike, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> MinAndMax: ...
@overload
def aminmax(x: ArrayLike, /, *, dim: int | None = None, keepdim: builtins.bool = False) -> MinAndMax: ...
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
def arccos(x: ArrayLike, /) -> Tensor: ...
def arccosh(x: ArrayLike, /) -> Tensor: ...
def arcsin(x: ArrayLike, /) -> Tensor: ...
def arcsinh(x: ArrayLike, /) -> Tensor: ...
def arctan(x: ArrayLike, /) -> Tensor: ...
def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def arctanh(x: ArrayLike, /) -> Tensor: ...
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
@overload
def array_split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]: ...
@overload
def array_split(x: ArrayLike, indices_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]: ...
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
@overload
def atleast_1d(x: ArrayLike, /) -> Tensor: ...
@overload
def atleast_1d(x: ArrayLike, y: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(arrays: Sequence[ArrayLike], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(x: ArrayLike, /) -> Tensor: ...
@overload
def atleast_2d(x: ArrayLike, y: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(arrays: Sequence[ArrayLike], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(x: ArrayLike, /) -> Tensor: ...
@overload
def atleast_3d(x: ArrayLike, y: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(arrays: Sequence[ArrayLike], /) -> tuple[Tensor, ...]: ...
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
def binomial(count: ArrayLike, prob: ArrayLike, generator: Generator | None = None) -> Tensor: ...
def bitwise_and(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def bitwise_invert(x: ArrayLike, /) -> Tensor: ...
def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def bitwise_not(x: ArrayLike, /) -> Tensor: ...
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
def block_diag(*tensors: ArrayLike) -> Tensor: ...
def bmm(input: ArrayLike, mat2: ArrayLike) -> Tensor: ...
def broadcast_arrays(*arrays: ArrayLike) -> tuple[Tensor, ...]: ...
def broadcast_shapes(*shapes: Shape) -> tuple[int, ...]: ...
def broadcast_tensors(*arrays: ArrayLike) -> tuple[Tensor, ...]: ...
def broadcast_to(x: ArrayLike, /, shape: Shape) -> Tensor: ...
def bucketize(
    x: ArrayLike,
    boundaries: ArrayLike,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
) -> Tensor: ...
def can_cast(from_: Array | DTypeLike, to: DTypeLike, /) -> builtins.bool: ...
def cartesian_prod(*tensors: ArrayLike) -> Tensor: ...
@overload
def cat(tensors: Sequence[ArrayLike], dim: int = 0) -> Tensor: ...
@overload
def cat(tensors: Sequence[ArrayLike], axis: int = 0) -> Tensor: ...
def cdist(x1: ArrayLike, x2: ArrayLike, p: float = 2.0, compute_mode: str | None = None) -> Tensor: ...
def ceil(x: ArrayLike, /) -> Tensor: ...
def celu(x: ArrayLike, /, alpha: float = 1.0) -> Tensor: ...
def chain_matmul(*matrices: ArrayLike) -> Tensor: ...
def cholesky_inverse(L: ArrayLike, upper: builtins.bool = False) -> Tensor: ...
def cholesky_solve(B: ArrayLike, L: ArrayLike, upper: builtins.bool = False) -> Tensor: ...
@overload
def chunk(x: ArrayLike, chunks: int, dim: int = 0) -> tuple[Tensor, ...]: ...
@overload
def chunk(x: ArrayLike, chunks: int, axis: int = 0) -> tuple[Tensor, ...]: ...
def clamp(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor: ...
def clamp_max(x: ArrayLike, max: ArrayLike) -> Tensor: ...
def clamp_min(x: ArrayLike, min: ArrayLike) -> Tensor: ...
def clip(x: ArrayLike, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor: ...
def clone(x: ArrayLike, /) -> Tensor: ...
def column_stack(arrays: Sequence[ArrayLike]) -> Tensor: ...
def combinations(x: ArrayLike, r: int = 2, with_replacement: builtins.bool = False) -> Tensor: ...
def complex(real: ArrayLike, imag: ArrayLike) -> Tensor: ...
@overload
def concat(*xs: ArrayLike, axis: int | None = 0) -> Tensor: ...
@overload
def concat(*xs: ArrayLike, dim: int | None = 0) -> Tensor: ...
@overload
def concat(xs: Sequence[ArrayLike], /, axis: int | None = 0) -> Tensor: ...
@overload
def concat(xs: Sequence[ArrayLike], /, dim: int | None = 0) -> Tensor: ...
@overload
def concatenate(*xs: ArrayLike, axis: int | None = 0) -> Tensor: ...
@overload
def concatenate(*xs: ArrayLike, dim: int | None = 0) -> Tensor: ...
@overload
def concatenate(xs: Sequence[ArrayLike], /, axis: int | None = 0) -> Tensor: ...
@overload
def concatenate(xs: Sequence[ArrayLike], /, dim: int | None = 0) -> Tensor: ...
def conj(x: ArrayLike, /) -> Tensor: ...
def conj_physical(x: ArrayLike, /) -> Tensor: ...
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
def detach(self: ArrayLike) -> Tensor: ...
def diag(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def diag_embed(x: ArrayLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: ...
def diagflat(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def diagonal(x: ArrayLike, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor: ...
def diagonal_scatter(x: ArrayLike, src: ArrayLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor: ...
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
def dist(x: ArrayLike, other: ArrayLike, p: float = 2) -> Tensor: ...
def div(x1: ArrayLike, x2: ArrayLike, /, rounding_mode: str | None = None) -> Tensor: ...
def divide(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def dot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def dsplit(x: ArrayLike, indices_or_sections: int | Sequence[int] | Tensor) -> tuple[Tensor, ...]: ...
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
def export(
    fn: Callable[..., object],
    args: Sequence[object],
    path: str | os.PathLike[str] | IO[bytes],
    *,
    kwargs: Mapping[str, object] | None = None,
) -> None: ...
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
def fix(x: ArrayLike, /) -> Tensor: ...
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
def fmax(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def fmin(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def fmod(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def frac(x: ArrayLike, /) -> Tensor: ...
def frexp(x: ArrayLike, /) -> MantissaAndExponent: ...
def from_dlpack(
    x: SupportsDLPack,
    /,
    *,
    device: DeviceLike | None = None,
    copy: builtins.bool | None = None,
) -> Tensor: ...
def from_numpy(array: np.ndarray[Any, Any] | np.generic) -> Tensor: ...
def frombuffer(
    buffer: bytearray | bytes | memoryview,
    *,
    dtype: DTypeLike,
    count: int = -1,
    offset: int = 0,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
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
@overload
def gather(x: ArrayLike, dim: int, index: ArrayLike) -> Tensor: ...
@overload
def gather(x: ArrayLike, axis: int, index: ArrayLike) -> Tensor: ...
def gcd(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def ge(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def gelu(x: ArrayLike, /, approximate: str = "none") -> Tensor: ...
def geqrf(input: ArrayLike) -> GeqrfResult: ...
def ger(input: ArrayLike, vec2: ArrayLike) -> Tensor: ...
def get_default_device() -> Device: ...
def get_default_dtype() -> DType: ...
def get_device(x: ArrayLike) -> int: ...
def get_num_threads() -> int: ...
def get_rng_state(device: DeviceLike | None = None) -> dict[str, object]: ...
@overload
def gradient(
    y: ArrayLike,
    /,
    *varargs: ArrayLike,
    axis: Axes = None,
    edge_order: int = 1,
) -> Tensor | tuple[Tensor, ...]: ...
@overload
def gradient(
    y: ArrayLike,
    /,
    *varargs: ArrayLike,
    dim: Axes = None,
    edge_order: int = 1,
) -> Tensor | tuple[Tensor, ...]: ...
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
    *,
    weight: ArrayLike | None = None,
) -> tuple[Tensor, Tensor]: ...
def histogramdd(
    x: ArrayLike,
    /,
    bins: int | Sequence[int] | Sequence[Array] = 10,
    range: Sequence[float] | Sequence[tuple[float, float]] | None = None,
    density: builtins.bool | None = None,
    weights: ArrayLike | None = None,
    *,
    weight: ArrayLike | None = None,
) -> tuple[Tensor, tuple[Tensor, ...]]: ...
def hsplit(x: ArrayLike, indices_or_sections: int | Sequence[int] | Tensor) -> tuple[Tensor, ...]: ...
def hstack(arrays: Sequence[ArrayLike]) -> Tensor: ...
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def i0(x: ArrayLike, /) -> Tensor: ...
def igamma(a: ArrayLike, x: ArrayLike) -> Tensor: ...
def igammac(a: ArrayLike, x: ArrayLike) -> Tensor: ...
def iinfo(type: Array | DTypeLike, /) -> IntegerInfo: ...
def imag(x: ArrayLike, /) -> Tensor: ...
def import_program(path: str | os.PathLike[str] | IO[bytes], device: DeviceLike | None = None) -> ImportedProgram: ...
@overload
def index_add(x: ArrayLike, dim: int, index: ArrayLike, source: ArrayLike, *, alpha: float = 1) -> Tensor: ...
@overload
def index_add(x: ArrayLike, axis: int, index: ArrayLike, source: ArrayLike, *, alpha: float = 1) -> Tensor: ...
@overload
def index_copy(x: ArrayLike, dim: int, index: ArrayLike, source: ArrayLike) -> Tensor: ...
@overload
def index_copy(x: ArrayLike, axis: int, index: ArrayLike, source: ArrayLike) -> Tensor: ...
@overload
def index_fill(x: ArrayLike, dim: int, index: ArrayLike, value: ArrayLike) -> Tensor: ...
@overload
def index_fill(x: ArrayLike, axis: int, index: ArrayLike, value: ArrayLike) -> Tensor: ...
def index_put(
    x: ArrayLike,
    indices: Sequence[ArrayLike],
    values: ArrayLike,
    accumulate: builtins.bool = False,
) -> Tensor: ...
@overload
def index_reduce(
    x: ArrayLike,
    dim: int,
    index: ArrayLike,
    source: ArrayLike,
    reduce: str,
    *,
    include_self: builtins.bool = True,
) -> Tensor: ...
@overload
def index_reduce(
    x: ArrayLike,
    axis: int,
    index: ArrayLike,
    source: ArrayLike,
    reduce: str,
    *,
    include_self: builtins.bool = True,
) -> Tensor: ...
@overload
def index_select(x: ArrayLike, dim: int, index: ArrayLike) -> Tensor: ...
@overload
def index_select(x: ArrayLike, axis: int, index: ArrayLike) -> Tensor: ...
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
def is_complex(self: ArrayLike) -> builtins.bool: ...
def is_conj(x: ArrayLike) -> builtins.bool: ...
def is_floating_point(self: ArrayLike) -> builtins.bool: ...
def is_grad_enabled() -> builtins.bool: ...
def is_inference(self: ArrayLike) -> builtins.bool: ...
def is_inference_mode_enabled() -> builtins.bool: ...
def is_neg(x: ArrayLike) -> builtins.bool: ...
def is_nonzero(x: ArrayLike) -> builtins.bool: ...
def is_same_size(x: ArrayLike, other: ArrayLike) -> builtins.bool: ...
def is_signed(x: ArrayLike) -> builtins.bool: ...
def is_tensor(obj: object) -> builtins.bool: ...
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
def isneginf(x: ArrayLike, /) -> Tensor: ...
def isposinf(x: ArrayLike, /) -> Tensor: ...
def isreal(x: ArrayLike, /) -> Tensor: ...
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
def lcm(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
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
def log_softmax(x: ArrayLike, /, axis: Axes = -1, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def log_softmax(x: ArrayLike, /, dim: Axes = -1, *, dtype: DTypeLike | None = None) -> Tensor: ...
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
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    /,
    num: int = 50,
    *,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: builtins.bool = True,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
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
def matrix_transpose(x: ArrayLike, /) -> Tensor: ...
@overload
def max(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def max(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def maximum(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def mean(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    keepdims: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
@overload
def mean(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    keepdim: builtins.bool = False,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
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
def msort(x: ArrayLike, /) -> Tensor: ...
def mul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
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
def nanmean(
    x: ArrayLike,
    /,
    axis: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor: ...
@overload
def nanmean(
    x: ArrayLike,
    /,
    dim: Axes = None,
    *,
    dtype: DTypeLike | None = None,
    keepdim: builtins.bool = False,
) -> Tensor: ...
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
@overload
def narrow(x: ArrayLike, dim: int, start: int, length: int) -> Tensor: ...
@overload
def narrow(x: ArrayLike, axis: int, start: int, length: int) -> Tensor: ...
def ne(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def neg(x: ArrayLike, /) -> Tensor: ...
def negative(x: ArrayLike, /) -> Tensor: ...
def nextafter(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def nonzero(x: ArrayLike, /) -> tuple[Tensor, ...]: ...
def nonzero_static(x: ArrayLike, *, size: int, fill_value: int = -1) -> Tensor: ...
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
def numel(self: ArrayLike) -> int: ...
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
def pdist(input: ArrayLike, p: float = 2.0) -> Tensor: ...
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
def permute(x: ArrayLike, /, axes: Sequence[int]) -> Tensor: ...
@overload
def permute(x: ArrayLike, /, dims: Sequence[int]) -> Tensor: ...
@overload
def permute_dims(x: ArrayLike, /, axes: Sequence[int]) -> Tensor: ...
@overload
def permute_dims(x: ArrayLike, /, dims: Sequence[int]) -> Tensor: ...
def pinverse(input: ArrayLike, rcond: ArrayLike = 1e-15) -> Tensor: ...
def poisson(input: ArrayLike, generator: Generator | None = None) -> Tensor: ...
def polar(abs: ArrayLike, angle: ArrayLike) -> Tensor: ...
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
def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType: ...
@overload
def ptp(x: ArrayLike, /, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
@overload
def ptp(x: ArrayLike, /, dim: Axes = None, *, keepdim: builtins.bool = False) -> Tensor: ...
def put(x: ArrayLike, index: ArrayLike, source: ArrayLike, accumulate: builtins.bool = False) -> Tensor: ...
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
def randint_like(x: Tensor, low: int, high: int | None = None) -> Tensor: ...
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
@overload
def renorm(input: ArrayLike, p: float, dim: int, maxnorm: float) -> Tensor: ...
@overload
def renorm(input: ArrayLike, p: float, axis: int, maxnorm: float) -> Tensor: ...
@overload
def repeat(x: ArrayLike, repeats: int | Sequence[int] | Array, /, axis: int | None = None) -> Tensor: ...
@overload
def repeat(x: ArrayLike, repeats: int | Sequence[int] | Array, /, dim: int | None = None) -> Tensor: ...
@overload
def repeat_interleave(
    x: ArrayLike,
    repeats: int | Sequence[int] | Array | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor: ...
@overload
def repeat_interleave(
    x: ArrayLike,
    repeats: int | Sequence[int] | Array | None = None,
    axis: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor: ...
def reshape(x: ArrayLike, /, shape: Shape, *, copy: builtins.bool | None = None) -> Tensor: ...
def resolve_conj(x: ArrayLike) -> Tensor: ...
def resolve_neg(x: ArrayLike) -> Tensor: ...
def result_type(*arrays_and_dtypes: ArrayLike | DTypeLike) -> DType: ...
@overload
def roll(x: ArrayLike, /, shift: int | Sequence[int], axis: Axes = None) -> Tensor: ...
@overload
def roll(x: ArrayLike, /, shift: int | Sequence[int], dim: Axes = None) -> Tensor: ...
@overload
def rot90(x: ArrayLike, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor: ...
@overload
def rot90(x: ArrayLike, /, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor: ...
def round(x: ArrayLike, /, decimals: int = 0) -> Tensor: ...
def row_stack(arrays: Sequence[ArrayLike]) -> Tensor: ...
def rsqrt(x: ArrayLike, /) -> Tensor: ...
def rsub(input: ArrayLike, other: ArrayLike, *, alpha: ArrayLike = 1) -> Tensor: ...
def save(
    obj: object,
    path: str | os.PathLike[str] | IO[bytes],
    *,
    metadata: Mapping[str, str] | None = None,
) -> None: ...
def scalar_tensor(
    s: ArrayLike,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def scatter(x: ArrayLike, dim: int, index: ArrayLike, src: ArrayLike, *, reduce: str | None = None) -> Tensor: ...
@overload
def scatter(x: ArrayLike, axis: int, index: ArrayLike, src: ArrayLike, *, reduce: str | None = None) -> Tensor: ...
@overload
def scatter_add(x: ArrayLike, dim: int, index: ArrayLike, src: ArrayLike) -> Tensor: ...
@overload
def scatter_add(x: ArrayLike, axis: int, index: ArrayLike, src: ArrayLike) -> Tensor: ...
@overload
def scatter_reduce(
    x: ArrayLike,
    dim: int,
    index: ArrayLike,
    src: ArrayLike,
    reduce: str,
    *,
    include_self: builtins.bool = True,
) -> Tensor: ...
@overload
def scatter_reduce(
    x: ArrayLike,
    axis: int,
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
    right: builtins.bool = False,
    out_int32: builtins.bool = False,
) -> Tensor: ...
def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Tensor: ...
@overload
def select_scatter(x: ArrayLike, src: ArrayLike, dim: int, index: int) -> Tensor: ...
@overload
def select_scatter(x: ArrayLike, src: ArrayLike, axis: int, index: int) -> Tensor: ...
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
@overload
def slice_scatter(
    x: ArrayLike,
    src: ArrayLike,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor: ...
@overload
def slice_scatter(
    x: ArrayLike,
    src: ArrayLike,
    axis: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor: ...
@overload
def softmax(x: ArrayLike, /, axis: Axes = -1, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def softmax(x: ArrayLike, /, dim: Axes = -1, *, dtype: DTypeLike | None = None) -> Tensor: ...
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
@overload
def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]: ...
@overload
def split(x: ArrayLike, indices_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]: ...
@overload
def split_with_sizes(
    x: ArrayLike,
    /,
    split_sizes: int | Sequence[int] | Tensor,
    axis: int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def split_with_sizes(
    x: ArrayLike,
    /,
    split_sizes: int | Sequence[int] | Tensor,
    dim: int = 0,
) -> tuple[Tensor, ...]: ...
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
    unbiased: builtins.bool | None = None,
    keepdims: builtins.bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(
    x: ArrayLike,
    /,
    dim: Axes = None,
    unbiased: builtins.bool | None = None,
    *,
    keepdim: builtins.bool = False,
    correction: float | None = None,
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
def sub(x1: ArrayLike, x2: ArrayLike, /, *, alpha: ArrayLike = 1) -> Tensor: ...
def subtract(x1: ArrayLike, x2: ArrayLike, /, *, alpha: ArrayLike = 1) -> Tensor: ...
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
def swapdims(x: ArrayLike, axis1: int, axis2: int) -> Tensor: ...
def t(x: ArrayLike, /) -> Tensor: ...
@overload
def take(x: ArrayLike, i: ArrayLike, /, axis: int | None = None) -> Tensor: ...
@overload
def take(x: ArrayLike, i: ArrayLike, /, dim: int | None = None) -> Tensor: ...
@overload
def take_along_axis(x: ArrayLike, i: ArrayLike, /, axis: int = -1) -> Tensor: ...
@overload
def take_along_axis(x: ArrayLike, i: ArrayLike, /, dim: int = -1) -> Tensor: ...
@overload
def take_along_dim(x: ArrayLike, indices: ArrayLike, dim: int | None = None) -> Tensor: ...
@overload
def take_along_dim(x: ArrayLike, indices: ArrayLike, axis: int | None = None) -> Tensor: ...
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
@overload
def tensor_split(
    x: ArrayLike,
    indices_or_sections: int | Sequence[int] | Tensor,
    dim: int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(
    x: ArrayLike,
    indices_or_sections: int | Sequence[int] | Tensor,
    axis: int = 0,
) -> tuple[Tensor, ...]: ...
@overload
def tensordot(x1: ArrayLike, x2: ArrayLike, /, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Tensor: ...
@overload
def tensordot(x1: ArrayLike, x2: ArrayLike, /, dims: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Tensor: ...
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
@overload
def transpose(x: ArrayLike, axes: Sequence[int] | None = None) -> Tensor: ...
@overload
def transpose(x: ArrayLike, dims: Sequence[int] | None = None) -> Tensor: ...
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
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def triu(x: ArrayLike, /, k: int = 0) -> Tensor: ...
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Tensor: ...
def true_divide(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
def trunc(x: ArrayLike, /) -> Tensor: ...
@overload
def unbind(x: ArrayLike, dim: int = 0) -> tuple[Tensor, ...]: ...
@overload
def unbind(x: ArrayLike, axis: int = 0) -> tuple[Tensor, ...]: ...
@overload
def unflatten(x: ArrayLike, dim: int, sizes: Shape) -> Tensor: ...
@overload
def unflatten(x: ArrayLike, axis: int, sizes: Shape) -> Tensor: ...
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
    axis: int | None = None,
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
    axis: int | None = None,
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
    axis: int | None = None,
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
    axis: int | None = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    x: ArrayLike,
    /,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
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
    dim: int | None = None,
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
    dim: int | None = None,
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
    dim: int | None = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
def unique_all(x: ArrayLike, /) -> UniqueAll: ...
@overload
def unique_consecutive(
    x: ArrayLike,
    /,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    x: ArrayLike,
    /,
    *,
    return_inverse: Literal[True],
    return_counts: builtins.bool = False,
    axis: int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    x: ArrayLike,
    /,
    return_inverse: builtins.bool = False,
    *,
    return_counts: Literal[True],
    axis: int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    x: ArrayLike,
    /,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    x: ArrayLike,
    /,
    *,
    return_inverse: Literal[True],
    return_counts: builtins.bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    x: ArrayLike,
    /,
    return_inverse: builtins.bool = False,
    *,
    return_counts: Literal[True],
    dim: int | None = None,
) -> tuple[Tensor, ...]: ...
def unique_counts(x: ArrayLike, /) -> UniqueCounts: ...
def unique_inverse(x: ArrayLike, /) -> UniqueInverse: ...
def unique_values(x: ArrayLike, /) -> Tensor: ...
def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Tensor, ...]: ...
@overload
def unsqueeze(x: ArrayLike, /, axis: Axes = 0) -> Tensor: ...
@overload
def unsqueeze(x: ArrayLike, /, dim: Axes = 0) -> Tensor: ...
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
    unbiased: builtins.bool | None = None,
    keepdims: builtins.bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(
    x: ArrayLike,
    /,
    dim: Axes = None,
    unbiased: builtins.bool | None = None,
    *,
    keepdim: builtins.bool = False,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]: ...
def vdot(x1: ArrayLike, x2: ArrayLike, /) -> Tensor: ...
@overload
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Tensor: ...
@overload
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, dim: int = -1) -> Tensor: ...
def view_as_complex(x: ArrayLike, /) -> Tensor: ...
def view_as_real(x: ArrayLike, /) -> Tensor: ...
def vsplit(x: ArrayLike, indices_or_sections: int | Sequence[int] | Tensor) -> tuple[Tensor, ...]: ...
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
