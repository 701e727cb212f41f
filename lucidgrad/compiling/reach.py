"""What a function can reach besides its arguments: tensors, which a program is given, and values, which must stay.

A function reaches what its closure and the globals that it names hold, the object it is a method of, and from there
lists, dictionaries, modules, optimisers and other objects, their classes, and what methods of these reach. A program is
valid as long as it all is as it was.
"""

import contextvars
import functools
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.core.primitive import Primitive
from lucidgrad.core.source import HOME
from lucidgrad.levels.numbers import TracedNumber
from lucidgrad.levels.program import Program
from lucidgrad.nn.module import KINDS

from .hooks import Hooks, hooks_of
from .members import Members
from .watches import VALUES, Cells, Contents, Items, Names, Others, Watch, same

__all__ = ["Reach", "is_foreign"]

_LIBRARIES = frozenset({*sys.stdlib_module_names, "lucidgrad", "numpy", "cupy", "scipy", "torch", "jax", "tqdm"})
#: Classes of Python's own library that hold what users put there: SimpleNamespace, what argparse gives, ...
_HOLDERS = frozenset({"Namespace", "SimpleNamespace", "UserDict", "UserList"})
#: Elements of NumPy's arrays of so many bytes may be others, for all that Python reads of them.
_LARGE = 1 << 16
#: So many things are looked at; what holds more is taken as it is.
_MOST = 200_000


class Reach:
    """Everything that a function, and what it is given, can reach, as it is now."""

    def __init__(self, function: Callable[..., Any], given: Iterable[Any] = ()) -> None:
        self.tensors: list[Any] = []
        self.moving: str | None = None  # something that gives another value each time it is asked
        self.arrays: list[Any] = []  # of other libraries
        self.asks_types = False  # whether code might tell a number that stands for a float from a float
        self._optimisers: list[Any] = []
        self._settings: list[tuple[dict[str, Any], dict[str, Any]]] = []  # groups of optimisers, and how they were
        self._seen: dict[int, Any] = {}
        self._members = Members(_is_library)
        self.walks = False  # whether code may call what waits for gradients to be written
        self._globals: dict[int, tuple[dict[str, Any], str, dict[str, None]]] = {}  # with the names that functions use
        self.watches: list[Watch] = []  # what must stay as it is
        todo: deque[tuple[Any, str]] = deque([(function, getattr(function, "__name__", "the function"))])
        todo.extend((value, "an argument") for value in given if not isinstance(value, lg.Tensor))
        while todo and len(self._seen) < _MOST:
            thing, path = todo.popleft()
            if type(thing) not in VALUES and id(thing) not in self._seen:
                self._seen[id(thing)] = thing  # alive, so that no other has its id
                self._members.add(type(thing), path)
                todo.extend(self._look(thing, path))
            if not todo:
                todo.extend(self._members.new())
            if not todo and not self.walks and "backward" in self._members.asked:
                self.walks = True
                todo.extend((hook, "a hook") for x in self.tensors for hook in hooks_of(x))
        self._seen.clear()
        self.watches += [Names(path, space, list(names)) for space, path, names in self._globals.values()]
        self.watches += [*self._members.watches(), Hooks(self.tensors, self._optimisers)]
        small = [array for array in self.arrays if getattr(array, "nbytes", _LARGE) < _LARGE]
        self.watches += [Contents("an array", small)] if small else []

    def _look(self, thing: Any, path: str) -> list[tuple[Any, str]]:
        if isinstance(thing, lg.Tensor):
            self.tensors.append(thing)
            return [(hook, "a hook") for hook in hooks_of(thing, self.walks)]
        if isinstance(thing, types.FunctionType):
            return self._function(thing, path)
        itself = getattr(type(thing), "function_itself", None)
        if itself is not None:  # compiled, too
            return [(thing.function_itself, path)]
        if hasattr(type(thing), "program_terms"):  # it says itself what of it a program depends on
            return self._watch(Others(path, thing, thing.program_terms))
        if isinstance(thing, types.MethodType):
            return [(thing.__self__, path), (thing.__func__, path)]
        if isinstance(thing, functools.partial):
            return [(thing.func, path), (thing.args, path), (thing.keywords, path)]
        if isinstance(thing, dict):
            return self._watch(_of_dictionary(thing, path))
        if type(thing) is list:
            return self._watch(Items(path, thing))
        if isinstance(thing, (tuple, frozenset)):  # which stay as they are
            return [(part, path) for part in thing]
        if isinstance(thing, (list, deque, set)):
            return self._watch(Others(path, thing, functools.partial(list, thing)))
        if isinstance(thing, lg.optim.Optimizer):  # its numbers are asked for in every run
            self._optimisers.append(thing)
            self._settings += [(group, dict(group)) for group in thing.param_groups]
            states = [value for state in thing.state.values() if isinstance(state, dict) for value in state.values()]
            return [(x, path) for x in (*(p for group in thing.param_groups for p in group["params"]), *states)]
        if isinstance(thing, lg.optim.lr_scheduler.LRScheduler):
            return [(thing.optimizer, path)]
        if isinstance(thing, (type, types.ModuleType)):
            self._members.add(thing, path, makes=True)
            return []
        if isinstance(thing, (property, staticmethod, classmethod, functools.cached_property, functools.partialmethod)):
            names = ("fget", "fset", "__func__", "func")
            return [(part, path) for part in (getattr(thing, name, None) for name in names) if part is not None]
        if isinstance(thing, types.BuiltinFunctionType):  # a method, maybe, of an object
            owner = thing.__self__
            return [] if owner is None or isinstance(owner, (types.ModuleType, type)) else [(owner, path)]
        if isinstance(thing, (lg.Generator, Primitive, Program)):  # what they mean stays
            return []
        if isinstance(thing, contextvars.ContextVar):
            return self._watch(Others(path, thing, lambda: [thing.get(None)]))
        if isinstance(thing, threading.local):  # each thread has others
            return self._watch(Others(path, thing, lambda: [*vars(thing), *vars(thing).values()]))
        if isinstance(thing, Iterator):
            self.moving = f"{path} reaches an iterator, which a program would not move on"
            return []
        if is_foreign(thing):
            self.arrays.append(thing)
            return []
        if _root(type(thing)) in _LIBRARIES - {"lucidgrad"} and type(thing).__name__ not in _HOLDERS:
            return []
        slots = _slots(type(thing))  # type: ignore[arg-type]  # types have a hash
        if slots:
            return self._watch(Others(path, thing, lambda: [getattr(thing, name, None) for name in slots]))
        own = getattr(thing, "__dict__", None)
        if not isinstance(own, dict):
            return []
        if isinstance(thing, lg.nn.Module):  # its names of its members stand beside the members themselves
            self._seen.update((id(own[kind]), own[kind]) for kind in KINDS if kind in own)
            found = self._watch(Names(path, own, [name for name in own if name not in KINDS], len(own)))
        else:
            found = self._watch(_of_dictionary(own, path))
        wrapped = getattr(thing, "__wrapped__", None)
        return found if wrapped is None else [*found, (wrapped, path)]

    def _function(self, function: types.FunctionType, path: str) -> list[tuple[Any, str]]:
        cells = [cell for cell in function.__closure__ or () if _filled(cell)]
        found = self._watch(Cells(path, cells)) if cells else []
        for more in (function.__defaults__, function.__kwdefaults__, getattr(function, "__wrapped__", None)):
            found += [] if more is None else [(more, path)]
        own_code = function.__code__.co_filename.startswith(HOME)
        if own_code or _root(function) in _LIBRARIES - {"lucidgrad"}:
            return found
        names = sorted(_names(function.__code__))
        self.asks_types |= "type" in names
        self._members.asked.update(names)
        space = function.__globals__
        _, _, known = self._globals.setdefault(id(space), (space, path, {}))
        for name in names:
            if name in space:
                known[name] = None
                found.append((space[name], path))
            elif name in sys.modules:  # which it may import
                found.append((sys.modules[name], path))
        return found

    def _watch(self, watch: Watch) -> list[tuple[Any, str]]:
        """Look at values, now and before every run."""
        self.watches.append(watch)
        self._seen.setdefault(id(watch.holder), watch.holder)
        return [(value, watch.path) for value in watch.known]

    def floats(self) -> dict[Any, tuple[Watch, int]]:
        """The floats that it can reach, by the places that they are in."""
        return {
            place: (watch, i)
            for watch in self.watches
            for i, place in watch.places().items()
            if type(watch.known[i]) is float
        }

    def numbers(self) -> list[tuple[Watch, int]]:
        """The floats among these that programs are given, in order."""
        return [(watch, i) for watch in self.watches for i in watch.loose]

    def arrays_known(self, sources: Iterable[Any]) -> bool:
        """Whether all these arrays of other libraries are reached from outside."""
        known = {id(array) for array in self.arrays}
        return all(id(source) in known for source in sources if is_foreign(source))

    def follow(self, sources: Iterable[Any], built_in: Iterable[Any]) -> None:
        """A program reads some arrays of other libraries in every run, and has others as they are now."""
        read = set(map(id, sources))
        known = [array for watch in self.watches if type(watch) is Contents for array in watch.holder]
        kept = {id(array): array for array in (*known, *built_in) if id(array) not in read}
        self.watches = [watch for watch in self.watches if type(watch) is not Contents]
        self.watches += [Contents("an array", list(kept.values()))] if kept else []

    def settings_changed(self) -> bool:
        """Whether settings of optimisers are others than before; traced numbers among them are floats again."""
        for group, _ in self._settings:
            group.update((name, value.value) for name, value in group.items() if type(value) is TracedNumber)
        return not all(
            group.keys() == old.keys() and all(same(group[name], old[name]) for name in group)
            for group, old in self._settings
        )

    def changed(self) -> str | None:
        """Where something is not as it was."""
        return next((watch.path for watch in self.watches if not watch.holds()), None)


def is_foreign(thing: Any) -> bool:
    """Whether something is an array of another library."""
    return hasattr(thing, "__array_interface__") or hasattr(thing, "__cuda_array_interface__")


def _of_dictionary(thing: dict[Any, Any], path: str) -> Watch:
    if type(thing) is dict and all(type(name) is str for name in thing):
        return Names(path, thing, list(thing), len(thing))
    return Others(path, thing, lambda: [*thing, *thing.values()])


_EMPTY = types.CellType()


def _filled(cell: Any) -> bool:
    return cell != _EMPTY


@functools.lru_cache(maxsize=1024)
def _slots(kind: type) -> tuple[str, ...]:
    """The attributes of objects that have no dictionary."""
    if hasattr(kind, "__dict__") and any("__dict__" in vars(base) for base in kind.__mro__[:-1]):
        return ()
    named = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    return tuple(
        name for names in named for name in ((names,) if isinstance(names, str) else names) if name[:2] != "__"
    )


def _root(thing: Any) -> str:
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None)
    return (name or "").partition(".")[0]


def _is_library(thing: Any) -> bool:
    return _root(thing) in _LIBRARIES


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> frozenset[str]:
    """The names that a function and those inside it ask for."""
    inner = [_names(part) for part in code.co_consts if isinstance(part, types.CodeType)]
    texts = [value for value in code.co_consts if type(value) is str and value.isidentifier()]  # for getattr, maybe
    return frozenset(code.co_names).union(texts, *inner)
