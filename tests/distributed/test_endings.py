"""However a process ends, the job ends soon, with its exit code and its traceback, and no process is left."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from ranks import HERE, ended, environment, launch, started
from thoroughness import NIGHTLY, cases

from lucidgrad.communication import failures

#: How process 1 ends -> the job's exit code, and what is said of it.
ENDINGS = {
    "raise": (1, ["ValueError: planted", 'raise ValueError("planted")', "process 1 of 2: ended by this ValueError"]),
    "thread": (1, ["ValueError: planted in a thread", "process 1 of 2: a thread was ended by this ValueError"]),
    "exit": (3, ["process 1 of 2: left by sys.exit(3), and others are still at work"]),
    "leave": (1, ["process 1 of 2: left without destroy_process_group(), and others are still at work"]),
    "kill": (9, ["Killed (signal 9)"]),
    **cases({}, {
        "nothing": (0, []),
        "destroyed": (1, ["ValueError: planted after the end"]),
        "timeout": (1, ["DistBackendError: all_reduce: process 0 of", "waited 0.5 s for the others"]),
        "interrupt": (130, ["KeyboardInterrupt", "process 1 of 2: ended by this KeyboardInterrupt"]),
        "caught": (1, ["left without destroy_process_group()"]),
        "os._exit": (7, []),
        "slow": (0, []),
    }),
}  # fmt: skip


def _left(mark: str, seconds: float = 0) -> list[str]:
    """The processes that have a mark in their environment, and still have it after so many seconds."""
    limit = time.monotonic() + seconds
    while found := _marked(mark):
        if time.monotonic() >= limit:
            return found
        time.sleep(0.05)
    return []


def _marked(mark: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"MARK={mark}".encode() in file.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", ENDINGS)
def test_endings(how):
    code, words = ENDINGS[how]
    mark = f"{how}{os.getpid()}"
    patience = {} if code == 0 else {"LUCIDGRAD_DISTRIBUTED_EXIT_SECONDS": "1.5"}  # else the others come, if late
    outcome = launch(2, str(HERE / "ending.py"), how, MARK=mark, **patience)
    assert outcome.code == code, outcome
    said = outcome.output + outcome.errors
    for word in words:
        assert word in said
    assert "begun" in outcome.output
    if not words:
        assert "Traceback" not in said
    assert not _left(mark, 300)


def test_the_job_ends_after_its_launcher_has_read_why(monkeypatch):
    """Launchers on a busy machine read late, and forget what they have not read when they learn of the end."""
    reader, writer = os.pipe()
    told = threading.Event()
    with open(writer, "w") as stream, open(reader) as launcher:
        monkeypatch.setattr(sys, "stderr", stream)
        watch = failures.Watch("process 1 of 2", lambda seconds: True, lambda code: None, lambda: None)
        threading.Thread(target=lambda: (watch._tell("planted"), told.set())).start()
        assert not told.wait(1.0)  # nobody has read it
        assert launcher.readline() == "process 1 of 2: planted\n"
        assert told.wait(60)


@pytest.mark.skipif(not NIGHTLY, reason="a job of its own; nightly")
def test_a_dead_launcher_leaves_no_process():
    """Nobody goes on for ever when mpiexec itself is killed."""
    code = """if True:
        import lucidgrad as lg
        from lucidgrad import distributed as dist
        dist.init_process_group()
        if dist.get_rank() == 0:  # of two lines, one may begin in the other
            print('begun', flush=True)
        while True:
            dist.all_reduce(lg.ones(3))"""
    job = started(2, "-c", code, MARK=f"dead{os.getpid()}")
    assert job.stdout.readline() == "begun\n"
    os.kill(job.pid, signal.SIGKILL)
    left = _left(f"dead{os.getpid()}", 300)
    ended(job, 1)
    assert not left


@pytest.mark.skipif(not NIGHTLY, reason="jobs of their own; nightly")
def test_variables_of_another_launcher():
    """RANK and WORLD_SIZE may be there, and must be what MPI says."""
    code = "import os; from lucidgrad import distributed as d; {}; d.init_process_group(); d.destroy_process_group()"
    own = "os.environ.update(RANK=os.environ['PMI_RANK'], WORLD_SIZE='2', LOCAL_RANK=os.environ['PMI_RANK'])"
    assert launch(2, "-c", code.format(own)).code == 0
    outcome = launch(2, "-c", code.format("os.environ.update(RANK='0', WORLD_SIZE='2')"))
    assert outcome.code == 1
    assert "given RANK=0 and WORLD_SIZE=2 in the environment, but MPI says process 1 of 2" in outcome.errors


# -- before it begins ------------------------------------------------------------------------------
#: What is called, with what in the environment, and what is said to it; all in one process, which nothing harms.
REFUSED = {
    "no mpi4py": ("without_mpi4py()", {}, "mpi4py is not installed: pip install 'lucidgrad[mpi]'"),
    "a dead launcher": (
        "dist.init_process_group()",
        {"PMI_FD": "97", "PMI_RANK": "0", "PMI_SIZE": "2"},
        "its connection to mpiexec is closed: it is dead",
    ),
    "a collective before init": (
        "dist.all_reduce(lg.ones(3))",
        {},
        "all_reduce: the processes are not connected yet; call lucidgrad.distributed.init_process_group() first",
    ),
    "a differentiable one": ("F.all_reduce(lg.ones(3))", {}, "all_reduce: the processes are not connected yet"),
    "srun without MPI": (
        "dist.init_process_group()",
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "2"},
        "Slurm has started 4 processes (SLURM_NTASKS=4), but this one is alone by MPI",
    ),
    "torchrun": (
        "dist.init_process_group()",
        {"RANK": "1", "WORLD_SIZE": "2"},
        "has started 2 processes (WORLD_SIZE=2), but this one is alone by MPI",
    ),
    "another MPI": (
        "dist.init_process_group()",
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
        "Open MPI has started 2 processes (OMPI_COMM_WORLD_SIZE=2), but this one is alone",
    ),
    "another backend": ("dist.init_process_group('gloo')", {}, "given the backend 'gloo', expected None, 'mpi'"),
    "a timeout that is none": ("dist.init_process_group(timeout=3)", {}, "expected a datetime.timedelta"),
    "a strange rank": ("dist.init_process_group()", {"RANK": "one", "WORLD_SIZE": "2"}, "given RANK='one'"),
    "a size that is not": ("dist.init_process_group(world_size=2, rank=0)", {}, "but this is process 0 of 1"),
    "a file to meet in": ("dist.init_process_group(init_method='file:///x')", {}, "expected None or 'env://'"),
    "a world of one": ("world_of_one()", {}, "went well"),
}


@pytest.fixture(scope="module")
def said():
    """What a process says, which no launcher has started, to one call after the other."""
    calls = json.dumps({name: (call, extra) for name, (call, extra, _) in REFUSED.items()})
    done = subprocess.run(
        [sys.executable, str(HERE / "beginning.py"), calls],
        env=environment(), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr  # it leaves by SystemExit(4)
    return json.loads(done.stdout)


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, said):
    assert REFUSED[what][2] in said[what]


# -- kills by the dozen ----------------------------------------------------------------------------
@pytest.mark.parametrize("number", range(cases(0, 12)))
def test_killed_at_any_moment(number):
    """The other processes are gone soon after one was killed, whatever they were doing."""
    mark = f"killed{number}-{os.getpid()}"
    job = started(2, str(HERE / "ending.py"), "work", MARK=mark)
    job.stdout.readline()
    time.sleep(0.02 * number)
    victims = [pid for pid in _left(mark) if b"ending.py" in _command(pid) and b"mpiexec" not in _command(pid)]
    os.kill(int(victims[number % len(victims)]), signal.SIGKILL)
    outcome = ended(job, 300)
    assert outcome.code == 9
    assert not _left(mark, 300)


def _command(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
