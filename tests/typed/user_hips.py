"""What people write through the door for HIPS autograd, checked as `user_code` is."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy
from numpy.typing import NDArray

import lucidgrad.hips.numpy as np
import lucidgrad.hips.numpy.random as npr
from lucidgrad.hips import (
    checkpoint,
    elementwise_grad,
    grad,
    grad_and_aux,
    hessian_vector_product,
    jacobian,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    value_and_grad,
)
from lucidgrad.hips.extend import defvjp, primitive
from lucidgrad.hips.misc.optimizers import adam
from lucidgrad.hips.scipy.stats import norm

Array = NDArray[numpy.float64]


def tanh(x: float) -> float:
    return float((1.0 - np.exp(-2 * x)) / (1.0 + np.exp(-2 * x)))


def energy(x: Array, scale: float = 1.0) -> numpy.float64:
    found: numpy.float64 = np.sum(np.tanh(x) ** 2) * scale
    return found


def squares(x: Array) -> Array:
    return x**2


def operators(x: Array) -> None:
    assert_type(grad(energy)(x), Array)
    assert_type(grad(energy)(x, scale=2.0), Array)
    assert_type(grad(energy, 1)(x, 2.0), Any)
    assert_type(elementwise_grad(squares)(x), Array)
    assert_type(value_and_grad(energy)(x), tuple[numpy.float64, Array])
    pull, value = make_vjp(squares)(x)
    assert_type(pull(x), Array)
    assert_type(value, Array)
    assert_type(make_jvp(squares)(x)(x), tuple[Array, Array])
    product, slope = make_hvp(energy)(x)
    assert_type(product(x), Array)
    assert_type(slope, Array)
    assert_type(checkpoint(squares)(x), Array)
    assert_type(multigrad_dict(energy)(x, 2.0), dict[str, Any])
    assert jacobian(squares)(x).shape == (3, 3)
    assert hessian_vector_product(energy)(x, x).shape == (3,)


def with_aux(x: Array) -> None:
    def function(x: Array) -> tuple[numpy.float64, int]:
        return energy(x), 2

    slope, aux = grad_and_aux(function)(x)
    assert_type(aux, int)
    assert slope.shape == x.shape


@primitive
def cube(x: Array) -> Array:
    return x**3


def pull_cube(ans: Array, x: Array) -> Callable[[Array], Array]:
    return lambda g: g * 3 * x**2


defvjp(cube, pull_cube)


def own_rules(x: Array) -> None:
    assert_type(cube(x), Array)
    assert_type(elementwise_grad(cube)(x), Array)


def fitting() -> None:
    data = npr.RandomState(0).normal(size=(8,))

    def loss(mean: Array, i: int) -> numpy.float64:
        found: numpy.float64 = -np.sum(norm.logpdf(data, loc=mean, scale=1.0))
        return found

    adam(grad(loss), np.zeros(1), num_iters=2)


def main() -> None:
    x = np.array([0.5, 1.0, 2.0])
    operators(x)
    with_aux(x)
    own_rules(x)
    fitting()


def mistakes() -> None:
    grad(3)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    grad(tanh)("one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    np.sine(1.0)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    np.linalg.rank(1.0)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    norm.logpdf()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
