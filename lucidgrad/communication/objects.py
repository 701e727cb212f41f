"""Objects that are sent: trees of tensors, numbers and text in the format of `lucidgrad.save`, without pickle.

Reading them runs no code, whoever sent them. Other objects travel with ``pickle=True``, by sender and receiver both: a
pickle can do anything to the process that reads it.
"""

import io
import pickle as _pickle
from typing import Any

from lucidgrad import files
from lucidgrad.core.dtype import named
from lucidgrad.creation import empty, frombuffer, zeros

from .calls import group_of, member
from .collectives import all_gather, broadcast, gather, recv, scatter, send
from .groups import ProcessGroup

_TREE, _PICKLE = b"T", b"P"  # the first byte says what follows


def _encoded(name: str, obj: Any, pickle: bool, where: str) -> Any:
    """An object as a tensor of bytes."""
    if pickle:
        text = _PICKLE + _pickle.dumps(obj)
    else:
        file = io.BytesIO()
        try:
            files.save([obj], file)
        except TypeError as error:
            raise TypeError(
                f"{name}: {error}; other objects are sent with pickle=True, by all processes, which trust each other "
                f"then"
            ) from error
        text = _TREE + file.getvalue()
    return frombuffer(bytearray(text), dtype=named("uint8")).to(where)


def _decoded(name: str, tensor: Any, pickle: bool) -> Any:
    text = tensor.to("cpu").numpy().tobytes()
    if text[:1] == _PICKLE:
        if not pickle:
            raise RuntimeError(
                f"{name}: another process sent a pickle, which is not read unless pickle=True is given here, too: it "
                f"could do anything"
            )
        return _pickle.loads(text[1:])
    return files.load(io.BytesIO(text[1:]))[0]


def _where(group: ProcessGroup, device: Any) -> str:
    return str(device) if device is not None else "cpu" if group.host is not None else "cuda"


def _sizes(parts: list[Any], where: str) -> Any:
    from lucidgrad.creation import tensor

    return tensor([int(part.numel()) for part in parts], dtype=named("int64"), device=where)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    *,
    pickle: bool = False,
) -> None:
    """Everybody's list gets the objects of one process.

    Parameters
    ----------
    object_list
        Of one length everywhere; written in place.
    src
        The number of that process in the world, 0 by default.
    group
        The world by default.
    device
        Where bytes travel from; host memory where that can be.
    group_src
        Its number in the group, in place of ``src``.
    pickle
        Whether objects other than trees of tensors, numbers and text are sent, by pickle: all must trust each other.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> settings = [{"lr": 0.1}] if dist.get_rank() == 0 else [None]
    >>> dist.broadcast_object_list(settings, 0)
    >>> settings
    [{'lr': 0.1}]
    >>> dist.destroy_process_group()
    """
    name, found = "broadcast_object_list", group_of("broadcast_object_list", group)
    if found is None or not object_list:
        return
    root = member(name, found, 0 if src is None and group_src is None else src, group_src, "src")
    where, mine = _where(found, device), root == found.rank()
    parts = [_encoded(name, obj, pickle, where) for obj in object_list] if mine else []
    sizes = _sizes(parts, where) if mine else zeros(len(object_list), dtype=named("int64"), device=where)
    broadcast(sizes, group=found, group_src=root)
    for i, size in enumerate(sizes.tolist()):
        part = parts[i] if mine else empty(size, dtype=named("uint8"), device=where)
        broadcast(part, group=found, group_src=root)
        if not mine:
            object_list[i] = _decoded(name, part, pickle)


def _padded(name: str, obj: Any, pickle: bool, group: ProcessGroup, where: str) -> tuple[Any, list[int]]:
    """An object's bytes, as many as of the largest of all, and how many each has."""
    part = _encoded(name, obj, pickle, where)
    sizes = [zeros(1, dtype=named("int64"), device=where) for _ in range(group.size())]
    all_gather(sizes, _sizes([part], where), group=group)
    counts = [int(size.item()) for size in sizes]
    whole = zeros(max(counts), dtype=named("uint8"), device=where)
    whole[: part.numel()] = part
    return whole, counts


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None, *, pickle: bool = False) -> None:
    """Everybody's list gets the objects of all, in the order of the processes.

    Parameters
    ----------
    object_list
        As long as there are processes; written in place.
    obj
        What this process sends.
    group
        The world by default.
    pickle
        As for `broadcast_object_list`.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> found = [None] * dist.get_world_size()
    >>> dist.all_gather_object(found, {"rank": dist.get_rank()})
    >>> found
    [{'rank': 0}]
    >>> dist.destroy_process_group()
    """
    name, found = "all_gather_object", group_of("all_gather_object", group)
    if found is None:
        return
    _check_length(name, found, "object_list", object_list)
    part, counts = _padded(name, obj, pickle, found, _where(found, None))
    parts = [empty(part.numel(), dtype=part.dtype, device=part.device) for _ in counts]
    all_gather(parts, part, group=found)
    object_list[:] = [_decoded(name, p[:count], pickle) for p, count in zip(parts, counts, strict=True)]


def _check_length(name: str, group: ProcessGroup, called: str, objects: Any) -> None:
    if objects is None or len(objects) != group.size():
        given = "None" if objects is None else f"{len(objects)} objects"
        raise ValueError(f"{name}: given {given} for {called}, expected one for each of {group.size()} processes")


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
    *,
    pickle: bool = False,
) -> None:
    """The list of one process gets the objects of all, in the order of the processes.

    Parameters
    ----------
    obj
        What this process sends.
    object_gather_list
        As long as there are processes; None, but for that process.
    dst
        Its number in the world, 0 by default.
    group
        The world by default.
    group_dst
        Its number in the group, in place of ``dst``.
    pickle
        As for `broadcast_object_list`.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> found = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    >>> dist.gather_object("one", found)
    >>> found
    ['one']
    >>> dist.destroy_process_group()
    """
    name, found = "gather_object", group_of("gather_object", group)
    if found is None:
        return
    root = member(name, found, 0 if dst is None and group_dst is None else dst, group_dst, "dst")
    mine = root == found.rank()
    if mine:
        _check_length(name, found, "object_gather_list", object_gather_list)
    part, counts = _padded(name, obj, pickle, found, _where(found, None))
    parts = [empty(part.numel(), dtype=part.dtype, device=part.device) for _ in counts] if mine else None
    gather(part, parts, group=found, group_dst=root)
    if parts is not None and object_gather_list is not None:
        object_gather_list[:] = [_decoded(name, p[:count], pickle) for p, count in zip(parts, counts, strict=True)]


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
    *,
    pickle: bool = False,
) -> None:
    """The first element of everybody's list becomes one of the objects of one process.

    Parameters
    ----------
    scatter_object_output_list
        Not empty; its first element is written.
    scatter_object_input_list
        As long as there are processes; None, but for that process.
    src
        Its number in the world, 0 by default.
    group
        The world by default.
    group_src
        Its number in the group, in place of ``src``.
    pickle
        As for `broadcast_object_list`.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> mine, jobs = [None], ["first"] * dist.get_world_size()
    >>> dist.scatter_object_list(mine, jobs if dist.get_rank() == 0 else None)
    >>> mine
    ['first']
    >>> dist.destroy_process_group()
    """
    name, found = "scatter_object_list", group_of("scatter_object_list", group)
    if found is None:
        return
    if not scatter_object_output_list:
        raise ValueError(f"{name}: given an empty scatter_object_output_list, expected one element, which is written")
    root = member(name, found, 0 if src is None and group_src is None else src, group_src, "src")
    where, wholes = _where(found, None), None
    sizes = zeros(found.size(), dtype=named("int64"), device=where)
    if root == found.rank():
        _check_length(name, found, "scatter_object_input_list", scatter_object_input_list)
        parts = [_encoded(name, obj, pickle, where) for obj in scatter_object_input_list or ()]
        sizes = _sizes(parts, where)
    broadcast(sizes, group=found, group_src=root)
    counts = sizes.tolist()
    if root == found.rank():
        wholes = [zeros(max(counts), dtype=named("uint8"), device=where) for _ in parts]
        for whole, part in zip(wholes, parts, strict=True):
            whole[: part.numel()] = part
    mine = empty(max(counts), dtype=named("uint8"), device=where)
    scatter(mine, wholes, group=found, group_src=root)
    scatter_object_output_list[0] = _decoded(name, mine[: counts[found.rank()]], pickle)


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
    *,
    pickle: bool = False,
) -> None:
    """Send objects to another process, which calls `recv_object_list`.

    Parameters
    ----------
    object_list
        What is sent.
    dst, group, group_dst
        As for `send`.
    device, pickle
        As for `broadcast_object_list`.
    use_batch
        Accepted for PyTorch's sake.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
    ...     dist.send_object_list([{"step": 3}], 1)
    >>> dist.destroy_process_group()
    """
    name, found = "send_object_list", group_of("send_object_list", group)
    if found is None:
        return
    where = _where(found, device)
    parts = [_encoded(name, obj, pickle, where) for obj in object_list]
    for part in (_sizes(parts, where), *parts):
        send(part, dst, found, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
    *,
    pickle: bool = False,
) -> int:
    """Receive objects of another process, which calls `send_object_list`; returns its number in the world.

    Parameters
    ----------
    object_list
        As long as what is sent; written in place.
    src, group, group_src
        As for `recv`.
    device, pickle
        As for `broadcast_object_list`.
    use_batch
        Accepted for PyTorch's sake.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> received = [None]
    >>> if dist.get_rank() == 1:
    ...     dist.recv_object_list(received, 0)
    >>> dist.destroy_process_group()
    """
    name, found = "recv_object_list", group_of("recv_object_list", group)
    if found is None:
        return -1
    where = _where(found, device)
    sizes = zeros(len(object_list), dtype=named("int64"), device=where)
    source = recv(sizes, src, found, group_src=group_src)
    for i, size in enumerate(sizes.tolist()):
        part = empty(size, dtype=named("uint8"), device=where)
        recv(part, source, found)
        object_list[i] = _decoded(name, part, pickle)
    return source
