"""In-place forms of functions: the result goes into the memory of the first argument, and history follows."""

from lucidgrad.core.inplace import update

__all__ = ["update"]
