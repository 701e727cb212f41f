"""CUDA tensors and MPI: through page-locked memory, or from device memory where the library takes it."""

import functools
import os

import checks_fuzz
import pytest
from thoroughness import seeds

import lucidgrad as lg
from lucidgrad import distributed as dist
from lucidgrad.backends.communication import mpi


def _both_ways(check):
    """Let a check run with a library that does not take memory of the device, and with one that does."""

    @functools.wraps(check)
    def run():
        for said in ("0", "1"):
            os.environ["LUCIDGRAD_MPI_CUDA"] = said
            mpi.takes_cuda.cache_clear()
            assert mpi.takes_cuda() is (said == "1")
            check()

    return run


@functools.cache
def by_mpi():
    """A group of all processes whose CUDA tensors don't travel by NCCL."""
    return dist.new_group(backend="mpi")


def check_backend():
    assert dist.get_backend(by_mpi()) == "mpi"
    assert lg.cuda.is_available()


@_both_ways
def check_streams():
    """What a stream was given to do before is in what is sent, and what comes after sees what was received."""
    rank, n = dist.get_rank(), dist.get_world_size()
    stream = lg.cuda.Stream()
    x = lg.zeros(1000, device="cuda")
    stream.wait_stream(lg.cuda.current_stream())
    with lg.cuda.stream(stream):
        for _ in range(10):
            x += rank + 1
        work = dist.all_reduce(x, group=by_mpi(), async_op=True)
        work.wait()
        x *= 2
    lg.cuda.current_stream().wait_stream(stream)
    assert (x == 10 * n * (n + 1)).all().item()
    assert x.device.type == "cuda"


@_both_ways
def check_parts_on_the_device():
    rank, n = dist.get_rank(), dist.get_world_size()
    x = lg.full((2, 3), float(rank), device="cuda")
    whole = lg.zeros(n, 2, 3, device="cuda")
    dist.all_gather_into_tensor(whole, x, by_mpi())
    assert whole[:, 0, 0].tolist() == list(range(n))
    part = whole[:, :, 1]
    dist.all_reduce(part, group=by_mpi())
    assert whole[:, 1, 1].tolist() == [n * i for i in range(n)] and whole[:, 1, 0].tolist() == list(range(n))


@_both_ways
def check_graphs_refuse():
    """What the host does is not part of a CUDA graph."""
    x = lg.ones(3, device="cuda")
    with (
        pytest.raises(RuntimeError, match="all_reduce: a CUDA graph is being recorded.* by mpi"),
        lg.cuda.graph(lg.cuda.CUDAGraph()),
    ):
        dist.all_reduce(x, group=by_mpi())
    dist.all_reduce(x, group=by_mpi())
    assert x.tolist() == [dist.get_world_size()] * 3


@_both_ways
def check_random_collectives():
    checks_fuzz.run(seeds(8, 200), "cuda", "mpi")
