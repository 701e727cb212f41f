"""Blocks that share a result: the last one joins the parts, whatever streams and graphs run beside."""

import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.backends.cuda import tickets

LONG = 40_000  # several blocks for a row


def numbers(seed, *shape):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape), dtype="float32", device="cuda")


def test_one_launch_joins_and_leaves_zeros():
    x = numbers(0, LONG)
    x.sum()
    with cudasim.counting() as counts:
        found = x.sum()
    assert counts.launches == {"reduce": 1} and not counts.memsets
    np.testing.assert_allclose(found.item(), x.cpu().numpy().astype("float64").sum(), rtol=1e-5)
    assert tickets._counts and not any(counts.any() for counts in tickets._counts.values())


def test_bits_are_the_same_every_time():
    x, w = numbers(1, 3, LONG), numbers(2, 64)
    first = x.sum(axis=1).tolist(), _layer(w)
    for _ in range(3):
        assert (x.sum(axis=1).tolist(), _layer(w)) == first


def _layer(w):
    """Gradients of weights that many rows share."""
    w = w.detach().requires_grad_()
    lg.nn.functional.layer_norm(numbers(3, 700, 64), (64,), w).sum().backward()
    return w.grad.tolist()


@pytest.mark.skipif(bool(cudasim.usable_gpus()), reason="streams of the emulated device wait until they are asked")
def test_streams_draw_their_own_tickets():
    xs = [numbers(k, LONG) for k in range(2)]
    expected = [x.sum().item() for x in xs]
    streams = [lg.cuda.Stream() for _ in xs]
    lg.cuda.synchronize()
    with cudasim.lazy():
        found = []
        for stream, x in zip(streams, xs, strict=True):
            with lg.cuda.stream(stream):
                found.append(x.sum())
        for stream in reversed(streams):  # the second runs first
            stream.synchronize()
        assert [y.item() for y in found] == expected
    assert len({tickets._counts[s.place].data.ptr for s in streams}) == 2


def test_graphs_have_counts_of_their_own():
    x = numbers(5, LONG)
    x.sum()
    graphs, sums = [], []
    for _ in range(2):
        g = lg.cuda.CUDAGraph()
        with lg.cuda.graph(g):
            sums.append((x * 1.0).sum())
        graphs.append(g)
    for k in range(3):
        x.copy_(numbers(6 + k, LONG))
        for g in graphs:
            g.replay()
        expected = (x * 1.0).sum().item()
        assert [y.item() for y in sums] == [expected] * 2


def test_more_than_a_stream_has():
    made = tickets.tickets(tickets._MOST + 1)
    assert made.size > tickets._MOST and not cupy.any(made)
