"""The door as a namespace: NumPy's data types, what it makes, and what it has beside functions."""

import inspect
import subprocess
import sys

import numpy
import pytest

import lucidgrad as lg
import lucidgrad.numpy as np
from lucidgrad.numpy.entrance import TABLE
from lucidgrad.numpy.ufuncs import UFunc
from tools import numpy_names

MADE = """
np.array([1.0, 2.0]) | np.array([1, 2]) | np.array(3.0) | np.array([True]) | np.array([[1, 2.5]]) | np.array(1j)
np.array([1, 2], dtype=float) | np.array([1.5], dtype="f4") | np.array(1, ndmin=2) | np.asarray([1.0]) | np.zeros(3)
np.zeros((2, 3), int) | np.ones(2) | np.ones((1, 2), dtype=np.float32) | np.full(2, 7) | np.full((2, 2), 0.5)
np.eye(3) | np.full(3, [1.0, 2.0, 3.0]) | np.eye(2, 3, 1) | np.identity(2) | np.tri(3, k=-1) | np.arange(4)
np.arange(1, 2, 0.25) | np.arange(3.0) | np.linspace(0, 1, 5) | np.linspace(1, 3, 3, dtype=int) | np.logspace(0, 2, 3)
np.geomspace(1, 8, 4) | np.diag([1, 2]) | np.vander([1, 2, 3]) | np.meshgrid([1, 2], [3, 4]) | np.indices((2, 2))
np.ix_([0, 1], [2]) | np.tril_indices(3) | np.triu_indices(2, 1) | np.diag_indices(2) | np.hanning(5) | np.hamming(4)
np.blackman(4) | np.bartlett(5) | np.kaiser(5, 2.0) | np.fromiter([1, 2], float)
np.frombuffer(b"\\x01\\x02", np.uint8) | np.fromfunction(lambda i, j: i + j, (2, 3)) | np.fft.fftfreq(5, 0.1)
np.fft.rfftfreq(6) | np.mgrid[0:2, 0:3] | np.ogrid[0:1:3j] | np.r_[[1, 2], 3, 4:6] | np.c_[[1, 2], [3, 4]]
np.sum([1, 2]) | np.mean([1, 2]) | np.sin([1, 2]) | np.divide([1, 2], [2, 4]) | np.dot([1.0, 2.0], [3, 4])
np.ascontiguousarray(2.0) | np.where([True, False], 1.0, 2.0) | np.sqrt(2) | np.maximum(1, [0.5, 2]) | np.add(1, 2)
np.var([1, 2, 3, 4]) | np.concatenate([[1.0], [2]]) | np.linalg.norm([3, 4]) | np.linalg.inv([[2, 0], [0, 4]])
np.ravel_multi_index((1, 2), (3, 4)) | np.interp(0.5, [0, 1], [1, 3]) | np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6)
np.std([[1, 2], [3, 5]], 0) | np.astype(np.arange(2), np.float32) | np.empty(2).shape | np.split(np.arange(4), 2)
np.float64(3) + np.zeros(2) | np.cross([1, 0, 0], [0, 1, 0]) | np.outer([1, 2], [3.0]) | np.tile([1, 2], 2)
np.unique([3, 1, 3]) | np.pi * np.ones(1)
"""


EXPRESSIONS = [part for line in MADE.strip().splitlines() for part in line.split(" | ")]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_data_becomes_what_numpy_makes_of_it(expression):
    expected, found = eval(expression, {"np": numpy}), eval(expression, {"np": np})
    parts = zip(*(v if isinstance(v, (tuple, list)) else (v,) for v in (found, expected)), strict=True)
    for one, other in parts:
        other = numpy.asarray(other)
        if isinstance(one, lg.Tensor):
            assert one.dtype == other.dtype
            numpy.testing.assert_allclose(one.numpy(), other, rtol=1e-12, atol=1e-14)
        else:
            assert one == other


def test_sequences_of_tensors_keep_their_history():
    w = lg.asarray(2.0, requires_grad=True)
    y = np.array([w, w * w, 1.0])
    assert y.shape == (3,)
    np.sum(y * np.array([1.0, 10.0, 100.0])).backward()
    assert w.grad.item() == 41.0
    w.grad = None
    np.full(3, w).sum().backward()
    assert w.grad.item() == 3.0


def test_the_class_of_arrays_is_tensor():
    assert np.ndarray is lg.Tensor
    assert isinstance(np.zeros(2), np.ndarray)
    assert np.newaxis is None
    assert np.zeros(3)[:, np.newaxis].shape == (3, 1)
    assert (np.pi, np.e, np.inf) == (numpy.pi, numpy.e, numpy.inf)
    assert np.float64 is numpy.float64
    assert np.dtype("f4") == lg.float32
    assert np.finfo(np.float32).eps == numpy.finfo(numpy.float32).eps
    assert np.testing.assert_allclose is numpy.testing.assert_allclose


OLD_SAMPLES = {
    "randn": (2,), "rand": (2, 2), "randint": (0, 9, 3), "uniform": (1.0, 2.0, 2), "normal": (1.0, 2.0, 2),
    "choice": (5,), "permutation": (4,), "exponential": (2.0, 3), "standard_normal": (), "random": (2,),
}  # fmt: skip


def test_methods_that_programs_for_arrays_call():
    x = lg.asarray([1.5, -2.5], requires_grad=True)
    for y, slope in ((x.astype(float), 1.0), (x.copy(), 1.0), (x.conjugate(), 1.0)):
        (gradient,) = lg.autograd.grad(y.sum(), x)
        assert gradient.tolist() == [slope] * 2
    assert x.astype(numpy.float64).dtype == lg.float64
    assert x.astype("int32").tolist() == [1, -2]
    assert numpy.shares_memory(x, x.astype(lg.float32, copy=False))
    assert not numpy.shares_memory(x, x.astype(lg.float32))
    other = x.detach().copy()
    other[0] = 9.0
    assert x[0].item() == 1.5
    assert lg.asarray([1 + 2j]).conjugate().tolist() == [1 - 2j]
    with pytest.raises(TypeError, match="dtype"):
        x.astype("text")


def test_random_numbers_are_numpys():
    for name, args in OLD_SAMPLES.items():
        old, door = numpy.random, np.random
        door.seed(3)
        found = getattr(door, name)(*args)
        old.seed(3)
        expected = numpy.asarray(getattr(old, name)(*args))
        assert isinstance(found, lg.Tensor)
        assert found.dtype == expected.dtype
        numpy.testing.assert_allclose(found.numpy(), expected, rtol=1e-15)
    ours, theirs = np.random.default_rng(7), numpy.random.default_rng(7)
    for name, args in {"normal": (0.0, 1.0, 3), "integers": (5, 9), "random": (2,), "gamma": (2.0, 1.0, 2)}.items():
        numpy.testing.assert_allclose(getattr(ours, name)(*args).numpy(), getattr(theirs, name)(*args), rtol=1e-15)
    numpy.testing.assert_allclose(ours.uniform(2.0, 3.0).numpy(), theirs.uniform(2.0, 3.0), rtol=1e-15)
    x = np.arange(5)
    np.random.default_rng(1).shuffle(x)
    assert sorted(x.tolist()) == [0, 1, 2, 3, 4]
    assert len(ours.spawn(2)) == 2


def test_gradients_reach_where_samples_are():
    loc, scale = (lg.asarray(v, dtype=lg.float64, requires_grad=True) for v in (1.0, 2.0))
    old, door = numpy.random, np.random
    door.seed(0)
    y = door.normal(loc, scale, size=4)
    np.sum(y).backward()
    assert loc.grad.item() == 4.0
    old.seed(0)
    assert scale.grad.item() == pytest.approx(old.standard_normal(4).sum())
    with pytest.raises(RuntimeError, match="rsample"):
        np.random.gamma(scale)


def test_parts_at_random_places_keep_their_history():
    x = lg.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=lg.float64, requires_grad=True)
    values, old = x.detach().numpy(), numpy.random
    for seed in range(4):
        ours, theirs = np.random.default_rng(seed), numpy.random.default_rng(seed)
        assert ours.permutation(x).tolist() == theirs.permutation(values).tolist()
        assert ours.choice(x, 2, replace=False).tolist() == theirs.choice(values, 2, replace=False).tolist()
        assert ours.choice(x, 3, axis=1).tolist() == theirs.choice(values, 3, axis=1).tolist()
        assert ours.choice(x).tolist() == theirs.choice(values).tolist()
        assert ours.choice(5, 2).tolist() == theirs.choice(5, 2).tolist()
        assert ours.choice(x[0], p=[0.2, 0.8]).item() == theirs.choice(values[0], p=[0.2, 0.8])
        np.random.seed(seed)
        found = [np.random.permutation(x), np.random.choice(x[0], 4), np.random.choice(x[0])]
        old.seed(seed)
        expected = [old.permutation(values), old.choice(values[0], 4), old.choice(values[0])]
        assert [y.tolist() for y in found] == [y.tolist() for y in expected]
        assert all(y.requires_grad for y in found)
    np.random.default_rng(0).permutation(x).sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0]] * 3
    with pytest.raises(RuntimeError, match="requires grad"):
        np.random.gamma([x[0, 0], 1.0])
    assert np.random.normal([0.1], 0.0).item() == 0.1  # lists are float64


def test_samples_inside_vmap_say_what_they_mean():
    x = lg.ones(3, 2)
    with pytest.raises(RuntimeError, match="randomness"):
        lg.func.vmap(lambda row: row + np.random.rand(2))(x)
    same = lg.func.vmap(lambda row: row + np.random.rand(2), randomness="same")(x)
    assert (same[0] == same[1]).all()
    different = lg.func.vmap(lambda row: row + np.random.default_rng(0).normal(size=2), randomness="different")(x)
    assert (different[0] != different[1]).all()


def test_functions_of_numbers():
    @np.vectorize
    def ramp(x):
        return x * x if x > 0 else 0.0

    x = lg.asarray([[-1.0, 2.0], [3.0, -4.0]], dtype=lg.float64, requires_grad=True)
    y = ramp(x)
    assert y.tolist() == [[0.0, 4.0], [9.0, 0.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[0.0, 4.0], [6.0, 0.0]]
    assert np.vectorize(lambda a, b: (a + b, a * b))([1, 2], 3)[1].tolist() == [3, 6]
    assert dict(np.ndenumerate([[5, 6]])) == {(0, 0): 5, (0, 1): 6}


def test_what_is_missing_says_why():
    with pytest.raises(AttributeError, match="dates"):
        np.datetime64
    with pytest.raises(AttributeError, match="nonsense"):
        np.nonsense
    assert not hasattr(np, "matrix")
    assert "sin" in dir(np)


def test_signatures_are_numpys():
    """Names and order of parameters; ours may lack some at the end, which NumPy's functions may only ignore."""
    checked = 0
    for (place, name), ours in TABLE.items():
        home = getattr(numpy, place) if place and "." not in place else numpy
        theirs = getattr(home, name, None)
        if theirs is None or isinstance(ours, UFunc) or name in ("array2string", "array_repr", "array_str"):
            continue
        try:
            expected = [p for p in inspect.signature(theirs).parameters if p not in ("kwargs", "like", "ndmax")]
        except ValueError:
            continue
        found = [p for p in inspect.signature(ours).parameters if p not in ("kwargs", "like", "ndmax")]
        if name.startswith("save"):
            continue
        extra = [p for p in found if p not in expected]
        assert [p for p in found if p not in extra] == expected, name
        assert set(extra) <= {"device", "dtype"}, name
        checked += 1
    assert checked > 250


def test_ufuncs_know_their_numbers():
    for (_, name), ours in TABLE.items():
        if isinstance(ours, UFunc):
            theirs = getattr(numpy, name)
            assert (ours.nin, ours.nout) == (theirs.nin, theirs.nout), name
            if (ours.nin, ours.nout) == (2, 1) and ours.identity is not None:
                assert ours.identity == theirs.identity, name


def test_the_door_is_loaded_when_it_is_needed():
    code = (
        "import sys, lucidgrad as lg, numpy as np; x = lg.ones(3); np.ones(3) + x; np.float64(2) * x; "
        "assert not [m for m in sys.modules if m.startswith('lucidgrad.numpy')]; np.sin(x); "
        "assert 'lucidgrad.numpy' in sys.modules; assert 'lucidgrad.numpy.random' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# -- the page of names -----------------------------------------------------------------------------
def test_the_page_is_current():
    assert numpy_names.PAGE.read_text(encoding="utf-8") == numpy_names.page(), "run `python -m tools.numpy_names`"


def test_reasons_are_needed_and_given():
    assert numpy_names.idle() == []


@pytest.mark.skipif(not numpy.__version__.startswith(numpy_names.VERSION), reason="another NumPy than the recorded one")
def test_the_recorded_names_are_numpys():
    assert numpy_names.installed() == numpy_names.read()


#: Calls that few functions take.
WRONG = [
    (), ("text",), (None,), (object(),), ([[1, 2], [3]],), ({},), (lg.ones(2, 2), "text"), (lg.ones(2, 2), object()),
    (lg.ones(2, 2), None, None, None, None, None, None, None, None, None, None, None, None), (lg.ones(2, 2), 2.5),
    (lg.ones(2, 2), {}), (lg.ones(2, 2), lg.ones(3, 5)), (lg.ones(2, 2), 10**30),
]  # fmt: skip
#: They print, write files or call what they are given.
NOT_TRIED = {"save", "savetxt", "savez", "savez_compressed", "apply_along_axis", "apply_over_axes", "fromfunction"}


@pytest.mark.parametrize("key", sorted(key for key in TABLE if key[1] not in NOT_TRIED))
def test_wrong_calls_get_clear_errors(key):
    raised = []
    for args in WRONG:
        try:
            with numpy.errstate(all="ignore"):
                TABLE[key](*args)
        except (TypeError, ValueError, IndexError, RuntimeError, OverflowError) as error:
            raised.append(error)
    assert raised
    assert all(str(error) for error in raised)
    assert not [error for error in raised if isinstance(error, (RecursionError, NotImplementedError))]
    assert lg.get_default_dtype() == lg.float32
