"""What the examples have in common: their options, where they compute, their picture and their verdict."""

import argparse
import contextlib
import sys
from pathlib import Path

import lucidgrad as lg

ROOT = Path(__file__).resolve().parents[1]  # of the repository


def arguments(description, **more):
    """Return the options of an example; ``more`` are its own, by name and default.

    ``--quick`` is for tests: the example runs a few steps and its outcome does not count.
    """
    parser = argparse.ArgumentParser(description=description.partition("\n\n")[2].partition("\n")[0])
    parser.add_argument("--device", default="auto", help="cpu, cuda, or auto: cuda if there is a GPU")
    parser.add_argument("--emulate", action="store_true", help="run --device cuda on the emulated device")
    parser.add_argument("--quick", action="store_true", help="a few steps only; the outcome does not count")
    parser.add_argument("--lenient", action="store_true", help="the outcome does not count, however many steps")
    parser.add_argument("--compile", action="store_true", help="run what is repeated as one program")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder for pictures and checkpoints")
    parser.add_argument("--seed", type=int, default=0)
    for name, default in more.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"default: {default}")
    options = parser.parse_args()
    if options.emulate:
        lg.cudasim.install()
        options.device = "cuda"
    elif options.device == "auto":
        options.device = "cuda" if lg.cuda.is_available() else "cpu"
    options.out.mkdir(parents=True, exist_ok=True)
    lg.manual_seed(options.seed)
    return options


def repeated(options, function):
    """Give back a function that is called again and again; with ``--compile`` as one program."""
    return lg.compile(function) if options.compile else function


@contextlib.contextmanager
def picture(path, columns=1, size=(6.0, 3.6)):
    """Give axes to draw on and write them to a PNG file; without matplotlib the block is left out."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        yield None
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(size[0] * columns, size[1]), layout="constrained")
    yield axes
    figure.savefig(path, dpi=120)
    plt.close(figure)
    print(f"picture: {path}")


def finish(options, *outcomes):
    """Print each outcome ``(what, value, below)`` and return the exit status: 1 if one is not below its figure."""
    failed, uncounted = 0, options.quick or options.lenient
    for what, value, below in outcomes:
        good = value < below
        failed += not good
        print(f"{what}: {value:.4g} (expected below {below:g}){'' if good or uncounted else '  FAILED'}")
    if failed and not uncounted:
        print("the outcome is not what was expected", file=sys.stderr)
        return 1
    return 0
