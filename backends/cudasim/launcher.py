"""The command line: a program, and all Python processes that it starts, with an emulated CUDA device."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from . import build, gpu
from .errors import EmulatorError

SITE = Path(__file__).resolve().parent / "site"
PACKAGE = __package__ or ""  # ``cudasim``, or the same folder as a part of lucidgrad
PROGRAM = PACKAGE.replace(".backends", "")
SWITCHES = ("lazy", "poison", "guard", "races")
USAGE = f"python -m {PROGRAM} [options] (PROGRAM | SCRIPT.py | -m MODULE | -c CODE) [arguments]"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    options = argparse.ArgumentParser(PROGRAM, usage=USAGE, description=__doc__)
    options.add_argument("--devices", type=_positive, metavar="N", help="number of devices (1)")
    options.add_argument("--memory", type=_positive, metavar="MB", help="memory of each device (4096)")
    options.add_argument("--capability", type=_positive, metavar="CC", help="compute capability: 80 is 8.0 (80)")
    options.add_argument("--processors", type=_positive, metavar="N", help="multiprocessors of each device (4)")
    options.add_argument("--lazy", action="store_true", help="work runs only when something waits for it")
    options.add_argument("--poison", action="store_true", help="fresh and freed memory holds garbage")
    options.add_argument("--guard", action="store_true", help="the host can't touch device memory")
    options.add_argument("--races", action="store_true", help="races between threads of a kernel are reported")
    options.add_argument("--ftz", choices=("on", "off"), help="subnormal float32 is zero in kernels (on)")
    options.add_argument("--force", action="store_true", help="also on a machine with a GPU")
    options.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module")
    options.add_argument("-c", dest="code", nargs=argparse.REMAINDER, help="run a string")
    options.add_argument("program", nargs=argparse.REMAINDER, help="a program on the path, or a Python file")
    return options


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: a positive number was expected")
    return number


def environment(options: argparse.Namespace) -> dict[str, str]:
    """Return the variables by which processes below this one get the emulated device."""
    chosen = inherited()
    numbers = {"DEVICES": "devices", "MEM_MB": "memory", "CC": "capability", "SM": "processors"}
    chosen |= {f"CUDASIM_{key}": str(number) for key, name in numbers.items() if (number := getattr(options, name))}
    chosen |= {f"CUDASIM_{name.upper()}": "1" for name in SWITCHES if getattr(options, name)}
    if options.ftz:
        chosen["CUDASIM_FTZ"] = str(int(options.ftz == "on"))
    return chosen


def inherited() -> dict[str, str]:
    """Return the variables that a process must have for the device, whatever its settings."""
    path = with_site(os.environ.get("PYTHONPATH", ""))
    return {"CUDASIM": "1", "CUDASIM_PACKAGE": PACKAGE, "PYTHONPATH": path}


def inherit() -> None:
    """Give the emulated device to all Python processes that this one starts from now on."""
    os.environ.update(inherited())


def with_site(path: str) -> str:
    """Return a search path that begins with our start-up file."""
    return os.pathsep.join([str(SITE), *(part for part in path.split(os.pathsep) if part and part != str(SITE))])


def command(options: argparse.Namespace) -> list[str]:
    """Return the command to run."""
    python = sys.executable
    if options.module:
        return [python, "-m", *options.module]
    if options.code:
        return [python, "-c", *options.code]
    name, *arguments = options.program
    if name.endswith((".py", ".pyz")) or (Path(name).exists() and not shutil.which(name)):
        return [python, name, *arguments]
    # Programs of this environment first: `pytest` must be this Python's.
    if found := shutil.which(name, path=os.pathsep.join([os.path.dirname(python), os.environ.get("PATH", "")])):
        return [found, *arguments]
    return [python, "-m", name, *arguments]


def check(force: bool) -> None:
    """Raise if the emulated device may not or can't be used here; build it if it is not built."""
    if not force and (count := gpu.usable()):
        raise EmulatorError(
            f"this machine has {count} usable GPU{'s' * (count > 1)}; run the program without the emulated CUDA "
            f"device, or add --force"
        )
    build.build()


def main(arguments: list[str] | None = None) -> None:
    """Run a program with the emulated device; this process becomes that program."""
    options = parser().parse_args(arguments)
    if not (options.program or options.module or options.code):
        parser().error("a program, a script or -m MODULE was expected")
    try:
        check(options.force)
    except EmulatorError as error:
        sys.exit(f"{PROGRAM}: {error}")
    program = command(options)
    os.environ.update(environment(options))
    sys.stdout.flush()
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.exit(f"{PROGRAM}: {program[0]} can't be run: {error.strerror}")
