"""NCCL on the emulated device: two devices of this process, and ranks in processes of their own (nccl_ranks.py)."""

import json
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from thoroughness import cases

from lucidgrad.backends import cudasim
from lucidgrad.backends.cudasim import build, elf, wheel

from .processes import ROOT, environment, python

RANKS = ROOT / "tests/cudasim/nccl_ranks.py"
TYPES = {
    "int8": "INT8",
    "uint8": "UINT8",
    "int32": "INT32",
    "uint32": "UINT32",
    "int64": "INT64",
    "uint64": "UINT64",
    "float16": "FLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
}
OPERATIONS = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}


@pytest.fixture
def nccl(xp):
    from cupy.cuda import nccl

    return nccl


class Pair:
    """Two devices, with a communicator and a stream for each."""

    def __init__(self, xp, nccl):
        self.xp, self.nccl = xp, nccl
        self.comms = nccl.NcclCommunicator.initAll([0, 1])
        self.streams = []
        for device in range(2):
            with xp.cuda.Device(device):
                self.streams.append(xp.cuda.Stream(non_blocking=True))

    def put(self, *values):
        found = []
        for device, value in enumerate(values):
            with self.xp.cuda.Device(device):
                found.append(self.xp.asarray(value))
                self.xp.cuda.Device(device).synchronize()
        return found

    def call(self, function):
        """Call it for both ranks, in a group."""
        self.nccl.groupStart()
        for rank in range(2):
            with self.xp.cuda.Device(rank):
                function(rank, self.comms[rank], self.streams[rank].ptr)
        self.nccl.groupEnd()

    def get(self, arrays):
        found = []
        for rank in range(2):
            with self.xp.cuda.Device(rank):
                self.streams[rank].synchronize()
                found.append(arrays[rank].get())
        return found


@pytest.fixture
def pair(xp, nccl):
    pair = Pair(xp, nccl)
    yield pair
    for comm in pair.comms:
        comm.destroy()


def test_every_function_that_cupy_links_is_there():
    """None of them is a stand-in that says that it is not supported."""
    wanted = wheel.survey(wheel.find()).undefined["libnccl.so.2"]
    with elf.Elf(build.build().library) as library:
        assert len(wanted) >= 22 and wanted.keys() <= library.exported()


def random(dtype, seed, size=37):
    values = np.random.default_rng(seed).integers(1, 9, size)
    return (values / 3).astype(dtype) if np.dtype(dtype).kind == "f" else values.astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions_of_every_type(pair, dtype):
    values = [random(dtype, 0), random(dtype, 1)]
    kind = getattr(pair.nccl, f"NCCL_{TYPES[dtype]}")
    wanted = {name: function(*values) for name, function in OPERATIONS.items()}
    floating = np.dtype(dtype).kind == "f"
    wanted["AVG"] = values[0] / np.dtype(dtype).type(2) + values[1] / 2 if floating else (values[0] + values[1]) // 2
    for name, value in wanted.items():
        x, y = pair.put(*values), pair.put(*values)
        pair.call(
            lambda rank, comm, stream, x=x, y=y, name=name: comm.allReduce(
                x[rank].data.ptr, y[rank].data.ptr, 37, kind, getattr(pair.nccl, f"NCCL_{name}"), stream
            )
        )
        for got in pair.get(y):
            assert got.dtype == value.dtype == dtype and (got == value).all(), name


def test_bfloat16(pair):
    """1 + 2^-8 is halfway between two numbers of that type, and goes to the even one."""
    bits = lambda *values: (np.array(values, "float32").view("uint32") >> 16).astype("uint16")
    x = pair.put(bits(1, 1, 3, -2.5, np.nan), bits(2, 2.0**-8, 0.5, 2.5, 1))
    pair.call(
        lambda rank, comm, stream: comm.allReduce(
            x[rank].data.ptr, x[rank].data.ptr, 5, pair.nccl.NCCL_BFLOAT16, pair.nccl.NCCL_SUM, stream
        )
    )
    for got in pair.get(x):
        values = (got.astype("uint32") << 16).view("float32")
        np.testing.assert_array_equal(values, [3, 1, 3.5, 0, np.nan])


def test_collectives_in_place_and_beyond_one_piece(pair):
    """Each buffer is larger than what the ranks pass at once."""
    n = 700_001
    values = [np.arange(2 * n, dtype="float32") * (rank + 1) for rank in range(2)]
    kind, total = pair.nccl.NCCL_FLOAT32, pair.nccl.NCCL_SUM
    x = pair.put(*values)
    pair.call(lambda r, comm, s: comm.allReduce(x[r].data.ptr, x[r].data.ptr, 2 * n, kind, total, s))
    assert all((got == values[0] * 3).all() for got in pair.get(x))
    x = pair.put(*values)
    pair.call(lambda r, comm, s: comm.reduce(x[r].data.ptr, x[r].data.ptr, 2 * n, kind, total, 1, s))
    assert [(got == value).all() for got, value in zip(pair.get(x), [values[0], values[0] * 3])] == [True, True]
    x = pair.put(*values)
    pair.call(lambda r, comm, s: comm.broadcast(x[r].data.ptr, x[r].data.ptr, 2 * n, kind, 1, s))
    assert all((got == values[1]).all() for got in pair.get(x))
    x = pair.put(*values)
    pair.call(lambda r, comm, s: comm.allGather(x[r].data.ptr + 4 * n * r, x[r].data.ptr, n, kind, s))
    assert all((got == np.concatenate([values[0][:n], values[1][n:]])).all() for got in pair.get(x))
    x = pair.put(*values)
    pair.call(lambda r, comm, s: comm.reduceScatter(x[r].data.ptr, x[r].data.ptr + 4 * n * r, n, kind, total, s))
    for rank, got in enumerate(pair.get(x)):
        assert (got[rank * n : rank * n + n] == values[0][rank * n : rank * n + n] * 3).all()
    x, y = pair.put(*values), pair.put(*(np.zeros_like(v) for v in values))

    def exchange(rank, comm, stream):
        for peer in range(2):
            comm.send(x[rank].data.ptr + 4 * n * peer, n, kind, peer, stream)
            comm.recv(y[rank].data.ptr + 4 * n * peer, n, kind, peer, stream)

    pair.call(exchange)
    for rank, got in enumerate(pair.get(y)):
        assert (got == np.concatenate([v[rank * n : rank * n + n] for v in values])).all()


def test_counters(pair):
    x = pair.put(np.ones(10, "float32"), np.ones(10, "float32"))
    kind = pair.nccl.NCCL_FLOAT32
    with cudasim.counting() as counts:
        pair.call(lambda r, comm, s: comm.allReduce(x[r].data.ptr, x[r].data.ptr, 10, kind, 0, s))
        pair.call(lambda r, comm, s: comm.broadcast(x[r].data.ptr, x[r].data.ptr, 10, kind, 1, s))
        pair.call(lambda r, comm, s: comm.allReduce(0, 0, 0, kind, 0, s))  # nothing to do
        pair.get(x)
    assert (counts.nccl_calls, counts.nccl_bytes, counts.library_calls) == (4, 80 + 40, 4)
    assert counts.launches == {"ncclAllReduce": 2, "ncclBroadcast": 2}


def test_several_streams_in_one_group(xp, pair):
    """A group is one operation for each communicator, which all its streams wait for."""
    x = pair.put(np.ones(10, "float64"), np.ones(10, "float64"))
    y = pair.put(np.ones(10, "float64"), np.ones(10, "float64"))
    kind, others = pair.nccl.NCCL_FLOAT64, []
    for device in range(2):
        with xp.cuda.Device(device):
            others.append(xp.cuda.Stream(non_blocking=True))
            x[device] += 0  # compiled
    with cudasim.lazy():
        for rank in range(2):
            with xp.cuda.Device(rank), others[rank]:
                y[rank] += 1  # before the operation, though it is the other stream's

        def reduce(rank, comm, stream):
            comm.allReduce(x[rank].data.ptr, x[rank].data.ptr, 10, kind, 0, stream)
            comm.allReduce(y[rank].data.ptr, y[rank].data.ptr, 10, kind, 0, others[rank].ptr)

        pair.call(reduce)
        with cudasim.counting() as counts:
            for rank in range(2):
                with xp.cuda.Device(rank):
                    others[rank].synchronize()
        assert counts.waits == 0
        for rank in range(2):
            with xp.cuda.Device(rank):
                assert (x[rank].get(stream=others[rank]) == 2).all() and (y[rank].get(stream=others[rank]) == 4).all()


def test_lazy_work_waits_for_its_turn(xp, pair):
    """Nothing is sent before something waits; then the other device does its part, though nobody waits for it here."""
    x = pair.put(np.ones(10, "float32"), np.full(10, 2, "float32"))
    for rank in range(2):
        with xp.cuda.Device(rank):
            x[rank] += 0
            xp.cuda.Device().synchronize()
    with cudasim.lazy():
        pair.call(lambda r, comm, s: comm.allReduce(x[r].data.ptr, x[r].data.ptr, 10, pair.nccl.NCCL_FLOAT32, 0, s))
        time.sleep(0.3)
        other = xp.cuda.Stream(non_blocking=True)
        assert (x[0].get(stream=other) == 1).all()
        pair.streams[0].synchronize()
        assert (x[0].get(stream=other) == 3).all()
        with xp.cuda.Device(1):
            pair.streams[1].synchronize()
            assert (x[1].get(stream=pair.streams[1]) == 3).all()


@pytest.mark.parametrize("waits", [True, False])
def test_a_missing_wait_before_communication_shows(xp, pair, waits):
    x = pair.put(np.zeros(10, "float32"), np.zeros(10, "float32"))
    for rank in range(2):
        with xp.cuda.Device(rank):
            x[rank] += 0
            xp.cuda.Device().synchronize()
    with cudasim.lazy():
        for rank in range(2):
            with xp.cuda.Device(rank), xp.cuda.Stream(non_blocking=True) as compute:
                x[rank] += 1
                if waits:
                    pair.streams[rank].wait_event(compute.record())
        pair.call(lambda r, comm, s: comm.allReduce(x[r].data.ptr, x[r].data.ptr, 10, pair.nccl.NCCL_FLOAT32, 0, s))
        pair.streams[0].synchronize()
        assert (x[0].get(stream=pair.streams[0]) == (2 if waits else 0)).all()


def test_graphs_communicate_at_each_launch(xp, pair):
    x = pair.put(np.ones(10, "float32"), np.ones(10, "float32"))
    graphs = []
    for stream, device in zip(pair.streams, range(2)):
        with xp.cuda.Device(device):
            stream.begin_capture()
    pair.call(lambda r, comm, s: comm.allReduce(x[r].data.ptr, x[r].data.ptr, 10, pair.nccl.NCCL_FLOAT32, 0, s))
    for stream, device in zip(pair.streams, range(2)):
        with xp.cuda.Device(device):
            graphs.append(stream.end_capture())
    assert all((got == 1).all() for got in pair.get(x))
    with cudasim.counting() as counts:
        for _ in range(3):
            for device in range(2):
                with xp.cuda.Device(device):
                    graphs[device].launch(pair.streams[device])
        assert all((got == 8).all() for got in pair.get(x))
    assert counts.nccl_calls == 6


def test_threads_with_a_device_each(xp, nccl):
    """Each joins by itself, and none waits for the other outside of NCCL."""
    uid, seen = nccl.get_unique_id(), {}

    def work(rank):
        with xp.cuda.Device(rank), xp.cuda.Stream(non_blocking=True) as stream:
            comm = nccl.NcclCommunicator(2, uid, rank)
            x = xp.full(5, rank + 1, "int64")
            for _ in range(20):
                comm.allReduce(x.data.ptr, x.data.ptr, 5, nccl.NCCL_INT64, nccl.NCCL_SUM, stream.ptr)
            seen[rank] = x.get(stream=stream).tolist()
            comm.destroy()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    assert seen == {0: [3 * 2**19] * 5, 1: [3 * 2**19] * 5}


def test_communicators_made_and_split_in_groups(xp, nccl):
    uid = nccl.get_unique_id()
    nccl.groupStart()
    comms = []
    for rank in range(2):
        with xp.cuda.Device(rank):
            comms.append(nccl.NcclCommunicator(2, uid, rank))
    nccl.groupEnd()
    assert [(c.rank_id(), c.size(), c.device_id()) for c in comms] == [(0, 2, 0), (1, 2, 1)]
    nccl.groupStart()
    swapped = [comm.commSplit(0, -rank) for rank, comm in enumerate(comms)]
    nccl.groupEnd()
    assert [(c.rank_id(), c.size(), c.device_id()) for c in swapped] == [(1, 2, 0), (0, 2, 1)]
    nccl.groupStart()
    alone = [comm.commSplit(-1 if rank else 5, 0) for rank, comm in enumerate(comms)]
    nccl.groupEnd()
    assert (alone[0].rank_id(), alone[0].size(), alone[1]) == (0, 1, None)


def test_what_is_wrong_is_said(xp, pair):
    nccl = pair.nccl
    x = pair.put(np.ones(10, "float32"), np.ones(10, "float32"))
    comm, stream, pointer = pair.comms[0], pair.streams[0].ptr, x[0].data.ptr
    for arguments, words in [
        ((pointer, pointer, 10, 77, 0, stream), "no data type 77"),
        ((pointer, pointer, 10, 7, 9, stream), "no reduction 9"),
        ((pointer, 0, 10, 7, 0, stream), "receive buffer is null"),
        ((pointer, pointer, 10**12, 7, 0, stream), "not .wholly. memory of a device"),
        ((x[1].data.ptr, pointer, 10, 7, 0, stream), "memory of device 1"),
        ((np.ones(10).ctypes.data, pointer, 10, 7, 0, stream), "not .wholly. memory of a device"),
        ((pointer, pointer, 10, 7, 0, pair.streams[1].ptr), "the stream belongs to device 1"),
    ]:
        with pytest.raises(nccl.NcclError, match=words):
            comm.allReduce(*arguments)
    with pytest.raises(nccl.NcclError, match="rank 2 of 2"):
        comm.send(pointer, 10, 7, 2, stream)
    with pytest.raises(nccl.NcclError, match="no group was started"):
        nccl.groupEnd()
    with pytest.raises(nccl.NcclError, match="given twice"):
        nccl.NcclCommunicator.initAll([0, 0])
    with pytest.raises(nccl.NcclError, match="was not made by ncclGetUniqueId"):
        nccl.NcclCommunicator(2, b"x" * 128, 0)
    nccl.groupStart()
    comm.allReduce(pointer, pointer, 10, 7, 0, stream)
    with pytest.raises(nccl.NcclError, match="root|rank"):
        comm.broadcast(pointer, pointer, 10, 7, 5, stream)
    with pytest.raises(nccl.NcclError):  # and nothing of the group is done
        nccl.groupEnd()
    pair.streams[0].synchronize()


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (lambda nccl, comm, p, s: comm.allReduce(p, p, 9, 7, 0, s), r"count=10.*rank 1 ncclAllReduce\(count=9"),
        (lambda nccl, comm, p, s: comm.allReduce(p, p, 10, 7, 2, s), r"sum\), rank 1 .*max\)"),
        (lambda nccl, comm, p, s: comm.broadcast(p, p, 10, 7, 0, s), "rank 1 ncclBroadcast"),
    ],
)
def test_ranks_that_call_different_things(xp, pair, second, words):
    x = pair.put(np.ones(10, "float32"), np.ones(10, "float32"))

    def call(rank, comm, stream):
        if rank:
            second(pair.nccl, comm, x[1].data.ptr, stream)
        else:
            comm.allReduce(x[0].data.ptr, x[0].data.ptr, 10, pair.nccl.NCCL_FLOAT32, 0, stream)

    failures = 0
    for step in (lambda: pair.call(call), pair.streams[0].synchronize, pair.streams[1].synchronize):
        try:
            step()
        except (pair.nccl.NcclError, xp.cuda.runtime.CUDARuntimeError):
            failures += 1
    assert failures
    with pytest.raises(pair.nccl.NcclError, match=f"INVALID_USAGE.*{words}"):
        pair.comms[0].check_async_error()
    for comm in pair.comms:
        comm.abort()


def test_abort_ends_what_waits(xp, pair):
    """The stream goes on, with whatever is there; the other rank learns of it."""
    x = pair.put(np.ones(10, "float32"), np.ones(10, "float32"))
    pair.comms[0].allReduce(x[0].data.ptr, x[0].data.ptr, 10, pair.nccl.NCCL_FLOAT32, 0, pair.streams[0].ptr)
    threading.Timer(0.2, pair.comms[0].abort).start()
    pair.streams[0].synchronize()
    with xp.cuda.Device(1):
        reduce = lambda: pair.comms[1].allReduce(x[1].data.ptr, x[1].data.ptr, 10, 7, 0, pair.streams[1].ptr)
        reduce()  # it has all that it needs
        with pytest.raises((pair.nccl.NcclError, xp.cuda.runtime.CUDARuntimeError), match="rank 0 has aborted"):
            reduce()
        with pytest.raises(pair.nccl.NcclError, match="REMOTE_ERROR"):
            pair.comms[1].check_async_error()
        pair.comms[1].abort()


# -- ranks in processes of their own -------------------------------------------------------------
def launch(*arguments, ranks=2, folder, **extra):
    """Start the ranks; returns their codes, what they wrote, and how long it took after all had met."""
    command = [sys.executable, RANKS, *map(str, arguments)]
    made = environment(CUDASIM_NCCL_FOLDER=str(folder), OMP_NUM_THREADS="1", **extra)
    started = [
        subprocess.Popen([*command, str(rank), str(ranks)], env=made, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for rank in range(ranks)
    ]
    try:
        written = [process.communicate(timeout=900) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    return [process.returncode for process in started], [[part.decode() for part in parts] for parts in written]


@pytest.mark.parametrize("ranks", cases([2], [2, 3, 4]))
def test_processes(tmp_path, ranks):
    """All that is checked there, in both modes, in one launch."""
    codes, written = launch("checks", ranks=ranks, folder=tmp_path)
    assert codes == [0] * ranks, written
    for out, _ in written:
        found = json.loads(out)
        assert found.pop("waiting") < 0.3, "a rank that waits uses a processor"
        assert set(found.values()) == {"ok"} and len(found) >= 10, found


def test_a_rank_that_goes_ends_the_waiting_of_the_others(tmp_path):
    codes, written = launch("losses", folder=tmp_path, CUDASIM_NCCL_TIMEOUT="10")
    assert codes == [0, -9], written
    found = json.loads(written[0][0])
    wanted = {
        "abort": (6, "rank 1 has aborted"),
        "silence": (2, r"has waited \d+ s for 1"),
        "kill": (6, "rank 1 has ended"),
    }
    for how, (status, words) in wanted.items():
        got, text = found[how]
        assert got == status and re.search(words, text), (how, found)


def test_a_fork_begins_anew():
    result = python(
        """
        import os
        from cupy.cuda import nccl
        for comm in nccl.NcclCommunicator.initAll(2):
            comm.destroy()
        child = os.fork()
        comm = nccl.NcclCommunicator(1, nccl.get_unique_id(), 0)
        assert comm.size() == 1
        comm.destroy()
        if child == 0:
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        devices=2,
    )
    assert result.stdout == "7\n", result
