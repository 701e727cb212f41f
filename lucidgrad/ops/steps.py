"""Steps of optimisers on lists of tensors, in place: one call, and on CUDA one launch, for all of them.

A back end may bring a kernel of the step's name, ``kernel(params, grads, *states, **settings)``, that writes params
and states; where there is none the step is computed and written back array by array. Nothing is recorded.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.inplace import check_writable
from lucidgrad.core.tape import touch

Lists = Sequence[Sequence[Any]]


def _run(name: str, formula: Callable[..., Any], lists: Lists, settings: dict[str, Any]) -> None:
    """Group tensors by back end, device and dtype; compute; note that all but the gradients were written."""
    params, grads, *states = lists
    groups: dict[Any, list[list[Any]]] = {}
    for row in zip(params, grads, *states, strict=True):
        for k, x in enumerate(row):
            if k != 1:
                check_writable(x, name, recording=False)
            if x.array.shape != row[0].array.shape:
                raise RuntimeError(
                    f"{name}: given a parameter of shape {tuple(row[0].array.shape)} with a gradient or state of shape "
                    f"{tuple(x.array.shape)}, expected one shape"
                )
        arrays = [x.array for x in row]
        backend = device.by_array[type(arrays[0])]
        key = (backend, str(backend.device_of(arrays[0])), arrays[0].dtype)
        columns = groups.setdefault(key, [[] for _ in row])
        for column, array in zip(columns, arrays, strict=True):
            column.append(array)
    for (backend, *_), columns in groups.items():
        with backend.at(columns[0][0]):
            _compute(backend, name, formula, columns, settings)
        for k, column in enumerate(columns):
            if k != 1:
                for array in column:
                    touch(array)


def _compute(backend: Any, name: str, formula: Callable[..., Any], columns: Lists, settings: dict[str, Any]) -> None:
    kernel = backend.kernels.get(name)
    if kernel is not None:
        kernel(*columns, **settings)
        return
    for old in zip(*columns, strict=True):
        new = formula(backend.xp, *old, **settings)
        for target, value in zip((old[0], *old[2:]), new, strict=True):
            backend.write(target, ..., value)


# -- stochastic gradient descent -----------------------------------------------------------------
def _sgd(
    xp: Any,
    p: Any,
    g: Any,
    buffer: Any = None,
    *,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    first: bool,
) -> Any:
    g = -g if maximize else g
    g = g + weight_decay * p if weight_decay else g
    if buffer is None:
        return (p - lr * g,)
    buffer = g if first else momentum * buffer + (1 - dampening) * g
    g = g + momentum * buffer if nesterov else buffer
    return p - lr * g, buffer


def sgd_step(
    params: Sequence[Any],
    grads: Sequence[Any],
    buffers: Sequence[Any] | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """A step of gradient descent on all parameters, in place (PyTorch's formula).

    Parameters
    ----------
    params, grads
        Tensors, and their gradients.
    buffers
        What momentum is kept in, needed where it is not 0; with ``first`` the old contents don't count.
    lr, momentum, dampening, weight_decay, nesterov, maximize, first
        The settings, the same for all.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.steps import sgd_step
    >>> p = lg.tensor([1.0, 2.0])
    >>> sgd_step([p], [lg.ones(2)], lr=0.5)
    >>> p.tolist()
    [0.5, 1.5]
    """
    if momentum and buffers is None:
        raise ValueError("sgd_step: given momentum and no buffers, expected a buffer for each parameter")
    settings = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay)
    settings |= dict(nesterov=nesterov, maximize=maximize, first=first)
    _run("sgd_step", _sgd, [params, grads, *([buffers] if momentum and buffers is not None else [])], settings)


# -- Adam ----------------------------------------------------------------------------------------
def _adam(
    xp: Any,
    p: Any,
    g: Any,
    mean: Any,
    square: Any,
    largest: Any = None,
    *,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    decoupled: bool,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    if weight_decay:
        p, g = (p * (1 - lr * weight_decay), g) if decoupled else (p, g + weight_decay * p)
    mean = mean + (g - mean) * (1 - beta1)
    square = square * beta2 + g * g * (1 - beta2)
    top = square if largest is None else xp.maximum(largest, square)
    root = xp.sqrt(top) / math.sqrt(1 - beta2**step) + eps
    p = p - lr / (1 - beta1**step) * (mean / root)
    return (p, mean, square) if largest is None else (p, mean, square, top)


def adam_step(
    params: Sequence[Any],
    grads: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    largest: Sequence[Any] | None = None,
    *,
    step: int,
    lr: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
) -> None:
    """A step of Adam on all parameters, in place (PyTorch's formula).

    Parameters
    ----------
    params, grads
        Tensors, and their gradients.
    means, squares
        Running means of the gradients and of their squares; zeros before the first step.
    largest
        The largest squares so far, for the AMSGrad variant.
    step
        The number of this step, from 1.
    lr, beta1, beta2, eps, weight_decay, maximize
        The settings, the same for all.
    decoupled
        Whether weights decay by themselves (AdamW) instead of through the gradient.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.steps import adam_step
    >>> p, m, v = lg.ones(1), lg.zeros(1), lg.zeros(1)
    >>> adam_step([p], [lg.ones(1)], [m], [v], step=1, lr=0.5)
    >>> p.tolist()
    [0.5]
    """
    settings = dict(lr=lr, beta1=beta1, beta2=beta2, eps=eps, weight_decay=weight_decay)
    settings |= dict(step=step, decoupled=decoupled, maximize=maximize)
    lists = [params, grads, means, squares] + ([largest] if largest is not None else [])
    _run("adam_step", _adam, lists, settings)
