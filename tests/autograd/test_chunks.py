"""Batched seeds in chunks: the same gradients, less memory at a time."""

import tracemalloc

import pytest

import lucidgrad as lg


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("create_graph", [False, True])
def test_chunks_give_what_one_walk_gives(size, create_graph):
    x = lg.randn(5, dtype=lg.float64, requires_grad=True)
    unused = lg.ones(2, requires_grad=True)
    y = x**3
    options = dict(is_grads_batched=True, retain_graph=True, materialize_grads=True, create_graph=create_graph)
    whole = lg.autograd.grad(y, [x, unused], [lg.eye(5, dtype=lg.float64)], **options)
    parts = lg.autograd.grad(y, [x, unused], [lg.eye(5, dtype=lg.float64)], **options, chunk_size=size)
    assert [g.tolist() for g in parts] == [g.tolist() for g in whole]
    if create_graph:
        (second,) = lg.autograd.grad(parts[0].sum(), x)
        assert lg.allclose(second, 6 * x)


def test_the_last_chunk_frees_the_graph():
    x = lg.ones(3, requires_grad=True)
    y = x.exp()
    lg.autograd.grad(y, x, lg.eye(3), is_grads_batched=True, chunk_size=2)
    with pytest.raises(RuntimeError, match="second time"):
        lg.autograd.grad(y, x, lg.eye(3), is_grads_batched=True, chunk_size=2)


def test_memory_is_that_of_one_chunk():
    x = lg.ones(4096, requires_grad=True)
    y = (lg.tanh(x) * lg.sin(x) * lg.exp(x))[:256]
    seeds = lg.eye(256)

    def peak(**options):
        tracemalloc.start()
        for g in [lg.autograd.grad(y, x, seeds, is_grads_batched=True, retain_graph=True, **options)]:
            del g
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    whole, chunked = peak(), peak(chunk_size=16)
    assert chunked < 0.75 * whole  # the result itself, twice while it is joined, against all steps at once


@pytest.mark.parametrize(("batched", "size"), [(False, 2), (True, 0)])
def test_chunks_of_what(batched, size):
    x = lg.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="chunk_size"):
        lg.autograd.grad(x * 2, x, lg.eye(3), is_grads_batched=batched, chunk_size=size)


def test_wrong_seeds_have_the_usual_message():
    x = lg.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="first axis of each seed"):
        lg.autograd.grad(x * 2, x, lg.ones(4, 2), is_grads_batched=True, chunk_size=2)
