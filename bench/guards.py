"""``python -m bench.guards``: what a call of a compiled function costs besides its program.

Whole calls and their programs alone run by turns in one process, in processor time of one thread; the best of all
rounds counts. A *leaf* is a tensor that the program depends on: an argument, a parameter, a state of an optimiser. The
last column is what each further leaf adds, between a small and a large case.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import lucidgrad as lg

#: A compiled function, a call of it, and how many leaves the call has.
Case = tuple[Any, Callable[[], Any], int]


def arguments(count: int) -> Case:
    f = lg.compile(lambda xs: xs[0] * xs[1] + xs[0])
    xs = [lg.ones(4) for _ in range(count)]
    return f, lambda: f(xs), count


def pair() -> Case:
    f = lg.compile(lambda x, y: x * y + x)
    x, y = lg.ones(4), lg.ones(4)
    return f, lambda: f(x, y), 2


def training(optimiser: type, layers: int, states: int) -> Case:
    lg.manual_seed(0)
    model = lg.nn.Sequential(*(lg.nn.Linear(32, 32) for _ in range(layers - 1)), lg.nn.Linear(32, 1))
    optimizer = optimiser(model.parameters(), lr=1e-3)

    @lg.compile
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = lg.nn.functional.mse_loss(lg.tanh(model(x)), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    x, y = lg.randn(16, 32), lg.zeros(16, 1)
    return step, lambda: step(x, y), 2 + (1 + states) * 2 * layers


def tensors(count: int) -> Case:
    held = [lg.ones(2) for _ in range(count)]
    f = lg.compile(lambda x: lg.stack([x, *held]).sum())
    x = lg.ones(2)
    return f, lambda: f(x), count + 1


def module(layers: int) -> Case:
    model = lg.compile(lg.nn.Sequential(*(lg.nn.Linear(2, 2) for _ in range(layers))).requires_grad_(False))
    x = lg.ones(2, 2)
    return model._compiled, lambda: model._compiled(x), 2 * layers + 1


def signatures(count: int) -> Case:
    f = lg.compile(lambda x, y: x * y + x, options={"warn": False})
    pairs = [(lg.ones(n), lg.ones(n)) for n in range(1, count + 1)]
    for x, y in pairs:
        f(x, y)
    at = iter(())

    def call() -> Any:
        nonlocal at
        for x, y in at:
            return f(x, y)
        at = iter(pairs)
        return call()

    return f, call, 2


CASES: dict[str, Callable[[], list[Case]]] = {
    "two tensors": lambda: [pair()],
    "a list of tensors": lambda: [arguments(2), arguments(200)],
    "tensors of a closure": lambda: [tensors(2), tensors(200)],
    "a module of linear layers": lambda: [module(2), module(100)],
    "a step of SGD": lambda: [training(lg.optim.SGD, 2, 0), training(lg.optim.SGD, 20, 0)],
    "a step of Adam": lambda: [training(lg.optim.Adam, 2, 2), training(lg.optim.Adam, 20, 2)],
    "one of 3 or 50 signatures": lambda: [signatures(3), signatures(50)],
}


def best(runs: list[Callable[[], Any]], rounds: int, slice_: float = 0.004) -> list[float]:
    """Seconds per call of each, by turns."""
    found = [float("inf")] * len(runs)
    for _ in range(rounds):
        for k, run in enumerate(runs):
            begin, count = time.thread_time(), 0
            while time.thread_time() - begin < slice_:
                for _ in range(10):
                    run()
                count += 10
            found[k] = min(found[k], (time.thread_time() - begin) / count)
    return found


def programs(case: Case) -> Callable[[], Any]:
    """What runs the programs of a call alone, with the arrays of one call."""
    compiled, call, _ = case
    for _ in range(3):
        call()
    entry = compiled._recent.programs([])[0]
    run, seen = entry.run, []

    def noting(values: Any) -> Any:
        seen.append(list(values))
        return run(values)

    entry.run = noting
    for _ in range(100):  # until it is the turn of this signature
        call()
        if seen:
            break
    entry.run = run
    return lambda: run(seen[0])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.guards", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    parser.add_argument("--rounds", type=int, default=25, help="slices of each, default %(default)s")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'case':28}{'leaves':>8}{'call, us':>11}{'program':>10}{'besides':>10}{'ns per leaf':>13}")
    for name, make in CASES.items():
        if given.names and not any(word in name for word in given.names):
            continue
        found = []
        for case in make():
            whole, alone = best([case[1], programs(case)], given.rounds)
            found.append((case[2], whole * 1e6, alone * 1e6))
        for k, (leaves, whole, alone) in enumerate(found):
            slope = ""
            if k and leaves > found[0][0]:
                slope = f"{(whole - alone - found[0][1] + found[0][2]) / (leaves - found[0][0]) * 1e3:13.0f}"
            print(
                f"{name if not k else '':28}{leaves:8}{whole:11.2f}{alone:10.2f}{whole - alone:10.2f}{slope}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
