"""The compiler, its flags, and the cache of what it made: what `building` needs when it builds or loads."""

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["Failed", "Toolchain", "find"]

PACKAGE = Path(__file__).resolve().parent
#: Without -fno-trapping-math GCC does not vectorise conditions; nobody looks at the processor's exception flags.
FLAGS = "-std=gnu11 -O3 -fPIC -fvisibility=hidden -fno-math-errno -fno-trapping-math -ffp-contract=off".split()
#: Flags that a compiler may lack.
WISHES = (["-march=native"], ["-fopenmp"])
UNUSED_FOR = 30 * 86400  # seconds after which a library is removed
PATIENCE = 300  # seconds for one call of the compiler

_PROBE = """
#include "vector_math.h"
__attribute__((visibility("default"))) int lg_probe(float *x, long n) {
    #pragma omp parallel for simd
    for (long i = 0; i < n; i++) x[i] = expf(x[i]);
    return 1;
}
"""


class Failed(OSError):
    """Something that libraries need is missing, or the compiler gave up."""


class Toolchain:
    """A compiler that works here, the flags that it has, and where its libraries go."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder
        state = Path(program).resolve().stat()
        self.identity = f"{program} {state.st_size} {state.st_mtime_ns} {platform.libc_ver()} {_processor()}"
        note = folder / f"flags-{digest(self.identity, _PROBE, *FLAGS, *headers())[:24]}.json"
        try:
            self.flags: list[str] = json.loads(note.read_text())
            os.utime(note)
        except (OSError, ValueError):
            self.flags = self._find_flags()
            with contextlib.suppress(OSError):
                _replace(note, lambda scratch: scratch.write_text(json.dumps(self.flags)))
        self.identity += f" {self.flags}"

    def texts(self, name: str, source: str | dict[str, str] | Sequence[str]) -> dict[str, bytes]:
        """What is to be compiled, by file name."""
        if isinstance(source, str):
            source = {f"{name}.c": source}
        if isinstance(source, dict):
            return {file: text.encode() for file, text in source.items()}
        return {file: (PACKAGE / file).read_bytes() for file in source}

    def key(self, texts: dict[str, bytes], flags: Sequence[str]) -> str:
        """What a library depends on, as a hash."""
        return digest(self.identity, *flags, *(part for pair in texts.items() for part in pair), *headers())

    def library(self, stem: str, texts: dict[str, bytes], flags: Sequence[str]) -> ctypes.CDLL:
        """The library of a name: loaded, or else built."""
        path = self.folder / f"{stem}.so"
        with contextlib.suppress(OSError):  # absent, or broken
            found = _dlopen(path)
            with contextlib.suppress(OSError):
                os.utime(path)  # used: not to be removed
            return found
        _replace(path, lambda scratch: self.compile(texts, scratch, flags))
        _remove_unused(self.folder)
        return _dlopen(path)

    def _find_flags(self) -> list[str]:
        """All wishes together, or else those that work one by one."""
        with tempfile.TemporaryDirectory() as scratch:
            found = Path(scratch) / "probe.so"

            def works(flags: list[str]) -> bool:
                self.flags = flags
                with contextlib.suppress(Failed, OSError):
                    self.compile({"probe.c": _PROBE.encode()}, found, ())
                    ctypes.CDLL(str(found))
                    return True
                return False

            every = FLAGS + [flag for wish in WISHES for flag in wish]
            if works(every):
                return every
            flags = self.flags = FLAGS
            self.compile({"probe.c": _PROBE.encode()}, found, ())  # or it says why not
            for wish in WISHES:
                if works(flags + wish):
                    flags = flags + wish
            return flags

    def compile(self, texts: dict[str, bytes], library: Path, flags: Sequence[str]) -> None:
        """Make a library of C files, several at a time."""
        with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
            folder = Path(scratch)
            for file, text in texts.items():
                (folder / file).write_bytes(text)
            for header, text in header_texts().items():
                (folder / header).write_bytes(text)
            common = [*self.flags, *flags]
            if len(texts) == 1:
                self._call([*common, "-shared", *(str(folder / file) for file in texts), "-o", str(library), "-lm"])
                return
            objects = [str(folder / f"{file}.o") for file in texts]
            calls = [[*common, "-c", str(folder / file), "-o", made] for file, made in zip(texts, objects, strict=True)]
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                list(pool.map(self._call, calls))
            self._call([*common, "-shared", *objects, "-o", str(library), "-lm"])

    def _call(self, arguments: list[str]) -> None:
        try:
            done = subprocess.run(
                [self.program, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE,
                env={**os.environ, "LC_ALL": "C"},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{self.program}: {error}") from error
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise Failed(f"{self.program}: {lines[0] if lines else f'exit status {done.returncode}'}")


def find() -> Toolchain:
    """The compiler that the environment names, else the system's; raises `Failed`."""
    return Toolchain(_compiler(), _folder())


def _compiler() -> str:
    chosen = os.environ.get("LUCIDGRAD_CC")
    for name in [chosen] if chosen else ["cc", "gcc", "clang"]:
        if found := shutil.which(name):
            return str(Path(found).absolute())
    raise Failed(f"LUCIDGRAD_CC={chosen} names no program" if chosen else "no C compiler: cc, gcc or clang")


def _folder() -> Path:
    """The cache; if it can't be written, a folder for this process alone."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "lucidgrad" / "cpu"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError:
        pass
    return Path(_private_folder().name)


@functools.cache
def _private_folder() -> tempfile.TemporaryDirectory[str]:
    import tempfile

    return tempfile.TemporaryDirectory(prefix="lucidgrad-")  # goes when the process ends


def _dlopen(path: Path) -> ctypes.CDLL:
    """Load a library; OpenMP, if it comes with it, lets waiting threads sleep unless the environment says more.

    Threads that wait by spinning take the processors from those they wait for, wherever other programs run, too.
    """
    if "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ:
        return ctypes.CDLL(str(path))
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        return ctypes.CDLL(str(path))
    finally:
        del os.environ["OMP_WAIT_POLICY"]


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file elsewhere, then let it appear."""
    scratch = path.with_name(f".{path.stem}.{os.getpid()}.{threading.get_ident()}{path.suffix}")
    try:
        write(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _remove_unused(folder: Path) -> None:
    oldest = time.time() - UNUSED_FOR
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.is_file() and path.stat().st_mtime < oldest:
                path.unlink()


@functools.cache
def header_texts() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(PACKAGE.glob("*.h"))}


def headers() -> list[str | bytes]:
    return [part for pair in header_texts().items() for part in pair]


@functools.cache
def _processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    keep = ("model name", "flags", "Features", "cpu family", "model\t", "CPU part", "CPU implementer")
    return platform.machine() + " ".join(line for line in lines if line.startswith(keep))


def digest(*parts: str | bytes) -> str:
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        state.update(len(raw).to_bytes(8, "little") + raw)
    return state.hexdigest()
