"""Models in several files: an index in JSON says which of them has which tensor; and files with parts of tensors."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lucidgrad.tensor import Tensor

from .access import Source, is_file, name_of, opened, replacing
from .container import MOST_HEADER, FileFormatError, about_file, explained, layout, parse, read_array, read_header
from .tree import Reader, Writer


def is_index(first: bytes, length: int) -> bool:
    """Whether a file begins as an index does, and not as a safetensors file, whose first eight bytes are a length."""
    return first[:1] == b"{" and int.from_bytes(first[:8], "little") > length


class Index:
    """Which file of a folder has which tensor."""

    def __init__(self, source: Source, path: Any) -> None:
        if is_file(path, "read"):
            raise FileFormatError("an index names files beside it; expected its path, and not an open file")
        found = parse(source.file.read(MOST_HEADER + 1))
        places = found.get("weight_map")
        if type(places) is not dict or not all(type(file) is str for file in places.values()):
            raise FileFormatError("the index has no 'weight_map' of files by name")
        self.folder, self.places = os.path.dirname(os.fsdecode(path)), places
        for file in set(places.values()):
            if not file or file in (".", "..") or any(sign in file for sign in "/\\:\0"):
                raise FileFormatError(f"the index names {file!r}, expected the name of a file beside it")

    def merged(self, read: Callable[[Source, str], Any]) -> dict[str, Any]:
        """All tensors by name, in the order of the index."""
        found = {}
        for file in dict.fromkeys(self.places.values()):
            path = os.path.join(self.folder, file)
            with opened(path) as source:
                if is_index(source.file.read(8), source.length):
                    raise FileFormatError(f"{file!r} is an index, too")
                source.file.seek(source.start)
                part = read(source, path)
            for name in (name for name, place in self.places.items() if place == file):
                if not isinstance(part, dict) or name not in part:
                    raise FileFormatError(f"{file!r} does not have {name!r}, which the index says")
                found[name] = part[name]
        return {name: found[name] for name in self.places}


# -- parts of tensors ------------------------------------------------------------------------------
def write_part(path: Any, pieces: Mapping[str, Tensor], tree: Any, notes: dict[str, str]) -> tuple[dict[str, str], int]:
    """Write tensors, and a tree without tensors, to a file; by key the name that a tensor has there, and all bytes.

    Tensors that occupy the same memory are written once.
    """
    writer = Writer()
    names = {key: writer.name_of(piece.array, (key,)) for key, piece in pieces.items()}
    header, blocks = layout(writer.node(tree, ()), writer.arrays, notes)
    with replacing(path) as file:
        file.write(header)
        for block in blocks:
            file.write(block)
    return names, len(header) + sum(block.nbytes for block in blocks)


class Part:
    """An open file that `write_part` wrote: its tree, and tensors of the host by name, read when they are asked for."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.entries, self.notes, self._start = read_header(source)
        about = about_file(self.notes, self.entries)
        self._sums, self._wide = about.get("sums", {}), set(about.get("complex128", ()))
        self._tree = about.get("tree")

    def tree(self) -> Any:
        """The tree."""
        return Reader(_no_tensor).node(self._tree)

    def array(self, name: str) -> Any:
        """The values of one tensor, which are checked against the sum that was written with them."""
        if name not in self.entries:
            raise FileFormatError(f"there is no {name!r}, which the index says")
        entry = self.entries[name]
        self._source.file.seek(self._start + entry.start)
        return read_array(self._source.file, name, entry, self._sums.get(name), name in self._wide)


def _no_tensor(name: str, _: str) -> Any:
    raise FileFormatError(f"the tree has the tensor {name!r}, expected plain values")


@contextlib.contextmanager
def open_part(path: Any) -> Iterator[Part]:
    """A file that `write_part` wrote; whatever is wrong with it is an error with its name."""
    with opened(path) as source, explained(name_of(path)):
        yield Part(source)
