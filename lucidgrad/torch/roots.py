"""Names at the root that belong nowhere else."""

from typing import Any

import lucidgrad as lg
from lucidgrad.core.device import Device
from lucidgrad.random import Generator, default_generator as _default_generator
from lucidgrad.tensor import further


def typename(obj: Any) -> str:
    """The name of the kind of a tensor, or of the type of anything else, with its module."""
    if isinstance(obj, lg.Tensor):
        return str(further.type(obj))
    kind = type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


default_generator: Generator = _default_generator(Device("cpu"))
