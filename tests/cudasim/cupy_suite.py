"""Run a sample of CuPy's own test suite on the emulated device, and print pass rates by folder.

    python -m tests.cudasim.cupy_suite PATH_TO_CUPY_CHECKOUT [--sample N] [--seed S] [--failures] [folders]

The checkout must be of the installed version. A folder is one below ``tests/cupy_tests``, or a path below ``tests``.
A test that ends its process, or hangs, counts as failed, and the others go on.
"""

import argparse
import faulthandler
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 600  # seconds for a test
RESTARTS = 25  # of one folder, after tests that ended the process

# --- inside: a plugin of pytest, which writes a line of JSON when a test starts and when it has ended ----------------


def reason(report):
    """Return one line about a failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    found = [line for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in found if "error" in line.lower()]
    return (errors or found or [""])[0 if crash else -1].strip()


def draw(items, size, seed):
    """Draw tests: one of each function in turn, so that those with thousands of parameters don't fill the sample."""
    functions, generator = defaultdict(list), random.Random(seed)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    drawn = [generator.sample(group, len(group)) for group in functions.values()]
    generator.shuffle(drawn)
    rounds = (item for group in zip_longest(*drawn) for item in group if item is not None)
    chosen = set(islice(rounds, size)) if size else set(items)
    return [item for item in items if item in chosen]


class Recorder:
    """Takes a sample, leaves out what has run already, and writes what happens."""

    def __init__(self, report, sample, seed):
        self.report, self.sample, self.seed = Path(report), int(sample), int(seed)

    def write(self, **facts):
        with self.report.open("a") as file:
            file.write(json.dumps(facts) + "\n")

    def pytest_collection_modifyitems(self, config, items):
        tests = sorted((item for item in items if not item.get_closest_marker("slow")), key=lambda item: item.nodeid)
        drawn = set(draw(tests, self.sample, self.seed))
        chosen = [item for item in items if item in drawn]  # in the suite's own order
        started = {line["test"] for line in lines(self.report) if "test" in line}
        items[:] = [item for item in chosen if item.nodeid not in started]
        self.write(collected=len(chosen))

    def pytest_runtest_logstart(self, nodeid):
        self.write(test=nodeid)
        faulthandler.dump_traceback_later(LIMIT, exit=True)

    def pytest_runtest_logreport(self, report):
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        if report.when == "call" or outcome != "passed":
            self.write(done=report.nodeid, outcome=outcome, reason=reason(report) if outcome == "failed" else "")

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(uncollected=report.nodeid, reason=reason(report))

    def pytest_runtest_logfinish(self, nodeid):
        faulthandler.cancel_dump_traceback_later()

    def pytest_sessionfinish(self):
        self.write(finished=True)


def pytest_configure(config):
    settings = os.environ.get("CUPY_SUITE")
    if settings:
        config.pluginmanager.register(Recorder(*json.loads(settings)), "cupy-suite")


# --- outside ----------------------------------------------------------------------------------------------------------


def lines(report):
    """Return what a report says so far."""
    return [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []


@dataclass
class Result:
    """What became of a folder's tests."""

    folder: str
    outcomes: Counter = field(default_factory=Counter)
    failures: dict = field(default_factory=dict)
    seconds: float = 0.0
    note: str = ""

    @property
    def rate(self):
        ran = self.outcomes["passed"] + self.outcomes["failed"]
        return f"{100 * self.outcomes['passed'] / ran:.1f} %" if ran else "-"


def run_folder(tests, folder, options):
    """Run one folder, again after each test that ended the process."""
    result, started = Result(folder.relative_to(tests).as_posix()), time.monotonic()
    device = [sys.executable, "-m", "lucidgrad.cudasim", f"--devices={options.devices}", *options.mode]
    pytest = [
        "pytest",
        "-q",
        "-p",
        "tests.cudasim.cupy_suite",
        "-p",
        "no:cacheprovider",
        "--tb=short",
        "-o",
        "addopts=",
    ]
    command = [*device, *pytest, "-m", "not slow", "--continue-on-collection-errors", str(folder)]
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "CUPY_SUITE": json.dumps([str(report), options.sample, options.seed]),
        }
        for _ in range(RESTARTS):
            process = subprocess.run(command, cwd=tests, env=environment, capture_output=True, text=True)
            found = lines(report)
            if not found or any("finished" in line for line in found):
                break
        else:
            result.note = f"stopped after {RESTARTS} crashes"
    if not found:
        result.note = f"did not start: {(process.stderr or process.stdout).strip()[-300:]}"
    for name, reason in {line["uncollected"]: line["reason"] for line in found if "uncollected" in line}.items():
        result.note += f"{name} can't be collected: {reason}; "
    outcomes = {line["test"]: ("failed", "ended the process, or hung") for line in found if "test" in line}
    outcomes |= {line["done"]: (line["outcome"], line["reason"]) for line in found if "done" in line}
    result.outcomes.update(outcome for outcome, _ in outcomes.values())
    result.failures = {test: reason for test, (outcome, reason) in outcomes.items() if outcome == "failed"}
    result.seconds = time.monotonic() - started
    return result


def row(name, outcomes, rate, seconds, note=""):
    counts = (f"{outcomes[key]:>8}" for key in ("passed", "failed", "skipped", "xfailed"))
    return f"{name:<34}{''.join(counts)}{rate:>9}{seconds:>8.0f} s  {note}".rstrip()


def main():
    parser = argparse.ArgumentParser("tests.cudasim.cupy_suite", description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="a checkout of CuPy, of the installed version")
    parser.add_argument("folders", nargs="*", help="folders below tests/cupy_tests or tests (all of cupy_tests)")
    parser.add_argument("--sample", type=int, default=100, help="tests per folder; 0 is all (100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--failures", action="store_true", help="also list the tests that failed")
    for mode in ("lazy", "poison", "guard"):
        parser.add_argument(f"--{mode}", dest="mode", action="append_const", const=f"--{mode}", default=[])
    options = parser.parse_intermixed_args()
    tests = (options.checkout / "tests").resolve()
    suite = tests / "cupy_tests"
    if not suite.is_dir():
        parser.error(f"{suite} doesn't exist: a checkout of CuPy was expected")
    chosen = [suite / name if (suite / name).exists() else tests / name for name in options.folders]
    print(f"{'folder':<34}{'passed':>8}{'failed':>8}{'skipped':>8}{'xfailed':>8}{'rate':>9}{'time':>10}", flush=True)
    total = Result("all")
    for folder in chosen or sorted(path for path in suite.iterdir() if path.is_dir() and path.name != "__pycache__"):
        result = run_folder(tests, folder, options)
        total.outcomes += result.outcomes
        total.seconds += result.seconds
        print(row(result.folder, result.outcomes, result.rate, result.seconds, result.note), flush=True)
        if options.failures:
            for test, reason in result.failures.items():
                print(f"    {test}\n        {reason[:200]}", flush=True)
    print(row("all", total.outcomes, total.rate, total.seconds))


if __name__ == "__main__":
    main()
