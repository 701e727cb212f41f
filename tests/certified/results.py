"""Results of a run: by primitive, dtype, column and kind of point; kept in a file for each device."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from samples import COMPLEX, LEVELS

import lucidgrad.nn  # noqa: F401  its primitives are loaded on demand
from lucidgrad.core.primitive import ELEMENTWISE, registry

from . import measure, pointwise, shaped
from .measure import Peak, Row

HERE = Path(__file__).parent
#: Large arrays on the CPU, which loops in C compute.
LARGE = "cpu_large"
DTYPES = ("float64", "float32", "complex128")

Results = dict[str, dict[str, Row]]


def names() -> list[str]:
    """All primitives that have a derivative."""
    return sorted(name for name, primitive in registry.items() if primitive.differentiable and name not in LEVELS)


def is_certified(name: str) -> bool:
    """Whether a primitive has an exact reference."""
    elementwise = registry[name].kind is ELEMENTWISE
    return name in (pointwise.FUNCTIONS if elementwise else shaped.FUNCTIONS)


def measured(name: str, dtype: str, device: str, points: int, calls: int) -> Row:
    """The errors of a primitive with a dtype."""
    primitive = registry[name]
    if primitive.kind is not ELEMENTWISE:
        if device == LARGE:
            return Row()
        return shaped.measure(primitive, dtype, device, calls)
    if dtype[0] == "c" and name not in COMPLEX:
        return Row()
    if device == LARGE:
        return measure.measure(primitive, dtype, "cpu", points, 1 << 18)
    return measure.measure(primitive, dtype, device, points)


def run(device: str, only: Iterable[str], dtypes: Iterable[str], points: int, calls: int) -> Results:
    """Measure, and say how long it took."""
    found: Results = {}
    for name in only:
        start = time.perf_counter()
        for dtype in dtypes:
            row = measured(name, dtype, device, points, calls)
            if row.peaks:
                found.setdefault(name, {})[dtype] = row
        errors = " ".join(f"{c} {largest_text(found.get(name, {}), c)}" for c in ("value", "vjp", "jvp"))
        print(f"{name:20s} {errors}  ({time.perf_counter() - start:.1f} s)", flush=True)
    return found


def largest_text(rows: dict[str, Row], column: str) -> str:
    """The largest error of the first dtype."""
    found = next(iter(rows.values()), Row()).largest(column)
    return "-" if found is None else f"{found:.3g}"


# -- files ---------------------------------------------------------------------------------------------
def path_of(device: str) -> Path:
    return HERE / f"results_{device}.json"


def save(device: str, results: Results) -> None:
    """Write a device's results, with those of other primitives as they were."""
    kept = load(device)
    for name, rows in results.items():
        kept.setdefault(name, {}).update(rows)
    plain = {
        name: {dtype: {"points": row.points, "peaks": {c: {k: _peak(p) for k, p in kinds.items()}
                                                       for c, kinds in row.peaks.items()}}
               for dtype, row in rows.items()}
        for name, rows in sorted(kept.items())
    }  # fmt: skip
    lines = (f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in plain.items())
    path_of(device).write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _peak(peak: Peak) -> list[Any]:
    return [float(f"{peak.error:.3g}"), peak.where, float(f"{peak.eased:.3g}"), peak.eased_where]


def load(device: str) -> Results:
    """Results of a device; none if it was never run."""
    if not path_of(device).exists():
        return {}
    plain = json.loads(path_of(device).read_text())
    return {name: {dtype: _row(row) for dtype, row in rows.items()} for name, rows in plain.items()}


def _row(plain: dict[str, Any]) -> Row:
    peaks = {c: {k: Peak(*p) for k, p in kinds.items()} for c, kinds in plain["peaks"].items()}
    return Row(peaks, plain["points"])
