"""Lists of tensors: kernels give NumPy's numbers, and few launches serve however many tensors there are."""

import math

import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.backends.cuda import tables
from lucidgrad.backends.cuda.kernels import lists as kernels
from lucidgrad.core import tape
from lucidgrad.ops.lists import join_all, part_all

from . import lists
from .comparison import with_gaps

NAMES = ("norm_of_all", "clip_all", "unscale_all", "join_all")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_kernel_is_formula(name, dtype):
    lists.check(name, dtype)


@pytest.mark.parametrize("name", NAMES)
def test_any_memory_layout(name):
    lists.check(name, "float32", with_gaps)


def test_numbers_that_are_none():
    xs = [cupy.asarray([1.0, 2.0]), cupy.asarray([math.nan, 3.0]), cupy.asarray([4.0])]
    for order in (2.0, math.inf):
        assert math.isnan(kernels.norm_of_all(xs, order))
        assert math.isnan(kernels.norm_of_all(xs[::-1], order))
    assert kernels.norm_of_all([cupy.zeros(0)], 2.0) == 0
    mixed = kernels.norm_of_all([cupy.ones(3, "float32"), cupy.ones(1, "float64")], 2.0)
    assert mixed == 2 and mixed.dtype == "float64"


def gradients(count, where="cuda"):
    made = [lg.nn.Parameter(lg.zeros((k % 5 + 1, 3), device=where)) for k in range(count)]
    for k, p in enumerate(made):
        p.grad = lg.full(p.shape, float(k % 7 - 3), device=where)
    return made


@pytest.mark.parametrize("count", [1, 179, 1000])
def test_launches_of_clipping(count):
    ours, theirs = gradients(count), gradients(count, "cpu")
    for _ in range(2):  # the first call compiles
        with cudasim.counting() as found:
            norm = lg.nn.utils.clip_grad_norm_(ours, 0.1)
        expected = lg.nn.utils.clip_grad_norm_(theirs, 0.1)
        assert norm.item() == pytest.approx(expected.item(), rel=1e-6)
    assert sum(found.launches.values()) == 3, found.launches
    assert found.synchronisations == found.copies_to_host == found.bytes_to_device == 0, found.counters
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad.cpu().numpy(), q.grad.numpy(), rtol=1e-5)


@pytest.mark.parametrize("count", [2, 1000])
def test_launches_of_unscaling(count):
    for _ in range(2):
        params = gradients(count)
        scaler, optimizer = lg.GradScaler(init_scale=4.0), lg.optim.SGD(params, lr=1.0)
        scaler.scale(lg.ones((), device="cuda"))
        before = [tape.version(p.grad.array) for p in params]
        with cudasim.counting() as found:
            scaler.unscale_(optimizer)
    assert sum(found.launches.values()) == 1, found.launches
    assert found.synchronisations == found.copies_to_host == found.bytes_to_device == 0, found.counters
    assert all(tape.version(p.grad.array) > v for p, v in zip(params, before, strict=True))
    assert params[0].grad.cpu().numpy().tolist() == [[-0.75] * 3]
    scaler.step(optimizer)
    assert params[0].detach().cpu().numpy().tolist() == [[0.75] * 3]


@pytest.mark.parametrize("count", [2, 1000])
def test_launches_of_averages(count):
    params = gradients(count)
    average = lg.optim.EMA(params, decay=0.75)
    for _ in range(2):
        with cudasim.counting() as found:
            average.update()
    assert sum(found.launches.values()) == 1, found.launches
    assert found.synchronisations == found.copies_to_host == found.bytes_to_device == 0, found.counters


@pytest.mark.parametrize("count", [2, 1000])
def test_launches_of_joining(count):
    xs = [p.grad for p in gradients(count)]
    vector = lg.zeros(sum(x.size for x in xs), device="cuda")
    for run in (lambda: join_all(xs, vector), lambda: part_all(vector, xs)):
        run()
        with cudasim.counting() as found:
            assert run()
        assert sum(found.launches.values()) == 1, found.launches
        assert found.synchronisations == found.copies_on_device == found.bytes_to_device == 0, found.counters
    expected = np.concatenate([x.cpu().numpy().ravel() for x in xs])
    np.testing.assert_array_equal(vector.cpu().numpy(), expected)
    assert not join_all([xs[0].double()], vector) and not join_all([lg.ones(2)], lg.zeros(2))


def test_overflow_leaves_out_the_step():
    params = gradients(3)
    params[1].grad = lg.full(params[1].shape, math.inf, device="cuda")
    scaler, optimizer = lg.GradScaler(init_scale=4.0), lg.optim.SGD(params, lr=1.0)
    scaler.scale(lg.ones((), device="cuda"))
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0
    assert params[0].detach().cpu().numpy().tolist() == [[0.0] * 3]


def test_one_gradient_twice_is_scaled_twice():
    """As everywhere: a list that names a parameter twice is taken at its word."""
    (p,) = gradients(1)
    lg.nn.utils.clip_grads_with_norm_([p, p], 1.0, lg.tensor(2.0, device="cuda"))
    np.testing.assert_allclose(p.grad.cpu().numpy(), [[-0.75] * 3], rtol=1e-5)


def test_without_room_there_are_more_launches(monkeypatch):
    """Drivers and compilers before CUDA 12.1."""
    monkeypatch.setattr(tables, "_most", lambda: tables.ROOM)
    xs = [cupy.full(3, k, "float32") for k in range(400)]
    with cudasim.counting() as found:
        y = kernels.norm_of_all(xs, 1.0)
        vector = cupy.zeros(1200, "float32")
        kernels.join_all(xs, vector)
    assert found.launches["norm_parts"] == found.launches["move_all"] == 3
    assert y == 3 * 399 * 200
    assert vector.get().tolist() == [k for k in range(400) for _ in range(3)]


def test_clipping_inside_of_a_program():
    ours = gradients(2)

    @lg.compile
    def clip():
        return lg.nn.utils.clip_grad_norm_(ours, 0.5)

    first = clip().item()
    assert first == pytest.approx(math.sqrt(3 * 9 + 6 * 4))


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_norms_of_batches_and_tangents(where):
    """Levels see each tensor: nothing is done for all of them at once."""
    x = lg.tensor([[3.0, 4.0], [6.0, 8.0]], device=where)
    norms = lg.func.vmap(lambda g: lg.nn.utils.get_total_norm([g, g * 0]))(x)
    assert norms.tolist() == [5.0, 10.0]
    norm, _ = lg.func.jvp(lambda g: lg.nn.utils.get_total_norm([g]), (x[0],), (x[0],))
    assert norm.item() == 5.0
    clipped = lg.func.vmap(lambda x: lg.nn.functional.interpolate(x, size=3))(lg.ones((2, 1, 1, 2), device=where))
    assert clipped.shape == (2, 1, 1, 3)
