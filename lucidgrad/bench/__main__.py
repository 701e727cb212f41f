"""``python -m lucidgrad.bench``: how long lucidgrad takes here, beside NumPy by hand, PyTorch and JAX."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from lucidgrad.bench import harness, machine, peers, report
from lucidgrad.bench.cases import CASES


def main(prog: str = "python -m lucidgrad.bench", whole: bool = False) -> int:
    """Time what the command line says; ``whole``: by default everything, against PyTorch, as the goals are."""
    known = peers.NAMES if whole else ("lucidgrad", "compiled", "numpy", "torch", "jax")
    parser = argparse.ArgumentParser(prog=prog, description="Time lucidgrad beside its peers.")
    parser.add_argument("--cases", metavar="A,B", help=f"these only, of {', '.join(CASES)}")
    parser.add_argument("--peers", metavar="A,B", default=",".join(known), help="default: %(default)s")
    parser.add_argument(
        "--against",
        choices=harness.REFERENCES,
        default=harness.REFERENCES[0 if whole else 1],
        help="default: %(default)s",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="at most N rounds per case")
    parser.add_argument("--threads", type=int, metavar="N", default=1, help="threads of every library, default 1")
    parser.add_argument(
        "--clock", choices=harness.CLOCKS, default="wall", help="time that passes, or of processors; default: wall"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", default=not whole, help="few rounds, no long cases: some 20 s")
    length.add_argument("--full", dest="quick", action="store_false", help="all rounds of all cases: some two minutes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="write a chart (PNG)")
    options = parser.parse_args()
    every = [c.name for c in CASES.values() if not (options.quick and c.long)]
    chosen, names = options.cases.split(",") if options.cases else every, options.peers.split(",")
    for given, there in ((chosen, CASES), (names, peers.NAMES)):
        if unknown := [name for name in given if name not in there]:
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(there)}")
    machine.pin_threads(options.threads)

    effort = harness.QUICK if options.quick else harness.Effort()
    effort = dataclasses.replace(effort, clock=harness.CLOCKS[options.clock])
    if options.rounds:
        effort = dataclasses.replace(effort, rounds=options.rounds)
    references = sorted(harness.REFERENCES, key=lambda name: name != options.against)
    run = harness.run(names, [CASES[name] for name in chosen], effort, _say, references)
    print(f"\n{report.table(run)}")
    if options.json:
        report.write_json(run, options.json, options.clock)
    if options.chart:
        report.write_chart(run, options.chart, _say)
    return 1 if run.wrong else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
