"""Reports of a run: a text table, JSON, and a chart."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lucidgrad.bench import machine
from lucidgrad.bench.harness import Result, Run

FEW = 5  # rounds below which a ratio is marked in the table
HUES = {
    "lucidgrad": "#d1495b",
    "compiled": "#7b1e3a",
    "torch": "#e9a23b",
    "torch_compile": "#c9782b",
    "numpy": "#30638e",
    "jax": "#5fa777",
    "autograd": "#8d99ae",
    "mygrad": "#b8a9c9",
}


def table(run: Run) -> str:
    """A row for each case, a column for each peer; lucidgrad with quartiles, and with goal and verdict beside torch."""
    others = [name for name in run.peers if name not in (run.reference, "lucidgrad")]
    ours = "lucidgrad" in run.peers
    judged = ours and run.reference == "torch"
    rows = [["case", run.peers[run.reference].LABEL]]
    rows[0] += ["lucidgrad", "(quartiles)"] * ours + [run.peers[name].LABEL for name in others]
    rows[0] += ["goal", "reached"] * judged
    for case, results in run.results.items():
        row = [case.name, _duration(statistics.median(results[run.reference].seconds))]
        if ours:
            low, high = ("-", "-") if results["lucidgrad"].missing else map(short, results["lucidgrad"].quartiles)
            row += [_cell(results["lucidgrad"]), f"({low} .. {high})"]
        row += [_cell(results[name]) for name in others]
        if judged:
            reached = {True: "yes", False: "no", None: "-"}[run.reached(case)]
            row += [f"{case.goal:.2f}" if case.goal else "-", reached]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()  # text left, figures right
        for row in rows
    ]
    lines.insert(1, "-" * sum(widths, 2 * len(widths) - 2))
    label = run.peers[run.reference].LABEL
    lines.append(f"\nTime as a ratio to {label} = 1.00 in the same round, median of rounds: lower is better.")
    if any(0 < len(result.ratios) < FEW for row in run.results.values() for result in row.values()):
        lines.append(f"~ fewer than {FEW} rounds, which is little to go by.")
    return "\n".join(lines)


def as_json(run: Run, clock: str) -> dict[str, object]:
    """The run as plain data, with the machine it was made on."""
    return {
        "machine": {**machine.describe(), "clock": clock},
        "reference": run.reference,
        "peers": {name: {"label": peer.LABEL, "version": peer.VERSION} for name, peer in run.peers.items()},
        "cases": {
            case.name: {
                "about": case.about,
                "goal": case.goal,
                "reached": run.reached(case),
                "results": {name: _figures(result) for name, result in results.items()},
            }
            for case, results in run.results.items()
        },
    }


def write_json(run: Run, path: Path, clock: str) -> None:
    path.write_text(json.dumps(as_json(run, clock), indent=2) + "\n")


def write_chart(run: Run, path: Path, say: Callable[[str], None]) -> None:
    """Bars that start at the reference, on a logarithmic scale: faster to the left, slower to the right."""
    try:
        import matplotlib
    except ImportError as error:
        say(f"chart: skipped ({error})")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names = [name for name in run.peers if name != run.reference]
    height = 0.8 / max(1, len(names))
    figure, axes = plt.subplots(figsize=(9, 0.6 + len(run.results) * (0.25 + 0.2 * len(names))), layout="constrained")
    for j, name in enumerate(names):
        label = run.peers[name].LABEL
        for i, (case, results) in enumerate(run.results.items()):
            y = i + (j - (len(names) - 1) / 2) * height
            if results[name].missing:
                continue
            ratio = results[name].ratio
            axes.barh(y, ratio - 1, height * 0.9, left=1, color=HUES.get(name), label=label)
            side: dict[str, Any] = {"ha": "right", "xytext": (-3, 0)} if ratio < 1 else {"ha": "left", "xytext": (3, 0)}
            axes.annotate(short(ratio), (ratio, y), textcoords="offset points", va="center", fontsize=7, **side)
            label = None  # one entry in the legend
            if name == "lucidgrad" and case.goal and run.reference == "torch":
                axes.plot([case.goal] * 2, [y - height / 2, y + height / 2], color="black", lw=1.5)
    axes.axvline(1, color="black", lw=0.8)
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.01)
    axes.set_yticks(range(len(run.results)), [case.name for case in run.results])
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.set_xlabel(f"time as a ratio to {run.peers[run.reference].LABEL} (left is faster; black: lucidgrad's goal)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _figures(result: Result) -> dict[str, object]:
    if result.missing:
        return {"missing": result.missing}
    return {
        "ratio": round(result.ratio, 4),
        "quartiles": [round(q, 4) for q in result.quartiles],
        "microseconds": round(statistics.median(result.seconds) * 1e6, 3),
        "rounds": len(result.ratios),
    }


def _cell(result: Result) -> str:
    if result.missing:
        return "wrong" if result.wrong else "-"
    return "~" * (len(result.ratios) < FEW) + short(result.ratio)


def short(ratio: float) -> str:
    """Two digits that count, where there are not more before the point."""
    return f"{ratio:.2g}" if ratio < 0.1 else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}"


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"
