"""The cases: what is computed, from which arrays, and the ratio to reach. Peers only say *how* they run one.

A formula takes a namespace ``xp``, the case's size ``n`` and the inputs, and uses operators and functions
of ``xp`` alone, so every peer runs the same text. A new case is one more row of ``CASES``, and a function
of that name in ``peers/numpy_.py`` to know what is attainable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Case:
    """One thing to time. ``mode`` names the peers' function that runs it: forward, record or gradient."""

    name: str
    about: str
    formula: Callable[..., Any]
    arrays: Callable[[np.random.Generator, int], Arrays]
    n: int
    mode: str = "gradient"
    params: bool = False  # gradients of every input, not only of the first
    goal: float | None = None  # lucidgrad's time as a ratio to PyTorch's
    long: bool = False  # a step takes about a second: the check is its warm-up, and --quick leaves it out

    def program(self, xp: Any, *inputs: Any) -> Any:
        """The value of the case, computed with ``xp``."""
        return self.formula(xp, self.n, *inputs)

    @cached_property
    def inputs(self) -> Arrays:
        """The same float32 arrays in every run."""
        return [a.astype(np.float32) for a in self.arrays(np.random.default_rng(0), self.n)]

    @cached_property
    def cotangent(self) -> np.ndarray:
        """What backward starts from. Not ones, which would hide a cotangent that is dropped."""
        shape = self.program(np, *self.inputs).shape
        return np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(np.float32)

    @property
    def wrt(self) -> slice:
        """Which inputs want gradients."""
        return slice(None) if self.params else slice(1)

    @cached_property
    def argnums(self) -> tuple[int, ...]:
        """Their positions."""
        return tuple(range(len(self.inputs))[self.wrt])


# Small operations: n times mul, add, tanh, then a mul; 10 elements each


def mix(xp: Any, n: int, x: Any, *params: Any) -> Any:
    for i in range(0, 2 * n, 2):
        x = xp.tanh(x * params[i] + params[i + 1])
    return x * params[-1]


def mix_arrays(rng: np.random.Generator, n: int) -> Arrays:
    pairs = [a for _ in range(n) for a in (rng.uniform(0.8, 1.2, 10), rng.uniform(-0.1, 0.1, 10))]
    return [rng.standard_normal(10), *pairs, rng.uniform(0.8, 1.2, 10)]


def scalar_mix(xp: Any, n: int, x: Any) -> Any:
    for _ in range(n):
        x = xp.tanh(x * 1.01 + 0.5)
    return x * 1.01


def ten(rng: np.random.Generator, n: int) -> Arrays:
    return [rng.standard_normal(10)]


# A layer of n units between 100 inputs and 10 outputs, for 64 examples: here arithmetic counts


def layers(xp: Any, n: int, x: Any, w: Any, b: Any, v: Any, c: Any) -> Any:
    return xp.tanh(x @ w + b) @ v + c


def layers_arrays(rng: np.random.Generator, n: int) -> Arrays:
    shapes = ((64, 100), (100, n), (n,), (n, 10), (10,))
    return [rng.standard_normal(shape) / shape[0] ** 0.5 for shape in shapes]


# Deep and wide graphs: n nodes


def chain(xp: Any, n: int, x: Any, scale: Any, shift: Any) -> Any:
    for _ in range(n // 2):
        x = x * scale + shift
    return x


def chain_arrays(rng: np.random.Generator, n: int) -> Arrays:
    return [rng.standard_normal(10), rng.uniform(0.9999, 1.0, 10), rng.uniform(0.0, 1e-4, 10)]


def fanout(xp: Any, n: int, x: Any) -> Any:
    total = x
    for _ in range(n):
        total = total + x
    return total


CASES = {
    case.name: case
    for case in (
        Case(
            "small_nograd",
            "100 small ops, no gradient wanted",
            mix,
            mix_arrays,
            33,
            mode="forward",
            goal=0.40,
        ),
        Case("small_record", "100 small ops, recorded", mix, mix_arrays, 33, mode="record", goal=0.35),
        Case("small_fwdbwd", "100 small ops, forward + backward", mix, mix_arrays, 33, goal=0.28),
        Case("small_params", "the same with gradients of 67 parameters", mix, mix_arrays, 33, params=True),
        Case("small_scalars", "100 small ops with Python scalars, forward + backward", scalar_mix, ten, 33, goal=0.25),
        Case("layers", "two linear layers, 64 examples, forward + backward", layers, layers_arrays, 256, params=True),
        Case("chain_10k", "chain of 10,000 nodes, forward + backward", chain, chain_arrays, 10_000),
        Case("chain_100k", "chain of 100,000 nodes", chain, chain_arrays, 100_000, goal=0.25, long=True),
        Case("fanout_10k", "one tensor used in 10,000 sums, forward + backward", fanout, ten, 10_000, goal=0.25),
    )
}
