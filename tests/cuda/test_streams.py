"""S001-33 with real streams, in lazy mode: work runs only when something waits for it, so every missing wait shows.

Each scenario is run as it is, and once for each pair of streams of which one waits for the other, without these waits:
then the result must be wrong. Waits that nothing needs would be found the same way.
"""

import contextlib
import gc
import itertools

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim

pytestmark = pytest.mark.usefixtures("lazy")
_seeds = itertools.count(1)


def draw():
    """Fresh values, so that what an earlier run left in memory is never right."""
    return np.random.default_rng(next(_seeds)).normal(size=4)


def place():
    from lucidgrad.backends.cuda.streams import Place

    return Place


@pytest.fixture
def waits(monkeypatch):
    """A list of the waits, by the names of the streams; those of the pair `waits.without` are left out."""

    class Waits(list):
        without = None

    made, wait_for = Waits(), place().wait_for

    def recorded(self, other, arrays=()):
        made.append((name(self), name(other)))
        if made[-1] != made.without:
            wait_for(self, other, arrays)

    monkeypatch.setattr(place(), "wait_for", recorded)
    return made


def on_device(x):
    """A leaf whose values are there."""
    made = lg.asarray(x, device="cuda").requires_grad_()
    cudasim.synchronise_all()
    return made


_used = []


def name(place):
    """The name of a stream: its number in the scenario, or the device whose default stream it is."""
    return next((k for k, stream in enumerate(_used) if stream.place is place), f"cuda:{place.device}")


def new(device=None):
    """A stream of a scenario."""
    _used.append(lg.cuda.Stream(device))
    return _used[-1]


def read(t):
    """The values, read on the current stream as a user does."""
    return t.detach().numpy(force=True)


def weights(device="cuda:0", n=4):
    """What backward starts from: new values, and a function that computes them on the current stream."""
    values = draw()[:n]
    kept = lg.asarray(values / 2, device=device)
    cudasim.synchronise_all()
    return values, lambda: kept * 2


# -- scenarios: each returns a function to run (its waits are counted) and what must come out --------
def chain(x):
    """33a, b, c, d: forward on two streams, backward from a third."""
    leaf, one, two = on_device(x), new(), new()
    with lg.cuda.stream(one):
        a = lg.exp(leaf)
    two.wait_event(one.record_event())
    with lg.cuda.stream(two):
        b = lg.sin(a)
    cudasim.synchronise_all()
    w, seed = weights()
    return lambda: lg.autograd.grad(b, leaf, seed())[0], w * np.cos(np.exp(x)) * np.exp(x)


def diamond(x):
    """33b: two streams send cotangents to one tensor, whose sum waits for both."""
    leaf, one, two = on_device(x), new(), new()
    m = leaf * 2.0
    cudasim.synchronise_all()
    with lg.cuda.stream(one):
        a = lg.exp(m)
    with lg.cuda.stream(two):
        b = lg.sin(m)
    cudasim.synchronise_all()
    y = a + b
    cudasim.synchronise_all()
    w, seed = weights()
    return lambda: lg.autograd.grad(y, leaf, seed())[0], 2 * w * (np.exp(2 * x) + np.cos(2 * x))


def interior(x):
    """33d: the gradient of an interior tensor, captured on the stream that made it."""
    leaf, one, two = on_device(x), new(), new()
    with lg.cuda.stream(one):
        m = lg.exp(leaf)
    cudasim.synchronise_all()
    with lg.cuda.stream(two):
        y = lg.sin(m)
    cudasim.synchronise_all()
    w, seed = weights()
    return lambda: lg.autograd.grad(y, m, seed())[0], w * np.cos(np.exp(x))


def accumulation(x):
    """Into .grad on the current stream, which is none of those that ran."""
    leaf, one, now = on_device(x), new(), new()
    with lg.cuda.stream(one):
        y = lg.exp(leaf)
    cudasim.synchronise_all()
    leaf.grad = lg.ones_like(leaf)
    w, seed = weights()

    def run():
        with lg.cuda.stream(now):
            y.backward(seed())
            return leaf.grad

    return run, 1 + w * np.exp(x), now


def second_order(x):
    """The rules that a graph was made from wait, too."""
    leaf, one = on_device(x), new()
    with lg.cuda.stream(one):
        y = lg.exp(leaf)
    cudasim.synchronise_all()
    w, seed = weights()
    return lambda: lg.autograd.grad(y, leaf, seed(), create_graph=True)[0], w * np.exp(x)


def hooks(x):
    """A hook of a leaf runs on the stream of the caller."""
    leaf, one = on_device(x), new()
    leaf.register_hook(lambda g: g * 10)
    with lg.cuda.stream(one):
        y = lg.exp(leaf)
    cudasim.synchronise_all()
    w, seed = weights()
    return lambda: lg.autograd.grad(y, leaf, seed())[0], 10 * w * np.exp(x)


def fork(x):
    """An operation with several outputs."""
    leaf, one, two, three = on_device(x), new(), new(), new()
    with lg.cuda.stream(one):
        first, second = lg.split(leaf * 2.0, 2)
    cudasim.synchronise_all()
    with lg.cuda.stream(two):
        first = first * 3.0
    with lg.cuda.stream(three):
        second = second * 1.0
    cudasim.synchronise_all()
    y = first + second
    cudasim.synchronise_all()
    w, seed = weights(n=2)
    return lambda: lg.autograd.grad(y, leaf, seed())[0], np.concatenate([6 * w, 2 * w])


def to_the_host_and_back(x):
    """The backward of a copy to the host is a copy to the device, on the stream of the first."""
    leaf, one = on_device(x), new()
    m = leaf * 2.0
    cudasim.synchronise_all()
    with lg.cuda.stream(one):
        y = lg.sin(m.cpu())
    return lambda: lg.autograd.grad(y, leaf, lg.ones_like(y))[0], 2 * np.cos(2 * x)


# Between two devices a copy on default streams waits for all work of both; on other streams it must be told to.
def both_devices():
    """A stream of each device, and a context in which they are the current ones."""
    one, two = new("cuda:0"), new("cuda:1")

    @contextlib.contextmanager
    def current():
        with lg.cuda.stream(two), lg.cuda.stream(one):
            yield

    return one, two, current


def between_devices(x):
    """Both devices' streams wait for a copy between them."""
    leaf, (one, _, current) = on_device(x), both_devices()
    with current():
        y = lg.exp((leaf * 2.0).to("cuda:1"))
    w, seed = weights("cuda:1")

    def run():
        with current():
            return lg.autograd.grad(y, leaf, seed())[0]

    return run, 2 * w * np.exp(2 * x), one


def sum_of_devices(x):
    """Cotangents from two devices meet on the device of their tensor."""
    leaf, (one, _, current) = on_device(x), both_devices()
    with current():
        m = leaf * 2.0
        y = lg.exp(m.to("cuda:1")).to("cuda:0") + lg.sin(m)
    w, seed = weights()

    def run():
        with current():
            return lg.autograd.grad(y, leaf, seed())[0]

    return run, 2 * w * (np.exp(2 * x) + np.cos(2 * x)), one


def forward_between_devices(x):
    """A copy is ready for the stream of the target."""
    leaf, (_, two, current) = on_device(x).detach(), both_devices()

    def run():
        with current():
            return (leaf * 2.0).to("cuda:1") + 1

    return run, 2 * x + 1, two


SCENARIOS = [
    chain, diamond, interior, accumulation, second_order, hooks, fork, to_the_host_and_back, between_devices,
    sum_of_devices, forward_between_devices,
]  # fmt: skip


def orders(scenario):
    """Which stream's work is done first: that of a stream of the scenario, of a device, or what is read."""
    _used.clear()
    scenario(draw())
    cudasim.synchronise_all()
    return [None, *range(len(_used)), "cuda:0", "cuda:1"]


def outcome(scenario, waits, first, without=None):
    """Whether a scenario gives the right values, and who waited for whom."""
    lg.cuda.empty_cache()
    _used.clear()
    run, expected, *on = scenario(draw())
    waits.clear()
    waits.without = without
    try:
        made = run()
        if first is not None:
            (_used[first] if type(first) is int else lg.cuda.default_stream(first)).synchronize()
        with lg.cuda.stream(on[0] if on else None):
            found = read(made)
    finally:
        waits.without = None
        cudasim.synchronise_all()
    return np.allclose(found, expected, rtol=1e-5), sorted(set(waits), key=str)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_S001_33_results_are_right_and_every_wait_is_needed(scenario, waits, second):
    ways = orders(scenario)
    results = [outcome(scenario, waits, first) for first in ways]
    assert [right for right, _ in results] == [True] * len(ways)
    pairs = results[0][1]
    idle = [pair for pair in pairs if all(outcome(scenario, waits, first, without=pair)[0] for first in ways)]
    assert len(pairs) > len(idle)
    assert idle == MEMORY.get(scenario.__name__, []), f"of the waits {pairs}, {idle} are not missed"


#: Waits that protect memory instead of values: before a copy the source waits for the target. They have their own test.
MEMORY = {"between_devices": [(1, 0)], "forward_between_devices": [(0, 1)]}


def test_S001_33e_one_stream_needs_no_wait(waits):
    leaf = on_device(draw())
    y = lg.sin(lg.exp(leaf) + leaf).sum()
    y.backward()
    assert waits == []
    side = lg.cuda.Stream()
    with lg.cuda.stream(side):
        leaf = on_device(draw())
        lg.sin(lg.exp(leaf) + leaf).sum().backward()
    assert waits == []


def test_S001_33a_rules_run_on_the_stream_of_their_forward(monkeypatch):
    leaf, side = on_device(draw()), lg.cuda.Stream()
    with lg.cuda.stream(side):
        y = lg.exp(leaf)
    seen = []
    y.grad_fn.register_prehook(lambda g: seen.append(lg.cuda.current_stream()))
    lg.autograd.grad(y, leaf, lg.ones_like(y))
    assert seen == [side]
    assert lg.cuda.current_stream() == lg.cuda.default_stream()


def test_the_current_stream_and_device_are_restored(second):
    leaf, side = on_device(draw()), lg.cuda.Stream(second)
    with lg.cuda.stream(side):
        assert lg.cuda.current_device() == 1
        y = lg.exp(leaf.to(second))
    assert lg.cuda.current_device() == 0
    leaf.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert lg.cuda.current_device() == 0
    assert lg.cuda.current_stream(1) == lg.cuda.default_stream(1)


# -- memory that several streams use -------------------------------------------------------------
def reuse(stream, count=6):
    """Write garbage into whatever memory a stream gets."""
    with lg.cuda.stream(stream):
        made = [lg.full((4,), -7.0, dtype="float64", device="cuda") for _ in range(count)]
    stream.synchronize()
    return made


def cotangent_crosses(x):
    """A cotangent made on one stream is used on another, and dropped before that has happened."""
    leaf, one, two = on_device(x), lg.cuda.Stream(), lg.cuda.Stream()
    with lg.cuda.stream(one):
        a = lg.exp(leaf)
    cudasim.synchronise_all()
    with lg.cuda.stream(two):
        b = lg.sin(a)
    cudasim.synchronise_all()
    (g,) = lg.autograd.grad(b, leaf, lg.ones_like(b))
    return g, two, np.cos(np.exp(x)) * np.exp(x)


def test_memory_of_a_cotangent_is_kept_while_another_stream_uses_it():
    x = draw()
    g, stream, expected = cotangent_crosses(x)
    garbage = reuse(stream)
    np.testing.assert_allclose(read(g), expected, rtol=1e-6)
    assert len(garbage) == 6


def test_without_it_memory_is_reused_too_early(monkeypatch):
    from lucidgrad.backends.cuda import streams

    monkeypatch.setattr(streams, "hold", lambda array, place: None)
    g, stream, expected = cotangent_crosses(draw())
    garbage = reuse(stream)
    assert not np.allclose(read(g), expected, rtol=1e-6)
    assert len(garbage) == 6


@pytest.mark.parametrize("told", [True, False])
def test_record_stream(told):
    values, side = draw(), lg.cuda.Stream()
    x = on_device(values).detach() + 0
    cudasim.synchronise_all()
    with lg.cuda.stream(side):
        y = x * 2
    if told:
        x.record_stream(side)
    del x
    reuse(lg.cuda.default_stream())
    side.synchronize()
    assert np.allclose(read(y), 2 * values) == told


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_copy_waits_for_what_used_its_memory_before(waits_first, monkeypatch, second):
    values = draw()
    source, (one, two, current) = on_device(draw()).detach(), both_devices()
    with current():
        used = lg.asarray(values, device=second)
        cudasim.synchronise_all()
        doubled = used * 2
        del used
        if not waits_first:
            monkeypatch.setattr(place(), "wait_for", lambda self, other, arrays=(): None)
        copies = [source.to(second) for _ in range(4)]
        one.synchronize()
    with lg.cuda.stream(two):
        assert np.allclose(read(doubled), 2 * values) == waits_first
    assert len(copies) == 4


def test_held_memory_is_given_back():
    gc.collect()  # what the tests before left
    for _ in range(3):
        cotangent_crosses(draw())
    lg.cuda.synchronize()
    lg.cuda.synchronize()
    from lucidgrad.backends.cuda import streams

    assert not streams._shared
    assert not streams._leaving


# -- streams and events ---------------------------------------------------------------------------
def test_streams_and_events():
    one, two = lg.cuda.Stream(), lg.cuda.Stream(priority=-1)
    assert one != two
    assert lg.cuda.current_stream() == lg.cuda.default_stream()
    with one:
        assert lg.cuda.current_stream() == one
        x = lg.ones(2, device="cuda") * 3
        event = one.record_event(lg.cuda.Event(enable_timing=True))
    assert lg.cuda.current_stream() == lg.cuda.default_stream()
    two.wait_event(event)
    with lg.cuda.stream(two):
        y = x + 1
    end = two.record_event(lg.cuda.Event(enable_timing=True))
    end.synchronize()
    assert end.query()
    assert event.elapsed_time(end) >= 0
    assert one.query()
    lg.cuda.current_stream().wait_stream(two)
    assert y.tolist() == [4.0, 4.0]
    with lg.cuda.stream(None):
        assert lg.cuda.current_stream() == lg.cuda.default_stream()


def test_nodes_keep_their_streams_alive():
    x = on_device(draw())
    with lg.cuda.stream(lg.cuda.Stream()):
        y = lg.exp(x)
    others = [lg.cuda.Stream() for _ in range(4)]
    cudasim.synchronise_all()
    (g,) = lg.autograd.grad(y, x, lg.ones_like(y))
    np.testing.assert_allclose(read(g), np.exp(read(x)))
    assert len(others) == 4
