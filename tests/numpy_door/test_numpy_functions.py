"""NumPy's functions on tensors, and the door's: NumPy's values and dtypes, derivatives, and clear refusals."""

import numpy as np
import pytest
from numpy.testing import overrides
from numpy_expressions import GIVEN, evaluated, expressions, flat, names_in
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad.numpy.entrance import TABLE
from lucidgrad.numpy.refused import REASONS

EXPRESSIONS = expressions()
TENSORS = {name: lg.asarray(array) for name, array in GIVEN.items()}
INEXACT = [name for name, array in GIVEN.items() if array.dtype in (np.float64, np.complex128) and name != "odd"]

#: What has no derivative to compare with differences, and why.
NO_DIFFERENCES = {
    "np.trim_zeros(lead": "a step makes a zero a number, which has another shape",
    "np.roots(lead": "a step makes a zero a number, which has another shape",
    'np.linalg.qr(tall, "complete")': "the columns beyond the matrix's are any basis: refused",
    "np.linalg.svd(tall)": "the columns beyond the matrix's are any basis",
    "np.float32": "steps of float64 are lost in float32",
}

#: What needs values that a batch can't show, and what is then of another dtype.
NOT_IN_VMAP = (
    "np.nanarg", "np.trim_zeros", "np.piecewise", "np.digitize", "np.unique", "np.histogram", "np.real_if_close",
    "np.polymul", "np.polydiv", "np.poly(h)", "np.roots",
)  # fmt: skip
COMPLEX_IN_VMAP = ("np.linalg.eigvals(h)", "np.linalg.eig(h)")


def check_equal(found, expected):
    assert isinstance(found, (tuple, list)) == isinstance(expected, (tuple, list))
    if isinstance(expected, (tuple, list)):
        assert isinstance(found, list) == isinstance(expected, list)
        assert getattr(found, "_fields", None) == getattr(expected, "_fields", None)
    for one, other in zip(flat(found), flat(expected), strict=True):
        if not isinstance(one, lg.Tensor):
            assert not isinstance(other, np.ndarray)
            assert one == other
            continue
        other = np.asarray(other)
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        exact = 1e-5 if one.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(one.numpy(), other, rtol=exact, atol=exact)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_dtypes_are_numpys(expression):
    expected = evaluated(expression, np, GIVEN)
    check_equal(evaluated(expression, np, TENSORS), expected)
    if "lib.stride_tricks" not in expression:
        check_equal(evaluated(expression, lg.numpy, GIVEN), expected)


def function_of(expression, names):
    def function(*values):
        given = {**TENSORS, **dict(zip(names, values, strict=True))}
        found = flat(evaluated(expression, np, given))
        return tuple(y for y in found if isinstance(y, lg.Tensor) and y.dtype.kind in "fc")

    return function


def is_differentiable(expression):
    names = [name for name in names_in(expression) if name in INEXACT]
    if not names or any(part in expression for part in NO_DIFFERENCES):
        return False
    inputs = [TENSORS[name].clone().requires_grad_() for name in names]
    return any(y.requires_grad for y in function_of(expression, names)(*inputs))


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if is_differentiable(e)])
def test_derivatives_are_those_of_differences(expression):
    names = [name for name in names_in(expression) if name in INEXACT]
    inputs = [TENSORS[name].clone().requires_grad_() for name in names]
    function = function_of(expression, names)
    assert lg.autograd.gradcheck(
        function, inputs, check_forward_ad=True, check_undefined_grad=False, fast_mode=not NIGHTLY
    )


def test_most_expressions_are_checked_against_differences():
    functions = {e.partition("(")[0] for e in EXPRESSIONS if is_differentiable(e)}
    assert len(functions) > 240


@pytest.mark.parametrize("expression", [e for e in EXPRESSIONS if any(n in INEXACT for n in names_in(e))])
def test_functions_run_inside_vmap(expression):
    names = [name for name in names_in(expression) if name in INEXACT]

    def function(*values):
        given = {**TENSORS, **dict(zip(names, values, strict=True))}
        return tuple(y for y in flat(evaluated(expression, np, given)) if isinstance(y, lg.Tensor))

    examples = [[TENSORS[name] * factor for name in names] for factor in (1, 1.01)]
    expected = [function(*example) for example in examples]
    if not expected[0]:
        return  # text, shapes and the like
    batch = [lg.stack(parts) for parts in zip(*examples, strict=True)]
    if expression.startswith(NOT_IN_VMAP):
        try:
            found = lg.func.vmap(function)(*batch)
        except (RuntimeError, ValueError) as error:
            assert any(word in str(error) for word in ("vmap", "batched"))  # noqa: PT017  some of them work
            return
    else:
        found = lg.func.vmap(function)(*batch)
    for y, one, other in zip(found, *expected, strict=True):
        assert y.dtype == one.dtype or expression in COMPLEX_IN_VMAP
        np.testing.assert_allclose(y.numpy(), np.stack([one.numpy(), other.numpy()]), rtol=1e-9, atol=1e-12)


# -- what NumPy hands on, and what it does not ------------------------------------------------------
PLACES = {"numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft", "numpy.lib.stride_tricks": "lib.stride_tricks"}


def handed_on():
    """The functions that NumPy asks its arguments about, by place and name; those with ``like=`` are no such ones."""
    np.fft, np.linalg  # loaded when first asked for
    functions = overrides.get_overridable_numpy_array_functions()
    found = {(PLACES[f.__module__], f.__name__): f for f in functions if f.__module__ in PLACES}
    for name in np.__all__:
        if isinstance(getattr(np, name), np.ufunc):
            found["", getattr(np, name).__name__] = getattr(np, name)
    making = {f.__name__ for f in functions if not hasattr(f, "_implementation")}  # those written in C with like=
    return {key: f for key, f in found.items() if key[1] not in making or key[0]}


#: Tested elsewhere: they write into a tensor, or into a file.
ELSEWHERE = {
    "copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal", "save", "savetxt", "savez",
    "savez_compressed",
}  # fmt: skip


def test_every_function_that_numpy_hands_on_is_there_or_refused():
    handed = handed_on()
    assert len(handed) > 330
    missing = [key for key in handed if key not in TABLE and key[1] not in REASONS]
    assert missing == []


def test_every_function_that_is_there_has_an_expression():
    called = " ".join(EXPRESSIONS)
    names = {(place, name) for place, name in handed_on() if (place, name) in TABLE and name not in ELSEWHERE}
    bare = {f"np.{place}.{name}".replace("..", ".") for place, name in names}
    assert sorted(name for name in bare if f"{name}(" not in called) == []


@pytest.mark.parametrize("key", sorted(key for key in handed_on() if key not in TABLE))
def test_what_is_not_there_is_refused_by_name(key):
    function = handed_on()[key]
    x = lg.asarray([1.0, 2.0]).requires_grad_()
    arguments = {"busday_offset": (x, 1), "is_busday": (x,), "busday_count": (x, x)}.get(key[1], (x,))
    with pytest.raises(TypeError, match=rf"numpy\.{key[1]}: .*detach"):
        function(*arguments)


def test_functions_with_values_to_decide_on_are_refused_by_name():
    with pytest.raises(TypeError, match=r"numpy\.lib\.scimath\.sqrt: .*complex"):
        np.emath.sqrt(lg.asarray([-1.0]))
    with pytest.raises(TypeError, match="not there for tensors"):
        np.lib.recfunctions.structured_to_unstructured(lg.asarray([1.0]))


#: Functions that NumPy never hands on: on a tensor with a history they raise, because it can't become an array.
NEVER = {
    "array": np.array,
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "full": lambda x: np.full((2, 2), x),
    "arange": lambda x: np.arange(x[0]),
    "random.normal": np.random.normal,
    "random.choice": np.random.choice,
    "sum of a list": lambda x: np.sum([x, x]),
    "sin of a list": lambda x: np.sin([x, x]),
    "asarray_chkfinite": np.asarray_chkfinite,
    "asmatrix": np.asmatrix,
    "bmat": lambda x: np.bmat([[x]]),
    "isfortran": np.isfortran,
    "r_": lambda x: np.r_[x, x],
    "kaiser": lambda x: np.kaiser(4, x),
    "testing": lambda x: np.testing.assert_allclose(x, x),
    "vectorize": lambda x: np.vectorize(lambda t: t)(x),
    "an element": lambda x: np.zeros(2).__setitem__(slice(None), x),
    "polynomial": lambda x: np.polynomial.Polynomial(x),
    "ma": lambda x: np.ma.array(x),
    "nditer": lambda x: np.nditer(x),
    "from_dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("name", NEVER)
def test_what_numpy_never_hands_on_raises_for_a_history(name):
    x = lg.asarray([1.0, 2.0], requires_grad=True)
    with pytest.raises((RuntimeError, BufferError, TypeError, AttributeError)):
        NEVER[name](x)


@pytest.mark.parametrize("name", [name for name in NEVER if name != "from_dlpack"])
def test_what_numpy_never_hands_on_raises_inside_a_transform(name):
    with pytest.raises((RuntimeError, TypeError, AttributeError)):
        lg.func.grad(lambda x: lg.asarray(NEVER[name](x)).sum())(lg.asarray([1.0, 2.0]))
    with pytest.raises((RuntimeError, TypeError, AttributeError)):
        lg.func.vmap(lambda x: lg.asarray(NEVER[name](x)))(lg.ones(3, 2))


# -- arguments that tensors don't have -------------------------------------------------------------
X = lg.asarray(GIVEN["x"])
REFUSED = {
    "np.sum(x, out=o)": "out",
    "np.sin(x, out=o)": "out",
    "np.sin(x, o)": "out",
    "np.sum(x, 0, None, o)": "out",
    "np.add(x, x, where=m)": "where",
    "np.sum(x, where=m)": "where",
    "np.max(x, initial=3.0)": "initial",
    "np.add.reduce(x, initial=3.0)": "initial",
    "np.add.reduce(x, where=m)": "where",
    "np.sin(x, order='F')": "order",
    "np.add(x, x, casting='unsafe')": "casting",
    "np.copy(x, order='F')": "order",
    "np.equal(x, x, dtype=float)": "dtype",
    "np.add.at(x, [0], 1.0)": "index_add",
    "np.add.reduceat(x, [0, 1])": "scatter_reduce",
    "np.sin.reduce(x)": "binary functions",
    "np.quantile(x, 0.5, weights=x)": "weights",
    "np.std(x, mean=0.0)": "mean",
    "np.pad(x, 1, 'reflect', reflect_type='odd')": "reflect_type",
    "np.pad(x, 1, lambda *a: None)": "mode",
    "np.einsum('ij->j', x, dtype=np.float32)": "dtype",
    "np.reshape(x, (2, 6), order='Z')": "order",
    "np.nan_to_num(x, copy=False)": "copy",
    "np.linalg.multi_dot([x, x.T], out=o)": "out",
    "np.fft.fft(x, out=o)": "out",
    "np.copyto(o, x)": "history",
    "np.put(o, [0], x[0])": "history",
    "np.take(x, [99])": "bounds|outside|out of",
    "np.choose([0, 5, 0, 0], [x, x])": "outside",
    "np.swapaxes(x, 0, 5)": "axis|out of|range",
}


@pytest.mark.parametrize("expression", REFUSED)
def test_what_can_not_be_done_is_refused_clearly(expression):
    before = np.zeros((3, 4))
    given = {"np": np, "x": X, "o": before, "m": GIVEN["mask"]}
    with pytest.raises((TypeError, ValueError, IndexError), match=REFUSED[expression]):
        eval(expression, given)
    assert not before.any()
    assert (GIVEN["x"] == X.numpy()).all()


# -- writing into tensors --------------------------------------------------------------------------
WRITES = {
    "copyto": lambda a, v: np.copyto(a, v),
    "copyto where": lambda a, v: np.copyto(a, v, where=GIVEN["mask"]),
    "put": lambda a, v: np.put(a, [0, 5, -1], v),
    "put few": lambda a, v: np.put(a, [0, 5, 7, 8, 30], v[:2], mode="wrap"),
    "place": lambda a, v: np.place(a, GIVEN["mask"], v),
    "putmask": lambda a, v: np.putmask(a, GIVEN["mask"], v),
    "put_along_axis": lambda a, v: np.put_along_axis(a, np.asarray([[1], [3], [0]]), v[0], 1),
    "fill_diagonal": lambda a, v: np.fill_diagonal(a, v[0]),
    "fill_diagonal values": lambda a, v: np.fill_diagonal(a, v),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing_into_a_tensor_keeps_the_history(name):
    values = GIVEN["u"]
    expected = GIVEN["x"].copy()
    WRITES[name](expected, values)
    found = lg.asarray(GIVEN["x"], copy=True)
    v = lg.asarray(values, copy=True).requires_grad_()
    WRITES[name](found, v)
    np.testing.assert_array_equal(found.numpy(force=True), expected)
    (lg.asarray(GIVEN["y"]) * found).sum().backward()
    for k in range(4):
        step = values.copy()
        step[k] += 1.0
        changed = GIVEN["x"].copy()
        WRITES[name](changed, step)
        assert v.grad[k].item() == pytest.approx(((changed - expected) * GIVEN["y"]).sum())


def test_files_take_values_without_history(tmp_path):
    x = lg.asarray([1.0, 2.0])
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x, other=x)
    np.savez_compressed(tmp_path / "y.npz", x)
    np.savetxt(tmp_path / "x.txt", x)
    assert np.load(tmp_path / "x.npy").tolist() == [1.0, 2.0]
    assert np.load(tmp_path / "x.npz")["other"].tolist() == [1.0, 2.0]
    assert np.loadtxt(tmp_path / "x.txt").tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.save(tmp_path / "z.npy", x.requires_grad_())


def test_ties_and_kinks_are_lucidgrads():
    x = lg.asarray([1.0, 1.0], requires_grad=True)
    np.max(x).backward()
    assert x.grad.tolist() == [0.5, 0.5]


def test_like_makes_tensors():
    x = lg.asarray([1.0])
    assert isinstance(np.zeros(3, like=x), lg.Tensor)
    assert np.zeros(3, like=x).dtype == np.float64
    assert np.arange(3, like=x).tolist() == [0, 1, 2]
    assert np.array([1.0, 2.0], like=x).tolist() == [1.0, 2.0]
    assert np.full((2,), 3.0, like=x).tolist() == [3.0, 3.0]
    w = lg.asarray(2.0, requires_grad=True)
    np.array([w, 1.0], like=x).sum().backward()
    assert w.grad.item() == 1.0
