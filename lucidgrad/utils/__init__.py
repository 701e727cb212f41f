"""Tools around training: checkpointing of activations."""

from . import checkpoint

__all__ = ["checkpoint"]
