"""Numbers of every kind in random order: large arrays have the values and gradients of small ones.

Small arrays are computed by NumPy, as all are with LUCIDGRAD_COMPILED=0.
"""

import math

import numpy as np
import pytest
from thoroughness import NIGHTLY, cases, draw

import lucidgrad as lg

NUMBERS = (
    *(0.0, -0.0, 0, False, True, 1, 1.0, -1, 2, 2.0, 3, 0.1, -2.5, 10**9, 1e-300, 1e300, math.nan, math.inf, -math.inf),
    *(2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**20, -(2**70), 2**70, 10**30, 10**300),
    *(np.float64(2.5), np.float32(-0.0), np.int64(3), np.bool_(True), np.float64("nan"), np.float16(0.5)),
)
FEW = (0, 1, 2.0, -0.0, True, 2**70, 0.1)
VALUES = np.array([0.5, -0.5, 1.0, -1.25, 3.0, 1e-3, 7.5, -2.0, 0.25, 100.0, -1e5, 0.75, 1e8, 0.3, -0.7, 12.0])
#: Kernels are compiled one by one here: few in every run.
OPERATORS = ("multiply", "add", "divide", "maximum") + (
    ("subtract", "minimum", "remainder", "fmod", "floor_divide", "atan2", "hypot", "logaddexp", "copysign", "less")
    if NIGHTLY
    else ()
)
KEYWORDS = {
    "leaky_relu": ("negative_slope",),
    "nan_to_num": ("nan", "posinf"),
    **({"elu": ("alpha",), "softplus": ("beta", "threshold"), "hardtanh": ("min_val", "max_val")} if NIGHTLY else {}),
}


def of_numbers(name, rng):
    number, swapped = rng.choice(NUMBERS), rng.random() < 0.5
    function = getattr(lg, name)
    return (f"{name} {number!r} {swapped}", lambda x: function(number, x) if swapped else function(x, number))


def of_keywords(name, rng):
    keywords = {k: rng.choice(FEW) for k in KEYWORDS[name]}
    return f"{name} {keywords}", lambda x: getattr(lg, name)(x, **keywords)


def of_powers(name, rng):
    number = rng.choice(FEW)
    return f"pow {number!r}", lambda x: x**number


def outcome(function, values, where):
    """The value and the gradient, or the class of what is raised."""
    x = lg.tensor(values, device=where, requires_grad=True)
    try:
        y = function(x)
        if not y.requires_grad:
            return [y.numpy(force=True)]
        (g,) = lg.autograd.grad(y, x, lg.ones_like(y))
        return [y.numpy(force=True), g.numpy(force=True)]
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        return [type(error).__name__]


def same(found, expected):
    if isinstance(expected, str) or isinstance(found, str):
        return found == expected
    if found.dtype != expected.dtype:
        return False
    if found.dtype.kind != "f":
        return bool((found == expected).all())
    eps = 16 * float(np.finfo(found.dtype).eps)
    with np.errstate(all="ignore"):
        close = np.isclose(found, expected, rtol=eps, atol=0, equal_nan=True)
        zeros = (found == 0) & (expected == 0)
    return bool((close & (~zeros | (np.signbit(found) == np.signbit(expected)))).all())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_large_is_small_whatever_came_before(where):
    rng, wrong, size = draw(where), [], 1 << 18 if where == "cpu" else 64
    kinds = [(of_numbers, name) for name in OPERATORS[: None if where == "cpu" or NIGHTLY else 2]] * 4
    kinds += [(of_keywords, name) for name in KEYWORDS] + [(of_powers, "pow")]
    tried = cases(150, 800) if where == "cpu" else cases(60, 300)
    for _ in range(tried):
        make, name = rng.choice(kinds)
        dtype = rng.choice(("float64", "float32")) if NIGHTLY else "float64"
        what, function = make(name, rng)
        small = VALUES.astype(dtype)
        expected = outcome(function, small, "cpu")
        found = outcome(function, np.tile(small, size // small.size), where)
        parts = [part if isinstance(part, str) else part[: small.size] for part in found]
        if len(parts) != len(expected) or not all(map(same, parts, expected)):
            wrong.append((what, dtype, parts, expected))
    assert not wrong, f"{len(wrong)} of {tried} calls differ; the first: {wrong[0]}; all: {[w[0] for w in wrong]}"
