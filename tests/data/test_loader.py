"""`DataLoader` in one process: its arguments, its order, and going on within an epoch."""

import itertools

import numpy as np
import pytest
from golden import ask, peer

import lucidgrad as lg
from lucidgrad.utils import data


class Count(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def lists(loader):
    return [batch.tolist() for batch in loader]


@pytest.mark.parametrize("n", [0, 1, 5, 6])
@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("drop", [True, False])
@pytest.mark.parametrize("source", [range, Count])
def test_batches(n, size, drop, source):
    loader = data.DataLoader(source(n), batch_size=size, drop_last=drop)
    expected = [list(range(n))[i : i + size] for i in range(0, n, size)]
    expected = [batch for batch in expected if len(batch) == size or not drop]
    assert lists(loader) == expected == lists(loader)
    assert len(loader) == len(expected) == len(iter(loader))


def test_without_batches():
    assert list(data.DataLoader("abc", batch_size=None)) == ["a", "b", "c"]
    assert list(data.DataLoader(Count(3), batch_size=None)) == [0, 1, 2]
    (x,) = data.DataLoader([np.ones(2)], batch_size=None)
    assert isinstance(x, lg.Tensor)
    assert len(data.DataLoader(Count(3), batch_size=None)) == 3


def test_samplers_and_collation():
    assert lists(data.DataLoader(range(5), sampler=[4, 0, 2], batch_size=2)) == [[4, 0], [2]]
    assert lists(data.DataLoader(range(5), batch_sampler=[[4, 0], [2]])) == [[4, 0], [2]]
    assert list(data.DataLoader(range(4), batch_size=2, collate_fn=sum)) == [1, 5]
    rows = data.TensorDataset(lg.arange(4), lg.arange(4) * 2)
    fast = data.DataLoader(rows, batch_size=3)
    slow = data.DataLoader(rows, batch_size=3, collate_fn=lambda samples: data.default_collate(samples))
    some = data.DataLoader(data.Subset(rows, [3, 1, 2]), batch_size=3)
    assert [[t.tolist() for t in b] for b in fast] == [[t.tolist() for t in b] for b in slow]
    assert [[t.tolist() for t in b] for b in some] == [[[3, 1, 2], [6, 2, 4]]]


@pytest.mark.parametrize(
    "options",
    [
        dict(num_workers=-1), dict(timeout=-1, num_workers=1), dict(timeout=1), dict(prefetch_factor=2),
        dict(persistent_workers=True), dict(num_workers=1, prefetch_factor=0), dict(sampler=[0], shuffle=True),
        dict(batch_sampler=[[0]], batch_size=2), dict(batch_sampler=[[0]], shuffle=True),
        dict(batch_sampler=[[0]], sampler=[0]), dict(batch_sampler=[[0]], drop_last=True), dict(batch_size=0),
        dict(batch_size=None, drop_last=True), dict(num_workers=1, multiprocessing_context="telepathy"),
    ],
    ids=str,
)  # fmt: skip
def test_arguments_are_checked_as_pytorch_does(options):
    with pytest.raises(ValueError, match="DataLoader|BatchSampler"):
        data.DataLoader(range(3), **options)
    torch = peer("torch")
    if options not in ({"timeout": 1}, {"num_workers": 1, "prefetch_factor": 0}):  # PyTorch finds these out later
        with pytest.raises(ValueError):  # noqa: PT011
            torch.utils.data.DataLoader(range(3), **options)


@pytest.mark.parametrize("options", [dict(shuffle=True), dict(sampler=[0]), dict(batch_sampler=[[0]])])
def test_a_stream_has_its_own_order(options):
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Count(3), **options)


def test_the_defaults_are_pytorchs():
    import inspect

    torch = peer("torch")
    defaults = lambda kind: {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    ours, theirs = defaults(data.DataLoader), ask(torch.utils.data.DataLoader, defaults)
    shared = [name for name in theirs if name in ours]
    assert [name for name in ours if name in theirs] == shared
    assert set(theirs) <= set(ours)
    for name in shared:
        assert ours[name] == theirs[name], name


# -- shuffling -----------------------------------------------------------------------------------
def test_shuffling_follows_the_seed():
    loader = data.DataLoader(range(20), batch_size=6, shuffle=True)
    lg.manual_seed(1)
    first, second = lists(loader), lists(loader)
    assert sorted(itertools.chain(*first)) == list(range(20))
    assert first != second
    lg.manual_seed(1)
    assert [lists(loader), lists(loader)] == [first, second]


def test_shuffling_follows_a_generator():
    def epochs(seed):
        g = lg.Generator().manual_seed(seed)
        loader = data.DataLoader(range(20), batch_size=6, shuffle=True, generator=g)
        lg.rand(3)  # of no influence
        return [lists(loader), lists(loader)]

    assert epochs(1) == epochs(1) != epochs(2)
    g = lg.Generator().manual_seed(1)
    before = lg.random.get_rng_state("cpu")
    lists(data.DataLoader(range(20), shuffle=True, generator=g))
    assert lg.random.get_rng_state("cpu") == before


def test_the_state_of_a_generator_repeats_an_epoch():
    g = lg.Generator().manual_seed(1)
    loader = data.DataLoader(range(20), batch_size=6, shuffle=True, generator=g)
    lists(loader)
    state = g.get_state()
    second = lists(loader)
    g.set_state(state)
    assert lists(loader) == second


# -- going on within an epoch --------------------------------------------------------------------
@pytest.mark.parametrize("given", range(5))
@pytest.mark.parametrize(
    "make",
    [
        lambda: data.DataLoader(range(20), batch_size=6, shuffle=True),
        lambda: data.DataLoader(range(20), batch_size=6),
        lambda: data.DataLoader(Count(20), batch_size=6),
        lambda: data.DataLoader(range(20), batch_sampler=data.BatchSampler(data.RandomSampler(range(20)), 6, False)),
    ],
)
def test_going_on(make, given):
    loader = make()
    lg.manual_seed(3)
    epoch = iter(loader)
    for _ in range(given):
        next(epoch, None)
    state, numbers = loader.state_dict(), lg.random.get_rng_state()
    rest, later = lists(epoch), lists(loader)
    fresh = make()
    lg.manual_seed(99)
    fresh.load_state_dict(state)
    assert fresh.state_dict() == state
    lg.random.set_rng_state(numbers)
    assert [lists(fresh), lists(fresh)] == [rest, later]


def test_after_an_epoch_a_new_one_begins():
    loader = data.DataLoader(range(6), batch_size=4, shuffle=True)
    lists(loader)
    state, numbers = loader.state_dict(), lg.random.get_rng_state()
    expected = lists(loader)
    fresh = data.DataLoader(range(6), batch_size=4, shuffle=True)
    fresh.load_state_dict(state)
    lg.random.set_rng_state(numbers)
    assert lists(fresh) == expected
    fresh.load_state_dict({})
    assert len(lists(fresh)) == 2


def test_states_that_do_not_fit():
    loader = data.DataLoader(Count(4))
    with pytest.raises(ValueError, match="not its own"):
        loader.load_state_dict({"a": 1})
    with pytest.raises(ValueError, match="shuffling loader"):
        loader.load_state_dict({"seed": 1, "order": 2, "batches": 0})


def test_a_sampler_of_the_users_own_is_iterated_over():
    class Mine(data.RandomSampler):
        def __iter__(self):
            return iter([2, 1, 0])

    loader = data.DataLoader(range(3), sampler=Mine(range(3)), batch_size=2)
    assert lists(loader) == [[2, 1], [0]]
    next(iter(loader))
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert lists(loader) == [[0]]


# -- devices -------------------------------------------------------------------------------------
def test_pinned_memory():
    loader = data.DataLoader([{"x": np.ones(2), "s": "a", "p": (lg.ones(1), 1)}] * 2, batch_size=2, pin_memory=True)
    (batch,) = loader
    assert batch["x"].is_pinned() and batch["p"][0].is_pinned() and batch["s"] == ["a", "a"]


def test_on_the_cpu():
    assert lists(data.DataLoader(range(3), batch_size=2, device="cpu")) == [[0, 1], [2]]


class Flaky(data.Dataset):
    """The second sample fails."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i == 1:
            raise self.error
        return i


@pytest.mark.parametrize("options", [{}, {"num_workers": 2}, {"device": "cpu"}, {"device": "cuda:0"}])
def test_a_batch_that_fails_does_not_end_the_epoch(options):
    batches = iter(data.DataLoader(Flaky(KeyError("lost")), **options))
    assert next(batches).tolist() == [0]
    with pytest.raises(KeyError, match="lost"):
        next(batches)
    assert lists(batches) == [[2], [3]]


def test_a_dataset_that_raises_stop_iteration_does_not_end_the_epoch_silently():
    batches = iter(data.DataLoader(Flaky(StopIteration())))
    next(batches)
    with pytest.raises(RuntimeError, match="StopIteration"):
        next(batches)
