"""Training with several processes: PyTorch's names for groups and collectives, on MPI and NCCL.

``mpiexec -n 4 python train.py`` starts a job; `init_process_group` connects its processes.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from lucidgrad.communication.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    send,
)
from lucidgrad.communication.groups import (
    GroupMember,
    ProcessGroup,
    ReduceOp,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    new_group,
)
from lucidgrad.communication.messages import P2POp, batch_isend_irecv
from lucidgrad.communication.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from lucidgrad.communication.work import DistBackendError, DistError, Future, Work
from lucidgrad.refusals import guard as _guard

if _TYPE_CHECKING:
    from . import checkpoint, fsdp, nn
    from .fsdp import fully_shard

__all__ = [
    "DistBackendError", "DistError", "Future", "GroupMember", "ProcessGroup", "ReduceOp", "Work", "all_gather",
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list", "scatter_object_list",
    "send_object_list", "P2POp", "batch_isend_irecv",
    "all_gather_into_tensor", "all_reduce", "all_to_all", "all_to_all_single", "barrier", "broadcast",
    "default_pg_timeout", "destroy_process_group", "gather", "get_backend", "get_global_rank", "get_group_rank",
    "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "irecv", "is_available", "is_backend_available", "is_initialized", "is_mpi_available", "is_nccl_available", "isend",
    "checkpoint", "fsdp", "fully_shard",
    "nn",
    "new_group", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip

_guard(__name__, __all__)


def __getattr__(name: str) -> _Any:
    """What stands on layers is loaded when it is asked for."""
    if name in ("algorithms", "checkpoint", "fsdp", "nn", "tensor"):
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "fully_shard":
        return _importlib.import_module(f"{__name__}.fsdp").fully_shard
    if name == "GradBucket":
        return _importlib.import_module("lucidgrad.nn.parallel.buckets").GradBucket
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
