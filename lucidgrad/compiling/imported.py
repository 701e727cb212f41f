"""`lucidgrad.import_program`: a program from a file, which runs on tensors, and whose gradients follow."""

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad import files
from lucidgrad.core import device as devices, dispatch
from lucidgrad.core.dispatch import box
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.errors import DeviceError
from lucidgrad.core.modes import precision, set_casting, state
from lucidgrad.core.tape import storage
from lucidgrad.files.access import name_of
from lucidgrad.files.container import explained
from lucidgrad.func import trees
from lucidgrad.levels.dual import Dual
from lucidgrad.levels.layer import Layer
from lucidgrad.levels.program import Action, Equation, Program, Variable, inner
from lucidgrad.levels.structures import COND, WHILE

from .encoding import Place, decoded, decoded_program, expect

__all__ = ["ImportedProgram", "import_program"]

FORMAT, VERSION = "lucidgrad program", 1

#: What an operation raises that was given metadata which no tracing makes: no fault of the arguments.
_FAULTS = (AssertionError, AttributeError, KeyError, OverflowError, ZeroDivisionError)


class ImportedProgram:
    """A program from a file, which is called like the function that it was made of; `import_program` makes it.

    `lucidgrad.viz.graph` draws it.

    Attributes
    ----------
    program
        Its equations: printing shows them.
    names
        What the tensors among its arguments are called, in the order of the program's inputs.

    Examples
    --------
    >>> import io, lucidgrad as lg
    >>> file = io.BytesIO()
    >>> lg.export(lambda x: (x * x).sum(), (lg.ones(3),), file)
    >>> file.seek(0)
    0
    >>> run = lg.import_program(file)
    >>> x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> run(x).backward()
    >>> x.grad
    tensor([2., 4., 6.])
    """

    def __init__(self, about: Mapping[str, Any], program: Program, where: Any, name: str = "a program") -> None:
        self.program, self._name = program, name
        self._leaves, self._shape = trees.flatten(decoded(about["arguments"], where))
        self._result_leaves, self._result = trees.flatten(decoded(about["result"], where))
        self.names, self._grows, self._gradients = about["names"], about["grows"], about["gradients"]
        self._check(about)
        self._constants = set(_memories(program))

    def _check(self, about: Mapping[str, Any]) -> None:
        """Refuse a description that does not fit the program."""
        program = self.program
        for leaves, count, what in (
            (self._leaves, len(program.inputs), "arguments"),
            (self._result_leaves, len(program.outputs), "results"),
        ):
            numbers = [leaf.of for leaf in leaves if type(leaf) is Place]
            expect(sorted(numbers) == list(range(count)), f"the tensors among the {what} are not those of the program")
        tree = self._shape
        expect(tree.kind is tuple and [part.kind for part in tree.parts] == [tuple, dict], "the arguments are none")
        names = self.names
        expect(type(names) is list and all(type(word) is str for word in names), "the names of arguments are none")
        expect(len(names) == len(set(names)) == len(program.inputs), "the arguments have other names than one each")
        grows = self._grows
        expect(type(grows) is list and all(type(x) is bool for x in grows), "which results have a history is not told")
        expect(len(grows) == len(program.outputs), "which results have a history is not told")
        expect(self._gradients is None or type(self._gradients) is str, "whether there are gradients is not told")

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}: {v.described().partition(': ')[2]}"
            for name, v in zip(self.names, self.program.inputs, strict=True)
        )
        return f"<imported program({given}), {len(self.program)} equations>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, for arguments like those that the program was made for."""
        found, _ = self.outputs(self._given((args, kwargs)))
        leaves = [found[leaf.of] if type(leaf) is Place else leaf for leaf in self._result_leaves]
        return trees.unflatten(self._result, leaves)

    # -- arguments
    def _given(self, arguments: Any) -> list[Any]:
        leaves = trees.leaves_like(self._shape, arguments)
        if leaves is None:
            raise TypeError(
                f"{self._name}: given arguments of the structure {_shown(trees.flatten(arguments)[1])}, expected "
                f"{_shown(self._shape)}, with the tensors {', '.join(self.names) or 'none'}"
            )
        found: list[Any] = [None] * len(self.program.inputs)
        for leaf, own in zip(leaves, self._leaves, strict=True):
            if type(own) is Place:
                self._check_tensor(leaf, own.of)
                found[own.of] = leaf
            elif type(leaf) is not type(own) or repr(leaf) != repr(own):
                raise ValueError(
                    f"{self._name}: given {leaf!r:.60}, expected {own!r:.60}, which is part of the program; export the "
                    f"function with the other value"
                )
        return found

    def _check_tensor(self, x: Any, k: int) -> None:
        v, name = self.program.inputs[k], self.names[k]
        if not isinstance(x, lg.Tensor):
            raise TypeError(
                f"{self._name}: {name} is a {type(x).__name__}, expected a tensor; lg.asarray({name}) is one"
            )
        if x.device != v.device:
            raise DeviceError(
                f"{self._name}: {name} is on {x.device}, expected {v.device}; move it with .to({str(v.device)!r}), or "
                f"import the program with device={str(x.device)!r}"
            )
        if tuple(x.shape) != v.shape or x.dtype != v.dtype:
            raise ValueError(
                f"{self._name}: {name} is {x.dtype}{list(x.shape)}, expected {v.dtype}{list(v.shape)}; a program is "
                f"for arguments like those that it was exported with"
            )

    # -- running
    def outputs(self, tensors: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
        """The tensors of the result, for those among the arguments, which are returned, too."""
        recording = state.recording and any(x.requires_grad for x in tensors)
        if self._gradients is not None and (recording or any(_has_tangent(x.array) for x in tensors)):
            raise RuntimeError(
                f"{self._name}: given a tensor that requires gradients, which the program does not have: "
                f"{self._gradients}; call it under lg.no_grad(), or give it detached tensors"
            )
        before = precision.get()
        set_casting(None)  # casts are equations
        try:
            found = self._recorded(tensors) if recording else self._computed(tensors)
        except _FAULTS as error:
            raise ValueError(
                f"{self._name}: the file is damaged: an equation can't be computed ({type(error).__name__}: {error})"
            ) from error
        finally:
            precision.set(before)
        return [self._own(y, grown) for y, grown in zip(found, self._grows, strict=True)], tensors

    def _recorded(self, tensors: Sequence[Any], program: Program | None = None) -> list[Any]:
        """Every equation as an operation on tensors, which the tape sees; of a program inside, if one is given."""
        program = self.program if program is None else program
        known = {v: box(array) for v, array in program.constants.items()}
        known.update(zip(program.inputs, tensors, strict=True))
        for equation in program.equations:
            given = [known[x] if type(x) is Variable else x for x in equation.inputs]
            if inner(equation):
                made = self._structured(equation, given)
            elif type(equation.primitive) is Action:
                made = box(equation.primitive.run())
            else:
                made = getattr(tape_namespace, equation.primitive.name)(*given, **equation.keywords)
            self._enter(equation, made, known)
        return program.outputs_of(known)

    def _structured(self, equation: Equation, given: Sequence[Any]) -> list[Any]:
        """A loop or a choice, by the function that makes such."""
        kind, words = equation.primitive, equation.keywords
        zeros = [functools.partial(lg.zeros, v.shape, dtype=v.dtype, device=str(v.device)) for v in equation.results]
        if kind is COND:

            def branch(program: Program) -> Callable[..., Any]:
                return lambda *xs: [
                    zero() if y is None else y for y, zero in zip(self._recorded(xs, program), zeros, strict=True)
                ]

            return list(lg.func.cond(given[0], branch(words["true"]), branch(words["false"]), *given[1:]))
        n = words["carries"]
        if kind is WHILE:
            rest, body, condition = given[n:], words["body"], words["condition"]
            holds = lambda carry: self._recorded([*carry, *rest], condition)[0]
            return list(lg.func.while_loop(holds, lambda c: self._recorded([*c, *rest], body), list(given[:n])))
        m, body = n + words["columns"], words["body"]

        def step(carry: list[Any], slices: list[Any]) -> Any:
            made = self._recorded([*carry, *slices, *given[m:]], body)
            return made[:n], [y for y in made[n:] if y is not None]

        options = {"length": words["length"], "reverse": words["reverse"]}
        carry, rows = lg.func.scan(step, list(given[:n]), list(given[n:m]), **options)
        rest = iter(rows)
        return [
            *carry,
            *(zero() if v is None else next(rest) for v, zero in zip(body.outputs[n:], zeros[n:], strict=True)),
        ]

    def _computed(self, tensors: Sequence[Any]) -> list[Any]:
        """The same on arrays."""
        known = dict(self.program.constants)
        known.update((v, x.array) for v, x in zip(self.program.inputs, tensors, strict=True))
        for equation in self.program.equations:
            given = [known[x] if type(x) is Variable else x for x in equation.inputs]
            if inner(equation):
                made: Any = [y.array for y in self._structured(equation, [box(x) for x in given])]
            elif type(equation.primitive) is Action:
                made = equation.primitive.run()
            else:
                made = dispatch.compute(equation.primitive, given, equation.keywords)  # type: ignore[arg-type]
            self._enter(equation, made, known)
        return [box(known[v]) for v in self.program.outputs]

    def _enter(self, equation: Equation, made: Any, known: dict[Variable, Any]) -> None:
        """Note what an equation came to, which must be what the file says."""
        parts = made if equation.primitive.outputs else (made,)
        if len(parts) != len(equation.results):
            raise self._other(equation, f"{len(parts)} results")
        for v, part in zip(equation.results, parts, strict=True):
            if tuple(part.shape) != v.shape or part.dtype != v.dtype:
                raise self._other(equation, f"{part.dtype}{list(part.shape)}")
            known[v] = part

    def _other(self, equation: Equation, found: str) -> ValueError:
        return ValueError(f"{self._name}: the file is damaged: {equation!r:.200} came to {found}")

    def _own(self, y: Any, grown: bool) -> Any:
        """A result that nobody can spoil the program with, without a history where the function's has none."""
        y = y if grown or not y.requires_grad else y.detach()
        array = y.array
        return y.clone() if not isinstance(array, Layer) and id(storage(array)) in self._constants else y


def _memories(program: Program) -> Iterator[int]:
    """Where constants are, those of programs inside as well."""
    yield from (id(storage(array)) for array in program.constants.values())
    for equation in program.equations:
        for part in inner(equation):
            yield from _memories(part)


def _has_tangent(array: Any) -> bool:
    if not isinstance(array, Layer):
        return False
    return type(array) is Dual or any(map(_has_tangent, array.parts))


def _shown(shape: Any) -> str:
    """A structure in words: arguments, and keywords if there are any."""
    positional, keywords = shape.parts
    by_name = [f"{key}={part!r}" for key, part in zip(keywords.rest or (), keywords.parts, strict=True)]
    return f"({', '.join([*map(repr, positional.parts), *by_name])})"


def import_program(path: "str | os.PathLike[str] | Any", device: Any = None) -> ImportedProgram:
    """Load a program that `export` wrote, to run it without the Python that made it.

    No code is run on loading: a file names operations of lucidgrad's, and has numbers and text for them. All of it is
    checked before anything can run; when it runs, what each equation comes to is compared with what the file says.

    Parameters
    ----------
    path
        The file, which must be a regular one; or an open binary file.
    device
        Where it runs; by default where it was exported.

    Returns
    -------
    ImportedProgram
        It is called like the function, with tensors of the same shapes and dtypes. Gradients go through it, transforms
        take it, and `lucidgrad.compile` makes it fast.

    Raises
    ------
    FileFormatError
        The file is no program, is damaged or cut short, or contradicts itself.

    Examples
    --------
    >>> import io, lucidgrad as lg
    >>> file = io.BytesIO()
    >>> lg.export(lambda x, n: x**n, (lg.ones(2), 3), file)
    >>> file.seek(0)
    0
    >>> lg.import_program(file)(lg.tensor([2.0, 3.0]), 3)
    tensor([ 8., 27.])
    """
    chosen = None if device is None else devices.located(device)
    about = files.load(path, device="cpu")
    name = name_of(path)
    with explained(name):
        expect(type(about) is dict and about.get("format") == FORMAT, "this is no program that lucidgrad.export wrote")
        version = about.get("version")
        known = type(version) is int and version == VERSION
        expect(known, f"the program has version {version!r:.20}, this release reads version {VERSION}")
        expect(about.keys() >= _PARTS, f"the program lacks {', '.join(sorted(_PARTS - about.keys()))}")
        expect(type(about["device"]) is str, "the device of the program is none")
        where = _located(about["device"]) if chosen is None else chosen
        return ImportedProgram(about, decoded_program(about, where), where, name)


_PARTS = {"arguments", "names", "device", "result", "grows", "gradients"}


def _located(name: str) -> Any:
    try:
        return devices.located(name)
    except Exception as error:
        raise DeviceError(
            f"the program was exported on {name!r:.40}, which is not here ({error}); device='cpu' imports it elsewhere"
        ) from error
