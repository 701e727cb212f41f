"""Boxes, where programs import them from."""

from .boxes import Box, getval, isbox
from .extend import notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]
