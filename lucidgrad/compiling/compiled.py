"""Compiled functions: the first call with arguments of a kind is traced, and later ones run what it left behind."""

import functools
import inspect
import operator
import sys
import threading
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, overload

import lucidgrad as lg
from lucidgrad.backends.progress import speaks
from lucidgrad.core import device
from lucidgrad.core.modes import state, told, unusual
from lucidgrad.func import trees
from lucidgrad.levels import tally
from lucidgrad.levels.program import Program
from lucidgrad.levels.traced import WAY_OUT, current
from lucidgrad.nn.module import Module
from lucidgrad.refusals import warn_user

from .entry import MISS, Entry
from .guards import Held
from .reach import Reach
from .session import MISSED, Session
from .signatures import Unhashable, matching, modes, replaceable, replaced, signature
from .watches import VALUES, exactly, same

__all__ = ["CacheInfo", "Compiled", "CompiledModule", "compile", "entries_of"]

F = TypeVar("F", bound=Callable[..., Any])

#: So many programs of one function are made before somebody is told.
_MANY = 8
_BACKENDS = ("c", "flat", "graph", "launches", "interpret")


class CacheInfo(NamedTuple):
    """How often a compiled function was called, and what served the calls."""

    hits: int  # calls that ran a program
    misses: int  # calls that were traced
    eager: int  # calls that ran as they are
    programs: int


class _Kind:
    """Calls whose arguments have one structure, with the programs for them."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.match: Callable[[Any, Any], Any] = _never  # says quickly whether a call is of this kind
        self.entries: dict[tuple[Any, ...], list[Entry]] = {}  # by the floats among the arguments that must stay
        self.loose: list[int] = []  # the floats that programs are given: those that changed
        self.stuck: set[int] = set()  # those whose values are read, so that each needs a program of its own
        self.last: list[float] | None = None  # when a program was made
        self.refused = 0  # how often no program could be made

    def programs(self, numbers: Sequence[float]) -> Sequence[Entry]:
        """Those for calls with these floats."""
        return self.entries.get(self.fixed(numbers) if numbers else (), ())

    def fixed(self, numbers: Sequence[float]) -> tuple[Any, ...]:
        """The floats that must stay; zeros of both signs are two numbers."""
        return tuple([exactly(x) for i, x in enumerate(numbers) if i not in self.loose])

    def loosen(self, numbers: list[float], free: Sequence[bool]) -> None:
        """Let floats that are others than in the call before be given to programs."""
        before, self.last = self.last, list(numbers)
        changed = [i for i, x in enumerate(numbers) if before is not None and not same(x, before[i])]
        new = [i for i in changed if free[i] and i not in self.stuck and i not in self.loose]
        if new:
            self.loose, self.entries = sorted([*self.loose, *new]), {}


def _never(args: Any, kwargs: Any) -> Any:
    return None


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
        self._lock = threading.RLock()
        self._kinds: dict[Any, _Kind] = {}
        self._recent = _Kind(None)
        self._loose: dict[Any, Any] = {}  # places of floats that programs are given, and what keeps them alive
        self._stuck: dict[Any, Any] = {}  # places of floats whose values are read
        self._hits = self._misses = self._eager = 0
        self._warned: set[str] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a program that was made of the function, or the function."""
        if current.get() is not None:  # part of what is being traced
            return self._function(*args, **kwargs)
        if unusual and (told.get() is not None or state.keeping is not None or state.observers):  # somebody looks on
            self._eager += 1
            return self._function(*args, **kwargs)
        kind: Any = self._recent
        found = kind.match(args, kwargs)
        if found is None:
            try:
                kind, found = self._kind(args, kwargs)
            except Unhashable as error:
                self._tell(str(error))
                kind = None
            if kind is None:
                self._eager += 1
                return self._function(*args, **kwargs)
            self._recent = kind
        made = self._served(kind, found, args, kwargs)
        if made is not MISS:
            return made
        with self._lock:
            made = self._served(kind, found, args, kwargs)  # another thread may have made a program meanwhile
            return self._trace(kind, found, args, kwargs) if made is MISS else made

    def _served(self, kind: "_Kind", found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a program gives, or the function where no program can be made; `MISS` if one is to be made."""
        for entry in kind.programs(found[2]):
            made = entry.call(found, self._function, args, kwargs)
            if made is not MISS:
                self._hits += 1
                return made
        if kind.refused > 1:
            self._eager += 1
            return self._function(*args, **kwargs)
        return MISS

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
        return CacheInfo(self._hits, self._misses, self._eager, len(entries_of(self)))

    def cache_clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._kinds, self._recent, self._loose, self._stuck = {}, _Kind(None), {}, {}
            self._hits = self._misses = self._eager = 0

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program for arguments like these, which is traced now if it was not yet; printing it shows it."""
        for _ in range(3):  # a first call may make the state of optimisers
            kind, found = self._kind(args, kwargs)
            for entry in () if kind is None else kind.programs(found[2]):
                if entry.is_for(found[0]) and entry.look() is not None:
                    return entry.program
            self(*args, **kwargs)
        raise RuntimeError(f"compile: no program could be made of {self!r}; called with fullgraph=True it says why")

    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the program for arguments like these to a file; see `lucidgrad.export`."""
        lg.export(self._function, args, path, kwargs=kwargs)

    # -- signatures
    def _kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The kind of a call, and its tensors, their arrays and its floats; None inside a transform."""
        tensors: list[Any] = []
        numbers: list[float] = []
        parts = [signature(x, tensors, numbers) for x in args]
        for name, value in kwargs.items():
            if name in self._static:
                parts.append((name, type(value), exactly(value)))
            else:
                parts.append((name, signature(value, tensors, numbers)))
        same_ones: Any = None
        if len(tensors) > 1 and len({id(x) for x in tensors}) < len(tensors):
            places: dict[int, int] = {}
            same_ones = tuple([places.setdefault(id(x), i) for i, x in enumerate(tensors)])
            tensors = list({id(x): x for x in tensors}.values())  # a program is given each once
        for x in tuple(tensors):
            if getattr(x, "_grad", None) is not None and all(x._grad is not other for other in tensors):
                tensors.append(x._grad)
        if not device.layers.isdisjoint([type(x.array) for x in tensors]):
            return None, None  # the transform of the compiled function is that of the function; or rows of a gradient
        key = (*parts, same_ones, modes())
        try:
            kind = self._kinds.get(key)
        except TypeError as error:
            raise Unhashable(f"an argument has no hash ({error})") from None
        if kind is None:
            kind = self._kinds.setdefault(key, _Kind(key))
        return kind, (tensors, [x.array for x in tensors], numbers)

    def _tell(self, reason: str, where: Any = None) -> None:
        if reason not in self._warned and self._options.get("warn", True):
            self._warned.add(reason)
            at = "" if where is None else f" ({where[0]}, line {where[1]})"
            warn_user(f"compile: {self!r} runs as it is, since {reason}{at}; {WAY_OUT}")

    def _report(self, before: tally.Tally, traced: int, entry: Entry) -> None:
        """Say what was made, and how long it took: of several processes, the first one does."""
        if not speaks():
            return
        new = tally.Tally(*map(operator.sub, tally.of_process(), before))
        back = "" if entry.back is None else f" and {len(entry.back.backward)} of gradients"
        print(
            f"lucidgrad: {self!r}: traced in {new.tracing:.3f} s, {traced} equations, {len(entry.program)}{back} when "
            f"improved; compiled in {new.compiling:.3f} s, {new.built + new.found} functions in C, {new.found} of them "
            f"found on disk",
            file=sys.stderr,
            flush=True,
        )

    # -- tracing
    def _trace(self, kind: _Kind, found: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function as it is, and make a program of what it did."""
        tensors, _, numbers = found
        if self._is_hopeless(kind, numbers):
            self._eager += 1
            return self._function(*args, **kwargs)
        self._misses += 1
        reach = Reach(self._function, [x for x in trees.flatten((args, kwargs))[0] if type(x) not in VALUES])
        if not reach.asks_types:
            kind.loosen(numbers, replaceable((args, *(kwargs[name] for name in self._following(kwargs)))))
            self._loosen(reach)
        own = {id(x) for x in tensors}
        others = [x for x in reach.tensors if id(x) not in own]
        own.update(map(id, others))
        held = Held(others, [x for x in others if getattr(x, "_grad", None) is not None and id(x._grad) not in own])
        if any(type(x.array) in device.layers for x in held.tensors):  # inside a transform
            return self._function(*args, **kwargs)
        session = Session(tensors, held.tensors, self._fullgraph, reach.numbers(), [numbers[i] for i in kind.loose])
        session.trace.outside = {id(array): array for array in reach.arrays}
        if any(getattr(x, "_grad", None) is not None and id(x._grad) in own for x in others):
            session.trace.fail("a gradient is reached in another way, too, so that nobody can tell which one is meant")
        clock = tally.Clock()
        try:
            with session:
                given, named = self._with_numbers(kind, numbers, session.given, args, kwargs)
                result = self._function(*given, **named)
        except (TypeError, AttributeError):  # perhaps of code that takes true floats alone
            met = session.read_all()
            self._stick(kind, session)
            if not met or not session.is_idle() or reach.changed() is not None:
                raise
            return self._function(*args, **kwargs)
        result, plan = session.finish(result)
        failed = obstacle(session, reach)
        if failed is None and plan is not None:
            reach.follow(session.sources(), session.trace.built_in)
            before, traced = tally.of_process(), clock.lap()
            how = self._options.get("backend")
            entry = Entry(reach, tensors, kind.loose, held, plan, session.trace.hosts, how)
            tally.add(programs=1, equations=len(entry.program), tracing=traced, compiling=clock.lap())
            if self._options.get("verbose"):
                self._report(before, len(plan.program), entry)
            self._stick(kind, session)
            self._keep(kind, numbers, entry)
            kind.match = matching(args, kwargs, self._static, len(tensors)) or _never
        elif failed is not None and not session.trace.passing:
            kind.refused += 1
            if kind.refused > 1 or not session.leaked:
                kind.refused = 2
                self._tell(failed, session.trace.where)
        return result

    def _is_hopeless(self, kind: _Kind, numbers: Sequence[float]) -> bool:
        """Whether programs are hardly ever used a second time, since something outside keeps changing."""
        if self._misses <= _MANY or self._hits > self._misses or self._fullgraph:
            return False
        changed = [entry.reach.changed() for entry in kind.programs(numbers)]
        if not changed or None in changed:
            return False
        kind.refused = 2
        self._tell(f"values that {changed[0]} holds are others in nearly every call, each with a program of its own")
        return True

    def _following(self, kwargs: dict[str, Any]) -> list[str]:
        return [name for name in kwargs if name not in self._static]

    def _with_numbers(
        self,
        kind: _Kind,
        numbers: Sequence[float],
        traced: Sequence[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with the floats that are traced."""
        if not traced:
            return args, kwargs
        now: list[Any] = list(numbers)
        for i, number in zip(kind.loose, traced, strict=True):
            now[i] = number
        names = self._following(kwargs)
        given, *rest = replaced((args, *(kwargs[name] for name in names)), iter(now))
        return given, {**kwargs, **dict(zip(names, rest, strict=True))}

    def _loosen(self, reach: Reach) -> None:
        """Let floats that are others than when a program was made be given to programs."""
        floats = reach.floats()
        for old in entries_of(self):
            for place, (watch, i) in old.reach.floats().items():
                now = floats.get(place)
                if now is not None and place not in self._stuck and not same(now[0].known[now[1]], watch.known[i]):
                    self._loose[place] = watch.holder
        for place, (watch, i) in floats.items():
            if place in self._loose:
                watch.loose.append(i)

    def _stick(self, kind: _Kind, session: Session) -> None:
        """Numbers whose values were read are no inputs: other values make other programs."""
        places, given = session.pinned()
        for watch, i in places:
            place = watch.places()[i]
            self._stuck[place] = watch.holder
            self._loose.pop(place, None)
        if given:
            read = [kind.loose[k] for k in given]
            kind.stuck.update(read)
            kind.loose, kind.entries = [i for i in kind.loose if i not in read], {}

    def _keep(self, kind: _Kind, numbers: Sequence[float], entry: Entry) -> None:
        entries = kind.entries.setdefault(kind.fixed(numbers), [])
        kind.entries[kind.fixed(numbers)] = [entry, *[old for old in entries if old.reach.changed() is None][-3:]]
        count = len(entries_of(self))
        if count == _MANY + 1 and self._options.get("warn", True):
            warn_user(
                f"compile: {self!r} has {count} programs by now, one for each kind of arguments; sizes that keep "
                f"changing, or Python numbers that do and could be tensors, make a new one each time"
            )


def entries_of(compiled: Compiled) -> list[Entry]:
    """What a compiled function has made so far, for who measures it."""
    return [
        entry for kind in tuple(compiled._kinds.values()) for some in tuple(kind.entries.values()) for entry in some
    ]


def obstacle(session: Session, reach: Reach) -> str | None:
    """Why no program can be made of a call that was traced; None where one can."""
    failed = session.trace.failure or reach.moving
    if failed is None and session.hears(reach.walks):
        failed = "an argument has hooks"
    if failed is None and session.missed():
        failed = MISSED
    if failed is None and not reach.arrays_known(session.sources()):
        failed = "an array of another library was made inside, whose values may be others in every call"
    if reach.settings_changed() and all(hasattr(host, "done") for host in session.trace.hosts):
        failed = failed or "it changed settings of an optimiser, which a program would not change again"
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


def _checked(options: Any) -> dict[str, Any]:
    """The options of `compile`, if all are known."""
    known = f"'backend', one of {', '.join(_BACKENDS)}; 'verbose' and 'warn', True or False"
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"compile: given options={options!r}, expected a dictionary: {known}")
    given = dict(options or {})
    strange = [name for name in given if name not in ("backend", "verbose", "warn")]
    if strange:
        raise ValueError(f"compile: given the option {strange[0]!r}, which is not known; expected {known}")
    if given.get("backend") not in (None, *_BACKENDS):
        raise ValueError(f"compile: given the option backend={given['backend']!r}, expected {known}")
    for name in ("verbose", "warn"):
        if not isinstance(given.get(name, True), bool):
            raise TypeError(f"compile: given the option {name}={given[name]!r}, expected {known}")
    return given


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
        ``{"warn": False}``: nobody is told where it runs as it is. ``{"verbose": True}``: of each program it is said,
        on the standard error, how long tracing and compiling took, and how large it is.

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
    given = _checked(options)
    static = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if isinstance(fn, Module):
        return CompiledModule(fn, static, bool(fullgraph), given)
    return Compiled(fn, static, bool(fullgraph), given)
