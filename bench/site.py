"""The benchmark page and its charts from recorded runs.

``python -m bench.site --record latest.json training.txt derivatives.txt`` takes what ``python -m bench --clock cpu
--json latest.json``, ``python -m bench.training --clock cpu > training.txt`` and ``python -m bench.derivatives --clock
cpu > derivatives.txt`` gave into ``docs/benchmark.json``; ``--large one.json two.json`` takes what ``python -m
bench.eager --groups large --json one.json`` gave, with one thread and with two. What is not given stays as it was
recorded. The page and the charts are written from that file alone.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from pathlib import Path

from lucidgrad.bench.report import HUES, short

DOCS = Path(__file__).parents[1] / "docs"
DATA = DOCS / "benchmark.json"
PAGE = DOCS / "benchmark.md"
CHARTS = {name: DOCS / f"images/{name}.svg" for name in ("speed", "training", "programs")}

#: A case, its ratio and the one of what is compiled, in the tables that the other programs print.
_ROWS = {
    "training": r"^(?P<case>\S.*?)\s{2,}[\d.]+\s+[\d.]+\s+(?P<lucidgrad>[\d.]+)\s+[\d.]+ ms\s+[\d.]+ ms\s+[\d.]+\s+"
    r"(?P<compiled>[\d.]+)",
    "derivatives": r"^(?P<case>\S.*?)\s{2,}(?P<lucidgrad>[\d.]+)\s+[\d.]+\s+(?P<compiled>[\d.]+)\s+[\d.]+ ms",
}


_CLOCKS = {
    "cpu": "processor time was taken, which an interruption does not add to",
    "wall": "time that passed was taken, which an interruption adds to",
}
_NAMES = {"cpu": "processor time", "wall": "time"}
_COLUMNS = {"lucidgrad": "lucidgrad", "compiled": "lucidgrad compiled"}  # of training steps and derivatives


def record(run: Path, *tables: Path) -> None:
    """Put the runs into one file."""
    data = {**json.loads(DATA.read_text()), **json.loads(run.read_text())}
    for path, (name, row) in zip(tables, _ROWS.items(), strict=False):
        text = path.read_text()
        cases = {
            found["case"]: {column: float(found[column]) for column in _COLUMNS}
            for found in re.finditer(row, text, re.MULTILINE)
        }
        clock = "cpu" if "processor time" in text.partition("\n")[0] else "wall"
        data[name] = {"clock": clock, "steps": cases}
    DATA.write_text(json.dumps(data, indent=1) + "\n")


def record_large(*runs: Path) -> None:
    """Put runs of large arrays, by one thread and by two, into the file."""
    data = json.loads(DATA.read_text())
    data["large"] = [
        {
            "clock": run["machine"]["clock"],
            "threads": run["machine"]["threads"],
            "cases": {
                row["case"]: {"ratio": row["ratio"], "share": (row["bandwidth"] or [None])[0]} for row in run["cases"]
            },
        }
        for run in (json.loads(path.read_text()) for path in runs)
    ]
    DATA.write_text(json.dumps(data, indent=1) + "\n")


def page(data: dict) -> str:
    """The page as text."""
    peers = data["peers"]
    others = [name for name in peers if name != data["reference"]]
    versions = ", ".join(f"{peer['label']} {peer['version']}" for peer in peers.values())
    machine = data["machine"]
    lines = [
        "# Benchmark",
        "",
        "Times as ratios to PyTorch's eager mode, measured in the same round: 0.40 means 0.40 of its time. This page",
        "is written by `python -m bench.site` from a recorded run.",
        "",
        f"Versions: {versions}.",
        "",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {machine['system']}, Python {machine['python']}; one",
        f"thread for each library; {machine['date'][:10]}, load {machine['load']}. For small operations, training",
        f"steps and derivatives {_CLOCKS[machine['clock']]}; the quartiles say how much others show.",
        "",
        "## Small operations",
        "",
        "| case | " + " | ".join(peers[name]["label"] for name in others) + " | quartiles of lucidgrad |",
        "|---|" + "--:|" * (len(others) + 1),
    ]
    for name, case in data["cases"].items():
        cells = [_ratio(case["results"][other]) for other in others]
        low, high = case["results"]["lucidgrad"]["quartiles"]
        lines.append(f"| `{name}`: {case['about']} | {' | '.join(cells)} | {low:.2f} to {high:.2f} |")
    lines += [
        "",
        "![Small operations](images/speed.svg)",
        "",
        "## Training steps",
        "",
        "One step, forward, backward and optimiser, as a ratio to PyTorch's: the median of rounds that were",
        "interleaved on the same machine.",
        "",
        *_table("step", data["training"]["steps"]),
        "",
        "![Training steps](images/training.svg)",
        "",
        "## Derivatives",
        "",
        "Whole Jacobians, Hessians, their products, and gradients of gradients, measured in the same way; each library",
        "in the fastest of the ways that it has.",
        "",
        *_table("derivative", data["derivatives"]["steps"]),
        "",
        "## Large arrays",
        "",
        "Forward and backward on 4 million numbers (float32, 4096 x 1024; a table of 50,000 x 128): the ratio to",
        "PyTorch's time, and the bytes that must be moved, by the time that it took, as a share of what a copy by",
        "one thread reached.",
        "",
        *_large(data["large"]),
        "",
        "## How",
        "",
        "Every library gets a slice of about 4 ms in each round, in an order drawn anew; ratios are formed within a",
        "round, and their median is reported, so that a disturbance hits neighbours alike. Values and gradients are",
        "compared first: a library that computes something else is refused. The garbage collector is on, as in real",
        "life. `make bench` does the same on your machine; `bench/README.md` tells the details.",
    ]
    return "\n".join(lines) + "\n"


def _table(what: str, rows: dict) -> list[str]:
    return [
        f"| {what} | {' | '.join(_COLUMNS.values())} |",
        "|---|" + "--:|" * len(_COLUMNS),
        *(f"| {case} | {' | '.join(_shown(ratios.get(name)) for name in _COLUMNS)} |" for case, ratios in rows.items()),
    ]


def _large(runs: list[dict]) -> list[str]:
    heads = [f"{run['threads']} thread{'s' * (run['threads'] > 1)}, {_NAMES[run['clock']]}" for run in runs]
    rows = [" | ".join(_with_share(**run["cases"][name]) for run in runs) for name in runs[0]["cases"]]
    return [
        "| function | " + " | ".join(f"{head} | of a copy" for head in heads) + " |",
        "|---|" + "--:|" * (2 * len(runs)),
        *(f"| {name} | {row} |" for name, row in zip(runs[0]["cases"], rows, strict=True)),
    ]


def _with_share(ratio: float, share: float | None) -> str:
    return f"{_shown(ratio)} | {'-' if share is None else f'{share:.0%}'}"


def _ratio(result: dict) -> str:
    return _shown(result.get("ratio"))


def _shown(ratio: float | None) -> str:
    return "-" if ratio is None else short(ratio)


def draw(data: dict) -> None:
    """The charts, on white, so that they can be read on dark pages, too."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "lucidgrad", "font.size": 10})
    from matplotlib import pyplot as plt

    peers = {k: v["label"] for k, v in data["peers"].items() if k != data["reference"]}
    cases = {name: {peer: case["results"][peer].get("ratio") for peer in peers} for name, case in data["cases"].items()}
    figure, axes = plt.subplots(figsize=(8.5, 0.8 + 0.85 * len(cases)), layout="constrained")
    height = 0.8 / len(peers)
    for j, (peer, label) in enumerate(peers.items()):
        for i, ratios in enumerate(cases.values()):
            if ratios[peer] is not None:
                _bar(axes, i + (j - (len(peers) - 1) / 2) * height, ratios[peer], height, HUES[peer], label)
                label = None
    told = [textwrap.fill(case["about"], 24) for case in data["cases"].values()]
    _finish(figure, axes, told, CHARTS["speed"])
    figure.legend(loc="outside upper center", ncols=len(peers), frameon=False)
    figure.savefig(CHARTS["speed"], facecolor="white", metadata={"Date": None})
    plt.close(figure)

    steps = data["training"]["steps"]
    _pairs(plt, steps, _COLUMNS, CHARTS["training"])
    columns = {**_COLUMNS, "jax": "jax.jit"}
    small = {
        case["about"]: {name: case["results"][name]["ratio"] for name in columns if "ratio" in case["results"][name]}
        for case in data["cases"].values()
        if "ratio" in case["results"]["compiled"]
    }
    _pairs(plt, {**small, **data["derivatives"]["steps"], **steps}, columns, CHARTS["programs"])


def _pairs(plt, rows: dict, columns: dict[str, str], path: Path) -> None:
    """A chart with a bar for each column that a row has."""
    figure, axes = plt.subplots(figsize=(8.5, 0.8 + 0.17 * len(columns) * len(rows)), layout="constrained")
    height = 0.8 / len(columns)
    for j, (name, label) in enumerate(columns.items()):
        for i, ratios in enumerate(rows.values()):
            if name in ratios:
                _bar(axes, i + (j - (len(columns) - 1) / 2) * height, ratios[name], height, HUES[name], label)
                label = None
    _finish(figure, axes, [textwrap.fill(row, 30) for row in rows], path)
    figure.legend(loc="outside upper center", ncols=len(columns), frameon=False)
    figure.savefig(path, facecolor="white", metadata={"Date": None})
    plt.close(figure)


def _bar(axes, y: float, ratio: float, height: float, colour: str, label: str | None) -> None:
    axes.barh(y, ratio - 1, height * 0.9, left=1, color=colour, label=label)
    side = {"ha": "right", "xytext": (-3, 0)} if ratio < 1 else {"ha": "left", "xytext": (3, 0)}
    axes.annotate(_shown(ratio), (ratio, y), textcoords="offset points", va="center", fontsize=7.5, **side)


def _finish(figure, axes, names: list[str], path: Path) -> None:
    axes.axvline(1, color="black", lw=0.8)
    axes.set_xscale("log")
    axes.margins(x=0.12, y=0.01)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xticks([x for x in (0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5) if axes.get_xlim()[0] < x < axes.get_xlim()[1]])
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.xaxis.set_minor_formatter(lambda x, _: "")
    axes.set_xlabel("time as a ratio to PyTorch's eager mode: to the left is faster")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.site", description=__doc__.partition("\n")[0])
    parser.add_argument("--record", nargs="+", type=Path, metavar="RUN.json TRAINING.txt")
    parser.add_argument("--large", nargs="+", type=Path, metavar="RUN.json")
    options = parser.parse_args()
    if options.record:
        record(*options.record)
    if options.large:
        record_large(*options.large)
    data = json.loads(DATA.read_text())
    PAGE.write_text(page(data), encoding="utf-8")
    draw(data)
    print(f"written: {PAGE.name}")


if __name__ == "__main__":
    main()
