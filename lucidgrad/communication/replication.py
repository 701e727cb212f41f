"""Values that are the same in all members of a group, and count once: what parts of one layer exchange.

`functional` differentiates the sum of what all processes compute. Where all compute the same from parts of their own,
and one loss is meant, not as many as there are processes, these pairs are right: what was *spread* to all is *totalled*
on the way back, parts that were *joined* are *parted*. Each is the adjoint of the other.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core import device as devices
from lucidgrad.core.dispatch import box
from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.ops.shape.joining import concat

from . import collectives
from .functional import as_it_is, silenced


def _further(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """The same, along an axis that comes after that of the examples."""
    return call(values[0], **{**keywords, "axis": keywords["axis"] + 1})


@primitive(LINEAR, vjp=lambda xp, g, *, group: xp.rank_total(g, group=group), batch=as_it_is)
def rank_spread(xp: Any, x: Any, /, *, group: Any) -> Any:
    """A value that all members have alike, for each to compute its own part with; gradients are summed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.communication.replication import rank_spread
    >>> x = lg.ones(2, requires_grad=True)
    >>> (rank_spread(x, group=alone) * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    return devices.by_array[type(x)].copy(x)


@primitive(LINEAR, vjp=lambda xp, g, *, group: xp.rank_spread(g, group=group), batch=as_it_is)
def rank_total(xp: Any, x: Any, /, *, group: Any) -> Any:
    """The sum of everybody's part, which all have alike and which counts once; each part has the sum's gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.communication.replication import rank_total
    >>> x = lg.ones(2, requires_grad=True)
    >>> (rank_total(x, group=alone) * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    tensor = box(devices.by_array[type(x)].copy(x))
    if group.talks:
        collectives.all_reduce(tensor, group=group)
    return tensor.array


def shares(length: int, members: int) -> list[int]:
    """How many rows each member has of so many, as `chunk` cuts them: the last ones may have fewer, or none."""
    size = -(-length // members)
    return [max(min(size, length - k * size), 0) for k in range(members)]


@primitive(LINEAR, vjp=lambda xp, g, *, group, axis, length: xp.rank_part(g, group=group, axis=axis, length=length),
           batch=_further)  # fmt: skip
def rank_join(xp: Any, x: Any, /, *, group: Any, axis: int, length: int) -> Any:
    """Everybody's part along an axis, of `shares` of a length, joined; all have it alike, and it counts once.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.communication.replication import rank_join
    >>> x = lg.ones(2, requires_grad=True)
    >>> (rank_join(x, group=alone, axis=0, length=2) * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    backend = devices.by_array[type(x)]
    sizes = shares(length, group.size())
    if int(x.shape[axis]) != sizes[group.rank()]:
        raise ValueError(
            f"rank_join: given shape {tuple(x.shape)}, expected {sizes[group.rank()]} along axis {axis}: the part of "
            f"member {group.rank()} of {length}"
        )
    if group.size() == 1:
        return backend.copy(x)
    padded = backend.zeros((*x.shape[:axis], sizes[0], *x.shape[axis + 1 :]), backend.dtype_of(x), backend.device_of(x))
    padded = backend.write(padded, (*(slice(None),) * axis, slice(0, sizes[group.rank()]), ...), x)
    whole = box(backend.zeros((group.size(), *padded.shape), backend.dtype_of(x), backend.device_of(x)))
    if group.talks:
        collectives.all_gather_into_tensor(whole, box(padded), group=group)
    cut = [whole.array[(k, *(slice(None),) * axis, slice(0, size), ...)] for k, size in enumerate(sizes)]
    return concat(list(map(box, cut)), axis=axis).array


@primitive(LINEAR, vjp=lambda xp, g, *, group, axis, length: xp.rank_join(g, group=group, axis=axis, length=length),
           batch=_further)  # fmt: skip
def rank_part(xp: Any, x: Any, /, *, group: Any, axis: int, length: int) -> Any:
    """The part of this process, along an axis, of a value that all have alike.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.communication.replication import rank_part
    >>> x = lg.ones(2, requires_grad=True)
    >>> (rank_part(x, group=alone, axis=0, length=2) * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    sizes = shares(length, group.size())
    if int(x.shape[axis]) != length:
        raise ValueError(f"rank_part: given shape {tuple(x.shape)}, expected {length} along axis {axis}")
    begin = sum(sizes[: group.rank()])
    part = x[(*(slice(None),) * axis, slice(begin, begin + sizes[group.rank()]), ...)]
    return devices.by_array[type(x)].copy(part)


for _each in (rank_total, rank_join):
    _each.primitive.silenced = silenced  # type: ignore[union-attr]
