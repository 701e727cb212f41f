"""``python -m lucidgrad``: what it shows, that right gradients pass, and that planted faults do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad import selftest
from lucidgrad.__main__ import main

ROOT = Path(lg.__file__).parents[1]


def program(*arguments, code=None, **extra):
    env = {**os.environ, "PYTHONPATH": str(ROOT), **extra}
    start = ["-m", "lucidgrad"] if code is None else ["-c", code]
    return subprocess.run([sys.executable, *start, *arguments], env=env, capture_output=True, text=True)


def test_it_shows_what_there_is_and_finds_nothing_wrong():
    result = program("--device", "cpu")
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"lucidgrad {lg.__version__} in {ROOT / 'lucidgrad'}"
    for words in ("numpy ", "devices", "  cpu: ", "  cuda: ", "kernels", "  compiled for the CPU: ", "caches"):
        assert any(line.startswith(words) or words in line for line in lines), words
    count = len(selftest.CASES)
    assert any(line.startswith(f"  cpu: {count} of {count} right, ") for line in lines)
    assert lines[-1] == "all is well"
    assert result.stderr == ""


def test_every_device_that_is_there(capsys):
    """All in one process, CUDA on the emulated device; libraries that start slowly in the nightly run."""
    slow = () if NIGHTLY else ("jax", "dask", "torch")
    chosen = [name for name in selftest.DEVICES if name not in slow and not selftest.unusable(name)]
    assert {"cpu", "cuda"} <= set(chosen)
    assert main([word for name in chosen for word in ("--device", name)]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name}: " in out for name in chosen)


def test_the_users_random_numbers_and_tensors_are_left_alone():
    before = str(lg.get_rng_state())
    assert all(outcome.verdict == "right" for outcome in selftest.check("cpu"))
    assert str(lg.get_rng_state()) == before


FAULT = """
import sys
from lucidgrad.core.primitive import registry
{fault}
from lucidgrad.__main__ import main
sys.exit(main(["--device", "{device}"]))
"""


def test_a_wrong_rule_is_found():
    fault = "registry['tanh'].rules[0].__code__ = (lambda xp, g, y: g * (1 - y * y) * 1.0001).__code__"
    result = program(code=FAULT.format(fault=fault, device="cpu"))
    assert result.returncode == 1
    assert "WRONG: elementwise functions: the gradient gives a slope of " in result.stdout
    assert result.stdout.endswith("wrong or not to be tested\n")


def test_a_wrong_kernel_of_a_device_is_found():
    """Its gradients agree with its values, but not with the CPU's."""
    pytest.importorskip("array_api_strict")
    fault = """
import lucidgrad as lg
lg.ones(1, device="strict")
from lucidgrad.core import device
strict = device.backend_named("strict")
log1p = strict.library.log1p
strict.kernels["log1p"] = lambda x, /: log1p(x) * 1.0001
"""
    result = program(code=FAULT.format(fault=fault, device="strict"))
    assert result.returncode == 1
    assert "WRONG: elementwise functions: the value differs from the CPU's by " in result.stdout


def test_a_crash_on_a_device_is_wrong(monkeypatch):
    def broken(x):
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(selftest, "CASES", (selftest.Case("broken", broken, [(2,)]),))
    (outcome,) = selftest.check("cpu")
    assert outcome == ("broken", "wrong", "ZeroDivisionError: broken")


def test_a_device_that_was_asked_for_must_be_there(monkeypatch, capsys):
    monkeypatch.setattr(selftest, "unusable", lambda device: "" if device == "cpu" else "no driver")
    assert main(["--device", "cuda"]) == 1
    assert "cuda: not tested: no driver" in capsys.readouterr().out
    monkeypatch.setattr(selftest, "CASES", selftest.CASES[:1])
    assert main([]) == 0  # what is not installed is no fault


def test_unknown_devices_and_no_test(capsys):
    assert main(["--device", "gpu"]) == 1
    assert "gpu: not tested: device 'gpu' is not known here; there are: cpu, cuda" in capsys.readouterr().out
    assert main(["--no-test"]) == 0
    assert "self-test" not in capsys.readouterr().out


def test_config_imports_and_compiles_nothing():
    code = "import lucidgrad as lg, sys; lg.show_config(); print({'torch', 'jax', 'cupy', 'dask'} & set(sys.modules))"
    assert program(code=code).stdout.endswith("set()\n")
