"""NumPy kernels for products and decompositions: BLAS on views where there can be one, LAPACK as NumPy calls it."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import blas, memory
from lucidgrad.core.device import by_array
from lucidgrad.core.primitive import registry

from . import SMALL
from .halves import HALF

LinAlgError = np.linalg.LinAlgError


# -- matmul --------------------------------------------------------------------------------------
def matmul(x1: Any, x2: Any) -> Any:
    try:
        if x1.ndim == 2 and x2.ndim == 2 and x1.size < SMALL and x1.dtype is not HALF:
            # `dot` is cheaper per call than `matmul`, but it fills the result with zeros first
            if x2.size < SMALL or (made := blas.product(x1, x2)) is None:
                return x1.dot(x2)
            return made
        if x1.dtype is HALF is x2.dtype:  # for which NumPy has no quick loop
            return np.asarray(matmul(x1.astype(np.float32), x2.astype(np.float32))).astype(HALF)
        if x1.ndim > 2 and x2.ndim == 2 and x1.flags.c_contiguous and math.prod(x1.shape[:-2]) > 3:
            rows = math.prod(x1.shape[:-1])  # one product for all matrices: from four on it is faster
            y = memory.empty(
                (*x1.shape[:-1], x2.shape[1]), x1.dtype if x1.dtype is x2.dtype else np.result_type(x1, x2)
            )
            blas.multiply(x1.reshape(rows, x1.shape[-1]), x2, y.reshape(rows, x2.shape[1]))
            return y
        return blas.multiply(x1, x2) if x1.ndim == x2.ndim > 1 else np.matmul(x1, x2)
    except (ValueError, AttributeError):
        first, second = (tuple(getattr(x, "shape", ())) for x in (x1, x2))
        raise ValueError(_mismatch(first, second)) from None


def _mismatch(first: tuple[int, ...], second: tuple[int, ...]) -> str:
    given = f"matmul: given arrays of shape {first} and {second}, "
    if not first or not second:
        return given + "expected vectors or matrices; multiply by a number with *"
    which, inner = ("last but one", second[-2]) if len(second) > 1 else ("only one", second[0])
    if first[-1] != inner:
        return given + f"expected x1's last axis ({first[-1]}) to be as long as x2's {which} ({inner})"
    return given + f"expected batches {first[:-2]} and {second[:-2]} that broadcast"


# -- pair_einsum ---------------------------------------------------------------------------------
def pair_einsum(x1: Any, x2: Any, *, subscripts: str) -> Any:
    return _contraction(subscripts, x1.size >= x2.size)(x1, x2)


@lru_cache(maxsize=4096)
def _contraction(subscripts: str, by_first: bool) -> Callable[[Any, Any], Any]:
    """A function for a formula; by_first: summed axes go in the order of the first operand (the larger)."""
    first, second, output = subscripts.replace("->", ",").split(",")
    batch = "".join(c for c in output if c in first and c in second)
    left = "".join(c for c in output if c not in second)
    right = "".join(c for c in output if c not in first)
    summed = "".join(c for c in (first if by_first else second) if c in first and c in second and c not in output)
    if not summed:
        return _multiplication(first, second, output)
    if output == batch + left + right or output != batch + right + left:
        product = _product(first, second, output, batch, left, summed, right)
    else:  # the other way round, so that the result needs no turning
        swapped = _product(second, first, output, batch, right, summed, left)
        product = lambda x1, x2: swapped(x2, x1)
    if batch and first[-1] in batch and second[-1] in batch and subscripts.isascii():
        return _either(product, subscripts)
    return product


def _multiply(x1: Any, x2: Any, y: Any = None) -> Any:
    """Matrices, or stacks of them."""
    return np.matmul(x1, x2, out=y) if x1.size < SMALL and x2.size < SMALL else blas.multiply(x1, x2, y)


def _turn(term: str, wanted: str) -> Callable[[Any], Any]:
    """A function that puts the axes of an array into the order of the wanted letters."""
    if term == wanted:
        return lambda x: x
    axes = tuple(term.index(c) for c in wanted)
    return lambda x: x.transpose(axes)


def _multiplication(first: str, second: str, output: str) -> Callable[[Any, Any], Any]:
    """Without sums: every axis of the output is in one operand or in both."""
    turn1, turn2 = (_turn(term, "".join(c for c in output if c in term)) for term in (first, second))
    key1, key2 = (tuple(slice(None) if c in term else None for c in output) for term in (first, second))
    return lambda x1, x2: np.multiply(turn1(x1)[key1], turn2(x2)[key2])


def _product(
    first: str, second: str, output: str, batch: str, left: str, summed: str, right: str
) -> Callable[[Any, Any], Any]:
    """A product of matrices, whose rows, columns and sums may be several axes or none."""
    turn1, turn2 = _turn(first, batch + left + summed), _turn(second, batch + summed + right)
    turn = _turn(batch + left + right, output)
    if len(left) == len(summed) == len(right) == 1:
        return lambda x1, x2: turn(_multiply(turn1(x1), turn2(x2)))
    lead, rest = len(batch), len(batch + left)

    def fold(x1: Any, x2: Any) -> Any:
        x1, x2 = turn1(x1), turn2(x2)
        many, rows, columns = x1.shape[:lead], x1.shape[lead:rest], x2.shape[x2.ndim - len(right) :]
        n, inner, m = map(math.prod, (rows, x1.shape[rest:], columns))
        y = np.empty((*many, *rows, *columns), x1.dtype if x1.dtype is x2.dtype else np.result_type(x1, x2))
        _multiply(x1.reshape(*many, n, inner), x2.reshape(*many, inner, m), y.reshape(*many, n, m))
        return turn(y)  # BLAS wrote straight into it

    return fold


def _either(product: Callable[[Any, Any], Any], subscripts: str) -> Callable[[Any, Any], Any]:
    """Many tiny matrices whose batch is the innermost axis: one loop over it beats a BLAS call for each."""

    def choose(x1: Any, x2: Any) -> Any:
        tiny = x1.size <= 64 * x1.shape[-1] and x2.size <= 64 * x2.shape[-1]
        return np.einsum(subscripts, x1, x2) if tiny else product(x1, x2)

    return choose


# -- determinants --------------------------------------------------------------------------------
def cofactor(x: Any) -> Any:
    """``det(x) x⁻ᵀ`` where that is exact enough, else from singular values."""
    try:
        inverse = np.linalg.inv(x)
        condition = np.linalg.norm(x, axis=(-2, -1)) * np.linalg.norm(inverse, axis=(-2, -1))
        if np.all(condition < np.finfo(inverse.dtype).eps ** -0.5):
            return np.linalg.det(x)[..., None, None] * inverse.mT
    except LinAlgError:
        pass
    return _program("cofactor", x)


# -- products with a transpose: a view for the BLAS, and the bias added into the result -----------------
def linear(x: Any, w: Any) -> Any:
    if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[1]:
        raise RuntimeError(
            f"linear: given an input of shape {tuple(x.shape)} and weights of shape {tuple(w.shape)}, expected "
            f"(..., inputs) and (outputs, inputs)"
        )
    return matmul(x, w.T)


def affine(x: Any, w: Any, b: Any) -> Any:
    dtype = b.dtype
    if dtype is HALF is x.dtype is w.dtype:  # rounded once, after the bias
        return affine(*(a.astype(np.float32) for a in (x, w, b))).astype(HALF)
    if x.ndim > 1 and w.ndim == 2 and x.size >= SMALL <= w.size and x.flags.c_contiguous:
        y = blas.product(x.reshape(-1, x.shape[-1]), w.T, None, b)
        if y is not None:
            return y if x.ndim == 2 else y.reshape(*x.shape[:-1], w.shape[0])
    y = linear(x, w)
    if b.shape != y.shape[-1:]:
        raise RuntimeError(
            f"linear: given weights of shape {tuple(w.shape)} and a bias of shape {tuple(b.shape)}, expected as many "
            f"outputs of both"
        )
    if dtype is not y.dtype:
        return y + b
    y += b
    return y


def across(x1: Any, x2: Any) -> Any:
    return matmul(x1.T, x2)


# -- decompositions ------------------------------------------------------------------------------
def _checked(name: str, function: Callable[..., Any], square: bool = True) -> Callable[..., Any]:
    """NumPy's function, whose errors name it."""

    def kernel(x: Any, /, *more: Any, **keywords: Any) -> Any:
        shape = np.shape(x)
        if len(shape) < 2 or (square and shape[-2] != shape[-1]):
            wanted = "square matrices" if square else "matrices"
            raise LinAlgError(f"{name}: given an array of shape {shape}, expected {wanted} in the last two axes")
        try:
            return function(x, *more, **keywords)
        except LinAlgError as error:
            raise type(error)(f"{name}: {error}") from None

    return kernel


def eig(x: Any, /) -> Any:
    """Complex in any case: NumPy gives real numbers where they happen to be."""
    dtype = np.result_type(x.dtype, np.complex64)
    return tuple(part.astype(dtype, copy=False) for part in np.linalg.eig(x))


#: So many columns are taken one by one; what is right of them follows as products of matrices.
_PANEL = 32


def packed_lu(x: Any, /, *, pivot: bool = True) -> Any:
    """LAPACK's algorithm, which NumPy has not: on all matrices of a batch at once."""
    y = np.array(x, order="C")
    *lead, rows, columns = y.shape
    y = y.reshape(-1 if y.size else math.prod(lead), rows, columns)
    many, k = len(y), min(rows, columns)
    each, order = np.arange(many), np.tile(np.arange(rows), (many, 1))
    pivots = np.empty((many, k), np.int32)
    for start in range(0, k, _PANEL):
        stop = min(start + _PANEL, k)
        for j in range(start, stop):
            at = np.full(many, j)
            if pivot:
                column = y[:, j:, j]
                at += (np.abs(column.real) + np.abs(column.imag) if y.dtype.kind == "c" else np.abs(column)).argmax(-1)
                for part in (y, order):
                    part[each, j], part[each, at] = part[each, at], part[each, j]
            pivots[:, j] = at + 1
            top = y[:, j, j, None]
            y[:, j + 1 :, j] /= np.where(top == 0, 1, top)
            y[:, j + 1 :, j + 1 : stop] -= y[:, j + 1 :, j, None] * y[:, j, None, j + 1 : stop]
        for j in range(start, stop if stop < columns else start):
            y[:, j + 1 : stop, stop:] -= y[:, j + 1 : stop, j, None] * y[:, j, None, stop:]
        y[:, stop:, stop:] -= y[:, stop:, start:stop] @ y[:, start:stop, stop:]
    return y.reshape(x.shape), pivots.reshape(*lead, k), order.reshape(*lead, rows)


def zero_pivot(x: Any, /) -> Any:
    """A determinant that is not zero tells that there is none."""
    sign = np.linalg.slogdet(x)[0]
    return np.zeros(sign.shape, np.int32) if np.all(sign != 0) else _program("zero_pivot", x)


def failing_minor(x: Any, /) -> Any:
    """Where all matrices have a Cholesky decomposition there is none."""
    try:
        return np.zeros(np.linalg.cholesky(x).shape[:-2], np.int32)
    except LinAlgError:
        return _program("failing_minor", x)


def _program(name: str, x: Any) -> Any:
    return registry[name].program(by_array[np.ndarray].xp, x)


_SQUARE = ("inv", "solve", "det", "slogdet", "cholesky", "eigh", "eigvalsh")
_ANY = ("svd", "svdvals", "qr")

TABLE: dict[str, Callable[..., Any]] = {
    **{name: _checked(name, getattr(np.linalg, name)) for name in _SQUARE},
    **{name: _checked(name, getattr(np.linalg, name), square=False) for name in _ANY},
    "eig": _checked("eig", eig),
    "failing_minor": _checked("cholesky_ex", failing_minor),
    "zero_pivot": _checked("zero_pivot", zero_pivot),
    "packed_lu": _checked("lu_factor", packed_lu, square=False),
    "across": across,
    "affine": affine,
    "linear": linear,
    "matmul": matmul,
    "pair_einsum": pair_einsum,
    "cofactor": cofactor,
}
