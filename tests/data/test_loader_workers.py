"""Workers of a `DataLoader`: order, errors, seeds, and a clean end whatever happens."""

import gc
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.utils import data
from lucidgrad.utils.data import workers


class Squares(data.Dataset):
    def __init__(self, n=10, slow=()):
        self.n, self.slow = n, slow

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i in self.slow:
            time.sleep(0.2)
        return i * i


class Share(data.IterableDataset):
    """Each worker gives its share of the numbers below n."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


class Failing(Squares):
    def __init__(self, error):
        super().__init__(6)
        self.error = error

    def __getitem__(self, i):
        if i == 3:
            raise self.error
        return i


class Deadly(Squares):
    def __getitem__(self, i):
        if i == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return i


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} {b}")


class Random(Squares):
    def __getitem__(self, i):
        import random

        info = data.get_worker_info()
        return np.array(
            [
                lg.rand(()).item(),
                random.random(),
                np.random.rand(),  # noqa: NPY002
                info.seed % 2**32,
            ]
        )


def lists(loader):
    return [batch.tolist() for batch in loader]


def children():
    """Processes of this one that live, by /proc: zombies don't count."""
    import multiprocessing

    return multiprocessing.active_children()


@pytest.fixture(autouse=True)
def nobody_left():
    yield
    gc.collect()
    end = time.monotonic() + 10
    while children() and time.monotonic() < end:
        time.sleep(0.05)
    assert children() == []


# -- order ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [0, 1, 10])
@pytest.mark.parametrize("count", [1, 3])
def test_the_order_is_that_of_one_process(n, count):
    options = dict(batch_size=3, drop_last=False)
    assert lists(data.DataLoader(Squares(n), num_workers=count, **options)) == lists(
        data.DataLoader(Squares(n), **options)
    )


def test_a_slow_worker_changes_nothing():
    loader = data.DataLoader(Squares(8, slow=(0, 3)), num_workers=2, batch_size=1)
    assert lists(loader) == [[i * i] for i in range(8)]


def test_shuffling_does_not_depend_on_workers():
    lg.manual_seed(3)
    here = data.DataLoader(Squares(), shuffle=True, batch_size=3)
    expected = [lists(here), lists(here)]
    lg.manual_seed(3)
    there = data.DataLoader(Squares(), shuffle=True, batch_size=3, num_workers=2)
    assert [lists(there), lists(there)] == expected


def test_streams():
    assert lists(data.DataLoader(Share(7), num_workers=2, batch_size=2)) == [[0, 2], [1, 3], [4, 6], [5]]
    assert lists(data.DataLoader(Share(7), num_workers=2, batch_size=2, drop_last=True)) == [[0, 2], [1, 3], [4, 6]]
    assert list(data.DataLoader(Share(5), num_workers=2, batch_size=None)) == [0, 1, 2, 3, 4]
    assert list(data.DataLoader(Share(0), num_workers=2, batch_size=None)) == []
    kept = data.DataLoader(Share(5), num_workers=2, batch_size=2, persistent_workers=True)
    assert lists(kept) == lists(kept) == [[0, 2], [1, 3], [4]]


def test_streams_in_pytorch():
    torch = pytest.importorskip("torch")

    class Theirs(torch.utils.data.IterableDataset):
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            return iter(range(info.id, self.n, info.num_workers))

    for n, count, size in ((7, 2, 2), (3, 3, 2), (10, 3, 1)):
        theirs = torch.utils.data.DataLoader(Theirs(n), num_workers=count, batch_size=size)
        assert lists(data.DataLoader(Share(n), num_workers=count, batch_size=size)) == lists(theirs)


def test_batches_of_all_kinds_arrive():
    sample = {
        "x": lg.randn(300, 300),
        "e": lg.zeros(0, 2),
        "n": np.arange(3),
        "s": "a",
        "f": np.asfortranarray(np.eye(3)),
    }
    (batch,) = data.DataLoader([sample] * 2, batch_size=2, num_workers=1)
    here = data.default_collate([sample] * 2)
    for name, value in here.items():
        if name == "s":
            assert batch[name] == value
        else:
            assert batch[name].dtype == value.dtype
            np.testing.assert_array_equal(batch[name].numpy(), value.numpy())
    batch["x"].add_(1)  # it can be written


def test_tasks_larger_than_a_pipe():
    """A worker that sends a large batch while a large task is sent to it."""
    order = [list(range(60000))] * 6
    loader = data.DataLoader(np.arange(60000), batch_sampler=order, num_workers=1, collate_fn=np.asarray)
    assert [len(batch) for batch in loader] == [60000] * 6


def test_going_on_within_an_epoch():
    for make in (
        lambda: data.DataLoader(Squares(), shuffle=True, batch_size=3, num_workers=2),
        lambda: data.DataLoader(Share(10), batch_size=3, num_workers=2),
    ):
        loader = make()
        epoch = iter(loader)
        next(epoch), next(epoch)
        fresh = make()
        fresh.load_state_dict(loader.state_dict())
        assert lists(fresh) == lists(epoch)


# -- seeds and what a worker knows ---------------------------------------------------------------
def test_seeds():
    def draw():
        lg.manual_seed(5)
        loader = data.DataLoader(Random(6), batch_size=1, num_workers=2)
        return lists(loader), lists(loader)

    a, b = draw()
    assert (a, b) == draw()
    numbers = [x for epoch in (a, b) for batch in epoch for row in batch for x in row[:3]]
    assert len(set(numbers)) == len(numbers)  # workers and epochs differ
    seeds = {row[3] for batch in a for row in batch}
    assert len(seeds) == 2 and (max(seeds) - min(seeds)) % 2**32 in (1, 2**32 - 1)


def test_persistent_workers_are_seeded_anew_in_each_epoch():
    def draw(persistent):
        lg.manual_seed(5)
        loader = data.DataLoader(Random(4), num_workers=2, persistent_workers=persistent)
        return [lists(loader), lists(loader)]

    assert draw(True) == draw(False)


def remember(worker):
    global started
    started = worker + 100


class Started(Squares):
    def __getitem__(self, i):
        info = data.get_worker_info()
        assert len(info.dataset) == self.n and lg.random._seed["value"] == info.seed
        return (started, info.id, info.num_workers)


def test_worker_init_fn_and_info():
    loader = data.DataLoader(Started(4), num_workers=2, worker_init_fn=remember, batch_size=1)
    assert [[int(x) for x in batch] for batch in loader] == [[100, 0, 2], [101, 1, 2]] * 2
    assert data.get_worker_info() is None


@pytest.mark.slow
def test_spawn():
    loader = data.DataLoader(Squares(4), num_workers=1, batch_size=2, multiprocessing_context="spawn")
    assert lists(loader) == [[0, 1], [4, 9]]


# -- persistence ---------------------------------------------------------------------------------
class Process(Squares):
    def __getitem__(self, i):
        return os.getpid()


def test_persistent_workers():
    kept = data.DataLoader(Process(), num_workers=2, persistent_workers=True)
    first = {x for batch in lists(kept) for x in batch}
    early = iter(kept)
    next(early)
    assert {x for batch in lists(kept) for x in batch} == first  # batches of the epoch that was left are not given
    with pytest.raises(RuntimeError, match="a later epoch"):
        next(early)
    fresh = data.DataLoader(Process(), num_workers=2)
    assert lists(fresh) != lists(fresh)


# -- errors --------------------------------------------------------------------------------------
def test_an_exception_comes_with_the_workers_traceback():
    loader = iter(data.DataLoader(Failing(ValueError("no such sample")), num_workers=2, batch_size=1))
    assert [next(loader).item() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="^no such sample$") as caught:
        next(loader)
    cause = str(caught.value.__cause__)
    assert "DataLoader worker 1" in cause and "__getitem__" in cause and "raise self.error" in cause
    assert [b.item() for b in loader] == [4, 5]  # as in PyTorch, the others follow


@pytest.mark.parametrize(
    ("error", "kind"), [(Odd("a", "b"), RuntimeError), (StopIteration(), RuntimeError), (KeyError("k"), KeyError)]
)
def test_odd_exceptions(error, kind):
    with pytest.raises(kind, match="Odd|StopIteration|k"):
        list(data.DataLoader(Failing(error), num_workers=1))


def broken(worker):
    raise OSError("no disk")


def test_an_exception_at_the_start():
    with pytest.raises(OSError, match="no disk"):
        list(data.DataLoader(Squares(), num_workers=1, worker_init_fn=broken))


def test_a_batch_that_cannot_be_sent():
    loader = data.DataLoader(Squares(2), num_workers=1, collate_fn=lambda samples: lambda: samples)
    with pytest.raises(Exception, match="pickle|local object"):
        list(loader)


def test_a_timeout():
    loader = data.DataLoader(Squares(4, slow=(0,)), num_workers=1, timeout=0.05)
    with pytest.raises(RuntimeError, match="within 0.05 seconds"):
        list(loader)


def test_a_killed_worker():
    loader = data.DataLoader(Deadly(), num_workers=2, batch_size=1)
    found = []
    with pytest.raises(RuntimeError, match=r"worker 1 \(process \d+\) was killed by signal SIGKILL"):
        found.extend(batch.item() for batch in loader)
    assert len(found) <= 3
    kept = data.DataLoader(Deadly(), num_workers=1, persistent_workers=True)
    for _ in range(2):  # new workers are started after that
        with pytest.raises(RuntimeError, match="SIGKILL"):
            list(kept)


# -- the end -------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 200_000])
def test_a_dropped_iterator_ends_its_workers(size):
    loader = data.DataLoader([np.zeros(size)] * 20, num_workers=2)
    epoch = iter(loader)
    next(epoch)
    processes = children()
    assert len(processes) == 2
    start = time.monotonic()
    del epoch
    gc.collect()
    assert children() == []
    assert [process.exitcode for process in processes] == [0, 0]
    assert time.monotonic() - start < workers._PATIENCE


def test_an_interrupt_ends_the_workers(monkeypatch):
    epoch = iter(data.DataLoader(Squares(), num_workers=2))
    next(epoch)

    def interrupt(self, timeout):
        raise KeyboardInterrupt

    monkeypatch.setattr(workers.Pool, "receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        for _ in epoch:
            pass
    assert children() == []


def test_a_stubborn_worker_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "_PATIENCE", 0.2)

    class Stubborn(Squares):
        def __getitem__(self, i):
            if i:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(1000)
            return i

    epoch = iter(data.DataLoader(Stubborn(), num_workers=1))
    next(epoch)
    del epoch
    gc.collect()
    assert children() == []


SCRIPT = """
import os, sys, time
from lucidgrad.utils import data

class Process(data.Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, i):
        return os.getpid()

loader = data.DataLoader(Process(), num_workers=2, persistent_workers=True)
epoch = iter(loader)
print(*{int(next(epoch)), int(next(epoch))}, flush=True)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), 9)
if sys.argv[1] == "raise":
    raise SystemExit(3)
"""


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks processes up in /proc")
@pytest.mark.parametrize(("how", "code"), [("end", 0), ("raise", 3), ("kill", -9)])
def test_the_end_of_the_program(how, code):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", SCRIPT, how], env=env, capture_output=True, text=True, timeout=60)
    assert ended.returncode == code
    assert ended.stderr == ""
    processes = [int(word) for word in ended.stdout.split()]
    assert len(processes) == 2
    end = time.monotonic() + 10
    while any(map(alive, processes)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(alive, processes))


class FirstWaits(data.Dataset):
    """The first sample is there when a file is."""

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 4

    def __getitem__(self, i):
        while i == 0 and not self.path.exists():
            time.sleep(0.01)
        return i


def test_a_batch_that_is_ready_need_not_wait(tmp_path):
    path = tmp_path / "now"
    batches = iter(data.DataLoader(FirstWaits(path), num_workers=2, in_order=False, timeout=60))
    first = next(batches).item()
    assert first == 1
    path.touch()
    assert sorted([first, *(batch.item() for batch in batches)]) == [0, 1, 2, 3]
