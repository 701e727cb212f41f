"""NumPy's own functions on tensors: they come here by ``__array_ufunc__`` and ``__array_function__``.

What NumPy calls is looked up in the door's table, so both entrances have one meaning. What is not there is refused:
nothing leaves the tape silently.
"""

import functools
from collections.abc import Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.core import device as devices
from lucidgrad.levels.layer import Layer, ufunc_name

from .entrance import TABLE, library
from .refused import REASONS

#: Functions that make arrays and come here by ``like=``, whose device they take.
_MAKING = frozenset("arange array asarray asanyarray empty eye full identity ones zeros tri".split())


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What ``Tensor.__array_ufunc__`` does."""
    name = ufunc_name(ufunc)
    found = None if name is None else TABLE.get(("", name))
    if _others_come_first(set(map(type, inputs)), "__array_ufunc__"):
        return NotImplemented
    out = options.get("out")
    if out is not None and any(target is not None for target in out):
        raise TypeError(_about_writing(ufunc.__name__, inputs, out))
    if found is None:
        raise TypeError(_about_missing(ufunc.__name__, name is not None))
    return (found if method == "__call__" else getattr(found, method))(*inputs, **options)


def call_function(tensor: lg.Tensor, function: Any, types: Any, args: Any, keywords: Any) -> Any:
    """What ``Tensor.__array_function__`` does."""
    if _others_come_first(types, "__array_function__"):
        return NotImplemented
    place, name = _named(function)
    found = TABLE.get((place, name))
    if found is None:
        raise TypeError(_about_missing(".".join(part for part in (place, name) if part), True))
    if not place and name in _MAKING:
        keywords = {**keywords, "device": tensor.device}
    return found(*args, **keywords)


@functools.cache
def _named(function: Any) -> tuple[str, str]:
    """The place of one of NumPy's functions and its name there."""
    place = function.__module__.partition(".")[2]
    return place, function.__name__


def _others_come_first(kinds: Iterable[type], protocol: str) -> bool:
    """Whether there are types of others; of a library that tensors are made of it makes no difference if it was met."""
    return any(_is_foreign(kind, protocol) and devices.recognise_type(kind) is None for kind in kinds)


@functools.cache
def _is_foreign(kind: type, protocol: str) -> bool:
    """Whether a type has an override of its own; masks would be lost, too."""
    if kind.__name__ == "MaskedArray":  # of NumPy, and so an array
        return True
    if issubclass(kind, (lg.Tensor, Layer, library().ndarray, library().generic)):
        return False
    return hasattr(kind, protocol)


# -- refusals ------------------------------------------------------------------------------------
def _about_writing(name: str, inputs: tuple[Any, ...], out: tuple[Any, ...]) -> str:
    if len(out) == 1 and any(out[0] is value for value in inputs) and not isinstance(out[0], lg.Tensor):
        return (
            f"numpy.{name}: given an array to write a tensor's values into, as `array += tensor` does, which would "
            f"lose the tensor's history; write `array = array + tensor`, which makes a tensor"
        )
    return f"numpy.{name}: given out=, which tensors don't have; a result is a new tensor: write `x = f(...)`"


def _about_missing(name: str, is_numpy: bool) -> str:
    if not is_numpy:
        return (
            f"{name}: a ufunc of another library, which would leave the tape; lucidgrad.special has many of these "
            f"functions with derivatives, and x.detach().numpy() gives the values"
        )
    reason = REASONS.get(name, "it is not there for tensors")
    return f"numpy.{name}: {reason}; x.detach().numpy() gives the values to NumPy, without their history"
