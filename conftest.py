"""What tests and docstrings share: a device, no warning of array-api-strict's, and ops and laws at the end."""

import gc
import os
import re
from collections import Counter

pytest_plugins = ["golden.plugin", "without_cuda"]

# They hold no doctests, and several of one name, in folders that are no packages, can't be collected in one run.
collect_ignore_glob = ["*conftest.py", "lucidgrad/bench/peers/*_.py"]  # the latter import what need not be installed
collect_ignore_glob += ["tests/cudasim/nccl_ranks.py"]  # a program, which installs a device of its own

CELL = re.compile(r"test_matrix\.py::test_law\[(?P<law>.+)-(?P<op>\w+)\]$")


os.environ["LUCIDGRAD_PROGRESS"] = "0"  # tests compare what programs print
os.environ.setdefault("LUCIDGRAD_ENGINE", "built")  # one of the two; no process is started that builds it
os.environ["LUCIDGRAD_STRICT"] = "1"  # a kernel that can't be made for want of a compiler's skill is an error


def pytest_report_header():
    """Say how to draw the same random cases again."""
    import thoroughness  # which is found now

    lines = []
    if thoroughness.NIGHTLY:
        lines.append(f"cases of this night: LUCIDGRAD_SEED={thoroughness.SEED} repeats them")
    if thoroughness.SHARE > 1:
        lines.append(f"one test of {thoroughness.SHARE} is run, others each night (LUCIDGRAD_SHARE)")
    return lines


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of other nights' shares."""
    import thoroughness

    if thoroughness.SHARE > 1:
        others = [item for item in items if not thoroughness.in_share(item.nodeid)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if thoroughness.in_share(item.nodeid)]


def pytest_collection_finish():
    """Let no collection of garbage look at the tests themselves, a million objects: each took half a second."""
    gc.collect()
    gc.freeze()


def pytest_configure(config):
    """Ignore a warning of array-api-strict's: a set that holds its dtypes and NumPy's, of one hash, compares them."""
    config.addinivalue_line("filterwarnings", "ignore:You are comparing a array_api_strict dtype")


def pytest_terminal_summary(terminalreporter):
    """Print ops × laws, reached and total."""
    reached, total, ops, open_cells = Counter(), Counter(), set(), []
    for outcome in ("passed", "failed", "error", "xfailed", "xpassed"):
        for report in terminalreporter.stats.get(outcome, ()):
            found = CELL.search(getattr(report, "nodeid", ""))
            if found is None or (outcome == "passed" and report.when != "call"):
                continue
            law, op = found.groups()
            total[law] += 1
            reached[law] += outcome == "passed"
            ops.add(op)
            if outcome != "passed":
                open_cells.append(f"{law}: {op} ({outcome})")
    if not total:
        return
    terminalreporter.section("ops × laws")
    for law in total:
        terminalreporter.write_line(f"{law:<34}{reached[law]:>5} / {total[law]}")
    terminalreporter.write_line(
        f"{len(ops)} ops × {len(total)} laws: {reached.total()} of {total.total()} cells reached"
    )
    for line in sorted(open_cells):
        terminalreporter.write_line(f"open: {line}")
