"""NCCL between processes, and training by it, on the emulated device where there is no GPU."""

import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
import without_cuda
from jobs import on_cuda
from ranks import HERE, ROOT, ended, environment, launch, names
from thoroughness import NIGHTLY, cases

from lucidgrad import cudasim
from lucidgrad.backends.communication import EngineError, nccl

pytestmark = pytest.mark.skipif(
    without_cuda.EXPECTED or cudasim.usable_gpus() == 1, reason="needs the emulated device, or a GPU for each process"
)
EMULATED = not cudasim.usable_gpus()


@pytest.mark.parametrize(
    ("check", "ranks"), [(check, ranks) for ranks in cases((2,), (2, 3, 4)) for check in names(*on_cuda(ranks))]
)
def test_nccl(check, ranks, results):
    results(on_cuda(ranks), check, ranks, cuda=True)


# -- how a job ends ------------------------------------------------------------------------------
LOSSES = str(HERE / "losses.py")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def by_environment(*arguments, seconds=600):
    """Two processes that only RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT tell of each other."""
    port = free_port()
    command = [sys.executable, "-m", "lucidgrad.cudasim", sys.executable, LOSSES, *arguments]
    jobs = [
        subprocess.Popen(
            command, cwd=ROOT, start_new_session=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(
                RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)
            ),
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        return [ended(job, seconds) for job in jobs]
    finally:
        for job in jobs:
            job.kill()


@pytest.mark.skipif(not (NIGHTLY and EMULATED), reason="nightly; the program would use one GPU twice")
def test_without_mpi():
    for outcome in by_environment("fine", "nccl"):
        assert outcome.code == 0 and "is over" in outcome.output, outcome


def test_a_process_that_does_not_come_ends_the_job():
    """The watchdog says what was waited for. Before that, the same processes meet without MPI, and part."""
    outcome = launch(2, LOSSES, "silent", cuda=True, MASTER_PORT=str(free_port()))
    assert outcome.code not in (0, None), outcome
    assert "has not ended within 3 s: another process has not called it" in outcome.errors, outcome
    assert "all_reduce of 5 numbers of float32 on cuda:0, member 0 of 2" in outcome.errors, outcome
    assert "NCCL can't connect the 2 members of 'two who never meet, device 0': nobody has come to" in outcome.output
    assert outcome.output.count("is over") == 2 * EMULATED, outcome
    assert outcome.output.count("has begun") == 2 + 2 * EMULATED, outcome


def test_the_watchdog_says_why_and_then_aborts_all_communicators(capsys):
    """Before any is collected, which would wait; the others see it at once, and may end this process then."""
    dog, told = nccl.Watchdog(), []
    abort = lambda: told.append(capsys.readouterr().err)
    dog.lines = [SimpleNamespace(comm=SimpleNamespace(abort=abort)) for _ in range(3)]
    late = SimpleNamespace(done=lambda: False, until=0.0, text="all_reduce of 5 numbers", timeout=3)
    with pytest.raises(EngineError, match="all_reduce of 5 numbers has not ended within 3 s"):
        dog._over(late)
    assert len(told) == 3 and "has not ended within 3 s: another process has not called it" in told[0]
    assert not dog.lines


@pytest.mark.skipif(not NIGHTLY, reason="more launches: make nightly")
@pytest.mark.parametrize("way", ["silent", "killed", "raises"])
@pytest.mark.parametrize("engine", ["mpi", "nccl"])
def test_other_ways_to_end(way, engine):
    """Nobody is left, whether MPI ends the others or they notice it by NCCL alone."""
    if engine == "mpi":
        outcomes = [launch(2, LOSSES, way, cuda=True)]
    elif EMULATED:
        outcomes = by_environment(way, "nccl")
    else:
        pytest.skip("the program would use one GPU twice")
    assert all(outcome.code not in (0, None) for outcome in outcomes), outcomes
    if way == "raises":
        assert any("a mistake of process 1" in outcome.errors for outcome in outcomes)
