"""What a module calls its own, by name."""

from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["Members"]


class Members(MutableMapping[str, Any]):
    """Parameters, buffers or submodules by name: a view of a module's attributes."""

    __slots__ = ("_names", "_values")

    def __init__(self, names: dict[str, Any], values: dict[str, Any]) -> None:
        self._names, self._values = names, values

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._names.setdefault(name, True)
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return repr(dict(self))
