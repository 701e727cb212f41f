"""Indexing: every key that NumPy knows, and adjoint pairs that agree with it."""

import itertools
import warnings

import array_api_strict
import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.modes import new_nodes
from lucidgrad.core.primitive import registry
from lucidgrad.keys import parted, raw_key
from lucidgrad.levels import batching
from lucidgrad.levels.layer import Level
from lucidgrad.ops.indexing import taking

CPU = device.backend_named("cpu")
STRICT = device.backend_named("strict")  # loads it


def run(name, *arrays, **keywords):
    return batching.run(name, *arrays, **keywords)


def numbers(shape, seed=0):
    """Small whole numbers: sums of them are exact in any order."""
    return np.random.default_rng([seed, *shape]).integers(-9, 10, shape).astype(np.float64)


# -- keys ------------------------------------------------------------------------------------------
@st.composite
def keys(draw, shape):
    """Any key for a shape: slices, integers, None, one ellipsis, masks, truth values and integer arrays."""
    common = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 1), (2, 3)]))
    parts, axis, dots = [], 0, False
    while axis < len(shape) and not (parts and draw(st.integers(0, 7)) == 0):
        n = shape[axis]
        kind = draw(st.sampled_from("slice slice none dots int array array mask truth".split()))
        if kind == "slice":
            parts.append(draw(st.slices(n)))
        elif kind == "none":
            parts.append(None)
            continue
        elif kind == "dots":
            if dots:
                continue
            dots, skip = True, draw(st.integers(0, len(shape) - axis))
            parts.append(...)
            axis += skip
            continue
        elif kind == "truth":
            parts.append(draw(st.sampled_from([True, False, np.array(True)])))
            continue
        elif kind == "mask":
            rank = draw(st.integers(1, len(shape) - axis))
            parts.append(draw(hnp.arrays(bool, shape[axis : axis + rank])))
            axis += rank
            continue
        elif n == 0:
            parts.append(slice(None))
        elif kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        else:
            size = tuple(draw(st.sampled_from([1, k])) for k in common)
            parts.append(draw(hnp.arrays(np.int64, size, elements=st.integers(-n, n - 1))))
        axis += 1
    if dots and parts[-1] is not ...:  # what the ellipsis skipped is counted from the end
        used = sum(
            p.ndim if isinstance(p, np.ndarray) and p.dtype == bool else p is not None for p in parts if p is not ...
        )
        if used > len(shape):
            parts = [...]
    return tuple(parts) if len(parts) != 1 or draw(st.booleans()) else parts[0]


def read(x, key):
    """``x[key]`` by the primitive that is meant for the key."""
    key, at = parted(raw_key(key, x), x.shape)
    return run("index", x, key=key) if at is None else run("pick", x, at, key=key)


def put(g, key, shape):
    """Its adjoint."""
    key, at = parted(raw_key(key, g), shape)
    return run("put_add", g, key=key, shape=shape) if at is None else run("pick_put", g, at, key=key, shape=shape)


def program(name, x, key, *more):
    """The program of `index` or `put_add`, or that of their kin with arrays in the key."""
    key, at = parted(raw_key(key, x), *more or (x.shape,))
    if at is None:
        return registry[name].program(CPU.xp, x, key, *more)
    shape = {"shape": more[0]} if more else {}
    return registry["pick_put" if more else "pick"].program(CPU.xp, x, at, key=key, **shape)


@st.composite
def arrays_and_keys(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    key = draw(keys(shape))
    x = numbers(shape)
    try:
        with warnings.catch_warnings():
            # older NumPy lets an index out of bounds pass where the result is empty, and says so
            warnings.simplefilter("error", DeprecationWarning)
            return x, key, x[key]
    except (IndexError, DeprecationWarning):  # masks that don't broadcast, an ellipsis that moved a part elsewhere
        return x, ..., x[...]


@settings(max_examples=400, deadline=None)
@given(arrays_and_keys())
def test_index_and_put_add_are_adjoint(case):
    x, key, expected = case
    y = read(x, key)
    np.testing.assert_array_equal(y, expected)
    g = numbers(y.shape, 1)
    back = put(g, key, x.shape)
    reference = np.zeros(x.shape)
    np.add.at(reference, key, g)
    np.testing.assert_array_equal(back, reference)
    assert np.sum(back * x) == np.sum(g * y)


@settings(max_examples=300, deadline=None)
@given(arrays_and_keys())
def test_programs_are_what_kernels_are(case):
    x, key, expected = case
    y = program("index", x, key)
    np.testing.assert_array_equal(y, expected)
    g = numbers(expected.shape, 1)
    np.testing.assert_array_equal(program("put_add", g, key, x.shape), put(g, key, x.shape))


@settings(max_examples=300, deadline=None)
@given(arrays_and_keys(), st.integers(0, 3))
def test_batched_keys_are_a_loop(case, size):
    x, key, expected = case
    level = Level("vmap")
    xs = numbers((size, *x.shape), 2)
    y = read(batching.Batched(xs, level), key)
    assert y.shape == expected.shape
    for k in range(size):
        np.testing.assert_array_equal(y.value[k], xs[k][key])
    gs = numbers((size, *expected.shape), 3)
    back = put(batching.Batched(gs, level), key, x.shape)
    assert back.shape == x.shape
    for k in range(size):
        np.testing.assert_array_equal(back.value[k], put(gs[k], key, x.shape))
    assert not {"index", "put_add", "pick", "pick_put"} & batching.loops


@settings(max_examples=100, deadline=None)
@given(arrays_and_keys())
def test_gradients_of_both_orders(case):
    array, key, expected = case
    x = lg.asarray(array).requires_grad_()
    y = x[key]
    seed = lg.asarray(numbers(expected.shape, 1)).requires_grad_()
    (g,) = lg.autograd.grad(y, x, seed, create_graph=True)
    np.testing.assert_array_equal(g.detach().numpy(), put(seed.array, key, array.shape))
    other = numbers(array.shape, 4)
    (again,) = lg.autograd.grad(g, seed, lg.asarray(other))
    np.testing.assert_array_equal(again.numpy(), other[key])


STRICT_KEYS = [
    0,
    -1,
    slice(None, None, -1),
    slice(5, 0, -2),
    ...,
    None,
    (None, ..., 1),
    (slice(-9, 9), None, -2),
    (1, 2, 3),
    (..., slice(0, 0)),
]


@pytest.mark.parametrize("key", STRICT_KEYS)
def test_basic_keys_on_the_strictest_back_end(key):
    x = numbers((2, 3, 4))
    _check_strict(x, key, key)


@pytest.mark.parametrize(
    "make",
    [
        lambda i: i([0, 2, 2]),
        lambda i: (i([0, -1]), i([[1], [2]])),
        lambda i: (slice(None), i([1, 1]), 0),
        lambda i: (i([1, 0]), slice(1, 3), i([2, 2])),
        lambda i: (0, ..., None, i([[3, 3], [0, 1]])),
    ],
)
def test_integer_arrays_on_the_strictest_back_end(make):
    x = numbers((3, 3, 4))
    _check_strict(x, make(np.asarray), make(array_api_strict.asarray))


def _check_strict(x, key, strict_key):
    with array_api_strict.ArrayAPIStrictFlags(data_dependent_shapes=False, boolean_indexing=False):
        y = read(array_api_strict.asarray(x), strict_key)
        g = numbers(x[key].shape, 1)
        back = put(array_api_strict.asarray(g), strict_key, x.shape)
    np.testing.assert_array_equal(np.asarray(y), x[key])
    np.testing.assert_array_equal(np.asarray(back), put(g, key, x.shape))


def test_a_mask_without_shapes_that_depend_on_data_says_so():
    mask = array_api_strict.asarray([True, False])
    with (
        array_api_strict.ArrayAPIStrictFlags(data_dependent_shapes=False, boolean_indexing=False),
        pytest.raises(RuntimeError, match="data.dependent shapes"),
    ):
        read(array_api_strict.asarray([1.0, 2.0]), mask)


@pytest.mark.parametrize("where", ["both", "x", "key"])
@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((4,), lambda i: i()),
        ((4, 3), lambda i: i(2)),
        ((4, 3), lambda i: (i(2, 1), slice(0, 2))),
        ((4, 3, 5), lambda i: (i(2), slice(None), i(2))),
        ((4, 3, 5), lambda i: (slice(None), 1, i(2, 2))),
        ((4, 3), lambda i: (None, i(), ...)),
    ],
)
def test_keys_may_be_batched(where, shape, key):
    size, rng = 3, np.random.default_rng(0)
    level = Level("vmap")
    made = []

    def integers(*sizes):
        made.append(rng.integers(-3, 3, (size, *sizes)) if where != "x" else rng.integers(-3, 3, sizes))
        return made[-1]

    def one(k):
        part = iter([i[k] if where != "x" else i for i in made])
        return lambda *sizes: next(part)

    full = key(integers)
    wrap = lambda p: batching.Batched(p, level) if isinstance(p, np.ndarray) and where != "x" else p
    traced = tuple(map(wrap, full)) if isinstance(full, tuple) else wrap(full)
    xs = numbers((size, *shape) if where != "key" else shape)
    x = lg.core.dispatch.box(batching.Batched(xs, level) if where != "key" else xs).requires_grad_()
    if where == "x":
        traced = full
    box = lambda p: lg.core.dispatch.box(p) if hasattr(p, "shape") else p
    y = x[tuple(map(box, traced)) if isinstance(traced, tuple) else box(traced)]
    rows = [(xs[k] if where != "key" else xs)[key(one(k))] for k in range(size)]
    np.testing.assert_array_equal(y.array.value, np.stack(rows))
    (g,) = lg.autograd.grad(y, x, lg.core.dispatch.box(batching.Batched(np.ones((size, *y.shape)), level)))
    backs = [put(np.ones(y.shape), key(one(k)), shape) for k in range(size)]
    found = g.array.value if where != "key" else g.array
    np.testing.assert_array_equal(found, np.stack(backs) if where != "key" else sum(backs))


def test_a_batched_mask_is_refused():
    mask = batching.Batched(np.ones((2, 3), bool), Level("vmap"))
    with pytest.raises(ValueError, match="mask under vmap"):
        lg.ones(3)[lg.core.dispatch.box(mask)]


def test_a_single_element_is_a_view():
    x = lg.asarray(np.arange(3.0))
    y = x[1]
    assert y.shape == () and np.shares_memory(y.array, x.array)
    y += 5
    assert x.tolist() == [0.0, 6.0, 2.0]


@pytest.mark.parametrize("one", [1, np.int64(1), np.array(1), lg.asarray(1), np.array(1, "uint8")])
def test_whatever_is_one_integer_gives_a_view(one):
    x = lg.asarray(numbers((3, 2)))
    assert np.shares_memory(x[one].array, x.array) and np.shares_memory(x[one, :1].array, x.array)


@pytest.mark.parametrize(
    ("key", "words"),
    [(3, "out of bounds"), ((0, 0, 0), "too many"), ((..., ...), "ellips"), (np.array([5]), "out of bounds")],
)
def test_wrong_keys_name_the_function(key, words):
    with pytest.raises(IndexError, match=f"index: .*{words}"):
        read(np.zeros((2, 2)), key)


@pytest.mark.parametrize("key", [(0, 0, 0), (..., ...), 7, (np.array([0]), 0, 0), np.ones(3, bool)])
def test_wrong_keys_in_the_program(key):
    with pytest.raises(IndexError, match="index: "):
        program("index", np.zeros((2, 2)), key)


def test_complex_and_half_precision_are_kept():
    for dtype in ("float16", "float32", "complex64", "int8"):
        g = np.ones((3, 2), dtype)
        for key in (np.array([0, 0, 1]), (np.array([0, 0, 1]), slice(0, 2)), slice(0, 3)):
            assert put(g, key, (4, 2)).dtype == dtype


# -- positions -------------------------------------------------------------------------------------
def add_rows(g, i, size):
    y = np.zeros((size, *g.shape[1:]), g.dtype)
    np.add.at(y, i, g)
    return y


@pytest.mark.parametrize(
    ("n", "m", "size"), [(5, 3, 4), (40, 1, 7), (60, 20, 500), (60, 20, 70), (60, 20, 7), (0, 600, 3), (600, 0, 3)]
)
@pytest.mark.parametrize("unique", [False, True])
def test_every_way_of_adding_rows(n, m, size, unique):
    rng = np.random.default_rng(0)
    unique = unique and n <= size
    i = rng.permutation(size)[:n] if unique else rng.integers(-size, size, n)
    g = numbers((n, m))
    np.testing.assert_array_equal(run("take_put", g, i, axis=0, size=size), add_rows(g, i, size))
    moved = run("take_put", np.ascontiguousarray(g.T), i, axis=1, size=size)
    np.testing.assert_array_equal(moved, add_rows(g, i, size).T)


@pytest.mark.parametrize("ishape", [(), (2,), (2, 3), (0,)])
@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_take_and_its_adjoint(axis, ishape):
    x = numbers((2, 3, 4))
    i = np.random.default_rng(0).integers(-2, 2, ishape)
    y = run("take", x, i, axis=axis)
    np.testing.assert_array_equal(y, np.take(x, i, axis=axis))
    g = numbers(y.shape, 1)
    back = run("take_put", g, i, axis=axis, size=x.shape[axis])
    assert back.shape == x.shape
    assert np.sum(back * x) == np.sum(g * y)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_take_along_axis_and_its_adjoint(data):
    full = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    axis = data.draw(st.integers(-len(full), len(full) - 1))
    thin = lambda: [n if data.draw(st.booleans()) else 1 for n in full]
    xshape, ishape = thin(), thin()
    xshape[axis], ishape[axis] = full[axis], data.draw(st.integers(0, 5))
    x = numbers(tuple(xshape))
    i = data.draw(hnp.arrays(np.int64, tuple(ishape), elements=st.integers(-full[axis], full[axis] - 1)))
    y = run("take_along_axis", x, i, axis=axis)
    np.testing.assert_array_equal(y, np.take_along_axis(x, i, axis=axis))
    g = numbers(y.shape, 1)
    back = run("put_along_axis_add", g, i, axis=axis, size=full[axis])
    assert np.sum(back * x) == np.sum(g * y)
    np.testing.assert_array_equal(
        back, registry["put_along_axis_add"].program(CPU.xp, g, i, axis=axis, size=full[axis])
    )
    leaf = lg.asarray(x).requires_grad_()
    (slope,) = lg.autograd.grad(lg.take_along_axis(leaf, lg.asarray(i), axis=axis), leaf, lg.asarray(g))
    assert slope.shape == x.shape
    assert np.sum(slope.numpy() * x) == np.sum(g * y)


@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_batched_positions_are_a_loop(axis, batched):
    size, shape, ishape = 3, (2, 3, 2), (2, 2)
    level = Level("vmap")
    rng = np.random.default_rng(0)
    xs = numbers((size, *shape)) if batched[0] else numbers(shape)
    i = rng.integers(-2, 2, (size, *ishape) if batched[1] else ishape)
    wrap = lambda a, b: batching.Batched(a, level) if b else a
    row = lambda a, b, k: a[k] if b else a
    y = run("take", wrap(xs, batched[0]), wrap(i, batched[1]), axis=axis)
    for k in range(size):
        np.testing.assert_array_equal(y.value[k], np.take(row(xs, batched[0], k), row(i, batched[1], k), axis=axis))
    gs = numbers((size, *y.shape), 1) if batched[0] else numbers(y.shape, 1)
    back = run("take_put", wrap(gs, batched[0]), wrap(i, batched[1]), axis=axis, size=shape[axis])
    for k in range(size):
        one = run("take_put", row(gs, batched[0], k), row(i, batched[1], k), axis=axis, size=shape[axis])
        np.testing.assert_array_equal(back.value[k], one)


def test_infinities_stay_where_they_are():
    g = np.array([np.inf, 1.0, np.nan])
    i = np.array([0, 1, 1])
    for made in (
        run("take_put", g, i, axis=0, size=4),
        registry["take_put"].program(CPU.xp, g, i, axis=0, size=4),
        np.asarray(run("take_put", array_api_strict.asarray(g), array_api_strict.asarray(i), axis=0, size=4)),
    ):
        np.testing.assert_array_equal(made, [np.inf, np.nan, 0, 0])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lg.take(lg.ones((2, 2)), lg.asarray([0])), ValueError, "take: .*no axis"),
        (lambda: lg.take(lg.ones(2), lg.asarray([0]), axis=1), IndexError, "take: axis 1"),
        (lambda: lg.take(lg.ones(2), lg.asarray([2]), axis=0), IndexError, "take: "),
        (lambda: taking.take_put(lg.ones(1), lg.asarray([2]), axis=0, size=2), IndexError, "take_put: index 2"),
        (lambda: lg.take_along_axis(lg.ones((2, 2)), lg.asarray([0])), ValueError, "take_along_axis: given dim"),
        (lambda: lg.take_along_axis(lg.ones(2), lg.asarray([0.0])), IndexError, "take_along_axis: .*float"),
        (lambda: lg.take_along_axis(lg.ones(2), lg.asarray([3])), IndexError, "take_along_axis: "),
        (lambda: lg.gather(lg.ones((2, 2)), 0, lg.asarray([0])), ValueError, "gather"),
        (
            lambda: lg.gather(lg.ones((2, 2)), 0, lg.zeros((1, 3), dtype=lg.int64)),
            RuntimeError,
            "gather: .*nowhere larger",
        ),
        (lambda: lg.scatter(lg.ones(2), 0, lg.asarray([5]), 1.0), IndexError, "scatter"),
        (lambda: lg.scatter(lg.ones(2), 0, lg.asarray([0]), 1.0, reduce="max"), ValueError, "scatter: .*'max'"),
    ],
)
def test_errors_name_the_function(call, error, words):
    with pytest.raises(error, match=words):
        call()


# -- PyTorch's names -------------------------------------------------------------------------------
def places(index, dim):
    """Pairs of a place in the index and the place that it points to."""
    for at in itertools.product(*map(range, index.shape)):
        to = list(at)
        to[dim] = index[at]
        yield at, tuple(to)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("ishape", [(3, 4), (2, 3), (0, 2), (3, 1)])
def test_gather_scatter_and_scatter_add(dim, ishape):
    x, src = numbers((3, 4)), numbers((4, 5), 1)
    i = np.random.default_rng(0).integers(0, 3, ishape)
    gathered, written, added = np.zeros(ishape), x.copy(), x.copy()
    for at, to in places(i, dim):
        gathered[at] = x[to]
        written[to] = src[at]
        added[to] += src[at]
    tx, ti, ts = lg.asarray(x), lg.asarray(i), lg.asarray(src)
    np.testing.assert_array_equal(lg.gather(tx, dim, ti).numpy(), gathered)
    np.testing.assert_array_equal(lg.scatter(tx, dim, ti, ts).numpy(), written)
    np.testing.assert_array_equal(lg.scatter_add(tx, dim, ti, ts).numpy(), added)
    np.testing.assert_array_equal(lg.scatter(tx, dim, ti, ts, reduce="add").numpy(), added)


def test_scatter_sends_the_gradient_to_what_stayed():
    x, src = lg.ones(4, requires_grad=True), lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = lg.scatter(x, 0, lg.asarray([1, 3, 1]), src)
    assert y.tolist() == [1.0, 3.0, 1.0, 2.0]
    a, b = lg.autograd.grad(y, [x, src], lg.tensor([1.0, 2.0, 3.0, 4.0]))
    assert a.tolist() == [1.0, 0.0, 3.0, 0.0]
    assert b.tolist() == [0.0, 4.0, 2.0]


def test_last_put_in_kernel_and_program():
    i = np.random.default_rng(0).integers(0, 4, (3, 5))
    for axis in (0, 1):
        expected = np.full((4, 5) if axis == 0 else (3, 4), -1)
        for at, to in places(i, axis):
            expected[to] = at[axis]
        np.testing.assert_array_equal(run("last_put", i, axis=axis, size=4), expected)
        np.testing.assert_array_equal(registry["last_put"].program(CPU.xp, i, axis=axis, size=4), expected)


def test_select_add_and_masks():
    x = lg.asarray(numbers((3, 4))).requires_grad_()
    i = lg.asarray([2, 0, 2])
    np.testing.assert_array_equal(lg.index_select(x, -1, i).detach().numpy(), x.array[:, [2, 0, 2]])
    y = lg.index_add(x, 0, i, lg.ones((3, 4), dtype=lg.float64), alpha=3)
    np.testing.assert_array_equal(y.detach().numpy(), x.array + 3 * np.array([[1], [0], [2]]))
    mask = lg.asarray([True, False, False, True])
    filled = lg.masked_fill(x, mask, 7)
    assert filled.dtype == x.dtype
    np.testing.assert_array_equal(filled.detach().numpy(), np.where(mask.array, 7, x.array))
    chosen = lg.masked_select(x, mask)
    np.testing.assert_array_equal(chosen.detach().numpy(), x.array[:, [0, 3]].reshape(-1))
    (g,) = lg.autograd.grad(chosen.sum() + filled.sum(), x)
    np.testing.assert_array_equal(g.numpy(), np.ones((3, 4)))


def test_masked_fill_keeps_single_precision():
    x = lg.ones(3, dtype=lg.float32)
    assert lg.masked_fill(x, x > 0, float("-inf")).dtype == lg.float32


# -- arrays are inputs -----------------------------------------------------------------------------
def arrays_in(value):
    """Whether there are arrays in metadata."""
    if isinstance(value, dict):
        return arrays_in(tuple(value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(arrays_in, value))
    return hasattr(value, "dtype") and hasattr(value, "__array__")


def written(x, key, value):
    y = x * 1.0
    y[key] = value
    return y


ROWS_AT, COLUMNS_AT, FLAGS = lg.asarray([2, 0, 2]), lg.asarray([1, 1, 0]), lg.asarray([True, False, True])
BY_ARRAYS = {
    "x[i]": lambda x: x[ROWS_AT],
    "x[i, j]": lambda x: x[ROWS_AT, COLUMNS_AT],
    "x[:, i]": lambda x: x[:, ROWS_AT],
    "x[mask]": lambda x: x[FLAGS],
    "x[mask of x]": lambda x: x[x > 0],
    "x[list]": lambda x: x[[0, 0]],
    "x[i] = number": lambda x: written(x, ROWS_AT, 2.0),
    "x[i, j] = tensor": lambda x: written(x, (ROWS_AT, COLUMNS_AT), x[0]),
    "x[mask] = tensor": lambda x: written(x, FLAGS, x[:2]),
    "view[i] = tensor": lambda x: written(x, (slice(1), ROWS_AT), x[0]),
    "index_put": lambda x: lg.index_put(x, (ROWS_AT, COLUMNS_AT), x[0]),
    "index_put, added": lambda x: lg.index_put(x, (ROWS_AT, COLUMNS_AT), x[0], accumulate=True),
}


@pytest.mark.parametrize("name", BY_ARRAYS)
def test_no_array_hides_in_metadata(name):
    calls = []

    def keep(node, y, arrays, keywords):
        calls.append(node.recipe.primitive.name)
        assert not arrays_in(keywords), f"{calls[-1]} was called with an array among {keywords}"

    x = lg.asarray(numbers((3, 3))).requires_grad_()
    with new_nodes(keep, call=True):
        (g,) = lg.autograd.grad((BY_ARRAYS[name](x) ** 2).sum(), x, create_graph=True)
        lg.autograd.grad(g.sum(), x)
    assert {"pick", "overwrite", "pick_put"} & {*calls}


@pytest.mark.parametrize("name", BY_ARRAYS)
def test_maps_over_what_is_indexed_are_loops(name):
    if name == "x[mask of x]":
        pytest.skip("how many elements there are differs")
    xs = lg.asarray(numbers((4, 3, 3)))
    found = lg.func.vmap(BY_ARRAYS[name])(xs)
    np.testing.assert_array_equal(found.numpy(), np.stack([BY_ARRAYS[name](x).numpy() for x in xs]))


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("where", [*itertools.product([False, True], repeat=3)][1:])
def test_maps_over_any_argument_of_index_put_are_loops(where, accumulate):
    x, v = lg.asarray(numbers((4, 3, 3))), lg.asarray(numbers((4, 2), 1))
    i = lg.asarray(np.random.default_rng(0).integers(-3, 3, (4, 2)))
    args = [a if mapped else a[0] for a, mapped in zip((x, i, v), where)]
    put = lambda x, i, v: lg.index_put(x, (i, lg.asarray([1, 2])), v, accumulate)
    found = lg.func.vmap(put, in_dims=tuple(0 if mapped else None for mapped in where))(*args)
    rows = [put(*(a[k] if mapped else a for a, mapped in zip(args, where))).numpy() for k in range(4)]
    np.testing.assert_array_equal(found.numpy(), np.stack(rows))


def test_a_narrow_index_serves_more_examples_than_it_can_count():
    xs = numbers((300, 4))
    i = (np.arange(300) % 4).astype("uint8")
    found = lg.func.vmap(lambda x, i: x[i])(lg.asarray(xs), lg.asarray(i))
    np.testing.assert_array_equal(found.numpy(), xs[np.arange(300), i])


def test_an_index_that_was_written_since_is_told():
    i = lg.asarray([0, 1])
    x = lg.ones(3, requires_grad=True)
    y = (x * 2.0)[i].sum()
    i += 1
    with pytest.raises(RuntimeError, match="in.place"):
        y.backward()


def test_a_batched_index_needs_batched_memory():
    x = lg.zeros(3)

    def write(i):
        x[i] = 1.0
        return x

    with pytest.raises(RuntimeError, match="__setitem__: inside vmap the value differs"):
        lg.func.vmap(write)(lg.asarray([0, 1]))
    assert x.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (lambda: lg.asarray([0.0]), "array of float"),
        (
            lambda: (lg.asarray([0, 1]), lg.asarray([0, 1, 2])),
            r"shapes \(2,\) and \(3,\), expected ones that broadcast",
        ),
        (
            lambda: lg.asarray([True, False, True]),
            r"mask of shape \(3,\), the axes that it stands for have shape \(2,\)",
        ),
        (lambda: (0, 0, lg.asarray([True])), "mask of shape"),
        (lambda: (lg.asarray([0]), 0, 0), "too many|at most 2"),
    ],
)
def test_keys_with_arrays_that_do_not_fit(key, words):
    x = lg.ones((2, 2), requires_grad=True)
    with pytest.raises(IndexError, match=words):
        x[key()]
    with pytest.raises(IndexError):
        written(x, key(), 1.0)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_many_positions_along_every_axis(axis):
    """Large results are written into memory that was used before."""
    rng = np.random.default_rng(0)
    x = rng.random((30, 40, 5))
    i = rng.integers(-x.shape[axis], x.shape[axis], (200, 20))
    np.testing.assert_array_equal(lg.take(lg.tensor(x), lg.tensor(i), axis=axis).numpy(), np.take(x, i, axis))
    with pytest.raises(IndexError, match=f"index {x.shape[axis]} is out of range"):
        lg.take(lg.tensor(x), lg.tensor(np.full_like(i, x.shape[axis])), axis=axis)
