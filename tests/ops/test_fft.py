"""The fft namespace against NumPy: values, exact adjoints of both orders, dtypes, devices, errors.

All transforms are linear over the real numbers. So NumPy's function itself says what every derivative is: the
gradient g ↦ x̄ is right if <f(t), g> = <t, x̄> for any t, and its own derivative with respect to g is f again.
"""

import inspect
import itertools

import numpy as np
import pytest
import scipy.fft

import lucidgrad as lg
import lucidgrad.fft
from lucidgrad.core.errors import AxisError
from lucidgrad.levels import batching

NORMS = ["backward", "ortho", "forward"]
FROM_ANY = ["fft", "ifft", "irfft", "hfft"]
FROM_REAL = ["rfft", "ihfft"]
TO_REAL = {"irfft", "hfft", "irfftn"}
SIGNATURES = {
    **dict.fromkeys(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"], ("x", "n", "axis", "norm")),
    **dict.fromkeys(["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"], ("x", "s", "axes", "norm")),
    **dict.fromkeys(["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"], ("x", "s", "axes", "norm")),
    **dict.fromkeys(["fftfreq", "rfftfreq"], ("n", "d", "dtype", "device")),
    **dict.fromkeys(["fftshift", "ifftshift"], ("x", "axes")),
}


def numbers(shape, is_complex, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if is_complex else x


def inner(a, b):
    """The real inner product, complex numbers being pairs of real ones."""
    return float(np.sum(np.real(np.conj(a) * b)))


def host(x):
    return np.asarray(x.detach().numpy(force=True))


def call(name, x, keywords):
    return getattr(lg.fft, name)(x, **keywords)


def check(name, shape, is_complex, device="cpu", **keywords):
    """Values and gradients of both orders are those of NumPy's function."""
    reference = getattr(np.fft, name, None) or getattr(scipy.fft, name)
    x, t = (numbers(shape, is_complex, seed) for seed in (1, 2))
    expected = reference(x, **keywords)
    leaf = lg.asarray(x, device=device).requires_grad_()
    y = call(name, leaf, keywords)
    assert y.shape == expected.shape and y.dtype == expected.dtype
    np.testing.assert_allclose(host(y), expected, rtol=1e-12, atol=1e-12)
    g = lg.asarray(numbers(y.shape, expected.dtype.kind == "c", 3), device=device).requires_grad_()
    (slope,) = lg.autograd.grad(y, [leaf], g, create_graph=True)
    assert slope.shape == shape and slope.dtype == x.dtype
    np.testing.assert_allclose(inner(reference(t, **keywords), host(g)), inner(t, host(slope)), rtol=1e-11, atol=1e-11)
    (back,) = lg.autograd.grad(slope, [g], lg.asarray(t, device=device))
    np.testing.assert_allclose(host(back), reference(t, **keywords), rtol=1e-12, atol=1e-12)


# -- values and adjoints -----------------------------------------------------------------------------
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", FROM_ANY + FROM_REAL)
def test_one_axis(name, norm):
    places = [((5,), 0), ((4,), -1), ((1,), 0), ((3, 4), 0), ((2, 5, 1), 1), ((2, 5, 1), -1)]
    for (shape, axis), n in itertools.product(places, (None, 1, 2, 3, 4, 6, 7)):
        if n is None and name in TO_REAL and shape[axis] == 1:
            continue
        for is_complex in (False, True)[: 2 if name in FROM_ANY else 1]:
            check(name, shape, is_complex, n=n, axis=axis, norm=norm)


SEVERAL = [
    ((3, 4), None, None),
    ((3, 4), (2, 5), (0, 1)),
    ((3, 4), (5, 3), (1, 0)),
    ((2, 3, 4), None, (0, -1)),
    ((2, 3, 4), (4, 3), (2, 0)),
    ((2, 3, 2), (3, 1, 4), (2, 0, 1)),
    ((3, 3), (6,), (0,)),
    ((2, 1), (1, 1), (0, 1)),
]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"])
def test_several_axes(name, norm):
    for shape, s, axes in SEVERAL:
        for is_complex in (False, True)[: 1 if name in ("rfftn", "ihfftn") else 2]:
            check(name, shape, is_complex, s=s, axes=axes, norm=norm)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"])
def test_two_axes(name):
    is_complex = name not in ("rfft2", "ihfft2")
    check(name, (2, 3, 4), is_complex)
    check(name, (2, 3, 4), is_complex, s=(5, 3), norm="ortho")
    check(name, (2, 3, 4), is_complex, axes=(2, 0), norm="forward")
    x = lg.asarray(numbers((2, 3, 4), is_complex))
    np.testing.assert_array_equal(call(name, x, {"dim": (0, 1)}), call(name, x, {"axes": (0, 1)}))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 0, -1, (1,), (1, 0)])
def test_shifts(name, axes):
    for shape in [(3, 4), (1, 5), (2, 3, 2)]:
        check(name, shape, False, axes=axes)
        check(name, shape, True, axes=axes)


def test_shifts_of_a_number_and_of_integers():
    x = lg.tensor(2.0, requires_grad=True)
    assert lg.fft.fftshift(x).shape == () and lg.fft.fftshift(x) is not x
    assert lg.fft.fftshift(lg.arange(5)).tolist() == [3, 4, 0, 1, 2]
    assert lg.fft.ifftshift(lg.fft.fftshift(lg.arange(5))).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", FROM_ANY + FROM_REAL)
def test_strict_device(name):
    for n, norm in itertools.product((None, 3, 6), NORMS):
        check(name, (2, 4), name in FROM_ANY, "strict", n=n, norm=norm)
        check(name, (4, 2), False, "strict", n=n, norm=norm, axis=0)


def test_strict_device_over_several_axes():
    for name in ("fftn", "ifftn", "rfftn", "irfftn"):
        check(name, (3, 4), name != "rfftn", "strict", s=(2, 5), axes=(0, 1))
    check("fftshift", (3, 4), False, "strict")


def test_default_axes_with_sizes_are_the_last_ones():
    x = lg.asarray(numbers((2, 3, 4), False))
    expected = np.fft.fftn(host(x), s=(5, 2), axes=(1, 2))
    np.testing.assert_allclose(host(lg.fft.fftn(x, s=(5, 2))), expected, atol=1e-12)
    np.testing.assert_allclose(
        host(lg.fft.rfftn(x, s=(-1, 2))), np.fft.rfftn(host(x), s=(3, 2), axes=(1, 2)), atol=1e-12
    )
    assert lg.fft.irfftn(x, s=(-1, -1)).shape == (2, 3, 6)


def test_no_axes_give_a_complex_copy():
    x = lg.tensor([1.0 + 1.0j], requires_grad=True)
    y = lg.fft.fftn(x, axes=())
    assert y.tolist() == x.tolist() and y.array is not x.array and not np.shares_memory(y.array, x.array)
    assert lg.fft.ifftn(lg.tensor(2.0)).dtype == lg.complex64


def test_round_trips():
    x = lg.asarray(numbers((3, 5), False))
    for norm in NORMS:
        np.testing.assert_allclose(host(lg.fft.irfft(lg.fft.rfft(x, norm=norm), n=5, norm=norm)), host(x), atol=1e-12)
        np.testing.assert_allclose(host(lg.fft.hfft(lg.fft.ihfft(x, norm=norm), n=5, norm=norm)), host(x), atol=1e-12)
        back = lg.fft.irfftn(lg.fft.rfftn(x, norm=norm), s=x.shape, axes=(0, 1), norm=norm)
        np.testing.assert_allclose(host(back), host(x), atol=1e-12)


def test_the_axis_is_filled_up_from_nothing():
    x = lg.zeros((2, 0), requires_grad=True)
    y = lg.fft.fft(x, n=3)
    assert y.shape == (2, 3) and np.all(host(y) == 0)
    (g,) = lg.autograd.grad(y, [x], lg.ones_like(y))
    assert g.shape == (2, 0)


def test_imaginary_parts_without_meaning_get_no_gradient():
    x = lg.asarray(numbers((2, 3), True)).requires_grad_()
    (g,) = lg.autograd.grad((lg.fft.irfft(x) ** 3).sum(), [x])
    assert np.all(host(g).imag[:, [0, 2]] == 0) and np.all(host(g).imag[:, 1] != 0)


# -- derivatives of what is made of them -------------------------------------------------------------
@pytest.mark.parametrize("name", FROM_ANY + FROM_REAL)
def test_gradcheck_through_what_is_not_linear(name):
    x = lg.asarray(numbers((2, 4), name in FROM_ANY)).requires_grad_()

    def power(x):
        y = call(name, x, dict(n=5, norm="ortho"))
        return lg.abs(y) ** 2 * lg.real(y)

    assert lg.autograd.gradcheck(power, (x,), check_grad_dtypes=True)
    assert lg.autograd.gradgradcheck(power, (x,), check_grad_dtypes=True)


def test_gradient_of_a_convolution():
    """By the convolution theorem the product of spectra has the gradients of a circular convolution."""
    a, b = (lg.asarray(numbers((6,), False, seed)).requires_grad_() for seed in (1, 2))
    w = numbers((6,), False, 3)
    y = lg.fft.irfft(lg.fft.rfft(a) * lg.fft.rfft(b), n=6)
    ga, gb = lg.autograd.grad(y, [a, b], lg.asarray(w))
    turned = np.array([[host(b)[(i - j) % 6] for j in range(6)] for i in range(6)])
    np.testing.assert_allclose(host(ga), turned.T @ w, rtol=1e-12)
    turned = np.array([[host(a)[(i - j) % 6] for j in range(6)] for i in range(6)])
    np.testing.assert_allclose(host(gb), turned.T @ w, rtol=1e-12)


@pytest.mark.parametrize("name", sorted(set(SIGNATURES) - {"fftfreq", "rfftfreq"}))
def test_batches_of_cotangents(name):
    is_complex = name not in {"rfft", "ihfft", "rfftn", "rfft2", "ihfftn", "ihfft2"}
    keywords = {"n": 5, "axis": 0} if "n" in SIGNATURES[name] else {"s": (3, 5), "axes": (1, 0)}
    keywords = {} if "shift" in name else keywords
    x = lg.asarray(numbers((4, 2), is_complex)).requires_grad_()
    y = call(name, x, keywords)
    seeds = [numbers(y.shape, y.dtype.kind == "c", k) for k in range(3)]
    loop = [host(lg.autograd.grad(y, [x], lg.asarray(g), retain_graph=True)[0]) for g in seeds]
    before = set(batching.loops)
    (found,) = lg.autograd.grad(y, [x], lg.asarray(np.stack(seeds)), is_grads_batched=True)
    np.testing.assert_allclose(host(found), np.stack(loop), rtol=1e-12, atol=1e-12)
    assert batching.loops == before


# -- dtypes ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FROM_ANY + FROM_REAL + ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("device", ["cpu", "strict"])
def test_single_precision_is_kept(name, device):
    for is_complex in (False, True)[: 1 if name in {"rfft", "ihfft", "rfftn"} else 2]:
        x = lg.asarray(numbers((3, 4), is_complex).astype("complex64" if is_complex else "float32"), device=device)
        y = call(name, x.requires_grad_(), {"norm": "ortho"})
        assert y.dtype == ("float32" if name in TO_REAL else "complex64")
        (g,) = lg.autograd.grad(y, [x], lg.ones_like(y), create_graph=True)
        assert g.dtype == x.dtype


@pytest.mark.parametrize("name", FROM_ANY + FROM_REAL)
def test_integers_become_floats_of_the_default_dtype(name):
    for kind in (lg.int64, lg.bool, lg.uint8):
        y = call(name, lg.asarray([1, 0, 1], dtype=kind), {"n": 4})
        assert y.dtype == ("float32" if name in TO_REAL else "complex64")
        np.testing.assert_allclose(host(y), getattr(np.fft, name)([1.0, 0, 1], n=4), rtol=1e-6, atol=1e-6)


def test_half_precision_is_computed_in_single():
    x = lg.asarray(np.ones(4, "float16")).requires_grad_()
    for name in ("fft", "rfft"):
        (g,) = lg.autograd.grad(lg.real(call(name, x, {})).sum(), [x])
        assert call(name, x, {}).dtype == lg.complex64 and g.dtype == lg.float16
    assert lg.fft.irfft(x).dtype == lg.float32


# -- frequencies -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name):
    for n, d in itertools.product(range(1, 9), (1.0, 0.3, 2)):
        expected = getattr(np.fft, name)(n, d)
        np.testing.assert_array_equal(host(getattr(lg.fft, name)(n, d=d, dtype=lg.float64)), expected)
        found = getattr(lg.fft, name)(n, d=d)
        assert found.dtype == lg.float32
        np.testing.assert_allclose(host(found), expected, rtol=1e-6)
    found = getattr(lg.fft, name)(5, device="strict", dtype="float64")
    assert str(found.device) == "strict" and found.dtype == lg.float64


# -- words and errors --------------------------------------------------------------------------------
def test_names_and_signatures_are_the_standards_and_their_like():
    assert set(lg.fft.__all__) == set(SIGNATURES)
    for name, expected in SIGNATURES.items():
        first, *rest = inspect.signature(getattr(lg.fft, name)).parameters.values()
        assert first.kind is first.POSITIONAL_ONLY
        assert all(
            p.kind is not p.POSITIONAL_ONLY and p.default is not p.empty for p in rest
        )  # NumPy's are not, either
        assert (first.name, *(p.name for p in rest if p.name != "dim")) == expected


def test_pytorchs_spelling_and_raw_arrays():
    x = numbers((3, 4), False)
    np.testing.assert_array_equal(host(lg.fft.fft(lg.asarray(x), dim=0)), np.fft.fft(x, axis=0))
    np.testing.assert_array_equal(host(lg.fft.rfftn(x, dim=(0,))), np.fft.rfftn(x, axes=(0,)))
    np.testing.assert_array_equal(host(lg.fft.fftshift(x, dim=1)), np.fft.fftshift(x, axes=1))
    assert isinstance(lg.fft.fft(x, norm=None), lg.Tensor)


REAL, COMPLEX = np.ones((2, 3)), np.ones((2, 3), "complex64")


@pytest.mark.parametrize(
    ("name", "x", "keywords", "error", "words"),
    [
        ("fft", REAL, {"n": 0}, ValueError, "fft: given n=0, expected at least 1"),
        ("irfft", REAL, {"n": -2}, ValueError, "irfft: given n=-2, expected at least 1"),
        ("rfft", REAL, {"n": 2.5}, TypeError, "rfft: given n=2.5, expected an integer"),
        ("ifft", REAL, {"axis": 2}, AxisError, "ifft: axis 2 is out of range for an array of dimension 2"),
        ("hfft", REAL, {"axis": -3}, IndexError, "hfft: axis -3 is out of range"),
        ("fft", np.ones(()), {}, AxisError, "fft: axis -1 is out of range for an array of dimension 0"),
        ("fft", np.ones((2, 0)), {}, ValueError, "fft: x has length 0 along axis 1.*give n"),
        ("rfftn", np.ones((2, 0)), {}, ValueError, "rfftn: x has length 0 along axis 1.*give s"),
        ("irfft", np.ones((1,)), {}, ValueError, "irfft: x has length 1 along axis 0, expected at least 2, or n"),
        ("irfftn", np.ones((2, 1)), {}, ValueError, "irfftn: x has length 1 along axis 1, expected at least 2, or s"),
        ("rfft", COMPLEX, {}, TypeError, "rfft: x is of dtype complex64, expected real numbers.*use fft"),
        ("ihfft", COMPLEX, {}, TypeError, "ihfft: x is of dtype complex64, expected real numbers.*use ifft"),
        ("rfftn", COMPLEX, {}, TypeError, "rfftn: x is of dtype complex64, expected real numbers.*use fftn"),
        ("fft", REAL, {"norm": "unit"}, ValueError, "fft: given norm='unit', expected 'backward'"),
        ("irfftn", REAL, {"norm": 1}, ValueError, "irfftn: given norm=1, expected 'backward'"),
        ("fftn", REAL, {"s": (2,), "axes": (0, 1)}, ValueError, "fftn: given 1 sizes in s for 2 axes"),
        ("ifftn", REAL, {"s": (2, 2, 2)}, ValueError, "ifftn: given 3 sizes in s for 2 axes"),
        ("fftn", REAL, {"s": (2, 0)}, ValueError, "fftn: given s=0, expected at least 1"),
        ("fftn", REAL, {"axes": (0, 0)}, ValueError, "fftn: given axes .* expected each axis once"),
        ("rfftn", REAL, {"axes": ()}, ValueError, "rfftn: given no axes"),
        ("irfftn", REAL, {"axes": ()}, ValueError, "irfftn: given no axes"),
        ("fftshift", REAL, {"axes": 2}, AxisError, "fftshift: axis 2 is out of range"),
        ("fft", [1.0, 2.0], {}, TypeError, "fft: x is a list, expected a Tensor or an array"),
        ("fftshift", 1.0, {}, TypeError, "fftshift: x is a float, expected a Tensor or an array"),
        ("fftfreq", 0, {}, ValueError, "fftfreq: given n=0, expected at least 1"),
        ("rfftfreq", 3.0, {}, TypeError, "rfftfreq: given n=3.0, expected an integer"),
        ("fftfreq", 4, {"dtype": lg.int64}, TypeError, "fftfreq: given dtype int64, expected a real"),
        ("rfftfreq", 4, {"dtype": lg.complex64}, TypeError, "rfftfreq: given dtype complex64, expected a real"),
        ("fftfreq", 4, {"d": 0.0}, ZeroDivisionError, "fftfreq: given d=0"),
    ],
)
def test_errors_name_function_and_argument(name, x, keywords, error, words):
    with pytest.raises(error, match=words):
        call(name, lg.asarray(x) if isinstance(x, np.ndarray) else x, keywords)
