"""``python -m bench.memory``: what the memory tools save, and what they cost in time.

A chain of layers ``sqrt(x + 0.5)``, each of which keeps one value for backward, runs forward and backward with each
tool. The peak is that of all memory that NumPy allocated in between (tracemalloc), in values of the chain's size;
the input and its gradient are in it; the time is the shortest of three. Here the values are on the CPU already, so
`save_on_cpu` saves nothing: it is for CUDA; `allow_mutation_on_saved_tensors` is no saving either, but has its price
in copies.
"""

from __future__ import annotations

import argparse
import gc
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from lucidgrad.bench import machine

LAYERS, SIZE = 100, 4_000_000


def layer(x: Any) -> Any:
    import lucidgrad as lg

    return lg.sqrt(x + 0.5)


def chain(x: Any, layers: int) -> Any:
    for _ in range(layers):
        x = layer(x)
    return x


def inside(context: Any) -> Callable[[Any, int], Any]:
    """The chain inside a context."""

    def run(x: Any, layers: int) -> Any:
        with context:
            return chain(x, layers)

    return run


def checkpointed(x: Any, layers: int) -> Any:
    """Segments of about the square root of the number of layers."""
    from lucidgrad.utils.checkpoint import checkpoint_sequential

    return checkpoint_sequential([layer] * layers, max(math.isqrt(layers), 1), x)


def halved(x: Any, layers: int) -> Any:
    """Checkpoints within checkpoints: each half of a half is run again when it is needed."""
    from lucidgrad.utils.checkpoint import checkpoint

    if layers <= 2:
        return chain(x, layers)
    return checkpoint(halved, checkpoint(halved, x, layers // 2), layers - layers // 2)


def half_precision() -> Any:
    """Values wait for backward as float16: half the memory, and gradients that are no longer exact."""
    import lucidgrad as lg

    return lg.autograd.graph.saved_tensors_hooks(lambda t: t.to(lg.float16), lambda t: t.to(lg.float32))


def ways(layers: int, size: int) -> dict[str, Callable[[Any, int], Any]]:
    """All tools by name."""
    import lucidgrad as lg

    found = {
        "plain": inside(nullcontext()),
        "checkpoint, sqrt(n) segments": checkpointed,
        "checkpoint, nested halves": halved,
        "saved_tensors_hooks, float16": inside(half_precision()),
        "save_on_cpu": inside(lg.autograd.graph.save_on_cpu()),
        "allow_mutation_on_saved_...": inside(lg.autograd.graph.allow_mutation_on_saved_tensors()),
    }
    for percent in (50, 25, 10):
        budget = layers * size * 4 * percent // 100
        found[f"memory_budget, {percent} %"] = inside(lg.autograd.memory_budget(budget))
    return found


def measure(run: Callable[[Any, int], Any], layers: int, size: int) -> tuple[float, float, Any]:
    """Seconds of the processor, the peak in values, and the gradient."""
    import lucidgrad as lg

    gc.collect()
    tracemalloc.start()
    try:
        x = lg.linspace(0.1, 2.0, size, dtype=lg.float32).requires_grad_()
        tracemalloc.reset_peak()
        start = time.process_time()  # of one thread: other programs on the machine do not count
        run(x, layers).sum().backward()
        seconds = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return seconds, peak / (4 * size), x.grad.numpy()


def difference(found: Any, expected: Any) -> str:
    if (found == expected).all():
        return "same bits"
    return f"{float(abs(found / expected - 1).max()):.0e} off"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=LAYERS, help="default %(default)s")
    parser.add_argument("--size", type=int, default=SIZE, help="float32 elements per value, default %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="threads, default %(default)s")
    options = parser.parse_args()
    machine.pin_threads(options.threads)

    print(f"{options.layers} layers of {options.size:,} float32: {options.size * 4 / 1e6:.1f} MB per value\n")
    print(f"{'':30}{'peak':>10}{'values':>8}{'of plain':>10}{'time':>9}{'of plain':>10}  gradient")
    measure(inside(nullcontext()), options.layers, options.size)  # memory that was never used costs more time
    plain = None
    for name, run in ways(options.layers, options.size).items():
        runs = [measure(run, options.layers, options.size) for _ in range(3)]
        seconds, peak, gradient = min(r[0] for r in runs), max(r[1] for r in runs), runs[-1][2]
        plain = plain or (seconds, peak, gradient)
        print(
            f"{name:30}{peak * options.size * 4 / 1e6:7.0f} MB{peak:8.1f}{peak / plain[1]:10.0%}{seconds:7.2f} s"
            f"{seconds / plain[0]:10.2f}  {difference(gradient, plain[2])}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
