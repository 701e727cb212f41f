"""Adding a gradient to ``.grad``."""

import operator
import sys
import threading
from typing import Any

from . import device
from .dispatch import box, place_of, raw
from .modes import enable_grad
from .primitive import registry
from .tape import touch

_accumulating = threading.Lock()


def _references(found: dict[Any, Any], key: Any) -> int:
    return sys.getrefcount(found[key])


_ALONE = _references({0: object()}, 0)  # how many references an entry has that nobody else holds


def accumulate(tensor: Any, found: dict[Any, Any], key: Any, create_graph: bool) -> None:
    """Add the gradient ``found[key]`` to ``tensor.grad``; a new one is kept only if nobody else can see it."""
    alone = _references(found, key) == _ALONE
    g = found[key]
    with _accumulating, device.by_array[type(raw(g))].at(raw(g)):
        old = getattr(tensor, "_grad", None)
        here = place_of(raw(g))
        if here is not None and old is not None:
            here.follow(old.array)  # another pass may be writing it on another stream
        if create_graph:
            with enable_grad():
                tensor._grad = registry["clone"].op(g) if old is None else old + g  # nobody else's memory
        else:
            tensor._grad = _sum(device.by_array[type(g)], old, g, alone)
        if here is not None:
            here.wrote(tensor._grad.array)


def _sum(backend: Any, old: Any, g: Any, alone: bool) -> Any:
    if old is None:
        g = backend.settle(g)
        return box(g if alone and backend.owns(g) else backend.copy(g))
    if old._node is None and backend.writable(old.array) and old.array.dtype == g.dtype:
        old.array = operator.iadd(old.array, g)
        touch(old.array)
        return old
    return box(backend.settle(old.array + g))
