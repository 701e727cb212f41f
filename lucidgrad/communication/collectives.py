"""Operations of all processes of a group, in place, under PyTorch's names and with its meanings.

Every member of a group makes the same calls in the same order. With ``async_op=True`` a call returns a `Work` at once;
the tensors are not to be used before its `wait` returned. The sum of 16-bit floats is that of float32, rounded once.
"""

import datetime
import math
from collections.abc import Sequence
from typing import Any

from lucidgrad.backends.communication import Engine

from .buffers import Buffer, check_alike
from .calls import (
    begun,
    compare,
    compare_parts,
    engine_for,
    group_of,
    member,
    reduced_like_others,
    reduction,
    remember,
    several,
)
from .groups import ProcessGroup, ReduceOp, resolve
from .work import Work


# -- everybody to everybody ----------------------------------------------------------------------
def all_reduce(tensor: Any, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Everybody's tensor becomes the sum, or another reduction, of all.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere; written in place.
    op
        SUM, AVG, PRODUCT, MIN or MAX.
    group
        The world by default.
    async_op
        Return a `Work` at once.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.asarray([1.0, 2.0])
    >>> dist.all_reduce(x)
    >>> x.tolist()  # times the number of processes
    [1.0, 2.0]
    >>> dist.destroy_process_group()
    """
    if not async_op and reduced_like_others("all_reduce", group, tensor, op):
        return None
    name, found = "all_reduce", group_of("all_reduce", group)
    if found is None:
        return None
    engine = engine_for(name, found, [tensor])
    how, dtype, divides = reduction(name, op, tensor, engine)
    compare(name, found, tensor, op=op.name)
    buffer = Buffer([tensor], engine, dtype)
    if not async_op:
        remember(found, tensor, op, buffer, engine, how, divides)
    start = lambda: engine.all_reduce(buffer.array, how)
    return begun(name, found, start, [buffer], [tensor], async_op, buffer if divides else None)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The output becomes everybody's input, joined or stacked along the first axis.

    Parameters
    ----------
    output_tensor
        As many times as large as the input as there are processes.
    input_tensor
        Of one shape and dtype everywhere.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> whole = lg.zeros(2 * dist.get_world_size())
    >>> dist.all_gather_into_tensor(whole, lg.asarray([1.0, 2.0]))
    >>> whole.tolist()
    [1.0, 2.0]
    >>> dist.destroy_process_group()
    """
    name, found = "all_gather_into_tensor", group_of("all_gather_into_tensor", group)
    if found is None:
        return None
    engine = engine_for(name, found, [output_tensor], [input_tensor])
    _check_whole(name, found, output_tensor, "output_tensor", input_tensor, "input_tensor")
    compare(name, found, input_tensor)
    source, target = Buffer([input_tensor], engine, written=False), Buffer([output_tensor], engine, reads=False)
    return begun(
        name, found, lambda: engine.all_gather(source.array, target.array), [target], [output_tensor], async_op
    )


def _check_whole(name: str, group: ProcessGroup, whole: Any, called: str, part: Any, part_called: str) -> None:
    n = group.size()
    if whole.dtype != part.dtype:
        raise TypeError(f"{name}: {called} is of {whole.dtype} and {part_called} of {part.dtype}, expected one dtype")
    shapes = [(n * part.shape[0], *part.shape[1:])] if part.ndim else []
    shapes.append((n, *part.shape))
    if tuple(whole.shape) not in shapes and not (part.ndim <= 1 and tuple(whole.shape) == (n * part.numel(),)):
        raise ValueError(
            f"{name}: {called} has shape {tuple(whole.shape)}, expected {' or '.join(map(str, shapes))}: that of "
            f"{part_called}, {tuple(part.shape)}, for {n} processes"
        )


def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensors of the list become everybody's tensor, in the order of the processes.

    Parameters
    ----------
    tensor_list
        As many tensors as there are processes; written in place.
    tensor
        Of one shape and dtype everywhere.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> parts = [lg.zeros(2) for _ in range(dist.get_world_size())]
    >>> dist.all_gather(parts, lg.asarray([1.0, 2.0]))
    >>> parts[dist.get_rank()].tolist()
    [1.0, 2.0]
    >>> dist.destroy_process_group()
    """
    name, found = "all_gather", group_of("all_gather", group)
    if found is None:
        return None
    outputs = several(name, found, "tensor_list", tensor_list)
    engine = engine_for(name, found, outputs, [tensor])
    check_alike(name, "tensor_list: tensor", [tensor, *outputs])
    compare(name, found, tensor)
    source, target = Buffer([tensor], engine, written=False), Buffer(outputs, engine, reads=False)
    return begun(name, found, lambda: engine.all_gather(source.array, target.array), [target], outputs, async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Inputs are added up, and everybody's output becomes its part of the sum: the first process's is the first.

    Parameters
    ----------
    output
        A part of the shape of the input, along the first axis.
    input
        Of one shape and dtype everywhere.
    op, group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> part = lg.zeros(2)
    >>> dist.reduce_scatter_tensor(part, lg.ones(2 * dist.get_world_size()))
    >>> part.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name, found = "reduce_scatter_tensor", group_of("reduce_scatter_tensor", group)
    if found is None:
        return None
    engine = engine_for(name, found, [output], [input])
    _check_whole(name, found, input, "input", output, "output")
    return _reduced_parts(name, found, engine, output, [input], op, async_op)


def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Lists are added up, and everybody's output becomes one tensor of the sum: the first process's is the first.

    Parameters
    ----------
    output
        Written in place.
    input_list
        As many tensors as there are processes, all of the output's shape and dtype.
    op, group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> part = lg.zeros(2)
    >>> dist.reduce_scatter(part, [lg.ones(2) for _ in range(dist.get_world_size())])
    >>> part.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name, found = "reduce_scatter", group_of("reduce_scatter", group)
    if found is None:
        return None
    inputs = several(name, found, "input_list", input_list)
    engine = engine_for(name, found, [output], inputs)
    check_alike(name, "input_list: tensor", [output, *inputs])
    return _reduced_parts(name, found, engine, output, inputs, op, async_op)


def _reduced_parts(
    name: str, group: ProcessGroup, engine: Engine, output: Any, inputs: list[Any], op: ReduceOp, async_op: bool
) -> Work | None:
    how, dtype, divides = reduction(name, op, output, engine)
    compare(name, group, output, op=op.name)
    source = Buffer(inputs, engine, dtype, written=False)
    target = Buffer([output], engine, dtype, reads=False)
    start = lambda: engine.reduce_scatter(source.array, target.array, how)
    return begun(name, group, start, [target], [output], async_op, target if divides else None)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Everybody sends a part of its input, along the first axis, to each; parts arrive in the senders' order.

    Parameters
    ----------
    output, input
        Of one dtype, and of one shape but for the first axis.
    output_split_sizes, input_split_sizes
        How many rows come from each process, and go to each; by default equally many.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> y = lg.zeros(2 * dist.get_world_size())
    >>> dist.all_to_all_single(y, lg.ones(2 * dist.get_world_size()))
    >>> y.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name, found = "all_to_all_single", group_of("all_to_all_single", group)
    if found is None:
        return None
    engine = engine_for(name, found, [output], [input])
    if output.dtype != input.dtype:
        raise TypeError(f"{name}: output is of {output.dtype} and input of {input.dtype}, expected one dtype")
    sent = split_sizes(name, found.size(), input, "input", input_split_sizes)
    received = split_sizes(name, found.size(), output, "output", output_split_sizes)
    row = math.prod(input.shape[1:])
    if tuple(output.shape[1:]) != tuple(input.shape[1:]):
        raise ValueError(
            f"{name}: output has shape {tuple(output.shape)} and input {tuple(input.shape)}, expected the same but for "
            f"the first axis"
        )
    compare_parts(name, found, input, sent, received, row=tuple(input.shape[1:]))
    source, target = Buffer([input], engine, written=False), Buffer([output], engine, reads=False)
    counts = [[rows * row for rows in part] for part in (sent, received)]
    start = lambda: engine.all_to_all(source.array, target.array, *counts)
    return begun(name, found, start, [target], [output], async_op)


def split_sizes(name: str, n: int, x: Any, called: str, sizes: Sequence[int] | None) -> list[int]:
    """The rows that a tensor has for each process."""
    rows = x.shape[0] if x.ndim else 1
    if sizes is None or not len(sizes):
        if rows % n:
            raise ValueError(
                f"{name}: {called} has {rows} rows, which can't be divided equally among {n} processes; pass "
                f"{called}_split_sizes"
            )
        sizes = [rows // n] * n
    if len(sizes) != n or sum(sizes) != rows or min(sizes) < 0:
        raise ValueError(
            f"{name}: given {called}_split_sizes={list(sizes)}, expected {n} numbers whose sum is {rows}, the rows of "
            f"{called}"
        )
    return [int(size) for size in sizes]


def all_to_all(
    output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Work | None:
    """Everybody sends a tensor of its list to each; they arrive in the senders' order.

    Parameters
    ----------
    output_tensor_list, input_tensor_list
        As many tensors as there are processes, of one dtype and any shapes.
    group, async_op
        As for `all_reduce`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> outputs = [lg.zeros(2) for _ in range(dist.get_world_size())]
    >>> dist.all_to_all(outputs, [lg.ones(2) for _ in outputs])
    >>> outputs[0].tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name, found = "all_to_all", group_of("all_to_all", group)
    if found is None:
        return None
    outputs = several(name, found, "output_tensor_list", output_tensor_list)
    inputs = several(name, found, "input_tensor_list", input_tensor_list)
    engine = engine_for(name, found, outputs, inputs)
    if len({str(x.dtype) for x in (*outputs, *inputs)}) > 1:
        raise TypeError(f"{name}: given tensors of several dtypes, expected one")
    sent, received = ([int(x.numel()) for x in xs] for xs in (inputs, outputs))
    compare_parts(name, found, inputs[0], sent, received)
    source, target = Buffer(inputs, engine, written=False), Buffer(outputs, engine, reads=False)
    start = lambda: engine.all_to_all(source.array, target.array, sent, received)
    return begun(name, found, start, [target], outputs, async_op)


def barrier(
    group: Any = None,
    async_op: bool = False,
    device_ids: Sequence[int] | None = None,
    timeout: datetime.timedelta | None = None,
) -> Work | None:
    """Wait until every member of the group is here.

    Parameters
    ----------
    group, async_op
        As for `all_reduce`.
    device_ids
        Accepted for PyTorch's sake.
    timeout
        How long to wait; as the group's by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    name, found = "barrier", group_of("barrier", group)
    if found is None:
        return None
    compare(name, found)
    engine = found.host or found.engine("cuda")
    work = begun(name, found, engine.barrier, [], [], True)
    assert work is not None
    if async_op:
        return work
    work.wait(timeout)
    return None


# -- one to everybody, everybody to one ------------------------------------------------------------
def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Everybody's tensor becomes that of one process.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere; written in place.
    src
        The number of that process in the world.
    group, async_op
        As for `all_reduce`.
    group_src
        Its number in the group, in place of ``src``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.asarray([1.0, 2.0])
    >>> dist.broadcast(x, 0)
    >>> x.tolist()
    [1.0, 2.0]
    >>> dist.destroy_process_group()
    """
    name, found = "broadcast", group_of("broadcast", group)
    if found is None:
        return None
    root = member(name, found, src, group_src, "src")
    mine = root == found.rank()
    engine = engine_for(name, found, [] if mine else [tensor], [tensor] if mine else [])
    compare(name, found, tensor, src=root)
    buffer = Buffer([tensor], engine, reads=mine, written=not mine)
    return begun(name, found, lambda: engine.broadcast(buffer.array, root), [buffer], [tensor], async_op)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensor of one process becomes the sum, or another reduction, of all; those of others stay as they are.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    dst
        The number of that process in the world.
    op, group, async_op
        As for `all_reduce`.
    group_dst
        Its number in the group, in place of ``dst``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.asarray([1.0, 2.0])
    >>> dist.reduce(x, 0)
    >>> x.tolist()
    [1.0, 2.0]
    >>> dist.destroy_process_group()
    """
    name, found = "reduce", group_of("reduce", group)
    if found is None:
        return None
    root = member(name, found, dst, group_dst, "dst")
    mine = root == found.rank()
    engine = engine_for(name, found, [tensor] if mine else [], [] if mine else [tensor])
    how, dtype, divides = reduction(name, op, tensor, engine)
    compare(name, found, tensor, dst=root, op=op.name)
    buffer = Buffer([tensor], engine, dtype, written=mine)
    start = lambda: engine.reduce(buffer.array, root, how)
    return begun(name, found, start, [buffer], [tensor], async_op, buffer if divides and mine else None)


def gather(
    tensor: Any,
    gather_list: Sequence[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The list of one process becomes everybody's tensor, in the order of the processes.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    gather_list
        As many tensors as there are processes; None, but for that process.
    dst
        Its number in the world, 0 by default.
    group, async_op
        As for `all_reduce`.
    group_dst
        Its number in the group, in place of ``dst``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> parts = [lg.zeros(2) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    >>> dist.gather(lg.ones(2), parts, dst=0)
    >>> parts[0].tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name, found = "gather", group_of("gather", group)
    if found is None:
        return None
    root = member(name, found, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    outputs: list[Any] = []
    if root == found.rank():
        outputs = several(name, found, "gather_list", gather_list)
        check_alike(name, "gather_list: tensor", [tensor, *outputs])
    elif gather_list:
        raise ValueError(f"{name}: given a gather_list, expected None: tensors are gathered by process {dst or 0}")
    engine = engine_for(name, found, outputs, [tensor])
    compare(name, found, tensor, dst=root)
    source = Buffer([tensor], engine, written=False)
    targets = [Buffer(outputs, engine, reads=False)] if outputs else []
    start = lambda: engine.gather(source.array, targets[0].array if targets else None, root)
    return begun(name, found, start, targets, outputs, async_op)


def scatter(
    tensor: Any,
    scatter_list: Sequence[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Everybody's tensor becomes one of the list of one process: the first process's is the first.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere; written in place.
    scatter_list
        As many tensors as there are processes; None, but for that process.
    src
        Its number in the world, 0 by default.
    group, async_op
        As for `all_reduce`.
    group_src
        Its number in the group, in place of ``src``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x, parts = lg.zeros(2), [lg.ones(2) for _ in range(dist.get_world_size())]
    >>> dist.scatter(x, parts if dist.get_rank() == 0 else None, src=0)
    >>> x.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name, found = "scatter", group_of("scatter", group)
    if found is None:
        return None
    root = member(name, found, 0 if src is None and group_src is None else src, group_src, "src")
    inputs: list[Any] = []
    if root == found.rank():
        inputs = several(name, found, "scatter_list", scatter_list)
        check_alike(name, "scatter_list: tensor", [tensor, *inputs])
    elif scatter_list:
        raise ValueError(f"{name}: given a scatter_list, expected None: tensors are those of process {src or 0}")
    engine = engine_for(name, found, [tensor], inputs)
    compare(name, found, tensor, src=root)
    sources = [Buffer(inputs, engine, written=False)] if inputs else []
    target = Buffer([tensor], engine, reads=False)
    start = lambda: engine.scatter(sources[0].array if sources else None, target.array, root)
    return begun(name, found, start, [target], [tensor], async_op)


# -- one to another --------------------------------------------------------------------------------
def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Begin to send a tensor to another process.

    Parameters
    ----------
    tensor
        Not to be written before the `Work` is done.
    dst
        The number of the other in the world.
    group
        The world by default.
    tag
        A number that the other one receives it by.
    group_dst
        Its number in the group, in place of ``dst``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
    ...     dist.isend(lg.ones(2), 1).wait()
    >>> dist.destroy_process_group()
    """
    return _sent("isend", tensor, dst, group, tag, group_dst)


def _sent(name: str, tensor: Any, dst: int | None, group: Any, tag: int, group_dst: int | None) -> Work | None:
    found = group_of(name, group)
    if found is None:
        return None
    other = member(name, found, dst, group_dst, "dst")
    _check_other(name, found, other, tag)
    engine = engine_for(name, found, [], [tensor])
    buffer = Buffer([tensor], engine, written=False)
    start = lambda: engine.send(buffer.array, other, tag)
    return begun(name, found, start, [], [tensor], True, together=False)


def _check_other(name: str, group: ProcessGroup, other: int | None, tag: int) -> None:
    if other == group.rank():
        raise ValueError(f"{name}: given this process itself, {group.ranks[group.rank()]}, expected another one")
    if not isinstance(tag, int) or not 0 <= tag < 2**15:  # type: ignore[redundant-expr]
        raise ValueError(f"{name}: given tag={tag!r}, expected a number from 0 to {2**15 - 1}")


def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Begin to receive a tensor that another process sends.

    Parameters
    ----------
    tensor
        Of the shape and dtype of what is sent; written in place.
    src
        The number of the other in the world; None: whoever sends.
    group
        The world by default.
    tag
        The number it was sent with.
    group_src
        Its number in the group, in place of ``src``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> if dist.get_rank() == 1:
    ...     dist.irecv(lg.zeros(2), 0).wait()
    >>> dist.destroy_process_group()
    """
    return _received("irecv", tensor, src, group, tag, group_src)


def _received(name: str, tensor: Any, src: int | None, group: Any, tag: int, group_src: int | None) -> Work | None:
    found = group_of(name, group)
    if found is None:
        return None
    anybody = src is None and group_src is None
    other = None if anybody else member(name, found, src, group_src, "src")
    _check_other(name, found, other, tag)
    engine = engine_for(name, found, [tensor])
    buffer = Buffer([tensor], engine, reads=False)
    start = lambda: engine.recv(buffer.array, other, tag)
    return begun(name, found, start, [buffer], [tensor], True, together=False)


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to another process.

    Parameters
    ----------
    tensor
        What is sent.
    dst, group, tag, group_dst
        As for `isend`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
    ...     dist.send(lg.ones(2), 1)
    >>> dist.destroy_process_group()
    """
    work = _sent("send", tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor that another process sends; returns the number of the sender in the world.

    Parameters
    ----------
    tensor
        Of the shape and dtype of what is sent; written in place.
    src, group, tag, group_src
        As for `irecv`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> if dist.get_rank() == 1:
    ...     dist.recv(lg.zeros(2), 0)
    >>> dist.destroy_process_group()
    """
    work = _received("recv", tensor, src, group, tag, group_src)
    if work is None:
        return -1
    found = resolve(group, "recv")
    assert found is not None
    if src is not None or group_src is not None:
        work.wait()
        return int(src) if src is not None else found.ranks[int(group_src)]  # type: ignore[arg-type]
    return work.source_rank()
