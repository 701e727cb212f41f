"""Streams as places: where work goes now, who waits for whom, and memory that several streams use.

CuPy's memory pool gives memory back to the stream that it was allocated on as soon as the last array of it is
gone, though another stream may still be at work on it. `hold` keeps such memory until that is done.
"""

import sys
import threading
import weakref
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
from cupy.cuda import Device, Event, Stream, get_current_stream, get_device_id

from lucidgrad.core.levels import Layer

_HERE = nullcontext()
several = False  # whether there are several devices; set by the back end


class Place:
    """One stream of one device; there is one object for each, so that places are compared by identity."""

    __slots__ = ("__weakref__", "device", "stream")

    def __init__(self, device: int, stream: Any) -> None:
        self.device, self.stream = device, stream

    def __repr__(self) -> str:
        return f"<stream {self.stream.ptr:#x} of cuda:{self.device}>"

    def enter(self) -> "Place":
        """Send work here; returns where it went on this device before."""
        if several and get_device_id() != self.device:
            Device(self.device).use()
        before = place_now(self.device)
        if before is not self:
            self.stream.use()
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
        event = other.mark()
        with self.current():
            self.stream.wait_event(event)
        for array in arrays:
            hold(array, self)

    def mark(self) -> Any:
        """An event that happens when all work that was sent here is done."""
        with self.current():
            return self.stream.record(Event(disable_timing=True))

    def current(self) -> AbstractContextManager[Any]:
        """A context in which the device is current: all default streams have one number, and events a device."""
        return Device(self.device) if several and get_device_id() != self.device else _HERE


_defaults: dict[int, Place] = {}
_others: "weakref.WeakValueDictionary[tuple[int, int], Place]" = weakref.WeakValueDictionary()


def place_now(device: int) -> Place:
    """Where work on a device goes now."""
    stream = get_current_stream(device)
    if stream.ptr == 0:
        place = _defaults.get(device)
        if place is None:
            place = _defaults[device] = Place(device, Stream.null)
        return place
    return place_for(device, stream)


def place_for(device: int, stream: Any) -> Place:
    """The place of a stream. It keeps the stream alive, so that its number is not given to another."""
    if stream.ptr == 0:
        return _defaults.setdefault(device, Place(device, Stream.null))
    place = _others.get((device, stream.ptr))
    if place is None:
        place = _others[device, stream.ptr] = Place(device, stream)
    return place


def place_of_array(array: Any) -> Place:
    """Where work on an array goes now."""
    return place_now(array.data.device_id)


# -- memory that several streams use -------------------------------------------------------------
_lock = threading.Lock()
_shared: dict[int, tuple[Any, set[Place]]] = {}  # memory that is in use somewhere, and the other streams that use it
_leaving: list[tuple[list[Any], Any]] = []  # memory that nothing refers to any more, and the events it waits for


def hold(array: Any, place: Place) -> None:
    """Keep the memory of an array, once nothing refers to it, until a stream is done with what it has then."""
    if isinstance(array, Layer):
        for part in array.parts:
            hold(part, place)
    if type(array) is not cupy.ndarray:
        return
    sweep()
    memory = array.data.mem
    with _lock:
        _shared.setdefault(id(memory), (memory, set()))[1].add(place)


def keep(owner: Any, place: Place) -> None:
    """Keep an object until all work that was sent to a place is done."""
    sweep()
    _leaving.append(([place.mark()], owner))


def _references(entry: tuple[Any, Any]) -> int:
    return sys.getrefcount(entry[0])


_ALONE = _references((object(), None))  # how many references an entry has that nobody else holds


def sweep() -> None:
    """Let go of memory that the streams are done with. It asks, and never waits."""
    if not _shared and not _leaving:
        return
    with _lock:
        _leaving[:] = [entry for entry in _leaving if not all(event.done for event in entry[0])]
        for key in [key for key, entry in _shared.items() if _references(entry) == _ALONE]:
            memory, places = _shared.pop(key)
            _leaving.append(([place.mark() for place in places], memory))
