"""``python -m bench.derivatives``: structured and second derivatives beside PyTorch's, interleaved in one process.

Each figure is the median of the ratios of rounds in which both libraries take a slice; values are compared first.
Each library runs the fastest of the ways that it offers. The column "compiled" is the same ratio of the fastest of
lucidgrad's ways under ``lg.compile``, whose compilation is no part of the time.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lucidgrad as lg
from lucidgrad.bench import machine
from lucidgrad.bench.harness import CLOCKS, Clock

Functions = dict[str, Callable[[], Any]]


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]


def network(xp: Any, x: Any, p: Sequence[Any]) -> Any:
    for k in range(0, len(p) - 2, 2):
        x = xp.tanh(x @ p[k] + p[k + 1])
    return x @ p[-2] + p[-1]


def jacobian(torch: Any) -> tuple[Functions, Functions]:
    x, w, v = arrays((64,), (64, 64), (64, 64))
    f = lambda xp, w, v: lambda x: xp.tanh(xp.tanh(x @ w) @ v)
    (a, *ours), (b, *theirs) = map(lg.asarray, (x, w, v)), map(torch.from_numpy, (x, w, v))
    one, other = f(lg, *ours), f(torch, *theirs)
    return {"func.jacrev": lambda: lg.func.jacrev(one)(a)}, {"func.jacrev": lambda: torch.func.jacrev(other)(b)}


def hessian(torch: Any) -> tuple[Functions, Functions]:
    x, w = arrays((50,), (50, 50))
    f = lambda xp, w: lambda x: xp.sum(xp.tanh(x @ w) ** 2) + xp.sum(x**4)
    one, other = f(lg, lg.asarray(w)), f(torch, torch.from_numpy(w))
    a, b = lg.asarray(x), torch.from_numpy(x)

    def ways(m: Any, f: Callable[..., Any], x: Any) -> Functions:
        return {
            "func.hessian": lambda: m.func.hessian(f)(x),
            "functional.hessian": lambda: m.autograd.functional.hessian(f, x, vectorize=True),
        }

    return ways(lg, one, a), ways(torch, other, b)


def hessian_vector_product(torch: Any) -> tuple[Functions, Functions]:
    x, *p = arrays((32, 32), (32, 32), (32,), (32, 32), (32,), (32, 1), (1,))
    v = arrays(*(a.shape for a in p))

    def loss(xp: Any, x: Any) -> Callable[..., Any]:
        return lambda *p: xp.mean(network(xp, x, p) ** 2)

    def ways(m: Any, f: Callable[..., Any], p: list[Any], v: list[Any]) -> Functions:
        def forward() -> Any:
            return m.func.jvp(m.func.grad(f, tuple(range(6))), tuple(p), tuple(v))[1]

        def twice() -> Any:
            q = [c.detach().requires_grad_() for c in p]
            gs = m.autograd.grad(f(*q), q, create_graph=True)
            return m.autograd.grad(gs, q, v)

        def vhp() -> Any:
            return m.autograd.functional.vhp(f, tuple(p), tuple(v))[1]

        return {"jvp of grad": forward, "backward twice": twice, "functional.vhp": vhp}

    one, other = loss(lg, lg.asarray(x)), loss(torch, torch.from_numpy(x))
    a, s = ([lg.asarray(c) for c in part] for part in (p, v))
    b, t = ([torch.from_numpy(c) for c in part] for part in (p, v))
    return ways(lg, one, a, s), ways(torch, other, b, t)


def gradient_penalty(torch: Any) -> tuple[Functions, Functions]:
    x, *p = arrays((64, 32), (32, 64), (64,), (64, 64), (64,), (64, 1), (1,))

    def step(m: Any, x: Any, p: list[Any]) -> Any:
        x = x.detach().requires_grad_()
        (g,) = m.autograd.grad(network(m, x, p).sum(), x, create_graph=True)
        penalty = ((g**2).sum(1) ** 0.5 - 1) ** 2
        return m.autograd.grad(penalty.mean(), p[:-1])

    ours, theirs = (lg.asarray(x), [lg.asarray(c).requires_grad_() for c in p]), (torch.from_numpy(x), [])
    theirs[1].extend(torch.from_numpy(c).requires_grad_() for c in p)
    return {"autograd.grad": lambda: step(lg, *ours)}, {"autograd.grad": lambda: step(torch, *theirs)}


def per_sample_gradients(torch: Any) -> tuple[Functions, Functions]:
    x, *p = arrays((64, 32), (32, 64), (64,), (64, 10), (10,))

    def step(m: Any, p: list[Any], x: Any) -> Any:
        one = lambda p, x: m.sum(network(m, x, p) ** 2)
        return m.func.vmap(m.func.grad(one), in_dims=(None, 0))(p, x)

    ours, theirs = ([lg.asarray(c) for c in p], lg.asarray(x)), ([torch.from_numpy(c) for c in p], torch.from_numpy(x))
    return {"vmap of grad": lambda: step(lg, *ours)}, {"vmap of grad": lambda: step(torch, *theirs)}


CASES = {
    "Jacobian 64 x 64": jacobian,
    "Hessian of 50": hessian,
    "Hessian-vector product, MLP": hessian_vector_product,
    "gradient penalty, MLP": gradient_penalty,
    "per-sample gradients, 64": per_sample_gradients,
}


#: Ratios to reach.
GOALS = {
    "Jacobian 64 x 64": 1.0,
    "Hessian of 50": 0.7,
    "Hessian-vector product, MLP": 0.45,
    "gradient penalty, MLP": 0.6,
    "per-sample gradients, 64": 1.0,
}


def flat(value: Any) -> np.ndarray:
    leaves = value if isinstance(value, (tuple, list)) else [value]
    return np.concatenate([np.asarray(leaf.detach()).ravel() for leaf in leaves])


def slice_of(function: Callable[[], Any], seconds: float, clock: Clock) -> float:
    """Seconds per call."""
    start, calls = clock(), 0
    while clock() - start < seconds:
        function()
        calls += 1
    return (clock() - start) / calls


def rounds_of(columns: Sequence[Functions], rounds: int, clock: Clock) -> list[dict[str, list[float]]]:
    """Seconds per call of each way in each column; all take turns."""
    times: list[dict[str, list[float]]] = [{way: [] for way in ways} for ways in columns]
    for _ in range(rounds):
        for found, functions in zip(times, columns, strict=True):
            for way, function in functions.items():
                found[way].append(slice_of(function, 0.005, clock))
    return times


def fastest(times: dict[str, list[float]]) -> str:
    return min(times, key=lambda way: statistics.median(times[way]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.derivatives", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="time that passes, or of processors; default: wall"
    )
    options = parser.parse_args()
    machine.pin_threads(1)
    import torch

    torch.set_num_threads(1)
    head = "case, processor time" if options.clock == "cpu" else "case"
    print(f"{head:30} {'ratio':>6} {'goal':>5} {'compiled':>8}  {'lucidgrad':>10} {'torch':>10}  the fastest ways")
    missed = 0
    for name, make in CASES.items():
        goal, columns = GOALS[name], [*make(torch)]
        columns.append({way: lg.compile(function, fullgraph=True) for way, function in columns[0].items()})
        values = [flat(way()) for _ in range(2) for ways in columns for way in ways.values()]  # programs run next time
        for value in values[1:]:
            np.testing.assert_allclose(values[0], value, rtol=2e-3, atol=2e-4)
        times = rounds_of(columns, options.rounds, CLOCKS[options.clock])
        ours, theirs, programs = map(fastest, times)
        a, b, c = times[0][ours], times[1][theirs], times[2][programs]
        ratio, compiled = (statistics.median(x / y for x, y in zip(column, b, strict=True)) for column in (a, c))
        missed += ratio > goal
        medians = "  ".join(f"{statistics.median(column) * 1e3:7.3f} ms" for column in (a, b))
        print(f"{name:30} {ratio:6.2f} {goal:5.2f} {compiled:8.3f}  {medians}  {ours}, {theirs}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
