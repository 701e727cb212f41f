"""What all collectives have in common: who is meant, by which engine and how; beginning, and waiting."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lucidgrad.backends.communication import Engine, EngineError, Pending
from lucidgrad.core import device as devices
from lucidgrad.core.dtype import named, rank as kind_of
from lucidgrad.core.tape import touch
from lucidgrad.tensor import Tensor

from . import debugging
from .buffers import Buffer, check_target, check_tensor
from .groups import ProcessGroup, ReduceOp, resolve
from .work import Work, failed, wait_for


# -- who -----------------------------------------------------------------------------------------
def group_of(name: str, group: Any) -> ProcessGroup | None:
    """The group that is meant; None, and a warning, if this process is not in it."""
    found = resolve(group, name)
    if found is None:
        warnings.warn(f"{name}: this process is not in the group, so nothing is done", stacklevel=3)
    return found


def member(name: str, group: ProcessGroup, given: int | None, within: int | None, what: str) -> int:
    """The number in the group of the process that is meant, by its number in the world or in the group."""
    if (given is None) == (within is None):
        raise ValueError(f"{name}: expected one of {what} and group_{what}")
    if within is not None:
        if not 0 <= within < group.size():
            raise ValueError(f"{name}: given group_{what}={within}, expected 0 to {group.size() - 1}")
        return within
    if given not in group.ranks:
        raise ValueError(f"{name}: given {what}={given}, which is not among the processes {list(group.ranks)}")
    return group.ranks.index(given)


def several(name: str, group: ProcessGroup, called: str, tensors: Any) -> list[Any]:
    """A list of as many tensors as there are members."""
    if tensors is None or len(tensors) != group.size():
        given = "None" if tensors is None else f"{len(tensors)} tensors"
        raise ValueError(f"{name}: given {given} for {called}, expected one for each of {group.size()} processes")
    return list(tensors)


# -- how -----------------------------------------------------------------------------------------
def engine_for(name: str, group: ProcessGroup, written: Sequence[Any], read: Sequence[Any] = ()) -> Engine:
    """The engine for some tensors, which are checked."""
    if len(written) == 1 and not read:
        return _engine(name, group, check_tensor(name, written[0], True))
    kinds = [check_tensor(name, x, True) for x in written]
    kinds += [check_tensor(name, x, False) for x in read]
    if len(kinds) > 1 and len(set(kinds)) > 1:
        raise RuntimeError(f"{name}: given tensors on {' and '.join(sorted(set(kinds)))}, expected one kind of device")
    return _engine(name, group, kinds[0])


def _engine(name: str, group: ProcessGroup, kind: str) -> Engine:
    engine = group.engine(kind)
    if kind == "cuda" and engine.host:
        from lucidgrad.cuda import is_current_stream_capturing

        if is_current_stream_capturing():
            raise RuntimeError(
                f"{name}: a CUDA graph is being recorded, and these tensors travel by {engine.name}, which the host "
                f"calls; do it outside of the graph, or use NCCL"
            )
    return engine


def reduction(name: str, op: Any, x: Any, engine: Engine) -> tuple[str, Any, bool]:
    """The engine's operation, the dtype that it is done in (None: the tensor's), and whether a division follows."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{name}: given op={op!r}, expected one of {', '.join(f'ReduceOp.{o.name}' for o in ReduceOp)}")
    return _reduction(name, op, x.dtype, engine.operations)


@functools.cache
def _reduction(name: str, op: ReduceOp, dtype: Any, operations: frozenset[str]) -> tuple[str, Any, bool]:
    kind = kind_of(dtype)
    if kind == 0 and op not in (ReduceOp.MAX, ReduceOp.MIN):
        raise TypeError(
            f"{name}: given booleans and ReduceOp.{op.name}; ReduceOp.MAX says whether any is true and MIN whether all "
            f"are, and to count them make them integers"
        )
    if kind == 1 and op is ReduceOp.AVG:
        raise TypeError(f"{name}: given integers and ReduceOp.AVG; take ReduceOp.SUM and divide, or make them floats")
    if kind == 3 and op not in (ReduceOp.SUM, ReduceOp.AVG):
        raise TypeError(f"{name}: given complex numbers and ReduceOp.{op.name}, expected ReduceOp.SUM or AVG")
    wider = named("float32") if kind == 2 and dtype.itemsize == 2 else None
    if op is ReduceOp.AVG and "avg" not in operations:
        return "sum", wider, True
    return op.value, wider, False


# -- beginning and end ---------------------------------------------------------------------------
def begun(
    name: str,
    group: ProcessGroup,
    start: Callable[[], Pending],
    buffers: Sequence[Buffer],
    results: Sequence[Any],
    async_op: bool,
    divided: Buffer | None = None,
    together: bool = True,
) -> Work | None:
    """Start an operation, of all members ``together`` or of two, and wait for it unless told otherwise."""
    group.started += together
    try:
        pending = start()
    except EngineError as error:
        raise failed(name, group, error, group.timeout) from error
    if async_op:
        pending.release()
        return Work(name, pending, group, lambda: _finish(buffers, divided, group, later=True), results)
    wait_for(name, group, pending, group.timeout)
    _finish(buffers, divided, group, later=False)
    return None


def _finish(buffers: Sequence[Buffer], divided: Buffer | None, group: ProcessGroup, later: bool) -> None:
    if divided is not None:
        divided.array /= group.size()
    for buffer in buffers:
        if buffer.written and (later or not buffer.own):
            buffer.restore()


# -- a short cut ---------------------------------------------------------------------------------
class Way(NamedTuple):
    """How tensors of a kind are reduced in their own memory: by a call of an engine, and perhaps a division."""

    reduced: Callable[[Any, float], bool]
    divides: bool


def remember(
    group: ProcessGroup, x: Any, op: ReduceOp, buffer: Buffer, engine: Engine, how: str, divides: bool
) -> None:
    """Let tensors like this one be reduced by one call, if the engine has it and needs no copy of them."""
    direct = buffer.own and engine.takes(x.array)  # not of a traced array, whose value is another
    if direct and buffer.array.dtype == x.dtype and type(x.array) not in devices.places and not group.compares:
        reduced = engine.all_reduce_now(how)
        if reduced is not None:
            group.ways[type(x.array), x.dtype, op] = Way(reduced, divides)


def reduced_like_others(name: str, group: Any, x: Any, op: Any) -> bool:
    """Reduce a tensor the way others went, if there is one: what must be asked each time, and nothing else."""
    found = resolve(group, name)
    if found is None or not isinstance(x, Tensor) or not isinstance(op, ReduceOp):
        return False
    array = x.array
    way = found.ways.get((type(array), array.dtype, op))
    if way is None:
        return False
    if x._node is not None or x._alias is not None:  # else nothing speaks against writing it, but its memory
        check_target(name, x)
    try:
        if not way.reduced(array, found.timeout):
            return False
    except BaseException as error:  # an interrupt, too: some of it may be written
        touch(array)
        if isinstance(error, (EngineError, TimeoutError)):
            raise failed(name, found, error, found.timeout) from error
        raise
    found.started += 1
    touch(array)
    if way.divides:
        array /= found.size()
    return True


# -- the debug mode ------------------------------------------------------------------------------
def compare(name: str, group: ProcessGroup, *tensors: Any, **words: Any) -> None:
    """With the debug mode, see that all members are about to do the same."""
    if group.compares:
        debugging.compare(name, group, tensors, words)


def compare_parts(name: str, group: ProcessGroup, x: Any, sent: list[int], received: list[int], **words: Any) -> None:
    """The same, of parts that each sends and expects."""
    if group.compares:
        debugging.compare(name, group, (), {"dtype": str(x.dtype), **words}, (sent, received))
