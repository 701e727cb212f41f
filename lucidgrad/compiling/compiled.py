"""Compiled functions: the first call with arguments of a kind is traced, and later ones run what it left behind."""

import functools
import inspect
import threading
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, overload

import lucidgrad as lg
from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.modes import state, told, unusual
from lucidgrad.func import trees
from lucidgrad.levels.program import Program
from lucidgrad.levels.traced import WAY_OUT, current
from lucidgrad.nn.module import Module
from lucidgrad.refusals import warn_user

from .entry import MISS, Entry
from .guards import Held
from .reach import Reach, is_foreign
from .session import MISSED, Session

__all__ = ["CacheInfo", "Compiled", "CompiledModule", "compile"]

F = TypeVar("F", bound=Callable[..., Any])

#: So many programs of one function are made before somebody is told.
_MANY = 8
_BACKENDS = ("c", "flat", "graph", "launches", "interpret")
_USUAL = (True, None, None)
_SCALARS = (bool, int, float, complex, str, bytes, type(None))


class CacheInfo(NamedTuple):
    """How often a compiled function was called, and what served the calls."""

    hits: int  # calls that ran a program
    misses: int  # calls that were traced
    eager: int  # calls that ran as they are
    programs: int


class _Unhashable(Exception):
    """An argument that is neither a tensor nor a value."""


class Compiled:
    """A function that runs as a program; `lucidgrad.compile` makes it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> f = lg.compile(lambda x: (x * x + 1).sum())
    >>> f(lg.ones(3)), f(lg.ones(3))
    (tensor(6.), tensor(6.))
    >>> f.cache_info()
    CacheInfo(hits=1, misses=1, eager=0, programs=1)
    """

    def __init__(
        self, function: Callable[..., Any], static: Iterable[str], fullgraph: bool, options: dict[str, Any]
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function, self._fullgraph, self._options = function, fullgraph, options
        self._static = tuple(static)
        self._entries: dict[Any, list[Entry]] = {}
        self._recent: tuple[Any, Sequence[Entry]] = (None, ())
        self._refused: dict[Any, int] = {}  # signatures of which no program could be made, and how often not
        self._lock = threading.RLock()
        self._hits = self._misses = self._eager = 0
        self._warned: set[str] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a program that was made of the function, or the function."""
        if current.get() is not None:  # part of what is being traced
            return self._function(*args, **kwargs)
        if unusual and (told.get() is not None or state.keeping is not None or state.observers):  # somebody looks on
            self._eager += 1
            return self._function(*args, **kwargs)
        tensors: list[Any] = []
        try:
            key = self._key(args, kwargs, tensors)
            recent, entries = self._recent
            if key != recent:  # to compare takes less time than a hash
                entries = () if key is None else self._entries.get(key, ())
                self._recent = key, entries
        except TypeError as error:
            self._tell(f"an argument has no hash ({error})")
            key = None
        except _Unhashable as error:
            self._tell(str(error))
            key = None
        if key is None:
            self._eager += 1
            return self._function(*args, **kwargs)
        for entry in entries:
            made = entry.call(tensors, functools.partial(self._function, *args, **kwargs))
            if made is not MISS:
                self._hits += 1
                return made
        if self._refused.get(key, 0) > 1:
            self._eager += 1
            return self._function(*args, **kwargs)
        with self._lock:
            return self._trace(key, tensors, args, kwargs)

    @property
    def function_itself(self) -> Callable[..., Any]:
        """What was compiled."""
        return self._function

    def __getstate__(self) -> tuple[Any, ...]:
        """What makes it; a copy makes programs of its own."""
        return self._function, self._static, self._fullgraph, self._options

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        Compiled.__init__(self, *state)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self._function, '__name__', self._function)}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A compiled method is compiled for each instance."""
        if instance is None:
            return self
        if not hasattr(instance, "__dict__"):
            return types.MethodType(self, instance)
        name = f"_compiled_{id(self)}"
        found = instance.__dict__.get(name)
        if found is None:
            bound = self._function.__get__(instance, owner)
            found = Compiled(bound, self._static, self._fullgraph, self._options)
            instance.__dict__[name] = found
        return found

    # -- what users ask
    def cache_info(self) -> CacheInfo:
        """How often it was called, and what served the calls."""
        programs = sum(map(len, self._entries.values()))
        return CacheInfo(self._hits, self._misses, self._eager, programs)

    def cache_clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._entries, self._refused, self._recent = {}, {}, (None, ())
            self._hits = self._misses = self._eager = 0

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program for arguments like these, which is traced now if it was not yet; printing it shows it."""
        for _ in range(3):  # a first call may make the state of optimisers
            tensors: list[Any] = []
            key = self._key(args, kwargs, tensors)
            for entry in self._entries.get(key, ()):
                if entry.is_for(tensors) and entry.held.arrays() is not None:
                    return entry.program
            self(*args, **kwargs)
        raise RuntimeError(f"compile: no program could be made of {self!r}; called with fullgraph=True it says why")

    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the program for arguments like these to a file; see `lucidgrad.export`."""
        lg.export(self._function, args, path, kwargs=kwargs)

    # -- signatures
    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Any]) -> Any:
        parts = [_signature(x, tensors) for x in args]
        for name, value in kwargs.items():
            parts.append((name, value if name in self._static else _signature(value, tensors)))
        if not device.layers.isdisjoint([type(x.array) for x in tensors]):
            return None  # inside a transform: the transform of the compiled function is that of the function
        same: Any = None
        if len(tensors) > 1 and len({id(x) for x in tensors}) < len(tensors):
            places: dict[int, int] = {}
            same = tuple([places.setdefault(id(x), i) for i, x in enumerate(tensors)])
            tensors[:] = {id(x): x for x in tensors}.values()  # a program is given each once
        for x in tuple(tensors):
            if getattr(x, "_grad", None) is not None and all(x._grad is not other for other in tensors):
                tensors.append(x._grad)
        modes: Any = (dtypes.get_default_dtype(), device.get_default_device())
        if unusual:
            casting = state.casting
            kinds = None if casting is None else tuple(sorted((name, str(to)) for name, to in casting.targets.items()))
            modes = (state.recording, state.fresh, kinds, *modes)
            modes = modes[3:] if modes[:3] == _USUAL else modes
        return (*parts, same, modes)

    def _tell(self, reason: str, where: Any = None) -> None:
        if reason not in self._warned and self._options.get("warn", True):
            self._warned.add(reason)
            at = "" if where is None else f" ({where[0]}, line {where[1]})"
            warn_user(f"compile: {self!r} runs as it is, since {reason}{at}; {WAY_OUT}")

    # -- tracing
    def _trace(self, key: Any, tensors: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function as it is, and make a program of what it did."""
        self._misses += 1
        reach = Reach(self._function, [x for x in trees.flatten((args, kwargs))[0] if type(x) not in _SCALARS])
        own = {id(x) for x in tensors}
        others = [x for x in reach.tensors if id(x) not in own]
        own.update(map(id, others))
        held = Held(others, [x for x in others if getattr(x, "_grad", None) is not None and id(x._grad) not in own])
        if any(type(x.array) in device.layers for x in held.tensors):  # inside a transform
            return self._function(*args, **kwargs)
        session = Session(tensors, held.tensors, self._fullgraph)
        if any(getattr(x, "_grad", None) is not None and id(x._grad) in own for x in others):
            session.trace.fail("a gradient is reached in another way, too, so that nobody can tell which one is meant")
        with session:
            result = self._function(*args, **kwargs)
        result, plan = session.finish(result)
        failed = obstacle(session, reach)
        if failed is None and plan is not None:
            how = self._options.get("backend")
            self._keep(key, Entry(reach, tensors, held, plan, session.trace.hosts, how))
        elif failed is not None:
            count = self._refused[key] = self._refused.get(key, 0) + 1
            if count > 1 or not session.leaked:
                self._refused[key] = 2
                self._tell(failed, session.trace.where)
        return result

    def _keep(self, key: Any, entry: Entry) -> None:
        self._recent = (None, ())
        entries = self._entries.setdefault(key, [])
        entries[:] = [old for old in entries if old.reach.changed() is None][-3:]
        entries.insert(0, entry)
        count = sum(map(len, self._entries.values()))
        if count == _MANY + 1 and self._options.get("warn", True):
            warn_user(
                f"compile: {self!r} has {count} programs by now, one for each kind of arguments; sizes that keep "
                f"changing, or Python numbers that do and could be tensors, make a new one each time"
            )


def obstacle(session: Session, reach: Reach) -> str | None:
    """Why no program can be made of a call that was traced; None where one can."""
    failed = session.trace.failure or reach.moving
    if failed is None and session.missed():
        failed = MISSED
    if failed is None and not reach.arrays_known(session.sources()):
        failed = "an array of another library was made inside, whose values may be others in every call"
    changed = reach.changed()
    if failed is None and changed is not None:
        failed = f"it changed values that {changed} holds, which a program would not change again"
    return failed


class CompiledModule(Module):
    """A module that runs as a program; `lucidgrad.compile` makes it. It has the parameters of the module, not copies.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.compile(lg.nn.Linear(2, 1))
    >>> model(lg.ones(3, 2)).shape
    (3, 1)
    >>> model.weight.shape
    (1, 2)
    """

    def __init__(self, module: Module, static: Iterable[str], fullgraph: bool, options: dict[str, Any]) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = Compiled(module, static, fullgraph, options)
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result."""
        return self._compiled(*args, **kwargs)

    def train(self, mode: bool = True) -> "CompiledModule":
        """Set training mode for the module, too."""
        super().train(mode)
        return self

    def cache_info(self) -> CacheInfo:
        """How often it was called, and what served the calls."""
        return self._compiled.cache_info()

    def cache_clear(self) -> None:
        """Forget all programs."""
        self._compiled.cache_clear()

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program for arguments like these; printing it shows it."""
        return self._compiled.program(*args, **kwargs)

    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the program for arguments like these to a file; see `lucidgrad.export`."""
        lg.export(self._orig_mod, args, path, kwargs=kwargs)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_orig_mod" in own and not name.startswith("__"):
            return getattr(own["_orig_mod"], name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _signature(value: Any, tensors: list[Any]) -> Any:
    """What a program depends on of an argument; its tensors are gathered."""
    kind = type(value)
    if kind is lg.Tensor:
        tensors.append(value)
        array = value.array
        return type(array), array.shape, array.dtype, value._node is not None, getattr(value, "_grad", None) is None
    if kind in _SCALARS:
        return (kind, value) if value or kind is not float else (kind, repr(value))
    if kind is tuple or kind is list:
        return kind, *[_signature(part, tensors) for part in value]
    if kind is dict:
        return kind, *[(name, _signature(part, tensors)) for name, part in value.items()]
    family = trees._family(value)
    if family is not None:
        parts, rest = family.take_apart(value)
        return kind, rest, *[_signature(part, tensors) for part in parts]
    if is_foreign(value):
        raise _Unhashable(
            f"an argument is a {kind.__name__}, whose values a program can't follow; give lg.asarray of it"
        )
    return kind, value


@overload
def compile(
    fn: Module, *, static_argnames: Sequence[str] = (), fullgraph: bool = False, options: dict[str, Any] | None = None
) -> CompiledModule: ...


@overload
def compile(
    fn: F, *, static_argnames: Sequence[str] = (), fullgraph: bool = False, options: dict[str, Any] | None = None
) -> F: ...


@overload
def compile(
    fn: None = None,
    *,
    static_argnames: Sequence[str] = (),
    fullgraph: bool = False,
    options: dict[str, Any] | None = None,
) -> Callable[[F], F]: ...


def compile(
    fn: Callable[..., Any] | None = None,
    *,
    static_argnames: Sequence[str] = (),
    fullgraph: bool = False,
    options: dict[str, Any] | None = None,
) -> Any:
    """Make a function run as one program: the first call is traced, later ones of the same kind run what it did.

    What is traced is everything that lucidgrad computes: forward, backward and the steps of optimisers alike. A program
    serves calls whose arguments have the same structure, shapes, dtypes and devices, as long as all that the function
    reaches otherwise is as it was; other calls are traced anew. A function that reads values (``if loss < 1``,
    ``.item()``), or changes Python's objects, runs as it is, with a warning that says why.

    Parameters
    ----------
    fn
        A function of tensors and trees of tensors, a module, a transform of `lucidgrad.func`, or a whole training step.
        None: a decorator is made.
    static_argnames
        Keyword arguments that are values and no trees; they need a hash.
    fullgraph
        Raise where a function would run as it is.
    options
        ``{"backend": ...}``: ``"c"`` for one C function (on the CPU, where there is a compiler: the default),
        ``"flat"`` for a list of NumPy calls, ``"graph"`` for a CUDA graph (on CUDA: the default), ``"launches"`` for
        its kernels without a graph, ``"interpret"`` for the equations one by one, on any device.
        ``{"warn": False}``: nobody is told where it runs as it is.

    Returns
    -------
    Compiled or CompiledModule
        It is called like the function, and a module is one still; ``cache_info()`` tells what served the calls,
        ``program(*args)`` shows the program.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.Linear(3, 1)
    >>> optimiser = lg.optim.SGD(model.parameters(), lr=0.1)
    >>> @lg.compile
    ... def step(x, y):
    ...     optimiser.zero_grad()
    ...     loss = ((model(x) - y) ** 2).mean()
    ...     loss.backward()
    ...     optimiser.step()
    ...     return loss.detach()
    >>> losses = [step(lg.ones(4, 3), lg.zeros(4, 1)).item() for _ in range(20)]
    >>> losses[-1] < losses[0]
    True

    Gradients of compiled functions are compiled, too:

    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> f = lg.compile(lambda x: (x**3).sum())
    >>> f(x).backward()
    >>> x.grad
    tensor([ 3., 12.])
    """
    if fn is None:
        return functools.partial(compile, static_argnames=static_argnames, fullgraph=fullgraph, options=options)
    if isinstance(fn, (Compiled, CompiledModule)):
        return fn
    if inspect.isclass(fn) or not callable(fn):
        raise TypeError(f"compile: given a {type(fn).__name__}, expected a function, a method or a module")
    if any(ask(fn) for ask in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        raise TypeError("compile: given a generator or a coroutine, expected a function that returns its result")
    given = dict(options or {})
    if given.keys() - {"backend", "warn"} or given.get("backend") not in (None, *_BACKENDS):
        raise ValueError(
            f"compile: given options={given!r}, expected 'backend', one of {', '.join(_BACKENDS)}, and 'warn', a bool"
        )
    static = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if isinstance(fn, Module):
        return CompiledModule(fn, static, bool(fullgraph), given)
    return Compiled(fn, static, bool(fullgraph), given)
