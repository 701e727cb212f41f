"""Linear algebra under PyTorch's and NumPy's names: values by other libraries or identities, gradients by differences.

An expression is text that PyTorch can read, too: where it is installed, it must give the same values and gradients.
"""

import inspect

import numpy as np
import pytest
import scipy.linalg
from golden import peer

import lucidgrad as lg

torch = peer("torch")

rng = np.random.default_rng(3)


def _draw(*shape, complex=False):
    return rng.normal(size=shape) + (1j * rng.normal(size=shape) if complex else 0)


def _definite(x):
    return x @ x.conj().mT / 4 + np.eye(x.shape[-1])


_m, _n = _draw(3, 3), _draw(2, 3, 3)
_h = _draw(3, 3, complex=True)

ARRAYS = {
    "A": _m,
    "As": _n,
    "C": _h,
    "S": _definite(_m),
    "Ss": _definite(_n),
    "H": _definite(_h),
    "I": _n + _n.mT - 3 * np.eye(3) * (_n + _n.mT),
    "T": _draw(4, 3),
    "W": _draw(2, 3, 5),
    "B": _draw(3, 2),
    "Bs": _draw(2, 3, 2),
    "Bc": _draw(3, 2, complex=True),
    "b": _draw(3),
    "u": _draw(4),
    "v": _draw(5),
    "X": _draw(2, 4, 5),
    "Y": _draw(2, 5, 3),
    "M": _draw(4, 3),
    "K": _draw(2, 3, 6) + 0.1,
    "K2": _draw(2, 3),
    "tau": np.asarray([1.3, 0.4, 0.0]),
    "low": np.stack([_m, np.outer(_m[0], _m[1]), 0 * _m]),
}


def adj(x):
    return np.conj(np.swapaxes(x, -1, -2))


def stacked(function, *arrays):
    """A function of matrices on a stack of them."""
    made = [function(*each) for each in zip(*arrays, strict=True)]
    return tuple(map(np.stack, zip(*made, strict=True))) if isinstance(made[0], tuple) else np.stack(made)


def _reflections(A, tau):
    """The first columns of the product of reflections, one by one."""
    y = np.eye(len(A))
    for k, scale in enumerate(tau):
        v = np.concatenate([np.zeros(k), [1.0], A[k + 1 :, k]])
        y = y @ (np.eye(len(A)) - scale * np.outer(v, v.conj()))
    return y


def _lu(a):
    return scipy.linalg.lu(a)


def _renormed(x, p, limit):
    sizes = np.linalg.norm(x, p, axis=1, keepdims=True)
    return np.where(sizes > limit, x * limit / (sizes + 1e-7), x)


def _triangle(x, upper, unit=False):
    x = np.triu(x) if upper else np.tril(x)
    return x - np.diag(np.diag(x)) + np.eye(len(x)) if unit else x


#: Expressions, and what they are by NumPy and SciPy.
EXPRESSIONS = {
    # -- factors
    "lg.linalg.lu(A)": lambda A: _lu(A),
    "lg.linalg.lu(T)": lambda T: _lu(T),
    "lg.linalg.lu(W)": lambda W: stacked(_lu, W),
    "lg.linalg.lu(C)": lambda C: _lu(C),
    "lg.linalg.lu_factor(A).LU": lambda A: scipy.linalg.lu_factor(A)[0],
    "lg.linalg.lu_factor_ex(T)": lambda T: (*_packed(T), 0),
    "lg.lu(As)[0]": lambda As: stacked(lambda a: scipy.linalg.lu_factor(a)[0], As),
    "lg.lu_unpack(*lg.linalg.lu_factor(A))": lambda A: _lu(A),
    "lg.linalg.lu_solve(*lg.linalg.lu_factor(As), Bs)": np.linalg.solve,
    "lg.linalg.lu_solve(*lg.linalg.lu_factor(A), Bs)": np.linalg.solve,
    "lg.linalg.lu_solve(*lg.linalg.lu_factor(C), Bc, adjoint=True)": lambda C, Bc: np.linalg.solve(adj(C), Bc),
    "lg.linalg.lu_solve(*lg.linalg.lu_factor(As), Bs.mT, left=False)": lambda As, Bs: adj(np.linalg.solve(adj(As), Bs)),
    "lg.lu_solve(B, *lg.lu(A))": lambda B, A: np.linalg.solve(A, B),
    "B.lu_solve(*A.lu())": lambda B, A: np.linalg.solve(A, B),
    "lg.linalg.ldl_solve(*lg.linalg.ldl_factor(I), Bs)": np.linalg.solve,
    "lg.linalg.ldl_solve(*lg.linalg.ldl_factor(H, hermitian=True), Bc, hermitian=True)": np.linalg.solve,
    "lg.geqrf(T)": lambda T: scipy.linalg.qr(T, mode="raw")[0],
    "lg.geqrf(C)": lambda C: scipy.linalg.qr(C, mode="raw")[0],
    "lg.linalg.householder_product(T, tau)": lambda T, tau: _reflections(T, tau)[:, :3],
    "lg.orgqr(T, tau)": lambda T, tau: _reflections(T, tau)[:, :3],
    "lg.ormqr(T, tau, M)": lambda T, tau, M: _reflections(T, tau) @ M,
    "T.ormqr(tau, M, True, True)": lambda T, tau, M: _reflections(T, tau).T @ M,
    "T.ormqr(tau, M.mT, False, True)": lambda T, tau, M: M.T @ _reflections(T, tau).T,
    "lg.qr(T)": lambda T: np.linalg.qr(T),
    "T.qr()": lambda T: np.linalg.qr(T),
    "lg.linalg.qr(T, mode='r').R": lambda T: np.linalg.qr(T)[1],
    "lg.svd(T)[1]": lambda T: np.linalg.svd(T)[1],
    "(lambda p: p.U * p.S @ p.V.mT)(lg.svd(T))": lambda T: T,
    "lg.svd(W, compute_uv=False).S": lambda W: np.linalg.svd(W)[1],
    "T.svd(some=False)[0].shape[-1] + T.svd().S": lambda T: 4 + np.linalg.svd(T)[1],
    "lg.linalg.svd(T, full_matrices=False).S": lambda T: np.linalg.svd(T)[1],
    "lg.linalg.svdvals(W)": lambda W: np.linalg.svd(W)[1],
    "lg.cholesky(S)": np.linalg.cholesky,
    "S.cholesky(True)": lambda S: adj(np.linalg.cholesky(S)),
    "lg.linalg.cholesky_ex(Ss)": lambda Ss: (np.linalg.cholesky(Ss), [0, 0]),
    "lg.linalg.cholesky_ex(H, upper=True).L": lambda H: adj(np.linalg.cholesky(H)),
    "lg.linalg.eigvalsh(A + A.mT, UPLO='U')": lambda A: np.linalg.eigvalsh(A + A.T),
    "lg.linalg.eigh(lg.triu(S), 'U').eigenvalues.sum() + 0 * S": lambda S: np.trace(S) + 0 * S,
    # -- equations
    "lg.linalg.solve(As, Bs.mT, left=False)": lambda As, Bs: adj(np.linalg.solve(adj(As), Bs)),
    "lg.linalg.solve_ex(As, Bs)": lambda As, Bs: (np.linalg.solve(As, Bs), [0, 0]),
    "lg.linalg.inv_ex(A)": lambda A: (np.linalg.inv(A), 0),
    "lg.linalg.solve_triangular(A, B, upper=True)": lambda A, B: np.linalg.solve(np.triu(A), B),
    "lg.linalg.solve_triangular(As, B, upper=False)": lambda As, B: np.linalg.solve(np.tril(As), B),
    "lg.linalg.solve_triangular(A, B.mT, upper=False, left=False)": lambda A, B: np.linalg.solve(np.tril(A).T, B).T,
    "lg.linalg.solve_triangular(C, Bc, upper=True, unitriangular=True)": lambda C, Bc: np.linalg.solve(
        _triangle(C, True, True), Bc
    ),
    "lg.triangular_solve(B, A)": lambda B, A: (np.linalg.solve(np.triu(A), B), A),
    "B.triangular_solve(A, False, True, True).solution": lambda B, A: np.linalg.solve(_triangle(A, False, True).T, B),
    "lg.cholesky_solve(B, lg.tril(A))": lambda B, A: np.linalg.solve(np.tril(A) @ np.tril(A).T, B),
    "lg.cholesky_solve(Bs, lg.triu(A), upper=True)": lambda Bs, A: np.linalg.solve(np.triu(A).T @ np.triu(A), Bs),
    "Bc.cholesky_solve(lg.tril(C))": lambda Bc, C: np.linalg.solve(np.tril(C) @ adj(np.tril(C)), Bc),
    "lg.cholesky_inverse(lg.tril(A))": lambda A: np.linalg.inv(np.tril(A) @ np.tril(A).T),
    "lg.triu(A).cholesky_inverse(upper=True)": lambda A: np.linalg.inv(np.triu(A).T @ np.triu(A)),
    "lg.linalg.tensorinv(K.reshape(6, 2, 3), ind=1)": lambda K: np.linalg.tensorinv(K.reshape(6, 2, 3), 1),
    "lg.linalg.tensorinv(K)": np.linalg.tensorinv,
    "lg.linalg.tensorsolve(K, K2)": np.linalg.tensorsolve,
    "lg.linalg.tensorsolve(K.movedim(2, 0), K2, dims=(0,))": lambda K, K2: np.linalg.tensorsolve(K, K2),
    "lg.linalg.lstsq(T, M).solution": lambda T, M: np.linalg.lstsq(T, M)[0],
    "lg.linalg.lstsq(T, u.reshape(4, 1), driver='gelsd')": lambda T, u: np.linalg.lstsq(T, u[:, None]),
    "lg.linalg.lstsq(X.mT, v.reshape(5, 1)).solution": lambda X, v: np.linalg.pinv(adj(X)) @ v[:, None],
    "lg.linalg.lstsq(X, X[..., 0]).solution": lambda X: (np.linalg.pinv(X) @ X[..., :1])[..., 0],
    # -- functions
    "lg.det(As)": np.linalg.det,
    "A.det()": np.linalg.det,
    "lg.slogdet(A)": np.linalg.slogdet,
    "As.slogdet().logabsdet": lambda As: np.linalg.slogdet(As)[1],
    "lg.logdet(S)": lambda S: np.log(np.linalg.det(S)),
    "lg.logdet(C)": lambda C: np.log(np.linalg.det(C)),
    "Ss.logdet()": lambda Ss: np.log(np.linalg.det(Ss)),
    "lg.inverse(As)": np.linalg.inv,
    "C.inverse()": np.linalg.inv,
    "lg.pinverse(T)": np.linalg.pinv,
    "W.pinverse()": np.linalg.pinv,
    "lg.linalg.pinv(S, hermitian=True)": np.linalg.inv,
    "lg.linalg.pinv(T, atol=1e-3)": np.linalg.pinv,
    "lg.linalg.pinv(H, hermitian=True, rtol=1e-3)": np.linalg.pinv,
    "lg.linalg.matrix_rank(low)": lambda low: [3, 1, 0],
    "lg.linalg.matrix_rank(S, hermitian=True)": lambda S: 3,
    "lg.linalg.matrix_rank(low, atol=1e-3, rtol=1e-3)": lambda low: [3, 1, 0],
    "lg.linalg.matrix_rank(low, 100.0)": lambda low: [0, 0, 0],
    "lg.matrix_exp(A)": scipy.linalg.expm,
    "C.matrix_exp()": scipy.linalg.expm,
    "lg.matrix_power(A, 3)": lambda A: A @ A @ A,
    "A.matrix_power(-2)": lambda A: np.linalg.inv(A @ A),
    "lg.linalg.vander(b)": lambda b: np.vander(b, increasing=True),
    "lg.linalg.vander(B, N=4)": lambda B: stacked(lambda row: np.vander(row, 4, increasing=True), B),
    "lg.linalg.diagonal(X, offset=1, dim1=0, dim2=2)": lambda X: np.diagonal(X, 1, 0, 2),
    # -- norms
    "lg.linalg.norm(T)": np.linalg.norm,
    "lg.linalg.norm(X)": lambda X: np.linalg.norm(X.ravel()),
    "lg.linalg.norm(b, 3)": lambda b: np.linalg.norm(b, 3),
    "lg.linalg.norm(T, 'nuc')": lambda T: np.linalg.norm(T, "nuc"),
    "lg.linalg.norm(T, 2)": lambda T: np.linalg.norm(T, 2),
    "lg.linalg.norm(X, -2, dim=(0, 2))": lambda X: np.linalg.norm(X, -2, (0, 2)),
    "lg.linalg.norm(X, 1, dim=(2, 0), keepdim=True)": lambda X: np.linalg.norm(X, 1, (2, 0), True),
    "lg.linalg.norm(X, float('inf'), dim=1)": lambda X: np.linalg.norm(X, np.inf, 1),
    "lg.linalg.norm(X, dim=(1, 2))": lambda X: np.linalg.norm(X, None, (1, 2)),
    "lg.linalg.matrix_norm(X, 'nuc', (0, 1), True)": lambda X: np.linalg.norm(X, "nuc", (0, 1), True),
    "lg.linalg.matrix_norm(C, float('inf'))": lambda C: np.linalg.norm(C, np.inf),
    "lg.linalg.vector_norm(X, 3, (0, 2), keepdim=True)": lambda X: np.linalg.vector_norm(
        X, ord=3, axis=(0, 2), keepdims=True
    ),
    "lg.linalg.cond(A)": np.linalg.cond,
    "lg.linalg.cond(As, 1)": lambda As: np.linalg.cond(As, 1),
    "lg.linalg.cond(A, 'nuc')": lambda A: np.linalg.cond(A, "nuc"),
    "lg.renorm(T, 2, 0, 1.0)": lambda T: _renormed(T, 2, 1.0),
    "T.renorm(3, 0, 0.5)": lambda T: _renormed(T, 3, 0.5),
    # -- products
    "lg.linalg.multi_dot([T, A, B])": lambda T, A, B: T @ A @ B,
    "lg.linalg.multi_dot([b, A, B, B.mT, b])": lambda b, A, B: b @ A @ B @ B.T @ b,
    "lg.chain_matmul(T, A, B)": lambda T, A, B: T @ A @ B,
    "lg.addbmm(M, X, Y, beta=2, alpha=3)": lambda M, X, Y: 2 * M + 3 * (X @ Y).sum(0),
    "M.addbmm(X, Y)": lambda M, X, Y: M + (X @ Y).sum(0),
    "M.addbmm_(X, Y)": lambda M, X, Y: M + (X @ Y).sum(0),
    "lg.addmv(u, T, b, beta=0, alpha=3)": lambda u, T, b: 3 * T @ b,
    "u.addmv(T, b)": lambda u, T, b: u + T @ b,
    "lg.addr(M, u, b, beta=2, alpha=3)": lambda M, u, b: 2 * M + 3 * np.outer(u, b),
    "M.addr(u, b)": lambda M, u, b: M + np.outer(u, b),
    "lg.ger(u, b)": np.outer,
    "u.ger(b)": np.outer,
    "lg.trapz(T, dim=0)": lambda T: np.trapezoid(T, axis=0),
    "lg.cumulative_trapezoid(T, dim=0)": lambda T: (T[1:] + T[:-1]).cumsum(0) / 2,
    "lg.cumulative_trapezoid(T, b.cumsum(0))": lambda T, b: ((T[:, 1:] + T[:, :-1]) * b[1:] / 2).cumsum(-1),
}

#: Matrices that count as Hermitian: differences are taken among such.
HERMITIAN = ("S", "Ss", "H", "I")

#: Where PyTorch's has another meaning, or no gradient, or does not exist.
NOT_TORCHS = {
    "lg.linalg.qr(T, mode='r').R": "it has no gradient there",
    "lg.geqrf": "it has no gradient there",
    "ldl": "it has no gradient there",
    "lg.linalg.lstsq(T, u.reshape(4, 1), driver='gelsd')": "its singular values have no gradient there",
    "M.addbmm_(X, Y)": "a leaf can't be written into",
    "tau": "its gradient does not know that the upper triangle does not count",
    "lg.linalg.cond(As, 1)": "its gradient fails on a write of its own",
    "(H": "its gradient is not Hermitian",
}


def _packed(a):
    lower, upper = scipy.linalg.lu(a, permute_l=False)[1:]
    packed = np.tril(lower, -1)
    packed[: upper.shape[0]] += upper
    order = np.argmax(scipy.linalg.lu(a)[0], axis=0)
    rows, pivots = list(range(len(a))), []
    for k in range(min(a.shape)):
        at = rows.index(order[k])
        rows[k], rows[at] = rows[at], rows[k]
        pivots.append(at + 1)
    return packed, pivots


def _names(expression):
    return [name for name in ARRAYS if name in _words(expression)]


def _words(expression):
    text = "".join(c if c.isalnum() or c == "_" else " " for c in expression.replace("lg.", "").replace(".mT", ""))
    return text.split()


def _evaluated(space, expression, given):
    y = eval(expression, {"lg": space}, given)
    return list(y) if isinstance(y, (tuple, list)) else [y]


def _ours(expression, requires_grad=True):
    given = {name: lg.tensor(ARRAYS[name]) for name in _names(expression)}
    for x in given.values():
        x.requires_grad_(requires_grad)
    return given


def _is_live(y):
    return y.dtype in (lg.float64, lg.complex128) and y.size


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values(expression):
    given = _ours(expression, requires_grad=False)
    reference = EXPRESSIONS[expression]
    by_name = getattr(reference, "__name__", "") == "<lambda>"  # others take the arrays in the order of the text
    order = inspect.signature(reference).parameters if by_name else sorted(given, key=_words(expression).index)
    expected = reference(*(ARRAYS[name] for name in order))
    found = _evaluated(lg, expression, given)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(found) == len(expected)
    for y, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-9, atol=1e-9)
        assert y.shape == np.shape(wanted)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gradients(expression):
    given = _ours(expression)
    if "_(" in expression or not any(_is_live(y) for y in _evaluated(lg, expression, given)):
        return

    def function(*xs):
        prepared = {n: (x + lg.conj(x.mT)) / 2 if n in HERMITIAN else x for n, x in zip(given, xs, strict=True)}
        found = _evaluated(lg, expression, prepared)
        return tuple(y for y in found if _is_live(y) and y.requires_grad)

    if any(map(_is_live, function(*given.values()))):
        assert lg.autograd.gradcheck(function, tuple(given.values()), fast_mode=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_beside_torch(expression):
    if "X.mT, v" in expression:
        pytest.skip("PyTorch's batches of matrices do not broadcast there")
    given = _ours(expression)
    differs = any(part in expression for part in NOT_TORCHS)
    theirs = {name: torch.tensor(ARRAYS[name], requires_grad=not differs) for name in given}
    if "_(" in expression:
        given = {name: x * 1 for name, x in given.items()}
        theirs = {name: x * 1 for name, x in theirs.items()}
    found, wanted = _evaluated(lg, expression, given), _evaluated(torch, expression, theirs)
    assert len(found) == len(wanted)
    losses = [0, 0]
    for k, (y, z) in enumerate(zip(found, wanted, strict=True)):
        assert tuple(y.shape) == tuple(z.shape) and str(y.dtype) == str(z.dtype).removeprefix("torch.")
        np.testing.assert_allclose(y.detach().numpy(), z.detach().resolve_conj().numpy(), rtol=1e-8, atol=1e-8)
        if not differs and z.requires_grad and y.size:
            weights = np.random.default_rng(k).normal(size=tuple(y.shape))
            losses[0] = losses[0] + (lg.real(y) * lg.tensor(weights)).sum()
            losses[1] = losses[1] + (z.real * torch.tensor(weights)).sum()
    if isinstance(losses[0], int):
        return
    pairs = [(given[name], theirs[name]) for name in given if theirs[name].requires_grad]
    ours = lg.autograd.grad(losses[0], [x for x, _ in pairs], allow_unused=True)
    peers = torch.autograd.grad(losses[1], [x for _, x in pairs], allow_unused=True)
    for g, h in zip(ours, peers, strict=True):
        if g is not None and h is not None:  # absent is zero
            np.testing.assert_allclose(g.numpy(), h.resolve_conj().numpy(), rtol=1e-7, atol=1e-7)


def test_matrices_without_elements():
    for rows, columns in ((0, 0), (0, 3), (3, 0)):
        a, tau = lg.geqrf(lg.ones((2, rows, columns)))
        assert a.shape == (2, rows, columns) and tau.shape == (2, 0)
        assert [y.shape[-1] for y in lg.linalg.lu(a)] == [rows, 0, columns]
    none = lg.ones((2, 0, 0))
    assert lg.linalg.ldl_factor(none).pivots.shape == (2, 0) and lg.matrix_exp(none).shape == (2, 0, 0)
    assert lg.linalg.cholesky_ex(none).info.tolist() == lg.linalg.inv_ex(none).info.tolist() == [0, 0]


# -- spaces ----------------------------------------------------------------------------------------
def test_lobpcg():
    x = ARRAYS["T"] @ ARRAYS["T"].T
    a, b = _definite(_draw(6, 6)), _definite(_draw(6, 6))
    for largest in (True, False):
        values, vectors = lg.lobpcg(lg.tensor(a), 2, lg.tensor(b), largest=largest)
        expected = scipy.linalg.eigh(a, b)[0]
        np.testing.assert_allclose(values.numpy(), expected[::-1][:2] if largest else expected[:2], rtol=1e-10)
        np.testing.assert_allclose(a @ vectors.numpy(), b @ vectors.numpy() * values.numpy(), atol=1e-9)
    leaf = lg.tensor(x, requires_grad=True)
    assert lg.autograd.gradcheck(lambda x: lg.lobpcg((x + x.mT) / 2)[0], (leaf,))
    with pytest.raises(ValueError, match="a third of the rows"):
        lg.lobpcg(leaf, k=2)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (2, 5, 5)])
def test_low_ranks(shape):
    *lead, rows, columns = shape
    x = _draw(*lead, rows, 2) @ _draw(*lead, 2, columns)
    u, s, v = lg.svd_lowrank(lg.tensor(x), q=3)
    np.testing.assert_allclose((u * s[..., None, :] @ v.mT).numpy(), x, atol=1e-10)
    np.testing.assert_allclose(s[..., :2].numpy(), np.linalg.svd(x)[1][..., :2], rtol=1e-9)
    s = lg.pca_lowrank(lg.tensor(x), q=2).S
    np.testing.assert_allclose(s.numpy(), np.linalg.svd(x - x.mean(-2, keepdims=True))[1][..., :2], rtol=1e-8)
    np.testing.assert_allclose(lg.svd_lowrank(lg.tensor(x), 2, M=lg.tensor(x)).S.numpy(), 0, atol=1e-12)


# -- functions of functions ----------------------------------------------------------------------------
def _own(x):
    """A positive definite matrix made of another."""
    return x @ x.mT + lg.eye(3, dtype=lg.float64)


_B = lg.tensor(ARRAYS["B"])

FUNCTIONS = {
    "lu_factor": lambda x: lg.linalg.lu_factor(x).LU,
    "lu_solve": lambda x: lg.linalg.lu_solve(*lg.linalg.lu_factor(x), _B),
    "ldl_solve": lambda x: lg.linalg.ldl_solve(*lg.linalg.ldl_factor(_own(x)), _B),
    "inv_ex": lambda x: lg.linalg.inv_ex(x).inverse,
    "cholesky_ex": lambda x: lg.linalg.cholesky_ex(_own(x)).L,
    "matrix_exp": lambda x: lg.matrix_exp(x),
    "geqrf": lambda x: lg.geqrf(x).a,
    "ormqr": lambda x: lg.ormqr(x, x[0], _B),
    "lstsq": lambda x: lg.linalg.lstsq(x, _B).solution,
    "cond": lambda x: lg.linalg.cond(x, 1),
    "norm": lambda x: lg.linalg.norm(x, "nuc"),
    "pinv": lambda x: lg.linalg.pinv(_own(x), hermitian=True),
    "vander": lambda x: lg.linalg.vander(x),
    "multi_dot": lambda x: lg.linalg.multi_dot([x, _B, _B.mT, x[0]]),
    "lobpcg": lambda x: lg.lobpcg(_own(x))[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batches_and_tangents(name):
    f, xs = FUNCTIONS[name], lg.tensor(_draw(3, 3, 3))
    np.testing.assert_allclose(lg.func.vmap(f)(xs).numpy(), np.stack([f(x).numpy() for x in xs]), rtol=1e-9, atol=1e-9)
    forward, reverse = lg.func.jacfwd(f)(xs[0]), lg.func.jacrev(f)(xs[0])
    np.testing.assert_allclose(forward.numpy(), reverse.numpy(), rtol=1e-7, atol=1e-7)


# -- what goes wrong -----------------------------------------------------------------------------------
SINGULAR = lg.asarray([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 3.0]]])


def test_failures_are_numbers():
    info = [
        lg.linalg.inv_ex(SINGULAR).info,
        lg.linalg.lu_factor_ex(SINGULAR).info,
        lg.linalg.cholesky_ex(SINGULAR).info,
    ]
    info.append(lg.linalg.solve_ex(SINGULAR, lg.ones((2, 1))).info)
    assert [i.tolist() for i in info] == [[2, 0]] * 4
    assert lg.linalg.ldl_factor_ex(lg.stack([SINGULAR[0] * 0, SINGULAR[1]])).info.tolist() == [1, 0]
    y = lg.linalg.inv_ex(SINGULAR).inverse
    assert lg.isnan(y[0]).all() and y[1].tolist() == [[0.5, 0.0], [0.0, 1 / np.float32(3)]]
    assert lg.isnan(lg.linalg.solve_ex(SINGULAR, lg.ones(2)).result[0]).all()
    assert lg.linalg.cond(SINGULAR, 1).tolist() == [np.inf, 1.5]
    for name in ("inv_ex", "cholesky_ex", "lu_factor_ex"):
        with pytest.raises(lg.linalg.LinAlgError, match=f"{name}: info is 2"):
            getattr(lg.linalg, name)(SINGULAR, check_errors=True)
    with pytest.raises(RuntimeError, match="lu_factor: info is 2"):
        lg.linalg.lu_factor(SINGULAR)
    assert lg.func.vmap(lambda x: lg.linalg.lu_factor(x).LU)(SINGULAR).shape == (2, 2, 2)


def test_failures_leave_the_gradients_of_others():
    x = lg.tensor(SINGULAR, requires_grad=True)
    lg.linalg.inv_ex(x).inverse[1].sum().backward()
    assert x.grad[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert lg.logdet(-lg.eye(3)).isnan().item() and lg.logdet(lg.zeros((2, 2))).item() == -np.inf


WRONG = {
    "lg.linalg.eigh(A, UPLO='X')": ValueError,
    "lg.linalg.svd(A, driver='no')": RuntimeError,
    "lg.linalg.lstsq(A, B, driver='no')": RuntimeError,
    "lg.linalg.norm(X, 2)": ValueError,
    "lg.linalg.norm(A, 'fro', dim=0)": ValueError,
    "lg.linalg.norm(A, 3)": ValueError,
    "lg.linalg.matrix_norm(A, dim=(0, 0))": ValueError,
    "lg.linalg.multi_dot([A])": RuntimeError,
    "lg.linalg.multi_dot([A, b, A])": RuntimeError,
    "lg.linalg.multi_dot([A, T])": RuntimeError,
    "lg.linalg.vander(b, N=1)": RuntimeError,
    "lg.linalg.solve_triangular(A, b, upper=True)": RuntimeError,
    "lg.linalg.solve_triangular(A, T, upper=True)": RuntimeError,
    "lg.linalg.householder_product(W, tau)": RuntimeError,
    "lg.linalg.lu(b)": RuntimeError,
    "lg.linalg.lu_solve(A, lg.asarray([1, 2, 3]), B)": RuntimeError,
    "lg.linalg.tensorinv(A, ind=0)": RuntimeError,
    "lg.linalg.tensorsolve(A, T)": RuntimeError,
    "lg.linalg.matrix_exp(T)": ValueError,
    "lg.cholesky_solve(b, A)": RuntimeError,
    "lg.ormqr(T, tau, A)": RuntimeError,
    "lg.renorm(T, -1, 0, 1.0)": RuntimeError,
    "lg.renorm(T, 2, 0, -1.0)": RuntimeError,
    "lg.addr(M, u, T)": ValueError,
    "lg.addbmm(M, X, X)": RuntimeError,
}


@pytest.mark.parametrize("expression", WRONG)
def test_errors_name_the_function(expression):
    name = expression.partition("(")[0].rpartition(".")[2]
    with pytest.raises(WRONG[expression], match=rf"^({name}|matrix_norm): given|^{name}: "):
        _evaluated(lg, expression, _ours(expression))


def test_exchanges_of_rows_and_pairs_on_cuda():
    for name in ("As", "I", "W"):
        x = lg.tensor(ARRAYS[name], device="cuda", requires_grad=True)
        z = lg.tensor(ARRAYS[name], requires_grad=True)
        for leaf in (x, z):
            y = lg.linalg.lu(leaf).U.sum() + (lg.linalg.ldl_factor(leaf).LD.sum() if name == "I" else 0)
            (y + (lg.matrix_exp(leaf).sum() if name == "As" else 0)).backward()
        np.testing.assert_allclose(x.grad.numpy(force=True), z.grad.numpy(), rtol=1e-9, atol=1e-9)
