"""``python -m bench``: see bench/README.md."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from bench import machine, peers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Time lucidgrad beside its peers.")
    parser.add_argument("--cases", metavar="A,B", help="these cases only")
    parser.add_argument("--peers", metavar="A,B", default=",".join(peers.NAMES), help="default: %(default)s")
    parser.add_argument("--rounds", type=int, metavar="N", help="at most N rounds per case")
    parser.add_argument("--threads", type=int, metavar="N", default=1, help="threads of every library, default 1")
    parser.add_argument("--quick", action="store_true", help="few rounds, without the long cases: some 20 seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="write a chart (PNG)")
    options = parser.parse_args()

    machine.pin_threads(options.threads)
    from bench import harness, report  # they import NumPy
    from bench.cases import CASES

    chosen = (
        options.cases.split(",")
        if options.cases
        else [c.name for c in CASES.values() if not (options.quick and c.long)]
    )
    names = options.peers.split(",")
    for given, known in ((chosen, CASES), (names, peers.NAMES)):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    effort = harness.QUICK if options.quick else harness.Effort()
    if options.rounds:
        effort = dataclasses.replace(effort, rounds=options.rounds)

    run = harness.run(names, [CASES[name] for name in chosen], effort, _say)
    print(f"\n{report.table(run)}")
    if options.json:
        report.write_json(run, options.json)
    if options.chart:
        report.write_chart(run, options.chart, _say)
    return 1 if run.wrong else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
