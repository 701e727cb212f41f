"""Data parallel modules, as far as one process shows: how buckets are filled, and what a process alone does."""

import inspect
import sys

import numpy as np
import pytest
from golden import ask, peer

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn.parallel import DistributedDataParallel
from lucidgrad.nn.parallel.buckets import BYTES, FIRST_BYTES, Bucket, Entry, GradBucket, plan_buckets
from lucidgrad.nn.parallel.distributed import _limits


def entries(sizes, kinds=None):
    return [Entry(k, size, kinds[k] if kinds else "float32") for k, size in enumerate(sizes)]


def test_the_first_bucket_is_small_and_the_others_are_large():
    assert (FIRST_BYTES, BYTES) == (2**20, 25 * 2**20)
    quarter = 2**18
    assert plan_buckets(entries([quarter] * 200), [FIRST_BYTES, BYTES]) == [
        list(range(4)), list(range(4, 104)), list(range(104, 200))
    ]  # fmt: skip
    assert _limits(None, None) == [FIRST_BYTES, BYTES] and _limits(0.5, None) == [2**19, 2**19]
    assert _limits(100, None) == [FIRST_BYTES, 100 * 2**20] and _limits(3, [1, 2]) == [2**20, 2**21]


@pytest.mark.parametrize(
    ("sizes", "limits", "expected"),
    [
        ([5, 5, 5], [10], [[0, 1], [2]]),
        ([5, 6, 5], [10], [[0, 1], [2]]),  # none is cut: a bucket may hold more
        ([30, 1, 1], [10], [[0], [1, 2]]),
        ([1, 30, 1], [10], [[0, 1], [2]]),
        ([0, 0, 0], [10], [[0, 1, 2]]),
        ([], [10], []),
        ([4] * 6, [4, 8], [[0], [1, 2], [3, 4], [5]]),
        ([4] * 6, [4, 8, 12], [[0], [1, 2], [3, 4, 5]]),
    ],
)
def test_how_buckets_are_filled(sizes, limits, expected):
    assert plan_buckets(entries(sizes), limits) == expected


def test_a_bucket_holds_one_kind_and_goes_when_it_is_complete():
    kinds = ["a", "b", "a", "b", "a", "b"]
    assert plan_buckets(entries([4, 1, 4, 1, 4, 1], kinds), [8]) == [[0, 2], [4], [1, 3, 5]]
    assert plan_buckets(entries([4, 9, 4, 9], kinds), [8]) == [[1], [0, 2], [3]]


def test_random_plans():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(0, 30))
        given = [Entry(int(k), int(rng.integers(0, 50)), str(rng.integers(0, 3))) for k in rng.permutation(n)]
        limits = [int(v) for v in rng.integers(1, 100, rng.integers(1, 4))]
        plan = plan_buckets(given, limits)
        by_number, place = {e.number: e for e in given}, {e.number: k for k, e in enumerate(given)}
        assert sorted(k for bucket in plan for k in bucket) == list(range(n))
        last = [max(place[k] for k in bucket) for bucket in plan]
        assert last == sorted(last)
        full = {}
        for bucket in plan:
            (kind,) = {by_number[k].kind for k in bucket}
            assert [place[k] for k in bucket] == sorted(place[k] for k in bucket)
            sizes = [by_number[k].size for k in bucket]
            limit = limits[min(full.get(kind, 0), len(limits) - 1)]
            assert sum(sizes[:-1]) < limit  # not full before the last one
            full[kind] = full.get(kind, 0) + 1


def test_views_of_a_bucket_share_its_memory():
    parameters = [lg.zeros(2, 3), lg.zeros(()), lg.zeros(0, 4)]
    bucket = Bucket(parameters, [2, 0, 1])
    assert bucket.flat.shape == (7,) and bucket.bytes == 28
    bucket.flat.copy_(lg.arange(7.0))
    assert [v.tolist() for v in bucket.views] == [[], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], 6.0]
    bucket.views[1].fill_(9.0)
    assert bucket.flat.tolist() == [9.0] * 6 + [6.0]
    seen = GradBucket(bucket, 1, 3, parameters)
    assert seen.buffer() is bucket.flat and not seen.is_last() and seen.index() == 1
    seen.set_buffer(lg.arange(7.0).half())
    assert seen.buffer().dtype == lg.float16 and seen.gradients()[1].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    with pytest.raises(ValueError, match=r"given a tensor of shape \(6,\), expected \(7,\)"):
        seen.set_buffer(lg.ones(6))


def test_arguments_are_pytorchs():
    torch = peer("torch")
    theirs = ask(torch.nn.parallel.DistributedDataParallel, lambda c: list(inspect.signature(c).parameters), "names")
    assert list(inspect.signature(DistributedDataParallel).parameters) == theirs
    for name in ("no_sync", "join", "register_comm_hook"):
        method = getattr(torch.nn.parallel.DistributedDataParallel, name)
        theirs = ask(method, lambda f: list(inspect.signature(f).parameters), name)
        assert list(inspect.signature(getattr(DistributedDataParallel, name)).parameters) == theirs


def _events(run):
    """How many functions are called and left."""
    events = []
    sys.setprofile(lambda *_: events.append(None))
    try:
        run()
    finally:
        sys.setprofile(None)
    return len(events)


def test_one_process_alone_takes_the_steps_of_the_module():
    counts = []
    for wrap in (lambda module: module, DistributedDataParallel):
        model = wrap(nn.Sequential(*(nn.Linear(8, 8) for _ in range(8))))
        optimizer, x = lg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), lg.ones(2, 8)

        def step(model=model, optimizer=optimizer, x=x):
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

        step()
        step()
        counts.append(_events(step))
    assert counts[0] > 200 and counts[1] <= 1.02 * counts[0], counts


def test_one_process_alone():
    module = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    model = DistributedDataParallel(module, device_ids=[0], find_unused_parameters=True)
    assert model._reducer is None and model.communication_counts()["buckets"] == []
    assert list(model.state_dict()) == ["module." + name for name in module.state_dict()]
    with model.join(), model.no_sync():
        model(lg.ones(4, 2)).sum().backward()
    assert module[1].bias.grad.tolist() == [4.0]
    model.register_comm_hook(None, lambda state, bucket: None)
    for p in module.parameters():
        assert not p._node.extras  # nothing that backward would have to look at
    with pytest.raises(TypeError, match="given a function, expected a Module"):
        DistributedDataParallel(lambda x: x)
    with pytest.raises(RuntimeError, match="process_group and device_mesh"):
        DistributedDataParallel(module, process_group=object(), device_mesh=object())
