"""Hooks that a program depends on: those of tensors, and those of all modules and all optimisers."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.tape import Handle, Leaf
from lucidgrad.nn.hooks import everywhere
from lucidgrad.optim.optimizer import after_all, before_all

from .watches import Watch

__all__ = ["Hooks", "hears", "hooks_of"]


def hooks_of(x: Any, written: bool = True) -> list[Any]:
    """The hooks of a leaf; ``written``: those as well that wait for its gradient to be written."""
    node = x._node
    extras = node.extras if type(node) is Leaf else None
    if extras is None or not extras.hooked:
        return []
    own = [*extras.tensor.values(), *extras.pre.values(), *extras.post.values()]
    return own + list(extras.accumulated.values()) if written else own


def hears(tensors: Sequence[Any], written: bool) -> bool:
    """Whether leaves have hooks that are called by who computes their gradients or, if ``written``, writes them."""
    return any(hooks_of(x, written) for x in tensors)


class Hooks(Watch):
    """The hooks of tensors and optimisers, and those of everything; looked at only if any hook came or went."""

    def __init__(self, tensors: Sequence[Any], optimisers: Sequence[Any]) -> None:
        self._changes, self._optimisers = Handle.changes, optimisers
        super().__init__("a hook", tensors)

    def now(self) -> list[Any]:
        """The hooks at present, with what has them."""
        found: list[Any] = [*everywhere.values()]
        for some in (
            before_all,
            after_all,
            *(hooks for o in self._optimisers for hooks in (o._before_step, o._after_step)),
        ):
            found += [None, *some.values()]
        for i, x in enumerate(self.holder):
            own = hooks_of(x)
            found += [i, *own] if own else ()
        return found

    def holds(self) -> bool:
        """Whether all hooks are as they were."""
        self._changes = Handle.changes
        return super().holds()

    def written(self, word: str, scope: dict[str, Any]) -> list[str]:
        """The condition under which no hook came or went."""
        scope["Handle"] = Handle
        self.renew(word, scope)
        return [f"Handle.changes == {word}_changes"]

    def renew(self, word: str, scope: dict[str, Any]) -> None:
        """Let the condition be about now."""
        scope[f"{word}_changes"] = self._changes
