"""The Dirichlet distribution."""

from typing import Any

import scipy.stats as _source

import lucidgrad as lg

from ...differential_operators import as_tensors
from .families import lift

__all__ = ["logpdf", "pdf", "rvs"]


def _logpdf(x: Any, alpha: Any) -> Any:
    x, alpha = as_tensors((x, alpha))
    if x.ndim == 1 and x.shape[0] == alpha.shape[0] - 1:  # SciPy fills in the last one
        x = lg.concat([x, 1.0 - lg.sum(x, keepdims=True)])
    return lg.distributions.Dirichlet(alpha, validate_args=False).log_prob(x.T if x.ndim > 1 else x)


def _pdf(x: Any, alpha: Any) -> Any:
    return lg.exp(_logpdf(x, alpha))


logpdf, pdf, rvs = lift("dirichlet", "logpdf", _logpdf), lift("dirichlet", "pdf", _pdf), _source.dirichlet.rvs
