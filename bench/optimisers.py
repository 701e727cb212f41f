"""``python -m bench.optimisers``: the time of an optimiser's step, against PyTorch's default.

Both step the parameters of a network with gradients at hand, in turns, in one process. The last column is the ratio of
the step under ``lg.compile``, whose compilation is no part of the time. Then tables of which a batch looks up a few
rows, with row-sparse gradients: lookup, backward and step.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from lucidgrad.bench import machine

NETWORKS = {
    "tiny MLP 32-32-1": [(32, 32), (32,), (1, 32), (1,)],
    "MLP 784-512-512-10": [(512, 784), (512,), (512, 512), (512,), (10, 512), (10,)],
}
OPTIMISERS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 1e-4}),
    "SGD, momentum": ("SGD", {"lr": 1e-4, "momentum": 0.9}),
    "Adam": ("Adam", {"lr": 1e-4}),
    "AdamW": ("AdamW", {"lr": 1e-4}),
}
TABLE, ROWS = (50_000, 128), 4096
GOALS = {"tiny MLP 32-32-1": 0.5, "MLP 784-512-512-10": 1.0, "rows of a table": 1.0}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.optimisers", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="rounds of each case, default 15")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of both libraries, default 1")
    options = parser.parse_args()
    machine.pin_threads(options.threads)
    print(f"{'network':22} {'optimiser':14} {'lucidgrad':>10} {'torch':>10} {'ratio':>6} {'goal':>5} {'compiled':>8}")
    missed = False
    for network, shapes in NETWORKS.items():
        for name, (kind, settings) in OPTIMISERS.items():
            ours, theirs, compiled = measure(shapes, kind, settings, options.rounds, options.threads)
            ratio, as_program = (
                statistics.median(a / b for a, b in zip(column, theirs, strict=True)) for column in (ours, compiled)
            )
            times = [f"{statistics.median(t) * 1e6:7.1f} µs" for t in (ours, theirs)]
            figures = f"{times[0]:>10} {times[1]:>10} {ratio:6.2f} {GOALS[network]:5} {as_program:8.2f}"
            print(f"{network:22} {name:14} {figures}", flush=True)
            missed |= ratio > GOALS[network]
    for kind in ("SGD", "Adagrad", "SparseAdam"):
        ours, theirs = measure_rows(kind, options.rounds, options.threads)
        ratio, goal = statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), GOALS["rows of a table"]
        times = [f"{statistics.median(t) * 1e6:7.1f} µs" for t in (ours, theirs)]
        print(f"{'rows of a table':22} {kind:14} {times[0]:>10} {times[1]:>10} {ratio:6.2f} {goal:5}", flush=True)
        missed |= ratio > goal
    return int(missed)


def measure(
    shapes: list[tuple[int, ...]], kind: str, settings: dict[str, Any], rounds: int, threads: int
) -> tuple[list[float], list[float], list[float]]:
    """Seconds per step in each round, of lucidgrad, PyTorch, and lucidgrad's program."""
    import numpy as np
    import torch

    import lucidgrad as lg

    torch.set_num_threads(threads)
    rng = np.random.default_rng(0)
    values = [[rng.normal(size=s).astype("float32") for s in shapes] for _ in range(2)]
    steps = []
    for m in (lg, torch, lg):
        ps = [m.tensor(v, requires_grad=True) for v in values[0]]
        for p, g in zip(ps, values[1], strict=True):
            p.grad = m.tensor(g)
        steps.append(getattr(m.optim, kind)(ps, **settings).step)
    steps[2] = lg.compile(steps[2], fullgraph=True)
    found: tuple[list[float], list[float], list[float]] = ([], [], [])
    counts = []
    for step in steps:
        seconds = min(_time(step, 1) for _ in range(10))
        counts.append(max(3, round(0.02 / seconds)))
    for k in range(rounds):
        for i in (0, 1, 2) if k % 2 else (2, 1, 0):
            found[i].append(_time(steps[i], counts[i]))
    return found


def measure_rows(kind: str, rounds: int, threads: int) -> tuple[list[float], list[float]]:
    """Seconds of a training step of a table with ``sparse=True`` in each round, of lucidgrad and PyTorch."""
    import numpy as np
    import torch

    import lucidgrad as lg

    torch.set_num_threads(threads)
    start = np.random.default_rng(0).normal(size=TABLE).astype("float32")
    steps = []
    for m in (lg, torch):
        w = m.tensor(start, requires_grad=True)
        batches = [m.tensor(np.random.default_rng(k).integers(0, TABLE[0], ROWS)) for k in range(20)]
        steps.append(_training(m, w, itertools.cycle(batches), getattr(m.optim, kind)([w], lr=1e-3)))
    found: tuple[list[float], list[float]] = ([], [])
    for k in range(rounds + 2):
        for i in (0, 1) if k % 2 else (1, 0):
            seconds = _time(steps[i], 5)
            found[i].extend([seconds] if k > 1 else [])  # the first ones make states
    return found


def _training(m: Any, w: Any, batches: Iterator[Any], optimiser: Any) -> Callable[[], None]:
    def step() -> None:
        optimiser.zero_grad()
        y = m.nn.functional.embedding(next(batches), w, sparse=True)
        (y * y).sum().backward()
        optimiser.step()

    return step


def _time(step: Any, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


if __name__ == "__main__":
    sys.exit(main())
