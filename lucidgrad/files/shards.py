"""Models in several files: an index in JSON says which of them has which tensor."""

import os
from collections.abc import Callable
from typing import Any

from .access import Source, is_file, opened
from .container import MOST_HEADER, FileFormatError, parse


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
