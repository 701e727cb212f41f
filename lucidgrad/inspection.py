"""What the namespace says of itself, and the namespace as an earlier version of the standard has it."""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .core import device as devices, dtype as dtypes
from .core.device import Device
from .core.engine import tape_namespace
from .datatypes import KINDS

#: The versions of the standard that can be asked for, the newest last.
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

__array_api_version__ = VERSIONS[-1]


class Info:
    """The answers of ``__array_namespace_info__()``."""

    def __init__(self, version: str = VERSIONS[-1]) -> None:
        self._version = version

    def capabilities(self) -> dict[str, Any]:
        """What arrays can do beyond the least that the standard asks for."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where arrays are made if nothing is said."""
        return devices.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of Python floats, complex numbers and integers, and of indices."""
        devices.backend_named("cpu" if device is None else device)
        return {
            "real floating": dtypes.get_default_dtype(),
            "complex floating": dtypes.default_complex_dtype(),
            "integral": dtypes.named("int64"),
            "indexing": dtypes.named("int64"),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The dtypes of the standard by name, of all kinds or of some."""
        devices.backend_named("cpu" if device is None else device)
        if kind is None:
            kind = ("bool", "numeric")
        kinds = (kind,) if isinstance(kind, str) else tuple(kind)
        unknown = [k for k in kinds if k not in KINDS]
        if unknown:
            raise ValueError(f"dtypes: given kind {unknown[0]!r}, expected some of {', '.join(KINDS)}")
        names = dict.fromkeys(name for k in kinds for name in KINDS[k])
        return {name: dtypes.named(name) for name in names if name != "float16"}  # which the standard lacks

    def devices(self) -> Any:
        """The devices that are in use: a tuple, or a list before version 2025.12."""
        found = devices.available()
        return found if self._version >= "2025.12" else list(found)


def __array_namespace_info__() -> Info:
    """The namespace's account of itself, as the Array API standard has it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """
    return Info()


def _listing(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    @functools.wraps(function)
    def listed(*args: Any, **keywords: Any) -> list[Any]:
        return list(function(*args, **keywords))

    return listed


class _Earlier(ModuleType):
    """The namespace under an earlier version of the standard, where a few functions return lists."""

    def __init__(self, version: str) -> None:
        super().__init__("lucidgrad", f"lucidgrad as the Array API standard of {version} has it.")
        self.__array_api_version__ = version
        self.__array_namespace_info__ = lambda: Info(version)
        self.broadcast_arrays = _listing(tape_namespace.public.broadcast_arrays)
        self.meshgrid = _listing(tape_namespace.public.meshgrid)

    def __getattr__(self, name: str) -> Any:
        return getattr(tape_namespace.public, name)

    def __dir__(self) -> list[str]:
        return dir(tape_namespace.public)


_earlier: dict[str, _Earlier] = {}


def namespace(api_version: str | None = None) -> Any:
    """The namespace in a version of the standard, by default the newest, which is the module itself."""
    if api_version is None or api_version == VERSIONS[-1]:
        return tape_namespace.public
    if api_version not in VERSIONS:
        raise ValueError(f"__array_namespace__: given api_version {api_version!r}, expected one of {VERSIONS}")
    return _earlier.setdefault(api_version, _Earlier(api_version))
