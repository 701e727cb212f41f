"""The gamma distribution."""

import lucidgrad as lg

from .families import functions

__all__ = ["cdf", "logpdf", "pdf"]

_own = functions("gamma", lambda a: lg.distributions.Gamma(a, 1.0, validate_args=False), "a", low=0.0)
pdf, logpdf, cdf = _own["pdf"], _own["logpdf"], _own["cdf"]
