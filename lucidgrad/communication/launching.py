"""What launchers say to the processes that they start: which one of how many this is."""

import os
from typing import Any

from lucidgrad.backends.communication import Launch

#: Names of variables, by launcher: the number of this process, how many there are, the same on this host.
_LAUNCHERS = {
    "torchrun and its like": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    "MPICH": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
}


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    if text and not text.isdigit():
        if name.startswith("SLURM"):  # such as 4(x2)
            return None
        raise RuntimeError(f"init_process_group: given {name}={text!r} in the environment, expected a number")
    return int(text) if text else None


def said() -> dict[str, tuple[int, int]]:
    """Number and count of processes by every launcher that says something of them."""
    found = {}
    for launcher, (rank, size, *_) in _LAUNCHERS.items():
        pair = _number(rank), _number(size)
        if pair[0] is not None and pair[1] is not None:
            found[launcher] = pair
    return found  # type: ignore[return-value]


def is_alone() -> bool:
    """Whether no launcher says that there are others."""
    return all(count == 1 for _, count in said().values())


def local_rank() -> int | None:
    """The number of this process on its host, if a launcher says it."""
    found = _local()
    return None if found is None else found[0]


def _local() -> tuple[int, int] | None:
    """Number and count of processes on this host, by the first launcher that says them."""
    for _, _, rank, size in _LAUNCHERS.values():
        number = _number(rank)
        if number is not None:
            return number, _number(size) or 1
    return None


def with_address(launch: Launch) -> Launch:
    """A launch, and where its processes meet."""
    return launch._replace(address=os.environ.get("MASTER_ADDR"), port=_number("MASTER_PORT"))


def by_environment() -> Launch:
    """The launch as RANK and WORLD_SIZE, or other launchers, tell it; raises if nobody does."""
    found = said()
    if not found:
        raise RuntimeError(
            "init_process_group: no launcher says which process this is; start it with mpiexec -n 4 python ..., with "
            "srun, or with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in the environment"
        )
    rank, size = next(iter(found.values()))
    return with_address(Launch(rank, size, *(_local() or (0, 1))))


def check_world(launch: Launch, library: str) -> None:
    """Raise if MPI has found other processes than the launcher has started."""
    rank, size = launch.rank, launch.size
    for launcher, (number, count) in said().items():
        if count == size and (number == rank or launcher == "Slurm"):
            continue
        if size == 1 and count > 1:
            name = _LAUNCHERS[launcher][1]
            way = {
                "Slurm": "start the program with srun --mpi=pmi2 (or pmix), or with mpiexec",
                "torchrun and its like": "start the program with mpiexec or srun, or pass backend='nccl'",
            }.get(launcher, "use the mpiexec of that library, and one MPI in an environment")
            raise RuntimeError(
                f"init_process_group: {launcher} has started {count} processes ({name}={count}), but this one is alone "
                f"by MPI ({library}): each would train for itself; {way}"
            )
        if launcher == "torchrun and its like":
            raise RuntimeError(
                f"init_process_group: given RANK={number} and WORLD_SIZE={count} in the environment, but MPI says "
                f"process {rank} of {size}; unset them, or let the launcher set them as MPI does"
            )


def check_alive() -> None:
    """Raise if this process has the variables of a launcher that it is not a child of any more."""
    descriptor: Any = _number("PMI_FD")
    if descriptor is None:
        return
    try:
        os.fstat(descriptor)
    except OSError:
        raise RuntimeError(
            f"init_process_group: the environment is that of a process of mpiexec (PMI_FD={descriptor}), but its "
            f"connection to mpiexec is closed: it is dead, or this process was started by one of its processes; start "
            f"the program with mpiexec, or without the variables PMI_*"
        ) from None
