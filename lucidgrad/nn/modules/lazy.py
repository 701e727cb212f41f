"""What makes a module wait for its first input."""

from lucidgrad.nn.lazy import LazyModuleMixin

__all__ = ["LazyModuleMixin"]
