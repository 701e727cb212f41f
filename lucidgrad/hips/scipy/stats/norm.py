"""The normal distribution."""

from typing import Any

import lucidgrad as lg

from .families import functions, lift, standardised

__all__ = ["cdf", "logcdf", "logpdf", "logsf", "pdf", "sf"]

_own = functions("norm", lambda: lg.distributions.Normal(0.0, 1.0, validate_args=False), "")
pdf, logpdf, cdf = _own["pdf"], _own["logpdf"], _own["cdf"]


def _logcdf(*args: Any, **named: Any) -> Any:
    return lg.special.log_ndtr(standardised("", *args, **named)[0])


def _logsf(*args: Any, **named: Any) -> Any:
    return lg.special.log_ndtr(-standardised("", *args, **named)[0])


def _sf(*args: Any, **named: Any) -> Any:
    return lg.special.ndtr(-standardised("", *args, **named)[0])


logcdf, logsf, sf = lift("norm", "logcdf", _logcdf), lift("norm", "logsf", _logsf), lift("norm", "sf", _sf)
