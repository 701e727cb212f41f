"""Zip archives, as PyTorch and NumPy write them: every size and place is checked before anything is read.

The list at the end of the file says what it holds. Names stand once, members don't overlap, and what is compressed
grows no further than was declared, which is no more than its compression can give.
"""

import zlib
from typing import Any, NamedTuple

from .access import Source, read_into
from .container import MOST_HEADER, FileFormatError

_LOCAL, _LISTED, _END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_WIDE_END, _WIDE_PLACE = b"PK\6\6", b"PK\6\7"

_MOST_MEMBERS = 1_000_000
_STORED, _DEFLATED = 0, 8
_MOST_GROWTH = 1032  # what deflating can shrink at best
_CHUNK = 1 << 20


class Member(NamedTuple):
    """One file of an archive: what was kept of it, and where."""

    label: bytes
    start: int  # of its own header
    stop: int  # where the next one, or the list, begins
    held: int  # bytes in the archive
    size: int
    method: int
    checksum: int

    @property
    def compressed(self) -> bool:
        """Whether it becomes larger when it is read."""
        return self.method != _STORED


def is_archive(first: bytes) -> bool:
    """Whether a file begins as an archive does."""
    return first[:4] in (_LOCAL, _END)


class Archive:
    """The members of a zip file by name."""

    def __init__(self, source: Source) -> None:
        self._file, self._start = source.file, source.start
        count, size, place = self._end(source.length)
        if count > _MOST_MEMBERS or size > MOST_HEADER:
            raise FileFormatError(f"the archive lists {count} members in {size} bytes, more than can be read")
        if place + size > source.length:
            raise FileFormatError("the archive's list lies outside of the file: it was cut short or damaged")
        self.members = _listed(self._read(place, size), count, place)

    def read(self, name: str, most: int) -> bytes:
        """A member that is read as a whole."""
        if name not in self.members:
            raise FileFormatError(f"the archive has no {name!r}")
        if self.members[name].size > most:
            raise FileFormatError(f"{name!r} has {self.members[name].size} bytes, of which {most} can be read")
        made = bytearray(self.members[name].size)
        self.fill(name, memoryview(made))
        return bytes(made)

    def fill(self, name: str, memory: memoryview) -> None:
        """Read a member into memory of its size."""
        member = self.members[name]
        head = self._read(member.start, 30)
        label, more = _number(head, 26, 2), _number(head, 28, 2)
        start = member.start + 30 + label + more
        if head[:4] != _LOCAL or self._read(member.start + 30, label) != member.label:
            raise FileFormatError(f"{name!r} is not where the archive's list says: it was damaged")
        if start + member.held > member.stop:
            raise FileFormatError(f"the bytes of {name!r} reach into what follows")
        self._file.seek(self._start + start)
        whole = read_into(self._file, memory) if not member.compressed else self._inflate(member.held, memory)
        if not whole:
            raise FileFormatError(f"the bytes of {name!r} end too early")
        if member.checksum and zlib.crc32(memory) != member.checksum:  # zero: written without
            raise FileFormatError(f"the bytes of {name!r} are damaged: their checksum is wrong")

    def _inflate(self, held: int, memory: memoryview) -> bool:
        stream, done, pending = zlib.decompressobj(-15), 0, b""
        try:
            while not stream.eof:
                if not pending:
                    pending = self._file.read(min(held, _CHUNK))
                    held -= len(pending)
                    if not pending:
                        return False
                part = stream.decompress(pending, min(_CHUNK, memory.nbytes - done) + 1)
                pending = stream.unconsumed_tail
                if done + len(part) > memory.nbytes:
                    return False
                memory[done : done + len(part)] = part
                done += len(part)
        except zlib.error as error:
            raise FileFormatError(f"the archive is damaged: {error}") from None
        return done == memory.nbytes

    def _read(self, place: int, size: int) -> bytes:
        self._file.seek(self._start + place)
        found: bytes = self._file.read(size)
        if len(found) != size:
            raise FileFormatError("the archive was cut short or damaged")
        return found

    def _end(self, length: int) -> tuple[int, int, int]:
        """How many members the list has, how many bytes, and where it begins."""
        size = min(length, 22 + 0xFFFF)
        tail = self._read(length - size, size)
        at = tail.rfind(_END, 0, size - 18)
        if at < 0 or at + 22 + _number(tail, at + 20, 2) != size:
            raise FileFormatError("the archive has no end: it was cut short or damaged")
        if at < 20 or tail[at - 20 : at - 16] != _WIDE_PLACE:
            return _number(tail, at + 10, 2), _number(tail, at + 12, 4), _number(tail, at + 16, 4)
        wide = self._read(_number(tail, at - 12, 8), 56)
        if wide[:4] != _WIDE_END:
            raise FileFormatError("the archive's end is damaged")
        return _number(wide, 32, 8), _number(wide, 40, 8), _number(wide, 48, 8)


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _listed(data: bytes, count: int, end: int) -> dict[str, Member]:
    found: dict[str, Member] = {}
    at = 0
    for _ in range(count):
        if data[at : at + 4] != _LISTED or at + 46 > len(data):
            raise FileFormatError("the archive's list is damaged")
        flags, method = _number(data, at + 8, 2), _number(data, at + 10, 2)
        label, more, note = (_number(data, at + k, 2) for k in (28, 30, 32))
        text = data[at + 46 : at + 46 + label]
        after = at + 46 + label + more
        fields = (_number(data, at + 24, 4), _number(data, at + 20, 4), _number(data, at + 42, 4))
        size, held, start = _widened(fields, data[at + 46 + label : after])
        name = text.decode("utf-8" if flags & 0x800 else "cp437")
        if name in found:
            raise FileFormatError(f"the name {name!r} stands twice in the archive")
        if flags & 1 or method not in (_STORED, _DEFLATED):
            raise FileFormatError(f"{name!r} is encrypted, or compressed by the method {method}; expected neither")
        if (held != size) if method == _STORED else size > held * _MOST_GROWTH:
            raise FileFormatError(f"{name!r} says that {held} bytes of the file are {size}, which can't be")
        found[name] = Member(text, start, end, held, size, method, _number(data, at + 16, 4))
        at = after + note
    if at != len(data):
        raise FileFormatError("the archive's list is damaged")
    for name in sorted(found, key=lambda name: -found[name].start):
        member = found[name]._replace(stop=end)
        if member.start + 30 + len(member.label) + member.held > end:
            raise FileFormatError(f"the bytes of {name!r} lie outside of the file, or in those of another")
        found[name], end = member, member.start
    return found


def _widened(fields: tuple[int, ...], extra: bytes) -> Any:
    """Sizes and a place; those that need eight bytes stand behind the name."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = _number(extra, at, 2), _number(extra, at + 2, 2)
        if kind == 1:
            wide = iter(extra[k : k + 8] for k in range(at + 4, min(at + 4 + size, len(extra)), 8))
            return tuple(_number(next(wide, b""), 0, 8) if n == 0xFFFFFFFF else n for n in fields)
        at += 4 + size
    return fields
