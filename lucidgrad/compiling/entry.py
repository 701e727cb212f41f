"""One signature of a compiled function: its program made ready, what must hold for it, and what a run does besides."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.dispatch import bound, box
from lucidgrad.core.modes import state, unusual
from lucidgrad.core.tape import Leaf, storage, touch
from lucidgrad.func import trees
from lucidgrad.levels.numbers import Outcome
from lucidgrad.levels.program import Program, Variable, actions, enter, variables

from .guards import Guard, Held
from .history import Backward, grown
from .hooks import hears
from .passes import improved, with_own_outputs
from .reach import Reach
from .watches import Items, Names, Others, Watch, same

__all__ = ["MISS", "Entry", "Grows", "Output", "Plan", "Terms", "runner"]

#: What a call gives that is not for this entry.
MISS: Any = object()


class Output:
    """How a tensor of the result is made: of an output of the program, or as a view of a tensor that was given."""

    __slots__ = ("grows", "of", "source", "steps")

    def __init__(self, source: str, of: int, steps: tuple[Any, ...] = (), grows: bool = False) -> None:
        self.source, self.of, self.steps = source, of, steps  # source: "made" or "given"
        self.grows = grows  # whether it has a history

    def array(self, made: Sequence[Any], given: Sequence[Any]) -> Any:
        """Its array, of what a run made and of what it was given."""
        at = (made if self.source == "made" else given)[self.of]
        for step, keywords, *_ in self.steps:
            at = step.find_kernel(type(at))(at, **keywords)
        return at


class Grows(NamedTuple):
    """The outputs of a program that have a history, the cotangents, and the inputs that get gradients."""

    outputs: list[int]
    seeds: list[Variable]
    targets: list[int]


class Terms(NamedTuple):
    """What must hold of the numbers that a program is given."""

    numbers: list[Variable]
    pinned: dict[Variable, float]  # those whose values were read
    outcomes: list[Outcome]  # of comparisons

    def hold(self, values: Sequence[float]) -> bool:
        """Whether a program is for these numbers."""
        known = dict(zip(self.numbers, values, strict=True))
        try:
            return all(same(known[v], value) for v, value in self.pinned.items()) and all(
                outcome.holds(known) for outcome in self.outcomes
            )
        except ArithmeticError:  # which the function itself will raise, or not
            return False


class Plan(NamedTuple):
    """What later runs do.

    The inputs of the program are the arrays of arguments that are tensors, those of other tensors, and numbers: those
    of places, those among the arguments, and settings of optimisers.
    """

    program: Program
    writes: list[int]  # which input each of the first outputs is written into
    grads: list[tuple[int, int | None]]  # which tensor gets which output as its gradient; None: it gets none
    outputs: list[Any]  # how the tensors of the result are made: of the program's outputs, or one that was given
    result: Callable[[Sequence[Any]], Any]  # puts the result together from its tensors
    grows: Grows | None  # of results that have a history; the program's last outputs are the gradients then
    terms: Terms


class Entry:
    """A program with its guards and effects.

    Parameters
    ----------
    reach
        What the function can reach besides its arguments.
    tensors
        The arguments that are tensors.
    numbers
        Which of the floats among the arguments the program is given.
    held
        The other tensors.
    plan
        What a run does.
    hosts
        What Python does in every run.
    how
        What programs run as, see `runner`.
    """

    def __init__(
        self,
        reach: Reach,
        tensors: Sequence[Any],
        numbers: Sequence[int],
        held: Held,
        plan: Plan,
        hosts: Sequence[Any],
        how: str | None = None,
    ) -> None:
        given = len(tensors)
        self._leaves = [i for i, x in enumerate(tensors) if type(x._node) is Leaf]
        known = set(map(id, reach.tensors))
        self._reached = [(i, x) for i, x in enumerate(tensors) if id(x) in known]
        plan = _pruned(plan, given, held)
        program, writes, grads, outputs, result, grows, terms = plan
        self.reach, self.held = reach, held
        self._numbers, self._terms = list(numbers), terms if terms.pinned or terms.outcomes else None
        self._arrays = given + len(held)  # how many
        self._given_grads = [(i, k) for i, k in grads if i < given]
        self._held_grads = [(held.tensors[i - given], k) for i, k in grads if i >= given]
        self.writes = [i for i in writes if i < given]  # into arguments
        held.writes([i - given for i in writes if i >= given])
        self._writes = bool(writes)
        draws = any(action.draws for action in actions(program.equations))
        self._pure = not (draws or writes or grads or hosts)
        self.outputs, self.result = list(outputs), result
        self.settings = [host for host in hosts if hasattr(host, "done")]
        others = [i for i, host in enumerate(hosts) if not hasattr(host, "done")]
        last = max((i for i, host in enumerate(hosts) if hasattr(host, "done")), default=-1)
        #: What Python does, in order, if that may change the numbers of settings that come later; else it comes last.
        self.hosts = list(hosts) if others and others[0] < last else []
        self.after = [] if self.hosts else [hosts[i] for i in others]
        self._asks = bool(self._numbers or self._terms or hosts)
        self._acts = bool(writes or grads or hosts)
        plain = all(type(out) is Output and out.source == "made" and not (out.steps or out.grows) for out in outputs)
        self._fresh = [out.of for out in outputs] if plain else None  # which outputs the results are, if nothing else
        self.program, self.back = program, None
        if grows is not None:
            written = set(writes)
            count = len(self.program.outputs) - len(grows.targets)
            self.back = Backward(self.program, count, grows.seeds, grows.outputs, grows.targets, written)
            self.program = self.back.forward
            self.run_back = runner(self.back.backward, {}, how)
        self.run = runner(self.program, dict(enumerate(writes)), how)
        reach.watches += [_watch(*parts) for host in self.settings for parts in host.watched()]
        self.look = Guard(reach, held).look

    def is_for(self, tensors: Sequence[Any]) -> bool:
        """Whether arguments that the function reaches otherwise, too, are the same tensors."""
        return all(tensors[i] is x for i, x in self._reached)

    def call(self, found: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result for these arguments, or `MISS` if the program is not for them.

        ``found`` is what `signatures.matching` gives: the tensors among the arguments, their arrays, and floats.
        """
        tensors, arrays, numbers = found
        if self._reached and not self.is_for(tensors):
            return MISS
        if self._leaves and hears([tensors[i] for i in self._leaves], self.reach.walks):
            return MISS
        held = self.look()
        if held is None or (self._writes and not self._apart(arrays)):
            return MISS
        values = arrays + held
        if self._asks and not self._ask(values, numbers):
            return MISS
        made = self.run(values)
        if self._acts:
            self._act(tensors, arrays, made)
        if self._fresh is not None:
            return self.result([box(made[k]) for k in self._fresh])
        return self.result(self._results(tensors, made, values, functools.partial(function, *args, **kwargs)))

    def _ask(self, values: list[Any], numbers: Sequence[float]) -> bool:
        """Add the numbers of a run to its arrays; whether the program is for them."""
        values += [numbers[i] for i in self._numbers]
        first = len(values)
        for host in self.settings:
            settings = host()
            if settings is None:
                return False
            values += settings
        if self._terms is not None and not self._terms.hold(values[self._arrays :]):
            return False
        if self.hosts:
            del values[first:]
            for host in self.hosts:
                settings = host()
                values += settings if hasattr(host, "done") else ()
        return True

    def _act(self, tensors: Sequence[Any], arrays: Sequence[Any], made: Sequence[Any]) -> None:
        """What a run does besides its results."""
        if self._writes:
            for i in self.writes:
                touch(arrays[i])
            self.held.touch()
        for i, k in self._given_grads:
            tensors[i]._grad = None if k is None else box(made[k])
        blank, fresh = bound["blank"], state.fresh if unusual else None
        for x, k in self._held_grads:
            new = None
            if k is not None:  # what `box` does, without a call for each
                new = blank()
                new.array, new._node, new._alias, new._grad = made[k], None, fresh, None
            x._grad = new
        for host in self.settings:
            if host.flag is None or not made[host.flag]:  # of steps that are left out nothing is noted
                host.done()
        for do in self.after:
            do()

    def _results(
        self, tensors: Sequence[Any], made: Sequence[Any], values: Sequence[Any], itself: Callable[[], Any]
    ) -> list[Any]:
        """The tensors of the result, of which some were given, are views, or have a history."""
        owners = [*tensors, *self.held.tensors]
        new = {}
        if self.back is not None:
            again = functools.partial(self._again, itself, [owners[i] for i in self.back.targets])
            tall = grown(self.back, self.run_back, made, values, owners, again)
            new = dict(zip(self.back.growing, tall, strict=True))
        return [
            owners[output]
            if type(output) is not Output
            else new[output.of]
            if output.grows
            else box(output.array(made, values))
            for output in self.outputs
        ]

    def _again(self, itself: Callable[[], Any], targets: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The gradients on the tape: the function runs once more."""
        if not self._pure:
            raise RuntimeError(
                "compile: a derivative of the gradient of a compiled function is asked for, which runs once more for "
                "that, and it draws random numbers or writes; compile the function that asks for derivatives instead"
            )
        leaves, _ = trees.flatten(itself())
        tensors = [leaf for leaf in leaves if isinstance(leaf, lg.Tensor)]
        ends = [x for x, output in zip(tensors, self.outputs, strict=True) if type(output) is Output and output.grows]
        return list(lg.autograd.grad(ends, list(targets), list(cotangents), create_graph=True, allow_unused=True))

    def _apart(self, arrays: Sequence[Any]) -> bool:
        """Whether what is written shares its memory with nothing else, and may be written."""
        written = self.held.memory()
        if written is None:
            return False
        for array in arrays:
            if id(storage(array)) in written:
                return False
        return not self.writes or self._alone(arrays)

    def _alone(self, arrays: Sequence[Any]) -> bool:
        """The same of arguments that are written."""
        owners = [id(storage(array)) for array in (*arrays, *(self.held.arrays() or ()))]
        written = [owners[i] for i in self.writes]
        alone = all(owners.count(owner) == 1 for owner in written)
        return alone and all(device.by_array[type(arrays[i])].writable(arrays[i]) for i in self.writes)


def _watch(holder: Any, names: Sequence[str] | None) -> Watch:
    """What an optimiser's step depends on."""
    path = "an optimiser"
    if names is not None:
        return Names(path, holder, names)
    return Items(path, holder) if type(holder) is list else Others(path, holder, lambda: list(holder.values()))


def _pruned(plan: Plan, given: int, held: Held) -> Plan:
    """The plan with an improved program, without tensors that nobody asks for: old gradients, for example."""
    program, writes, grads, outputs, result, grows, terms = plan
    program = with_own_outputs(improved(program))
    asked = {v for equation in program.equations for v in equation.variables} | set(program.outputs)
    count = given + len(held)
    kept = {i for i in range(count) if i < given or program.inputs[i] in asked} | {*writes, *(i for i, _ in grads)}
    kept.update(out if type(out) is int else out.of for out in outputs if type(out) is int or out.source == "given")
    kept.update(grows.targets if grows else ())
    places = {i: k for k, i in enumerate(sorted(kept))}
    outputs = [
        places[out]
        if type(out) is int
        else Output("given", places[out.of], out.steps)
        if out.source == "given"
        else out
        for out in outputs
    ]
    inputs = [*(program.inputs[i] for i in places), *program.inputs[count:]]
    program = Program(inputs, program.equations, program.outputs, program.constants)
    if grows is not None:
        grows = Grows(grows.outputs, grows.seeds, [places[i] for i in grows.targets])
    moved = [places[i] for i in writes], [(places[i], k) for i, k in grads]
    held.keep([i - given for i in places if i >= given])
    return Plan(program, *moved, outputs, result, grows, terms)


def runner(program: Program, into: dict[int, int], how: str | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    """What runs a program: its device's own way, ``how`` being one of several, or equation by equation ("interpret").

    ``into`` says which outputs are written into which inputs, all of them when everything has been computed.
    """
    places = {str(v.device): v.device for v in variables(program) if not v.is_number}
    if len(places) == 1 and how != "interpret":
        found = device.backend_named(next(iter(places.values()))).program(program, into, how)
        if found is not None:
            return found
    return _Plain(program, into)


class _Plain:
    """Equation by equation, each value as long as somebody asks for it."""

    def __init__(self, program: Program, into: dict[int, int]) -> None:
        self.program, self.into = program, into
        last: dict[Variable, int] = {}
        for k, equation in enumerate(program.equations):
            for v in equation.variables:
                last[v] = k
        self._free: list[list[Variable]] = [[] for _ in program.equations]
        for v, k in last.items():
            if v not in program.outputs:
                self._free[k].append(v)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        program = self.program
        known: dict[Variable, Any] = dict(program.constants)
        known.update(zip(program.inputs, values, strict=True))
        for equation, free in zip(program.equations, self._free, strict=True):
            enter(equation, known)
            for v in free:
                del known[v]
        return self._outputs(known, values)

    def _outputs(self, known: dict[Variable, Any], values: Sequence[Any]) -> list[Any]:
        """Memory that nobody else has, or that of the input that it is to be written into."""
        made = [known[v] for v in self.program.outputs]
        taken = {id(storage(array)) for array in (*values, *self.program.constants.values()) if _is_array(array)}
        for k, array in enumerate(made):
            backend = device.by_array[type(array)]
            if k in self.into:
                made[k] = (
                    backend.copy(array) if id(storage(array)) in taken and array is not values[self.into[k]] else array
                )
            elif id(storage(array)) in taken or not backend.owns(array):
                made[k] = backend.copy(array)
            taken.add(id(storage(made[k])))
        for k, i in self.into.items():
            if made[k] is not values[i]:
                made[k] = device.by_array[type(values[i])].write(values[i], ..., made[k])
        return made


def _is_array(value: Any) -> bool:
    return type(value) in device.by_array
