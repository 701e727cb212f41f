"""Shapes, joining and taking apart: NumPy's results, views that stay views, and errors that say what is wrong."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.primitive import registry
from lucidgrad.levels import batching
from lucidgrad.levels.layer import Level

CPU = device.backend_named("cpu")
run = batching.run


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).integers(-9, 10, shape).astype(np.float64)


def leaf(array):
    return lg.asarray(array).requires_grad_()


def check(function, reference, *arrays):
    """Values as NumPy's; gradients as the adjoint of a linear function must be, in both orders."""
    xs = [leaf(a) for a in arrays]
    made, expected = function(*xs), reference(*arrays)
    made = made if isinstance(made, (tuple, list)) else (made,)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    assert len(made) == len(expected)
    for y, e in zip(made, expected):
        assert y.shape == e.shape
        np.testing.assert_array_equal(y.detach().numpy(), e)
    seeds = [leaf(numbers(*y.shape, seed=1)) for y in made]
    found = lg.autograd.grad(made, xs, seeds, create_graph=True, materialize_grads=True)
    inner = sum(np.sum(g.array * e) for g, e in zip(seeds, expected))
    assert inner == sum(np.sum(g.array * a) for g, a in zip(found, arrays))
    others = [numbers(*a.shape, seed=2) for a in arrays]
    again = lg.autograd.grad(found, seeds, [lg.asarray(a) for a in others], materialize_grads=True)
    images = reference(*others)
    for g, e in zip(again, images if isinstance(images, (tuple, list)) else (images,)):
        np.testing.assert_array_equal(g.numpy(), e)


# -- one array -------------------------------------------------------------------------------------
X = numbers(2, 3, 4)
M = numbers(3, 4)
UNARY = {
    "reshape": [
        (lambda x, s=s: lg.reshape(x, s), lambda x, s=s: np.reshape(x, s), X) for s in [(4, 6), -1, [2, -1], (24, 1)]
    ],
    "reshape 0-d": [(lambda x: lg.reshape(x, (1, 1)), lambda x: x.reshape(1, 1), np.array(2.0))],
    "reshape empty": [(lambda x: lg.reshape(x, (3, 0)), lambda x: x.reshape(3, 0), np.zeros((0, 2)))],
    "permute_dims": [
        (lambda x, a=a: lg.permute_dims(x, a), lambda x, a=a: np.transpose(x, a), X)
        for a in [*itertools.permutations(range(3)), (-1, 0, -2), [2, 0, 1]]
    ],
    "moveaxis": [
        (lambda x, a=a, b=b: lg.moveaxis(x, a, b), lambda x, a=a, b=b: np.moveaxis(x, a, b), X)
        for a, b in [(0, 2), (-1, 0), (1, 1), ((0, 1), (2, 0)), ((0, 2, 1), (-2, -1, 0)), ((), ())]
    ],
    "matrix_transpose": [(lg.matrix_transpose, lambda x: np.swapaxes(x, -1, -2), X)],
    "broadcast_to": [
        (lambda x, s=s: lg.broadcast_to(x, s), lambda x, s=s: np.broadcast_to(x, s), a)
        for a, s in [
            (numbers(3, 1), (3, 4)),
            (numbers(3, 1), (2, 3, 1)),
            (numbers(1), (0,)),
            (np.array(3.0), [2, 2]),
            (M, (3, 4)),
            (numbers(1), 3),
        ]
    ],
    "expand_dims": [
        (lambda x, a=a: lg.expand_dims(x, axis=a), lambda x, a=a: np.expand_dims(x, a), X)
        for a in [0, 1, 3, -1, -4, (0, -1), [1, 2]]
    ],
    "squeeze": [
        (lambda x, a=a: lg.squeeze(x, axis=a), lambda x, a=a: np.squeeze(x, a), numbers(1, 3, 1))
        for a in [0, -1, (0, 2), (), None]
    ],
    "flip": [(lambda x, a=a: lg.flip(x, axis=a), lambda x, a=a: np.flip(x, a), X) for a in [None, 0, -1, (0, 2), ()]],
    "flip 0-d": [(lg.flip, np.flip, np.array(3.0))],
    "roll": [
        (lambda x, s=s, a=a: lg.roll(x, s, axis=a), lambda x, s=s, a=a: np.roll(x, s, a), X)
        for s, a in [(1, None), (-5, None), (2, 1), (-1, -1), ((1, -2), (0, 2)), (1, (0, 1)), (100, 0)]
    ],
    "roll empty": [(lambda x: lg.roll(x, 1), lambda x: np.roll(x, 1), np.zeros((0, 3)))],
    "triangles": [
        (lambda x, f=f, k=k: getattr(lg, f)(x, k=k), lambda x, f=f, k=k: getattr(np, f)(x, k), X)
        for f in ("tril", "triu")
        for k in (-5, -1, 0, 2, 9)
    ],
    "diagonal": [
        (
            lambda x, o=o, a=a, b=b: lg.diagonal(x, offset=o, axis1=a, axis2=b),
            lambda x, o=o, a=a, b=b: np.diagonal(x, o, a, b),
            X,
        )
        for o in (-2, -1, 0, 1, 9)
        for a, b in [(-2, -1), (0, 2), (2, 0), (1, 0)]
    ],
    "unstack": [
        (lambda x, a=a: lg.unstack(x, axis=a), lambda x, a=a: [np.take(x, k, axis=a) for k in range(x.shape[a])], X)
        for a in (0, 1, -1)
    ],
    "array_split": [
        (lambda x, k=k: lg.array_split(x, k, axis=1), lambda x, k=k: np.array_split(x, k, axis=1), numbers(2, 7))
        for k in (1, 3, 9, [2, 5], [0, 9])
    ],
    "numpy's split": [
        (lambda x: lg.stack(lg.split(x, 2, 1)), lambda x: np.stack(np.split(x, 2, 1)), np.arange(24.0).reshape(3, 8)),
        (lambda x: lg.split(x, [1, 3], 1)[1], lambda x: np.split(x, [1, 3], 1)[1], np.arange(24.0).reshape(3, 8)),
    ],
    "split": [(lambda x: lg.unstack(x.split(2, 1)[0], axis=0), lambda x: list(x[:, :2]), X)],
    "flatten": [
        (lambda x: lg.flatten(x, 1), lambda x: x.reshape(2, 12), X),
        (lg.flatten, np.atleast_1d, np.array(1.0)),
    ],
    "ravel": [(lg.ravel, np.ravel, X)],
    "unflatten": [(lambda x: lg.unflatten(x, -1, (2, -1)), lambda x: x.reshape(2, 3, 2, 2), X)],
    "transpose": [
        (lg.transpose, np.transpose, X),
        (lambda x: lg.transpose(x, (1, 0, 2)), lambda x: np.transpose(x, (1, 0, 2)), X),
    ],
    "swapaxes": [(lambda x: lg.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1), X)],
    "expand": [(lambda x: x.expand(2, -1, 4), lambda x: np.broadcast_to(x, (2, 3, 4)), numbers(3, 1))],
    "atleast": [
        (lambda x, k=k: getattr(lg, f"atleast_{k}d")(x), lambda x, k=k: getattr(np, f"atleast_{k}d")(x), a)
        for k in (1, 2, 3)
        for a in (np.array(2.0), numbers(3), M, X)
    ],
    "tile": [
        (lambda x, r=r: lg.tile(x, r), lambda x, r=r: np.tile(x, r), M)
        for r in [(2,), (2, 3), (2, 1, 3), (), (0, 2), 2]
    ],
    "repeat": [
        (lambda x, r=r, a=a: lg.repeat(x, r, axis=a), lambda x, r=r, a=a: np.repeat(x, r, axis=a), M)
        for r, a in [(2, None), (3, 0), (0, -1), ([2, 0, 1], 0), (np.array([1, 0, 3, 1]), -1), (np.array([2]), 0)]
    ],
    "pad": [
        (lambda x, w=w, m=m: lg.pad(x, w, mode=m), lambda x, w=w, m=m: np.pad(x, w, mode=m), M)
        for w in [0, 1, (1, 2), ((1, 0), (0, 7))]
        for m in ("constant", "edge", "reflect", "symmetric", "wrap")
    ],
    "pad 0-d": [(lambda x: lg.pad(x, ()), lambda x: x, np.array(3.0))],
}


@pytest.mark.parametrize("name", UNARY)
def test_one_array(name):
    for function, reference, array in UNARY[name]:
        check(function, reference, array)


def test_pad_with_values():
    x = numbers(2, 3)
    for width, values in [(1, 5), (2, (5, 6)), (((1, 2), (3, 0)), ((1, 2), (3, 4)))]:
        y = lg.pad(lg.asarray(x), width, constant_values=values)
        np.testing.assert_array_equal(y.numpy(), np.pad(x, width, constant_values=values))
    value = lg.tensor(2.0, requires_grad=True)
    lg.pad(lg.ones(2), (1, 2), constant_values=value).sum().backward()
    assert value.grad.item() == 3.0


# -- several arrays --------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_concat(axis):
    check(lambda *xs: lg.concat(xs, axis=axis), lambda *xs: np.concatenate(xs, axis), M, M + 1, M * 2)


def test_concat_of_several_shapes():
    check(lambda *xs: lg.concat(*xs, axis=1), lambda *xs: np.concatenate(xs, 1), M, numbers(3, 0), numbers(3, 2))
    check(lambda *xs: lg.concat(xs, axis=None), lambda *xs: np.concatenate(xs, None), M, np.array(2.0), numbers(0))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack(axis):
    check(lambda *xs: lg.stack(xs, axis=axis), lambda *xs: np.stack(xs, axis), M, M + 1)


def test_stack_of_numbers_of_no_dimension():
    check(lambda *xs: lg.stack(xs), lambda *xs: np.stack(xs), np.array(1.0), np.array(2.0))


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2)])
def test_stacks(name, shape):
    check(
        lambda *xs: getattr(lg, name)(xs), lambda *xs: getattr(np, name)(xs), numbers(*shape), numbers(*shape, seed=5)
    )


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_meshgrid(indexing, count):
    vectors = numbers(2), numbers(3), numbers(4)
    check(
        lambda *xs: lg.meshgrid(*xs, indexing=indexing),
        lambda *xs: np.meshgrid(*xs, indexing=indexing),
        *vectors[:count],
    )


def test_broadcast_arrays():
    check(lambda *xs: lg.broadcast_arrays(*xs), lambda *xs: np.broadcast_arrays(*xs), numbers(3, 1), numbers(4))


def test_mixed_dtypes_promote_and_gradients_return():
    a = lg.ones(2, dtype=lg.float32, requires_grad=True)
    b = lg.ones((2,), dtype=lg.float64, requires_grad=True)
    c = lg.ones(2, dtype=lg.int64)
    for join in (lg.concat, lg.stack):
        y = join([a, b, c])
        assert y.dtype == lg.float64
        found = lg.autograd.grad(y.sum(), [a, b])
        assert [g.dtype for g in found] == [lg.float32, lg.float64]


def test_parts_that_nothing_depends_on_get_zeros():
    x = lg.ones(5, requires_grad=True)
    _, b, _ = x.split([2, 2, 1])
    (b * 3).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 3.0, 3.0, 0.0]


def test_an_empty_axis_has_no_parts():
    x = lg.zeros((0, 3), requires_grad=True)
    assert lg.unstack(x) == ()
    assert [part.shape for part in x.split(2)] == [(0, 3)]
    assert len(lg.chunk(x, 3)) == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3))
def test_broadcast_shapes_is_numpys(shapes):
    shapes = [tuple(s) for s in shapes]
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast_shapes"):
            lg.broadcast_shapes(*shapes)
    else:
        assert lg.broadcast_shapes(*shapes) == expected


# -- views -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "view",
    [
        lambda x: lg.reshape(x, (6, 4)),
        lambda x: lg.permute_dims(x, (2, 0, 1)),
        lambda x: lg.expand_dims(x, axis=1),
        lambda x: lg.squeeze(lg.expand_dims(x, axis=1), axis=1),
        lambda x: lg.moveaxis(x, 0, 2),
        lg.matrix_transpose,
        lambda x: lg.diagonal(x),
        lambda x: x[1:, ::-2, None],
        lambda x: x[1, 2, 3],
    ],
)
def test_writing_through_a_view_reaches_the_base(view):
    x = leaf(X)
    y = x * 1
    part = view(y)
    assert np.shares_memory(part.array, y.array)
    part *= 3
    g = numbers(*X.shape, seed=3)
    y.backward(lg.asarray(g))
    factor = X * 0 + 1
    view_of = view(lg.asarray(factor))
    view_of *= 3
    np.testing.assert_array_equal(y.detach().numpy(), X * factor)
    np.testing.assert_array_equal(x.grad.numpy(), g * factor)


def test_reshape_copies_on_request():
    x = lg.asarray(X.copy())
    assert np.shares_memory(lg.reshape(x, (24,), copy=False).array, x.array)
    assert not np.shares_memory(lg.reshape(x, (24,), copy=True).array, x.array)
    with pytest.raises(ValueError, match="reshape: "):
        lg.reshape(lg.matrix_transpose(x), (24,), copy=False)


def test_broadcast_views_can_not_be_written():
    x = lg.broadcast_to(lg.ones(1), (3,))
    with pytest.raises(RuntimeError, match="can't be written"):
        x += 1


# -- batches ---------------------------------------------------------------------------------------
BATCHED = [
    ("reshape", {"shape": (-1,)}, X),
    ("reshape", {"shape": (3, -1)}, np.zeros((0, 2, 3))),
    ("squeeze", {"axis": None}, numbers(1, 3, 1)),
    ("expand_dims", {"axis": (-1, 0)}, M),
    ("permute_dims", {"axes": (-1, 0)}, M),
    ("moveaxis", {"source": (-1,), "destination": (0,)}, X),
    ("roll", {"shift": 5}, X),
    ("roll", {"shift": (1, 2), "axis": (-1, 0)}, X),
    ("flip", {}, X),
    ("diagonal", {"offset": 1, "axis1": -1, "axis2": 0}, X),
    ("broadcast_to", {"shape": (2, 3, 4)}, numbers(4)),
    ("concat", {"axis": None}, X),
    ("stack", {"axis": -1}, X),
    ("unstack", {"axis": -1}, X),
    ("split_with_sizes", {"split_sizes": (1, 3), "axis": -1}, X),
    ("tril", {"k": 1}, X),
    ("matrix_transpose", {}, X),
]


@pytest.mark.parametrize(("name", "keywords", "array"), BATCHED)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_batches_are_a_loop(name, keywords, array, size):
    rows = np.stack([array + k for k in range(size)]) if size else np.zeros((0, *array.shape))
    y = run(name, batching.Batched(rows, Level("vmap")), **keywords)
    parts_of = lambda t: t if isinstance(t, tuple) else (t,)
    assert [part.shape for part in parts_of(y)] == [e.shape for e in parts_of(run(name, array, **keywords))]
    for k in range(size):
        for part, e in zip(parts_of(y), parts_of(run(name, rows[k], **keywords))):
            np.testing.assert_array_equal(part.value[k], e)
    assert name not in batching.loops


@pytest.mark.parametrize("name", ["matrix_transpose", "tril", "triu"])
def test_a_batch_of_vectors_is_no_matrix(name):
    with pytest.raises(ValueError, match=f"{name}: "):
        run(name, batching.Batched(M, Level("vmap")))


# -- errors ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lg.reshape(lg.ones(6), (4,)), ValueError, "reshape: .*6.*4"),
        (lambda: lg.reshape(lg.ones(6), (-1, -1)), ValueError, "reshape: "),
        (lambda: lg.reshape(lg.ones(6), ("a",)), TypeError, "reshape: "),
        (lambda: lg.broadcast_to(lg.ones(3), (2,)), ValueError, r"broadcast_to: .*\(3,\).*\(2,\)"),
        (lambda: lg.broadcast_to(lg.ones((2, 3)), (3,)), ValueError, "broadcast_to: "),
        (lambda: lg.broadcast_to(lg.ones(3), (-1,)), ValueError, "broadcast_to: "),
        (lambda: lg.permute_dims(lg.ones((2, 3)), (0,)), ValueError, "permute_dims: "),
        (lambda: lg.permute_dims(lg.ones((2, 3)), (0, 0)), ValueError, "permute_dims: "),
        (lambda: lg.permute_dims(lg.ones((2, 3)), (0, 2)), IndexError, "permute_dims: "),
        (lambda: lg.permute_dims(lg.ones((2, 3))), TypeError, "permute_dims"),
        (lambda: lg.expand_dims(lg.ones(2), axis=3), IndexError, "expand_dims: "),
        (lambda: lg.expand_dims(lg.ones(2), axis=(1, 1)), ValueError, "expand_dims: "),
        (lambda: lg.squeeze(lg.ones((2, 1)), axis=0), ValueError, r"squeeze: .*\(2, 1\)"),
        (lambda: lg.squeeze(lg.ones((2, 1)), axis=2), IndexError, "squeeze: "),
        (lambda: lg.moveaxis(lg.ones((2, 1)), 0, 2), ValueError, "moveaxis: "),
        (lambda: lg.moveaxis(lg.ones((2, 1)), (0, 1), 0), ValueError, "moveaxis: "),
        (lambda: lg.matrix_transpose(lg.ones(2)), ValueError, "matrix_transpose: "),
        (lambda: lg.flip(lg.ones(2), axis=1), IndexError, "flip: "),
        (lambda: lg.roll(lg.ones(2), 1, axis=1), IndexError, "roll: "),
        (lambda: lg.tril(lg.ones(2)), ValueError, "tril: "),
        (lambda: lg.diagonal(lg.ones(2)), ValueError, "diagonal: "),
        (lambda: lg.diagonal(lg.ones((2, 2)), axis1=0, axis2=0), ValueError, "diagonal: "),
        (lambda: lg.concat([lg.ones((2, 2)), lg.ones((2, 3))]), ValueError, "concat: "),
        (lambda: lg.concat([lg.ones(2), lg.ones(2)], axis=1), IndexError, "concat: "),
        (lambda: lg.stack([lg.ones(2), lg.ones(3)]), ValueError, r"stack: .*\(2,\), \(3,\)"),
        (lambda: lg.stack([lg.ones(2), lg.ones(2)], axis=2), IndexError, "stack: axis 2"),
        (lambda: lg.stack([lg.ones(()), 1.0]), TypeError, "stack: "),
        (lambda: lg.unstack(lg.ones(2), axis=1), IndexError, "unstack: "),
        (lambda: lg.ones(5).split([2, 2]), ValueError, "split_with_sizes: .*5"),
        (lambda: lg.ones(5).split(0), RuntimeError, "split: "),
        (lambda: lg.chunk(lg.ones(5), 0), RuntimeError, "chunk: "),
        (lambda: lg.flatten(lg.ones((2, 3)), 1, 0), RuntimeError, "flatten: "),
        (lambda: lg.unflatten(lg.ones(6), 0, (4, -1)), ValueError, "unflatten: "),
        (lambda: lg.ones(3).expand(4), (ValueError, RuntimeError), "3.*4"),
        (lambda: lg.swapaxes(lg.ones(3), 0, 1), IndexError, "swapaxes: "),
        (lambda: lg.repeat(lg.ones(3), -1), ValueError, "repeat: "),
        (lambda: lg.repeat(lg.ones(3), [1, 2]), ValueError, r"repeat: .*\(2,\)"),
        (lambda: lg.tile(lg.ones(3), (-1,)), ValueError, "tile: "),
        (lambda: lg.pad(lg.ones(3), -1), ValueError, "pad: "),
        (lambda: lg.pad(lg.ones(3), 1, mode="magic"), ValueError, "pad: .*'magic'"),
        (lambda: lg.pad(lg.ones(3), ((1, 2), (3, 4))), ValueError, "pad: "),
        (lambda: lg.meshgrid(lg.ones((2, 2))), ValueError, "meshgrid: "),
        (lambda: lg.meshgrid(lg.ones(2), indexing="yx"), ValueError, "meshgrid: .*'yx'"),
    ],
)
def test_errors_name_the_function(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    "name", ["concat", "stack", "unstack", "split_with_sizes", "squeeze", "expand_dims", "moveaxis", "diagonal"]
)
def test_programs_refuse_wrong_axes_too(name):
    arrays, keywords = [M], {"axis": 7}
    if name == "moveaxis":
        keywords = {"source": 7, "destination": 0}
    elif name == "diagonal":
        keywords = {"axis1": 0, "axis2": 7}
    elif name == "split_with_sizes":
        keywords = {"axis": 7, "split_sizes": (1, 3)}
    with pytest.raises(IndexError, match=f"{name}: axis 7"):
        registry[name].program(CPU.xp, *arrays, **keywords)
