"""The vector space that a value lives in: trees of arrays, with sums, products, bases and random elements."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from lucidgrad.func import trees

from . import numpy as np

__all__ = ["VSpace", "vspace"]


class VSpace:
    """The space of trees like one that was given.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips.extend import vspace
    >>> space = vspace([np.ones((2, 3)), 1.0])
    >>> space.size, space.zeros()[0].shape
    (7, (2, 3))
    """

    def __init__(self, value: Any) -> None:
        leaves, self._tree = trees.flatten(value)
        self._kinds = [(np.shape(x), x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype) for x in leaves]
        for _, dtype in self._kinds:
            if dtype.kind not in "fc":
                raise TypeError(f"vspace: given a leaf of dtype {dtype}, expected floating-point numbers")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and (self._tree, self._kinds) == (other._tree, other._kinds)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace({self._build(lambda shape, dtype: f'{dtype}{shape}')})"

    def _build(self, make: Callable[[tuple[int, ...], Any], Any]) -> Any:
        return trees.unflatten(self._tree, [make(*kind) for kind in self._kinds])

    @property
    def shape(self) -> Any:
        """The shape of an array, or a tree of shapes."""
        return self._build(lambda shape, dtype: shape)

    @property
    def dtype(self) -> Any:
        """The dtype of an array, or a tree of dtypes."""
        return self._build(lambda shape, dtype: dtype)

    @property
    def ndim(self) -> Any:
        """The number of axes of an array, or a tree of them."""
        return self._build(lambda shape, dtype: len(shape))

    @property
    def iscomplex(self) -> bool:
        """Whether there are complex numbers in it."""
        return any(dtype.kind == "c" for _, dtype in self._kinds)

    @property
    def size(self) -> int:
        """The number of real dimensions: a complex number has two."""
        return sum(math.prod(shape) * (2 if dtype.kind == "c" else 1) for shape, dtype in self._kinds)

    def zeros(self) -> Any:
        """Nothing but zeros."""
        return self._build(np.zeros)

    def ones(self) -> Any:
        """Nothing but ones, and i for imaginary parts."""
        return self._build(lambda shape, dtype: np.ones(shape, dtype) * (1 + 1j if dtype.kind == "c" else 1))

    def randn(self) -> Any:
        """Numbers from the normal distribution."""

        def draw(shape: tuple[int, ...], dtype: Any) -> Any:
            drawn = np.random.randn(*shape)
            return np.asarray(drawn + 1j * np.random.randn(*shape) if dtype.kind == "c" else drawn).astype(dtype)

        return self._build(draw)

    def standard_basis(self) -> Iterator[Any]:
        """The elements that are one at one place and zero elsewhere; for complex numbers also i."""
        for at, (shape, dtype) in enumerate(self._kinds):
            for unit in (1.0, 1j) if dtype.kind == "c" else (1.0,):
                for place in np.ndindex(*shape):
                    leaves = [np.zeros(*kind) for kind in self._kinds]
                    leaves[at][place] = unit
                    yield trees.unflatten(self._tree, leaves)

    def add(self, x: Any, y: Any) -> Any:
        """The sum."""
        return trees.map(lambda a, b: a + b, x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """The product with a number."""
        return trees.map(lambda leaf: leaf * a, x)

    def covector(self, x: Any) -> Any:
        """The element whose products with others are the inner ones."""
        return trees.map(np.conj, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product."""
        return sum(trees.flatten(trees.map(lambda a, b: np.real(np.sum(np.conj(a) * b)), x, y))[0])

    def flatten(self, value: Any) -> Any:
        """The elements of a value as one vector."""
        from .misc.flatten import flatten

        return flatten(value)[0]


def vspace(value: Any) -> VSpace:
    """The space that a value lives in."""
    return VSpace(value)
