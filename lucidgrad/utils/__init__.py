"""Tools around training: data, checkpoints on disk, checkpointing of activations, and files for TensorBoard."""

from lucidgrad.refusals import guard as _guard

from . import checkpoint, data, tensorboard
from .resumption import load_checkpoint, save_checkpoint

__all__ = ["checkpoint", "data", "load_checkpoint", "save_checkpoint", "tensorboard"]


_guard(__name__, __all__)
