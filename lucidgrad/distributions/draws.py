"""Random numbers of the usual shapes, made of uniform and normal ones, so that every device has them.

What is drawn has no derivative; `attached` gives a draw the one that its distribution function implies.
"""

import math
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.autograd.function import Function
from lucidgrad.func import is_transformed
from lucidgrad.ops.special.incomplete import beta_density, beta_slope, gamma_density, gamma_slope

from .distribution import tiny

__all__ = [
    "attached", "beta", "binomial", "categorical", "dirichlet", "exponential", "log_gamma", "normal", "poisson",
    "standard_gamma", "uniform", "von_mises",
]  # fmt: skip

Shape = tuple[int, ...]

_ROUNDS = 40  # of rejection where nobody can tell whether all are done: less than half are left by each


def uniform(shape: Shape, like: Any, generator: Any = None) -> Any:
    """Numbers between 0 and 1, which are neither."""
    made = lg.rand(shape, dtype=like.dtype, device=like.device, generator=generator)
    return made.clamp(min=float(lg.finfo(like.dtype).eps) / 4)


def normal(shape: Shape, like: Any) -> Any:
    """Numbers of the standard normal distribution."""
    return lg.randn(shape, dtype=like.dtype, device=like.device)


def exponential(shape: Shape, like: Any) -> Any:
    """Waiting times of mean one, all of them above zero."""
    return -lg.log1p(-uniform(shape, like))


def _accepted(propose: Callable[[], tuple[Any, Any]]) -> Any:
    """For each place the first value that was accepted."""
    value, done = propose()
    hidden = is_transformed(done)
    for _ in range(_ROUNDS if hidden else 1000):
        if not hidden and bool(done.all()):
            break
        other, good = propose()
        value, done = lg.where(done, value, other), done | good
    return value


# -- gamma and beta --------------------------------------------------------------------------------
def log_gamma(concentration: Any) -> Any:
    """The logarithm of numbers of the gamma distribution (G. Marsaglia and W. W. Tsang, ACM TOMS 26, 2000)."""
    c = concentration.detach()
    small, shape = c < 1, tuple(c.shape)
    d = lg.where(small, c + 1, c) - 1 / 3
    width = 1 / (9 * d).sqrt()

    def propose() -> tuple[Any, Any]:
        x = normal(shape, c)
        root = 1 + width * x
        log_v = 3 * lg.log(lg.where(root > 0, root, 1.0))
        good = lg.log(uniform(shape, c)) < 0.5 * x * x + d * (1 - lg.exp(log_v) + log_v)
        return log_v, good & (root > 0)

    boost = lg.log(uniform(shape, c)) / lg.where(small, c, 1.0)  # from one parameter more
    return lg.log(d) + _accepted(propose) + lg.where(small, boost, 0.0)


def standard_gamma(concentration: Any) -> Any:
    """Numbers of the gamma distribution of rate one, and their derivatives with respect to its parameter."""
    made = lg.exp(log_gamma(concentration)).clamp(min=tiny(concentration))
    return attached(made, lambda g, y, a: (-g * gamma_slope(a, y) / gamma_density(a, y),), concentration)


def beta(concentration1: Any, concentration0: Any) -> Any:
    """Numbers of the beta distribution, and their derivatives with respect to its parameters."""
    made = _inner(lg.sigmoid(log_gamma(concentration1) - log_gamma(concentration0)))
    return attached(
        made,
        lambda g, y, a, b: tuple(g * _beta_flow(y, a, b, o) for o in ((1, 0), (0, 1))),
        concentration1,
        concentration0,
    )


def dirichlet(concentration: Any) -> Any:
    """Numbers of Dirichlet's distribution; their derivatives are those of each one's beta distribution.

    If one of them moves, the others keep their proportions.
    """
    made = _inner(lg.softmax(log_gamma(concentration), axis=-1))

    def pull(g: Any, y: Any, c: Any) -> tuple[Any]:
        flow = _beta_flow(y, c, c.sum(-1).unsqueeze(-1) - c, (1, 0)) / (1 - y)
        return (flow * (g - (y * g).sum(-1).unsqueeze(-1)),)

    return attached(made, pull, concentration)


def _inner(x: Any) -> Any:
    return x.clamp(min=tiny(x), max=1 - float(lg.finfo(x.dtype).eps) / 2)


def _beta_flow(y: Any, a: Any, b: Any, orders: tuple[int, int]) -> Any:
    return -beta_slope(a, b, y, orders=orders) / beta_density(a, b, y)


class _Attached(Function):
    @staticmethod
    def forward(ctx: Any, made: Any, pull: Callable[..., tuple[Any, ...]], *parameters: Any) -> Any:
        ctx.pull, y = pull, made.clone()
        ctx.save_for_backward(y, *parameters)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, None, *ctx.pull(g, *ctx.saved_tensors)


def attached(made: Any, pull: Callable[..., tuple[Any, ...]], *parameters: Any) -> Any:
    """A draw as a function of the parameters it was made with.

    ``pull(g, draw, *parameters)`` has the gradients: of a draw whose distribution function stays the same while the
    parameters move, ``-(dF / dparameter) / density`` times ``g``.
    """
    return _Attached.apply(made, pull, *parameters)


# -- integers --------------------------------------------------------------------------------------
_FEW = 10.0  # up to this mean values are counted off; above it they are proposed and rejected (W. Hörmann, 1993)


def _counted(u: Any, first: Any, ratio: Callable[[int], Any]) -> Any:
    """The inverse of a distribution function of integers, for means up to ten: no probability is left at 64."""
    term, total, count = first, first, lg.zeros_like(u)
    for k in range(64):
        count = count + (u > total)
        term = term * ratio(k)
        total = total + term
    return count


def _hat(shape: Shape, like: Any, a: Any, b: Any, centre: Any, generator: Any) -> tuple[Any, Any, Any, Any]:
    """A proposal of integers, the logarithm of the height of its hat at it, and what decides quickly."""
    u, v = uniform(shape, like, generator) - 0.5, uniform(shape, like, generator)
    us = (0.5 - u.abs()).clamp(min=1e-12)
    return lg.floor((2 * a / us + b) * u + centre), lg.log(a / (us * us) + b), us, v


def poisson(rate: Any, generator: Any = None) -> Any:
    """Numbers of Poisson's distribution."""
    r, shape = rate.detach().to(lg.float64), tuple(rate.shape)
    few = r < _FEW
    low, high = lg.where(few, r, 0.0), lg.where(few, _FEW, r)
    counted = _counted(uniform(shape, r, generator), lg.exp(-low), lambda k: low / (k + 1))
    b = 0.931 + 2.53 * high.sqrt()
    a = 0.02483 * b - 0.059
    scale, quick, log_rate = lg.log(1.1239 + 1.1328 / (b - 3.4)), 0.9277 - 3.6224 / (b - 2), lg.log(high)

    def propose() -> tuple[Any, Any]:
        k, log_hat, us, v = _hat(shape, r, a, b, high + 0.43, generator)
        inside = (k >= 0) & ((us >= 0.013) | (v <= us))
        exact = lg.log(v) + scale - log_hat <= k.clamp(min=0) * log_rate - high - lg.lgamma(k.clamp(min=0) + 1)
        return k, ((us >= 0.07) & (v <= quick)) | (inside & exact)

    return lg.where(few, counted, few if bool_all(few) else _accepted(propose)).to(rate.dtype)


def binomial(total_count: Any, probs: Any, generator: Any = None) -> Any:
    """Numbers of successes among many."""
    n, chance = (x.detach().to(lg.float64) for x in (total_count, probs))
    shape, flipped = tuple(chance.shape), chance > 0.5
    p = lg.where(flipped, 1 - chance, chance)
    few, odds = n * p < _FEW, p / (1 - p)
    start = lg.exp(lg.where(few, n, 0.0) * lg.log1p(-p))
    counted = _counted(uniform(shape, p, generator), start, lambda k: (n - k).clamp(min=0) / (k + 1) * odds)
    m, q = lg.where(few, 4 * _FEW, n), lg.where(few, 0.5, p)
    spread = (m * q * (1 - q)).sqrt()
    b = 1.15 + 2.53 * spread
    a = 0.0248 * b - 0.0873 + 0.01 * q
    scale, quick, log_odds = lg.log((2.83 + 5.1 / b) * spread), 0.92 - 4.2 / b, lg.log(q / (1 - q))
    middle = lg.floor((m + 1) * q)

    def log_weight(k: Any) -> Any:
        return k * log_odds - lg.lgamma(k + 1) - lg.lgamma(m - k + 1)

    top = log_weight(middle)

    def propose() -> tuple[Any, Any]:
        k, log_hat, us, v = _hat(shape, p, a, b, m * q + 0.5, generator)
        inside = (k >= 0) & (k <= m)
        exact = lg.log(v) + scale - log_hat <= log_weight(lg.where(inside, k, middle)) - top
        return k, inside & (((us >= 0.07) & (v <= quick)) | exact)

    made = lg.where(few, counted, few if bool_all(few) else _accepted(propose))
    return lg.where(flipped, n - made, made).to(probs.dtype)


def bool_all(x: Any) -> bool:
    """Whether all are true, as far as anybody can tell."""
    return not is_transformed(x) and bool(x.all())


def categorical(probs: Any, shape: Shape) -> Any:
    """Positions along the last axis of probabilities, as many as the shape says."""
    total = lg.cumsum(probs.detach(), -1)
    u = lg.rand(shape, dtype=probs.dtype, device=probs.device).unsqueeze(-1)
    return (total[..., :-1] <= u * total[..., -1:]).sum(-1).to(lg.int64)


# -- angles ------------------------------------------------------------------------------------------
def von_mises(concentration: Any, shape: Shape) -> Any:
    """Angles about zero (D. J. Best and N. I. Fisher, Applied Statistics 28, 1979)."""
    k = concentration.detach().to(lg.float64).expand(shape)
    small = k < 1e-5
    safe = lg.where(small, 1.0, k)
    tau = 1 + (1 + 4 * safe * safe).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * safe)
    r = lg.where(small, 1 / k.clamp(min=1e-300) + k, (1 + rho * rho) / (2 * rho))

    def propose() -> tuple[Any, Any]:
        z = lg.cos(math.pi * uniform(shape, k))
        f = ((1 + r * z) / (r + z)).clamp(-1, 1)
        c, u = k * (r - f), uniform(shape, k)
        return f, (c * (2 - c) - u > 0) | (lg.log(c / u) + 1 - c >= 0)

    angle = lg.acos(_accepted(propose))
    return lg.where(uniform(shape, k) < 0.5, -angle, angle).to(concentration.dtype)
