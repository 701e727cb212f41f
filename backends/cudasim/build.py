"""Building the emulated device: C++ sources to ``libcudasim.so`` and the stand-ins of CUDA's libraries.

Everything lands in a cache directory (``CUDASIM_CACHE``, else below the user's cache directory): object files by the
hash of what they are made of, and a home per state of the sources, the compiler and CuPy. A home is complete or absent.
"""

import fcntl
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import caches, stubs, wheel
from .caches import digest
from .elf import Elf
from .errors import EmulatorError
from .progress import waiting

PACKAGE = Path(__file__).resolve().parent
FLAGS = "-std=c++17 -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing -Wall -Wextra".split()
UNUSED_FOR = 30 * 86400  # seconds after which what a build left is removed
PATIENCE = 300  # seconds for one call of the compiler

#: Environments share what was built; the one that built it may be gone, so its own Python is the last resort.
NVCC = """\
#!/bin/sh
exec "${{CUDASIM_PYTHON:-{python}}}" -I -S "$(dirname "$0")/nvcc.py" "$@"
"""

Texts = dict[Path, bytes]  # of the sources and headers, by their paths in the package


@dataclass(frozen=True)
class Home:
    """A finished build."""

    root: Path  # what CUDA_PATH is set to
    sonames: list[str]
    patched: dict[str, int]

    @property
    def library(self) -> Path:
        """The emulated device."""
        return self.root / "lib64" / "libcudasim.so"


def cache() -> Path:
    """Return the cache directory, which exists then."""
    chosen = os.environ.get("CUDASIM_CACHE")
    if chosen:
        root = Path(chosen).expanduser().absolute()
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lucidgrad" / "cudasim"
    try:
        caches.make_private(root)
    except OSError as error:
        reason = error.strerror or error
        raise EmulatorError(
            f"the cache directory {root} can't be made or used ({reason}); name another one in CUDASIM_CACHE"
        ) from error
    return root


def compiler() -> Path:
    """Return the C++ compiler: ``CUDASIM_CXX``, else g++."""
    chosen = os.environ.get("CUDASIM_CXX")
    names = [chosen] if chosen else ["g++", *(f"g++-{version}" for version in range(16, 10, -1))]
    for name in names:
        if found := shutil.which(name):
            return Path(found).absolute()
    looked = f"CUDASIM_CXX={chosen} doesn't name a program" if chosen else "no g++ was found"
    raise EmulatorError(
        f"{looked}: the emulated CUDA device is built, and compiles kernels, with the system's C++ compiler. Install "
        f"g++ 11 or newer (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; conda: conda install gxx)"
    )


def extra_flags() -> list[str]:
    """Flags that ``CUDASIM_CXXFLAGS`` adds, such as those of sanitizers."""
    return shlex.split(os.environ.get("CUDASIM_CXXFLAGS", ""))


def flags() -> list[str]:
    """All flags that sources are compiled with."""
    return [*FLAGS, *extra_flags()]


def check_machine() -> None:
    """Raise unless this is Linux on x86-64."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise EmulatorError(
            f"this machine is {sys.platform} on {platform.machine()}, but the emulated CUDA device needs Linux on "
            f"x86-64: it redirects machine code; run it in a container or a CI job of that kind"
        )


def build() -> Home:
    """Build what is not built yet, and return the home that fits these sources, this compiler and this CuPy."""
    check_machine()
    installed, cxx, root = wheel.find(), compiler(), cache()
    state = cxx.resolve().stat()
    toolchain = f"{cxx} {state.st_size} {state.st_mtime_ns} {flags()}"
    texts = {
        path.relative_to(PACKAGE): path.read_bytes()
        for folder in ("src", "include")
        for path in _files(PACKAGE / folder)
    }
    key = digest(toolchain, installed.identity, _python_side(), *map(str, texts), *texts.values())
    home = root / f"home-{key[:16]}"
    ready = home / "ready.json"
    facts = _facts(home)
    if facts is None:
        hint = f"once only: it is kept in {root}"
        with waiting("building the emulated CUDA device", hint, finish=True), locked(root):
            if _facts(home) is None:
                _make(home, root / "objects", toolchain, cxx, installed, texts)
                _prune(root, keep=home)
        facts = json.loads(ready.read_bytes()[:-32])
    with suppress(OSError):  # a cache that can't be written to may be complete
        os.utime(ready)  # used: not to be pruned
    return Home(root=home / "cuda", sonames=facts["sonames"], patched=facts["patched"])


def _facts(home: Path) -> dict[str, Any] | None:
    """What is noted of a home, if its libraries are whole: loading one that is cut may end the process."""
    if not caches.sealed(home / "ready.json"):
        return None
    facts: dict[str, Any] = json.loads((home / "ready.json").read_bytes()[:-32])
    return facts if _hashes(home) == facts["hashes"] else None


def _hashes(home: Path) -> dict[str, str]:
    return {path.name: digest(path.read_bytes()) for path in _files(home / "cuda" / "lib64")}


def _python_side() -> bytes:
    return b"".join((PACKAGE / name).read_bytes() for name in ("build.py", "nvcc.py", "stubs.py", "wheel.py"))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Only one process at a time builds; the lock goes with the process."""
    with (root / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(home: Path, store: Path, toolchain: str, cxx: Path, installed: wheel.Wheel, texts: Texts) -> None:
    store.mkdir(exist_ok=True)
    scratch = home.with_name(f"{home.name}.{os.getpid()}")
    library = scratch / "cuda" / "lib64"
    library.mkdir(parents=True)
    try:
        for path, text in texts.items():  # what was hashed is what is compiled, whoever edits meanwhile
            copy = scratch / "cuda" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(text)
        nvcc = scratch / "cuda" / "bin" / "nvcc"
        nvcc.parent.mkdir()
        nvcc.write_text(NVCC.format(python=sys.executable))
        shutil.copyfile(PACKAGE / "nvcc.py", nvcc.with_name("nvcc.py"))
        nvcc.chmod(0o755)
        runtime = scratch / "cuda" / "include" / "cuda_runtime.h"
        if not runtime.exists():  # by this file a folder is known as CUDA's
            runtime.write_text("#pragma once\n")

        link(cxx, compile_all(cxx, toolchain, store, scratch / "cuda", texts), library / "libcudasim.so")
        found = wheel.survey(installed)
        stand_in(cxx, found, library)
        shutil.rmtree(scratch / "cuda" / "src")
        facts = {"sonames": found.sonames, "patched": found.patched, "hashes": _hashes(scratch)}
        (scratch / "ready.json").write_text(json.dumps(facts))
        for path in _files(library):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        caches.seal(scratch / "ready.json")
        shutil.rmtree(home, ignore_errors=True)
        scratch.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a program, with messages in English."""
    try:
        return caches.run(command, PATIENCE, {**os.environ, "LC_ALL": "C"})
    except OSError as error:
        raise EmulatorError(f"the emulated CUDA device can't be built: {error}") from error


def workers() -> ThreadPoolExecutor:
    """Return threads that wait for compilers, as many as there are processors."""
    return ThreadPoolExecutor(min(8, len(os.sched_getaffinity(0))))


def _included(path: Path, texts: Texts) -> list[Path]:
    """Return a source and all of our headers that it includes."""
    found = [path]
    for part in found:  # grows on the way
        for name in re.findall(rb'^\s*#\s*include\s+"([^"]+)"', texts[part], re.MULTILINE):
            header = Path(os.path.normpath(part.parent / name.decode()))
            if header in texts and header not in found:
                found.append(header)
    return found


def compile_all(cxx: Path, toolchain: str, store: Path, root: Path, texts: Texts) -> list[Path]:
    """Compile all sources, those that changed or whose headers did, and return the objects."""
    jobs = {}
    for path in texts:
        if path.suffix == ".cpp":
            parts = (texts[part] for part in _included(path, texts))
            jobs[path] = store / f"{path.stem}-{digest(toolchain, *parts)[:16]}.o"

    def compile_one(job: tuple[Path, Path]) -> str:
        path, target = job
        if caches.sealed(target):
            os.utime(target)
            return ""
        scratch = target.with_suffix(f".{os.getpid()}.o")
        result = run([cxx, *flags(), "-c", root / path, "-o", scratch])
        if result.returncode:
            return f"{path.name}:\n{result.stderr.strip().replace(str(root), str(PACKAGE))}"
        caches.seal(scratch)
        scratch.rename(target)
        return ""

    with workers() as pool:
        complaints = [text for text in pool.map(compile_one, jobs.items()) if text]
    if complaints:
        raise EmulatorError(
            f"{len(complaints)} of {len(jobs)} sources of the emulated CUDA device don't compile with {cxx}:\n"
            + "\n".join(complaints)
        )
    return list(jobs.values())


def link(cxx: Path, objects: list[Path], target: Path) -> None:
    """Link the emulated device."""
    options = [
        "-shared",
        *extra_flags(),
        *([] if extra_flags() else ["-Wl,-z,defs"]),
        "-Wl,-soname,libcudasim.so",
        "-Wl,-Bsymbolic",
    ]
    result = run([cxx, *options, "-o", target, *objects, "-ldl", "-lpthread", "-lm"])
    if result.returncode:
        raise EmulatorError(f"the emulated CUDA device can't be linked:\n{result.stderr.strip()}")


def stand_in(cxx: Path, found: wheel.Survey, folder: Path) -> None:
    """Make the libraries that CuPy asks for by name: they lead to libcudasim.so, which has the functions."""
    with Elf(folder / "libcudasim.so") as elf:
        emulated = elf.exported()

    def make(soname: str) -> None:
        wanted = sorted(set(found.undefined.get(soname, ())) - emulated)
        source, versions = folder / f"{soname}.c", folder / f"{soname}.map"
        source.write_text(stubs.source(wanted))
        versions.write_text(f"{soname} {{ global: *; }};\n")  # the node that `name@libcublas.so.12` refers to
        flags = ["-xc", "-O1", "-w", "-fPIC", "-shared"]
        options = [f"-soname,{soname}", f"--version-script,{versions}", "--no-as-needed", "-rpath,$ORIGIN"]
        linker = [f"-Wl,{option}" for option in options]
        result = run([cxx, *flags, source, "-o", folder / soname, *linker, "-xnone", folder / "libcudasim.so"])
        if result.returncode:
            raise EmulatorError(f"the stand-in for {soname} can't be built:\n{result.stderr.strip()}")
        source.unlink()
        versions.unlink()

    with workers() as pool:
        list(pool.map(make, found.sonames))


def _prune(root: Path, keep: Path) -> None:
    oldest = time.time() - UNUSED_FOR
    for ready in root.glob("home-*/ready.json"):
        if ready.parent != keep and ready.stat().st_mtime < oldest:
            shutil.rmtree(ready.parent, ignore_errors=True)
    for scratch in root.glob("home-*.*"):  # of a build that was killed
        if scratch.stat().st_mtime < oldest:
            shutil.rmtree(scratch, ignore_errors=True)
    for path in (root / "objects").iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
