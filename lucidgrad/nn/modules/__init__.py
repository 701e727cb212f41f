"""The layers by the paths that PyTorch has for them: ``lucidgrad.nn`` has the same names."""

import importlib as _importlib

from lucidgrad.nn import *  # noqa: F403
from lucidgrad.nn import __all__ as _names
from lucidgrad.nn.modules import lazy, module

utils = _importlib.import_module(f"{__name__}.utils")  # not nn.utils, which came with the others

__all__ = [*(name for name in _names if name[0].isupper()), "lazy", "module", "utils"]
