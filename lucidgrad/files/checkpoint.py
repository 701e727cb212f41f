"""PyTorch's checkpoints: a zip archive with a pickle, and a member for the memory of each storage.

Neither PyTorch nor `pickle` is used: of the names that a pickle can have, a table has those of tensors and plain
values, and all others are refused. Tensors of one storage share memory here, too.
"""

import functools
import re
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.device import Device
from lucidgrad.core.dispatch import box
from lucidgrad.core.engine import tape_namespace
from lucidgrad.tensor import Tensor

from .archive import Archive
from .container import MOST_HEADER, FileFormatError, check_booleans, check_shape, dtype_named
from .pickles import Function, Machine, as_key, check_tree

#: Bytes of an element of each dtype.
_WIDTHS = {
    "bool": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
_STORAGES = {
    "BoolStorage": "bool", "ByteStorage": "uint8", "CharStorage": "int8", "ShortStorage": "int16",
    "IntStorage": "int32", "LongStorage": "int64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "FloatStorage": "float32", "DoubleStorage": "float64", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip


#: How files begin that PyTorch wrote before 1.6, or still writes when asked for the old format.
_OLD = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."


def refuse_old(first: bytes) -> None:
    """Say of a file's first bytes if they are those of a format that is not read, since it is code."""
    if first.startswith(_OLD) or first[257:262] == b"ustar":
        raise FileFormatError("this is a checkpoint in the format before PyTorch 1.6; load and save it there once more")
    if first[:1] == b"\x80" and first[1:2] in (b"\2", b"\3", b"\4", b"\5") and first[2:8] != bytes(6):
        raise FileFormatError(
            "this is a pickle, which is code; expected a checkpoint, arrays or safetensors; "
            "read it where it was made and write its arrays with torch.save(state_dict), numpy.savez or lg.save"
        )


class _StorageType(NamedTuple):
    """The elements of a storage; none if it is of bytes."""

    dtype: str | None


class _Storage(NamedTuple):
    """The bytes of a storage on the host, where they were, and what the reference says that they are."""

    key: str
    memory: Any
    device: str
    dtype: str | None


class Checkpoint:
    """Reads an archive; ``place`` gives bytes on the host, and where they were, as an array where they go."""

    def __init__(self, archive: Archive, place: Callable[[Any, str], Any]) -> None:
        self._archive, self._place = archive, place
        self._host: dict[str, Any] = {}  # by key
        self._placed: dict[tuple[str, str, str], Any] = {}  # by key, device and dtype
        self.tensors: list[Tensor] = []
        pickles = [name for name in archive.members if name.split("/")[-1] == "data.pkl"]
        if len(pickles) != 1:
            raise FileFormatError("the archive is neither a checkpoint of PyTorch nor NumPy's: it has no data.pkl")
        packed = next((name for name, member in archive.members.items() if member.compressed), None)
        if packed is not None:
            raise FileFormatError(
                f"{packed!r} is compressed, which PyTorch's never are; pack the checkpoint anew without"
            )
        self._root = pickles[0].removesuffix("data.pkl")
        if self._root + "constants.pkl" in archive.members:
            raise FileFormatError("this is a TorchScript program, which is code; save its state_dict() instead")
        order = self._root + "byteorder"
        if order in archive.members and archive.read(order, 16) != b"little":
            raise FileFormatError("the checkpoint has big-endian numbers; expected little-endian ones")

    def tree(self) -> Any:
        """What was saved."""
        data = self._archive.read(self._root + "data.pkl", MOST_HEADER)
        found = Machine(data, self.find, self.storage).run()
        scalar = devices.backend_named("cpu").library.generic
        check_tree(found, (Tensor, Device, type(dtypes.named("float32")).__mro__[-2], scalar))
        return found

    def storage(self, given: Any) -> _Storage:
        """What a persistent id stands for."""
        kind, of, key, where, count = given
        if kind != "storage" or type(of) is not _StorageType or not type(key) is type(where) is str:
            raise FileFormatError("the pickle refers to something that is no storage")
        if key not in self._host:
            name = f"{self._root}data/{key}"
            if name not in self._archive.members:
                raise FileFormatError(f"the archive has no {name!r}, to which its pickle refers")
            size = self._archive.members[name].size
            self._host[key] = devices.backend_named("cpu").library.empty((size,), dtype=dtypes.named("uint8"))
            self._archive.fill(name, memoryview(self._host[key]))
        memory = self._host[key]
        width = 1 if of.dtype is None else _WIDTHS[of.dtype]
        if type(count) is not int or count * width != memory.size:
            raise FileFormatError(f"the storage {key!r} has {memory.size} bytes, and the pickle says {count} elements")
        return _Storage(key, memory, where, of.dtype)

    def tensor(self, storage: Any, offset: Any, shape: Any, steps: Any, needs: Any, hooks: Any, *more: Any) -> Tensor:
        """A view of a storage."""
        dtype, notes = self._details(storage, more)
        if not type(shape) is type(steps) is tuple or len(shape) != len(steps) or hooks or type(needs) is not bool:
            raise FileFormatError("the pickle describes a tensor that is none")
        check_shape(shape, storage.key)
        if not all(type(n) is int and n >= 0 for n in (offset, *steps)):
            raise FileFormatError(
                f"a view of the storage {storage.key!r} has the steps {steps!r}, expected no negative"
            )
        count = storage.memory.size // _WIDTHS[dtype]
        last = offset + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        if 0 not in shape and last >= count:
            raise FileFormatError(f"a view of the storage {storage.key!r} reaches its element {last} of {count}")
        made: Tensor = box(self._view(storage, dtype, offset, shape, steps))
        made = made.conj() if notes.get("conj") else made
        made = -made if notes.get("neg") else made
        self.tensors.append(made)
        return made.requires_grad_() if needs else made

    def _details(self, storage: Any, more: tuple[Any, ...]) -> tuple[str, dict[str, bool]]:
        """The dtype, which stands behind the rest if the storage has none, and signs that wait to be applied."""
        if type(storage) is not _Storage:
            raise FileFormatError("the pickle makes a tensor of what is no storage")
        dtype = storage.dtype
        if dtype is None:
            dtype, more = str(more[0]), more[1:]
        notes = more[0] if more and more[0] is not None else {}
        if len(more) > 1 or type(notes) is not dict or not notes.keys() <= {"conj", "neg"}:
            raise FileFormatError("the pickle describes a tensor that has more than values")
        if dtype not in _WIDTHS:
            raise FileFormatError(f"the pickle has a tensor of {dtype:.40}, expected one of {', '.join(_WIDTHS)}")
        return dtype, notes

    def _view(self, storage: _Storage, dtype: str, offset: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
        seen = storage.key, storage.device, dtype
        if seen not in self._placed:
            width = _WIDTHS[dtype]
            flat = storage.memory[: storage.memory.size // width * width].view(dtype_named(dtype, storage.key))
            if sys.byteorder == "big":
                flat = flat.byteswap()
            check_booleans(flat, storage.key)
            self._placed[seen] = self._place(flat, storage.device)
        array = self._placed[seen]
        owner = devices.backend_of(array)
        if 0 in shape:
            return owner.zeros(shape, array.dtype, owner.device_of(array))
        return owner.strided(array[offset:], shape, steps)

    def find(self, module: str, name: str) -> Any:
        """What a global name means."""
        full = f"{module}.{name}".replace("__builtin__.", "builtins.").replace("numpy.core.", "numpy._core.")
        if module in ("torch", "torch.cuda") and name in _STORAGES:
            return _StorageType(_STORAGES[name])
        if module == "torch" and name in _WIDTHS:
            return dtype_named(name, "what was saved")
        if full in _FUNCTIONS:
            return Function(full, functools.partial(_FUNCTIONS[full], self))
        if full == "torch.storage.UntypedStorage":
            return _StorageType(None)
        raise FileFormatError(
            f"the pickle asks for {full!r}, expected tensors and plain values only, as in a state_dict(); no code of a "
            f"file is run; write torch.save(model.state_dict(), path) instead of the whole model"
        )


# -- what a pickle may call: the checkpoint, the machine, and what is given -------------------------------
def _tensor(checkpoint: Checkpoint, _: Machine, *given: Any) -> Tensor:
    return checkpoint.tensor(*given)


def _parameter(_: Checkpoint, __: Machine, tensor: Any, needs: Any, hooks: Any) -> Tensor:
    if not isinstance(tensor, Tensor) or type(needs) is not bool or hooks:
        raise FileFormatError("the pickle describes a parameter that is none")
    made: Tensor = tape_namespace.public.nn.Parameter(tensor.detach(), requires_grad=needs)
    return made


def _size(_: Checkpoint, machine: Machine, given: Any) -> tuple[int, ...]:
    machine.charge(len(given))
    check_shape(tuple(given), "what was saved")
    return tuple(given)


def _set(kind: Callable[..., Any], _: Checkpoint, machine: Machine, given: Any = ()) -> Any:
    machine.charge(len(given))
    return kind(map(as_key, given))


def _device(_: Checkpoint, __: Machine, kind: Any, index: Any = None) -> Device:
    if type(kind) is not str or not re.fullmatch("[a-z]{1,16}", kind):
        raise FileFormatError("the pickle has a device that is none")
    return Device(kind, index)


def _counter(_: Checkpoint, machine: Machine, given: Any) -> Any:
    if type(given) is not dict:
        raise FileFormatError("the pickle counts what is no dict")
    machine.charge(len(given))
    return Counter(given)


def _complex(_: Checkpoint, __: Machine, real: Any, imag: Any) -> complex:
    if not type(real) is type(imag) is float:
        raise FileFormatError("the pickle has a complex number of what are no numbers")
    return complex(real, imag)


def _bytes(_: Checkpoint, machine: Machine, text: Any, coding: Any) -> bytes:
    if type(text) is not str or coding != "latin1":
        raise FileFormatError("the pickle has bytes in a form that is not known here")
    machine.charge(len(text) // 8)
    return text.encode("latin1")


def _number_type(_: Checkpoint, __: Machine, code: Any, align: Any = False, copy: Any = True) -> Any:
    """NumPy's dtype of plain numbers."""
    if type(code) is not str or not re.fullmatch("b1|[iu][1248]|f[248]|c(8|16)", code):
        raise FileFormatError(f"the pickle has the NumPy dtype {code!r:.40}, expected one of plain numbers")
    return devices.backend_named("cpu").library.dtype(code)


def _number(_: Checkpoint, __: Machine, dtype: Any, data: Any) -> Any:
    """NumPy's scalar of a dtype."""
    if type(dtype) is not type(_number_type(_, __, str(dtype.str)[1:])) or type(data) is not bytes:
        raise FileFormatError("the pickle has a NumPy number that is none")
    library = devices.backend_named("cpu").library
    (made,) = library.frombuffer(data, dtype=dtype.newbyteorder("<")).astype(dtype)
    return made


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_tensor_v3": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch.Size": _size,
    "torch.device": _device,
    "collections.OrderedDict": lambda _, __: OrderedDict(),
    "collections.Counter": _counter,
    "builtins.set": functools.partial(_set, set),
    "builtins.frozenset": functools.partial(_set, frozenset),
    "builtins.complex": _complex,
    "_codecs.encode": _bytes,
    "numpy.dtype": _number_type,
    "numpy._core.multiarray.scalar": _number,
}
