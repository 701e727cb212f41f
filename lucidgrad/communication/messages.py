"""What one process sends to another, under PyTorch's names and with its meanings."""

from collections.abc import Callable, Sequence
from typing import Any

from .buffers import Buffer
from .collectives import _begun, _engine, _group, _member
from .groups import ProcessGroup, resolve
from .work import Work


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
    found = _group(name, group)
    if found is None:
        return None
    other = _member(name, found, dst, group_dst, "dst")
    _check_other(name, found, other, tag)
    engine = _engine(name, found, [], [tensor])
    buffer = Buffer([tensor], engine, written=False)
    start = lambda: engine.send(buffer.array, other, tag)
    return _begun(name, found, start, [], [tensor], True, together=False)


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
    found = _group(name, group)
    if found is None:
        return None
    anybody = src is None and group_src is None
    other = None if anybody else _member(name, found, src, group_src, "src")
    _check_other(name, found, other, tag)
    engine = _engine(name, found, [tensor])
    buffer = Buffer([tensor], engine, reads=False)
    start = lambda: engine.recv(buffer.array, other, tag)
    return _begun(name, found, start, [buffer], [tensor], True, together=False)


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


class P2POp:
    """Something to send or to receive, for `batch_isend_irecv`.

    Parameters
    ----------
    op
        `isend` or `irecv`.
    tensor
        What is sent, or written.
    peer
        The number of the other process in the world.
    group, tag
        As for `isend`.
    group_peer
        Its number in the group, in place of ``peer``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.P2POp(dist.isend, lg.ones(2), 1).peer
    1
    """

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Any,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if getattr(op, "__name__", None) not in ("isend", "irecv"):
            raise ValueError(f"P2POp: given op={op!r}, expected isend or irecv")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = (
            op,
            tensor,
            peer,
            group,
            tag,
            group_peer,
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin to send and to receive several tensors; the order does not matter.

    Parameters
    ----------
    p2p_op_list
        What is sent and received.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> others = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    >>> dist.batch_isend_irecv([dist.P2POp(dist.isend, lg.ones(2), rank) for rank in others])
    []
    >>> dist.destroy_process_group()
    """
    for one in p2p_op_list:
        if not isinstance(one, P2POp):
            raise TypeError(f"batch_isend_irecv: given a {type(one).__name__}, expected P2POp")
    receiving_first = sorted(p2p_op_list, key=lambda one: one.op.__name__)  # so that what is sent finds a place
    works = {id(one): one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in receiving_first}
    return [work for one in p2p_op_list if (work := works[id(one)]) is not None]
