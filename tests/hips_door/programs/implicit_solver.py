"""A fixed point with derivatives by the implicit function theorem, and a custom primitive with both its rules."""

import autograd.numpy as np
import autograd.numpy.random as npr
from autograd import grad, jacobian, make_jvp
from autograd.extend import defjvp, defvjp, primitive
from autograd.misc.fixed_points import fixed_point
from autograd.scipy.linalg import solve_triangular


@primitive
def soft_threshold(x, level):
    return np.sign(x) * np.maximum(np.abs(x) - level, 0.0)


defvjp(
    soft_threshold,
    lambda ans, x, level: lambda g: g * (np.abs(x) > level),
    lambda ans, x, level: lambda g: np.sum(-g * np.sign(x) * (np.abs(x) > level)),
)
defjvp(
    soft_threshold,
    lambda g, ans, x, level: g * (np.abs(x) > level),
    lambda g, ans, x, level: -g * np.sign(x) * (np.abs(x) > level),
)


def run():
    rs = npr.RandomState(3)
    A, b = rs.randn(6, 4) / 3, rs.randn(6)

    def step(level):
        return lambda x: soft_threshold(x - 0.3 * np.dot(A.T, np.dot(A, x) - b), level)

    def lasso(level):
        x = fixed_point(step, level, np.zeros(4), lambda x, y: np.linalg.norm(x - y), 1e-12)
        return np.sum(x**2)

    triangle = np.tril(rs.randn(3, 3)) + 3 * np.eye(3)
    solved = lambda t: solve_triangular(np.tril(triangle * t), np.arange(3.0), lower=True)
    _, push = make_jvp(soft_threshold)(np.array([1.0, -0.2, 0.05]), 0.1)(np.ones(3))
    return {
        "lasso": lasso(0.02), "slope": grad(lasso)(0.02), "push": push, "solved": jacobian(solved)(1.3),
        "level": grad(lambda level: np.sum(soft_threshold(b, level) ** 3))(0.3),
    }  # fmt: skip
