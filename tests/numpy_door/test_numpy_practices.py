"""Functions written with NumPy alone become differentiable: NumPy's own functions, on tensors inside transforms.

Values are NumPy's, gradients are compared with its differences, second derivatives with differences of gradients.
"""

import numpy as np
import pytest

import lucidgrad as lg

_rng = np.random.default_rng(0)
A, B = _rng.standard_normal((5, 3)), _rng.standard_normal(5)
M = _rng.standard_normal((4, 4))
COVARIANCE = M @ M.T + 4 * np.eye(4)
POINT = 0.7 * _rng.standard_normal(8) + np.linspace(0, 0.05, 8)


def ridge(x):
    r = A @ x[:3] - B
    return np.dot(r, r) + 0.1 * np.sum(np.square(x[:3]))


def cross_entropy(x):
    z = np.outer(x, [1.0, -1.0, 0.5])
    z = z - np.max(z, axis=1, keepdims=True)
    p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
    return -np.mean(np.log(p[np.arange(len(x)), np.arange(len(x)) % 3]))


def log_density(x):
    L = np.linalg.cholesky(COVARIANCE)
    return -0.5 * np.sum(np.linalg.solve(L, x[:4]) ** 2) - np.sum(np.log(np.diag(L)))


def integral(x):
    return np.trapezoid(np.interp(np.linspace(0, 1, 9), np.linspace(0, 1, len(x)), x) ** 2, dx=0.1)


def power_spectrum(x):
    return np.sum(np.log1p(np.abs(np.fft.rfft(x * np.hanning(len(x)))) ** 2))


def convolution(x):
    return np.sum(np.tanh(np.convolve(x, [0.2, 0.5, 0.2], mode="same")))


def way_on_a_sphere(x):
    up, along = np.radians(x[:4] * 30), np.radians(x[4:8] * 30)
    half = np.sin(np.diff(up) / 2) ** 2 + np.cos(up[1:]) * np.cos(up[:-1]) * np.sin(np.diff(along) / 2) ** 2
    return np.sum(2 * np.arcsin(np.sqrt(np.clip(half, 1e-9, 1))))


def repulsion(x):
    p = np.reshape(x, (4, 2))
    d = p[:, None, :] - p[None, :, :]
    return np.sum(np.triu(1 / np.sqrt(np.sum(d * d, axis=-1) + np.eye(4)), k=1))


def filtered(x):
    m, P, F, total = np.zeros(2), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), 0.0
    for z in x[:5]:
        m, P = F @ m, F @ P @ F.T + 0.01 * np.eye(2)
        S = P[0, 0] + 0.5
        K, r = P[:, 0] / S, z - m[0]
        m, P = m + K * r, P - np.outer(K, P[0])
        total = total - 0.5 * (r**2 / S + np.log(S))
    return total


def lorenz(x):
    s = x[:3]
    for _ in range(5):
        s = s + 0.005 * np.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])
    return np.linalg.norm(s)


def polynomials(x):
    return np.polyval(x, 0.7) + np.sum(np.vander(x[:3], 4))


def statistics(x):
    weights = np.arange(1, len(x) + 1)
    return np.var(x, ddof=1) + np.median(x) + np.percentile(x, 30) + np.average(x, weights=weights) + np.ptp(x)


def contractions(x):
    T = np.reshape(x, (2, 2, 2))
    one = np.einsum("ijk,jkl->", T, np.ones((2, 2, 3)))
    return one + np.trace(np.tensordot(T, T, axes=([0, 1], [0, 1]))) + np.sum(np.kron(T[0], T[1]))


def choices(x):
    chosen = np.select([x < -0.5, x < 0.5], [x**2, np.sin(x)], default=np.exp(-x))
    return np.sum(chosen) + np.sum(np.where(np.isfinite(x), np.hypot(x, 1), 0))


def running(x):
    total = np.cumprod(1 + 0.1 * x)[-1] + np.sum(np.cumsum(x) * np.gradient(x))
    return total + np.logaddexp.reduce(x) + np.sum(np.maximum.accumulate(x))


def ordered(x):
    total = np.sum(np.sort(x) * np.arange(len(x))) + np.sum(x[np.argsort(x)][::2])
    return total + np.prod(np.take(x, [1, 1, 3])) + np.partition(x, 3)[3]


def joined(x):
    corner = 3 * np.eye(2)
    whole = np.block([[corner, np.reshape(x[:4], (2, 2))], [np.reshape(x[4:8], (2, 2)), corner]])
    sides = np.std(np.concatenate([x, np.flip(x)])) + np.sum(np.pad(x, (1, 2), mode="edge"))
    return np.linalg.slogdet(whole)[1] + sides


def spectra(x):
    S = np.reshape(np.tile(x, 2), (4, 4))
    S = S + S.T
    return np.sum(np.linalg.eigvalsh(S) ** 2) + np.linalg.det(S + 5 * np.eye(4))


FUNCTIONS = [
    ridge, cross_entropy, log_density, integral, power_spectrum, convolution, way_on_a_sphere, repulsion, filtered,
    lorenz, polynomials, statistics, contractions, choices, running, ordered, joined, spectra,
]  # fmt: skip


def slopes(f, step):
    return np.array([(f(POINT + step * e) - f(POINT - step * e)) / (2 * step) for e in np.eye(8)])


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_of_numpy_has_derivatives(f):
    value, gradient = lg.func.value_and_grad(f)(lg.asarray(POINT))
    np.testing.assert_allclose(value.numpy(), f(POINT), rtol=1e-12)
    np.testing.assert_allclose(gradient.numpy(), slopes(f, 1e-6), rtol=1e-5, atol=1e-6)
    own = lg.func.grad(f)
    assert isinstance(own(POINT), np.ndarray)  # arrays are given back as they came
    second = lg.func.hessian(f)(lg.asarray(POINT)).numpy()
    np.testing.assert_allclose(second, slopes(own, 1e-5), rtol=1e-4, atol=1e-5)
