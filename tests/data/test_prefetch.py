"""Copies to a device beside the work on the batch before. In lazy mode work runs only when something waits for it."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.utils import data


def rows(n=6, width=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, width))


def test_batches_are_on_the_device():
    values = rows(5)
    loader = data.DataLoader(
        [{"x": row, "i": i, "s": "a"} for i, row in enumerate(values)], batch_size=2, device="cuda"
    )
    found = list(loader)
    assert len(found) == len(loader) == 3
    assert all(str(b["x"].device) == "cuda:0" and b["x"].dtype == lg.float64 for b in found)
    np.testing.assert_array_equal(np.concatenate([b["x"].numpy(force=True) for b in found]), values)
    assert [b["i"].tolist() for b in found] == [[0, 1], [2, 3], [4]] and found[0]["s"] == ["a", "a"]


def test_with_workers():
    values = rows()
    loader = data.DataLoader(data.TensorDataset(lg.asarray(values)), batch_size=2, num_workers=1, device="cuda")
    np.testing.assert_array_equal(np.concatenate([b[0].numpy(force=True) for b in loader]), values)


@pytest.mark.parametrize("waits", [True, False])
def test_the_current_stream_waits_for_the_copy(lazy, waits, monkeypatch):
    if not waits:
        monkeypatch.setattr(lg.cuda.Stream, "wait_event", lambda *_: None)
    values = rows(seed=3)
    loader = data.DataLoader(values, batch_size=2, device="cuda")
    sums = [(batch * 2).numpy(force=True) for batch in loader]
    assert np.array_equal(np.concatenate(sums), values * 2) == waits


@pytest.mark.parametrize("told", [True, False])
def test_memory_is_not_reused_while_a_batch_is_in_use(lazy, told, monkeypatch):
    if not told:
        monkeypatch.setattr(lg.Tensor, "record_stream", lambda *_: None)
    values = rows(8, seed=4)
    lg.cuda.empty_cache()
    epoch = iter(data.DataLoader(values, batch_size=2, device="cuda"))
    side = epoch._source.stream
    doubled = []
    for batch in epoch:
        doubled.append(batch * 2)  # not yet done ...
        del batch  # ... and its memory is free for the copy after the next
    side.synchronize()
    right = [np.array_equal(d.numpy(force=True), 2 * v) for d, v in zip(doubled, values.reshape(4, 2, 4), strict=True)]
    assert all(right) == told


def test_the_next_batch_is_on_its_way_while_one_is_used(lazy):
    epoch = iter(data.DataLoader(rows(), batch_size=2, device="cuda"))
    first = next(epoch)
    with cudasim.counting() as counts:
        second = next(epoch)
    assert counts.synchronisations == 0
    assert first.shape == second.shape == (2, 4)
    del epoch, second  # a copy is under way: what it reads stays
    others = [lg.zeros(2, 4, dtype=lg.float64).pin_memory() for _ in range(4)]
    cudasim.synchronise_all()
    assert all(o.sum() == 0 for o in others)


def test_an_error_comes_in_its_turn():
    class Failing(data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            if i == 2:
                raise KeyError("two")
            return i

    epoch = iter(data.DataLoader(Failing(), device="cuda"))
    assert [next(epoch).item(), next(epoch).item()] == [0, 1]
    with pytest.raises(KeyError, match="two"):
        next(epoch)


def test_going_on_counts_what_was_given():
    loader = data.DataLoader(range(8), batch_size=2, device="cuda", shuffle=True)
    epoch = iter(loader)
    next(epoch)
    fresh = data.DataLoader(range(8), batch_size=2, shuffle=True)
    fresh.load_state_dict(loader.state_dict())
    assert [b.tolist() for b in fresh] == [b.tolist() for b in epoch]
