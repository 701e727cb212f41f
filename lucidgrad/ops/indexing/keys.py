"""Keys, the things between square brackets, worked out for a shape with functions of the standard."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lucidgrad.core.box import Box


def parts_of(key: Any) -> tuple[Any, ...]:
    """A key as a tuple."""
    return key if isinstance(key, tuple) else (key,)


def is_array(part: Any) -> bool:
    """Whether a part of a key is an array, of whatever library."""
    return hasattr(part, "dtype") and hasattr(part, "shape")


def is_mask(part: Any) -> bool:
    """Whether a part of a key is a truth value or an array of such."""
    return isinstance(part, bool) or (is_array(part) and str(part.dtype).rpartition(".")[2] == "bool")


def _is_advanced(part: Any) -> bool:
    """Whether a part of a key is an array of positions or a mask; a 0-d array of integers counts as an integer."""
    return isinstance(part, (bool, Box)) or (is_array(part) and (len(part.shape) > 0 or is_mask(part)))


def _is_integer(part: Any) -> bool:
    return not (part is None or part is Ellipsis or isinstance(part, (slice, bool)))


def placement(key: Any) -> tuple[int, bool] | None:
    """Where a key with arrays puts the axes that these have together: how many, and whether first.

    NumPy puts them where the arrays stand, unless anything but integers stands between two of them:
    then they come first. None for a key without arrays.
    """
    parts = parts_of(key)
    if not any(map(_is_advanced, parts)):
        return None
    rank = max(1 if is_mask(p) else len(p.shape) for p in parts if is_array(p) or isinstance(p, bool))
    places = [i for i, p in enumerate(parts) if _is_advanced(p) or _is_integer(p)]
    return rank, places[-1] - places[0] >= len(places)


class ResolvedKey(NamedTuple):
    """A key worked out for a shape: first slices, then integer arrays on axes that these left."""

    slices: tuple[slice, ...]  # one for each axis
    region: tuple[int, ...]  # the shape that they leave
    whole: bool  # whether that is everything, in its order
    shape: tuple[int, ...]  # the region without the axes of integers, with the key's new ones
    axes: tuple[int, ...]  # those of that shape which arrays index
    arrays: tuple[Any, ...]  # the arrays, or integers among arrays
    place: int  # where in the result their common axes are


def resolve(xp: Any, name: str, key: Any, shape: Sequence[int]) -> ResolvedKey:
    """Work a key out for a shape."""
    advanced = placement(key)
    slices: list[slice] = []
    made: list[int] = []
    axes: list[int] = []
    arrays: list[Any] = []
    place = 0
    for part in completed(name, parts_of(key), len(shape)):
        n = shape[len(slices)] if len(slices) < len(shape) else 0
        if part is None:
            made.append(1)
        elif isinstance(part, slice):
            slices.append(_slice(part, n))
            made.append(len(range(*slices[-1].indices(n))))
        elif advanced is None:
            k = integer(name, part, n)
            slices.append(slice(k, k + 1, 1))
        else:
            if not axes:
                place = len(made)
            new = isinstance(part, bool) or (is_mask(part) and len(part.shape) == 0)
            for i in _integers(xp, name, part, shape[len(slices) :]):
                axes.append(len(made))
                arrays.append(i)
                made.append(1 if new else shape[len(slices)])
                if not new:
                    slices.append(slice(0, made[-1], 1))
    region = tuple(len(range(*s.indices(n))) for s, n in zip(slices, shape, strict=True))
    whole = all(s == slice(0, n, 1) for s, n in zip(slices, shape, strict=True))
    place = 0 if advanced is not None and advanced[1] else place
    return ResolvedKey(tuple(slices), region, whole, tuple(made), tuple(axes), tuple(arrays), place)


def completed(name: str, parts: Sequence[Any], rank: int) -> list[Any]:
    """The parts of a key with slices in place of what it leaves out."""
    used = 0
    for part in parts:
        if is_mask(part):
            used += 0 if isinstance(part, bool) else len(part.shape)
        elif part is not None and part is not Ellipsis:
            used += 1
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if used > rank:
        raise IndexError(f"{name}: the key has {used} indices, an array of dimension {rank} takes at most {rank}")
    if len(dots) > 1:
        raise IndexError(f"{name}: the key has {len(dots)} ellipses, expected at most one")
    at = dots[0] if dots else len(parts)
    return [*parts[:at], *[slice(None)] * (rank - used), *parts[at + 1 :]]


def _slice(part: slice, n: int) -> slice:
    """A slice inside the bounds, as the standard wants it."""
    start, stop, step = part.indices(n)
    if not range(start, stop, step):
        return slice(0, 0, 1)
    return slice(start, stop if stop >= 0 else None, step)


def integer(name: str, i: Any, n: int) -> int:
    """An integer index counted from the front."""
    k = int(i)
    if not -n <= k < n:
        raise IndexError(f"{name}: index {k} is out of range for an axis of size {n}")
    return k % n


def _integers(xp: Any, name: str, part: Any, sizes: Sequence[int]) -> Sequence[Any]:
    """One part of a key as integer arrays: a mask is where it is true."""
    if not is_mask(part):
        return (part,)
    if isinstance(part, Box):
        raise ValueError(f"{name}: a mask under vmap selects as many elements as it likes; use where")
    if isinstance(part, bool) or len(part.shape) == 0:
        return (xp.zeros((1 if part else 0,), dtype=xp.int64),)
    if any(m not in (0, n) for m, n in zip(part.shape, sizes, strict=False)):  # NumPy lets empty masks pass
        raise IndexError(
            f"{name}: the key has a mask of shape {tuple(part.shape)}, "
            f"the axes that it stands for have shape {tuple(sizes[: len(part.shape)])}"
        )
    return xp.nonzero(part)


def flat_index(xp: Any, name: str, resolved: ResolvedKey) -> Any:
    """The arrays of a key as one, into their axes taken together."""
    flat: Any = 0
    for axis, i in zip(resolved.axes, resolved.arrays, strict=True):
        n = resolved.shape[axis]
        if is_array(i):
            i = xp.astype(i, dtype=xp.int64)
            i = xp.where(i < 0, i + n, i)
        else:
            i = integer(name, i, n)
        flat = flat * n + i
    return flat


def front(resolved: ResolvedKey) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The order that puts indexed axes first, and the sizes of the others."""
    rest = tuple(a for a in range(len(resolved.shape)) if a not in resolved.axes)
    return (*resolved.axes, *rest), tuple(resolved.shape[a] for a in rest)
