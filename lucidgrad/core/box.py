"""The box around an array: what the engine needs to know of a tensor, and no more.

An *alias* says that a tensor is a view: of which base, and by which steps. When the base is written in place, the
history of the view is made anew by following those steps from the base.
"""

from typing import Any


class Alias:
    """What a tensor shares memory with: its base and the steps that lead from the base to it.

    ``seen`` is the base's node when the history of the view was written: when the base has another
    one, an in-place operation rewrote it, and the view's history is replayed (`dispatch.history`).
    """

    __slots__ = ("_base", "barrier", "seen", "steps")

    def __init__(self, base: Any, steps: tuple[Any, ...], seen: Any, barrier: str | None) -> None:
        self._base = base
        self.steps = steps
        self.seen = seen
        self.barrier = barrier  # why in-place writes through this view are refused, or None

    @property
    def base(self) -> Any:
        """What it is a view of: itself no view, unless its axes were changed in place; then what it was before is."""
        while self._base is not None and self._base._alias not in (None, INFERENCE):
            self._base = self._base._alias.base
        return self._base


#: The alias slot of every tensor that was made in inference mode.
INFERENCE = Alias(None, (), None, None)


class Box:
    """An array with its place on the tape; `lucidgrad.Tensor` adds the public methods.

    ``_node`` is None where no gradient is wanted, a `Leaf`, or the node that made the array.
    ``_alias`` is None unless the array shares memory with that of another tensor (or is `INFERENCE`).
    ``_grad`` is left empty by operations until a gradient arrives: an empty slot costs nothing.
    ``_role`` is the class that a tensor of a module is an instance of beside Tensor, and empty otherwise: its
    type stays Tensor itself, which is what the compiled operators expect.
    """

    __slots__ = ("__weakref__", "_alias", "_grad", "_node", "_role", "array")

    array: Any
    _node: Any
    _alias: Alias | None
    _grad: Any
    _role: type
