"""``python -m bench.eager``: everything that an eager call can be slow at, beside PyTorch, in one table.

Four groups: calls on small arrays, derivatives, large arrays, and training steps with and without optimisers. Results
are compared first; then both libraries take turns in one process, in short slices, and the ratio is formed in each
round. The figure is the median of the rounds. With several threads there is a pause before a turn, in which threads of
the other library go to sleep, and a step that is not timed. Large arrays have another column: the bytes that must be
moved, by the time, as a share of what `numpy.copyto` reaches in the same run (``python -m bench.machine``).
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lucidgrad.bench import machine
from lucidgrad.bench.harness import CLOCKS, PAUSE, Clock
from lucidgrad.bench.report import HUES, short

Step = Callable[[], Any]
SLICE = 0.004  # seconds of a library in a round, if a step is not longer
GROUPS = ("small", "derivatives", "large", "training")
TOLERANCE = {"rtol": 2e-3, "atol": 2e-4}


@dataclass(frozen=True)
class Case:
    """A step of each library, lucidgrad's first; the ratio to reach; bytes that must be moved."""

    group: str
    name: str
    steps: Callable[[Any, Any], tuple[Step, Step]]
    goal: float | None
    traffic: float = 0.0


@dataclass
class Row:
    """What was measured: ratios by round, and seconds of the two in the middle of all rounds."""

    case: Case
    ratios: list[float]
    ours: float
    theirs: float
    copied: float  # bytes per second of a copy

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        low, _, high = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return low, high

    @property
    def reached(self) -> bool | None:
        return None if self.case.goal is None else self.ratio <= self.case.goal

    @property
    def shares(self) -> tuple[float, float] | None:
        """The bandwidth of both libraries as a share of a copy's."""
        if not self.case.traffic:
            return None
        return self.case.traffic / self.ours / self.copied, self.case.traffic / self.theirs / self.copied


def cases(groups: list[str]) -> Iterator[Case]:
    """All of the groups."""
    from bench import derivatives, large, small, training

    each = lambda make: lambda *libraries: tuple(make(m) for m in libraries)
    if "small" in groups:
        for name, case in small.CASES.items():
            yield Case("small", name, each(case.step), case.goal)
    if "derivatives" in groups:
        for name, make in derivatives.CASES.items():
            yield Case("derivatives", name, fastest(make), derivatives.GOALS[name])
    if "large" in groups:
        for name, case in large.CASES.items():
            yield Case("large", name, each(case.step), case.goal, case.traffic)
    if "training" in groups:
        for name, case in training.CASES.items():
            yield Case("training", name, each(lambda m, case=case: case.make(m, case.rows)), case.goal)


def fastest(make: Callable[..., Any]) -> Callable[[Any, Any], tuple[Step, Step]]:
    """The fastest of each library's ways to a derivative."""

    def steps(_: Any, torch: Any) -> tuple[Step, Step]:
        found = []
        for ways in make(torch):
            best = {name: min(timed(way, 1, CLOCKS["cpu"]) for _ in range(5)) for name, way in ways.items()}
            found.append(ways[min(best, key=best.__getitem__)])
        return found[0], found[1]

    return steps


def arrays(value: Any) -> list[Any]:
    """What a step gave, as a list of arrays."""
    import numpy as np

    parts = value if isinstance(value, (tuple, list)) else [value]
    return [np.asarray(part.detach()) for part in parts if part is not None]


def timed(step: Step, count: int, clock: Clock) -> float:
    """Seconds per step."""
    start = clock()
    for _ in range(count):
        step()
    return (clock() - start) / count


def measured(
    case: Case, libraries: tuple[Any, Any], rounds: int, budget: float, clock: Clock, pause: float = 0.0
) -> Row:
    """Compare and time a case."""
    import numpy as np

    steps = case.steps(*libraries)
    for _ in range(2):
        for own, other in zip(*(arrays(step()) for step in steps), strict=True):
            np.testing.assert_allclose(own, other, **TOLERANCE, err_msg=case.name)
    gc.collect()
    gc.freeze()  # nobody pays for walking through the modules of the other
    try:
        single = [min(timed(step, 1, clock) for _ in range(3)) for step in steps]
        counts = [max(1, round(SLICE / max(seconds, 1e-7))) for seconds in single]
        rounds = max(3, min(rounds, int(budget / sum(max(SLICE, seconds) for seconds in single))))
        times: list[list[float]] = [[], []]
        for k in range(rounds):
            for i in (0, 1) if k % 2 else (1, 0):
                if pause:
                    time.sleep(pause)
                    steps[i]()
                times[i].append(timed(steps[i], counts[i], clock))
    finally:
        gc.unfreeze()
    ratios = [a / b for a, b in zip(*times, strict=True)]
    copied = machine.bandwidth(clock) if case.traffic else 0.0
    return Row(case, ratios, *map(statistics.median, times), copied)


def line(row: Row) -> str:
    """A row of the table."""
    low, high = row.quartiles
    case, shares = row.case, row.shares
    goal = "-" if case.goal is None else f"{case.goal:.2f}"
    verdict = {True: "yes", False: "no", None: ""}[row.reached]
    moved = "" if shares is None else f"{shares[0]:7.0%} {shares[1]:6.0%}"
    return (
        f"{case.name:30} {row.ratio:6.2f} ({low:.2f} .. {high:.2f}) {goal:>6} {verdict:>4}"
        f"  {row.ours * 1e3:9.3f} ms {row.theirs * 1e3:9.3f} ms {moved}"
    )


def as_json(rows: list[Row], clock: str) -> dict[str, object]:
    """The run as plain data, with the machine that it was made on."""
    return {
        "machine": {**machine.describe(), "clock": clock},
        "cases": [
            {
                "group": row.case.group,
                "case": row.case.name,
                "ratio": round(row.ratio, 4),
                "quartiles": [round(q, 4) for q in row.quartiles],
                "rounds": len(row.ratios),
                "goal": row.case.goal,
                "milliseconds": [round(row.ours * 1e3, 4), round(row.theirs * 1e3, 4)],
                "bandwidth": row.shares and [round(share, 3) for share in row.shares],
            }
            for row in rows
        ],
    }


def draw(rows: list[Row], path: Path) -> None:
    """Bars that start at PyTorch's time, on a logarithmic scale; black marks are goals."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 0.8 + 0.24 * len(rows)), layout="constrained")
    for i, row in enumerate(rows):
        axes.barh(i, row.ratio - 1, 0.7, left=1, color=HUES["lucidgrad"])
        side: dict[str, Any] = {"ha": "right", "xytext": (-3, 0)} if row.ratio < 1 else {"ha": "left", "xytext": (3, 0)}
        axes.annotate(short(row.ratio), (row.ratio, i), textcoords="offset points", va="center", fontsize=7, **side)
        if row.case.goal:
            axes.plot([row.case.goal] * 2, [i - 0.4, i + 0.4], color="black", lw=1.5)
    axes.axvline(1, color="black", lw=0.8)
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.01)
    axes.set_yticks(range(len(rows)), [row.case.name for row in rows])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.set_xlabel("time as a ratio to PyTorch eager (left is faster; black: goal)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.eager", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--groups", metavar="A,B", default=",".join(GROUPS), help="default: %(default)s")
    parser.add_argument("--case", default="", metavar="TEXT", help="cases whose names have this in them")
    parser.add_argument("--threads", type=int, default=1, help="threads of both libraries, default %(default)s")
    parser.add_argument("--rounds", type=int, default=60, help="at most so many, default %(default)s")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for a case, default %(default)s")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="time that passes, or of processors")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the table (PNG)")
    options = parser.parse_args(arguments)
    groups = options.groups.split(",")
    if unknown := [name for name in groups if name not in GROUPS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(GROUPS)}")
    machine.pin_threads(options.threads)
    chosen = [case for case in cases(groups) if options.case in case.name]
    if not chosen:
        parser.error(f"no case of {', '.join(groups)} has {options.case!r} in its name")

    import torch

    import lucidgrad

    torch.set_num_threads(options.threads)
    told = "processor time" if options.clock == "cpu" else "time"
    print(f"{told} as a ratio to PyTorch eager's, {options.threads} threads; bandwidth as a share of a copy's\n")
    heads = f"{'ratio':>6} {'(quartiles)':14} {'goal':>6} {'':4}  {'lucidgrad':>12} {'torch':>12}"
    print(f"{'case':30} {heads} {'moved':>7} {'torch':>6}")
    rows = []
    for case in chosen:
        effort = options.rounds, options.budget, CLOCKS[options.clock], PAUSE if options.threads > 1 else 0.0
        rows.append(measured(case, (lucidgrad, torch), *effort))
        print(line(rows[-1]), flush=True)
    missed = [row.case.name for row in rows if row.reached is False]
    print(f"\nmissed: {', '.join(missed) or 'none'}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows, options.clock), indent=1) + "\n")
    if options.chart:
        draw(rows, options.chart)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
