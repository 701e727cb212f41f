"""Optimisers of trees of arrays, as functions; they are made of ``autograd.numpy``, and so can be differentiated."""

from collections.abc import Callable
from typing import Any

from .. import numpy as np
from .flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

_Gradient = Callable[[Any, int], Any]


def _descend(gradient: _Gradient, x0: Any, callback: Any, num_iters: int, step: Callable[..., Any], state: Any) -> Any:
    """Take steps: ``step(state, g, i)`` gives the change of the vector and the new state, which starts at a number."""
    x, unflatten = flatten(x0)
    state = tuple(number * np.ones(len(x)) for number in state)
    for i in range(num_iters):
        g = gradient(unflatten(x), i)
        if callback is not None:
            callback(unflatten(x), i, g)
        change, state = step(state, flatten(g)[0], i)
        x = x + change
    return unflatten(x)


def sgd(
    grad: _Gradient, x0: Any, callback: Any = None, num_iters: int = 200, step_size: float = 0.1, mass: float = 0.9
) -> Any:
    """Gradient descent with momentum; ``grad(x, i)`` gives the gradient, ``callback(x, i, g)`` watches.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips import grad
    >>> from lucidgrad.hips.misc.optimizers import sgd
    >>> x = sgd(lambda x, i: grad(lambda x: np.sum((x - 2.0) ** 2))(x), np.zeros(2), num_iters=500)
    >>> np.round(x, 6).tolist()
    [2.0, 2.0]
    """

    def step(state: Any, g: Any, i: int) -> Any:
        velocity = mass * state[0] - (1.0 - mass) * g
        return step_size * velocity, (velocity,)

    return _descend(grad, x0, callback, num_iters, step, (0.0,))


def rmsprop(
    grad: _Gradient, x0: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.1, gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Gradients divided by the root of a running mean of their squares."""

    def step(state: Any, g: Any, i: int) -> Any:
        squares = gamma * state[0] + (1.0 - gamma) * g**2
        return -step_size * g / (np.sqrt(squares) + eps), (squares,)

    return _descend(grad, x0, callback, num_iters, step, (1.0,))


def adam(
    grad: _Gradient, x0: Any, callback: Any = None, num_iters: int = 100, step_size: float = 0.001, b1: float = 0.9,
    b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam: running means of gradients and of their squares, corrected for their start at zero."""

    def step(state: Any, g: Any, i: int) -> Any:
        mean, squares = (1.0 - b1) * g + b1 * state[0], (1.0 - b2) * g**2 + b2 * state[1]
        unbiased, root = mean / (1.0 - b1 ** (i + 1)), np.sqrt(squares / (1.0 - b2 ** (i + 1)))
        return -step_size * unbiased / (root + eps), (mean, squares)

    return _descend(grad, x0, callback, num_iters, step, (0.0, 0.0))
