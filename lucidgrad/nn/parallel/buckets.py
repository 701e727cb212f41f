"""Buckets: gradients that travel together, since many small messages take longer than few large ones."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import lucidgrad as lg

#: The first bucket is small, so that communication begins early in backward; the others are large.
FIRST_BYTES, BYTES = 1024 * 1024, 25 * 1024 * 1024


class Entry(NamedTuple):
    """A gradient to be put into a bucket: its number, its bytes, and the kind, of which a bucket holds one."""

    number: int
    size: int
    kind: Hashable


def plan_buckets(entries: Iterable[Entry], limits: Sequence[int]) -> list[list[int]]:
    """Which gradients travel together.

    Parameters
    ----------
    entries
        In the order in which the gradients are expected.
    limits
        Bytes at which a bucket is full: of the first bucket of a kind, of the second, and so on; the last one counts
        for all that follow. A gradient is never cut, so a bucket may hold more.

    Returns
    -------
    The numbers of each bucket, in the order in which buckets are complete.
    """
    filling: dict[Hashable, tuple[list[int], int]] = {}  # kind -> numbers and bytes so far
    made: dict[Hashable, int] = {}  # kind -> how many buckets are full
    found: list[tuple[int, list[int]]] = []  # with the place of the last entry
    last: dict[Hashable, int] = {}
    for place, (number, size, kind) in enumerate(entries):
        numbers, held = filling.get(kind, ([], 0))
        numbers.append(number)
        filling[kind], last[kind] = (numbers, held + size), place
        if held + size >= limits[min(made.get(kind, 0), len(limits) - 1)]:
            found.append((place, numbers))
            made[kind] = made.get(kind, 0) + 1
            del filling[kind]
    found += [(last[kind], numbers) for kind, (numbers, _) in filling.items()]
    return [numbers for _, numbers in sorted(found)]


class Bucket:
    """Memory for some gradients, one after the other, and the views that are each one's part."""

    def __init__(self, parameters: Sequence[Any], numbers: Sequence[int]) -> None:
        self.numbers, members = list(numbers), [parameters[number] for number in numbers]
        first = members[0]
        with lg.no_grad():
            self.flat = lg.zeros(sum(p.size for p in members), dtype=first.dtype, device=first.device)
            self.views, start = [], 0
            for p in members:
                self.views.append(self.flat[start : start + p.size].reshape(tuple(p.shape)))
                start += p.size
        self.awaited = 0  # gradients that have not arrived in this pass
        self.finish: Callable[[], Any] | None = None  # waits for the communication, once it was started

    @property
    def bytes(self) -> int:
        """The bytes of the memory."""
        return int(self.flat.nbytes)


class GradBucket:
    """A bucket as communication hooks see it: gradients of this process, to be made those of all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.parallel.buckets import Bucket, GradBucket
    >>> layer = lg.nn.Linear(3, 2)
    >>> bucket = GradBucket(Bucket(list(layer.parameters()), [1, 0]), 0, 1, list(layer.parameters()))
    >>> bucket.buffer().shape, [g.shape for g in bucket.gradients()], bucket.is_last()
    ((8,), [(2,), (2, 3)], True)
    """

    def __init__(self, bucket: Bucket, index: int, count: int, parameters: Sequence[Any]) -> None:
        self._bucket, self._index, self._count, self._parameters = bucket, index, count, parameters
        self._buffer = bucket.flat

    def index(self) -> int:
        """Which bucket this is: 0 is the first to travel."""
        return self._index

    def buffer(self) -> Any:
        """All gradients of the bucket as one vector, which may be written."""
        return self._buffer

    def gradients(self) -> list[Any]:
        """The gradients, each a view of the buffer in its parameter's shape."""
        if self._buffer is self._bucket.flat:
            return list(self._bucket.views)
        parts = self._buffer.split([view.size for view in self._bucket.views])
        return [part.reshape(tuple(view.shape)) for part, view in zip(parts, self._bucket.views)]

    def parameters(self) -> list[Any]:
        """The parameters, in the order of the gradients."""
        return [self._parameters[number] for number in self._bucket.numbers]

    def is_last(self) -> bool:
        """Whether no other bucket follows in this backward."""
        return self._index == self._count - 1

    def set_buffer(self, buffer: Any) -> None:
        """Let another vector of the same length, of any dtype, be the buffer."""
        if tuple(buffer.shape) != tuple(self._bucket.flat.shape):
            raise ValueError(
                f"set_buffer: given a tensor of shape {tuple(buffer.shape)}, expected {tuple(self._bucket.flat.shape)}"
            )
        self._buffer = buffer
