"""`lucidgrad.export`: the program of a function with its constants as one file."""

import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad import files
from lucidgrad.core import device as devices
from lucidgrad.core.dispatch import complexes, floats, halves
from lucidgrad.func import trees
from lucidgrad.func.control import choosing
from lucidgrad.levels.program import Action, Equation, Program, Variable, actions, communicates, inner
from lucidgrad.levels.structures import COND
from lucidgrad.levels.traced import current
from lucidgrad.nn.module import Module

from .compiled import Compiled, CompiledModule, obstacle
from .encoding import Place, decoded_program, drawable, encoded, encoded_program
from .entry import Output, Plan
from .guards import Held
from .imported import FORMAT, VERSION, ImportedProgram
from .passes import improved, with_own_outputs
from .reach import Reach
from .session import Session

__all__ = ["export"]


def export(
    fn: Callable[..., Any],
    args: Sequence[Any],
    path: "str | os.PathLike[str] | Any",
    *,
    kwargs: Mapping[str, Any] | None = None,
) -> None:
    """Write the program of a function with its constants to one file, which runs without the Python that made it.

    The function is called with the arguments, as `lucidgrad.compile` traces it. Tensors among the arguments are inputs
    of the program; numbers and text stay as they are. Tensors that the function reaches otherwise, such as the
    parameters of a module, are constants of the file. The file is one of safetensors, which others read, too, and the
    equations are text in it; `lucidgrad.import_program` loads it, and no code is run for that.

    Parameters
    ----------
    fn
        A function, a module or a transform; compiled or not. It must do nothing but compute its result: no writes into
        arguments, buffers or Python's objects, no optimiser's steps. Random numbers are drawn in every run, from the
        default generator of the device that it runs on.
    args
        The arguments, a tuple: values of these shapes and dtypes are what the program will take. They are trees of
        tensors, numbers and text, made of tuples, lists and dicts.
    path
        The file, which is replaced when the new one is complete; or an open binary file.
    kwargs
        Arguments by name.

    Raises
    ------
    RuntimeError
        The function does more than compute; the message says what, and the way out.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> model = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Tanh(), lg.nn.Linear(4, 1))
    >>> x = lg.ones(2, 3)
    >>> lg.export(model, (x,), path)
    >>> run = lg.import_program(path)
    >>> (run(x) == model(x)).all().item()
    True
    """
    fn = fn.function_itself if isinstance(fn, Compiled) else fn._orig_mod if isinstance(fn, CompiledModule) else fn
    if inspect.isclass(fn) or not callable(fn):
        raise TypeError(f"export: given a {type(fn).__name__}, expected a function, a method or a module")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"export: args is a {type(args).__name__}, expected a tuple of the arguments, such as (x,)")
    if current.get() is not None:
        raise RuntimeError("export: called inside a compiled function; call it outside")
    given = (tuple(args), dict(kwargs or {}))
    leaves, shape = trees.flatten(given)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, lg.Tensor)]
    tensors = [leaves[i] for i in places]
    if any(type(x.array) in devices.layers for x in tensors):
        raise RuntimeError("export: called inside a transform such as vmap or grad; call it outside")
    arguments = trees.unflatten(shape, _filled(leaves, places, map(Place, range(len(places)))))
    about = {"arguments": encoded(arguments, "an argument"), "names": _names_of(fn, arguments)}

    def call(new: Sequence[Any]) -> Any:
        positional, by_name = trees.unflatten(shape, _filled(leaves, places, new))
        return fn(*positional, **by_name)

    own = [x.detach().clone().requires_grad_(x.requires_grad) for x in tensors]
    others = [leaf for i, leaf in enumerate(leaves) if i not in places]
    with lg.random.fork_rng():
        program, result = _traced(fn, call, own, others)
    where = _device_of(program)
    about.update(format=FORMAT, version=VERSION, lucidgrad=lg.__version__, device=str(where), result=result)
    about |= encoded_program(program, _naming(fn, program))
    try:
        program = decoded_program(about, where)  # what will be read
    except files.FileFormatError as error:
        raise RuntimeError(f"export: the program is none that a file can hold, since {error}") from error
    about.update(_differentiability(call, about, program, where, own))
    try:
        files.save(about, path)
    except ValueError as error:
        if "keep many numbers" in str(error):
            raise ValueError(f"export: the program has {len(program)} equations, too many for one file") from error
        raise


def _filled(leaves: Sequence[Any], places: Sequence[int], new: Any) -> list[Any]:
    made = list(leaves)
    for i, x in zip(places, new, strict=True):
        made[i] = x
    return made


# -- tracing -----------------------------------------------------------------------------------------
def _traced(
    fn: Callable[..., Any], call: Callable[..., Any], tensors: Sequence[Any], others: Sequence[Any]
) -> tuple[Program, Any]:
    """The program of a call, and the tree of its result as data."""
    reach = Reach(fn, others)
    held = Held(reach.tensors, [x for x in reach.tensors if getattr(x, "_grad", None) is not None])
    if any(type(x.array) in devices.layers for x in held.tensors):
        raise RuntimeError("export: called inside a transform such as vmap or grad; call it outside")
    session = Session(tensors, held.tensors, strict=False)
    with session:
        result = call(tensors)
    result, plan = session.finish(result)
    failed = obstacle(session, reach)
    if failed is not None or plan is None:
        at = "" if session.trace.where is None else " ({}, line {})".format(*session.trace.where)
        raise _refusal(f"{failed}{at}", "let it compute its result alone, from tensors that are given to it")
    _check_effects(plan, session.trace.hosts, len(tensors))
    leaves, shape = trees.flatten(result)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, lg.Tensor)]
    tree = trees.unflatten(shape, _filled(leaves, places, map(Place, range(len(places)))))
    constants = dict(zip(plan.program.inputs[len(tensors) :], session.raw[len(tensors) :], strict=False))
    return _alone(plan, len(tensors), constants), encoded(tree, "the result")


def _refusal(what: str, way_out: str) -> RuntimeError:
    return RuntimeError(f"export: no file can be made of the function, since {what}; {way_out}")


def _check_effects(plan: Plan, hosts: Sequence[Any], given: int) -> None:
    for action in actions(plan.program.equations):
        if action.draws and not drawable(action.run):
            raise _refusal(f"it draws random numbers by {action.name}", "give them as an argument")
        if action.draws and not action.run.by_default:  # type: ignore[attr-defined]
            raise _refusal("it draws random numbers from a generator of its own", "draw them from the default one")
    if hosts:
        raise _refusal("it takes steps of an optimiser", "return the gradients, or the new parameters, instead")
    if plan.grads:
        raise _refusal("it sets gradients of tensors", "return them instead: lg.autograd.grad and lg.func.grad do")
    if plan.writes:
        what = "an argument" if plan.writes[0] < given else "a tensor outside, such as a buffer of a module"
        raise _refusal(
            f"it writes into {what}", "write into a clone of it, or call eval() on a module with batch norms"
        )


def _alone(plan: Plan, given: int, held: dict[Variable, Any]) -> Program:
    """The program of the results, without gradients; what is not given to it is constant."""
    program, equations = plan.program, list(plan.program.equations)
    numbers = [v.number for e in equations for v in e.results]
    highest = max([*numbers, *(v.number for v in (*program.inputs, *program.constants))], default=0)
    outputs = []
    for output in plan.outputs:
        if type(output) is not Output:
            outputs.append(program.inputs[output])
            continue
        at = (program.outputs if output.source == "made" else program.inputs)[output.of]
        for step, keywords, _, shape, dtype in output.steps:  # a view
            made = Variable(highest := highest + 1, shape, dtype, at.device)
            equations.append(Equation(step, (at,), keywords, (made,)))
            at = made
        outputs.append(at)
    constants = {**program.constants, **held}
    together = next(filter(communicates, equations), None)
    if together is not None:
        raise RuntimeError(
            f"export: the function communicates with other processes ({together.primitive.name}), which a file "
            f"does not know of; export what one process computes"
        )
    fixed = [e for e in equations if type(e.primitive) is Action and not e.primitive.draws]
    for equation in fixed:  # arrays of other libraries, as they are now
        constants[equation.results[0]] = equation.primitive.run()  # type: ignore[union-attr]
    equations = [equation for equation in equations if equation not in fixed]
    alone = improved(Program(program.inputs[:given], equations, outputs, constants))
    return with_own_outputs(alone)


def _device_of(program: Program) -> Any:
    found = {str(v.device): v.device for v in (*program.inputs, *program.constants)}
    found.update((str(v.device), v.device) for equation in program.equations for v in equation.results)
    if len(found) > 1:
        raise RuntimeError(
            f"export: the function computes on {' and '.join(sorted(found))}, expected one device; move all its "
            f"tensors to one of them"
        )
    return next(iter(found.values()), devices.get_default_device())


# -- names -------------------------------------------------------------------------------------------
def _names_of(fn: Callable[..., Any], arguments: Any) -> list[str]:
    """What the tensors among the arguments are called, in their order."""
    positional, by_name = arguments
    try:
        bound = inspect.signature(fn.forward if isinstance(fn, Module) else fn).bind_partial(*positional)
        own = []
        for name, value in bound.arguments.items():
            several = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            own += [(f"{name}[{i}]", part) for i, part in enumerate(value)] if several else [(name, value)]
    except (TypeError, ValueError):  # nobody knows
        own = [(f"args[{i}]", value) for i, value in enumerate(positional)]
    found: dict[int, str] = {}
    for name, value in (*own, *by_name.items()):
        _name(value, name, found)
    return [found[k] for k in sorted(found)]


def _name(value: Any, name: str, found: dict[int, str]) -> None:
    if type(value) is Place:
        found[value.of] = name
    elif isinstance(value, dict):
        for key, part in value.items():
            _name(part, f"{name}[{key!r}]", found)
    elif isinstance(value, (tuple, list)):
        for i, part in enumerate(value):
            _name(part, f"{name}[{i}]", found)


def _naming(fn: Callable[..., Any], program: Program) -> Callable[[int, Variable], str]:
    """Constants have the names that they have in a module, where they are parameters or buffers of it."""
    known: dict[int, str] = {}
    owner = fn if isinstance(fn, Module) else getattr(fn, "__self__", None)
    if isinstance(owner, Module):
        for name, x in (*owner.named_parameters(), *owner.named_buffers()):
            known.setdefault(id(x.array), name)
    arrays = list(program.constants.values())
    return lambda k, _: known.get(id(arrays[k]), f"c{k}")


# -- gradients ---------------------------------------------------------------------------------------
def _differentiability(
    call: Callable[..., Any], about: Mapping[str, Any], program: Program, where: Any, tensors: Sequence[Any]
) -> dict[str, Any]:
    """Which results have a history, and whether gradients of the program are those of the function.

    A program does not know what was detached on the way, or has a rule of its own. Both gradients are computed near the
    arguments and compared, for every branch of choices; where they differ, the file says so, and whoever asks it for
    gradients is told.
    """
    generator = lg.Generator().manual_seed(0)
    near = [_near(x, generator) for x in tensors]
    told: dict[str, Any] = {"grows": [False] * len(program.outputs), "gradients": None}
    if not any(x.requires_grad for x in near):
        return told
    run = ImportedProgram({**about, "grows": [True] * len(program.outputs), "gradients": None}, program, where)
    trials = [(), *itertools.product((True, False), repeat=min(_depth(program), _DEEPEST))]
    try:
        with lg.inference_mode(False), devices.quiet(), lg.random.fork_rng():
            tried = [found for choices in trials if (found := _tried(call, run, near, choices)) is not None]
            told["grows"] = [any(ends[k].requires_grad for ends, _, _ in tried) for k in range(len(program.outputs))]
            same = all(_same_gradients(*found, told["grows"], generator) for found in tried)
    except Exception as error:
        told["gradients"] = f"they could not be compared with the function's ({type(error).__name__}: {error})"
        return told
    if not same:
        told["gradients"] = "the function has others: it detaches something on the way, or has a rule of its own"
    return told


#: Choices inside one another whose branches are all looked at.
_DEEPEST = 4


def _depth(program: Program) -> int:
    """How many choices are inside one another."""
    return max(
        ((e.primitive is COND) + max(map(_depth, inner(e))) for e in program.equations if inner(e)),
        default=0,
    )


def _tried(
    call: Callable[..., Any], run: ImportedProgram, near: Sequence[Any], choices: tuple[bool, ...]
) -> tuple[Sequence[Any], Sequence[Any], Any] | None:
    """Results of the function and, with its arguments, of the program; None if such a choice is none of the program's.

    A branch that the predicate keeps values from may fail on these, and what does not depend on the arguments is no
    choice in the program.
    """
    try:
        with choosing(choices):
            memory = lg.random.remember()
            theirs = [x for x in trees.flatten(call(near))[0] if isinstance(x, lg.Tensor)]
            lg.random.recall(memory)
            ours = run.outputs([x.detach().requires_grad_(x.requires_grad) for x in near])
            lg.random.recall(memory)
    except Exception:
        if choices:
            return None
        raise
    pairs = zip(theirs, ours[0], strict=True)
    return None if choices and not all(_close(a, b) for a, b in pairs if a.dtype in floats) else (theirs, near, ours)


def _near(x: Any, generator: Any) -> Any:
    """Other values around those of an argument; integers stay."""
    x = x.detach().clone()
    if x.array.dtype not in floats or x.array.dtype in complexes:
        return x.requires_grad_(x.array.dtype in complexes)
    drawn = lg.rand(*x.shape, generator=generator).to(device=x.device, dtype=x.dtype)
    return (x + (drawn + 0.1) * (0.1 * x.abs() + 0.01)).requires_grad_()


def _same_gradients(
    theirs: Sequence[Any],
    near: Sequence[Any],
    program: tuple[Sequence[Any], Sequence[Any]],
    grows: Sequence[bool],
    generator: Any,
) -> bool:
    chosen = [k for k, grown in enumerate(grows) if grown]
    seeds = [lg.randn(*theirs[k].shape, generator=generator) for k in chosen]
    found = []
    for ends, starts in ((theirs, near), program):
        starts = [x for x in starts if x.requires_grad]
        live = [(ends[k], seed) for k, seed in zip(chosen, seeds, strict=True) if ends[k].requires_grad]
        if not live:
            found.append([lg.zeros_like(x) for x in starts])
            continue
        seeded = [seed.to(device=y.device, dtype=y.dtype) for y, seed in live]
        gradients = lg.autograd.grad([y for y, _ in live], starts, seeded, allow_unused=True)
        found.append([lg.zeros_like(x) if g is None else g for x, g in zip(starts, gradients, strict=True)])
    return all(map(_close, *found))


def _close(a: Any, b: Any) -> bool:
    if not a.size:
        return True
    low = 3e-2 if a.array.dtype in halves else 3e-4
    a, b = a.detach(), b.detach()
    finite = lg.isfinite(a) & lg.isfinite(b)
    size = lg.where(finite, a.abs(), 0.0).max()
    near = finite & (lg.where(finite, (a - b).abs(), 0.0) <= low * size)
    return bool((near | (a == b) | (lg.isnan(a) & lg.isnan(b))).all().item())
