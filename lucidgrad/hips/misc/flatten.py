"""Trees of arrays as one vector, and back."""

import math
from collections.abc import Callable
from typing import Any

from lucidgrad.func import trees

from .. import numpy as np

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of a tree as a vector, dictionaries in the order of their keys, and the function that goes back.

    Examples
    --------
    >>> import lucidgrad.hips.numpy as np
    >>> from lucidgrad.hips.misc.flatten import flatten
    >>> vector, back = flatten({"b": 3.0, "a": np.ones(2)})
    >>> vector.tolist(), back(vector * 2)["b"].tolist()
    ([1.0, 1.0, 3.0], 6.0)
    """
    leaves, shape = trees.flatten(_sorted(value))
    shapes = [np.shape(x) for x in leaves]
    vector = np.concatenate([np.reshape(x, (-1,)) for x in leaves]) if leaves else np.zeros(0)

    def unflatten(vector: Any) -> Any:
        parts, start = [], 0
        for its_shape in shapes:
            stop = start + math.prod(its_shape)
            parts.append(np.reshape(vector[start:stop], its_shape))
            start = stop
        return trees.unflatten(shape, parts)

    return vector, unflatten


def _sorted(value: Any) -> Any:
    """A tree whose dictionaries are in the order of their keys."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if type(value) in (list, tuple):
        return type(value)(map(_sorted, value))
    return value


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """A function of a tree as one of vectors, the function that goes back, and the example as a vector."""
    flat_example, unflatten = flatten(example)

    def of_vector(vector: Any, *args: Any) -> Any:
        return flatten(func(unflatten(vector), *args))[0]

    return of_vector, unflatten, flat_example
