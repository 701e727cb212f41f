"""Values far out, where one less or one more than something near one would leave nothing. Numbers are mpmath's."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.kernels import elementwise
from lucidgrad.core.primitive import registry
from lucidgrad.ops.special.incomplete import gammainc, gammaincc

#: By formula: x, values, derivatives.
GELU = {
    "none": (
        [-3.0, -6.0, -10.0, -20.0, -35.0],
        [-4.0496940948902836e-3, -5.9195258702261888e-9, -7.6198530241605261e-23, -5.5072482372124674e-88,
         -3.9371874726534219e-267],
        [-1.1945647204183927e-2, -3.5468709453902015e-8, -7.6184000964648141e-22, -1.1014360483133464e-86,
         -1.3780137862911361e-265],
    ),
    "tanh": (
        [-3.0, -6.0, -10.0, -15.0, -20.0],
        [-3.6373920817730188e-3, -8.4396467007622971e-11, -1.204092348209806e-37, -1.5584769937274055e-114,
         -3.3754509563109673e-261],
        [-1.1584166630969726e-2, -7.7099739309536955e-10, -2.7576380638540316e-36, -7.7446337695007666e-113,
         -2.9424328724945029e-259],
    ),
}  # fmt: skip


@pytest.mark.parametrize("approximate", GELU)
@pytest.mark.parametrize(("device", "length"), [("cpu", 5), ("cpu", 1000), ("cpu", 50_000), ("cuda", 5)])
def test_gelu_far_below_zero(approximate, device, length):
    points, values, slopes = (np.resize(numbers, length) for numbers in GELU[approximate])
    x = lg.asarray(points, device=device).requires_grad_()
    y = lg.gelu(x, approximate=approximate)
    y.sum().backward()
    np.testing.assert_allclose(y.numpy(force=True), values, rtol=3e-13)
    np.testing.assert_allclose(x.grad.numpy(force=True), slopes, rtol=3e-13)


@pytest.mark.parametrize("approximate", GELU)
def test_gelu_at_the_ends(approximate):
    x = lg.tensor([-1e6, 1e6, np.inf, np.nan], dtype=lg.float32, requires_grad=True)
    y = lg.gelu(x, approximate=approximate)
    y.sum().backward()
    np.testing.assert_array_equal(y.detach().numpy(), np.array([0, 1e6, np.inf, np.nan], "float32"))
    np.testing.assert_array_equal(x.grad.numpy()[:2], [0, 1])


def test_erfc_of_arrays_in_single_precision():
    """The kernel for NumPy, with the program in double precision as its reference."""
    x = np.concatenate([np.linspace(-5, 10, 20_001), [1e-30, -1e-30, 0.0, 11.0, np.inf, -np.inf]]).astype("float32")
    found = elementwise.erfc(x)
    expected = lg.erfc(lg.asarray(x.astype("float64"))).numpy()
    assert found.dtype == np.float32
    units = np.spacing(np.maximum(expected, np.finfo("float32").tiny).astype("float32"))
    assert np.max(np.abs(found - expected) / units) < 6
    assert np.isnan(elementwise.erfc(np.full(200, np.nan, "float32"))).all()


#: Parameter, limit, upper function: all within reach of the smaller function's power series.
UPPER = [
    (0.25, 0.7146, 0.10599541932445131),
    (0.001, 0.5, 0.00056006665647074989),
    (0.5, 1.0, 0.15729920705028513),
    (0.01, 1.05, 0.002040081523116111),
    (1e-05, 0.9, 2.6018639772092985e-6),
    (1.0, 1.05, 0.34993774911115534),
    (0.3, 1.2, 0.063394719569259105),
    (0.001, 1.15, 0.00017174893989007556),
]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_upper_gamma_of_small_parameters(device):
    a, x, expected = np.array(UPPER).T
    found = gammaincc(lg.asarray(a, device=device), lg.asarray(x, device=device)).numpy(force=True)
    assert np.max(np.abs(found - expected) / np.spacing(expected)) < 6


def test_incomplete_gammas_meet_where_their_formulas_do():
    """Both sides of every boundary between formulas, on which the functions are continuous and add up to one."""
    near = np.array([1 - 1e-12, 1.0, 1 + 1e-12])
    for a, x in [(0.3, 1.1), (0.9, 1.1), (1.21, 1.1), (0.55, 0.5), (0.7, 0.7 / 1.1), (5.0, 5.0), (19.0, 19.0)]:
        limits, parameter = lg.asarray(x * near), lg.asarray(np.full(3, a))
        lower, upper = gammainc(parameter, limits).numpy(), gammaincc(parameter, limits).numpy()
        np.testing.assert_allclose(lower + upper, 1, rtol=2e-15)
        np.testing.assert_allclose(np.diff(lower), np.diff(x * near) * _density(a, x), rtol=0, atol=4e-15)
        np.testing.assert_allclose(np.diff(upper), -np.diff(x * near) * _density(a, x), rtol=0, atol=4e-15)


def _density(a, x):
    return registry["gamma_density"].op(lg.asarray(a), lg.asarray(x)).item()
