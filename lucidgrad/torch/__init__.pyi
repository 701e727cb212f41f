# Written by `python -m tools.stubs`: what is wrong here is mended there.

import builtins
import os
from collections.abc import Callable, Sequence
from typing import Any, IO, Literal, overload

import numpy as np

from lucidgrad import distributions as distributions
from lucidgrad import func as func
from lucidgrad import nn as nn
from lucidgrad import optim as optim
from lucidgrad import profiler as profiler
from lucidgrad import random as random
from lucidgrad import signal as signal
from lucidgrad import utils as utils
from lucidgrad.autograd.modes import enable_grad as enable_grad
from lucidgrad.autograd.modes import inference_mode as inference_mode
from lucidgrad.autograd.modes import no_grad as no_grad
from lucidgrad.autograd.modes import set_grad_enabled as set_grad_enabled
from lucidgrad.core.device import Device
from lucidgrad.core.device import Device as device
from lucidgrad.core.errors import OutOfMemoryError as OutOfMemoryError
from lucidgrad.datatypes import FloatInfo, IntegerInfo
from lucidgrad.linalg import QRResult, SlogdetResult
from lucidgrad.ops.conventions import MantissaAndExponent, MinAndMax, ValuesAndIndices
from lucidgrad.ops.linalg.classics import USVResult
from lucidgrad.ops.linalg.equations import TriangularSolveResult
from lucidgrad.ops.linalg.factors import GeqrfResult, LUResult
from lucidgrad.ops.linalg.subspaces import LobpcgResult
from lucidgrad.random import Generator as Generator
from lucidgrad.tensor import Tensor as Tensor
from lucidgrad.torch import accelerator as accelerator
from lucidgrad.torch import amp as amp
from lucidgrad.torch import autograd as autograd
from lucidgrad.torch import backends as backends
from lucidgrad.torch import compiler as compiler
from lucidgrad.torch import cuda as cuda
from lucidgrad.torch import distributed as distributed
from lucidgrad.torch import fft as fft
from lucidgrad.torch import jit as jit
from lucidgrad.torch import linalg as linalg
from lucidgrad.torch import multiprocessing as multiprocessing
from lucidgrad.torch import serialization as serialization
from lucidgrad.torch import special as special
from lucidgrad.torch import testing as testing
from lucidgrad.torch import version as version
from lucidgrad.torch.amp import GradScaler as GradScaler
from lucidgrad.torch.amp import autocast as autocast
from lucidgrad.torch.flags import Format as layout
from lucidgrad.torch.flags import Format as memory_format
from lucidgrad.torch.meanings import Histogram
from lucidgrad.torch.sizes import Size as Size
from lucidgrad.typing import Array, ArrayLike, Axes, DType, DTypeLike, Data, DeviceLike, Shape
from lucidgrad.typing import DType as dtype

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "ComplexDoubleTensor",
    "ComplexFloatTensor",
    "DoubleTensor",
    "FloatTensor",
    "Generator",
    "GradScaler",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "OutOfMemoryError",
    "ShortTensor",
    "Size",
    "Tensor",
    "__version__",
    "abs",
    "abs_",
    "absolute",
    "accelerator",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "add",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addmv_",
    "addr",
    "adjoint",
    "all",
    "allclose",
    "alpha_dropout",
    "alpha_dropout_",
    "amax",
    "amin",
    "aminmax",
    "amp",
    "angle",
    "any",
    "arange",
    "arccos",
    "arccos_",
    "arccosh",
    "arccosh_",
    "arcsin",
    "arcsin_",
    "arcsinh",
    "arcsinh_",
    "arctan",
    "arctan2",
    "arctan_",
    "arctanh",
    "arctanh_",
    "are_deterministic_algorithms_enabled",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "as_tensor",
    "asarray",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "atan",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "autocast",
    "autograd",
    "avg_pool1d",
    "backends",
    "baddbmm",
    "bartlett_window",
    "batch_norm",
    "bernoulli",
    "bfloat16",
    "bilinear",
    "binary_cross_entropy_with_logits",
    "bincount",
    "binomial",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman_window",
    "block_diag",
    "bmm",
    "bool",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "cat",
    "cdist",
    "cdouble",
    "ceil",
    "ceil_",
    "celu",
    "celu_",
    "cfloat",
    "chain_matmul",
    "channel_shuffle",
    "channels_last",
    "channels_last_3d",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "compile",
    "compiler",
    "complex",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "conj",
    "conj_physical",
    "conj_physical_",
    "contiguous_format",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "copysign",
    "corrcoef",
    "cos",
    "cos_",
    "cosh",
    "cosh_",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "ctc_loss",
    "cuda",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_trapezoid",
    "default_generator",
    "deg2rad",
    "deg2rad_",
    "det",
    "detach",
    "detach_",
    "device",
    "diag",
    "diag_embed",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "diff",
    "digamma",
    "dist",
    "distributed",
    "distributions",
    "div",
    "divide",
    "dot",
    "double",
    "dropout",
    "dropout_",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "einsum",
    "embedding",
    "empty",
    "empty_like",
    "enable_grad",
    "eq",
    "equal",
    "erf",
    "erf_",
    "erfc",
    "erfc_",
    "erfinv",
    "exp",
    "exp2",
    "exp2_",
    "exp_",
    "expm1",
    "expm1_",
    "eye",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "fft",
    "fill",
    "fill_",
    "finfo",
    "fix",
    "fix_",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floor",
    "floor_",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frac_",
    "frexp",
    "from_dlpack",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "func",
    "gather",
    "gcd",
    "gcd_",
    "ge",
    "geqrf",
    "ger",
    "get_autocast_dtype",
    "get_default_device",
    "get_default_dtype",
    "get_device",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "get_rng_state",
    "gradient",
    "greater",
    "greater_equal",
    "group_norm",
    "gt",
    "half",
    "hamming_window",
    "hann_window",
    "hardshrink",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "histogram",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "i0_",
    "igamma",
    "igammac",
    "iinfo",
    "imag",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",
    "inf",
    "inference_mode",
    "initial_seed",
    "inner",
    "instance_norm",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "inverse",
    "is_autocast_enabled",
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
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "jit",
    "kaiser_window",
    "kl_div",
    "kron",
    "kthvalue",
    "layer_norm",
    "layout",
    "lcm",
    "lcm_",
    "ldexp",
    "ldexp_",
    "le",
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
    "log10_",
    "log1p",
    "log1p_",
    "log2",
    "log2_",
    "log_",
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
    "logit_",
    "logspace",
    "logsumexp",
    "long",
    "lt",
    "lu",
    "lu_solve",
    "lu_unpack",
    "manual_seed",
    "margin_ranking_loss",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "maximum",
    "mean",
    "median",
    "memory_format",
    "meshgrid",
    "min",
    "minimum",
    "mm",
    "mode",
    "moveaxis",
    "movedim",
    "msort",
    "mul",
    "multinomial",
    "multiply",
    "multiprocessing",
    "mv",
    "mvlgamma",
    "nan",
    "nan_to_num",
    "nan_to_num_",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "narrow",
    "ne",
    "neg",
    "neg_",
    "negative",
    "negative_",
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
    "ones",
    "ones_like",
    "optim",
    "orgqr",
    "ormqr",
    "outer",
    "pairwise_distance",
    "pca_lowrank",
    "pdist",
    "permute",
    "pi",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "poisson_nll_loss",
    "polar",
    "polygamma",
    "positive",
    "pow",
    "prelu",
    "preserve_format",
    "prod",
    "profiler",
    "promote_types",
    "put",
    "qr",
    "quantile",
    "rad2deg",
    "rad2deg_",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "random",
    "randperm",
    "range",
    "ravel",
    "real",
    "reciprocal",
    "reciprocal_",
    "relu",
    "relu_",
    "remainder",
    "renorm",
    "repeat_interleave",
    "reshape",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "rms_norm",
    "roll",
    "rot90",
    "round",
    "round_",
    "row_stack",
    "rrelu",
    "rrelu_",
    "rsqrt",
    "rsqrt_",
    "rsub",
    "save",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "seed",
    "select",
    "select_scatter",
    "selu",
    "selu_",
    "serialization",
    "set_default_device",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_grad_enabled",
    "set_num_interop_threads",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
    "set_warn_always",
    "sgn",
    "short",
    "sigmoid",
    "sigmoid_",
    "sign",
    "signal",
    "signbit",
    "sin",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "special",
    "split",
    "split_with_sizes",
    "sqrt",
    "sqrt_",
    "square",
    "square_",
    "squeeze",
    "stack",
    "std",
    "std_mean",
    "stft",
    "strided",
    "sub",
    "subtract",
    "sum",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "swapdims",
    "t",
    "take",
    "take_along_dim",
    "tan",
    "tan_",
    "tanh",
    "tanh_",
    "tensor",
    "tensor_split",
    "tensordot",
    "testing",
    "threshold",
    "threshold_",
    "tile",
    "topk",
    "trace",
    "transpose",
    "trapezoid",
    "trapz",
    "triangular_solve",
    "tril",
    "tril_indices",
    "triplet_margin_loss",
    "triu",
    "triu_indices",
    "true_divide",
    "trunc",
    "trunc_",
    "typename",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unbind",
    "unflatten",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "unsqueeze",
    "use_deterministic_algorithms",
    "utils",
    "vander",
    "var",
    "var_mean",
    "vdot",
    "version",
    "view_as_complex",
    "view_as_real",
    "vmap",
    "vsplit",
    "vstack",
    "where",
    "xlogy",
    "xlogy_",
    "zero_",
    "zeros",
    "zeros_like",
]

__version__: str
bfloat16: np.dtype[Any]
bool: np.dtype[np.bool_]
cdouble: np.dtype[np.complex128]
cfloat: np.dtype[np.complex64]
channels_last: object
channels_last_3d: object
complex128: np.dtype[np.complex128]
complex64: np.dtype[np.complex64]
contiguous_format: object
default_generator: Generator
double: np.dtype[np.float64]
e: builtins.float
float: np.dtype[np.float32]
float16: np.dtype[np.float16]
float32: np.dtype[np.float32]
float64: np.dtype[np.float64]
half: np.dtype[np.float16]
inf: builtins.float
int: np.dtype[np.int32]
int16: np.dtype[np.int16]
int32: np.dtype[np.int32]
int64: np.dtype[np.int64]
int8: np.dtype[np.int8]
long: np.dtype[np.int64]
nan: builtins.float
newaxis: None
pi: builtins.float
preserve_format: object
short: np.dtype[np.int16]
strided: object
uint16: np.dtype[np.uint16]
uint32: np.dtype[np.uint32]
uint64: np.dtype[np.uint64]
uint8: np.dtype[np.uint8]

class BFloat16Tensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class BoolTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class ByteTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class CharTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class ComplexDoubleTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class ComplexFloatTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class DoubleTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class FloatTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class HalfTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class IntTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class LongTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

class ShortTensor(Tensor):
    def __init__(self, *data: Data, device: DeviceLike = ...) -> None: ...

def abs(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def abs_(self: ArrayLike, /) -> Tensor: ...
def absolute(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def acos(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def acos_(self: ArrayLike, /) -> Tensor: ...
def acosh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def acosh_(self: ArrayLike, /) -> Tensor: ...
def adaptive_avg_pool1d(input: Tensor, output_size: Shape) -> Tensor: ...
def adaptive_max_pool1d(input: ArrayLike, output_size: Shape) -> tuple[Tensor, Tensor]: ...
def add(
    input: ArrayLike,
    other: ArrayLike,
    *,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def addbmm(
    input: ArrayLike,
    batch1: ArrayLike,
    batch2: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def addcdiv(
    input: ArrayLike,
    tensor1: ArrayLike,
    tensor2: ArrayLike,
    *,
    value: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def addcmul(
    input: ArrayLike,
    tensor1: ArrayLike,
    tensor2: ArrayLike,
    *,
    value: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def addmm(
    input: ArrayLike,
    mat1: ArrayLike,
    mat2: ArrayLike,
    out_dtype: ArrayLike | None = None,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def addmv(
    input: ArrayLike,
    mat: ArrayLike,
    vec: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def addmv_(
    self: ArrayLike,
    /,
    mat: ArrayLike,
    vec: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
) -> Tensor: ...
def addr(
    input: ArrayLike,
    vec1: ArrayLike,
    vec2: ArrayLike,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def adjoint(input: ArrayLike) -> Tensor: ...
def all(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def allclose(
    input: ArrayLike,
    other: ArrayLike,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool: ...
def alpha_dropout(input: ArrayLike, p: ArrayLike, train: builtins.bool) -> Tensor: ...
def alpha_dropout_(input: ArrayLike, p: ArrayLike, train: builtins.bool) -> Tensor: ...
def amax(
    input: ArrayLike,
    dim: Axes = (),
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def amin(
    input: ArrayLike,
    dim: Axes = (),
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def aminmax(
    input: ArrayLike,
    *,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> MinAndMax: ...
def angle(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def any(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def arange(
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    step: ArrayLike = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def arccos(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arccos_(self: ArrayLike, /) -> Tensor: ...
def arccosh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arccosh_(self: ArrayLike, /) -> Tensor: ...
def arcsin(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arcsin_(self: ArrayLike, /) -> Tensor: ...
def arcsinh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arcsinh_(self: ArrayLike, /) -> Tensor: ...
def arctan(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arctan2(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arctan_(self: ArrayLike, /) -> Tensor: ...
def arctanh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def arctanh_(self: ArrayLike, /) -> Tensor: ...
def are_deterministic_algorithms_enabled() -> builtins.bool: ...
def argmax(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def argmin(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def argsort(
    input: ArrayLike,
    dim: Axes = -1,
    descending: builtins.bool = False,
    *,
    stable: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def argwhere(input: ArrayLike) -> Tensor: ...
def as_tensor(
    data: Data,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | builtins.int | None = None,
) -> Tensor: ...
def asarray(
    obj: object,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | builtins.int | None = None,
    copy: builtins.bool | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def asin(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def asin_(self: ArrayLike, /) -> Tensor: ...
def asinh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def asinh_(self: ArrayLike, /) -> Tensor: ...
def atan(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def atan2(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def atan_(self: ArrayLike, /) -> Tensor: ...
def atanh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def atanh_(self: ArrayLike, /) -> Tensor: ...
@overload
def atleast_1d(tensor: ArrayLike, /) -> Tensor: ...
@overload
def atleast_1d(tensor: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(tensors: Sequence[ArrayLike], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensor: ArrayLike, /) -> Tensor: ...
@overload
def atleast_2d(tensor: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensors: Sequence[ArrayLike], /) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensor: ArrayLike, /) -> Tensor: ...
@overload
def atleast_3d(tensor: ArrayLike, second: ArrayLike, /, *more: ArrayLike) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensors: Sequence[ArrayLike], /) -> tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    ceil_mode: builtins.bool = False,
    count_include_pad: builtins.bool = True,
) -> Tensor: ...
def baddbmm(
    input: ArrayLike,
    batch1: ArrayLike,
    batch2: ArrayLike,
    out_dtype: ArrayLike | None = None,
    *,
    beta: ArrayLike = 1,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def bartlett_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def batch_norm(
    input: ArrayLike,
    weight: ArrayLike | None,
    bias: ArrayLike | None,
    running_mean: ArrayLike | None,
    running_var: ArrayLike | None,
    training: builtins.bool,
    momentum: ArrayLike,
    eps: ArrayLike,
    cudnn_enabled: ArrayLike,
) -> Tensor: ...
def bernoulli(
    input: ArrayLike,
    p: ArrayLike | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: ArrayLike | None = None) -> Tensor: ...
def binary_cross_entropy_with_logits(
    input: ArrayLike,
    target: ArrayLike,
    weight: ArrayLike | None = None,
    pos_weight: ArrayLike | None = None,
    reduction: str | builtins.int = 0,
) -> Tensor: ...
def bincount(input: ArrayLike, weights: ArrayLike | None = None, minlength: builtins.int = 0) -> Tensor: ...
def binomial(count: ArrayLike, prob: ArrayLike, generator: Generator | None = None) -> Tensor: ...
def bitwise_and(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def bitwise_left_shift(
    input: ArrayLike,
    other: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def bitwise_not(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def bitwise_or(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def bitwise_right_shift(
    input: ArrayLike,
    other: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def bitwise_xor(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def blackman_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def block_diag(*tensors: Tensor | Sequence[Tensor]) -> Tensor: ...
def bmm(
    input: ArrayLike,
    mat2: ArrayLike,
    out_dtype: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def broadcast_shapes(*shapes: builtins.int | Sequence[builtins.int]) -> tuple[builtins.int, ...]: ...
def broadcast_tensors(*tensors: Tensor | Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def broadcast_to(input: ArrayLike, size: Shape) -> Tensor: ...
def bucketize(
    input: ArrayLike,
    boundaries: Tensor,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def can_cast(from_: DTypeLike, to: DTypeLike) -> builtins.bool: ...
def cartesian_prod(*tensors: Tensor | Sequence[Tensor]) -> Tensor: ...
def cat(tensors: Sequence[Tensor], dim: Axes = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def cdist(x1: ArrayLike, x2: ArrayLike, p: ArrayLike = 2.0, compute_mode: str | None = None) -> Tensor: ...
def ceil(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def ceil_(self: ArrayLike, /) -> Tensor: ...
def celu(input: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor: ...
def celu_(input: ArrayLike, alpha: ArrayLike = 1.0) -> Tensor: ...
def chain_matmul(*matrices: ArrayLike, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor: ...
def cholesky(
    input: ArrayLike,
    upper: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def cholesky_inverse(
    input: ArrayLike,
    upper: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def cholesky_solve(
    input: ArrayLike,
    input2: ArrayLike,
    upper: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def chunk(input: ArrayLike, chunks: builtins.int, dim: Axes = 0) -> tuple[Tensor, ...]: ...
def clamp(
    input: ArrayLike,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def clamp_(self: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor: ...
def clamp_max(input: ArrayLike, max: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def clamp_max_(self: ArrayLike, /, max: ArrayLike) -> Tensor: ...
def clamp_min(input: ArrayLike, min: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def clamp_min_(self: ArrayLike, /, min: ArrayLike) -> Tensor: ...
def clip(
    input: ArrayLike,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def clip_(self: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Tensor: ...
def clone(input: ArrayLike, *, memory_format: object | None = None) -> Tensor: ...
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def combinations(input: ArrayLike, r: ArrayLike = 2, with_replacement: builtins.bool = False) -> Tensor: ...
def compile(model: Any = None, **options: object) -> Any: ...
def complex(real: ArrayLike, imag: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def concat(tensors: Sequence[Tensor], dim: Axes = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def concatenate(
    tensors: Sequence[Tensor],
    dim: Axes = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def conj(input: ArrayLike) -> Tensor: ...
def conj_physical(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def conj_physical_(self: ArrayLike, /) -> Tensor: ...
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: ArrayLike | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] | str = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor: ...
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: ArrayLike | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] | str = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor: ...
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: ArrayLike | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] | str = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    groups: builtins.int = 1,
) -> Tensor: ...
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: ArrayLike | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] = 0,
    output_padding: builtins.int | Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | Sequence[builtins.int] = 1,
) -> Tensor: ...
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: ArrayLike | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] = 0,
    output_padding: builtins.int | Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | Sequence[builtins.int] = 1,
) -> Tensor: ...
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: ArrayLike | None = None,
    stride: builtins.int | Sequence[builtins.int] = 1,
    padding: builtins.int | Sequence[builtins.int] = 0,
    output_padding: builtins.int | Sequence[builtins.int] = 0,
    groups: builtins.int = 1,
    dilation: builtins.int | Sequence[builtins.int] = 1,
) -> Tensor: ...
def copysign(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def corrcoef(input: ArrayLike) -> Tensor: ...
def cos(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def cos_(self: ArrayLike, /) -> Tensor: ...
def cosh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def cosh_(self: ArrayLike, /) -> Tensor: ...
def cosine_embedding_loss(
    input1: ArrayLike,
    input2: ArrayLike,
    target: ArrayLike,
    margin: ArrayLike = 0.0,
    reduction: str | builtins.int = 0,
) -> Tensor: ...
def cosine_similarity(x1: Tensor, x2: Tensor, dim: Axes = 1, eps: builtins.float = 1e-08) -> Tensor: ...
def count_nonzero(input: ArrayLike, dim: Axes = None) -> Tensor: ...
def cov(
    input: ArrayLike,
    *,
    correction: builtins.float = 1,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
) -> Tensor: ...
def cross(
    input: ArrayLike,
    other: ArrayLike,
    dim: Axes = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def ctc_loss(
    log_probs: ArrayLike,
    targets: ArrayLike,
    input_lengths: ArrayLike | Sequence[builtins.int],
    target_lengths: ArrayLike | Sequence[builtins.int],
    blank: ArrayLike = 0,
    reduction: str | builtins.int = 0,
    zero_infinity: builtins.bool = False,
) -> Tensor: ...
def cummax(input: ArrayLike, dim: Axes, *, out: Tensor | tuple[Tensor, ...] | None = None) -> ValuesAndIndices: ...
def cummin(input: ArrayLike, dim: Axes, *, out: Tensor | tuple[Tensor, ...] | None = None) -> ValuesAndIndices: ...
def cumprod(
    input: ArrayLike,
    dim: Axes,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def cumsum(
    input: ArrayLike,
    dim: Axes,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def cumulative_trapezoid(y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1, dim: Axes = -1) -> Tensor: ...
def deg2rad(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def deg2rad_(self: ArrayLike, /) -> Tensor: ...
def det(input: ArrayLike) -> Tensor: ...
def detach(input: ArrayLike) -> Tensor: ...
def detach_(self: ArrayLike) -> Tensor: ...
def diag(input: ArrayLike, diagonal: ArrayLike = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def diag_embed(
    input: ArrayLike,
    offset: builtins.int = 0,
    dim1: builtins.int = -2,
    dim2: builtins.int = -1,
) -> Tensor: ...
def diagflat(input: ArrayLike, offset: builtins.int = 0) -> Tensor: ...
def diagonal(input: ArrayLike, offset: builtins.int = 0, dim1: builtins.int = 0, dim2: builtins.int = 1) -> Tensor: ...
def diagonal_scatter(
    input: ArrayLike,
    src: Tensor | builtins.float,
    offset: builtins.int = 0,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor: ...
def diff(
    input: ArrayLike,
    n: ArrayLike = 1,
    dim: Axes = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def digamma(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def dist(input: ArrayLike, other: ArrayLike, p: ArrayLike = 2) -> Tensor: ...
def div(
    input: ArrayLike,
    other: ArrayLike,
    *,
    rounding_mode: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def divide(
    input: ArrayLike,
    other: ArrayLike,
    *,
    rounding_mode: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def dot(input: ArrayLike, tensor: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def dropout(input: ArrayLike, p: ArrayLike, train: builtins.bool) -> Tensor: ...
def dropout_(input: ArrayLike, p: ArrayLike, train: builtins.bool) -> Tensor: ...
def dsplit(
    input: ArrayLike,
    indices_or_sections: builtins.int | Sequence[builtins.int] | Tensor,
) -> tuple[Tensor, ...]: ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor: ...
@overload
def einsum(operand: Tensor, sublist: Sequence[builtins.int], /, *more: Tensor | Sequence[builtins.int]) -> Tensor: ...
def embedding(
    weight: ArrayLike,
    indices: ArrayLike | Sequence[builtins.int] | Sequence[Sequence[builtins.int]],
    padding_idx: builtins.int = -1,
    scale_grad_by_freq: ArrayLike = False,
    sparse: builtins.bool = False,
) -> Tensor: ...
def empty(
    *size: Shape,
    memory_format: object | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def empty_like(
    input: ArrayLike,
    *,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def eq(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def equal(input: ArrayLike, other: ArrayLike) -> builtins.bool: ...
def erf(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def erf_(self: ArrayLike, /) -> Tensor: ...
def erfc(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def erfc_(self: ArrayLike, /) -> Tensor: ...
def erfinv(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def exp(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def exp2(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def exp2_(self: ArrayLike, /) -> Tensor: ...
def exp_(self: ArrayLike, /) -> Tensor: ...
def expm1(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def expm1_(self: ArrayLike, /) -> Tensor: ...
def eye(
    n: ArrayLike,
    m: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def feature_alpha_dropout(input: ArrayLike, p: ArrayLike, train: builtins.bool) -> Tensor: ...
def feature_alpha_dropout_(input: ArrayLike, p: ArrayLike, train: builtins.bool) -> Tensor: ...
def fill(input: ArrayLike, value: ArrayLike) -> Tensor: ...
def fill_(self: ArrayLike, value: ArrayLike) -> Tensor: ...
def finfo(type: DTypeLike | None = None) -> FloatInfo: ...
def fix(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def fix_(self: ArrayLike, /) -> Tensor: ...
def flatten(input: ArrayLike, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor: ...
def flip(
    input: ArrayLike,
    dims: builtins.int | Sequence[builtins.int] | Sequence[Sequence[builtins.int]] | Tensor,
) -> Tensor: ...
def fliplr(input: ArrayLike) -> Tensor: ...
def flipud(input: ArrayLike) -> Tensor: ...
def float_power(input: ArrayLike, exponent: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def floor(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def floor_(self: ArrayLike, /) -> Tensor: ...
def floor_divide(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def fmax(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def fmin(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def fmod(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def frac(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def frac_(self: ArrayLike, /) -> Tensor: ...
def frexp(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> MantissaAndExponent: ...
def from_dlpack(
    ext_tensor: ArrayLike,
    *,
    device: DeviceLike | builtins.int | None = None,
    copy: builtins.bool | None = None,
) -> Tensor: ...
def from_numpy(ndarray: ArrayLike) -> Tensor: ...
def frombuffer(
    buffer: bytearray | bytes | memoryview,
    *,
    dtype: DTypeLike | None,
    count: builtins.int = -1,
    offset: builtins.int = 0,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def full(
    size: Shape,
    fill_value: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def full_like(
    input: ArrayLike,
    fill_value: ArrayLike,
    *,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def gather(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    *,
    sparse_grad: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def gcd(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def gcd_(self: ArrayLike, /, other: ArrayLike) -> Tensor: ...
def ge(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def geqrf(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> GeqrfResult: ...
def ger(input: ArrayLike, vec2: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def get_autocast_dtype(device_type: str) -> Tensor: ...
def get_default_device() -> Device: ...
def get_default_dtype() -> DType: ...
def get_device(input: ArrayLike) -> builtins.int: ...
def get_float32_matmul_precision() -> str: ...
def get_num_interop_threads() -> builtins.int: ...
def get_num_threads() -> builtins.int: ...
def get_rng_state(device: DeviceLike | builtins.int | None = None) -> dict[str, object]: ...
def gradient(
    input: ArrayLike,
    *,
    spacing: builtins.float | Sequence[builtins.float] | Sequence[Tensor] | None = None,
    dim: Axes = None,
    edge_order: builtins.int = 1,
) -> tuple[Tensor, ...]: ...
def greater(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def greater_equal(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def group_norm(
    input: ArrayLike,
    num_groups: builtins.int,
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: ArrayLike = 1e-05,
    cudnn_enabled: ArrayLike = True,
) -> Tensor: ...
def gt(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def hamming_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    alpha: ArrayLike = 0.54,
    beta: ArrayLike = 0.46,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def hann_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def hardshrink(
    input: ArrayLike,
    lambd: ArrayLike = 0.5,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def heaviside(input: ArrayLike, values: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def hinge_embedding_loss(
    input: ArrayLike,
    target: ArrayLike,
    margin: ArrayLike = 1.0,
    reduction: str | builtins.int = 0,
) -> Tensor: ...
def histc(
    input: ArrayLike,
    bins: ArrayLike | Sequence[builtins.float] | Sequence[builtins.int] | Sequence[Tensor] | str = 100,
    min: ArrayLike = 0,
    max: ArrayLike = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def histogram(
    input: ArrayLike,
    bins: ArrayLike | Sequence[builtins.float] | Sequence[builtins.int] | Sequence[Tensor] | str = 100,
    *,
    range: tuple[builtins.float, builtins.float] | None = None,
    weight: ArrayLike | None = None,
    density: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Histogram: ...
def histogramdd(
    input: ArrayLike,
    bins: ArrayLike | Sequence[builtins.float] | Sequence[builtins.int] | Sequence[Tensor] | str,
    range: Sequence[builtins.float] | None = None,
    weight: ArrayLike | None = None,
    density: builtins.bool = False,
) -> Histogram: ...
def hsplit(
    input: ArrayLike,
    indices_or_sections: builtins.int | Sequence[builtins.int] | Tensor,
) -> tuple[Tensor, ...]: ...
def hstack(tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def hypot(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def i0(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def i0_(self: ArrayLike, /) -> Tensor: ...
def igamma(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def igammac(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def iinfo(type: DTypeLike) -> IntegerInfo: ...
def imag(input: ArrayLike) -> Tensor: ...
def index_add(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    source: ArrayLike,
    *,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def index_copy(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    source: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def index_fill(input: ArrayLike, dim: Axes, index: ArrayLike, value: ArrayLike) -> Tensor: ...
def index_put(
    input: ArrayLike,
    indices: Sequence[Tensor],
    values: ArrayLike,
    accumulate: builtins.bool = False,
) -> Tensor: ...
def index_put_(
    self: ArrayLike,
    /,
    indices: ArrayLike | Sequence[builtins.int] | Sequence[Sequence[builtins.int]],
    values: ArrayLike,
    accumulate: builtins.bool = False,
) -> Tensor: ...
def index_reduce(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    source: ArrayLike,
    reduce: str,
    *,
    include_self: builtins.bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def index_select(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def initial_seed() -> builtins.int: ...
def inner(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def instance_norm(
    input: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike,
    running_mean: ArrayLike | None,
    running_var: ArrayLike | None,
    use_input_stats: builtins.bool,
    momentum: ArrayLike,
    eps: ArrayLike,
    cudnn_enabled: ArrayLike,
) -> Tensor: ...
def inverse(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def is_autocast_enabled(device_type: str = "cuda") -> builtins.bool: ...
def is_complex(input: ArrayLike) -> builtins.bool: ...
def is_conj(input: ArrayLike) -> builtins.bool: ...
def is_floating_point(input: ArrayLike) -> builtins.bool: ...
def is_grad_enabled() -> builtins.bool: ...
def is_inference(input: ArrayLike) -> builtins.bool: ...
def is_inference_mode_enabled() -> builtins.bool: ...
def is_neg(input: ArrayLike) -> builtins.bool: ...
def is_nonzero(input: ArrayLike) -> builtins.bool: ...
def is_same_size(input: ArrayLike, other: ArrayLike) -> builtins.bool: ...
def is_signed(input: ArrayLike) -> builtins.bool: ...
def is_tensor(obj: object) -> builtins.bool: ...
def isclose(
    input: ArrayLike,
    other: ArrayLike,
    rtol: builtins.float = 1e-05,
    atol: builtins.float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor: ...
def isfinite(input: ArrayLike) -> Tensor: ...
def isin(
    elements: ArrayLike,
    test_elements: ArrayLike,
    *,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def isinf(input: ArrayLike) -> Tensor: ...
def isnan(input: ArrayLike) -> Tensor: ...
def isneginf(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def isposinf(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def isreal(input: ArrayLike) -> Tensor: ...
def istft(
    input: ArrayLike,
    n_fft: builtins.int,
    hop_length: builtins.int | None = None,
    win_length: builtins.int | None = None,
    window: ArrayLike | None = None,
    center: builtins.bool = True,
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    length: builtins.int | None = None,
    return_complex: builtins.bool = False,
) -> Tensor: ...
def kaiser_window(
    window_length: builtins.int,
    periodic: builtins.bool = True,
    beta: ArrayLike = 12.0,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def kl_div(
    input: ArrayLike,
    target: ArrayLike,
    reduction: str | builtins.int = 0,
    *,
    log_target: ArrayLike = False,
) -> Tensor: ...
def kron(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def kthvalue(
    input: ArrayLike,
    k: builtins.int,
    dim: Axes = -1,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> ValuesAndIndices: ...
def layer_norm(
    input: ArrayLike,
    normalized_shape: Sequence[builtins.int],
    weight: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    eps: ArrayLike = 1e-05,
    cudnn_enable: ArrayLike = True,
) -> Tensor: ...
def lcm(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def lcm_(self: ArrayLike, /, other: ArrayLike) -> Tensor: ...
def ldexp(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def ldexp_(self: ArrayLike, /, other: ArrayLike) -> Tensor: ...
def le(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def lerp(
    input: ArrayLike,
    end: ArrayLike,
    weight: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def less(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def less_equal(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def lgamma(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def linspace(
    start: ArrayLike,
    end: ArrayLike,
    steps: builtins.int,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def load(
    f: str | os.PathLike[str] | IO[bytes],
    map_location: object | None = None,
    pickle_module: object | None = None,
    *,
    weights_only: builtins.bool | None = None,
    mmap: builtins.bool | None = None,
    **pickle_load_args: ArrayLike,
) -> Any: ...
def lobpcg(
    A: ArrayLike,
    k: builtins.int | None = None,
    B: ArrayLike | None = None,
    X: ArrayLike | None = None,
    n: builtins.int | None = None,
    iK: ArrayLike | None = None,
    niter: builtins.int | None = None,
    tol: builtins.float | None = None,
    largest: builtins.bool | None = None,
    method: str | None = None,
    tracker: ArrayLike | None = None,
    ortho_iparams: ArrayLike | None = None,
    ortho_fparams: ArrayLike | None = None,
    ortho_bparams: ArrayLike | None = None,
) -> LobpcgResult: ...
def log(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def log10(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def log10_(self: ArrayLike, /) -> Tensor: ...
def log1p(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def log1p_(self: ArrayLike, /) -> Tensor: ...
def log2(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def log2_(self: ArrayLike, /) -> Tensor: ...
def log_(self: ArrayLike, /) -> Tensor: ...
def log_softmax(
    input: ArrayLike,
    dim: Axes,
    dtype: DTypeLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def logaddexp(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logaddexp2(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logcumsumexp(input: ArrayLike, dim: Axes, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logdet(input: ArrayLike) -> Tensor: ...
def logical_and(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logical_not(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logical_or(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logical_xor(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def logit(
    input: ArrayLike,
    eps: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def logit_(self: ArrayLike, /, eps: builtins.float | None = None) -> Tensor: ...
def logspace(
    start: ArrayLike,
    end: ArrayLike,
    steps: builtins.int,
    base: builtins.float = 10.0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def logsumexp(
    input: ArrayLike,
    dim: Axes,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def lt(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def lu(A: ArrayLike, pivot: builtins.bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]: ...
@overload
def lu(A: ArrayLike, pivot: builtins.bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]: ...
def lu_solve(
    input: ArrayLike,
    LU_data: ArrayLike,
    LU_pivots: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def lu_unpack(
    LU_data: ArrayLike,
    LU_pivots: ArrayLike,
    unpack_data: builtins.bool = True,
    unpack_pivots: builtins.bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> LUResult: ...
def manual_seed(seed: builtins.int) -> Generator: ...
def margin_ranking_loss(
    input1: ArrayLike,
    input2: ArrayLike,
    target: ArrayLike,
    margin: ArrayLike = 0.0,
    reduction: str | builtins.int = 0,
) -> Tensor: ...
def masked_fill(input: ArrayLike, mask: Tensor, value: ArrayLike) -> Tensor: ...
def masked_scatter(input: ArrayLike, mask: Tensor, source: ArrayLike) -> Tensor: ...
def masked_select(input: ArrayLike, mask: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def matmul(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def matrix_exp(input: ArrayLike) -> Tensor: ...
def matrix_power(input: ArrayLike, n: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def max(input: ArrayLike, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max(
    input: ArrayLike,
    dim: builtins.int,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> ValuesAndIndices: ...
@overload
def max(input: ArrayLike, other: Array, *, out: Tensor | None = None) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: builtins.int | Sequence[builtins.int],
    stride: builtins.int | Sequence[builtins.int] | None = None,
    padding: builtins.int | Sequence[builtins.int] = 0,
    dilation: builtins.int | Sequence[builtins.int] = 1,
    ceil_mode: builtins.bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def maximum(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def mean(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def median(input: ArrayLike) -> Tensor: ...
@overload
def median(
    input: ArrayLike,
    dim: builtins.int,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> ValuesAndIndices: ...
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]: ...
@overload
def min(input: ArrayLike, *, out: Tensor | None = None) -> Tensor: ...
@overload
def min(
    input: ArrayLike,
    dim: builtins.int,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> ValuesAndIndices: ...
@overload
def min(input: ArrayLike, other: Array, *, out: Tensor | None = None) -> Tensor: ...
def minimum(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def mm(
    input: ArrayLike,
    mat2: ArrayLike,
    out_dtype: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def mode(
    input: ArrayLike,
    dim: Axes = -1,
    keepdim: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> ValuesAndIndices: ...
def moveaxis(
    input: ArrayLike,
    source: builtins.int | Sequence[builtins.int],
    destination: builtins.int | Sequence[builtins.int],
) -> Tensor: ...
def movedim(
    input: ArrayLike,
    source: builtins.int | Sequence[builtins.int],
    destination: builtins.int | Sequence[builtins.int],
) -> Tensor: ...
def msort(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def mul(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def multinomial(
    input: ArrayLike,
    num_samples: builtins.int,
    replacement: builtins.bool = False,
    *,
    generator: Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def multiply(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def mv(input: ArrayLike, vec: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def mvlgamma(input: ArrayLike, p: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def nan_to_num(
    input: ArrayLike,
    nan: ArrayLike | None = None,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def nan_to_num_(
    self: ArrayLike,
    /,
    nan: builtins.float = 0.0,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor: ...
def nanmean(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def nanmedian(input: ArrayLike) -> Tensor: ...
@overload
def nanmedian(
    input: ArrayLike,
    dim: builtins.int,
    keepdim: builtins.bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> ValuesAndIndices: ...
def nanquantile(
    input: ArrayLike,
    q: ArrayLike | Sequence[builtins.float],
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def nansum(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def narrow(input: ArrayLike, dim: Axes, start: ArrayLike, length: ArrayLike) -> Tensor: ...
def ne(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def neg(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def neg_(self: ArrayLike, /) -> Tensor: ...
def negative(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def negative_(self: ArrayLike, /) -> Tensor: ...
def nextafter(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def nonzero(
    input: ArrayLike,
    *,
    as_tuple: Literal[False] = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
@overload
def nonzero(
    input: ArrayLike,
    *,
    as_tuple: Literal[True],
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]: ...
def nonzero_static(
    input: ArrayLike,
    *,
    size: Shape,
    fill_value: ArrayLike = -1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def norm(
    input: ArrayLike,
    p: builtins.float | str = "fro",
    dim: Axes = None,
    keepdim: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def normal(
    mean: ArrayLike,
    std: ArrayLike = 1.0,
    size: Shape | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def not_equal(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def numel(input: ArrayLike) -> builtins.int: ...
@overload
def ones(
    *size: builtins.int | Sequence[builtins.int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def ones(
    *,
    size: Sequence[builtins.int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def ones_like(
    input: ArrayLike,
    *,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def orgqr(input: ArrayLike, input2: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def ormqr(
    input: ArrayLike,
    input2: ArrayLike,
    input3: ArrayLike,
    left: builtins.bool = True,
    transpose: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def outer(input: ArrayLike, vec2: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: ArrayLike = 2.0,
    eps: builtins.float = 1e-06,
    keepdim: builtins.bool = False,
) -> Tensor: ...
def pca_lowrank(
    A: ArrayLike,
    q: ArrayLike | Sequence[builtins.float] | None = None,
    center: builtins.bool = True,
    niter: builtins.int = 2,
) -> USVResult: ...
def pdist(input: ArrayLike, p: ArrayLike = 2.0) -> Tensor: ...
def permute(
    input: ArrayLike,
    dims: builtins.int | Sequence[builtins.int] | Sequence[Sequence[builtins.int]] | Tensor,
) -> Tensor: ...
def pinverse(input: ArrayLike, rcond: ArrayLike = 1e-15) -> Tensor: ...
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor: ...
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor: ...
def poisson(input: ArrayLike, generator: Generator | None = None) -> Tensor: ...
def poisson_nll_loss(
    input: ArrayLike,
    target: ArrayLike,
    log_input: ArrayLike,
    full: builtins.bool,
    eps: ArrayLike,
    reduction: str | builtins.int,
) -> Tensor: ...
def polar(abs: ArrayLike, angle: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def polygamma(n: ArrayLike, input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def positive(input: ArrayLike) -> Tensor: ...
def pow(input: ArrayLike, exponent: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def prelu(input: Tensor, weight: Tensor) -> Tensor: ...
def prod(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType: ...
def put(input: ArrayLike, index: ArrayLike, source: ArrayLike, accumulate: builtins.bool = False) -> Tensor: ...
def qr(input: ArrayLike, some: ArrayLike = True, *, out: Tensor | tuple[Tensor, ...] | None = None) -> QRResult: ...
def quantile(
    input: ArrayLike,
    q: ArrayLike | Sequence[builtins.float],
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def rad2deg(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def rad2deg_(self: ArrayLike, /) -> Tensor: ...
@overload
def rand(
    *size: builtins.int | Sequence[builtins.int],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def rand(
    *,
    size: Sequence[builtins.int],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def rand_like(
    input: ArrayLike,
    *,
    generator: Generator | None = None,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def randint(
    low: builtins.int,
    high: builtins.int,
    size: Shape,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def randint(
    high: builtins.int,
    size: Shape,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def randint_like(
    input: ArrayLike,
    low: builtins.int | None = None,
    high: builtins.int | None = None,
    *,
    generator: Generator | None = None,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def randn(
    *size: builtins.int | Sequence[builtins.int],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def randn(
    *,
    size: Sequence[builtins.int],
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def randn_like(
    input: ArrayLike,
    *,
    generator: Generator | None = None,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def randperm(
    n: ArrayLike,
    *,
    generator: Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def range(
    start: ArrayLike = 0,
    end: ArrayLike | None = None,
    step: ArrayLike = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def ravel(input: ArrayLike) -> Tensor: ...
def real(input: ArrayLike) -> Tensor: ...
def reciprocal(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def reciprocal_(self: ArrayLike, /) -> Tensor: ...
def relu(input: ArrayLike) -> Tensor: ...
def relu_(self: ArrayLike, /) -> Tensor: ...
def remainder(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def renorm(
    input: ArrayLike,
    p: ArrayLike,
    dim: Axes,
    maxnorm: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def repeat_interleave(
    input: ArrayLike | None = None,
    repeats: builtins.int | Sequence[builtins.int] | Array | None = None,
    dim: Axes = None,
    *,
    output_size: Shape | None = None,
) -> Tensor: ...
def reshape(input: ArrayLike, shape: Shape) -> Tensor: ...
def resolve_conj(input: ArrayLike) -> Tensor: ...
def resolve_neg(input: ArrayLike) -> Tensor: ...
def result_type(tensor: ArrayLike, other: ArrayLike) -> DType: ...
def rms_norm(
    input: ArrayLike,
    normalized_shape: Sequence[builtins.int],
    weight: ArrayLike | None = None,
    eps: ArrayLike | None = None,
) -> Tensor: ...
def roll(
    input: ArrayLike,
    shifts: builtins.int | Sequence[builtins.int],
    dims: builtins.int | Sequence[builtins.int] | Sequence[Sequence[builtins.int]] | Tensor = (),
) -> Tensor: ...
def rot90(
    input: ArrayLike,
    k: builtins.int = 1,
    dims: builtins.int | Sequence[builtins.int] | Sequence[Sequence[builtins.int]] | Tensor = (0, 1),
) -> Tensor: ...
def round(
    input: ArrayLike,
    *,
    decimals: builtins.int = 0,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def round_(self: ArrayLike, /, decimals: builtins.int = 0) -> Tensor: ...
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def rrelu(
    input: ArrayLike,
    lower: builtins.float = 0.125,
    upper: builtins.float = 0.3333333333333333,
    training: builtins.bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
def rrelu_(
    input: ArrayLike,
    lower: builtins.float = 0.125,
    upper: builtins.float = 0.3333333333333333,
    training: builtins.bool = False,
    generator: Generator | None = None,
) -> Tensor: ...
def rsqrt(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def rsqrt_(self: ArrayLike, /) -> Tensor: ...
def rsub(input: ArrayLike, other: ArrayLike, alpha: ArrayLike = 1) -> Tensor: ...
def save(
    obj: object,
    f: str | os.PathLike[str] | IO[bytes],
    pickle_module: object | None = None,
    pickle_protocol: builtins.int = 2,
    _use_new_zipfile_serialization: builtins.bool = True,
) -> None: ...
def scalar_tensor(
    s: Sequence[builtins.int] | ArrayLike,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def scatter(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    src: Tensor | builtins.float,
    *,
    reduce: str | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def scatter_add(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    src: Tensor | builtins.float,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def scatter_reduce(
    input: ArrayLike,
    dim: Axes,
    index: ArrayLike,
    src: Tensor | builtins.float,
    reduce: str,
    *,
    include_self: builtins.bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def searchsorted(
    sorted_sequence: ArrayLike,
    input: ArrayLike,
    *,
    out_int32: builtins.bool = False,
    right: builtins.bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def seed() -> builtins.int: ...
def select(input: ArrayLike, dim: Axes, index: ArrayLike) -> Tensor: ...
def select_scatter(input: ArrayLike, src: Tensor | builtins.float, dim: Axes, index: ArrayLike) -> Tensor: ...
def selu(input: ArrayLike) -> Tensor: ...
def selu_(input: ArrayLike) -> Tensor: ...
def set_default_device(device: DeviceLike | builtins.int) -> None: ...
def set_default_dtype(dtype: DTypeLike | None) -> None: ...
def set_default_tensor_type(t: ArrayLike) -> None: ...
def set_float32_matmul_precision(precision: str) -> None: ...
def set_flush_denormal(mode: str) -> builtins.bool: ...
def set_num_interop_threads(num: builtins.int) -> None: ...
def set_num_threads(n: builtins.int) -> None: ...
def set_printoptions(
    precision: builtins.int | None = None,
    threshold: builtins.float | None = None,
    edgeitems: builtins.int | None = None,
    linewidth: builtins.int | None = None,
    profile: str | None = None,
    sci_mode: builtins.bool | None = None,
) -> None: ...
def set_rng_state(state: ArrayLike, device: DeviceLike | builtins.int | None = None) -> None: ...
def set_warn_always(b: builtins.bool) -> None: ...
def sgn(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sigmoid(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sigmoid_(self: ArrayLike, /) -> Tensor: ...
def sign(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def signbit(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sin(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sin_(self: ArrayLike, /) -> Tensor: ...
def sinc(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sinc_(self: ArrayLike, /) -> Tensor: ...
def sinh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sinh_(self: ArrayLike, /) -> Tensor: ...
def slice_scatter(
    input: ArrayLike,
    src: Tensor | builtins.float,
    dim: Axes = 0,
    start: ArrayLike | None = None,
    end: ArrayLike | None = None,
    step: ArrayLike = 1,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def slogdet(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> SlogdetResult: ...
def softmax(
    input: ArrayLike,
    dim: Axes,
    dtype: DTypeLike | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def sort(
    input: ArrayLike,
    dim: Axes = -1,
    descending: builtins.bool = False,
    *,
    stable: builtins.bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> ValuesAndIndices: ...
def split(
    tensor: ArrayLike,
    split_size_or_sections: builtins.int | Sequence[builtins.int],
    dim: Axes = 0,
) -> tuple[Tensor, ...]: ...
def split_with_sizes(input: ArrayLike, split_sizes: Sequence[builtins.int], dim: Axes = 0) -> tuple[Tensor, ...]: ...
def sqrt(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def sqrt_(self: ArrayLike, /) -> Tensor: ...
def square(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def square_(self: ArrayLike, /) -> Tensor: ...
def squeeze(input: ArrayLike, dim: Axes = None) -> Tensor: ...
def stack(tensors: Sequence[Tensor], dim: Axes = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def std(
    input: ArrayLike,
    dim: Axes = None,
    unbiased: builtins.bool = True,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def std_mean(
    input: ArrayLike,
    dim: Axes = None,
    unbiased: builtins.bool = True,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> tuple[Tensor, Tensor]: ...
def stft(
    input: ArrayLike,
    n_fft: builtins.int,
    hop_length: builtins.int | None = None,
    win_length: builtins.int | None = None,
    window: ArrayLike | None = None,
    center: builtins.bool = True,
    pad_mode: str = "reflect",
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    return_complex: builtins.bool | None = None,
    align_to_window: builtins.bool | None = None,
) -> Tensor: ...
def sub(
    input: ArrayLike,
    other: ArrayLike,
    *,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def subtract(
    input: ArrayLike,
    other: ArrayLike,
    *,
    alpha: ArrayLike = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def sum(
    input: ArrayLike,
    dim: Axes = None,
    keepdim: builtins.bool = False,
    *,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def svd(
    input: ArrayLike,
    some: ArrayLike = True,
    compute_uv: builtins.bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> USVResult: ...
def svd_lowrank(
    A: ArrayLike,
    q: ArrayLike | Sequence[builtins.float] = 6,
    niter: builtins.int | None = 2,
    M: ArrayLike | None = None,
) -> USVResult: ...
def swapaxes(input: ArrayLike, axis0: builtins.int, axis1: builtins.int) -> Tensor: ...
def swapdims(input: ArrayLike, dim0: builtins.int, dim1: builtins.int) -> Tensor: ...
def t(input: ArrayLike) -> Tensor: ...
def take(input: ArrayLike, index: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def take_along_dim(
    input: ArrayLike,
    indices: ArrayLike | Sequence[builtins.int] | Sequence[Sequence[builtins.int]],
    dim: Axes = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def tan(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def tan_(self: ArrayLike, /) -> Tensor: ...
def tanh(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def tanh_(self: ArrayLike, /) -> Tensor: ...
def tensor(
    data: Data,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | builtins.int | None = None,
    requires_grad: builtins.bool = False,
    pin_memory: builtins.bool = False,
) -> Tensor: ...
def tensor_split(
    input: ArrayLike,
    indices_or_sections: builtins.int | Sequence[builtins.int] | Tensor,
    dim: Axes = 0,
) -> tuple[Tensor, ...]: ...
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    dims: builtins.int | Sequence[builtins.int] | Sequence[Sequence[builtins.int]] | Tensor = 2,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def threshold(
    input: ArrayLike,
    threshold: ArrayLike,
    value: ArrayLike,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def threshold_(input: ArrayLike, threshold: ArrayLike, value: ArrayLike) -> Tensor: ...
def tile(
    input: ArrayLike,
    dims: builtins.int | Sequence[builtins.int] | Sequence[Sequence[builtins.int]] | Tensor,
) -> Tensor: ...
def topk(
    input: ArrayLike,
    k: builtins.int,
    dim: Axes = -1,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> ValuesAndIndices: ...
def trace(input: ArrayLike) -> Tensor: ...
def transpose(input: ArrayLike, dim0: builtins.int, dim1: builtins.int) -> Tensor: ...
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1, dim: Axes = -1) -> Tensor: ...
def trapz(y: ArrayLike, x: ArrayLike | None = None, *, dx: ArrayLike = 1, dim: Axes = -1) -> Tensor: ...
def triangular_solve(
    input: ArrayLike,
    A: ArrayLike,
    upper: builtins.bool = True,
    transpose: builtins.bool = False,
    unitriangular: builtins.bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> TriangularSolveResult: ...
def tril(input: ArrayLike, diagonal: ArrayLike = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def tril_indices(
    row: ArrayLike,
    col: ArrayLike,
    offset: builtins.int = 0,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def triplet_margin_loss(
    anchor: ArrayLike,
    positive: ArrayLike,
    negative: ArrayLike,
    margin: ArrayLike = 1.0,
    p: ArrayLike = 2.0,
    eps: ArrayLike = 1e-06,
    swap: builtins.bool = False,
    reduction: str | builtins.int = 0,
) -> Tensor: ...
def triu(input: ArrayLike, diagonal: ArrayLike = 0, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def triu_indices(
    row: ArrayLike,
    col: ArrayLike,
    offset: builtins.int = 0,
    *,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def true_divide(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def trunc(input: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def trunc_(self: ArrayLike, /) -> Tensor: ...
def typename(obj: object) -> str: ...
def unbind(input: ArrayLike, dim: Axes = 0) -> tuple[Tensor, ...]: ...
def unflatten(input: ArrayLike, dim: Axes, sizes: Sequence[builtins.int]) -> Tensor: ...
@overload
def unique(
    input: ArrayLike,
    sorted: builtins.bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: Axes = None,
) -> Tensor: ...
@overload
def unique(
    input: ArrayLike,
    sorted: builtins.bool = True,
    *,
    return_inverse: Literal[True],
    return_counts: builtins.bool = False,
    dim: Axes = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    input: ArrayLike,
    sorted: builtins.bool = True,
    return_inverse: builtins.bool = False,
    *,
    return_counts: Literal[True],
    dim: Axes = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    input: ArrayLike,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: Axes = None,
) -> Tensor: ...
@overload
def unique_consecutive(
    input: ArrayLike,
    *,
    return_inverse: Literal[True],
    return_counts: builtins.bool = False,
    dim: Axes = None,
) -> tuple[Tensor, ...]: ...
@overload
def unique_consecutive(
    input: ArrayLike,
    return_inverse: builtins.bool = False,
    *,
    return_counts: Literal[True],
    dim: Axes = None,
) -> tuple[Tensor, ...]: ...
def unravel_index(
    indices: ArrayLike | Sequence[builtins.int] | Sequence[Sequence[builtins.int]],
    shape: Shape,
) -> tuple[Tensor, ...]: ...
def unsqueeze(input: ArrayLike, dim: Axes) -> Tensor: ...
def use_deterministic_algorithms(mode: str, *, warn_only: builtins.bool = False) -> None: ...
def vander(x: ArrayLike, N: builtins.int | None = None, increasing: builtins.bool = False) -> Tensor: ...
def var(
    input: ArrayLike,
    dim: Axes = None,
    unbiased: builtins.bool = True,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def var_mean(
    input: ArrayLike,
    dim: Axes = None,
    unbiased: builtins.bool = True,
    keepdim: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
) -> tuple[Tensor, Tensor]: ...
def vdot(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def view_as_complex(input: ArrayLike) -> Tensor: ...
def view_as_real(input: ArrayLike) -> Tensor: ...
def vmap(
    func: Callable[..., Any],
    in_dims: object = 0,
    out_dims: object = 0,
    randomness: str = "error",
    *,
    chunk_size: builtins.int | None = None,
) -> Callable[..., Any]: ...
def vsplit(
    input: ArrayLike,
    indices_or_sections: builtins.int | Sequence[builtins.int] | Tensor,
) -> tuple[Tensor, ...]: ...
def vstack(tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
@overload
def where(condition: Tensor, input: ArrayLike, other: ArrayLike, *, out: Tensor | None = None) -> Tensor: ...
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
def xlogy(input: ArrayLike, other: ArrayLike, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def xlogy_(self: ArrayLike, /, other: ArrayLike) -> Tensor: ...
def zero_(self: ArrayLike) -> Tensor: ...
@overload
def zeros(
    *size: builtins.int | Sequence[builtins.int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
@overload
def zeros(
    *,
    size: Sequence[builtins.int],
    out: Tensor | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
def zeros_like(
    input: ArrayLike,
    *,
    memory_format: object | None = None,
    dtype: DTypeLike | None = None,
    layout: object | None = None,
    device: DeviceLike | builtins.int | None = None,
    pin_memory: builtins.bool = False,
    requires_grad: builtins.bool = False,
) -> Tensor: ...
