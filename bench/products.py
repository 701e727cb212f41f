"""``python -m bench.products``: matrix products of layers, beside those of NumPy's BLAS and of PyTorch.

In turns in one process, with as many threads each as asked for; processor time if that is one, and wall time otherwise.
Results lie in memory of the library that makes them. NumPy's BLAS takes part with one thread: more of them wait busily
while it is the others' turn.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

#: Rows, terms, columns, and which of the two matrices are transposes: layers, and what pulls back through them.
CASES = [
    (128, 784, 512, "NT"), (128, 512, 512, "NT"), (512, 128, 784, "TN"), (512, 128, 512, "TN"),
    (128, 512, 512, "NN"), (24, 512, 512, "NT"), (48, 512, 512, "NT"), (1024, 256, 768, "NT"),
    (1024, 1024, 256, "NT"), (1024, 256, 1024, "NN"), (1024, 1024, 256, "TN"), (256, 1024, 1024, "TN"),
    (4096, 64, 64, "NT"), (6400, 64, 256, "NT"), (64, 6400, 256, "TN"), (1000, 1000, 1000, "NN"),
]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.products", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=40, help="default %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default %(default)s")
    rounds, threads = (given := parser.parse_args()).rounds, given.threads
    os.environ.update(OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS="1")

    import numpy as np
    import torch

    import lucidgrad
    from lucidgrad.backends.cpu.compiled import blas, memory

    torch.set_num_threads(threads)
    lucidgrad.set_num_threads(threads)
    print(f"{'product':22} {'to NumPy':>9} {'to PyTorch':>11}")
    for m, k, n, turned in CASES:
        rng = np.random.default_rng(0)
        a, b = (
            rng.standard_normal(shape[::-1], np.float32).T if turn == "T" else rng.standard_normal(shape, np.float32)
            for shape, turn in zip(((m, k), (k, n)), turned, strict=True)
        )
        y, theirs, with_torch = (
            memory.empty((m, n), np.dtype(np.float32)),
            torch.empty(m, n),
            (torch.from_numpy(a), torch.from_numpy(b)),
        )
        calls: list[Callable[[], Any]] = [
            lambda a=a, b=b, y=y: blas.multiply(a, b, y),  # type: ignore[misc]
            lambda a=a, b=b, y=y: np.matmul(a, b, out=y),  # type: ignore[misc]
            lambda xs=with_torch, y=theirs: torch.mm(*xs, out=y),  # type: ignore[misc]
        ]
        if threads > 1:
            del calls[1]
        ours, *others = typical(calls, rounds, threads)
        told = [f"{ours / seconds:.2f}" for seconds in others]
        print(f"{m:5} x {k:4} x {n:4} {turned} {told[0] if len(told) > 1 else '':>10} {told[-1]:>11}", flush=True)
    return 0


def typical(calls: list[Callable[[], Any]], rounds: int, threads: int) -> list[float]:
    """Seconds that calls take: what a quarter of the rounds stays below.

    Where threads wait busily for their next product, each library has a turn of many, of which the first wakes them.
    """
    found: list[list[float]] = [[] for _ in calls]
    clock = time.process_time if threads == 1 else time.perf_counter
    for _ in range(rounds):
        for call, seconds in zip(calls, found, strict=True):
            count = 0 if threads == 1 else 8
            for _ in range(count):
                call()
            for _ in range(count or 1):
                start = clock()
                call()
                seconds.append(clock() - start)
    return [sorted(seconds)[len(seconds) // 4] for seconds in found]


if __name__ == "__main__":
    sys.exit(main())
