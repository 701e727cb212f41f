"""The machine: threads are pinned here, and it is described for the record."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

POOLS = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")


PINNED = "LUCIDGRAD_BENCH_THREADS"  # what says that it was done


def pin_threads(count: int) -> None:
    """Give every thread pool ``count`` threads. Pools read this once, when their library is loaded, as NumPy's is now:
    the program starts again with it.
    """
    if os.environ.get(PINNED) == str(count):
        return
    for pool in POOLS:
        name = f"{pool}_NUM_THREADS" if "_" not in pool else f"{pool}_THREADS"
        os.environ[name] = str(count)
    os.environ["NPROC"] = str(count)  # the pool of XLA's CPU client
    if count == 1:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    os.environ[PINNED] = str(count)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def threads() -> int:
    """The number of threads that was pinned."""
    return int(os.environ[PINNED])


def describe() -> dict[str, object]:
    """What a reader needs in order to judge the figures."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": threads(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def bandwidth(clock: Callable[[], float], size: int = 1 << 26) -> float:
    """Bytes per second that a copy by one thread reads and writes: what no pass over memory can beat by much."""
    import numpy as np

    source, target = np.zeros(size, np.uint8), np.empty(size, np.uint8)
    source[::4096] = 1  # pages of its own, not all the same one
    best = float("inf")
    for _ in range(6):  # the first maps the target's pages
        start = clock()
        np.copyto(target, source)
        best = min(best, clock() - start)
    return 2 * size / best


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"
