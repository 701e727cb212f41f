"""How gradients travel in data parallel training, by PyTorch's paths."""

from . import ddp_comm_hooks

__all__ = ["ddp_comm_hooks"]
