"""Keys, the things between square brackets: metadata, in which `At` stands for each array.

The arrays are an input of the call: what is told of a key beside them is the same for all their values.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.box import Box
from lucidgrad.core.primitive import registry
from lucidgrad.levels.layer import Layer, run
from lucidgrad.levels.traced import read


class At(NamedTuple):
    """Stands in a key for an array of positions in so many axes taken together: one, or those of a mask."""

    axes: int = 1


def parts_of(key: Any) -> tuple[Any, ...]:
    """A key as a tuple."""
    return key if type(key) is tuple else (key,)


def is_array(part: Any) -> bool:
    """Whether a part of a key is an array, of whatever library."""
    return hasattr(part, "dtype") and hasattr(part, "shape")


def is_mask(part: Any) -> bool:
    """Whether a part of a key is an array of truth values."""
    return is_array(part) and dtypes.plain_name(part.dtype) == "bool"


def is_batched_mask(part: Any) -> bool:
    """Whether a part of a key is a mask that selects as many elements as it likes in each example of a map."""
    return isinstance(part, Layer) and is_mask(part)


_STATIC = frozenset((int, slice, type(None), type(Ellipsis)))


def is_static(key: Any) -> bool:
    """Whether a key is metadata as it stands."""
    return type(key) in _STATIC or (type(key) is tuple and _STATIC.issuperset(map(type, key)))


def _array_of(tensor: Any, array: Any) -> Any:
    """The array of a tensor in a key, or its number."""
    found = tensor.array
    if not found.shape and not isinstance(found, Layer) and tensor.dtype != dtypes.named("bool"):
        return tensor.__index__()
    if type(found) is type(array) or tensor.device != "cpu":
        return found
    where = device.by_array[type(array)].device_of(array)
    return found if where == "cpu" else device.backend_named(where).asarray(found, where=where)


def raw_key(key: Any, array: Any) -> Any:
    """A key without tensors and lists: its arrays are on the device of the indexed one."""
    if type(key) in _STATIC:
        return key
    if type(key) is tuple:
        return tuple([raw_key(part, array) for part in key])
    if isinstance(key, Box):
        return _array_of(key, array)
    is_array = device.recognise(key) is not None
    if is_array and key.shape == () and _kind(key.dtype) == 1:
        return int(key)
    if is_array or isinstance(key, (bool, list)):
        if isinstance(key, list):
            key = [k.tolist() if hasattr(k, "tolist") else k for k in key]
        where = device.by_array[type(array)].device_of(array)
        made = device.backend_named(where).asarray(key, where=where, copy=True)  # the key may change before backward
        return made if made.size or str(made.dtype) == "bool" else made.astype("int64")
    if hasattr(key, "__index__"):
        return key.__index__()
    raise TypeError(
        f"a tensor can't be indexed with {type(key).__name__}; expected ints, slices, None, ..., "
        f"and int or bool tensors, arrays or lists"
    )


# -- from arrays in a key to arrays beside it ----------------------------------------------------
def parted(key: Any, shape: Sequence[int]) -> tuple[Any, Any]:
    """A key with arrays, worked out for a shape: the key without them, and one array of their positions.

    A mask is where it is true. Several arrays are stacked; there is None where there are none.
    """
    parts = key if type(key) is tuple else (key,)
    made, rows = list(parts), []
    for k, part in enumerate(parts):
        if type(part) not in _STATIC:
            kind = _kind(part.dtype)
            if kind == 1:
                made[k] = _ONE
                rows.append(part)
            elif kind == 0:
                made[k] = At(len(part.shape))
                rows.append(_places(part, parts, k, shape))
            else:
                raise IndexError(f"index: the key has an array of {part.dtype}, expected integers or truth values")
    if len(rows) < 2:
        return (tuple(made), rows[0]) if rows else (key, None)
    return tuple(made), _stacked(rows)


_ONE = At()
_kind = functools.cache(dtypes.rank)


def _places(mask: Any, parts: Sequence[Any], k: int, shape: Sequence[int]) -> Any:
    """Where a mask, part k of a key, is true, counted through the axes that it stands for."""
    mask = read(mask, "a mask selects as many elements as it likes")
    if isinstance(mask, Layer):
        raise ValueError("index: a mask under vmap selects as many elements as it likes; use where")
    before = 0
    if k:
        from_end = any(part is Ellipsis for part in parts[:k])
        before = max(len(shape) - sum(map(_width, parts[k:])), 0) if from_end else sum(map(_width, parts[:k]))
    sizes = tuple(shape[before : before + len(mask.shape)])
    if mask.shape != sizes and not _may_stand_for(mask.shape, sizes):
        raise IndexError(
            f"index: the key has a mask of shape {tuple(mask.shape)}, the axes that it stands for have shape {sizes}"
        )
    flat = mask if len(mask.shape) == 1 else _run("reshape", mask, shape=(_product(mask.shape),))
    return _run("nonzero", flat)[0]


def _may_stand_for(shape: Sequence[int], sizes: Sequence[int]) -> bool:
    """Whether a mask fits axes of these sizes: NumPy lets empty ones pass."""
    return len(shape) == len(sizes) and all(m in (0, n) for m, n in zip(shape, sizes, strict=True))


def _run(name: str, array: Any, **keywords: Any) -> Any:
    """`levels.run` in short for one array."""
    return registry[name].find_kernel(type(array))(array, **keywords)


def _width(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.axes if type(part) is At else len(part.shape) if is_mask(part) else 1


def _stacked(rows: Sequence[Any]) -> Any:
    first, kind = rows[0], type(rows[0])
    for row in rows:
        if type(row) is not kind or row.shape != first.shape or row.dtype != first.dtype:
            shape = _common([tuple(row.shape) for row in rows])
            rows = [run("broadcast_to", row, shape=shape) for row in rows]
            rows = [run("astype", row, dtype=dtypes.named("int64"), copy=False) for row in rows]
            return run("stack", *rows, axis=0)
    return registry["stack"].find_kernel(kind)(*rows, axis=0)  # the same in short


def _common(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    sizes = [{n for n in column if n != 1} for column in zip(*((1,) * (rank - len(s)) + s for s in shapes))]
    if any(len(found) > 1 for found in sizes):
        given = " and ".join(map(str, shapes))
        raise IndexError(f"index: the key has positions of shapes {given}, expected ones that broadcast")
    return tuple(found.pop() if found else 1 for found in sizes)


def _product(sizes: Sequence[int]) -> int:
    size = 1
    for n in sizes:
        size *= n
    return size


# -- keys with positions beside them -------------------------------------------------------------
def joined(key: tuple[Any, ...], at: Any) -> tuple[Any, ...] | None:
    """The key with its arrays, as NumPy takes it; None where one speaks of several axes."""
    if key == _PAIR:
        return at[0], at[1]
    places = [k for k, part in enumerate(key) if type(part) is At]
    if any(key[k].axes != 1 for k in places):
        return None
    made = list(key)
    for k, row in zip(places, (at,) if len(places) == 1 else at, strict=True):
        made[k] = row
    return tuple(made)


_PAIR = (_ONE, _ONE)


def completed(name: str, parts: Sequence[Any], rank: int) -> list[Any]:
    """The parts of a key with slices in place of what it leaves out."""
    used = sum(map(_width, parts))
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if used > rank:
        raise IndexError(f"{name}: the key has {used} indices, an array of dimension {rank} takes at most {rank}")
    if len(dots) > 1:
        raise IndexError(f"{name}: the key has {len(dots)} ellipses, expected at most one")
    at = dots[0] if dots else len(parts)
    return [*parts[:at], *[slice(None)] * (rank - used), *parts[at + 1 :]]


class Laid(NamedTuple):
    """A key with positions beside it, worked out for a shape: first a key without, then the axes of that part."""

    key: tuple[Any, ...]
    whole: bool  # whether that leads to everything, as it is
    shape: tuple[int, ...]  # what it leads to
    axes: tuple[int, ...]  # those of that shape which positions are given for
    sizes: tuple[int, ...]  # the size of what each row of positions points into
    place: int  # where in the result the axes of the positions are
    first: bool  # whether they are there because the positions stand apart

    @property
    def rest(self) -> tuple[int, ...]:
        """The axes without positions."""
        return tuple(a for a in range(len(self.shape)) if a not in self.axes)


def laid_out(name: str, key: Sequence[Any], shape: Sequence[int]) -> Laid:
    """Work a key out for a shape.

    NumPy puts the axes of positions where they stand, unless anything but integers stands between two of them: then
    they come first.
    """
    chosen = [k for k, part in enumerate(key) if type(part) is At or _is_integer(part)]
    together = chosen[-1] - chosen[0] < len(chosen)  # an ellipsis stands between also where it stands for no axis
    made: list[Any] = []
    sizes: list[int] = []
    axes: list[int] = []
    groups: list[int] = []
    place, used = None, 0
    for part in completed(name, key, len(shape)):
        if place is None and (type(part) is At or _is_integer(part)):
            place = len(sizes)
        if type(part) is At:
            own = tuple(shape[used : used + part.axes])
            axes += range(len(sizes), len(sizes) + part.axes)
            groups.append(_product(own))
            made += [slice(None)] * part.axes
            sizes += own
        else:
            made.append(part)
            if part is None:
                sizes.append(1)
            elif isinstance(part, slice):
                sizes.append(len(range(*part.indices(shape[used]))))
        used += _width(part)
    whole = all(isinstance(part, slice) and part == slice(None) for part in made)
    return Laid(
        tuple(made), whole, tuple(sizes), tuple(axes), tuple(groups), place or 0 if together else 0, not together
    )


def _is_integer(part: Any) -> bool:
    return not (part is None or part is Ellipsis or type(part) is At or isinstance(part, slice))
