"""The tracing level: an array that has its value and remembers, as a variable of a program, how it was made.

Tracing computes: the first call of a compiled function is the very call that would have been made without compiling,
with its results, its effects and its errors; the program is what it leaves behind. So nothing has to be undone or done
twice where a program can't be made: reading a value (``if loss < 1``, ``.item()``) ends the trace, not the call.

Memory. Writing in place makes a new variable. All arrays that look at one piece of memory share a `_Memory`, which
knows the variable of the whole; one that is a view takes its part of it anew if that was written since.

Parts. The body of a loop, or one of two branches, is traced *apart*: its equations go into a list of their own, and
what they ask for of the others is known afterwards. A part only computes: where it does more, `Unfit` is raised before
anything has happened, and whoever wanted the part does without it.
"""

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from lucidgrad.callers import caller
from lucidgrad.core import device, dispatch
from lucidgrad.core.items import Meta
from lucidgrad.core.primitive import ELEMENTWISE, Primitive, registry

from .layer import Layer, LayerBackend, Level, filled, namespace, run
from .numbers import Outcome, TracedNumber, plain_number
from .program import NUMBERS, Action, Equation, Program, Variable

__all__ = [
    "BACKEND",
    "NO_WAY",
    "Part",
    "Trace",
    "Traced",
    "TracedNumber",
    "Unfit",
    "acting",
    "constant",
    "current",
    "fail",
    "program_of",
    "read",
    "set_back",
    "tracing",
    "unless",
    "written_into",
]

#: The trace that is under way in this thread or task.
current: ContextVar["Trace | None"] = ContextVar("trace", default=None)


#: That trace, quickly.
tracing = current.get


class _Memory:
    """Memory that some arrays of a trace look at: the variable of the whole, and how often it was written.

    ``shared``: others look at it, too, of which no step tells where; a program does not follow writes into it.
    """

    __slots__ = ("external", "owner", "part", "shared", "version", "whole")

    def __init__(self, owner: Any, whole: Variable, external: bool, shared: bool, part: "Part | None") -> None:
        self.owner, self.whole, self.external, self.shared = owner, whole, external, shared
        self.part = part  # in which it was first met
        self.version = 0


class Unfit(Exception):
    """What is being traced apart does more than compute."""


class Given(NamedTuple):
    """What a part was given from outside of it: the value while it was traced, and how often its memory was written."""

    value: Any
    memory: _Memory | None
    version: int


class Part:
    """Equations that are traced apart from the others, and the variables that they are given."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self._given: dict[Variable, Given] = {}
        self.drawn: dict[int, Callable[[], None]] = {}  # what sets generators of random numbers back

    def give(self, variable: Variable, given: Given) -> None:
        """Note a variable from outside."""
        self._given.setdefault(variable, given)

    def given(self) -> dict[Variable, Given]:
        """All that comes from outside."""
        made = {v for equation in self.equations for v in equation.results}
        return {v: given for v, given in self._given.items() if v not in made}


class Traced(Layer):
    """A value, the memory it is in, and the steps that lead to it from the whole of that memory."""

    __slots__ = ("__weakref__", "memory", "steps", "value", "variable", "version")
    level: "Tracing"
    outside = False

    def __init__(
        self, value: Any, level: "Tracing", variable: Variable, memory: _Memory, steps: tuple[Any, ...]
    ) -> None:
        self.value, self.level, self.variable, self.memory, self.steps = value, level, variable, memory, steps
        self.version = memory.version
        level.trace.alive.append(weakref.ref(self))

    @property
    def parts(self) -> tuple[Any, ...]:
        return (self.value,)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def levels(self) -> tuple[tuple[int, int | None], ...]:
        return getattr(self.value, "levels", ())  # a traced array is no other than its value

    @property
    def held(self) -> tuple[tuple[int, int | None], ...]:
        return getattr(self.value, "held", ())

    def map(self, function: Callable[[Any], Any]) -> Any:
        """Layers are put around other arrays to forget something, or to remember it: the variable stays the same."""
        value = function(self.value)
        return self.level.trace.view(value, self)

    def write(self, value: Any) -> None:
        trace: Trace = self.level.trace
        if self.level.ended or current.get() is not trace:
            device.by_array[type(self.value)].write(self.value, ..., value_of(value, self.level))
            return
        trace.write(self, value)

    def filled(self, value: Any, make: Callable[..., Any]) -> Any:
        return constant(filled(self.value, value, make))

    def __repr__(self) -> str:
        return f"Traced({self.variable!r}, {self.value!r})"


def value_of(value: Any, level: Level) -> Any:
    """What an array is without a level of tracing."""
    if type(value) is Traced and value.level is level:
        return value.value
    return value.value if type(value) is TracedNumber else value


class Tracing(Level):
    """The level of a trace."""

    trace: "Trace"


class Trace:
    """A program in the making."""

    def __init__(self, name: str, strict: bool = False) -> None:
        self.level = Tracing(name)
        self.level.trace = self
        self.strict = strict  # what can't be traced is an error
        self.equations: list[Equation] = []
        self.constants: dict[Variable, Any] = {}
        self.hosts: list[Any] = []  # what Python does in every run, in order, and what numbers it gives
        self.pinned: dict[Variable, float] = {}  # numbers whose values were read
        self.outcomes: list[Outcome] = []  # of comparisons of numbers
        self.failure: str | None = None  # why there will be no program
        self.passing = False  # whether the next call may succeed
        self.unless: Any = None  # an array that tells, in every run, whether steps of optimisers are left out
        self.set_back = False  # whether a generator of random numbers was
        self.rehearses = False  # whether values don't matter, so that other processes need not take part
        self.where: Any = None  # the file and the line of it
        self.alive: list[weakref.ref[Traced]] = []
        self.part: Part | None = None  # that is being traced apart
        self._numbers = itertools.count()
        self._memories: dict[int, _Memory] = {}
        self._lifted: dict[int, tuple[Any, Variable]] = {}
        self.outside: dict[int, Any] = {}  # arrays of the caller's, by their ids, which may have other values later
        self.built_in: list[Any] = []  # those among them that are constants all the same

    def fail(self, reason: str, passing: bool = False) -> None:
        """Go on computing, but make no program; ``passing``: of this call."""
        self.check_whole(reason)
        if self.failure is None and not self.level.ended:
            self.failure, self.passing, frame = reason, passing, caller()
            if passing:
                return
            self.where = None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
            if self.strict:
                at = "" if self.where is None else f" ({self.where[0]}, line {self.where[1]})"
                raise RuntimeError(f"compile: fullgraph=True, but {reason}{at}; {WAY_OUT}")

    # -- parts
    @contextlib.contextmanager
    def apart(self, undone: bool = True, part: Part | None = None) -> Iterator[Part]:
        """What is traced inside is a part; afterwards random numbers go on as if none had been drawn, if ``undone``.

        A ``part`` that was begun before goes on, and draws nothing.
        A trace that has ended goes on meanwhile: gradients that are asked for later may need parts of their own.
        """
        outer, equations, ended = self.part, self.equations, self.level.ended
        undone = undone and part is None
        part = self.part = Part() if part is None else part
        self.equations, self.level.ended = part.equations, False
        token = current.set(self)
        try:
            yield part
        finally:
            current.reset(token)
            self.part, self.equations, self.level.ended = outer, equations, ended
            for put_back in part.drawn.values() if undone else ():
                put_back()
            if outer is not None:  # which may draw in its turn, when what was traced is run
                outer.drawn = {**part.drawn, **outer.drawn}

    def check_whole(self, reason: str) -> None:
        """Refuse what a part can't do."""
        if self.part is not None:
            raise Unfit(reason)

    def fresh(self, value: Any) -> "Traced":
        """A new variable that has this value while a part is traced, in memory that nobody may write."""
        copy = device.by_array[type(value)].copy(value)
        made = self._around(copy, self.variable_like(copy))
        made.memory.part = _ELSEWHERE
        return made

    def result(self, equation_result: Variable, value: Any) -> "Traced":
        """The array of a variable that an equation makes."""
        return self._around(value, equation_result)

    # -- variables
    def variable_like(self, array: Any) -> Variable:
        """A new variable for an array like this one."""
        home = device.by_array[type(array)]
        return Variable(next(self._numbers), tuple(array.shape), array.dtype, home.device_of(array))

    def _like(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Variable:
        return Variable(next(self._numbers), shape, dtype, where)

    def input(self, array: Any) -> Traced:
        """An array from outside, whose memory is the caller's."""
        return self._around(array, self.variable_like(array), external=True)

    def number(self, value: float, nonzero: bool = False) -> TracedNumber:
        """A Python float from outside; ``nonzero``: the caller sees to it that no run is given a zero."""
        made = TracedNumber(value, self, Variable(next(self._numbers), (), float, None))
        made.nonzero = nonzero
        return made

    def arithmetic(self, name: str, *values: Any) -> Any:
        """What Python's numbers come to, of which some are inputs."""
        made = NUMBERS[name](*[value.value if type(value) is TracedNumber else value for value in values])
        if current.get() is not self:
            return made
        result = TracedNumber(made, self, Variable(next(self._numbers), (), float, None), (name, *values))
        self._enter(registry[name], tuple(map(self.variable, values)), {}, result.variable)
        return result

    def constant(self, array: Any) -> Traced:
        """An array that was made inside, the same in every run."""
        variable = self.variable_like(array)
        self.constants[variable] = device.by_array[type(array)].copy(array)  # what is written later changes no constant
        if self.part is not None:
            self.part.give(variable, Given(self.constants[variable], None, 0))
        return self._around(array, variable)

    def _around(self, array: Any, variable: Variable, external: bool = False) -> Traced:
        """An array that is the whole of its memory, as far as the trace knows."""
        owner = _storage(array)
        known = self._memories.get(id(owner))
        if known is not None:
            known.shared = True
        memory = self._memories[id(owner)] = _Memory(owner, variable, external, known is not None, self.part)
        return Traced(array, self.level, variable, memory, ())

    def view(self, value: Any, of: Traced) -> Any:
        """The same variable around another array, which has the same values."""
        if type(value) not in device.by_array:
            return value
        variable = self.variable(of)
        if _storage(value) is not of.memory.owner:
            return self._around(value, variable)
        return Traced(value, self.level, variable, of.memory, of.steps)

    def variable(self, array: Any) -> Any:
        """What stands for an array, or for a number, in an equation."""
        part = self.part
        if type(array) is Traced and array.level is self.level:
            if array.version != array.memory.version:
                if part is not array.memory.part:
                    self.check_whole("a view was read after a write into its memory")
                at = array.memory.whole
                if array.steps is NO_WAY:
                    self.fail("one of several views was read after a write into their memory")
                for step, keywords, _, shape, dtype in () if array.steps is NO_WAY else array.steps:
                    at = self._enter(step, (at,), keywords, self._like(shape, dtype, at.device))
                array.variable, array.version = at, array.memory.version
            if part is not None and part is not array.memory.part:
                part.give(array.variable, Given(array.value, array.memory, array.version))
            return array.variable
        if type(array) in device.by_array:
            if part is not None and isinstance(array, Layer):
                raise Unfit("an array of another level was met")
            variable = self._lift(array)
            if part is not None:
                part.give(variable, Given(self.constants.get(variable, array), None, 0))
            return variable
        if type(array) is not TracedNumber or array.trace is not self:
            return array
        if part is not None:
            part.give(array.variable, Given(float(array), None, 0))
        return array.variable

    def _lift(self, array: Any) -> Variable:
        """A raw array that the library made itself: a constant; or one of the caller's, which every run looks at."""
        found = self._lifted.get(id(array))
        if found is None:
            known = self._memories.get(id(_storage(array)))
            if known is not None:
                self.fail("memory of a traced array was used under another name")
            variable = self.variable_like(array)
            if id(array) in self.outside and self.part is None:
                self._enter(Action("asarray", lambda: array, source=array), (), {}, variable)
            else:
                self.constants[variable] = device.by_array[type(array)].copy(array)
                self.built_in += [array] if id(array) in self.outside else []
            found = self._lifted[id(array)] = (array, variable)  # alive, so that no other has its id
        return found[1]

    # -- equations
    def _enter(self, primitive: Any, inputs: tuple[Any, ...], keywords: dict[str, Any], *results: Variable) -> Variable:
        self.equations.append(Equation(primitive, inputs, keywords, results))
        return results[0]

    def note(self, primitive: Primitive, args: Sequence[Any], keywords: dict[str, Any], y: Any) -> Any:
        """Enter a call that gave ``y``."""
        if primitive.name in _SHAPED_BY_VALUES:
            self.fail(f"the shape of what {primitive.name} gives depends on values")
        inputs = tuple(map(self.variable, args))
        parts = y if primitive.outputs else (y,)
        results = tuple(map(self.variable_like, parts))
        if results:
            self._enter(primitive, inputs, keywords, *results)
        source = args[0] if primitive.view and args and type(args[0]) is Traced else None
        if source is not None and source.level is not self.level:
            source = None
        made = tuple([self._made(part, v, primitive, keywords, source) for part, v in zip(parts, results, strict=True)])
        return made if primitive.outputs else made[0]

    def _made(
        self, value: Any, variable: Variable, primitive: Primitive, keywords: dict[str, Any], source: Traced | None
    ) -> Traced:
        if source is None or _storage(value) is not source.memory.owner:
            return self._around(value, variable)
        whole = source.value
        steps = NO_WAY
        if primitive.outputs:  # which of them, no step tells
            source.memory.shared = True
        elif source.steps is not NO_WAY:
            meta = Meta(tuple(whole.shape), whole.dtype, variable.device)
            steps = (*source.steps, (primitive, keywords, meta, variable.shape, variable.dtype))
        return Traced(value, self.level, variable, source.memory, steps)

    def act(self, name: str, make: Callable[[], Any], draws: bool, source: Any) -> Traced:
        """An array that is made anew in every run, by something that is no primitive."""
        if draws and self.set_back:
            self.fail("random numbers were drawn from a generator that had been set back")
        array = make()
        variable = self.variable_like(array)
        self._enter(Action(name, make, draws, source), (), {}, variable)
        return self._around(array, variable)

    def host(self, what: Any) -> None:
        """Let every run begin with something that Python does: ``what()`` gives numbers for the program."""
        self.check_whole("something was done that every run begins with")
        self.hosts.append(what)

    def program(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Program:
        """What was traced so far."""
        return Program(inputs, [_fixed(equation) for equation in self.equations], outputs, self.constants)

    # -- writing
    def write(self, target: Traced, value: Any) -> None:
        """Take other values, in the memory that there is and in the program."""
        memory, like = target.memory, target.value
        if memory.part is not self.part:
            self.check_whole("memory from outside was written")
        if target.steps is NO_WAY or memory.shared:
            self.fail("memory was written that several arrays share in a way that a program does not follow")
        value = value.read() if type(value) is TracedNumber else value  # it becomes a constant
        new = self.variable(value)
        if type(new) is not Variable or new.is_number:
            home = device.by_array[type(like)]
            new = self._lift(home.full((), value, like.dtype, home.device_of(like)))
        if new.dtype != like.dtype:
            keywords = {**registry["astype"].keywords, "dtype": like.dtype}
            new = self._enter(registry["astype"], (new,), keywords, self._like(new.shape, like.dtype, new.device))
        if new.shape != tuple(like.shape):
            shape = tuple(like.shape)
            new = self._enter(
                registry["broadcast_to"], (new,), {"shape": shape}, self._like(shape, new.dtype, new.device)
            )
        device.by_array[type(like)].write(like, ..., value_of(value, self.level))
        whole = memory.whole
        if target.steps and target.steps is not NO_WAY:
            steps = tuple((step, keywords, meta) for step, keywords, meta, _, _ in target.steps)
            made = self._like(whole.shape, whole.dtype, whole.device)
            memory.whole = self._enter(registry["overwrite"], (whole, new, None), {"steps": steps}, made)
        else:
            memory.whole = new
        memory.version += 1
        target.variable, target.version = new, memory.version


#: Where memory is that no part may write.
_ELSEWHERE = Part()

_SHAPED_BY_VALUES = frozenset({"nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"})


def _fixed(equation: Equation) -> Equation:
    """An equation that stays as it is: gradients that are asked for later may want more of a structure in the trace."""
    programs = {
        name: Program(value.inputs, [_fixed(part) for part in value.equations], value.outputs, value.constants)
        for name, value in equation.keywords.items()
        if type(value) is Program
    }
    keywords = {**equation.keywords, **programs} if programs else equation.keywords
    return Equation(equation.primitive, equation.inputs, keywords, equation.results)


def program_of(function: Callable[..., Any], *arrays: Any) -> Program:
    """The program of a function of tensors, given raw arrays; raises where it does more than compute its results."""
    trace = Trace("compile", strict=True)
    inputs = [trace.input(array) for array in arrays]
    token = current.set(trace)
    try:
        made = function(*map(dispatch.box, inputs))
        results = made if isinstance(made, (tuple, list)) else (made,)
        return trace.program([x.variable for x in inputs], [trace.variable(y.array) for y in results])
    finally:
        current.reset(token)
        trace.level.ended = True


#: What a user can do about it.
WAY_OUT = (
    "compute with lg.where, lg.func.cond, while_loop or scan instead of reading values, or leave that part out of the "
    "compiled function"
)

#: The steps to one of several views that came at once: none that could be taken again.
NO_WAY: Any = ("no way",)


def _storage(array: Any) -> Any:
    return device.by_array[type(array)].storage(array)


def written_into(target: Any, value: Any) -> Any:
    """What can be written into an array: memory that is not traced takes no traced values, and their trace ends.

    Dense memory takes all of a row-sparse value.
    """
    if type(value) is type(target):
        return value
    if type(value) is Traced:
        return read(value, "memory was written that the program does not know of")
    return value.dense() if getattr(value, "sparse", False) else value


def read(array: Any, why: str) -> Any:
    """The value of a traced array, whose trace ends; any other array as it is."""
    if type(array) is not Traced:
        return array
    array.level.trace.fail(why)
    return read(array.value, why)


@contextlib.contextmanager
def unless(flag: Any) -> Iterator[bool]:
    """A block of steps of optimisers that are left out where a tensor is true; gives whether to go through it now.

    A program that is being traced asks the tensor in every run; else its value is read here.
    """
    trace = current.get()
    if trace is None or type(flag.array) is not Traced or trace.unless is not None:
        yield not flag.item()
    elif bool(flag.array.value):
        trace.fail("a step was left out", passing=True)
        yield False
    else:
        trace.unless = flag.array
        try:
            yield True
        finally:
            trace.unless = None


def fail(reason: str) -> None:
    """Something that only Python does, and that no program repeats: none is made of what is being traced."""
    trace = current.get()
    if trace is not None:
        trace.fail(reason)


def set_back() -> None:
    """A generator of random numbers was set back, which no program repeats: so none may be drawn after it."""
    trace = current.get()
    if trace is not None:
        trace.check_whole("a generator of random numbers was set back")
        trace.set_back = True


def constant(array: Any) -> Any:
    """A new array, which is a constant of the program if one is being traced."""
    trace = current.get()
    return array if trace is None or isinstance(array, Layer) else trace.constant(array)


def acting(name: str, make: Callable[[], Any], draws: bool = False, source: Any = None) -> Any:
    """What a function makes that is no primitive; if a program is being traced, it does so in every run."""
    trace = current.get()
    return make() if trace is None else trace.act(name, make, draws, source)


def _dtypes(values: Sequence[Any]) -> list[Any]:
    return [value.dtype for value in values if type(value) in device.by_array]


#: Other primitives that only compute with the floats among their keywords.
_OF_NUMBERS = frozenset("standardise standardise_pull layer_norm layer_norm_pull batch_norm batch_norm_pull".split())


def interpreter(primitive: Primitive) -> Callable[..., Any]:
    """How a primitive runs on traced arrays: on their values, and as an equation."""

    def run_traced(*args: Any, **keywords: Any) -> Any:
        level: Any = 0
        for a in args:
            if type(a) is Traced and a.level > level:
                level = a.level
        if type(level) is int:  # numbers alone
            return dispatch.compute(primitive, args, keywords)
        values = [value_of(a, level) for a in args]
        if TracedNumber in map(type, keywords.values()):
            arithmetic = primitive.kind is ELEMENTWISE or primitive.name in _OF_NUMBERS
            if arithmetic and not level.ended and dispatch.halves.isdisjoint(_dtypes(values)):
                return primitive.program(namespace, *args, **keywords)  # in which they are inputs
            keywords = {name: plain_number(value) for name, value in keywords.items()}
        words = keywords
        if primitive.silenced is not None and not level.ended:
            level.trace.check_whole("processes communicated")
            words = primitive.silenced(keywords) if level.trace.rehearses else keywords
        y = dispatch.compute(primitive, values, words)
        trace: Trace = level.trace
        return y if level.ended or current.get() is not trace else trace.note(primitive, args, keywords, y)

    return run_traced


class TracedBackend(LayerBackend):
    """Values may be read, and the trace ends."""

    def __init__(self) -> None:
        super().__init__("trace", Traced, interpreter)

    def to_numpy(self, array: Any) -> Any:
        value = read(array, "a value was read")
        return device.by_array[type(value)].to_numpy(value)

    def format(self, array: Any, **options: Any) -> str:
        value = read(array, "a value was printed")
        return str(device.by_array[type(value)].format(value, **options))

    def copy(self, array: Any) -> Any:
        return run("clone", array)

    def zeros(self, shape: tuple[int, ...], dtype: Any, where: Any) -> Any:
        return constant(super().zeros(shape, dtype, where))

    def full(self, shape: tuple[int, ...], value: Any, dtype: Any, where: Any) -> Any:
        return constant(super().full(shape, value, dtype, where))


BACKEND = TracedBackend()
