"""``python -m lucidgrad.check_gpu``: is everything right on this GPU, and how fast is it? One report to send back.

It runs the self-test on the device; the CUDA tests, where it is started in a clone; the table of errors against exact
values, there too; streams under NVIDIA's compute-sanitizer, where that is installed; and the benchmark beside PyTorch
and JAX, where these are. What is not there is left out, and the report says so. Without a GPU, ``--emulate`` does the
same on the emulated device, in tiny sizes, and the report says that as well.
"""

import argparse
import datetime
import html
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import lucidgrad as lg

#: Tests of a clone that run on the device, quick ones first.
TESTS = (
    "tests/cuda",
    "tests/kernels",
    "tests/codegen",
    "tests/laws -k cuda",
    "tests/compiling -k cuda",
    "tests/parity",
)
BRIEF_TESTS = ("tests/cuda/test_matmul.py", "tests/cuda/test_graphs.py")
#: What compute-sanitizer looks for, and in which tests.
SANITIZED = (("memcheck", "tests/cuda/test_streams.py"), ("racecheck", "tests/kernels/test_values.py -k float32"))

PASSED, FAILED, LEFT_OUT = "passed", "FAILED", "left out"


class Section(NamedTuple):
    """A part of the report: what it is of, how it ended, how long it took, and text of Markdown."""

    title: str
    verdict: str
    seconds: float
    text: str


def device_section() -> Section:
    """What the machine is."""
    from lucidgrad.bench.gpu import peak
    from lucidgrad.core.device import backend_named

    best, runtime = peak(), backend_named("cuda").cuda.runtime
    found = runtime.getDeviceProperties(0)
    free, total = runtime.memGetInfo()
    rows = {
        "device": f"{best.name}, compute capability {found['major']}.{found['minor']}",
        "devices": runtime.getDeviceCount(),
        "memory": f"{total / 2**30:.1f} GiB, {free / 2**30:.1f} free",
        "multiprocessors": found["multiProcessorCount"],
        "peak": f"{best.bandwidth / 1e9:.0f} GB/s, {best.operations / 1e12:.1f} Tflop/s in float32",
        "driver, runtime": f"{runtime.driverGetVersion()}, {runtime.runtimeGetVersion()}",
        "Python": f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        "packages": ", ".join(
            f"{name} {_version(name)}"
            for name in ("lucidgrad", "numpy", "cupy-cuda12x", "cupy-cuda13x", "torch", "jax")
            if _version(name)
        ),
    }
    return Section("Device", "", 0.0, "\n".join(["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items())]))


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def self_test() -> Section:
    """Gradients on the device beside the CPU's."""
    from lucidgrad import selftest

    begin = time.perf_counter()
    outcomes = list(selftest.check("cuda"))
    wrong = [outcome for outcome in outcomes if outcome.verdict != "right"]
    lines = [f"{len(outcomes) - len(wrong)} of {len(outcomes)} cases are right."]
    lines += [f"- {outcome.case}: {outcome.verdict}: {outcome.reason}" for outcome in wrong]
    return Section("Self-test", FAILED if wrong else PASSED, time.perf_counter() - begin, "\n".join(lines))


def _told(command: list[str], seconds: float) -> tuple[int, str]:
    """Run a program in the clone; its status, -1 after so many seconds, and what it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=os.environ)
    except subprocess.TimeoutExpired:
        return -1, f"ended after {seconds:.0f} s"
    return done.returncode, done.stdout + done.stderr


def _last(text: str, count: int = 15) -> str:
    return "\n".join(["```", *text.strip().splitlines()[-count:], "```"])


_COUNTS = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed)")


def tests(brief: bool) -> Iterator[Section]:
    """The CUDA tests of a clone, folder by folder."""
    python = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    for which in BRIEF_TESTS if brief else TESTS:
        begin = time.perf_counter()
        status, text = _told([*python, *which.split()], 3600 * 3)
        counts = {kind: number for number, kind in _COUNTS.findall(text[-400:])}
        shown = ", ".join(f"{number} {kind}" for kind, number in counts.items()) or "no test was counted"
        if status not in (0, 5):
            shown += "\n\n" + _last(text)
        yield Section(f"Tests: {which}", PASSED if status == 0 else FAILED, time.perf_counter() - begin, shown)


def exactness() -> Section:
    """Errors of primitives against exact values, in units in the last place."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/certified", "-k", "cuda"]
    status, text = _told(command, 3600)
    verdict = PASSED if status in (0, 5) else FAILED
    return Section("Errors against exact values", verdict, time.perf_counter() - begin, _last(text, 3))


def sanitized(brief: bool) -> Iterator[Section]:
    """Tests under compute-sanitizer."""
    tool = shutil.which("compute-sanitizer")
    for kind, which in SANITIZED[: 1 if brief else None]:
        title = f"compute-sanitizer, {kind}"
        if tool is None:
            yield Section(title, LEFT_OUT, 0.0, "compute-sanitizer is not installed; it comes with the CUDA toolkit.")
            continue
        begin = time.perf_counter()
        command = [tool, "--tool", kind, "--error-exitcode", "9", sys.executable, "-m", "pytest", "-q"]
        status, text = _told([*command, *which.split()], 3600)
        yield Section(title, PASSED if status == 0 else FAILED, time.perf_counter() - begin, _last(text))


def benchmark(emulated: bool, rounds: int) -> Section:
    """Speed, beside others and beside the device's peak."""
    from lucidgrad.bench import gpu

    begin = time.perf_counter()
    rows = gpu.run(emulated, rounds)
    failed = any("lucidgrad" in row.missing or "compiled" in row.missing for row in rows)
    return Section("Speed", FAILED if failed else PASSED, time.perf_counter() - begin, gpu.table(rows, gpu.peak()))


# -- the report --------------------------------------------------------------------------------------
def markdown(sections: list[Section], emulated: bool) -> str:
    """The report as Markdown."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes")
    lines = [f"# lucidgrad {lg.__version__} on CUDA", "", f"Made {now} by `python -m lucidgrad.check_gpu`."]
    if emulated:
        lines += ["", "**On the emulated device: no GPU took part, and times say nothing of one.**"]
    lines += ["", "| part | outcome | seconds |", "|---|---|--:|"]
    lines += [f"| {s.title} | {s.verdict} | {s.seconds:.1f} |" for s in sections if s.verdict]
    for section in sections:
        lines += ["", f"## {section.title}", "", section.text]
    return "\n".join(lines) + "\n"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }}
td, th {{ border-bottom: 1px solid #ddd; padding: .25rem .7rem; text-align: left; }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
pre {{ background: #f5f5f5; padding: .7rem; overflow-x: auto; }}
.FAILED {{ color: #b00020; font-weight: 600; }} .passed {{ color: #1b7a3d; }}
</style></head><body>
{body}
</body></html>
"""


def page(text: str) -> str:
    """The Markdown of a report as one page of HTML; it takes what `markdown` writes, and no more."""
    body, inside, rows = [], False, []
    lines = [*text.splitlines(), ""]
    for line in lines:
        if line.startswith("```"):
            body.append("</pre>" if inside else "<pre>")
            inside = not inside
            continue
        if inside:
            body.append(html.escape(line))
            continue
        if line.startswith("|"):
            rows.append(line)
            continue
        if rows:
            body.append(_table(rows))
            rows = []
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            body.append(f"<h{level}>{_inline(line.lstrip('# '))}</h{level}>")
        elif line.startswith("- "):
            body.append(f"<li>{_inline(line[2:])}</li>")
        elif line.strip():
            body.append(f"<p>{_inline(line)}</p>")
    return _PAGE.format(title="lucidgrad on CUDA", body="\n".join(body))


def _inline(text: str) -> str:
    made = html.escape(text)
    made = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", made)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", made)


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    right = [cell.endswith(":") for cell in rows[1]]
    made = ["<table>"]
    for k, row in enumerate(rows):
        if k == 1:
            continue
        tag = "td" if k else "th"
        cells = []
        for cell, to_right in zip(row, right, strict=True):
            kind = "n" if to_right and k else cell if cell in (PASSED, FAILED) else ""
            cells.append(f"<{tag}{f' class={kind}' if kind else ''}>{_inline(cell)}</{tag}>")
        made.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*made, "</table>"])


def main(arguments: list[str] | None = None) -> int:
    """Run everything and write the report; the status is 1 if something failed, 2 without a device."""
    parser = argparse.ArgumentParser("python -m lucidgrad.check_gpu", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--out", type=Path, default=Path("gpu-report"), help="folder of the report; default gpu-report")
    parser.add_argument("--quick", action="store_true", help="a few tests, few rounds")
    parser.add_argument("--emulate", action="store_true", help="on the emulated device, where there is no GPU")
    parser.add_argument("--no-bench", action="store_true", help="measure no speed")
    options = parser.parse_args(arguments)
    if options.emulate and not lg.cudasim.usable_gpus():
        lg.cudasim.install()
        from lucidgrad.backends.cudasim import launcher

        launcher.inherit()  # what is started runs on it, too
    if not lg.cuda.is_available():
        print("there is no CUDA device here; --emulate does the same on an emulated one", file=sys.stderr)
        return 2
    emulated = bool(lg.cudasim.is_installed())
    clone = Path.cwd()
    in_clone = (clone / "tests" / "laws").is_dir() and (clone / "lucidgrad").is_dir()
    sections: list[Section] = []

    def add(section: Section) -> None:
        sections.append(section)
        if section.verdict:
            print(f"{section.title:44} {section.verdict:9} {section.seconds:8.1f} s", flush=True)

    add(device_section())
    add(self_test())
    if in_clone:
        for section in tests(options.quick):
            add(section)
        if options.quick:
            add(Section("Errors against exact values", LEFT_OUT, 0.0, "Not part of `--quick`."))
        else:
            add(exactness())
        for section in sanitized(options.quick):
            add(section)
    else:
        for title in ("Tests", "Errors against exact values", "compute-sanitizer"):
            why = "This is no clone of the repository, which has the tests: start it in one."
            add(Section(title, LEFT_OUT, 0.0, why))
    if options.no_bench:
        add(Section("Speed", LEFT_OUT, 0.0, "By `--no-bench`."))
    else:
        add(benchmark(emulated, 1 if emulated or options.quick else 20))
    options.out.mkdir(parents=True, exist_ok=True)
    text = markdown(sections, emulated)
    for name, made in (("report.md", text), ("report.html", page(text))):
        (options.out / name).write_text(made, encoding="utf-8")
    failed = [section.title for section in sections if section.verdict == FAILED]
    print(f"written: {options.out / 'report.html'} and report.md" + ("; on the EMULATED device" if emulated else ""))
    print(f"FAILED: {', '.join(failed)}" if failed else "all is well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
