"""Products of arrays: `matmul`, and what `pair_einsum` gives with the formula written out."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lucidgrad.core.primitive import MATRIX, primitive
from lucidgrad.levels.batching import align
from lucidgrad.levels.layer import run
from lucidgrad.ops import reduction
from lucidgrad.ops.axes import axes_of, axis_of, product
from lucidgrad.ops.elementwise import arithmetic, complex
from lucidgrad.ops.jvp_rules import bilinear
from lucidgrad.ops.numbers import evened, is_complex
from lucidgrad.ops.precision import in_precision
from lucidgrad.ops.shape import layout
from lucidgrad.ops.shape.diagonals import diagonal

from . import linear as linear  # rules of `matmul` are products with a transpose
from .einsum import einsum, letter, pair_einsum


# -- matmul --------------------------------------------------------------------------------------
def _left(xp: Any, g: Any, x2: Any) -> Any:
    """``g @ x2ᵀ``; if x1 was a vector, g has one dimension less than its matrices would give."""
    if x2.ndim == 1:
        return xp.expand_dims(g, axis=-1) * x2
    if x2.ndim == 2 == g.ndim:
        return xp.linear(g, x2)
    if g.ndim >= x2.ndim:
        return xp.matmul(g, xp.matrix_transpose(x2))
    if g.ndim == 1:
        return xp.matmul(x2, g)
    return xp.squeeze(xp.matmul(x2, xp.expand_dims(g, axis=-1)), axis=-1)


def _right(xp: Any, g: Any, x1: Any, x2_meta: Any) -> Any:
    """``x1ᵀ @ g``; the rows of all matrices of a batch that met the same one of x2 make one product."""
    if x1.ndim == 2 == x2_meta.ndim:
        return xp.across(x1, g)
    if x1.ndim == 1:
        return xp.expand_dims(x1, axis=-1) * xp.expand_dims(g, axis=-2) if g.ndim else g * x1
    batch, own = x1.shape[:-2], x2_meta.shape[:-2]
    ones = next((k for k, n in enumerate(reversed(own)) if n != 1), len(own))  # along these x2 was repeated
    folded = len(batch) if ones == len(own) else min(ones, len(batch))
    if not folded:
        return xp.matmul(xp.matrix_transpose(x1), g)
    rows, columns = product(x1.shape[-2 - folded : -1]), x2_meta.shape[-1:] if x2_meta.ndim > 1 else ()
    x1 = xp.reshape(x1, shape=(*batch[: len(batch) - folded], rows, x1.shape[-1]))
    g = xp.reshape(g, shape=(*g.shape[: g.ndim - folded - 1 - len(columns)], rows, *columns))
    y = xp.matmul(xp.matrix_transpose(x1), g)
    return xp.reshape(y, shape=(*y.shape[:-2], *own[len(own) - min(folded, len(own)) :], *y.shape[-2:])) if own else y


def _matmul_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """Batched vectors become matrices of one row or column; those without a batch stay as they are."""
    x1, x2 = values
    row, column = (b and x.ndim == 2 for x, b in zip(values, batched, strict=True))
    if row and not batched[1] and x2.ndim <= 2:
        return call(x1, x2)  # the examples are the rows of a matrix
    x1 = run("expand_dims", x1, axis=-2) if row else x1
    x2 = run("expand_dims", x2, axis=-1) if column else x2
    if x1.ndim - batched[0] > 1 and x2.ndim - batched[1] > 1:
        x1, x2 = align((x1, x2), batched)
    axes = (-2,) * row + (-1,) * column
    return run("squeeze", call(x1, x2), axis=axes) if axes else call(x1, x2)


@primitive(MATRIX, vjp=(_left, _right), jvp=bilinear("matmul"), batch=_matmul_batch, precision="low")
def matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Matrix product. Leading axes are batches and broadcast; a vector is a row (x1) or a column (x2).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones((2, 3), requires_grad=True)
    >>> lg.matmul(x1, lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> x1.grad.tolist()
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    return xp.matmul(x1, x2)


# -- PyTorch's products, which name the dimensions they take ----------------------------------------
def need_ranks(name: str, **arguments: tuple[Any, int]) -> None:
    """Raise unless every argument has the number of dimensions that stands with it."""
    for argument, (x, rank) in arguments.items():
        if x.ndim != rank:
            raise ValueError(f"{name}: {argument} has shape {tuple(x.shape)}, expected {rank} dimensions")


def mv(input: Any, vec: Any) -> Any:
    """A matrix by a vector.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> v = lg.ones(2, requires_grad=True)
    >>> lg.mv(lg.asarray([[1.0, 2.0], [3.0, 4.0]]), v).sum().backward()
    >>> v.grad.tolist()
    [4.0, 6.0]
    """
    need_ranks("mv", input=(input, 2), vec=(vec, 1))
    return matmul(input, vec)


def mm(input: Any, mat2: Any) -> Any:
    """A matrix by a matrix.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 2), requires_grad=True)
    >>> lg.mm(x, lg.asarray([[1.0], [2.0]])).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 2.0]]
    """
    need_ranks("mm", input=(input, 2), mat2=(mat2, 2))
    return matmul(input, mat2)


def bmm(input: Any, mat2: Any) -> Any:
    """A batch of matrices by a batch of matrices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((1, 1, 2), requires_grad=True)
    >>> lg.bmm(x, lg.asarray([[[1.0], [2.0]]])).sum().backward()
    >>> x.grad.tolist()
    [[[1.0, 2.0]]]
    """
    need_ranks("bmm", input=(input, 3), mat2=(mat2, 3))
    if input.shape[0] != mat2.shape[0]:
        raise ValueError(f"bmm: given batches of {input.shape[0]} and {mat2.shape[0]} matrices, expected as many")
    return matmul(input, mat2)


def blend(input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * input + alpha * product``."""
    product = product if alpha == 1 else arithmetic.multiply(product, alpha)
    if beta == 0:
        return product  # a NaN in the input does not count then
    return arithmetic.add(input if beta == 1 else arithmetic.multiply(input, beta), product)


@in_precision("low")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)``, of matrices; with beta 0 the input is not looked at.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.zeros(2, requires_grad=True)
    >>> lg.addmm(b, lg.ones((3, 1)), lg.ones((1, 2)), beta=2).sum().backward()
    >>> b.grad.tolist()
    [6.0, 6.0]
    """
    input, mat1, mat2 = evened(input, mat1, mat2)
    return blend(input, mm(mat1, mat2), beta, alpha)


@in_precision("low")
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (batch1 @ batch2)``, of batches of matrices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> b = lg.zeros(2, requires_grad=True)
    >>> lg.baddbmm(b, lg.ones((4, 3, 1)), lg.ones((4, 1, 2))).sum().backward()
    >>> b.grad.tolist()
    [12.0, 12.0]
    """
    input, batch1, batch2 = evened(input, batch1, batch2)
    return blend(input, bmm(batch1, batch2), beta, alpha)


# -- contractions --------------------------------------------------------------------------------
@lru_cache(maxsize=1024)
def _contraction(rank1: int, rank2: int, axes1: tuple[int, ...], axes2: tuple[int, ...]) -> str:
    """The formula that contracts axes of one array with axes of another."""
    first, second = [letter(k) for k in range(rank1)], [letter(rank1 + k) for k in range(rank2)]
    for a1, a2 in zip(axes1, axes2):
        second[a2] = first[a1]
    output = [c for c in first if c not in second] + [c for c in second if c not in first]
    return f"{''.join(first)},{''.join(second)}->{''.join(output)}"


def tensordot(x1: Any, x2: Any, /, axes: Any = 2) -> Any:
    """Sum products over axes of two arrays: the last n of x1 with the first n of x2, or those of two lists.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones((2, 3), requires_grad=True)
    >>> lg.tensordot(x1, lg.asarray([1.0, 2.0, 3.0]), axes=1).sum().backward()
    >>> x1.grad.tolist()
    [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    rank1, rank2 = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        if not 0 <= axes <= min(rank1, rank2):
            raise ValueError(
                f"tensordot: given axes={axes} for arrays of shape {tuple(x1.shape)} and {tuple(x2.shape)}, "
                f"expected 0 to {min(rank1, rank2)}"
            )
        axes1, axes2 = tuple(range(rank1 - axes, rank1)), tuple(range(axes))
    else:
        axes1, axes2 = (axes_of("tensordot", a, r) for a, r in zip(axes, (rank1, rank2), strict=True))
    if len(axes1) != len(axes2):
        raise ValueError(f"tensordot: given {len(axes1)} axes of x1 and {len(axes2)} of x2, expected as many")
    for a1, a2 in zip(axes1, axes2):
        if x1.shape[a1] != x2.shape[a2]:
            raise ValueError(
                f"tensordot: axis {a1} of x1 has size {x1.shape[a1]} and axis {a2} of x2 has size "
                f"{x2.shape[a2]}, expected the same"
            )
    return pair_einsum(x1, x2, subscripts=_contraction(rank1, rank2, axes1, axes2))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Dot products of vectors along an axis, x1 conjugated; the other axes broadcast.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones((2, 2), requires_grad=True)
    >>> lg.vecdot(x1, lg.asarray([1.0, 2.0])).sum().backward()
    >>> x1.grad.tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    axes = [axis_of("vecdot", axis, len(x.shape)) for x in (x1, x2)]
    sizes = [x.shape[a] for x, a in zip((x1, x2), axes)]
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot: given vectors of {sizes[0]} and {sizes[1]} elements (axis {axis}), expected as many")
    x1, x2 = (
        x if a == len(x.shape) - 1 else layout.moveaxis(x, source=a, destination=-1) for x, a in zip((x1, x2), axes)
    )
    return einsum("...i,...i->...", complex.conj(x1) if is_complex(x1.dtype) else x1, x2)


def _flat(x: Any) -> Any:
    return x if x.ndim == 1 else layout.reshape(x, (-1,))


def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of x1 and one of x2, as a matrix; other shapes are taken as vectors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones(2, requires_grad=True)
    >>> lg.outer(x1, lg.asarray([1.0, 2.0, 3.0])).sum().backward()
    >>> x1.grad.tolist()
    [6.0, 6.0]
    """
    return pair_einsum(_flat(x1), _flat(x2), subscripts="a,b->ab")


def vdot(x1: Any, x2: Any, /) -> Any:
    """Dot product of all elements, x1 conjugated.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones((2, 1), requires_grad=True)
    >>> lg.vdot(x1, lg.asarray([1.0, 2.0])).backward()
    >>> x1.grad.tolist()
    [[1.0], [2.0]]
    """
    return vecdot(_flat(x1), _flat(x2))


def dot(x1: Any, x2: Any, /) -> Any:
    """NumPy's dot product: over the last axis of x1 and the last but one of x2.

    Of vectors it is the inner product, of matrices the matrix product, and numbers multiply.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones(2, requires_grad=True)
    >>> lg.dot(x1, lg.asarray([1.0, 2.0])).backward()
    >>> x1.grad.tolist()
    [1.0, 2.0]
    """
    rank1, rank2 = getattr(x1, "ndim", 0), getattr(x2, "ndim", 0)
    if rank1 == 0 or rank2 == 0:
        return arithmetic.multiply(x1, x2)
    if rank2 <= 2:
        return matmul(x1, x2)
    return tensordot(x1, x2, axes=(-1, -2))


def inner(x1: Any, x2: Any, /) -> Any:
    """Inner products: sums over the last axes; numbers multiply.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones(2, requires_grad=True)
    >>> lg.inner(x1, lg.asarray([1.0, 2.0])).backward()
    >>> x1.grad.tolist()
    [1.0, 2.0]
    """
    if getattr(x1, "ndim", 0) == 0 or getattr(x2, "ndim", 0) == 0:
        return arithmetic.multiply(x1, x2)
    return tensordot(x1, x2, axes=(-1, -1))


def kron(x1: Any, x2: Any, /) -> Any:
    """Kronecker product: x2 in blocks, each times an element of x1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.ones((1, 2), requires_grad=True)
    >>> lg.kron(x1, lg.asarray([[1.0], [2.0]])).sum().backward()
    >>> x1.grad.tolist()
    [[3.0, 3.0]]
    """
    rank = max(len(x1.shape), len(x2.shape))
    first, second = ((1,) * (rank - len(x.shape)) + tuple(x.shape) for x in (x1, x2))
    axes1, axes2 = ([letter(2 * k + n) for k in range(rank)] for n in (0, 1))
    output = "".join(c for pair in zip(axes1, axes2) for c in pair)
    y = pair_einsum(
        layout.reshape(x1, first),
        layout.reshape(x2, second),
        subscripts=f"{''.join(axes1)},{''.join(axes2)}->{output}",
    )
    return layout.reshape(y, tuple(n1 * n2 for n1, n2 in zip(first, second)))


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Cross products of vectors of three elements along an axis; the other axes broadcast.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x1 = lg.tensor([1.0, 0.0, 0.0], requires_grad=True)
    >>> lg.linalg.cross(x1, lg.asarray([0.0, 1.0, 0.0])).sum().backward()
    >>> x1.grad.tolist()
    [1.0, 0.0, -1.0]
    """
    axes = [axis_of("cross", axis, len(x.shape)) for x in (x1, x2)]
    for name, x, a in zip(("x1", "x2"), (x1, x2), axes):
        if x.shape[a] != 3:
            raise ValueError(f"cross: axis {axis} of {name} has size {x.shape[a]}, expected 3")

    def turn(x: Any, a: int) -> Any:
        return layout.roll(x, shift=-1, axis=a)

    y1 = arithmetic.multiply(x1, turn(x2, axes[1]))
    y2 = arithmetic.multiply(turn(x1, axes[0]), x2)
    return turn(arithmetic.subtract(y1, y2), axis)


def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Sum of a diagonal.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones((2, 2), requires_grad=True)
    >>> lg.trace(x).backward()
    >>> x.grad.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return reduction.sum(diagonal(x, offset=offset, axis1=axis1, axis2=axis2), axis=-1, dtype=dtype)
