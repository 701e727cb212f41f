"""Special functions and activations: accuracy, extremes, derivatives at kinks, kernels against programs."""

import math
import warnings

import mpmath
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.core.items import Input, Result
from lucidgrad.core.primitive import registry
from lucidgrad.ops.elementwise import activation
from lucidgrad.ops.special import entropy

INF, NAN = math.inf, math.nan
DTYPES = [np.float32, np.float64]
RNG = np.random.default_rng(0)


def leaf(values, dtype=np.float64):
    return lg.tensor(np.asarray(values, dtype), dtype=np.dtype(dtype), requires_grad=True)


def value(name, x, **keywords):
    return getattr(lg, name)(lg.tensor(x, dtype=x.dtype), **keywords).array


def slope(function, values):
    x = leaf(values)
    y = function(x)
    return lg.autograd.grad(y, x, lg.ones_like(y))[0].array


# -- accuracy in units in the last place, against mpmath -------------------------------------------
ACCURACY = {
    "erf": (mpmath.erf, [(-6, 6), (-0.5, 0.5), (-1e-9, 1e-9)], 8),
    "erfc": (mpmath.erfc, [(-6, 9), (-0.5, 0.5), (0.4, 4.1)], 8),
    "erfinv": (mpmath.erfinv, [(-1, 1), (-0.01, 0.01), (0.99, 0.9999)], 8),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), [(-80, 80), (-3, 3)], 4),
    "logsigmoid": (lambda x: -mpmath.log1p(mpmath.exp(-x)), [(-80, 80), (-3, 3)], 4),
    "softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), [(-80, 20), (-3, 3)], 4),
    "silu": (lambda x: x / (1 + mpmath.exp(-x)), [(-9, 9)], 5),
    "mish": (lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))), [(-9, 9)], 5),
    "logit": (lambda x: mpmath.log(x / (1 - x)), [(0.001, 0.999), (0.499, 0.501)], 4),
    "entr": (lambda x: -x * mpmath.log(x), [(0, 0.9), (1.1, 9)], 4),
    "gelu": (lambda x: x * mpmath.ncdf(x), [(-1, 9)], 8),
    "elu": (lambda x: x if x > 0 else mpmath.expm1(x), [(-9, 9), (-1e-6, 1e-6)], 3),
}


@pytest.mark.parametrize("name", ACCURACY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_right_to_a_few_units_in_the_last_place(name, dtype):
    reference, ranges, units = ACCURACY[name]
    x = np.concatenate([RNG.uniform(*r, 150) for r in ranges]).astype(dtype)
    with mpmath.workdps(40):
        exact = [reference(mpmath.mpf(v)) for v in x.tolist()]
    expected = np.asarray([float(v) for v in exact])
    error = np.abs(value(name, x).astype(float) - expected) / np.spacing(np.abs(expected).astype(dtype))
    assert error.max() <= units


@pytest.mark.parametrize("name", ["erf", "erfc"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_and_many_values_agree(name, dtype):
    x = RNG.uniform(-5, 5, 40_000).astype(dtype)
    many = value(name, x)
    few = np.concatenate([value(name, x[i : i + 50]) for i in range(0, 1000, 50)])
    np.testing.assert_allclose(many[:1000], few, rtol=2e-6 if dtype is np.float32 else 3e-15)


def test_erfc_keeps_its_digits_in_the_tail():
    x = np.asarray([5.0, 10.0, 20.0, 26.0])
    expected = [float(mpmath.erfc(v)) for v in x]
    np.testing.assert_allclose(value("erfc", np.resize(x, 200))[:4], expected, rtol=3e-15)


# -- extremes -------------------------------------------------------------------------------------
EXTREMES = {
    "sigmoid": ([-INF, -1e4, 0.0, 1e4, INF, NAN], [0.0, 0.0, 0.5, 1.0, 1.0, NAN]),
    "logsigmoid": ([-1e4, 0.0, 1e4, INF, NAN], [-1e4, -math.log(2), 0.0, 0.0, NAN]),
    "softplus": ([-1e4, 0.0, 20.5, 1e4, NAN], [0.0, math.log(2), 20.5, 1e4, NAN]),
    "erf": ([-INF, -1e4, 0.0, 1e4, INF, NAN], [-1.0, -1.0, 0.0, 1.0, 1.0, NAN]),
    "erfc": ([-INF, -1e4, 0.0, 1e4, INF, NAN], [2.0, 2.0, 1.0, 0.0, 0.0, NAN]),
    "erfinv": ([-1.0, 0.0, 1.0, 2.0, NAN], [-INF, 0.0, INF, NAN, NAN]),
    "entr": ([0.0, 1.0, -1.0, NAN], [0.0, 0.0, -INF, NAN]),
    "silu": ([-1e4, 0.0, 1e4], [0.0, 0.0, 1e4]),
    "mish": ([-1e4, 0.0, 1e4], [0.0, 0.0, 1e4]),
    "gelu": ([-1e4, 0.0, 1e4], [0.0, 0.0, 1e4]),
    "elu": ([-1e4, 0.0, 1e4], [-1.0, 0.0, 1e4]),
    "celu": ([-1e4, 0.0, 1e4], [-1.0, 0.0, 1e4]),
    "selu": ([-1e4, 0.0], [-1.0507009873554805 * 1.6732632423543772, 0.0]),
}


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("many", [1, 200, 5_000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_neither_overflow_nor_warn(name, many, dtype):
    x, expected = EXTREMES[name]
    x = np.resize(np.asarray(x, dtype), len(x) * many)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = value(name, x)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.resize(expected, x.shape), rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in EXTREMES if n not in ("erfinv", "entr")])
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_of_two_orders_are_finite_far_out(name, dtype):
    x = leaf([-1e4, -100.0, 100.0, 1e4], dtype)
    y = getattr(lg, name)(x)
    (g,) = lg.autograd.grad(y, x, lg.ones_like(y), create_graph=True)
    (h,) = lg.autograd.grad(g, x, lg.ones_like(g), materialize_grads=True)
    assert np.isfinite(g.detach().array).all()
    assert np.isfinite(h.array).all()
    assert g.dtype == h.dtype == dtype


def test_gelu_by_tanh_survives_cubes_that_overflow():
    for size in (1e14, 1e30):
        x = leaf([-size, size], np.float32)
        with np.errstate(over="ignore"):
            y = lg.gelu(x, approximate="tanh")
            assert lg.autograd.grad(y, x, lg.ones_like(y))[0].tolist() == [0.0, 1.0]


def test_gelu_names_what_it_expects():
    with pytest.raises(RuntimeError, match="expected 'none' or 'tanh'"):
        lg.gelu(lg.tensor([1.0]), approximate="sine")


# -- kinks: the value at the kink is PyTorch's ----------------------------------------------------
SELU = 1.0507009873554805, 1.7580993408473766
KINKS = [
    (lg.relu, [-1.0, 0.0, 1.0, NAN], [0.0, 0.0, 1.0, 1.0]),
    (lg.relu6, [-1.0, 0.0, 1.0, 6.0, 7.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
    (lg.leaky_relu, [-1.0, 0.0, 1.0, NAN], [0.01, 0.01, 1.0, 0.01]),
    (lg.elu, [-1.0, 0.0, 1.0], [math.exp(-1), 1.0, 1.0]),
    (lambda x: lg.elu(x, alpha=0.5), [0.0, 1.0], [0.5, 1.0]),
    (lambda x: lg.celu(x, alpha=2.0), [-1.0, 0.0, 1.0], [math.exp(-0.5), 1.0, 1.0]),
    (lg.selu, [-1.0, 0.0, 1.0], [SELU[1] * math.exp(-1), SELU[1], SELU[0]]),
    (lg.hardtanh, [-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
    (lg.hardsigmoid, [-4.0, -3.0, 0.0, 3.0, 4.0], [0.0, 0.0, 1 / 6, 0.0, 0.0]),
    (lg.hardswish, [-4.0, -3.0, 0.0, 3.0, 4.0], [0.0, 0.0, 0.5, 1.0, 1.0]),
    (lambda x: lg.threshold(x, 1.0, 5.0), [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]),
    (lg.softshrink, [-1.0, -0.5, 0.0, 0.5, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0]),
    (lg.hardshrink, [-1.0, -0.5, 0.0, 0.5, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0]),
    (lg.softsign, [-1.0, 0.0, 1.0], [0.25, 1.0, 0.25]),
    (lg.tanhshrink, [0.0, 1.0], [0.0, math.tanh(1) ** 2]),
    (lg.softplus, [-1000.0, 0.0, 20.5, 1000.0], [0.0, 0.5, 1.0, 1.0]),
    (lambda x: lg.softplus(x, beta=2.0, threshold=1.0), [0.0, 0.6], [0.5, 1.0]),
    (lg.logsigmoid, [-1000.0, 0.0, 1000.0], [1.0, 0.5, 0.0]),
    (lg.logit, [0.0, 0.5, 1.0], [INF, 4.0, INF]),
    (lambda x: lg.logit(x, eps=0.1), [0.0, 0.1, 0.5, 1.0], [0.0, 1 / 0.09, 4.0, 0.0]),
    (lg.entr, [0.0, 1.0], [INF, -1.0]),
    (lg.erfinv, [-1.0, 0.0, 1.0], [INF, math.sqrt(math.pi) / 2, INF]),
]


@pytest.mark.parametrize(("function", "values", "expected"), KINKS, ids=lambda v: getattr(v, "__name__", ""))
def test_derivative_at_the_kink(function, values, expected):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(slope(function, values), expected, rtol=1e-12, atol=1e-300)


EDGES = {
    "logit": (lambda x: lg.where(x > 0, lg.logit(x), 0.0), [0.0, 0.5], [0.0, 4.0]),
    "entr": (lambda x: lg.where(x > 0, lg.entr(x), 0.0), [0.0, 1.0], [0.0, -1.0]),
    "erfinv": (lambda x: lg.where(x < 1, lg.erfinv(x), 0.0), [1.0, 0.0], [0.0, math.sqrt(math.pi) / 2]),
}


@pytest.mark.parametrize("name", EDGES)
def test_where_gives_the_untaken_branch_nothing(name):
    function, values, expected = EDGES[name]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(slope(function, values), expected, rtol=1e-12)


# -- kernels and memory ---------------------------------------------------------------------------
KERNELS = [n for n, p in registry.items() if p.program.__module__ == activation.__name__ and p.arrays == ("x",)]
KERNELS += ["erf", "erfc", "erfinv"]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (100, 200), (3, 5000)])
def test_kernels_agree_with_their_programs(name, dtype, shape):
    x = np.asarray(RNG.uniform(-0.99, 0.99, shape) * (1 if name == "erfinv" else 6)).astype(dtype)
    primitive = registry[name]
    keywords = primitive.keywords
    wide, rtol = (np.float64, 1e-14) if dtype is np.float64 else (np.float32, 2e-6 if dtype is np.float32 else 2e-3)
    expected = np.asarray(primitive.program(np_namespace(), x.astype(wide), **keywords)).astype(dtype)
    for turn in (np.asarray, np.flip, np.transpose):
        given = turn(x)
        found = np.asarray(primitive.find_kernel(np.ndarray)(given, **keywords))
        assert (found.dtype, found.shape) == (dtype, given.shape)
        np.testing.assert_allclose(found, turn(expected), rtol=rtol, atol=rtol)


def np_namespace():
    """NumPy, with programs for what it lacks."""

    class Programs:
        def __getattr__(self, name):
            found = getattr(np, name, None)
            if found is not None and name != "astype":
                return found
            program = registry[name].program
            return lambda *xs, **kw: program(self, *xs, **{**registry[name].keywords, **kw})

    return Programs()


KEEPS = dict.fromkeys(("erf", "erfinv", "gelu", "mish", "silu", "softplus"), Input)
KEEPS |= dict.fromkeys(("relu", "sigmoid"), Result)


@pytest.mark.parametrize("name", KEEPS)
def test_one_array_is_kept_for_the_rule(name):
    items = registry[name].recipe((0,)).items
    assert [type(item) for item in items if item.is_array] == [KEEPS[name]]


def test_sigmoid_of_complex_numbers():
    z = np.asarray([0.3 + 0.4j, -2.0 + 1.0j])
    x = leaf(z, np.complex128)
    y = lg.sigmoid(x)
    np.testing.assert_allclose(y.detach().array, 1 / (1 + np.exp(-z)), rtol=1e-14)
    (g,) = lg.autograd.grad(lg.real(y).sum(), x)
    s = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(g.array, np.conj(s * (1 - s)), rtol=1e-13)


def test_names_of_scipy_are_the_same_functions():
    assert entropy.expit is activation.sigmoid
    assert entropy.log_expit is activation.logsigmoid
