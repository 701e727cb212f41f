"""Control flow as functions, with the meanings of `jax.lax`: `cond`, `while_loop`, `fori_loop`, `scan`, `map`.

They are choices and loops of Python around operations that the tape and the levels know, so derivatives of any order,
in both modes, need no rules of their own. What they add: a predicate or a bound may differ from example to example
inside `vmap`, and what goes around a loop keeps its structure, shapes and dtypes. While a program is traced they are
equations of it (`loops`, `choices`), or else the loops of Python that they are otherwise.
"""

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from lucidgrad.core import device as devices
from lucidgrad.core.dispatch import box
from lucidgrad.core.modes import recorded
from lucidgrad.creation import arange, asarray, zeros
from lucidgrad.levels.dual import without_tangents
from lucidgrad.levels.layer import Layer
from lucidgrad.levels.numbers import plain_number
from lucidgrad.levels.traced import Traced, Unfit, tracing
from lucidgrad.ops.elementwise.choice import where
from lucidgrad.ops.shape.joining import stack, unstack
from lucidgrad.random import recall, remember
from lucidgrad.tensor import Tensor

from . import trees
from .choices import chosen
from .loops import looped, repeated
from .vectorising import vmap

_LARGEST = 2**63 - 1  # what a counter can hold
_BLOCK = 1024  # so many counters are made at once


# -- leaves --------------------------------------------------------------------------------------
def _check_functions(who: str, **functions: Any) -> None:
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{who}: {name} is a {type(function).__name__}, expected a function")


def _leaf(who: str, x: Any, kin: Iterable[Any]) -> Any:
    """A leaf as a tensor, None as it is; a Python number is where its kin are, with their dtype where it can be."""
    if x is None or isinstance(x, Tensor):
        return x
    x = plain_number(x)
    if type(x) in (bool, int, float, complex):
        tensors = [other for other in kin if isinstance(other, Tensor)]
        fits = [other for other in tensors if _takes(other, x)]
        dtype = fits[0].dtype if fits else None
        return asarray(x, dtype=dtype, device=tensors[0].device if tensors else None)
    if devices.recognise(x) is None:
        raise TypeError(
            f"{who}: given a leaf of type {type(x).__name__}, expected tensors, arrays, numbers and None; "
            f"what is none of them can be reached from inside the function"
        )
    return asarray(x)


def _takes(tensor: Tensor, number: Any) -> bool:
    """Whether a number may have the dtype of a tensor beside it; whole numbers and truth values have their own."""
    if type(number) is float:
        return tensor.is_floating_point()
    return type(number) is complex and tensor.is_complex()


def _received(who: str, tree: Any, company: Sequence[Any] = ()) -> tuple[list[Any], trees.Shape]:
    """The leaves of a tree as tensors, and its structure; ``company`` are further leaves that numbers go by."""
    leaves, shape = trees.flatten(tree)
    for x in leaves:
        if type(x) is not Tensor:
            kin = (*leaves, *company)
            return [_leaf(who, x, kin) for x in leaves], shape
    return leaves, shape


def _kept(who: str, what: str, shape: trees.Shape, before: Sequence[Any], tree: Any) -> list[Any]:
    """The leaves of a tree that must have the structure, shapes, dtypes and devices of others."""
    leaves = trees.leaves_like(shape, tree)
    if leaves is None:
        raise TypeError(
            f"{who}: {what} has the structure {trees.flatten(tree)[1]}, before it was {shape}; "
            f"expected the same at every step"
        )
    for i, old in enumerate(before):
        new = leaves[i]
        if new is old:
            continue
        if type(new) is type(old) is Tensor:  # the usual case in short: two arrays of one kind that match
            a, b = old.array, new.array
            same = type(a) is type(b) and type(a) not in devices.places
            if same and a.dtype is b.dtype and a.shape == b.shape:
                continue
        leaves[i] = _fitting(who, f"leaf {i} of {what}", old, new)
    return leaves


def _fitting(who: str, what: str, old: Any, new: Any) -> Any:
    new = plain_number(new)
    if type(new) in (bool, int, float, complex) and old is not None and old.shape == () and _may_become(new, old):
        return asarray(new, dtype=old.dtype, device=old.device)
    new = _leaf(who, new, (old,))
    if new is None or old is None:
        if new is not old:
            raise TypeError(f"{who}: {what} is {_said(new)}, before it was {_said(old)}; expected the same always")
    elif new.dtype != old.dtype:
        raise TypeError(
            f"{who}: {what} has dtype {new.dtype}, before it had {old.dtype}; "
            f"expected one dtype: begin with that one, or use .astype inside the function"
        )
    elif new.shape != old.shape:
        raise TypeError(
            f"{who}: {what} has shape {new.shape}, before it had {old.shape}; "
            f"expected one shape: begin with that one, or reshape inside the function"
        )
    elif new.device != old.device:
        raise TypeError(
            f"{who}: {what} is on {new.device}, before it was on {old.device}; "
            f"expected one device: begin there, or use .to inside the function"
        )
    return new


def _may_become(number: Any, old: Tensor) -> bool:
    """Whether a Python number loses nothing in the dtype of a tensor."""
    if type(number) is bool:
        return str(old.dtype) == "bool"
    if type(number) is int:
        return str(old.dtype) != "bool"
    return old.is_complex() or (type(number) is float and old.is_floating_point())


def _said(x: Any) -> str:
    return "None" if x is None else f"a tensor of shape {x.shape}"


# -- predicates ----------------------------------------------------------------------------------
def _truth(who: str, what: str, pred: Any, numbers: bool) -> Any:
    """A predicate as a bool of Python, or as a tensor of booleans where it differs from example to example."""
    if type(pred) is bool:
        return pred
    given = pred
    if not isinstance(pred, Tensor):
        if type(pred) not in (int, float) and devices.recognise(pred) is None:
            raise TypeError(f"{who}: {what} is a {type(pred).__name__}, expected a bool or a tensor of one")
        pred = asarray(pred)
    if pred.shape != ():
        raise TypeError(
            f"{who}: {what} has shape {pred.shape}, expected a single truth value: use .any() or .all(), "
            f"lg.where to choose elements, vmap to choose per example"
        )
    logical = str(pred.dtype) == "bool"
    if not logical and (not numbers or pred.is_complex()):
        name = pred.dtype if isinstance(given, Tensor) else type(given).__name__
        raise TypeError(f"{who}: {what} is of type {name}, expected a truth value: compare it with something")
    array = without_tangents(pred.array)  # a tangent decides nothing
    if isinstance(array, Layer):
        return pred if logical else pred != 0
    return bool(box(array).item())


def _is_one(pred: Tensor) -> bool:
    """Whether a predicate is the same for all examples, and only the program that is being traced will know it."""
    return type(without_tangents(pred.array)) is Traced


def _anywhere(pred: Tensor) -> bool:
    """Whether a predicate holds for any example."""
    return bool(_together(pred).any())


def _together(pred: Tensor) -> Tensor:
    """A predicate with all examples along axes of their own; what is traced stays so."""
    array = without_tangents(pred.array)
    while isinstance(array, Layer) and type(array) is not Traced:
        array = array.front
    return box(array)


def _chosen(pred: Tensor, first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return [a if a is b else where(pred, a, b) for a, b in zip(first, second, strict=True)]


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """One of two functions of the operands, as a predicate says.

    Parameters
    ----------
    pred
        A truth value: a bool, or a tensor without axes (of numbers, too: all but zero are true).
    true_fun, false_fun
        Functions of the operands; what they give must have one structure, one shape and one dtype.
    *operands
        Trees of tensors. Numbers become tensors.

    Notes
    -----
    Only the chosen function runs, and only it has a gradient. Where the predicate differs from example to example
    inside `vmap`, both run for all examples and `lg.where` selects: the other function must be finite there in value
    and derivative, as zero times infinity is no number.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.func import cond, grad, vmap
    >>> root = lambda x: cond(x > 1, lambda x: x**2, lambda x: 3 * x, x)
    >>> root(lg.tensor(2.0)), grad(root)(lg.tensor(2.0))
    (tensor(4.), tensor(4.))
    >>> vmap(grad(root))(lg.tensor([0.0, 2.0]))
    tensor([3., 4.])
    """
    _check_functions("cond", true_fun=true_fun, false_fun=false_fun)
    leaves, shape = _received("cond", operands)
    which = _truth("cond", "pred", pred, numbers=True)
    if isinstance(which, bool):
        if type(pred) is not bool and (trial := _trial.get()):
            with choosing(trial[1:]):
                return cond(trial[0], true_fun, false_fun, *operands)
        result, outer = _received("cond", (true_fun if which else false_fun)(*trees.unflatten(shape, leaves)))
        return trees.unflatten(outer, result)
    if _is_one(which):
        return _either(which, true_fun, false_fun, leaves, shape)
    first, outer = _received("cond", true_fun(*trees.unflatten(shape, leaves)))
    second, other = _received("cond", false_fun(*trees.unflatten(shape, leaves)))
    if other != outer:
        second = trees.leaves_like(outer, trees.unflatten(other, second))  # type: ignore[assignment]
    if second is None:
        raise TypeError(f"cond: true_fun gave the structure {outer}, false_fun {other}; expected the same of both")
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        if a is None or b is None:
            fits = a is b
        else:
            fits = (a.dtype, a.shape, a.device) == (b.dtype, b.shape, b.device)
        if not fits:
            one, two = ("None" if x is None else f"{x.dtype} of shape {x.shape} on {x.device}" for x in (a, b))
            raise TypeError(
                f"cond: leaf {i} that true_fun gave is {one}, that of false_fun is {two}; expected the same of both: "
                f"use .astype, lg.broadcast_to or .to inside one of them"
            )
    return trees.unflatten(outer, _chosen(which, first, second))


#: What choices are told to choose instead, those inside of others by the later ones.
_trial: ContextVar[tuple[bool, ...]] = ContextVar("trial", default=())


@contextlib.contextmanager
def choosing(choices: tuple[bool, ...]) -> Iterator[None]:
    """Let choices be made so, whatever their predicates say: each branch of a function can be looked at like that."""
    token = _trial.set(choices)
    try:
        yield
    finally:
        _trial.reset(token)


def _either(
    which: Tensor, true_fun: Callable[..., Any], false_fun: Callable[..., Any], leaves: list[Any], shape: trees.Shape
) -> Any:
    """One of two functions, as one equation of the program that is being traced; or else the truth value is read."""
    made: dict[bool, tuple[list[Any], trees.Shape]] = {}

    def branch(fun: Callable[..., Any], key: bool) -> Callable[[], list[Tensor]]:
        def run() -> list[Tensor]:
            made[key] = _received("cond", fun(*trees.unflatten(shape, leaves)))
            if len(made) == 2 and _form(*made[True]) != _form(*made[False]):
                raise Unfit("the branches of a choice give different structures")
            return _tensors(made[key][0])

        return run

    truth = without_tangents(which.array)
    found = chosen(truth, branch(true_fun, True), branch(false_fun, False))
    if found is None:
        fun = true_fun if bool(box(truth).item()) else false_fun
        result, outer = _received("cond", fun(*trees.unflatten(shape, leaves)))
        return trees.unflatten(outer, result)
    result, outer = made[True]
    return trees.unflatten(outer, _filled(result, found))


def _form(leaves: Sequence[Any], shape: trees.Shape) -> Any:
    return [x is None for x in leaves], shape


# -- loops ---------------------------------------------------------------------------------------
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Apply a function to a value again and again, as long as a condition holds for it.

    Parameters
    ----------
    cond_fun
        A function of the value that gives a truth value.
    body_fun
        A function of the value that gives the next one: of the same structure, shapes and dtypes.
    init_val
        The first value, a tree of tensors. Numbers become tensors.

    Notes
    -----
    Forward and reverse mode both work, as each step is recorded when it runs; reverse mode keeps what the steps saved,
    so its memory grows with their number. Compiled functions have it in forward mode, and run as they are otherwise.
    Where the condition differs from example to example inside `vmap`, the loop goes on until it holds for none, and
    examples that are finished keep their values.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.func import grad, vmap, while_loop
    >>> double = lambda x: while_loop(lambda x: x < 10, lambda x: 2 * x, x)
    >>> double(lg.tensor(3.0)), grad(double)(lg.tensor(3.0))
    (tensor(12.), tensor(4.))
    >>> vmap(double)(lg.tensor([1.0, 3.0, 20.0]))
    tensor([16., 12., 20.])
    """
    _check_functions("while_loop", cond_fun=cond_fun, body_fun=body_fun)
    leaves, shape = _received("while_loop", init_val)
    return trees.unflatten(shape, _repeated("while_loop", cond_fun, body_fun, leaves, shape))


def _repeated(
    who: str, holds: Callable[[Any], Any], step: Callable[[Any], Any], leaves: list[Any], shape: trees.Shape
) -> list[Any]:
    found = _while_as_one(who, holds, step, leaves, shape)
    if found is not None:
        return found
    while True:
        which = _truth(who, "what cond_fun gave", holds(trees.unflatten(shape, leaves)), numbers=False)
        if not isinstance(which, bool) and _is_one(which):
            which = bool(_together(which).item())
        if which is False or (which is not True and not _anywhere(which)):
            return leaves
        after = _kept(who, "what body_fun gave", shape, leaves, step(trees.unflatten(shape, leaves)))
        leaves = after if which is True else _chosen(which, after, leaves)


def _while_as_one(
    who: str, holds: Callable[[Any], Any], step: Callable[[Any], Any], leaves: list[Any], shape: trees.Shape
) -> list[Any] | None:
    """The same as one equation of the program that is being traced, if there is one."""
    which: list[Any] = [None]  # what the condition was when it was last asked for

    def asked(carry: list[Tensor]) -> Tensor:
        value = trees.unflatten(shape, _filled(leaves, carry))
        which[0] = _truth(who, "what cond_fun gave", holds(value), numbers=False)
        return asarray(which[0]) if isinstance(which[0], bool) else _together(which[0])

    def whole(carry: list[Tensor]) -> Tensor:
        truth = asked(carry)
        return truth.any() if truth.ndim else truth

    def stepped(carry: list[Tensor]) -> list[Tensor]:
        before = _filled(leaves, carry)
        after = _kept(who, "what body_fun gave", shape, before, step(trees.unflatten(shape, before)))
        if isinstance(which[0], bool) or _is_one(which[0]):
            return _tensors(after)
        asked(carry)
        return _tensors(_chosen(which[0], after, before))

    found = repeated(whole, stepped, _tensors(leaves))
    return None if found is None else _filled(leaves, found)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Apply a function of a counter and a value again and again, for the counters from ``lower`` to below ``upper``.

    Parameters
    ----------
    lower, upper
        Whole numbers: Python's, or tensors without axes, which inside `vmap` may differ from example to example.
    body_fun
        ``body_fun(i, value)`` gives the next value: of the same structure, shapes and dtypes. The counter is a tensor.
    init_val
        The first value, a tree of tensors. Numbers become tensors.
    unroll
        True: a compiled function has all steps written out, instead of a loop; so it has if this is their number or
        more. Other calls are the same for any.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.func import fori_loop, grad
    >>> power = lambda x: fori_loop(0, 3, lambda i, y: x * y, lg.ones_like(x))
    >>> power(lg.tensor(2.0)), grad(power)(lg.tensor(2.0))
    (tensor(8.), tensor(12.))
    """
    _check_functions("fori_loop", body_fun=body_fun)
    if unroll is not None:
        _check_unroll("fori_loop", unroll)
    leaves, shape = _received("fori_loop", init_val)
    start, stop = _bound("lower", lower), _bound("upper", upper)
    given = [bound for bound in (start, stop) if isinstance(bound, Tensor)]
    if len(given) == 2 and given[0].dtype != given[1].dtype:
        raise TypeError(
            f"fori_loop: lower has dtype {given[0].dtype}, upper {given[1].dtype}; expected the same: use .astype"
        )
    home = next((x.device for x in (*given, *leaves) if x is not None), None)
    dtype = given[0].dtype if given else None
    if any(isinstance(bound.array, Layer) for bound in given):
        last, first = stop, asarray(start, dtype=dtype, device=home) if isinstance(start, int) else start
        counted, outer = [first, *leaves], trees.flatten((first, trees.unflatten(shape, leaves)))[1]
        return trees.unflatten(
            shape,
            _repeated("fori_loop", lambda c: c[0] < last, lambda c: (c[0] + 1, body_fun(*c)), counted, outer)[1:],
        )
    if tracing() is not None and unroll is not True and (unroll or 1) < int(stop) - int(start):
        found = _counted(body_fun, leaves, shape, arange(int(start), int(stop), dtype=dtype, device=home))
        if found is not None:
            return trees.unflatten(shape, found)
    for i in _counters(int(start), int(stop), dtype, home):
        made = body_fun(i, trees.unflatten(shape, leaves))
        leaves = _kept("fori_loop", "what body_fun gave", shape, leaves, made)
    return trees.unflatten(shape, leaves)


def _counted(
    body_fun: Callable[[Any, Any], Any], leaves: list[Any], shape: trees.Shape, counters: Tensor
) -> list[Any] | None:
    """The same as one equation of the program that is being traced, if there is one."""

    def step(carry: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        before = _filled(leaves, carry)
        made = body_fun(slices[0], trees.unflatten(shape, before))
        return _tensors(_kept("fori_loop", "what body_fun gave", shape, before, made)), []

    found = looped(step, _tensors(leaves), [counters], counters.shape[0], False)
    return None if found is None else _filled(leaves, found[0])


def _counters(start: int, stop: int, dtype: Any, home: Any) -> Iterator[Tensor]:
    """Tensors of whole numbers, made a block at a time: a device is not bothered with each."""
    while start < stop:
        end = min(start + _BLOCK, stop)
        yield from unstack(arange(start, end, dtype=dtype, device=home))
        start = end


def _bound(name: str, value: Any) -> Any:
    """A bound of a loop as an int of Python, or as a tensor of one."""
    if isinstance(value, Tensor) or devices.recognise(value) is not None:
        value = value if isinstance(value, Tensor) else asarray(value)
        if value.shape != ():
            raise TypeError(f"fori_loop: {name} has shape {value.shape}, expected a single whole number")
        if value.is_floating_point() or value.is_complex() or str(value.dtype) == "bool":
            raise TypeError(f"fori_loop: {name} has dtype {value.dtype}, expected a whole number")
        return value
    if type(value) is not int:
        raise TypeError(f"fori_loop: {name} is a {type(value).__name__}, expected a whole number")
    if abs(value) > _LARGEST:
        raise ValueError(f"fori_loop: {name} is {value}, expected a number that 64 bits hold")
    return value


def _check_unroll(who: str, unroll: Any) -> None:
    if not isinstance(unroll, int):
        raise TypeError(f"{who}: unroll is a {type(unroll).__name__}, expected a positive number or a bool")
    if unroll < 1 and unroll is not False:
        raise ValueError(f"{who}: unroll is {unroll}, expected a positive number or a bool")


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Go through the slices of tensors along their first axis, with a value that is carried from one to the next.

    Parameters
    ----------
    f
        ``f(carry, x) -> (carry, y)``: the next carry, of the same structure, shapes and dtypes, and what is collected
        (None if nothing is).
    init
        The first carry, a tree of tensors. Numbers become tensors.
    xs
        A tree of tensors whose first axes have one length; None for a loop of ``length`` steps, whose ``x`` is None.
    length
        The number of steps, which is that of the slices where there are any.
    reverse
        Begin with the last slice. What is collected stays at its slice's place.
    unroll
        True: a compiled function has all steps written out, instead of a loop; so it has if this is their number or
        more. Other calls are the same for any.

    Returns
    -------
    tuple
        ``(carry, ys)``: the last carry, and what was collected, stacked along a new first axis.

    Notes
    -----
    Time and memory are linear in the number of steps. For no steps at all the function runs once, on zeros, to learn
    the shapes of what it would collect.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.func import grad, scan
    >>> sums = lambda xs: scan(lambda total, x: (total + x, total * x), 0.0, xs)
    >>> sums(lg.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 2., 9.]))
    >>> grad(lambda xs: sums(xs)[1].sum())(lg.tensor([1.0, 2.0, 3.0]))
    tensor([5., 4., 3.])
    """
    _check_functions("scan", f=f)
    _check_unroll("scan", unroll)
    if not isinstance(reverse, bool):
        raise TypeError(f"scan: reverse is a {type(reverse).__name__}, expected a bool")
    columns, outer = _received("scan", xs)
    leaves, shape = _received("scan", init, columns)
    count = _steps("scan", columns, length)
    if not count:
        return trees.unflatten(shape, leaves), _nothing(f, leaves, shape, columns, outer)
    if unroll is not True and unroll < count:
        found = _as_one(f, leaves, shape, columns, outer, count, reverse)
        if found is not None:
            return found
    slices = [None if x is None else unstack(x) for x in columns]
    rows: list[list[Any]] = []
    made = shape
    for i in range(count - 1, -1, -1) if reverse else range(count):
        given = [None if column is None else column[i] for column in slices]
        leaves, y = _step(f, leaves, shape, trees.unflatten(outer, given))
        if rows:
            rows.append(_kept("scan", "what f collects", made, rows[0], y))
        else:
            row, made = _received("scan", y)
            rows.append(row)
    if reverse:
        rows.reverse()
    ys = [None if column[0] is None else stack(list(column)) for column in zip(*rows, strict=True)]
    return trees.unflatten(shape, leaves), trees.unflatten(made, ys)


def _as_one(
    f: Callable[[Any, Any], Any],
    leaves: list[Any],
    shape: trees.Shape,
    columns: list[Any],
    outer: trees.Shape,
    count: int,
    reverse: bool,
) -> tuple[Any, Any] | None:
    """The same as one equation of the program that is being traced, if there is one."""
    collected: list[tuple[list[Any], trees.Shape]] = []

    def step(carry: list[Tensor], slices: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        before = _filled(leaves, carry)
        after, y = _step(f, before, shape, trees.unflatten(outer, _filled(columns, slices)))
        collected.append(_received("scan", y))
        return _tensors(after), _tensors(collected[-1][0])

    found = looped(step, _tensors(leaves), _tensors(columns), count, reverse)
    if found is None:
        return None
    row, made = collected[-1]
    return trees.unflatten(shape, _filled(leaves, found[0])), trees.unflatten(made, _filled(row, found[1]))


def _tensors(leaves: Sequence[Any]) -> list[Tensor]:
    return [x for x in leaves if x is not None]


def _filled(leaves: Sequence[Any], tensors: Sequence[Tensor]) -> list[Any]:
    """Other tensors in place of those among leaves; None stays."""
    found = iter(tensors)
    return [None if x is None else next(found) for x in leaves]


def _step(f: Callable[[Any, Any], Any], leaves: list[Any], shape: trees.Shape, x: Any) -> tuple[list[Any], Any]:
    result = f(trees.unflatten(shape, leaves), x)
    if not isinstance(result, tuple) or len(result) != 2:
        given = f"{len(result)} values" if isinstance(result, tuple) else f"a {type(result).__name__}"
        raise TypeError(f"scan: f gave {given}, expected a pair (carry, y): return carry, None to collect nothing")
    return _kept("scan", "the carry that f gave", shape, leaves, result[0]), result[1]


def _steps(who: str, columns: Sequence[Any], length: Any) -> int:
    """How many slices there are."""
    if length is not None:
        if isinstance(length, (bool, float)) or not hasattr(length, "__index__"):
            raise TypeError(f"{who}: length is a {type(length).__name__}, expected a whole number or None")
        length = operator.index(length)
        if length < 0:
            raise ValueError(f"{who}: length is {length}, expected a number of steps, 0 or more")
    tensors = [x for x in columns if x is not None]
    for x in tensors:
        if not x.ndim:
            raise ValueError(f"{who}: xs has a tensor without axes, expected a first axis to go along; close over it")
    sizes = {x.shape[0] for x in tensors}
    if len(sizes) > 1:
        raise ValueError(f"{who}: the first axes of xs have the lengths {sorted(sizes)}, expected one length")
    if not sizes and length is None:
        raise ValueError(
            f"{who}: xs has no tensor and length is None; give one of them to say how many steps there are"
        )
    if sizes and length is not None and length not in sizes:
        raise ValueError(f"{who}: length is {length}, the first axes of xs have length {sizes.pop()}; leave it out")
    return int(sizes.pop()) if sizes else int(length)


def _nothing(
    f: Callable[[Any, Any], Any], leaves: list[Any], shape: trees.Shape, columns: list[Any], outer: trees.Shape
) -> Any:
    """What is collected in no steps: a step on zeros tells the shapes, and leaves no trace."""
    drawn = remember()
    with recorded(False):
        copies = [None if x is None else x.clone() for x in leaves]
        slices = [None if x is None else zeros(x.shape[1:], dtype=x.dtype, device=x.device) for x in columns]
        _, y = _step(f, copies, shape, trees.unflatten(outer, slices))
        ys, made = _received("scan", y)
        empty = [None if x is None else stack([x])[:0] for x in ys]
    recall(drawn)
    return trees.unflatten(made, empty)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """A function of one slice after the other, along the first axis of tensors; what it gives is stacked.

    `vmap` computes the same for all slices at once: quicker, with the memory of all.

    Parameters
    ----------
    f
        A function of a slice: a tree of tensors in, a tree of tensors out.
    xs
        A tree of tensors whose first axes have one length.
    batch_size
        How many slices to take at once, by `vmap`; None for one after the other.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> xs = lg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> lg.func.map(lambda x: x.prod(), xs)
    tensor([ 2., 12.])
    >>> lg.func.grad(lambda xs: lg.func.map(lambda x: x.prod(), xs, batch_size=2).sum())(xs)
    tensor([[2., 1.],
            [4., 3.]])
    """
    _check_functions("map", f=f)
    if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int)):
        raise TypeError(f"map: batch_size is a {type(batch_size).__name__}, expected a positive number or None")
    if batch_size is not None and batch_size < 1:
        raise ValueError(f"map: batch_size is {batch_size}, expected a positive number or None")
    columns, outer = _received("map", xs)
    count = _steps("map", columns, None)
    if batch_size is None or not count:
        return scan(lambda _, x: (None, f(x)), None, trees.unflatten(outer, columns))[1]
    made: list[tuple[list[bool], trees.Shape]] = []

    def tensors_of(*slices: Any) -> list[Any]:
        given = iter(slices)
        result, shape = _received("map", f(trees.unflatten(outer, [x if x is None else next(given) for x in columns])))
        made.append(([y is not None for y in result], shape))
        return [y for y in result if y is not None]

    mapped = vmap(tensors_of, randomness="different", chunk_size=batch_size)
    found = iter(mapped(*(x for x in columns if x is not None)))
    present, shape = made[0]
    return trees.unflatten(shape, [next(found) if there else None for there in present])
