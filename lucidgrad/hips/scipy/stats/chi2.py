"""The chi-squared distribution."""

import lucidgrad as lg

from .families import functions

__all__ = ["cdf", "logpdf", "pdf"]

_own = functions("chi2", lambda df: lg.distributions.Chi2(df, validate_args=False), "df", low=0.0)
pdf, logpdf, cdf = _own["pdf"], _own["logpdf"], _own["cdf"]
