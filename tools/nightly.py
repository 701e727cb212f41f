"""Targets of the Makefile, one after the other, as `make nightly` asks: ``python -m tools.nightly sanitize golden``.

A target that fails, or takes longer than its bound, does not keep the others from running. At the end stands a line for
each, with its seconds and how it ended, and what repeats the random cases.
"""

import argparse
import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(target: str, minutes: float, folder: Path) -> tuple[float, str]:
    """Make a target; returns its seconds and its outcome in words."""
    began = time.monotonic()
    process = subprocess.Popen(["make", target], cwd=folder, start_new_session=True)
    try:
        code = process.wait(60 * minutes)
        outcome = "passed" if code == 0 else f"failed ({code})"
    except subprocess.TimeoutExpired:
        outcome = f"failed (longer than {minutes:g} minutes)"
    finally:
        if process.poll() is None:  # too long, or interrupted: nothing is left behind
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return time.monotonic() - began, outcome


def summary(rows: list[tuple[str, float, str]]) -> str:
    """A line for each target, and their sum."""
    total = sum(seconds for _, seconds, _ in rows)
    failed = sum(outcome != "passed" for *_, outcome in rows)
    end = f"{failed} of {len(rows)} failed" if failed else "all passed"
    width = max(map(len, ["target", *(name for name, *_ in rows)]))
    lines = [("target", "seconds", "outcome")]
    lines += [(name, f"{seconds:.0f}", outcome) for name, seconds, outcome in rows]
    lines += [("sum", f"{total:.0f}", end)]
    return "\n".join(f"{name:<{width}}  {seconds:>7}  {outcome}" for name, seconds, outcome in lines)


def main(*given: str) -> int:
    """Run the targets; returns 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.nightly", description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--minutes", type=float, default=75, help="what a target may take (75)")
    parser.add_argument("--folder", type=Path, default=ROOT, help="where the Makefile is")
    chosen = parser.parse_args(given)
    seed = os.environ.setdefault("LUCIDGRAD_SEED", str(datetime.date.today().toordinal()))  # one for all targets
    rows = []
    for target in chosen.targets:
        print(f"\n== {target} ({datetime.datetime.now():%H:%M})", flush=True)
        rows.append((target, *run(target, chosen.minutes, chosen.folder)))
    print(f"\n{summary(rows)}\nLUCIDGRAD_SEED={seed} repeats the random cases")
    return int(any(outcome != "passed" for *_, outcome in rows))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
