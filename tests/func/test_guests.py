"""Transforms of functions given numbers and arrays: the function sees tensors, results are what was given."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.func import (
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    trees,
    value_and_grad,
    vjp,
    vmap,
)

A = np.array([0.5, -1.0, 2.0])
F32 = A.astype(np.float32)


def cube(x):
    assert isinstance(x, lg.Tensor)
    return (x**3).sum()


def wave(x):
    assert isinstance(x, lg.Tensor)
    return lg.sin(x) * x


def kind(x):
    return type(x), getattr(x, "dtype", None), getattr(x, "shape", None)


#: A leaf, and what a derivative with respect to it is where it is one number.
LEAVES = [2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), A, F32, 2.0 + 1.0j, np.complex64(1 + 2j), A + 1j]
REAL = [x for x in LEAVES if np.isrealobj(x)]


@pytest.mark.parametrize("x", LEAVES, ids=repr)
def test_a_gradient_is_what_was_given(x):
    g = grad(lambda x: lg.real(cube(x)))(x)
    assert kind(g) == kind(x)
    np.testing.assert_allclose(g, np.conj(3 * np.asarray(x) ** 2), rtol=1e-6)


@pytest.mark.parametrize("x", REAL, ids=repr)
def test_every_transform_takes_it(x):
    d = np.asarray(3 * np.asarray(x) ** 2)
    number = type(x) if np.ndim(x) == 0 and type(x) is not np.ndarray else np.asarray(x).dtype.type
    value, g = value_and_grad(cube)(x)
    assert kind(value)[0] is number and kind(g) == kind(x)
    assert kind(grad_and_value(cube)(x)[0]) == kind(x)
    y, pull = vjp(lambda x: x**3, x)
    assert np.shape(y) == np.shape(x) and type(y) is (type(x) if np.ndim(x) else number)
    assert kind(pull(y)[0]) == kind(x)
    np.testing.assert_allclose(pull(y)[0], d * np.asarray(y), rtol=1e-6)
    for result in (jvp(lambda x: x**3, (x,), (x,)), (lambda y, push: (y, push(x)))(*linearize(lambda x: x**3, x))):
        assert [np.shape(part) for part in result] == [np.shape(x)] * 2
        assert all(type(part) is type(y) for part in result)
        np.testing.assert_allclose(result[1], d * np.asarray(x), rtol=1e-6)
    for jacobian in (jacrev, jacfwd):
        made = jacobian(lambda x: x**3)(x)
        assert type(made) is type(x) and np.asarray(made).dtype == np.asarray(x).dtype
        np.testing.assert_allclose(made, np.diag(d) if d.ndim else d, rtol=1e-6)
    bend = hessian(cube)(x)
    assert type(bend) is type(x) and np.shape(bend) == 2 * np.shape(x)


@pytest.mark.parametrize("outer", [grad, jacrev, jacfwd, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]])
@pytest.mark.parametrize("inner", [grad, jacrev, jacfwd, lambda f: lambda x: jvp(f, (x,), (lg.ones_like(x),))[1]])
def test_transforms_nest(outer, inner):
    second = outer(inner(wave))(0.7)
    assert type(second) is float
    assert second == pytest.approx(2 * np.cos(0.7) - 0.7 * np.sin(0.7), abs=1e-12)
    assert outer(inner(lambda x: grad(wave)(x)))(0.7) == pytest.approx(-3 * np.sin(0.7) - 0.7 * np.cos(0.7), abs=1e-12)


@pytest.mark.parametrize("outer", [grad, jacrev, jacfwd])
@pytest.mark.parametrize("inner", [grad, jacrev, jacfwd])
def test_a_number_inside_knows_what_it_depends_on(outer, inner):
    """The inner derivative is asked for at a number, and depends on the outer variable nevertheless."""
    found = outer(lambda x: x * inner(lambda y: x * x * y**3)(2.0))(3.0)
    assert type(found) is float and found == pytest.approx(3 * 9 * 12)
    assert outer(lambda x: x * inner(lambda y: y**3)(2.0))(3.0) == 12.0


def test_what_depends_on_a_tensor_outside_stays_a_tensor():
    w = lg.tensor(3.0, dtype=lg.float64, requires_grad=True)
    g = grad(lambda x: w * x * x)(2.0)
    assert isinstance(g, lg.Tensor)
    g.backward()
    assert w.grad.item() == 4.0
    value, g = value_and_grad(lambda x: w.detach() * x * x)(2.0)
    assert type(value) is float and type(g) is float


def test_trees_hold_tensors_and_guests():
    params = {"w": A, "b": [2.0, np.float32(1.5)], "t": lg.tensor(1.0, dtype=lg.float64)}
    g = grad(lambda p: (p["w"] ** 2).sum() * p["b"][0] * p["b"][1] * p["t"])(params)
    assert trees.flatten(g)[1] == trees.flatten(params)[1]
    assert [type(leaf) for leaf in trees.flatten(g)[0]] == [np.ndarray, float, np.float32, lg.Tensor]
    value, _ = value_and_grad(lambda p: (p["w"] ** 2).sum() * p["t"])({"w": A, "t": params["t"]})
    assert isinstance(value, lg.Tensor)  # one of both is one
    first, second = jacrev(lambda x, y: x * y, (0, 1))(A, 2.0)
    assert type(first) is np.ndarray and first.shape == (3, 3) and second.shape == (3,)


def test_what_is_not_differentiated_passes_as_it_is():
    seen = []
    grad(lambda x, n, m, word: seen.append((n, m, word)) or x**2)(2.0, A, 3, "word")
    assert seen[0][0] is A and seen[0][1:] == (3, "word")


def test_beside_the_value_comes_anything():
    g, aux = grad(lambda x: (x**2, {"y": x + 1, "word": "a", "none": None}), has_aux=True)(2.0)
    assert g == 4.0 and aux == {"y": 3.0, "word": "a", "none": None} and type(aux["y"]) is float
    for jacobian in (jacrev, jacfwd):
        assert jacobian(lambda x: (x**2, x + 1), has_aux=True)(2.0) == (4.0, 3.0)


def test_maps_take_arrays():
    rows = np.arange(6.0).reshape(3, 2)
    y = vmap(lambda x: x.sum())(rows)
    assert kind(y) == (np.ndarray, np.float64, (3,)) and y.tolist() == [1.0, 5.0, 9.0]
    assert type(vmap(grad(cube), chunk_size=2)(rows)) is np.ndarray
    assert vmap(lambda x, w: x @ w, in_dims=(0, None))(rows, np.ones(2)).tolist() == [1.0, 5.0, 9.0]
    assert isinstance(vmap(lambda x, w: x @ w, in_dims=(0, 0))(rows, lg.ones(3, 2, dtype=lg.float64)), lg.Tensor)
    assert grad(lambda x: vmap(lambda r: (r * x).sum())(rows).sum())(2.0) == 15.0
    with pytest.raises(ValueError, match="only tensors and arrays have axes"):
        vmap(lambda x: x)(2.0)


def test_results_have_memory_of_their_own():
    x = A.copy()
    for made in (
        grad(lambda x: x.sum())(x),
        vjp(lambda x: x, x)[0],
        vjp(lambda x: x, x)[1](x)[0],
        jvp(lambda x: x, (x,), (x,))[1],
        vmap(lambda x: x)(x),
        jacrev(lambda x: x.sum())(x),
    ):
        made += 1.0  # writable, and nobody else's
        assert x.tolist() == A.tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: grad(cube)(3), "floating-point numbers"),
        (lambda: grad(cube)(np.arange(3)), "int64"),
        (lambda: grad(cube)("three"), "str"),
        (lambda: jacfwd(cube)(True), "bool"),
        (lambda: jvp(cube, (A,), (np.ones(2),)), "shape"),
        (lambda: jvp(cube, (A,), (1.0,)), "shape"),
        (lambda: vjp(wave, A)[1]("one"), "str"),
        (lambda: grad(lambda x: 3.0)(2.0), "returned a float, expected a tensor"),
        (lambda: vmap(lambda x: x)(np.array(2.0)), "axes"),
    ],
)
def test_misuse_says_what_is_wrong(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_a_tangent_may_be_a_number_beside_a_tensor():
    _, t = jvp(lambda x: x**2, (lg.tensor(3.0),), (1.0,))
    assert isinstance(t, lg.Tensor) and t.dtype == lg.float32 and t.item() == 6.0


def test_arrays_of_cupy_stay_on_their_device():
    cupy = pytest.importorskip("cupy")
    if not lg.cuda.is_available():
        pytest.skip("no device")
    x = cupy.asarray(A)
    for made in (grad(cube)(x), vjp(wave, x)[0], jacrev(cube)(x), vmap(lambda x: x * 2)(x), jvp(wave, (x,), (x,))[1]):
        assert isinstance(made, cupy.ndarray) and made.shape == (3,) and made.dtype == np.float64
    np.testing.assert_allclose(cupy.asnumpy(grad(cube)(x)), 3 * A**2)
    g = grad(lambda x, s: cube(x) * s, (0, 1))(x, 2.0)
    assert isinstance(g[0], cupy.ndarray) and type(g[1]) is float
    with lg.device("cuda"):  # arrays of NumPy come back from where they were computed
        g = grad(cube)(A)
        assert type(g) is np.ndarray and type(grad(cube)(2.0)) is float
    np.testing.assert_allclose(g, 3 * A**2)


def test_sequences_of_tensors_and_numbers_become_tensors_inside_transforms():
    both = lambda x: lg.asarray([x[0] * 2, 1.0, x[1]])
    assert jvp(both, (A,), (A,))[1].tolist() == [1.0, 0.0, -1.0]
    assert vmap(both)(np.ones((2, 2))).tolist() == [[2.0, 1.0, 1.0]] * 2
    assert lg.asarray([lg.tensor([1, 2]), np.array([0.5, 1.5])]).dtype == lg.float64
    assert lg.asarray([lg.tensor([1.0, 2.0]), np.array([0.5, 1.5], np.float32)]).dtype == lg.float32
    assert lg.asarray([lg.tensor(True), False]).dtype == lg.bool
