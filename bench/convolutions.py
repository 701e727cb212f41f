"""``python -m bench.convolutions``: convolutions and pooling, forward and backward, beside PyTorch eager.

Both take turns, each case in rounds; what is printed is the median over the rounds of the ratio of the two times, and
the ratio of the shortest ones. Gradients are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from lucidgrad.bench import machine

Step = Callable[[], Any]


def _pair(*arrays: Any) -> tuple[list[Any], list[Any]]:
    """The arrays as tensors of both, with gradients."""
    import torch

    import lucidgrad as lg

    return (
        [torch.tensor(a, requires_grad=True) for a in arrays],
        [lg.tensor(a, requires_grad=True) for a in arrays],
    )


def _pass(function: Callable[..., Any], inputs: list[Any], seed: Any) -> Step:
    """Forward and backward; gives the gradients."""

    def step() -> list[Any]:
        for x in inputs:
            x.grad = None
        function(*inputs).backward(seed)
        return [x.grad for x in inputs]

    return step


def convolution(n: int, channels: int, outputs: int, size: int, stride: int = 1) -> tuple[Step, Step]:
    """A convolution with windows of 3×3, forward and backward to all three inputs."""
    import numpy as np
    import torch
    import torch.nn.functional as peer

    import lucidgrad as lg
    import lucidgrad.nn.functional as own

    source = np.random.default_rng(0)
    shapes = (n, channels, size, size), (outputs, channels, 3, 3), (outputs,)
    theirs, ours = _pair(*(source.standard_normal(s, np.float32) for s in shapes))
    seed = source.standard_normal((n, outputs, -(-size // stride), -(-size // stride)), np.float32)
    return (
        _pass(lambda x, w, b: peer.conv2d(x, w, b, stride, 1), theirs, torch.tensor(seed)),
        _pass(lambda x, w, b: own.conv2d(x, w, b, stride, 1), ours, lg.tensor(seed)),
    )


def pooling(name: str, n: int, channels: int, size: int) -> tuple[Step, Step]:
    """Pooling of windows of 2×2."""
    import numpy as np
    import torch
    import torch.nn.functional as peer

    import lucidgrad as lg
    import lucidgrad.nn.functional as own

    source = np.random.default_rng(0)
    theirs, ours = _pair(source.standard_normal((n, channels, size, size), np.float32))
    seed = source.standard_normal((n, channels, size // 2, size // 2), np.float32)
    return (
        _pass(lambda x: getattr(peer, name)(x, 2), theirs, torch.tensor(seed)),
        _pass(lambda x: getattr(own, name)(x, 2), ours, lg.tensor(seed)),
    )


def cases() -> Iterator[tuple[str, Callable[[], tuple[Step, Step]]]]:
    """Names, and what makes both steps."""
    yield "conv 64x1x28x28 to 16", lambda: convolution(64, 1, 16, 28)
    yield "conv 64x16x14x14 to 32", lambda: convolution(64, 16, 32, 14)
    yield "conv 32x16x16x16 to 32", lambda: convolution(32, 16, 32, 16)
    yield "conv 8x64x32x32 to 64", lambda: convolution(8, 64, 64, 32)
    yield "conv 8x64x32x32 to 128, stride 2", lambda: convolution(8, 64, 128, 32, 2)
    yield "max_pool2d 64x16x28x28", lambda: pooling("max_pool2d", 64, 16, 28)
    yield "avg_pool2d 64x16x28x28", lambda: pooling("avg_pool2d", 64, 16, 28)


def ratios(theirs: Step, ours: Step, rounds: int) -> tuple[float, float]:
    """How much longer ours takes, in the median and at best, after both computed the same."""
    import numpy as np

    for a, b in zip(theirs(), ours(), strict=True):
        expected = a.numpy()
        np.testing.assert_allclose(b.numpy(), expected, rtol=2e-3, atol=2e-4 * float(np.abs(expected).max()))
    times: dict[Step, list[float]] = {theirs: [], ours: []}
    for k in range(rounds):
        for step in (theirs, ours) if k % 2 else (ours, theirs):
            start = time.perf_counter()
            step()
            times[step].append(time.perf_counter() - start)
    each = [a / b for a, b in zip(times[ours], times[theirs], strict=True)]
    return statistics.median(each), min(times[ours]) / min(times[theirs])


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.convolutions", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60, help="default %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="threads, default %(default)s")
    parser.add_argument("--only", default="", help="part of a case's name")
    options = parser.parse_args()
    machine.pin_threads(options.threads)
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: there is nothing to compare with")
        return 0
    torch.set_num_threads(options.threads)
    print(", ".join(f"{key}: {value}" for key, value in machine.describe().items()))
    print(f"{'ratio to PyTorch eager':34} {'median':>8} {'best':>8}")
    for name, make in cases():
        if options.only not in name:
            continue
        median, best = ratios(*make(), options.rounds)
        print(f"{name:34} {median:8.2f} {best:8.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
