"""Devices, and the registry that finds the back end of an array or a device.

A back end (`lucidgrad.backends.protocol.Backend`) registers the array types it owns and the device
name it answers to; the engine asks here and never learns which library it computes with.

A *place* is a device and a stream of it. Where a back end has streams, nodes remember the place they ran at, and a
walk goes there and lets streams wait for each other; where none has, nobody asks.
"""

from _thread import _local as local  # what `threading` has by this name, which takes long to import
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from .errors import DeviceError

by_array: dict[type, Any] = {}
_by_name: dict[str, Any] = {}
_loaders: dict[str, Callable[[], Any]] = {}
_packages: dict[str, str] = {}  # where an array type was defined -> the device it belongs to
_quiets: list[Callable[[], AbstractContextManager[Any]]] = []

#: Array types whose back end has streams -> a function that gives the current place of an array.
places: dict[type, Callable[[Any], Any]] = {}


#: Types of arrays that are made of arrays.
layers: set[type] = set()

#: Array types whose library copies where others give views -> whether it does, by the primitive's name and keywords.
copying: dict[type, Callable[[str, dict[str, Any]], bool]] = {}


class _Defaults(local):
    """The devices that new tensors go to, the innermost last."""

    stack: tuple["Device", ...]


class Device:
    """A device: its back end's name and, where there are several, an index.

    As a context it is where tensors are made for which no device is given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(3).device == "cpu"
    True
    >>> with lg.device("cpu"):
    ...     x = lg.ones(3)
    """

    __slots__ = ("index", "type")
    _known: ClassVar[dict[tuple[str, int | None], "Device"]] = {}

    type: str
    index: int | None

    def __new__(cls, type: "str | int | Device", index: int | None = None) -> "Device":
        if isinstance(type, Device):
            return type
        if isinstance(type, int) and not isinstance(type, bool) and index is None:  # of CUDA
            index, type = type, "cuda"
        if not isinstance(type, str):
            raise TypeError(f"device: given a {type.__class__.__name__}, expected a name such as 'cpu' or 'cuda:1'")
        if index is not None and not (isinstance(index, int) and index >= 0):  # type: ignore[redundant-expr]
            raise DeviceError(f"device: given the index {index!r}, expected a number such as 1")
        name, colon, number = type.partition(":")
        if colon:
            if index is not None or not number.isdigit():
                raise DeviceError(f"device: given {type!r}, expected a name such as 'cpu' or 'cuda:1'")
            index = int(number)
        found = cls._known.get((name, index))
        if found is None:
            if _by_name and name not in _by_name and name not in _loaders:
                raise _unknown(type)
            found = cls._known[name, index] = super().__new__(cls)
            found.type, found.index = name, index
        return found

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Device):
            return self is other
        return str(self) == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)

    def __enter__(self) -> "Device":
        _defaults.stack += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        _defaults.stack = _defaults.stack[:-1]


_Defaults.stack = (Device("cpu"),)
_defaults = _Defaults()


def get_default_device() -> Device:
    """Where tensors are made for which no device is given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.get_default_device()
    device('cpu')
    """
    return _defaults.stack[-1]


def set_default_device(device: "str | Device | None") -> None:
    """Make new tensors on a device where none is given, in this thread; None: on the CPU again.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.set_default_device("cpu")
    """
    _defaults.stack = (located(device or "cpu"),)


def located(device: "str | Device | None") -> Device:
    """The very device that is meant: the default one for None, the current one for a name without an index."""
    where = get_default_device() if device is None else Device(device)
    return backend_named(where).locate(where)


def register(backend: Any) -> None:
    """Make a back end known by its device name and its array types."""
    _by_name[backend.name] = backend
    if backend.quiet is not None and backend.quiet not in _quiets:
        _quiets.append(backend.quiet)
    for array_type in backend.array_types:
        by_array[array_type] = backend


def quiet() -> AbstractContextManager[Any]:
    """Silence the libraries' floating-point warnings: rules may divide by zero where nobody looks."""
    return _quiets[0]() if len(_quiets) == 1 else _all_quiet(*_quiets)


@contextmanager
def _all_quiet(*contexts: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    """One in the other: it takes no more calls to leave them than to enter, so where calls run out none is left on."""
    with contexts[0](), _all_quiet(*contexts[1:]) if contexts[1:] else nullcontext():
        yield


def register_loader(name: str, load: Callable[[], Any], package: str | None = None) -> None:
    """Name a device whose back end is loaded when it, or an array type from ``package``, is first met."""
    _loaders[name] = load
    if package is not None:
        _packages[package] = name


def known() -> dict[str, str]:
    """The device names, and what answers to them."""
    found = {name: f"loaded, {', '.join(t.__name__ for t in b.array_types[:1])}" for name, b in _by_name.items()}
    return {**dict.fromkeys(_loaders, "loaded when first used"), **found}


def is_loaded(name: str) -> bool:
    """Whether the back end of a device is in use."""
    return name in _by_name


def available() -> tuple[Device, ...]:
    """The devices whose back ends are loaded."""
    return tuple(backend.locate(Device(name)) for name, backend in _by_name.items())


def backend_named(device: Any) -> Any:
    """The back end of a device."""
    name = Device(device).type
    if name not in _by_name:
        load = _loaders.get(name)
        if load is None:
            raise _unknown(name)
        load()
    return _by_name[name]


def _unknown(name: str) -> DeviceError:
    known = ", ".join(sorted({*_by_name, *_loaders}))
    return DeviceError(f"device {name!r} is not known here; there are: {known}. A GPU of NVIDIA's is 'cuda'")


def library_of(obj: Any) -> str | None:
    """The device whose library an object comes from, if that is one of those known by name."""
    return _packages.get(type(obj).__module__.partition(".")[0])


def recognise(obj: Any) -> Any:
    """The back end of an array, loaded now if its library is one of those known by name; None for other objects."""
    return recognise_type(type(obj))


def recognise_type(kind: type) -> Any:
    """The same of the type of an array."""
    found = by_array.get(kind)
    if found is None:
        name = _packages.get(kind.__module__.partition(".")[0])
        if name is not None and name not in _by_name:
            backend_named(name)
            found = by_array.get(kind)
    return found


def backend_of(array: Any) -> Any:
    """The back end of a raw array."""
    try:
        return by_array[type(array)]
    except KeyError:
        raise TypeError(f"no back end is registered for arrays of type {type(array).__name__}") from None
