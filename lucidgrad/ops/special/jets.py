"""Derivatives of any order of exponentials and products, from those of their parts, in up to two variables."""

import functools
import math
from collections.abc import Callable
from typing import Any


def psis(xp: Any, x: Any, count: int) -> list[Any]:
    """The derivatives of ``gammaln``, from the first."""
    return [xp.psi(x) if k == 0 else xp.psi_derivative(x, order=k) for k in range(count)]


def bell(logs: Callable[[int, int], Any], m: int, n: int) -> Any:
    """The derivative of an exponential, over it, from those of its logarithm, ``logs(i, j)``, in two variables."""

    @functools.cache
    def made(m: int, n: int) -> Any:
        if m == n == 0:
            return 1.0
        a, b, (i0, j0) = (m - 1, n, (1, 0)) if m else (0, n - 1, (0, 1))
        return sum(
            math.comb(a, i) * math.comb(b, j) * logs(i + i0, j + j0) * made(a - i, b - j)
            for i in range(a + 1)
            for j in range(b + 1)
        )

    return made(m, n)


def leibniz(m: int, n: int, one: Callable[[int, int], Any], other: Callable[[int, int], Any]) -> Any:
    """The derivative of a product."""
    return sum(
        math.comb(m, i) * math.comb(n, j) * one(i, j) * other(m - i, n - j) for i in range(m + 1) for j in range(n + 1)
    )


def fraction(p: Any, n: int, k: int) -> Any:
    """The derivative of order k of ``p / (p + n)``."""
    return p / (p + n) if k == 0 else n * (-1) ** (k + 1) * math.factorial(k) / (p + n) ** (k + 1)
