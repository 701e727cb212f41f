"""The backward that is under way, as hooks may ask for it: what it will reach, and what is to be done when it ends."""

from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core.dispatch import node_of
from lucidgrad.core.modes import state
from lucidgrad.levels.traced import current, fail
from lucidgrad.tensor import Tensor


def under_way() -> Any:
    """The walk that runs, the innermost one, or None; to be compared with ``is``."""
    return state.walking


def after_backward(function: Callable[[], Any]) -> None:
    """Call a function when the backward that is under way has written every gradient, before it returns.

    To be called by a hook. If backward raises, the function is not called.

    Parameters
    ----------
    function
        Takes no arguments. Each call of `after_backward` adds one; they run in this order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2, requires_grad=True)
    >>> def hook(g):
    ...     lg.autograd.graph.after_backward(lambda: print(x.grad))
    >>> handle = x.register_hook(hook)
    >>> (x * 3).sum().backward()
    tensor([3., 3.])
    """
    walk = state.walking
    if walk is None:
        raise RuntimeError("after_backward: no backward is under way; call it in a hook")
    walk.then.append(lambda walk: function())


def awaited(tensors: Sequence[Tensor]) -> list[bool]:
    """For each leaf, whether a gradient may arrive in the backward that is under way."""
    plan = state.walking.plan
    nodes = map(node_of, tensors)
    return [node in plan.reached and (plan.needed is None or node in plan.needed) for node in nodes]


def records() -> bool:
    """Whether the backward that is under way records its own steps, as ``create_graph=True`` asks."""
    return bool(state.walking.create_graph)


def when_over(function: Callable[[], Any]) -> None:
    """Call a function when the backward that is under way is over, whether it succeeded or not."""
    state.walking.at_end.append(lambda walk: function())


def leaf_of(tensor: Tensor) -> Any:
    """Where a leaf's gradients arrive and its hooks are, to be compared with ``is``; None if it wants no gradients."""
    return node_of(tensor)


def is_traced() -> bool:
    """Whether what is computed now is written down as a program, as `compile` does."""
    return current.get() is not None


def untraceable(reason: str) -> None:
    """Say why no program can be made of what is being traced, if anything is: Python does something that none does."""
    fail(reason)
