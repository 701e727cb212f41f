"""Primitives and their rules, by family."""

from lucidgrad import variadic as variadic  # primitives are made with it
