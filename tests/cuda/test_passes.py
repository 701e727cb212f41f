"""Passes from several streams and threads meet in one ``.grad``, in memory that is kept, and in a generator.

In lazy mode work runs only when something waits for it, the newest first: an order that nothing demands is not kept.
"""

import contextlib
import gc
import itertools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from thoroughness import seeds

import lucidgrad as lg
from lucidgrad.backends import cudasim

lazy_mode = pytest.mark.usefixtures("lazy")


def leaf_of(values):
    """A leaf whose values are there."""
    made = lg.asarray(values, device="cuda").requires_grad_()
    cudasim.synchronise_all()
    return made


def read(t):
    return t.detach().numpy(force=True)


def in_thread(run, *args):
    """What a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(run(*args)))
    thread.start()
    thread.join()
    return found[0]


@contextlib.contextmanager
def workers(count):
    """Threads, each a function that runs another there; CuPy gives memory of a thread that has ended to the next."""
    with contextlib.ExitStack() as stack:
        pools = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(count)]
        yield [lambda run, *args, pool=pool: pool.submit(run, *args).result() for pool in pools]


# -- one .grad -----------------------------------------------------------------------------------
def passes(rng, how, threads):
    """Passes from random streams, each followed by a look at .grad on its own stream; returns what was wrong."""
    x = rng.normal(size=4)
    leaf = leaf_of(x)
    streams = [lg.cuda.default_stream(), *(lg.cuda.Stream() for _ in range(2))]
    expected, wrong = np.zeros(4), []

    def one(stream, w):
        with lg.cuda.stream(stream):
            y = (lg.sin(leaf) * w).sum() if how != "foreign graph" else graphs.pop()
            if how == "retained":
                y = leaf * w
                y.retain_grad()
                y = y.sum()
            y.backward(create_graph=how == "create_graph")

    count = int(rng.integers(2, 5))
    weights = rng.normal(size=count)
    order = [streams[k] for k in rng.integers(0, len(streams), count)]
    graphs = []
    if how == "foreign graph":
        for w in weights[::-1]:
            with lg.cuda.stream(streams[int(rng.integers(0, len(streams)))]):
                graphs.append((lg.sin(leaf) * float(w)).sum())
        cudasim.synchronise_all()
    for stream, w in zip(order, weights, strict=True):
        in_thread(one, stream, float(w)) if threads else one(stream, float(w))
        expected = expected + w * (np.cos(x) if how != "retained" else 1)
    with lg.cuda.stream(order[-1]):
        found = read(leaf.grad)
    if not np.allclose(found, expected):
        wrong.append((found, expected))
    cudasim.synchronise_all()
    if not np.allclose(read(leaf.grad), expected):
        wrong.append((read(leaf.grad), expected))
    leaf.grad = None
    gc.collect()
    return wrong


@lazy_mode
@pytest.mark.parametrize("threads", [False, True], ids=["one thread", "threads"])
@pytest.mark.parametrize("how", ["plain", "create_graph", "foreign graph", "retained"])
def test_passes_from_several_streams_add_up(how, threads):
    for seed in seeds(8, 80):
        assert not passes(np.random.default_rng(seed), how, threads), f"seed {seed}"


@lazy_mode
def test_a_pass_on_the_stream_of_the_last_one_waits_for_nothing(monkeypatch):
    from lucidgrad.backends.cuda import streams

    waits = []
    monkeypatch.setattr(streams.Place, "wait_for", lambda *args: waits.append(args))
    leaf, side = leaf_of(np.ones(4)), lg.cuda.Stream()
    with lg.cuda.stream(side):
        for _ in range(3):
            lg.exp(leaf).sum().backward()
    assert not waits


@lazy_mode
def test_what_was_written_is_forgotten_with_its_array():
    from lucidgrad.backends.cuda import streams

    before = len(streams._written)
    leaf = leaf_of(np.ones(4))
    lg.exp(leaf).sum().backward()
    assert len(streams._written) == before + 1
    leaf.grad = None
    assert len(streams._written) == before


# -- each thread's default stream ------------------------------------------------------------------
@pytest.fixture
def per_thread():
    """CuPy's current stream is each thread's own default stream."""
    import cupy

    cudasim.synchronise_all()
    with cupy.cuda.Stream.ptds:
        yield cupy.cuda.Stream.ptds
    cudasim.synchronise_all()


def test_the_default_streams_of_two_threads_are_two_places(per_thread):
    from lucidgrad.backends.cuda import streams

    def find():
        with per_thread:
            return streams.place_now(0), streams.place_now(0)

    here, (first, second), (third, _) = streams.place_now(0), in_thread(find), in_thread(find)
    assert first is second
    assert len({here, first, third}) == 3
    assert here is streams.place_now(0)
    assert [place.is_foreign for place in (here, first, third)] == [False, True, True]


@lazy_mode
def test_passes_from_the_default_streams_of_threads(per_thread):
    x = np.arange(4.0)
    leaf = leaf_of(x)

    def run(w):
        with per_thread:
            (lg.exp(leaf) * w).sum().backward()

    with workers(3) as threads:
        for thread, w in zip(threads, (1.0, 2.0, 3.0), strict=True):
            thread(run, w)
        run(4.0)
        np.testing.assert_allclose(read(leaf.grad), 10 * np.exp(x))


@lazy_mode
def test_a_graph_of_another_threads_default_stream(per_thread):
    x = np.arange(4.0)
    leaf = leaf_of(x)

    def forward():
        with per_thread:
            return lg.sin(lg.exp(leaf)).sum()

    with workers(1) as (thread,):
        (g,) = lg.autograd.grad(thread(forward), leaf)
        np.testing.assert_allclose(read(g), np.cos(np.exp(x)) * np.exp(x))


# -- memory --------------------------------------------------------------------------------------
def test_what_is_kept_while_another_thread_sweeps_stays_kept():
    """Another thread keeps something between any two instructions of a sweep."""
    from lucidgrad.backends.cuda import streams

    class Pending:
        done = False

    kept = []

    def keep(frame, event, argument):
        frame.f_trace_opcodes = frame.f_code is streams.sweep.__code__
        if event == "opcode":
            kept.append(object())
            streams._leaving.append(([Pending], kept[-1]))
        return keep

    before = sys.gettrace()
    streams._leaving.append(([Pending], None))
    sys.settrace(keep)
    try:
        streams.sweep()
    finally:
        sys.settrace(before)
        found = {id(owner) for _, owner in streams._leaving}
        for entry in [entry for entry in streams._leaving if entry[0] == [Pending]]:
            streams._leaving.remove(entry)
    assert len(kept) > 10
    assert [k for k, owner in enumerate(kept) if id(owner) not in found] == []


def test_threads_keep_and_sweep_at_once():
    from lucidgrad.backends.cuda import streams

    class Event:
        def __init__(self):
            self.left = 3

        @property
        def done(self):
            self.left -= 1
            return self.left < 0

    kept, alive = itertools.count(), []

    class Place:
        def mark(self):
            return Event()

    class Owner:
        def __init__(self):
            alive.append(next(kept))

        def __del__(self):
            alive.pop()

    def run():
        for _ in range(200):
            streams.keep(Owner(), Place())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = [entry for entry in streams._leaving if type(entry[1]) is Owner]
    assert len(entries) == len(alive)
    del entries
    for _ in range(5):
        streams.sweep()
    assert not alive


@lazy_mode
def test_a_table_of_addresses_ends_with_its_stream():
    """A stream's number is given to a new one, which knows nothing of the work that wrote the table."""
    import cupy

    from lucidgrad.backends.cuda.kernels import matmul

    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(2, 3, 4, 4)) for _ in range(2))
    x, y = (leaf_of(v).detach() for v in (a.transpose(1, 0, 2, 3), b))
    x = lg.permute_dims(x, (1, 0, 2, 3))
    matmul._TABLES.clear()
    numbers, made = [], []
    for _ in range(8):
        stream = cupy.cuda.Stream(non_blocking=True)
        numbers.append(stream.ptr)
        with stream:
            made.append(lg.matmul(x, y))
        del stream
        gc.collect()
    assert matmul._TABLES
    assert len({key[0] for key in matmul._TABLES}) == len(set(numbers)) == 8
    matmul._TABLES.clear()


# -- random numbers ------------------------------------------------------------------------------
DRAWS = {
    "rand": lambda g: lg.rand(50, device="cuda", generator=g),
    "randn": lambda g: lg.randn(50, device="cuda", generator=g),
    "randint": lambda g: lg.randint(0, 2**60, (50,), device="cuda", generator=g),
}


@pytest.mark.parametrize("how", DRAWS)
def test_two_threads_draw_different_numbers(how, monkeypatch):
    """While one thread launches its kernel, another draws."""
    from lucidgrad.backends.cuda import sampling

    generator, other = lg.Generator("cuda").manual_seed(1), []
    take = sampling.Source.take

    def interrupted(self, kernel, *args):
        def meanwhile(*given):
            if not other:
                other.append(None)
                other[0] = in_thread(DRAWS[how], generator)
            kernel.plain(*given)

        return take(self, SimpleNamespace(plain=meanwhile), *args)

    monkeypatch.setattr(sampling.Source, "take", interrupted)
    first = DRAWS[how](generator)
    assert not set(read(first).tolist()) & set(read(other[0]).tolist())
    assert generator.get_state()[1] == 100


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_threads_share_one_default_generator(device, monkeypatch):
    """Two threads that both find none and make one must not begin with the same numbers."""
    from lucidgrad import random

    where, made = lg.device(device), []
    monkeypatch.delitem(random._defaults, where, raising=False)
    monkeypatch.setitem(random._seed, "value", 7)

    start = random.Generator._start

    def slowly(self, seed):
        start(self, seed)
        if not made:
            made.append(None)
            made[0] = in_thread(lambda: lg.rand(20, device=where))

    monkeypatch.setattr(random.Generator, "_start", slowly)
    mine = lg.rand(20, device=where)
    assert not set(read(mine).tolist()) & set(read(made[0]).tolist())
