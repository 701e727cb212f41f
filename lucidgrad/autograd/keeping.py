"""What nodes keep for backward, and how to change it: hooks, host memory, copies."""

import threading
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.box import INFERENCE
from lucidgrad.core.dispatch import box, node_of
from lucidgrad.core.items import Inputs, meta_of
from lucidgrad.core.modes import new_nodes, plain_nodes, state
from lucidgrad.core.tape import Extras, Leaf, version
from lucidgrad.tensor import Tensor

from .modes import no_grad


def change_kept(node: Any, change: Callable[[Any], Any]) -> None:
    """Replace every array that a node keeps."""
    if node.recipe.keeps_arrays:
        node.saved = tuple(
            _changed(value, change) if item.is_array else value
            for item, value in zip(node.recipe.items, node.saved, strict=True)
        )


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) is tuple:
        return tuple(_changed(part, change) for part in value)
    return change(value) if type(value) in device.by_array else value


class Packed:
    """What stands in a node for an array that was packed away."""

    __slots__ = ("meta", "thing", "unpacker")

    def __init__(self, array: Any, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Any]) -> None:
        self.meta, self.unpacker, before = meta_of(array), unpack, version(array)
        self.thing = pack(box(array))
        if version(array) != before:
            raise RuntimeError(
                f"a pack hook modified its input in place (shape {tuple(array.shape)}, dtype {array.dtype}): "
                f"others use that memory; clone it in the hook"
            )

    def unpack(self) -> Any:
        """The array again."""
        given = self.unpacker(self.thing)
        if not isinstance(given, Tensor):
            raise TypeError(f"an unpack hook returned a {type(given).__name__}, expected a Tensor")
        found = meta_of(given.array)
        if found != self.meta:
            raise RuntimeError(
                f"an unpack hook returned a tensor of shape {tuple(found.shape)}, {found.dtype}, on {found.device}; "
                f"packed was one of shape {tuple(self.meta.shape)}, {self.meta.dtype}, on {self.meta.device}"
            )
        return given.array


def pack_kept(
    node: Any,
    pack: Callable[[Tensor], Any],
    unpack: Callable[[Any], Any],
    which: Callable[[Any], bool] | None = None,
) -> None:
    """Pack away what a node keeps until its backward runs; of its arrays those that ``which`` holds for."""
    any_packed = False

    def packed(array: Any) -> Any:
        nonlocal any_packed
        if which is not None and not which(array):
            return array
        any_packed = True
        return Packed(array, pack, unpack)

    with plain_nodes(), no_grad():
        change_kept(node, packed)
    if any_packed:  # a node without extras is faster
        node.more().unpack = _all_unpacked


def _all_unpacked(saved: tuple[Any, ...]) -> tuple[Any, ...]:
    with plain_nodes():
        return tuple(map(_unpacked, saved))


def _unpacked(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_unpacked, value))
    return value.unpack() if type(value) is Packed else value


class KeptTensors:
    """Tensors that are kept as a node keeps its values: packed away by whatever context is around.

    Leaves, and tensors that a module owns, stay themselves.
    """

    recipe = SimpleNamespace(keeps_arrays=True, items=(Inputs(),), primitive=SimpleNamespace(name="checkpoint"))

    def __init__(self, tensors: Iterable[Any]) -> None:
        self.extras: Extras | None = None
        self._all: list[Any] = list(tensors)
        self._nodes: dict[int, Any] = {}
        if state.keep is not None:
            self._nodes = {i: node_of(t) for i, t in enumerate(self._all) if _is_plain(t)}
        arrays = tuple(self._all[i].array for i in self._nodes)
        for i in self._nodes:
            self._all[i] = None
        self.saved: tuple[Any, ...] = (arrays,)
        if arrays and state.keep is not None:
            state.keep(self, None, arrays, {})

    def more(self) -> Extras:
        """The extras, made if there are none yet."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    @property
    def held(self) -> list[Any]:
        """What is kept as it is, and must not be written in place."""
        return [*self._all, *self.saved]

    def tensors(self) -> list[Any]:
        """The tensors again, with their history."""
        unpack = self.extras and self.extras.unpack
        (arrays,) = unpack(self.saved) if unpack else self.saved
        found = list(self._all)
        for (i, node), array in zip(self._nodes.items(), arrays, strict=True):
            found[i] = box(array, node)
        return found


def _is_plain(t: Any) -> bool:
    return type(t) is Tensor and not hasattr(t, "_role") and t._alias is not INFERENCE and type(t._node) is not Leaf


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

    def _changes(self) -> Any:
        refuse_if_disabled()
        return super()._changes()


class _Disabled(threading.local):
    reasons: tuple[str, ...] = ()


_disabled = _Disabled()


def refuse_if_disabled() -> None:
    """Raise inside `disable_saved_tensors_hooks`."""
    if _disabled.reasons:
        raise RuntimeError(_disabled.reasons[-1])


class disable_saved_tensors_hooks:
    """A context in which `saved_tensors_hooks` and checkpoints raise this message; it does so itself inside of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with lg.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    ...
    RuntimeError: not here
    """

    def __init__(self, error_message: str) -> None:
        self._reason = error_message

    def __enter__(self) -> None:
        if state.keep is not None:
            raise RuntimeError(self._reason)
        _disabled.reasons = (*_disabled.reasons, self._reason)

    def __exit__(self, *exc: object) -> None:
        _disabled.reasons = _disabled.reasons[:-1]


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
        super().__init__(_copy_kept)


def _copy_kept(node: Any) -> None:
    node.saved = tuple(map(_copied, node.saved))


def _copied(value: Any) -> Any:
    """A copy of an array, also of those in an index."""
    if type(value) is tuple:
        return tuple(map(_copied, value))
    return device.by_array[type(value)].copy(value) if type(value) in device.by_array else value
