"""Python processes with an emulated device of their own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = ("CUDASIM", "CUDA_PATH", "CUDA_HOME", "CUPY_CACHE_DIR", "NVCC")


def environment(**extra):
    """Return this process's environment without what the emulated device of this process has set."""
    keep = {"CUDASIM_CACHE", "CUDASIM_CXX"}
    clean = {key: value for key, value in os.environ.items() if key in keep or not key.startswith(OWN)}
    paths = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part and "cudasim" not in part]
    return {**clean, "PYTHONPATH": os.pathsep.join([str(ROOT), *paths]), **extra}


def run(*command, cwd=None, **extra):
    """Run a program and return what it wrote."""
    return subprocess.run(command, cwd=cwd or ROOT, env=environment(**extra), capture_output=True, text=True)


def launch(*arguments, cwd=None, **extra):
    """Run the launcher."""
    return run(sys.executable, "-m", "lucidgrad.cudasim", *arguments, cwd=cwd, **extra)


def python(code, **settings):
    """Run code in a process that installs the device itself."""
    start = f"from lucidgrad.backends import cudasim; cudasim.install(**{settings!r})\n"
    return run(sys.executable, "-X", "faulthandler", "-c", start + textwrap.dedent(code))
