"""Hamiltonian Monte Carlo with leapfrog steps on a correlated target; the target's gradient is differentiated, too."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import elementwise_grad, grad, make_vjp
from autograd.scipy.special import logsumexp


def log_density(x):
    centres = np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, -1.0]])
    spread = np.array([0.5, 0.8, 1.2])
    squares = np.sum((x - centres) ** 2, axis=1)
    return logsumexp(-0.5 * squares / spread**2 - 2 * np.log(spread))


def leapfrog(x, p, step, count):
    slope = grad(log_density)
    p = p + 0.5 * step * slope(x)
    for _ in range(count - 1):
        x = x + step * p
        p = p + step * slope(x)
    x = x + step * p
    return x, p + 0.5 * step * slope(x)


def run():
    rs = npr.RandomState(4)
    x, kept = np.zeros(2), []
    for _ in range(6):
        p = rs.randn(2)
        y, q = leapfrog(x, p, 0.2, 4)
        ratio = log_density(y) - log_density(x) - 0.5 * (np.dot(q, q) - np.dot(p, p))
        x = y if np.log(rs.rand()) < ratio else x
        kept.append(x)
    end = lambda step: np.sum(leapfrog(np.array([0.3, -0.2]), np.array([1.0, 0.5]), step, 3)[0] ** 2)
    pull, value = make_vjp(lambda x: np.tanh(x) * np.sum(x))(kept[-1])
    bends = elementwise_grad(elementwise_grad(lambda x: np.sin(x) * x**2))(np.linspace(-1.0, 1.0, 5))
    return {
        "samples": np.array(kept),
        "slope": grad(end)(0.2),
        "pulled": pull(np.ones(2)),
        "value": value,
        "bends": bends,
    }
