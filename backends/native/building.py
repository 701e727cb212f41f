"""Builds the compiled engine with the system's compiler: at once, or in a process that outlives this one.

That process runs this file as a script, ``building.py SOURCE LIBRARY MARK``: of the package it needs `caches` alone.
"""

import contextlib
import os
import shlex
import subprocess
import sys
import sysconfig
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING or __name__ != "__main__":
    from lucidgrad.backends import caches
else:  # of the package nothing but this file and that one
    _spec = util.spec_from_file_location("caches", Path(__file__).resolve().parents[1] / "caches.py")
    caches = util.module_from_spec(_spec)
    _spec.loader.exec_module(caches)

__all__ = ["begin", "build"]

FLAGS = "-std=gnu11 -O2 -fPIC -shared -fno-strict-aliasing -fvisibility=hidden -w".split()
PATIENCE = 240  # seconds for the compiler


def build(source: Path, library: Path) -> None:
    """Compile a source; the library appears when it is whole, sealed. Raises OSError."""
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise OSError(f"there is no Python.h in {include}; it comes with Python's development package")
    command = [caches.compiler(), *FLAGS, *shlex.split(os.environ.get("LUCIDGRAD_CFLAGS", ""))]
    command += ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []

    def compiled(scratch: Path) -> None:
        environment = {**os.environ, "LC_ALL": "C"}
        done = caches.run([*command, f"-I{include}", source, "-lm", "-o", scratch], PATIENCE, environment)
        if done.returncode:
            raise OSError(f"the compiler says: {caches.complaint(done)}")

    caches.replace(library, compiled)


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
