"""Linear algebra of exact numbers, by mpmath; vectors are turned as those that were found.

Eigenvectors and singular vectors have a sign that nothing determines: the exact ones get that of the found ones.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

from .numbers import each, zeros


def _matrix(x: Any) -> Any:
    return mp.matrix(x.tolist())


def _array(m: Any) -> Any:
    made = zeros((m.rows, m.cols))
    for i, j in np.ndindex(m.rows, m.cols):
        made[i, j] = m[i, j]
    return made


def _stacked(function: Callable[..., Any], *xs: Any) -> Any:
    """A function of matrices on stacks of them."""
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in xs))
    xs = tuple(np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in xs)
    found = {at: function(*(x[at] for x in xs)) for at in np.ndindex(lead)}
    one = found[next(iter(found))]
    if isinstance(one, tuple):
        return tuple(_joined({at: parts[k] for at, parts in found.items()}, lead) for k in range(len(one)))
    return _joined(found, lead)


def _joined(found: dict[Any, Any], lead: tuple[int, ...]) -> Any:
    shape = np.shape(found[next(iter(found))])
    made = zeros((*lead, *shape))
    for at, part in found.items():
        made[at] = part
    return made


def inv(x: Any) -> Any:
    return _stacked(lambda a: _array(mp.inverse(_matrix(a))), x)


def det(x: Any) -> Any:
    return _stacked(lambda a: mp.det(_matrix(a)), x)


def slogdet(x: Any) -> Any:
    found = det(x)
    return each(lambda d: d / abs(d), found), each(lambda d: mp.log(abs(d)), found)


def cofactor(x: Any) -> Any:
    return _stacked(lambda a: mp.det(_matrix(a)) * _array(mp.inverse(_matrix(a))).T, x)


def _solved(a: Any, b: Any) -> Any:
    return _array(mp.inverse(_matrix(a)) * _matrix(b))


def solve(x1: Any, x2: Any) -> Any:
    if x2.ndim == 1:
        return _stacked(_solved, x1, x2[:, None])[..., 0]
    return _stacked(_solved, x1, x2)


def solve_triangular(x1: Any, x2: Any, *, upper: bool) -> Any:
    part = np.triu if upper else np.tril
    return solve(_stacked(lambda a: np.where(part(np.ones(a.shape)) > 0, a, mp.mpf(0)), x1), x2)


def cholesky(x: Any, *, upper: bool = False) -> Any:
    def of(a: Any) -> Any:
        found = _array(mp.cholesky(_matrix((a + each(mp.conj, a.T)) / 2)))
        return each(mp.conj, found.T) if upper else found

    return _stacked(of, x)


def _turned(vectors: Any, like: Any) -> Any:
    """Columns with the signs of others."""
    signs = [1 if sum(mp.re(v * float(np.real(o))) for v, o in zip(vectors[:, k], like[:, k], strict=True)) > 0 else -1
             for k in range(vectors.shape[1])]  # fmt: skip
    return vectors * np.array(signs, dtype=object)


def _hermitian(a: Any) -> tuple[Any, Any]:
    values, vectors = mp.eigsy(_matrix((a + a.T) / 2)) if _is_real(a) else mp.eighe(
        _matrix((a + each(mp.conj, a.T)) / 2))  # fmt: skip
    order = sorted(range(a.shape[0]), key=lambda k: values[k])
    return np.array([mp.re(values[k]) for k in order], dtype=object), _array(vectors)[:, order]


def _is_real(a: Any) -> bool:
    return not any(isinstance(v, mp.mpc) for v in a.ravel())


def eigh(x: Any, *, like: Any) -> Any:
    found = _stacked(_hermitian, x)
    return found[0], _stacked(_turned, found[1], like[1])


def eigvalsh(x: Any) -> Any:
    return _stacked(lambda a: _hermitian(a)[0], x)


def _general(a: Any, w: Any, v: Any) -> tuple[Any, Any]:
    """Eigenvalues in the order of those that were found."""
    values, vectors = mp.eig(_matrix(a))
    vectors = _array(vectors)
    order = [min(range(len(values)), key=lambda k: abs(values[k] - mp.mpmathify(complex(o)))) for o in w[:, 0]]
    columns = []
    for n, k in enumerate(order):
        column = vectors[:, k] / mp.sqrt(sum(abs(e) ** 2 for e in vectors[:, k]))
        largest = max(range(len(column)), key=lambda m: abs(v[m, n]))
        like = mp.mpmathify(complex(v[largest, n]))
        columns.append(column * (like / abs(like)) * (abs(column[largest]) / column[largest]))
    return np.array([mp.mpc(values[k]) for k in order], dtype=object), np.array(columns, dtype=object).T


def eig(x: Any, *, like: Any) -> Any:
    return _stacked(_general, x, like[0][..., None], like[1])


def _singular(a: Any) -> tuple[Any, Any, Any]:
    u, s, vh = (mp.svd_r if _is_real(a) else mp.svd_c)(_matrix(a))
    return _array(u), np.array([s[k] for k in range(len(s))], dtype=object), _array(vh)


def _same_direction(a: Any, b: Any) -> Any:
    """For each column 1 or -1, as a row."""
    return np.array([[mp.sign(sum(a[:, k] * b[:, k])) for k in range(a.shape[1])]], dtype=object)


def svd(x: Any, *, full_matrices: bool = True, like: Any) -> Any:
    u, s, vh = _stacked(_singular, x)
    if full_matrices and x.shape[-2] != x.shape[-1]:
        raise ValueError("vectors beyond the shorter side are any basis: full matrices are compared if they are square")
    turned = _stacked(_turned, u, like[0])
    signs = _stacked(_same_direction, turned, u)
    return turned, s, vh * np.swapaxes(signs, -1, -2)


def svdvals(x: Any) -> Any:
    return _stacked(lambda a: _singular(a)[1], x)


def pinv(x: Any, rtol: Any, atol: Any) -> Any:
    def of(a: Any) -> Any:
        turned = each(mp.conj, a.T)
        if a.shape[0] >= a.shape[1]:
            return _solved(turned @ a, turned)
        return turned @ _array(mp.inverse(_matrix(a @ turned)))

    return _stacked(of, x)


def _orthogonal(a: Any, q: Any, r: Any) -> tuple[Any, Any]:
    """Gram and Schmidt, with the signs of the found triangle's diagonal."""
    rows = min(a.shape)
    columns: list[Any] = []
    for k in range(rows):
        column = a[:, k]
        for _ in range(2):
            for other in columns:
                column = column - other * sum(each(mp.conj, other) * column)
        column = column / mp.sqrt(sum(abs(e) ** 2 for e in column))
        columns.append(column * (1 if float(np.real(r[k, k])) > 0 else -1))
    found = np.array(columns, dtype=object).T
    upper = each(mp.conj, found.T) @ a
    return found, np.where(np.triu(np.ones(upper.shape)) > 0, upper, mp.mpf(0))


def qr(x: Any, *, mode: str = "reduced", like: Any) -> Any:
    return _stacked(_orthogonal, x, like[0], like[1])


def matrix_exp(x: Any) -> Any:
    return _stacked(lambda a: _array(mp.expm(_matrix(a))), x)


def _eliminated(a: Any, order: Any) -> Any:
    """L and U in one matrix, the rows in an order."""
    a = a[[int(k) for k in order[:, 0]]].copy()
    for k in range(min(a.shape)):
        a[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] = a[k + 1 :, k + 1 :] - a[k + 1 :, k : k + 1] * a[k : k + 1, k + 1 :]
    return a


def packed_lu(x: Any, *, pivot: bool = True, like: Any) -> Any:
    return _stacked(_eliminated, x, like[2][..., None]), None, None


def _by_blocks(a: Any, pivots: Any) -> Any:
    """L and D in one matrix, by the pivots that were found."""
    a = np.where(np.tril(np.ones(a.shape)) > 0, a, each(mp.conj, a.T))
    y, k, n = zeros(a.shape), 0, len(a)
    while k < n:
        size = 1 if pivots[k, 0] > 0 else 2
        one, other = k + size - 1, abs(int(pivots[k, 0])) - 1
        order = list(range(n))
        order[one], order[other] = other, one
        a = a[order][:, order]
        block, below = a[k : k + size, k : k + size], a[k + size :, k : k + size]
        lower = below @ _array(mp.inverse(_matrix(block)))
        y[k : k + size, k : k + size] = np.where(np.tril(np.ones(block.shape)) > 0, block, mp.mpf(0))
        y[k + size :, k : k + size] = lower
        a = a.copy()
        a[k + size :, k + size :] = a[k + size :, k + size :] - lower @ a[k : k + size, k + size :]
        k += size
    return y


def packed_ldl(x: Any, *, hermitian: bool = False, like: Any) -> Any:
    return _stacked(_by_blocks, x, like[1][..., None]), None


FUNCTIONS = {
    f.__name__: f
    for f in (
        inv, det, slogdet, cofactor, solve, solve_triangular, cholesky, eigh, eigvalsh, eig, svd, svdvals, pinv, qr,
        matrix_exp, packed_lu, packed_ldl,
    )
}  # fmt: skip

#: Those that need to know the signs, or the pivots, of what was found.
LIKE = frozenset({"eigh", "eig", "svd", "qr", "packed_lu", "packed_ldl"})
