"""`gradcheck` and `gradgradcheck`: what they pass, what they find, and what they say."""

import itertools
import re
import warnings

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.autograd import GradcheckError, gradcheck, gradgradcheck
from lucidgrad.core.primitive import ELEMENTWISE, primitive, registry

MODES = pytest.mark.parametrize("fast", [False, True], ids=["full", "fast"])


def leaf(values, dtype=lg.float64):
    return lg.tensor(values, dtype=dtype, requires_grad=True)


@pytest.fixture
def twice_sine():
    """A primitive whose rule has a factor that it should not have."""

    @primitive(ELEMENTWISE, vjp=lambda xp, g, x: 2 * g * xp.cos(x))
    def twice_sine(xp, x, /):
        return xp.sin(x)

    yield twice_sine
    del registry["twice_sine"]


# -- what is right ---------------------------------------------------------------------------------------
REAL = {
    "product": lambda x: x * x * x,
    "matrix": lambda x: lg.matmul(x, lg.matrix_transpose(x)),
    "reduction": lambda x: lg.sum(lg.exp(x), axis=0),
    "several": lambda x: (lg.sin(x), lg.sum(x * x)),
    "scalar": lambda x: lg.mean(x),
    "integers beside": lambda x: (x * 2, lg.argmax(x)),
    "constant beside": lambda x: (x * 2, lg.ones(2, dtype=lg.float64)),
}


@MODES
@pytest.mark.parametrize("name", REAL)
def test_right_real_functions_pass(name, fast):
    x = leaf([[0.5, 2.0, -1.0], [0.3, 0.1, 1.2]])
    assert gradcheck(REAL[name], (x,), fast_mode=fast, check_batched_grad=True, check_grad_dtypes=True) is True
    assert gradgradcheck(REAL[name], (x,), fast_mode=fast) is True


@MODES
def test_forward_mode_is_checked(fast):
    class Square(lg.autograd.Function):
        factor = 2.0

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return Square.factor * t * ctx.saved_tensors[0]

    x, ways = leaf([0.5, -2.0]), {"check_forward_ad": True, "fast_mode": fast}
    assert gradcheck(Square.apply, (x,), **ways)
    for function in (*REAL.values(), lambda x: lg.abs(x * 1j + 2)):
        y = leaf([[0.5, 2.0, -1.0], [0.3, 0.1, 1.2]])
        assert gradcheck(function, (y,), **ways, check_batched_forward_grad=True)
    assert gradgradcheck(lambda x: (x**3).sum(), (x,), check_fwd_over_rev=True, fast_mode=fast)
    Square.factor = 3.0
    assert gradcheck(Square.apply, (x,), fast_mode=fast)
    assert not gradcheck(Square.apply, (x,), **ways, raise_exception=False)
    assert not gradcheck(Square.apply, (x,), **ways, raise_exception=False, check_backward_ad=False)
    with pytest.raises(GradcheckError, match="forward mode"):
        gradcheck(Square.apply, (x,), **ways)


COMPLEX = {
    "holomorphic": lambda z: lg.exp(z) * z,
    "modulus": lg.abs,
    "conjugate": lambda z: lg.conj(z) * z,
    "real part": lg.real,
    "imaginary part": lambda z: lg.imag(z * z),
    "real and complex": lambda z: (lg.real(z), z / 3),
}


@MODES
@pytest.mark.parametrize("name", COMPLEX)
def test_right_complex_functions_pass(name, fast):
    z = leaf([0.5 + 1.0j, 2.0 - 0.3j], lg.complex128)
    assert gradcheck(COMPLEX[name], z, fast_mode=fast, check_batched_grad=True)
    assert gradgradcheck(COMPLEX[name], z, fast_mode=fast)


def test_complex_output_of_a_real_input():
    x = leaf([0.5, 2.0])
    assert gradcheck(lambda x: lg.exp(x * 1j), x)
    assert gradgradcheck(lambda x: lg.exp(x * 1j), x)


def test_several_inputs_of_which_some_are_checked():
    x, c = leaf([1.0, 2.0]), lg.tensor([3.0, 4.0], dtype=lg.float64)
    assert gradcheck(lambda x, c, n: x * c * n, (x, c, 5))
    assert gradgradcheck(lambda x, c, n: x * x * c * n, (x, c, 5))


def test_an_unused_input_has_a_gradient_of_zero():
    assert gradcheck(lambda a, b: a * 2, (leaf([1.0]), leaf([2.0])))


def test_a_function_without_a_slope_passes():
    assert gradcheck(lambda x: lg.floor(x).detach(), leaf([0.5, 1.5]))


def test_interior_tensors_and_views_are_inputs_too():
    base = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert gradcheck(lambda x: x * x, (base * 2,))
    assert gradcheck(lambda x: x * x, (base[:, 1],))


def test_sizes_zero_and_one():
    assert gradcheck(lambda x: x * x, leaf(3.0))
    assert gradcheck(lambda x: x * x, lg.zeros((0, 2), dtype=lg.float64, requires_grad=True))


def test_seeds_of_gradgradcheck_may_be_given():
    x = leaf([1.0, 2.0])
    assert gradgradcheck(lambda x: x * x, x, grad_outputs=lg.tensor([0.5, -1.0], dtype=lg.float64))
    assert gradgradcheck(lambda x: x * x, x, gen_non_contig_grad_outputs=True)
    with pytest.raises(ValueError, match="2 grad_outputs for 1 outputs"):
        gradgradcheck(lambda x: x * x, x, grad_outputs=[lg.ones(2), lg.ones(2)])


# -- what stays as it is -----------------------------------------------------------------------------------
@MODES
def test_inputs_and_their_grad_stay_as_they_are(fast):
    x = leaf([1.0, 2.0])
    (x * 3).sum().backward()
    values, grad, grad_values = x.tolist(), x.grad, x.grad.tolist()
    gradcheck(lambda x: x * x, x, fast_mode=fast, check_batched_grad=True)
    gradgradcheck(lambda x: x * x, x, fast_mode=fast)
    assert (x.tolist(), x.grad.tolist()) == (values, grad_values)
    assert x.grad is grad
    assert x._version == 0


def test_functions_that_close_over_parameters_leave_them_alone():
    weight = leaf([2.0, 3.0])
    gradcheck(lambda x: x * weight, leaf([1.0, 2.0]))
    assert weight.grad is None


# -- what is wrong -------------------------------------------------------------------------------------------
@MODES
def test_a_wrong_factor_is_found_and_placed(twice_sine, fast):
    x = leaf([[1.5, 0.1], [1.4, 1.3]])
    with pytest.raises(GradcheckError) as caught:
        gradcheck(twice_sine, x, fast_mode=fast)
    message = str(caught.value)
    assert "entry (0, 1) of output 0" in message
    assert "entry (0, 1) of input 0" in message
    numbers = re.search(r"analytical (\S+), numerical (\S+), a difference", message)
    assert float(numbers[1]) == pytest.approx(2 * np.cos(0.1))
    assert float(numbers[2]) == pytest.approx(np.cos(0.1), rel=1e-6)
    assert "atol 1e-05 + rtol 0.001 * |numerical|" in message


def test_false_instead_of_an_error(twice_sine):
    assert gradcheck(twice_sine, leaf([0.1]), raise_exception=False) is False
    assert gradgradcheck(lambda x: x * lg.abs(x), leaf([0.0]), raise_exception=False) is False


def test_the_tolerance_is_the_callers(twice_sine):
    assert gradcheck(twice_sine, leaf([0.1]), atol=1.1)


def test_output_and_input_are_numbered(twice_sine):
    with pytest.raises(GradcheckError, match=r"entry \(\) of output 1 with respect to entry \(1,\) of input 2"):
        gradcheck(lambda n, a, b: (a * n, twice_sine(b).sum()), (3, leaf([1.0]), leaf([1.5, 0.2])))


def test_complex_parts_are_named():
    def wrong(z):
        return z * 2 + (z * 1j - (z * 1j).detach()) * 0.5

    parts = r"real part of entry \(0,\) of output 0 with respect to the imaginary part of entry \(0,\) of input 0"
    with pytest.raises(GradcheckError, match=parts):
        gradcheck(wrong, leaf([1.0 + 2.0j], lg.complex128))


@MODES
def test_lost_history_is_found(fast):
    with pytest.raises(GradcheckError, match=r"output 1 does not require grad, yet it changes with input 0"):
        gradcheck(lambda x: (x * 2, x.detach() * 3), leaf([1.0, 2.0]), fast_mode=fast)


@MODES
def test_a_lost_second_order_is_found(fast):
    @primitive(ELEMENTWISE, vjp=lambda xp, g, x: g * xp.cos(x.detach() if hasattr(x, "detach") else x))
    def flat_sine(xp, x, /):
        return xp.sin(x)

    try:
        assert gradcheck(flat_sine, leaf([0.4]), fast_mode=fast)
        with pytest.raises(GradcheckError, match="gradgradcheck: the derivative of"):
            gradgradcheck(flat_sine, leaf([0.4]), fast_mode=fast)
    finally:
        del registry["flat_sine"]


@pytest.mark.parametrize(
    ("function", "point", "left", "right"),
    [
        (lg.abs, 0.0, "-1", "1"),
        (lg.relu, 0.0, "0", "1"),
        (lambda x: lg.maximum(x, 2 * x), 0.0, "1", "2"),
        (lambda x: lg.sqrt(x), 0.0, "nan", r"\d+"),
        (lg.floor, 1.0, r"\d\S+", "0"),
    ],
    ids=["abs", "relu", "maximum", "edge", "jump"],
)
def test_a_point_without_a_derivative_is_named(function, point, left, right):
    with (
        pytest.raises(GradcheckError, match=r"entry \(1,\) of output 0 is not differentiable at") as caught,
        np.errstate(all="ignore"),
    ):
        gradcheck(function, leaf([0.7, point]))
    assert re.search(rf"left derivative {left}\S*, right derivative {right}", str(caught.value))


def test_a_point_without_a_second_derivative_is_named():
    x = leaf([0.0, 1.0])
    assert gradcheck(lambda x: x * lg.abs(x), x)
    with pytest.raises(GradcheckError, match="gradgradcheck: .* is not differentiable at entry .0,. of input 0"):
        gradgradcheck(lambda x: x * lg.abs(x), x)


def test_a_kink_is_placed_in_fast_mode_too():
    with pytest.raises(GradcheckError, match=r"is not differentiable at entry \(1,\) of input 0"):
        gradcheck(lg.abs, leaf([1.0, 0.0]), fast_mode=True)


def test_steep_and_curved_functions_are_no_kinks():
    assert gradcheck(lambda x: lg.exp(8 * x), leaf([0.9]))
    assert gradcheck(lambda x: 1 / x, leaf([0.02]))
    assert gradcheck(lambda x: lg.abs(x) ** 1.5, leaf([0.5, -0.5]))


def test_a_random_function_is_found():
    noise = itertools.count()
    with pytest.raises(GradcheckError, match="two evaluations of the function at the same point differ in output 0"):
        gradcheck(lambda x: x * (1 + 1e-3 * next(noise)), leaf([1.0]))


def test_a_random_backward_pass_is_found():
    noise = itertools.count()

    def shaky(x):
        y = x * 2
        y.register_hook(lambda g: g * (1 + 1e-9 * next(noise)))
        return y

    with pytest.raises(GradcheckError, match="two backward passes from output 0 differ in the gradient of input 0"):
        gradcheck(shaky, leaf([1.0]))
    assert gradcheck(shaky, leaf([1.0]), nondet_tol=1e-6)


def test_a_wrong_batching_rule_is_found():
    @primitive(
        ELEMENTWISE,
        vjp=lambda xp, g: xp.badly_batched(g),
        batch=lambda call, values, batched, keywords: call(-values[0]),
    )
    def badly_batched(xp, x, /):
        return x * 1.0

    try:
        assert gradcheck(badly_batched, leaf([1.0, 2.0]))
        with pytest.raises(GradcheckError, match="seed 0 of a batch for output 0"):
            gradcheck(badly_batched, leaf([1.0, 2.0]), check_batched_grad=True)
    finally:
        del registry["badly_batched"]


# -- arguments -------------------------------------------------------------------------------------------------
def test_single_precision_is_warned_of():
    with pytest.warns(UserWarning, match="input 0 requires grad and has dtype float32"):
        gradcheck(lambda x: x * 2, leaf([1.0], lg.float32), eps=1e-2, atol=1e-2)


def test_double_precision_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradcheck(lambda x: x * 2, leaf([1.0]))


def test_no_input_requires_grad():
    with pytest.raises(ValueError, match="none of the inputs requires grad"):
        gradcheck(lambda x: x * 2, lg.ones(2))


def test_errors_of_the_function_pass_through():
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: x * (1 / 0), leaf([1.0]), raise_exception=False)


def test_it_works_on_another_device():
    x = lg.tensor([[1.0, 2.0]], dtype=lg.float64, device="strict", requires_grad=True)
    assert gradcheck(lambda x: x * lg.sin(x), x, check_batched_grad=True)
    assert gradgradcheck(lambda x: x * lg.sin(x), x)
