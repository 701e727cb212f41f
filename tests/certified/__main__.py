"""Measure all primitives and write docs/certified.md: ``python -m tests.certified [--device cuda]``."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # samples and rows are modules of tests

from lucidgrad.backends import cudasim


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.certified", description=__doc__)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cpu_large", "cuda"])
    parser.add_argument("--only", nargs="*", help="primitives to measure; the others keep their last result")
    parser.add_argument("--dtypes", nargs="*", default=None)
    parser.add_argument("--points", type=int, default=40, help="ordinary points of elementwise primitives")
    parser.add_argument("--calls", type=int, default=6, help="samples of other primitives")
    parser.add_argument("--write-only", action="store_true", help="write the document from the last results")
    chosen = parser.parse_args()
    if chosen.device == "cuda":
        cudasim.install()
    from . import report, results

    if not chosen.write_only:
        only = chosen.only or [name for name in results.names() if results.is_certified(name)]
        found = results.run(chosen.device, only, chosen.dtypes or results.DTYPES, chosen.points, chosen.calls)
        results.save(chosen.device, found)
    for path, text in report.files().items():
        path.write_text(text)
        print(f"written: {path.name}")


main()
