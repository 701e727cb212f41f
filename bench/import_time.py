"""``python -m bench.import_time``: what ``import lucidgrad`` costs beside ``import numpy``.

Both are imported in fresh interpreters, by turns; a child times its own import, so the interpreter's start
does not count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

GOAL = 1.3
CHILD = """
import time
start = time.perf_counter()
import {0}
print(time.perf_counter() - start)
{0}.zeros(1)  # an empty package is quick to import
"""


def seconds(package: str) -> float:
    """The time one import takes in a fresh interpreter, with bytecode cached as for an installed package."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", CHILD.format(package)]
    child = subprocess.run(command, capture_output=True, text=True, env=environment)
    if child.returncode:
        raise ImportError(child.stderr.strip().splitlines()[-1])
    return float(child.stdout.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.import_time", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21, help="pairs of imports, default %(default)s")
    runs = parser.parse_args().runs
    try:
        seconds("numpy"), seconds("lucidgrad")  # fills the caches of the disk and of bytecode
    except ImportError as error:
        print(f"import time: skipped ({error})")
        return 1
    pairs = [(seconds("numpy"), seconds("lucidgrad")) for _ in range(runs)]
    ratio = statistics.median(ours / numpys for numpys, ours in pairs)
    numpys, ours = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
    reached = "yes" if ratio <= GOAL else "no"
    print(f"import numpy {numpys:.0f} ms, import lucidgrad {ours:.0f} ms (medians of {runs})")
    print(f"ratio {ratio:.2f}, goal {GOAL:.2f}, reached: {reached}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
