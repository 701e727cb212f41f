"""Values that were computed from others in a way that the tape did not see, and the search for them."""

import functools
import types
from collections.abc import Iterable, Sequence
from typing import Any

from lucidgrad.autograd.modes import enable_grad
from lucidgrad.core import device
from lucidgrad.core.dispatch import box, floats
from lucidgrad.core.modes import new_nodes, state, told
from lucidgrad.core.primitive import LINEAR, joint, primitive
from lucidgrad.core.tape import version
from lucidgrad.levels.layer import Layer, structural
from lucidgrad.tensor import Tensor

__all__ = ["Followed", "hidden_values", "is_zero", "untraced", "without_history"]


def _refuse(xp: Any, g: Any, *, reason: str) -> Any:
    raise RuntimeError(reason)


@primitive(LINEAR, vjp=joint(_refuse))
def untraced(xp: Any, *xs: Any, value: tuple[Any], reason: str) -> Any:
    """A value that was computed from others in a way that the tape did not see: its derivative raises."""
    return value[0]


structural.add("untraced")


def without_history(value: Any, nodes: Sequence[Any], reason: str) -> Tensor:
    """Such a value as a tensor, computed from what these nodes made (None: a constant)."""
    sources = [box(value, node) for node in nodes if node is not None]
    if not sources:
        return box(value)
    with enable_grad():
        return untraced(*sources, value=(value,), reason=reason)


def is_zero(array: Any) -> bool:
    """Whether all values are zero; it waits for them."""
    if isinstance(array, Layer):
        return all(map(is_zero, array.parts))
    return not device.by_array[type(array)].to_numpy(array).any()


class Followed(new_nodes):
    """Which tensors are computed from given ones, by operations that the tape could record."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        super().__init__(None, lambda node: None)  # so that this thread's operations are told
        self._reached = {id(t): t for t in tensors}

    def _changes(self) -> Any:
        self._before = state.told
        return (*super()._changes(), (told, self._told))

    @property
    def _result(self) -> Any:
        return self

    def _told(self, how: Any, xs: tuple[Any, ...], made: Any) -> None:
        if not isinstance(how, str) and any(isinstance(x, Tensor) and x in self for x in xs):
            self._reached.update((id(y), y) for y in (made if isinstance(made, tuple) else (made,)))
        if self._before is not None:
            self._before(how, xs, made)

    def __contains__(self, t: Tensor) -> bool:
        return id(t) in self._reached or version(t.array) > 0  # what was written in place is not followed


def hidden_values(thing: Any, known: Iterable[Any] = ()) -> list[Any]:
    """The tensors and arrays of floating-point numbers in an object that trees don't reach into.

    It looks into containers, closures, partial functions, bound methods and instances of users' classes, but not into
    modules, and not into what is ``known``.
    """
    seen = {id(one) for one in known}
    found, queue = [], [thing]
    for one in queue:  # which grows on the way
        if id(one) in seen or len(queue) > 10_000:
            continue
        seen.add(id(one))
        if isinstance(one, Tensor) or type(one) in device.by_array:
            if (one.array if isinstance(one, Tensor) else one).dtype in floats:
                found.append(one)
        else:
            queue.extend(_inside(one))
    return found


def _inside(thing: Any) -> list[Any]:
    if isinstance(thing, (str, bytes, type, types.ModuleType)):
        return []
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, (list, tuple, set, frozenset)):
        return list(thing)
    if isinstance(thing, functools.partial):
        return [thing.func, *thing.args, *thing.keywords.values()]
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, types.FunctionType):
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_full(cell)]
        return [*cells, *(thing.__defaults__ or ())]
    if type(thing).__module__.split(".")[0] == "lucidgrad" or hasattr(thing, "_parameters"):
        return []
    return list(getattr(thing, "__dict__", {}).values())


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a name that has no value yet
        return False
