"""The peers: one module per library or way to use it, named like its package with an underscore behind.

A peer is a module with

* ``LABEL``, the heading of its column, which names the idiom where a library has several, and ``VERSION``;
* ``forward(case)``, ``record(case)``, ``gradient(case)``: each converts the case's inputs once and returns a
  step, the function without arguments that is timed; it returns ``(value, *gradients)``. One that makes no
  sense for the library is left out;
* ``to_numpy(x)``, used when results are compared, never while time is taken;
* optionally functions named like a case, which run that case in place of the general one, and ``SKIP``, which
  gives the reason for each case that the library cannot run.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

NAMES = ("lucidgrad", "compiled", "torch", "torch_compile", "numpy", "jax", "autograd", "mygrad")


def load(name: str) -> ModuleType:
    """The peer's module; ImportError if its package is absent."""
    return import_module(f"{__name__}.{name}_")
