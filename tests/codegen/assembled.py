"""What NVIDIA's assembler makes of all kernels: ``python tests/codegen/assembled.py`` writes docs/assembled.md.

Registers, shared memory and spills are what ptxas says, per kernel and architecture; occupancy is how many of the warps
that a multiprocessor has room for it can run at once, with blocks of the size that a kernel is launched with. It needs
no GPU: ``pip install '.[nvrtc]'``.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import nvrtc

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "assembled.md"
ARCHITECTURES = (70, 80, 90, 100, 120)
#: KB of shared memory that a block may ask for (the same guide): which tiles of attention an architecture runs.
ROOMS = {70: 96, 80: 163, 90: 227, 100: 227, 120: 99}
#: Sources that elementwise kernels of a dtype, of which there are hundreds, are divided into: each takes one core.
PARTS = 4


class Limits(NamedTuple):
    """What a multiprocessor has (CUDA C++ Programming Guide, technical specifications per compute capability)."""

    warps: int
    blocks: int
    shared: int  # bytes
    registers: int = 65536


LIMITS = {
    70: Limits(64, 32, 96 << 10),
    80: Limits(64, 32, 164 << 10),
    90: Limits(64, 32, 228 << 10),
    100: Limits(64, 32, 228 << 10),
    120: Limits(48, 24, 100 << 10),
}
#: Registers are given to warps by so many; blocks use shared memory of the system's own, too.
UNIT, RESERVED = 256, 1024
#: Threads of a block where no ``__launch_bounds__`` say so: CuPy's elementwise kernels.
CUPY_THREADS = 128


class Kernel(NamedTuple):
    """One kernel on one architecture."""

    name: str
    architecture: int
    registers: int
    shared: int
    spills: int  # bytes that are stored and loaded
    stack: int
    threads: int

    @property
    def fits(self) -> bool:
        """Whether a block's registers are there."""
        return blocks(self) > 0

    @property
    def occupancy(self) -> float:
        limits = LIMITS[self.architecture]
        return blocks(self) * -(-self.threads // 32) / limits.warps


def blocks(kernel: Kernel) -> int:
    """How many blocks of a kernel a multiprocessor runs at once."""
    limits, warps = LIMITS[kernel.architecture], -(-kernel.threads // 32)
    per_warp = -(-kernel.registers * 32 // UNIT) * UNIT
    shared = kernel.shared + (0 if kernel.architecture < 80 else RESERVED)
    room = [limits.warps // warps, limits.blocks, limits.registers // per_warp // warps]
    return min(*room, limits.shared // shared if shared else limits.blocks)


def parsed(report: str, architecture: int, threads: dict[str, int]) -> list[Kernel]:
    """The kernels of a report of ptxas; spills of functions that a kernel calls are its own."""
    found = []
    for part in re.split(r"Compiling entry function '", report)[1:]:
        name = part[: part.index("'")]
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        shared = re.search(r"(\d+) bytes smem", part)
        spills = sum(map(int, re.findall(r"(\d+) bytes spill", part)))
        stack = sum(map(int, re.findall(r"(\d+) bytes stack frame", part)))
        size = threads.get(name, CUPY_THREADS)
        found.append(Kernel(name, architecture, registers, int(shared[1]) if shared else 0, spills, stack, size))
    return found


def expanded(source: str) -> str:
    """A source with its macros that have bounds written out."""
    for name, text in re.findall(r"#define (\w+) (.*__launch_bounds__\(.*)\n", source):
        source = re.sub(rf"\b{name}\b", text, source.replace(f"#define {name} {text}\n", ""))
    return source


def threads_of(source: str) -> dict[str, int]:
    """Threads of a block by kernel, as its bounds say, in numbers or by a constant."""
    known = dict(reversed(re.findall(r"#define (\w+) (\d+)\n", source)))  # what is told comes before what is usual
    found = re.findall(r"__global__ void __launch_bounds__\((\w+)[^)]*\)\s*(\w+)", expanded(source))
    return {name: int(known.get(size, size)) for size, name in found}


def measured(sources: dict[str, str], architecture: int) -> list[tuple[str, Kernel]]:
    """All kernels of sources on an architecture, with the names of their sources."""
    reports = nvrtc.assemble_all(sources, architecture, nvrtc.cupy_options())
    return [
        (name, kernel)
        for name, report in sorted(reports.items())
        for kernel in parsed(report, architecture, threads_of(sources[name]))
    ]


def faults(kernels: Iterable[tuple[str, Kernel]]) -> list[str]:
    """What is wrong: spills, and blocks that have not registers enough."""
    found = []
    for name, kernel in kernels:
        where = f"{kernel.name} of {name}, sm_{kernel.architecture}"
        if kernel.spills and name not in MAY_SPILL:
            found.append(f"{where}: {kernel.spills} bytes are spilled")
        if not kernel.fits:
            found.append(f"{where}: {kernel.registers} registers for each of {kernel.threads} threads")
    return found


#: Sources whose kernels may spill, with the reason.
MAY_SPILL: dict[str, str] = {}


# -- the page --------------------------------------------------------------------------------------------------
def _rows(by_name: dict[str, list[Kernel]]) -> list[str]:
    lines = []
    for name, kernels in sorted(by_name.items()):
        first = kernels[0]
        registers = " | ".join(str(kernel.registers) for kernel in kernels)
        least = min(kernels, key=lambda kernel: kernel.occupancy)
        lines.append(
            f"| `{name}` | {first.threads} | {max(k.shared for k in kernels)} | {registers} | "
            f"{sum(k.spills for k in kernels)} | {least.occupancy:.0%} (sm_{least.architecture}) |"
        )
    return lines


def page(
    by_hand: dict[str, list[Kernel]], families: dict[str, tuple[list[tuple[str, Kernel]], float]], seconds: float
) -> str:
    """The page: kernels written by hand one by one, others as families."""
    architectures = " | ".join(f"sm_{a}" for a in ARCHITECTURES)
    lines = [
        "# Kernels, assembled",
        "",
        "What NVIDIA's assembler `ptxas` makes of every kernel: registers of a thread, bytes of static shared memory",
        "of a block, bytes that are spilled to memory (on all architectures together), and occupancy: how many of the",
        "warps that a multiprocessor has room for run at once, with the block that the kernel is launched with, where",
        "it is least.",
        "It needs no GPU: `pip install '.[nvrtc]'`, and `python tests/codegen/assembled.py` writes this page"
        f" ({seconds / 60:.0f} minutes of processor time).",
        "",
        "All kernels have `__launch_bounds__`, but for those in CuPy's own frame, which have blocks of 128 threads. A",
        "nightly test refuses spills, and blocks whose registers are not there.",
        "",
        "## Written by hand",
        "",
        f"| kernel | threads | shared | {architectures} | spilled | least occupancy |",
        f"|---|--:|--:|{'--:|' * len(ARCHITECTURES)}--:|--:|",
        *_rows(by_hand),
        "",
        "## Families",
        "",
        "Registers are the most that one of the family has. Attention is compiled for each of its tiles, and assembled",
        "for the architectures whose blocks may have the shared memory of one; what they take of it at a launch is not",
        "part of the occupancy. Reductions are compiled for each of their states. Elementwise kernels are those of",
        "float32 and float64; all dtypes and the largest kernels with `LUCIDGRAD_ARCHITECTURES=all`.",
        "",
        "| family | kernels | threads | registers | spilled | least occupancy | seconds |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for family, (pairs, taken) in families.items():
        kernels = [kernel for _, kernel in pairs]
        most = max(kernels, key=lambda kernel: kernel.registers)
        least = min(kernels, key=lambda kernel: kernel.occupancy)
        lines.append(
            f"| {family} | {len({(name, k.name) for name, k in pairs})} | {max(k.threads for k in kernels)} | "
            f"{most.registers} (`{most.name}`, sm_{most.architecture}) | {sum(k.spills for k in kernels)} | "
            f"{least.occupancy:.0%} (sm_{least.architecture}) | {taken:.0f} |"
        )
    return "\n".join(lines) + "\n"


def elementwise(dtype: str, large: bool = False) -> dict[str, str]:
    """Elementwise kernels of a dtype."""
    import sources

    _, made = sources.generated(dtype, large, PARTS)
    return {f"{dtype} {k}": text for k, text in enumerate(made)}


def everything() -> Iterator[tuple[str, Callable[[int], dict[str, str]]]]:
    """Families: their names, and their sources for an architecture, the longest last."""
    import catalogue
    import sources

    from lucidgrad.backends.cuda import kernels

    yield "by hand", lambda _: dict(kernels.SOURCES)
    yield "attention, by tiles", lambda architecture: sources.tiles(ROOMS[architecture])
    yield "reductions, by states", lambda _: sources.reduced()
    yield "whole programs", lambda _: sources.programs()
    yield "kernels that stand alone", lambda _: sources.alone()
    yield "steps of optimisers", lambda _: sources.steps()
    for dtype in ("float32", "float64"):
        yield f"elementwise, {dtype}", lambda _, dtype=dtype: elementwise(dtype)
    if os.environ.get("LUCIDGRAD_ARCHITECTURES") == "all":
        for dtype in catalogue.DTYPES:
            if dtype not in ("float32", "float64"):
                yield f"elementwise, {dtype}", lambda _, dtype=dtype: elementwise(dtype)
        for dtype in catalogue.FLOATS:
            yield f"elementwise, large, {dtype}", lambda _, dtype=dtype: elementwise(dtype, large=True)


def main() -> None:
    began = processor()
    by_hand: dict[str, list[Kernel]] = {}
    families: dict[str, tuple[list[tuple[str, Kernel]], float]] = {}
    wrong = []
    for family, texts in everything():
        begin, found = processor(), []
        for architecture in ARCHITECTURES:
            found += measured(texts(architecture), architecture)
        wrong += faults(found)
        if family == "by hand":
            for name, kernel in found:
                by_hand.setdefault(name, []).append(kernel)
        else:
            families[family] = found, processor() - begin
        PAGE.write_text(page(by_hand, families, processor() - began), encoding="utf-8")
        print(f"{family}: {processor() - began:.0f} s of processor time", flush=True)
    if wrong:
        sys.exit("\n".join(wrong))


def processor() -> float:
    """Seconds of processor time, of compilers too: machines are busy with other things."""
    return time.process_time() + sum(os.times()[2:4])


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import without_cuda  # noqa: F401  which installs the emulated device

    main()
