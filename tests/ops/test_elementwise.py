"""Elementwise functions: values, derivatives at kinks and edges, zero cotangents, dtypes, casts."""

import math
import warnings

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.core.primitive import registry
from lucidgrad.ops.elementwise import arithmetic, choice, comparison, complex, exponential, rounding, trigonometric

INF, NAN = math.inf, math.nan


def leaf(values, dtype=np.float64):
    return lg.tensor(np.asarray(values, dtype), dtype=np.dtype(dtype), requires_grad=True)


def slopes(function, *inputs):
    """Value and gradients (seed ones), each as a list."""
    xs = [leaf(x) for x in inputs]
    y = function(*xs)
    return y.tolist(), *(g.tolist() for g in lg.autograd.grad(y, xs, lg.ones_like(y)))


def curvature(function, values):
    """Gradient, and gradient of its sum."""
    x = leaf(values)
    y = function(x)
    (g,) = lg.autograd.grad(y, x, lg.ones_like(y), create_graph=True)
    (h,) = lg.autograd.grad(g, x, lg.ones_like(g), materialize_grads=True)
    return g.detach().array, h.array


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300, equal_nan=True)


# -- values ---------------------------------------------------------------------------------------
UNARY = {
    "acos": (-1, 1), "acosh": (1, 9), "asin": (-1, 1), "asinh": (-9, 9), "atan": (-9, 9), "atanh": (-0.99, 0.99),
    "cos": (-9, 9), "cosh": (-9, 9), "exp": (-9, 9), "exp2": (-9, 9), "expm1": (-9, 9), "log": (0.1, 9),
    "log10": (0.1, 9), "log1p": (-0.9, 9), "log2": (0.1, 9), "sin": (-9, 9), "sinh": (-9, 9), "sqrt": (0, 9),
    "tan": (-1, 1), "tanh": (-9, 9),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_have_the_values_of_the_c_library(name):
    x = np.linspace(*UNARY[name], 101)
    expected = [getattr(math, name)(v) for v in x.tolist()]
    np.testing.assert_allclose(getattr(lg, name)(lg.tensor(x, dtype=x.dtype)).array, expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", [name for name, p in registry.items() if p.program.__module__ == comparison.__name__])
def test_functions_without_derivatives_are_numpys_and_record_nothing(name):
    integers = name.startswith("bitwise")
    xs = [np.asarray([5, 6, -3, 0]), np.asarray([3, 1, 2, 0])]
    xs = xs if integers else [x.astype(float) for x in xs]
    count = len(registry[name].arrays)
    expected = getattr(np, name)(*xs[:count])
    tensors = [lg.tensor(x, dtype=x.dtype, requires_grad=not integers) for x in xs[:count]]
    y = getattr(lg, name)(*tensors)
    assert y.dtype == expected.dtype
    assert y.tolist() == expected.tolist()
    assert not y.requires_grad


def test_numbers_count_as_true_where_they_are_not_zero():
    x = lg.tensor([0.0, 2.0, NAN])
    assert lg.logical_not(x).tolist() == [True, False, False]
    assert lg.logical_and(x, lg.tensor([1, 1, 0])).tolist() == [False, True, False]


def test_halves_round_to_even():
    assert lg.round(lg.tensor([-1.5, -0.5, 0.5, 1.5, 2.5])).tolist() == [-2.0, -0.0, 0.0, 2.0, 2.0]


def test_remainder_and_floor_divide_follow_the_divisor():
    x1, x2 = lg.tensor([7.0, -7.0, 7.0, -7.0]), lg.tensor([3.0, 3.0, -3.0, -3.0])
    assert (x1 // x2).tolist() == [2.0, -3.0, -3.0, 2.0]
    assert (x1 % x2).tolist() == [1.0, 2.0, -2.0, -1.0]


@pytest.mark.parametrize("size", [1, 1 << 18])
@pytest.mark.parametrize("number", [1e300, 10**300, np.inf])
def test_floor_divide_takes_a_number_beyond_the_dtype_for_infinite(number, size):
    x = lg.full(size, -0.5, dtype=lg.float32)
    y = (x // number)[0].item(), (number // x)[0].item()
    assert y == (0, -INF)
    assert np.signbit(y[0])


def test_sign_of_a_complex_number_has_modulus_one():
    assert lg.sign(lg.tensor([3.0 + 4.0j, 0.0j])).tolist() == [pytest.approx(0.6 + 0.8j), 0]


def test_nan_to_num():
    x = lg.tensor([NAN, INF, -INF, 2.0])
    limit = float(np.finfo(np.float32).max)
    assert lg.nan_to_num(x).tolist() == [0.0, limit, -limit, 2.0]
    assert lg.nan_to_num(x, nan=1.0, posinf=8.0, neginf=-8.0).tolist() == [1.0, 8.0, -8.0, 2.0]


def test_lerp_reaches_its_end_exactly():
    start, end = lg.tensor([0.1, -3.3e5]), lg.tensor([0.7, 1.7e-5])
    for weight in (1.0, lg.tensor([1.0, 1.0])):
        assert lg.lerp(start, end, weight).tolist() == end.tolist()
    for weight in (0.0, lg.tensor([0.0, 0.0])):
        assert lg.lerp(start, end, weight).tolist() == start.tolist()


# -- clip -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({}, [-1.0, 0.0, 0.5, 2.0]),
        ({"min": 0.0}, [0.0, 0.0, 0.5, 2.0]),
        ({"max": 1.0}, [-1.0, 0.0, 0.5, 1.0]),
        ({"min": 0.0, "max": 1.0}, [0.0, 0.0, 0.5, 1.0]),
        ({"min": 3.0, "max": 1.0}, [1.0, 1.0, 1.0, 1.0]),
    ],
)
def test_clip_takes_bounds_or_none(bounds, expected):
    x = lg.tensor([-1.0, 0.0, 0.5, 2.0])
    assert lg.clip(x, **bounds).tolist() == expected
    assert lg.clip(x, bounds.get("min"), bounds.get("max")).tolist() == expected
    assert lg.clip(x, **{k: lg.tensor(v) for k, v in bounds.items()}).tolist() == expected


def test_clip_without_bounds_is_a_copy():
    x = lg.tensor([1.0, 2.0])
    assert not np.shares_memory(lg.clip(x).array, x.array)


def test_bounds_that_are_active_get_the_gradient():
    x, low, high = [1.0, 2.0, 3.0, 0.0, 5.0, 4.0], [2.0, 2.0, 2.0, 3.0, 3.0, 1.0], [2.5, 3.0, 3.0, 1.0, 1.0, 2.0]
    y, *grads = slopes(lg.clip, x, low, high)
    assert y == [2.0, 2.0, 3.0, 1.0, 1.0, 2.0]
    assert grads == [
        [0.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    ]


# -- kinks: the value at the kink is PyTorch's ----------------------------------------------------
KINKS = [
    (lg.abs, [[-2.0, 0.0, 2.0]], [[-1.0, 0.0, 1.0]]),
    (lg.sign, [[-2.0, 0.0, 2.0]], [[0.0, 0.0, 0.0]]),
    (lg.floor, [[0.5, 1.0]], [[0.0, 0.0]]),
    (lg.ceil, [[0.5, 1.0]], [[0.0, 0.0]]),
    (lg.round, [[0.5, 1.0]], [[0.0, 0.0]]),
    (lg.trunc, [[0.5, 1.0]], [[0.0, 0.0]]),
    (lg.sqrt, [[0.0, 1.0]], [[INF, 0.5]]),
    (lg.rsqrt, [[0.0, 1.0]], [[-INF, -0.5]]),
    (lg.log, [[0.0]], [[INF]]),
    (lg.reciprocal, [[0.0]], [[-INF]]),
    (lg.asin, [[-1.0, 1.0]], [[INF, INF]]),
    (lg.acos, [[-1.0, 1.0]], [[-INF, -INF]]),
    (lg.acosh, [[1.0]], [[INF]]),
    (lg.atanh, [[-1.0, 1.0]], [[INF, INF]]),
    (lg.sinc, [[0.0]], [[0.0]]),
    (lg.nan_to_num, [[NAN, INF, 1.0]], [[0.0, 0.0, 1.0]]),
    (lg.maximum, [[1.0, 2.0, 3.0, NAN], [2.0, 2.0, 2.0, 1.0]], [[0.0, 0.5, 1.0, 1.0], [1.0, 0.5, 0.0, 1.0]]),
    (lg.minimum, [[1.0, 2.0, 3.0, NAN], [2.0, 2.0, 2.0, 1.0]], [[1.0, 0.5, 0.0, 1.0], [0.0, 0.5, 1.0, 1.0]]),
    (lambda x: lg.clip(x, 0.0, 1.0), [[-1.0, 0.0, 0.5, 1.0, 2.0, NAN]], [[0.0, 1.0, 1.0, 1.0, 0.0, 0.0]]),
    (lg.atan2, [[0.0, 3.0], [0.0, 4.0]], [[0.0, 0.16], [0.0, -0.12]]),
    (lg.copysign, [[0.0, 3.0, -3.0], [-1.0, -1.0, 0.0]], [[0.0, -1.0, -1.0], [0.0, 0.0, 0.0]]),
    (lg.remainder, [[7.0, -7.0], [3.0, 3.0]], [[1.0, 1.0], [-2.0, 3.0]]),
    (lg.pow, [[0.0] * 5, [0.0, 1.0, 2.0, 0.5, -1.0]], [[0.0, 1.0, 0.0, INF, -INF], [0.0, 0.0, 0.0, 0.0, -INF]]),
    (lg.xlogy, [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [[0.0, 0.0, -INF], [0.0, 0.0, INF]]),
    # Ours alone: PyTorch has NaN here.
    (lg.hypot, [[0.0, 3.0], [0.0, 4.0]], [[0.0, 0.6], [0.0, 0.8]]),
    (lg.logaddexp, [[-INF, INF, 0.0, INF], [-INF, 0.0, -INF, INF]], [[0.5, 1.0, 1.0, 0.5], [0.5, 0.0, 0.0, 0.5]]),
]  # fmt: skip


@pytest.mark.parametrize(("function", "inputs", "expected"), KINKS, ids=lambda v: getattr(v, "__name__", ""))
def test_derivative_at_the_kink(function, inputs, expected):
    with np.errstate(all="ignore"):
        _, *grads = slopes(function, *inputs)
    close(grads, expected)


@pytest.mark.parametrize("function", [lg.abs, lg.angle, lg.sign])
def test_complex_functions_have_derivative_zero_at_zero(function):
    x = leaf([0.0], np.complex128)
    y = function(x)
    assert lg.autograd.grad(y, x, lg.ones_like(y))[0].tolist() == [0]


# -- powers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("p", [0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 2.5, 0.0, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("kind", ["number", "tensor"])
def test_powers_and_their_derivatives(p, kind):
    x = np.asarray([0.3, 1.0, 2.5])
    exponent = p if kind == "number" else lg.tensor(float(p), dtype=lg.float64)
    g, h = curvature(lambda t: t**exponent, x)
    np.testing.assert_allclose(g, p * x ** (p - 1.0), rtol=1e-13)
    np.testing.assert_allclose(h, p * (p - 1) * x ** (p - 2.0), rtol=1e-13)


@pytest.mark.parametrize(
    ("p", "first", "second"), [(0, 0, 0), (1, 1, 0), (2, 0, 2), (3, 0, 0), (4, 0, 0), (2.0, 0, 2), (2.5, 0, 0)]
)
def test_powers_at_zero(p, first, second):
    g, h = curvature(lambda t: t**p, [0.0])
    assert (g, h) == (first, second)


def test_negative_base_with_whole_exponents():
    g, h = curvature(lambda t: t**3, [-2.0])
    assert (g, h) == (12.0, -12.0)
    y, g = slopes(lambda t: t ** lg.tensor([3.0, 2.0], dtype=lg.float64), [-2.0, -3.0])
    assert (y, g) == ([-8.0, 9.0], [12.0, -6.0])


def test_derivative_with_respect_to_the_exponent():
    _, g = slopes(lambda p: 2.0**p, [0.0, 3.0])
    close(g, [math.log(2), 8 * math.log(2)])
    assert slopes(lambda p: 0.0**p, [0.0, 2.0])[1] == [0.0, 0.0]


def test_mixed_derivative_of_a_power_at_exponent_zero():
    x, p = leaf([2.0]), leaf([0.0])
    (g,) = lg.autograd.grad(x**p, x, lg.ones_like(x), create_graph=True)
    (mixed,) = lg.autograd.grad(g, p, lg.ones_like(p))
    assert mixed.tolist() == [0.5]  # d/dp of p * x**(p - 1)


def test_integer_powers_stay_integers():
    x = lg.tensor([1, 2, 3])
    assert (x**2).dtype == x.dtype
    with pytest.raises(ValueError, match="[Ii]ntegers to negative integer powers"):
        x**-1


# -- the branch that where does not take ----------------------------------------------------------
EDGES = {
    "sqrt": (lambda x: lg.where(x > 0, lg.sqrt(x), x), [0.0, 4.0], [1.0, 0.25], [0.0, -1 / 32]),
    "sqrt of negatives": (lambda x: lg.where(x > 0, lg.sqrt(x), 0.0), [-1.0, 4.0], [0.0, 0.25], [0.0, -1 / 32]),
    "log": (lambda x: lg.where(x > 0, lg.log(x), x), [0.0, 2.0], [1.0, 0.5], [0.0, -0.25]),
    "log2": (lambda x: lg.where(x > 0, lg.log2(x), 0.0), [0.0], [0.0], [0.0]),
    "log10": (lambda x: lg.where(x > 0, lg.log10(x), 0.0), [0.0], [0.0], [0.0]),
    "log1p": (lambda x: lg.where(x > -1, lg.log1p(x), 0.0), [-1.0, 1.0], [0.0, 0.5], [0.0, -0.25]),
    "division by x": (lambda x: lg.where(x != 0, 1.0 / x, 0.0), [0.0, 2.0], [0.0, -0.25], [0.0, 0.25]),
    "x over x": (lambda x: lg.where(x != 0, lg.sin(x) / x, 1.0), [0.0], [0.0], [0.0]),
    "reciprocal": (lambda x: lg.where(x != 0, lg.reciprocal(x), 0.0), [0.0, 2.0], [0.0, -0.25], [0.0, 0.25]),
    "power 0.5": (lambda x: lg.where(x > 0, x**0.5, 0.0), [0.0, 4.0], [0.0, 0.25], [0.0, -1 / 32]),
    "power -1": (lambda x: lg.where(x > 0, x**-1, 0.0), [0.0, 2.0], [0.0, -0.25], [0.0, 0.25]),
    "power -1.5": (lambda x: lg.where(x > 0, x**-1.5, 0.0), [0.0, 1.0], [0.0, -1.5], [0.0, 3.75]),
    "power of itself": (lambda x: lg.where(x > 0, x**x, 0.0), [0.0, 1.0], [0.0, 1.0], [0.0, 2.0]),
    "rsqrt": (lambda x: lg.where(x > 0, lg.rsqrt(x), 0.0), [0.0, 1.0], [0.0, -0.5], [0.0, 0.75]),
    "asin": (lambda x: lg.where(x < 1, lg.asin(x), 0.0), [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]),
    "acos": (lambda x: lg.where(x < 1, lg.acos(x), 0.0), [1.0, 0.0], [0.0, -1.0], [0.0, 0.0]),
    "acosh": (lambda x: lg.where(x > 1, lg.acosh(x), 0.0), [1.0], [0.0], [0.0]),
    "atanh": (lambda x: lg.where(x < 1, lg.atanh(x), 0.0), [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]),
    "root of root": (lambda x: lg.where(x > 0, lg.sqrt(lg.sqrt(x)), 0.0), [0.0, 1.0], [0.0, 0.25], [0.0, -3 / 16]),
    "log of root": (lambda x: lg.where(x > 0, lg.log(lg.sqrt(x)), 0.0), [0.0, 1.0], [0.0, 0.5], [0.0, -0.5]),
    "xlogy": (lambda x: lg.where(x > 0, lg.xlogy(x, x), 0.0), [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]),
    "hypot": (lambda x: lg.where(x > 0, lg.hypot(x, x), 0.0), [0.0, 1.0], [0.0, math.sqrt(2)], [0.0, 0.0]),
    "atan2": (lambda x: lg.where(x > 0, lg.atan2(x, x * x), 0.0), [0.0, 1.0], [0.0, -0.5], [0.0, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("many", [1, 10_000], ids=["small", "large"])
def test_where_gives_the_untaken_branch_nothing(name, many):
    function, values, first, second = EDGES[name]
    with np.errstate(all="ignore"):
        g, h = curvature(function, values * many)
    np.testing.assert_allclose(g, first * many, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(h, second * many, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("shape", [(3,), (20_000,)])
def test_where_chooses_exactly_whatever_the_bits(shape):
    special = np.resize([NAN, INF, -INF, -0.0, 0.0, 1.5], shape).astype(np.float32)
    other = np.flip(special).copy()
    condition = np.resize([True, True, False, True, False], shape)
    kernel = registry["where"].find_kernel(np.ndarray)
    for x1, x2 in [
        (special, other),
        (special, 0),
        (0, special),
        (special, 2.5),
        (-0.5, special),
        (special, special[:1]),
    ]:
        found, expected = kernel(condition, x1, x2), np.where(condition, x1, x2)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scale_and_unscale_keep_zeros():
    scale, unscale = registry["scale"].op, registry["unscale"].op
    for n in (1, 5_000):
        g, d = lg.tensor([0.0, 0.0, 2.0] * n), lg.tensor([INF, NAN, 3.0] * n)
        assert scale(g, d).tolist() == [0.0, 0.0, 6.0] * n
        assert unscale(g, lg.tensor([0.0, NAN, 4.0] * n)).tolist() == [0.0, 0.0, 0.5] * n


# -- sinc -----------------------------------------------------------------------------------------
def test_sinc_has_all_its_derivatives_at_zero():
    x = leaf([0.0])
    y, found = lg.sinc(x), []
    for _ in range(4):
        (y,) = lg.autograd.grad(y, x, lg.ones_like(y), create_graph=True)
        found.append(y.item())
    np.testing.assert_allclose(found, [0, -(math.pi**2) / 3, 0, math.pi**4 / 5], rtol=1e-12, atol=1e-12)


# -- dtypes ---------------------------------------------------------------------------------------
FAMILIES = (arithmetic, choice, complex, exponential, rounding, trigonometric)
ONE_ARRAY = [
    name
    for name, primitive in registry.items()
    if primitive.program.__module__ in {family.__name__ for family in FAMILIES}
    and primitive.arrays == ("x",)
    and not primitive.positional
]


@pytest.mark.parametrize("name", ONE_ARRAY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_keep_their_dtype(name, dtype):
    x = leaf([1.25, 1.5] if name == "acosh" else [0.25, 0.5], dtype)
    y = getattr(lg, name)(x)
    assert y.dtype == dtype
    if y.requires_grad:
        assert lg.autograd.grad(y, x, lg.ones_like(y))[0].dtype == dtype


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.uint32])
def test_integers_become_the_default_float_where_they_must(dtype):
    x = lg.tensor(np.asarray([1, 2], dtype), dtype=np.dtype(dtype))
    for y in (lg.sin(x), lg.sqrt(x), x / x, x / 2, lg.reciprocal(x), lg.rsqrt(x), x * 0.5, lg.sigmoid(x), lg.erf(x)):
        assert y.dtype == lg.float32
    assert lg.reciprocal(x).tolist() == [1.0, 0.5]
    for y in (x + x, x * 2, lg.abs(x), lg.square(x), lg.maximum(x, 1), lg.where(x > 1, x, 0), lg.clip(x, 1, 2)):
        assert y.dtype == dtype


def test_python_numbers_never_widen():
    x = leaf([1.0, 2.0], np.float32)
    for function in (
        lambda x: lg.where(x > 1, x, 0.5),
        lambda x: lg.clip(x, 0.1, 1.7),
        lambda x: lg.maximum(x, 1.5),
        lambda x: lg.hypot(x, 2.5),
        lambda x: lg.atan2(2.5, x),
        lambda x: lg.xlogy(x, 2.5),
        lambda x: lg.xlogy(2.5, x),
        lambda x: lg.logaddexp(x, 2.5),
        lambda x: lg.copysign(x, -2.5),
        lambda x: 2.5**x,
        lambda x: x**2.5,
        lambda x: 2.5 % x,
        lambda x: lg.lerp(x, 2.5, 0.3),
    ):
        y = function(x)
        (g,) = lg.autograd.grad(y, x, lg.ones_like(y), create_graph=True)
        (h,) = lg.autograd.grad(g, x, lg.ones_like(g), materialize_grads=True)
        assert y.dtype == g.dtype == h.dtype == lg.float32


# -- casts ----------------------------------------------------------------------------------------
def test_casts_between_floats_are_differentiable():
    x = leaf([1.0, 2.0], np.float32)
    y = lg.astype(x, lg.float64)
    assert y.dtype == lg.float64
    (g,) = lg.autograd.grad((y * y).sum(), x)
    assert (g.tolist(), g.dtype) == ([2.0, 4.0], lg.float32)
    z = lg.astype(x, lg.complex64)
    (g,) = lg.autograd.grad(lg.real(z * (1 + 2j)).sum(), x)
    assert (g.tolist(), g.dtype) == ([1.0, 1.0], lg.float32)


@pytest.mark.parametrize("name", ["int64", "int8", "bool", "uint8"])
def test_casts_to_integers_and_booleans_want_no_gradient(name):
    x = leaf([0.0, 2.0], np.float32)
    y = lg.astype(x, getattr(lg, name))
    assert not y.requires_grad
    assert y.dtype == np.dtype(name)
    assert lg.astype(x, name).dtype == np.dtype(name)


def test_integers_cast_to_a_float_have_the_one_asked_for():
    x = lg.tensor([1, 2])
    for dtype in (lg.float64, lg.float32, lg.complex128):
        assert lg.astype(x, dtype).dtype == dtype
        assert lg.astype(np.asarray([1, 2]), dtype).dtype == dtype


def test_a_cast_without_copy_shares_memory():
    x = lg.tensor([1.0, 2.0])
    assert lg.astype(x, lg.float32, copy=False).array is x.array
    assert lg.astype(x, lg.float32).array is not x.array


def test_real_and_imaginary_parts_are_views():
    z = lg.tensor([1.0 + 2.0j])
    assert np.shares_memory(lg.real(z).array, z.array)
    assert np.shares_memory(lg.imag(z).array, z.array)


# -- complex numbers ------------------------------------------------------------------------------
COMPLEX = {
    "abs": (lambda z: lg.abs(z), 0.6 + 0.8j),
    "angle": (lambda z: lg.angle(z), (-4 + 3j) / 25),
    "real": (lambda z: lg.real(z), 1),
    "imag": (lambda z: lg.imag(z), 1j),
    "conj": (lambda z: lg.real(lg.conj(z) * 1j), 1j),
    "real of sign": (lambda z: lg.real(lg.sign(z)), (16 - 12j) / 125),
    "square": (lambda z: lg.real(z * z), 6 - 8j),
    "power 2": (lambda z: lg.imag(z**2), 8 + 6j),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_follow_pytorchs_convention(name):
    """At 3 + 4j, numbers worked by hand: the gradient is dL/dRe + i dL/dIm."""
    function, expected = COMPLEX[name]
    z = leaf([3 + 4j], np.complex128)
    (g,) = lg.autograd.grad(function(z).sum(), z)
    close(g.tolist(), [expected])


def test_no_warnings_from_rules():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (lg.sqrt, lambda x: x**0.5):
            x = leaf([0.0])
            assert lg.autograd.grad(function(x), x, lg.ones_like(x))[0].tolist() == [INF]
