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
SLOW = {"lower_beta", "beta_density", "hurwitz_zeta", "psi_derivative", "erfcinv", "ndtri", "erfinv", "erf", "ndtr"}


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


def test_the_page_is_written_from_the_results():
    assert report.PAGE.read_text(encoding="utf-8") == report.page()


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
