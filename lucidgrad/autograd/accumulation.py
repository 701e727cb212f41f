"""Adding gradients to ``.grad``: to all tensors of a call, or to none of them."""

import operator
import os
import sys
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any

from lucidgrad import native
from lucidgrad.core import device
from lucidgrad.core.dispatch import box, place_of, raw
from lucidgrad.core.modes import recorded, state
from lucidgrad.core.primitive import registry
from lucidgrad.core.tape import touch
from lucidgrad.levels.traced import Traced


class _Turn:
    """One thread at a time adds; what comes in between in it, a signal handler or a finaliser, may add, too."""

    lock = threading.RLock()
    count = 0  # how often something was added


_turn = _Turn()
if hasattr(os, "register_at_fork"):  # a fork waits for its turn: the child finds every .grad whole
    os.register_at_fork(
        before=_turn.lock.acquire, after_in_parent=_turn.lock.release, after_in_child=_turn.lock.release
    )


def _alone() -> int:
    found = {0: object()}
    g = found[0]
    return sys.getrefcount(g)


_ALONE = _alone()  # how many references an entry has that nobody else holds but who asks
_NAMES = repeat("_grad")


def accumulate(found: dict[Any, Any], owners: Sequence[tuple[Any, Any]], create_graph: bool) -> None:
    """Add a gradient ``found[key]`` to ``tensor.grad`` for each owner ``(tensor, key)``; the caller is `device.quiet`.

    A new one is kept as it is only if nobody else can see it. If anything raises, no ``.grad`` has changed: all that
    can fail comes first, then one step of C, in which nothing does, and which no signal interrupts.
    """
    turn, backends = _turn, device.by_array
    with turn.lock:
        while True:
            count = turn.count
            new: dict[int, Any] = {}
            tensors, targets, addends, elsewhere = [], [], [], []
            for tensor, key in owners:
                g, name = found[key], id(tensor)
                old = new[name] if name in new else getattr(tensor, "_grad", None)
                if old is None or create_graph or old._node is not None or not _adds_in_place(old.array, g):
                    if name not in new:
                        tensors.append(tensor)
                    alone = sys.getrefcount(g) == _ALONE
                    home = backends.get(type(g)) if alone and old is None and not create_graph else None
                    if home is not None and home.steady and home.owns(g):
                        new[name] = box(home.settle(g))  # a sum over all elements may be a number of NumPy's
                    else:
                        new[name] = _sum(old, g, alone, create_graph)
                elif backends[type(old.array)].steady:
                    touch(old.array)
                    targets.append(old.array)
                    addends.append(g)
                else:
                    elsewhere.append((old, g))
            steps: Iterable[Any] = map(setattr, tensors, _NAMES, new.values())
            if targets:
                sums = map(operator.iadd, targets, addends)
                steps = chain(sums, steps) if tensors else sums
            if turn.count == count:  # no signal handler's own backward came in between
                break
        if elsewhere:
            _add_elsewhere(elsewhere, steps)
        else:
            deque(steps, 0)
        turn.count += 1


def keep(found: dict[Any, Any]) -> bool:
    """The same of leaves that have no gradient yet, in one step of C; False if that is not all, and none is changed."""
    engine = native.parts()
    if engine is None:
        return False
    with _turn.lock:
        kept: bool = engine.keep(found)
        _turn.count += kept
    return kept


def _adds_in_place(old: Any, g: Any) -> bool:
    if type(old) is not type(g) and (type(g) is Traced or getattr(old, "sparse", False)):
        return False  # memory that the program does not know of, or rows that a dense sum does not fit into
    return old.dtype == g.dtype and device.by_array[type(g)].writable(old)


def _sum(old: Any, g: Any, alone: bool, create_graph: bool) -> Any:
    backend = device.by_array[type(raw(g))]
    with backend.at(raw(g)):
        here = place_of(raw(g))
        if here is not None and old is not None:
            here.follow(old.array)  # another pass may be writing it on another stream
        if create_graph:
            with recorded(True, state.fresh):
                made = registry["clone"].op(g) if old is None else old + g  # nobody else's memory
        elif old is not None:
            made = box(backend.settle(old.array + g))
        else:
            g = backend.settle(g)
            made = box(g if alone and backend.owns(g) else backend.copy(g))
        if here is not None:
            here.wrote(made.array)
        return made


def _add_elsewhere(sums: list[tuple[Any, Any]], steps: Iterable[Any]) -> None:
    """Add in the memory of devices, where a launch may fail, and then do the rest: all is taken back if it does."""
    kept: list[tuple[Any, Any, Any]] = []
    try:
        for old, g in sums:
            backend, array = device.by_array[type(old.array)], old.array
            with backend.at(array):
                here = place_of(array)
                if here is not None:
                    here.follow(array)  # another pass may be writing it on another stream
                kept.append((old, array, backend.copy(array)))
                old.array = operator.iadd(array, g)  # type: ignore[no-untyped-call]
                if here is not None:
                    here.wrote(old.array)
            touch(old.array)
        deque(chain(steps, map(operator.call, (kept.clear,))), 0)
    except BaseException:
        for old, array, values in kept:
            with device.by_array[type(array)].at(array):
                device.by_array[type(array)].write(array, ..., values)
            old.array = array
        raise
