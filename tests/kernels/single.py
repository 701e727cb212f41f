"""Kernels that stand alone: random numbers, remainders, picking, addresses, complex functions.

Each has a check against NumPy, and faults that the check must find.
"""

import contextlib
import importlib
import math
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np

from lucidgrad.backends.cuda import faults

#: Module, how the kernel is reached in it, and faults: what is replaced by what in the kernel's code.
FAULTS: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "uniform_f": ("sampling", "_UNIFORM.f", [("low + span", "low - span"), ("r[0]", "r[1]")]),
    "uniform_d": ("sampling", "_UNIFORM.d", [("low + span", "low - span"), ("r[1], r[0]", "r[0], r[1]")]),
    "normal_f": ("sampling", "_NORMAL.f", [("mean + std", "mean - std"), ("-2 *", "-3 *"), ("(r[1])", "(r[2])")]),
    "normal_d": (
        "sampling",
        "_NORMAL.d",
        [("mean + std", "mean - std"), ("-2 *", "-3 *"), ("r[3], r[2]", "r[1], r[2]")],
    ),
    "bits": ("sampling", "_BITS", [("philox_bits(r)", "philox_bits(r + 1)"), ("start + i", "start - i")]),
    "integers": ("sampling", "_INTEGERS", [("low + philox", "low - philox"), ("% span", "% (span + 1)")]),
    "remainder": ("library", "_OWN.remainder", [("(x1, x2)", "(x2, x1)"), ("lg_remainder", "fmod")]),
    "floor_divide": ("library", "_OWN.floor_divide", [("(x1, x2)", "(x2, x1)"), ("lg_floor_divide", "fmod")]),
    "left": ("library", "_OWN.shift_left", [("(x1, x2)", "(x2, x1)"), ("lg_shift_left", "lg_shift_right")]),
    "right": ("library", "_OWN.shift_right", [("(x1, x2)", "(x2, x1)"), ("lg_shift_right(x1, x2)", "x1 >> x2")]),
    "acosh": ("library", "COMPLEX.acosh", [("re == 0", "im == 0"), ("T(im, R(1.57", "T(im, -R(1.57")]),
    "log": ("library", "COMPLEX.log", [("isinf(re) ||", "isinf(im) ||"), ("atan2(im, re)", "atan2(re, im)")]),
    "log1p": ("library", "COMPLEX.log1p", [("isinf(re) ||", "isinf(im) ||"), ("fabs(re)", "-fabs(re)")]),
    "tanh": ("library", "COMPLEX.tanh", [("re == 0", "re != 0"), ("T(re, im - im)", "T(im - im, re)")]),
    "take_along": (
        "kernels.indexing",
        "_TAKE_ALONG",
        [("* size + k", "* number + k"), ("i - line * inner", "line"), ("+ k)", "- k)")],
    ),
    "last_put": (
        "kernels.indexing",
        "_LAST_PUT",
        [
            ("atomicMax", "atomicMin"),
            ("inner + i - line * inner]", "inner + i % number]"),
            ("line - outer * number", "line"),
        ],
    ),
    "add_at": ("kernels.puts", "_ADD", [("* size + k", "* number + k"), ("(unsigned int)g", "1U"), ("== 8", "== 4")]),
    "addresses": (
        "kernels.matmul",
        "_ADDRESSES",
        [("a * far2 +", "a * far2 -"), ("b * near1", "a * near1"), ("2 * count", "1 * count")],
    ),
}


@contextlib.contextmanager
def planted(name: str, old: str, new: str) -> Iterator[None]:
    """A kernel with a fault in the place of the right one."""
    module, path, _ = FAULTS[name]
    holder: Any = importlib.import_module(f"lucidgrad.backends.cuda.{module}")
    first, _, key = path.partition(".")
    right = getattr(holder, first)[key] if key else getattr(holder, first)
    wrong = _with_fault(right, old, new)
    put: Callable[[Any], Any] = (
        (lambda kernel: getattr(holder, first).__setitem__(key, kernel))
        if key
        else (lambda kernel: setattr(holder, first, kernel))
    )
    put(wrong)
    try:
        yield
    finally:
        put(right)
        faults.take()  # which a fault may have met anywhere


def _with_fault(kernel: Any, old: str, new: str) -> Any:
    if hasattr(kernel, "plain"):  # which has another form for graphs
        return SimpleNamespace(plain=_with_fault(kernel.plain, old, new), recorded=kernel.recorded)
    if isinstance(kernel, cupy.RawKernel):
        assert old in kernel.code, f"{kernel.name}: its source has no {old!r}"
        return cupy.RawKernel(kernel.code.replace(old, new, 1), kernel.name)
    assert old in kernel.operation, f"{kernel.name}: its code has no {old!r}"
    words = [", ".join(map(_parameter, part)) for part in (kernel.in_params, kernel.out_params)]
    code = kernel.operation.replace(old, new, 1)
    return cupy.ElementwiseKernel(*words, code, f"{kernel.name}_fault", preamble=kernel.preamble)


def _parameter(p: Any) -> str:
    kind = p.ctype if p.dtype is None else np.dtype(p.dtype).name
    return f"{'raw ' if p.raw else ''}{kind} {p.name}"


def survives(name: str) -> bool:
    """Whether the check of a kernel finds nothing."""
    try:
        CHECKS.get(name, _complex)(name)
    except (AssertionError, cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError):  # wrong, or a fault
        return False
    return True


# -- checks ------------------------------------------------------------------------------------------
def _words(seed: int, count: int) -> list[list[int]]:
    from cuda.test_random import philox  # the reference, in Python

    return [philox(seed, at) for at in range(count)]


def _random(name: str) -> None:
    from lucidgrad.backends.cuda import sampling

    source, words = sampling.Source(7, 0), _words(7, 40)
    how, _, char = name.partition("_")
    dtype = {"f": "float32", "d": "float64"}.get(char, "int64")
    unit = lambda high, low: ((high << 32 | low) >> 11) / 2**53
    single = lambda bits: (bits >> 8) / 2**24
    first = [single(r[0]) if char == "f" else unit(r[1], r[0]) for r in words]
    second = [single(r[1]) if char == "f" else unit(r[3], r[2]) for r in words]
    if how == "uniform":
        expected = [3 + 4 * u for u in first]
        found = sampling.draw(source, "uniform", (40,), dtype, 3.0, 7.0)
    elif how == "normal":
        expected = [
            1 + 2 * math.sqrt(-2 * math.log(1 - u)) * math.cos(2 * math.pi * v)
            for u, v in zip(first, second, strict=True)
        ]
        found = sampling.draw(source, "normal", (40,), dtype, 1.0, 2.0)
    elif how == "bits":
        expected = np.argsort([r[1] << 32 | r[0] for r in words]).tolist()
        found = sampling.draw(source, "permutation", (40,), dtype)
    else:
        expected = [5 + (r[1] << 32 | r[0]) % 12 for r in words]
        found = sampling.draw(source, "integers", (40,), dtype, 5, 17)
    np.testing.assert_allclose(found.get(), expected, rtol=2e-5, atol=2e-6)


def _division(name: str) -> None:
    from lucidgrad.backends.cuda import library

    x1, x2 = np.meshgrid([-7.5, -3.0, -0.0, 0.0, 2.5, 6.0], [-3.0, -2.5, 2.0, 3.0])
    expected = getattr(np, name)(x1, x2)
    found = library.DIFFERENCES[name](cupy.asarray(x1), cupy.asarray(x2)).get()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def _complex(name: str) -> None:
    from lucidgrad.backends.cuda import library

    nan, inf = math.nan, math.inf
    special = {
        "acosh": {complex(0, nan): complex(nan, math.pi / 2)},
        "log": {
            complex(inf, nan): complex(inf, nan),
            complex(nan, inf): complex(inf, nan),
            complex(inf, 1): complex(inf, 0),
        },
        "log1p": {complex(inf, nan): complex(inf, nan), complex(nan, inf): complex(inf, nan)},
        "tanh": {complex(0, inf): complex(0, nan), complex(0, nan): complex(0, nan), complex(-inf, 2): complex(-1, 0)},
    }[name]
    ordinary = [1.5 + 0.5j, -0.3 + 2j, 0.7 - 0.2j, 1.2 + 0j]
    function = {"acosh": np.arccosh}.get(name) or getattr(np, name)
    x = np.array([*ordinary, *special])
    expected = np.array([*function(np.array(ordinary)), *special.values()])
    found = library.COMPLEX[name](cupy.asarray(x)).get()
    np.testing.assert_allclose(found.real, expected.real, rtol=1e-13)
    np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-13, atol=1e-15)


def _take_along(_: str) -> None:
    from lucidgrad.backends.cuda.kernels import indexing

    x = np.arange(60.0).reshape(3, 5, 4)
    for axis in (0, 1, 2):
        for number in (3, 4, 5, 7):
            shape = (*x.shape[:axis], number, *x.shape[axis + 1 :])
            i = np.random.default_rng(axis).integers(-x.shape[axis], x.shape[axis], shape)
            found = indexing.take_along_axis(cupy.asarray(x), cupy.asarray(i), axis=axis)
            np.testing.assert_array_equal(found.get(), np.take_along_axis(x, i, axis=axis))


def _last_put(_: str) -> None:
    from lucidgrad.backends.cuda.kernels import indexing

    for axis in (0, 1, 2):
        i = np.random.default_rng(axis).integers(-6, 6, (3, 5, 4))
        expected = np.full((*i.shape[:axis], 6, *i.shape[axis + 1 :]), -1)
        for at in np.ndindex(i.shape):
            expected[(*at[:axis], i[at], *at[axis + 1 :])] = at[axis]  # in order: the last one stays
        found = indexing.last_put(cupy.asarray(i), axis=axis, size=6)
        np.testing.assert_array_equal(found.get(), expected)


def _add_at(_: str) -> None:
    from lucidgrad.backends.cuda.kernels import puts

    for dtype in ("int32", "int64", "uint32", "int8"):
        for axis in (0, 1, 2):
            rng = np.random.default_rng(axis)
            g, i = rng.integers(-9, 9, (3, 5, 4)).astype(dtype), rng.integers(-6, 6, (3, 5, 4))
            expected = np.zeros((*g.shape[:axis], 6, *g.shape[axis + 1 :]), dtype)
            for at in np.ndindex(i.shape):
                with np.errstate(over="ignore"):
                    expected[(*at[:axis], i[at], *at[axis + 1 :])] += g[at]
            found = puts.TABLE["put_along_axis_add"](cupy.asarray(g), cupy.asarray(i), axis=axis, size=6)
            np.testing.assert_array_equal(found.get(), expected)


def _addresses(_: str) -> None:
    from lucidgrad.backends.cuda.kernels import matmul

    matmul._TABLES.clear()
    made_of = (1000, 2000, 3000, 4, 7, 11, 13, 170, 190, 230, 12)  # places, inner, far steps, near steps, count
    place, inner, far, near, count = made_of[:3], made_of[3], made_of[4:7], made_of[7:10], made_of[10]
    expected = [
        p + e // inner * f + e % inner * n for p, f, n in zip(place, far, near, strict=True) for e in range(count)
    ]
    found = matmul._table(made_of).get().tolist()
    matmul._TABLES.clear()
    assert found == expected


def _shift(side: str) -> None:
    from lucidgrad.backends.cuda import library

    for dtype in ("int8", "uint16", "int64"):
        x1, x2 = np.meshgrid(
            np.array([1, 3, 100, -100 if dtype != "uint16" else 7], dtype), np.arange(0, 70, 3).astype(dtype)
        )
        found = library.DIFFERENCES[f"bitwise_{side}_shift"](cupy.asarray(x1), cupy.asarray(x2)).get()
        np.testing.assert_array_equal(found, getattr(np, f"{side}_shift")(x1, x2))


CHECKS: dict[str, Callable[[str], None]] = {
    "left": _shift,
    "right": _shift,
    **dict.fromkeys(("uniform_f", "uniform_d", "normal_f", "normal_d", "bits", "integers"), _random),
    "floor_divide": _division,
    "remainder": _division,
    "take_along": _take_along,
    "last_put": _last_put,
    "add_at": _add_at,
    "addresses": _addresses,
}
