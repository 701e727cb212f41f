"""Arrays taken apart along one axis, in NumPy's and PyTorch's words; and the transposes of PyTorch's names."""

from typing import Any

from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops.axes import need_matrix

from .joining import array_split, split
from .layout import matrix_transpose

__all__ = ["adjoint", "dsplit", "hsplit", "t", "tensor_split", "vsplit"]


def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """So many parts, as even as possible, or parts that begin at these indices (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(5, requires_grad=True)
    >>> first, second = lg.tensor_split(x, 2)
    >>> second.sum().backward()
    >>> first.shape, x.grad.tolist()
    ((3,), [0.0, 0.0, 0.0, 1.0, 1.0])
    """
    return array_split(x, _listed(indices_or_sections), dim)


def _listed(cuts: Any) -> Any:
    """Indices in a tensor as a list."""
    return cuts.tolist() if hasattr(cuts, "dtype") else cuts


def _split(name: str, x: Any, cuts: Any, rank: int, axis: int) -> tuple[Any, ...]:
    if x.ndim < rank:
        raise RuntimeError(f"{name}: given an array of dimension {x.ndim}, expected at least {rank}")
    return split(x, _listed(cuts), axis)


def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Parts side by side: along the second axis, vectors along their only one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [part.shape for part in lg.hsplit(lg.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("hsplit", x, indices_or_sections, 1, 0 if x.ndim == 1 else 1)


def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Parts one above the other: along the first axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [part.shape for part in lg.vsplit(lg.ones((4, 2)), [1])]
    [(1, 2), (3, 2)]
    """
    return _split("vsplit", x, indices_or_sections, 2, 0)


def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """Parts one behind the other: along the third axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> [part.shape for part in lg.dsplit(lg.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", x, indices_or_sections, 3, 2)


def t(x: Any, /) -> Any:
    """The transpose of a matrix; vectors and numbers stay as they are (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.t(lg.ones((2, 3))).shape
    (3, 2)
    """
    if x.ndim > 2:
        raise RuntimeError(f"t: given an array of dimension {x.ndim}, expected at most 2; use swapaxes or mT")
    return ops.asarray(x) if x.ndim < 2 else matrix_transpose(x)


def adjoint(x: Any, /) -> Any:
    """The conjugate transposes of matrices (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.adjoint(lg.tensor([[1.0, 2.0j]])).tolist()
    [[(1-0j)], [-2j]]
    """
    need_matrix("adjoint", x.ndim)
    return ops.conj(matrix_transpose(x)) if ops.isdtype(x.dtype, "complex floating") else matrix_transpose(x)
