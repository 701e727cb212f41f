"""Joining many arrays: no address is copied from the host, so that graphs record it, and few launches."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim

SHAPES = {
    **{name: [(2, 3)] * count for name, count in {"alike": 70, "eight": 8, "one more": 9}.items()},
    "of two kinds": [(2, 3), (2, 5)] * 20,
}
CALLS = [
    *(("concat", axis, which) for axis in (0, -1) for which in ("alike", "eight", "one more")),
    *(("stack", axis, which) for axis in (0, -1) for which in ("alike", "eight", "one more")),
    *(("concat", axis, "of two kinds") for axis in (1, -1)),
]


def made(shapes, dtype):
    rng = np.random.default_rng(0)
    xs = [lg.asarray(rng.normal(size=shape) * 9, device="cuda").to(lg.float32).to(dtype) for shape in shapes]
    return [x.swapaxes(0, 1).clone().swapaxes(0, 1) if k % 3 == 1 else x for k, x in enumerate(xs)]


def values(x):
    return x.detach().to(lg.float32).cpu().numpy()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool"])
@pytest.mark.parametrize(("op", "axis", "which"), CALLS)
def test_values_and_graphs(op, axis, which, dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    xs = made(SHAPES[which], getattr(lg, dtype))
    join = getattr(lg, op)
    with cudasim.counting() as counts:
        y = join(xs, axis=axis)
    host = {"concat": np.concatenate, "stack": np.stack}[op]
    np.testing.assert_array_equal(values(y), host([values(x) for x in xs], axis=axis))
    assert y.dtype == xs[0].dtype
    if cudasim.is_installed():
        assert counts.bytes_to_device == counts.synchronisations == 0
    graph = lg.cuda.CUDAGraph()
    with lg.cuda.graph(graph):
        z = join(xs, axis=axis)
    graph.replay()
    np.testing.assert_array_equal(values(z), values(y))


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
def test_eight_in_a_launch():
    xs = made([(2, 3)] * 70, lg.float32)
    for join in (lg.concat, lg.stack):
        join(xs)
        with cudasim.counting() as counts:
            join(xs)
        assert counts.launches == {"lg_stack": 9}


def test_what_does_not_fit_is_refused():
    xs = made([(2, 3)] * 9, lg.float32)
    for call in (
        lambda: lg.concat([*xs, xs[0][0]], axis=0),
        lambda: lg.concat([*xs, lg.ones(3, 3, device="cuda")], axis=1),
        lambda: lg.concat(xs, axis=2),
        lambda: lg.stack([*xs, lg.ones(3, 3, device="cuda")]),
        lambda: lg.stack(xs, axis=3),
    ):
        with pytest.raises((ValueError, IndexError, RuntimeError)):
            call()
    assert lg.concat([*xs, lg.ones(2, 3, dtype=lg.float64, device="cuda")]).dtype == lg.float64


def test_gradients_of_many():
    xs = [x.requires_grad_() for x in made([(2, 3), (2, 4)] * 6, lg.float32)]
    weight = lg.arange(42, dtype=lg.float32, device="cuda")
    found = lg.autograd.grad((lg.concat(xs, axis=1) * weight).sum(), xs)
    at = 0
    for g in found:
        np.testing.assert_array_equal(values(g), np.tile(np.arange(at, at + g.shape[1]), (2, 1)))
        at += g.shape[1]
