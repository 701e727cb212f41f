"""The tree of a file as JSON: plain values stand for themselves, all else is ``{"kind": ...}``."""

import math
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.device import Device
from lucidgrad.core.dispatch import box, number
from lucidgrad.core.engine import tape_namespace
from lucidgrad.extents import Shape
from lucidgrad.tensor import Tensor

from .container import FileFormatError

_MOST_LEVELS = 200  # of a tree
_EXACT = 2**53  # integers up to here are numbers in every JSON reader


class Writer:
    """Turns a tree into JSON, and gathers its tensors under readable names."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}  # by name, on the host
        self.within: set[int] = set()
        self._names: dict[Any, str] = {}  # by the memory they occupy
        self._kept: list[Any] = []  # what has an id here lives on
        self._tensors: dict[int, int] = {}

    def node(self, obj: Any, path: tuple[str, ...]) -> Any:
        """The JSON of an object that stands at a path."""
        kind = type(obj)
        if obj is None or kind is bool or kind is str:
            return obj
        write = _WRITERS.get(kind)
        if write is not None:
            return write(self, obj, path)
        if isinstance(obj, Tensor):
            return self.tensor(obj, path)
        if isinstance(obj, OrderedDict):  # such as a module's state_dict
            return self.container(obj, path)
        if isinstance(obj, Shape):
            return self.container(tuple(obj), path)
        if isinstance(obj, _dtype_class()):
            return {"dtype": str(obj)}
        if number(obj) is not obj:  # a library's scalar, such as the mean of losses
            return self.node(number(obj), path)
        if devices.recognise(obj) is not None and hasattr(obj, "ndim") and kind.__name__ == "ndarray":
            return {"array": self.name_of(obj, path), **_place(devices.backend_of(obj).device_of(obj))}
        raise TypeError(
            f"save: {_at(path)} is a {kind.__module__}.{kind.__qualname__}; expected tensors, arrays, numbers, "
            f"strings, bytes, None, dtypes, devices, and dicts, lists and tuples of them, such as a state_dict"
        )

    def container(self, obj: Any, path: tuple[str, ...]) -> Any:
        """The JSON of a dict, list or tuple."""
        if id(obj) in self.within:
            raise ValueError(f"save: {_at(path)} contains itself")
        if len(path) > _MOST_LEVELS:
            raise ValueError(f"save: {_at(path[:3])} goes deeper than {_MOST_LEVELS} levels")
        self.within.add(id(obj))
        try:
            if isinstance(obj, dict):
                return self.mapping(obj, path)
            parts = [self.node(part, (*path, str(i))) for i, part in enumerate(obj)]
        finally:
            self.within.discard(id(obj))
        return parts if type(obj) is list else {"tuple": parts}

    def mapping(self, obj: dict[Any, Any], path: tuple[str, ...]) -> Any:
        """The JSON of a dict: an object if all keys are strings, else a list of pairs."""
        kind = "dict" if type(obj) is dict else "ordered"
        for key in obj:
            if not _is_key(key):
                raise TypeError(
                    f"save: {_at(path)} has a key of type {type(key).__name__}; expected strings, numbers, None, or "
                    f"tuples of them"
                )
        if all(type(key) is str for key in obj):
            return {kind: {key: self.node(value, (*path, key)) for key, value in obj.items()}}
        pairs = [[self.node(key, path), self.node(value, (*path, str(key)))] for key, value in obj.items()]
        return {kind: pairs}

    def tensor(self, t: Tensor, path: tuple[str, ...]) -> Any:
        """What is known of a tensor beside its values."""
        if id(t) in self._tensors:
            return {"same": self._tensors[id(t)]}
        self._kept.append(t)
        self._tensors[id(t)] = len(self._tensors)
        made: dict[str, Any] = {"tensor": self.name_of(t.array, path), **_place(t.device)}
        if t.requires_grad:
            made["requires_grad"] = True
        role = _role(t)
        return made if role is None else {**made, "role": role}

    def name_of(self, array: Any, path: tuple[str, ...]) -> str:
        """The name that an array is kept under; one for all that occupy the very same memory."""
        try:
            memory = _memory(array)
            if memory not in self._names:
                name = self._names[memory] = self._new_name(path)
                self.arrays[name] = devices.backend_of(array).to_numpy(array)
                self._kept.append(array)
        except TypeError as error:
            raise TypeError(f"save: {_at(path)}: {error}") from error
        return self._names[memory]

    def _new_name(self, path: tuple[str, ...]) -> str:
        base = name = ".".join(path).encode("utf-8", "replace").decode() or "tensor"
        number = 1
        while name in self.arrays or name == "__metadata__":
            number += 1
            name = f"{base}#{number}"
        return name


def _int(_: Writer, obj: int, __: Any) -> Any:
    return obj if -_EXACT <= obj <= _EXACT else {"int": hex(obj)}


def _float(_: Any, obj: float, __: Any) -> Any:
    return obj if math.isfinite(obj) else {"float": struct.pack(">d", obj).hex()}


def _complex(_: Any, obj: complex, __: Any) -> Any:
    return {"complex": struct.pack(">dd", obj.real, obj.imag).hex()}


_WRITERS: dict[type, Callable[[Writer, Any, tuple[str, ...]], Any]] = {
    int: _int,
    float: _float,
    complex: _complex,
    bytes: lambda _, obj, __: {"bytes": obj.hex()},
    Device: lambda _, obj, __: {"device": str(obj)},
    list: Writer.container,
    tuple: Writer.container,
    dict: Writer.container,
    OrderedDict: Writer.container,
}


def _dtype_class() -> type:
    return type(dtypes.named("float32")).__mro__[-2]  # the dtypes' common base, whose name the core does not know


def _is_key(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_key, key))
    return key is None or type(key) in (str, bool, int, float, bytes)


def _at(path: tuple[str, ...]) -> str:
    return "what is to be saved" if not path else "".join(f"[{part!r}]" for part in path)


def _place(where: Device) -> dict[str, str]:
    return {} if where.type == "cpu" else {"on": str(where)}


def _role(t: Tensor) -> str | None:
    """Which kind of a module's tensor it is, if it is one; `nn` is loaded where there are such."""
    nn = sys.modules.get("lucidgrad.nn")
    return next((role for role in ("Parameter", "Buffer") if nn is not None and isinstance(t, getattr(nn, role))), None)


def _memory(array: Any) -> Any:
    """What two arrays have in common if they are the same part of memory, seen in the same way."""
    seen = getattr(array, "__cuda_array_interface__", None) or getattr(array, "__array_interface__", None)
    if seen is None or not math.prod(array.shape):
        return id(array)
    return seen["data"][0], tuple(array.shape), seen["strides"], str(array.dtype), type(array)


class Reader:
    """Makes the tree of what a `Writer` wrote; whatever it can't have written is an error."""

    def __init__(self, tensor: Callable[[str, str], Any]) -> None:
        self.array = tensor  # (name, device) -> array
        self.tensors: list[Tensor] = []

    def node(self, obj: Any, level: int = 0) -> Any:
        """The object of some JSON."""
        if level > _MOST_LEVELS:
            raise FileFormatError(f"the tree has more than {_MOST_LEVELS} levels")
        if type(obj) is list:
            return [self.node(part, level + 1) for part in obj]
        if type(obj) is not dict:
            return obj
        kind = next(iter(obj), "")
        read = _READERS.get(kind)
        if read is None:
            raise FileFormatError(f"the tree has a part of the unknown kind {kind!r}")
        return read(self, obj[kind], obj, level + 1)

    def mapping(self, parts: Any, obj: dict[str, Any], level: int) -> Any:
        """A dict."""
        if type(parts) is dict:
            made: Any = {key: self.node(value, level) for key, value in parts.items()}
        else:
            made = {self.node(key, level): self.node(value, level) for key, value in parts}
        return OrderedDict(made) if "ordered" in obj else made

    def tensor(self, name: str, obj: dict[str, Any], _: int) -> Tensor:
        """A tensor."""
        made: Tensor = box(self.array(name, obj.get("on", "cpu")))
        role = obj.get("role")
        if role in ("Parameter", "Buffer"):
            nn = tape_namespace.public.nn
            made = nn.Parameter(made, requires_grad=False) if role == "Parameter" else nn.Buffer(made)
        if obj.get("requires_grad"):
            made.requires_grad_()
        self.tensors.append(made)
        return made


_READERS: dict[str, Callable[[Reader, Any, dict[str, Any], int], Any]] = {
    "int": lambda _, text, *__: int(text, 16),
    "float": lambda _, text, *__: struct.unpack(">d", bytes.fromhex(text))[0],
    "complex": lambda _, text, *__: complex(*struct.unpack(">dd", bytes.fromhex(text))),
    "bytes": lambda _, text, *__: bytes.fromhex(text),
    "dtype": lambda _, name, *__: dtypes.named(name),
    "device": lambda _, name, *__: Device(name),
    "tuple": lambda reader, parts, _, level: tuple(reader.node(part, level) for part in parts),
    "dict": Reader.mapping,
    "ordered": Reader.mapping,
    "tensor": Reader.tensor,
    "same": lambda reader, number, *_: reader.tensors[number],
    "array": lambda reader, name, obj, _: reader.array(name, obj.get("on", "cpu")),
}
