"""Several messages at once."""

from collections.abc import Callable, Sequence
from typing import Any

from .work import Work


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
