"""NumPy's names for arrays and for what is being differentiated: ``import autograd.numpy as np``.

Where no argument is being differentiated NumPy itself computes, so that programs make, index and print arrays as they
always do; otherwise lucidgrad's function of the same name does.
"""

from ..boxes import library as _library
from ..namespace import door as _door

__getattr__, __dir__, __all__ = _door(__name__, _library, "lucidgrad.numpy", "fft linalg numpy_boxes random")
