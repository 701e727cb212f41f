"""Shapes at random: gradients have their inputs' shapes, and are those of inputs that were broadcast by hand."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

import lucidgrad as lg

OPS = [lg.add, lg.subtract, lg.multiply, lg.divide, lg.pow, lg.maximum, lg.minimum, lg.atan2, lg.hypot, lg.logaddexp]
often = settings(max_examples=40, deadline=None, derandomize=True)


def positive(shape, seed):
    return np.random.default_rng([seed, *shape]).uniform(0.5, 2.0, shape)


def leaves(*arrays):
    return [lg.tensor(a, requires_grad=True) for a in arrays]


def unbroadcast(g, shape):
    """The adjoint of broadcasting, by NumPy."""
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    stretched = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=stretched, keepdims=True)


def check(op, arrays, result_shape):
    """Compare gradients with those of inputs that have the result's shape already."""
    seed = lg.tensor(positive(result_shape, 9))
    xs = leaves(*arrays)
    full = leaves(*(np.broadcast_to(a, result_shape) for a in arrays))
    y = op(*xs)
    assert y.shape == result_shape
    expected = lg.autograd.grad(op(*full), full, seed)
    for graph in (False, True):
        found = lg.autograd.grad(y, xs, seed, retain_graph=True, create_graph=graph)
        for x, g, e in zip(xs, found, expected, strict=True):
            assert g.shape == x.shape
            np.testing.assert_allclose(g.detach().numpy(), unbroadcast(e.numpy(), x.shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
@given(shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=3))
@often
def test_binary_gradients(op, shapes):
    check(op, [positive(s, i) for i, s in enumerate(shapes.input_shapes)], shapes.result_shape)


@given(shapes=mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3))
@often
def test_where_gradients(shapes):
    condition, *others = [positive(s, i) for i, s in enumerate(shapes.input_shapes)]
    condition = np.broadcast_to(condition, shapes.result_shape) > 1
    check(lambda a, b: lg.where(lg.asarray(condition), a, b), others, shapes.result_shape)


@given(
    shapes=mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=1, max_side=3),
    batch=st.integers(1, 3),
    op=st.sampled_from(OPS),
)
@often
def test_batched_seeds(shapes, batch, op):
    xs = leaves(*(positive(s, i) for i, s in enumerate(shapes.input_shapes)))
    y = op(*xs)
    seeds = lg.tensor(positive((batch, *shapes.result_shape), 5))
    found = lg.autograd.grad(y, xs, seeds, retain_graph=True, is_grads_batched=True)
    for k in range(batch):
        for g, e in zip(found, lg.autograd.grad(y, xs, seeds[k], retain_graph=True), strict=True):
            np.testing.assert_allclose(g[k].numpy(), e.numpy(), rtol=1e-12)


@given(shapes=mutually_broadcastable_shapes(signature="(m,k),(k,n)->(m,n)", max_dims=2, min_side=0, max_side=3))
@often
def test_matmul_gradients(shapes):
    x1, x2 = leaves(*(positive(s, i) for i, s in enumerate(shapes.input_shapes)))
    y = x1 @ x2
    assert y.shape == shapes.result_shape
    seed = positive(y.shape, 3)
    g1, g2 = lg.autograd.grad(y, [x1, x2], lg.tensor(seed))
    a1, a2 = (np.broadcast_to(x.detach().numpy(), (*y.shape[:-2], *x.shape[-2:])) for x in (x1, x2))
    np.testing.assert_allclose(g1.numpy(), unbroadcast(seed @ a2.mT, x1.shape), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(g2.numpy(), unbroadcast(a1.mT @ seed, x2.shape), rtol=1e-12, atol=1e-12)


@st.composite
def shapes_and_axes(draw):
    shape = draw(array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=3))
    axes = draw(st.none() | st.sets(st.integers(-len(shape), len(shape) - 1), max_size=len(shape)))
    if axes is not None and len({a % len(shape) for a in axes}) < len(axes):
        axes = {a % len(shape) for a in axes}
    return shape, None if axes is None else tuple(axes)


@pytest.mark.parametrize("op", [lg.sum, lg.mean, lg.prod, lg.max, lg.logsumexp], ids=lambda op: op.__name__)
@given(given=shapes_and_axes(), keepdims=st.booleans())
@often
def test_reduction_gradients(op, given, keepdims):
    shape, axis = given
    (x,) = leaves(positive(shape, 1))
    y = op(x, axis=axis, keepdims=keepdims)
    assert y.shape == np.sum(np.zeros(shape), axis=axis, keepdims=keepdims).shape
    lg.autograd.gradcheck(lambda x: op(x, axis=axis, keepdims=keepdims), x, fast_mode=True)


@given(shape=array_shapes(max_dims=4, max_side=3), data=st.data())
@often
def test_permuted_and_reshaped_gradients(shape, data):
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    (x,) = leaves(positive(shape, 1))
    y = lg.reshape(lg.permute_dims(x, order), (-1,))
    seed = positive(y.shape, 2)
    (g,) = lg.autograd.grad(y, x, lg.tensor(seed))
    back = seed.reshape([shape[i] for i in order]).transpose(np.argsort(order))
    np.testing.assert_array_equal(g.numpy(), back)
