"""``python -m bench.optimisers``: the time of an optimiser's step, against PyTorch's default.

Both step the parameters of a network with gradients at hand, in turns, in one process. The last column is the ratio of
the step under ``lg.compile``, whose compilation is no part of the time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
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
GOALS = {"tiny MLP 32-32-1": 0.5, "MLP 784-512-512-10": 1.0}


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


def _time(step: Any, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


if __name__ == "__main__":
    sys.exit(main())
