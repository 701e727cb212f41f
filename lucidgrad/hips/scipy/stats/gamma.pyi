# Written by `python -m tools.stubs`: what is wrong here is mended there.

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "cdf",
    "logpdf",
    "pdf",
]

def cdf(
    x: ArrayLike,
    a: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> NDArray[np.float64] | np.float64: ...
def logpdf(
    x: ArrayLike,
    a: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> NDArray[np.float64] | np.float64: ...
def pdf(
    x: ArrayLike,
    a: ArrayLike,
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> NDArray[np.float64] | np.float64: ...
