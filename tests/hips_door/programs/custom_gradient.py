"""Functions of NumPy's with rules written by hand: reverse and forward mode, containers, higher orders."""

import autograd.numpy as np
import numpy as plain
from autograd import grad, hessian, jacobian, make_jvp
from autograd.extend import defjvp, defvjp, primitive
from autograd.test_util import check_grads


@primitive
def logsumexp(x):
    """Of an array of NumPy's, in a way that does not overflow."""
    largest = plain.max(x)
    return largest + plain.log(plain.sum(plain.exp(x - largest)))


defvjp(logsumexp, lambda ans, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, ans)))
defjvp(logsumexp, lambda g, ans, x: np.sum(g * np.exp(x - ans)))


@primitive
def scaled(x, factor, shift=0.0):
    return plain.multiply(x, factor) + shift


defvjp(
    scaled,
    lambda ans, x, factor, shift=0.0: lambda g: g * factor,
    lambda ans, x, factor, shift=0.0: lambda g: np.sum(g * x),
)


def example(y):
    return logsumexp(y**2) + logsumexp(np.array([y[0], 2.0 * y[1]]))


def run():
    x = np.array([1.5, -0.5, 0.7])
    check_grads(example, modes=["rev"], order=2)(x)
    return {
        "gradient": grad(example)(x),
        "hessian": hessian(example)(x),
        "third": jacobian(hessian(example))(x),
        "forward": np.array(make_jvp(example)(x)(np.ones(3))),
        "mixed": grad(lambda f: np.sum(scaled(x, f, shift=2.0) ** 3))(1.3),
        "by array": grad(lambda x: np.sum(scaled(x, 0.3) ** 3))(x),
    }
