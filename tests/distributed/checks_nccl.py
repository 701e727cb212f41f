"""Tensors on CUDA, which travel by NCCL; in both modes of the emulated device."""

import contextlib

import checks_fuzz
import numpy as np
import pytest
from thoroughness import seeds

import lucidgrad as lg
from lucidgrad import cudasim, distributed as dist
from lucidgrad.backends.communication import nccl

EMULATED = cudasim.is_installed()
SIZE = 1000


def _rank():
    return dist.get_rank(), dist.get_world_size()


def _both_modes(function):
    """Call it with work that runs at once, and with work that runs only when something waits for it."""
    function()
    if EMULATED:
        with cudasim.lazy():
            function()
            lg.cuda.synchronize()


def check_the_engines():
    if not EMULATED:
        lg.cuda.set_device(_rank()[0] % lg.cuda.device_count())
    assert dist.get_backend() == "cpu:mpi,cuda:nccl" and dist.is_nccl_available()


def check_random_collectives():
    _both_modes(lambda: checks_fuzz.run(seeds(40, 400), "cuda"))


# -- the same as on the CPU ----------------------------------------------------------------------
def _everything(device):
    """Results of every collective, of values that are the same on every device."""
    rank, n = _rank()
    draw = np.random.default_rng(rank)
    made = lambda *shape: lg.asarray(draw.standard_normal(shape).astype("float32")).to(device)
    empty = lambda *shape: lg.zeros(*shape, device=device)
    found = []
    for op in ("SUM", "AVG", "MAX", "MIN", "PRODUCT"):
        x = made(SIZE)
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        found.append(x)
    for root in range(n):
        x, y = made(SIZE), made(7, 3)
        dist.reduce(x, root)
        dist.broadcast(y, root)
        found += [x if rank == root else y, y]
    whole, part = empty(n * 5, 3), empty(4)
    dist.all_gather_into_tensor(whole, made(5, 3))
    dist.reduce_scatter_tensor(part, made(4 * n))
    parts = [empty(2, 3) for _ in range(n)]
    dist.all_gather(parts, made(2, 3))
    turned = empty(2 * n)
    dist.all_to_all_single(turned, made(2 * n))
    found += [whole, part, *parts, turned]
    gathered = [empty(3) for _ in range(n)] if rank == 0 else None
    dist.gather(made(3), gathered)
    mine = empty(3)
    dist.scatter(mine, [made(3) for _ in range(n)] if rank == 0 else None)
    y = empty(5)
    works = [dist.isend(made(5), (rank + 1) % n), dist.irecv(y, (rank - 1) % n)]
    for work in works:
        work.wait()
    found += [*(gathered or ()), mine, y]
    return [x.to("cpu").numpy() for x in found]


def check_every_collective_is_that_of_the_cpu():
    wanted = _everything("cpu")

    def compare():
        for i, (x, y) in enumerate(zip(_everything("cuda"), wanted, strict=True)):
            if _rank()[1] == 2:
                assert (x == y).all(), i
            else:  # the order of additions is another one
                np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6, err_msg=str(i))

    _both_modes(compare)


# -- streams -------------------------------------------------------------------------------------
def _summed(x):
    """Compute, communicate, compute, the host waiting nowhere; no two steps could change places."""
    x += 1
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    x *= 2
    return x


def _lazily(function):
    """What it gives, nothing having run before the host asks."""
    rank, _ = _rank()
    x = lg.full((SIZE,), rank + 1.0, device="cuda")
    function(x.clone())  # kernels are compiled, and communicators made
    lg.cuda.synchronize()
    dist.barrier()
    with cudasim.lazy():
        found = function(x).cpu().numpy()
    dist.barrier()
    return found


def _everywhere(right):
    """Whether something is right in every process: where one is slow, another one's waiting may help it."""
    flag = lg.asarray([bool(right)])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return flag.item()


def _sum_is_right():
    n = _rank()[1]
    return _everywhere((_lazily(_summed) == n * (n + 1) + 2 * n).all())


@contextlib.contextmanager
def _without(owner, name):
    """Leave one wait out."""
    kept = getattr(owner, name)
    setattr(owner, name, lambda *_: None)
    try:
        yield
    finally:
        setattr(owner, name, kept)


def check_waits_are_there():
    assert not EMULATED or _sum_is_right()


def check_without_the_wait_before_results_are_wrong():
    """The stream of NCCL must wait for the one that has written the tensor."""
    if EMULATED:
        with _without(nccl.Line, "follow"):
            assert not _sum_is_right()


def check_without_the_wait_after_results_are_wrong():
    """The stream that goes on must wait for the one of NCCL."""
    if EMULATED:
        with _without(nccl.Running, "wait"):
            assert not _sum_is_right()


def _messages(x):
    rank, n = _rank()
    y = lg.zeros_like(x)
    x *= 2
    sent = dist.isend(x, (rank + 1) % n)
    dist.irecv(y, (rank - 1) % n).wait()
    sent.wait()
    y += 1
    return y


def _messages_are_right():
    rank, n = _rank()
    return _everywhere((_lazily(_messages) == 2 * ((rank - 1) % n + 1) + 1).all())


def check_waits_of_messages():
    if EMULATED:
        assert _messages_are_right()
        with _without(nccl.Line, "follow"):
            assert not _messages_are_right()
        with _without(nccl.Running, "wait"):
            assert not _messages_are_right()


def _memory_is_kept():
    """Whether memory of temporary arrays outlives what reads it."""
    rank, n = _rank()
    x = lg.full((SIZE,), rank + 1.0, device="cuda")
    lg.cuda.synchronize()
    dist.barrier()
    with cudasim.lazy():
        work = dist.all_gather_into_tensor(whole := lg.zeros(n * SIZE, device="cuda"), x + 1, async_op=True)
        others = [lg.full((SIZE,), -1.0, device="cuda") for _ in range(4)]  # where the sum was, if it is gone
        assert others[-1].cpu()[0] == -1  # they are written now, and what NCCL does comes later
        work.wait()
        right = bool((whole.cpu().numpy().reshape(n, -1) == np.arange(n)[:, None] + 2).all())
        del others
    return _everywhere(right)


def check_without_keeping_memory_results_are_wrong():
    if EMULATED:
        assert _memory_is_kept()
        with _without(nccl.Line, "keep"):
            assert not _memory_is_kept()


def check_counts():
    """One call, the bytes of the tensor, two waits; no kernel, no copy, and the host waits for nothing."""
    if not EMULATED:
        return
    x = lg.ones(SIZE, device="cuda")
    dist.all_reduce(x)
    lg.cuda.synchronize()
    dist.barrier()
    with cudasim.counting() as counts:
        dist.all_reduce(x)
    assert counts.launches == {"ncclAllReduce": 1}
    assert (counts.nccl_calls, counts.nccl_bytes, counts.waits) == (1, 4 * SIZE, 2)
    assert counts.synchronisations == counts.copies_on_device == counts.copies_to_host == counts.allocations == 0
    parts, whole = lg.ones(SIZE, device="cuda"), lg.zeros(_rank()[1] * SIZE, device="cuda")
    with cudasim.counting() as counts:
        dist.all_gather_into_tensor(whole, parts)
        dist.reduce_scatter_tensor(parts, whole, op=dist.ReduceOp.AVG)
    n = _rank()[1]
    divided = 0 if n & (n - 1) == 0 else 1  # by a kernel, unless NCCL's own average is as exact
    assert counts.launches.items() >= {"ncclAllGather": 1, "ncclReduceScatter": 1}.items()
    assert sum(counts.launches.values()) == 2 + divided
    assert counts.nccl_bytes == 4 * SIZE * (1 + n)
    lg.cuda.synchronize()
    dist.barrier()


def check_the_host_does_not_wait():
    """A call returns although the others have not come; so does a first message to one that is busy."""
    rank, n = _rank()
    x = lg.ones(SIZE, device="cuda")
    dist.all_reduce(x)
    lg.cuda.synchronize()
    dist.barrier()
    if rank:
        dist.barrier()  # process 0 gets here only when its call has returned
        dist.all_reduce(x)
    else:
        work = dist.all_reduce(x, async_op=True)
        assert not work.is_completed()
        dist.barrier()
        work.wait()
    assert x.tolist() == [n * n] * SIZE
    group = dist.new_group()
    work = dist.isend(x, (rank + 1) % n, group=group)
    dist.barrier()  # nobody receives before all have sent
    y = lg.zeros(SIZE, device="cuda")
    dist.recv(y, (rank - 1) % n, group=group)
    work.wait()
    assert (y == x).all()
    dist.destroy_process_group(group)


def check_a_first_call_that_only_some_have_something_for():
    """Members connect with the first collective, though some have nothing to send then."""
    rank, n = _rank()
    group = dist.new_group()
    sizes = [3 * (rank == 0), *[0] * (n - 1)]
    x = lg.arange(float(sum(sizes)), device="cuda")
    y = lg.zeros_like(x)
    dist.all_to_all_single(y, x, sizes, sizes, group=group)
    assert y.tolist() == x.tolist()
    dist.destroy_process_group(group)


def check_what_nccl_does_not_do():
    x = lg.ones(2, device="cuda")
    other = (_rank()[0] + 1) % _rank()[1]
    with pytest.raises(ValueError, match="given tag=3 and a tensor on CUDA, expected 0: NCCL has no tags"):
        dist.isend(x, other, tag=3)
    with pytest.raises(ValueError, match="given no source and a tensor on CUDA"):
        dist.irecv(x)


def check_streams_of_the_user():
    """The streams that wait are those that calls are made from, and they stay the current ones."""
    rank, n = _rank()
    mine, other = lg.cuda.Stream(), lg.cuda.Stream()
    x = lg.full((SIZE,), rank + 1.0, device="cuda")
    lg.cuda.synchronize()

    def run():
        with lg.cuda.stream(mine):
            y = x * 1
            y += 1
            work = dist.all_reduce(y, async_op=True)
            assert lg.cuda.current_stream() == mine
        with lg.cuda.stream(other):
            work.wait()
            assert lg.cuda.current_stream() == other
            z = y * 2
            assert (z.cpu() == n * (n + 1) + 2 * n).all()
        assert lg.cuda.current_stream() == lg.cuda.default_stream()

    _both_modes(run)


def check_graphs():
    """What is captured communicates at each launch, on the stream that captured it."""
    rank, n = _rank()
    x, stream = lg.full((SIZE,), rank + 1.0, device="cuda"), lg.cuda.Stream()
    dist.all_reduce(x.clone())
    lg.cuda.synchronize()
    dist.barrier()
    with lg.cuda.stream(stream):
        raw = stream.place.stream
        raw.begin_capture()
        x += 1
        dist.all_reduce(x)
        x *= 2
        graph = raw.end_capture()
        for _ in range(2):
            graph.launch(raw)
        first = n * (n + 1) + 2 * n
        assert (x.cpu() == 2 * n * (first + 1)).all()
