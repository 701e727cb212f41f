"""Lazy mode: what nobody waits for has not happened yet."""

import numpy as np
import pytest

from lucidgrad.backends import cudasim

SIZE = 1000


@pytest.fixture(autouse=True)
def lazy(xp):
    xp.asarray(np.zeros(SIZE)).get()  # compiled and set up before
    with cudasim.lazy():
        yield


def pinned(xp, size=SIZE):
    return np.frombuffer(xp.cuda.alloc_pinned_memory(8 * size), "float64", size)


def test_a_copy_that_nobody_waits_for_has_not_arrived(xp):
    host, stream = pinned(xp), xp.cuda.Stream(non_blocking=True)
    host[...] = 0
    x = xp.ones(SIZE)
    xp.cuda.Device().synchronize()
    x.get(stream=stream, out=host, blocking=False)
    assert (host == 0).all()
    stream.synchronize()
    assert (host == 1).all()


def test_a_missing_wait_between_streams_shows(xp):
    first, second = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream(non_blocking=True)
    x = xp.zeros(SIZE)
    y = xp.zeros(SIZE)
    xp.cuda.Device().synchronize()
    with first:
        x += 1
    with second:
        y += x  # must wait for the first stream, but doesn't
    second.synchronize()
    assert (y.get(stream=second) == 0).all()
    first.synchronize()


def test_a_wait_between_streams_is_honoured(xp):
    first, second = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream(non_blocking=True)
    x = xp.zeros(SIZE)
    y = xp.zeros(SIZE)
    xp.cuda.Device().synchronize()
    with first:
        x += 1
        event = first.record()
    with second:
        second.wait_event(event)
        y += x
    second.synchronize()
    assert (y.get(stream=second) == 1).all()


def test_a_missing_wait_shows_though_its_stream_waits_in_turn(xp):
    """The second stream is asked, which has work in front of the wait for the first; that must not help the first."""
    first, second = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream(non_blocking=True)
    for waits in (True, False):
        x = xp.zeros(SIZE)
        y = xp.zeros(SIZE)
        xp.cuda.Device().synchronize()
        with second:
            x += 1
        if waits:
            first.wait_event(second.record())
        with first:
            y += x
        second.wait_event(first.record())
        with second:
            y += 1
        assert (y.get(stream=second) == 1 + waits).all()


def test_an_event_waits_for_what_was_before_it_only(xp):
    stream, host = xp.cuda.Stream(non_blocking=True), pinned(xp)
    x = xp.zeros(SIZE)
    xp.cuda.Device().synchronize()
    host[...] = 0
    with stream:
        x += 1
        event = stream.record()
        x.get(stream=stream, out=host, blocking=False)
    event.synchronize()
    assert (host == 0).all()
    stream.synchronize()
    assert (host == 1).all()


def test_the_legacy_stream_waits_for_blocking_streams(xp):
    blocking = xp.cuda.Stream()
    x = xp.zeros(SIZE)
    with blocking:
        x += 1
    with xp.cuda.Stream.null:
        y = x * 2
        assert (y.get() == 2).all()


def test_pageable_memory_is_read_at_once(xp):
    stream, host, x = xp.cuda.Stream(non_blocking=True), np.ones(SIZE), xp.zeros(SIZE)
    xp.cuda.Device().synchronize()
    x.set(host, stream=stream)
    host[...] = 5
    stream.synchronize()
    assert (x.get() == 1).all()


def test_pinned_memory_that_is_reused_too_early_shows(xp):
    stream, host, x = xp.cuda.Stream(non_blocking=True), pinned(xp), xp.zeros(SIZE)
    xp.cuda.Device().synchronize()
    host[...] = 1
    x.set(host, stream=stream)
    host[...] = 5  # the copy may still be under way
    stream.synchronize()
    assert (x.get() == 5).all()


def test_streams_and_events_are_not_done(xp):
    stream, x = xp.cuda.Stream(non_blocking=True), xp.zeros(SIZE)
    xp.cuda.Device().synchronize()
    seen = []
    with stream:
        x += 1
        stream.launch_host_func(seen.append, 1)
    assert seen == []
    stream.synchronize()
    assert stream.done
    assert seen == [1]


def test_the_end_of_the_block_runs_everything(xp):
    host, x = pinned(xp), xp.ones(SIZE)
    stream = xp.cuda.Stream(non_blocking=True)
    xp.cuda.Device().synchronize()
    host[...] = 0
    with cudasim.lazy():
        x.get(stream=stream, out=host, blocking=False)
        assert (host == 0).all()
    assert (host == 1).all()


def test_results_are_those_of_the_eager_mode(xp):
    x = np.random.default_rng(0).random((40, 30))
    y = xp.asarray(x)
    z = xp.tanh(y @ y.T).sum(0) + y.mean()
    np.testing.assert_allclose(z.get(), np.tanh(x @ x.T).sum(0) + x.mean(), rtol=1e-12)
    assert (xp.sort(y, 1).get() == np.sort(x, 1)).all()
    np.testing.assert_allclose(xp.linalg.inv(y[:30]).get(), np.linalg.inv(x[:30]), rtol=1e-6)
    np.testing.assert_allclose(xp.fft.fft(y).get(), np.fft.fft(x), atol=1e-12)


def test_copies_between_devices(xp):
    """In the default stream they wait for both devices; in other streams nothing is promised."""
    with xp.cuda.Device(1):
        x = xp.arange(SIZE) * 2
    y = xp.zeros(SIZE, "int64")
    y[...] = x
    assert (y.get() == np.arange(SIZE) * 2).all()
    with xp.cuda.Device(1):
        x += 1
    with xp.cuda.Stream(non_blocking=True) as stream:
        y.data.copy_from_device_async(x.data, x.nbytes, stream)
        assert (y.get(stream=stream) == np.arange(SIZE) * 2).all()  # nobody waited for x += 1
    xp.cuda.Device(1).synchronize()
