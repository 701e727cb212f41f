"""A hand-written kernel against its primitive's program: the same values, whatever dtype and memory layout."""

from typing import Any

import cupy
import numpy as np

import lucidgrad.ops.attention
import lucidgrad.ops.losses
import lucidgrad.ops.normalisation
import lucidgrad.ops.pooling
import lucidgrad.ops.recurrence  # noqa: F401  these are loaded on demand
from lucidgrad.backends.protocol import STANDARD, Namespace
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

from . import cases

#: What a result may be off by, relative to the largest one.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "float64": 1e-11}


class _Programs(Namespace):
    """The CPU's namespace without the kernels under test."""

    def __getattr__(self, name: str) -> Any:
        if name in cases.CASES and name not in STANDARD:
            return lambda *xs, **keywords: program(name, *xs, **keywords)
        return super().__getattr__(name)


def program(name: str, *xs: Any, **keywords: Any) -> Any:
    """The program of a primitive on NumPy arrays; adding at positions is the CPU's: its program needs much room."""
    if name in ("take_put", "put_along_axis_add"):
        return getattr(device.backend_named("cpu").xp, name)(*xs, **keywords)
    made = registry[name]
    return made.program(_Programs(device.backend_named("cpu")), *xs, **{**made.keywords, **keywords})


# -- memory layouts ------------------------------------------------------------------------------------
def plain(x: np.ndarray) -> Any:
    if x.size > 1 and not any(x.strides):
        if x.flat[0] == 0:
            return device.backend_named("cuda").absent(x.shape, x.dtype, None)
        return cupy.broadcast_to(cupy.asarray(x.flat[0]), x.shape)
    return cupy.asarray(x)


def with_gaps(x: np.ndarray) -> Any:
    """The same values with foreign ones between them in memory, and the axes in reverse order."""
    if not x.ndim:
        return cupy.asarray(x)
    wide = cupy.full((*reversed(x.shape), 2), 77, dtype=x.dtype).transpose(*reversed(range(x.ndim)), x.ndim)
    wide[..., 1] = cupy.asarray(x)
    return wide[..., 1]


def backwards(x: np.ndarray) -> Any:
    """The same values with negative strides."""
    flip = (slice(None, None, -1),) * x.ndim
    return cupy.asarray(np.ascontiguousarray(x[flip]))[flip] if x.ndim else cupy.asarray(x)


LAYOUTS = {"plain": plain, "with gaps": with_gaps, "backwards": backwards}


# -- comparison ----------------------------------------------------------------------------------------
def compare(name: str, case: cases.Case, dtype: str = "float64", layout: str = "plain") -> None:
    """Raise unless the kernel gives what the program gives for the same numbers in double precision."""
    arrays = [_as(a, dtype) for a in case.arrays()]
    with np.errstate(all="ignore"):
        exact = [_as(a, "float64") for a in arrays]
        expected = program(name, *exact, **case.keywords)
    spread = LAYOUTS[layout]
    given = [a if a is None else (plain if narrow_and_absent(case, a) else spread)(a) for a in arrays]
    keywords = {**registry[name].keywords, **case.keywords}
    found = device.backend_named("cuda").kernels[name](*given, **keywords)
    what = f"{name} {case} {dtype} {layout}"
    both = zip(_tuple(found), _tuple(expected), strict=True)
    for k, (y, e) in enumerate(both):
        close(cupy.asnumpy(y), np.asarray(e), dtype, f"{what}, output {k}")
    for a, x in ((a, x) for a, x in zip(arrays, given, strict=True) if a is not None):
        np.testing.assert_array_equal(cupy.asnumpy(x), a, err_msg=f"{what}: the kernel wrote into an input")


def narrow_and_absent(case: cases.Case, a: np.ndarray) -> bool:
    """Whether an array stands for a cotangent that is not there, as products of 16-bit numbers want it."""
    return "narrow" in case.keywords and a.size > 1 and not any(a.strides)


def _as(a: Any, dtype: str) -> Any:
    if a is None or a.dtype.kind not in "fV":
        return a
    once = a.size > 1 and not any(a.strides)
    return np.broadcast_to(a.flat[0].astype(dtype), a.shape) if once else a.astype(dtype)


def close(found: np.ndarray, expected: np.ndarray, dtype: str, what: str) -> None:
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    assert found.dtype == np.dtype(dtype), f"{what}: {found.dtype}"
    finite = expected[np.isfinite(expected)]
    scale = float(np.max(np.abs(finite))) if finite.size else 1.0
    np.testing.assert_allclose(
        found.astype("float64"), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale, err_msg=what
    )


def _tuple(y: Any) -> tuple[Any, ...]:
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)
