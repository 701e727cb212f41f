"""One of lucidgrad's distributions as SciPy's functions: location and scale, and no density outside of the support."""

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import scipy.stats as _source

import lucidgrad as lg

from ...boxes import lifted
from ...differential_operators import as_tensors

__all__ = ["functions", "lift", "standardised"]


def standardised(shapes: str, *args: Any, **named: Any) -> tuple[Any, Any, list[Any]]:
    """The variable without location and scale, the scale, and the shape parameters, which have these names."""
    bound = _signature(shapes).bind(*args, **named)
    bound.apply_defaults()
    x, *own, loc, scale = as_tensors(bound.args)
    return (x - loc) / scale, scale, [p.to(dtype=lg.float64) if p.dtype.kind in "biu" else p for p in own]


@functools.cache
def _signature(shapes: str) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {"loc": 0.0, "scale": 1.0}
    names = ["x", *shapes.split(), *defaults]
    return inspect.Signature(
        [inspect.Parameter(n, kind, default=defaults.get(n, inspect.Parameter.empty)) for n in names]
    )


def functions(
    name: str, make: Callable[..., Any], shapes: str, low: float = -math.inf, high: float = math.inf
) -> dict[str, Callable[..., Any]]:
    """The functions of a family, by SciPy's names for them.

    Parameters
    ----------
    name
        SciPy's name of the family.
    make
        Lucidgrad's distribution of the shape parameters, at location 0 and scale 1.
    shapes
        The names of these.
    low, high
        Where the support ends.
    """

    def log_density(*args: Any, **named: Any) -> Any:
        z, scale, own = standardised(shapes, *args, **named)
        inside = (z >= low) & (z <= high)
        middle = 0.5 if high < math.inf else 1.0
        found = make(*own).log_prob(lg.where(inside, z, lg.full_like(z, middle))) - lg.log(scale)
        return lg.where(inside, found, lg.full_like(found, -math.inf))

    def density(*args: Any, **named: Any) -> Any:
        return lg.exp(log_density(*args, **named))

    def distribution(*args: Any, **named: Any) -> Any:
        z, _, own = standardised(shapes, *args, **named)
        return make(*own).cdf(lg.clip(z, None if low == -math.inf else low, None if high == math.inf else high))

    def log_distribution(*args: Any, **named: Any) -> Any:
        return lg.log(distribution(*args, **named))

    ours = {"logpdf": log_density, "pdf": density, "cdf": distribution, "logcdf": log_distribution}
    return {key: lift(name, key, function) for key, function in ours.items()}


def lift(name: str, key: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a family, computed by SciPy where nothing is differentiated."""
    return lifted(key, lambda: function, getattr(getattr(_source, name), key))
