"""Differentiable collectives: functions of tensors whose gradients travel back between the processes.

What is differentiated is the sum of what all processes compute. So the gradient of a sum over the processes is the sum
of their gradients, that of a broadcast is a reduction to its source, that of gathering is a sum of which each process
gets its part: primitives in pairs, each the adjoint of the other, and therefore every order of derivative, forward
mode, and ``vmap``. Derivatives communicate, too: all members of a group ask for them, or none; a tensor requires grad
in all of them, or in none. LUCIDGRAD_DISTRIBUTED_DEBUG=1 tells where that is not so.
"""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core import device as devices
from lucidgrad.core.dispatch import box
from lucidgrad.core.primitive import LINEAR, primitive
from lucidgrad.levels.layer import run
from lucidgrad.levels.traced import tracing
from lucidgrad.ops.reduction import amax, amin, prod
from lucidgrad.ops.shape.joining import concat, stack, unstack
from lucidgrad.ops.shape.layout import expand_dims, moveaxis, reshape
from lucidgrad.refusals import guard as _guard

from . import collectives, debugging
from .calls import group_of, member, several
from .collectives import split_sizes
from .groups import ProcessGroup, ReduceOp

__all__ = [
    "all_gather", "all_gather_tensor", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "exchange",
    "gather", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip


# -- primitives ------------------------------------------------------------------------------------
def as_it_is(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
    """All examples travel together."""
    return call(values[0], **keywords)


def _after_the_first(source: bool, result: bool) -> Any:
    """The same, where the first axis is that of the processes, before or afterwards: the examples are the second."""

    def batch(call: Any, values: Sequence[Any], batched: Sequence[bool], keywords: dict[str, Any]) -> Any:
        x = run("moveaxis", values[0], source=0, destination=1) if source else values[0]
        y = call(x, **keywords)
        return run("moveaxis", y, source=1, destination=0) if result else y

    return batch


def _copied(x: Any) -> Any:
    """A tensor with a copy of an array."""
    return box(devices.by_array[type(x)].copy(x))


def _made(x: Any, shape: tuple[int, ...]) -> Any:
    """A tensor with a new array like another, of a shape."""
    backend = devices.by_array[type(x)]
    return box(backend.zeros(shape, backend.dtype_of(x), backend.device_of(x)))


def _op(mean: bool) -> ReduceOp:
    return ReduceOp.AVG if mean else ReduceOp.SUM


def _share(g: Any, group: ProcessGroup, mean: bool) -> Any:
    return g / group.size() if mean else g


@primitive(LINEAR, vjp=lambda xp, g, *, group, mean: xp.rank_sum(g, group=group, mean=mean), batch=as_it_is)
def rank_sum(xp: Any, x: Any, /, *, group: Any, mean: bool = False) -> Any:
    """The sum of the arrays of all members of a group, or their mean; its own adjoint.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_sum
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(2, requires_grad=True)
    >>> rank_sum(x, group=alone).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    tensor = _copied(x)
    if group.talks:
        collectives.all_reduce(tensor, _op(mean), group)
    return tensor.array


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, group, mean: xp.rank_gather(_share(g, group, mean), group=group),
    batch=_after_the_first(source=True, result=False),
)
def rank_scatter(xp: Any, x: Any, /, *, group: Any, mean: bool = False) -> Any:
    """The sum of the arrays of all members, of which everybody gets the row of its number.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_scatter
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(1, 2, requires_grad=True)
    >>> rank_scatter(x, group=alone).sum().backward()
    >>> x.grad.tolist()
    [[1.0, 1.0]]
    """
    if tuple(x.shape[:1]) != (group.size(),):
        raise ValueError(f"rank_scatter: given shape {tuple(x.shape)}, expected a row for each of {group.size()}")
    if group.size() == 1:
        return devices.by_array[type(x)].copy(x[0, ...])
    tensor = _made(x, tuple(x.shape[1:]))
    if group.talks:
        collectives.reduce_scatter_tensor(tensor, box(x), _op(mean), group)
    return tensor.array


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, group: xp.rank_scatter(g, group=group),
    batch=_after_the_first(source=False, result=True),
)
def rank_gather(xp: Any, x: Any, /, *, group: Any) -> Any:
    """The arrays of all members, stacked along a new first axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_gather
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(2, requires_grad=True)
    >>> y = rank_gather(x, group=alone)
    >>> y.shape
    (1, 2)
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    tensor = _made(x, (group.size(), *x.shape))
    if group.size() == 1:
        return devices.by_array[type(x)].write(tensor.array, (0, ...), x)
    if group.talks:
        collectives.all_gather_into_tensor(tensor, box(x), group)
    return tensor.array


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, group, root: xp.rank_reduce(g, group=group, root=root),
    batch=as_it_is,
)
def rank_broadcast(xp: Any, x: Any, /, *, group: Any, root: int) -> Any:
    """The array of one member; those of others only have its shape.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_broadcast
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(2, requires_grad=True)
    >>> rank_broadcast(x, group=alone, root=0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    tensor = _copied(x)
    if group.talks:
        collectives.broadcast(tensor, group=group, group_src=root)
    return tensor.array


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, group, root, mean: xp.rank_broadcast(_share(g, group, mean), group=group, root=root),
    batch=as_it_is,
)
def rank_reduce(xp: Any, x: Any, /, *, group: Any, root: int, mean: bool = False) -> Any:
    """The sum of the arrays of all members, or their mean, in one of them; zeros in the others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_reduce
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(2, requires_grad=True)
    >>> rank_reduce(x, group=alone, root=0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    tensor = _copied(x)
    if group.talks:
        collectives.reduce(tensor, op=_op(mean), group=group, group_dst=root)
    return tensor.array if group.rank() == root else _made(x, tuple(x.shape)).array


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, group, sent, received: xp.rank_exchange(g, group=group, sent=received, received=sent),
    batch=_after_the_first(source=True, result=True),
)
def rank_exchange(xp: Any, x: Any, /, *, group: Any, sent: Any, received: Any) -> Any:
    """Everybody sends rows to each: so many of them; those that arrive are in the order of their senders.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_exchange
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(2, requires_grad=True)
    >>> rank_exchange(x, group=alone, sent=(2,), received=(2,)).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    if group.size() == 1:
        return devices.by_array[type(x)].copy(x)
    tensor = _made(x, (sum(received), *x.shape[1:]))
    if group.talks:
        collectives.all_to_all_single(tensor, box(x), received, sent, group)
    return tensor.array


@primitive(
    LINEAR,
    vjp=lambda xp, g, *, group, to, source, tag: xp.rank_pass(g, group=group, to=source, source=to, tag=tag),
    batch=as_it_is,
)
def rank_pass(xp: Any, x: Any, /, *, group: Any, to: int | None, source: int | None, tag: int = 0) -> Any:
    """An array of the same shape that another member sent, zeros if ``source`` is None; x is sent to ``to``, if any.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.functional import rank_pass
    >>> from lucidgrad.communication.groups import alone
    >>> x = lg.ones(2, requires_grad=True)
    >>> rank_pass(x, group=alone, to=0, source=0).sum().backward()  # to itself
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    tensor = _made(x, tuple(x.shape))
    me = group.rank()
    if (to == me) != (source == me):
        raise ValueError(
            f"rank_pass: given to={to} and source={source}, expected member {me} itself twice, or not at all"
        )
    if to == me:
        return devices.by_array[type(x)].copy(x)
    works = []
    if to is not None and group.talks:
        works.append(collectives.isend(box(x), group=group, group_dst=to, tag=tag))
    if source is not None and group.talks:
        works.append(collectives.irecv(tensor, group=group, group_src=source, tag=tag))
    for work in works:
        if work is not None:
            work.wait()
    return tensor.array


def silenced(keywords: dict[str, Any]) -> dict[str, Any]:
    """With these keywords a primitive computes something of the same shape alone."""
    return {**keywords, "group": keywords["group"].silent}


for _each in (rank_sum, rank_scatter, rank_gather, rank_broadcast, rank_reduce, rank_exchange, rank_pass):
    _each.primitive.silenced = silenced  # type: ignore[union-attr]


# -- PyTorch's names -------------------------------------------------------------------------------
def _found(name: str, group: Any, *tensors: Any) -> ProcessGroup:
    """The group that is meant, of which this process must be a member; with a debug mode, all must want gradients."""
    from lucidgrad.tensor import Tensor

    for x in tensors:
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: given a {type(x).__name__}, expected a Tensor")
    found = group_of(name, group)
    if found is None:
        raise ValueError(f"{name}: this process is not in the group, so there is nothing that it could return")
    if found.compares and tensors and found.size() > 1 and tracing() is None:  # a program does not compare it again
        debugging.compare(name, found, (), {"requires_grad": any(x.requires_grad for x in tensors)})
    return found


_OTHERS = {ReduceOp.MAX: amax, ReduceOp.MIN: amin, ReduceOp.PRODUCT: prod}


def _linear(name: str, op: Any) -> bool:
    """Whether a reduction is a sum or a mean; of the others everybody gets all numbers, and then there is a rule."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{name}: given op={op!r}, expected one of {', '.join(f'ReduceOp.{o.name}' for o in ReduceOp)}")
    return op in (ReduceOp.SUM, ReduceOp.AVG)


def all_reduce(tensor: Any, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum of everybody's tensor, or another reduction.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    op
        SUM, AVG, PRODUCT, MIN or MAX. The gradient of the latter two is shared by all that are the extreme.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.asarray([1.0, 2.0], requires_grad=True)
    >>> F.all_reduce(x).square().sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    >>> dist.destroy_process_group()
    """
    found = _found("all_reduce", group, tensor)
    if _linear("all_reduce", op):
        return rank_sum(tensor, group=found, mean=op is ReduceOp.AVG)
    return _OTHERS[op](rank_gather(tensor, group=found), axis=0)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """Everybody's tensor, in the order of the processes.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.cat(F.all_gather(x)).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    return tuple(unstack(rank_gather(tensor, group=_found("all_gather", group, tensor)), axis=0))


def all_gather_tensor(tensor: Any, gather_dim: int = 0, group: Any = None) -> Any:
    """Everybody's tensor, joined along an axis.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    gather_dim
        The axis.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, 1, requires_grad=True)
    >>> y = F.all_gather_tensor(x, 1)
    >>> y.sum().backward()
    >>> x.grad.tolist()
    [[1.0], [1.0]]
    >>> dist.destroy_process_group()
    """
    found = _found("all_gather_tensor", group, tensor)
    axis = _axis("all_gather_tensor", "gather_dim", gather_dim, tensor)
    whole = moveaxis(rank_gather(tensor, group=found), 0, axis)
    shape = tuple(tensor.shape)
    return reshape(whole, (*shape[:axis], found.size() * shape[axis], *shape[axis + 1 :]))


def _axis(name: str, called: str, given: int, x: Any) -> int:
    if not -x.ndim <= given < x.ndim:
        raise IndexError(f"{name}: given {called}={given}, expected {-x.ndim} to {x.ndim - 1}: shape {tuple(x.shape)}")
    return given % x.ndim


def reduce_scatter_tensor(tensor: Any, op: ReduceOp = ReduceOp.SUM, scatter_dim: int = 0, group: Any = None) -> Any:
    """The part of this process of the sum of everybody's tensor, along an axis.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere; the axis can be divided among the processes.
    op
        SUM, AVG, PRODUCT, MIN or MAX.
    scatter_dim
        The axis.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, requires_grad=True)
    >>> F.reduce_scatter_tensor(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name = "reduce_scatter_tensor"
    found = _found(name, group, tensor)
    axis, n, shape = _axis(name, "scatter_dim", scatter_dim, tensor), found.size(), tuple(tensor.shape)
    if shape[axis] % n:
        raise ValueError(f"{name}: axis {axis} of shape {shape} can't be divided among {n} processes")
    parts = reshape(tensor, (*shape[:axis], n, shape[axis] // n, *shape[axis + 1 :]))
    return _reduced_row(name, moveaxis(parts, axis, 0), op, found)


def _reduced_row(name: str, rows: Any, op: ReduceOp, group: ProcessGroup) -> Any:
    """Everybody's row of the reduction."""
    if _linear(name, op):
        return rank_scatter(rows, group=group, mean=op is ReduceOp.AVG)
    each = (1,) * group.size()
    return _OTHERS[op](rank_exchange(rows, group=group, sent=each, received=each), axis=0)


def reduce_scatter(output: Any, input_list: Sequence[Any], op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Any:
    """One tensor of the sum of everybody's list: the first process's is the first.

    Parameters
    ----------
    output
        Has the result's shape, and is not written.
    input_list
        As many tensors as there are processes, of one shape and dtype.
    op
        SUM, AVG, PRODUCT, MIN or MAX.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> xs = [lg.ones(2, requires_grad=True) for _ in range(dist.get_world_size())]
    >>> F.reduce_scatter(lg.zeros(2), xs).sum().backward()
    >>> xs[0].grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("reduce_scatter", group, *input_list)
    rows = stack(several("reduce_scatter", found, "input_list", input_list), axis=0)
    if tuple(output.shape) != tuple(rows.shape[1:]):
        raise ValueError(
            f"reduce_scatter: output has shape {tuple(output.shape)}, expected {tuple(rows.shape[1:])}, as the inputs"
        )
    return _reduced_row("reduce_scatter", rows, op, found)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of one process.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere; the values of others don't matter, and their gradients are zero.
    src
        The number of that process in the world.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, requires_grad=True)
    >>> F.broadcast(x, 0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("broadcast", group, tensor)
    return rank_broadcast(tensor, group=found, root=member("broadcast", found, src, None, "src"))


def reduce(tensor: Any, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum of everybody's tensor, or another reduction, in one process; zeros in the others.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    dst
        The number of that process in the world.
    op
        SUM, AVG, PRODUCT, MIN or MAX.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, requires_grad=True)
    >>> F.reduce(x, 0).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("reduce", group, tensor)
    root = member("reduce", found, dst, None, "dst")
    if _linear("reduce", op):
        return rank_reduce(tensor, group=found, root=root, mean=op is ReduceOp.AVG)
    return _OTHERS[op](_gathered(tensor, root, found), axis=0)


def _gathered(x: Any, root: int, group: ProcessGroup) -> Any:
    """Everybody's tensor, stacked, in one member; zeros in the others, which have a history all the same."""
    me, n = group.rank(), group.size()
    rows = rank_exchange(
        expand_dims(x, 0),
        group=group,
        sent=tuple(int(i == root) for i in range(n)),
        received=(int(me == root),) * n,
    )
    return rows if me == root else concat([rows, expand_dims(x.detach() * 0, 0).expand(n, *x.shape)], axis=0)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """Everybody's tensor, in the order of the processes, in one of them; zeros in the others.

    Parameters
    ----------
    tensor
        Of one shape and dtype everywhere.
    dst
        The number of that process in the world.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, requires_grad=True)
    >>> lg.stack(F.gather(x, 0)).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("gather", group, tensor)
    return tuple(unstack(_gathered(tensor, member("gather", found, dst, None, "dst"), found), axis=0))


def scatter(tensors: Sequence[Any], src: int = 0, group: Any = None) -> Any:
    """One of the tensors of one process: the first process gets the first.

    Parameters
    ----------
    tensors
        As many as there are processes, of one shape and dtype; the values of others than ``src`` don't matter.
    src
        The number of that process in the world.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> xs = [lg.ones(2, requires_grad=True) for _ in range(dist.get_world_size())]
    >>> F.scatter(xs, 0).sum().backward()
    >>> xs[0].grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("scatter", group, *tensors)
    root = member("scatter", found, src, None, "src")
    rows = stack(several("scatter", found, "tensors", tensors), axis=0)
    n, mine = found.size(), found.rank() == root
    received = tuple(int(i == root) for i in range(n))
    y = rank_exchange(rows if mine else rows[:0], group=found, sent=(int(mine),) * n, received=received)
    return y[0]


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
) -> Any:
    """Rows of everybody's input for this process, in the order of the senders.

    Parameters
    ----------
    output
        Has the result's shape, and is not written.
    input
        Its rows, along the first axis, go to the processes.
    output_split_sizes, input_split_sizes
        How many rows come from each process, and go to each; by default equally many.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2 * dist.get_world_size(), requires_grad=True)
    >>> F.all_to_all_single(lg.zeros_like(x), x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    name = "all_to_all_single"
    found = _found(name, group, input)
    sent = split_sizes(name, found.size(), input, "input", input_split_sizes)
    received = split_sizes(name, found.size(), output, "output", output_split_sizes)
    return rank_exchange(input, group=found, sent=tuple(sent), received=tuple(received))


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None) -> Any:
    """A tensor of everybody's list for this process, in the order of the senders.

    Parameters
    ----------
    output_tensor_list
        They have the results' shapes, and are not written.
    input_tensor_list
        As many as there are processes, of one dtype and any shapes.
    group
        The world by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> xs = [lg.ones(2, requires_grad=True) for _ in range(dist.get_world_size())]
    >>> (y, *_) = F.all_to_all([lg.zeros(2) for _ in xs], xs)
    >>> y.sum().backward()
    >>> xs[0].grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("all_to_all", group, *input_tensor_list)
    inputs = several("all_to_all", found, "input_tensor_list", input_tensor_list)
    outputs = several("all_to_all", found, "output_tensor_list", output_tensor_list)
    sent, received = (tuple(int(x.numel()) for x in xs) for xs in (inputs, outputs))
    rows = concat([reshape(x, (-1,)) for x in inputs], axis=0)
    y = rank_exchange(rows, group=found, sent=sent, received=received)
    made, begin = [], 0
    for size, like in zip(received, outputs, strict=True):
        made.append(reshape(y[begin : begin + size], tuple(like.shape)))
        begin += size
    return tuple(made)


# -- one to another --------------------------------------------------------------------------------
def exchange(tensor: Any, dst: int | None, src: int | None, group: Any = None, tag: int = 0) -> Any:
    """Send a tensor to one process, and get one of the same shape from another.

    Parameters
    ----------
    tensor
        What is sent.
    dst
        The number in the world of the process that it is sent to; None: nothing is sent.
    src
        The number of the process whose tensor is returned; None: zeros are.
    group
        The world by default.
    tag
        A number that both use.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x, rank, n = lg.ones(2, requires_grad=True), dist.get_rank(), dist.get_world_size()
    >>> F.exchange(x, (rank + 1) % n, (rank - 1) % n).sum().backward()  # round and round
    >>> x.grad.tolist()
    [1.0, 1.0]
    >>> dist.destroy_process_group()
    """
    found = _found("exchange", group, *[tensor][: dst is not None and src is not None])
    to, source = (None if r is None else member("exchange", found, r, None, w) for r, w in ((dst, "dst"), (src, "src")))
    return rank_pass(tensor, group=found, to=to, source=source, tag=tag)


def send(tensor: Any, dst: int, group: Any = None, tag: int = 0) -> Any:
    """Send a tensor to a process that calls `recv`; its gradient comes back through what is returned.

    Parameters
    ----------
    tensor
        What is sent.
    dst
        The number of the other in the world.
    group
        The world by default.
    tag
        A number that both use.

    Returns
    -------
    Zeros of the same shape: a sum of them must be part of what this process differentiates, so that it waits for the
    gradient which the other one sends back.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.ones(2, requires_grad=True)
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
    ...     F.send(x, 1).sum().backward()  # which waits for the gradient
    >>> dist.destroy_process_group()
    """
    return exchange(tensor, dst, None, group, tag)


def recv(tensor: Any, src: int, group: Any = None, tag: int = 0) -> Any:
    """The tensor that another process sends by `send`.

    Parameters
    ----------
    tensor
        Has the shape and dtype, and requires grad as that of the other one does; it is not written, and its own
        gradient is zero.
    src
        The number of the other in the world.
    group
        The world by default.
    tag
        A number that both use.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> from lucidgrad.distributed.nn import functional as F
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> x = lg.zeros(2, requires_grad=True)
    >>> if dist.get_rank() == 1:
    ...     F.recv(x, 0).square().sum().backward()
    >>> dist.destroy_process_group()
    """
    return exchange(tensor, None, src, group, tag)


_guard(__name__, __all__)
