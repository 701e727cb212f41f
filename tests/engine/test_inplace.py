"""In-place operators, methods and ``__setitem__``: values, gradients, versions, and what is refused."""

import numpy as np
import pytest

import lucidgrad as lg


def leaf(*values):
    return lg.tensor([float(v) for v in values], requires_grad=True)


def close(t, expected, rtol=1e-5):
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=rtol, atol=1e-7)


def backward_of(y, *weights):
    """Backward of the weighted sum of ``y``, so that every entry has a gradient of its own."""
    (y * lg.tensor(list(weights))).sum().backward()


X, W = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])


# --- operators and methods ----------------------------------------------------------------------------


def iadd(y, w):
    y += w


def isub(y, w):
    y -= w


def imul(y, w):
    y *= w


def idiv(y, w):
    y /= w


def ipow(y, w):
    y **= w


ones, zeros = np.ones(3), np.zeros(3)
BINARY = {  # name: (in-place form, value, gradient of y, gradient of w)
    "+=": (iadd, X + W, ones, ones),
    "-=": (isub, X - W, ones, -ones),
    "*=": (imul, X * W, W, X),
    "/=": (idiv, X / W, 1 / W, -X / W**2),
    "**=": (ipow, X**W, W * X ** (W - 1), X**W * np.log(X)),
    "add_": (lambda y, w: y.add_(w), X + W, ones, ones),
    "add_ alpha": (lambda y, w: y.add_(w, alpha=2), X + 2 * W, ones, 2 * ones),
    "sub_": (lambda y, w: y.sub_(w), X - W, ones, -ones),
    "sub_ alpha": (lambda y, w: y.sub_(w, alpha=2), X - 2 * W, ones, -2 * ones),
    "mul_": (lambda y, w: y.mul_(w), X * W, W, X),
    "div_": (lambda y, w: y.div_(w), X / W, 1 / W, -X / W**2),
    "pow_": (lambda y, w: y.pow_(w), X**W, W * X ** (W - 1), X**W * np.log(X)),
    "copy_": (lambda y, w: y.copy_(w), W, zeros, ones),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_operation_in_place(name):
    change, value, gy, gw = BINARY[name]
    x, w = leaf(*X), leaf(*W)
    y = x * 1
    same, array = y, y.array
    change(y, w)
    assert y is same
    assert y.array is array or np.shares_memory(y.array, array)
    assert y._version == 1
    close(y, value)
    backward_of(y, 1.0, 10.0, 100.0)
    close(x.grad, gy * [1.0, 10.0, 100.0])
    close(w.grad, gw * [1.0, 10.0, 100.0])


SCALAR = {
    "+=": (lambda y: iadd(y, 2), X + 2, ones),
    "-=": (lambda y: isub(y, 2), X - 2, ones),
    "*=": (lambda y: imul(y, 2), X * 2, 2 * ones),
    "/=": (lambda y: idiv(y, 2), X / 2, ones / 2),
    "**=": (lambda y: ipow(y, 2), X**2, 2 * X),
    "fill_": (lambda y: y.fill_(7.0), 7 * ones, zeros),
    "zero_": (lambda y: y.zero_(), zeros, zeros),
    "neg_": (lambda y: y.neg_(), -X, -ones),
    "abs_": (lambda y: y.abs_(), X, ones),
    "exp_": (lambda y: y.exp_(), np.exp(X), np.exp(X)),
    "log_": (lambda y: y.log_(), np.log(X), 1 / X),
    "sqrt_": (lambda y: y.sqrt_(), np.sqrt(X), 0.5 / np.sqrt(X)),
    "sin_": (lambda y: y.sin_(), np.sin(X), np.cos(X)),
    "cos_": (lambda y: y.cos_(), np.cos(X), -np.sin(X)),
    "tanh_": (lambda y: y.tanh_(), np.tanh(X), 1 - np.tanh(X) ** 2),
    "sigmoid_": (lambda y: y.sigmoid_(), 1 / (1 + np.exp(-X)), np.exp(-X) / (1 + np.exp(-X)) ** 2),
    "relu_": (lambda y: y.relu_(), X, ones),
    "reciprocal_": (lambda y: y.reciprocal_(), 1 / X, -1 / X**2),
    "square_": (lambda y: y.square_(), X**2, 2 * X),
    "clamp_": (lambda y: y.clamp_(1.5, 2.5), [1.5, 2.0, 2.5], [0.0, 1.0, 0.0]),
    "clamp_ min": (lambda y: y.clamp_(min=1.5), [1.5, 2.0, 3.0], [0.0, 1.0, 1.0]),
    "masked_fill_": (
        lambda y: y.masked_fill_(lg.tensor([True, False, True]), 5.0),
        [5.0, 2.0, 5.0],
        [0.0, 1.0, 0.0],
    ),
}


@pytest.mark.parametrize("name", SCALAR)
def test_operation_with_a_number_or_nothing_in_place(name):
    change, value, gy = SCALAR[name]
    x = leaf(*X)
    y = x * 1
    array = y.array
    change(y)
    assert np.shares_memory(y.array, array)
    assert y.dtype == lg.float32
    assert y._version == 1
    close(y, value)
    backward_of(y, 1.0, 10.0, 100.0)
    close(x.grad, np.asarray(gy) * [1.0, 10.0, 100.0])


def test_methods_return_the_tensor_itself():
    y = lg.ones(3)
    assert y.add_(1).mul_(2).zero_() is y
    assert y._version == 3


def test_chain_of_changes():
    x = leaf(1.0, 2.0)
    y = x * 2
    y += 1
    y *= x.detach()
    y **= 2
    y.log_()
    v = 2 * X[:2] ** 2 + X[:2]
    close(y, np.log(v**2))
    y.sum().backward()
    close(x.grad, 2 / v * 2 * X[:2])  # x.detach() is a constant: d/dx (2x+1)c = 2c


def test_broadcasting_operand():
    x, w = lg.ones(2, 3, requires_grad=True), leaf(1.0, 2.0, 3.0)
    y = x * 1
    y *= w
    y += lg.tensor(1.0)
    y.sum().backward()
    close(x.grad, [[1.0, 2.0, 3.0]] * 2)
    close(w.grad, [2.0, 2.0, 2.0])


def test_plain_tensor_joins_the_graph_of_what_is_written_into_it():
    w = leaf(1.0, 2.0)
    for write in (iadd, lambda y, w: y.copy_(w)):
        y = lg.zeros(2)
        write(y, w)
        assert y.requires_grad
        assert not y.is_leaf
        close(lg.autograd.grad(y.sum(), w)[0], [1.0, 1.0])


def test_under_no_grad_only_the_value_changes():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y, z = x * 1, lg.zeros(2)
    node = y.grad_fn
    with lg.no_grad():
        y += w
        z += w
    assert y.grad_fn is node
    assert not z.requires_grad
    close(y, [4.0, 6.0])


def test_operand_may_be_a_numpy_array():
    y = leaf(1.0, 2.0) * 1
    y *= np.array([3.0, 4.0], "float32")
    y += np.float32(1)
    close(y, [4.0, 9.0])
    assert y.dtype == lg.float32


# --- leaves -------------------------------------------------------------------------------------------

LEAF_WRITES = {
    "+=": lambda x: iadd(x, 1),
    "mul_": lambda x: x.mul_(2),
    "zero_": lambda x: x.zero_(),
    "copy_": lambda x: x.copy_(lg.zeros(3)),
    "setitem": lambda x: x.__setitem__(0, 9.0),
    "setitem mask": lambda x: x.__setitem__(lg.tensor([True, False, True]), 9.0),
    "view": lambda x: x[:2].mul_(2),
    "view of view": lambda x: x.reshape(1, 3)[0].add_(1),
}


@pytest.mark.parametrize("name", LEAF_WRITES)
def test_leaf_that_requires_grad_is_not_written(name):
    x = leaf(1.0, 2.0, 3.0)
    with pytest.raises(RuntimeError, match="leaf"):
        LEAF_WRITES[name](x)
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x._version == 0
    (x * x).sum().backward()
    close(x.grad, [2.0, 4.0, 6.0])


@pytest.mark.parametrize("name", LEAF_WRITES)
def test_leaf_may_be_written_under_no_grad(name):
    x = leaf(1.0, 2.0, 3.0)
    with lg.no_grad():
        LEAF_WRITES[name](x)
    assert x.tolist() != [1.0, 2.0, 3.0]
    assert x.requires_grad
    assert x.is_leaf
    assert x._version == 1


# --- saved values -------------------------------------------------------------------------------------

# Which operand or result each operation keeps: changing it afterwards is an error, changing the rest is not.
OPERATIONS = {  # name: (operation, kept)
    "x + w": (lambda y, v: y + v, ""),
    "x - w": (lambda y, v: y - v, ""),
    "x * w": (lambda y, v: y * v, "yv"),
    "x / w": (lambda y, v: y / v, "yv"),
    "x * 3": (lambda y, v: y * 3, ""),
    "x * constant": (lambda y, v: y * v.detach(), "v"),
    "constant * w": (lambda y, v: y.detach() * v, "y"),
    "-x": (lambda y, v: -y, ""),
    "x ** 2": (lambda y, v: y**2, "y"),
    "exp": (lambda y, v: y.exp(), "z"),
    "tanh": (lambda y, v: y.tanh(), "z"),
    "sqrt": (lambda y, v: y.sqrt(), "z"),
    "sigmoid": (lambda y, v: y.sigmoid(), "z"),
    "log": (lambda y, v: y.log(), "y"),
    "sin": (lambda y, v: y.sin(), "y"),
    "sum": (lambda y, v: y.sum(), ""),
    "mean": (lambda y, v: y.mean(), ""),
    "cumsum": (lambda y, v: y.cumsum(0), ""),
    "where": (lambda y, v: lg.where(y > 2, y, v), ""),
    "x @ w": (lambda y, v: y @ v, "yv"),
    "stack": (lambda y, v: lg.stack([y, v]), ""),
    "index": (lambda y, v: y[[0, 2]], ""),
}
EITHER = {("x ** 2", "z")}  # torch keeps x; keeping the result is as good


@pytest.mark.parametrize(
    ("name", "changed"), [(name, changed) for name in OPERATIONS for changed in "yvz" if (name, changed) not in EITHER]
)
def test_changing_a_saved_value_raises_and_changing_another_does_not(name, changed):
    operation, kept = OPERATIONS[name]

    def gradients(change):
        x, w = leaf(*X), leaf(*W)
        tensors = {"y": x * 1, "v": w * 1}
        tensors["z"] = operation(tensors["y"], tensors["v"])
        z = tensors["z"] * 1
        if change:
            tensors[changed].add_(1)
        z.sum().backward()
        return x.grad, w.grad

    if changed in kept:
        with pytest.raises(RuntimeError, match="in-?place"):
            gradients(True)
        return
    for got, expected in zip(gradients(True), gradients(False)):
        assert (got is None) == (expected is None)
        if got is not None:
            np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_the_error_names_the_operation_and_the_shape():
    x = lg.ones(4, 7, requires_grad=True)
    y = x * 1
    z = y.sin()
    y += 1
    with pytest.raises(RuntimeError, match=r"(?s)(?=.*\bsin\b)(?=.*4, ?7)(?=.*in-?place)"):
        z.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("saved", ["leaf", "constant"])
@pytest.mark.parametrize("name", [*LEAF_WRITES, "detach"])
def test_saved_leaf_and_constant_are_guarded_too(name, saved):
    x, c = leaf(1.0, 2.0, 3.0), lg.tensor([3.0, 4.0, 5.0])
    z = (x * x if saved == "leaf" else x * c).sum()
    with lg.no_grad():
        {**LEAF_WRITES, "detach": lambda t: t.detach().mul_(2)}[name](x if saved == "leaf" else c)
    with pytest.raises(RuntimeError, match="in-?place"):
        z.backward()
    assert x.grad is None


@pytest.mark.parametrize("name", ["integers", "mask", "where"])
def test_changed_index_or_condition_raises_or_does_no_harm(name):
    x, i, m = leaf(1.0, 2.0), lg.tensor([0, 0]), lg.tensor([True, False])
    y = {"integers": lambda: x[i], "mask": lambda: x[m], "where": lambda: lg.where(m, x, 0.0)}[name]()
    i[0] = 1
    m[:] = lg.tensor([False, True])
    try:
        y.sum().backward()
    except RuntimeError:
        assert x.grad is None
    else:
        close(x.grad, {"integers": [2.0, 0.0], "mask": [1.0, 0.0], "where": [1.0, 0.0]}[name])


def test_writes_through_data_are_noticed():
    x = leaf(1.0, 2.0)
    y = x * x
    x.data.mul_(2)
    assert x._version == x.data._version == 1
    with pytest.raises(RuntimeError, match="in-?place"):  # PyTorch gives a wrong gradient here
        y.sum().backward()


SELF = {  # name: (a write that reads its own memory, the gradient); PyTorch refuses all but the first
    "add_": (lambda y: y.add_(y), [2.0, 2.0, 2.0]),
    "mul_": (lambda y: y.mul_(y), [2.0, 4.0, 6.0]),
    "div_": (lambda y: y.div_(y), [0.0, 0.0, 0.0]),
    "pow_": (lambda y: y.pow_(y), [1.0, 4 * (np.log(2) + 1), 27 * (np.log(3) + 1)]),
    "mul_ by a view": (lambda y: y.mul_(y[:1]), [2 + 2 + 3, 1.0, 1.0]),
    "view mul_ by a view": (lambda y: y[:2].mul_(y[1:]), [2.0, 1 + 3, 2 + 1]),
    "view mul_ by its base": (lambda y: y[1].mul_(y.sum()), [1 + 2, 6 + 2, 2 + 1]),
}


@pytest.mark.parametrize("name", SELF)
def test_a_write_that_reads_its_own_memory_is_refused_or_right(name):
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    write, expected = SELF[name]
    try:
        write(y)
        y.sum().backward()
    except RuntimeError:
        assert name != "add_"
        assert x.grad is None
    else:
        close(x.grad, expected)


def test_the_operand_of_mul_may_change_when_nothing_needs_it():
    x, c = leaf(1.0, 2.0), lg.tensor([3.0, 4.0])
    y = x * 1
    z = y * c
    y += 1  # only c is saved
    z.sum().backward()
    close(x.grad, [3.0, 4.0])


# --- versions, dtypes, shapes, memory -----------------------------------------------------------------


def test_version_counts_every_write():
    x = lg.zeros(4)
    assert x._version == 0
    for n, write in enumerate(
        [
            lambda: x.__setitem__(0, 1.0),
            lambda: x.fill_(1),
            lambda: x.zero_(),
            lambda: x.copy_(lg.ones(4)),
            lambda: x.__setitem__(lg.tensor([0, 1]), 3.0),
            lambda: x[1:].add_(1),
            lambda: x.detach().mul_(2),
        ],
        start=1,
    ):
        write()
        assert x._version == n
    assert x[1:]._version == x.detach()._version == 7
    assert x.clone()._version == (x * 1)._version == 0
    lg.autograd.graph.increment_version(x)
    assert x._version == 8


def test_reading_does_not_count():
    x = lg.arange(4.0)
    x + 1, x.sum(), x[0], x.numpy(), x.clone(), x == 1
    assert x._version == 0


REFUSED_DTYPES = {
    "int += float": lambda: iadd(lg.tensor([1, 2]), 0.5),
    "int += float tensor": lambda: iadd(lg.tensor([1, 2]), lg.tensor([0.5, 1.0])),
    "int add_ float": lambda: lg.tensor([1, 2]).add_(0.5),
    "int /= int": lambda: idiv(lg.tensor([1, 2]), 2),
    "bool += int": lambda: iadd(lg.tensor([True]), 2),
    "float += complex": lambda: iadd(lg.tensor([1.0]), 1j),
    "float add_ complex": lambda: lg.tensor([1.0]).add_(lg.tensor([1j])),
}


@pytest.mark.parametrize("name", REFUSED_DTYPES)
def test_the_dtype_cannot_change(name):
    with pytest.raises((RuntimeError, TypeError), match="cast|dtype|type"):
        REFUSED_DTYPES[name]()


def test_the_dtype_stays_where_the_kind_allows_it():
    x = lg.tensor([1.0])
    x += lg.tensor([1.0], dtype=lg.float64)
    assert x.dtype == lg.float32
    i = lg.tensor([1, 2])
    i *= 3
    assert i.tolist() == [3, 6]
    assert i.dtype == lg.int64
    i.copy_(lg.tensor([1.7, 2.0]))  # copying converts
    assert i.tolist() == [1, 2]


REFUSED_SHAPES = {
    "more axes": lambda: iadd(lg.ones(3), lg.ones(2, 3)),
    "longer": lambda: iadd(lg.ones(1), lg.ones(3)),
    "mismatch": lambda: iadd(lg.ones(2), lg.ones(3)),
    "copy_": lambda: lg.ones(3).copy_(lg.ones(2, 3)),
    "setitem": lambda: lg.ones(3).__setitem__(slice(0, 2), lg.ones(3)),
    "setitem mask": lambda: lg.ones(3).__setitem__(lg.tensor([True, True, False]), lg.ones(3)),
}


@pytest.mark.parametrize("name", REFUSED_SHAPES)
def test_the_shape_cannot_change(name):
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        REFUSED_SHAPES[name]()


def test_a_refused_write_leaves_tensor_and_history_alone():
    x = leaf(1.0, 2.0)
    y = x * 2
    node = y.grad_fn
    with pytest.raises((RuntimeError, ValueError)):
        y += lg.ones(3)
    with pytest.raises(IndexError):
        y[5] = 1.0
    assert y.grad_fn is node
    assert y._version == 0
    close(y, [2.0, 4.0])


def test_memory_is_shared_with_numpy():
    a = np.zeros(3)
    t = lg.from_numpy(a)
    t += 1
    t[0] = 5.0
    np.testing.assert_array_equal(a, [5.0, 1.0, 1.0])
    a[1] = 7.0
    assert t.tolist() == [5.0, 7.0, 1.0]
    assert t._version == 2
    w = lg.tensor(2.0, dtype=lg.float64, requires_grad=True)
    t *= w
    np.testing.assert_array_equal(a, [10.0, 14.0, 2.0])
    t.sum().backward()
    close(w.grad, 13.0)


# --- second derivatives -------------------------------------------------------------------------------


def test_second_derivative_through_an_operator():
    x = leaf(2.0, 3.0)
    y = x * x
    y *= x
    (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
    close(g, [12.0, 27.0])
    close(lg.autograd.grad(g.sum(), x)[0], [12.0, 18.0])


def test_second_derivative_through_setitem():
    x = leaf(2.0, 3.0)
    y = x.clone()
    y[0] = x[1] ** 3
    y[1] *= x[0]
    (g,) = lg.autograd.grad((y * y).sum(), x, create_graph=True)
    close(g, [36.0, 1482.0])
    close(lg.autograd.grad(g.sum(), x)[0], [42.0, 2462.0])


def test_second_derivative_through_a_view():
    x = leaf(2.0, 3.0)
    y = x * 2
    v = y[:1]
    v.mul_(x[1:])
    v.pow_(2)
    (g,) = lg.autograd.grad((y**2).sum(), x, create_graph=True)
    close(g, [41472.0, 27672.0])
    close(lg.autograd.grad(g.sum(), x)[0], [117504.0, 82952.0])
