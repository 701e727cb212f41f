"""``python -m bench.large``: large arrays, forward and backward, beside PyTorch; what memory and threads cost.

The cases are a group of ``python -m bench.eager``, which measures them with two threads here. Each says how many bytes
must be read or written at least, if every pass reads and writes each array once: from that, the share of the bytes per
second that a copy reaches.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ROWS, COLUMNS = 4096, 1024
SIZE = ROWS * COLUMNS * 4  # bytes
WORDS, WIDTH = 50_000, 128  # of a table of embeddings

Arrays = list[np.ndarray]


def dense(rng: np.random.Generator) -> Arrays:
    """Normal numbers, and twice some between 0 and 1."""
    return [rng.standard_normal((ROWS, COLUMNS), np.float32), *rng.random((2, ROWS, COLUMNS), np.float32)]


def one(rng: np.random.Generator) -> Arrays:
    return dense(rng)[:1]


def classes(rng: np.random.Generator) -> Arrays:
    return [*one(rng), rng.integers(0, COLUMNS, ROWS)]


def normed(rng: np.random.Generator) -> Arrays:
    return [*one(rng), *rng.random((2, COLUMNS), np.float32)]


def table(rng: np.random.Generator) -> Arrays:
    return [rng.standard_normal((WORDS, WIDTH), np.float32), rng.integers(0, WORDS, 4096)]


def heads(rng: np.random.Generator) -> Arrays:
    """Queries, keys and values, of four examples with four heads of 64 features."""
    return list(rng.standard_normal((3, 4, 4, 512, 64), np.float32))


@dataclass(frozen=True)
class Large:
    """A formula of a namespace, its functions of layers and arrays; those of floats get gradients."""

    formula: Callable[..., Any]
    arrays: Callable[[np.random.Generator], Arrays] = one
    traffic: float = 5 * SIZE  # bytes that must be moved, forward and backward
    goal: float = 1.0

    def step(self, m: Any) -> Callable[[], list[Any]]:
        """The function that runs the case once with a library, and returns the gradients."""
        given = [m.tensor(a, requires_grad=a.dtype.kind == "f") for a in self.arrays(np.random.default_rng(0))]
        wanted = [x for x in given if x.requires_grad]
        functions, formula = m.nn.functional, self.formula
        shape = tuple(formula(m, functions, *given).shape)
        seed = m.tensor(np.random.default_rng(1).random(shape, np.float32))

        def run() -> list[Any]:
            for x in wanted:
                x.grad = None
            formula(m, functions, *given).backward(seed)
            return [x.grad for x in wanted]

        return run


CASES = {
    "tanh": Large(lambda m, f, x: m.tanh(x)),
    "sigmoid": Large(lambda m, f, x: m.sigmoid(x)),
    "gelu": Large(lambda m, f, x: f.gelu(x)),
    "silu": Large(lambda m, f, x: f.silu(x)),
    "softplus": Large(lambda m, f, x: f.softplus(x)),
    "relu": Large(lambda m, f, x: m.relu(x)),
    "x * y + z": Large(lambda m, f, x, y, z: x * y + z, dense, 11 * SIZE),
    "exp and log": Large(lambda m, f, x, y, z: m.exp(x) * y + m.log(z + 1.0), dense, 18 * SIZE),
    "sum over axis 0": Large(lambda m, f, x: m.sum(x, dim=0), traffic=2 * SIZE),
    "sum over axis 1": Large(lambda m, f, x: m.sum(x, dim=1), traffic=2 * SIZE),
    "max over axis 1": Large(lambda m, f, x: m.amax(x, dim=1), traffic=2 * SIZE, goal=0.6),
    "logsumexp": Large(lambda m, f, x: m.logsumexp(x, dim=1), traffic=3 * SIZE, goal=0.6),
    "var": Large(lambda m, f, x: m.var(x, dim=1, correction=1), traffic=3 * SIZE, goal=0.6),
    "softmax": Large(lambda m, f, x: f.softmax(x, dim=1)),
    "layer norm": Large(lambda m, f, x, w, b: f.layer_norm(x, (COLUMNS,), w, b), normed),
    "cross-entropy": Large(lambda m, f, x, i: f.cross_entropy(x, i), classes, 3 * SIZE, goal=0.6),
    "embedding 50k x 128": Large(
        lambda m, f, x, i: f.embedding(i, x), table, WORDS * WIDTH * 4 + 4 * 4096 * WIDTH * 4, goal=0.6
    ),
    # Weights stay in caches: what counts are products and exponentials.
    "attention, 512 places": Large(lambda m, f, q, k, v: f.scaled_dot_product_attention(q, k, v), heads, 0.0),
    "causal attention": Large(
        lambda m, f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), heads, 0.0
    ),
}

if __name__ == "__main__":
    from bench.eager import main

    sys.exit(main(["--groups", "large", "--threads", "2", *sys.argv[1:]]))
