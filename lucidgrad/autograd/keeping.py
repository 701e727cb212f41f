"""What nodes keep for backward, and how to change it: hooks, host memory, copies."""

from collections.abc import Callable
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import box
from lucidgrad.core.modes import new_nodes, no_grad, plain_nodes
from lucidgrad.core.primitive import meta_of
from lucidgrad.tensor import Tensor

_ARRAYS = ("x", "y", "xs", "own")  # the kinds of kept items that are arrays


def change_kept(node: Any, change: Callable[[Any], Any]) -> None:
    """Replace every array that a node keeps."""
    if node.recipe.keeps_arrays:
        node.saved = tuple(
            _changed(value, change) if kind in _ARRAYS else value
            for (kind, _), value in zip(node.recipe.items, node.saved, strict=True)
        )


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) is tuple:
        return tuple(_changed(part, change) for part in value)
    return change(value) if type(value) in device.by_array else value


class Packed:
    """What stands in a node for an array that was packed away."""

    __slots__ = ("meta", "thing")

    def __init__(self, array: Any, pack: Callable[[Tensor], Any]) -> None:
        self.meta = meta_of(array)
        self.thing = pack(box(array))

    def unpack(self, unpack: Callable[[Any], Any]) -> Any:
        """The array again."""
        given = unpack(self.thing)
        if not isinstance(given, Tensor):
            raise TypeError(f"an unpack hook returned a {type(given).__name__}, expected a Tensor")
        found = meta_of(given.array)
        if found != self.meta:
            raise RuntimeError(
                f"an unpack hook returned a tensor of shape {tuple(found.shape)}, {found.dtype}, on {found.device}; "
                f"packed was one of shape {tuple(self.meta.shape)}, {self.meta.dtype}, on {self.meta.device}"
            )
        return given.array


def pack_kept(node: Any, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]) -> None:
    """Pack away what a node keeps until its backward runs."""
    with plain_nodes(), no_grad():
        change_kept(node, lambda array: Packed(array, pack))

    def unpacked(saved: tuple[Any, ...]) -> tuple[Any, ...]:
        with plain_nodes():
            return tuple(_unpacked(value, unpack) for value in saved)

    if node.recipe.keeps_arrays:
        node.more().unpack = unpacked


def _unpacked(value: Any, unpack: Callable[[Any], Any]) -> Any:
    if type(value) is tuple:
        return tuple(_unpacked(part, unpack) for part in value)
    return value.unpack(unpack) if type(value) is Packed else value


class saved_tensors_hooks(new_nodes):
    """What operations inside keep for backward is handed to ``pack_hook``, and asked from ``unpack_hook`` when needed.

    Parameters
    ----------
    pack_hook
        ``pack_hook(tensor)`` returns anything; that is kept instead.
    unpack_hook
        ``unpack_hook(thing)`` returns a tensor with the values that were packed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0], requires_grad=True)
    >>> with lg.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().tolist(), lg.tensor):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad.tolist()
    [6.0]
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Any]) -> None:
        super().__init__(lambda node: pack_kept(node, pack_hook, unpack_hook))

    def __enter__(self) -> None:
        if disable_saved_tensors_hooks.reasons:
            raise RuntimeError(disable_saved_tensors_hooks.reasons[-1])
        super().__enter__()


class disable_saved_tensors_hooks:
    """A context in which `saved_tensors_hooks` raise this message."""

    reasons: list[str] = []  # noqa: RUF012

    def __init__(self, error_message: str) -> None:
        self._reason = error_message

    def __enter__(self) -> None:
        self.reasons.append(self._reason)

    def __exit__(self, *exc: object) -> None:
        self.reasons.pop()


class save_on_cpu(saved_tensors_hooks):
    """What operations inside keep for backward waits in host memory, pinned if wanted.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0], requires_grad=True)
    >>> with lg.autograd.graph.save_on_cpu():
    ...     y = x**3
    >>> y.backward()
    >>> x.grad.tolist()
    [27.0]
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> tuple[Any, Tensor]:
            where = t.device
            if where.type == "cpu":
                return where, t
            return where, t.to("cpu").pin_memory() if pin_memory else t.to("cpu")

        super().__init__(pack, lambda pair: pair[1].to(pair[0], non_blocking=pin_memory))


class allow_mutation_on_saved_tensors(new_nodes):
    """Values that operations inside keep for backward are copies: writing into the originals harms nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([2.0], requires_grad=True)
    >>> with lg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     m = x * 1
    ...     y = m * m
    ...     m.zero_()
    tensor([0.], grad_fn=<OverwriteBackward>)
    >>> y.backward()
    >>> x.grad.tolist()
    [4.0]
    """

    def __init__(self) -> None:
        super().__init__(lambda node: change_kept(node, lambda array: device.by_array[type(array)].copy(array)))
