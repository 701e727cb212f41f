"""Controls and counters of the emulated device."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from .loading import load


def set_lazy(on: bool = True) -> bool:
    """Switch lazy mode: work runs only when something waits for it. Returns what it was."""
    return bool(load().cudasim_set_lazy(int(on)))


def set_poison(on: bool = True) -> bool:
    """Switch poison: fresh device memory holds 0xA5, freed memory 0x5A. Returns what it was."""
    return bool(load().cudasim_set_poison(int(on)))


def set_guard(on: bool = True) -> bool:
    """Switch the guard: the host can't touch device memory outside device work. Returns what it was."""
    return bool(load().cudasim_set_guard(int(on)))


def set_flush(on: bool = True) -> bool:
    """Switch flush-to-zero of float32 in kernels compiled with ``-ftz=true``. Returns what it was."""
    return bool(load().cudasim_set_flush(int(on)))


SETTERS = {
    "CUDASIM_LAZY": set_lazy, "CUDASIM_POISON": set_poison, "CUDASIM_GUARD": set_guard, "CUDASIM_FTZ": set_flush
}  # fmt: skip


@contextmanager
def lazy(on: bool = True) -> Iterator[None]:
    """Lazy mode for a block of code; at its end, everything that is left runs."""
    old = set_lazy(on)
    try:
        yield
    finally:
        synchronise_all()
        set_lazy(old)


@contextmanager
def poison(on: bool = True) -> Iterator[None]:
    """Poisoned memory for a block of code."""
    old = set_poison(on)
    try:
        yield
    finally:
        set_poison(old)


@contextmanager
def guard(on: bool = True) -> Iterator[None]:
    """Guarded memory for a block of code."""
    old = set_guard(on)
    try:
        yield
    finally:
        set_guard(old)


@contextmanager
def flush(on: bool = True) -> Iterator[None]:
    """Flush-to-zero, or none, for a block of code."""
    old = set_flush(on)
    try:
        yield
    finally:
        synchronise_all()
        set_flush(old)


#: Races in kernels of CuPy's, by the beginnings of their names, and why they are left alone.
KNOWN_RACES = {
    "cupy_put": "positions that are named twice: which value stays is not said",
    "cupy_scatter_update": "positions that are named twice: which value stays is not said",
    "cupy_scatter_add": "float16: a plain read before compare-and-swap, which tries again if it was wrong",
    "cupy_scatter_max": "a plain read before compare-and-swap, which tries again if it was wrong",
    "cupy_scatter_min": "a plain read before compare-and-swap, which tries again if it was wrong",
    "cupy_nonzero_kernel": "lanes of one warp, which CuPy takes to run in lock-step",
}


def races(known: bool = False) -> list[str]:
    """Return the races that were found since the start or the last `reset`, each kind of each kernel once.

    Kernels are watched if the device was installed with ``races=True``: to watch, they are compiled in another way.
    Those of CuPy's kernels in `KNOWN_RACES` are left out unless ``known`` is set.
    """
    found = _text("cudasim_races").splitlines()
    return found if known else [text for text in found if not text.startswith(_KNOWN)]


_KNOWN = tuple(f"kernel {name}" for name in KNOWN_RACES)


def counters() -> dict[str, int]:
    """Return what happened since the start or the last `reset`: bytes and copies each way, launches and so on."""
    library = load()
    library.cudasim_counter_names.restype = ctypes.c_char_p
    names = library.cudasim_counter_names().decode().split(",")
    values = (ctypes.c_uint64 * len(names))()
    library.cudasim_counters(values, len(names))
    return dict(zip(names, values))


def launches() -> dict[str, int]:
    """Return the numbers of launches by kernel, and of calls by library function."""
    found = {}
    for line in _text("cudasim_launches").splitlines():
        count, _, name = line.partition(" ")
        found[name] = int(count)
    return found


def reset() -> None:
    """Set all counters to zero."""
    load().cudasim_reset()


def last_fault() -> str:
    """Return what the device said about its last failure: kernel, block, thread, address; empty if there was none."""
    return _text("cudasim_last_fault")


def synchronise_all() -> None:
    """Let all streams of all devices finish. It is not counted as a synchronisation."""
    load().cudasim_synchronise_all()


def _text(function: str) -> str:
    """Call a function that writes text into a buffer and returns the size that it needs."""
    call = getattr(load(), function)
    call.restype, call.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    size = 4096
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed = call(buffer, size)
        if needed <= size:
            return buffer.value.decode(errors="replace")
        size = needed + 1


@dataclass
class Counts:
    """What happened in a ``with counting()`` block; filled at its end."""

    launches: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    def __getattr__(self, name: str) -> int:
        # Only called for what is not a field: a counter, by its name.
        counters = self.__dict__.get("counters", {})
        if name not in counters:
            raise AttributeError(f"there is no counter {name!r}; there are {', '.join(counters) or 'none yet'}")
        return counters[name]


@contextmanager
def counting() -> Iterator[Counts]:
    """Count what happens in a block of code, without touching the counters themselves.

    >>> with counting() as counts:  # doctest: +SKIP
    ...     y = 2 * x
    >>> counts.launches, counts.synchronisations  # doctest: +SKIP
    ({'cupy_multiply__int_float32_float32': 1}, 0)
    """
    counts, before, started = Counts(), launches(), counters()
    try:
        yield counts
    finally:
        counts.counters = {name: value - started[name] for name, value in counters().items()}
        counts.launches = {
            name: value - before.get(name, 0) for name, value in launches().items() if value > before.get(name, 0)
        }
