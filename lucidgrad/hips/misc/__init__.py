"""What programs use around derivatives: optimisers, fixed points, trees as vectors."""

from .flatten import flatten

__all__ = ["flatten"]
