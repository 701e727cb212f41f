"""Derivatives at points where guards, poles, ties and overflow meet: exact values of the first two orders, both ways.

Where there is no derivative the row states the choice that the documentation makes.
"""

import math

import mpmath
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import special

INF = math.inf
PI, GAMMA = math.pi, 0.5772156649015329


def tensor(values, dtype=np.float64):
    return lg.tensor(np.asarray(values, dtype), dtype=np.dtype(dtype))


def slopes(function, values, dtype=np.float64):
    """First and second derivatives of an elementwise function: by VJP, JVP, VJP of VJP, JVP of VJP, JVP of JVP."""
    x = tensor(values, dtype)
    ones = lg.ones_like(x)

    def push(f):
        return lambda v: lg.func.jvp(f, (v,), (ones,))[1]

    def pull(f):
        return lg.func.grad(lambda v: f(v).sum())

    first = [pull(function)(x), push(function)(x)]
    second = [pull(pull(function))(x), push(pull(function))(x), push(push(function))(x)]
    return [d.array.astype(np.float64) for d in first], [d.array.astype(np.float64) for d in second]


def check(function, values, first, second=None, dtype=np.float64, rtol=None):
    rtol = rtol or (1e-11 if dtype is np.float64 else 1e-5)
    for found, expected in zip(slopes(function, values, dtype), (first, second), strict=True):
        for way in found if expected is not None else ():
            np.testing.assert_allclose(way, expected, rtol=rtol, atol=1e-300)


def _loss(name, d):
    return getattr(lg.nn.functional, name)(d, lg.zeros_like(d), reduction="none")


# -- elementwise functions of one argument ---------------------------------------------------------
#: Name: function, points, first derivatives, second derivatives (None: not stated).
ROWS = {
    # the left side's, as that of the first derivative
    "elu": (lg.elu, [0.0, -0.0, 1e-300], [1, 1, 1], [1, 1, 0]),
    "elu, steep": (lambda x: lg.elu(x, alpha=2.0), [0.0, -0.0], [2, 2], [2, 2]),
    "celu": (lambda x: lg.celu(x, alpha=2.0), [0.0, -0.0, 1e-300], [1, 1, 1], [0.5, 0.5, 0]),
    "selu": (lg.selu, [0.0], [1.7580993408473766], [1.7580993408473766]),
    "gelu": (lg.gelu, [0.0], [0.5], [2 / math.sqrt(2 * PI)]),
    "gelu by tanh": (lambda x: lg.gelu(x, approximate="tanh"), [0.0, -0.0], [0.5, 0.5], [math.sqrt(2 / PI)] * 2),
    "special.huber": (lambda r: special.huber(1.0, r), [0.0, 0.5, 3.0], [0, 0.5, 1], [1, 1, 0]),
    "pseudo_huber": (lambda r: special.pseudo_huber(1.0, r), [0.0, 1e200], [0, 1], [1, 0]),
    "pseudo_huber of no width": (lambda d: special.pseudo_huber(d, 3.0 + 0 * d), [0.0], [3], [-2]),
    "boxcox of a root": (lambda x: special.boxcox(x, 0.5), [0.0], [INF], None),
    "boxcox of itself": (lambda x: special.boxcox(x, 1.0), [0.0], [1], [0]),
    "boxcox of a square": (lambda x: special.boxcox(x, 2.0), [0.0], [0], [1]),
    "boxcox1p of a square": (lambda x: special.boxcox1p(x, 2.0), [-1.0], [0], [1]),
    "inv_boxcox": (lambda y: special.inv_boxcox(y, 1.0), [-1.0], [1], [0]),
    "inv_boxcox of a root": (lambda y: special.inv_boxcox(y, 0.5), [-2.0], [0], [0.5]),
    "huber_loss": (lambda d: _loss("huber_loss", d), [0.0, 2.0, INF, -INF], [0, 1, 1, -1], None),
    "smooth_l1_loss": (lambda d: _loss("smooth_l1_loss", d), [0.0, 2.0, INF, -INF], [0, 1, 1, -1], None),
    "silu": (lg.silu, [0.0], [0.5], [0.5]),
    "silu at the end": (lg.silu, [INF], [1], None),
    "gelu at the end": (lg.gelu, [INF], [1], None),
    "mish at the end": (lg.mish, [INF], [1], None),
    "mish": (lg.mish, [0.0, -0.0], [0.6, 0.6], [0.64, 0.64]),
    "softsign": (lg.softsign, [0.0], [1], None),
    "logsigmoid": (lg.logsigmoid, [0.0, -800.0, 800.0], [0.5, 1, 0], [-0.25, 0, 0]),
    "softplus": (lg.softplus, [0.0, -800.0, 800.0], [0.5, 0, 1], [0.25, 0, 0]),
    "sinc": (lg.sinc, [0.0, 1e-200, 1.0], [0, -(PI**2) / 3 * 1e-200, -1], [-(PI**2) / 3, -(PI**2) / 3, 2]),
    "expm1": (lg.expm1, [0.0, 1e-300], [1, 1], [1, 1]),
    "log1p": (lg.log1p, [0.0, 1e-300], [1, 1], [-1, -1]),
    "asinh": (lg.asinh, [0.0, 1e160, -1e160, 1e200], [1, 1e-160, 1e-160, 1e-200], None),
    "asinh, twice": (lg.asinh, [0.0, 1e100, -1e100], [1, 1e-100, 1e-100], [0, -1e-200, 1e-200]),
    "abs": (lg.abs, [0.0, -0.0, 5e-324, -5e-324], [0, 0, 1, -1], [0, 0, 0, 0]),
    "square": (lg.square, [0.0, -0.0], [0, 0], [2, 2]),
    "cube": (lambda x: x**3, [0.0, -2.0], [0, 12], [0, -12]),
    "power 2.0": (lambda x: x**2.0, [0.0, -2.0], [0, -4], [2, 2]),
    "power 1": (lambda x: x**1, [0.0, -2.0], [1, 1], [0, 0]),
    "power 0": (lambda x: x**0, [0.0, -2.0], [0, 0], [0, 0]),
    "power 1.5": (lambda x: x**1.5, [0.0, 4.0], [0, 3], [INF, 0.375]),
    "power -1": (lambda x: x**-1, [-2.0, 1e-100], [-0.25, -1e200], [-0.25, 2e300]),
    "powers of zero": (lambda x: x ** tensor([0.0, 1.0, 2.0, 3.0]), [0.0] * 4, [0, 1, 0, 0], [0, 0, 2, 0]),
    "powers of -2": (lambda x: x ** tensor([0.0, 1.0, 2.0, 3.0]), [-2.0] * 4, [0, 1, -4, 12], [0, 0, 2, -12]),
    "of base one": (lambda x: 1.0**x, [0.0, 2.0], [0, 0], [0, 0]),
    "of base zero": (lambda x: tensor([0.0, 0.0]) ** x, [0.0, 2.0], [0, 0], [0, 0]),
    "logit": (special.logit, [0.5, 0.0, 1e-200, 1e-160], [4, INF, 1e200, 1e160], [0, -INF, -INF, -INF]),
    "logit, above": (special.logit, [0.75, 1.0], [16 / 3, INF], [128 / 9, INF]),
    "entr": (special.entr, [0.0, 1.0], [INF, -1], [-INF, -1]),
    "erfinv": (lg.erfinv, [0.0, 1.0, -1.0], [math.sqrt(PI) / 2, INF, INF], [0, INF, -INF]),
    "ndtri": (special.ndtri, [0.0, 0.5, 1.0], [INF, math.sqrt(2 * PI), INF], None),
    "exprel": (special.exprel, [0.0, 712.0], [0.5, 2.315158497879685e306], [1 / 3, 2.3119114440911164e306]),
    "exprel, too large": (special.exprel, [720.0], [INF], [INF]),
    "i0": (special.i0, [0.0, 720.0, -720.0], [0, INF, -INF], [0.5, INF, INF]),
    "i1": (special.i1, [0.0, 720.0, -720.0], [0.5, INF, INF], [0, INF, -INF]),
    "i1e": (special.i1e, [5e-324, 1e-30, 1e-8], [0.5, 0.5, 0.49999999000000009], [-1, -1, -0.9999999812500002]),
    "i1e below": (special.i1e, [-1e-310, -1e-30], [0.5, 0.5], [1, 1]),
    "i0e": (special.i0e, [0.0, 5e-324, -1e-300], [0, -1, 1], None),
    "gammaln": (special.gammaln, [1.0, 2.0, 0.0], [-GAMMA, 1 - GAMMA, -INF], [PI**2 / 6, PI**2 / 6 - 1, INF]),
    "psi": (special.psi, [1.0, 0.0], [PI**2 / 6, INF], [-2.404113806319188, -INF]),
    "gammainc of 1": (lambda x: special.gammainc(1.0, x), [0.0], [1], [-1]),
    "gammainc of 2": (lambda x: special.gammainc(2.0, x), [0.0], [0], [1]),
    "gammainc of 3/2": (lambda x: special.gammainc(1.5, x), [0.0], [0], [INF]),
    "gammainc of 3": (lambda x: special.gammainc(3.0, x), [0.0], [0], [0]),
    "gammaincc of 2": (lambda x: special.gammaincc(2.0, x), [0.0], [0], [-1]),
    "betainc of 2, 3": (lambda x: special.betainc(2.0, 3.0, x), [0.0, 1.0], [0, 0], [12, 0]),
    "betainc of 3, 2": (lambda x: special.betainc(3.0, 2.0, x), [0.0, 1.0], [0, 0], [0, -12]),
    "betainc of 1, 2": (lambda x: special.betainc(1.0, 2.0, x), [0.0, 1.0], [2, 0], [-2, -2]),
    "betainc of 2, 1/2": (lambda x: special.betainc(2.0, 0.5, x), [0.0], [0], [0.75]),
    "xlogy, itself": (lambda x: lg.xlogy(x, x), [1.0], [1], [1]),
    "huber": (lambda x: lg.nn.functional.huber_loss(x, x * 0, reduction="none"), [0.0, 0.5], [0, 0.5], [1, 1]),
    "clip": (lambda x: lg.clip(x, 0.0, 1.0), [0.0, 1.0, -0.0, 2.0], [1, 1, 1, 0], [0, 0, 0, 0]),
    "nan_to_num": (lg.nan_to_num, [INF, -INF, math.nan, 1.0], [0, 0, 0, 1], [0, 0, 0, 0]),
    "copysign": (lambda x: lg.copysign(x, -0.0), [0.0, -0.0, 2.0, -2.0], [0, 0, -1, 1], [0, 0, 0, 0]),
    "remainder": (lambda x: lg.remainder(x, 3.0), [6.0, -3.0, 0.0], [1, 1, 1], [0, 0, 0]),
    "fmod": (lambda x: lg.fmod(tensor([6.0, -6.0, 7.0]), x), [3.0, 3.0, INF], [-2, 2, 0], [0, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_of_one_argument(name):
    check(*ROWS[name])


SINGLE = {
    "asinh": (lg.asinh, [1e20, -3e30], [1e-20, 1 / 3e30], None),
    "elu": (lg.elu, [0.0], [1], [1]),
    "i1": (special.i1, [0.0, 93.0], [0.5, INF], None),
    "exprel": (special.exprel, [0.0, 95.0], [0.5, INF], [1 / 3, INF]),
    "logit": (special.logit, [1e-30, 0.0], [1e30, INF], [-INF, -INF]),
    "gammainc of 2": (lambda x: special.gammainc(2.0, x), [0.0], [0], [1]),
}


@pytest.mark.parametrize("name", SINGLE)
def test_of_one_argument_in_single_precision(name):
    check(*SINGLE[name], dtype=np.float32)


# -- the beta function where it is zero ----------------------------------------------------------------
SUMS = [(-0.5, 0.5), (0.5, -0.5), (-0.5, -0.5), (-2.5, 2.5), (-1.5, 0.5), (-3.5, -2.5), (2.25, -7.25), (-30.5, 0.5)]


@pytest.mark.parametrize(("a", "b"), SUMS)
def test_beta_where_the_sum_is_a_pole(a, b):
    """There 1 / gamma(a + b) is zero, with the derivative ``(-1)**n * n!``."""
    n = -round(a + b)
    k = float(mpmath.gamma(a) * mpmath.gamma(b) * mpmath.factorial(n)) * (-1) ** n
    pa, pb, rest = (float(mpmath.psi(0, v)) for v in (a, b, n + 1))
    assert special.beta(tensor(a), tensor(b)).item() == 0
    check(lambda x: special.beta(x, tensor([b])), [a], [k], [2 * k * (pa - rest)])
    check(lambda x: special.beta(tensor([a]), x), [b], [k], [2 * k * (pb - rest)])
    mixed = lg.func.grad(lambda v: lg.func.grad(lambda u: special.beta(u, v))(tensor(a)))(tensor(b))
    assert mixed.item() == pytest.approx(k * (pa + pb - 2 * rest), rel=1e-11)


def test_third_derivatives_of_beta_where_it_is_zero():
    third = lg.func.grad(lg.func.grad(lg.func.grad(lambda u: special.beta(u, tensor(0.5)))))(tensor(-1.5)).item()
    with mpmath.workdps(40):
        exact = mpmath.diff(lambda u: mpmath.gamma(u) * mpmath.gamma(0.5) * mpmath.rgamma(u + 0.5), -1.5, 3)
    assert third == pytest.approx(float(exact), rel=1e-10)


# -- functions of two arguments ------------------------------------------------------------------------
#: Name: function, points, gradients.
PAIRS = {
    "xlogy": (lg.xlogy, [(0, 0), (0, 2), (0, -1), (1, 0)], [(0, 0), (math.log(2), 0), (0, 0), (-INF, INF)]),
    "xlog1py": (special.xlog1py, [(0, -1), (0, 1)], [(0, 0), (math.log(2), 0)]),
    "rel_entr": (special.rel_entr, [(0, 0), (0, 1), (1, 1)], [(0, 0), (-INF, 0), (1, -1)]),
    "kl_div": (special.kl_div, [(0, 0), (0, 1), (1, 1)], [(0, 1), (-INF, 1), (0, 0)]),
    "hypot": (lg.hypot, [(0, 0), (0, -2), (1e-200, 1e-200)], [(0, 0), (0, -1), (math.sqrt(0.5),) * 2]),
    "atan2": (
        lg.atan2,
        [(0, 0), (0, 2), (0, -2), (2, 0), (1e200, 1e200), (1, INF), (INF, 1), (INF, INF)],
        [(0, 0), (0.5, 0), (-0.5, 0), (0, -0.5), (5e-201, -5e-201), (0, 0), (0, 0), (0, 0)],
    ),
    "logaddexp": (lg.logaddexp, [(-INF, -INF), (-INF, 1), (INF, 1)], [(0.5, 0.5), (0, 1), (1, 0)]),
    "logaddexp2": (lg.logaddexp2, [(-INF, -INF), (-INF, 1), (3, 3)], [(0.5, 0.5), (0, 1), (0.5, 0.5)]),
    "maximum": (lg.maximum, [(1, 1), (0.0, -0.0), (INF, INF)], [(0.5, 0.5)] * 3),
    "pow": (lg.pow, [(0, 0), (0, 2), (1, 5), (2, 0)], [(0, 0), (0, 0), (5, 0), (0, math.log(2))]),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_of_two_arguments(name):
    function, points, gradients = PAIRS[name]
    xs = tuple(tensor([p[i] for p in points]) for i in (0, 1))
    found = lg.func.grad(lambda a, b: function(a, b).sum(), argnums=(0, 1))(*xs)
    for i in (0, 1):
        expected = [g[i] for g in gradients]
        np.testing.assert_allclose(found[i].array, expected, rtol=1e-12)
        moved = [lg.ones_like(x) if j == i else lg.zeros_like(x) for j, x in enumerate(xs)]
        alone = lg.func.jvp(
            lambda v, i=i: function(*(v if j == i else x for j, x in enumerate(xs))), (xs[i],), (moved[i],)
        )
        np.testing.assert_allclose(alone[1].array, expected, rtol=1e-12)


# -- reductions ------------------------------------------------------------------------------------------
#: Name: function of a vector, vector, gradient.
VECTORS = {
    "prod, one zero": (lg.prod, [2.0, 0.0, 3.0], [0, 6, 0]),
    "prod, two zeros": (lg.prod, [0.0, 0.0, 3.0], [0, 0, 0]),
    "logsumexp of nothing": (lg.logsumexp, [-INF, -INF], [0, 0]),
    "logsumexp beside nothing": (lg.logsumexp, [-INF, 0.0, 0.0], [0, 0.5, 0.5]),
    "max, ties": (lg.max, [1.0, 1.0, 0.0], [0.5, 0.5, 0]),
    "std, no variance": (lg.std, [1.0, 1.0], [0, 0]),
    "norm at the origin": (lg.linalg.vector_norm, [0.0, -0.0], [0, 0]),
    "norm of 1/2": (lambda x: lg.linalg.vector_norm(x, ord=0.5), [0.0, 4.0], [0, 1]),
    "norm of 3": (lambda x: lg.linalg.vector_norm(x, ord=3), [0.0, -2.0], [0, -1]),
    "norm of infinity": (lambda x: lg.linalg.vector_norm(x, ord=INF), [2.0, -2.0, 0.0], [0.5, -0.5, 0]),
    "cross-entropy": (
        lambda x: lg.nn.functional.cross_entropy(x.reshape((1, 3)), lg.tensor([2])), [800.0, -INF, -800.0], [1, 0, -1],
    ),
    "normalize": (lambda x: lg.nn.functional.normalize(x, dim=0).sum(), [0.0, 0.0], [1e12, 1e12]),
    "cosine of nothing": (
        lambda x: lg.nn.functional.cosine_similarity(x, tensor([0.6, 0.8]), dim=0), [0.0, 0.0], [6e7, 8e7],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_of_vectors(name):
    function, vector, gradient = VECTORS[name]
    x = tensor(vector)
    np.testing.assert_allclose(lg.func.grad(function)(x).array, gradient, rtol=1e-12)
    for i, g in enumerate(gradient):
        unit = tensor(np.eye(len(vector))[i])
        assert lg.func.jvp(function, (x,), (unit,))[1].item() == pytest.approx(g, rel=1e-12)


def test_hessians_of_products_with_zeros():
    hessian = lg.func.hessian(lg.prod)(tensor([0.0, 0.0, 3.0])).array
    np.testing.assert_array_equal(hessian, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    hessian = lg.func.hessian(lambda x: lg.cumulative_prod(x).sum())(tensor([0.0, 0.0, 3.0])).array
    np.testing.assert_array_equal(hessian, [[0, 4, 0], [4, 0, 0], [0, 0, 0]])


# -- complex numbers -------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sigmoid_of_complex_numbers_far_below_zero(dtype):
    z = tensor([-800 + 1j, 800 + 1j, 0, -2 + 1j], dtype)
    y = lg.sigmoid(z)
    near = 1 / (1 + np.exp(2 - 1j))
    np.testing.assert_allclose(y.array, [0, 1, 0.5, near], rtol=1e-6)
    slope = lg.func.jvp(lg.sigmoid, (z,), (lg.ones_like(z),))[1].array
    np.testing.assert_allclose(slope, [0, 0, 0.25, near * (1 - near)], rtol=1e-6)


@pytest.mark.parametrize("name", ["asin", "acos", "atanh", "acosh", "asinh", "log", "sqrt"])
def test_both_sides_of_a_cut(name):
    """The derivative belongs to the side on which the sign of the zero puts the point."""
    for z in (complex(2, 0.0), complex(2, -0.0), complex(-2, 0.0), complex(-2, -0.0)):
        function, step = getattr(lg, name), complex(0, math.copysign(1e-7, z.imag))
        if name == "asinh":  # its cuts are on the other axis
            z, step = complex(z.imag, z.real), complex(step.imag, 0)
        values = [function(tensor(v, np.complex128)).item() for v in (z, z + step)]
        slope = lg.func.jvp(function, (tensor(z, np.complex128),), (tensor(1, np.complex128),))[1].item()
        assert slope == pytest.approx((values[1] - values[0]) / step, rel=1e-5)
