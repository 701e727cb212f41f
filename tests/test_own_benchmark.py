"""``python -m lucidgrad.bench``: it runs from the package alone, compares before it times, and finds what differs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.bench import harness, peers, report
from lucidgrad.bench.cases import CASES

ROOT = Path(lg.__file__).parents[1]


def bench(*arguments, module="lucidgrad.bench", cwd=None):
    env = {name: value for name, value in os.environ.items() if name != "LUCIDGRAD_BENCH_THREADS"}
    env["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def test_it_runs_outside_the_repository(tmp_path):
    chosen = [
        "--cases",
        "small_nograd,layers",
        "--peers",
        "lucidgrad,numpy",
        "--rounds",
        "2",
        "--json",
        "x.json",
        "--clock",
        "cpu",
    ]
    result = bench(*chosen, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "Time as a ratio to by hand = 1.00" in result.stdout
    assert "goal" not in result.stdout  # goals are ratios to PyTorch
    told = json.loads((tmp_path / "x.json").read_text())
    assert told["reference"] == "numpy" and (told["machine"]["threads"], told["machine"]["clock"]) == (1, "cpu")
    assert all(case["results"]["lucidgrad"]["ratio"] > 0 for case in told["cases"].values())


def test_the_repositorys_command_is_the_same_program():
    assert "python -m bench [-h]" in bench("--help", module="bench", cwd=ROOT).stdout
    assert "unknown: nothing; known: " in bench("--cases", "nothing").stderr


ONCE = harness.Effort(rounds=1, at_least=1, slice=0.0, budget=0.0)


@pytest.mark.parametrize("case", [case for case in CASES.values() if not case.long], ids=lambda case: case.name)
def test_lucidgrad_computes_what_was_written_by_hand(case):
    run = harness.run(["lucidgrad", "numpy"], [case], ONCE, lambda line: None, ["numpy"])
    assert not run.wrong and run.results[case]["lucidgrad"].missing is None


@pytest.mark.parametrize(
    "name", ["small_nograd", "small_params", "small_scalars", *cases([], ["layers", "chain_10k", "fanout_10k"])]
)
def test_what_is_compiled_computes_the_same(name):
    case, own = CASES[name], peers.load("compiled")
    run = harness.run(["compiled", "numpy"], [case], ONCE, lambda line: None, ["numpy"])
    assert not run.wrong and run.results[case]["compiled"].missing is None
    assert own.LABEL == "lucidgrad compiled" and own.LABEL in report.table(run)


def test_what_does_not_work_here_is_left_out_by_name(monkeypatch):
    said = []

    def load(name):
        if name == "torch_compile":
            raise ImportError("torch.compile does not work here")
        return peers_load(name)

    peers_load = peers.load
    monkeypatch.setattr(peers, "load", load)
    run = harness.run(["torch_compile", "numpy"], [CASES["small_nograd"]], ONCE, said.append, ["numpy"])
    assert "torch_compile: skipped (torch.compile does not work here)" in said and list(run.peers) == ["numpy"]


def test_a_wrong_gradient_is_refused(monkeypatch):
    case, own = CASES["layers"], peers.load("lucidgrad")
    right = own.gradient

    def wrong(case):
        step = right(case)
        return lambda: [x * 1.01 if i == 2 else x for i, x in enumerate(step())]

    monkeypatch.setattr(own, "gradient", wrong)
    said = []
    run = harness.run(["lucidgrad", "numpy"], [case], harness.QUICK, said.append, ["numpy"])
    assert run.wrong
    assert any("differs from numpy: gradient 1" in line for line in said)
