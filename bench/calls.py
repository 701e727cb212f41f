"""``python -m bench.calls``: what a call without gradients costs beside the raw NumPy call, on 10 float32 elements.

The twenty most used functions, interleaved in short slices in one process; the figure is the median over the
functions of each function's median ratio.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lucidgrad as lg

GOAL = 2.0
X, Y = np.linspace(0.1, 1.0, 10, dtype="float32"), np.linspace(1.0, 2.0, 10, dtype="float32")
M = np.ones((2, 5), dtype="float32")
CALLS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "x + y": ("add", (X, Y), {}),
    "x - y": ("subtract", (X, Y), {}),
    "x * y": ("multiply", (X, Y), {}),
    "x / y": ("divide", (X, Y), {}),
    "x * 2.0": ("multiply", (X, 2.0), {}),
    "x ** 2": ("pow", (X, 2), {}),
    "exp": ("exp", (X,), {}),
    "log": ("log", (X,), {}),
    "tanh": ("tanh", (X,), {}),
    "sqrt": ("sqrt", (X,), {}),
    "abs": ("abs", (X,), {}),
    "maximum": ("maximum", (X, Y), {}),
    "x < y": ("less", (X, Y), {}),
    "where": ("where", (X < 0.5, X, Y), {}),
    "sum": ("sum", (M,), {"axis": 0}),
    "mean": ("mean", (M,), {"axis": 0}),
    "max": ("max", (M,), {"axis": 0}),
    "matmul": ("matmul", (M, M.T), {}),
    "reshape": ("reshape", (X, (2, 5)), {}),
    "concat": ("concat", ((X, Y),), {}),
}


def per_call(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any], count: int) -> float:
    """Seconds per call in one slice."""
    start = time.perf_counter()
    for _ in range(count):
        function(*args, **keywords)
    return (time.perf_counter() - start) / count


def boxed(value: Any) -> Any:
    """The same arguments as tensors."""
    if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray):
        return tuple(map(lg.asarray, value))
    return lg.asarray(value) if isinstance(value, np.ndarray) else value


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.calls", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=41, help="slices of each side, default %(default)s")
    rounds = parser.parse_args().rounds
    found = {}
    for name, (function, args, keywords) in CALLS.items():
        raw, ours, tensors = getattr(np, function), getattr(lg, function), tuple(map(boxed, args))
        expected = raw(*args, **keywords)
        if not np.allclose(ours(*tensors, **keywords).numpy(), expected, rtol=1e-6):
            raise AssertionError(f"{name}: the values differ, nothing is timed")
        ratios = []
        for _ in range(rounds):
            base = per_call(raw, args, keywords, 300)
            ratios.append(per_call(ours, tensors, keywords, 300) / base)
        found[name] = statistics.median(ratios)
        print(f"{name:10} {found[name]:5.2f}")
    median = statistics.median(found.values())
    print(f"median {median:.2f}, goal {GOAL:.2f}, reached: {'yes' if median <= GOAL else 'no'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
