"""Ordinary NumPy programs become differentiable: unchanged on tensors, or with the door's import in place of NumPy's.

Each program is text that says ``import numpy as np`` and defines ``program(...)``, a number of some of its arguments.
"""

import numpy as np
import pytest

import lucidgrad as lg

SOFTMAX_REGRESSION = """
import numpy as np

def program(w, b):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 3))
    labels = np.arange(8) % 4
    scores = x @ w + b
    scores = scores - np.max(scores, axis=1, keepdims=True)
    log_p = scores - np.log(np.sum(np.exp(scores), axis=1, keepdims=True))
    return -np.mean(log_p[np.arange(8), labels]) + 0.01 * np.sum(w ** 2)
"""

LOGSUMEXP = """
import numpy as np

def logsumexp(a, axis=None):
    top = np.amax(a, axis=axis, keepdims=True)
    return np.squeeze(np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top)

def program(a):
    return logsumexp(a) + np.sum(logsumexp(a, axis=0)) + np.logaddexp.reduce(np.ravel(a))
"""

PCA = """
import numpy as np

def program(x):
    centred = x - np.mean(x, axis=0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    explained = s ** 2 / np.sum(s ** 2)
    values = np.linalg.eigvalsh(np.cov(x, rowvar=False))
    return explained[0] + np.log(values[-1]) + np.sum(np.abs(centred @ vt[0]))
"""

POLYNOMIAL_FIT = """
import numpy as np

def program(x, y):
    c = np.polyfit(x, y, 2)
    rest = y - np.polyval(c, x)
    slope = np.polyval(np.polyder(c), 0.3)
    return np.dot(rest, rest) + slope + np.trapezoid(np.polyval(c, np.sort(x)), np.sort(x))
"""

FFT_FILTER = """
import numpy as np

def program(signal, gain):
    spectrum = np.fft.rfft(signal)
    keep = 1 / (1 + (np.fft.rfftfreq(16) / 0.2) ** 4)
    smooth = np.fft.irfft(spectrum * keep * gain, n=16)
    power = np.abs(np.fft.fftshift(np.fft.fft(smooth))) ** 2
    return np.sum(np.diff(smooth) ** 2) + 1e-2 * np.sum(power[4:12])
"""

RUNGE_KUTTA = """
import numpy as np

def program(k, y0):
    def f(t, y):
        return np.stack([y[1], -k * np.sin(y[0]) - 0.1 * y[1]])

    y, h = y0, 0.1
    for i in range(10):
        t = i * h
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return np.sum(y ** 2)
"""

K_MEANS = """
import numpy as np

def program(points, centres):
    distances = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
    nearest = np.argmin(distances, axis=1)
    means = np.stack([
        np.sum(np.where((nearest == k)[:, None], points, 0.0), axis=0) / np.maximum(np.sum(nearest == k), 1)
        for k in range(2)
    ])
    return np.sum(np.min(distances, axis=1)) + np.linalg.norm(means - centres)
"""

GAUSSIAN_PROCESS = """
import numpy as np

def program(x, y, scale):
    squares = np.subtract.outer(x, x) ** 2
    kernel = np.exp(-squares / (2 * scale ** 2)) + 1e-2 * np.eye(5)
    factor = np.linalg.cholesky(kernel)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return 0.5 * np.dot(y, alpha) + np.sum(np.log(np.diag(factor))) + 2.5 * np.log(2 * np.pi)
"""

CONVOLVED_STATISTICS = """
import numpy as np

def program(x):
    windows = np.convolve(x, np.hanning(5)[1:-1], mode="same")
    spread = np.std(windows) + np.median(np.abs(windows)) + np.percentile(windows, 80)
    padded = np.pad(windows, 2, mode="reflect")
    return spread + np.einsum("i,i->", padded, np.roll(padded, 1)) + np.ptp(np.gradient(x))
"""

NEURAL_NETWORK = """
import numpy as np

def layer(x, w, b):
    return np.tanh(np.einsum("ij,jk->ik", x, w) + b)

def program(w, b):
    x = np.linspace(-1, 1, 12).reshape(4, 3)
    hidden = layer(x, w, b)
    out = np.concatenate([hidden, np.ones((4, 1))], axis=1)
    mask = np.tril(np.ones((4, 5)))
    return np.mean(np.clip(out * mask, -0.9, 0.95)) + np.prod(np.hypot(out[0], 1.0))
"""

RNG = np.random.default_rng(5)
PROGRAMS = {
    "softmax regression": (SOFTMAX_REGRESSION, RNG.normal(size=(3, 4)), RNG.normal(size=4)),
    "logsumexp": (LOGSUMEXP, RNG.normal(size=(3, 4))),
    "PCA": (PCA, RNG.normal(size=(6, 3)) * [3.0, 2.0, 1.0]),
    "polynomial fit": (POLYNOMIAL_FIT, np.asarray([-1.0, 0.3, 1.2, 2.0, 0.8]), RNG.normal(size=5)),
    "FFT filter": (FFT_FILTER, RNG.normal(size=16), np.asarray(0.9)),
    "Runge-Kutta": (RUNGE_KUTTA, np.asarray(2.0), np.asarray([0.7, -0.2])),
    "k-means": (K_MEANS, RNG.normal(size=(7, 2)), RNG.normal(size=(2, 2))),
    "Gaussian process": (GAUSSIAN_PROCESS, np.linspace(0, 2, 5), RNG.normal(size=5), np.asarray(0.7)),
    "statistics": (CONVOLVED_STATISTICS, RNG.normal(size=9)),
    "neural network": (NEURAL_NETWORK, RNG.normal(size=(3, 4)), RNG.normal(size=4)),
}


def compiled(text, door):
    space = {}
    exec(text.replace("import numpy as np", "import lucidgrad.numpy as np") if door else text, space)
    return space["program"]


@pytest.mark.parametrize("door", [False, True], ids=["numpy", "door"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_become_differentiable(name, door):
    text, *arrays = PROGRAMS[name]
    expected = compiled(text, False)(*arrays)
    program = compiled(text, door)
    tensors = [lg.asarray(array, copy=True).requires_grad_() for array in arrays]
    y = program(*tensors)
    assert y.dtype == np.float64
    assert y.item() == pytest.approx(float(expected), rel=1e-12)
    if door:
        assert program(*arrays).item() == pytest.approx(float(expected), rel=1e-12)  # the door takes arrays, too
    y.backward()
    assert all(x.grad is not None for x in tensors)
    for array, x in zip(arrays, tensors, strict=True):
        direction = np.random.default_rng(1).normal(size=array.shape)
        ends = [
            compiled(text, False)(*(a + sign * 1e-6 * direction if a is array else a for a in arrays))
            for sign in (1, -1)
        ]
        assert (x.grad.numpy() * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_inside_transforms(name):
    text, *arrays = PROGRAMS[name]
    program = compiled(text, False)
    tensors = [lg.asarray(array) for array in arrays]
    gradient = lg.func.grad(program)(*tensors)
    tangents = [lg.ones_like(x) if k == 0 else lg.zeros_like(x) for k, x in enumerate(tensors)]
    _, forward = lg.func.jvp(program, tuple(tensors), tuple(tangents))
    assert forward.item() == pytest.approx(gradient.sum().item(), rel=1e-9, abs=1e-11)
    batch = lg.stack([tensors[0], tensors[0] * 1.01])
    gradients = lg.func.vmap(lg.func.grad(lambda x: program(x, *tensors[1:])))(batch)
    np.testing.assert_allclose(gradients[0].numpy(), gradient.numpy(), rtol=1e-8, atol=1e-10)
