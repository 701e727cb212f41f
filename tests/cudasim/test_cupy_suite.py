"""The script that runs CuPy's own tests, on a suite that is small and strange."""

import sys

from .cupy_suite import draw
from .processes import run

SUITE = """
import os, pytest, cupy

def test_sum():
    assert cupy.arange(5).sum() == 10

def test_wrong():
    assert cupy.arange(5).sum() == 11

def test_crash():
    os._exit(3)

@pytest.mark.skip
def test_skipped(): pass

@pytest.mark.xfail
def test_expected():
    raise AssertionError

@pytest.mark.slow
def test_slow():
    raise AssertionError

def test_zeros():
    assert not cupy.zeros(5).any()
"""


def test_report(tmp_path):
    folder = tmp_path / "tests" / "cupy_tests" / "strange_tests"
    folder.mkdir(parents=True)
    (folder / "test_strange.py").write_text(SUITE)
    (folder / "test_broken.py").write_text("import a_module_that_does_not_exist")
    result = run(sys.executable, "-m", "tests.cudasim.cupy_suite", str(tmp_path), "--failures", "strange_tests")
    assert result.returncode == 0, result.stderr
    row = next(line for line in result.stdout.splitlines() if line.startswith("cupy_tests/strange_tests"))
    assert row.split()[1:7] == ["2", "2", "1", "1", "50.0", "%"]
    assert "test_broken.py can't be collected: " in row
    assert "test_strange.py::test_crash\n        ended the process, or hung\n" in result.stdout
    assert "test_slow" not in result.stdout


class Item:
    def __init__(self, nodeid):
        self.nodeid = nodeid


def test_sample_takes_every_function_before_it_repeats_one():
    items = [*(Item(f"many[{i}]") for i in range(100)), *map(Item, "abc")]
    drawn = draw(items, 6, seed=1)
    assert len(drawn) == 6
    assert {"a", "b", "c"} <= {item.nodeid for item in drawn}
    assert drawn == draw(items, 6, seed=1)
    assert draw(items, 0, seed=1) == items
