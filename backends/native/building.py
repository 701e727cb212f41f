"""Builds the compiled engine with the system's compiler: at once, or in a process that outlives this one.

That process runs this file as a script, which needs Python's own library alone: ``building.py SOURCE LIBRARY MARK``.
"""

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

__all__ = ["begin", "build"]

FLAGS = "-std=gnu11 -O2 -fPIC -shared -fno-strict-aliasing -fvisibility=hidden -w".split()
PATIENCE = 240  # seconds for the compiler


def build(source: Path, library: Path) -> None:
    """Compile a source; the library appears when it is whole, with its hash behind it. Raises OSError."""
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise OSError(f"there is no Python.h in {include}; it comes with Python's development package")
    scratch = library.with_name(f".{library.stem}.{os.getpid()}.so")
    more = shlex.split(os.environ.get("LUCIDGRAD_CFLAGS", ""))
    if sys.platform == "darwin":
        more += ["-undefined", "dynamic_lookup"]
    try:
        done = subprocess.run(
            [_compiler(), *FLAGS, *more, f"-I{include}", str(source), "-o", str(scratch)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=False,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"status {done.returncode}"]
            raise OSError(f"the compiler says: {lines[0]}")
        with scratch.open("r+b") as file:
            content = file.read()
            file.write(hashlib.sha256(content).digest())
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(library)
    except subprocess.TimeoutExpired as error:
        raise OSError(f"the compiler did not end within {PATIENCE} seconds") from error
    finally:
        scratch.unlink(missing_ok=True)


def begin(source: Path, library: Path, mark: Path) -> bool:
    """Start a process that builds, unless another one has: it marks that there is one, and outlives this one."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    command = [sys.executable, "-I", "-S", __file__, str(source), str(library), str(mark)]
    try:  # through a shell that ends at once: whoever waits for any child of this process finds none but its own
        subprocess.run(
            ["/bin/sh", "-c", '"$0" "$@" </dev/null >/dev/null 2>&1 &', *command], start_new_session=True, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        mark.unlink(missing_ok=True)
        raise OSError(f"the engine can't be built beside this process: {error}") from error
    return True


def _compiler() -> str:
    chosen = os.environ.get("LUCIDGRAD_CC")
    for name in [chosen] if chosen else ["cc", "gcc", "clang"]:
        if found := shutil.which(name):
            return found
    raise OSError(f"LUCIDGRAD_CC={chosen} names no program" if chosen else "no C compiler: cc, gcc or clang")


def _main(source: Path, library: Path, mark: Path) -> None:
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    try:
        build(source, library)
        library.with_suffix(".why").unlink(missing_ok=True)
    except OSError as error:
        library.with_suffix(".why").write_text(str(error), encoding="utf-8")
    finally:
        mark.unlink(missing_ok=True)


if __name__ == "__main__":
    _main(*map(Path, sys.argv[1:4]))
