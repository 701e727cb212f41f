"""Elements added around an array: zeros or another value, mirrored, repeated or from the other end."""

from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.elementwise.copies import apart
from lucidgrad.tensor import Tensor

__all__ = ["pad"]


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return x[(*(slice(None),) * axis, slice(start, stop))]


def _edge(x: Any, axis: int, at: int, count: int) -> Any:
    line = _part(x, axis, at, at + 1)
    return lg.broadcast_to(line, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


def _reflected(x: Any, axis: int, n: int, before: int, after: int) -> list[Any]:
    return [
        lg.flip(_part(x, axis, 1, before + 1), axis=axis) if before else None,
        lg.flip(_part(x, axis, n - 1 - after, n - 1), axis=axis) if after else None,
    ]


def _replicated(x: Any, axis: int, n: int, before: int, after: int) -> list[Any]:
    return [_edge(x, axis, 0, before) if before else None, _edge(x, axis, n - 1, after) if after else None]


def _wrapped(x: Any, axis: int, n: int, before: int, after: int) -> list[Any]:
    return [
        _part(x, axis, n - before, n) if before else None,
        _part(x, axis, 0, after) if after else None,
    ]


#: What stands before and after an axis, by mode; and how far it reaches, given the axis's size.
_ENDS: dict[str, tuple[Callable[..., list[Any]], Callable[[int], int | None]]] = {
    "reflect": (_reflected, lambda n: n - 1),
    "replicate": (_replicated, lambda n: None if n else 0),
    "circular": (_wrapped, lambda n: n),
}


def _extended(x: Any, pairs: Sequence[tuple[int, int]], mode: str) -> Any:
    """Each axis with what stands before and after it; negative numbers take away."""
    ends, reach = _ENDS[mode]
    first = x.ndim - len(pairs)
    for k, (before, after) in enumerate(pairs):
        axis, n = first + k, x.shape[first + k]
        most = reach(n)
        if most is not None and max(before, after) > most:
            raise RuntimeError(
                f"pad: given {(before, after)} for axis {axis} of an input of shape {tuple(x.shape)}, expected at most "
                f"{most} on each side in mode {mode!r}"
            )
        if n + before + after < 1:
            raise RuntimeError(
                f"pad: given {(before, after)} for axis {axis} of an input of shape {tuple(x.shape)}, which leaves "
                f"nothing"
            )
    for k, (before, after) in enumerate(pairs):
        axis = first + k
        if mode == "circular":  # goes on with what is left, other modes with what there was
            x = _cropped(x, axis, before, after)
        n = x.shape[axis]
        start, end = ends(x, axis, n, max(before, 0), max(after, 0))
        parts = [part for part in (start, x, end) if part is not None]
        x = lg.concat(parts, axis=axis) if len(parts) > 1 else x
        x = x if mode == "circular" else _cropped(x, axis, before, after)
    return x


def _cropped(x: Any, axis: int, before: int, after: int) -> Any:
    if min(before, after) >= 0:
        return x
    return _part(x, axis, max(-before, 0), x.shape[axis] - max(-after, 0))


@apart
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements before and after the last axes; negative numbers take them away.

    Parameters
    ----------
    input
        The array. In modes other than ``"constant"`` the padded axes are preceded by one or two others.
    pad
        ``(before, after)`` of the last axis, then of the one before it, and so on.
    mode
        ``"constant"``, ``"reflect"`` (mirrored, without the edge), ``"replicate"`` (the edge) or ``"circular"``.
    value
        What is added in mode constant: 0 if None.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    >>> y = lg.nn.functional.pad(x, (1, 2), mode="reflect")
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[2.0, 1.0, 2.0, 3.0, 2.0, 1.0]], [[2.0, 3.0, 1.0]])
    """
    widths = [int(p) for p in pad]
    if len(widths) % 2 or len(widths) > 2 * input.ndim:
        raise RuntimeError(
            f"pad: given pad={tuple(pad)} and an input of shape {tuple(input.shape)}, expected a pair of numbers for "
            f"each of at most {input.ndim} axes"
        )
    pairs = [(widths[k], widths[k + 1]) for k in range(len(widths) - 2, -1, -2)]
    if mode == "constant":
        return _constant(input, pairs, 0 if value is None else value)
    if value not in (None, 0):
        raise ValueError(f"pad: given mode={mode!r} and value={value}, expected no value: it is for mode 'constant'")
    if mode not in _ENDS:
        raise RuntimeError(f"pad: given mode={mode!r}, expected 'constant', {', '.join(map(repr, _ENDS))}")
    if len(pairs) not in (1, 2, 3) or input.ndim - len(pairs) not in (1, 2):
        raise RuntimeError(
            f"pad: given pad={tuple(pad)}, mode={mode!r} and an input of shape {tuple(input.shape)}, expected pairs "
            f"for one, two or three axes, after one or two axes that are not padded"
        )
    return _extended(input, pairs, mode)


def _constant(x: Any, pairs: Sequence[tuple[int, int]], value: float) -> Any:
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + list(pairs)
    for axis, (n, (before, after)) in enumerate(zip(x.shape, pairs)):
        if n + before + after < 0:
            raise RuntimeError(
                f"pad: given {(before, after)} for axis {axis} of an input of shape {tuple(x.shape)}, which takes away "
                f"more than there is"
            )
        x = _cropped(x, axis, before, after)
    widths = [(max(before, 0), max(after, 0)) for before, after in pairs]
    return lg.pad(x, widths, constant_values=value) if any(map(any, widths)) else x
