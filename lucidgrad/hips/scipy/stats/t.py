"""Student's t distribution."""

import lucidgrad as lg

from .families import functions

__all__ = ["cdf", "logcdf", "logpdf", "pdf"]

_own = functions("t", lambda df: lg.distributions.StudentT(df, validate_args=False), "df")
pdf, logpdf, cdf, logcdf = _own["pdf"], _own["logpdf"], _own["cdf"], _own["logcdf"]
