"""Generated kernels as the engine calls them: sizes, strides, broadcasting, dtypes, and what they fall back from."""

import catalogue
import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.codegen import cache
from lucidgrad.backends.cuda import generated
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

CPU = device.backend_named("cpu")
TOLERANCE = {"float16": 5e-3, "float32": 3e-6, "float64": 1e-13}


def _draw(shape, seed, dtype="float32"):
    return np.random.default_rng(seed).uniform(0.2, 2.5, shape).astype(dtype)


def _both(name, arrays, **keywords):
    """The kernel's and the program's results, forward and all cotangents, for NumPy arrays of any layout."""
    primitive = registry[name]
    keywords = {**primitive.keywords, **keywords}
    wanted = primitive.differentiable
    recipe, goes = primitive.recipe(wanted), tuple(i in wanted for i in range(len(arrays)))
    y = np.asarray(primitive.program(CPU.xp, *arrays, **keywords))
    g = _draw(y.shape, 9, y.dtype)
    with np.errstate(all="ignore"):
        expected = [y, *(pull(CPU.xp, g, recipe.save(y, arrays, keywords)) for _, pull in recipe.pulls)]
    on_device = [_same_layout(a) for a in arrays]
    found = generated.forward(primitive)(*on_device, **keywords)
    pulled = generated.pull(recipe, goes)(cupy.asarray(g), recipe.save(cupy.asarray(y), on_device, keywords), None)
    return [found, *(ct for ct in pulled if ct is not None)], expected


def _same_layout(array):
    """A NumPy array on the device, with its strides."""
    base = array
    while base.base is not None:
        base = base.base
    moved = cupy.asarray(base)
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    strides = array.strides
    return cupy.ndarray(array.shape, array.dtype, moved.data + offset, strides)


def _check(found, expected):
    for a, e in zip(found, expected, strict=True):
        assert a.dtype == e.dtype
        rtol = TOLERANCE[str(e.dtype)]
        np.testing.assert_allclose(cupy.asnumpy(a), np.broadcast_to(e, a.shape), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("size", [0, 1, 33, 1025, 1_000_000])
@pytest.mark.parametrize("dtype", catalogue.FLOATS)
@pytest.mark.parametrize("name", ["softplus", "hypot"])
def test_sizes(name, dtype, size):
    _check(*_both(name, [_draw(size, i, dtype) for i in range(len(registry[name].arrays))]))


LAYOUTS = {
    "transposed": lambda a: a.T,
    "every second": lambda a: a[::2, ::3],
    "backwards": lambda a: a[::-1],
    "one row for all": lambda a: np.broadcast_to(a[:1], a.shape),
    "one element": lambda a: np.broadcast_to(a[:1, :1], a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["gelu", "divide", "maximum"])
def test_strides(name, layout):
    arrays = [LAYOUTS[layout](_draw((6, 9), i)) for i in range(len(registry[name].arrays))]
    _check(*_both(name, arrays))


@pytest.mark.parametrize("shapes", [((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (4, 1)), ((0, 3), (3,)), ((), ())])
@pytest.mark.parametrize("name", ["multiply", "hypot", "logaddexp", "xlogy"])
def test_broadcasting(name, shapes):
    _check(*_both(name, [_draw(shape, i) for i, shape in enumerate(shapes)]))


@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float16", "float32"), ("float32", "float16")])
@pytest.mark.parametrize("name", ["multiply", "divide", "hypot", "pow"])
def test_mixed_dtypes(name, dtypes):
    found, expected = _both(name, [_draw((5,), i, dtype) for i, dtype in enumerate(dtypes)])
    assert [a.dtype for a in found] == [e.dtype for e in expected]
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(cupy.asnumpy(a), e, rtol=2e-3)


def test_several_inputs_of_which_one_is_a_number_or_absent():
    x = cupy.asarray(_draw(5, 1))
    clip = generated.forward(registry["clip"])
    np.testing.assert_array_equal(cupy.asnumpy(clip(x, 0.5, None)), np.maximum(cupy.asnumpy(x), np.float32(0.5)))
    np.testing.assert_array_equal(cupy.asnumpy(clip(x, None, 1)), np.minimum(cupy.asnumpy(x), 1))
    recipe = registry["clip"].recipe((0,))
    pull = generated.pull(recipe, (True, False, False))
    found = pull(x, recipe.save(x, (x, 0.5, None), {}), None)
    np.testing.assert_array_equal(cupy.asnumpy(found[0]), np.where(cupy.asnumpy(x) >= 0.5, cupy.asnumpy(x), 0))
    assert found[1:] == [None, None]


def test_an_identity_is_the_cotangent_itself():
    recipe = registry["subtract"].recipe((0, 1))
    g = cupy.ones(3)
    first, second = generated.pull(recipe, (True, True))(g, (), None)
    assert first is g
    assert second.tolist() == [-1, -1, -1]


def test_an_identity_in_another_dtype_is_cast():
    recipe = registry["add"].recipe((0, 1))
    g = cupy.ones(3)
    targets = (((3,), np.dtype("float32"), ()), ((3,), np.dtype("float64"), ()))
    first, second = generated.pull(recipe, (True, True))(g, (), targets)
    assert first.dtype == np.float32
    assert second is g


def test_cotangents_that_must_be_summed_keep_their_dtype():
    recipe = registry["multiply"].recipe((0,))
    g, x2 = cupy.ones((2, 3)), cupy.ones((2, 3))
    (ct, _) = generated.pull(recipe, (True, False))(
        g, recipe.save(g, (g, x2), {}), (((3,), np.dtype("float32"), ()), None)
    )
    assert ct.dtype == np.float64
    assert ct.shape == (2, 3)


def test_values_that_no_kernel_takes_are_left_to_the_rules():
    recipe = registry["multiply"].recipe((0,))
    assert generated.pull(recipe, (True, False))(cupy.ones(3), (object(),), None) is None
    assert generated.pull(registry["sum"].recipe((0,)), (True,)) is None
    assert generated.forward(registry["sum"]) is None


def test_a_wrong_keyword_raises_what_the_program_raises():
    with pytest.raises(RuntimeError, match="approximate"):
        lg.gelu(lg.ones(3, device="cuda"), approximate="no")


def test_integers_become_the_default_dtype_first():
    x = cupy.arange(3)
    gelu = generated.forward(registry["gelu"])
    assert gelu(x, approximate="none").dtype == np.float32
    lg.set_default_dtype(lg.float64)
    try:
        assert gelu(x, approximate="none").dtype == np.float64
    finally:
        lg.set_default_dtype(lg.float32)


def test_ever_new_numbers_make_no_more_kernels_in_the_end(monkeypatch):
    made = []
    monkeypatch.setattr(cache, "MOST_KERNELS", 3)
    monkeypatch.setattr(generated, "compiled", lambda kernel: made.append(kernel) or (lambda g, *saved: g))
    recipe = registry["pow"].recipe((0,))
    pull, x = generated.pull(recipe, (True, False)), cupy.ones(3)
    found = [pull(x, recipe.save(x, (x, 2.5 + k), {}), None) for k in range(6)]
    assert [ct is None for ct in found] == [False, False, True, True, True, True]
    assert len(made) == 2
    leaky_relu = generated.forward(registry["leaky_relu"])
    for k in range(6):
        assert leaky_relu(x - 2, negative_slope=0.5 * k).tolist() == [-1 if k < 3 else -0.5 * k] * 3
    assert len(made) == 5
