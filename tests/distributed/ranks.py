"""Tests with several processes: one launch runs all checks of modules, and pytest's items look up what came out.

A module of checks has functions ``check_...()``, which every process calls, in their order, after
``init_process_group``. A check that fails ends the job, since the others would wait for that process for ever: later
checks are then reported as not run. As a program this file is what each process runs::

    mpiexec -n 2 python tests/distributed/ranks.py results checks_collectives checks_tensors
"""

import contextlib
import fcntl
import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: Threads of libraries, one for each process: there are more processes than cores.
_SINGLE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: What launchers leave in the environment.
_LAUNCHERS = ("PMI", "MPI_", "MPIR", "HYD", "OMPI_", "SLURM_")


class Outcome(NamedTuple):
    """How a job ended: its exit code, None if it had to be killed, and what it wrote."""

    code: int | None
    output: str
    errors: str


def mpiexec() -> str:
    """The launcher that belongs to this Python's MPI."""
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else "mpiexec"


def environment(**extra: str) -> dict[str, str]:
    """The environment of a rank: nothing of another launcher's, nothing of this process's emulated device."""
    from cudasim.processes import environment as clean

    kept = {k: v for k, v in clean().items() if not k.startswith(_LAUNCHERS)}
    paths = [str(ROOT), str(ROOT / "tests"), str(HERE), *kept.get("PYTHONPATH", "").split(os.pathsep)]
    return {**kept, **_SINGLE, "LUCIDGRAD_PROGRESS": "0", "PYTHONPATH": os.pathsep.join(filter(None, paths)), **extra}


def started(ranks: int, *arguments: str, cuda: bool = False, **extra: str) -> subprocess.Popen:
    """A job of so many Python processes, in a process group of its own."""
    python = [sys.executable]
    if cuda and not _real_device():
        python += ["-m", "lucidgrad.cudasim", sys.executable]
    return subprocess.Popen(
        [mpiexec(), "-n", str(ranks), *python, *arguments],
        cwd=ROOT, env=environment(**extra), start_new_session=True, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(job: subprocess.Popen, seconds: float) -> Outcome:
    """Wait for a job; kill all of it if it takes longer."""
    try:
        output, errors = job.communicate(timeout=seconds)
        code = job.returncode
    except subprocess.TimeoutExpired:
        code = None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
    if code is None:
        output, errors = job.communicate()
    return Outcome(code, output, errors)


def launch(ranks: int, *arguments: str, seconds: float = 600, cuda: bool = False, **extra: str) -> Outcome:
    """Run a job to its end."""
    return ended(started(ranks, *arguments, cuda=cuda, **extra), seconds)


def _real_device() -> bool:
    from lucidgrad.backends import cudasim
    from lucidgrad.backends.cuda import driver

    return not cudasim.is_installed() and driver.device_count() > 0


def _emulated() -> dict[str, str]:
    """What gives Python processes the emulated device, where there is no other: they become it without a launcher."""
    if _real_device():
        return {}
    from lucidgrad.backends.cudasim import launcher

    launcher.check(force=False)
    return {**launcher.inherited(), "PYTHONPATH": launcher.with_site(environment()["PYTHONPATH"])}


def names(*modules) -> list[str]:
    """The checks of modules, in their order, such as ``tensors.check_layouts``."""
    return [
        f"{module.__name__.removeprefix('checks_')}.{name}"
        for module in modules
        for name in vars(module)
        if name.startswith("check_")
    ]


class Results:
    """What came out of the checks of modules, which run once in a session, whatever process asks first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, modules, check: str, ranks: int = 2, cuda: bool = False, seconds: float = 900, **extra: str):
        """Raise what the check raised, in any of the processes, or that the job did not end well."""
        called = [module.__name__ for module in modules]
        mark = "-".join([*called, str(ranks), *["cuda"] * cuda, *(f"{k}={v}" for k, v in sorted(extra.items()))])
        place = self._folder / mark.replace("/", "_")
        with open(self._folder / f"{place.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                place.mkdir()
                arguments = str(HERE / "ranks.py"), str(place), *called
                if cuda:
                    extra |= {"LUCIDGRAD_TEST_DEVICE": "cuda", **_emulated()}
                outcome = launch(ranks, *arguments, seconds=seconds, **extra)
                (place / "outcome").write_text(json.dumps(outcome._asdict()))
        job = json.loads((place / "outcome").read_text())
        for rank in range(ranks):
            found = place / str(rank)
            said = dict(map(json.loads, found.read_text().splitlines())) if found.exists() else {}
            if said.get(check, "") is None:
                continue
            failed = next((name for name, error in said.items() if error), None)
            raise AssertionError(
                f"{check} in process {rank} of {ranks}: "
                + (said.get(check) or f"not run, or not to its end (failed before: {failed}); the job ended with code "
                   f"{job['code']} and wrote\n{job['output']}\n{job['errors']}")
            )  # fmt: skip
        if check == names(*modules)[-1]:  # then all went well, and so must the end
            assert job["code"] == 0 and "Traceback" not in job["errors"], job


def main(folder: str, *modules: str) -> None:
    """Run the checks of modules in this process."""
    import datetime

    from lucidgrad import distributed as dist

    found = {name: importlib.import_module(name) for name in modules}
    dist.init_process_group(timeout=datetime.timedelta(seconds=600))  # others may be busy
    with open(Path(folder) / str(dist.get_rank()), "w", buffering=1) as file:
        for name in names(*found.values()):
            module, _, check = name.partition(".")
            try:
                getattr(found[f"checks_{module}"], check)()
                dist.barrier()
            except BaseException:
                print(json.dumps([name, traceback.format_exc()]), file=file, flush=True)
                raise
            print(json.dumps([name, None]), file=file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
