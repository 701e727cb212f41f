"""Functions of square matrices against NumPy, differences and identities."""

import array_api_strict
import numpy as np
import pytest
from finite import check_orders, close, grad, leaves, numbers, strict

import lucidgrad as lg
from lucidgrad.core.primitive import registry
from lucidgrad.levels.batching import Batched, run
from lucidgrad.levels.layer import Level

LEVEL = Level("vmap")


def regular(*shape, complex=False):
    """Matrices with a dominant diagonal."""
    x = numbers(*shape, complex=complex)
    return x / (1 + np.abs(x)) + 4 * np.eye(shape[-1])


def positive(*shape, complex=False):
    x = numbers(*shape, complex=complex)
    return x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1])


SHAPES = [(1, 1), (3, 3), (2, 2, 2)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["inv", "det"])
def test_inverse_and_determinant(name, shape):
    x = regular(*shape)
    f = getattr(lg.linalg, name)
    close(f(lg.tensor(x)), getattr(np.linalg, name)(x))
    check_orders(f, x)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (2, 3, 1)),
        ((3, 3), (2, 3, 2)),
        ((2, 2, 2), (2, 2)),
    ],
)
def test_solve(first, second):
    x1, x2 = regular(*first), numbers(*second)
    close(lg.linalg.solve(lg.tensor(x1), lg.tensor(x2)), np.linalg.solve(x1, x2))
    check_orders(lg.linalg.solve, x1, x2)


@pytest.mark.parametrize("shape", SHAPES)
def test_slogdet(shape):
    x = regular(*shape)
    sign, logabsdet = lg.linalg.slogdet(lg.tensor(-x))
    close(sign, np.linalg.slogdet(-x).sign)
    close(logabsdet, np.linalg.slogdet(x).logabsdet)
    check_orders(lambda x: lg.linalg.slogdet(x).logabsdet, x)


@pytest.mark.parametrize("n", [-2, -1, 0, 1, 2, 3, 6])
def test_matrix_power(n):
    x = regular(2, 3, 3) / 4
    close(lg.linalg.matrix_power(lg.tensor(x), n), np.linalg.matrix_power(x, n))
    if n:
        check_orders(lambda x: lg.linalg.matrix_power(x, n), x)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape, upper):
    x = positive(*shape)
    close(lg.linalg.cholesky(lg.tensor(x), upper=upper), np.linalg.cholesky(x, upper=upper))
    check_orders(lambda x: lg.linalg.cholesky((x + x.mT) / 2, upper=upper), x)
    (leaf,) = leaves([x])
    (g,) = grad(lg.linalg.cholesky(leaf, upper=upper).sum(), leaf)
    close(g, g.numpy().swapaxes(-1, -2))


def _real_parts(f):
    """A function of complex matrices as a real one of their parts, with all parts of its values."""

    def parts(re, im):
        y = f(re + 1j * im)
        return lg.stack([lg.real(y), lg.imag(y)])

    return parts


@pytest.mark.parametrize(
    "f",
    [
        lg.linalg.inv,
        lg.linalg.det,
        lambda x: lg.linalg.slogdet(x).sign,
        lambda x: lg.linalg.slogdet(x).sign * lg.linalg.slogdet(x).logabsdet,
        lambda x: lg.linalg.solve(x, x[0]),
        lambda x: lg.linalg.cholesky(x @ lg.conj(x.mT)),
        lambda x: lg.linalg.cholesky(x @ lg.conj(x.mT), upper=True),
    ],
    ids=["inv", "det", "sign", "slogdet", "solve", "cholesky", "upper"],
)
def test_complex_matrices(f):
    x = regular(2, 2, complex=True)
    check_orders(_real_parts(f), x.real.copy(), x.imag.copy())


def test_determinant_of_a_singular_matrix_has_a_gradient():
    x = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    minors = [[np.delete(np.delete(x, i, 0), j, 1) for j in range(3)] for i in range(3)]
    cofactors = [[(-1) ** (i + j) * np.linalg.det(minors[i][j]) for j in range(3)] for i in range(3)]
    for values, reference in (
        (x, cofactors),
        (np.zeros((3, 3)), np.zeros((3, 3))),
        (np.ones((0, 0)), np.ones((0, 0))),
    ):
        (leaf,) = leaves([values])
        close(grad(lg.linalg.det(leaf), leaf)[0], reference)
    close(np.asarray(registry["cofactor"].program(strict, array_api_strict.asarray(x))), cofactors)


@pytest.mark.parametrize(
    ("name", "shapes", "keywords"),
    [
        ("inv", [(3, 3)], {}),
        ("det", [(3, 3)], {}),
        ("cofactor", [(3, 3)], {}),
        ("cholesky", [(3, 3)], dict(upper=True)),
        ("solve", [(3, 3), (3,)], {}),
        ("solve", [(3, 3), (3, 2)], {}),
        ("solve", [(2, 3, 3), (3,)], {}),
        ("solve", [(2, 3, 3), (2, 3, 2)], {}),
        ("solve", [(3, 3), (2, 3, 2)], {}),
        ("slogdet", [(3, 3)], {}),
    ],
)
def test_batches_equal_a_loop_and_programs_equal_kernels(name, shapes, keywords):
    primitive = registry[name]
    kernel = primitive.find_kernel(np.ndarray)
    ways = [(True, False), (False, True), (True, True)] if len(shapes) == 2 else [(True,)]
    for batched in ways:
        given = [positive(*s) if s[-2:] == (3, 3) else numbers(*s) for s in shapes]
        xs = [np.stack([x, 2 * x, 3 * x, x]) if b else x for x, b in zip(given, batched)]
        y = run(name, *(Batched(x, LEVEL) if b else x for x, b in zip(xs, batched)), **keywords)
        loop = [kernel(*(x[k] if b else x for x, b in zip(xs, batched)), **keywords) for k in range(4)]
        parts = zip(y, zip(*loop)) if primitive.outputs else [(y, loop)]
        for part, rows in parts:
            close(part.value, np.stack(rows))
    single = kernel(*given, **keywords)
    general = primitive.program(strict, *map(array_api_strict.asarray, given), **keywords)
    for a, b in zip(single, general) if primitive.outputs else [(single, general)]:
        close(np.asarray(b), a)


def test_batched_cotangents_solve_one_equation():
    xs = leaves((regular(3, 3), numbers(3)))
    y = lg.linalg.solve(*xs)
    w = np.eye(3)
    together = grad(y, xs, lg.tensor(w), is_grads_batched=True, retain_graph=True)
    close(together[1], np.linalg.inv(xs[0].detach().numpy()))
    for k in range(3):
        for all_, one in zip(together, grad(y, xs, lg.tensor(w[k]), retain_graph=True)):
            close(all_.numpy()[k], one.numpy())


def test_integers_become_the_default_float():
    x = lg.asarray([[2, 1], [1, 2]])
    for y in (lg.linalg.inv(x), lg.linalg.det(x), lg.linalg.cholesky(x), lg.linalg.slogdet(x).logabsdet):
        assert y.dtype == "float32"
    assert lg.linalg.solve(x, x).dtype == "float32"
