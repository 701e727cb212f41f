"""The certified table holds: some points of every primitive stay within what was recorded; the page is complete."""

import math

import numpy as np
import pytest
from mpmath import mp

import lucidgrad as lg
import lucidgrad.nn
from lucidgrad.core.primitive import ELEMENTWISE, registry

from . import measure, pointwise, report, results
from .numbers import error, exact, ulp
from .reasons import CUDA_REASONS, MISSING, REASONS

RECORDED = results.load("cpu")
NAMES = [name for name in results.names() if results.is_certified(name)]

#: Elementwise functions that mpmath takes long for: one point will do.
SLOW = {
    *("lower_beta", "upper_beta", "beta_density", "lower_gamma", "upper_gamma", "hurwitz_zeta", "riemann_zeta"),
    *("psi_derivative", "erfcinv", "ndtri", "erfinv", "erf", "ndtr"),
}


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_within_what_was_recorded(name):
    """Other versions of the C library and of LAPACK round otherwise: twice the error and two ulp more are allowed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "LIMIT", math.inf)  # conditions take long, and nobody asks for them here
        if registry[name].kind is ELEMENTWISE:
            row = results.measured(name, "float64", "cpu", 2 if name in SLOW else 4, 0)
        else:
            row = results.measured(name, "float64", "cpu", 0, 1)
    for column in report.COLUMNS:
        found = row.largest(column)
        if found is not None:
            known = RECORDED[name]["float64"].largest(column)
            assert found <= 2 * known + 2, f"{column}: {found:.3g} ulp, recorded {known:.3g}; {row.peaks[column]}"


def test_every_primitive_has_a_row_or_a_reason():
    assert {name for name in results.names() if not results.is_certified(name)} == set(MISSING)
    assert set(NAMES) <= set(RECORDED)


def test_large_errors_have_a_reason():
    unexplained = [
        (name, column, error)
        for name, column, _, error, _, eased in report.outliers(RECORDED)
        if report.explained(name, column, eased) is None
    ]
    assert not unexplained


def test_reasons_are_needed():
    large = {(name, column) for name, column, _, _, _, eased in report.outliers(RECORDED) if eased > measure.LIMIT}
    unused = [key for key in REASONS if not any(name == key[0] and key[1] in ("", column) for name, column in large)]
    assert not unused


def test_what_cuda_has_beyond_the_cpu_has_a_reason():
    assert {name for name, *_ in report.beyond(RECORDED, results.load("cuda"))} <= set(CUDA_REASONS)
    assert {name for name, *_ in report.beyond(RECORDED, results.load(results.LARGE))} == set()


@pytest.mark.parametrize("name", ["exp", "atan2", "sum", "matmul", "softmax_pull"])
def test_cuda_is_within_what_was_recorded(name):
    known = results.load("cuda")[name]["float64"]
    row = results.measured(name, "float64", "cuda", 4, 1)
    for column in report.COLUMNS:
        assert row.largest(column) <= 2 * known.largest(column) + 2


def test_the_page_and_its_tables_are_written_from_the_results():
    for path, text in report.files().items():
        assert path.read_text(encoding="utf-8") == text, path.name


#: Where a derivative was once made of what cancels or overflows: the arguments, and which derivative mpmath gives.
DELICATE = {
    "expm1": [(-40.0,)],
    "mish": [(10.0,), (20.0,)],
    "erfcx": [(1.8,), (3.0,), (9.9,), (200.0,)],
    "i0e": [(1.1,), (7.9,), (8.1,), (-40.0,)],
    "i1e": [(0.9,), (1.66,), (-7.9,), (100.0,)],
    "k0e": [(0.9,), (1.1,), (100.0,)],
    "k1e": [(0.4,), (3.0,), (100.0,)],
    "bessel_j1": [(1e-8,), (0.86,), (3.0,)],
    "erfcinv": [(1e-300,), (1e-5,), (1.99,)],
    "ndtri": [(1e-300,), (1e-5,), (0.99,)],
    "logaddexp2": [(-100.0, 3.0), (3.0, -100.0)],
    "betaln": [(30.0, 1e-3), (1e6, 1.0), (3.0, 1e-8)],
    "beta": [(3.0, 1e-3), (12.0, 1e-4)],
}


@pytest.mark.parametrize("name", DELICATE)
def test_delicate_derivatives_keep_their_digits(name):
    for point in DELICATE[name]:
        x = lg.tensor(point[0], dtype=lg.float64, requires_grad=True)
        registry[name].op(x, *(lg.tensor(p, dtype=lg.float64) for p in point[1:])).backward()
        expected = measure.slope_at(pointwise.FUNCTIONS[name], tuple(map(mp.mpf, point)), 0, True)
        off = abs(mp.mpf(x.grad.item()) - expected) / ulp(expected, "float64")
        assert off < 12, f"{point}: {float(off):.3g} ulp"


#: Where two formulas of a first derivative meet, and the second derivative there.
JOINTS = {
    "gelu": (lambda x: lg.nn.functional.gelu(x, approximate="tanh"), 0.0, 0.7978845608028654),
    "silu": (lg.nn.functional.silu, 0.0, 0.5),
    "mish": (lg.nn.functional.mish, 0.0, 0.64),
    "logaddexp2": (lambda x: lg.logaddexp2(x, lg.zeros((), dtype=lg.float64)), 0.0, 0.25 * math.log(2)),
    "erfcinv": (lambda x: registry["erfcinv"].op(x), 1.0, 0.0),
    "ndtri": (lambda x: registry["ndtri"].op(x), 0.5, 0.0),
    "erfcx": (lambda x: registry["erfcx"].op(x), 0.46875, None),
    "betaln": (lambda x: registry["betaln"].op(x, lg.tensor(0.5, dtype=lg.float64)), 10.0, None),
    "i0e at 1": (lambda x: registry["i0e"].op(x), 1.0, None),
    "i0e at 8": (lambda x: registry["i0e"].op(x), 8.0, None),
    "i1e at 8": (lambda x: registry["i1e"].op(x), -8.0, None),
    **{
        f"{name} at {at}": (lambda x, name=name: registry[name].op(x), at, None)
        for name, places in {
            "bessel_j0": (5.0,),
            "bessel_j1": (2.0, -5.0),
            "bessel_j_quotient": (2.0, 5.0),
            "bessel_y0": (3.0, 5.0),
            "bessel_y1": (3.0, 5.0),
            "k0": (1.0,),
            "k0e": (0.5, 1.0),
            "k1": (1.0,),
            "k1e": (0.5, 1.0),
            "airy_ai": (-3.5, -1.0, 1.0),
            "airy_slope": (-3.5, -1.0, 1.0),
            "spherical_bessel_j0": (1.0,),
        }.items()
        for at in places
    },
}


@pytest.mark.parametrize("name", JOINTS)
def test_second_derivatives_where_formulas_meet(name):
    function, at, expected = JOINTS[name]

    def second(point):
        x = lg.tensor(point, dtype=lg.float64, requires_grad=True)
        (g,) = lg.autograd.grad(function(x), x, create_graph=True)
        return lg.autograd.grad(g, x)[0].item()

    assert second(at) == pytest.approx(second(at + 1e-9), rel=1e-6, abs=1e-6)
    assert second(at) == pytest.approx(second(at - 1e-9), rel=1e-6, abs=1e-6)
    if expected is not None:
        assert second(at) == pytest.approx(expected, rel=1e-12, abs=1e-12)


# -- the measure itself ----------------------------------------------------------------------------------
def test_ulp():
    assert [ulp(mp.mpf(x), "float64") for x in (1.0, 1.5, 2.0, -3.0, 0.0)] == [
        2.0**-52, 2.0**-52, 2.0**-51, 2.0**-51, 2.0**-1074,
    ]  # fmt: skip
    for x in (0.7, 1e-310, 1e300, 1.0):
        assert float(ulp(mp.mpf(x), "float64")) == np.spacing(x)
        assert float(ulp(mp.mpf(float(np.float32(0.7))), "float32")) == np.spacing(np.float32(0.7))


def test_error_counts_ulps():
    expected = exact(np.array([1.0, -3.0]))
    assert error(np.array([1.0, -3.0]), expected, expected, "float64") == 0
    assert error(np.array([1.0, np.nextafter(-3.0, 0)]), expected, expected, "float64") == 1
    assert error(np.array([1.0, np.nan]), expected, expected, "float64") == math.inf


def test_a_wrong_gradient_shows(monkeypatch):
    """A factor that is off by some ulp."""
    good = measure.measure(registry["sin"], "float64", count=4)
    monkeypatch.setattr(lg.autograd, "grad", _off(lg.autograd.grad))
    bad = measure.measure(registry["sin"], "float64", count=4)
    assert good.largest("vjp") < 2 < 20 < bad.largest("vjp")


def _off(grad):
    return lambda *args, **keywords: tuple(g * (1 + 1e-14) for g in grad(*args, **keywords))


@pytest.mark.parametrize("name", ["exp", "tanh", "gammaln", "i0", "erfc"])
def test_slopes_are_known_derivatives(name):
    """Differences of the references agree with mpmath's own derivatives, which are of another kind."""
    known = {
        "exp": mp.exp,
        "tanh": lambda x: mp.sech(x) ** 2,
        "gammaln": mp.digamma,
        "i0": lambda x: mp.besseli(1, x),
        "erfc": lambda x: -2 * mp.exp(-x * x) / mp.sqrt(mp.pi),
    }[name]
    for x in (mp.mpf("0.3"), mp.mpf("2.5"), mp.mpf("1e-60") if name != "gammaln" else mp.mpf(7)):
        found = measure.slope_at(pointwise.FUNCTIONS[name], (x,), 0, True)
        assert abs(found - known(x)) <= abs(known(x)) * mp.mpf(10) ** -20


def test_kinks_are_left_out():
    with pytest.raises(measure.Unclear):
        measure.slope_at(pointwise.FUNCTIONS["relu"], (mp.mpf(0),), 0, True)
