"""Batches on their way to a device: page-locked memory, and copies beside the work on the batch before."""

from collections.abc import Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.core.device import backend_named

from .collation import map_tensors


def pin(batch: Any) -> Any:
    """A batch in page-locked memory. An object with a method ``pin_memory`` is asked itself."""
    own = getattr(batch, "pin_memory", None)
    if callable(own):
        return own()
    return map_tensors(lambda t: t.pin_memory() if t.device == "cpu" else t, batch)


def moved(batch: Any, device: Any, non_blocking: bool = False) -> Any:
    """A batch on a device. An object with a method ``to`` is asked itself."""
    own = getattr(batch, "to", None)
    if callable(own):
        return own(device, non_blocking=non_blocking)
    return map_tensors(lambda t: t.to(device, non_blocking=non_blocking), batch)


class Ahead:
    """Batches on a CUDA device: while one is used, the next is copied on a stream of its own."""

    def __init__(self, batches: Iterator[Any], device: Any) -> None:
        self.batches, self.device = batches, device
        self.stream = lg.cuda.Stream(device)
        self._next: tuple[Any, Any] | BaseException | None = None
        self._begun = False

    def __iter__(self) -> "Ahead":
        return self

    def __next__(self) -> Any:
        if not self._begun:
            self._begun = True
            self._copy()
        found, self._next = self._next, None
        if isinstance(found, BaseException):
            self._copy()
            raise found
        if found is None:
            raise StopIteration
        batch, copied = found
        now = lg.cuda.current_stream(self.device)
        now.wait_event(copied)
        map_tensors(lambda t: t.record_stream(now) if t.is_cuda else None, batch)  # its memory is the other stream's
        self._copy()
        return batch

    def _copy(self) -> None:
        """Begin to copy the next batch; what goes wrong with it is raised when its turn comes."""
        try:
            for batch in self.batches:
                pinned = pin(batch)
                with lg.cuda.stream(self.stream):
                    there = moved(pinned, self.device, non_blocking=True)
                backend_named("cuda").streams.keep(pinned, self.stream.place)  # until it has been read
                self._next = there, self.stream.record_event()
                return
        except Exception as error:
            self._next = error
