"""Streams as places: where work goes now, who waits for whom, and memory that several streams use.

CuPy's memory pool gives memory back to the stream that it was allocated on as soon as the last array of it is
gone, though another stream may still be at work on it. `hold` keeps such memory until that is done.
"""

import functools
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any

import cupy
from cupy.cuda import Device, Event, Stream, get_current_stream, get_device_id, runtime

from lucidgrad.levels.layer import Layer

_HERE = nullcontext()
several = False  # whether there are several devices; set by the back end


class Place:
    """One stream of one device; there is one object for each, so that places are compared by identity.

    Nodes that ran there, and have no hooks or notes, share it as their extras: it has what those have, empty.

    All threads' default streams of their own have one number, so a place knows its thread: in another one its number
    means the other's stream, and what the first was sent is waited for by way of the default stream of all.
    """

    __slots__ = ("__weakref__", "device", "stream", "thread")

    hooked, retain, meta, metadata, unpack = False, None, None, None, None
    tensor: Any = MappingProxyType({})
    pre = post = accumulated = tensor

    def __init__(self, device: int, stream: Any, thread: object = None) -> None:
        self.device, self.stream, self.thread = device, stream, thread

    def __repr__(self) -> str:
        return f"<stream {self.stream.ptr:#x} of cuda:{self.device}>"

    @property
    def place(self) -> "Place":
        """Itself, as extras say it."""
        return self

    @property
    def is_current(self) -> bool:
        """Whether work of this thread goes here now, of arrays on this device and of those that are made."""
        return get_device_id() == self.device and place_now(self.device) is self

    @property
    def is_foreign(self) -> bool:
        """Whether it is another thread's own default stream."""
        return self.thread is not None and self.thread is not _own.thread

    def enter(self) -> "Place":
        """Send work here; returns where it went on this device before."""
        if several and get_device_id() != self.device:
            Device(self.device).use()
        before = place_now(self.device)
        if before is not self:
            if _own.capture is not None and not is_recorded(before.stream):
                raise _own.capture.failed(
                    RuntimeError(
                        f"a CUDA graph is being recorded, but work was sent to {before}, which is not part of it; let "
                        f"it wait for the recorded stream before: side.wait_stream(lucidgrad.cuda.current_stream())"
                    )
                )
            self.stream.use()
            if self.is_foreign:
                place_now(self.device).wait_for(self)
        return before

    def wait_for(self, other: "Place", arrays: Any = ()) -> None:
        """Let work that is sent here from now on wait for what was sent to another place so far.

        Parameters
        ----------
        other
            The place to wait for.
        arrays
            What was made there and is used here.
        """
        if _own.capture is not None and not is_recorded(other.stream):
            return  # a graph is launched after what was sent there now
        event = other.mark()
        with self.current():
            self.stream.wait_event(event)
        for array in arrays:
            hold(array, self)

    def follow(self, array: Any) -> None:
        """Let work that is sent here from now on wait for the place that `wrote` an array."""
        for part in _arrays(array):
            last = _written.get(id(part), (None, self))[1]
            if last is not self:
                self.wait_for(last, (part,))

    def wrote(self, array: Any) -> None:
        """Note that an array is written here, for a place that has to `follow`."""
        for part in _arrays(array):
            key = id(part)
            if _written.get(key, (None, None))[1] is not self:
                _written[key] = weakref.ref(part, functools.partial(_forget, key)), self

    def mark(self) -> Any:
        """An event that happens when all work that was sent here is done."""
        stream = Stream.null if self.is_foreign else self.stream
        with self.current():
            return stream.record(Event(disable_timing=True))

    def moment(self) -> "Moment":
        """The time at which all work that was sent here is done."""
        stream = Stream.null if self.is_foreign else self.stream
        with self.current():
            return Moment(stream.record(Event()))

    def current(self) -> AbstractContextManager[Any]:
        """A context in which the device is current: all default streams have one number, and events a device."""
        return Device(self.device) if several and get_device_id() != self.device else _HERE


class Moment:
    """A time of a device."""

    __slots__ = ("_event",)

    def __init__(self, event: Any) -> None:
        self._event = event

    def seconds_to(self, later: "Moment") -> float:
        """The time between this moment and a later one of the same device; waits for that."""
        later._event.synchronize()
        return float(cupy.cuda.get_elapsed_time(self._event, later._event)) / 1000


class _Own(threading.local):
    """What is each thread's own: a mark of the thread, the places of its default streams by device, and a recording."""

    def __init__(self) -> None:
        self.thread = object()
        self.places: dict[int, Place] = {}
        self.capture: Any = None  # the graph that its work is recorded for (captures.py)


_PER_THREAD = Stream.ptds.ptr
_own = _Own()
_lock = threading.RLock()  # what is freed meanwhile may come back here
_defaults: dict[int, Place] = {}
_others: "weakref.WeakValueDictionary[tuple[int, int], Place]" = weakref.WeakValueDictionary()


def captured_by() -> Any:
    """What records the work of this thread for a graph; None: it is done."""
    return _own.capture


def record_for(capture: Any) -> None:
    """Let something record the work of this thread, or None."""
    _own.capture = capture


def is_recorded(stream: Any) -> bool:
    """Whether what is sent to a stream is recorded, and not done; the default stream of all can't be recorded."""
    return bool(stream.ptr and runtime.streamIsCapturing(stream.ptr))


def place_now(device: int) -> Place:
    """Where work on a device goes now."""
    stream = get_current_stream(device)
    if stream.ptr == 0:
        return _defaults.get(device) or place_for(device, stream)
    return place_for(device, stream)


def place_for(device: int, stream: Any) -> Place:
    """The place of a stream. It keeps the stream alive, so that its number is not given to another."""
    if stream.ptr == 0:
        return _defaults.setdefault(device, Place(device, Stream.null))
    if stream.ptr == _PER_THREAD:
        return _own.places.setdefault(device, Place(device, Stream.ptds, _own.thread))
    place = _others.get((device, stream.ptr))
    if place is None:
        with _lock:
            place = _others.setdefault((device, stream.ptr), Place(device, stream))
    return place


def here() -> Place:
    """Where work on the current device goes now."""
    return place_now(get_device_id())


def place_of_array(array: Any) -> Place:
    """Where work on an array goes now."""
    return place_now(array.data.device_id)


# -- memory that several streams use -------------------------------------------------------------
_shared: dict[int, tuple[Any, set[Place]]] = {}  # memory that is in use somewhere, and the other streams that use it
_leaving: deque[tuple[list[Any], Any]] = deque()  # what nothing refers to any more, and the events it waits for
_written: dict[int, tuple[Any, Place]] = {}  # arrays that several passes add to, and where that was done last


def _forget(key: int, _: Any) -> None:
    _written.pop(key, None)


def _arrays(array: Any) -> Iterator[Any]:
    """The arrays that an array, or one with levels, is made of."""
    if isinstance(array, Layer):
        for part in array.parts:
            yield from _arrays(part)
    elif type(array) is cupy.ndarray:
        yield array


def hold(array: Any, place: Place) -> None:
    """Keep the memory of an array, once nothing refers to it, until a stream is done with what it has then."""
    sweep()
    for part in _arrays(array):
        memory = part.data.mem
        if _own.capture is not None:
            _own.capture.keep(memory)
            continue
        with _lock:
            _shared.setdefault(id(memory), (memory, set()))[1].add(place)


def keep(owner: Any, place: Place) -> None:
    """Keep an object until all work that was sent to a place is done."""
    if _own.capture is not None:
        _own.capture.keep(owner)
        return
    sweep()
    _leaving.append(([place.mark()], owner))


def _references(entry: tuple[Any, Any]) -> int:
    return sys.getrefcount(entry[0])


_ALONE = _references((object(), None))  # how many references an entry has that nobody else holds


def sweep() -> None:
    """Let go of memory that the streams are done with. It asks, and never waits.

    Others may `keep` meanwhile: an entry is taken out, looked at, and put back.
    """
    if _own.capture is not None:  # what is marked now would be recorded
        return
    for _ in range(len(_leaving)):
        try:
            entry = _leaving.popleft()
        except IndexError:  # another thread sweeps, too
            break
        if not all(event.done for event in entry[0]):
            _leaving.append(entry)
    if not _shared:
        return
    with _lock:
        for key, entry in list(_shared.items()):
            if _references(entry) == _ALONE and _shared.get(key) is entry:
                memory, places = _shared.pop(key)
                _leaving.append(([place.mark() for place in places], memory))
