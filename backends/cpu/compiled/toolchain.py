"""The compiler, its flags, and the cache of what it made: what `building` needs when it builds or loads."""

import contextlib
import ctypes
import functools
import itertools
import json
import os
import platform
import shlex
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lucidgrad.backends import caches
from lucidgrad.backends.caches import digest
from lucidgrad.backends.progress import waiting
from lucidgrad.levels import tally

__all__ = ["INTERLEAVED", "STREAMED", "Failed", "Toolchain", "find"]

PACKAGE = Path(__file__).resolve().parent


def _last_cache(folder: Path) -> int:
    """Bytes of the largest cache that a processor has or shares, 0 if nobody says."""
    found = [0]
    for path in folder.glob("index*/size"):
        with contextlib.suppress(OSError, ValueError):
            size = path.read_text().strip()
            found.append(int(size.rstrip("KM")) << (20 if size.endswith("M") else 10))
    return max(found)


#: Bytes of a result from which it is stored past the caches: one that fits into the last of them, with as much that it
#: was computed from, is soon read there.
STREAMED = min(max(_last_cache(Path("/sys/devices/system/cpu/cpu0/cache")) // 2, 1 << 22), 1 << 25)
#: Without -fno-trapping-math GCC does not vectorise conditions; nobody looks at the processor's exception flags.
FLAGS = "-std=gnu11 -O3 -fPIC -fvisibility=hidden -fno-math-errno -fno-trapping-math -ffp-contract=off".split()
FLAGS += [f"-DSTREAMED={STREAMED}"]
#: For loops that compute some vectors at a time: side by side, since one alone waits for itself.
INTERLEAVED = ("-fschedule-insns", "-fsched-pressure")
#: Flags that a compiler may lack.
WISHES = (["-march=native"], ["-fopenmp-simd"])
UNUSED_FOR = 30 * 86400  # seconds after which a library is removed
PATIENCE = 120  # seconds for one call of the compiler
PROBING = 20  # seconds for the first one, which is short; a compiler that hangs costs no more

_PROBE = """
#include "vector_math.h"
__attribute__((visibility("default"))) int lg_probe(float *x, long n) {
    #pragma omp simd
    for (long i = 0; i < n; i++) x[i] = expf(x[i]);
    return 1;
}
"""


class Failed(OSError):
    """Something that libraries need is missing, or the compiler gave up."""


class _Unusable(Failed):
    """The cache is not this user's alone, or nothing can be loaded from there."""


class Toolchain:
    """A compiler that works here, the flags that it has, and where its libraries go."""

    def __init__(self, program: str, folder: Path, why_lost: str = "") -> None:
        self.program, self.folder, self.why_lost = program, folder, why_lost
        state = Path(program).resolve().stat()
        self.identity = f"{program} {state.st_size} {state.st_mtime_ns} {platform.libc_ver()} {_processor()}"
        self.patience: float = PROBING
        self.extra = shlex.split(os.environ.get("LUCIDGRAD_CFLAGS", ""))
        note = folder / f"flags-{digest(self.identity, _PROBE, *FLAGS, *self.extra, *headers())[:24]}.json"
        self.flags = self._noted(note) or self._find_flags(note)
        self.patience = PATIENCE
        self.identity += f" {self.flags}"

    def _noted(self, note: Path) -> list[str] | None:
        """The flags that were found out before, if the note is whole and names some that could be."""
        if not caches.sealed(note):
            return None
        with contextlib.suppress(OSError, ValueError):
            found = json.loads(note.read_bytes()[:-32])
            chosen = itertools.product(*(([], wish) for wish in WISHES))
            if found in [[*FLAGS, *itertools.chain(*some), *self.extra] for some in chosen]:
                os.utime(note)
                return found
        return None

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
        absent = not caches.sealed(path)  # or broken
        tally.add(built=int(absent), found=int(not absent))
        if absent:
            caches.replace(path, lambda scratch: self.compile(texts, scratch, flags))
            _remove_unused(self.folder)
        with contextlib.suppress(OSError):
            os.utime(path)  # used: not to be removed
        return ctypes.CDLL(str(path))

    def _find_flags(self, note: Path) -> list[str]:
        """All wishes together, or else those that work one by one; tried where libraries will lie."""
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            found = Path(scratch) / "probe.so"

            def works(flags: list[str]) -> bool:
                self.flags = flags + self.extra
                with contextlib.suppress(Failed):
                    self.compile({"probe.c": _PROBE.encode()}, found, ())
                    return self._loads(found)
                return False

            flags = FLAGS + [flag for wish in WISHES for flag in wish]
            if not works(flags):
                flags = FLAGS
                self.flags = flags + self.extra
                self.compile({"probe.c": _PROBE.encode()}, found, ())  # or it says why not
                if not self._loads(found):
                    raise _Unusable(f"{self.folder}: libraries can't be loaded from there")
                for wish in WISHES:
                    if works(flags + wish):
                        flags = flags + wish
        flags = flags + self.extra
        with contextlib.suppress(OSError):
            caches.replace(note, lambda scratch: scratch.write_text(json.dumps(flags)))
        return flags

    @staticmethod
    def _loads(library: Path) -> bool:
        try:
            return bool(ctypes.CDLL(str(library)))
        except OSError:
            return False

    def compile(self, texts: dict[str, bytes], library: Path, flags: Sequence[str]) -> None:
        """Make a library of C files, several at a time."""
        with (
            waiting("compiling kernels for the CPU", self.why_lost),
            tempfile.TemporaryDirectory(dir=library.parent) as scratch,
        ):
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
            done = caches.run([self.program, *arguments], self.patience, {**os.environ, "LC_ALL": "C"})
        except caches.Hung:
            self.patience = 0  # once is enough
            raise
        except OSError as error:
            raise Failed(f"{self.program}: {error}") from error
        if done.returncode:
            raise Failed(f"{self.program}: {caches.complaint(done)}")


def find() -> Toolchain:
    """The compiler that the environment names, else the system's; raises OSError."""
    program = caches.compiler()
    try:
        return Toolchain(program, _folder())
    except _Unusable as error:
        lost = f"they are lost when this process ends ({error}): name a folder of your own in XDG_CACHE_HOME"
        return Toolchain(program, Path(_private_folder().name), lost)


def _folder() -> Path:
    """The cache, if it is this user's alone."""
    folder = caches.home("cpu")
    try:
        caches.make_private(folder)
    except OSError as error:
        raise _Unusable(str(error)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _Unusable(f"{folder} can't be written")
    return folder


@functools.cache
def _private_folder() -> tempfile.TemporaryDirectory[str]:
    import tempfile

    return tempfile.TemporaryDirectory(prefix="lucidgrad-")  # goes when the process ends


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
