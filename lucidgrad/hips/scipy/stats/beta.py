"""The beta distribution."""

import lucidgrad as lg

from .families import functions

__all__ = ["cdf", "logpdf", "pdf"]

_own = functions("beta", lambda a, b: lg.distributions.Beta(a, b, validate_args=False), "a b", low=0.0, high=1.0)
pdf, logpdf, cdf = _own["pdf"], _own["logpdf"], _own["cdf"]
