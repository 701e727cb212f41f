"""Large arrays through the public functions: the same values, gradients and layouts as NumPy's kernels give."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import building, elementwise, layouts, memory, puts, threads
from lucidgrad.core import device
from lucidgrad.core.primitive import Recipe, registry

N = 40_000
RNG = np.random.default_rng(7)


def _forget_loops():
    """Whatever was made of loops before: it is made anew when it is first needed."""
    Recipe.fused.cache_clear()
    elementwise._copier.cache_clear()
    for primitive in registry.values():
        for recipe in primitive._recipes.values():
            recipe.steps.clear()
        for table in (primitive.kernels, *primitive.by_dtype.values()):
            for found in table.values():
                found._larger = None


@pytest.fixture
def ran(monkeypatch):
    """How many loops ran: a list of their results' shapes."""
    found = []
    usual = elementwise.bound

    def bound(*parts):
        run = usual(*parts)

        def counted(layout, arrays, numbers):
            found.append(layout)
            return run(layout, arrays, numbers)

        return counted

    monkeypatch.setattr(elementwise, "bound", bound)
    _forget_loops()
    yield found
    _forget_loops()


def floats(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "gelu", "silu", "softplus", "relu", "mish", "elu", "erf", "logit"])
def test_forward_and_backward_agree_with_small_pieces(name, dtype, ran):
    x, g = floats(N, dtype=dtype), floats(N, dtype=dtype)
    x = 1 / (1 + np.exp(-x)) if name == "logit" else x
    function = getattr(lg, name)
    whole = lg.tensor(x, requires_grad=True)
    y = function(whole)
    y.backward(lg.tensor(g))
    assert len(ran) >= 2  # forward and backward
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for k in range(0, N, N // 10):
        piece = lg.tensor(x[k : k + 500], requires_grad=True)
        part = function(piece)
        part.backward(lg.tensor(g[k : k + 500]))
        np.testing.assert_allclose(
            y.detach().numpy()[k : k + 500], part.detach().numpy(), rtol=tolerance, atol=tolerance
        )
        np.testing.assert_allclose(whole.grad.numpy()[k : k + 500], piece.grad.numpy(), rtol=tolerance, atol=tolerance)


def test_all_cotangents_come_from_one_loop(ran):
    n = elementwise.SMALLEST_PLAIN
    a, b = (lg.tensor(floats(n), requires_grad=True) for _ in range(2))
    y = a * b
    ran.clear()
    y.backward(lg.ones(n))
    assert len(ran) == 1
    assert (a.grad.numpy() == b.detach().numpy()).all() and (b.grad.numpy() == a.detach().numpy()).all()


def test_small_arrays_are_numpys(ran):
    x = lg.tensor(floats(elementwise.SMALLEST - 1), requires_grad=True)
    lg.tanh(x).sum().backward()
    assert not ran
    lg.tanh(lg.tensor(floats(elementwise.SMALLEST)))
    assert len(ran) == 1


def test_one_plain_operation_is_numpys_up_to_a_larger_size(ran):
    lg.tensor(floats(elementwise.SMALLEST_PLAIN - 1)) + 1.0
    assert not ran
    lg.tensor(floats(elementwise.SMALLEST_PLAIN)) + 1.0
    assert len(ran) == 1


SHAPES = [
    ((200, 300), (300,)),
    ((200, 300), (200, 1)),
    ((200, 300), (1, 1)),
    ((200, 1), (1, 300)),
    ((8, 50, 200), (50, 1)),
    ((8, 50, 200), (8, 1, 200)),
    ((4, 10, 40, 40), (10, 1, 1)),
]


@pytest.mark.parametrize(("one", "two"), SHAPES)
def test_broadcasting(one, two, ran):
    a, b = floats(*one), floats(*two)
    y = elementwise.forward(registry["logaddexp"], np.logaddexp)(a, b)
    assert len(ran) == (max(a.size, b.size) == y.size)  # an outer sum of small arrays is NumPy's
    np.testing.assert_allclose(y, np.logaddexp(a, b), rtol=1e-6, atol=1e-6)
    assert y.flags.c_contiguous and y.flags.owndata


@pytest.mark.parametrize(("one", "two"), SHAPES)
def test_gradients_of_broadcast_inputs(one, two):
    a, b = (lg.tensor(floats(*shape), requires_grad=True) for shape in (one, two))
    g = floats(*np.broadcast_shapes(one, two))
    lg.tanh(a * b).backward(lg.tensor(g))
    t = np.tanh(a.detach().numpy().astype("d") * b.detach().numpy())
    whole = g * (1 - t * t)
    for x, other in ((a, b), (b, a)):
        full = whole * other.detach().numpy()
        axes = tuple(i for i, n in enumerate((1,) * (full.ndim - x.ndim) + x.shape) if n == 1 and full.shape[i] > 1)
        expected = full.sum(axis=axes, keepdims=True).reshape(x.shape)
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=2e-4, atol=2e-4)


def strided():
    base = floats(300, 400)
    yield "transposed", base.T
    yield "columns", base[:, :150]
    yield "rows", base[::2]
    yield "permuted", floats(20, 30, 100).transpose(1, 0, 2)
    yield "steps", base[:, ::2]
    yield "backwards", base[::-1]
    yield "from the right", base[:, ::-1]
    yield "shifted", floats(100_003)[3:]


@pytest.mark.parametrize(("how", "x"), list(strided()), ids=lambda v: v if isinstance(v, str) else "")
def test_layouts(how, x, ran):
    y = elementwise.forward(registry["tanh"], np.tanh)(x)
    np.testing.assert_allclose(y, np.tanh(x), rtol=1e-6)
    assert y.strides == np.tanh(x).strides or y.flags.c_contiguous
    assert len(ran) == (how not in ("steps", "from the right"))


def test_misaligned_and_foreign_bytes_are_left_to_numpy(ran):
    raw = np.zeros(4 * N + 1, np.uint8)[1:].view("f4")
    raw[:] = 0.5
    swapped = np.full(N, 0.5, ">f4")
    for x in (raw, swapped):
        np.testing.assert_allclose(elementwise.forward(registry["tanh"], np.tanh)(x), np.tanh(0.5), rtol=1e-6)
    assert not ran


def test_integers_and_complex_numbers_are_left_to_numpy(ran):
    assert lg.multiply(lg.ones(N, dtype=lg.int64), 3).dtype is lg.int64
    x = lg.ones(N, dtype=lg.complex64)
    assert lg.exp(x).dtype is lg.complex64
    assert not ran


def test_python_numbers_are_weak_and_need_no_loop_of_their_own(ran):
    x = lg.tensor(floats(elementwise.SMALLEST_PLAIN))
    for k in range(3):
        assert (x * (k + 0.1)).dtype is lg.float32
        np.testing.assert_array_equal((x * (k + 0.1)).detach().numpy(), x.detach().numpy() * np.float32(k + 0.1))
    assert len(ran) == 6


def test_bits_do_not_depend_on_threads_or_on_where_memory_begins():
    x = floats(300_007)
    kernel = elementwise.forward(registry["gelu"], None)
    before = threads.get_num_threads()
    try:
        threads.set_num_threads(1)
        one = kernel(x)
        threads.set_num_threads(4)
        four = kernel(x)
    finally:
        threads.set_num_threads(before)
    assert one.tobytes() == four.tobytes()
    room = np.empty(x.size + 16, "f")
    for k in range(1, 9):
        moved = room[k : k + x.size]
        moved[:] = x
        assert kernel(moved).tobytes() == one.tobytes()


def test_higher_orders_and_hooks_see_the_same(ran):
    x = lg.tensor(floats(N, dtype="float64"), requires_grad=True)
    seen = []
    y = lg.tanh(x)
    y.register_hook(lambda g: seen.append(g.shape))
    (first,) = lg.autograd.grad(y, x, lg.ones(N, dtype=lg.float64), create_graph=True)
    (second,) = lg.autograd.grad(first, x, lg.ones(N, dtype=lg.float64))
    t = np.tanh(x.detach().numpy())
    np.testing.assert_allclose(second.detach().numpy(), -2 * t * (1 - t * t), rtol=1e-10, atol=1e-13)
    assert seen == [(N,)] * 2  # the second order goes through y again


@pytest.mark.parametrize(("name", "ulps"), [("exp", 1), ("tanh", 3)])
def test_functions_of_our_own_keep_their_digits_everywhere(name, ulps, ran):
    ends = np.linspace(-104.2, -86.9, 1 << 15), np.linspace(88.5, 88.8, 1 << 10)
    limits = [np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38, 1e-45, -1e-45, 89.0, -104.0]
    x = np.concatenate([np.linspace(-20, 20, 1 << 16), np.linspace(-1, 1, 1 << 16), *ends, limits]).astype("float32")
    found = getattr(lg, name)(lg.asarray(x)).numpy()
    assert ran
    with np.errstate(over="ignore"):
        exact = getattr(np, name)(x.astype("float64"))
        rounded = exact.astype("float32")
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(rounded[finite]))
    off = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(rounded[finite]))
    assert off.max() <= ulps, x[finite][off.argmax()]


def test_copies_of_broadcast_values_are_written_out():
    x = np.broadcast_to(floats(1000), (500, 1000))
    y = elementwise.copy(x)
    assert y.flags.c_contiguous and y.flags.owndata
    assert (y == x).all()
    turned = elementwise.copy(floats(600, 700).T)
    assert turned.flags.f_contiguous and turned.flags.owndata


def test_a_compiler_that_fails_leaves_numpy(monkeypatch, ran):
    monkeypatch.setattr(building, "load", lambda *parts: None)
    x = floats(N)
    y = elementwise.forward(registry["tanh"], np.tanh)(x)
    assert y.tobytes() == np.tanh(x).tobytes()
    assert not ran


def test_layouts_say_what_they_cannot_do():
    a = floats(4, 5, 40)
    assert layouts.layout_of([a, a]).flat
    assert layouts.layout_of([a, floats(3, 1, 1)]) is None  # NumPy raises
    assert layouts.layout_of([floats(3, 4, 5, 40)[:, ::2, ::2, ::2]]) is None
    assert layouts.layout_of([floats(1, 1)]) is None


def test_memory_is_used_again_and_bounded():
    memory.release()
    shape, dtype = (1 << 18,), np.dtype("f4")
    x = memory.empty(shape, dtype)
    place = x.ctypes.data
    assert place % 64 == 0 and x.flags.owndata and memory.kept() == 0
    del x
    assert memory.kept() == 1 << 20
    again = memory.empty(shape, dtype)
    assert again.ctypes.data == place and memory.kept() == 0
    other = memory.empty((1 << 19,), dtype)
    del again, other
    memory.release()
    assert memory.kept() == 0


def test_arrays_from_the_cache_can_be_resized():
    x = memory.empty((1 << 17,), np.dtype("f4"))
    x[:] = np.arange(1 << 17)
    x.resize(1 << 18, refcheck=False)
    assert (x[: 1 << 17] == np.arange(1 << 17)).all() and not x[1 << 17 :].any()
    x.resize(10, refcheck=False)
    x.resize(1 << 17, refcheck=False)
    assert (x[:10] == np.arange(10)).all() and not x[10:].any()


def test_other_arrays_keep_numpys_allocator():
    memory.empty((1 << 18,), np.dtype("f4"))
    name = np._core.multiarray.get_handler_name
    assert name(np.empty(1 << 18, "f4")) == "default_allocator"
    assert name(lg.tanh(lg.ones(1 << 18)).detach().numpy()) == "lucidgrad"


def test_a_cotangent_that_never_came_is_one_number():
    zeros = device.backend_named("cpu").absent((400, 300), np.dtype("float32"), None)
    assert zeros.shape == (400, 300)
    assert zeros.strides == (0, 0)
    assert not zeros.any()


@pytest.mark.parametrize("function", [lg.unstack, lambda x: lg.split(x, 1), lg.linalg.slogdet, lg.linalg.qr])
def test_gradients_may_be_written_where_a_cotangent_never_came(function):
    x = lg.asarray(RNG.normal(size=(2, 300, 300)), requires_grad=True)
    function(x)[0].sum().backward()
    want = x.grad.numpy() + 1
    x.grad.add_(1)
    assert np.array_equal(x.grad.numpy(), want)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_gradients_of_recurrent_layers_whose_inner_values_are_large(kind):
    """A wide batch has the gradients of its parts, whose inner values are small."""
    layer = getattr(lg.nn, kind)(3, 40)
    x = lg.asarray(RNG.normal(size=(50, 48, 3)).astype("f"))
    results = []
    for parts in (x,), lg.split(x, 8, axis=1):
        layer.zero_grad()
        for part in parts:
            (layer(part)[0] ** 2).sum().backward()
        results.append([p.grad.numpy().copy() for p in layer.parameters()])
    for whole, summed in zip(*results, strict=True):
        assert np.allclose(whole, summed, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("taken", [lambda x, i: x[i], lambda x, i: lg.take(x, i, axis=0)], ids=["a key", "take"])
def test_rows_are_taken_in_one_way(taken, monkeypatch):
    """A key of rows and `take` are the same loop, the same checks, and the same gradient."""
    rows, calls = puts.take_rows, []
    monkeypatch.setattr(puts, "take_rows", lambda x, i: calls.append(i.size) or rows(x, i))
    x = lg.tensor(floats(500, 256), requires_grad=True)
    places, g = RNG.integers(-500, 500, (50, 60)), floats(50, 60, 256)
    y = taken(x, lg.asarray(places))
    y.backward(lg.asarray(g))
    assert calls == ([] if building.why_not() else [3000])
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy()[places])
    expected = np.zeros((500, 256))
    np.add.at(expected, places, g.astype("float64"))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-4, atol=1e-4)
    places[7, 7] = 500
    for few in (False, True):
        with pytest.raises(
            IndexError, match=r"^(index|take): (given .*)?index 500 is out of (range|bounds) for .* size 500$"
        ):
            taken(x, lg.asarray(places[7, 7:9] if few else places))
