"""`vmap`: a function of one example becomes a function of many."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.levels.batching import enter_level, leave_level
from lucidgrad.levels.layer import Layer, Level, draws
from lucidgrad.ops.shape.joining import concat
from lucidgrad.ops.shape.layout import moveaxis
from lucidgrad.random import recall, remember
from lucidgrad.tensor import Tensor

from . import guests, trees


def is_transformed(x: Tensor) -> bool:
    """Whether a tensor stands for more than one value: for many examples inside `vmap`, or for one with a tangent.

    Its values can't be read then, for a check, say.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> seen = []
    >>> y = lg.func.vmap(lambda x: (seen.append(lg.func.is_transformed(x)), x)[1])(lg.ones(2))
    >>> seen, lg.func.is_transformed(y)
    ([True], False)
    """
    return isinstance(x.array, Layer)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Map a function over an axis of its arguments, all examples at once.

    Parameters
    ----------
    func
        A function of one example: trees of tensors in, trees of tensors out. Where all that is mapped are arrays of
        NumPy or CuPy, the results are, too.
    in_dims
        The axis of each argument that holds the examples, None where all examples share the argument; an int for
        all arguments, or a tuple with one entry per argument, each an int, None or a tree of them. Keyword arguments
        are not mapped: all examples share them.
    out_dims
        Where the results have the axis: an int, None for what all examples share (tensor or not), or a tree of them.
    randomness
        What random functions do inside: ``"error"``, ``"different"`` numbers per example, or the ``"same"``.
    chunk_size
        How many examples to take at once, against memory blow-up; None for all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.func import grad, vmap
    >>> x = lg.tensor([1.0, 2.0, 3.0])
    >>> vmap(grad(lambda x: x**3))(x)  # the derivative at each point
    tensor([ 3., 12., 27.])
    """
    check_randomness("vmap", randomness)
    check_chunk_size("vmap", chunk_size)
    for place in trees.flatten(out_dims)[0]:
        if place is not None and not isinstance(place, int):
            raise ValueError(f"vmap: out_dims has {place!r}, expected an int, None or a tree of them")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given, leaves, shape, dims, size = _examples(in_dims, args)
        one = functools.partial(func, **kwargs) if kwargs else func
        if chunk_size is None or size <= chunk_size:
            result = _run(one, leaves, shape, dims, size, out_dims, randomness)
            return result if given is leaves else _left(given, dims, result)
        pieces: list[Any] = []
        drawn = remember() if randomness == "same" else None
        for start in range(0, size, chunk_size):
            if drawn is not None and start:
                recall(drawn)
            part = [
                x if d is None else _narrow(x, d, start, min(start + chunk_size, size))
                for x, d in zip(leaves, dims, strict=True)
            ]
            pieces.append(_run(one, part, shape, dims, min(chunk_size, size - start), out_dims, randomness))
        rows, outer = zip(*(trees.flatten(piece) for piece in pieces), strict=True)
        places = _places(out_dims, pieces[0])
        joined = [
            column[0] if d is None else concat(list(column), axis=d)
            for column, d in zip(zip(*rows, strict=True), places, strict=True)
        ]
        result = trees.unflatten(outer[0], joined)
        return result if given is leaves else _left(given, dims, result)

    return mapped


def _left(given: list[Any], dims: list[Any], result: Any) -> Any:
    """The result of the sort that the mapped arguments are."""
    mapped = [x for x, d in zip(given, dims, strict=True) if d is not None]
    return trees.map(lambda y: guests.value(mapped, y), result)


def _narrow(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    key = [slice(None)] * x.ndim
    key[axis] = slice(start, stop)
    return x[tuple(key)]


def check_randomness(who: str, randomness: str) -> None:
    """Raise unless it is one of the three words."""
    if randomness not in ("error", "different", "same"):
        raise ValueError(f"{who}: randomness is {randomness!r}, expected 'error', 'different' or 'same'")


def check_chunk_size(who: str, size: Any) -> None:
    """Raise unless it is a positive number or None."""
    if size is None:
        return
    if not isinstance(size, int) or isinstance(size, bool):
        raise TypeError(f"{who}: chunk_size is {size!r}, expected a positive number or None")
    if size < 1:
        raise ValueError(f"{who}: chunk_size is {size}, expected a positive number or None")


def _places(out_dims: Any, result: Any) -> list[Any]:
    """Where each leaf of the result has the axis; for a lone tensor the place may be in a tuple."""
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    return trees.broadcast_prefix(out_dims, result, "vmap: out_dims")


def _examples(in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], list[Any], Any, list[Any], int]:
    """The leaves of all arguments as they are and as tensors, the axis of each, and the number of examples."""
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if isinstance(in_dims, tuple) and len(in_dims) != len(args):
        raise ValueError(f"vmap: in_dims has {len(in_dims)} entries for {len(args)} arguments")
    given, shape = trees.flatten(args)
    leaves = given
    dims = trees.broadcast_prefix(in_dims, args, "vmap: in_dims")
    sizes: dict[int, int] = {}
    for i, (x, dim) in enumerate(zip(given, dims, strict=True)):
        if dim is None:
            continue
        if isinstance(dim, bool) or not isinstance(dim, int):
            error = TypeError if isinstance(dim, bool) else ValueError
            raise error(f"vmap: in_dims has {dim!r}, expected an int or None")
        if not isinstance(x, Tensor):
            if not hasattr(x, "shape"):
                raise ValueError(
                    f"vmap: argument {i} is a {type(x).__name__}, in_dims is {dim}; only tensors and arrays have axes "
                    f"to map over: give None, or pass it by keyword"
                )
            leaves = list(given) if leaves is given else leaves
            x = leaves[i] = guests.received("vmap", x)
        if not -x.ndim <= dim < x.ndim:
            raise ValueError(f"vmap: argument {i} has {x.ndim} axes, in_dims asks for axis {dim}")
        dims[i] = dim % x.ndim
        sizes[i] = x.shape[dim]
    if not sizes:
        raise ValueError("vmap: no argument is mapped over; in_dims must name an axis of at least one tensor")
    if len(set(sizes.values())) > 1:
        raise ValueError(f"vmap: the mapped axes have different lengths: {sorted(set(sizes.values()))}")
    return given, leaves, shape, dims, next(iter(sizes.values()))


def _run(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    shape: Any,
    dims: Sequence[Any],
    size: int,
    out_dims: Any,
    randomness: str,
) -> Any:
    before = draws.maps
    with Level("vmap") as level:
        entered = [
            x if d is None else enter_level(moveaxis(x, d, 0) if d else x, level=level, size=size)
            for x, d in zip(leaves, dims, strict=True)
        ]
        draws.maps = (*before, (level, size, randomness))
        try:
            result = func(*trees.unflatten(shape, entered))
        finally:
            draws.maps = before
        outs, outer = trees.flatten(result)
        places = _places(out_dims, result)
        left = []
        for y, place in zip(outs, places, strict=True):
            if place is None:  # be it a tensor or not
                if isinstance(y, Tensor) and any(number == level for number, _ in getattr(y.array, "levels", ())):
                    raise ValueError("vmap: an output with out_dims None differs from example to example")
                left.append(y)
                continue
            if not isinstance(y, Tensor):
                raise TypeError(
                    f"vmap: the function returned a {type(y).__name__}, expected tensors only; "
                    f"use lg.asarray, or out_dims=None"
                )
            y = leave_level(y, level=level, size=size)
            if not -y.ndim <= place < y.ndim:
                raise ValueError(f"vmap: an output has {y.ndim} axes with the mapped one, out_dims is {place}")
            left.append(moveaxis(y, 0, place) if place % y.ndim else y)
        return trees.unflatten(outer, left)
