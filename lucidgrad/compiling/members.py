"""Members of classes and modules that a function may ask for.

An object's class says what its methods do, and a module what its names mean; both may be changed, and a method may name
globals. Nobody can tell which object an attribute is asked of, so a member counts if any code that the function reaches
asks for its name, or if Python or a library may call it.
"""

import types
from collections.abc import Iterator
from typing import Any

from .watches import Names, Watch

__all__ = ["Members"]

#: With one of these, code can ask for names that it does not write out.
_ANY_NAME = frozenset({"__dict__", "attrgetter", "dir", "eval", "exec", "getattr", "methodcaller", "vars"})
#: What only makes instances, or shows them.
_MAKING = frozenset({"__init__", "__init_subclass__", "__new__", "__post_init__", "__set_name__"})
_MAKES = frozenset({"__class__", "type"})
_IDLE = frozenset({
    "__annotations__", "__del__", "__dict__", "__doc__", "__firstlineno__", "__match_args__", "__module__",
    "__qualname__", "__repr__", "__slots__", "__static_attributes__", "__str__", "__weakref__",
})  # fmt: skip


class Members:
    """The members of some classes and modules that count, found as code is.

    Parameters
    ----------
    is_library
        Whether a class or a module is a library's, so that it stays as it is.
    """

    def __init__(self, is_library: Any) -> None:
        self._is_library = is_library
        self.asked: set[str] = set()  # names that code asks for
        self._seen: dict[int, Any] = {}
        self._owners: dict[int, tuple[Any, str]] = {}
        self._made: set[int] = set()  # classes that code may make instances of
        self._found: dict[int, dict[str, Any]] = {}

    def add(self, owner: Any, path: str, makes: bool = False) -> None:
        """A class with those that it inherits from, or a module; ``makes``: its name is known."""
        if id(owner) in self._seen and not makes:
            return
        self._seen[id(owner)] = owner  # alive, so that no other has its id
        for one in owner.__mro__ if isinstance(owner, type) else (owner,):
            if not self._is_library(one):
                self._owners.setdefault(id(one), (one, path))
                self._found.setdefault(id(one), {})
                if makes:
                    self._made.add(id(one))

    def new(self) -> Iterator[tuple[Any, str]]:
        """Members that count and were not known yet, with their paths."""
        for key, (owner, path) in list(self._owners.items()):
            found = self._found[key]
            for name, value in list(vars(owner).items()):
                if name not in found and self._counts(owner, name):
                    found[name] = value
                    yield value, path

    def _counts(self, owner: Any, name: str) -> bool:
        if name in self.asked:
            return True
        if isinstance(owner, types.ModuleType):  # of which everything can't be looked at
            return False
        if name in _MAKING:
            return id(owner) in self._made or not _MAKES.isdisjoint(self.asked)
        if name in _IDLE:
            return False
        if name.startswith("__") or not _ANY_NAME.isdisjoint(self.asked):
            return True
        return any(name in vars(base) for base in owner.__mro__ if self._is_library(base))

    def watches(self) -> list[Watch]:
        """Whether all that counts is as it was."""
        found = [(*self._owners[key], list(names)) for key, names in self._found.items()]
        return [Attributes(path, owner, names) for owner, path, names in found if names or isinstance(owner, type)]


class Attributes(Names):
    """What a class or a module has under some names; a class must have no new ones, which might come first."""

    def __init__(self, path: str, owner: Any, names: list[str]) -> None:
        space = vars(owner)
        super().__init__(path, space, names, len(space) if isinstance(owner, type) else None)

    @property
    def whole(self) -> bool:
        """A class has no dictionary that C could look at."""
        return False

    def places(self) -> dict[int, Any]:
        """Floats of modules can be replaced; those of classes stay."""
        return super().places() if type(self.holder) is dict else {}
