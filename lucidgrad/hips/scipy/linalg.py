"""SciPy's linear algebra: lucidgrad's functions under SciPy's arguments, and equations by rules written here."""

from typing import Any

import scipy.linalg as _source

import lucidgrad as lg

from .. import numpy as np
from ..boxes import lifted
from ..extend import defvjp, primitive
from ..namespace import door as _door

_SAME = {name: name for name in "det eigh eigvalsh inv solve svd svdvals".split()} | {"expm": "matrix_exp"}
_find, __dir__, __all__ = _door(__name__, _source, "lucidgrad.linalg", same=_SAME)


def __getattr__(name: str) -> Any:
    """A name when it is first asked for."""
    return _find(name)


def _solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    a, b = (x if isinstance(x, lg.Tensor) else lg.asarray(x) for x in (a, b))
    if trans not in (0, "N", 1, "T", 2, "C"):
        raise ValueError(f"solve_triangular: given trans={trans!r}, expected 0, 1, 2, 'N', 'T' or 'C'")
    if trans in (1, "T", 2, "C"):
        a, lower = (a.mT if trans in (1, "T") else a.mT.conj()), not lower
    vector = b.ndim == 1
    x = lg.linalg.solve_triangular(a, b[:, None] if vector else b, upper=not lower, unitriangular=unit_diagonal)
    return x[:, 0] if vector else x


def _cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return lg.linalg.cholesky(a, upper=not lower)


solve_triangular = lifted("solve_triangular", lambda: _solve_triangular, _source.solve_triangular)
cholesky = lifted("cholesky", lambda: _cholesky, _source.cholesky)
sqrtm, solve_sylvester, solve_banded = (
    primitive(getattr(_source, name)) for name in ("sqrtm", "solve_sylvester", "solve_banded")
)


def _pull_sylvester(number: int) -> Any:
    def maker(ans: Any, a: Any, b: Any, q: Any) -> Any:
        def vjp(g: Any) -> Any:
            u = solve_sylvester(np.transpose(a), np.transpose(b), g)
            return (-u @ np.transpose(ans), -np.transpose(ans) @ u, u)[number]

        return vjp

    return maker


def _pull_banded_matrix(ans: Any, l_and_u: Any, ab: Any, b: Any) -> Any:
    def vjp(g: Any) -> Any:
        u = _solve_transposed(l_and_u, ab, g)
        outer = -np.outer(u, ans) if np.ndim(ans) == 1 else -u @ np.transpose(ans)
        below, above = l_and_u
        rows = []
        for k in range(above, -below - 1, -1):  # the diagonals, as they are stored
            pad = (k, 0) if k >= 0 else (0, -k)
            rows.append(np.pad(np.diagonal(outer, k), pad, mode="constant"))
        return np.stack(rows)

    return vjp


def _solve_transposed(l_and_u: Any, ab: Any, g: Any) -> Any:
    """A system with the transpose of a matrix of which the diagonals are given."""
    below, above = l_and_u
    rows = []
    for k in range(below, -above - 1, -1):
        row, n = ab[above + k], np.shape(ab)[1]
        cut = row[: n - k] if k >= 0 else row[-k:]
        rows.append(np.pad(cut, (k, 0) if k >= 0 else (0, -k), mode="constant"))
    return solve_banded((above, below), np.stack(rows), g)


defvjp(sqrtm, lambda ans, a: lambda g: solve_sylvester(np.transpose(ans), np.transpose(ans), g))
defvjp(solve_sylvester, *map(_pull_sylvester, range(3)))
defvjp(
    solve_banded,
    None,
    _pull_banded_matrix,
    lambda ans, l_and_u, ab, b: lambda g: _solve_transposed(l_and_u, ab, g),
)
