"""Streams, events, callbacks, capture and graphs."""

import threading

import numpy as np
import pytest

from lucidgrad import cudasim


def test_work_in_streams(xp):
    streams = [xp.cuda.Stream(non_blocking=i % 2 == 0) for i in range(4)]
    results = []
    for i, stream in enumerate(streams):
        with stream:
            assert xp.cuda.get_current_stream() == stream
            results.append(xp.arange(1000) * i)
    for i, (stream, result) in enumerate(zip(streams, results)):
        stream.synchronize()
        assert stream.done
        assert (result.get() == np.arange(1000) * i).all()


def test_events(xp):
    first, second = xp.cuda.Event(), xp.cuda.Event()
    stream, other = xp.cuda.Stream(), xp.cuda.Stream()
    with stream:
        first.record()
        x = xp.ones(1000) * 3
        second.record()
    other.wait_event(second)
    with other:
        y = x + 1
    other.synchronize()
    second.synchronize()
    assert first.done and second.done
    assert xp.cuda.get_elapsed_time(first, second) >= 0
    assert (y.get() == 4).all()


def test_events_without_timing(xp):
    event = xp.cuda.Event(disable_timing=True)
    event.record()
    event.synchronize()
    with pytest.raises(xp.cuda.runtime.CUDARuntimeError):
        xp.cuda.get_elapsed_time(event, event)


def test_host_functions_run_in_order(xp):
    seen, stream = [], xp.cuda.Stream()
    with stream:
        x = xp.zeros(10)
        stream.launch_host_func(seen.append, 1)
        x += 1
        stream.launch_host_func(seen.append, 2)
        stream.add_callback(lambda _, error, argument: seen.append((error, argument)), 3)
    stream.synchronize()
    assert seen == [1, 2, (0, 3)]


def test_threads(xp):
    """Each thread has its own current device and stream."""
    failures = []

    def work(i):
        try:
            with xp.cuda.Device(i % xp.cuda.runtime.getDeviceCount()) as device, xp.cuda.Stream():
                for k in range(20):
                    x = xp.arange(100) * (i + k)
                    assert x.device == device
                    assert int(x.sum()) == 4950 * (i + k)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_callbacks_while_other_threads_use_the_device(xp):
    """A host function takes Python's lock; a thread that holds it may be waiting for the device."""
    stream, done = xp.cuda.Stream(non_blocking=True), []
    stop = threading.Event()

    def spin():
        while not stop.is_set():
            xp.cuda.runtime.getDevice()

    thread = threading.Thread(target=spin)
    thread.start()
    for i in range(50):
        stream.launch_host_func(done.append, i)
    stream.synchronize()
    stop.set()
    thread.join()
    assert done == list(range(50))


# --- graphs -----------------------------------------------------------------------------------------------------------


def test_graphs_repeat_what_was_captured(xp):
    x, y = xp.arange(100.0), xp.zeros(100)
    xp.add(x, y, out=y)  # compiled outside of the capture
    y[...] = 0
    stream = xp.cuda.Stream(non_blocking=True)
    with stream:
        assert not stream.is_capturing()
        stream.begin_capture()
        assert stream.is_capturing()
        xp.add(x, y, out=y)
        xp.add(x, y, out=y)
        graph = stream.end_capture()
    assert (y.get() == 0).all()  # nothing ran
    for i in range(1, 4):
        with cudasim.counting() as counts:
            graph.launch(stream)
        assert (counts.graph_launches, counts.graph_nodes, sum(counts.launches.values())) == (1, 2, 2)
        stream.synchronize()
        assert (y.get() == np.arange(100) * 2 * i).all()


def test_capture_follows_events_into_other_streams(xp):
    x, y, z = xp.ones(50), xp.zeros(50), xp.zeros(50)
    xp.add(x, 1, out=y)
    y[...] = 0
    main, side = xp.cuda.Stream(non_blocking=True), xp.cuda.Stream(non_blocking=True)
    with main:
        main.begin_capture()
        xp.add(x, 1, out=y)
        forked, joined = xp.cuda.Event(), xp.cuda.Event()
        forked.record(main)
        side.wait_event(forked)
        with side:
            xp.add(y, 1, out=z)
            joined.record(side)
        main.wait_event(joined)
        graph = main.end_capture()
    graph.launch(main)
    main.synchronize()
    assert (z.get() == 3).all()


def test_capture_keeps_arguments(xp):
    kernel = xp.RawKernel('extern "C" __global__ void put(int *x, int value) { *x = value; }', "put")
    x = xp.zeros(1, "int32")
    kernel((1,), (1,), (x, 1))
    stream = xp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        kernel((1,), (1,), (x, 5))
        graph = stream.end_capture()
    kernel((1,), (1,), (x, 9))
    graph.launch(stream)
    stream.synchronize()
    assert x.get()[0] == 5


def test_synchronising_a_capture_fails(xp):
    stream = xp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        with pytest.raises(xp.cuda.runtime.CUDARuntimeError, match="StreamCapture"):
            stream.synchronize()
        with pytest.raises(xp.cuda.runtime.CUDARuntimeError, match="StreamCapture"):
            stream.end_capture()
    assert xp.arange(3).sum().get() == 3
