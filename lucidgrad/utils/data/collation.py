"""From a list of samples to a batch."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.core import device as devices, dtype as dtypes

__all__ = ["default_collate", "default_convert"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Make a batch of samples: tensors, arrays and numbers are stacked, containers are gone into.

    Strings and bytes stay as they are. Dicts, named tuples and dataclasses keep their type; tuples become lists.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.utils.data.default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    >>> lg.utils.data.default_collate([(0.5, True), (1.5, False)])
    [tensor([0.5, 1.5], dtype=float64), tensor([ True, False])]
    """
    first = batch[0]
    if isinstance(first, lg.Tensor):
        return lg.stack(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if _is_array(first):
        return _stacked(batch)
    if isinstance(first, bool):
        return lg.tensor(batch if all(isinstance(x, bool) for x in batch) else [float(x) for x in batch])
    if isinstance(first, float):
        return lg.tensor([float(x) for x in batch], dtype=lg.float64)
    if isinstance(first, int):
        return lg.tensor(list(batch), dtype=None if any(isinstance(x, float) for x in batch) else lg.int64)
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return _like_dataclass(first, lambda name: default_collate([getattr(sample, name) for sample in batch]))
    if isinstance(first, Sequence):
        lengths = sorted({len(sample) for sample in batch})
        if len(lengths) > 1:
            raise RuntimeError(f"default_collate: given samples of lengths {lengths}, expected one length")
        return _like_sequence(first, [default_collate(column) for column in zip(*batch)])
    raise TypeError(
        f"default_collate: given samples of type {type(first).__name__}; expected tensors, arrays, numbers, strings, "
        f"dicts, sequences and dataclasses of them; others need a collate_fn"
    )


def default_convert(data: Any) -> Any:
    """Make tensors of the arrays in a sample, and leave all else as it is.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.utils.data.default_convert({"x": lg.ones(2).numpy(), "n": 3})
    {'x': tensor([1., 1.]), 'n': 3}
    """
    return _map(data, lambda part: _tensor(part) if _has_numbers(part) else part, tuples_stay=False)


def map_tensors(function: Callable[[Any], Any], batch: Any) -> Any:
    """Apply a function to the tensors in a batch, and leave all else as it is."""
    return _map(batch, lambda part: function(part) if isinstance(part, lg.Tensor) else part, tuples_stay=True)


def _map(data: Any, function: Callable[[Any], Any], tuples_stay: bool) -> Any:
    if isinstance(data, (lg.Tensor, str, bytes)) or _is_array(data):
        return function(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: _map(part, function, tuples_stay) for key, part in data.items()})
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        return _like_dataclass(data, lambda name: _map(getattr(data, name), function, tuples_stay))
    if isinstance(data, tuple) and (tuples_stay or not hasattr(data, "_fields")):
        parts = [_map(part, function, tuples_stay) for part in data]
        return type(data)(*parts) if hasattr(data, "_fields") else tuple(parts) if tuples_stay else parts
    if isinstance(data, Sequence) and not isinstance(data, range):
        return _like_sequence(data, [_map(part, function, tuples_stay) for part in data])
    return function(data)


def _is_array(obj: Any) -> bool:
    """Whether it is an array, or a number of an array library, that a tensor can be made of."""
    return devices.recognise(obj) is not None


def _has_numbers(obj: Any) -> bool:
    return _is_array(obj) and str(obj.dtype) in dtypes.known()


def _tensor(array: Any) -> Any:
    if not _has_numbers(array):
        raise TypeError(f"default_collate: given an array of dtype {array.dtype}, expected numbers or booleans")
    return lg.as_tensor(array)


def _stacked(batch: Sequence[Any]) -> Any:
    """Arrays as one tensor; those of one library are stacked by it."""
    first = batch[0]
    if all(type(sample) is type(first) and sample.dtype == first.dtype for sample in batch) and _has_numbers(first):
        home = devices.backend_of(first)
        if home.device_of(first) == "cpu":
            return lg.asarray(home.library.stack(batch))
    return lg.stack([_tensor(sample) for sample in batch])


def _like_mapping(like: Any, parts: dict[Any, Any]) -> Any:
    if type(like) is dict:
        return parts
    try:
        return type(like)(parts)
    except TypeError:  # a class of the user's own, whose constructor takes something else
        return parts


def _like_sequence(like: Any, parts: list[Any]) -> Any:
    if hasattr(like, "_fields"):
        return type(like)(*parts)
    if type(like) in (list, tuple):
        return parts
    try:
        return type(like)(parts)
    except TypeError:
        return parts


def _like_dataclass(like: Any, part: Callable[[str], Any]) -> Any:
    return dataclasses.replace(
        like, **{field.name: part(field.name) for field in dataclasses.fields(like) if field.init}
    )
