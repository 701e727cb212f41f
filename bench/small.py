"""Cases of ``python -m bench.eager`` that are about calls, not arithmetic: views and joins, roots, rows of a Jacobian.

Those of `lucidgrad.bench`, which other peers run as well, belong to the same group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lucidgrad.bench import cases, peers as libraries


@dataclass(frozen=True)
class Small:
    """What makes a step with a library."""

    step: Callable[[Any], Callable[[], Any]]
    goal: float | None = None


def normal(m: Any, *shape: int) -> Any:
    return m.tensor(np.random.default_rng(0).standard_normal(shape, np.float32))


def views_and_joins(m: Any) -> Callable[[], Any]:
    """Ten rounds of slices, transposition, reshape, split, stack and concat, forward and backward."""
    x, seed, shift = normal(m, 8, 16).requires_grad_(), normal(m, 8, 16), normal(m, 8, 8)

    def step() -> Any:
        x.grad = None
        y = x
        for _ in range(10):
            a, b = y[:, :8], y[:, 8:]
            y = m.concat([b + shift, a * 0.5], 1)
            top, bottom = m.chunk(y, 2)
            y = m.stack([bottom, top]).reshape(8, 16).T[1:15].T
            y = m.concat([y, a[:, 2:4]], 1)
        y.backward(seed)
        return x.grad

    return step


def many_roots(m: Any) -> Callable[[], Any]:
    """The gradient of 1,000 outputs at once."""
    x = normal(m, 10).requires_grad_()
    seeds = [normal(m, 10)] * 1000

    def step() -> Any:
        return m.autograd.grad([x * 2.0 for _ in range(1000)], [x], seeds)

    return step


def jacobian_by_a_loop(m: Any) -> Callable[[], Any]:
    """64 x 64, a row by each walk through the graph."""
    x, w, v = normal(m, 64).requires_grad_(), normal(m, 64, 64) / 8, normal(m, 64, 64) / 8

    def step() -> Any:
        y = m.tanh(m.tanh(x @ w) @ v)
        return m.stack([m.autograd.grad(y[k], x, retain_graph=True)[0] for k in range(64)])

    return step


def shared(case: cases.Case) -> Callable[[Any], Callable[[], Any]]:
    """A case that other peers run as well."""

    def step(m: Any) -> Callable[[], Any]:
        return getattr(libraries.load(m.__name__), case.mode)(case)

    return step


CASES = {name: Small(shared(case), case.goal) for name, case in cases.CASES.items()} | {
    "1,000 roots": Small(many_roots, 0.35),
    "views and joins": Small(views_and_joins, 0.5),
    "Jacobian 64 x 64 by a loop": Small(jacobian_by_a_loop, 0.45),
}
