"""Shards: tensors of which a process holds some rows, while other processes hold the rest.

Which tensor is a shard, and of what, is written down here and nowhere else: whoever needs the whole of it, to clip
gradients or to save a state, asks here. Most programs have none, and then the question is one look at an empty table.
"""

import math
import weakref
from typing import Any, NamedTuple

__all__ = ["Shard", "cut", "note", "shard_of"]


class Shard(NamedTuple):
    """What a tensor is a part of: the rows from ``start`` to ``stop`` of a whole, which the ranks of a group share.

    A whole without axes counts as one row; its shards are vectors of one element or none.
    """

    shape: tuple[int, ...]  # of the whole
    start: int
    stop: int
    group: Any = None

    @property
    def own_shape(self) -> tuple[int, ...]:
        """The shape of this part."""
        return (self.stop - self.start, *self.shape[1:])

    @property
    def size(self) -> int:
        """How many elements this part has."""
        return math.prod(self.own_shape)


def rows_of(shape: tuple[int, ...]) -> int:
    """How many rows a shape has.

    Examples
    --------
    >>> from lucidgrad.shards import rows_of
    >>> rows_of((5, 3)), rows_of(()), rows_of((0, 2))
    (5, 1, 0)
    """
    return shape[0] if shape else 1


def cut(rows: int, ranks: int) -> list[tuple[int, int]]:
    """The rows of each rank: as many for each, fewer for the last ones, and none for those that nothing is left for.

    So the parts of all ranks, each filled up to the length of the first, are the whole and a rest behind it: what is
    gathered need not be sorted.

    Examples
    --------
    >>> from lucidgrad.shards import cut
    >>> cut(8, 2), cut(5, 3), cut(3, 4)
    ([(0, 4), (4, 8)], [(0, 2), (2, 4), (4, 5)], [(0, 1), (1, 2), (2, 3), (3, 3)])
    """
    if rows < 0 or ranks < 1:
        raise ValueError(f"cut: given {rows} rows and {ranks} ranks, expected rows that are not negative, and a rank")
    length = -(-rows // ranks)
    return [(min(r * length, rows), min((r + 1) * length, rows)) for r in range(ranks)]


_noted: dict[int, tuple["weakref.ref[Any]", Shard]] = {}


def note(tensor: Any, shard: Shard) -> None:
    """Write down what a tensor is a part of, for as long as the tensor lives.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.shards import Shard, note, shard_of
    >>> part = lg.ones(2, 3)
    >>> note(part, Shard((5, 3), 2, 4))
    >>> shard_of(part).shape, shard_of(lg.ones(2))
    ((5, 3), None)
    """
    if tuple(tensor.shape) != shard.own_shape:
        raise ValueError(
            f"given a tensor of shape {tuple(tensor.shape)} for the rows {shard.start} to {shard.stop} of a whole of "
            f"shape {shard.shape}, expected shape {shard.own_shape}"
        )
    key = id(tensor)
    _noted[key] = weakref.ref(tensor, lambda _: _noted.pop(key, None)), shard


def shard_of(tensor: Any) -> Shard | None:
    """What a tensor is a part of; None for those that are whole."""
    found = _noted.get(id(tensor)) if _noted else None
    return None if found is None else found[1]
