"""The page of certified derivatives: a summary and what is large and why; the tables are files beside it."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from .measure import LIMIT, Row
from .reasons import CONDITION, CUDA_REASONS, MISSING, reason
from .results import LARGE, Results, load

PAGE = Path(__file__).parents[2] / "docs" / "certified.md"
TABLE = PAGE.with_suffix(".csv")
OUTLIERS = PAGE.with_name("certified_above.csv")
DTYPES = ("float64", "float32", "complex128")
COLUMNS = ("value", "vjp", "jvp")
TITLES = {"value": "value", "vjp": "VJP", "jvp": "JVP"}

HEAD = """# Certified derivatives

How many digits of a value and of its derivatives are right? Every operation that has a derivative was measured against
mpmath, which computes with any number of digits. This page and its tables ([certified.csv](certified.csv),
[certified_above.csv](certified_above.csv)) are written by `python -m tests.certified` (and `--device cuda` for the
second device); `tests/certified` checks them.

Two words: a *VJP* is what reverse mode computes (a gradient, given that of the result), a *JVP* what forward mode does
(the derivative in a direction).

## What is measured

- **Value, VJP and JVP**: the largest distance from the exact result, in units in the last place (ulp) of the dtype.
  A correctly rounded result is within 0.5 ulp.
- **Exact results** come from independent references in mpmath, with at least 50 digits. Elementwise functions take as
  many as they need, up to 1100, until 25 digits of the result agree. Derivatives are central differences of these
  references, whose step is so small (1e-20 of the argument or less) that 20 digits remain at least. Inputs, cotangents
  and tangents are numbers of the dtype, so nothing is lost on the way in.
- **Points**: *ordinary* ones are 40 drawn from where an elementwise function is used, or six of the calls that the law
  tests make of any other; *special* ones lie near zero, at integers and halves, close to poles and far out (for
  functions of arrays: logits 300 apart, values of 1000 with distances of 1, or scaled by up to 1e6). Kinks and infinite
  derivatives have tests of their own.
- **The unit** is the ulp of the exact result. Where terms are added, it is the ulp of the sum of their absolute
  values: of `sum_j |g_j J_ji|` for entry i of a VJP, of `sum_i |J_ji t_i|` for entry j of a JVP, and of
  `sum_i |x_i J_ji|` (of one input, or the value, if larger) for the value of a function of arrays.
- **Adjoint**: `|<J t, g> - <t, J^T g>|`, in ulp of the sum of the absolute values of all its terms.
- **Complex step**: the distance of the VJP from `imag f(x + ih) / h`, in ulp, for analytic functions of complex
  numbers at ordinary points.
- **Conditioned** errors are divided by what half an ulp of change in every input does to the exact result, in half
  ulps (in float64, where they are above 4). Whoever rounds the input can't do better: what is at most 4 then, is
  explained by the *conditioning*.
"""


def files() -> dict[Path, str]:
    """Everything that is written: the page and its tables."""
    results, large, other = load("cpu"), load(LARGE), load("cuda")
    parts = [HEAD, _summary(results, large, other), _reasons(results)]
    parts += [_beyond(results, other)] if other else []
    parts += [_TABLES, _missing()]
    devices = {"cpu": results, "cpu, large arrays": large, "cuda (emulated)": other}
    return {PAGE: "\n".join(parts), TABLE: _table(devices), OUTLIERS: _outliers(results)}


def _errors(row: Row) -> float:
    return max((row.largest(c) or 0.0 for c in COLUMNS), default=0.0)


def _summary(results: Results, large: Results, other: Results) -> str:
    lines = ["## Summary", "", "How many primitives have all errors (value, VJP and JVP) within a bound:", ""]
    lines += ["| device | dtype | primitives | exact | ≤ 1 ulp | ≤ 2 ulp | ≤ 4 ulp | above | above, conditioned |"]
    lines += ["|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for device, found in (("cpu", results), ("cpu, large arrays", large), ("cuda (emulated)", other)):
        for dtype in DTYPES:
            rows = [rows[dtype] for rows in found.values() if dtype in rows]
            if not rows:
                continue
            errors = [_errors(row) for row in rows]
            counts = [sum(e <= bound for e in errors) for bound in (0, 1, 2, LIMIT)]
            hard = sum(max(row.largest(c, True) or 0.0 for c in COLUMNS) > LIMIT for row in rows)
            above = len(errors) - counts[-1]
            cells = [
                device,
                dtype,
                len(rows),
                *counts,
                above,
                hard if dtype == "float64" and found is not large else "",
            ]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def outliers(results: Results) -> list[tuple[str, str, str, float, str, float]]:
    """Primitive, column, kind of point, error, where, and the error with conditioning apart; float64 only."""
    found = []
    for name, rows in results.items():
        if "float64" not in rows:
            continue
        for column in COLUMNS:
            for kind, peak in rows["float64"].peaks.get(column, {}).items():
                if not peak.error <= LIMIT:
                    found.append((name, column, kind, peak.error, peak.where, peak.eased))
    return found


def explained(name: str, column: str, eased: float) -> str | None:
    """Why an outlier is one."""
    return CONDITION if eased <= LIMIT else reason(name, column)


def _reasons(results: Results) -> str:
    by_reason: dict[str, dict[str, float]] = {}
    for name, column, _, error, _, eased in outliers(results):
        largest = by_reason.setdefault(explained(name, column, eased) or "open", {})
        largest[name] = max(error, largest.get(name, 0.0))
    lines = ["## Above 4 ulp in float64", "", "Why, and the largest error of each in ulp:", ""]
    for why in sorted(by_reason, key=lambda why: (why == CONDITION, why)):
        named = ", ".join(f"`{name}` {_number(error)}" for name, error in by_reason[why].items())
        lines.append(f"- **{why[0].upper() + why[1:]}.** {named}")
    return "\n".join(lines) + "\n"


def _outliers(results: Results) -> str:
    head = ["primitive", "of", "points", "ulp", "conditioned", "at"]
    rows = [
        [name, TITLES[column], kind, _number(error), _number(eased), where.replace("float64", "")]
        for name, column, kind, error, where, eased in outliers(results)
    ]
    return _csv([head, *rows])


def _csv(rows: Iterable[Iterable[object]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return "0" if value == 0 else f"{value:.2f}" if value < 100 else f"{value:.1e}"


_TABLES = """## All measurements

The largest error in ulp, over ordinary and special points; complex numbers in ulp of the modulus. Small arrays take
NumPy's kernels and ours. *Large arrays* are 262144 elements of 12 ordinary points and the special ones: there a loop
in C takes over, and its functions are those of the vector library. On the emulated CUDA device the kernels are ours
and the arithmetic is the host compiler's; 12 ordinary points or two calls.

:::{csv-table}
:file: certified.csv
:header-rows: 1
:class: searchable
:::

## All errors above 4 ulp

Where they were found, in float64 on the CPU.

:::{csv-table}
:file: certified_above.csv
:header-rows: 1
:class: searchable
:::
"""


def _table(devices: dict[str, Results]) -> str:
    head = ["primitive", "device", "dtype", "points", "value", "VJP", "JVP", "adjoint", "complex step"]
    rows = [
        [name, device, dtype, rows[dtype].points]
        + [_number(rows[dtype].largest(column)) for column in (*COLUMNS, "adjoint", "step")]
        for device, found in devices.items()
        for name, rows in found.items()
        for dtype in DTYPES
        if dtype in rows
    ]
    return _csv([head, *rows])


def beyond(results: Results, other: Results) -> list[tuple[str, str, float, float, str]]:
    """Primitive, column, both errors and where, in float64: above the limit, and more than twice the CPU's."""
    found = []
    for name, rows in other.items():
        for column in COLUMNS:
            known = results.get(name, {}).get("float64", Row()).largest(column)
            for peak in rows.get("float64", Row()).peaks.get(column, {}).values():
                if known is not None and peak.error > max(LIMIT, 2 * known + 2):
                    found.append((name, column, peak.error, known, peak.where))
    return found


def _beyond(results: Results, other: Results) -> str:
    lines = ["## CUDA beside the CPU", ""]
    lines += ["In float64 above 4 ulp, and above twice what the CPU has (and 2 ulp more):", ""]
    lines += ["| primitive | of | ulp | CPU | at | reason |", "|---|---|--:|--:|---|---|"]
    for name, column, error, known, where in beyond(results, other):
        why = CUDA_REASONS.get(name, "open")
        cells = [f"`{name}`", TITLES[column], _number(error), _number(known), f"`{where.replace('float64', '')}`", why]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _missing() -> str:
    lines = ["## Without a row", "", "| primitive | reason |", "|---|---|"]
    lines += [f"| `{name}` | {why} |" for name, why in sorted(MISSING.items())]
    return "\n".join(lines) + "\n"
