"""Tools around training: data, checkpoints on disk, and checkpointing of activations."""

from . import checkpoint, data
from .resumption import load_checkpoint, save_checkpoint

__all__ = ["checkpoint", "data", "load_checkpoint", "save_checkpoint"]
