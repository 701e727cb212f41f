"""SciPy's special functions: lucidgrad's, and further Bessel functions by rules that are written here."""

from typing import Any

import scipy.special as _source

from .. import numpy as np
from ..extend import defvjp, primitive
from ..namespace import door as _door

_find, __dir__, __all__ = _door(__name__, _source, "lucidgrad.special")

gammasgn, rgamma, iv, ive, jn, yn = (
    primitive(getattr(_source, name)) for name in ("gammasgn", "rgamma", "iv", "ive", "jn", "yn")
)


def __getattr__(name: str) -> Any:
    """A name when it is first asked for."""
    return _find(name)


def _sum_to(g: Any, x: Any) -> Any:
    """A cotangent in the shape of what was broadcast."""
    extra = np.ndim(g) - np.ndim(x)
    kept = np.sum(g, axis=tuple(range(extra))) if extra else g
    ones = tuple(i for i, n in enumerate(np.shape(x)) if n == 1 and np.shape(kept)[i] != 1)
    return np.sum(kept, axis=ones, keepdims=True) if ones else kept


def _by_order(function: Any, slope: Any) -> None:
    """The rule of a function of an order, which has no derivative, and an argument."""
    defvjp(function, None, lambda ans, n, x: lambda g: _sum_to(g * slope(ans, n, x), x))


defvjp(gammasgn, None)
defvjp(rgamma, lambda ans, x: lambda g: -g * _find("psi")(x) * ans)
_by_order(jn, lambda ans, n, x: (jn(n - 1, x) - jn(n + 1, x)) / 2.0)
_by_order(yn, lambda ans, n, x: (yn(n - 1, x) - yn(n + 1, x)) / 2.0)
_by_order(iv, lambda ans, n, x: (iv(n - 1, x) + iv(n + 1, x)) / 2.0)
_by_order(ive, lambda ans, n, x: (ive(n - 1, x) + ive(n + 1, x)) / 2.0 - ans * np.sign(x))
