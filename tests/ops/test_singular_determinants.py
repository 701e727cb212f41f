"""Derivatives of determinants where matrices are singular, beside exact ones: a determinant is a polynomial.

Matrices have integers as entries, so cofactors and second derivatives are sums that Python computes exactly.
"""

import itertools

import numpy as np
import pytest

import lucidgrad as lg


def det(rows):
    """Exact, by expansion along the first row."""
    if not rows:
        return 1
    return sum((-1) ** j * rows[0][j] * det([r[:j] + r[j + 1 :] for r in rows[1:]]) for j in range(len(rows)))


def without(rows, gone, columns):
    return [[v for j, v in enumerate(r) if j not in columns] for i, r in enumerate(rows) if i not in gone]


def cofactors(rows):
    n = range(len(rows))
    return np.array([[(-1) ** (i + j) * det(without(rows, {i}, {j})) for j in n] for i in n])


def hessian(rows):
    """``d² det / dx_ij dx_kl``: a minor without two rows and two columns."""
    n = len(rows)
    found = np.zeros((n,) * 4, complex)
    for i, j, k, m in itertools.product(range(n), repeat=4):
        if i != k and j != m:
            sign = (-1) ** (i + j + k + m) * (1 if (i < k) == (j < m) else -1)
            found[i, j, k, m] = sign * det(without(rows, {i, k}, {j, m}))
    return found


def matrix(n, rank, kind, seed):
    """A matrix of small integers, complex ones too, that has a rank."""
    rng = np.random.default_rng((n, rank, seed))

    def draw(*shape):
        real = rng.integers(-3, 4, shape)
        return real + 1j * rng.integers(-3, 4, shape) if kind == "complex" else real

    while True:
        made = draw(n, rank) @ draw(rank, n) if rank < n else draw(n, n)
        if np.linalg.matrix_rank(made) == rank:
            return made


CASES = [(n, n - lack, kind) for n in range(1, 6) for lack in range(min(n, 4) + 1) for kind in ("real", "complex")]


def exact(made):
    return [[complex(v) if np.iscomplexobj(made) else int(v) for v in row] for row in made.tolist()]


def close(got, want, scale):
    got, want = got.detach().cpu().numpy(), np.asarray(want)
    want = want if np.iscomplexobj(got) else want.real
    return got.shape == want.shape and np.abs(got - want).max(initial=0) <= 1e-10 * (1 + scale)


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda":
        pytest.importorskip("cupy")
    return request.param


@pytest.mark.parametrize(("n", "rank", "kind"), CASES)
def test_first_and_second_derivatives_are_exact(n, rank, kind, device):
    if device == "cuda" and n not in (1, 3):
        pytest.skip("two sizes are enough there")
    for seed in range(2 if device == "cpu" else 1):
        made = matrix(n, rank, kind, seed)
        rows, scale = exact(made), float(np.abs(made).max(initial=1)) ** n * 24
        dtype = lg.complex128 if kind == "complex" else lg.float64
        x = lg.tensor(made, dtype=dtype, device=device, requires_grad=True)
        t = lg.tensor(np.random.default_rng(seed).integers(-3, 4, (n, n)), dtype=dtype, device=device)
        y = lg.linalg.det(x)
        (g,) = lg.autograd.grad(y, x, lg.ones_like(y), create_graph=True)
        want, second = cofactors(rows), hessian(rows)
        turned = np.conj  # gradients of complex numbers are conjugated, as PyTorch's
        assert close(g, turned(want), scale)
        (h,) = lg.autograd.grad(g, x, t)
        assert close(h, turned(np.einsum("ijkl,kl->ij", second, t.cpu().numpy())), scale)
        _, forward = lg.func.jvp(lambda x, t=t: lg.func.jvp(lg.linalg.det, (x,), (t,))[1], (x.detach(),), (t,))
        both = np.einsum("ij,ijkl,kl->", t.cpu().numpy(), second, t.cpu().numpy())
        assert close(forward, both, scale)


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("lack", [0, 1, 2, 3])
def test_third_derivatives(n, lack):
    """The restriction to a line is a polynomial, of which every derivative is known."""
    made, way = matrix(n, max(n - lack, 0), "real", 5), matrix(n, n, "real", 6)
    points = np.arange(n + 1)
    values = [det(exact(made + k * way)) for k in points]
    on_line = np.polynomial.Polynomial(np.round(np.polyfit(points, values, n))[::-1])
    x, t = lg.tensor(made, dtype=lg.float64), lg.tensor(way, dtype=lg.float64)
    f = lambda s: lg.linalg.det(x + s * t)
    for order in range(1, 4):
        inner = f
        f = lambda s, inner=inner: lg.func.grad(inner)(s)
        got = f(lg.tensor(0.0, dtype=lg.float64))
        want = float(on_line.deriv(order)(0)) if order <= n else 0.0
        assert abs(got.item() - want) <= 1e-9 * (1 + abs(want) + np.abs(on_line.coef).max()), order


def test_a_singular_matrix_does_not_spoil_its_batch(device):
    parts = [matrix(3, rank, "real", 0) for rank in (3, 2, 3, 1, 0, 3)]
    x = lg.tensor(np.stack(parts), dtype=lg.float64, device=device, requires_grad=True)
    regular = [0, 2, 5]
    y = lg.linalg.det(x)
    (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    for i, part in enumerate(parts):
        assert close(g[i], cofactors(exact(part)), 100)
        assert close(h[i], hessian(exact(part)).sum((2, 3)), 100)
    for i in (1, 3, 4):
        parts[i][2] = parts[i][0]  # elimination meets a zero, and no rounded one
    x = lg.tensor(np.stack(parts), dtype=lg.float64, device=device, requires_grad=True)
    _, size = lg.linalg.slogdet(x)
    assert size[[1, 3, 4]].tolist() == [-np.inf] * 3
    (g,) = lg.autograd.grad(size.sum(), x, create_graph=True)
    (h,) = lg.autograd.grad(g[regular].sum(), x)
    for i in regular:
        inverse = np.linalg.inv(parts[i]).T
        assert close(g[i], inverse, 100)
        assert close(h[i], -inverse @ np.ones((3, 3)) @ inverse, 100)
    assert not np.isfinite(g[[1, 3, 4]].detach().cpu().numpy()).any()
    _, t = lg.func.jvp(lambda x: lg.linalg.slogdet(x)[1], (x.detach(),), (lg.ones_like(x),))
    assert np.isfinite(t.cpu().numpy()).tolist() == [i in regular for i in range(6)]
    mapped = lg.func.vmap(lg.func.grad(lambda x: lg.linalg.slogdet(x)[1]))(x.detach())
    assert close(mapped[regular], g[regular].detach().cpu().numpy(), 1)


@pytest.mark.parametrize("size", [1e-8, 1e-5, 1e-2, 1.0])
def test_nearly_singular(size):
    """The second derivative of a matrix with a small singular value has all its digits."""
    rng = np.random.default_rng(3)
    u, v = (np.linalg.qr(rng.normal(size=(5, 5)))[0] for _ in range(2))
    made = u @ np.diag([3.0, 2.0, 1.5, 1.0, size]) @ v
    x = lg.tensor(made, requires_grad=True)
    (g,) = lg.autograd.grad(lg.linalg.det(x), x, create_graph=True)
    (h,) = lg.autograd.grad(g.sum(), x)
    want = hessian(made.tolist()).sum((2, 3)).real
    assert np.abs(h.numpy() - want).max() < 1e-13 * np.abs(want).max() * 100
