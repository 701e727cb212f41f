"""PyTorch's ``torch.multiprocessing``: Python's own, and `spawn`. Tensors are sent by value."""

import multiprocessing as _python
from collections.abc import Callable
from multiprocessing import *  # noqa: F403
from typing import Any

from lucidgrad.torch.flags import has_no_meaning

__all__ = [*_python.__all__, "get_sharing_strategy", "set_sharing_strategy", "spawn"]


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted: nothing is shared."""
    has_no_meaning("torch.multiprocessing.set_sharing_strategy")


def get_sharing_strategy() -> str:
    """How tensors are shared: by files, which copies are closest to."""
    return "file_system"


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> list[Any] | None:
    """Run ``fn(i, *args)`` in new processes, for i from 0 on.

    Returns
    -------
    list, optional
        The processes, if they are not waited for.

    Raises
    ------
    RuntimeError
        A process failed; the others are ended.
    """
    context = _python.get_context(start_method)
    processes = [context.Process(target=fn, args=(i, *args), daemon=daemon) for i in range(nprocs)]  # type: ignore[attr-defined]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
        if process.exitcode != 0:
            for other in processes:
                other.terminate()
            raise RuntimeError(f"spawn: a process ended with exit code {process.exitcode}")
    return None
