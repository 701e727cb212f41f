# Written by `python -m tools.stubs`: what is wrong here is mended there.

import builtins
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, overload, type_check_only

from numpy import False_ as False_
from numpy import True_ as True_
from numpy import bool as bool
from numpy import bool_ as bool_
from numpy import byte as byte
from numpy import cdouble as cdouble
from numpy import complex128 as complex128
from numpy import complex64 as complex64
from numpy import complexfloating as complexfloating
from numpy import csingle as csingle
from numpy import double as double
from numpy import errstate as errstate
from numpy import finfo as finfo
from numpy import float16 as float16
from numpy import float32 as float32
from numpy import float64 as float64
from numpy import floating as floating
from numpy import half as half
from numpy import iinfo as iinfo
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import int16 as int16
from numpy import int32 as int32
from numpy import int64 as int64
from numpy import int8 as int8
from numpy import int_ as int_
from numpy import intc as intc
from numpy import integer as integer
from numpy import intp as intp
from numpy import long as long
from numpy import longlong as longlong
from numpy import ndindex as ndindex
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import promote_types as promote_types
from numpy import s_ as s_
from numpy import short as short
from numpy import signedinteger as signedinteger
from numpy import single as single
from numpy import testing as testing
from numpy import ubyte as ubyte
from numpy import uint as uint
from numpy import uint16 as uint16
from numpy import uint32 as uint32
from numpy import uint64 as uint64
from numpy import uint8 as uint8
from numpy import uintc as uintc
from numpy import uintp as uintp
from numpy import ulong as ulong
from numpy import ulonglong as ulonglong
from numpy import unsignedinteger as unsignedinteger
from numpy import ushort as ushort

from lucidgrad.numpy import fft as fft
from lucidgrad.numpy import linalg as linalg
from lucidgrad.numpy import random as random
from lucidgrad.numpy.objects import vectorize as vectorize
from lucidgrad.ops.sets import UniqueAll, UniqueCounts, UniqueInverse
from lucidgrad.tensor import Tensor
from lucidgrad.tensor import Tensor as ndarray
from lucidgrad.typing import Array, ArrayLike, Axes, DType, DTypeLike, Data, DeviceLike, Shape
from lucidgrad.typing import DType as dtype

__all__ = [
    "False_",
    "True_",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array",
    "array2string",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_split",
    "array_str",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "block",
    "bool",
    "bool_",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "byte",
    "c_",
    "can_cast",
    "cbrt",
    "cdouble",
    "ceil",
    "choose",
    "clip",
    "column_stack",
    "common_type",
    "complex128",
    "complex64",
    "complexfloating",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convolve",
    "copy",
    "copysign",
    "copyto",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "csingle",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "degrees",
    "delete",
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "divide",
    "divmod",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "ediff1d",
    "einsum",
    "einsum_path",
    "empty",
    "empty_like",
    "equal",
    "errstate",
    "euler_gamma",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fabs",
    "fft",
    "fill_diagonal",
    "finfo",
    "fix",
    "flatnonzero",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "float_power",
    "floating",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "from_dlpack",
    "frombuffer",
    "fromfunction",
    "fromiter",
    "full",
    "full_like",
    "gcd",
    "geomspace",
    "get_printoptions",
    "gradient",
    "greater",
    "greater_equal",
    "half",
    "hamming",
    "hanning",
    "heaviside",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "identity",
    "iinfo",
    "imag",
    "index_exp",
    "indices",
    "inexact",
    "inf",
    "inner",
    "insert",
    "int16",
    "int32",
    "int64",
    "int8",
    "int_",
    "intc",
    "integer",
    "interp",
    "intersect1d",
    "intp",
    "invert",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ix_",
    "kaiser",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "linalg",
    "linspace",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "long",
    "longlong",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "may_share_memory",
    "mean",
    "median",
    "meshgrid",
    "mgrid",
    "min",
    "min_scalar_type",
    "minimum",
    "mod",
    "modf",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
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
    "ndarray",
    "ndenumerate",
    "ndim",
    "ndindex",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "number",
    "ogrid",
    "ones",
    "ones_like",
    "outer",
    "packbits",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "printoptions",
    "prod",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "putmask",
    "quantile",
    "r_",
    "rad2deg",
    "radians",
    "random",
    "ravel",
    "ravel_multi_index",
    "real",
    "real_if_close",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "resize",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "round",
    "row_stack",
    "s_",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "searchsorted",
    "select",
    "set_printoptions",
    "setdiff1d",
    "setxor1d",
    "shape",
    "shares_memory",
    "short",
    "sign",
    "signbit",
    "signedinteger",
    "sin",
    "sinc",
    "single",
    "sinh",
    "size",
    "sort",
    "sort_complex",
    "spacing",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "testing",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_divide",
    "trunc",
    "ubyte",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unpackbits",
    "unravel_index",
    "unsignedinteger",
    "unstack",
    "unwrap",
    "ushort",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vectorize",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]

abs: _Ufunc1
absolute: _Ufunc1
acos: _Ufunc1
acosh: _Ufunc1
add: _Ufunc2
arccos: _Ufunc1
arccosh: _Ufunc1
arcsin: _Ufunc1
arcsinh: _Ufunc1
arctan: _Ufunc1
arctan2: _Ufunc2
arctanh: _Ufunc1
asin: _Ufunc1
asinh: _Ufunc1
atan: _Ufunc1
atan2: _Ufunc2
atanh: _Ufunc1
bitwise_and: _Ufunc2
bitwise_count: _Ufunc1
bitwise_invert: _Ufunc1
bitwise_left_shift: _Ufunc2
bitwise_not: _Ufunc1
bitwise_or: _Ufunc2
bitwise_right_shift: _Ufunc2
bitwise_xor: _Ufunc2
c_: _Joint
cbrt: _Ufunc1
ceil: _Ufunc1
conj: _Ufunc1
conjugate: _Ufunc1
copysign: _Ufunc2
cos: _Ufunc1
cosh: _Ufunc1
deg2rad: _Ufunc1
degrees: _Ufunc1
divide: _Ufunc2
divmod: _Ufunc2Pair
e: builtins.float
equal: _Ufunc2
euler_gamma: builtins.float
exp: _Ufunc1
exp2: _Ufunc1
expm1: _Ufunc1
fabs: _Ufunc1
float_power: _Ufunc2
floor: _Ufunc1
floor_divide: _Ufunc2
fmax: _Ufunc2
fmin: _Ufunc2
fmod: _Ufunc2
frexp: _Ufunc1Pair
gcd: _Ufunc2
greater: _Ufunc2
greater_equal: _Ufunc2
heaviside: _Ufunc2
hypot: _Ufunc2
inf: builtins.float
invert: _Ufunc1
isfinite: _Ufunc1
isinf: _Ufunc1
isnan: _Ufunc1
lcm: _Ufunc2
ldexp: _Ufunc2
left_shift: _Ufunc2
less: _Ufunc2
less_equal: _Ufunc2
log: _Ufunc1
log10: _Ufunc1
log1p: _Ufunc1
log2: _Ufunc1
logaddexp: _Ufunc2
logaddexp2: _Ufunc2
logical_and: _Ufunc2
logical_not: _Ufunc1
logical_or: _Ufunc2
logical_xor: _Ufunc2
matmul: _Ufunc2
matvec: _Ufunc2
maximum: _Ufunc2
mgrid: _Grid
minimum: _Ufunc2
mod: _Ufunc2
modf: _Ufunc1Pair
multiply: _Ufunc2
nan: builtins.float
negative: _Ufunc1
nextafter: _Ufunc2
not_equal: _Ufunc2
ogrid: _Grid
pi: builtins.float
positive: _Ufunc1
pow: _Ufunc2
power: _Ufunc2
r_: _Joint
rad2deg: _Ufunc1
radians: _Ufunc1
reciprocal: _Ufunc1
remainder: _Ufunc2
right_shift: _Ufunc2
rint: _Ufunc1
sign: _Ufunc1
signbit: _Ufunc1
sin: _Ufunc1
sinh: _Ufunc1
spacing: _Ufunc1
sqrt: _Ufunc1
square: _Ufunc1
subtract: _Ufunc2
tan: _Ufunc1
tanh: _Ufunc1
true_divide: _Ufunc2
trunc: _Ufunc1
vecdot: _Ufunc2
vecmat: _Ufunc2

@type_check_only
class _Ufunc(Protocol):
    __name__: str
    nin: int
    nout: int
    def reduce(
        self, array: Data, /, axis: Axes = 0, dtype: DTypeLike | None = None, *, keepdims: builtins.bool = False
    ) -> Tensor: ...
    def accumulate(self, array: Data, /, axis: int = 0, dtype: DTypeLike | None = None) -> Tensor: ...
    def outer(self, a: Data, b: Data, /) -> Tensor: ...

@type_check_only
class _Joint(Protocol):
    def __getitem__(self, key: object) -> Tensor: ...

@type_check_only
class _Grid(Protocol):
    def __getitem__(self, key: object) -> Any: ...

@type_check_only
class _Ufunc1(_Ufunc, Protocol):
    def __call__(self, x: Data, /, *, dtype: DTypeLike | None = None) -> Tensor: ...

@type_check_only
class _Ufunc2(_Ufunc, Protocol):
    def __call__(self, x1: Data, x2: Data, /, *, axis: int = ..., dtype: DTypeLike | None = None) -> Tensor: ...

@type_check_only
class _Ufunc1Pair(_Ufunc, Protocol):
    def __call__(self, x: Data, /, *, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor]: ...

@type_check_only
class _Ufunc2Pair(_Ufunc, Protocol):
    def __call__(self, x1: Data, x2: Data, /, *, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor]: ...

def all(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
) -> Tensor: ...
def allclose(
    a: Data,
    b: Data,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool: ...
def amax(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def amin(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def angle(z: Data, deg: int = False) -> Tensor: ...
def any(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
) -> Tensor: ...
def append(arr: Data, values: Data, axis: Axes = None) -> Tensor: ...
def apply_along_axis(func1d: Callable[..., Any], axis: Axes, arr: Data, *args: Data, **kwargs: Data) -> Tensor: ...
def apply_over_axes(func: Callable[..., Any], a: Data, axes: Axes) -> Tensor: ...
def arange(
    start_or_stop: Data,
    /,
    stop: Data | None = None,
    step: ArrayLike = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def argmax(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def argmin(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def argpartition(
    a: Data,
    kth: Data,
    axis: Axes = -1,
    kind: str = "introselect",
    order: str | None = None,
) -> Tensor: ...
def argsort(
    a: Data,
    axis: Axes = -1,
    kind: Data | None = None,
    order: str | None = None,
    *,
    stable: builtins.bool | None = None,
) -> Tensor: ...
def argwhere(a: Data) -> Tensor: ...
def around(a: Data, decimals: int = 0, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def array(
    object: Data,
    dtype: DTypeLike | None = None,
    *,
    copy: builtins.bool = True,
    order: str = "K",
    subok: Data = False,
    ndmin: int = 0,
    ndmax: Data = 0,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def array2string(a: Data, *args: Data, **options: Data) -> str: ...
def array_equal(a1: Data, a2: Data, equal_nan: builtins.bool = False) -> builtins.bool: ...
def array_equiv(a1: Data, a2: Data) -> builtins.bool: ...
def array_repr(a: Data, *args: Data, **options: Data) -> str: ...
def array_split(ary: Data, indices_or_sections: int | Sequence[int] | Tensor, axis: Axes = 0) -> list[Tensor]: ...
def array_str(a: Data, *args: Data, **options: Data) -> str: ...
def asanyarray(
    a: Data,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: DeviceLike | int | None = None,
    copy: builtins.bool | None = None,
    like: Data | None = None,
) -> Tensor: ...
def asarray(
    a: Data,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: DeviceLike | int | None = None,
    copy: builtins.bool | None = None,
    like: Data | None = None,
) -> Tensor: ...
def ascontiguousarray(a: Data, dtype: DTypeLike | None = None, *, like: Data | None = None) -> Tensor: ...
def astype(
    x: Data,
    dtype: DTypeLike | None,
    /,
    *,
    copy: builtins.bool = True,
    device: DeviceLike | int | None = None,
) -> Tensor: ...
@overload
def atleast_1d(tensor: Data, /) -> Tensor: ...
@overload
def atleast_1d(tensor: Data, second: Data, /, *more: Data) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensor: Data, /) -> Tensor: ...
@overload
def atleast_2d(tensor: Data, second: Data, /, *more: Data) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensor: Data, /) -> Tensor: ...
@overload
def atleast_3d(tensor: Data, second: Data, /, *more: Data) -> tuple[Tensor, ...]: ...
@overload
def average(
    a: Data,
    axis: Axes = None,
    weights: Data | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
@overload
def average(
    a: Data,
    axis: Axes = None,
    weights: Data | None = None,
    *,
    returned: Literal[True],
    keepdims: builtins.bool = ...,
) -> tuple[Tensor, Tensor]: ...
def bartlett(M: Data) -> Tensor: ...
def bincount(x: Data, /, weights: Data | None = None, minlength: int = 0) -> Tensor: ...
def blackman(M: Data) -> Tensor: ...
def block(arrays: Data) -> Tensor: ...
def broadcast_arrays(*args: Data, subok: Data = False) -> tuple[Tensor, ...]: ...
def broadcast_shapes(*args: Data) -> tuple[int, ...]: ...
def broadcast_to(array: Data, shape: Shape, subok: Data = False) -> Tensor: ...
def can_cast(from_: Data | DTypeLike, to: DTypeLike, casting: str = "safe") -> builtins.bool: ...
def choose(a: Data, choices: Data, out: Tensor | tuple[Tensor, ...] | None = None, mode: str = "raise") -> Tensor: ...
def clip(
    a: Data,
    a_min: Data | None = ...,
    a_max: Data | None = ...,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    min: ArrayLike = ...,
    max: ArrayLike = ...,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def column_stack(tup: Data) -> Tensor: ...
def common_type(*arrays: Data) -> type[Any]: ...
def compress(condition: Data, a: Data, axis: Axes = None, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def concat(
    arrays: Data,
    /,
    axis: Axes = 0,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Tensor: ...
def concatenate(
    arrays: Data,
    /,
    axis: Axes = 0,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Tensor: ...
def convolve(a: Data, v: Data, mode: str = "full") -> Tensor: ...
def copy(a: Data, order: str = "K", subok: Data = False) -> Tensor: ...
def copyto(dst: Data, src: Data, casting: str = "same_kind", where: Data = True) -> None: ...
def corrcoef(
    x: Data,
    y: Data | None = None,
    rowvar: builtins.bool = True,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def correlate(a: Data, v: Data, mode: str = "valid") -> Tensor: ...
def count_nonzero(a: Data, axis: Axes = None, *, keepdims: builtins.bool = False) -> Tensor: ...
def cov(
    m: Data,
    y: Data | None = None,
    rowvar: builtins.bool = True,
    bias: ArrayLike = False,
    ddof: float | None = None,
    fweights: Data | None = None,
    aweights: Data | None = None,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor: ...
def cross(a: Data, b: Data, axisa: Data = -1, axisb: Data = -1, axisc: Data = -1, axis: Axes = None) -> Tensor: ...
def cumprod(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def cumsum(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def cumulative_prod(
    x: Data,
    /,
    *,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    include_initial: Data = False,
) -> Tensor: ...
def cumulative_sum(
    x: Data,
    /,
    *,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    include_initial: Data = False,
) -> Tensor: ...
def delete(arr: Data, obj: object, axis: Axes = None) -> Tensor: ...
def diag(v: Data, k: int = 0) -> Tensor: ...
def diag_indices(n: Data, ndim: Data = 2) -> tuple[Tensor, ...]: ...
def diag_indices_from(arr: Data) -> tuple[Tensor, ...]: ...
def diagflat(v: Data, k: int = 0) -> Tensor: ...
def diagonal(a: Data, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor: ...
def diff(a: Data, n: Data = 1, axis: Axes = -1, prepend: Data = ..., append: Data = ...) -> Tensor: ...
def digitize(
    x: Data,
    bins: ArrayLike | Sequence[float] | Sequence[int] | Sequence[Tensor] | str,
    right: builtins.bool = False,
) -> Tensor: ...
def dot(a: Data, b: Data, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def dsplit(ary: Data, indices_or_sections: int | Sequence[int] | Tensor) -> list[Tensor]: ...
def dstack(tup: Data) -> Tensor: ...
def ediff1d(ary: Data, to_end: Data | None = None, to_begin: Data | None = None) -> Tensor: ...
@overload
def einsum(subscripts: str, /, *operands: Data, optimize: builtins.bool | str | Sequence[object] = False) -> Tensor: ...
@overload
def einsum(
    operand: Data,
    sublist: Sequence[object],
    /,
    *more: Data | Sequence[object],
    optimize: builtins.bool | str | Sequence[object] = False,
) -> Tensor: ...
def einsum_path(
    subscripts: str,
    /,
    *operands: Data,
    optimize: builtins.bool | str | Sequence[object] = "greedy",
) -> tuple[Any, str]: ...
def empty(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def empty_like(
    prototype: Data,
    /,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: Data = True,
    shape: Shape | None = None,
    *,
    device: DeviceLike | int | None = None,
) -> Tensor: ...
def expand_dims(a: Data, axis: Axes) -> Tensor: ...
def extract(condition: Data, arr: Data) -> Tensor: ...
def eye(
    N: int,
    M: Data | None = None,
    k: int = 0,
    dtype: DTypeLike | None = ...,
    order: str = "C",
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def fill_diagonal(a: Data, val: Data, wrap: Data = False) -> None: ...
def fix(x: Data, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def flatnonzero(a: Data) -> Tensor: ...
def flip(m: Data, axis: Axes = None) -> Tensor: ...
def fliplr(m: Data) -> Tensor: ...
def flipud(m: Data) -> Tensor: ...
def from_dlpack(x: Data, /, *, device: DeviceLike | int | None = None, copy: builtins.bool | None = None) -> Tensor: ...
def frombuffer(
    buffer: bytearray | bytes | memoryview,
    dtype: DTypeLike | None = None,
    count: int = -1,
    offset: int = 0,
    *,
    like: Data | None = None,
) -> Tensor: ...
def fromfunction(
    function: Data,
    shape: Shape,
    *,
    dtype: DTypeLike | None = ...,
    like: Data | None = None,
    **kwargs: Data,
) -> Tensor: ...
def fromiter(iter: Data, dtype: DTypeLike | None, count: int = -1, *, like: Data | None = None) -> Tensor: ...
def full(
    shape: Shape,
    fill_value: Data,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def full_like(
    a: Data,
    fill_value: Data,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: Data = True,
    shape: Shape | None = None,
    *,
    device: DeviceLike | int | None = None,
) -> Tensor: ...
def geomspace(
    start: ArrayLike,
    stop: Data,
    num: Data = 50,
    endpoint: Data = True,
    dtype: DTypeLike | None = None,
    axis: Axes = 0,
) -> Tensor: ...
def get_printoptions() -> Tensor: ...
def gradient(f: Data, *varargs: Data, axis: Axes = None, edge_order: int = 1) -> Any: ...
def hamming(M: Data) -> Tensor: ...
def hanning(M: Data) -> Tensor: ...
def histogram(
    a: Data,
    bins: ArrayLike | Sequence[float] | Sequence[int] | Sequence[Tensor] | str = 10,
    range: tuple[float, float] | None = None,
    density: builtins.bool | None = None,
    weights: Data | None = None,
) -> tuple[Tensor, Tensor]: ...
def histogram2d(
    x: Data,
    y: Data,
    bins: ArrayLike | Sequence[float] | Sequence[int] | Sequence[Tensor] | str = 10,
    range: tuple[float, float] | None = None,
    density: builtins.bool | None = None,
    weights: Data | None = None,
) -> tuple[Tensor, Tensor, Tensor]: ...
def histogram_bin_edges(
    a: Data,
    bins: ArrayLike | Sequence[float] | Sequence[int] | Sequence[Tensor] | str = 10,
    range: tuple[float, float] | None = None,
    weights: Data | None = None,
) -> Tensor: ...
def histogramdd(
    sample: Data,
    bins: ArrayLike | Sequence[float] | Sequence[int] | Sequence[Tensor] | str = 10,
    range: Sequence[tuple[float, float] | None] | None = None,
    density: builtins.bool | None = None,
    weights: Data | None = None,
) -> tuple[Tensor, Any]: ...
def hsplit(ary: Data, indices_or_sections: int | Sequence[int] | Tensor) -> list[Tensor]: ...
def hstack(tup: Data, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tensor: ...
def i0(x: Data) -> Tensor: ...
def identity(
    n: Data,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def imag(val: Data) -> Tensor: ...
def indices(dimensions: Data, dtype: DTypeLike | None = ..., sparse: builtins.bool = False) -> Tensor: ...
def inner(a: Data, b: Data, /) -> Tensor: ...
def insert(arr: Data, obj: object, values: Data, axis: Axes = None) -> Tensor: ...
def interp(
    x: Data,
    xp: Data,
    fp: Data,
    left: float | None = None,
    right: float | None = None,
    period: Data | None = None,
) -> Tensor: ...
@overload
def intersect1d(
    ar1: Data,
    ar2: Data,
    assume_unique: builtins.bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
@overload
def intersect1d(
    ar1: Data,
    ar2: Data,
    assume_unique: builtins.bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor, Tensor]: ...
def isclose(a: Data, b: Data, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: builtins.bool = False) -> Tensor: ...
def iscomplex(x: Data) -> Tensor: ...
def iscomplexobj(x: Data) -> builtins.bool: ...
def isdtype(dtype: DTypeLike | None, kind: Data) -> Tensor: ...
def isin(
    element: Data,
    test_elements: Data,
    assume_unique: builtins.bool = False,
    invert: builtins.bool = False,
    *,
    kind: Data | None = None,
) -> Tensor: ...
def isneginf(x: Data, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def isposinf(x: Data, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def isreal(x: Data) -> Tensor: ...
def isrealobj(x: Data) -> builtins.bool: ...
def isscalar(element: Data) -> Tensor: ...
def issubdtype(arg1: Data, arg2: Data) -> Tensor: ...
def iterable(y: Data) -> Tensor: ...
def ix_(*args: Data) -> tuple[Tensor, ...]: ...
def kaiser(M: Data, beta: Data) -> Tensor: ...
def kron(a: Data, b: Data) -> Tensor: ...
def lexsort(keys: Data, axis: Axes = -1) -> Tensor: ...
@overload
def linspace(
    start: ArrayLike,
    stop: Data,
    num: Data = 50,
    endpoint: Data = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: Axes = 0,
    *,
    device: DeviceLike | int | None = None,
) -> Tensor: ...
@overload
def linspace(
    start: ArrayLike,
    stop: Data,
    num: Data = 50,
    endpoint: Data = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: Axes = 0,
    device: DeviceLike | int | None = None,
) -> tuple[Tensor, Tensor]: ...
def logspace(
    start: ArrayLike,
    stop: Data,
    num: Data = 50,
    endpoint: Data = True,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
    axis: Axes = 0,
) -> Tensor: ...
def matrix_transpose(x: Data, /) -> Tensor: ...
def max(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def may_share_memory(a: Data, b: Data, /, max_work: Data = 0) -> builtins.bool: ...
def mean(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
) -> Tensor: ...
def median(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    overwrite_input: Data = False,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def meshgrid(
    *xi: Data,
    copy: builtins.bool = True,
    sparse: builtins.bool = False,
    indexing: str = "xy",
) -> tuple[Tensor, ...]: ...
def min(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def min_scalar_type(a: Data, /) -> DType: ...
def moveaxis(a: Data, source: Data, destination: Data) -> Tensor: ...
def nan_to_num(
    x: Data,
    copy: builtins.bool = True,
    nan: Data = 0.0,
    posinf: Data | None = None,
    neginf: Data | None = None,
) -> Tensor: ...
def nanargmax(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def nanargmin(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def nancumprod(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def nancumsum(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def nanmax(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def nanmean(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
) -> Tensor: ...
def nanmedian(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    overwrite_input: Data = False,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def nanmin(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def nanpercentile(
    a: Data,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    overwrite_input: Data = False,
    method: str = "linear",
    keepdims: builtins.bool = ...,
    *,
    weights: Data | None = None,
) -> Tensor: ...
def nanprod(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def nanquantile(
    a: Data,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    overwrite_input: Data = False,
    method: str = "linear",
    keepdims: builtins.bool = ...,
    *,
    weights: Data | None = None,
) -> Tensor: ...
def nanstd(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    ddof: float = 0,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
    mean: Data = ...,
    correction: float = ...,
) -> Tensor: ...
def nansum(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def nanvar(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    ddof: float = 0,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
    mean: Data = ...,
    correction: float = ...,
) -> Tensor: ...
def ndenumerate(arr: Data) -> Tensor: ...
def ndim(a: Data) -> int: ...
def nonzero(a: Data) -> tuple[Tensor, ...]: ...
def ones(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def ones_like(
    a: Data,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: Data = True,
    shape: Shape | None = None,
    *,
    device: DeviceLike | int | None = None,
) -> Tensor: ...
def outer(a: Data, b: Data, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def packbits(a: Data, /, axis: Axes = None, bitorder: str = "big") -> Tensor: ...
def pad(
    array: Data,
    pad_width: Data | dict[int, int | tuple[int, int]],
    mode: str = "constant",
    **kwargs: Data,
) -> Tensor: ...
def partition(a: Data, kth: Data, axis: Axes = -1, kind: str = "introselect", order: str | None = None) -> Tensor: ...
def percentile(
    a: Data,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    overwrite_input: Data = False,
    method: str = "linear",
    keepdims: builtins.bool = ...,
    *,
    weights: Data | None = None,
) -> Tensor: ...
def permute_dims(a: Data, axes: Axes = None) -> Tensor: ...
def piecewise(
    x: Data,
    condlist: Data,
    funclist: Sequence[Callable[..., Any] | float],
    *args: Data,
    **kw: Data,
) -> Tensor: ...
def place(arr: Data, mask: Data, vals: Data) -> None: ...
def poly(seq_of_zeros: Data) -> Tensor: ...
def polyadd(a1: Data, a2: Data) -> Tensor: ...
def polyder(p: ArrayLike, m: Data = 1) -> Tensor: ...
def polydiv(u: Data, v: Data) -> tuple[Tensor, Tensor]: ...
@overload
def polyfit(
    x: Data,
    y: Data,
    deg: int,
    rcond: Data | None = None,
    full: Literal[False] = False,
    w: Data | None = None,
    cov: Literal[False] = False,
) -> Tensor: ...
@overload
def polyfit(
    x: Data,
    y: Data,
    deg: int,
    rcond: Data | None = None,
    *,
    full: Literal[True],
    w: Data | None = None,
    cov: Data = False,
) -> tuple[Any, ...]: ...
@overload
def polyfit(
    x: Data,
    y: Data,
    deg: int,
    rcond: Data | None = None,
    full: builtins.bool = False,
    w: Data | None = None,
    *,
    cov: Literal[True],
) -> tuple[Any, ...]: ...
def polyint(p: ArrayLike, m: Data = 1, k: Data | None = None) -> Tensor: ...
def polymul(a1: Data, a2: Data) -> Tensor: ...
def polysub(a1: Data, a2: Data) -> Tensor: ...
def polyval(p: ArrayLike, x: Data) -> Tensor: ...
def printoptions(*args: Data, **kwargs: Data) -> Tensor: ...
def prod(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def ptp(
    a: Data,
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
) -> Tensor: ...
def put(a: Data, ind: Data, v: Data, mode: str = "raise") -> None: ...
def put_along_axis(
    arr: Data,
    indices: ArrayLike | Sequence[int] | Sequence[Sequence[int]],
    values: Data,
    axis: Axes,
) -> None: ...
def putmask(a: Data, /, mask: Data, values: Data) -> None: ...
def quantile(
    a: Data,
    q: ArrayLike | Sequence[float],
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    overwrite_input: Data = False,
    method: str = "linear",
    keepdims: builtins.bool = ...,
    *,
    weights: Data | None = None,
) -> Tensor: ...
def ravel(a: Data, order: str = "C") -> Tensor: ...
def ravel_multi_index(
    multi_index: Data,
    dims: int | Sequence[int] | Sequence[Sequence[int]] | Tensor,
    mode: str = "raise",
    order: str = "C",
) -> Tensor: ...
def real(val: Data) -> Tensor: ...
def real_if_close(a: Data, tol: Data = 100) -> Tensor: ...
def repeat(a: Data, repeats: int | Sequence[int] | Array, axis: Axes = None) -> Tensor: ...
def reshape(a: Data, /, shape: Shape, order: str = "C", *, copy: builtins.bool | None = None) -> Tensor: ...
def resize(a: Data, new_shape: Data) -> Tensor: ...
def result_type(*arrays_and_dtypes: Data) -> DType: ...
def roll(a: Data, shift: Data, axis: Axes = None) -> Tensor: ...
def rollaxis(a: Data, axis: Axes, start: ArrayLike = 0) -> Tensor: ...
def roots(p: ArrayLike) -> Tensor: ...
def rot90(m: Data, k: int = 1, axes: Axes = (0, 1)) -> Tensor: ...
def round(a: Data, decimals: int = 0, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor: ...
def row_stack(tup: Data, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tensor: ...
def save(file: Data, *args: Data, **options: Data) -> None: ...
def savetxt(file: Data, *args: Data, **options: Data) -> None: ...
def savez(file: Data, *args: Data, **options: Data) -> None: ...
def savez_compressed(file: Data, *args: Data, **options: Data) -> None: ...
def searchsorted(a: Data, v: Data, side: str = "left", sorter: Data | None = None) -> Tensor: ...
def select(condlist: Data, choicelist: Data, default: Data = 0) -> Tensor: ...
def set_printoptions(
    precision: Data | None = None,
    threshold: Data | None = None,
    edgeitems: Data | None = None,
    linewidth: Data | None = None,
    suppress: Data | None = None,
    nanstr: Data | None = None,
    infstr: Data | None = None,
    formatter: Data | None = None,
    sign: Data | None = None,
    floatmode: Data | None = None,
    *,
    legacy: Data | None = None,
    override_repr: Data | None = None,
) -> Tensor: ...
def setdiff1d(ar1: Data, ar2: Data, assume_unique: builtins.bool = False) -> Tensor: ...
def setxor1d(ar1: Data, ar2: Data, assume_unique: builtins.bool = False) -> Tensor: ...
def shape(a: Data) -> tuple[int, ...]: ...
def shares_memory(a: Data, b: Data, /, max_work: Data = -1) -> builtins.bool: ...
def sinc(x: Data) -> Tensor: ...
def size(a: Data, axis: Axes = None) -> int: ...
def sort(
    a: Data,
    axis: Axes = -1,
    kind: Data | None = None,
    order: str | None = None,
    *,
    stable: builtins.bool | None = None,
) -> Tensor: ...
def sort_complex(a: Data) -> Tensor: ...
def split(ary: Data, indices_or_sections: int | Sequence[int] | Tensor, axis: Axes = 0) -> list[Tensor]: ...
def squeeze(a: Data, axis: Axes = None) -> Tensor: ...
def stack(
    arrays: Data,
    axis: Axes = 0,
    out: Tensor | tuple[Tensor, ...] | None = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Tensor: ...
def std(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    ddof: float = 0,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
    mean: Data = ...,
    correction: float = ...,
) -> Tensor: ...
def sum(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    keepdims: builtins.bool = ...,
    initial: Data = ...,
    where: Data = ...,
) -> Tensor: ...
def swapaxes(a: Data, axis1: int, axis2: int) -> Tensor: ...
def take(
    a: Data,
    indices: ArrayLike | Sequence[int] | Sequence[Sequence[int]],
    axis: Axes = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    mode: str = "raise",
) -> Tensor: ...
def take_along_axis(
    arr: Data,
    indices: ArrayLike | Sequence[int] | Sequence[Sequence[int]],
    axis: Axes = -1,
) -> Tensor: ...
def tensordot(a: Data, b: Data, axes: int | Sequence[int] | Sequence[Sequence[int]] = 2) -> Tensor: ...
def tile(A: ArrayLike, reps: Data) -> Tensor: ...
def trace(
    a: Data,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor: ...
def transpose(a: Data, axes: Axes = None) -> Tensor: ...
def trapezoid(y: Data, x: Data | None = None, dx: ArrayLike = 1.0, axis: Axes = -1) -> Tensor: ...
def tri(
    N: int,
    M: Data | None = None,
    k: int = 0,
    dtype: DTypeLike | None = ...,
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def tril(m: Data, k: int = 0) -> Tensor: ...
def tril_indices(n: Data, k: int = 0, m: Data | None = None) -> tuple[Tensor, ...]: ...
def tril_indices_from(arr: Data, k: int = 0) -> tuple[Tensor, ...]: ...
def trim_zeros(filt: Data, trim: str = "fb", axis: Axes = None) -> Tensor: ...
def triu(m: Data, k: int = 0) -> Tensor: ...
def triu_indices(n: Data, k: int = 0, m: Data | None = None) -> tuple[Tensor, ...]: ...
def triu_indices_from(arr: Data, k: int = 0) -> tuple[Tensor, ...]: ...
def union1d(ar1: Data, ar2: Data) -> Tensor: ...
@overload
def unique(
    ar: Data,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: Axes = None,
    *,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> Tensor: ...
@overload
def unique(
    ar: Data,
    *,
    return_index: Literal[True],
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: Axes = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    ar: Data,
    return_index: builtins.bool = False,
    *,
    return_inverse: Literal[True],
    return_counts: builtins.bool = False,
    axis: Axes = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
@overload
def unique(
    ar: Data,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    *,
    return_counts: Literal[True],
    axis: Axes = None,
    equal_nan: builtins.bool = True,
    sorted: builtins.bool = True,
) -> tuple[Tensor, ...]: ...
def unique_all(x: Data) -> UniqueAll: ...
def unique_counts(x: Data) -> UniqueCounts: ...
def unique_inverse(x: Data) -> UniqueInverse: ...
def unique_values(x: Data) -> Tensor: ...
def unpackbits(a: Data, /, axis: Axes = None, count: int | None = None, bitorder: str = "big") -> Tensor: ...
def unravel_index(
    indices: ArrayLike | Sequence[int] | Sequence[Sequence[int]],
    shape: Shape,
    order: str = "C",
) -> tuple[Tensor, ...]: ...
def unstack(x: Data, /, *, axis: Axes = 0) -> tuple[Tensor, ...]: ...
def unwrap(
    p: ArrayLike,
    discont: Data | None = None,
    axis: Axes = -1,
    *,
    period: Data = 6.283185307179586,
) -> Tensor: ...
def vander(x: Data, N: int | None = None, increasing: builtins.bool = False) -> Tensor: ...
def var(
    a: Data,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
    ddof: float = 0,
    keepdims: builtins.bool = ...,
    *,
    where: Data = ...,
    mean: Data = ...,
    correction: float = ...,
) -> Tensor: ...
def vdot(a: Data, b: Data, /) -> Tensor: ...
def vsplit(ary: Data, indices_or_sections: int | Sequence[int] | Tensor) -> list[Tensor]: ...
def vstack(tup: Data, *, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tensor: ...
@overload
def where(condition: Data, x: Data, y: Data, /) -> Tensor: ...
@overload
def where(condition: Data, /) -> tuple[Tensor, ...]: ...
def zeros(
    shape: Shape,
    dtype: DTypeLike | None = None,
    order: str = "C",
    *,
    device: DeviceLike | int | None = None,
    like: Data | None = None,
) -> Tensor: ...
def zeros_like(
    a: Data,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: Data = True,
    shape: Shape | None = None,
    *,
    device: DeviceLike | int | None = None,
) -> Tensor: ...
