"""Samples that several processes share."""

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad.utils.data import DataLoader, DistributedSampler


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 12, 13])
def test_shares_are_pytorchs(count, drop_last):
    torch = peer("torch")
    for replicas in (1, 2, 3, 8):
        if not count:  # PyTorch divides by zero
            continue
        for rank in range(replicas):
            words = {"num_replicas": replicas, "rank": rank, "shuffle": False, "drop_last": drop_last}
            ours = DistributedSampler(range(count), **words)
            theirs = torch.utils.data.distributed.DistributedSampler(range(count), **words)
            assert (ours.num_samples, ours.total_size) == (theirs.num_samples, theirs.total_size)
            assert np.array_equal(list(ours), np.array([int(i) for i in theirs]).reshape(-1)) and len(ours) == len(
                theirs
            )


def test_an_empty_dataset_has_empty_shares():
    assert [list(DistributedSampler([], 3, rank)) for rank in range(3)] == [[], [], []]


@pytest.mark.parametrize(("count", "replicas"), [(12, 3), (13, 3), (2, 5), (100, 7)])
def test_a_shuffled_pass_visits_all(count, replicas):
    parts = [DistributedSampler(range(count), replicas, rank, seed=5) for rank in range(replicas)]
    passes = []
    for epoch in (0, 1, 0):
        for part in parts:
            part.set_epoch(epoch)
        drawn = [list(part) for part in parts]
        assert {i for part in drawn for i in part} == set(range(count)) and len({len(part) for part in drawn}) == 1
        passes.append(drawn)
    assert passes[0] == passes[2] and (passes[0] != passes[1] or count < 4)
    other = [list(DistributedSampler(range(count), replicas, rank, seed=6)) for rank in range(replicas)]
    assert other != passes[0] or count < 4
    short = [i for r in range(replicas) for i in DistributedSampler(range(count), replicas, r, drop_last=True)]
    assert len(short) == len(set(short)) == count // replicas * replicas


def test_going_on_within_an_epoch():
    def loader():
        sampler = DistributedSampler(range(40), 2, 1, seed=3)
        return DataLoader(range(40), batch_size=3, sampler=sampler), sampler

    first, sampler = loader()
    sampler.set_epoch(4)
    batches = iter(first)
    for _ in range(3):
        next(batches)
    states = first.state_dict(), sampler.state_dict()
    rest = [batch.tolist() for batch in batches]
    sampler.set_epoch(5)
    following = [batch.tolist() for batch in first]
    again, other = loader()
    again.load_state_dict(states[0]), other.load_state_dict(states[1])
    assert other.epoch == 4 and [batch.tolist() for batch in again] == rest
    other.set_epoch(5)
    assert [batch.tolist() for batch in again] == following != rest


def test_a_share_of_other_processes_is_no_place_to_go_on():
    loaders = [DataLoader(range(8), sampler=DistributedSampler(range(8), n, 0)) for n in (2, 4)]
    next(iter(loaders[0]))
    state = loaders[0].state_dict()
    with pytest.raises(ValueError, match="state of one of 2 processes, expected 4"):
        loaders[1].load_state_dict(state)
    assert loaders[1].state_dict() == {}


def test_what_is_refused():
    for words, error in [
        ({"num_replicas": 2, "rank": 2}, "rank=2 of num_replicas=2"),
        ({"num_replicas": 2, "rank": -1}, "rank=-1"),
        ({"num_replicas": 0, "rank": 0}, "at least one replica"),
    ]:
        with pytest.raises(ValueError, match=error):
            DistributedSampler(range(4), **words)
    for name in ("num_replicas", "rank", "seed"):
        with pytest.raises(TypeError, match=f"{name} is a str, expected an integer"):
            DistributedSampler(range(4), **{name: "1"})
    with pytest.raises(ValueError, match=r"given the keys \['place'\]"):
        DistributedSampler(range(4)).load_state_dict({"place": 1})
    assert DistributedSampler(range(4)).num_replicas == 1


def test_checkpoints_hold_the_epoch(tmp_path):
    sampler, other = (DistributedSampler(range(9), 2, 0, seed=s) for s in (1, 2))
    sampler.set_epoch(3)
    lg.utils.save_checkpoint(tmp_path / "state", sampler=sampler)
    lg.utils.load_checkpoint(tmp_path / "state", sampler=other)
    assert list(other) == list(sampler)
