"""``python -m bench.sequences``: training steps of recurrent and attending models beside PyTorch's, interleaved.

Each figure is the median of the ratios of rounds in which both libraries take some steps; losses of the first steps
are compared before. ``--memory`` compares what a step adds to a process's peak memory, each library in its own.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import machine

Step = Callable[[], Any]


# -- models, written once for both libraries ---------------------------------------------------------
def recurrent(m: Any, name: str, hidden: int) -> Step:
    """200 steps of 32 sequences; plain gradients."""
    module = getattr(m.nn, name)(64, hidden)
    x = draw(m, 200, 32, 64)

    def step() -> Any:
        module.zero_grad()
        y, _ = module(x)
        loss = (y * y).mean()
        loss.backward()
        return loss

    return prepared(m, module, step)


def block(m: Any) -> Step:
    """One transformer block, 8 sequences of 128, with AdamW."""
    module = m.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.0, activation="gelu", batch_first=True)
    x = draw(m, 8, 128, 256)
    return with_optimiser(m, module, lambda: (module(x) ** 2).mean())


def char_gpt(m: Any) -> Step:
    """A character model: 4 layers of 128 features, 4 heads, 16 sequences of 64, 65 characters."""
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

    module, cross_entropy = GPT(), nn.functional.cross_entropy
    i = whole(m, 65, 16, 65)
    given, wanted = i[:, :-1], i[:, 1:].reshape(-1)
    return with_optimiser(m, module, lambda: cross_entropy(module(given).reshape(-1, 65), wanted))


CASES: dict[str, tuple[float, Callable[[Any], Step]]] = {
    "LSTM 200 steps, 128 units": (1.0, lambda m: recurrent(m, "LSTM", 128)),
    "LSTM 200 steps, 64 units": (1.0, lambda m: recurrent(m, "LSTM", 64)),
    "GRU 200 steps, 128 units": (1.0, lambda m: recurrent(m, "GRU", 128)),
    "RNN 200 steps, 128 units": (1.0, lambda m: recurrent(m, "RNN", 128)),
    "transformer block, AdamW": (1.2, block),
    "tiny char-GPT, AdamW": (1.2, char_gpt),
}
#: What a step may add to the peak, as a ratio.
MEMORY = {"transformer block, AdamW": 1.1, "tiny char-GPT, AdamW": 1.1}


# -- what the two libraries don't share --------------------------------------------------------------
def draw(m: Any, *shape: int) -> Any:
    import numpy as np

    return from_numpy(m, np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def whole(m: Any, high: int, *shape: int) -> Any:
    import numpy as np

    return from_numpy(m, np.random.default_rng(0).integers(0, high, shape))


def from_numpy(m: Any, array: Any) -> Any:
    return m.from_numpy(array) if m.__name__ == "torch" else m.asarray(array)


def prepared(m: Any, module: Any, step: Step) -> Step:
    """The step of a module whose parameters are drawn in the same way in both libraries."""
    import numpy as np

    rng = np.random.default_rng(1)
    with m.no_grad():
        for name, p in module.named_parameters():
            value = rng.standard_normal(tuple(p.shape)).astype(np.float32) / max(p.shape[-1], 4) ** 0.5
            p.copy_(from_numpy(m, value + 1 if "norm" in name and "weight" in name else value))
    return step


def with_optimiser(m: Any, module: Any, loss_of: Step) -> Step:
    optimiser = m.optim.AdamW(module.parameters(), lr=1e-4)

    def step() -> Any:
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        optimiser.step()
        return loss

    return prepared(m, module, step)


# -- measuring ---------------------------------------------------------------------------------------
def slice_of(step: Step, seconds: float) -> float:
    """Seconds per step."""
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += 1
    return (time.perf_counter() - start) / steps


def added_memory(library: str, case: str) -> float:
    """Bytes that steps add to the peak of this process, beyond what it had when the model was ready."""
    step = CASES[case][1](__import__(library))
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    for _ in range(5):
        step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before


def compare_memory(threads: int) -> int:
    missed = 0
    print(f"{'case':30} {'ratio':>6} {'goal':>5}  {'lucidgrad':>10} {'torch':>10}")
    for case, goal in MEMORY.items():
        found = []
        for library in ("lucidgrad", "torch"):
            given = [sys.executable, "-m", "bench.sequences", "--threads", str(threads), "--child", library, case]
            found.append(float(subprocess.run(given, capture_output=True, text=True, check=True).stdout) / 1e6)
        ratio = found[0] / found[1]
        missed += ratio > goal
        print(f"{case:30} {ratio:6.2f} {goal:5.2f}  {found[0]:7.1f} MB {found[1]:7.1f} MB", flush=True)
    return missed


def compare_time(rounds: int, threads: int, only: str) -> int:
    import numpy as np
    import torch

    import lucidgrad as lg

    torch.set_num_threads(threads)
    missed = 0
    print(f"{'case':30} {'ratio':>6} {'goal':>5}  {'lucidgrad':>10} {'torch':>10}")
    for name, (goal, make) in CASES.items():
        if only not in name:
            continue
        ours, theirs = make(lg), make(torch)
        for _ in range(3):
            np.testing.assert_allclose(ours().detach().numpy(), theirs().detach().numpy(), rtol=1e-3)
        pairs = [(slice_of(ours, 0.1), slice_of(theirs, 0.1)) for _ in range(rounds)]
        ratio = statistics.median(a / b for a, b in pairs)
        a, b = (statistics.median(column) * 1e3 for column in zip(*pairs, strict=True))
        missed += ratio > goal
        print(f"{name:30} {ratio:6.2f} {goal:5.2f}  {a:7.2f} ms {b:7.2f} ms", flush=True)
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.sequences", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each case, default %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="threads of both libraries, default %(default)s")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names have this in them")
    parser.add_argument("--memory", action="store_true", help="compare memory instead of time")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    machine.pin_threads(options.threads)
    if options.child:
        print(added_memory(*options.child))
        return 0
    if options.memory:
        return int(compare_memory(options.threads) > 0)
    return int(compare_time(options.rounds, options.threads, options.only) > 0)


if __name__ == "__main__":
    sys.exit(main())
