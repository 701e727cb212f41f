"""Products and sums of float16 that go on in float32, so that the result is rounded once."""

import functools
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lucidgrad.core import device
from lucidgrad.core.primitive import registry

from .matmul import matmul

_HALF, _SINGLE = np.dtype("float16"), np.dtype("float32")


class _Single:
    """The namespace of programs, but with products of float16 that give float32."""

    matmul = staticmethod(functools.partial(matmul, single=True))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever looks at the object, not a program
            raise AttributeError(name)
        if name == "linear":
            return functools.partial(registry[name].program, self)
        return getattr(device.by_array[cupy.ndarray].xp, name)


_IN_SINGLE = _Single()


def _product(name: str) -> Callable[..., Any]:
    """A program that does more than multiply."""

    def kernel(*arrays: Any, **keywords: Any) -> Any:
        program: Any = registry[name].program
        if all(a.dtype == _HALF for a in arrays):
            return program(_IN_SINGLE, *arrays, **keywords).astype(_HALF)
        return program(device.by_array[cupy.ndarray].xp, *arrays, **keywords)

    return kernel


def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    narrow = (x.dtype if dtype is None else dtype) == _HALF
    y = cupy.cumulative_sum(x, axis=axis, dtype=_SINGLE if narrow else dtype, include_initial=include_initial)
    return y.astype(_HALF) if narrow else y


TABLE: dict[str, Callable[..., Any]] = {
    "cumulative_sum": cumulative_sum,
    **{name: _product(name) for name in ("affine",)},
}
