"""The Tensor as a Python object: conversions, operators, dtypes, copies, printing, its place in the graph."""

import copy
import operator
import pickle

import numpy as np
import pytest

import lucidgrad as lg


def leaf(*values, **kwargs):
    return lg.tensor(list(values), requires_grad=True, **kwargs)


def close(t, expected):
    assert isinstance(t, lg.Tensor)
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=1e-6)


# --- to Python ----------------------------------------------------------------------------------------


def test_item_of_one_element_of_any_shape():
    assert lg.tensor(2.5).item() == 2.5
    assert lg.tensor([[3]]).item() == 3
    assert type(lg.tensor([3]).item()) is int
    assert type(lg.tensor([3.0]).item()) is float
    assert lg.tensor(True).item() is True
    assert lg.tensor(1 + 2j).item() == 1 + 2j
    assert leaf(2.0).item() == 2.0
    for t in (lg.ones(2), lg.ones(0)):
        with pytest.raises((RuntimeError, ValueError)):
            t.item()


def test_tolist():
    assert lg.tensor([[1.0, 2.0], [3.0, 4.0]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert lg.tensor(3).tolist() == 3
    assert lg.ones(0).tolist() == []
    assert leaf(1.0, 2.0).tolist() == [1.0, 2.0]


def test_numbers():
    t = lg.tensor([[3.75]])
    assert (float(t), int(t), bool(t), complex(t)) == (3.75, 3, True, 3.75 + 0j)
    assert float(leaf(2.0)) == 2.0
    assert [10, 20, 30][lg.tensor(1)] == 20
    assert list(range(5))[lg.tensor(1) : lg.tensor(3)] == [1, 2]
    assert not bool(lg.tensor(0.0))
    assert f"{lg.tensor(1.234567):.2f}" == "1.23"
    for convert in (float, int, complex):
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            convert(lg.ones(2))
    with pytest.raises(TypeError):
        operator.index(lg.tensor(3.0))


@pytest.mark.parametrize("shape", [(2,), (2, 2), (0,)])
def test_truth_is_ambiguous_for_other_than_one_element(shape):
    with pytest.raises((RuntimeError, ValueError), match="ambiguous"):
        bool(lg.ones(shape))


def test_len_and_iteration():
    x = leaf(1.0, 2.0, 3.0)
    assert len(x) == 3
    assert len(lg.ones(0)) == 0
    assert len(lg.ones(2, 5)) == 2
    rows = list(x * 2)
    assert [r.shape for r in rows] == [()] * 3
    (rows[0] * 10 + rows[2]).backward()
    close(x.grad, [20.0, 0.0, 2.0])
    with pytest.raises(TypeError):
        len(lg.tensor(1.0))
    with pytest.raises(TypeError):
        iter(lg.tensor(1.0))


def test_membership():
    x = leaf(1.0, 2.0)
    assert 2.0 in x
    assert 7.0 not in x
    assert lg.tensor(2.0) in x


# --- to and from NumPy --------------------------------------------------------------------------------


def test_numpy_shares_memory():
    t = lg.tensor([1.0, 2.0])
    a = t.numpy()
    assert isinstance(a, np.ndarray)
    a[0] = 5.0
    assert t.tolist() == [5.0, 2.0]
    assert np.shares_memory(np.asarray(t), a)
    assert np.shares_memory(t.array, a)
    assert np.asarray(t, dtype="float64").dtype == np.float64


@pytest.mark.parametrize("make", [lambda: leaf(1.0, 2.0), lambda: leaf(1.0, 2.0) * 2], ids=["leaf", "interior"])
def test_nothing_leaves_the_tape_silently(make):
    t = make()
    for convert in (lambda: t.numpy(), lambda: np.asarray(t), lambda: np.array(t), lambda: t.__array__()):
        with pytest.raises(RuntimeError, match="detach"):
            convert()
    for convert in (lambda: t.__dlpack__(), lambda: np.from_dlpack(t)):
        with pytest.raises((BufferError, RuntimeError), match="detach"):
            convert()
    assert t.detach().numpy().tolist() == t.numpy(force=True).tolist() == t.tolist()


def test_dlpack():
    t = lg.tensor([1.0, 2.0])
    a = np.from_dlpack(t)
    assert a.tolist() == [1.0, 2.0]
    assert np.shares_memory(a, t.array)
    assert t.__dlpack_device__() == (1, 0)
    back = lg.from_dlpack(np.array([1.0, 2.0]))
    assert back.tolist() == [1.0, 2.0]
    assert back.dtype == lg.float64


def test_from_numpy_shares_and_tensor_copies():
    a = np.zeros(2, "float32")
    shared, copied = lg.from_numpy(a), lg.tensor(a)
    a[0] = 1.0
    assert shared.tolist() == [1.0, 0.0]
    assert copied.tolist() == [0.0, 0.0]
    x = leaf(1.0)
    assert not lg.tensor(x).requires_grad
    assert not np.shares_memory(lg.tensor(x).array, x.array)


# --- operators ----------------------------------------------------------------------------------------

A, B = np.array([1.0, 2.0, 5.0], "float32"), np.array([3.0, 2.0, 4.0], "float32")
ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.mod,
    operator.floordiv,
    operator.matmul,
]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
def test_arithmetic_between_tensors_arrays_and_numbers(op):
    t, s = lg.tensor(A), lg.tensor(B)
    close(op(t, s), op(A, B))
    for left, right in [(t, B), (A, s)]:
        r = op(left, right)
        close(r, op(A, B))
        assert r.dtype == lg.float32
    if op is not operator.matmul:
        for number in (2, 1.5, np.float32(2)):
            close(op(t, number), op(A, np.float32(number)))
            close(op(number, t), op(np.float32(number), A))
            assert op(t, number).dtype == op(number, t).dtype == lg.float32


@pytest.mark.parametrize("op", COMPARISONS, ids=lambda op: op.__name__)
def test_comparisons_give_bool_tensors(op):
    t, s = leaf(*A.tolist()), lg.tensor(B)
    for r, expected in [
        (op(t, s), op(A, B)),
        (op(t, B), op(A, B)),
        (op(A, s), op(A, B)),
        (op(t, 2), op(A, 2)),
        (op(2.0, t), op(2.0, A)),
    ]:
        assert isinstance(r, lg.Tensor)
        assert r.dtype == lg.bool
        assert not r.requires_grad
        assert r.tolist() == expected.tolist()


def test_gradients_through_reflected_operators():
    for f, df in [
        (lambda x: 3 + x, [1.0, 1.0]),
        (lambda x: 3 - x, [-1.0, -1.0]),
        (lambda x: 3 * x, [3.0, 3.0]),
        (lambda x: 3 / x, [-3.0, -0.75]),
        (lambda x: 2.0**x, np.log(2) * np.array([2.0, 4.0])),
        (lambda x: np.array([3.0, 4.0], "float32") * x, [3.0, 4.0]),
        (lambda x: np.array([3.0, 4.0], "float32") - x, [-1.0, -1.0]),
        (lambda x: np.array([3.0, 4.0], "float32") / x, [-3.0, -1.0]),
        (lambda x: np.array([3.0, 4.0], "float32") @ x, [3.0, 4.0]),
        (lambda x: np.float32(3) * x, [3.0, 3.0]),
        (lambda x: np.float64(3) * x, [3.0, 3.0]),
    ]:
        x = leaf(1.0, 2.0)
        y = f(x)
        assert isinstance(y, lg.Tensor)
        y.sum().backward()
        close(x.grad, df)
        assert x.grad.dtype == lg.float32


def test_unary_and_bitwise_operators():
    t = lg.tensor([-1.0, 2.0])
    assert (-t).tolist() == [1.0, -2.0]
    assert (+t).tolist() == [-1.0, 2.0]
    assert abs(t).tolist() == [1.0, 2.0]
    i, j = lg.tensor([5, 6]), lg.tensor([3, 1])
    assert ((i & j).tolist(), (i | j).tolist(), (i ^ j).tolist()) == ([1, 0], [7, 7], [6, 7])
    assert ((i << j).tolist(), (i >> j).tolist(), (~i).tolist()) == ([40, 12], [0, 3], [-6, -7])
    assert ((1 & i).tolist(), (8 | i).tolist(), (1 ^ i).tolist(), (1 << j).tolist()) == (
        [1, 0],
        [13, 14],
        [4, 7],
        [8, 2],
    )
    assert (~lg.tensor([True, False])).tolist() == [False, True]


def test_operators_give_way_to_foreign_types():
    class Foreign:
        def __radd__(self, other):
            return "radd"

        def __eq__(self, other):
            return "eq"

        __hash__ = None

    assert lg.ones(2) + Foreign() == "radd"
    for wrong in ("text", None, object()):
        with pytest.raises(TypeError):
            lg.ones(2) + wrong


def test_equality_with_other_things_and_hash_by_identity():
    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
    assert len({x, y, x}) == 2
    assert {x: 1}[x] == 1
    assert hash(x) == hash(x)
    assert (x is y) is False
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711


# --- dtypes -------------------------------------------------------------------------------------------


def test_python_data_has_the_default_dtype_and_arrays_keep_theirs():
    assert lg.tensor([1.0]).dtype == lg.float32
    assert lg.tensor(1.0).dtype == lg.ones(2).dtype == lg.zeros(2).dtype == lg.float32
    assert lg.tensor([1]).dtype == lg.int64
    assert lg.tensor([True]).dtype == lg.bool
    assert lg.tensor([1j]).dtype == lg.complex64
    for name in ("float64", "float32", "float16", "int8", "uint8", "complex128", "bool"):
        assert lg.tensor(np.ones(2, name)).dtype == name
        assert lg.asarray(np.ones(2, name)).dtype == name
    assert lg.tensor([1, 2], dtype=lg.float64).dtype == lg.float64


def test_default_dtype_can_be_changed():
    assert lg.get_default_dtype() == lg.float32
    lg.set_default_dtype(lg.float64)
    assert lg.tensor([1.0]).dtype == lg.ones(2).dtype == lg.rand(2).dtype == lg.float64
    assert lg.tensor([1j]).dtype == lg.complex128
    assert (lg.tensor([1]) / lg.tensor([2])).dtype == lg.float64
    assert lg.tensor(np.ones(2, "float32")).dtype == lg.float32
    with pytest.raises((TypeError, ValueError)):
        lg.set_default_dtype(lg.int64)


def test_integer_division_gives_the_default_float():
    for r in (lg.tensor([1, 3]) / lg.tensor([2, 2]), lg.tensor([1, 3]) / 2, 1 / lg.tensor([1, 2])):
        assert r.dtype == lg.float32
    assert (lg.tensor([1]) * 1.5).dtype == lg.float32
    assert (lg.tensor([1], dtype=lg.int8) + 1).dtype == lg.int8


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_python_scalars_are_weak_forward_and_backward(name):
    x = lg.tensor(np.array([0.5, 0.25], name), requires_grad=True)
    y = x
    for f in (
        lambda t: t * 2.5 + 1 - 0.5,
        lambda t: 1.0 / (t + 3),
        lambda t: t**2,
        lambda t: 2.0**t,
        lambda t: lg.where(t > 0, t, 0.0),
        lambda t: lg.maximum(t, lg.zeros_like(t)),
        lambda t: t.clamp(-10.0, 10.0),
        lambda t: t.mean() + t,
        lambda t: (t.exp() + t.tanh() + t.sqrt()) * True,
        lambda t: t / 3,
        lambda t: t.std() * t.var() + t,
    ):
        y = f(y)
        assert y.dtype == name
    (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
    assert g.dtype == name
    (g.sum() * 2.0).backward()
    assert x.grad.dtype == name


def test_gradient_has_the_dtype_of_its_leaf_when_dtypes_mix():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0, dtype=lg.float64)
    y = x * w
    assert y.dtype == lg.float64
    y.sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (lg.float32, lg.float64)


# --- attributes ---------------------------------------------------------------------------------------


def test_shape_attributes():
    t = lg.ones(2, 3, 4)
    assert t.shape == (2, 3, 4)
    assert t.ndim == 3
    assert t.size == 24
    assert isinstance(t.size, int)
    assert t.size() == (2, 3, 4)
    assert (t.size(0), t.size(-1)) == (2, 4)
    assert t.mT.shape == (2, 4, 3)
    m = lg.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert m.T.tolist() == m.mT.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert t.device == "cpu"
    with pytest.raises((RuntimeError, ValueError)):
        lg.ones(3).mT


def test_gradients_through_transposes():
    x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    c = lg.tensor([[1.0, 2.0], [3.0, 4.0]])
    (x.T * c + x.mT * c).sum().backward()
    close(x.grad, [[2.0, 6.0], [4.0, 8.0]])


def test_only_floating_tensors_require_grad():
    for make in (
        lambda: lg.tensor([1], requires_grad=True),
        lambda: lg.tensor([True]).requires_grad_(),
        lambda: setattr(lg.tensor([1]), "requires_grad", True),
        lambda: lg.ones(2, dtype=lg.int32, requires_grad=True),
    ):
        with pytest.raises(RuntimeError, match="float"):
            make()
    assert lg.tensor([1j], requires_grad=True).requires_grad


def test_requires_grad_can_be_set_on_leaves_only():
    t = lg.ones(2)
    assert t.requires_grad_() is t
    assert t.requires_grad
    t.requires_grad = False
    assert not t.requires_grad
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad_(False)


def test_grad_can_be_assigned_if_it_fits():
    x = leaf(1.0, 2.0)
    g = lg.ones(2)
    x.grad = g
    assert x.grad is g
    x.grad = None
    assert x.grad is None
    for wrong, error in [
        (lg.ones(3), RuntimeError),
        (lg.ones(2, dtype=lg.float64), RuntimeError),
        (3.0, TypeError),
    ]:
        with pytest.raises(error):
            x.grad = wrong
    with pytest.raises(RuntimeError):
        x.grad = x
    assert x.grad is None


def test_place_in_the_graph():
    x, c = leaf(1.0), lg.ones(1)
    y = x * c
    assert (x.is_leaf, c.is_leaf, y.is_leaf, y.detach().is_leaf) == (True, True, False, True)
    assert (x.grad_fn, c.grad_fn) == (None, None)
    assert y.grad_fn is y.grad_fn
    assert (x.requires_grad, c.requires_grad, y.requires_grad) == (True, False, True)
    assert x.clone().grad_fn is not None
    assert x.grad is None


def test_next_functions_walk_from_the_output_to_the_leaves():
    x, c = leaf(1.0), lg.tensor([2.0])
    y = x.exp()
    z = y * c
    assert z.grad_fn.next_functions == ((y.grad_fn, 0), (None, 0))
    ((end, number),) = y.grad_fn.next_functions
    assert number == 0
    assert end.variable is x
    assert "AccumulateGrad" in end.name()
    assert end.next_functions == ()
    assert isinstance(end, lg.autograd.graph.Node)
    assert isinstance(y.grad_fn, lg.autograd.graph.Node)


def test_node_names_are_readable():
    x = leaf(1.0)
    for y, word in [(x.exp(), "exp"), (x * x, "mul"), (x.sum(), "sum"), (x.sin(), "sin")]:
        assert word in y.grad_fn.name().lower()
        assert word in repr(y.grad_fn).lower()
    assert x.grad_fn is None


def test_node_is_the_same_object_from_wherever_it_is_reached():
    x = leaf(1.0)
    y = x * x
    a, b = y.exp(), y.sum()
    assert a.grad_fn.next_functions[0][0] is b.grad_fn.next_functions[0][0] is y.grad_fn
    assert (x.exp()).grad_fn.next_functions[0][0] is x.sin().grad_fn.next_functions[0][0]


def test_node_metadata_is_a_dictionary_of_its_own():
    x = leaf(1.0)
    y, z = x.exp(), x.exp()
    assert y.grad_fn.metadata == {}
    y.grad_fn.metadata["layer"] = 3
    assert y.grad_fn.metadata == {"layer": 3}
    assert z.grad_fn.metadata == {}


# --- copies and printing ------------------------------------------------------------------------------


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))], ids=["deepcopy", "pickle"])
def test_copies_of_a_leaf_are_independent_leaves(clone):
    for t in (leaf(1.0, 2.0), lg.tensor([1, 2]), lg.tensor([[1.0]], dtype=lg.float64), lg.ones(0, 3)):
        c = clone(t)
        assert type(c) is type(t)
        assert c.tolist() == t.tolist()
        assert (c.dtype, c.shape, c.requires_grad, c.is_leaf) == (t.dtype, t.shape, t.requires_grad, True)
        assert not np.shares_memory(c.array, t.array)
    c = clone(leaf(1.0, 2.0))
    (c * 2).sum().backward()
    close(c.grad, [2.0, 2.0])


def test_deepcopy_takes_the_gradient_along_and_keeps_identity():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    c = copy.deepcopy(x)
    close(c.grad, [2.0, 4.0])
    assert c.grad is not x.grad
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_deepcopy_is_for_leaves_only():
    with pytest.raises(RuntimeError, match="lea(f|ves)"):
        copy.deepcopy(leaf(1.0) * 2)


def test_shallow_copy_shares_memory():
    x = leaf(1.0, 2.0)
    c = copy.copy(x)
    assert c is not x
    assert c.requires_grad
    assert np.shares_memory(c.array, x.array)


def test_repr():
    assert "1." in repr(lg.tensor([1.0, 2.5]))
    assert "2.5" in repr(lg.tensor([1.0, 2.5]))
    assert "dtype" not in repr(lg.tensor([1.0])) + repr(lg.tensor([1])) + repr(lg.tensor(True))
    assert "float64" in repr(lg.tensor([1.0], dtype=lg.float64))
    assert "int32" in repr(lg.tensor([1], dtype=lg.int32))
    assert "requires_grad=True" in repr(leaf(1.0))
    assert "requires_grad" not in repr(lg.ones(1))
    interior = repr(leaf(1.0).exp())
    assert "grad_fn" in interior
    assert "exp" in interior.lower()
    assert len(repr(lg.zeros(100_000))) < 1000
    assert "(0, 3)" in repr(lg.ones(0, 3))
    assert str(leaf(1.0)) == repr(leaf(1.0))


def test_methods_of_scans_and_products():
    x = lg.tensor([[1.0, 3.0], [2.0, 0.0]])
    values, indices = x.cummax(0)
    assert (values.tolist(), indices.tolist()) == ([[1.0, 3.0], [2.0, 3.0]], [[0, 0], [1, 0]])
    close(x.logcumsumexp(1)[:, 0], [1.0, 2.0])
    close(x.addmm(x, x), [[8.0, 6.0], [4.0, 6.0]])
    close(x[None].bmm(x[None])[0], [[7.0, 3.0], [2.0, 6.0]])
    close(x.mv(x[0]), [10.0, 2.0])
    assert x.kron(x).shape == (4, 4)
    close((x / 0).nan_to_num(posinf=9.0)[0], [9.0, 9.0])
