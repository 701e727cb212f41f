"""NumPy's files of arrays: a line of text that says what follows, and the values."""

import functools
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from lucidgrad.core import device as devices

from .access import Source, read_into
from .archive import Archive
from .container import FileFormatError, check_booleans, check_shape

MAGIC = b"\x93NUMPY"
_MOST_HEADER = 10_000  # bytes, as in NumPy
_HEADER = re.compile(
    r"\{'descr': '([<>|=]?)(\w+)', 'fortran_order': (True|False), 'shape': \(((?:\d{1,20}L?,? ?)*)\),? ?\}\s*"
)


class _Header(NamedTuple):
    order: str
    code: str
    fortran: bool
    shape: tuple[int, ...]
    start: int


def _header(first: bytes, name: str) -> _Header:
    """What the first bytes of a file of one array say."""
    wide = 2 if first[6:7] == b"\1" else 4
    start = 8 + wide + int.from_bytes(first[8 : 8 + wide], "little")
    if first[:6] != MAGIC or first[6] not in (1, 2, 3) or start > min(len(first), _MOST_HEADER):
        raise FileFormatError(f"{name!r} is no array of NumPy's, or was cut short")
    found = _HEADER.fullmatch(first[8 + wide : start].decode("latin1"))
    if found is None or not re.fullmatch("b1|[iu][1248]|f[248]|c(8|16)", found[2]):
        what = "no array of plain numbers" if found is None else f"an array of {found[2]!r:.20}"
        raise FileFormatError(f"{name!r} is {what}; expected booleans, integers, floats or complex numbers")
    shape = tuple(int(n.strip(" L")) for n in found[4].split(",") if n.strip())
    check_shape(shape, name)
    return _Header(found[1], found[2], found[3] == "True", shape, start)


def _read(size: int, name: str, fill: Callable[[memoryview], bool | None]) -> Any:
    """An array of which a function gives the bytes: those are read at once, since a header tells how many follow."""
    library = devices.backend_named("cpu").library
    held = library.empty((size,), dtype="uint8")
    if fill(memoryview(held)) is False:
        raise FileFormatError(f"the bytes of {name!r} end too early")
    order, code, fortran, shape, start = _header(bytes(held[:_MOST_HEADER]), name)
    kind = library.dtype(order + code)
    if math.prod(shape) * kind.itemsize != size - start:
        raise FileFormatError(f"{name!r} has the shape {shape} of {code}, and {size - start} bytes")
    rest = held[start:] if start % kind.itemsize == 0 else held[start:].copy()
    flat = rest.view(kind).astype(kind.newbyteorder("="), copy=False)
    check_booleans(flat, name)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


def read_array(source: Source) -> Any:
    """The array of an .npy file."""
    return _read(source.length, "the file", lambda memory: read_into(source.file, memory))


def read_archive(archive: Archive) -> dict[str, Any]:
    """The arrays of an .npz file by name."""
    return {
        name.removesuffix(".npy"): _read(member.size, name, functools.partial(archive.fill, name))
        for name, member in archive.members.items()
    }


def is_archive_of_arrays(archive: Archive) -> bool:
    """Whether an archive is an .npz file."""
    return all(name.endswith(".npy") for name in archive.members)
