"""Tools around training: data, checkpoints on disk, and checkpointing of activations."""

from lucidgrad.refusals import guard as _guard

from . import checkpoint, data
from .resumption import load_checkpoint, save_checkpoint

__all__ = ["checkpoint", "data", "load_checkpoint", "save_checkpoint"]


_guard(__name__, __all__)
