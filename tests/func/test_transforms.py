"""Transforms against one another and against loops over `autograd.grad`, alone and nested."""

import collections
import dataclasses

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func

rng = np.random.default_rng(5)
X = lg.asarray(rng.standard_normal(4))
V = lg.asarray(rng.standard_normal(4))
W = lg.asarray(rng.standard_normal((3, 4)))
BATCH = lg.asarray(rng.standard_normal((5, 4)))


def layer(x, w=W):
    return lg.tanh(lg.matmul(w, x))


def energy(x, w=W):
    return lg.sum(layer(x, w) ** 2) * lg.exp(x[0])


def close(a, b, **how):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b.detach()), rtol=1e-9, atol=1e-11, **how)


def loop_gradient(f, x):
    leaf = x.detach().requires_grad_()
    return lg.autograd.grad(f(leaf), leaf, create_graph=False)[0]


def loop_jacobian(f, x):
    leaf = x.detach().requires_grad_()
    y = f(leaf)
    rows = [lg.autograd.grad(e, leaf, retain_graph=True)[0] for e in lg.reshape(y, (-1,))]
    return lg.reshape(lg.stack(rows), (*y.shape, *x.shape))


def loop_hessian(f, x):
    leaf = x.detach().requires_grad_()
    (g,) = lg.autograd.grad(f(leaf), leaf, create_graph=True)
    return lg.stack([lg.autograd.grad(e, leaf, retain_graph=True)[0] for e in g])


def test_grad_is_the_gradient():
    close(func.grad(energy)(X), loop_gradient(energy, X))
    value, g = func.value_and_grad(energy)(X)
    close(value, energy(X))
    close(g, func.grad_and_value(energy)(X)[0])
    assert not value.requires_grad and not g.requires_grad


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
@pytest.mark.parametrize("chunk_size", [None, 1, 3])
def test_jacobians_are_loops(jacobian, chunk_size):
    close(jacobian(layer, chunk_size=chunk_size)(X), loop_jacobian(layer, X))
    close(jacobian(lambda x: lg.outer(x, x), chunk_size=chunk_size)(X), loop_jacobian(lambda x: lg.outer(x, x), X))


ORDERS = {
    "forward over reverse": func.hessian,
    "reverse over reverse": lambda f: func.jacrev(func.jacrev(f)),
    "reverse over forward": lambda f: func.jacrev(func.jacfwd(f)),
    "forward over forward": lambda f: func.jacfwd(func.jacfwd(f)),
    "in chunks": lambda f: func.hessian(f, chunk_size=3),
}


@pytest.mark.parametrize("order", ORDERS)
def test_hessians_in_every_order(order):
    close(ORDERS[order](energy)(X), loop_hessian(energy, X))


def test_third_derivatives_in_every_order():
    expected = func.jacrev(func.jacrev(func.jacrev(energy)))(X)
    for outer in (func.jacrev, func.jacfwd):
        for middle in (func.jacrev, func.jacfwd):
            for inner in (func.jacrev, func.jacfwd):
                close(outer(middle(inner(energy)))(X), expected)


def test_jvp_is_the_jacobian_times_the_tangent():
    y, t = func.jvp(layer, (X,), (V,))
    close(y, layer(X))
    close(t, loop_jacobian(layer, X) @ V)


def test_vjp_is_the_cotangent_times_the_jacobian():
    _y, pull = func.vjp(layer, X)
    g = lg.asarray([1.0, -2.0, 0.5], dtype=lg.float64)
    close(pull(g)[0], g @ loop_jacobian(layer, X))
    close(pull(2 * g)[0], 2 * pull(g)[0])


def test_linearize_runs_the_function_once():
    calls = []

    def counted(x):
        calls.append(1)
        return layer(x)

    _y, push = func.linearize(counted, X)
    close(push(V), loop_jacobian(layer, X) @ V)
    close(push(2 * V), 2 * push(V))
    assert len(calls) == 1


def test_hessian_vector_product():
    close(func.jvp(func.grad(energy), (X,), (V,))[1], loop_hessian(energy, X) @ V)


def test_derivative_of_a_directional_derivative():
    def speed(x, w, v):
        return lg.sum(func.jvp(lambda x: layer(x, w), (x,), (v,))[1] ** 2)

    def by_hand(x, w, v):
        return lg.sum((func.jacrev(lambda x: layer(x, w))(x) @ v) ** 2)

    for found, expected in zip(
        func.grad(speed, argnums=(0, 1, 2))(X, W, V), func.grad(by_hand, argnums=(0, 1, 2))(X, W, V), strict=True
    ):
        close(found, expected)


def test_tangent_of_a_gradient_at_a_shared_value():
    mixed = func.jvp(lambda x: func.grad(lambda w: energy(x, w))(W), (X,), (V,))[1]
    expected = func.jacrev(lambda x: func.grad(lambda w: energy(x, w))(W))(X) @ V
    close(mixed, expected)


def test_perturbations_are_not_confused():
    inner = lambda x: func.grad(lambda y: lg.sum(x * y))(x)
    close(func.grad(lambda x: lg.sum(x * inner(x)))(X), 2 * X)
    nested = func.jvp(lambda x: x * func.jvp(lambda y: x + y, (x,), (lg.ones_like(x),))[1], (X,), (lg.ones_like(X),))
    close(nested[1], lg.ones_like(X))


# -- vmap --------------------------------------------------------------------------------------------
def test_vmap_is_a_loop():
    close(func.vmap(layer)(BATCH), lg.stack([layer(x) for x in BATCH]))
    close(func.vmap(layer, in_dims=1, out_dims=1)(BATCH.T), lg.stack([layer(x) for x in BATCH], axis=1))


def test_per_sample_gradients():
    found = func.vmap(func.grad(lambda w, x: energy(x, w)), in_dims=(None, 0))(W, BATCH)
    close(found, lg.stack([func.grad(lambda w, x=x: energy(x, w))(W) for x in BATCH]))


def test_gradient_of_a_vmap():
    total = lambda w: lg.sum(func.vmap(lambda x: energy(x, w))(BATCH) ** 2)
    close(func.grad(total)(W), func.grad(lambda w: sum((energy(x, w) ** 2 for x in BATCH), lg.tensor(0.0)))(W))


def test_batches_of_jacobians_and_hessians():
    close(func.vmap(func.jacrev(layer))(BATCH), lg.stack([loop_jacobian(layer, x) for x in BATCH]))
    close(func.vmap(func.jacfwd(layer))(BATCH), lg.stack([loop_jacobian(layer, x) for x in BATCH]))
    close(func.vmap(func.hessian(energy))(BATCH), lg.stack([loop_hessian(energy, x) for x in BATCH]))


def test_jacobian_of_a_vmap():
    f = lambda w: func.vmap(lambda x: energy(x, w))(BATCH)
    expected = lg.stack([func.grad(lambda w, x=x: energy(x, w))(W) for x in BATCH])
    for jacobian in (func.jacrev, func.jacfwd):
        close(jacobian(f)(W), expected)


def test_vmap_in_vmap():
    table = func.vmap(lambda w: func.vmap(lambda x: lg.sum(w * x))(BATCH))(W)
    close(table, W @ BATCH.T)
    g = func.grad(lambda w: lg.sum(func.vmap(lambda w: func.vmap(lambda x: lg.sum(w * x) ** 2)(BATCH))(w)))(W)
    close(g, func.grad(lambda w: lg.sum((w @ BATCH.T) ** 2))(W))


def test_indices_may_differ_between_examples():
    i = lg.asarray([0, 3, 1, 1, 2])
    pick = lambda x, i: x[i]
    close(func.vmap(pick)(BATCH, i), lg.stack([x[k] for x, k in zip(BATCH, i.tolist(), strict=True)]))
    pairs = lg.asarray([[0, 1], [3, 3], [1, 0], [1, 2], [2, 0]])
    close(func.vmap(pick)(BATCH, pairs), lg.stack([x[k] for x, k in zip(BATCH, pairs, strict=True)]))
    g = func.vmap(func.grad(lambda x, i: lg.sum(x[i] ** 2)), in_dims=(None, 0))(X, pairs)
    close(g, lg.stack([func.grad(lambda x, k=k: lg.sum(x[k] ** 2))(X) for k in pairs]))
    close(func.vmap(lambda i: W[:, i])(i), lg.stack([W[:, k] for k in i.tolist()]))


@pytest.mark.parametrize("chunk_size", [1, 2, 5, 9])
def test_chunks_change_nothing(chunk_size):
    f = lambda x: {"y": layer(x), "z": lg.sum(x)}
    whole, parts = func.vmap(f)(BATCH), func.vmap(f, chunk_size=chunk_size)(BATCH)
    close(whole["y"], parts["y"])
    close(whole["z"], parts["z"])


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_random_numbers_in_vmap(randomness):
    noisy = func.vmap(lambda x: x * 0 + lg.rand(4, dtype=lg.float64), randomness=randomness)(BATCH)
    alike = all(bool(lg.all(row == noisy[0])) for row in noisy)
    assert alike == (randomness == "same")


def test_permutations_differ_in_vmap():
    lg.manual_seed(0)
    rows = func.vmap(lambda x: lg.randperm(4) + 0 * x.to(lg.int64), randomness="different")(BATCH)
    assert all(sorted(row.tolist()) == [0, 1, 2, 3] for row in rows)
    assert len({tuple(row.tolist()) for row in rows}) > 1


# -- trees ---------------------------------------------------------------------------------------------
Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Parameters:
    weight: object
    bias: object


def test_trees_of_every_kind():
    tree = {"a": [X], "b": (W, Pair(V, None)), "c": Parameters(X, V)}
    leaves, shape = func.trees.flatten(tree)
    again = func.trees.unflatten(shape, leaves)
    assert again["b"][1].left is V and again["c"].weight is X and isinstance(again["a"], list)
    g = func.grad(lambda p: energy(p.weight) + lg.sum(p.bias**2))(Parameters(X, V))
    close(g.weight, func.grad(energy)(X))
    close(g.bias, 2 * V)


def test_aux_comes_along():
    _g, aux = func.grad(lambda x: (energy(x), {"y": layer(x)}), has_aux=True)(X)
    close(aux["y"], layer(X))
    assert not aux["y"].requires_grad
    j, aux = func.jacrev(lambda x: (layer(x), x * 2), has_aux=True)(X)
    close(aux, 2 * X)
    j, aux = func.jacfwd(lambda x: (layer(x), x * 2), has_aux=True)(X)
    close(j, loop_jacobian(layer, X))


def test_results_are_differentiable_where_the_outside_records():
    w = W.detach().requires_grad_()
    g = func.grad(lambda x: energy(x, w))(X)
    assert g.requires_grad
    found = lg.autograd.grad(lg.sum(g), w)[0]
    close(found, func.grad(lambda w: lg.sum(func.grad(lambda x: energy(x, w))(X)))(W))
    with lg.no_grad():
        assert not func.grad(lambda x: energy(x, w))(X).requires_grad


# -- misuse --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("error", "call", "says"),
    [
        (RuntimeError, lambda: func.grad(layer)(X), "one element"),
        (TypeError, lambda: func.grad(lambda x: 1.0)(X), "expected a tensor"),
        (TypeError, lambda: func.grad(energy)("3.0"), "expected tensors"),
        (TypeError, lambda: func.grad(energy)(3), "floating"),
        (ValueError, lambda: func.grad(energy, argnums=4)(X), "argnums"),
        (TypeError, lambda: func.grad(energy)(lg.arange(4)), "floating"),
        (ValueError, lambda: func.jvp(layer, (X,), (V[:2],)), "shape"),
        (ValueError, lambda: func.jvp(layer, (X,), (V.to(lg.float32),)), "dtype"),
        (TypeError, lambda: func.jvp(layer, X, V), "tuples"),
        (TypeError, lambda: func.jvp(lambda x: 3, (X,), (V,)), "expected tensors"),
        (ValueError, lambda: func.vmap(layer, in_dims=3)(BATCH), "axes"),
        (ValueError, lambda: func.vmap(lambda a, b: a, in_dims=(0, 0))(BATCH, W), "lengths"),
        (ValueError, lambda: func.vmap(layer, in_dims=None)(BATCH), "no argument"),
        (TypeError, lambda: func.vmap(lambda x: 3)(BATCH), "tensors only"),
        (ValueError, lambda: func.vmap(layer, out_dims=None)(BATCH), "differs"),
        (RuntimeError, lambda: func.vmap(lambda x: x + lg.rand(4))(BATCH), "randomness"),
        (ValueError, lambda: func.vmap(layer, chunk_size=0), "chunk_size"),
        (ValueError, lambda: func.jacrev(layer, chunk_size=0), "chunk_size"),
        (RuntimeError, lambda: func.vmap(lambda x: lg.asarray(float(x[0])))(BATCH), "vmap"),
    ],
)
def test_misuse_says_what_is_wrong(error, call, says):
    with pytest.raises(error, match=says):
        call()
    close(func.vmap(func.grad(energy))(BATCH)[0], func.grad(energy)(BATCH[0]))  # nothing is left behind


@pytest.mark.parametrize(
    "leak",
    [
        lambda keep: func.vmap(lambda x: (keep.append(x), x)[1])(BATCH),
        lambda keep: func.jvp(lambda x: (keep.append(x), x)[1], (X,), (V,)),
    ],
)
def test_a_tensor_that_escaped_its_transform_raises(leak):
    keep = []
    leak(keep)
    with pytest.raises(RuntimeError, match="after it had ended"):
        keep[0] + 1


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("reduce", [lg.sum, lg.mean, lambda x: x @ x])
def test_tangents_of_numbers_are_arrays(reduce, requires_grad):
    x = lg.tensor([1.0, 2.0], requires_grad=requires_grad)
    for part in func.jvp(reduce, (x,), (lg.ones(2),)):
        assert type(part.array) is type(x.array)
