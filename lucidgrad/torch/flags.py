"""Switches that PyTorch has and that choose nothing here: they keep what they are set to, and a log says so once."""

import logging
import sys
from types import ModuleType
from typing import Any

log = logging.getLogger("lucidgrad.torch")
_said: set[str] = set()


def has_no_meaning(what: str) -> None:
    """Say once, at debug level, that something was accepted and changes nothing."""
    if what not in _said:
        _said.add(what)
        log.debug("%s is accepted and changes nothing here", what)


class Switches(ModuleType):
    """A module whose attributes are switches without a meaning."""

    def __init__(self, name: str, doc: str, **values: Any) -> None:
        super().__init__(name, doc)
        vars(self).update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not isinstance(value, ModuleType):
            has_no_meaning(f"{self.__name__.removeprefix('lucidgrad.')}.{name}")
        super().__setattr__(name, value)

    @classmethod
    def known(cls, name: str, doc: str, **values: Any) -> "Switches":
        """One that can be imported by its name, and its parent has as an attribute."""
        made = sys.modules[name] = cls(name, doc, **values)
        parent, _, own = name.rpartition(".")
        vars(sys.modules[parent])[own] = made
        return made


class Format:
    """A layout of memory. Arrays have that of their library: it is accepted and changes nothing."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


memory_format = layout = Format
channels_last, channels_last_3d = Format("channels_last"), Format("channels_last_3d")
contiguous_format, preserve_format = Format("contiguous_format"), Format("preserve_format")
strided = Format("strided")


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers close to zero are zero: not to be had here, so False, as PyTorch answers where it can't."""
    return False


def set_num_interop_threads(num: int) -> None:
    """Accepted: there are no threads between operations."""
    has_no_meaning("torch.set_num_interop_threads")


def get_num_interop_threads() -> int:
    """One: operations follow one another."""
    return 1


def set_warn_always(b: bool) -> None:
    """Accepted: Python's own filters say how often a warning is shown."""
    has_no_meaning("torch.set_warn_always")
