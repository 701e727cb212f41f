"""Laws about the batch level: many examples at once are what one after the other are."""

import itertools
import warnings

import numpy as np

import lucidgrad as lg
from lucidgrad.core import dispatch
from lucidgrad.levels import batching, layer

from .law import call, close, differentiable, each, fixed_shapes, host, law, live, seeds_for, tensors, wanted

SIZE = 3


@law(applies=differentiable)
def batched_cotangents_are_a_loop(primitive, samples):
    """One walk with a batch of cotangents gives what one walk for each gives."""
    for sample in each(primitive, samples):
        args = tensors(primitive, sample)
        outputs = live(call(primitive, args, sample.keywords))
        if not outputs:
            continue
        xs = [args[i] for i in wanted(primitive, sample)]
        rows = [seeds_for(outputs, seed) for seed in range(SIZE)]
        loop = [
            lg.autograd.grad(outputs, xs, [lg.asarray(g) for g in row], retain_graph=True, materialize_grads=True)
            for row in rows
        ]
        batch = [lg.asarray(np.stack(column)) for column in zip(*rows, strict=True)]
        for graph in (False, True):
            with _no_loops(primitive):
                found = lg.autograd.grad(
                    outputs,
                    xs,
                    batch,
                    retain_graph=True,
                    create_graph=graph,
                    is_grads_batched=True,
                    materialize_grads=True,
                )
            for k, g in enumerate(found):
                close(host(g), np.stack([host(row[k]) for row in loop]), what=f"{sample} input {k}")


@law(applies=fixed_shapes)
def vmap_is_a_loop(primitive, samples):
    """On batched inputs, whichever of them are, a primitive gives what it gives example by example."""
    for sample in samples:
        if sample.data_dependent:
            continue  # every example has a shape of its own
        arrays = [i for i, a in enumerate(sample.args) if isinstance(a, np.ndarray)]
        for count in range(1, len(arrays) + 1):
            for chosen in itertools.combinations(arrays, count):
                _check_subset(primitive, sample, chosen)
        _check_nested(primitive, sample, arrays)


def _variants(sample, i):
    """Several examples of one argument: itself, and the same values in other places."""
    a = sample.args[i]
    if sample.examples is not None and i in sample.examples:
        return [np.asarray(e) for e in sample.examples[i]]
    return [np.asarray(np.roll(a, k)) for k in range(SIZE)]


def _run(primitive, args, keywords):
    keywords = {**primitive.keywords, **keywords}
    with np.errstate(all="ignore"):
        y = dispatch.compute(primitive, args, keywords)
    return y if primitive.outputs else (y,)


def _check_subset(primitive, sample, chosen):
    rows = {i: _variants(sample, i) for i in chosen}
    loop = [
        _run(primitive, [rows[i][k] if i in rows else a for i, a in enumerate(sample.args)], sample.keywords)
        for k in range(SIZE)
    ]
    with _no_loops(primitive), layer.Level("vmap") as level:
        args = [batching.Batched(np.stack(rows[i]), level) if i in rows else a for i, a in enumerate(sample.args)]
        found = _run(primitive, args, sample.keywords)
    expected = [np.stack(parts) for parts in zip(*loop, strict=True)]
    for y, e in zip(found, expected, strict=True):
        assert tuple(y.shape) == e.shape[1:], (
            f"{sample} {chosen}: an example has shape {y.shape}, expected {e.shape[1:]}"
        )
        close(y.value, e, what=f"{sample} batched {chosen}")


def _check_nested(primitive, sample, arrays):
    """Two levels: the first argument in the older one, all others in the newer one (which stands outside)."""
    first, *others = arrays
    rows = {i: _variants(sample, i) for i in arrays}
    args = list(sample.args)
    with _no_loops(primitive), layer.Level("vmap") as older, layer.Level("vmap") as newer:
        args[first] = batching.Batched(np.stack(rows[first]), older)
        for i in others:
            args[i] = batching.Batched(np.stack(rows[i]), newer)
        if not others:  # all examples of the newer level are alike
            both = batching.Batched(np.stack([np.stack(rows[first])] * SIZE, axis=1), older)
            args[first] = batching.Batched(both, newer)
        found = _run(primitive, args, sample.keywords)
    for j, k in itertools.product(range(SIZE), range(SIZE)):
        one = [rows[i][j if i == first else k] if i in rows else a for i, a in enumerate(sample.args)]
        for y, expected in zip(found, _run(primitive, one, sample.keywords), strict=True):
            close(y.value.value[j, k], expected, what=f"{sample} two levels")


class _no_loops(warnings.catch_warnings):
    """Raise if a primitive runs example by example."""

    def __init__(self, primitive):
        super().__init__()
        self.primitive = primitive

    def __enter__(self):
        super().__enter__()
        warnings.filterwarnings("error", message=".*runs example by example")
        batching.loops.discard(self.primitive.name)

    def __exit__(self, kind, error, trace):
        super().__exit__(kind, error, trace)
        if error is None:
            assert not batching.loops, f"without a batching rule: {sorted(batching.loops)}"
