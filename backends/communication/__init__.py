"""Engines that move arrays between processes: MPI for host memory, NCCL for CUDA; loaded when asked for."""

import importlib
from typing import Any

from .engine import Done, Engine, EngineError, Launch, Pending

__all__ = ["Done", "Engine", "EngineError", "Launch", "Pending", "connect", "described", "end", "launched", "missing"]

#: The modules, each with ``missing()``, ``connect(launch, host)`` and ``end()``; those for host memory know who this
#: process is, too: ``launched()``, by which ``library()``.
ENGINES = {"lone": ".lone", "mpi": ".mpi", "nccl": ".nccl"}


def _module(name: str) -> Any:
    if name not in ENGINES:
        raise ValueError(f"given the backend {name!r}, expected one of {', '.join(sorted(ENGINES))}")
    return importlib.import_module(ENGINES[name], __name__)


def missing(name: str) -> str | None:
    """Why an engine can't be used here; None: it can."""
    if name not in ENGINES:
        return f"there is no backend {name!r}, only {', '.join(sorted(ENGINES))}"
    return _module(name).missing()


def connect(name: str, launch: Launch, host: Engine | None = None) -> Engine:
    """An engine among all processes of a job, or among those of ``host``, which it may talk through to begin with."""
    return _module(name).connect(launch, host)


def launched(name: str) -> Launch:
    """Which process this is, by an engine that knows of itself."""
    return _module(name).launched()


def described(name: str) -> str:
    """The library of an engine, with its version."""
    return _module(name).library()


def end(name: str) -> None:
    """Do what an engine's library asks for at the end of a process."""
    _module(name).end()
