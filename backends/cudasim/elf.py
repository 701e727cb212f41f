"""A reader of ELF files, as much of it as is needed to know what a shared object asks for and offers."""

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DYNAMIC, STRING_TABLE, SYMBOLS, DYNAMIC_SYMBOLS, NEEDED_VERSIONS, VERSIONS = (6, 3, 2, 11, 0x6FFFFFFE, 0x6FFFFFFF)
NEEDED = 1  # tag of an entry of the dynamic section
FUNCTION, LOCAL, WEAK = 2, 0, 2


class Symbol(NamedTuple):
    """An entry of a symbol table; `version` is the version node that an undefined symbol is bound to."""

    name: str
    kind: int
    binding: int
    defined: bool
    size: int
    version: str


class Section(NamedTuple):
    """A section header, without what nobody here asks for."""

    kind: int
    offset: int
    size: int
    link: int


class Elf:
    """A 64-bit little-endian ELF file. Use it as a context manager."""

    def __init__(self, path: Path):
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a 64-bit little-endian ELF file")
        (start,) = struct.unpack_from("<Q", self._bytes, 40)
        size, count = struct.unpack_from("<HH", self._bytes, 58)
        self.sections = [
            Section(kind, offset, length, link)
            for _, kind, _, _, offset, length, link in (
                struct.unpack_from("<IIQQQQI", self._bytes, start + i * size) for i in range(count)
            )
        ]

    def __enter__(self) -> "Elf":
        return self

    def __exit__(self, *_: object) -> None:
        self._bytes.close()

    def _first(self, kind: int) -> Section | None:
        return next((section for section in self.sections if section.kind == kind), None)

    def _text(self, table: Section, offset: int) -> str:
        begin = table.offset + offset
        return self._bytes[begin : self._bytes.find(b"\0", begin)].decode()

    def mentions(self, name: str) -> bool:
        """Tell whether a name is in a string table: much faster than a walk through the symbols."""
        word = b"\0" + name.encode() + b"\0"
        return any(
            self._bytes.find(word, table.offset, table.offset + table.size) >= 0
            for table in self.sections
            if table.kind == STRING_TABLE
        )

    def needed(self) -> list[str]:
        """The sonames that this file is linked with."""
        dynamic = self._first(DYNAMIC)
        if dynamic is None:
            return []
        raw = self._bytes[dynamic.offset : dynamic.offset + dynamic.size]
        strings = self.sections[dynamic.link]
        return [self._text(strings, value) for tag, value in struct.iter_unpack("<QQ", raw) if tag == NEEDED]

    def _version_names(self) -> dict[int, str]:
        section, names = self._first(NEEDED_VERSIONS), {}
        if section is None:
            return {}
        strings, file = self.sections[section.link], section.offset
        while True:
            _, count, _, entries, following = struct.unpack_from("<HHIII", self._bytes, file)
            entry = file + entries
            for _ in range(count):
                _, _, number, name, step = struct.unpack_from("<IHHII", self._bytes, entry)
                names[number] = self._text(strings, name)
                entry += step
            if not following:
                return names
            file += following

    def symbols(self, kind: int = DYNAMIC_SYMBOLS) -> Iterator[Symbol]:
        """The symbols of a table: the dynamic one, or the full one (`SYMBOLS`)."""
        table = self._first(kind)
        if table is None:
            return
        names, numbers = self._version_names(), self._first(VERSIONS) if kind == DYNAMIC_SYMBOLS else None
        strings = self.sections[table.link]
        raw = self._bytes[table.offset : table.offset + table.size]
        for i, (name, info, _, section, _, size) in enumerate(struct.iter_unpack("<IBBHQQ", raw)):
            version = ""
            if numbers is not None:
                (number,) = struct.unpack_from("<H", self._bytes, numbers.offset + 2 * i)
                version = names.get(number & 0x7FFF, "")
            yield Symbol(self._text(strings, name), info & 15, info >> 4, section != 0, size, version)

    def undefined(self) -> dict[str, str]:
        """The names that must come from other files, with their version nodes."""
        return {s.name: s.version for s in self.symbols() if s.name and not s.defined and s.binding != WEAK}

    def exported(self) -> set[str]:
        """The names that other files can use."""
        return {s.name for s in self.symbols() if s.name and s.defined and s.binding != LOCAL}
