"""``python -m bench.threads``: a training step of an MLP while other programs want the processors.

As many processes as there are processors count without end; lucidgrad with its threads, the same with NumPy's products
by the BLAS's own threads, and PyTorch take turns. Time that passes, of the step in the middle.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from typing import Any


def busy() -> None:
    while True:
        pass


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.threads", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--others", type=int, default=os.cpu_count(), help="busy processes, default %(default)s")
    parser.add_argument("--rounds", type=int, default=15, help="default %(default)s")
    options = parser.parse_args()

    import torch

    import lucidgrad
    from bench import training
    from lucidgrad.backends.cpu.compiled import blas

    ours, theirs = (training.mlp(m, 128, 256, 128, 10, optimiser="SGD") for m in (lucidgrad, torch))
    product = blas.product

    def with_its_own() -> Any:
        blas.product = lambda *args: None
        try:
            return ours()
        finally:
            blas.product = product

    steps = {"lucidgrad": ours, "lucidgrad, threads of the BLAS": with_its_own, "torch": theirs}
    for step in steps.values():
        step(), step()
    others = [multiprocessing.get_context("spawn").Process(target=busy, daemon=True) for _ in range(options.others)]
    for other in others:
        other.start()
    try:
        time.sleep(1.0)
        found: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(options.rounds):
            for name, step in steps.items():
                start = time.perf_counter()
                step()
                found[name].append(time.perf_counter() - start)
    finally:
        for other in others:
            other.kill()
    print(f"MLP 256-128-10, 128 examples, SGD, beside {options.others} busy processes")
    for name, seconds in found.items():
        print(f"{name:32} {statistics.median(seconds) * 1e3:8.2f} ms, at most {max(seconds) * 1e3:8.2f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
