"""Decompositions and norms against NumPy, differences and identities; where matrices are degenerate too."""

import inspect

import numpy as np
import pytest
from finite import check_orders, close, grad, leaves, numbers

import lucidgrad as lg
from lucidgrad import linalg

INF = float("inf")
ORDERS = ["fro", "nuc", 1, -1, 2, -2, INF, -INF]
SHAPES = [(3, 3), (3, 2), (2, 3), (2, 3, 2)]


def adjoint(x):
    return lg.conj(x.mT)


def hermitian(x):
    return (x + adjoint(x)) / 2


def weighted(*parts):
    """A number that depends on all elements of arrays, each in its own way."""
    total = lg.tensor(0.0, dtype=lg.float64)
    for k, x in enumerate(parts):
        total = total + (x * lg.tensor(np.random.default_rng([k, *x.shape]).normal(size=x.shape))).sum()
    return total


# -- values and names ----------------------------------------------------------------------------
def test_results_have_the_names_of_the_standard():
    x = lg.tensor(numbers(2, 3, 3))
    for name, fields in {
        "eigh": ("eigenvalues", "eigenvectors"),
        "eig": ("eigenvalues", "eigenvectors"),
        "qr": ("Q", "R"),
        "slogdet": ("sign", "logabsdet"),
        "svd": ("U", "S", "Vh"),
    }.items():
        assert getattr(linalg, name)(x)._fields == fields


def test_the_whole_extension_with_its_signatures():
    signatures = {
        "cholesky": "(x, /, upper=False)",
        "det": "(x, /)",
        "diagonal": "(x, /, *, offset=0, dim1=-2, dim2=-1)",
        "eig": "(x, /)",
        "eigh": "(x, /, UPLO='L')",
        "eigvals": "(x, /)",
        "eigvalsh": "(x, /, UPLO='L')",
        "inv": "(x, /)",
        "matmul": "(x1, x2, /)",
        "matrix_norm": "(x, /, ord='fro', axis=(-2, -1), keepdims=False, *, dtype=None)",
        "matrix_power": "(x, n, /)",
        "matrix_rank": "(x, /, tol=None, hermitian=False, *, rtol=None, atol=None)",
        "matrix_transpose": "(x, /)",
        "outer": "(x1, x2, /)",
        "pinv": "(x, /, rcond=None, hermitian=False, *, rtol=None, atol=None)",
        "qr": "(x, /, *, mode='reduced')",
        "slogdet": "(x, /)",
        "solve": "(x1, x2, /, *, left=True)",
        "svd": "(x, /, full_matrices=True, *, driver=None)",
        "svdvals": "(x, /, *, driver=None)",
        "trace": "(x, /, *, offset=0, dtype=None)",
        "vector_norm": "(x, /, ord=2, axis=None, keepdims=False, *, dtype=None)",
    }
    for name, expected in signatures.items():
        signature = inspect.signature(getattr(linalg, name))
        bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        assert str(signature.replace(parameters=bare, return_annotation=signature.empty)) == expected, name
    assert {"cross", "tensordot", "vecdot"} <= set(linalg.__all__)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("complex", [False, True])
def test_factors_multiply_to_the_matrix(shape, complex):
    x = lg.tensor(numbers(*shape, complex=complex))
    k = min(shape[-2:])
    for full in (False, True):
        u, s, vh = linalg.svd(x, full_matrices=full)
        assert u.shape[-1] == (shape[-2] if full else k) and vh.shape[-2] == (shape[-1] if full else k)
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x.numpy())
        close(linalg.svdvals(x), s.numpy())
    for mode, size in (("reduced", k), ("complete", shape[-2])):
        q, r = linalg.qr(x, mode=mode)
        assert q.shape == (*shape[:-1], size)
        close(q @ r, x.numpy())
        close(adjoint(q) @ q, np.broadcast_to(np.eye(size), (*shape[:-2], size, size)))
    y = linalg.pinv(x)
    close(y, np.linalg.pinv(x.numpy()))


@pytest.mark.parametrize("complex", [False, True])
def test_eigenvectors_keep_their_direction(complex):
    x = lg.tensor(numbers(2, 3, 3, complex=complex))
    w, v = linalg.eig(x)
    assert w.dtype == v.dtype == lg.complex128
    close(x @ v, (v * w[..., None, :]).numpy())
    close(linalg.eigvals(x), w.numpy())
    w, v = linalg.eigh(hermitian(x))
    assert w.dtype == lg.float64
    close(hermitian(x) @ v, (v * w[..., None, :]).numpy())
    close(linalg.eigvalsh(hermitian(x)), w.numpy())


def test_eigenvalues_are_complex_even_where_they_are_real():
    w, v = linalg.eig(lg.eye(2))
    assert w.dtype == v.dtype == lg.complex64


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("keepdims", [False, True])
def test_matrix_norm(order, keepdims):
    for complex in (False, True):
        x = numbers(2, 3, 2, complex=complex)
        y = linalg.matrix_norm(lg.tensor(x), ord=order, keepdims=keepdims)
        close(y, np.linalg.matrix_norm(x, ord=order, keepdims=keepdims))
    check_orders(lambda x: linalg.matrix_norm(x, ord=order, keepdims=keepdims), numbers(2, 3, 2))


@pytest.mark.parametrize("order", ["fro", "nuc", 1, 2, INF])
def test_norm_of_an_empty_matrix_is_zero(order):
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3)):
        close(linalg.matrix_norm(lg.zeros(shape), ord=order), np.zeros(shape[:-2]))


@pytest.mark.parametrize("p", [None, 2, -2, 1, "fro", INF])
def test_cond(p):
    x = numbers(2, 3, 3)
    close(linalg.cond(lg.tensor(x), p), np.linalg.cond(x, p))
    check_orders(lambda x: linalg.cond(x, p), numbers(2, 2) + 3 * np.eye(2))


@pytest.mark.parametrize(("first", "second"), [((3, 2), (3,)), ((3, 2), (3, 2)), ((2, 3), (2,)), ((2, 2), (2, 1))])
def test_lstsq(first, second):
    for complex in (False, True):
        a, b = numbers(*first, complex=complex) + 3 * np.eye(*first), numbers(*second, complex=complex)
        for found, expected in zip(linalg.lstsq(lg.tensor(a), lg.tensor(b)), np.linalg.lstsq(a, b)):
            close(found, expected)
    a, b = numbers(*first) + 3 * np.eye(*first), numbers(*second)
    check_orders(lambda a, b: linalg.lstsq(a, b).solution, a, b)
    if first[0] > first[1]:
        check_orders(lambda a, b: linalg.lstsq(a, b).residuals, a, b)


def test_lstsq_of_a_smaller_rank():
    a, b = numbers(3, 1) @ numbers(1, 2), numbers(3)
    for found, expected in zip(linalg.lstsq(lg.tensor(a), lg.tensor(b), 1e-9), np.linalg.lstsq(a, b, 1e-9)):
        close(found, expected)
    with pytest.raises(ValueError, match="lstsq: given arrays of shape"):
        linalg.lstsq(lg.ones((3, 2)), lg.ones(2))


def test_rank_and_tolerance():
    x = np.stack([np.diag([1.0, 1e-3, 0.0]), np.diag([2.0, 1.0, 1e-9]), np.zeros((3, 3))])
    assert linalg.matrix_rank(lg.tensor(x)).tolist() == [2, 3, 0]
    assert linalg.matrix_rank(lg.tensor(x), rtol=1e-6).tolist() == [2, 2, 0]
    rtol = lg.tensor([1e-2, 0.9, 0.5], dtype=lg.float64)
    assert linalg.matrix_rank(lg.tensor(x), rtol=rtol).tolist() == [1, 1, 0]
    close(linalg.pinv(lg.tensor(x), rtol=rtol), np.linalg.pinv(x, rtol=rtol.numpy()))
    assert linalg.matrix_rank(lg.tensor(x)).dtype == lg.int64
    (leaf,) = leaves([x])
    assert not linalg.matrix_rank(leaf).requires_grad
    assert linalg.matrix_rank(lg.zeros((2, 0, 3))).tolist() == [0, 0]
    assert linalg.pinv(lg.zeros((2, 0, 3))).shape == (2, 3, 0)


# -- derivatives ---------------------------------------------------------------------------------
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("shape", [*SHAPES, (1, 3), (2, 1)])
def test_qr(shape, complete):
    if complete and shape[-2] > shape[-1]:
        return
    mode = "complete" if complete else "reduced"
    check_orders(lambda x: linalg.qr(x, mode=mode).Q, numbers(*shape))
    check_orders(lambda x: linalg.qr(x, mode=mode).R, numbers(*shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape):
    for part in ("U", "S", "Vh"):
        check_orders(lambda x, part=part: getattr(linalg.svd(x, full_matrices=False), part), numbers(*shape))
    check_orders(linalg.svdvals, numbers(*shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_pinv(shape):
    check_orders(linalg.pinv, numbers(*shape))


def test_pinv_of_matrices_of_a_smaller_rank():
    check_orders(lambda x1, x2: linalg.pinv(x1 @ x2, rtol=1e-8), numbers(3, 1), numbers(1, 2))
    check_orders(lambda x1, x2: linalg.pinv(x1 @ x2, rtol=1e-8), numbers(2, 1), numbers(1, 3))


# Functions of complex matrices that no phase of a vector changes.
def _of_eigh(x):
    w, v = linalg.eigh(hermitian(x))
    first = v[..., :1] @ adjoint(v[..., :1])
    return weighted(w**2, lg.abs(v) ** 2, lg.real(first), lg.imag(first))


def _of_eig(x):
    w, v = linalg.eig(x)
    first = v[..., :1] @ adjoint(v[..., :1])
    return weighted(lg.real(w), lg.imag(w), lg.abs(v) ** 2, lg.real(first), lg.imag(first))


def _of_svd(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    first = u[..., :1] @ vh[..., :1, :]
    return weighted(s**2, lg.abs(u) ** 2, lg.abs(vh) ** 2, lg.real(first), lg.imag(first))


def _of_qr(x):
    q, r = linalg.qr(x)
    return weighted(lg.real(q), lg.imag(q), lg.real(r), lg.imag(r))


def _of_pinv(x):
    y = linalg.pinv(x)
    return weighted(lg.real(y), lg.imag(y))


def _of_values(x):
    w = linalg.eigvals(x @ adjoint(x) + x)
    return weighted(linalg.eigvalsh(hermitian(x)), linalg.svdvals(x), lg.real(w), lg.imag(w))


@pytest.mark.parametrize("f", [_of_eigh, _of_eig, _of_svd, _of_qr, _of_pinv, _of_values])
def test_complex_matrices(f):
    x = np.random.default_rng(5).normal(size=(2, 3, 3))
    check_orders(lambda re, im: f(re + 1j * im), x[0].copy(), x[1].copy())


@pytest.mark.parametrize("f", [_of_svd, _of_qr, _of_pinv])
@pytest.mark.parametrize("shape", [(3, 2), (2, 3)])
def test_complex_rectangles(f, shape):
    x = np.random.default_rng(6).normal(size=(2, *shape))
    check_orders(lambda re, im: f(re + 1j * im), x[0].copy(), x[1].copy())


def test_eig_of_real_matrices_with_complex_eigenvalues():
    turn = np.array([[1.0, 2.0, 0.3], [-2.0, 1.5, 0.1], [0.2, 0.4, 3.0]])
    check_orders(_of_eig, turn)
    check_orders(lambda x: lg.abs(linalg.eigvals(x)) ** 2, turn)


# -- degenerate matrices -------------------------------------------------------------------------
def test_equal_values_have_gradients_and_their_vectors_have_none():
    for f, vectors in ((linalg.eigh, 1), (linalg.svd, 0), (linalg.svd, 2), (linalg.eig, 1)):
        values = 0 if f is not linalg.svd else 1
        (x,) = leaves([np.eye(3)])
        y = f(x)
        close(grad(lg.real(y[values]).sum(), x, retain_graph=True)[0], np.eye(3))
        assert not np.all(np.isfinite(grad(weighted(lg.real(y[vectors])), x)[0].numpy())), f
    for f in (linalg.eigvalsh, linalg.svdvals):
        (x,) = leaves([np.eye(3)])
        close(grad(f(x).sum(), x)[0], np.eye(3))


def test_what_equal_eigenvectors_span_has_a_gradient():
    (x,) = leaves([np.diag([1.0, 1.0, 1.0])])
    v = linalg.eigh(x).eigenvectors
    close(grad((v @ v.mT).sum(), x)[0], np.zeros((3, 3)))


def test_singular_values_of_zero():
    (x,) = leaves([np.diag([2.0, 0.0])])
    close(grad(linalg.svdvals(x)[0], x)[0], np.diag([1.0, 0.0]))
    (x,) = leaves([np.diag([2.0, 0.0])])
    close(grad(linalg.svd(x).S[0], x)[0], np.diag([1.0, 0.0]))
    (x,) = leaves([np.zeros((3, 2))])
    assert np.all(np.isfinite(grad(linalg.svd(x, full_matrices=False).S.sum(), x)[0].numpy()))
    close(grad(linalg.matrix_norm(x), x)[0], np.zeros((3, 2)))


def test_vectors_that_only_full_matrices_have_are_left_out():
    (x,) = leaves([numbers(3, 2)])
    full, reduced = linalg.svd(x), linalg.svd(x, full_matrices=False)
    close(grad(full.U[:, 2].sum(), x, retain_graph=True)[0], np.zeros((3, 2)))
    for part, same in ((full.U[:, :2], reduced.U), (full.Vh, reduced.Vh), (full.S, reduced.S)):
        close(grad(weighted(part), x, retain_graph=True)[0], grad(weighted(same), x, retain_graph=True)[0].numpy())


def test_complete_qr_of_a_tall_matrix_has_no_gradient():
    (x,) = leaves([numbers(3, 2)])
    q, _ = linalg.qr(x, mode="complete")
    with pytest.raises(RuntimeError, match="qr: given mode='complete'.*mode='reduced'"):
        q.sum().backward()


def test_qr_of_dependent_columns_gives_nan():
    (x,) = leaves([np.zeros((3, 2))])
    assert np.all(np.isnan(grad(linalg.qr(x).R.sum(), x)[0].numpy()))


# -- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["cholesky", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet"])
def test_square_matrices_are_asked_for(name):
    f = getattr(linalg, name)
    for shape in ((2, 3), (3,)):
        with pytest.raises(np.linalg.LinAlgError, match=rf"^{name.removesuffix('vals') or name}.*expected square"):
            f(lg.ones(shape))
    with pytest.raises(ValueError, match="matrix_power: .*square"):
        linalg.matrix_power(lg.ones((2, 3)), 2)


@pytest.mark.parametrize("name", ["svd", "svdvals", "qr", "pinv", "matrix_rank", "matrix_norm"])
def test_matrices_are_asked_for(name):
    with pytest.raises(ValueError, match=rf"^{name}: given"):
        getattr(linalg, name)(lg.ones(3))


def test_errors_name_the_function():
    with pytest.raises(np.linalg.LinAlgError, match="^inv: Singular"):
        linalg.inv(lg.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="^solve: Singular"):
        linalg.solve(lg.zeros((2, 2)), lg.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match="^cholesky: .*positive definite"):
        linalg.cholesky(-lg.eye(2))
    with pytest.raises(ValueError, match="qr: given mode='raw'"):
        linalg.qr(lg.eye(2), mode="raw")
    with pytest.raises(ValueError, match="matrix_norm: given ord=3"):
        linalg.matrix_norm(lg.eye(2), ord=3)
    with pytest.raises(TypeError, match="svd: .*float16"):
        linalg.svd(lg.ones((2, 2), dtype=lg.float16))


def test_integers_become_the_default_float():
    x = lg.asarray([[2, 1], [1, 2]])
    for y in (*linalg.eigh(x), *linalg.svd(x), *linalg.qr(x), linalg.pinv(x), linalg.matrix_norm(x), linalg.svdvals(x)):
        assert y.dtype == lg.float32
    assert linalg.eigvals(x).dtype == lg.complex64


# -- batches -------------------------------------------------------------------------------------
def test_batched_cotangents_are_one_walk():
    (x,) = leaves([numbers(3, 2)])
    u, s, vh = linalg.svd(x, full_matrices=False)
    w = np.eye(2)
    together = grad(s, x, lg.tensor(w), is_grads_batched=True, retain_graph=True)[0]
    for k in range(2):
        close(together[k], np.outer(u.detach().numpy()[:, k], vh.detach().numpy()[k]))
