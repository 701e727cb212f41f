"""In-place operations: compute out of place, write, mark the memory as written, rewrite the history.

The tensor's old value lives on in the graph through its old node; the tensor takes the node of the
result. Written through a view, the base's history becomes "the base, overwritten at these places".
"""

import functools
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from .core import device, dtype as dtypes
from .core.box import INFERENCE, Alias, Box
from .core.dispatch import bound, complexes, compute, history, meet, move_retain, node_of, record, unified, unwrap
from .core.items import Input, Meta
from .core.modes import state, unusual
from .core.primitive import LINEAR, Primitive, primitive, registry
from .core.tape import GraphNode, Leaf, clock, last_write, storage, touch, written
from .levels.batching import through_program
from .levels.layer import shell
from .levels.traced import written_into


# -- writing into a part -------------------------------------------------------------------------
def forth(xp: Any, x: Any, steps: Sequence[Any], at: Any = None) -> Any:
    """Follow the steps of a view from its base; one that picks takes positions."""
    for step, keywords, _ in steps:
        x = getattr(xp, step.name)(x, *(at,) * (len(step.arrays) - 1), **keywords)
    return x


def back(xp: Any, g: Any, steps: Sequence[Any], at: Any = None) -> Any:
    """The adjoint of `forth`, from the steps' own rules: they are linear and keep nothing but shapes and positions."""
    for step, keywords, meta in reversed(steps):
        recipe = step.recipe((0,))
        saved = recipe.save(None, (meta, at), keywords, _itself)
        g = recipe.only(xp, g, saved)
    return g


def _itself(meta: Any) -> Any:
    return meta


def _region(xp: Any, like: Any, steps: Sequence[Any], at: Any) -> Any:
    """Where the steps lead to, as a mask of the base."""
    return back(xp, xp.ones_like(forth(xp, like, steps, at)), steps, at) != 0


def _seen(xp: Any, part: Any, steps: Sequence[Any], at: Any) -> Any:
    """A part without the values that later ones overwrote: positions may name a place twice."""
    if at is None:
        return part
    _, keywords, meta = steps[-1]
    return xp.where(xp.stays(at, **keywords, shape=meta.shape), part, xp.zeros_like(part))


def _halved(steps: Sequence[Any]) -> tuple[int, str | None]:
    """Which step leads to the real or the imaginary part, if one does: the other part stays as it is."""
    for i, (step, _, meta) in enumerate(steps):
        if step.name in ("real", "imag") and meta.dtype in complexes:
            return i, step.name
    return 0, None


def _others(xp: Any, g: Any, at: Any, *, steps: Any) -> Any:
    if _halved(steps)[1]:
        return xp.overwrite(g, xp.zeros_like(forth(xp, g, steps, at)), at, steps=steps)
    return xp.where(_region(xp, g, steps, at), xp.zeros_like(g), g)


def _written(xp: Any, g: Any, at: Any, *, steps: Any) -> Any:
    part = _seen(xp, forth(xp, g, steps, at), steps, at)
    return -part if _halved(steps)[1] == "imag" else part  # rules don't conjugate


@primitive(LINEAR, vjp=(_others, _written, None), batch=through_program("overwrite"))
def overwrite(xp: Any, x: Any, v: Any, at: Any = None, /, *, steps: Any) -> Any:
    """A copy of x in which the part that ``steps`` lead to, the last one perhaps by positions, has the values v."""
    place, half = _halved(steps)
    if half:
        whole = forth(xp, x, steps[:place])
        halves = {name: getattr(xp, name)(whole) for name in ("real", "imag")}
        halves[half] = xp.overwrite(halves[half], v, at, steps=steps[place + 1 :])
        v, steps, at = xp.astype(halves["real"], dtype=x.dtype) + halves["imag"] * 1j, steps[:place], None
    part = forth(xp, x, steps, at)
    v = _seen(xp, xp.astype(xp.broadcast_to(v, shape=part.shape), dtype=x.dtype), steps, at)
    return xp.where(_region(xp, x, steps, at), back(xp, v, steps, at), x)


# -- what may be written -------------------------------------------------------------------------
def check_writable(x: Any, name: str, recording: bool) -> None:
    """Raise where PyTorch refuses an in-place operation."""
    alias = x._alias
    for key, (_, source) in list(copies.items()):
        owner = source()
        if owner is not None and (key == id(x) or owner is _base(x) or owner is storage(x.array)):
            raise RuntimeError(
                f"{name}: a view is written, or what it is a view of, and on device {str(x.device)!r} it is a copy: "
                f"{device.by_array[type(x.array)].why_copied}"
            )
    if alias is INFERENCE:
        if state.fresh is not INFERENCE:
            raise RuntimeError(
                f"{name}: in-place update of an inference tensor outside inference mode; clone it first, or make it "
                f"outside inference mode"
            )
        return
    backend = device.by_array[type(x.array)]
    if not backend.writable(x.array):
        raise RuntimeError(f"{name}: this tensor's memory can't be written: {backend.unwritable}")
    if not recording:
        return
    node = node_of(x)
    if type(node) is Leaf:
        raise RuntimeError(
            f"{name}: a leaf tensor that requires grad is used in an in-place operation; "
            f"do it under no_grad(), or out of place"
        )
    if alias is not None:
        if type(alias.base._node) is Leaf:
            raise RuntimeError(
                f"{name}: a view of a leaf tensor that requires grad is used in an in-place operation; "
                f"do it under no_grad(), or out of place"
            )
        if alias.barrier is not None:
            raise RuntimeError(
                f"{name}: the tensor {alias.barrier}, so an in-place operation on it cannot be recorded; "
                f"use the out-of-place form"
            )


# -- the operations ------------------------------------------------------------------------------
def update(op: Any, x: Any, *others: Any, **keywords: Any) -> Any:
    """``x = op(x, *others)``, in x's own memory."""
    step: Primitive = op.primitive
    if state.recording and (_has_history(x) or any(isinstance(o, Box) and _has_history(o) for o in others)):
        return _recorded_update(step, x, others, {**step.keywords, **keywords})
    check_writable(x, step.name + "_", recording=False)
    y = op(x, *others, **keywords).array
    x.array = _write(step.name, x.array, y)
    _tell(step, (x, *others), x)
    return x


def _recorded_update(step: Primitive, x: Any, others: Sequence[Any], keywords: dict[str, Any]) -> Any:
    check_writable(x, step.name + "_", recording=True)
    pairs = [unwrap(step, value) for value in (x, *meet(step, (x, *others))[1:])]
    for i, (array, _) in enumerate(pairs):
        if array is NotImplemented:
            raise TypeError(
                f"{step.name}_: argument {i + 1} is a {type(others[i - 1]).__name__}, expected a Tensor or a number"
            )
    arrays, nodes = unified(step, [array for array, _ in pairs]), [node for _, node in pairs]
    wanted = tuple(i for i in step.differentiable if i < len(nodes) and nodes[i] is not None)
    kept, before = list(map(shell, arrays)), shell(_base(x).array)
    for item in step.recipe(wanted).items if wanted else ():
        i = item.at
        if type(item) is Input and type(arrays[i]) is type(x.array) and storage(arrays[i]) is storage(x.array):
            kept[i] = device.by_array[type(x.array)].copy(arrays[i])  # the rule wants the value from before
    y = compute(step, arrays, keywords)
    with _Undo(x) if state.keeping is not None else nullcontext():
        x.array = _write(step.name, x.array, y)
        nodes[0] = _overwritten(x, nodes[0])
        _rebase(x, record(step, x.array, kept, nodes, wanted, keywords) if wanted else None, before)
    _tell(step, (x, *others), x)
    return x


def _tell(step: Primitive, inputs: tuple[Any, ...], x: Any) -> None:
    if unusual and state.told is not None:
        state.told(step, inputs, x)


class _Undo:
    """Put a tensor back to what it was, if a hook raises while what was done to it is recorded."""

    def __init__(self, x: Any) -> None:
        self.x, self.values = x, device.by_array[type(x.array)].copy(x.array)
        self.nodes = [(tensor, tensor._node) for tensor in (x, _base(x))]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, *exc: object) -> None:
        if kind is not None:
            self.x.array = device.by_array[type(self.x.array)].write(self.x.array, ..., self.values)
            touch(self.x.array)
            for tensor, node in self.nodes:
                new, tensor._node = tensor._node, node
                move_retain(tensor, new)


def _write(name: str, old: Any, new: Any) -> Any:
    """Put a result into the memory of the array it was computed from; returns what holds it now."""
    if new.shape != old.shape:
        raise RuntimeError(
            f"{name}_: the result has shape {tuple(new.shape)}, which does not fit into the tensor's {tuple(old.shape)}"
        )
    new = written_into(old, new)
    check_levels(name + "_", old, new)
    if new.dtype != old.dtype and dtypes.rank(new.dtype) > dtypes.rank(old.dtype):
        raise RuntimeError(
            f"{name}_: a result of dtype {new.dtype} can't be written into a tensor of dtype {old.dtype}"
        )
    made = device.by_array[type(old)].write(old, ..., new)
    touch(made)
    return made


class Marks:
    """Arrays that are written again and again: to note it, their memory is looked for the first time only."""

    __slots__ = ("_arrays", "_marks")

    def __init__(self, arrays: Sequence[Any]) -> None:
        self._arrays = arrays
        self._marks: list[Any] | None = None

    def touch(self) -> None:
        """Note that all were written."""
        if self._marks is None:
            for array in self._arrays:
                touch(array)
            self._marks = [written[id(storage(array))] for array in self._arrays]  # they last as long as the arrays
            return
        last_write.when = when = next(clock)
        for mark in self._marks:
            mark.count += 1
            mark.when = when


def check_levels(name: str, old: Any, new: Any) -> None:
    """Raise if a value has levels that the memory it is to go to does not have."""
    own = getattr(old, "held", ())
    for level, size in getattr(new, "held", ()):
        if (level, size) not in own:
            what = "has a tangent there" if size is None else f"differs between the {size} examples"
            raise RuntimeError(
                f"{name}: inside {level.transform} the value {what}, and the tensor that it is to be written into "
                f"does not: its memory holds one value; use the out-of-place form, or make the tensor from one that "
                f"does, e.g. with zeros_like"
            )


def _base(x: Any) -> Any:
    """What x is a view of; x itself if it is none."""
    return x if x._alias is None or x._alias is INFERENCE else x._alias.base


def _has_history(x: Any) -> bool:
    """Whether x, or what it is a view of, is part of a graph."""
    return _base(x)._node is not None or node_of(x) is not None


def assign(x: Any, key: Any, value: Any, parted: Callable[..., Any] | None = None) -> None:
    """``x[key] = value``: the part that one step leads to is overwritten.

    For a key with arrays, ``parted(key, shape)`` gives it without them, and the positions that they stand for.
    """
    name, step = "__setitem__", registry["index"]
    value = meet(step, (x, value))[1]
    array, node = unwrap(step, value)
    if array is NotImplemented:
        array, node = device.by_array[type(x.array)].asarray(value), None
    recording = state.recording and (node is not None or _has_history(x))
    backend = device.by_array[type(x.array)]
    if parted is None and not backend.writable(x.array):  # stretched, but perhaps not in this part
        part = step.op(x, key=key)
        if storage(part.array) is storage(x.array) and key is not ... and backend.writable(part.array):
            return assign(part, ..., value)
    check_writable(x, name, recording)
    meta = Meta(x.array.shape, x.array.dtype, backend.device_of(x.array))
    old = node_of(x)
    if isinstance(value, Box) and type(array) is type(x.array) and backend.storage(array) is backend.storage(x.array):
        array = backend.copy(array)
    array = written_into(x.array, array)
    for given in (array,) if parted is None else (array, *(key if type(key) is tuple else (key,))):
        check_levels(name, x.array, given)
    over: Primitive = overwrite.primitive  # type: ignore[attr-defined]
    if recording or backend.rank:
        if type(array) not in device.by_array:
            array = backend.full((), array, backend.dtype_of(x.array), meta.device)
        static, at = (key, None) if parted is None else parted(key, meta.shape)
        more = {"steps": ((step if at is None else registry["pick"], {"key": static}, meta),)}
        before = shell(x.array), shell(_base(x).array)
    with _Undo(x) if recording and state.keeping is not None else nullcontext():
        if backend.rank:  # a key speaks of one example
            x.array = backend.write(x.array, ..., compute(over, [x.array, array, at], more))
        else:
            try:
                x.array = backend.write(x.array, key, array)
            except (TypeError, ValueError) as error:
                shape, own = getattr(array, "shape", ()), x.array.dtype
                raise ValueError(f"{name}: given a value of shape {shape}, expected one that fits, of {own}") from error
        touch(x.array)
        if recording:
            wanted = tuple(i for i, n in enumerate((old, node)) if n is not None)
            old = _overwritten(x, old)
            _rebase(x, record(over, x.array, [before[0], array, at], [old, node, None], wanted, more), before[1])
    _tell(over, (x, value), x)


def _rebase(x: Any, made: GraphNode | None, before: Any = None) -> None:
    """Give x the history of what was written into it, and its base the history of having been overwritten.

    ``before`` has the levels that the base had before.
    """
    alias: Alias | None = x._alias
    if alias is None:
        old, x._node = x._node, made
        move_retain(x, old)
        return
    base = alias.base
    backend = device.by_array[type(base.array)]
    steps, at = [], base.array
    for step, keywords in alias.steps:
        steps.append((step, keywords, Meta(at.shape, at.dtype, backend.device_of(at))))
        at = step.find_kernel(type(at))(at, **keywords)
    old = base._node
    wanted = tuple(i for i, n in enumerate((old, made)) if n is not None)
    over: Primitive = overwrite.primitive  # type: ignore[attr-defined]
    arrays, more = [base.array if before is None else before, x.array, None], {"steps": tuple(steps)}
    base._node = record(over, base.array, arrays, [old, made, None], wanted, more) if wanted else None
    history(x)
    move_retain(base, old)


def _overwritten(x: Any, node: Any) -> Any:
    """The node of x as an operation finds it that writes into it: a view's own hooks don't hear of the write."""
    at = node
    for _ in x._alias.steps if x._alias is not None and node is not None else ():
        if at.extras is not None and (at.extras.hooked or at.extras.retain is not None):
            x._alias.seen = None  # take the view again
            return history(x)
        at = at.origin
    return node


# -- libraries that copy where others give views
#: By their ids, tensors that would share memory with another but for their library, which copies; and that other one.
copies: dict[int, tuple[Any, Any]] = {}


def track_copy(x: Any, out: Any, name: str, keywords: dict[str, Any]) -> None:
    """If the library copied where others give a view, note it: neither tensor may be written while both are alive."""
    find = device.copying.get(type(x.array))
    if find is not None and find(name, keywords):
        alias = x._alias  # in inference mode nobody knows what a tensor is a view of, but for its memory
        base = x if alias is None else storage(x.array) if alias is INFERENCE else alias.base
        _, source = copies.get(id(x), (None, weakref.ref(base)))
        copies[id(out)] = weakref.ref(out, functools.partial(_forget, id(out))), source


def _forget(key: int, _: Any) -> None:
    copies.pop(key, None)


bound["track_copy"] = track_copy
