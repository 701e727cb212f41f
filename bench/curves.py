"""``python -m bench.curves``: how time grows with the size of arrays, the length of the graph, the batch, and threads.

A chart of four: seconds of both libraries, forward and backward, on logarithmic scales. Sizes go from 10 to 10 million
elements, a graph from 10 to 100,000 nodes, a batch of an MLP from 1 to 4,096 examples, once more with two threads. Both
libraries take turns; each point is the shortest of its slices, since other programs only make one longer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.eager import SLICE, timed
from lucidgrad.bench import machine
from lucidgrad.bench.harness import CLOCKS, Clock
from lucidgrad.bench.report import HUES

DOCS = Path(__file__).parents[1] / "docs"
DATA, CHART = DOCS / "curves.json", DOCS / "images/curves.svg"
Step = Callable[[], Any]


def elements(m: Any, n: int) -> Step:
    """``tanh(x * y) + x`` of so many elements."""
    x, y, seed = (m.tensor(np.random.default_rng(k).random(n, np.float32), requires_grad=k < 2) for k in range(3))

    def step() -> None:
        x.grad = y.grad = None
        (m.tanh(x * y) + x).backward(seed)

    return step


def nodes(m: Any, n: int) -> Step:
    """A chain of so many operations on 10 elements."""
    x, y, seed = (m.tensor(np.full(10, 0.5, np.float32), requires_grad=k == 0) for k in range(3))

    def step() -> None:
        x.grad = None
        z = x
        for _ in range(n // 2):
            z = z * y + y
        z.backward(seed)

    return step


def batch(m: Any, n: int) -> Step:
    """The gradient of an MLP 256-256-10 for so many examples."""
    from bench.training import mlp

    return mlp(m, n, 256, 256, 10)


CURVES: dict[str, tuple[Callable[[Any, int], Step], tuple[int, ...], str]] = {
    "size": (elements, tuple(10**k for k in range(1, 8)), "elements of tanh(x * y) + x"),
    "length": (nodes, tuple(10**k for k in range(1, 6)), "nodes of a chain"),
    "batch": (batch, tuple(4**k for k in range(7)), "examples of an MLP 256-256-10"),
}


def measured(names: list[str], clock: Clock, rounds: int) -> dict[str, Any]:
    """Seconds of both libraries at every point."""
    import torch

    import lucidgrad

    torch.set_num_threads(machine.threads())
    found: dict[str, Any] = {}
    for name in names:
        make, points, _ = CURVES[name]
        found[name] = {"lucidgrad": [], "torch": []}
        for n in points:
            steps = {m.__name__: make(m, n) for m in (lucidgrad, torch)}
            best = {library: min(timed(step, 1, clock) for _ in range(2)) for library, step in steps.items()}
            for _ in range(rounds if max(best.values()) < 0.3 else 2):
                for library, step in steps.items():
                    count = max(1, round(SLICE / max(best[library], 1e-6)))
                    best[library] = min(best[library], timed(step, count, clock))
            for library, seconds in best.items():
                found[name][library].append(seconds)
    return found


def draw(data: dict[str, Any]) -> None:
    """The chart, on white, so that it can be read on dark pages, too."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "lucidgrad", "font.size": 9})
    from matplotlib import pyplot as plt

    figure, plots = plt.subplots(2, 2, figsize=(8.5, 6), layout="constrained")
    panels = [("1", "size"), ("1", "length"), ("1", "batch"), ("2", "batch")]
    for axes, (threads, name) in zip(plots.flat, panels, strict=True):
        _, points, about = CURVES[name]
        for library, label in (("lucidgrad", "lucidgrad"), ("torch", "torch eager")):
            seconds = data["threads"][threads][name][library]
            axes.loglog(points, [s * 1e3 for s in seconds], "o-", ms=3, color=HUES[library], label=label)
        axes.set_title(f"{about}, {threads} thread{'s' * (threads != '1')}", fontsize=9)
        axes.set_ylabel("milliseconds")
        axes.spines[["top", "right"]].set_visible(False)
    plots.flat[0].legend(frameon=False)
    figure.savefig(CHART, facecolor="white", metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.curves", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=8, help="default %(default)s")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="time that passes, or of processors")
    parser.add_argument("--draw", action="store_true", help="draw what was recorded, and measure nothing")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        machine.pin_threads(options.child)
        names = [*CURVES] if options.child == 1 else ["batch", "size"]
        found = measured(names, CLOCKS[options.clock], options.rounds)
        print(json.dumps({"machine": {**machine.describe(), "clock": options.clock}, "curves": found}))
        return 0
    if not options.draw:
        data: dict[str, Any] = {"threads": {}}
        for threads in (1, 2):
            command = [sys.executable, "-m", "bench.curves", "--child", str(threads)]
            command += ["--clock", options.clock, "--rounds", str(options.rounds)]
            child = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            data["machine"], data["threads"][str(threads)] = child["machine"], child["curves"]
        DATA.write_text(json.dumps(data, indent=1) + "\n")
    draw(json.loads(DATA.read_text()))
    print(f"written: {CHART.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
