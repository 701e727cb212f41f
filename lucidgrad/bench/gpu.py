"""How fast CUDA is: cases with the bytes and operations that they need at least, beside what the device can do.

``python -m lucidgrad.bench.gpu`` measures single operations with their gradients, and training steps, by events of the
device; beside PyTorch and JAX, where these are installed and see the same device. A case says how many bytes it has to
move, or how many operations it takes; what was achieved is given in gigabytes or in 10^9 operations per second, and as
a share of the device's peak. On the emulated device sizes are tiny, and figures mean nothing: they show that everything
runs.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Step = Callable[[], Any]

#: Cores of a multiprocessor that do a float32 operation per cycle, by compute capability.
CORES = {70: 64, 72: 64, 75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 120: 128, 121: 128}


@dataclass(frozen=True)
class Peak:
    """What a device can do at most, by what it says of itself: bytes and float32 operations per second; 0: unknown."""

    name: str
    bandwidth: float
    operations: float


def peak(device: int = 0) -> Peak:
    """The peak of a CUDA device."""
    from lucidgrad.core.device import backend_named

    found = backend_named("cuda").cuda.runtime.getDeviceProperties(device)
    name = found["name"].decode() if isinstance(found["name"], bytes) else str(found["name"])
    clock = float(found.get("memoryClockRate", 0)) * 1e3
    bandwidth = 2 * clock * float(found.get("memoryBusWidth", 0)) / 8
    cores = CORES.get(10 * found["major"] + found["minor"], 128) * found["multiProcessorCount"]
    return Peak(name, bandwidth, 2.0 * cores * float(found.get("clockRate", 0)) * 1e3)


@dataclass
class Case:
    """Something to measure: ``make(library)`` gives the step; ``bytes`` or ``operations`` are the least it takes."""

    name: str
    make: Callable[[Any], Step]
    bytes: float = 0.0
    operations: float = 0.0
    jax: Callable[[Any], Step] | None = None


@dataclass
class Row:
    """What came out of a case: milliseconds by column, or why there are none."""

    case: Case
    milliseconds: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def achieved(self, best: Peak) -> tuple[float, float]:
        """Bytes or operations per second of lucidgrad, and their share of the peak; 0 where that is unknown."""
        seconds = self.milliseconds.get("lucidgrad", 0.0) / 1e3
        if not seconds:
            return 0.0, 0.0
        rate, most = (
            (self.case.bytes / seconds, best.bandwidth)
            if self.case.bytes
            else (self.case.operations / seconds, best.operations)
        )
        return rate, rate / most if most else 0.0


# -- cases -----------------------------------------------------------------------------------------
def _gradient(m: Any, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Step:
    """A function and the gradients of its arguments, with ones coming in."""
    xs = [m.randn(*shape, device="cuda", requires_grad=True) for shape in shapes]
    g = m.ones_like(function(*xs))
    return lambda: m.autograd.grad(function(*xs), xs, g)


def _training(m: Any, model: Any, loss_of: Callable[[Any], Any], optimizer: str = "SGD") -> Step:
    model = model.to("cuda")
    stepper = getattr(m.optim, optimizer)(model.parameters(), lr=1e-3)

    def step() -> Any:
        stepper.zero_grad()
        loss = loss_of(model)
        loss.backward()
        stepper.step()
        return loss.detach()

    return step


def cases(tiny: bool = False) -> list[Case]:
    """All cases; ``tiny``: of a size for the emulated device."""
    n = 1 << 10 if tiny else 1 << 24
    rows, columns = (16, 64) if tiny else (8192, 2048)
    square = 32 if tiny else 4096
    batch, heads, length, width = (1, 2, 32, 16) if tiny else (8, 16, 1024, 64)
    images, size = (2, 8) if tiny else (128, 56)
    channels = 4 if tiny else 64
    units, steps, examples = (8, 4, 4) if tiny else (512, 128, 64)
    wide = 32 if tiny else 1024

    def functional(name: str, *args: Any, **options: Any) -> Callable[[Any], Callable[..., Any]]:
        return lambda m: lambda x: getattr(m.nn.functional, name)(x, *args, **options)

    def elementwise(name: str, passes: int) -> Case:
        return Case(
            name,
            lambda m: _gradient(m, functional(name)(m), (n,)),
            bytes=4.0 * n * passes,
            jax=lambda jax: _jax_gradient(jax, getattr(jax.nn, name), (n,)),
        )

    def attention(m: Any) -> Step:
        shape = (batch, heads, length, width)
        attend = lambda q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return _gradient(m, attend, shape, shape, shape)

    def convolution(m: Any) -> Step:
        convolve = lambda x, w: m.nn.functional.conv2d(x, w, padding=1)
        return _gradient(m, convolve, (images, channels, size, size), (channels, channels, 3, 3))

    def lstm(m: Any) -> Step:
        layer = m.nn.LSTM(units, units).to("cuda")
        x = m.randn(steps, examples, units, device="cuda")
        return _training(m, layer, lambda layer: (layer(x)[0] ** 2).mean())

    def mlp(m: Any) -> Step:
        nn = m.nn
        x, y = m.randn(examples, wide, device="cuda"), m.zeros(examples, dtype=m.int64, device="cuda")
        model = nn.Sequential(nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 10))
        return _training(m, model, lambda model: nn.functional.cross_entropy(model(x), y), "Adam")

    def cnn(m: Any) -> Step:
        nn = m.nn
        x = m.randn(images, 3, size, size, device="cuda")
        layers = [nn.Conv2d(3, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        model = nn.Sequential(*layers, nn.Linear(channels, 10))
        return _training(m, model, lambda model: (model(x) ** 2).mean())

    def gpt(m: Any) -> Step:
        layer = m.nn.TransformerEncoderLayer(heads * width, heads, 4 * heads * width, 0.0, batch_first=True)
        x = m.randn(batch, length, heads * width, device="cuda")
        return _training(m, layer, lambda layer: (layer(x) ** 2).mean(), "AdamW")

    area = float(images * size * size * channels * channels * 9)
    return [
        elementwise("gelu", 5),  # read, write; read two, write
        elementwise("silu", 5),
        Case("x*y+z", lambda m: _gradient(m, lambda x, y, z: x * y + z, (n,), (n,), (n,)), bytes=4.0 * n * 9),
        Case(
            "sum, last axis",
            lambda m: _gradient(m, lambda x: x.sum(-1), (rows, columns)),
            bytes=4.0 * rows * columns * 2,
            jax=lambda jax: _jax_gradient(jax, lambda x: x.sum(-1), (rows, columns)),
        ),
        Case("sum, first axis", lambda m: _gradient(m, lambda x: x.sum(0), (rows, columns)),
             bytes=4.0 * rows * columns * 2),
        Case("softmax", lambda m: _gradient(m, functional("softmax", dim=-1)(m), (rows, columns)),
             bytes=4.0 * rows * columns * 5),
        Case("layer norm", lambda m: _gradient(m, functional("layer_norm", (columns,))(m), (rows, columns)),
             bytes=4.0 * rows * columns * 5),
        Case(
            "matrix product",
            lambda m: _gradient(m, lambda a, b: a @ b, (square, square), (square, square)),
            operations=6.0 * square**3,
            jax=lambda jax: _jax_gradient(jax, lambda a, b: a @ b, (square, square), (square, square)),
        ),
        Case("attention, causal", attention, operations=7.0 * batch * heads * length**2 * width),
        Case("convolution 3x3", convolution, operations=6.0 * area),
        Case("LSTM step", lstm, operations=6.0 * steps * examples * 8 * units**2),
        Case("MLP step, Adam", mlp, operations=12.0 * examples * wide**2),
        Case("CNN step, SGD", cnn, operations=7.5 * area / 4),
        Case("transformer layer step, AdamW", gpt, operations=72.0 * batch * length * (heads * width) ** 2),
    ]  # fmt: skip


def _jax_gradient(jax: Any, function: Callable[..., Any], *shapes: tuple[int, ...]) -> Step:
    keys = jax.random.split(jax.random.key(0), len(shapes))
    xs = [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    g = jax.numpy.ones_like(function(*xs))
    pull = jax.jit(lambda *xs: jax.vjp(function, *xs)[1](g))
    return lambda: jax.block_until_ready(pull(*xs))


# -- measuring -------------------------------------------------------------------------------------
def _by_events(m: Any, step: Step, rounds: int) -> float:
    """Milliseconds of a step, by events of the device: the median of some rounds."""
    for _ in range(3):
        step()
    found = []
    for _ in range(rounds):
        begin, end = m.cuda.Event(enable_timing=True), m.cuda.Event(enable_timing=True)
        begin.record()
        step()
        end.record()
        end.synchronize()
        found.append(float(begin.elapsed_time(end)))
    return statistics.median(found)


def _by_clock(step: Step, rounds: int) -> float:
    for _ in range(3):
        step()
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        step()
        found.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(found)


def _columns() -> dict[str, Any]:
    """The libraries that see the device."""
    import lucidgrad as lg

    found: dict[str, Any] = {"lucidgrad": lg, "compiled": lg}
    for name in ("torch", "jax"):
        try:
            library = importlib.import_module(name)
            there = library.cuda.is_available() if name == "torch" else library.default_backend() == "gpu"
        except Exception:  # not installed, or not for this machine
            continue
        if there:
            found[name] = library
    return found


def _measured(name: str, library: Any, case: Case, rounds: int) -> float:
    if name == "jax":
        if case.jax is None:
            raise LookupError("not written for it")
        return _by_clock(case.jax(library), rounds)
    step = case.make(library)
    if name == "compiled":
        step = library.compile(step)
    return _by_events(library, step, rounds)


def run(tiny: bool = False, rounds: int = 20, names: list[str] | None = None, say: Any = None) -> list[Row]:
    """Measure all cases, or those whose name has one of these words in it."""
    columns = _columns()
    found = []
    for case in cases(tiny):
        if names and not any(word in case.name for word in names):
            continue
        row = Row(case)
        for name, library in columns.items():
            try:
                row.milliseconds[name] = _measured(name, library, case, rounds)
            except Exception as error:  # one that fails is told, and the others are measured
                row.missing[name] = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
        found.append(row)
        if say is not None:
            say(line(row, columns))
    return found


def line(row: Row, columns: Any) -> str:
    """A row as text."""
    cells = [f"{row.milliseconds[c]:10.4f}" if c in row.milliseconds else f"{'-':>10}" for c in columns]
    return f"{row.case.name:32}{''.join(cells)}"


def table(rows: list[Row], best: Peak) -> str:
    """All rows as a table of Markdown."""
    columns = list(dict.fromkeys(name for row in rows for name in (*row.milliseconds, *row.missing)))
    lines = [
        f"| case | {' | '.join(f'{c}, ms' for c in columns)} | achieved | of the peak |",
        "|---|" + "--:|" * (len(columns) + 2),
    ]
    for row in rows:
        cells = [f"{row.milliseconds[c]:.4g}" if c in row.milliseconds else "-" for c in columns]
        rate, share = row.achieved(best)
        unit = "GB/s" if row.case.bytes else "Gflop/s"
        shown = f"{share:.0%}" if share else "-"
        lines.append(f"| {row.case.name} | {' | '.join(cells)} | {rate / 1e9:.4g} {unit} | {shown} |")
    failed = [f"- {row.case.name}, {name}: {why}" for row in rows for name, why in row.missing.items() if name != "jax"]
    return "\n".join(lines + (["", *failed] if failed else []))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lucidgrad.bench.gpu", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("cases", nargs="*", help="parts of the names of cases; all by default")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="rounds of each case, default 20")
    parser.add_argument("--emulate", action="store_true", help="on the emulated device, with tiny sizes")
    options = parser.parse_args(arguments)
    import lucidgrad as lg

    if options.emulate:
        lg.cudasim.install()
    if not lg.cuda.is_available():
        print("there is no CUDA device here; --emulate runs all cases, tiny, on an emulated one", file=sys.stderr)
        return 2
    emulated = lg.cudasim.is_installed()
    best = peak()
    print(f"{best.name}: {best.bandwidth / 1e9:.0f} GB/s, {best.operations / 1e12:.1f} Tflop/s in float32, at most")
    if emulated:
        print("EMULATED: sizes are tiny, and the figures say nothing of a GPU")
    print(f"{'milliseconds':32}" + "".join(f"{name:>10}" for name in _columns()))
    rows = run(emulated, options.rounds, options.cases, lambda text: print(text, flush=True))
    print("\n" + table(rows, best))
    return int(any("lucidgrad" in row.missing for row in rows))


if __name__ == "__main__":
    sys.exit(main())
