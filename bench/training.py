"""``python -m bench.training``: one training step of whole models, as a ratio to PyTorch eager.

Models are written once for both libraries, and start from the same parameters. The losses of the first steps are
compared; then both libraries take turns in one process, in short slices. The ratio of the shortest slices is what is
judged, because other programs only ever make a slice longer; the median of the ratios is beside it. The last two
columns are the same two ratios of the step under ``lg.compile``; compilation is no part of the time.

``--memory`` compares what steps add to the peak memory of a process, each library in its own.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lucidgrad.bench import machine
from lucidgrad.bench.harness import CLOCKS, Clock

Step = Callable[[], Any]

SLICE = 0.005  # seconds, if a single step is not longer
LIBRARIES = ("lucidgrad", "torch")


# -- models, written once for both libraries ---------------------------------------------------------
def mlp(m: Any, rows: int, *sizes: int, optimiser: str | None = None) -> Step:
    """Linear layers with ReLU between; classes, or one number."""
    nn = m.nn
    layers = [part for a, b in itertools.pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
    module, x = nn.Sequential(*layers[:-1]), normal(m, rows, sizes[0])
    if sizes[-1] == 1:
        y, loss = normal(m, rows, 1), nn.functional.mse_loss
    else:
        y, loss = whole(m, sizes[-1], rows), nn.functional.cross_entropy
    return training(m, module, optimiser, lambda: loss(module(x), y))


def cnn(m: Any, rows: int, channels: int, size: int) -> Step:
    """Two convolutions with ReLU and pooling, a linear layer."""
    nn = m.nn
    module = nn.Sequential(
        *(nn.Conv2d(channels, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * (size // 4) ** 2, 10)),
    )
    x, y = normal(m, rows, channels, size, size), whole(m, 10, rows)
    return training(m, module, "SGD", lambda: nn.functional.cross_entropy(module(x), y))


def recurrent(m: Any, rows: int, kind: str, width: int) -> Step:
    """A recurrent layer over 200 steps."""
    module, x = getattr(m.nn, kind)(64, width), normal(m, 200, rows, 64)

    def loss() -> Any:
        y, _ = module(x)
        return (y * y).mean()

    return training(m, module, "SGD", loss)


def block(m: Any, rows: int, optimiser: str | None = "AdamW") -> Step:
    """A transformer block, sequences of 128 with 256 features, 8 heads."""
    module = m.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, activation="gelu", batch_first=True)
    x = normal(m, rows, 128, 256)
    return training(m, module, optimiser, lambda: (module(x) ** 2).mean())


def char_gpt(m: Any, rows: int) -> Step:
    """A model of characters: 4 layers of 128 features with 4 heads, sequences of 64, 65 characters."""
    nn = m.nn

    class GPT(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.characters, self.places = nn.Embedding(65, 128), nn.Embedding(64, 128)
            layer = nn.TransformerEncoderLayer(128, 4, 512, 0.0, "gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 4, nn.LayerNorm(128), enable_nested_tensor=False)
            self.out = nn.Linear(128, 65)
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(64))

        def forward(self, i: Any) -> Any:
            x = self.characters(i) + self.places.weight
            return self.out(self.layers(x, mask=self.mask, is_causal=True))

    module, i = GPT(), whole(m, 65, rows, 65)
    given, wanted = i[:, :-1], i[:, 1:].reshape(-1)
    return training(m, module, "AdamW", lambda: nn.functional.cross_entropy(module(given).reshape(-1, 65), wanted))


@dataclass(frozen=True)
class Case:
    """A training step, for a library and a number of rows in a batch."""

    make: Callable[[Any, int], Step]
    rows: int
    goal: float
    memory_goal: float | None = None


LARGE, SMALL = (784, 512, 512, 10), (32, 32, 1)

CASES = {
    "MLP 784-512-512-10, gradient": Case(lambda m, rows: mlp(m, rows, *LARGE), 128, 0.95),
    "MLP 784-512-512-10, SGD": Case(lambda m, rows: mlp(m, rows, *LARGE, optimiser="SGD"), 128, 1.0),
    "MLP 784-512-512-10, Adam": Case(lambda m, rows: mlp(m, rows, *LARGE, optimiser="Adam"), 128, 1.0),
    "MLP 32-32-1, SGD": Case(lambda m, rows: mlp(m, rows, *SMALL, optimiser="SGD"), 16, 0.28),
    "MLP 32-32-1, Adam": Case(lambda m, rows: mlp(m, rows, *SMALL, optimiser="Adam"), 16, 0.2),
    "CNN 64x1x28x28, SGD": Case(lambda m, rows: cnn(m, rows, 1, 28), 64, 0.95),
    "CNN 32x3x32x32, SGD": Case(lambda m, rows: cnn(m, rows, 3, 32), 32, 1.1),
    "LSTM 200 steps, 128 units": Case(lambda m, rows: recurrent(m, rows, "LSTM", 128), 32, 1.0),
    "LSTM 200 steps, 64 units": Case(lambda m, rows: recurrent(m, rows, "LSTM", 64), 32, 1.0),
    "GRU 200 steps, 128 units": Case(lambda m, rows: recurrent(m, rows, "GRU", 128), 32, 1.0),
    "RNN 200 steps, 128 units": Case(lambda m, rows: recurrent(m, rows, "RNN", 128), 32, 1.0),
    "transformer block, gradient": Case(lambda m, rows: block(m, rows, None), 8, 0.9),
    "transformer block, AdamW": Case(block, 8, 0.9, memory_goal=1.1),
    "tiny char-GPT, AdamW": Case(char_gpt, 16, 1.0, memory_goal=1.1),
}


# -- what a step consists of -------------------------------------------------------------------------
def training(m: Any, module: Any, optimiser: str | None, loss_of: Step) -> Step:
    """The step of a module whose parameters are drawn in the same way in both libraries; without an optimiser, none."""
    import numpy as np

    source = np.random.default_rng(1)
    with m.no_grad():
        for name, p in module.named_parameters():
            value = source.standard_normal(tuple(p.shape)).astype(np.float32) / max(p.shape[-1], 4) ** 0.5
            p.copy_(from_numpy(m, value + 1 if "norm" in name and "weight" in name else value))
    steps = getattr(m.optim, optimiser or "SGD")(module.parameters(), lr=1e-4)

    def step() -> Any:
        steps.zero_grad()
        loss = loss_of()
        loss.backward()
        if optimiser:
            steps.step()
        return loss

    return step


def normal(m: Any, *shape: int) -> Any:
    import numpy as np

    return from_numpy(m, np.random.default_rng(0).standard_normal(shape, np.float32))


def whole(m: Any, high: int, *shape: int) -> Any:
    import numpy as np

    return from_numpy(m, np.random.default_rng(0).integers(0, high, shape))


def from_numpy(m: Any, array: Any) -> Any:
    return m.from_numpy(array) if m.__name__ == "torch" else m.asarray(array)


# -- time --------------------------------------------------------------------------------------------
def timed(step: Step, count: int, clock: Clock) -> float:
    """Seconds per step."""
    start = clock()
    for _ in range(count):
        step()
    return (clock() - start) / count


def race(steps: list[Step], rounds: int, clock: Clock) -> list[list[float]]:
    """Seconds per step of each in every round; their order changes from round to round."""
    counts = [max(1, round(SLICE / min(timed(step, 1, clock) for _ in range(5)))) for step in steps]
    times: list[list[float]] = [[] for _ in steps]
    gc.collect()
    gc.freeze()  # nobody pays for walking through the modules of the other
    for k in range(rounds):
        for i in range(len(steps)) if k % 2 else reversed(range(len(steps))):
            times[i].append(timed(steps[i], counts[i], clock))
    gc.unfreeze()
    return times


def compare_time(cases: dict[str, Case], rounds: int, threads: int, clock: str) -> int:
    """Print a table; return how many goals were missed."""
    import numpy as np

    libraries = [imported(name, threads) for name in LIBRARIES]
    heads = f"{'ratio':>6} {'goal':>5} {'median':>7}  {'lucidgrad':>10} {'torch':>10}  {'compiled':>8} {'median':>6}"
    print(f"{'processor time of a step' if clock == 'cpu' else 'time of a step':28} {heads}")
    missed = 0
    for name, case in cases.items():
        steps = [case.make(m, case.rows) for m in libraries]
        steps.append(libraries[0].compile(case.make(libraries[0], case.rows), fullgraph=True))
        for _ in range(4):  # the last ones run the program
            ours, theirs, compiled = (float(step().item()) for step in steps)
            np.testing.assert_allclose([ours, compiled], theirs, rtol=1e-3, err_msg=name)
        times = race(steps, rounds, CLOCKS[clock])
        best = [min(column) * 1e3 for column in times]
        (ratio, median), as_program = (to_torch(times, i) for i in (0, 2))
        missed += ratio > case.goal
        print(
            f"{name:28} {ratio:6.2f} {case.goal:5.2f} {median:7.2f}  {best[0]:7.3f} ms {best[1]:7.3f} ms"
            f"  {as_program[0]:8.3f} {as_program[1]:6.3f}{'  missed' if ratio > case.goal else ''}",
            flush=True,
        )
    return missed


def to_torch(times: list[list[float]], i: int) -> tuple[float, float]:
    """Ratios of one column to PyTorch's: of the shortest slices, and the median of all rounds."""
    pairs = zip(times[i], times[1], strict=True)
    return min(times[i]) / min(times[1]), statistics.median(a / b for a, b in pairs)


# -- memory ------------------------------------------------------------------------------------------
def resident(field: str) -> int:
    """Bytes that this process holds (VmRSS), or held at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def added_memory(library: str, case: Case, threads: int) -> int:
    """Bytes that steps add to what this process holds when the model is ready."""
    m = imported(library, threads)
    small = case.make(m, 1)  # loads the code that steps use, which is not what is measured
    small()
    small()
    del small
    step = case.make(m, case.rows)
    gc.collect()
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
    for _ in range(5):
        step()
    return resident("VmHWM") - before


def compare_memory(cases: dict[str, Case], threads: int) -> int:
    """Print a table; return how many goals were missed."""
    print(f"{'memory that steps add':28} {'ratio':>6} {'goal':>5}  {'lucidgrad':>10} {'torch':>10}")
    missed = 0
    for name, case in cases.items():
        if case.memory_goal is None:
            continue
        found = []
        for library in LIBRARIES:
            command = [sys.executable, "-m", "bench.training", "--threads", str(threads), "--child", library, name]
            found.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1e6)
        ratio = found[0] / found[1]
        missed += ratio > case.memory_goal
        print(f"{name:28} {ratio:6.2f} {case.memory_goal:5.2f}  {found[0]:7.1f} MB {found[1]:7.1f} MB", flush=True)
    return missed


def imported(library: str, threads: int) -> Any:
    """The library, with so many threads."""
    m = __import__(library)
    if library == "torch":
        m.set_num_threads(threads)
    return m


def main() -> int:
    """Print the tables; 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.training", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads of both libraries, default %(default)s")
    parser.add_argument("--case", default="", metavar="TEXT", help="cases whose names have this in them")
    parser.add_argument("--rounds", type=int, default=40, help="rounds of each case, default %(default)s")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="time that passes, or of processors; default: wall"
    )
    parser.add_argument("--memory", action="store_true", help="compare memory instead of time")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    machine.pin_threads(options.threads)
    if options.child:
        library, name = options.child
        print(added_memory(library, CASES[name], options.threads))
        return 0
    cases = {name: case for name, case in CASES.items() if options.case in name}
    if not cases:
        parser.error(f"no case has {options.case!r} in its name; there are: {', '.join(CASES)}")
    if options.memory:
        return int(compare_memory(cases, options.threads) > 0)
    return int(compare_time(cases, options.rounds, options.threads, options.clock) > 0)


if __name__ == "__main__":
    sys.exit(main())
