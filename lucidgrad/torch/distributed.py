"""PyTorch's ``torch.distributed``: the names of `lucidgrad.distributed`, with PyTorch's names of backends.

MPI takes the place of gloo, and of NCCL where there is none; a process that no launcher has started is a group of its
own, for which nothing needs to be installed.
"""

import os
from typing import Any

from lucidgrad import distributed as _own
from lucidgrad.communication.launching import is_alone as _is_alone
from lucidgrad.distributed import *  # noqa: F403
from lucidgrad.distributed import __all__ as _names

__all__ = [*_names, "is_torchelastic_launched"]

_OTHERS = ("gloo", "nccl", "cpu:gloo,cuda:nccl")
_asked: list[str] = []


def is_torchelastic_launched() -> bool:
    """Whether PyTorch's launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(  # type: ignore[no-redef]
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Join the other processes of this job, as `lucidgrad.distributed.init_process_group` does."""
    name = None if backend is None else str(backend).lower()
    alone = not _own.is_mpi_available() and _is_alone()
    given = "lone" if alone else None if name in _OTHERS else name
    _own.init_process_group(given, init_method, timeout, world_size, rank, store, group_name, pg_options, device_id)
    _asked[:] = [name or "cpu:gloo,cuda:nccl"]


def get_backend(group: Any = None) -> str:  # type: ignore[no-redef]
    """The backend that was asked for."""
    _own.get_backend(group)
    return _asked[0] if _asked else _own.get_backend(group)
