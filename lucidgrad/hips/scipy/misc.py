"""Where older programs import ``logsumexp`` from."""

from .special import logsumexp

__all__ = ["logsumexp"]
