"""Whoever waits for more than two seconds is told so, on the standard error, and nobody else."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import lucidgrad as lg
from lucidgrad.backends import progress
from lucidgrad.backends.progress import waiting

ROOT = Path(lg.__file__).parents[1]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of a POSIX system")


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    """Progress is told, and nothing is known of earlier waits."""
    monkeypatch.setenv("LUCIDGRAD_PROGRESS", "1")
    monkeypatch.setattr(progress, "_topics", {})


class Clock:
    """Time that passes when a test says so, with timers that go off in it: the machine may be as busy as it likes."""

    def __init__(self):
        self.now, self._timers = 1000.0, []

    def monotonic(self):
        return self.now

    def Timer(self, seconds, call):
        return SimpleNamespace(
            start=lambda: self._timers.append((self.now + seconds, call)),
            cancel=lambda: self._timers.remove(next(timer for timer in self._timers if timer[1] == call)),
        )

    def sleep(self, seconds):
        end = self.now + seconds
        while due := min((timer for timer in self._timers if timer[0] <= end), default=None):
            self._timers.remove(due)
            self.now = max(self.now, due[0])
            due[1]()
        self.now = end


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(progress, "threading", made)
    return made


def test_two_seconds():
    code = "from lucidgrad.backends import progress as p; print(p.PATIENCE)"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout == "2.0\n"


def test_short_waits_say_nothing(clock, capfd):
    with waiting("working", "a hint", finish=True):
        clock.sleep(1.9)
    clock.sleep(60)
    assert capfd.readouterr() == ("", "")


def test_long_waits_say_what_how_long_and_when_it_ends(clock, capfd):
    with waiting("working", "a hint", finish=True):
        clock.sleep(100)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "lucidgrad: working, 2 s so far; a hint",  # which is given once
        *(f"lucidgrad: working, {seconds} s so far" for seconds in (17, 34, 68)),  # ever more rarely
        "lucidgrad: working: done after 100 s",
    ]


def test_failures_end_it(clock, capfd):
    def fail():
        clock.sleep(3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), waiting("working", finish=True):
        fail()
    assert capfd.readouterr().err.splitlines()[-1] == "lucidgrad: working: given up after 3 s"


def test_many_short_waits_are_a_long_one(clock, capfd):
    for _ in range(6):
        with waiting("compiling"):
            clock.sleep(0.6)
        clock.sleep(0.9)
    assert capfd.readouterr().err == "lucidgrad: compiling, 2 s so far\n"
    clock.sleep(0.2)  # another matter
    with waiting("compiling"):
        clock.sleep(0.6)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["LUCIDGRAD_PROGRESS", "CUDASIM_PROGRESS"])
def test_it_can_be_switched_off(name, monkeypatch, clock, capfd):
    monkeypatch.setenv(name, "0")
    with waiting("working", finish=True):
        clock.sleep(60)
    assert capfd.readouterr().err == ""


def test_without_a_standard_error(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", None)
    with waiting("working", finish=True):
        clock.sleep(60)


SLOW = """#!/bin/sh
sleep 0.3
exec {compiler} "$@"
"""
COMPILED = """
import lucidgrad as lg
from lucidgrad.backends import progress
progress.PATIENCE = 0.2
x = lg.ones(300_000)
print(float(lg.exp(x)[0]) > 2.7)
"""


def compiled(tmp_path, **extra):
    """What a program says that compiles a kernel for the CPU with a slow compiler."""
    import shutil

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    slow = tmp_path / "cc"
    if not slow.exists():  # another one would have a cache of its own
        slow.write_text(SLOW.format(compiler=compiler))
        slow.chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LUCIDGRAD_CC": str(slow), "XDG_CACHE_HOME": str(tmp_path), **extra}
    return subprocess.run([sys.executable, "-c", COMPILED], env=env, capture_output=True, text=True)


def test_compiling_kernels_for_the_cpu(tmp_path):
    result = compiled(tmp_path)
    assert result.stdout == "True\n", result.stderr
    assert re.match(r"lucidgrad: compiling kernels for the CPU, \d+ s so far\n", result.stderr)
    assert "lost" not in result.stderr
    assert compiled(tmp_path).stderr == ""  # the next process finds them


def test_compiling_without_a_cache_says_so_once(tmp_path):
    (tmp_path / "lucidgrad").mkdir()
    (tmp_path / "lucidgrad/cpu").mkdir(mode=0o777)
    os.chmod(tmp_path / "lucidgrad/cpu", 0o777)  # anybody could leave libraries there
    result = compiled(tmp_path)
    assert result.stdout == "True\n", result.stderr
    assert result.stderr.count("they are lost when this process ends") == 1
    assert "XDG_CACHE_HOME" in result.stderr


def test_compiling_cuda_kernels(monkeypatch, capfd):
    """CuPy's compiler, whoever calls it."""
    from cupy.cuda import compiler

    lg.ones(1, device="cuda")  # loads the back end
    assert compiler._NVRTCProgram.compile.__wrapped__ is not None
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "_topics", {})  # loading may have taken its time, too
    import cupy

    number = time.time_ns()
    kernel = cupy.RawKernel(f'extern "C" __global__ void f{number}(float* x) {{ x[0] = 1; }}', f"f{number}")
    x = cupy.zeros(1, dtype="float32")
    kernel((1,), (1,), (x,))
    assert x.get().tolist() == [1]
    assert "lucidgrad: compiling CUDA kernels, " in capfd.readouterr().err


def test_building_the_emulated_device(tmp_path):
    """A build in an empty cache, with a compiler that only seems to work: it says what is being done, then fails."""
    fake = tmp_path / "g++"
    fake.write_text("#!/bin/sh\nsleep 0.1\nexit 1\n")
    fake.chmod(0o755)
    code = (
        "from lucidgrad.backends.cudasim import build, progress; progress.PATIENCE = 0.1\n"
        "try: build.build()\nexcept build.EmulatorError: print('refused')"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CUDASIM_CACHE": str(tmp_path / "cache"), "CUDASIM_CXX": str(fake)}
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert result.stdout == "refused\n", result.stderr
    lines = result.stderr.splitlines()
    assert re.fullmatch(
        rf"lucidgrad: building the emulated CUDA device, \d+ s so far; once only: .*{re.escape(str(tmp_path))}.*",
        lines[0],
    )
    assert lines[-1].startswith("lucidgrad: building the emulated CUDA device: given up after")


def test_the_first_of_several_processes_speaks(monkeypatch, clock, capfd):
    for name in ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    assert progress.speaks()
    for name in ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"):  # a later one is asked first
        monkeypatch.setenv(name, "0")
        assert progress.speaks()
        monkeypatch.setenv(name, "3")
        assert not progress.speaks()
    with waiting("working", finish=True):
        clock.sleep(60)
    step = lg.compile(lambda x: x * 2 + 1, options={"verbose": True})
    step(lg.ones(3))
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("RANK", "0")
    lg.compile(lambda x: x * 3 + 1, options={"verbose": True})(lg.ones(3))
    assert "traced in" in capfd.readouterr().err
