"""NumPy's module ``random`` for arrays and for what is being differentiated."""

from ..boxes import library as _library
from ..namespace import door as _door

__getattr__, __dir__, __all__ = _door(__name__, _library.random, "lucidgrad.numpy.random")
