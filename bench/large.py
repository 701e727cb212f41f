"""``python -m bench.large``: large arrays, forward and backward, beside PyTorch; what memory and threads cost.

Every case is checked against PyTorch's gradients first; then all run in turns, and the ratio is formed in each round.
The column "compiled" is lucidgrad under ``lg.compile``, whose compilation is no part of the time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from lucidgrad.bench import machine

ROWS, COLUMNS = 4096, 1024
GOAL = 1.0

#: Formulas of a namespace and three arrays of ROWS x COLUMNS.
CASES: dict[str, Callable[..., Any]] = {
    "tanh": lambda xp, x, y, z: xp.tanh(x),
    "sigmoid": lambda xp, x, y, z: xp.sigmoid(x),
    "gelu": lambda xp, x, y, z: xp.gelu(x),
    "silu": lambda xp, x, y, z: xp.silu(x),
    "softplus": lambda xp, x, y, z: xp.softplus(x),
    "relu": lambda xp, x, y, z: xp.relu(x),
    "x * y + z": lambda xp, x, y, z: x * y + z,
    "exp and log": lambda xp, x, y, z: xp.exp(x) * y + xp.log(z + 1.0),
    "sum, axis 0": lambda xp, x, y, z: xp.sum(x, dim=0),
    "sum, axis 1": lambda xp, x, y, z: xp.sum(x, dim=1),
    "logsumexp": lambda xp, x, y, z: xp.logsumexp(x, dim=1),
    "var": lambda xp, x, y, z: xp.var(x, dim=1, correction=1),
    "softmax": lambda xp, x, y, z: xp.softmax(x, dim=1),
}


def peers() -> tuple[Any, Any]:
    """The namespaces of PyTorch and of lucidgrad."""
    import torch

    import lucidgrad as lg

    torch.set_num_threads(machine.threads())
    names = ("tanh", "sigmoid", "relu", "exp", "log", "sum", "logsumexp", "var", "softmax", "tensor")
    functions = {name: getattr(torch.nn.functional, name) for name in ("gelu", "silu", "softplus")}
    return SimpleNamespace(**functions, **{name: getattr(torch, name) for name in names}), lg


def step(xp: Any, formula: Callable[..., Any], arrays: list[Any], seed: Any) -> Callable[[], list[Any]]:
    """The function that runs a case once, and returns the gradients."""
    inputs = [xp.tensor(a, requires_grad=True) for a in arrays]
    cotangent = xp.tensor(seed)

    def run() -> list[Any]:
        for x in inputs:
            x.grad = None
        formula(xp, *inputs).backward(cotangent)
        return [x.grad for x in inputs]

    return run


def ratios(ours: list[Callable[[], Any]], theirs: Callable[[], Any], rounds: int) -> tuple[list[Any], list[float]]:
    """Each of our times as a ratio to theirs, by round, and their seconds."""
    found: list[list[float]] = [[] for _ in ours]
    seconds = []
    for k in range(rounds):
        times = {}
        for run in (*ours, theirs) if k % 2 else (theirs, *reversed(ours)):
            start = time.perf_counter()
            run()
            times[run] = time.perf_counter() - start
        for column, run in zip(found, ours, strict=True):
            column.append(times[run] / times[theirs])
        seconds.append(times[theirs])
    return found, seconds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.large", description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads of both, default %(default)s")
    parser.add_argument("--rounds", type=int, default=25, help="default %(default)s")
    parser.add_argument("--cases", metavar="A,B", help=f"these only, of: {', '.join(CASES)}")
    options = parser.parse_args()
    machine.pin_threads(options.threads)

    import numpy as np

    torch, lg = peers()
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((ROWS, COLUMNS), np.float32), *(rng.random((2, ROWS, COLUMNS), np.float32))]
    print(f"{ROWS} x {COLUMNS} float32, forward and backward, {options.threads} threads, goal {GOAL:.2f}\n")
    print(f"{'':16}{'PyTorch':>10}{'lucidgrad':>11}   quartiles{'compiled':>13}")
    missed = []
    for name in options.cases.split(",") if options.cases else CASES:
        formula = CASES[name]
        seed = rng.random(formula(lg, *map(lg.tensor, arrays)).shape, np.float32)
        ours, theirs = (step(xp, formula, arrays, seed) for xp in (lg, torch))
        compiled = lg.compile(step(lg, formula, arrays, seed), fullgraph=True)
        for run in (ours, compiled, compiled):  # the first call of what is compiled is the function itself
            for own, other in zip(run(), theirs(), strict=True):
                if other is not None:
                    np.testing.assert_allclose(own.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
        (found, programs), seconds = ratios([ours, compiled], theirs, options.rounds)
        low, middle, high = statistics.quantiles(found, n=4)
        print(
            f"{name:16}{statistics.median(seconds) * 1e3:7.1f} ms{middle:11.2f}   {low:.2f} .. {high:.2f}"
            f"{statistics.median(programs):10.2f}",
            flush=True,
        )
        missed += [name] if middle > GOAL else []
    print(f"\nmissed: {', '.join(missed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
