"""The multivariate normal distribution."""

from typing import Any

import lucidgrad as lg

from ...differential_operators import as_tensors
from .families import lift

__all__ = ["entropy", "logpdf", "pdf"]


def _normal(mean: Any, cov: Any, size: int | None = None) -> Any:
    mean, cov = as_tensors((0.0 if mean is None else mean, cov))
    size = size or max(mean.shape[0] if mean.ndim else 1, cov.shape[-1] if cov.ndim else 1)
    mean = lg.broadcast_to(mean, (size,))
    if cov.ndim < 2:  # a number, or a diagonal
        cov = lg.diag(lg.broadcast_to(cov, (size,)))
    return lg.distributions.MultivariateNormal(mean, cov, validate_args=False), size


def _logpdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    if allow_singular:
        raise ValueError("multivariate_normal.logpdf: allow_singular=True has no derivative here; expected False")
    x = as_tensors(x)
    found, size = _normal(mean, cov)
    if size == 1 and (x.ndim == 0 or x.shape[-1] != 1):
        x = x[..., None]
    return found.log_prob(x)


def _pdf(x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
    return lg.exp(_logpdf(x, mean, cov, allow_singular))


def _entropy(mean: Any = None, cov: Any = 1.0) -> Any:
    return _normal(mean, cov)[0].entropy()


logpdf, pdf, entropy = (
    lift("multivariate_normal", key, function)
    for key, function in (("logpdf", _logpdf), ("pdf", _pdf), ("entropy", _entropy))
)
