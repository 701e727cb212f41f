"""A module of a library with its functions lifted to what is being differentiated."""

import functools
import importlib
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from .boxes import library, lifted

_JOINERS = (type(library.r_), type(library.c_))  # arrays are joined between their brackets
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type(library.sum), library.ufunc)
_Door = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def door(name: str, source: Any, house: str, modules: str = "", same: Mapping[str, str] | None = None) -> _Door:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a module that is one of a library's.

    Parameters
    ----------
    name
        The module.
    source
        The library's module, which computes where nothing is differentiated.
    house
        Lucidgrad's module, which computes otherwise.
    modules
        The modules below this one.
    same
        Lucidgrad's names of the functions that mean the same in both; None: what has the same name does.
    """
    below, own = modules.split(), vars(sys.modules[name])
    public = [word for word in getattr(source, "__all__", dir(source)) if not word.startswith("_")]

    def find(word: str) -> Any:
        if word in below:
            return importlib.import_module(f"{name}.{word}")
        try:
            found = getattr(source, word)
        except AttributeError:
            raise AttributeError(f"module {name!r} has no attribute {word!r}") from None
        if isinstance(found, _FUNCTIONS):
            own_name = word if same is None else same.get(word, "")
            found = lifted(word, functools.partial(_differentiable, house, word, own_name), found)
        elif isinstance(found, _JOINERS):
            found = _Joiner(lifted(word, lambda: _differentiable(house, word, word).__getitem__, found.__getitem__))
        own[word] = found
        return found

    return find, lambda: sorted({*own, *public, *below}), sorted({*public, *below})


class _Joiner:
    """``np.r_`` and ``np.c_``."""

    def __init__(self, join: Callable[[Any], Any]) -> None:
        self._join = join

    def __getitem__(self, key: Any) -> Any:
        return self._join(key)


def _differentiable(house: str, word: str, name: str) -> Any:
    found = getattr(importlib.import_module(house), name, None) if name else None
    if found is None:
        raise TypeError(f"{word}: an argument is being differentiated, and {house} has no function that means the same")
    return found
