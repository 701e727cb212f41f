"""Datasets, samplers and collation, beside PyTorch's where it is installed."""

import dataclasses
from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest
from golden import ask, peer

import lucidgrad as lg
from lucidgrad.utils import data

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Example:
    x: object
    label: str
    derived: int = dataclasses.field(default=0, init=False)


class Numbers(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


# -- datasets ------------------------------------------------------------------------------------
def test_tensor_dataset():
    x, y = lg.arange(6).reshape(3, 2), lg.tensor([0.5, 1.5, 2.5])
    rows = data.TensorDataset(x, y)
    assert len(rows) == 3
    assert [t.tolist() for t in rows[-1]] == [[4, 5], 2.5]
    whole, by_sample = rows.__getbatch__([2, 0]), data.default_collate([rows[2], rows[0]])
    assert type(whole) is type(by_sample) is list
    assert [t.tolist() for t in whole] == [t.tolist() for t in by_sample]
    with pytest.raises(ValueError, match=r"lengths \[3, 2\]"):
        data.TensorDataset(x, y[:2])


def test_concat_chain_stack_subset():
    both = data.ConcatDataset(["ab", "", "cde"])
    assert [both[i] for i in range(-5, 5)] == list("abcdeabcde")
    for i in (5, -6):
        with pytest.raises(IndexError, match="there are 5 samples"):
            both[i]
    with pytest.raises(ValueError, match="use ChainDataset"):
        data.ConcatDataset([Numbers(2)])
    with pytest.raises(ValueError, match="at least one"):
        data.ConcatDataset([])
    assert list(Numbers(2) + Numbers(1)) == [0, 1, 0] and len(Numbers(2) + Numbers(1)) == 3
    with pytest.raises(TypeError, match="expected IterableDatasets"):
        list(data.ChainDataset(["ab"]))
    rows = data.TensorDataset(lg.arange(3)) + data.TensorDataset(lg.arange(2))
    assert [rows[i][0].item() for i in range(len(rows))] == [0, 1, 2, 0, 1]
    pairs = data.StackDataset([1, 2], "ab")
    assert pairs[1] == (2, "b") and pairs.__getitems__([1, 0]) == [(2, "b"), (1, "a")] and len(pairs) == 2
    named = data.StackDataset(n=[1, 2], c="ab")
    assert named.__getitems__([1]) == [{"n": 2, "c": "b"}]
    for wrong in (
        lambda: data.StackDataset(),
        lambda: data.StackDataset([1], c=[2]),
        lambda: data.StackDataset([1], []),
    ):
        with pytest.raises(ValueError, match="StackDataset"):
            wrong()
    some = data.Subset(data.Subset("abcdef", [5, 3, 1]), [2, 0])
    assert [some[0], some[1]] == ["b", "f"] and some.__getitems__([1, 0]) == ["f", "b"]


def test_what_a_subclass_must_define():
    for missing in (lambda: data.Dataset()[0], lambda: iter(data.IterableDataset()), lambda: iter(data.Sampler())):
        with pytest.raises(TypeError, match="a subclass of"):
            missing()


def test_too_few_samples_at_once():
    class Short(data.Dataset):
        def __getitems__(self, indices):
            return [0]

        def __len__(self):
            return 4

    with pytest.raises(ValueError, match="gave 1 samples for 2 indices"):
        next(iter(data.DataLoader(Short(), batch_size=2)))


@pytest.mark.parametrize(
    ("n", "lengths", "sizes"),
    [
        (10, [7, 3], [7, 3]),
        (10, [0.7, 0.3], [7, 3]),
        (10, [0.33, 0.33, 0.34], [4, 3, 3]),
        (3, [1.0], [3]),
        (0, [0], [0]),
    ],
)
def test_random_split(n, lengths, sizes):
    parts = data.random_split(range(n), lengths, lg.Generator().manual_seed(1))
    assert [len(part) for part in parts] == sizes
    assert sorted(i for part in parts for i in part) == list(range(n))
    again = data.random_split(range(n), lengths, lg.Generator().manual_seed(1))
    assert [list(part) for part in parts] == [list(part) for part in again]


def test_random_split_is_seeded_and_checked():
    lg.manual_seed(3)
    a = [list(p) for p in data.random_split(range(30), [10, 20])]
    lg.manual_seed(3)
    assert a == [list(p) for p in data.random_split(range(30), [10, 20])]
    assert a != [list(p) for p in data.random_split(range(30), [10, 20])]
    with pytest.raises(ValueError, match="sum to 9, the dataset has 10"):
        data.random_split(range(10), [4, 5])
    with pytest.raises(ValueError, match="fraction between 0 and 1"):
        data.random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="part 1 is empty"):
        data.random_split(range(1), [0.6, 0.4])


def test_sizes_of_splits_are_pytorchs():
    torch = peer("torch")
    for n in range(1, 30):
        for lengths in ([0.5, 0.5], [0.1, 0.2, 0.7], [0.33, 0.33, 0.34]):
            ours = data.random_split(range(n), lengths) if n > 9 else None
            if ours is not None:
                theirs = torch.utils.data.random_split(range(n), lengths)
                assert [len(p) for p in ours] == [len(p) for p in theirs]


# -- samplers ------------------------------------------------------------------------------------
def seeded(n=0):
    return lg.Generator().manual_seed(n)


@pytest.mark.parametrize(
    "make",
    [
        lambda g: data.RandomSampler(range(20), generator=g),
        lambda g: data.RandomSampler(range(20), replacement=True, num_samples=50, generator=g),
        lambda g: data.SubsetRandomSampler(list(range(5, 25)), generator=g),
        lambda g: data.WeightedRandomSampler(range(1, 21), 30, generator=g),
        lambda g: data.WeightedRandomSampler(range(1, 21), 20, replacement=False, generator=g),
        lambda g: data.BatchSampler(data.RandomSampler(range(20), generator=g), 3, False),
    ],
)
def test_random_samplers(make):
    sampler = make(seeded(1))
    first, second = list(sampler), list(sampler)
    assert len(first) == len(sampler)
    assert first != second
    assert list(make(seeded(1))) == first
    lg.manual_seed(5)
    a = list(make(None))
    lg.manual_seed(5)
    assert list(make(None)) == a
    order = sampler.draw()
    assert list(sampler.begin(order)) == list(sampler.begin(order))


def test_what_samplers_visit():
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(data.RandomSampler(range(9))) == list(range(9))
    many = Counter(data.RandomSampler(range(3), num_samples=7))
    assert sum(many.values()) == 7 and min(many.values()) >= 2  # whole permutations, then a part of one
    drawn = Counter(data.RandomSampler(range(4), replacement=True, num_samples=9000, generator=seeded()))
    assert all(abs(n - 2250) < 250 for n in drawn.values())
    drawn = Counter(data.WeightedRandomSampler([0.0, 1.0, 3.0], 8000, generator=seeded()))
    assert drawn[0] == 0 and abs(drawn[2] - 6000) < 200
    assert sorted(data.WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    assert list(data.RandomSampler([])) == []
    assert list(data.BatchSampler("abcde", 2, True)) == [["a", "b"], ["c", "d"]]
    assert [len(data.BatchSampler(range(n), 3, drop)) for n in (6, 7) for drop in (True, False)] == [2, 2, 2, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: data.RandomSampler("a", num_samples=-1),
        lambda: data.RandomSampler("a", num_samples=1.5),
        lambda: data.RandomSampler("a", replacement=1),
        lambda: data.WeightedRandomSampler([1], 0),
        lambda: data.WeightedRandomSampler([[1]], 1),
        lambda: data.WeightedRandomSampler([1], 1, 1),
        lambda: data.BatchSampler("a", 0, False),
        lambda: data.BatchSampler("a", True, False),
        lambda: data.BatchSampler("a", 1, 1),
    ],
)
def test_samplers_check_their_arguments(wrong):
    with pytest.raises((ValueError, TypeError), match="Sampler: "):
        wrong()


# -- collation -----------------------------------------------------------------------------------
BATCHES = [
    [1, 2],
    [0.5, 1.5],
    [True, False],
    ["a", "b"],
    [b"a", b"b"],
    [np.float32(1), np.float32(2)],
    [np.float64(1), np.float64(2)],
    [np.int8(1), np.int8(2)],
    [np.arange(3), np.arange(3)],
    [np.array(True), np.array(False)],
    [(1, "a"), (2, "b")],
    [[1, 2.5], [3, 4.5]],
    [{"x": 1, "y": [2.5]}, {"x": 3, "y": [4.5]}],
    [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)],
    [Point(1, 2.5), Point(3, 4.5)],
    [{"p": Point(np.ones(2), "s"), "q": ()}] * 2,
]


def plain(batch):
    """A batch of either library as plain data."""
    if type(batch).__module__.startswith(("torch", "lucidgrad")):
        return str(batch.dtype).removeprefix("torch."), batch.tolist()
    if isinstance(batch, dict):
        return type(batch).__name__, [(k, plain(v)) for k, v in batch.items()]
    if isinstance(batch, (list, tuple)):
        return type(batch).__name__, [plain(v) for v in batch]
    return batch


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_collation_is_pytorchs(batch):
    torch = peer("torch")
    assert plain(data.default_collate(batch)) == ask(torch.utils.data, lambda d: plain(d.default_collate(batch)))
    for sample in batch:
        theirs = ask(torch.utils.data, lambda d, sample=sample: plain(d.default_convert(sample)))
        assert plain(data.default_convert(sample)) == theirs


def test_collation():
    made = data.default_collate(
        [{"x": lg.ones(2), "n": 1, "p": Point(1.5, "a")}, {"x": lg.zeros(2), "n": 2, "p": Point(0.5, "b")}]
    )
    assert made["x"].tolist() == [[1, 1], [0, 0]] and made["n"].dtype == lg.int64
    assert type(made["p"]) is Point and made["p"].x.dtype == lg.float64 and made["p"].y == ("a", "b")


def test_dataclasses():
    made = data.default_collate([Example(np.ones(2), "a"), Example(np.zeros(2), "b")])
    assert type(made) is Example and made.x.tolist() == [[1, 1], [0, 0]] and made.label == ["a", "b"]
    assert isinstance(data.default_convert(Example(np.ones(2), "a")).x, lg.Tensor)


def test_what_cannot_be_collated():
    with pytest.raises(TypeError, match="samples of type object"):
        data.default_collate([object(), object()])
    with pytest.raises(RuntimeError, match=r"lengths \[1, 2\]"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(TypeError):
        data.default_collate([np.array(["a"]), np.array(["b"])])
