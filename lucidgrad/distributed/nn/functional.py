"""Collectives that gradients travel through, by PyTorch's path: see `lucidgrad.communication.functional`."""

from lucidgrad.communication.functional import *  # noqa: F403
from lucidgrad.communication.functional import __all__ as __all__
