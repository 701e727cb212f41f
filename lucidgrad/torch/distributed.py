"""PyTorch's ``torch.distributed`` for a single process: a group of one, in which all exchange is with oneself.

Nothing connects processes here, so `is_available` says no, and a group of several is refused.
"""

import os
from enum import Enum
from typing import Any

import lucidgrad as _lg

__all__ = [
    "ReduceOp", "all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "get_backend", "get_rank",
    "get_world_size", "init_process_group", "is_available", "is_initialized", "is_torchelastic_launched", "reduce",
]  # fmt: skip

_group: dict[str, str] = {}


class ReduceOp(Enum):
    """What becomes of tensors of several processes."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


def is_available() -> bool:
    """Whether processes can work together: no."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether PyTorch's launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_initialized() -> bool:
    """Whether there is a group, which this process is all of."""
    return bool(_group)


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make a group of this process alone; a ``world_size``, given or in the environment, of more is refused."""
    size = int(os.environ.get("WORLD_SIZE", "1")) if world_size == -1 else world_size
    if size != 1:
        raise RuntimeError(
            f"init_process_group: given a world_size of {size}, expected 1: nothing connects processes here; run one, "
            f"without a launcher"
        )
    if _group:
        raise ValueError("init_process_group: there is a group already; call destroy_process_group first")
    _group["backend"] = backend or "gloo"


def destroy_process_group(group: Any = None) -> None:
    """Leave the group."""
    _member("destroy_process_group")
    _group.clear()


def _member(name: str) -> None:
    if not _group:
        raise ValueError(f"{name}: there is no group; call init_process_group first")


def get_rank(group: Any = None) -> int:
    """Which process of the group this is: the first."""
    _member("get_rank")
    return 0


def get_world_size(group: Any = None) -> int:
    """How many processes there are: one."""
    _member("get_world_size")
    return 1


def get_backend(group: Any = None) -> str:
    """What was asked for to connect processes."""
    _member("get_backend")
    return _group["backend"]


def barrier(group: Any = None, **options: Any) -> None:
    """Wait for all others: for nobody."""
    _member("barrier")


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """The sum, mean or extreme of one process's tensor: itself."""
    _member("all_reduce")


def reduce(tensor: Any, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """The same at one process, which is this one."""
    _member("reduce")


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    """What one process, this one, sends to all."""
    _member("broadcast")


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> None:
    """The tensors of all processes: write this one's into the only place."""
    _member("all_gather")
    if len(tensor_list) != 1:
        raise ValueError(f"all_gather: given {len(tensor_list)} tensors to write to, expected one for each process: 1")
    with _lg.no_grad():
        tensor_list[0].copy_(tensor)
