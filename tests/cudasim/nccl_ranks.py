"""One rank of a communicator across processes: ``nccl_ranks.py WHAT RANK RANKS``; prints what it found as JSON."""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from lucidgrad.backends import cudasim

cudasim.install(devices=1)

import cupy  # noqa: E402
from cupy.cuda import nccl  # noqa: E402

WHAT, RANK, RANKS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
FOLDER = Path(os.environ["CUDASIM_NCCL_FOLDER"])


def shared(name, make):
    """Let rank 0 make something, and give it to the others by way of a file."""
    path = FOLDER / name
    if RANK == 0:
        path.with_suffix(".part").write_bytes(make())
        path.with_suffix(".part").rename(path)
    until = time.monotonic() + 600
    while not path.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    return path.read_bytes()


def meet(name):
    """Wait for all, outside of NCCL."""
    (FOLDER / f"{name}-{RANK}").touch()
    until = time.monotonic() + 600
    while len(list(FOLDER.glob(f"{name}-*"))) < RANKS:
        assert time.monotonic() < until
        time.sleep(0.01)


def filled(stream, rank=RANK, size=1000):
    with stream:
        return cupy.full(size, rank + 1, "float64")


TOTAL = RANKS * (RANKS + 1) / 2
FLOAT64, SUM = nccl.NCCL_FLOAT64, nccl.NCCL_SUM


def all_reduce(comm, x, stream):
    comm.allReduce(x.data.ptr, x.data.ptr, x.size, FLOAT64, SUM, stream.ptr)


def reduces(comm, stream):
    x = filled(stream, size=300_000)
    all_reduce(comm, x, stream)
    assert (x.get(stream=stream) == TOTAL).all()


def adds_in_the_order_of_ranks(comm, stream):
    """Sums that depend on their order: all ranks get the same bits, those of rank 0 + rank 1 + ..."""
    values = [np.random.default_rng(rank).standard_normal(5000).astype("float32") for rank in range(RANKS)]
    with stream:
        x = cupy.asarray(values[RANK])
    comm.allReduce(x.data.ptr, x.data.ptr, x.size, nccl.NCCL_FLOAT32, SUM, stream.ptr)
    wanted = values[0]
    for value in values[1:]:
        wanted = wanted + value
    assert (x.get(stream=stream) == wanted).all()


def exchanges_all_with_all(comm, stream):
    with stream:
        x, y = cupy.arange(RANKS * 100_000.0) + 1e7 * RANK, cupy.zeros(RANKS * 100_000)
    nccl.groupStart()
    for peer in range(RANKS):
        comm.send(x.data.ptr + 800_000 * peer, 100_000, FLOAT64, peer, stream.ptr)
        comm.recv(y.data.ptr + 800_000 * peer, 100_000, FLOAT64, peer, stream.ptr)
    nccl.groupEnd()
    got = y.get(stream=stream).reshape(RANKS, -1)
    for peer in range(RANKS):
        assert (got[peer] == 1e7 * peer + 100_000 * RANK + np.arange(100_000)).all()


def passes_on_in_a_ring(comm, stream):
    """Sends and receives without a group, ordered so that nobody waits for ever."""
    x = filled(stream)
    calls = [("send", (RANK + 1) % RANKS), ("recv", (RANK - 1) % RANKS)]
    with stream:
        y = cupy.zeros_like(x)
    for name, peer in calls if RANK % 2 == 0 and RANK + 1 < RANKS else calls[::-1]:
        getattr(comm, name)((x if name == "send" else y).data.ptr, x.size, FLOAT64, peer, stream.ptr)
    assert (y.get(stream=stream) == (RANK - 1) % RANKS + 1).all()


def splits(comm, stream):
    part = comm.commSplit(RANK % 2, RANK)
    x = filled(stream)
    all_reduce(part, x, stream)
    assert (x.get(stream=stream) == sum(r + 1 for r in range(RANK % 2, RANKS, 2))).all()
    part.destroy()


def does_not_hold_the_host(comm, stream):
    """A call returns before the others have come, as on a GPU: they wait for this rank elsewhere."""
    x = filled(stream)
    stream.synchronize()
    if RANK == 0:
        all_reduce(comm, x, stream)
    meet(f"host-{CALLS[0]}")
    if RANK:
        all_reduce(comm, x, stream)
    assert (x.get(stream=stream) == TOTAL).all()


def does_its_part_while_the_host_is_elsewhere(comm, stream):
    """Rank 0 waits for the result before it meets the others, who wait for nothing on the device before."""
    x = filled(stream)
    all_reduce(comm, x, stream)
    if RANK == 0:
        stream.synchronize()
    meet(f"elsewhere-{CALLS[0]}")
    assert (x.get(stream=stream) == TOTAL).all()


def follows_the_order_of_calls(comm, stream):
    """Two streams, one communicator: the calls are done in their order, whichever stream is waited for."""
    other = cupy.cuda.Stream(non_blocking=True)
    x, y = filled(stream), filled(other)
    all_reduce(comm, x, stream)
    all_reduce(comm, y, other)
    if RANK % 2:
        stream.synchronize()
    assert (y.get(stream=other) == TOTAL).all()
    assert (x.get(stream=stream) == TOTAL).all()


def goes_into_graphs(comm, stream):
    x = filled(stream)
    stream.synchronize()
    with stream:
        stream.begin_capture()
        all_reduce(comm, x, stream)
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
    assert (x.get(stream=stream) == TOTAL * RANKS**2).all()


def uses_several_communicators(comm, stream):
    other = cupy.cuda.Stream(non_blocking=True)
    second = nccl.NcclCommunicator(RANKS, shared(f"id-{CALLS[0]}", nccl.get_unique_id), RANK)
    x, y = filled(stream), filled(other)
    all_reduce(comm, x, stream)
    all_reduce(second, y, other)
    first, last = ((x, stream), (y, other)) if RANK % 2 else ((y, other), (x, stream))
    assert (first[0].get(stream=first[1]) == TOTAL).all()
    assert (last[0].get(stream=last[1]) == TOTAL).all()
    second.destroy()


CHECKS = [
    reduces,
    adds_in_the_order_of_ranks,
    exchanges_all_with_all,
    passes_on_in_a_ring,
    splits,
    does_not_hold_the_host,
    does_its_part_while_the_host_is_elsewhere,
    follows_the_order_of_calls,
    goes_into_graphs,
    uses_several_communicators,
]
CALLS = [""]


def check_all(comm, stream):
    found = {}
    for lazy in (False, True):
        for check in CHECKS:
            CALLS[0] = f"{check.__name__}-{lazy}"
            cudasim.set_lazy(lazy)
            check(comm, stream)
            cudasim.set_lazy(False)
            found[CALLS[0]] = "ok"
    x = filled(stream)
    stream.synchronize()
    used, since = time.process_time(), time.monotonic()
    if RANK == 0:
        time.sleep(1)
    all_reduce(comm, x, stream)
    stream.synchronize()
    found["waiting"] = 0.0 if RANK == 0 else (time.process_time() - used) / (time.monotonic() - since)
    comm.destroy()
    return found


def losses(comm, stream):
    """Rank 1 goes in several ways, and rank 0 waits for it."""
    found = {}
    for how in ("abort", "silence", "kill"):
        if comm is None:
            comm = nccl.NcclCommunicator(RANKS, shared(f"id-{how}", nccl.get_unique_id), RANK)
        x = filled(stream)
        stream.synchronize()
        meet(f"before-{how}")  # both are ready: the timeout is for what is never answered, not for a busy machine
        all_reduce(comm, x, stream)
        stream.synchronize()
        if RANK == 0:
            found[how] = lost(comm, x, stream)
        elif how == "kill":
            os.kill(os.getpid(), 9)
        elif how == "abort":
            comm.abort()
        if how != "kill":
            meet(how)
        comm.abort()
        comm = None
    return found


def lost(comm, x, stream):
    try:
        all_reduce(comm, x, stream)
        stream.synchronize()
    except (nccl.NcclError, cupy.cuda.runtime.CUDARuntimeError):
        pass
    try:
        comm.check_async_error()
    except nccl.NcclError as error:
        return error.status, str(error)
    return 0, ""


meet("start")
communicator = nccl.NcclCommunicator(RANKS, shared("id", nccl.get_unique_id), RANK)
print(json.dumps((check_all if WHAT == "checks" else losses)(communicator, cupy.cuda.Stream(non_blocking=True))))
