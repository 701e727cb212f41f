"""Programs for HIPS autograd run as they are: through the door, beside autograd where it is installed, as recorded."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hips_peer import HAS_AUTOGRAD

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
RECORDED = json.loads((HERE / "recorded.json").read_text(encoding="utf-8"))

#: How far apart results may be where an algorithm makes more of a rounding: a line search, an equation's solver.
LOOSER = {"gaussian_process": 1e-8, "ode_net": 1e-8, "independent_components": 1e-9, "fluid_simulation": 1e-9}


@functools.cache
def found_by(*words):
    """What the programs find in a fresh interpreter."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", *words, str(HERE / "record_hips.py")], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def compare(name, found, expected):
    assert found.keys() == expected.keys()
    for key, value in found.items():
        np.testing.assert_allclose(value, expected[key], rtol=LOOSER.get(name, 1e-10), atol=1e-10, err_msg=key)


def test_the_door_stands_for_autograd():
    assert found_by("-m", "lucidgrad.hips")["by"] == "lucidgrad.hips"
    assert RECORDED["by"] == "autograd"
    assert sorted(RECORDED) == sorted(["by", *PROGRAMS])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_what_was_recorded(name):
    compare(name, found_by("-m", "lucidgrad.hips")[name], RECORDED[name])


@pytest.mark.skipif(not HAS_AUTOGRAD, reason="autograd is not installed")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_what_it_finds_with_autograd(name):
    compare(name, found_by("-m", "lucidgrad.hips")[name], found_by()[name])
