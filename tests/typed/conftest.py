"""mypy as people run it, who have the package installed: strict, and told by nobody how to read it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent")


@pytest.fixture(scope="session")
def mypy(tmp_path_factory):
    """A function that checks a file; what it learns of the package is kept for the next."""
    cache = tmp_path_factory.mktemp("mypy")
    paths = os.environ | {"MYPYPATH": f"{ROOT}:{ROOT / 'tests'}"}

    def check(file):
        command = [*COMMAND, "--cache-dir", cache, file]
        return subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True)

    return check
