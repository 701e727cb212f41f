"""Forward mode costs one pass and no memory that grows with depth: every primitive has a forward rule of its own."""

import gc
import tracemalloc

import numpy as np
import pytest

import lucidgrad as lg
import lucidgrad.fft
import lucidgrad.linalg
import lucidgrad.nn
import lucidgrad.optim
import lucidgrad.special
from lucidgrad.core import device
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, registry
from lucidgrad.core.tape import Node
from lucidgrad.levels import dual
from lucidgrad.ops import losses, normalisation, pooling, windows
from lucidgrad.ops.jvp_rules import on_duals

SIZE = 64
STEPS = {"stride": (1,), "padding": (1,), "dilation": (1,)}


def test_nothing_transposes():
    """Through the tape, that is: what a user declares may."""
    left = {
        name
        for name, primitive in registry.items()
        if primitive.differentiable and primitive.jvp is None and primitive.kind not in (ELEMENTWISE, LINEAR)
    }
    assert not left


def _numbers(*shape, seed=0):
    return lg.asarray(np.random.default_rng([seed, *shape]).normal(size=shape))


def _matrix():
    return lg.asarray(np.linalg.qr(np.random.default_rng(3).normal(size=(SIZE, SIZE)))[0])


W, KERNEL, IMAGES = _matrix(), _numbers(4, 4, 3) / 4, (16, 4, SIZE)

#: One layer each, of a square of numbers unless said otherwise.
LAYERS = {
    "matmul": lambda x: x @ W,
    "einsum": lambda x: lg.einsum("ij,kj->ik", x, W),
    "layer_norm": lambda x: normalisation.layer_norm(x, W[0]) + x / 2,
    "standardise": lambda x: normalisation.standardise(x),
    "batch_norm": lambda x: normalisation.batch_norm(x, W[0], W[1])[0],
    "softmax": lambda x: lg.softmax(x, axis=-1) * x,
    "log_softmax": lambda x: lg.log_softmax(x, axis=-1),
    "sum and mean": lambda x: x - x.mean(0) + x.sum(1, keepdims=True) / SIZE**2,
    "extremes": lambda x: x / (1 + lg.max(lg.abs(x), axis=1, keepdims=True)) + lg.min(x, axis=0),
    "norms": lambda x: x / lg.linalg.vector_norm(x, axis=1, keepdims=True) * 8,
    "spread": lambda x: (x - lg.std(x)) / (1 + lg.var(x, axis=1, keepdims=True)),
    "logsumexp": lambda x: x - lg.logsumexp(x, axis=1, keepdims=True),
    "cumulative": lambda x: lg.cumulative_sum(x, axis=1) / SIZE + lg.logcumsumexp(x, axis=0) / SIZE,
    "solve": lambda x: lg.linalg.solve(W, x),
    "decompositions": lambda x: x + lg.linalg.svdvals(x) / SIZE + lg.linalg.eigvalsh(x + x.mT) / SIZE,
    "convolution": lambda x: windows.convolution(x.reshape(IMAGES), KERNEL, **STEPS).reshape((SIZE, SIZE)),
    "pooling": lambda x: pooling.max_pool(x, window=(3,), **STEPS)[0] / 2,
    "cross entropy": lambda x: x / 2 + losses.cross_entropy_rows(x, lg.zeros(SIZE, dtype=lg.int64)),
}


def _peak(layer, depth):
    """The most memory that a chain of layers has at one time, values and tangents."""
    x, t = _numbers(SIZE, SIZE), _numbers(SIZE, SIZE, seed=1)

    def chain(x):
        for _ in range(depth):
            x = layer(x)
        return x

    gc.collect()
    gc.disable()  # nothing waits for the collector to be freed
    tracemalloc.start()
    try:
        y, ty = lg.func.jvp(chain, (x,), (t,))
        assert np.all(np.isfinite(y.numpy())) and np.all(np.isfinite(ty.numpy()))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize("name", LAYERS)
def test_memory_does_not_grow_with_depth(name, monkeypatch):
    made = []
    monkeypatch.setattr(dual, "_transposed", lambda *args: made.append(args))
    nodes = sum(isinstance(thing, Node) for thing in gc.get_objects())
    depth = 20 if name == "decompositions" else 200
    _peak(LAYERS[name], 2)  # caches fill
    short, long = _peak(LAYERS[name], 4), _peak(LAYERS[name], depth)
    # Python keeps some kilobytes of tuples for later; layers that stayed alive would be 32 kB each.
    assert long <= short + 4 * SIZE * SIZE * 8, f"{long} bytes with {depth} layers, {short} with 4"
    assert not made
    assert sum(isinstance(thing, Node) for thing in gc.get_objects()) <= nodes


def test_the_chain_with_a_graph_does_grow():
    """The measurement sees what it should see: with a graph the same chain keeps every layer."""

    def chain(depth):
        x = _numbers(SIZE, SIZE).requires_grad_()
        tracemalloc.start()
        try:
            for _ in range(depth):
                x = LAYERS["softmax"](x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert chain(40) > chain(4) + 30 * SIZE * SIZE * 8


# -- values where the laws' samples do not go -----------------------------------------------------------
def _by_transposition(name, xs, ts, **keywords):
    primitive = registry[name]
    xs, ts = ([a if a is None else a.array for a in arrays] for arrays in (xs, ts))
    keywords = {**primitive.keywords, **keywords}
    xp = device.by_array[type(xs[0])].xp
    y = getattr(xp, name)(*xs, **keywords)
    y = y if primitive.outputs is False else tuple(y)
    both = [f(primitive, xp, y, xs, ts, keywords) for f in (dual.jvp, dual._transposed)]
    return both if primitive.outputs else [(part,) for part in both]


def _complex(*shape):
    return _numbers(*shape) + 1j * _numbers(*shape, seed=1)


@pytest.mark.parametrize("name", ["eigh", "svd", "qr", "eig"])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_complex_vectors(name, shape):
    """Phases are arbitrary, so that differences say nothing: the rules are each other's transposes."""
    if name in ("eigh", "eig") and shape[0] != shape[1]:
        shape = (2, 3, 3)
    x, t = _complex(*shape), _complex(*shape) * 1j + 1
    if name == "eigh":
        x, t = (a + a.mT.conj() for a in (x, t))
    keywords = {"full_matrices": False} if name == "svd" else {}
    for found, expected in zip(*_by_transposition(name, [x], [t], **keywords), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["softplus", "softmax", "batch_norm"])
def test_through_a_program(name):
    """What is made of primitives can be pushed through its program, with numbers and on the tape."""
    primitive = registry[name]
    xs = [_numbers(3, 4), _numbers(4), _numbers(4, seed=1)][: len(primitive.arrays)]
    ts = [_numbers(*x.shape, seed=7) for x in xs]
    keywords = dict(primitive.keywords)
    rule = on_duals(name)
    (found, expected), y = ([], []), primitive.op(*xs, **keywords)
    for xp, array in ((device.backend_named("cpu").xp, lambda a: a.array), (tape_namespace, lambda a: a)):
        y_in = tuple(map(array, y)) if primitive.outputs else array(y)
        args = y_in, tuple(map(array, xs)), tuple(map(array, ts))
        found.append(rule(xp, *args, **keywords))
        expected.append(dual.jvp(primitive, xp, *args, keywords))
    for some, others in zip(found, expected, strict=True):
        for a, b in zip(*((p if primitive.outputs else (p,)) for p in (some, others)), strict=True):
            np.testing.assert_allclose(_plain(a), _plain(b), rtol=1e-12, atol=1e-14)


def _plain(a):
    return a.numpy() if isinstance(a, lg.Tensor) else a


@pytest.mark.parametrize("name", ["max", "min", "prod", "vector_norm", "std"])
def test_ties_and_zeros(name):
    x = lg.tensor([[2.0, 2.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]], dtype=lg.float64)
    t = _numbers(3, 3)
    for found, expected in zip(*_by_transposition(name, [x], [t], axis=1), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_no_derivative_raises():
    with pytest.raises(RuntimeError, match="mode='reduced'"):
        lg.func.jvp(lambda x: lg.linalg.qr(x, mode="complete")[0], (_numbers(3, 2),), (_numbers(3, 2),))
