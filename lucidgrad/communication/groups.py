"""Groups of processes: how they begin, who is in them, and how they end."""

import datetime
import enum
import functools
import os
from collections.abc import Sequence
from typing import Any, ClassVar

from lucidgrad.backends import communication as engines
from lucidgrad.backends.communication import Engine, Launch
from lucidgrad.core import device as devices

from . import failures, launching

#: As PyTorch's: half an hour.
default_pg_timeout = datetime.timedelta(minutes=30)


class ReduceOp(enum.Enum):
    """How the numbers of several processes become one.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.ReduceOp.SUM.name
    'SUM'
    """

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "prod"
    MIN = "min"
    MAX = "max"

    __hash__ = object.__hash__  # there is one of each; by its name, as enum's own, it takes ten times as long


class ProcessGroup:
    """Some of the processes of a job; made by `init_process_group` and `new_group`.

    Examples
    --------
    >>> from lucidgrad.communication.groups import alone
    >>> alone.rank(), alone.size()
    (0, 1)
    """

    def __init__(
        self,
        ranks: Sequence[int],
        rank: int,
        opened: dict[str, Engine],
        backends: dict[str, str],
        launch: Launch,
        timeout: float,
        name: str,
    ) -> None:
        self.ranks, self._rank, self.launch, self.timeout, self._name = tuple(ranks), rank, launch, timeout, name
        self._engines, self._backends = opened, backends  # by kind of device
        self.started = 0  # collectives so far
        self.ways: dict[Any, Any] = {}  # how arrays of a type and dtype are reduced in their own memory
        #: Whether every collective is compared between processes before it starts.
        self.compares = os.environ.get("LUCIDGRAD_DISTRIBUTED_DEBUG", "") not in ("", "0")

    @property
    def talks(self) -> bool:
        """Whether there are others, to which it speaks."""
        return len(self.ranks) > 1

    @functools.cached_property
    def silent(self) -> "ProcessGroup":
        """The same group for those who only want to know the shape of what would come out."""
        return _Silent(self.ranks, self._rank, {}, {}, self.launch, self.timeout, self._name)

    def rank(self) -> int:
        """The number of this process in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes there are in the group."""
        return len(self.ranks)

    def name(self) -> str:
        """What the group is called."""
        return self._name

    def program_terms(self) -> list[Any]:
        """What a compiled program depends on: who is in the group, not how much they have said."""
        return [self.ranks, self._rank]

    def __repr__(self) -> str:
        return f"ProcessGroup({self._name!r}, rank {self._rank} of {len(self.ranks)}, {self.backend()})"

    def backend(self) -> str:
        """The engines by kind of device, such as ``cpu:mpi,cuda:nccl``; just the name if they are one."""
        names = set(self._backends.values())
        return names.pop() if len(names) == 1 else ",".join(f"{k}:{v}" for k, v in self._backends.items())

    @property
    def host(self) -> Engine | None:
        """The engine for arrays in host memory, if there is one."""
        return self._engines.get("cpu")

    def engine(self, kind: str) -> Engine:
        """The engine for tensors on a kind of device."""
        found = self._engines.get(kind)
        if found is None:
            found = self._engines[kind] = self._other(kind)
        return found

    def _other(self, kind: str) -> Engine:
        name = self._backends.get(kind, None if kind == "cuda" else self._backends.get("cpu"))
        if self.host is not None and name == self.host.name:  # staged, unless the library takes CUDA memory
            return self.host
        have = ", ".join(f"{engine} for {device}" for device, engine in self._backends.items())
        raise RuntimeError(
            f"given a tensor on {kind!r}, but this group has only {have}; move it, or pass backend=None to "
            f"init_process_group"
        )

    def abort(self, code: int) -> None:
        """End all processes of the job."""
        for engine in sorted(self._engines.values(), key=lambda engine: engine.host):  # MPI, which ends this one, last
            engine.abort(code)
        os._exit(code)

    def close(self) -> None:
        """Give back what engines hold; host memory last, since others may talk through it."""
        for engine in {id(e): e for kind, e in self._engines.items() if kind != "cpu"}.values():
            if engine is not self.host:
                engine.close()
        if self.host is not None:
            self.host.close()
        self._engines.clear()
        self.ways.clear()
        self.ranks = ()


class _Silent(ProcessGroup):
    """A group in which nothing is sent."""

    talks = False


#: A group of this process and nobody else, which needs no engine.
alone = ProcessGroup((0,), 0, {}, {}, Launch(0, 1, 0, 1), 0.0, "alone")


class GroupMember:
    """What `new_group` returns where this process is in the group, and where it is not.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.GroupMember.NON_GROUP_MEMBER
    -100
    """

    WORLD: ClassVar[Any] = None
    NON_GROUP_MEMBER: ClassVar[int] = -100


group = GroupMember

_made: list[ProcessGroup] = []  # the first one is the world
_watch: failures.Watch | None = None  # what happens if this process ends


def is_available() -> bool:
    """Whether there is an engine to communicate with: mpi4py, or NCCL.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.is_available() == (dist.is_mpi_available() or dist.is_nccl_available())
    True
    """
    return is_mpi_available() or is_nccl_available()


def is_backend_available(backend: str) -> bool:
    """Whether an engine can be used here: ``"mpi"`` or ``"nccl"``.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.is_backend_available("gloo")
    False
    """
    return engines.missing(backend.lower()) is None


def is_mpi_available() -> bool:
    """Whether mpi4py is installed.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.is_mpi_available() == dist.is_backend_available("mpi")
    True
    """
    return is_backend_available("mpi")


def is_nccl_available() -> bool:
    """Whether NCCL can be used.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.is_nccl_available() == dist.is_backend_available("nccl")
    True
    """
    return is_backend_available("nccl")


def is_initialized() -> bool:
    """Whether `init_process_group` was called, and `destroy_process_group` was not.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.is_initialized()
    False
    """
    return bool(_made)


def _parsed(backend: str | None) -> dict[str, str]:
    """The engines by kind of device."""
    if backend is None:  # a process that nobody launched with others needs no MPI
        return {"cpu": "mpi" if launching.said() or engines.missing("mpi") is None else "lone", "cuda": "auto"}
    found: dict[str, str] = {}
    for part in backend.lower().split(","):
        kind, colon, name = part.strip().partition(":")
        name = name if colon else kind
        if name not in ("lone", "mpi", "nccl") or (kind == "cpu" and name == "nccl"):
            raise ValueError(
                f"init_process_group: given the backend {backend!r}, expected None, 'mpi', 'nccl', "
                f"'cpu:mpi,cuda:nccl' or 'lone'; MPI takes the place of gloo"
            )
        found |= {kind: name} if colon else {"cuda": name} if name == "nccl" else {"cpu": name, "cuda": name}
    if "mpi" in found.values():
        found = {"cpu": "mpi", **found}
    return found


def _seconds(timeout: Any) -> float:
    if timeout is None:
        timeout = default_pg_timeout
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(f"given the timeout {timeout!r}, expected a datetime.timedelta")
    return timeout.total_seconds()


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Join the other processes of this job: those that ``mpiexec``, ``srun`` or another launcher started together.

    Parameters
    ----------
    backend
        ``"mpi"``, ``"nccl"``, or by kind of device ``"cpu:mpi,cuda:nccl"``. None is MPI for host memory and, where all
        processes have it, NCCL for CUDA; a CUDA tensor travels by MPI otherwise, through page-locked memory.
        ``"lone"`` is for a process by itself, and needs neither.
    init_method
        None or ``"env://"``: the launcher says who is who.
    timeout
        How long an operation may take before it is an error; 30 minutes by default.
    world_size, rank
        What is expected; another size or rank is an error.
    store, pg_options
        Accepted for PyTorch's sake, and must be None.
    group_name
        What the group is called in messages.
    device_id
        The CUDA device of this process, which becomes the current one.

    Notes
    -----
    From here to `destroy_process_group` an error that nobody caught, in any thread, is shown and ends the whole job;
    so does ``sys.exit`` with another code than 0, which is kept. A process that leaves without `destroy_process_group`
    waits up to 30 seconds for the others to leave, too (LUCIDGRAD_DISTRIBUTED_EXIT_SECONDS), and ends the job then.

    LUCIDGRAD_DISTRIBUTED_DEBUG=1 compares what processes are about to do before every collective, and names what
    differs. LUCIDGRAD_MPI_CUDA says whether the MPI library takes memory of CUDA devices (1) or not (0), where it does
    not say so itself.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # without an argument after mpiexec -n 4 python ...
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if _made:
        raise ValueError("init_process_group: there is a group already; call destroy_process_group first")
    if init_method not in (None, "env://"):
        raise ValueError(f"init_process_group: given init_method={init_method!r}, expected None or 'env://'")
    if store is not None or pg_options is not None:
        raise ValueError("init_process_group: given a store or pg_options, expected None: the launcher connects them")
    seconds, backends = _seconds(timeout), _parsed(backend)
    opened: dict[str, Engine] = {}
    host = backends.get("cpu")
    if host is not None:
        launching.check_alive()
        found = engines.launched(host)
        launching.check_world(found, engines.described(host))
        launch = launching.with_address(found)
    else:
        launch = launching.by_environment()
    if (rank, world_size) != (-1, -1) and (rank not in (-1, launch.rank) or world_size not in (-1, launch.size)):
        raise RuntimeError(
            f"init_process_group: given rank={rank} and world_size={world_size}, but this is process {launch.rank} of "
            f"{launch.size}; leave them out"
        )
    if host is not None:
        opened["cpu"] = engines.connect(host, launch)
    if device_id is not None:
        from lucidgrad import cuda

        cuda.set_device(device_id)
    launch = launch._replace(timeout=seconds)
    if backends.get("cuda") == "auto":
        has_nccl = launch.size > 1 and engines.missing("nccl") is None
        backends["cuda"] = "nccl" if _all_agree(opened["cpu"], has_nccl, seconds) else opened["cpu"].name
    if backends.get("cuda") == "nccl":
        opened["cuda"] = engines.connect("nccl", launch, opened.get("cpu"))
    made = ProcessGroup(range(launch.size), launch.rank, opened, backends, launch, seconds, group_name or "world")
    _made.append(made)
    GroupMember.WORLD = made
    _begin_watch(made)


def _all_agree(host: Engine, yes: bool, seconds: float) -> bool:
    flag = devices.backend_named("cpu").full((1,), int(yes), None, "cpu")
    host.all_reduce(flag, "min").wait(seconds)
    return bool(flag[0])


def _begin_watch(world: ProcessGroup) -> None:
    """See to it that the job ends when this process does."""
    global _watch
    host = world.host
    door = None if host is None else host.split(range(world.size()))  # where those who leave meet

    def leave(seconds: float) -> bool:
        if door is None:  # nobody can be asked
            return True
        try:
            door.barrier().wait(seconds)
        except TimeoutError:
            return False
        return True

    def end() -> None:
        for name in names:
            engines.end(name)

    names = [engine.name for engine in sorted(world._engines.values(), key=lambda engine: engine.host)]
    _watch = failures.Watch(f"process {world.rank()} of {world.size()}", leave, world.abort, end)
    _watch.begin(alone=world.size() == 1)


def resolve(group: Any, name: str) -> ProcessGroup | None:
    """The group that is meant, the world for None; None if this process is not in it."""
    if not _made:
        raise ValueError(
            f"{name}: the processes are not connected yet; call lucidgrad.distributed.init_process_group() first"
        )
    if group is None:
        return _made[0]
    if group is GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"{name}: given a group of type {type(group).__name__}, expected one of new_group's, or None")
    if not group.ranks:
        raise RuntimeError(f"{name}: the group {group.name()!r} was destroyed")
    return group


def get_rank(group: Any = None) -> int:
    """The number of this process, in the group; -1 if it is not in it.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.get_rank()
    Traceback (most recent call last):
        ...
    ValueError: get_rank: the processes are not connected yet; call ...init_process_group() first
    """
    found = resolve(group, "get_rank")
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes there are in the group; -1 if this one is not in it.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.get_world_size()
    Traceback (most recent call last):
        ...
    ValueError: get_world_size: the processes are not connected yet; call ...init_process_group() first
    """
    found = resolve(group, "get_world_size")
    return -1 if found is None else found.size()


def get_backend(group: Any = None) -> str:
    """The engines of a group: ``"mpi"``, ``"nccl"``, or by kind of device.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> dist.get_backend()
    'lone'
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "get_backend")
    if found is None:
        raise ValueError("get_backend: this process is not in the group")
    return found.backend()


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its host, which is the number of its GPU.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.get_node_local_rank(fallback_rank=0)
    0
    """
    if _made:
        return _made[0].launch.local_rank
    found = launching.local_rank()
    found = fallback_rank if found is None else found
    if found is None:
        raise RuntimeError("get_node_local_rank: no launcher says it; call init_process_group, or pass fallback_rank")
    return int(found)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the world of a member of a group.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> dist.get_global_rank(dist.new_group([0]), 0)
    0
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "get_global_rank")
    if found is None or not 0 <= group_rank < found.size():
        raise ValueError(f"get_global_rank: given {group_rank}, which is no member of {found!r}")
    return found.ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of a process of the world.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> dist.get_group_rank(dist.new_group([0]), 0)
    0
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "get_group_rank")
    if found is None or global_rank not in found.ranks:
        raise ValueError(f"get_group_rank: given process {global_rank}, which is not in {found!r}")
    return found.ranks.index(global_rank)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers in the world of a group's members.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> dist.get_process_group_ranks(None)
    [0]
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "get_process_group_ranks")
    return [] if found is None else list(found.ranks)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: datetime.timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some processes. All processes call this, in the same order, also those that will not be in it.

    Parameters
    ----------
    ranks
        Their numbers in the world; None: all.
    timeout
        How long an operation of the group may take; as for the world by default.
    backend
        The engines, by default the world's.
    pg_options
        Must be None.
    use_local_synchronization
        Only the members call it.
    group_desc
        What the group is called in messages.
    device_id
        Accepted for PyTorch's sake.
    sort_ranks
        Whether members are numbered as in the world, or in the order given.

    Returns
    -------
    The group, or ``GroupMember.NON_GROUP_MEMBER`` where this process is not in it.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> group = dist.new_group([0])
    >>> dist.get_world_size(group)
    1
    >>> dist.destroy_process_group()
    """
    world = resolve(None, "new_group")
    assert world is not None
    members = list(range(world.size())) if ranks is None else [int(rank) for rank in ranks]
    if not members or len(set(members)) < len(members) or not all(0 <= r < world.size() for r in members):
        raise ValueError(
            f"new_group: given ranks {members}, expected different numbers from 0 to {world.size() - 1}, at least one"
        )
    members = sorted(members) if sort_ranks else members
    seconds = world.timeout if timeout is None else _seconds(timeout)
    backends = dict(world._backends if backend is None else _parsed(backend))
    if use_local_synchronization and world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    opened: dict[str, Engine] = {}
    if world.host is not None:
        engine = world.host.split(members, use_local_synchronization)
        if engine is not None:
            opened["cpu"] = engine
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    if backends.get("cuda") == "nccl":
        parent = world._engines.get("cuda")
        if parent is not None and parent.name == "nccl":
            part = parent.split(members, use_local_synchronization)
        else:
            part = engines.connect("nccl", world.launch, opened.get("cpu"))
        assert part is not None
        part.timeout = seconds
        opened["cuda"] = part
    made = ProcessGroup(
        members,
        members.index(world.rank()),
        opened,
        backends,
        world.launch,
        seconds,
        group_desc or f"group {len(_made)}",
    )
    _made.append(made)
    return made


def destroy_process_group(group: Any = None) -> None:
    """Leave a group: the world by default, and all others with it. Every member does.

    Examples
    --------
    >>> from lucidgrad import distributed as dist
    >>> dist.init_process_group("lone")  # mpiexec starts more than one
    >>> dist.is_initialized()
    True
    >>> dist.destroy_process_group()
    """
    found = resolve(group, "destroy_process_group")
    if found is None:
        return
    if found is not _made[0]:
        _made.remove(found)
        found.close()
        return
    for other in reversed(_made):
        other.close()
    _made.clear()
    GroupMember.WORLD = None
    if _watch is not None:
        _watch.finish()
