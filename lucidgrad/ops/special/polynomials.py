"""Polynomials and their quotients with constant coefficients, as the programs of special functions use them."""

from collections.abc import Sequence
from typing import Any

from lucidgrad.core.dispatch import complexes


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """A polynomial, by Horner's rule; coefficients of the highest power first."""
    y = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        y = y * x + c
    return y


def ratio(x: Any, coefficients: tuple[Sequence[float], Sequence[float]]) -> Any:
    """The quotient of two polynomials."""
    return polynomial(x, coefficients[0]) / polynomial(x, coefficients[1])


def rest_of_one(x: Any) -> Any:
    """``1 - x**2`` in factors: no digits are lost near ±1, and no zero of a complex number loses its sign."""
    return -((x - 1) * (x - -1)) if x.dtype in complexes else (1 - x) * (x + 1)
