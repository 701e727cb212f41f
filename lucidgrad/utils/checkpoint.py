"""Activation checkpointing: what a function keeps for backward is dropped and computed again when it is needed.

Nothing is re-entered: the graph is that of the first run, and the second run only fills in what its nodes kept. So
closed-over parameters get their gradients, `grad` works, checkpoints nest, and every order of derivative follows.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from lucidgrad import random
from lucidgrad.autograd.keeping import KeptTensors, change_kept, pack_kept, refuse_if_disabled
from lucidgrad.autograd.modes import enable_grad
from lucidgrad.core import device
from lucidgrad.core.box import Box
from lucidgrad.core.dispatch import box
from lucidgrad.core.items import meta_of
from lucidgrad.core.modes import new_nodes, set_casting, state
from lucidgrad.core.tape import clock, storage, written
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

#: Each is called when a checkpointed function begins, and returns a context for its second run: with what is around the
#: first run and would be missing in backward, such as parameters that are gathered only while a module computes.
surroundings: list[Callable[[], AbstractContextManager[Any]]] = []


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not do what the first run did."""


class _Done(Exception):
    """All that was dropped is there again: the second run need not go on."""


class set_checkpoint_early_stop:
    """A context in which checkpoints stop their second run once all that was dropped is there (True), or never.

    A function whose end has effects that must happen twice, such as a counter of calls, needs False.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> calls = []
    >>> x = lg.ones(1, requires_grad=True)
    >>> with lg.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = lg.utils.checkpoint.checkpoint(lambda x: (lg.exp(x), calls.append(1))[0], x)
    >>> y.backward()
    >>> len(calls)
    2
    """

    current = True

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        self._before = set_checkpoint_early_stop.current
        set_checkpoint_early_stop.current = self.enable

    def __exit__(self, *exc: object) -> None:
        set_checkpoint_early_stop.current = self._before


class _Frame:
    """One call of a checkpointed function: how to run it again, and what its nodes wait for."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        preserve: bool,
        check: bool,
        keeps: Callable[[str], bool] | None,
    ) -> None:
        self.function, self.names = function, tuple(kwargs)
        self.inputs = KeptTensors((*args, *kwargs.values()))
        self.began = self.ended = next(clock)  # writes that come later are found by these
        self.check, self.keeps = check, keeps
        self.numbers = random.remember() if preserve else None
        self.casting = state.casting
        self.surroundings = [again() for again in surroundings]
        self.second: AbstractContextManager[Any] = nullcontext()
        self.early_stop = True
        self.is_over = False  # the first run; `grad` inside of it may need what it has dropped so far
        self.metas: list[Any] = []
        self.values: dict[int, Any] = {}
        self.log: list[str] | None = None  # the operations of the first run, if they are to be told

    def drop(self, node: Any) -> None:
        """In the first run: nodes keep numbers instead of arrays."""
        if self.log is not None:
            self.log.append(node.recipe.primitive.name)
        if self.keeps is None or not self.keeps(node.recipe.primitive.name):
            pack_kept(node, self._number, self._value)

    def _number(self, t: Tensor) -> int:
        self.metas.append(meta_of(t.array))
        return len(self.metas) - 1

    def _value(self, number: int) -> Tensor:
        if number not in self.values:
            self._run_again()
        made: Tensor = box(self.values.pop(number))
        return made

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """The inputs again, if they are what they were."""
        for array in _arrays_in(self.inputs.held):
            if _written_since(array, self.began):
                raise RuntimeError(
                    f"checkpoint: an input (shape {tuple(array.shape)}, dtype {array.dtype}) was modified by an "
                    f"in-place operation since the function began, which now has to run again; clone it before"
                )
        given = self.inputs.tensors()
        count = len(given) - len(self.names)
        return given[:count], dict(zip(self.names, given[count:], strict=True))

    def _run_again(self) -> None:
        args, kwargs = self._arguments()
        before = None if self.numbers is None else random.remember()
        collected: dict[int, Any] = {}
        stamps: list[int] = []
        log: list[str] = []
        began = next(clock)

        def collect(node: Any) -> None:
            log.append(node.recipe.primitive.name)
            if self.keeps is not None and self.keeps(node.recipe.primitive.name):
                return
            change_kept(node, take)
            if self.early_stop and len(collected) == len(self.metas):
                raise _Done

        def take(array: Any) -> Any:
            number = len(collected)
            if number >= len(self.metas) and not self.is_over:
                return array
            if self.check and (number >= len(self.metas) or meta_of(array) != self.metas[number]):
                was = self.metas[number] if number < len(self.metas) else "nothing"
                raise CheckpointError(
                    f"checkpoint: the second run keeps {meta_of(array)} as value {number}, the first kept {was}; "
                    f"the function must do the same each time it runs{self._story(log)}"
                )
            if _written_since(array, self.ended) and not _written_since(array, began):
                raise _modified(log[-1], array, "between both runs")
            collected[number] = array
            stamps.append(next(clock))
            return array

        casting = state.casting
        try:
            if self.numbers is not None:
                random.recall(self.numbers)
            set_casting(None if self.casting is None else self.casting.again())
            with ExitStack() as around:
                for surrounding in (self.second, enable_grad(), *self.surroundings, new_nodes(collect)):
                    around.enter_context(surrounding)
                self.function(*args, **kwargs)
        except _Done:
            pass
        finally:
            set_casting(casting)
            if before is not None:
                random.recall(before)
        if len(collected) < len(self.metas):
            raise CheckpointError(
                f"checkpoint: the second run kept {len(collected)} values, the first {len(self.metas)}; "
                f"the function must do the same each time it runs{self._story(log)}"
            )
        for array, stamp in zip(collected.values(), stamps, strict=True):
            if _written_since(array, stamp):
                raise _modified("an operation", array, "later in the function")
        self.values = collected

    def _story(self, log: list[str]) -> str:
        """Both runs in words."""
        if self.log is None:
            return " (debug=True tells the operations)"
        return f"\nfirst run:  {', '.join(self.log)}\nsecond run: {', '.join(log)}"


def _arrays_in(value: Any) -> list[Any]:
    """The arrays among arguments."""
    stack, found = [value], []
    while stack:
        x = stack.pop()
        if isinstance(x, dict):
            stack.extend(x.values())
        elif isinstance(x, (tuple, list)):
            stack.extend(x)
        elif isinstance(x, Box):
            found.append(x.array)
        elif type(x) in device.by_array:
            found.append(x)
    return found


def _written_since(array: Any, when: int) -> bool:
    mark = written.get(id(storage(array)))
    return mark is not None and mark.when > when


def _modified(op: str, array: Any, when: str) -> RuntimeError:
    return RuntimeError(
        f"checkpoint: a value that {op} keeps (shape {tuple(array.shape)}, dtype {array.dtype}) was modified by an "
        f"in-place operation {when}; clone it before, or use the out-of-place operation"
    )


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = False,
    preserve_rng_state: bool = True,
    determinism_check: str = "default",
    context_fn: Callable[[], Contexts] | None = None,
    debug: bool = False,
    early_stop: bool = True,
    policy: Callable[[str], bool] | None = None,
    **kwargs: Any,
) -> Any:
    """Run a function without keeping its intermediate values; backward runs it again to have them.

    Parameters
    ----------
    function, args, kwargs
        What to run. It must do the same when it runs again, so inputs may not be written in place until backward.
    use_reentrant
        Only False: gradients are then right for closed-over parameters and for `autograd.grad`.
    preserve_rng_state
        Draw the same random numbers from the default generators the second time (dropout).
    determinism_check
        ``"default"`` compares shapes, dtypes and devices of both runs, ``"none"`` does not.
    context_fn
        Returns two contexts: the first run happens in one, the second in the other.
    debug
        If both runs differ, the error tells the operations of both.
    early_stop
        Whether the second run stops once all that was dropped is there; see `set_checkpoint_early_stop`.
    policy
        ``policy(op name) -> bool``: whether what this operation keeps is kept as usual (selective checkpointing).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5], requires_grad=True)
    >>> y = lg.utils.checkpoint.checkpoint(lambda x: lg.sin(lg.exp(x)), x)
    >>> y.backward()
    >>> bool(x.grad == lg.cos(lg.exp(x)) * lg.exp(x))
    True
    """
    if use_reentrant:
        raise ValueError("checkpoint: use_reentrant=True is not offered: it gives wrong gradients for closures")
    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check is {determinism_check!r}, expected 'default' or 'none'")
    refuse_if_disabled()
    pair: Any = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        raise TypeError(f"checkpoint: context_fn returned a {type(pair).__name__}, expected a pair of contexts")
    frame = _Frame(function, args, kwargs, preserve_rng_state, determinism_check == "default", policy)
    frame.second, frame.early_stop = pair[1], early_stop and set_checkpoint_early_stop.current
    frame.log = [] if debug else None
    with pair[0], new_nodes(frame.drop):
        made = function(*args, **kwargs)
    frame.ended, frame.is_over = next(clock), True
    return made


def checkpoint_sequential(functions: Any, segments: int, input: Tensor, **options: Any) -> Tensor:
    """Run functions one after the other in segments, each but the last checkpointed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5], requires_grad=True)
    >>> lg.utils.checkpoint.checkpoint_sequential([lg.sin, lg.exp, lg.tanh], 2, x).backward()
    >>> x.grad.shape
    (1,)
    """
    parts = list(functions)
    if not 1 <= segments <= max(len(parts), 1):
        raise ValueError(f"checkpoint_sequential: given {segments} segments for {len(parts)} functions")
    size = len(parts) // segments

    def chain(start: int, stop: int) -> Callable[[Tensor], Tensor]:
        def run(x: Tensor) -> Tensor:
            for part in parts[start:stop]:
                x = part(x)
            return x

        return run

    x = input
    for k in range(segments - 1):
        x = checkpoint(chain(k * size, (k + 1) * size), x, **options)
    return chain((segments - 1) * size, len(parts))(x)


_guard(__name__, __all__)
