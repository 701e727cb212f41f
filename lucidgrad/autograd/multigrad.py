"""A hook on the gradients of several tensors."""

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.modes import state
from lucidgrad.tensor import Tensor

from .modes import set_grad_enabled


class _Arrived:
    """The gradients of one walk so far."""

    def __init__(self, count: int) -> None:
        self.gradients: list[Any] = [None] * count
        self.told = False
        self.handled = sys.exc_info()[1]  # an exception that was being handled before is no failure of the walk


class Handles:
    """Removes the hooks of all tensors; also as a context manager."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Remove the hook."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> "Handles":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all") -> Handles:
    """Call a function once per walk, when the gradients of several tensors are known.

    Parameters
    ----------
    tensors
        Tensors that require grad.
    fn
        With mode ``"all"``: ``fn(gradients)``, a list with None for tensors that the walk does not reach, when the
        last of them has arrived. With mode ``"any"``: ``fn(gradient)`` of the first that arrives.
    mode
        ``"all"`` or ``"any"``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> a, b = lg.tensor(2.0, requires_grad=True), lg.tensor(3.0, requires_grad=True)
    >>> handle = lg.autograd.graph.register_multi_grad_hook((a, b), lambda gs: print([g.item() for g in gs]))
    >>> (a * b).backward()
    [3.0, 2.0]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode is {mode!r}, expected 'all' or 'any'")
    nodes = [node_of(t) for t in tensors]
    if not nodes or any(node is None for node in nodes):
        raise RuntimeError("register_multi_grad_hook: expected tensors that require grad, at least one")
    lock = threading.Lock()
    found: dict[Any, _Arrived] = {}  # by walk

    def hook_of(i: int) -> Callable[[Tensor], None]:
        def hook(g: Tensor) -> None:
            walk = state.walking
            with lock:
                first = walk not in found
                if first:
                    found[walk] = _Arrived(len(nodes))
                    walk.at_end.append(finish)
                arrived = found[walk]
                arrived.gradients[i] = g
                plan = walk.plan
                due = sum(node in plan.reached and (plan.needed is None or node in plan.needed) for node in nodes)
                fire = first if mode == "any" else sum(g is not None for g in arrived.gradients) == due
                arrived.told = arrived.told or fire
            if fire:
                fn(g if mode == "any" else list(arrived.gradients))

        return hook

    def finish(walk: Any) -> None:
        """A backward may have returned None for one of them: then the walk's end tells that it will not come."""
        arrived = found.pop(walk, None)
        if arrived is not None and not arrived.told and sys.exc_info()[1] is arrived.handled:
            with set_grad_enabled(walk.create_graph):
                fn(list(arrived.gradients))

    return Handles([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])
