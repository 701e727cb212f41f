"""Where the time goes: per operation forward and backward, with a table and a trace file for Chrome.

While a profile is active, the kernels in the primitives' tables are replaced by timed ones, and walks are observed; at
its end the tables hold what they held before. Without a profile nothing is looked at, so nothing is paid.
"""

import functools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from . import nvtx
from .core import device
from .core.modes import state
from .core.primitive import Primitive, registry, watchers

__all__ = ["Averages", "Event", "Stats", "profile", "record_function"]

F = TypeVar("F", bound=Callable[..., Any])


# -- what is measured ----------------------------------------------------------------------------
@dataclass(eq=False)
class Event:
    """One thing that took time. Times are in seconds, ``start`` counts from the begin of the profile.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> with lg.profiler.profile() as profile:
    ...     y = x * 2
    >>> [(event.name, event.kind) for event in profile.events]
    [('multiply', 'forward')]
    """

    name: str
    kind: str  # "forward", "backward" or "range"
    start: float
    total: float = 0.0
    inner: float = 0.0  # the part of it that operations inside took
    bytes: int = 0
    launches: int = 0
    inside: bool = False  # whether it ran during backward
    _walk: Any = field(default=None, repr=False)
    _launched: int = field(default=0, repr=False)
    _moments: tuple[Any, ...] = field(default=(), repr=False)  # of a device: when it began this, and ended
    _around: list["Event"] = field(default_factory=list, repr=False)  # whose inner time it is

    @property
    def self_time(self) -> float:
        """The time without that of the operations inside."""
        return self.total - self.inner


@dataclass
class Stats:
    """Sums over events: how many, seconds in all and without what ran inside, bytes of results, launches.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> with lg.profiler.profile() as profile:
    ...     y = x * 2
    >>> profile.key_averages()[0].forward.count
    1
    """

    count: int = 0
    total: float = 0.0
    self_time: float = 0.0
    bytes: int = 0
    launches: int = 0

    @property
    def mean(self) -> float:
        """Seconds per call."""
        return self.total / self.count if self.count else 0.0

    def add(self, event: Event) -> None:
        """Count an event."""
        self.count += 1
        self.total += event.total
        self.self_time += event.self_time
        self.bytes += event.bytes
        self.launches += event.launches


@dataclass
class Averages:
    """The figures of one operation, or of one range of `record_function`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> with lg.profiler.profile() as profile:
    ...     y = x * 2
    >>> [row.key for row in profile.key_averages()]
    ['multiply']
    """

    key: str
    is_range: bool = False
    forward: Stats = field(default_factory=Stats)
    backward: Stats = field(default_factory=Stats)

    @property
    def total(self) -> float:
        """Seconds, forward and backward."""
        return self.forward.total + self.backward.total

    @property
    def self_time(self) -> float:
        """Seconds, forward and backward, without what ran inside."""
        return self.forward.self_time + self.backward.self_time

    @property
    def count(self) -> int:
        """Calls, forward and backward."""
        return self.forward.count + self.backward.count

    @property
    def bytes(self) -> int:
        """Bytes of results, forward and backward."""
        return self.forward.bytes + self.backward.bytes

    @property
    def launches(self) -> int:
        """Kernels launched, forward and backward."""
        return self.forward.launches + self.backward.launches


_ORDERS: dict[str, Callable[[Averages], Any]] = {
    "name": lambda row: row.key,
    "count": lambda row: -row.count,
    "total": lambda row: -row.total,
    "self": lambda row: -row.self_time,
    "mean": lambda row: -(row.total / row.count if row.count else 0.0),
    "forward": lambda row: -row.forward.total,
    "backward": lambda row: -row.backward.total,
    "bytes": lambda row: -row.bytes,
    "launches": lambda row: -row.launches,
}


# -- the timed kernels ---------------------------------------------------------------------------
_active: list["profile"] = []
_installing = threading.RLock()


class _Timed:
    """A kernel that is timed."""

    __slots__ = ("kernel", "name")

    def __init__(self, name: str, kernel: Callable[..., Any]) -> None:
        self.name, self.kernel = name, kernel

    def __call__(self, *arrays: Any, **keywords: Any) -> Any:
        here = threading.get_ident()
        watching = [p for p in _active if p._thread == here]
        events = [p._begin(self.name, "forward", arrays) for p in watching]
        y = None
        try:
            y = self.kernel(*arrays, **keywords)
            return y
        finally:
            for p, event in zip(reversed(watching), reversed(events), strict=True):
                p._end(event, arrays, _new_bytes(y, arrays))


def _watch(primitive: Any, kernel: Callable[..., Any]) -> _Timed:
    return _Timed(primitive.name, kernel)


def _tables() -> Iterable[tuple[Primitive, dict[Any, Any]]]:
    for primitive in registry.loaded():
        for table in (primitive.kernels, *primitive.by_dtype.values()):
            yield primitive, table


def _install() -> None:
    for primitive, table in _tables():
        watch = functools.partial(_watch, primitive)
        table.update({key: kernels.watched(watch) for key, kernels in list(table.items())})
    watchers.append(_watch)


def _uninstall() -> None:
    watchers.remove(_watch)
    for _, table in _tables():
        table.update({key: kernels.unwatched for key, kernels in list(table.items()) if kernels.unwatched is not None})


def _new_bytes(y: Any, arrays: Sequence[Any]) -> int:
    """The bytes of results that are no views of the inputs."""
    total = 0
    for part in y if isinstance(y, (tuple, list)) else (y,):
        backend = device.by_array.get(type(part))
        if backend is None:
            continue
        shared = [a for a in arrays if type(a) is type(part) and backend.storage(a) is backend.storage(part)]
        total += 0 if shared else _bytes(part)
    return total


def _bytes(array: Any) -> int:
    if hasattr(array, "parts"):  # a batch, or a value with its tangent
        return sum(map(_bytes, array.parts))
    size = getattr(array, "nbytes", None)
    return int(array.size) * 8 if size is None else int(size)


class _Observer:
    """Times the steps of walks for one profile."""

    def __init__(self, owner: "profile") -> None:
        self._profile = owner

    def before(self, node: Any, g: Any) -> None:
        walk, owner = state.walking, self._profile
        if not any(event._walk is walk for event in owner._stack):
            walk.at_end.append(owner._abandon)
        event = owner._begin(node.recipe.primitive.name, "backward", _raw(g))
        event._walk = walk

    def after(self, node: Any, g: Any, cts: Any) -> None:
        owner = self._profile
        if owner._stack and owner._stack[-1].kind == "backward":
            given = _raw(cts)
            owner._end(owner._stack[-1], given, _new_bytes(given, _raw(g)))

    def failed(self, node: Any) -> None:
        """Nothing began that must end."""


def _raw(gs: Any) -> list[Any]:
    several = gs if isinstance(gs, (tuple, list)) else (gs,)
    return [g if type(g) in device.by_array else g.array for g in several if g is not None]


def _launches() -> int | None:
    """How many kernels the emulated CUDA device was given so far; None if it is not in use."""
    module = sys.modules.get("lucidgrad.backends.cudasim")
    if module is None or not module.is_installed() or not device.is_loaded("cuda"):
        return None
    counts = module.counters()
    return int(counts["launches"] + counts["library_calls"])


def _moment(arrays: Iterable[Any] | None) -> Any:
    """A moment on the stream that work on these arrays goes to (None: on the current one); None without a stream."""
    for array in arrays or ():
        find = device.places.get(type(array))
        place = find(array) if find is not None else None
        if place is not None:
            return place.moment()
    if arrays is None and device.is_loaded("cuda"):
        return device.backend_named("cuda").streams.here().moment()
    return None


# -- the profile ---------------------------------------------------------------------------------
class profile:
    """A context that measures every operation of this thread, and every step of its backward passes.

    The time of an operation is that of its kernel (the engine's own work for the call is not in it), the time of
    a step backward that of the rule. "Self" leaves out what other operations took inside: a batched operation runs its
    plain form inside, and backward with ``create_graph=True`` runs operations on tensors.

    Parameters
    ----------
    synchronize
        Measure what runs on a CUDA device by events in its streams: times are those of running, and known when the
        profile ends, which waits for them. Without it they are those of launching.
    emit_nvtx
        Make a range for NVIDIA's tools of every operation, step backward and range (`lucidgrad.cuda.nvtx`).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(1000, requires_grad=True)
    >>> with lg.profiler.profile() as p:
    ...     with lg.profiler.record_function("loss"):
    ...         y = (lg.exp(x) * x).sum()
    ...     y.backward()
    >>> sorted((row.key, row.forward.count, row.backward.count) for row in p.key_averages())
    [('exp', 1, 1), ('loss', 1, 0), ('multiply', 1, 1), ('sum', 1, 1)]
    >>> print(p)  # doctest: +SKIP
    >>> print(p.table(sort_by="total", row_limit=2))  # doctest: +SKIP
    """

    def __init__(self, synchronize: bool = False, emit_nvtx: bool = False) -> None:
        self.events: list[Event] = []
        self._synchronize, self._nvtx = synchronize, emit_nvtx
        self._stack: list[Event] = []
        self._origin = self._duration = 0.0
        self._thread = 0
        self._counts_launches = False
        self._observers: tuple[Any, ...] = ()

    def __enter__(self) -> "profile":
        if self._nvtx:
            device.backend_named("cuda")  # or it says what is missing
        with _installing:
            if self in _active:
                raise RuntimeError("profile: it is active already; make another one")
            if not _active:
                _install()
            _active.append(self)
        self._thread = threading.get_ident()
        self._counts_launches = _launches() is not None
        self._observers, state.observers = state.observers, (*state.observers, _Observer(self))
        self._origin = time.perf_counter() - self._duration  # a second block goes on where the first ended
        return self

    def __exit__(self, *exc: object) -> None:
        self._duration = time.perf_counter() - self._origin
        state.observers = self._observers
        self._drop(0)
        self._settle()
        with _installing:
            _active.remove(self)
            if not _active:
                _uninstall()

    # -- as text
    def __repr__(self) -> str:
        return f"<profile with {len(self.events)} events in {_seconds(self._duration)}>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        from .notebook import preformatted

        return preformatted(repr(self)[1:-1], self.table())

    # -- events
    def _begin(self, name: str, kind: str, arrays: Iterable[Any] | None = None) -> Event:
        event = Event(name, kind, 0.0)
        if self._nvtx:
            nvtx.range_push(name)
        if self._synchronize:
            event._moments = (_moment(arrays),)
        event.inside = any(outer.kind == "backward" for outer in self._stack)
        if self._counts_launches:
            event._launched = _launches() or 0
        self._stack.append(event)
        event.start = time.perf_counter() - self._origin
        return event

    def _end(self, event: Event, arrays: Iterable[Any] | None = None, bytes: int = 0) -> None:
        if self._synchronize:
            event._moments += (_moment(arrays),)
        event.total = time.perf_counter() - self._origin - event.start
        event.bytes, event._walk = bytes, None
        if self._counts_launches:
            event.launches = (_launches() or 0) - event._launched
        if event in self._stack:
            self._drop(self._stack.index(event))
            self.events.append(event)
            for around in reversed(self._stack) if event.kind != "range" else ():
                around.inner += event.total
                event._around.append(around)
                if around.kind != "range":
                    break  # the operations around that one have its whole time as inner time

    def _abandon(self, walk: Any) -> None:
        """A walk has ended: a step that raised is not counted."""
        for at, event in enumerate(self._stack):
            if event._walk is walk:
                self._drop(at)
                return

    def _drop(self, at: int) -> None:
        """End the events that began at a place of the stack, and after."""
        if self._nvtx:
            for _ in self._stack[at:]:
                nvtx.range_pop()
        del self._stack[at:]

    def _settle(self) -> None:
        """Wait for the device, and put its times in the place of the host's."""
        for event in self.events:
            moments, event._moments = event._moments, ()
            if len(moments) == 2 and None not in moments:
                total = moments[0].seconds_to(moments[1])
                for around in event._around:
                    around.inner += total - event.total
                event.total = total
            event._around = []

    # -- results
    def key_averages(self) -> list[Averages]:
        """The figures per operation and range, in order of first use."""
        rows: dict[tuple[str, bool], Averages] = {}
        for event in sorted(self.events, key=lambda event: event.start):
            is_range = event.kind == "range"
            row = rows.setdefault((event.name, is_range), Averages(event.name, is_range))
            (row.backward if event.kind == "backward" else row.forward).add(event)
        return list(rows.values())

    def table(self, sort_by: str = "self", row_limit: int | None = 100) -> str:
        """The figures as text.

        Parameters
        ----------
        sort_by
            ``"self"``, ``"total"``, ``"mean"``, ``"forward"``, ``"backward"``, ``"count"``, ``"bytes"``,
            ``"launches"`` or ``"name"``; the largest come first.
        row_limit
            How many rows to show at most; None for all.
        """
        if sort_by not in _ORDERS:
            raise ValueError(f"table: sort_by is {sort_by!r}, expected one of {', '.join(map(repr, _ORDERS))}")
        rows = sorted(self.key_averages(), key=_ORDERS[sort_by])
        shown = rows if row_limit is None else rows[: max(row_limit, 0)]
        head = ["", "forward", "", "", "", "", "backward", "", "", "", ""]
        names = ["operation", *["calls", "total", "self", "mean", "bytes"] * 2]
        lines = [head, names, *([_title(row), *_cells(row.forward), *_cells(row.backward)] for row in shown)]
        if any(row.launches for row in rows):
            for line, more in zip(lines, ["", "launches", *(str(row.launches) for row in shown)], strict=True):
                line.append(more)
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(
                cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        text.insert(2, "-" * len(text[0]))
        if len(shown) < len(rows):
            text.append(f"... and {len(rows) - len(shown)} more")
        own = [row for row in rows if not row.is_range]
        forward, backward = sum(r.forward.self_time for r in own), sum(r.backward.self_time for r in own)
        text.append(
            f"in all: forward {_seconds(forward)}, backward {_seconds(backward)}, {_seconds(self._duration)} passed"
        )
        return "\n".join(line.rstrip() for line in text)

    def export_chrome_trace(self, path: "str | os.PathLike[str]") -> None:
        """Write a file that ``chrome://tracing`` and Perfetto open, with a track each for forward, backward and ranges.

        Operations that run inside backward are on its track.
        """
        tracks = {"range": 1, "forward": 2, "backward": 3}
        entries: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "pid": os.getpid(), "tid": 0, "args": {"name": "lucidgrad"}}
        ]
        for name, tid in tracks.items():
            label = "ranges" if name == "range" else name
            entries.append({"ph": "M", "name": "thread_name", "pid": os.getpid(), "tid": tid, "args": {"name": label}})
        for event in sorted(self.events, key=lambda event: event.start):
            track = "backward" if event.inside and event.kind == "forward" else event.kind
            args: dict[str, Any] = {"bytes": event.bytes, "self (us)": event.self_time * 1e6}
            if self._counts_launches:
                args["launches"] = event.launches
            entries.append(
                {
                    "ph": "X", "name": event.name, "cat": event.kind, "pid": os.getpid(), "tid": tracks[track],
                    "ts": event.start * 1e6, "dur": event.total * 1e6, "args": args,
                }
            )  # fmt: skip
        Path(path).write_text(json.dumps({"traceEvents": entries, "displayTimeUnit": "ms"}), encoding="utf-8")


def _title(row: Averages) -> str:
    return f"[{row.key}]" if row.is_range else row.key


def _cells(stats: Stats) -> list[str]:
    if not stats.count:
        return ["", "", "", "", ""]
    times = [stats.total, stats.self_time, stats.mean]
    return [str(stats.count), *map(_seconds, times), _amount(stats.bytes)]


def _seconds(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if value >= scale:
            return f"{value / scale:.3f} {unit}"
    return f"{value * 1e6:.1f} us"


def _amount(value: int) -> str:
    size = float(value)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


class record_function:
    """A named range in the profile: a context, or a decorator. Without a profile it does nothing.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> @lg.profiler.record_function("step")
    ... def step(x):
    ...     return lg.tanh(x)
    >>> with lg.profiler.profile() as p:
    ...     y = step(lg.ones(3))
    >>> [row.key for row in p.key_averages()]
    ['step', 'tanh']
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[list[tuple[profile, Event]]] = []

    def __enter__(self) -> "record_function":
        here = threading.get_ident()
        self._open.append([(p, p._begin(self.name, "range")) for p in _active if p._thread == here])
        return self

    def __exit__(self, *exc: object) -> None:
        for p, event in reversed(self._open.pop()):
            if event in p._stack:
                p._end(event)

    def __call__(self, function: F) -> F:
        """The function, as a range."""

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]
