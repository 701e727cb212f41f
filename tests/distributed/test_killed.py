"""A process that is killed at any moment ends its job, and leaves a checkpoint from which the training goes on."""

import os
import signal
import time
from pathlib import Path

from checks_sharding import _made
from ranks import HERE, ended, launch, started
from thoroughness import cases, draw

import lucidgrad as lg
from lucidgrad.distributed import checkpoint
from lucidgrad.files import FileFormatError

RANKS = cases(2, 3)


def _token(folder: Path) -> str | None:
    try:
        return checkpoint._current(str(folder))
    except FileFormatError:  # must not be: the index is replaced in one step
        raise AssertionError("the index is damaged") from None


def _wait(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return b"\0" not in Path(f"/proc/{pid}/cmdline").read_bytes()  # a zombie has none


def test_killed_at_any_moment(tmp_path):
    random = draw("killed")
    step = 0
    for _ in range(cases(1, 20)):
        for old in tmp_path.glob("pid-*"):
            old.unlink()
        before = _token(tmp_path)
        job = started(RANKS, str(HERE / "interrupted.py"), str(tmp_path))
        try:
            _wait(lambda: len(list(tmp_path.glob("pid-*"))) == RANKS, 600)
            for _ in range(2):  # two checkpoints at least
                _wait(lambda seen=before: _token(tmp_path) != seen, 600)
                before = _token(tmp_path)
            time.sleep(random.uniform(0, 0.2))
            pids = [int((tmp_path / f"pid-{rank}").read_text()) for rank in range(RANKS)]
            os.kill(random.choice(pids), signal.SIGKILL)
        finally:
            outcome = ended(job, 150)  # the group itself would wait longer
        assert outcome.code not in (None, 0), outcome
        _wait(lambda pids=pids: all(map(_is_gone, pids)), 300)
        model = _made(3)
        optimiser = lg.optim.AdamW(model.parameters())
        state = {"model": model, "optimiser": optimiser, "step": 0}
        checkpoint.load(state, checkpoint_id=tmp_path, no_dist=True)  # every file is read, and checked
        assert state["step"] > step, outcome
        step = state["step"]
    outcome = launch(RANKS, str(HERE / "interrupted.py"), str(tmp_path), "3")
    assert outcome.code == 0 and f"equal after {step + 3} steps" in outcome.output, outcome
    assert len([entry for entry in tmp_path.iterdir() if entry.is_dir()]) == 1
