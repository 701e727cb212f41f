"""Steps of optimisers on lists of tensors, in place: one call, and on CUDA one launch, for all of them.

A `Step` is a program for one element, ``program(xp, p, g, *states, **settings) -> (p, *states)``, written with
operators and functions of ``xp``. The same program runs as NumPy calls with scratch memory, as a generated kernel for
many tensors on CUDA, as it is on any other back end, and on Tensors where it shall be recorded.

A back end may bring a kernel ``elementwise_step(name, program, lists, settings)`` for all programs, which writes params
and states. While it records a graph it is given, too, what tells the settings of every launch (`Backend.repeated`). It
may return what the next step asks first: ``again(lists, settings) -> bool`` takes it if tensors have the arrays that
they had, but for gradients, and settings are of the same kinds.

Numbers of steps may be kept on the device (`Counts`), where another launch advances them and computes the settings that
depend on them. Then a step can be left out without asking the device: ``unless`` is a tensor there.
"""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from lucidgrad.core import device
from lucidgrad.core.box import INFERENCE, Box
from lucidgrad.core.dispatch import complexes
from lucidgrad.core.dtype import named
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.tape import touch
from lucidgrad.inplace import Marks, check_writable
from lucidgrad.levels.layer import namespace
from lucidgrad.levels.traced import Trace, current, fail, written_into

Settings = dict[str, Any]
_array_of = operator.attrgetter("array")


class Columns(list[list[Any]]):
    """Parameters, gradients and states; only the gradients are ever replaced.

    ``prepared`` is for what a kernel found out about the others.
    """

    __slots__ = ("prepared",)

    def __init__(self, count: int) -> None:
        super().__init__([] for _ in range(count))
        self.prepared: Any = None


class Bundle:
    """Arrays of one device whose columns have one dtype each: what a kernel takes."""

    __slots__ = ("again", "backend", "columns", "complex", "dtype", "marks", "rows", "shapes")

    def __init__(self, backend: Any, arrays: Sequence[Any]) -> None:
        self.backend, self.dtype = backend, arrays[1].dtype  # of the gradients, which are not kept
        self.complex = arrays[0].dtype in complexes
        self.columns = Columns(len(arrays))
        self.shapes: list[tuple[int, ...]] = []
        self.rows: list[Sequence[Any]] = []  # the tensors, where arrays are replaced instead of written
        self.marks: Marks | None = None  # what notes writes to the memory of these arrays
        self.again: Callable[..., bool] | None = None  # what may take the next step

    def renew(self, lists: Sequence[Sequence[Any]]) -> bool:
        """Take up new gradients, if all else is made of these tensors' arrays still."""
        for k, (column, now) in enumerate(zip(self.columns, lists, strict=True)):
            if k != 1 and (len(column) != len(now) or not all(map(operator.is_, column, map(_array_of, now)))):
                return False
        grads, kind, dtype = list(map(_array_of, lists[1])), type(self.columns[0][0]), self.dtype
        for shape, array in zip(self.shapes, grads, strict=True):
            if type(array) is not kind or array.shape != shape or (array.dtype is not dtype and array.dtype != dtype):
                return False
        self.columns[1] = grads
        return True

    def replace(self) -> None:
        """Give the tensors their new arrays, where these never change."""
        for k, column in enumerate(self.columns):
            if k != 1:
                for row, array in zip(self.rows, column, strict=True):
                    row[k].array = array

    def touch(self) -> None:
        """Note that all but the gradients were written."""
        if self.marks is None:
            self.marks = Marks([array for k, column in enumerate(self.columns) if k != 1 for array in column])
        self.marks.touch()


class Step:
    """A step that can be taken on lists of tensors.

    Parameters
    ----------
    name
        What messages and kernels call it.
    program
        ``program(xp, p, g, *states, **settings) -> (p, *states)`` for arrays of one shape. Of a setting it may ask
        whether it is zero, and nothing else.
    prepare
        ``prepare(xp, **settings) -> settings`` computes what the program needs from what was given, once per call, with
        functions of ``xp``: of Python's `math`, or of arrays where the number of the step is on a device.
    varying
        The names of what ``prepare`` computes from the number of the step.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.steps import Step
    >>> halve = Step("halve", lambda xp, p, g, *, lr: (p / 2 - lr * g,))
    >>> p = lg.tensor([1.0, 2.0])
    >>> halve([p], [lg.ones(2)], lr=0.5)
    >>> p.tolist()
    [0.0, 0.5]
    """

    def __init__(
        self,
        name: str,
        program: Callable[..., Any],
        prepare: Callable[..., Settings] | None = None,
        varying: tuple[str, ...] = (),
    ) -> None:
        self.name, self.program, self.prepare, self.varying = name, program, prepare, varying

    def prepared(self, settings: Settings) -> Settings:
        """What the program needs, from what was given."""
        return self.prepare(math, **settings) if self.prepare else dict(settings)

    def formula(self, xp: Any, *arrays: Any, **settings: Any) -> Any:
        """The new values of the parameter and the states of one row."""
        return self.program(xp, *arrays, **self.prepared(settings))

    def __call__(self, *lists: Sequence[Any], **settings: Any) -> None:
        """Take the step: params, grads and states are lists of tensors, written but for the gradients."""
        self.take(lists, settings)

    def take(
        self,
        lists: Sequence[Sequence[Any]],
        settings: Settings,
        bundles: dict[Any, "Bundle"] | None = None,
        again: tuple[Any, ...] | None = None,
        there: Settings | None = None,
        unless: Any = None,
    ) -> None:
        """Take the step; what was found out about the tensors is kept in ``bundles`` for the next time.

        ``again``, a function and its arguments, makes what gives the settings of later steps (`Again`), for programs
        that take this step in every run. ``there`` has prepared settings that are tensors on the device (`Counts`), and
        ``unless`` is a tensor there: if it is true, nothing is written.
        """
        there = there or {}
        trace = current.get()
        if trace is not None:
            return self._trace(trace, lists, settings, again, there)
        bundle = bundles.get(len(lists)) if bundles else None
        unfused = False
        if not _PLAIN.issuperset(map(type, settings.values())):
            settings, unfused = _on_host(settings)
        known = settings if unfused or self.prepare is None else self.prepare(math, **settings)
        plain = not there and not unfused and unless is None
        if bundle is not None and bundle.again is not None and plain and bundle.again(lists, known):
            bundle.touch()
            return None
        if bundle is not None and bundle.renew(lists):
            groups = [bundle]
        else:
            groups = self._grouped(lists)
            if bundles is not None and len(groups) == 1 and not groups[0].rows:
                bundles[len(lists)] = groups[0]
        for bundle in groups:
            with bundle.backend.at(bundle.columns[0][0]):
                if unfused:
                    self._compute_unfused(bundle, settings, there, unless)
                else:
                    self._compute(bundle, known, again, there, unless)
            bundle.columns[1] = []
            if bundle.rows:
                bundle.replace()
            bundle.touch()
        return None

    def _grouped(self, lists: Sequence[Sequence[Any]]) -> list["Bundle"]:
        """Raw arrays by device and dtypes, checked."""
        groups: dict[Any, Bundle] = {}
        for row in zip(*lists, strict=True):
            first = row[0].array
            backend, shape = device.by_array[type(first)], first.shape
            where, arrays = backend.device_of(first), []
            for k, x in enumerate(row):
                array = x.array
                if type(array) is not type(first) or backend.device_of(array) != where:
                    raise RuntimeError(
                        f"{self.name}: given a parameter on {where} with a gradient or state on {x.device}, expected "
                        f"one device; optimizer.load_state_dict(optimizer.state_dict()) moves a state to its parameters"
                    )
                if k != 1 and (x._alias is INFERENCE or device.copying or not backend.writable(array)):
                    check_writable(x, self.name, recording=False)
                if array.shape != shape:
                    raise RuntimeError(
                        f"{self.name}: given a parameter of shape {tuple(shape)} with a gradient or state of shape "
                        f"{tuple(array.shape)}, expected one shape"
                    )
                arrays.append(array)
            key = (where, *[array.dtype for array in arrays])
            bundle = groups.get(key)
            if bundle is None:
                bundle = groups[key] = Bundle(backend, arrays)
            bundle.shapes.append(shape)
            if backend.replaces:
                bundle.rows.append(row)
            for column, array in zip(bundle.columns, arrays, strict=True):
                column.append(array)
        return list(groups.values())

    def _compute(
        self, bundle: Bundle, settings: Settings, again: tuple[Any, ...] | None, there: Settings, unless: Any
    ) -> None:
        if not bundle.complex:
            bundle.again = self._fused(bundle.backend, bundle.columns, settings, again, there, unless)
            return
        columns, finish = _as_real(bundle.backend, bundle.columns)
        self._fused(bundle.backend, columns, settings, again, there, unless)
        finish()

    def _fused(
        self,
        backend: Any,
        columns: list[list[Any]],
        settings: Settings,
        again: tuple[Any, ...] | None,
        there: Settings,
        unless: Any,
    ) -> Any:
        every = backend.kernels.get("elementwise_step")
        options: dict[str, Any] = {}
        if again is not None and backend.is_recording():  # launches of what is recorded ask for settings of their time
            make, *given = again
            options["repeated"] = backend.repeated(_Settings(self, make(*given), settings, there))
        if there:
            settings = settings | {name: x.array for name, x in there.items()}
        if unless is not None:
            options["unless"] = unless.array
        if every is None:
            self._write(backend, self.program, columns, settings, options.get("unless"))
            return None
        return every(self.name, self.program, columns, settings, **options)

    def _compute_unfused(self, bundle: Bundle, settings: Settings, there: Settings, unless: Any) -> None:
        """With settings that are on a device: computed there, operation by operation, so that nothing waits."""
        backend = bundle.backend
        backend.refuse_recording(
            f"{self.name} is given a setting that is a tensor on the device, beside which the number of the step would "
            f"be recorded as it is now",
            "give a float: every launch of the graph takes its value of that time",
        )
        columns: list[list[Any]] = bundle.columns
        here = backend.device_of(columns[0][0])
        values = dict(settings)
        for name, value in settings.items():
            if isinstance(value, Box):
                place = device.by_array[type(value.array)].device_of(value.array)
                if place != here:
                    raise RuntimeError(
                        f"{self.name}: given {name} on {place} for parameters on {here}; expected a number, a tensor "
                        f"on the CPU or one there"
                    )
                values[name] = value.array.reshape(())
        finish = None
        if bundle.complex:
            columns, finish = _as_real(backend, columns)
        known = self.prepared(values) | {name: x.array for name, x in there.items()}
        self._write(backend, self.program, columns, known, None if unless is None else unless.array)
        if finish is not None:
            finish()

    @staticmethod
    def _write(
        backend: Any, formula: Callable[..., Any], columns: list[list[Any]], settings: Settings, unless: Any = None
    ) -> None:
        written = columns[:1] + columns[2:]
        for row, old in enumerate(zip(*columns, strict=True)):
            new = formula(backend.xp, *old, **settings)
            for column, value in zip(written, new, strict=True):
                value = value if unless is None else backend.xp.where(unless, column[row], value)
                column[row] = backend.write(column[row], ..., value)

    def _trace(
        self,
        trace: Trace,
        lists: Sequence[Sequence[Any]],
        settings: Settings,
        again: tuple[Any, ...] | None,
        there: Settings,
    ) -> None:
        """The same as equations: floats among the settings are numbers that every run is given anew."""
        if not _PLAIN.issuperset(map(type, settings.values())):
            settings, _ = _on_host(settings)
        known = self.prepared(settings)
        if again is None:
            trace.fail(f"{self.name} was called by something else than an optimiser of lucidgrad's")
        else:
            make, *given = again
            kept = _Settings(self, make(*given), known, there)
            symbols = {name: trace.number(known[name], nonzero=True) for name in kept.names}
            kept.variables = [symbol.variable for symbol in symbols.values()]
            kept.unless = trace.unless if kept.again.notes else None
            trace.host(kept)
            known.update(symbols)
        if any(x.array.dtype in complexes for x in lists[0]):
            trace.fail(f"{self.name} takes complex parameters")
        for row in zip(*lists, strict=True):
            for name, x in there.items():  # as wide as kernels compute
                wide = "float64" if str(row[0].dtype) == "float64" else "float32"
                known[name] = namespace.astype(x.array, dtype=named(wide))
            for target, value in zip((row[0], *row[2:]), self.program(namespace, *map(_array_of, row), **known)):
                value = value if trace.unless is None else namespace.where(trace.unless, target.array, value)
                new = written_into(target.array, value)
                target.array = device.by_array[type(target.array)].write(target.array, ..., new)
                touch(target.array)

    def record(self, *lists: Sequence[Any], **settings: Any) -> None:
        """The same on the tape: params, grads and settings may have a history, and what is written gets one."""
        public = tape_namespace.public
        for row in zip(*lists, strict=True):
            if row[0].array.dtype in complexes:
                raise RuntimeError(
                    f"{self.name}: given complex parameters with differentiable=True, expected real ones"
                )
            values = self.formula(public, *[x.clone() if k != 1 else x for k, x in enumerate(row)], **settings)
            for target, value in zip((row[0], *row[2:]), values, strict=True):
                target.copy_(value)


class Counts:
    """Numbers of steps, or made of them, that are kept on the device, and the settings that depend on them.

    Parameters
    ----------
    step
        The step whose settings these are: those that it says are ``varying``.
    numbers
        By name, tensors of one float64 each; the first is the number of steps that were taken.
    follow
        ``follow(xp, numbers, settings) -> (given, numbers)``: of the numbers before a step, what ``step.prepare`` is
        given beside the settings, and the numbers after the step. The same function for all optimisers of a kind.
    """

    def __init__(self, step: Step, numbers: dict[str, Any], follow: Callable[..., Any]) -> None:
        self.numbers, self._names = numbers, step.varying
        self._counting = _counting(step, tuple(numbers), follow)
        self._made: list[Any] = []
        self._bundles: dict[Any, Bundle] = {}

    def advance(self, settings: Settings, again: tuple[Any, ...], unless: Any) -> Settings:
        """Count a step, unless a tensor is true; the settings of that step that are on the device."""
        kept = list(self.numbers.values())
        made = self._made
        if not made or current.get() is not None:  # what a program makes is its own
            made = [kept[0] * 0 for _ in self._names]
        if current.get() is None:
            self._made = made
        lists = [[x] for x in (kept[0], kept[0], *kept[1:], *made)]
        self._counting.take(lists, settings, self._bundles, again, None, unless)
        return dict(zip(self._names, made, strict=True))


@functools.cache
def _counting(step: Step, names: tuple[str, ...], follow: Callable[..., Any]) -> Step:
    """The step of the numbers themselves: numbers and varying settings are its parameter and its states."""

    def program(xp: Any, first: Any, _: Any, *others: Any, **settings: Any) -> Any:
        numbers = dict(zip(names, (first, *others), strict=False))
        given, new = follow(xp, numbers, settings)
        known = step.prepare(xp, **(settings | given)) if step.prepare else {}
        return (*new.values(), *(known[name] for name in step.varying))

    return Step(f"numbers of {step.name}", program)


class Again(Protocol):
    """An optimiser's later steps: what their settings are, and what notes that one was taken."""

    notes: bool  # whether Python notes it

    def watched(self) -> list[tuple[Any, tuple[str, ...] | None]]:
        """What must stay for it to be taken on the same tensors: what containers hold, under some names or at all."""

    def settings(self) -> Settings | None:
        """The settings of the next step, if what is watched stayed; None if they are not the same for all tensors."""

    def advance(self) -> None:
        """Note that it was taken."""

    def undoing(self) -> Callable[[], None]:
        """What forgets that the coming step was taken."""


class _Settings:
    """The settings of a step in a program: the floats that are not zero are given to each run, the rest must stay."""

    def __init__(self, step: Step, again: Again, known: Settings, there: Iterable[str] = ()) -> None:
        self.step, self.again, self.there = step, again, frozenset(there)
        known = {name: value for name, value in known.items() if name not in self.there}
        self.names = [name for name, value in known.items() if type(value) is float and value]
        self.rest = {name: value for name, value in known.items() if name not in self.names}
        self.watched = again.watched
        self.variables: list[Any] = []
        self.unless: Any = None  # the traced array that tells whether it is left out, and which output that is
        self.flag: int | None = None
        self._kinds = [float] * len(self.names)

    def __call__(self) -> list[float] | None:
        """The numbers of the next run; None where the settings are of another kind."""
        settings = self.again.settings()
        if settings is None:
            return None
        found = self._numbers(settings)
        if found is None and not _PLAIN.issuperset(map(type, settings.values())):
            settings, elsewhere = _on_host(settings)
            found = None if elsewhere else self._numbers(settings)
        return found

    def _numbers(self, settings: Settings) -> list[float] | None:
        known = self.step.prepared(settings)
        found = [known.pop(name, 0.0) for name in self.names]
        for name in self.there:
            known.pop(name, None)
        return found if list(map(type, found)) == self._kinds and all(found) and known == self.rest else None

    def done(self) -> None:
        self.again.advance()


not_again = fail


def do_again(what: Callable[[], Any]) -> None:
    """Something that only Python does: programs that are being traced do it in every run."""
    trace = current.get()
    if trace is not None:
        trace.host(what)


#: Types of settings that kernels take as they are.
_PLAIN = frozenset({float, int, bool, type(None)})


def _on_host(settings: Settings) -> tuple[Settings, bool]:
    """Settings as numbers of Python, but for tensors on other devices; and whether there are such."""
    made, elsewhere = dict(settings), False
    for name, value in settings.items():
        if isinstance(value, Box):
            if value.device == "cpu":  # type: ignore[attr-defined]
                made[name] = float(value.item())  # type: ignore[attr-defined]
            else:
                elsewhere = True
        elif isinstance(value, float):  # NumPy's are of another type
            made[name] = float(value)
    return made, elsewhere


def _as_real(backend: Any, columns: list[list[Any]]) -> tuple[list[list[Any]], Callable[[], None]]:
    """Complex arrays as pairs of real ones, and what writes back those that had to be copied."""
    if not hasattr(columns[0][0], "flags"):
        return _in_halves(backend, columns)
    later: list[tuple[Any, Any]] = []

    def pairs(array: Any, written: bool) -> Any:
        ordered = array
        if not array.flags.c_contiguous:
            ordered = backend.copy(array).reshape(-1) if array.ndim < 2 else array.reshape(-1)
            if written:
                later.append((array, ordered))
        return ordered.reshape(-1).view(f"f{array.dtype.itemsize // 2}")

    made = [[pairs(array, k != 1) for array in column] for k, column in enumerate(columns)]

    def finish() -> None:
        for array, ordered in later:
            backend.write(array, ..., ordered.reshape(array.shape))

    return made, finish


def _in_halves(backend: Any, columns: list[list[Any]]) -> tuple[list[list[Any]], Callable[[], None]]:
    """The same where memory can't be seen as that of another dtype."""
    xp = backend.xp
    made = [[xp.stack(xp.real(array), xp.imag(array), axis=-1) for array in column] for column in columns]

    def finish() -> None:
        for k, (column, pairs) in enumerate(zip(columns, made, strict=True)):
            for row, pair in enumerate(pairs if k != 1 else ()):
                column[row] = backend.write(column[row], ..., pair[..., 0] + 1j * pair[..., 1])

    return made, finish


# -- stochastic gradient descent -----------------------------------------------------------------
def _sgd(
    xp: Any,
    p: Any,
    g: Any,
    buffer: Any = None,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> Any:
    g = -g if maximize else g
    g = g + weight_decay * p if weight_decay else g
    if buffer is None:
        return (p - lr * g,)
    if first:
        buffer = g
    else:
        buffer = momentum * buffer + ((1 - dampening) * g if dampening else g)
    g = g + momentum * buffer if nesterov else buffer
    return p - lr * g, buffer


SGD = Step("sgd_step", _sgd)


def sgd_step(
    params: Sequence[Any],
    grads: Sequence[Any],
    buffers: Sequence[Any] | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """A step of gradient descent on all parameters, in place (PyTorch's formula).

    Parameters
    ----------
    params, grads
        Tensors, and their gradients.
    buffers
        What momentum is kept in, needed where it is not 0; with ``first`` the old contents don't count.
    lr, momentum, dampening, weight_decay, nesterov, maximize, first
        The settings, the same for all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.steps import sgd_step
    >>> p = lg.tensor([1.0, 2.0])
    >>> sgd_step([p], [lg.ones(2)], lr=0.5)
    >>> p.tolist()
    [0.5, 1.5]
    """
    if momentum and buffers is None:
        raise ValueError("sgd_step: given momentum and no buffers, expected a buffer for each parameter")
    settings = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay)
    settings |= dict(nesterov=nesterov, maximize=maximize, first=first)
    SGD(params, grads, *([buffers] if momentum and buffers is not None else []), **settings)


# -- Adam ----------------------------------------------------------------------------------------
def _adam_settings(
    xp: Any,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    decoupled: bool,
    maximize: bool,
) -> Settings:
    root = xp.sqrt(1 - beta2**step)
    return dict(
        rate=lr * root / (1 - beta1**step),
        keep=1 - lr * weight_decay if decoupled and weight_decay else None,
        decay=0.0 if decoupled else weight_decay,
        change1=1 - beta1,
        beta2=beta2,
        change2=1 - beta2,
        eps=eps * root,
        maximize=maximize,
    )


def _adam_program(
    xp: Any,
    p: Any,
    g: Any,
    mean: Any,
    square: Any,
    largest: Any = None,
    *,
    rate: float,
    keep: float | None,
    decay: float,
    change1: float,
    beta2: float,
    change2: float,
    eps: float,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    p = p if keep is None else p * keep
    g = g + decay * p if decay else g
    mean = mean + (g - mean) * change1
    square = square * beta2 + g * g * change2
    top = square if largest is None else xp.maximum(largest, square)
    p = p - rate * (mean / (xp.sqrt(top) + eps))  # rate and eps are scaled by the root of the square's correction
    return (p, mean, square) if largest is None else (p, mean, square, top)


ADAM = Step("adam_step", _adam_program, _adam_settings, varying=("rate", "eps"))
_adam = ADAM.formula


def adam_step(
    params: Sequence[Any],
    grads: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    largest: Sequence[Any] | None = None,
    *,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
) -> None:
    """A step of Adam on all parameters, in place (PyTorch's formula).

    Parameters
    ----------
    params, grads
        Tensors, and their gradients.
    means, squares
        Running means of the gradients and of their squares; zeros before the first step.
    largest
        The largest squares so far, for the AMSGrad variant.
    step
        The number of this step, from 1.
    lr, beta1, beta2, eps, weight_decay, maximize
        The settings, the same for all.
    decoupled
        Whether weights decay by themselves (AdamW) instead of through the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.steps import adam_step
    >>> p, m, v = lg.ones(1), lg.zeros(1), lg.zeros(1)
    >>> adam_step([p], [lg.ones(1)], [m], [v], step=1, lr=0.5)
    >>> p.tolist()
    [0.5]
    """
    settings = dict(lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay)
    settings |= dict(step=step, decoupled=decoupled, maximize=maximize)
    lists = [params, grads, means, squares] + ([largest] if largest is not None else [])
    ADAM(*lists, **settings)
