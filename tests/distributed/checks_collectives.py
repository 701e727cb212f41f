"""Collectives of tensors in host memory."""

import contextlib
import io
import os
import time

import pytest

import lucidgrad as lg
from lucidgrad import distributed as dist
from lucidgrad.backends import progress


def _rank():
    return dist.get_rank(), dist.get_world_size()


def check_who_is_who():
    rank, n = _rank()
    assert dist.is_initialized() and dist.is_available() and dist.is_mpi_available()
    assert dist.get_node_local_rank() == rank  # all are on this host
    assert dist.group.WORLD.launch.local_size == n
    assert dist.get_process_group_ranks() == list(range(n))
    assert "rank" in repr(dist.group.WORLD) and dist.get_backend() in ("mpi", "cpu:mpi,cuda:auto", "cpu:mpi,cuda:nccl")


def check_the_first_process_tells_of_progress():
    """Of long waits, and of what compiled functions report, one of all processes speaks."""
    rank, _ = _rank()
    said, switch = io.StringIO(), os.environ.pop("LUCIDGRAD_PROGRESS")  # off in these jobs
    patience, progress.PATIENCE = progress.PATIENCE, 0.0
    try:
        with contextlib.redirect_stderr(said):
            with progress.waiting("checking", finish=True):
                limit = time.monotonic() + 300
                while rank == 0 and not said.getvalue() and time.monotonic() < limit:
                    time.sleep(0.01)
                dist.barrier()
            lg.compile(lambda x: x * 2 + 1, options={"verbose": True})(lg.ones(3))
    finally:
        progress.PATIENCE, os.environ["LUCIDGRAD_PROGRESS"] = patience, switch
    for words in ("checking, ", "checking: done after ", "traced in "):
        assert (words in said.getvalue()) == (rank == 0), (rank, said.getvalue())


def check_all_reduce():
    rank, n = _rank()
    x = lg.arange(6.0).reshape(2, 3) + rank
    assert dist.all_reduce(x) is None
    expected = n * lg.arange(6.0).reshape(2, 3) + n * (n - 1) / 2
    assert (x == expected).all()


def check_operations():
    rank, n = _rank()
    for op, value in (("SUM", n * (n + 1) / 2), ("AVG", (n + 1) / 2), ("MAX", n), ("MIN", 1)):
        x = lg.full((3,), rank + 1.0)
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        assert x.tolist() == [value] * 3, op


def check_later_ones_of_a_kind():
    """How tensors of a kind are reduced is found once; what depends on the very tensor is asked each time."""
    rank, n = _rank()
    total = n * (n + 1) / 2
    for op, value in ((dist.ReduceOp.SUM, total), (dist.ReduceOp.AVG, total / n)):
        for _ in range(3):
            x = lg.full((2, 3), rank + 1.0)
            dist.all_reduce(x, op)
            assert x.tolist() == [[value] * 3] * 2
        rows = lg.full((4, 3), rank + 1.0)
        dist.all_reduce(rows.T[1:], op)
        assert rows.tolist() == [[rank + 1.0, value, value]] * 4
        whole = lg.full((3,), rank + 1, dtype=lg.float16)
        dist.all_reduce(whole, op)
        assert whole.dtype == lg.float16 and whole.tolist() == [value] * 3
    w = lg.ones(3, requires_grad=True)
    for bad, words in (
        ((w * 2,), "history"),
        ((lg.ones(1).expand(3),), "written"),
        (([1.0],), "list"),
        ((x, "sum"), "op="),
    ):
        with pytest.raises((RuntimeError, TypeError), match=words):
            dist.all_reduce(*bad)
    y = (w * x[0]).sum()
    dist.all_reduce(x)  # what the product has kept
    with pytest.raises(RuntimeError, match="in place|in-place|written"):
        y.backward()


def check_some_wait_at_once():
    """Members need not agree on who goes on to something else meanwhile."""
    rank, n = _rank()
    for size in (3, 100_000):
        x = lg.full((size,), float(rank))
        work = dist.all_reduce(x, async_op=rank == 0)
        if rank == 0:
            work.wait()
        assert (x == n * (n - 1) / 2).all()


def check_asynchronous():
    rank, n = _rank()
    xs = [lg.full((1000,), float(rank + i)) for i in range(5)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    for i, (x, work) in enumerate(zip(xs, works)):
        assert work.wait()
        assert work.is_completed() and work.is_success()
        assert (x == n * i + n * (n - 1) / 2).all()
    assert works[0].get_future().then(lambda f: f.value()[0][0].item()).wait() == n * (n - 1) / 2


def check_broadcast():
    rank, n = _rank()
    x = lg.full((4,), float(rank))
    dist.broadcast(x, n - 1)
    assert x.tolist() == [n - 1] * 4


def check_reduce():
    rank, n = _rank()
    x = lg.full((4,), rank + 1.0)
    dist.reduce(x, 1)
    assert x.tolist() == [n * (n + 1) / 2 if rank == 1 else rank + 1] * 4


def check_all_gather():
    rank, n = _rank()
    x = lg.full((2, 2), float(rank))
    parts = [lg.empty_like(x) for _ in range(n)]
    dist.all_gather(parts, x)
    assert [p.tolist() for p in parts] == [[[i, i], [i, i]] for i in range(n)]
    whole = lg.empty(2 * n, 2)
    dist.all_gather_into_tensor(whole, x)
    assert (whole == lg.cat(parts)).all()


def check_reduce_scatter():
    rank, n = _rank()
    x = lg.arange(3.0 * n)
    part = lg.empty(3)
    dist.reduce_scatter_tensor(part, x)
    assert (part == n * lg.arange(3.0 * rank, 3 * rank + 3)).all()
    other = lg.empty(3)
    dist.reduce_scatter(other, list(x.split(3)))
    assert (other == part).all()


def check_all_to_all():
    rank, n = _rank()
    x = lg.arange(float(n)) + 10 * rank
    y = lg.empty_like(x)
    dist.all_to_all_single(y, x)
    assert y.tolist() == [10 * i + rank for i in range(n)]
    inputs = [lg.full((rank + 1, to + 1), float(rank * n + to)) for to in range(n)]
    outputs = [lg.empty(i + 1, rank + 1) for i in range(n)]
    dist.all_to_all(outputs, inputs)
    for i, part in enumerate(outputs):
        assert (part == i * n + rank).all()


def check_gather_and_scatter():
    rank, n = _rank()
    x = lg.full((2,), float(rank))
    parts = [lg.empty(2) for _ in range(n)] if rank == 0 else None
    dist.gather(x, parts, dst=0)
    if rank == 0:
        assert [p.tolist() for p in parts] == [[i, i] for i in range(n)]
    y = lg.empty(2)
    dist.scatter(y, [p + 1 for p in parts] if rank == 0 else None, src=0)
    assert y.tolist() == [rank + 1] * 2


def check_send_and_receive():
    rank, n = _rank()
    x, y = lg.full((3,), float(rank)), lg.empty(3)
    sent = dist.isend(x, (rank + 1) % n)
    assert dist.recv(y) == (rank - 1) % n
    sent.wait()
    assert y.tolist() == [(rank - 1) % n] * 3


def check_batches_of_messages():
    rank, n = _rank()
    others = [i for i in range(n) if i != rank]
    found = {i: lg.zeros(2) for i in others}
    calls = [dist.P2POp(dist.isend, lg.full((2,), 10.0 * rank + i), i) for i in others]
    calls += [dist.P2POp(dist.irecv, found[i], i) for i in others]
    works = dist.batch_isend_irecv(calls)
    assert len(works) == len(calls)
    for work in works:
        work.wait()
    assert all(found[i].tolist() == [10 * i + rank] * 2 for i in others)


def check_groups():
    rank, n = _rank()
    both, last = dist.new_group([0, 1]), dist.new_group([n - 1])
    x = lg.full((2,), rank + 1.0)
    if rank < 2:
        dist.all_reduce(x, group=both)
        assert x.tolist() == [3, 3]
    assert (last == dist.GroupMember.NON_GROUP_MEMBER) == (rank != n - 1)
    assert dist.get_rank(last) == (0 if rank == n - 1 else -1)
