"""The Poisson distribution."""

from typing import Any

import lucidgrad as lg

from ...differential_operators import as_tensors
from .families import lift

__all__ = ["cdf", "logpmf", "pmf"]


def _logpmf(k: Any, mu: Any) -> Any:
    k, mu = as_tensors((k, mu))
    found = lg.distributions.Poisson(mu, validate_args=False).log_prob(k)
    return lg.where((k >= 0) & (k == lg.floor(k)), found, lg.full_like(found, -lg.inf))


def _pmf(k: Any, mu: Any) -> Any:
    return lg.exp(_logpmf(k, mu))


def _cdf(k: Any, mu: Any) -> Any:
    k, mu = as_tensors((k, mu))
    known = lg.special.gammaincc(lg.floor(lg.clip(k, 0)).to(dtype=mu.dtype) + 1.0, mu)
    return lg.where(k >= 0, known, lg.zeros_like(known))


logpmf, pmf, cdf = lift("poisson", "logpmf", _logpmf), lift("poisson", "pmf", _pmf), lift("poisson", "cdf", _cdf)
