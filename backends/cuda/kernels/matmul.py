"""Products of matrices: one call of cuBLAS each.

A product is planned from shapes and strides alone: transposed operands are flags, a batch is a stride (0 where it
broadcasts), and the rows of many matrices are those of one where the other operand has no batch. Nothing is copied
that cuBLAS can address.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy._core._routines_linalg import COMPUTE_TYPE_DEFAULT, get_compute_type
from cupy.cuda import get_current_stream, runtime
from cupy.cuda.device import get_cublas_handle
from cupy_backends.cuda.libs import cublas

from lucidgrad.backends.cuda import recording
from lucidgrad.backends.cuda.compiling import contiguous, launch, program_of
from lucidgrad.backends.cuda.streams import is_recorded, place_now
from lucidgrad.determinism import get_float32_matmul_precision

Axes = list[tuple[int, int, int]]  # of a batch: size, and the strides of both operands
_MOST = 2**31 - 1  # cuBLAS counts in int


# -- plans ---------------------------------------------------------------------------------------
class Copy(NamedTuple):
    """These operands have to be copied first: as matrices, or with their whole batch."""

    which: tuple[bool, bool]
    batch: tuple[int, ...] | None


class Gemm(NamedTuple):
    """Arguments of cuBLAS, whose matrices are columns first: it computes ``yᵀ = x2ᵀ x1ᵀ``. Strides are in elements."""

    shape: tuple[int, ...]
    sizes: tuple[int, int, int]  # columns, rows, and what is summed
    flags: tuple[int, int]  # of x2 and x1
    leading: tuple[int, int, int]  # of x2, x1 and y
    batch: tuple[int, int, int, int]  # how many; strides of x2, x1 and y
    outer: tuple[int, int, int, int]  # the same for a batch of batches


@functools.lru_cache(maxsize=4096)
def plan(
    shape1: tuple[int, ...],
    strides1: tuple[int, ...],
    shape2: tuple[int, ...],
    strides2: tuple[int, ...],
    size: int,
    tables: bool,
) -> Gemm | Copy | None:
    """How to multiply arrays of elements of a size in bytes; None: as CuPy does, which also raises.

    tables: where matrices lie can be given one by one.
    """
    vector1, vector2 = len(shape1) == 1, len(shape2) == 1
    if not shape1 or not shape2 or (vector1 and vector2) or any(s % size for s in (*strides1, *strides2)):
        return None
    if vector1:
        shape1, strides1 = (1, *shape1), (0, *strides1)
    if vector2:
        shape2, strides2 = (*shape2, 1), (*strides2, 0)
    (*lead1, m, k), (*lead2, inner, n) = shape1, shape2
    try:
        batch = np.broadcast_shapes(tuple(lead1), tuple(lead2))
    except ValueError:
        return None
    if inner != k or 0 in (*batch, m, n, k):
        return None
    shape = (*batch, *(() if vector1 else (m,)), *(() if vector2 else (n,)))
    *steps1, row1, column1 = (s // size for s in strides1)
    *steps2, row2, column2 = (s // size for s in strides2)
    axes = _merged(batch, _batch_strides(lead1, steps1, len(batch)), _batch_strides(lead2, steps2, len(batch)))
    while axes and axes[-1][2] == 0 and (m == 1 or axes[-1][1] == row1 * m):  # all rows in one product
        many, step, _ = axes.pop()
        row1, m = row1 if m > 1 else step, m * many
    if len(axes) > 2 or (len(axes) == 2 and not tables and axes[0][0] > 2):
        return Copy(_scattered(axes), batch)
    first, second = _layout(m, k, row1, column1), _layout(k, n, row2, column2)
    if first is None or second is None:
        return Copy((first is None, second is None), None)
    (flag1, leading1), (flag2, leading2) = first, second
    if max(m, n, k, leading1, leading2, *(many for many, *_ in axes)) > _MOST:
        return None
    strides, one = [], m * n
    for many, step1, step2 in reversed(axes):
        strides.append((many, step2, step1, one))
        one *= many
    strides += [(1, 0, 0, 0)] * (2 - len(strides))
    return Gemm(shape, (n, m, k), (flag2, flag1), (leading2, leading1, n), strides[0], strides[1])


def _batch_strides(lead: Sequence[int], steps: Sequence[int], rank: int) -> list[int]:
    """The strides of an operand along the axes of the whole batch."""
    return [0] * (rank - len(lead)) + [0 if many == 1 else step for many, step in zip(lead, steps, strict=True)]


def _merged(batch: Sequence[int], steps1: Sequence[int], steps2: Sequence[int]) -> Axes:
    """The axes of a batch, neighbours made one where a single stride goes through both."""
    axes: Axes = []
    for many, step1, step2 in zip(batch, steps1, steps2, strict=True):
        if many == 1:
            continue
        if axes and axes[-1][1] == step1 * many and axes[-1][2] == step2 * many:
            axes[-1] = (axes[-1][0] * many, step1, step2)
        else:
            axes.append((many, step1, step2))
    return axes


def _scattered(axes: Axes) -> tuple[bool, bool]:
    """Whether one stride does not go through the batch of an operand."""
    pairs = list(itertools.pairwise(axes))
    one, two = (any(outer[i] != inner[i] * inner[0] for outer, inner in pairs) for i in (1, 2))
    return one, two


def _layout(rows: int, columns: int, row: int, column: int) -> tuple[int, int] | None:
    """The flag and the leading dimension of a matrix with these strides; None: cuBLAS cannot address it."""
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return cublas.CUBLAS_OP_N, row if rows > 1 else columns
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return cublas.CUBLAS_OP_T, column if columns > 1 else rows
    return None


# -- calls ---------------------------------------------------------------------------------------
class _Type:
    """What cuBLAS wants to know of a dtype: single precision is exact, and what half precision adds up in."""

    def __init__(
        self, number: int, compute: int, scale: str, batched: Callable[..., Any] | None, tensors: bool = False
    ) -> None:
        self.number, self.exact, self.batched, self.tensors = number, compute, batched, tensors
        self.scalars = np.asarray([1, 0], scale)  # host memory, which must last
        self.one = self.scalars.ctypes.data
        self.zero = self.one + self.scalars.itemsize

    @property
    def compute(self) -> int:
        """What is computed with: single precision may be rounded for tensor cores."""
        if not self.tensors:
            return self.exact
        return int(_TENSORS.get(get_float32_matmul_precision(), self.exact))


_FLOAT = np.dtype("float32")
_SINGLE, _DOUBLE = cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_COMPUTE_64F
#: What factors of float32 are rounded to, where that is allowed.
_TENSORS = {"high": cublas.CUBLAS_COMPUTE_32F_FAST_TF32, "medium": cublas.CUBLAS_COMPUTE_32F_FAST_16BF}
_SINGLE_NUMBER, _ALGORITHM = runtime.CUDA_R_32F, cublas.CUBLAS_GEMM_DEFAULT
_TF32 = 3  # cuBLAS's mode in which its older functions use tensor cores
TYPES = {
    np.dtype("float16"): _Type(runtime.CUDA_R_16F, _SINGLE, "float32", None),
    np.dtype("float32"): _Type(runtime.CUDA_R_32F, _SINGLE, "float32", cublas.sgemmBatched, tensors=True),
    np.dtype("float64"): _Type(runtime.CUDA_R_64F, _DOUBLE, "float64", cublas.dgemmBatched),
    np.dtype("complex64"): _Type(runtime.CUDA_C_32F, _SINGLE, "complex64", cublas.cgemmBatched, tensors=True),
    np.dtype("complex128"): _Type(runtime.CUDA_C_64F, _DOUBLE, "complex128", cublas.zgemmBatched),
}


#: Factors of float32 that have 11 bits, or are rounded to these: tensor cores multiply them.
NARROW = _Type(runtime.CUDA_R_32F, cublas.CUBLAS_COMPUTE_32F_FAST_TF32, "float32", cublas.sgemmBatched)


def brain_type() -> _Type:
    """What cuBLAS wants to know of bfloat16, which is added up in single precision."""
    return _Type(14, _SINGLE, "float32", None)  # CUDA_R_16BF, which CuPy has no name for


def matmul(
    x1: Any, x2: Any, /, single: bool = False, onto: Any = None, out: Any = None, how: _Type | None = None
) -> Any:
    """A product of matrices; of 16 bits it may be given in float32, in which it is added up.

    onto, out: an array of the product's shape, in order in memory, to which it is added or written. how: as which type
    cuBLAS multiplies, if not as that of the dtype.
    """
    dtype = x1.dtype
    how = TYPES.get(dtype) if how is None else how
    if how is None or x2.dtype != dtype or get_compute_type(dtype) != COMPUTE_TYPE_DEFAULT:
        return _by_cupy(x1, x2, single, onto, out)
    size, tables = dtype.itemsize, how.batched is not None
    made = plan(x1.shape, x1.strides, x2.shape, x2.strides, size, tables)
    if type(made) is Copy:
        x1, x2 = (_copied(x, made.batch) if copy else x for x, copy in zip((x1, x2), made.which, strict=True))
        made = plan(x1.shape, x1.strides, x2.shape, x2.strides, size, tables)
    if type(made) is not Gemm:
        return _by_cupy(x1, x2, single, onto, out)
    y, added = out if onto is None else onto, onto is not None
    if y is None:
        y = cupy.ndarray(made.shape, _FLOAT if single else dtype)
    handle, places = get_cublas_handle(), (x2.data.ptr, x1.data.ptr, y.data.ptr)
    many = made.outer[0]
    if many == 1:
        multiply(handle, how, made, places, single, added)
        return y
    if tables:
        _multiply_scattered(handle, how, made, places, size, added)
    else:
        steps = [step * n for step, n in zip(made.outer[1:], (size, size, y.itemsize), strict=True)]
        for k in range(many):
            at = tuple(place + k * step for place, step in zip(places, steps, strict=True))
            multiply(handle, how, made, at, single, added)
    return y


def affine(x: Any, w: Any, b: Any, /) -> Any:
    """A product onto memory that is filled with the bias: added up with it, and rounded once."""
    fits = x.ndim and w.ndim == 2 and b.shape == w.shape[:1] and x.shape[-1] == w.shape[1]
    if not fits or not x.dtype == w.dtype == b.dtype or x.dtype not in TYPES:
        return program_of("affine")(x, w, b)
    y = cupy.empty((*x.shape[:-1], w.shape[0]), x.dtype)
    y[...] = b
    return matmul(x, w.T, onto=y) if y.size else y


def _by_cupy(x1: Any, x2: Any, single: bool, onto: Any = None, out: Any = None) -> Any:
    """CuPy's product, which multiplies vectors of float16 in 16 bits."""
    if out is not None:
        out[...] = _by_cupy(x1, x2, single)
        return out
    if onto is not None:
        onto += _by_cupy(x1, x2, single)
        return onto
    if not single and x1.dtype.char == x2.dtype.char and x1.dtype.char in "eE":
        return _by_cupy(x1, x2, single=True).astype(x1.dtype)
    if single:
        x1, x2 = x1.astype(_FLOAT), x2.astype(_FLOAT)
    try:
        return cupy.matmul(x1, x2)
    except RuntimeError:  # CuPy's on a stream that is recorded, where vectors are matrices
        if x1.ndim != 1 or x2.ndim != 1 or not is_recorded(get_current_stream()):
            raise
        return matmul(x1[None], x2[:, None]).reshape(())


def multiply(
    handle: int, how: _Type, made: Gemm, places: tuple[int, ...], single: bool = False, added: bool = False
) -> None:
    """A product as planned, of x2 and x1 at these places; it is written, or added, to the third."""
    at2, at1, at = places
    leading2, leading1, leading = made.leading
    number, one = how.number, how.one
    made_of, beta = _SINGLE_NUMBER if single else number, one if added else how.zero
    many, step2, step1, step = made.batch
    if many == 1:
        recording.call(
            cublas.gemmEx, handle, *made.flags, *made.sizes, one, at2, number, leading2, at1, number, leading1, beta,
            at, made_of, leading, how.compute if how.tensors else how.exact, _ALGORITHM,
        )  # fmt: skip
    else:
        recording.call(
            cublas.gemmStridedBatchedEx, handle, *made.flags, *made.sizes, one, at2, number, leading2, step2, at1,
            number, leading1, step1, beta, at, made_of, leading, step, many, how.compute, _ALGORITHM,
        )  # fmt: skip


def _multiply_scattered(handle: int, how: _Type, made: Gemm, places: tuple[int, ...], size: int, added: bool) -> None:
    """Two strides for a batch: a table says where every matrix lies."""
    (flag2, flag1), (n, m, k), (leading2, leading1, leading) = made.flags, made.sizes, made.leading
    many = made.outer[0] * made.batch[0]
    made_of = (*places, made.batch[0], *(s * size for s in made.outer[1:]), *(s * size for s in made.batch[1:]), many)
    where = _table(made_of)
    at2 = where.data.ptr
    at1, at, beta = at2 + 8 * many, at2 + 16 * many, how.one if added else how.zero
    rounded = how.compute in _TENSORS.values()
    if rounded:
        cublas.setMathMode(handle, _TF32)
    try:
        recording.call(
            how.batched,  # type: ignore[arg-type]
            *(handle, flag2, flag1, n, m, k, how.one, at2, leading2, at1, leading1, beta, at, leading, many),
        )
    finally:
        if rounded:
            cublas.setMathMode(handle, 0)


_ADDRESSES = cupy.RawKernel(
    r"""
typedef long long I;
extern "C" __global__ void __launch_bounds__(256, 1) addresses(
    I *table, I place2, I place1, I place, I inner, I far2, I far1, I far, I near2, I near1, I near, I count) {
    const I e = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= count) return;
    const I a = e / inner, b = e % inner;
    table[e] = place2 + a * far2 + b * near2;
    table[count + e] = place1 + a * far1 + b * near1;
    table[2 * count + e] = place + a * far + b * near;
}
""",
    "addresses",
)
_TABLES: dict[tuple[Any, ...], Any] = {}
_MOST_TABLES, _LONGEST = 256, 4096  # that are kept: 24 MB at most


def _table(made_of: tuple[int, ...]) -> Any:
    """Addresses of matrices in device memory. Steps that repeat find their memory, and so a table, again.

    It is written and read on one stream, which lives as long: its number is not given to another. What is only
    recorded, for a graph, has written none.
    """
    here = place_now(runtime.getDevice())
    recorded = is_recorded(here.stream)
    key = (here, *made_of)
    found = None if recorded else _TABLES.get(key)
    if found is None:
        found = cupy.ndarray((3 * made_of[-1],), "int64")
        launch(_ADDRESSES, made_of[-1], found, *made_of)
        if not recorded and made_of[-1] <= _LONGEST:
            if len(_TABLES) >= _MOST_TABLES:
                _TABLES.clear()
            _TABLES[key] = found
    return found


def _copied(x: Any, batch: tuple[int, ...] | None) -> Any:
    """An operand with its memory in order: all of a batch, or its own matrices, which are repeated as before."""
    if batch is not None:
        return contiguous(cupy.broadcast_to(x, (*batch, *x.shape[-2:])))[0]
    once = x[tuple(slice(1) if step == 0 else slice(None) for step in x.strides[:-2])]
    return cupy.broadcast_to(contiguous(once)[0], x.shape)


TABLE: dict[str, Callable[..., Any]] = {"matmul": matmul, "affine": affine}
