"""Special functions under SciPy's and PyTorch's names, all of them differentiable.

SciPy looks for ``special`` in an array's namespace, so that its own functions call these on tensors. Derivatives with
respect to parameters (``a`` and ``b`` of the incomplete functions, ``x`` of `zeta`) exist to any order.
"""

import math
from typing import Any

from lucidgrad.refusals import guard as _guard

from .creation import full_like as _full_like
from .ops import reduction as _reduction, softmax as _fused
from .ops.elementwise.choice import where as _where
from .ops.elementwise.complex import hypot as _hypot
from .ops.elementwise.exponential import exp, exp2, expm1, log, log1p, logaddexp, pow as _pow, xlogy
from .ops.elementwise.rounding import round
from .ops.elementwise.trigonometric import sin as _sin, sinc
from .ops.numbers import only_real as _only_real, together as _together
from .ops.special.airy import airy_ai
from .ops.special.bessel import i0, i0e, i1, i1e
from .ops.special.cylinder import bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0
from .ops.special.entropy import entr, expit, exprel, kl_div, log_expit, logit, rel_entr, xlog1py
from .ops.special.error import erf, erfc, erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
from .ops.special.gamma import beta, betaln, digamma, gamma, gammaln, multigammaln, polygamma, psi, zeta
from .ops.special.incomplete import betainc, betaincc, gammainc, gammaincc
from .ops.special.macdonald import k0, k0e, k1, k1e
from .ops.special.orthogonal import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from .ops.special.polynomials import polynomial as _polynomial

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "beta", "betainc", "betaincc", "betaln", "boxcox",
    "boxcox1p", "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "cosm1", "digamma", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp10", "exp2", "expit", "expm1",
    "exprel", "fdtr", "fdtrc", "gamma", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h",
    "hermite_polynomial_he", "huber", "i0", "i0e", "i1", "i1e", "inv_boxcox", "j0", "j1", "k0", "k0e", "k1", "k1e",
    "kl_div", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_expit", "log_ndtr", "log_softmax",
    "logaddexp", "logit", "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "pseudo_huber", "psi", "rel_entr", "round",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc",
    "softmax", "softplus", "spherical_bessel_j0", "xlog1py", "xlogy", "y0", "y1", "zeta",
]  # fmt: skip

j0, j1, y0, y1 = bessel_j0, bessel_j1, bessel_y0, bessel_y1
modified_bessel_i0, modified_bessel_i1, modified_bessel_k0, modified_bessel_k1 = i0, i1, k0, k1
scaled_modified_bessel_k0, scaled_modified_bessel_k1 = k0e, k1e


# -- sums of exponentials ------------------------------------------------------------------------
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """``log(sum(b * exp(a)))`` without overflow; with ``return_sign``, of the modulus, and the sign.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 0.0], requires_grad=True)
    >>> lg.special.logsumexp(x, b=lg.tensor([3.0, 1.0])).backward()
    >>> x.grad.tolist()
    [0.75, 0.25]
    """
    if b is None and not return_sign:
        return _reduction.logsumexp(a, axis=axis, keepdims=keepdims)
    used = a if b is None else _where((b == 0) & (a == a), -math.inf, a)
    top = _reduction.max(used, axis=axis, keepdims=True).detach()
    top = _where((top == math.inf) | (top == -math.inf), 0.0, top)
    terms = exp(used - top) if b is None else b * exp(used - top)
    total = _reduction.sum(terms, axis=axis, keepdims=keepdims)
    top = top if keepdims else _reduction.sum(top, axis=axis)  # of one element: takes the axes away
    if return_sign:
        sign = _where(total == total, 1.0 * (total > 0) - 1.0 * (total < 0), total).detach()
        return log(abs(total)) + top, sign
    return log(total) + top


def softmax(x: Any, axis: Any = None) -> Any:
    """``exp(x) / sum(exp(x))`` over the given axes, by default all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> lg.special.softmax(x)[0].backward()
    >>> x.grad.tolist()
    [0.25, -0.25]
    """
    return _fused.softmax(x, axis=axis)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Logarithm of `softmax` over the given axes, by default all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros(2, requires_grad=True)
    >>> lg.special.log_softmax(x)[0].backward()
    >>> x.grad.tolist()
    [0.5, -0.5]
    """
    return _fused.log_softmax(x, axis=axis)


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))`` to the last digits, however large ``x`` is.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 50.0], requires_grad=True)
    >>> lg.special.softplus(x).sum().backward()
    >>> x.grad.tolist()
    [0.5, 1.0]
    """
    return -log_expit(-x)


# -- powers ----------------------------------------------------------------------------------------
def exp10(x: Any) -> Any:
    """Ten to the power ``x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.special.exp10(x).sum().backward()
    >>> x.grad.tolist()
    [2.3026, 23.0259]
    """
    return _pow(10.0, x)


def cosm1(x: Any) -> Any:
    """``cos(x) - 1`` without cancellation near zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 1.0], requires_grad=True)
    >>> lg.special.cosm1(x).sum().backward()
    >>> x.grad.tolist()
    [-0.0, -0.8415]
    """
    s = _sin(x * 0.5)
    return s * s * -2


def boxcox(x: Any, lmbda: Any) -> Any:
    """Box and Cox's transformation ``(x**lmbda - 1) / lmbda``, and the logarithm where ``lmbda`` is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 4.0], requires_grad=True)
    >>> lg.special.boxcox(x, lg.tensor([0.0, 0.5])).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5]
    """
    _only_real("boxcox", x, lmbda)
    x, lmbda = _together(x, lmbda)
    x = _array(x, lmbda)
    return _boxcox(x, log(x), lmbda)


def boxcox1p(x: Any, lmbda: Any) -> Any:
    """`boxcox` of ``1 + x``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 3.0], requires_grad=True)
    >>> lg.special.boxcox1p(x, lg.tensor([0.0, 0.5])).sum().backward()
    >>> x.grad.tolist()
    [1.0, 0.5]
    """
    _only_real("boxcox1p", x, lmbda)
    x, lmbda = _together(x, lmbda)
    x = _array(x, lmbda)
    return _boxcox(x + 1, log1p(x), lmbda)


def _boxcox(x: Any, t: Any, lmbda: Any) -> Any:
    """Given x and its logarithm t; at x = 0 the formula as it stands, which has the derivatives there."""
    lmbda = _array(lmbda, t)
    end, flat = t == -math.inf, lmbda == 0
    safe, power = _where(end, 0.0, t), _where(flat, 1.0, lmbda)
    limit = _where(flat, _where(end, t, 0.0), (_pow(_where(end, x, 1.0), power) - 1) / power)
    return _where(end, limit, safe * exprel(safe * lmbda))


def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """Inverse of `boxcox`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> y = lg.tensor([0.0, 2.0], requires_grad=True)
    >>> lg.special.inv_boxcox(y, lg.tensor([0.0, 0.5])).sum().backward()
    >>> y.grad.tolist()
    [1.0, 2.0]
    """
    _only_real("inv_boxcox", y, lmbda)
    y, lmbda = _together(y, lmbda)
    z = y * lmbda
    near, end = abs(z) < 0.1, z == -1  # a series: exact at zero, with all its derivatives; and where x is zero
    small, far = _where(near, z, 0.0), _where(near | end, 1.0, z)
    series = _polynomial(small, [(-1) ** k / (k + 1) for k in range(17, -1, -1)])
    limit = _pow(_where(end, z + 1, 1.0), 1 / _where(end, _array(lmbda, z), 1.0))
    return _where(end, limit, exp(_where(end, 0.0, _array(y, z)) * _where(near, series, log1p(far) / far)))


def _array(x: Any, like: Any) -> Any:
    """A Python number as a tensor like another, if that is one."""
    return _full_like(like, x) if isinstance(x, (int, float)) and not isinstance(like, (int, float)) else x


# -- losses ----------------------------------------------------------------------------------------
def huber(delta: Any, r: Any) -> Any:
    """Huber's loss: ``r**2 / 2`` up to ``delta``, from there on linear; infinite if ``delta`` is negative.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> r = lg.tensor([0.5, 3.0], requires_grad=True)
    >>> lg.special.huber(lg.tensor(1.0), r).sum().backward()
    >>> r.grad.tolist()
    [0.5, 1.0]
    """
    _only_real("huber", delta, r)
    delta, r = _together(delta, r)
    delta, r = _array(delta, r), _array(r, delta)
    size = abs(r)
    small = size <= delta
    near = _where(small, r, 0.0)
    loss = _where(small, near * near * 0.5, (size - delta * 0.5) * delta)
    return _where(delta < 0, math.inf, loss)


def pseudo_huber(delta: Any, r: Any) -> Any:
    """Smooth form of `huber`: ``delta**2 * (sqrt(1 + (r / delta)**2) - 1)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> r = lg.tensor([0.0, 2.0], requires_grad=True)
    >>> lg.special.pseudo_huber(lg.tensor(1.0), r).sum().backward()
    >>> r.grad.tolist()
    [0.0, 0.8944]
    """
    _only_real("pseudo_huber", delta, r)
    delta, r = _together(delta, r)
    delta, r = _array(delta, r), _array(r, delta)
    safe = _where(delta < 0, 1.0, delta)
    size = _hypot(_where((safe == 0) & (r == 0), 1.0, safe), r) + safe
    return _where(delta < 0, math.inf, r * (r / size) * safe)


# -- distributions -------------------------------------------------------------------------------
def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    """The F distribution up to ``x``, with ``dfn`` and ``dfd`` degrees of freedom.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.special.fdtr(2.0, 2.0, x).sum().backward()
    >>> x.grad.tolist()
    [0.25, 0.1111]
    """
    _only_real("fdtr", dfn, dfd, x)
    dfn, dfd, x = _together(dfn, dfd, x)
    return betainc(dfn * 0.5, dfd * 0.5, dfn * x / (dfd + dfn * x))


def fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    """The F distribution from ``x`` on, with ``dfn`` and ``dfd`` degrees of freedom.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.special.fdtrc(2.0, 2.0, x).sum().backward()
    >>> x.grad.tolist()
    [-0.25, -0.1111]
    """
    _only_real("fdtrc", dfn, dfd, x)
    dfn, dfd, x = _together(dfn, dfd, x)
    return betainc(dfd * 0.5, dfn * 0.5, dfd / (dfd + dfn * x))


_guard(__name__, __all__)
