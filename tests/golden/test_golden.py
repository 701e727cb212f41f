"""Recording and replaying: a small library made here, and what is recorded of PyTorch."""

import json
import os
import subprocess
import sys
import types

import ml_dtypes
import numpy as np
import pytest

from golden import ask, standins, stores, tapes

ROOT = stores.TESTS.parent


# -- a library, recorded and then gone ---------------------------------------------------------------
class Vector:
    """What a library has: values, operators, a list that it keeps, functions that it calls back."""

    def __init__(self, values):
        self.values, self.groups, self.hooks = np.asarray(values, dtype=float), [{"rate": 0.5}], []

    def __add__(self, other):
        return Vector(self.values + other.values)

    def numpy(self):
        return self.values

    def hook(self, function):
        self.hooks.append(function)
        return self

    def run(self):
        for function in self.hooks:
            self.values = function(Vector(self.values)).values * self.groups[0]["rate"]
        return self

    def refuse(self):
        raise ValueError("given nothing")

    def both(self):
        return self, {"size": self.values.size, "me": self}


LIBRARY = types.ModuleType("library")
LIBRARY.Vector, LIBRARY.half = Vector, 0.5


@pytest.fixture
def told(monkeypatch):
    """A function that runs another beside the library, then from what was recorded; it returns both results."""
    known = {}
    monkeypatch.setattr(stores, "facts", lambda: known)

    def both(test, again=None):
        found = []
        recording = tapes.Tape("here", [], recording=True)
        replay = tapes.Tape("here", None, recording=False)
        for tape, real, function in ((recording, LIBRARY, test), (replay, None, again or test)):
            if tape is replay:
                pools = stores.Answers(stores.HOME / "nowhere")
                replay.entries, replay.pools = pools.packed({"here": recording.entries})["here"], pools
                replay.entries = json.loads(json.dumps(replay.entries))
            with monkeypatch.context() as patch:
                patch.setattr(tapes, "current", tape)
                found.append(function(standins.Named("library", standins.Peer("library", real))))
        assert replay.place == len(replay.entries)
        return found

    return both


def test_values_are_told_again(told):
    def test(library):
        v = library.Vector([1.0, 2.0]) + library.Vector([3.0, 4.0])
        return v.numpy().tolist(), library.half, hasattr(library, "nothing")

    assert told(test) == [([4.0, 6.0], 0.5, False)] * 2


def test_objects_keep_their_identity(told):
    def test(library):
        v = library.Vector([1.0])
        same, rest = v.both()
        return same is v, rest["me"] is v, rest["size"], {v: 1}[same]

    assert told(test) == [(True, True, 1, 1)] * 2


def test_functions_are_called_back_and_writes_reach_the_library(told):
    def test(library):
        seen = []

        def double(v):
            seen.append(v.numpy().tolist())
            return v + v

        v = library.Vector([1.0, 3.0]).hook(double)
        v.groups[0]["rate"] = 10.0
        return v.run().numpy().tolist(), seen, v.groups[0]["rate"]

    assert told(test) == [([20.0, 60.0], [[1.0, 3.0]], 10.0)] * 2


def test_errors_are_raised_again(told):
    class Own(Exception):
        pass

    def fail(v):
        raise Own("from the test")

    def test(library):
        with pytest.raises(ValueError, match="given nothing"):
            library.Vector([1.0]).refuse()
        with pytest.raises(AttributeError):
            library.Vector([1.0]).unknown
        with pytest.raises(Own, match="from the test"):
            library.Vector([1.0]).hook(fail).run()
        return isinstance(library.Vector([1.0]), library.Vector)

    assert told(test) == [True, True]


def test_classes_may_be_derived(told):
    def test(library):
        class Larger(library.Vector):
            def numpy(self):
                return super().numpy() + 1

        return Larger([1.0]).numpy().tolist()

    assert told(test) == [[2.0], [2.0]]


def test_what_no_stand_in_can_do_is_asked_for(told):
    assert told(lambda library: ask(library, lambda real: sorted(vars(real.Vector))[-1])) == ["run"] * 2


@pytest.mark.parametrize(
    "other",
    [
        lambda library: (library.Vector([1.0, 2.0]) + library.Vector([0.0, 1.0])).numpy(),
        lambda library: library.Vector([1.0, 2.0, 3.0]).numpy(),
        lambda library: library.Vector([1.0, 2.0]).groups,
        lambda library: [library.Vector([1.0, 2.0]).numpy(), library.half, library.Vector([1.0])],
    ],
    ids=["another operator", "another shape", "another attribute", "one more call"],
)
def test_a_changed_test_is_told_from_a_wrong_result(told, other):
    with pytest.raises(pytest.fail.Exception, match="python -m tests.golden --record"):
        told(lambda library: library.Vector([1.0, 2.0]).numpy(), other)


# -- what is recorded --------------------------------------------------------------------------------
def recorded():
    """All files of answers, and the tests in them."""
    return {path: json.loads(np.load(path)["tapes"].tobytes()) for path in sorted(stores.HOME.rglob("*.npz"))}


def test_recordings_are_small_and_have_tests():
    files = [path for path in stores.HOME.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3e6
    homes = [stores.TESTS / path.relative_to(stores.HOME).with_suffix(".py") for path in files if path.suffix == ".npz"]
    assert [home for home in homes if not home.exists()] == []


#: Makes all arrays and numbers that leave lucidgrad too large.
FAULT = """
import functools, sys, numpy as np, pytest, lucidgrad as lg

def planted(function):
    @functools.wraps(function)
    def wrong(*args, **keywords):
        found = function(*args, **keywords)
        if isinstance(found, (float, np.ndarray)) and np.asarray(found).dtype.kind in "fc":
            return found * 1.05 + 0.05
        return found
    return wrong

class Plugin:
    def pytest_runtest_call(self, item):
        for name in ("numpy", "item", "__float__", "__array__"):
            setattr(lg.Tensor, name, planted(originals[name]))
    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            print("PASSED", report.nodeid)

originals = {name: getattr(lg.Tensor, name) for name in ("numpy", "item", "__float__", "__array__")}
sys.exit(pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", "-s", "--tb=no", *sys.argv[1:]], [Plugin()]))
"""


#: Files whose recorded arrays bound something, instead of being what lucidgrad must give.
BOUNDS = {
    "test_half_precision.py": "errors that must not be larger than PyTorch's",
    "test_init.py": "samples, which only have to come from the same distribution",
}


def test_recordings_find_wrong_numbers():
    """In every file of answers, tests that look at arrays fail if lucidgrad's numbers are wrong."""
    chosen = {}
    for path, tests in recorded().items():
        home = stores.TESTS / path.relative_to(stores.HOME).with_suffix(".py")
        arrays = [name for name, entries in tests.items() if '["a", "float' in json.dumps(entries)]
        if arrays and home.name not in BOUNDS:
            chosen[home.relative_to(ROOT).as_posix()] = {arrays[len(arrays) // 3], arrays[2 * len(arrays) // 3]}
    assert len(chosen) > 25
    nodes = [f"{file}::{test}" for file, tests in chosen.items() for test in sorted(tests)]
    environment = os.environ | {"LUCIDGRAD_GOLDEN": "replay"}
    command = [sys.executable, "-c", FAULT, *nodes]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    failed = {line.split()[1].partition("::")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert failed == set(chosen), done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.parametrize("path", sorted(stores.TESTS.joinpath("golden/answers").rglob("*.npz")), ids=lambda p: p.stem)
def test_no_answer_has_a_backtrace(path):
    """Its addresses and paths are others in each process."""
    assert "Exception raised from" not in json.dumps(stores.answers(path).tapes)


def test_numbers_are_compared_in_the_precision_that_they_have():
    one = float(np.float32(0.1))
    assert stores._near(one, float(np.float32(0.10001))) and not stores._near(one, float(np.float32(0.102)))
    assert stores._near(0.1, 0.1 + 1e-12) and not stores._near(0.1, 0.10001)
    assert stores._near(1j / 3, 1j / 3 + 1e-12) and not stores._near(1j / 3, 1j / 3 + 1e-6)
    for dtype, eps in ((np.float16, 2**-10), (ml_dtypes.bfloat16, 2**-7)):
        half = np.asarray([16.0, 0.25, np.inf, np.nan]) * (1 + eps)
        changed = lambda *shares, half=half, dtype=dtype: (half * (1 + np.asarray(shares))).astype(dtype).astype("d")
        assert stores._near(half, changed(2 * eps, 2 * eps, 0, 0)) and not stores._near(half, changed(4 * eps, 0, 0, 0))
        assert stores._near(half, changed(0, 60 * eps, 0, 0))  # a sum of larger numbers: less than the last bit of 16
        assert not stores._near(half, changed(0, 70 * eps, 0, 0))
        assert not stores._near(half, half[::-1]) and not stores._near(half, half[:2])
