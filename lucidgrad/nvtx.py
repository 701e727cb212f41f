"""Marks for NVIDIA's tools (Nsight Systems): named ranges and moments on their time line. It is `lucidgrad.cuda.nvtx`.

Without such a tool they cost a call each; ``profiler.profile(emit_nvtx=True)`` makes one for every operation.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .core import device as _devices

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _library() -> Any:
    """CuPy's functions; raises a `DeviceError` where there is no CUDA."""
    return _devices.backend_named("cuda").cuda.nvtx


def range_push(msg: str) -> None:
    """Begin a range, inside the one that was begun before.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.nvtx.range_push("step")
    ...     lg.cuda.nvtx.range_pop()
    """
    _library().RangePush(msg)


def range_pop() -> None:
    """End the range that was begun last.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.nvtx.range_push("step")
    ...     lg.cuda.nvtx.range_pop()
    """
    _library().RangePop()


def range_start(msg: str) -> int:
    """Begin a range that may end anywhere, also in another thread; returns what `range_end` takes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     number = lg.cuda.nvtx.range_start("epoch")
    ...     lg.cuda.nvtx.range_end(number)
    """
    return int(_library().RangeStart(msg, 0))  # the first of CuPy's colours


def range_end(range_id: int) -> None:
    """End a range that `range_start` began.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.nvtx.range_end(lg.cuda.nvtx.range_start("epoch"))
    """
    _library().RangeEnd(range_id)


def mark(msg: str) -> None:
    """Mark a moment.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     lg.cuda.nvtx.mark("loss is computed")
    """
    _library().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range as a context, or as a decorator; the message is formatted with the arguments.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> if lg.cuda.is_available():
    ...     with lg.cuda.nvtx.range("step {}", 3):
    ...         x = lg.ones(3, device="cuda")
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
