"""The door for HIPS autograd's programs: boxes, operators, rules, trees, errors, and the command."""

import importlib
import importlib.util
import subprocess
import sys
import warnings
from collections import namedtuple
from pathlib import Path

import numpy as plain
import pytest
from hips_peer import HAS_AUTOGRAD

import lucidgrad as lg
import lucidgrad.hips as autograd
import lucidgrad.hips.numpy as np
from lucidgrad import doors
from lucidgrad.hips import grad, hessian, jacobian, make_jvp, make_vjp, value_and_grad
from lucidgrad.hips.builtins import isinstance as isinstance_, type as type_
from lucidgrad.hips.extend import (
    def_linear,
    defjvp,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    vspace,
)
from lucidgrad.hips.misc.fixed_points import fixed_point
from lucidgrad.hips.misc.flatten import flatten
from lucidgrad.hips.numpy.numpy_boxes import ArrayBox
from lucidgrad.hips.test_util import check_equivalent, check_grads, check_jvp, check_vjp, combo_check
from lucidgrad.hips.tracer import getval, isbox
from lucidgrad.hips.wrap_util import unary_to_nary

ROOT = Path(__file__).parents[2]
X = plain.array([0.5, -1.0, 2.0])


def seen_inside(function, x=X):
    """What a function gives where its argument is being differentiated."""
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grad(lambda x: (seen.append(function(x)), np.sum(x))[1])(x)
    return seen[0]


# -- names -----------------------------------------------------------------------------------------
#: What autograd's modules have and the door has not, with the reason.
MISSING = {
    "extend": {
        "JVPNode": "the tape's nodes are lucidgrad's",
        "VJPNode": "the tape's nodes are lucidgrad's",
        "SparseObject": "lucidgrad adds to a part of a gradient by a primitive of its own",
        "register_notrace": "there are no kinds of traces to register for",
    },
    "misc": {"const_graph": "a graph is recorded anew by each call", "tracers": "the same"},
    "misc.optimizers": {"unflatten_optimizer": "the optimisers take trees by themselves"},
    "misc.flatten": {},
    "misc.fixed_points": {"fixed_point_vjp": "how a rule is made is nobody's business"},
    "test_util": {"make_numerical_jvp": "differences are those of lucidgrad.autograd.gradcheck"},
    "differential_operators": {},
}
#: Names that are in a module because it uses them.
USED = """
EPS Node OrderedDict RTOL TOL atuple const_graph_unary defvjp defvjp_argnum get_name make_jvp make_vjp np partial
primitive product repeat subvals toposort trace tuple type unary_to_nary vspace warnings wraps
""".split()


@pytest.mark.skipif(not HAS_AUTOGRAD, reason="autograd is not installed")
def test_the_names_of_autograd_are_there():
    theirs = importlib.import_module("autograd")
    inner = {"util"}
    assert {name for name in vars(theirs) if not name.startswith("_") and not hasattr(autograd, name)} <= inner
    for module, missing in MISSING.items():
        other, own = (importlib.import_module(f"{package}.{module}") for package in ("autograd", "lucidgrad.hips"))
        public = {name for name in vars(other) if not name.startswith("_")} - set(USED)
        assert {name for name in public if not hasattr(own, name)} == set(missing), module


@pytest.mark.skipif(not HAS_AUTOGRAD, reason="autograd is not installed")
def test_what_autograd_differentiates_can_be_differentiated():
    from autograd.core import primitive_jvps, primitive_vjps

    inside = "array_from_args concatenate_args make_diagonal truncate_pad".split()  # of its own functions
    for module in ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.signal"):
        other = importlib.import_module(f"autograd.{module}")
        known = {id(function) for function in (*primitive_vjps, *primitive_jvps)}
        names = {name for name, value in vars(other).items() if id(value) in known and not name.startswith("_")}
        house = "lucidgrad.hips" if module.startswith("scipy") else "lucidgrad"
        ours = importlib.import_module(f"{house}.{module}")
        assert {name for name in names - set(inside) if not hasattr(ours, name)} == set()


def test_modules_are_found_as_attributes_and_by_import():
    for module in ("numpy.linalg", "numpy.fft", "numpy.random", "scipy.special", "scipy.stats.norm", "misc.optimizers"):
        assert importlib.import_module(f"lucidgrad.hips.{module}")
    assert autograd.numpy is np and autograd.scipy.stats.norm and autograd.scipy.misc.logsumexp and lg.hips is autograd
    assert "grad" in dir(autograd) and "sin" in dir(np) and "linalg" in dir(np)
    with pytest.raises(AttributeError, match="nothing"):
        np.nothing
    with pytest.raises(AttributeError, match="nothing"):
        autograd.nothing


def test_the_door_is_opened_when_it_is_asked_for():
    code = "import sys, lucidgrad; assert not [m for m in sys.modules if m.startswith(('lucidgrad.hips', 'scipy'))]"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


# -- arrays and boxes ------------------------------------------------------------------------------
def test_where_nothing_is_differentiated_numpy_computes():
    assert type(np.sin(X)) is plain.ndarray and type(np.array([1.0])) is plain.ndarray
    assert type(np.sum(X)) is plain.float64 and np.pi == plain.pi and np.float64 is plain.float64
    assert np.ndarray is plain.ndarray and np.random.RandomState is plain.random.RandomState
    assert np.linalg.inv(plain.eye(2)).tolist() == plain.eye(2).tolist()


def test_results_are_arrays_of_the_kind_that_was_given():
    assert isinstance(grad(np.sin)(1.0), float)
    assert type(grad(np.sum)(X)) is plain.ndarray and grad(np.sum)(X.astype("f4")).dtype == plain.float32
    value, g = value_and_grad(lambda p: np.sum(p["a"]) * p["b"][0])({"a": X, "b": (2.0, X)})
    assert isinstance(value, float) and type(g["a"]) is plain.ndarray and type(g["b"]) is tuple
    assert g["b"][1].tolist() == [0.0, 0.0, 0.0]


def test_inside_there_are_boxes_and_what_does_not_depend_is_an_array():
    assert type(seen_inside(lambda x: x)) is ArrayBox and isbox(seen_inside(lambda x: x * 2))
    for plainly in (
        lambda x: np.zeros_like(x), lambda x: x > 0, lambda x: np.argmax(x), lambda x: np.isfinite(x),
        lambda x: np.shape(x), lambda x: x.argsort(), lambda x: np.sin(X), lambda x: x == x,
    ):  # fmt: skip
        assert not isbox(seen_inside(plainly))
    assert seen_inside(lambda x: x > 0).tolist() == [True, False, True]


def test_a_box_has_the_methods_of_an_array():
    """Those of tensors are PyTorch's: deviations without a correction, copies of elements, no pairs."""
    M = plain.arange(6.0).reshape(2, 3)
    for method in (
        lambda x: x.std(), lambda x: x.var(axis=0), lambda x: x.max(axis=1), lambda x: x.repeat(2), lambda x: x.T,
        lambda x: x.ravel()[:2].T, lambda x: x[None].T, lambda x: x.transpose(1, 0), lambda x: x.sum(0, keepdims=True),
        lambda x: x.flatten(), lambda x: x.dot(M.T), lambda x: x.min(0), lambda x: x.reshape(3, 2),
    ):  # fmt: skip
        found = seen_inside(method, M)
        assert isbox(found)
        plain.testing.assert_array_equal(getval(found), method(M))
    assert seen_inside(lambda x: (x.shape, x.ndim, x.size, x.dtype, len(x)), M) == ((2, 3), 2, 6, plain.float64, 2)
    assert seen_inside(lambda x: [float(getval(row[0])) for row in x], M) == [0.0, 3.0]


def test_the_value_of_a_box_is_seen_and_not_taken():
    assert "0.5" in seen_inside(str) and "ArrayBox" in seen_inside(repr)
    assert seen_inside(lambda x: x._value).tolist() == X.tolist() and getval(3) == 3
    assert seen_inside(lambda x: isinstance_(x, plain.ndarray)) and seen_inside(type_) is plain.ndarray
    assert not seen_inside(lambda x: isinstance_(x, dict)) and seen_inside(lambda x: isinstance_(x, ArrayBox))
    assert seen_inside(lambda x: {x: 1}[x] if hash(x) else 1) == 1
    import math

    for take in (float, int, math.sin, plain.asarray, lambda x: plain.array([x, 1.0]), lambda x: range(x)):
        with pytest.raises(TypeError):
            grad(lambda x, take=take: take(x))(1.0)

    def write(x):
        y = np.zeros(3)
        y[0] = x[0]
        return y[0]

    with pytest.raises(ValueError, match="setting an array element"):  # as NumPy says it
        grad(write)(X)


def test_a_box_is_not_written():
    def write(x):
        y = x * 1.0
        y[0] = 2.0
        return np.sum(y)

    with pytest.raises(TypeError, match=r"np\.where"):
        grad(write)(X)

    def add(x):
        y = x
        y += 1.0  # makes a new one
        return np.sum(x * y)

    assert grad(add)(X).tolist() == (2 * X + 1).tolist()


def test_functions_of_numpy_itself_take_boxes():
    assert grad(lambda x: plain.sum(plain.sin(x) * X))(X).tolist() == grad(lambda x: np.sum(np.sin(x) * X))(X).tolist()
    assert grad(lambda x: plain.linalg.norm(x))(X).shape == (3,)
    assert grad(lambda x: plain.fft.fft(x).real[0])(X).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(TypeError):
        grad(lambda x: plain.add(X, x, out=plain.zeros(3))[0])(X)
    with pytest.raises(TypeError):
        grad(lambda x: plain.add.reduce(x))(X)


def test_a_function_without_a_derivative_says_so():
    with pytest.raises(TypeError, match="format_float_scientific.*being differentiated"):
        grad(lambda x: np.format_float_scientific(x))(1.0)
    with pytest.raises(TypeError, match="qr.*being differentiated"):  # whose results have other shapes in SciPy
        grad(lambda x: np.sum(autograd.scipy.linalg.qr(x)[0]))(plain.eye(2))


def test_tensors_of_lucidgrad_pass_through():
    w = lg.tensor(2.0, dtype=lg.float64)
    assert grad(lambda x: np.sum(x * x.tensor.detach().array) * w)(X).tolist() == (2.0 * X).tolist()
    assert type(grad(np.sin)(lg.tensor(1.0))) is plain.float32


# -- operators -------------------------------------------------------------------------------------
def test_an_output_that_does_not_depend_warns():
    with pytest.warns(UserWarning, match="independent of input"):
        assert grad(lambda x: 3.0)(1.0) == 0.0
    assert jacobian(lambda x: np.ones(2))(X).tolist() == [[0.0] * 3] * 2
    assert make_vjp(lambda x: np.ones(2))(X)[0](np.ones(2)).tolist() == [0.0] * 3


Pair = namedtuple("Pair", "left right")


def test_trees_of_arguments():
    f = lambda p, q: np.sum(p["w"] * q[0]) + p["n"].left * p["n"].right
    args = {"w": X, "n": Pair(2.0, 3.0)}, [X, 1.0]
    first, second = grad(f, (0, 1))(*args)
    assert first["n"] == Pair(3.0, 2.0) and first["w"].tolist() == X.tolist() and second[1] == 0.0
    assert grad(f, argnum=1)(*args)[0].tolist() == X.tolist()
    outer = grad(lambda s: grad(lambda p: s**2 * np.sum(p["w"] ** 3))({"w": X})["w"][1])(2.0)
    assert outer == pytest.approx(4 * 3)


def test_keyword_arguments_and_the_other_arguments_are_passed_on():
    def f(x, words, scale=1.0):
        assert words == "as they are"
        return np.sum(x) * scale

    assert grad(f)(X, "as they are", scale=3.0).tolist() == [3.0] * 3


def test_derivatives_nest_in_every_order():
    f = lambda x: np.sin(x) * x
    second = 2 * np.cos(0.7) - 0.7 * np.sin(0.7)
    forward = lambda f: lambda x: make_jvp(f)(x)(1.0)[1]
    kinds = [grad, autograd.deriv, forward, autograd.elementwise_grad, jacobian]
    kinds += [autograd.holomorphic_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for outer in kinds:
            for inner in kinds:
                assert outer(inner(f))(0.7) == pytest.approx(second, abs=1e-12)
                assert outer(lambda x, inner=inner: x * inner(lambda y: x * y**2)(3.0))(2.0) == pytest.approx(24.0)
    assert hessian(lambda x: np.sum(x**3) * x[0])(X).shape == (3, 3)
    assert jacobian(hessian(lambda x: np.sum(x**4)))(X)[2, 2, 2] == pytest.approx(48.0)


def test_complex_numbers_follow_the_other_convention():
    z = 0.3 + 0.8j
    assert grad(lambda z: np.real(z) * 2 + np.imag(z) ** 2)(z) == pytest.approx(2 - 1.6j)
    assert autograd.holomorphic_grad(np.exp)(z) == pytest.approx(np.exp(z))
    pull, value = make_vjp(lambda z: np.exp(z) * (1 + 2j))(z)
    assert pull(1j) == pytest.approx(1j * value) and make_jvp(np.exp)(z)(1j)[1] == pytest.approx(1j * np.exp(z))
    with pytest.raises(TypeError, match="real number"):
        grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="complex"):
        autograd.elementwise_grad(lambda x: x * 1j)(X)
    with pytest.warns(UserWarning, match="not complex"):
        autograd.holomorphic_grad(np.exp)(1.0)


def test_products_and_names():
    f = lambda x: np.array([x[0] * x[1], x[1] ** 2])
    x, v = X[:2], plain.array([1.0, 2.0])
    J, g = jacobian(f)(x), lambda x: np.sum(f(x) ** 2)
    assert autograd.vector_jacobian_product(f)(x, v).tolist() == (v @ J).tolist()
    assert autograd.make_jvp_reversemode(f)(x)(v).tolist() == (J @ v).tolist()
    plain.testing.assert_allclose(autograd.hessian_vector_product(g)(x, v), hessian(g)(x) @ v)
    plain.testing.assert_allclose(autograd.make_hvp(g)(x)[0](v), hessian(g)(x) @ v)
    plain.testing.assert_allclose(autograd.make_ggnvp(f)(x)(v), J.T @ J @ v)
    plain.testing.assert_allclose(autograd.make_ggnvp(f, lambda y: np.sum(y**3))(x)(v), J.T @ (6 * f(x) * (J @ v)))
    assert autograd.grad_named(lambda a, b: a * b**2, "b")(2.0, 3.0) == 12.0
    many = autograd.multigrad_dict(lambda a, *rest, k=2.0, **more: a * rest[0] * rest[1] * k * more["m"])
    assert many(1.0, 2.0, 3.0, m=5.0) == {"a": 60.0, "rest": (30.0, 20.0), "k": 30.0, "more": {"m": 12.0}}
    gradient, aux = autograd.grad_and_aux(lambda x: (x**2, {"y": x * 3, "word": "a"}))(2.0)
    assert gradient == 4.0 and aux == {"y": 6.0, "word": "a"} and isinstance(aux["y"], float)
    inner = grad(lambda s: autograd.grad_and_aux(lambda x: (x**2, x * s))(2.0)[1])(3.0)
    assert inner == 2.0  # what comes beside the value keeps the history of what is outside


def test_checkpoints_compute_again():
    calls = []

    @autograd.checkpoint
    def layer(p, scale=1.0):
        calls.append(1)
        return {"y": np.tanh(p["w"] * scale) * p["w"]}

    def loss(w):
        return np.sum(layer({"w": w}, scale=2.0)["y"])

    g = grad(loss)(X)
    assert len(calls) == 2
    plain.testing.assert_allclose(g, grad(lambda w: np.sum(np.tanh(w * 2.0) * w))(X), rtol=1e-14)
    plain.testing.assert_allclose(hessian(loss)(X), hessian(lambda w: np.sum(np.tanh(w * 2.0) * w))(X), rtol=1e-12)
    assert layer({"w": 1.0})["y"] == plain.tanh(1.0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: grad(3.0), TypeError, "expected a function"),
        (lambda: grad(np.sin, "x"), TypeError, "argnum is 'x'"),
        (lambda: grad(np.sin, 1)(1.0), TypeError, "was given 1 arguments"),
        (lambda: grad(np.sin)(3), TypeError, "3.0 for 3"),
        (lambda: grad(np.sum)(plain.arange(3)), TypeError, "int64"),
        (lambda: grad(lambda x: x)(X), TypeError, "shape \\(3,\\)"),
        (lambda: grad(np.sin)("a"), TypeError, "str"),
        (lambda: autograd.grad_named(lambda a: a, "b"), ValueError, "expected one of a"),
        (lambda: defvjp(np.sin, lambda ans, x: lambda g: g), TypeError, "@primitive"),
        (lambda: check_grads(np.sin, modes=["back"])(1.0), ValueError, "fwd"),
        (lambda: vspace("a"), TypeError, "expected"),
    ],
)
def test_misuse_says_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_unary_operators_become_operators_of_several_arguments():
    @unary_to_nary
    def twice(fun, x, factor=1.0):
        return factor * (fun(x) + fun(x))

    assert twice(lambda a, b: a - b, 1, factor=2.0)(5.0, 3.0) == 8.0
    assert twice(lambda a, b, c: a * c, (0, 2))(2.0, None, 3.0) == 12.0


# -- rules -----------------------------------------------------------------------------------------
def test_rules_by_hand_have_every_order_in_both_modes():
    @primitive
    def product(x, y, power=1):
        assert not isbox(x) and not isbox(y)
        return plain.multiply(x, y) ** power

    with pytest.raises(RuntimeError, match="defvjp"):
        grad(product)(2.0, 3.0)
    assert product(2.0, 3.0, power=2) == 36.0
    rule = lambda ans, x, y, power=1: lambda g: g * power * product(x, y, power=power - 1) * y
    defvjp(product, rule)
    assert grad(product)(2.0, 3.0, power=3) == 3 * 36 * 3
    assert grad(grad(grad(product)))(2.0, 3.0, power=3) == 6 * 27
    assert make_jvp(product)(2.0, 3.0, power=3)(2.0) == (216.0, 648.0)  # the rule transposed
    with pytest.raises(RuntimeError, match="argument 1"):
        grad(product, 1)(2.0, 3.0)
    defvjp(product, rule, None)
    assert grad(product, 1)(2.0, 3.0) == 0.0
    defvjp(product, lambda ans, x, y, power=1: lambda g: g * power * product(x, y, power=power - 1) * x, argnums=[1])
    assert grad(product, 1)(2.0, 3.0) == 2.0
    with pytest.raises(TypeError, match="given by position"):
        grad(lambda p: product(2.0, 3.0, power=p))(2.0)


def test_forward_rules():
    @primitive
    def f(x, y):
        return plain.sin(x) * y

    defjvp(f, lambda g, ans, x, y: g * np.cos(x) * y, lambda g, ans, x, y: f(x, g))
    assert make_jvp(lambda x: f(x, x))(0.3)(1.0)[1] == pytest.approx(np.cos(0.3) * 0.3 + np.sin(0.3))
    second = make_jvp(lambda x: make_jvp(lambda x: f(x, x))(x)(1.0)[1])(0.3)(1.0)[1]
    assert second == pytest.approx(2 * np.cos(0.3) - 0.3 * np.sin(0.3))
    defjvp(f, None, "same")
    assert make_jvp(lambda x: f(x, x))(0.3)(1.0)[1] == pytest.approx(np.sin(0.3))

    @primitive
    def linear(x):
        return plain.cumsum(x)

    def_linear(linear)
    assert make_jvp(linear)(X)(np.ones(3))[1].tolist() == [1.0, 2.0, 3.0]
    defjvp_argnums(linear, lambda argnums, gs, ans, args, kwargs: 2 * linear(gs[0]))
    assert make_jvp(linear)(X)(np.ones(3))[1].tolist() == [2.0, 4.0, 6.0]


def test_rules_for_all_arguments_and_for_trees():
    @primitive
    def weighted(pairs, scale):
        return {"sum": sum(a * b for a, b in pairs) * scale, "count": float(len(pairs))}

    def rule(argnums, ans, args, kwargs):
        pairs, scale = args
        by_number = {
            0: lambda g: [(g["sum"] * b * scale, g["sum"] * a * scale) for a, b in pairs],
            1: lambda g: g["sum"] * ans["sum"] / scale,
        }
        return lambda g: tuple(by_number[n](g) for n in argnums)

    defvjp_argnums(weighted, rule)
    pairs = [(2.0, 3.0), (4.0, 5.0)]
    g = grad(lambda p, s: weighted(p, s)["sum"], (0, 1))(pairs, 2.0)
    assert g == ([(6.0, 4.0), (10.0, 8.0)], 26.0)
    assert grad(lambda s: grad(lambda p: weighted(p, s)["sum"])(pairs)[0][0])(2.0) == 3.0

    @primitive
    def difference(x, y):
        return plain.subtract(x, y)

    defvjp_argnum(difference, lambda n, ans, args, kwargs: lambda g: g if n == 0 else -g)
    assert grad(lambda x: difference(x, x * 3))(2.0) == -2.0

    @primitive
    def half(pair):
        return pair[0] / 2

    defvjp(half, lambda ans, pair: lambda g: g / 2)
    with pytest.raises(TypeError, match="structure"):
        grad(half)((2.0, 3.0))


def test_rules_run_for_all_rows_of_a_jacobian():
    @primitive
    def sorted_(x):
        assert type(x) is plain.ndarray
        return plain.sort(x)

    defvjp(sorted_, lambda ans, x: lambda g: unsorted(g, np.argsort(x)))

    @primitive
    def unsorted(g, order):
        assert type(g) is plain.ndarray
        made = plain.zeros_like(g)
        made[order] = g
        return made

    defvjp(unsorted, lambda ans, g, order: lambda h: h[order])
    assert jacobian(sorted_)(X).tolist() == plain.eye(3)[plain.argsort(X)].tolist()
    assert hessian(lambda x: np.sum(sorted_(x) ** 2))(X).tolist() == (2 * plain.eye(3)).tolist()


def test_complex_rules_have_the_convention_of_the_door():
    @primitive
    def square(z):
        return plain.square(z)

    defvjp(square, lambda ans, z: lambda g: g * 2 * z)
    z = 0.3 + 0.8j
    assert autograd.holomorphic_grad(square)(z) == pytest.approx(2 * z)
    assert grad(lambda z: np.imag(square(z)))(z) == grad(lambda z: np.imag(z**2))(z)


def test_values_without_a_trace():
    @notrace_primitive
    def rounded(x):
        assert not isbox(x)
        return plain.round(x)

    assert grad(lambda x: x * rounded(x))(2.3) == 2.0


def test_a_wrong_rule_is_found():
    @primitive
    def f(x):
        return plain.sin(x)

    defvjp(f, lambda ans, x: lambda g: g * np.cos(x) * 1.001)
    with pytest.raises(AssertionError, match="wrong"):
        check_grads(f, modes=["rev"], order=1)(0.3)
    with pytest.raises(AssertionError):
        check_vjp(f, X)
    with pytest.raises(AssertionError):
        check_jvp(f, X)
    defvjp(f, lambda ans, x: lambda g: g * np.cos(x))
    check_grads(f)(0.3)
    combo_check(lambda x, y: f(x) * y, [0, 1], modes=["rev"], order=1)([0.3, X], [1.0, 2.0])
    check_equivalent({"a": X}, {"a": X + 1e-9})
    with pytest.raises(AssertionError, match="direction"):
        check_equivalent(X, X + 1.0)
    with pytest.raises(AssertionError, match="VSpace"):
        check_equivalent(X, X[:2])


# -- the rest --------------------------------------------------------------------------------------
def test_spaces():
    space = vspace({"a": X, "z": 1.0 + 2j})
    assert space.size == 5 and space.iscomplex and space.shape == {"a": (3,), "z": ()} and vspace(X).ndim == 1
    assert space == vspace(space.randn()) and space != vspace(X) and len(list(space.standard_basis())) == 5
    assert space.ones()["z"] == 1 + 1j and space.zeros()["a"].tolist() == [0.0] * 3
    assert vspace(X).inner_prod(X, X) == X @ X and vspace(X).add(X, X).tolist() == (2 * X).tolist()
    assert space.covector({"a": X, "z": 1j})["z"] == -1j and vspace(X).scalar_mul(X, 2.0).tolist() == (2 * X).tolist()
    assert vspace([X, 2.0]).flatten([X, 2.0]).tolist() == [*X, 2.0]
    assert seen_inside(lambda x: vspace(x).shape) == (3,) and vspace(X.astype("f4")).randn().dtype == plain.float32


def test_vectors_of_trees():
    tree = {"b": [2.0, X], "a": (plain.ones((2, 2)), ())}
    vector, back = flatten(tree)
    assert vector.tolist() == [1.0] * 4 + [2.0, *X] and back(vector)["a"][0].shape == (2, 2)
    assert flatten(())[0].shape == (0,)
    g = grad(lambda v: np.sum(back(v)["b"][1] ** 2) + flatten(back(v))[0][0])(vector)
    assert g.tolist() == [1.0, 0, 0, 0, 0, *(2 * X)]


def test_fixed_points_have_every_order():
    root = lambda a: fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: np.abs(x - y), 1e-14)
    assert root(2.0) == pytest.approx(2**0.5) and grad(root)(2.0) == pytest.approx(0.5 * 2**-0.5)
    assert grad(grad(root))(2.0) == pytest.approx(-0.25 * 2**-1.5)


def test_equations_in_time():
    odeint = autograd.scipy.integrate.odeint
    t, options = plain.linspace(0.0, 1.0, 3), dict(rtol=1e-10, atol=1e-10)
    f = lambda y, t, rate: -rate * y + t
    end = lambda y0, t, rate: np.sum(odeint(f, y0, t, (rate,), **options)[-1])
    rate = 1.3
    exact = lambda y0, t1, rate: (y0 + rate**-2) * np.exp(-rate * t1) + t1 / rate - rate**-2
    y0 = plain.array([0.7])
    assert end(y0, t, rate) == pytest.approx(exact(0.7, 1.0, rate), abs=1e-8)
    assert grad(end)(y0, t, rate)[0] == pytest.approx(np.exp(-rate), abs=1e-8)
    assert grad(end, 1)(y0, t, rate)[-1] == pytest.approx(grad(exact, 1)(0.7, 1.0, rate), abs=1e-7)
    assert grad(end, 2)(y0, t, rate) == pytest.approx(grad(exact, 2)(0.7, 1.0, rate), abs=1e-8)
    assert grad(grad(end, 2), 2)(y0, t, rate) == pytest.approx(grad(grad(exact, 2), 2)(0.7, 1.0, rate), abs=1e-6)
    assert odeint(lambda y, t: -y, y0, t).shape == (3, 1)


def test_densities_end_where_the_support_does():
    stats = autograd.scipy.stats
    for logpdf, x in ((stats.gamma.logpdf, (2.0,)), (stats.beta.logpdf, (2.0, 3.0)), (stats.chi2.logpdf, (3.0,))):
        found = seen_inside(lambda v, logpdf=logpdf, x=x: getval(logpdf(v, *x)), plain.array([-0.5, 0.5]))
        plain.testing.assert_allclose(found, logpdf(plain.array([-0.5, 0.5]), *x), rtol=1e-12)
        assert plain.isneginf(found[0])
    moved = lambda x, loc, scale: stats.gamma.logpdf(x, 2.5, loc, scale)
    check_grads(moved, (0, 1, 2), modes=["rev"], order=1)(2.0, 0.3, 1.5)
    check_grads(lambda x: stats.t.logpdf(scale=2.0, x=x, df=3), modes=["rev"], order=1)(0.4)
    for wrong in (dict(mu=1.0), dict(df=1.0, loc=0.0, scale=1.0, more=2.0)):
        with pytest.raises(TypeError, match="unexpected keyword"):
            grad(lambda x, wrong=wrong: stats.norm.logpdf(x, **wrong))(0.4)
    with pytest.raises(ValueError, match="allow_singular"):
        grad(lambda m: stats.multivariate_normal.logpdf(X, m, plain.eye(3), allow_singular=True))(X)
    one = lambda m: stats.multivariate_normal.logpdf(0.5, m, 2.0)
    assert grad(one)(0.3) == pytest.approx(0.1)


# -- the command -----------------------------------------------------------------------------------
PROGRAM = """
import sys
import autograd
import autograd.numpy.linalg
from autograd import grad, numpy as np
from autograd.scipy import special

print(sys.argv[1:], grad(special.gammaln)(2.0) > 0, autograd.numpy is np, __name__, np.__name__)
try:
    import autograd.elsewhere
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_a_program_runs_unchanged(tmp_path, as_module):
    (tmp_path / "program.py").write_text(PROGRAM)
    words = ["-m", "program"] if as_module else [str(tmp_path / "program.py")]
    command = [sys.executable, "-m", "lucidgrad.hips", *words, "--flag", "3"]
    environment = {**__import__("os").environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    first, second = run.stdout.splitlines()
    assert first == "['--flag', '3'] True True __main__ lucidgrad.hips.numpy"
    assert "autograd.elsewhere" in second and "lucidgrad.hips" in second


def test_the_command_takes_code():
    code = "import autograd, sys; print(autograd.__name__, sys.argv)"
    command = [sys.executable, "-m", "lucidgrad.hips", "-c", code, "a"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == "lucidgrad.hips ['-c', 'a']\n", run.stderr


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [((), 2, "program.py"), (("-h",), 0, "usage"), (("-m",), 1, "needs an argument"), (("a.py",), 1, "no such file")],
)
def test_the_command_says_how_to_use_it(words, status, text, capsys):
    before = list(sys.meta_path)
    with pytest.raises(SystemExit) as end:
        doors.run("autograd", "lucidgrad.hips", words)
    said = "".join(capsys.readouterr()) + str(end.value.code)
    assert text in said and (end.value.code == status or status == 1)
    assert sys.meta_path == before


def test_a_door_opens_before_the_library_is_there():
    with pytest.raises(RuntimeError, match="imported already"):
        doors.open_door("numpy", "lucidgrad.numpy")


def test_a_function_is_not_hidden_by_the_module_that_has_it():
    """In whatever order programs import ``autograd.misc.flatten`` and what is in it."""
    code = (
        "from autograd.misc.flatten import flatten_func\nfrom autograd.misc import flatten\n"
        "import autograd.misc.flatten, autograd.misc.optimizers\nfrom autograd.misc import flatten as again\n"
        "print(callable(flatten), again is flatten)"
    )
    command = [sys.executable, "-m", "lucidgrad.hips", "-c", code]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.stdout == "True True\n", found.stderr
