"""Operators between arrays of NumPy's and tensors: as between tensors, though NumPy hands them on as ufuncs."""

import operator
import threading

import numpy as np
import pytest

import lucidgrad as lg

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
DTYPES = ["int32", "int64", "uint8", "float32", "float64", "complex64"]


def same(found, expected):
    assert type(found) is lg.Tensor
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("left", DTYPES)
@pytest.mark.parametrize("right", DTYPES)
@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS])
def test_an_array_on_the_left_counts_as_a_tensor(op, left, right):
    a, b = np.asarray([3, 1, 2]).astype(left), np.asarray([1, 2, 2]).astype(right)
    try:
        expected = op(lg.asarray(a), lg.asarray(b))
    except TypeError:  # such as complex numbers in order
        with pytest.raises(TypeError):
            op(a, lg.asarray(b))
        return
    same(op(a, lg.asarray(b)), expected)
    same(op(lg.asarray(a), b), expected)


@pytest.mark.parametrize("op", BITS)
def test_bits(op):
    a, b = np.asarray([6, 5]), np.asarray([2, 1])
    same(op(a, lg.asarray(b)), lg.asarray(op(a, b)))


def test_matrices():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    same(a @ lg.asarray(b), lg.asarray(a @ b))
    quotient, rest = divmod(np.asarray([7, 8]), lg.asarray([2, 3]))
    assert (quotient.tolist(), rest.tolist()) == ([3, 2], [1, 2])


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.parametrize(
    "number",
    [np.float64(2.0), np.float32(2.0), np.int64(2), np.uint8(2), np.bool_(True), np.complex128(2), np.longdouble(2)],
)
def test_scalars_of_numpys_are_numbers(op, number):
    """They take the dtype of the tensor beside them, as Python's numbers do."""
    x = lg.asarray([1.0, 2.0, 3.0])
    try:
        expected = op(number.item(), x)
    except TypeError:
        with pytest.raises(TypeError):
            op(number, x)
        return
    same(op(number, x), expected)
    assert expected.dtype in (np.float32, np.complex64, np.bool_)


def test_gradients_go_through():
    x = lg.asarray([1.0, 2.0], requires_grad=True)
    (np.asarray([3.0, 4.0]) * x + np.float64(2) / x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [3.0 - 2.0, 4.0 - 0.5])


@pytest.mark.parametrize("code", ["+", "-", "*", "/", "//", "%", "**", "@"])
def test_writing_a_tensor_into_an_array_is_refused(code):
    a = np.eye(2)
    x = lg.asarray(np.eye(2), requires_grad=True)
    with pytest.raises(TypeError, match="history; write `array = array"):
        exec(f"a {code}= x", {"a": a, "x": x})
    assert (a == np.eye(2)).all()
    with pytest.raises(RuntimeError, match="requires grad"):
        a[0] = x[0]


def test_writing_an_array_into_a_tensor_works():
    x = lg.asarray([1.0, 2.0])
    same_one = x
    x += np.asarray([1.0, 1.0], dtype=np.float32)
    assert x is same_one
    assert x.tolist() == [2.0, 3.0]


class Duck:
    """An array of another library, which knows what to do with anything."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return f"duck {ufunc.__name__}"

    def __array_function__(self, function, types, args, keywords):
        return f"duck {function.__name__}"


class Stranger:
    """One that knows nothing of tensors."""

    __array_ufunc__ = None

    def __array_function__(self, function, types, args, keywords):
        return NotImplemented


def test_other_overrides_get_their_turn():
    x = lg.asarray([1.0])
    assert np.add(x, Duck()) == "duck add"
    assert np.add(Duck(), x) == "duck add"
    assert np.concatenate([x, Duck()]) == "duck concatenate"
    with pytest.raises(TypeError):
        np.add(x, Stranger())
    with pytest.raises(TypeError, match="concatenate"):
        np.concatenate([x, Stranger()])
    with pytest.raises(TypeError):
        np.add(x, object())


def test_libraries_that_draw_take_tensors(tmp_path):
    """They ask NumPy's functions, which give tensors back; what is no number stays NumPy's."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    x = lg.asarray([0.0, 0.5, 1.0])
    figure, axes = plt.subplots()
    for draw in (axes.plot, axes.scatter, axes.bar, axes.fill_between, axes.step):
        draw(x, x**2)
    axes.hist(x), axes.boxplot(x), axes.errorbar(x, x, yerr=x * 0.1)
    axes.imshow(lg.ones(2, 2)), axes.contourf(lg.asarray([[1.0, 2.0], [3.0, 4.0]]))
    figure.savefig(tmp_path / "picture.png")
    plt.close(figure)
    with pytest.raises(RuntimeError, match="requires grad"):
        axes.plot(x.requires_grad_())
    kinds = [type(part) for part in np.broadcast_arrays(lg.ones(3), [[1.0]], None, "text")]
    assert kinds == [lg.Tensor, lg.Tensor, np.ndarray, np.ndarray]
    w = lg.asarray(2.0, requires_grad=True)
    assert lg.numpy.broadcast_arrays([w, w], 1.0)[0].requires_grad


def test_masks_are_not_lost():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(TypeError):
        np.add(masked, lg.ones(2))
    with pytest.raises(TypeError):
        np.concatenate([masked, lg.ones(2)])


def test_ufuncs_of_other_libraries_are_refused_by_name():
    special = pytest.importorskip("scipy.special")
    with pytest.raises(TypeError, match=r"(erf|gammaln): .*lucidgrad\.special"):
        special.gammaln(lg.asarray([1.0], requires_grad=True))
    double = np.frompyfunc(lambda t: 2 * t, 1, 1)
    with pytest.raises(TypeError, match="another library"):
        double(lg.asarray([1.0]))


def test_layers_have_the_same_protocol():
    """The array of a tensor inside a transform: functions and operators of NumPy's keep its level."""

    def inside(x):
        raw = x.array
        parts = [np.sin(raw), np.asarray([2.0, 3.0]) * raw, np.add(raw, raw), np.add.reduce(raw), np.sum(raw)]
        parts += [np.concatenate([raw, raw]), np.where(raw > 0, raw, 0.0), np.float64(2.0) - raw, np.split(raw, 2)[1]]
        assert all(type(part) is type(raw) for part in parts)
        return tuple(map(lg.asarray, parts))

    x = np.asarray([[1.0, -2.0], [0.5, 4.0], [3.0, 1.0]])
    found = lg.func.vmap(inside)(lg.asarray(x))
    rows = [
        (np.sin(r), [2.0, 3.0] * r, r + r, r.sum(), r.sum(), np.tile(r, 2), np.where(r > 0, r, 0.0), 2 - r, r[1:])
        for r in x
    ]
    for y, parts in zip(found, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(y.numpy(), np.stack(parts))
    _, tangents = lg.func.jvp(inside, (lg.asarray(x[0]),), (lg.ones(2, dtype=lg.float64),))
    np.testing.assert_allclose(tangents[0].numpy(), np.cos(x[0]))
    np.testing.assert_allclose(tangents[1].numpy(), [2.0, 3.0])
    np.testing.assert_allclose(tangents[5].numpy(), np.ones(4))
    with pytest.raises(TypeError, match="history"):
        lg.func.vmap(lambda x: operator.iadd(np.zeros(2), x.array))(lg.asarray(x))


def test_the_default_dtype_of_other_threads_stays():
    """Floats are float64 while a function of the door runs, in its thread alone; the user's functions see theirs."""
    inside, go_on = threading.Event(), threading.Event()
    found = []

    def slow(row):
        found.append(lg.asarray([1.0]).dtype)
        inside.set()
        go_on.wait(10)
        return row.sum()

    def numbers():
        for _ in lg.numpy.zeros(1):
            inside.set()
            go_on.wait(10)
            yield 1.0

    threads = [
        threading.Thread(target=lambda: np.apply_along_axis(slow, 0, lg.ones(2, 1))),
        threading.Thread(target=lambda: lg.numpy.fromiter(numbers(), float)),
    ]
    for thread in threads:
        inside.clear(), go_on.clear()
        thread.start()
        assert inside.wait(10)
        assert lg.asarray([1.0]).dtype == lg.float32
        go_on.set()
        thread.join()
    assert found == [lg.float32]
    assert lg.get_default_dtype() == lg.float32
    with pytest.raises(ValueError, match="reshape"):
        np.reshape(lg.ones(3), (2, 2))
    assert lg.get_default_dtype() == lg.float32
