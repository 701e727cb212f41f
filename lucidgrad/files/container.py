"""The safetensors format: eight bytes with the length of a header, the header in JSON, and the tensors' bytes.

Every size and place that a header claims is checked against the file before memory is taken for it.
"""

import contextlib
import importlib
import json
import math
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.errors import DeviceError

from .access import Source, read_into

#: The format's names of dtypes. complex128 has none: it is kept as pairs of float64.
_CODES = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
    "complex64": "C64",
}  # fmt: skip
_NAMES = {code: name for name, code in _CODES.items()}

TREE, CHECK = "lucidgrad", "lucidgrad.checksum"  # keys of the metadata
_UNCHECKED = "00000000"
MOST_HEADER = 100_000_000  # bytes, as in the format's own implementation
_MOST_AXES = 64
_MOST_PARTS = 2_000_000  # commas and brackets of a header, each of which may become an object of a hundred bytes


class FileFormatError(ValueError):
    """A file is none that can be read, has what is refused, or was damaged or cut short."""


# -- writing -------------------------------------------------------------------------------------
def layout(tree: Any, arrays: dict[str, Any], notes: dict[str, str]) -> tuple[bytes, list[Any]]:
    """The header, and the tensors' bytes in the order of the file: large elements first, so that all are aligned."""
    parts = {name: _bytes_of(array) for name, array in arrays.items()}
    order = sorted(parts, key=lambda name: -parts[name].itemsize)
    sums = {name: f"{zlib.crc32(parts[name].data):08x}" for name in order}
    wide = [name for name in order if str(arrays[name].dtype) == "complex128"]
    about = json.dumps({"version": 1, "tree": tree, "sums": sums, "complex128": wide}, separators=(",", ":"))
    entries: dict[str, Any] = {"__metadata__": {**notes, TREE: about, CHECK: _UNCHECKED}}
    start = 0
    for name in order:
        shape, code = list(arrays[name].shape), _CODES.get(str(arrays[name].dtype), "F64")
        end = start + parts[name].nbytes
        entries[name] = {"dtype": code, "shape": shape + [2] * (name in wide), "data_offsets": [start, end]}
        start = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER or _parts(text) > _MOST_PARTS:
        raise ValueError(
            f"save: what describes the tree has {len(text)} bytes and {_parts(text)} parts, of which {MOST_HEADER} "
            f"and {_MOST_PARTS} can be read; keep many numbers in a tensor"
        )
    place = text.index(f'"{CHECK}":"'.encode()) + len(CHECK) + 4
    text = text[:place] + f"{zlib.crc32(text):08x}".encode() + text[place + len(_UNCHECKED) :]
    return struct.pack("<Q", len(text)) + text, [parts[name].data for name in order]


def _parts(text: bytes) -> int:
    """At least as many as the objects that JSON is made into."""
    return sum(map(text.count, (b",", b"[", b"{")))


class _Bytes(NamedTuple):
    data: memoryview
    itemsize: int

    @property
    def nbytes(self) -> int:
        return self.data.nbytes


def _bytes_of(array: Any) -> _Bytes:
    name = str(array.dtype)
    if name not in _CODES and name != "complex128":
        raise TypeError(f"save: the format has no dtype {name}")
    flat = array.reshape(-1)
    if not flat.flags.c_contiguous:  # a vector with gaps, or one element repeated, which reshape leaves as it is
        flat = flat.copy()
    if sys.byteorder == "big":
        flat = flat.byteswap()
    return _Bytes(memoryview(flat.view("uint8")), int(array.dtype.itemsize))


# -- reading -------------------------------------------------------------------------------------
class Entry(NamedTuple):
    """What a tensor is, and where its bytes are."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Whatever goes wrong in what a file says is the file's fault."""
    try:
        yield
    except FileFormatError as error:
        raise FileFormatError(f"{name}: {error}") from None
    except DeviceError as error:
        raise DeviceError(f"{name}: {error}; map_location='cpu' loads it elsewhere") from error
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, RuntimeError) as error:
        raise FileFormatError(f"{name}: the file is damaged ({type(error).__name__}: {error})") from error


def read_header(source: Source) -> tuple[dict[str, Entry], dict[str, str], int]:
    """The tensors' places, the metadata, and where the tensors' bytes begin; all checked against the file's length."""
    file, length = source.file, source.length
    first = file.read(8)
    size = int.from_bytes(first, "little")
    if len(first) < 8 or size > min(length - 8, MOST_HEADER):
        raise FileFormatError(f"given {length} bytes, expected a safetensors file; this is none, or it was cut short")
    text = file.read(size)
    if len(text) != size or not text.startswith(b"{"):
        raise FileFormatError("the header is not that of a safetensors file")
    parsed = parse(text)
    notes = parsed.pop("__metadata__", {})
    if type(notes) is not dict or not all(type(value) is str for value in notes.values()):
        raise FileFormatError("the metadata are not strings by name")
    if any(f"{key}.".startswith(f"{TREE}.") for key in notes):  # what was made of CHECK if it was damaged, too
        check = notes.get(CHECK, "").encode()
        plain = text.replace(b'"%s":"%s"' % (CHECK.encode(), check), f'"{CHECK}":"{_UNCHECKED}"'.encode(), 1)
        if len(check) != len(_UNCHECKED) or f"{zlib.crc32(plain):08x}".encode() != check:
            raise FileFormatError("the header is damaged: its checksum is wrong")
    entries = {name: _entry(name, found) for name, found in parsed.items()}
    end = 0
    for name, entry in sorted(entries.items(), key=lambda pair: pair[1][2:]):
        if entry.start != end:
            raise FileFormatError(f"the bytes of {name!r} begin at {entry.start}, expected {end}")
        end = entry.end
    if end != length - 8 - size:
        raise FileFormatError(
            f"the tensors take {end} bytes, the file has {length - 8 - size}: it was cut short or damaged"
        )
    return entries, notes, source.start + 8 + size


def parse(text: bytes) -> Any:
    """What some JSON says; it is no longer than a header can be, since objects take more memory than their text."""
    if len(text) > MOST_HEADER or _parts(text) > _MOST_PARTS:
        raise FileFormatError(f"the header has {_parts(text)} parts, more than the {_MOST_PARTS} that are read")
    return json.loads(text.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_number)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise FileFormatError("a name stands twice in the header")
    if not all(is_text(word) for pair in pairs for word in pair if type(word) is str):
        raise FileFormatError("the header has half of a surrogate pair, which is no text")
    return made


def is_text(word: str) -> bool:
    """Whether a string can be written as UTF-8: halves of surrogate pairs can't."""
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)


def _no_number(text: str) -> Any:
    raise FileFormatError(f"the header has {text}, which is no JSON")


def _entry(name: str, found: Any) -> Entry:
    """One tensor's line of the header, if it makes sense."""
    code, shape, (start, end) = found["dtype"], tuple(found["shape"]), found["data_offsets"]
    if code not in _NAMES:
        raise FileFormatError(f"{name!r} has the dtype {code!r}, which is not known here")
    check_shape(shape, name)
    if not all(type(n) is int and n >= 0 for n in (start, end)):
        raise FileFormatError(f"{name!r} has a place that no tensor can have")
    bits = {"BOOL": 8, "BF16": 16}.get(code) or int(code[1:])
    if end - start != math.prod(shape) * bits // 8:
        raise FileFormatError(f"{name!r} has the shape {shape} of {code}, and {end - start} bytes")
    return Entry(_NAMES[code], shape, start, end)


def about_file(notes: dict[str, str], entries: dict[str, Entry]) -> dict[str, Any]:
    """What `save` wrote beside the tensors; empty for the files of others."""
    if TREE not in notes:
        return {}
    about = json.loads(notes[TREE], parse_constant=_no_number)
    if about["version"] != 1:
        raise FileFormatError(f"the file has version {about['version']}, this release reads version 1")
    if about["sums"].keys() != entries.keys():
        raise FileFormatError("the tensors are not those that were saved")
    return about


def dtype_named(dtype: str, name: str) -> Any:
    """The dtype of what has a name; bfloat16 is loaded when first met."""
    if dtype not in dtypes.known():
        try:
            importlib.import_module("lucidgrad.backends.cpu.bfloat16")
        except AttributeError as error:
            raise ImportError(f"{name!r} has the dtype bfloat16: {error}") from None
    return dtypes.named(dtype)


def check_booleans(flat: Any, name: str) -> None:
    """Refuse bytes that are no booleans."""
    if str(flat.dtype) == "bool" and flat.size and flat.view("uint8").max() > 1:
        raise FileFormatError(f"{name!r} has booleans that are neither 0 nor 1")


def check_shape(shape: tuple[Any, ...], name: str) -> None:
    """Refuse what can't be the shape of a tensor."""
    if not all(type(n) is int and n >= 0 for n in shape) or len(shape) > _MOST_AXES:
        raise FileFormatError(f"{name!r} has a shape that no tensor can have")
    if math.prod(n for n in shape if n) >= 2**60:
        raise FileFormatError(f"{name!r} has the shape {shape}, which no tensor can have")


def read_array(file: Any, name: str, entry: Entry, checksum: str | None, wide: bool) -> Any:
    """The values of one tensor, read straight into their memory."""
    made = devices.backend_named("cpu").library.empty(entry.shape, dtype=dtype_named(entry.dtype, name))
    flat = made.reshape(-1)
    memory = memoryview(flat.view("uint8"))
    if not read_into(file, memory):
        raise FileFormatError(f"the bytes of {name!r} end too early")
    if checksum is not None and f"{zlib.crc32(memory):08x}" != checksum:
        raise FileFormatError(f"the bytes of {name!r} are damaged: their checksum is wrong")
    check_booleans(flat, name)
    if sys.byteorder == "big":
        flat.byteswap(inplace=True)
    return made.view("complex128").reshape(entry.shape[:-1]) if wide else made
