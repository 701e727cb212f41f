"""Orthogonal polynomials, by their recurrences: all of one order, or each of its own.

Derivatives follow, to any order; with respect to the order there is none.
"""

from collections.abc import Callable
from typing import Any

from lucidgrad.core.dispatch import SCALARS, number
from lucidgrad.ops.elementwise.choice import where
from lucidgrad.ops.elementwise.copies import clone, ones_like, zeros_like
from lucidgrad.ops.numbers import inexact, only_real
from lucidgrad.ops.precision import rounded_once
from lucidgrad.ops.reduction import max as _max

__all__ = [
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
]  # fmt: skip

_MOST_ORDER = 2**16  # every one is a step
_Step = Callable[[int, Any, Any, Any], Any]  # (k, x, p_k, p_(k - 1)) -> p_(k + 1)


@rounded_once
def _terms(x: Any, n: Any, first: Callable[[Any], Any], step: _Step) -> Any:
    """The polynomial of order ``n``: one, ``first(x)``, then by ``step`` from two; zero if ``n`` is negative."""
    only_real("the order of a polynomial", n)
    x, n = number(x), number(n)
    single = isinstance(n, SCALARS)
    if not single and isinstance(x, SCALARS):
        x = n * 0 + x
    x = inexact(x) if single else inexact(x) + n * 0  # with the shape and the dtype of both
    top = int(n) if single else int(_max(n).item()) if n.size else 0
    if top > _MOST_ORDER:
        raise RuntimeError(f"order n = {top}, expected at most {_MOST_ORDER}")
    before, now = zeros_like(x), ones_like(x)
    found = (now if top >= 0 else before) if single else where(n > -1, now, before)
    for k in range(top):
        before, now = now, first(x) if k == 0 else step(k, x, now, before)
        found = now if single else where(n >= k + 1, now, found)
    return found


def _doubled(k: int, x: Any, now: Any, before: Any) -> Any:
    return x * 2 * now - before


def chebyshev_polynomial_t(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the first kind and order ``n``, a number or a tensor of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.chebyshev_polynomial_t(x, 3).sum().backward()
    >>> x.grad.tolist()
    [0.0, 9.0]
    """
    return _terms(x, n, clone, _doubled)


def chebyshev_polynomial_u(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the second kind and order ``n``, a number or a tensor of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.chebyshev_polynomial_u(x, 3).sum().backward()
    >>> x.grad.tolist()
    [2.0, 20.0]
    """
    return _terms(x, n, lambda x: x * 2, _doubled)


def chebyshev_polynomial_v(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the third kind and order ``n``, a number or a tensor of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.chebyshev_polynomial_v(x, 3).sum().backward()
    >>> x.grad.tolist()
    [-2.0, 12.0]
    """
    return _terms(x, n, lambda x: x * 2 - 1, _doubled)


def chebyshev_polynomial_w(x: Any, n: Any) -> Any:
    """Chebyshev's polynomial of the fourth kind and order ``n``, a number or a tensor of them.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.chebyshev_polynomial_w(x, 3).sum().backward()
    >>> x.grad.tolist()
    [6.0, 28.0]
    """
    return _terms(x, n, lambda x: x * 2 + 1, _doubled)


def shifted_chebyshev_polynomial_t(x: Any, n: Any) -> Any:
    """`chebyshev_polynomial_t` of ``2 * x - 1``, which has the interval from zero to one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.shifted_chebyshev_polynomial_t(x, 2).sum().backward()
    >>> x.grad.tolist()
    [0.0, 8.0]
    """
    return chebyshev_polynomial_t(x * 2 - 1, n)


def shifted_chebyshev_polynomial_u(x: Any, n: Any) -> Any:
    """`chebyshev_polynomial_u` of ``2 * x - 1``, which has the interval from zero to one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.shifted_chebyshev_polynomial_u(x, 2).sum().backward()
    >>> x.grad.tolist()
    [0.0, 16.0]
    """
    return chebyshev_polynomial_u(x * 2 - 1, n)


def shifted_chebyshev_polynomial_v(x: Any, n: Any) -> Any:
    """`chebyshev_polynomial_v` of ``2 * x - 1``, which has the interval from zero to one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.shifted_chebyshev_polynomial_v(x, 2).sum().backward()
    >>> x.grad.tolist()
    [-4.0, 12.0]
    """
    return chebyshev_polynomial_v(x * 2 - 1, n)


def shifted_chebyshev_polynomial_w(x: Any, n: Any) -> Any:
    """`chebyshev_polynomial_w` of ``2 * x - 1``, which has the interval from zero to one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.shifted_chebyshev_polynomial_w(x, 2).sum().backward()
    >>> x.grad.tolist()
    [4.0, 20.0]
    """
    return chebyshev_polynomial_w(x * 2 - 1, n)


def hermite_polynomial_h(x: Any, n: Any) -> Any:
    """Hermite's polynomial of order ``n``, as in physics.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.hermite_polynomial_h(x, 3).sum().backward()
    >>> x.grad.tolist()
    [-6.0, 12.0]
    """
    return _terms(x, n, lambda x: x * 2, lambda k, x, now, before: (x * now - before * k) * 2)


def hermite_polynomial_he(x: Any, n: Any) -> Any:
    """Hermite's polynomial of order ``n``, as in probability.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.hermite_polynomial_he(x, 3).sum().backward()
    >>> x.grad.tolist()
    [-2.25, 0.0]
    """
    return _terms(x, n, clone, lambda k, x, now, before: x * now - before * k)


def laguerre_polynomial_l(x: Any, n: Any) -> Any:
    """Laguerre's polynomial of order ``n``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.laguerre_polynomial_l(x, 3).sum().backward()
    >>> x.grad.tolist()
    [-1.6250, -0.5]
    """
    return _terms(x, n, lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - before * k) / (k + 1))


def legendre_polynomial_p(x: Any, n: Any) -> Any:
    """Legendre's polynomial of order ``n``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.5, 1.0], requires_grad=True)
    >>> lg.special.legendre_polynomial_p(x, 3).sum().backward()
    >>> x.grad.tolist()
    [0.375, 6.0]
    """
    return _terms(x, n, clone, lambda k, x, now, before: (x * now * (2 * k + 1) - before * k) / (k + 1))
