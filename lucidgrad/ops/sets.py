"""Sets: which values an array holds, and whether values are among those of another."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lucidgrad.core.primitive import REDUCTION, primitive
from lucidgrad.levels.layer import run

from .indexing.taking import take
from .shape.layout import reshape

if TYPE_CHECKING:
    from lucidgrad.tensor import Tensor

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: "Tensor"
    indices: "Tensor"
    inverse_indices: "Tensor"
    counts: "Tensor"


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: "Tensor"
    counts: "Tensor"


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: "Tensor"
    inverse_indices: "Tensor"


def _unique_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    raise RuntimeError("unique: given a batched array, whose examples may have different numbers of values")


@primitive(REDUCTION, batch=_unique_batch, outputs=True)
def unique_places(xp: Any, x: Any, /) -> Any:
    """Where distinct values first stand in the flattened array, which of them each element is, and how often.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.sets import unique_places
    >>> [part.tolist() for part in unique_places(lg.asarray([3.0, 1.0, 3.0]))]
    [[1, 0], [1, 0, 1], [1, 2]]
    """
    found = xp.unique_all(x)
    return found[1], found[2], found[3]


def _values(x: Any, i: Any) -> Any:
    return take(reshape(x, shape=(-1,)), i, axis=0)


def unique_all(x: Any, /) -> UniqueAll:
    """The distinct values in order, where each first stands, which of them each element is, and how often each occurs.

    NaNs are all distinct. The gradient of a value goes to its first occurrence.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    >>> found = lg.unique_all(x)
    >>> found.values.sum().backward()
    >>> found.counts.tolist(), x.grad.tolist()
    ([1, 2], [1.0, 1.0, 0.0])
    """
    i, inverse, counts = unique_places(x)
    return UniqueAll(_values(x, i), i, inverse, counts)


def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct values in order, and how often each occurs.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.unique_counts(lg.asarray([3, 1, 3])).counts.tolist()
    [1, 2]
    """
    i, _, counts = unique_places(x)
    return UniqueCounts(_values(x, i), counts)


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct values in order, and which of them each element is.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.unique_inverse(lg.asarray([3, 1, 3])).inverse_indices.tolist()
    [1, 0, 1]
    """
    i, inverse, _ = unique_places(x)
    return UniqueInverse(_values(x, i), inverse)


def unique_values(x: Any, /) -> Any:
    """The distinct values in order; the gradient of each goes to its first occurrence.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 1.0, 3.0], requires_grad=True)
    >>> lg.unique_values(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0, 0.0]
    """
    return _values(x, unique_places(x)[0])


def _isin_batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    x1, x2 = values
    if not batched[1]:
        return call(x1, x2, **keywords)
    rank = len(x1.shape) - batched[0]
    x1 = run("expand_dims", x1, axis=-1)
    x2 = run("reshape", x2, shape=(x2.shape[0], *(1,) * rank, -1))
    found = run("any", run("equal", x1, x2), axis=-1)
    return run("logical_not", found) if keywords["invert"] else found


@primitive(REDUCTION, batch=_isin_batch)
def isin(xp: Any, x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each element of ``x1`` is among those of ``x2``, or with ``invert`` is not.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.isin(lg.asarray([1, 2, 3]), lg.asarray([3, 1])).tolist()
    [True, False, True]
    """
    if not hasattr(x2, "shape"):
        found = xp.equal(x1, x2)
    elif not hasattr(x1, "shape"):
        found = xp.any(xp.equal(x2, x1))
    else:
        found = xp.any(xp.equal(xp.expand_dims(x1, axis=-1), xp.reshape(x2, shape=(-1,))), axis=-1)
    return xp.logical_not(found) if invert else found
