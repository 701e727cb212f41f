"""What `make nightly` runs and tells; its random cases are others each night and can be repeated."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAKEFILE = """
good:
	@echo made good
bad:
	@exit 3
slow:
	@sleep 60 & echo $$! > child; wait
"""


def nightly(folder, *words, **environment):
    command = [sys.executable, "-m", "tools.nightly", *words, "--folder", str(folder)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Makefile").write_text(MAKEFILE)
    return tmp_path


def test_all_targets_run_and_a_failure_is_told_at_the_end(folder):
    ended = nightly(folder, "bad", "good", LUCIDGRAD_SEED="17")
    assert ended.returncode == 1
    assert "made good" in ended.stdout
    *_, head, bad, good, total, seed = ended.stdout.splitlines()
    assert head.split() == ["target", "seconds", "outcome"]
    assert re.fullmatch(r"bad +\d+ +failed \(2\)", bad)  # make's own code
    assert re.fullmatch(r"good +\d+ +passed", good)
    assert re.fullmatch(r"sum +\d+ +1 of 2 failed", total)
    assert "LUCIDGRAD_SEED=17" in seed
    assert nightly(folder, "good").returncode == 0


def test_a_target_that_takes_too_long_is_ended_with_all_it_started(folder):
    began = time.monotonic()
    ended = nightly(folder, "slow", "good", "--minutes", "0.03")
    assert ended.returncode == 1 and time.monotonic() - began < 30
    assert "longer than 0.03 minutes" in ended.stdout and "made good" in ended.stdout
    child = int((folder / "child").read_text())
    for _ in range(100):
        if not _runs(child):
            return
        time.sleep(0.05)
    raise AssertionError("what the target started goes on")


def _runs(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_targets_of_the_night_exist():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (found,) = re.findall(r"^NIGHTLY \?= ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    targets = set(found.replace("\\", "").split())
    assert {"peers", "processes", "architectures", "golden", "sanitize", "other-pythons", "oldest"} <= targets
    for target in targets:
        assert re.search(rf"^([\w-]+ )*{target}( [\w-]+)*:", text, re.MULTILINE), target


def test_what_peers_leaves_out_is_a_target_of_its_own():
    told = subprocess.run(
        ["make", "-n", "peers", "processes", "architectures"], cwd=ROOT, capture_output=True, text=True
    )
    lines = [line.split("--durations=10")[1].split() for line in told.stdout.splitlines() if "NIGHTLY=1" in line]
    peers, *others = lines
    assert peers[::2] == ["--ignore"] * (len(peers) // 2)
    assert sorted(peers[1::2]) == sorted(path for line in others for path in line)
    assert all((ROOT / path).exists() for path in peers[1::2])


def drawn(**environment):
    """The cases of a run with other settings, told by a process of its own."""
    program = "import thoroughness as t; print(t.SEED, list(t.seeds(2, 3)), t.draw('a').random())"
    clean = {k: v for k, v in os.environ.items() if k not in ("LUCIDGRAD_NIGHTLY", "LUCIDGRAD_SEED")}
    settings = {**clean, "PYTHONPATH": str(ROOT / "tests"), **environment}
    return subprocess.run([sys.executable, "-c", program], env=settings, capture_output=True, text=True).stdout


def test_random_cases_are_others_each_night_and_the_same_by_day():
    assert drawn() == drawn(LUCIDGRAD_SEED="8")
    assert drawn().startswith("0 [0, 1] ")
    night = [drawn(LUCIDGRAD_NIGHTLY="1", LUCIDGRAD_SEED=str(n)) for n in (8, 9, 8)]
    assert night[0] == night[2] and night[0].split()[1:] != night[1].split()[1:]
    assert drawn(LUCIDGRAD_NIGHTLY="1").split()[0] not in ("0", "")


def test_every_test_is_run_in_one_night_of_as_many_as_there_are_shares(monkeypatch):
    import thoroughness

    tests = [f"tests/test_some.py::test_{k}" for k in range(400)]
    monkeypatch.setattr(thoroughness, "SHARE", 4)
    nights = []
    for night in range(739_000, 739_004):
        monkeypatch.setenv("LUCIDGRAD_SEED", str(night))
        nights.append({test for test in tests if thoroughness.in_share(test)})
    assert sorted(test for night in nights for test in night) == sorted(tests)
    assert all(60 < len(night) < 140 for night in nights)


def test_other_surroundings_run_a_share():
    """As make says it, and as pytest does it."""
    told = subprocess.run(["make", "-np", "no-compiler", "SHARE=7"], cwd=ROOT, capture_output=True, text=True)
    for target in ("core", "oldest", "no-cupy", "no-compiler"):
        assert f"\n{target}: LUCIDGRAD_SHARE := 7\n" in told.stdout, target
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_nightly.py"]
    counts = []
    for share in ("1", "3"):
        environment = {**os.environ, "LUCIDGRAD_SHARE": share, "LUCIDGRAD_SEED": "1"}
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
        counts.append(found.stdout.count("::test_"))
    assert 0 < counts[1] < counts[0]
