"""PyTorch's special functions: lucidgrad's, with PyTorch's arguments."""

from typing import Any

from .making import Table

_TABLE = Table(
    __name__,
    """
bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p
log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri psi
sinc: (input, *, out=None)
    = lg.special.@(input)
airy_ai scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0: (x, *, out=None)
    = lg.special.@(x)
chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w: (x, n, *, out=None)
    = lg.special.@(x, n)
gammainc gammaincc xlog1py xlogy zeta: (input, other, *, out=None)
    = lg.special.@(input, other)
logit: (input, eps=None, *, out=None)
    = lg.special.logit(input, eps)
log_softmax softmax: (input, dim, dtype=None)
    = lg.@(own.cast(input, dtype), dim)
logsumexp: (input, dim, keepdim=False, *, out=None)
    = lg.logsumexp(input, axis=dim if dim is None else dim or own.axes(dim), keepdims=keepdim)
multigammaln: (input, p, *, out=None)
    = lg.special.multigammaln(input, p)
polygamma: (n, input, *, out=None)
    = lg.special.polygamma(n, input)
round: (input, *, decimals=0, out=None)
    = lg.special.round(input, decimals)
""",
)

__all__ = _TABLE.names


def __getattr__(name: str) -> Any:
    """A function when it is first asked for."""
    return _TABLE.find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
