"""Laws about memory: what is written, how it lies, what is kept."""

import contextlib
import gc
import weakref

import numpy as np

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.items import Input, Inputs, Part, Result

from .law import call, close, differentiable, each, forward, gradients, law, live, seeds_for, tensors, wanted

CPU = device.backend_named("cpu")


@law()
def inputs_untouched(primitive, samples):
    """Neither the call nor its gradients write into inputs or cotangents."""
    for sample in samples:
        given = sample.map(np.array)
        for array in given.arrays():
            array.flags.writeable = False
        for graph in (False, True):
            args = tensors(primitive, given)
            outputs = live(call(primitive, args, given.keywords))
            xs = [args[i] for i in wanted(primitive, given)]
            if outputs and xs:
                _check_seeds(outputs, xs, graph)
        for array, before in zip(given.arrays(), sample.arrays(), strict=True):
            np.testing.assert_array_equal(array, before)


def _check_seeds(outputs, xs, graph):
    seeds = seeds_for(outputs)
    before = [g.copy() for g in seeds]
    for g in seeds:
        g.flags.writeable = False
    lg.autograd.grad(outputs, xs, [lg.from_numpy(g) for g in seeds], create_graph=graph, allow_unused=True)
    for g, old in zip(seeds, before, strict=True):
        np.testing.assert_array_equal(g, old)


# -- layout ------------------------------------------------------------------------------------------
def with_gaps(array):
    """The same values with foreign ones between them in memory, and the axes in reverse order."""
    if array.ndim == 0:
        return array
    wide = np.full((*reversed(array.shape), 2), 77, dtype=array.dtype)
    wide = wide.transpose(*reversed(range(array.ndim)), array.ndim)
    wide[..., 1] = array
    return wide[..., 1]


def backwards(array):
    """The same values with negative strides."""
    flip = (slice(None, None, -1),) * array.ndim
    return array[flip].copy()[flip] if array.ndim else array


@law()
def any_memory_layout(primitive, samples):
    """Inputs and cotangents with gaps, transposed axes and negative strides give the same."""
    for sample in samples:
        expected, slopes = forward(primitive, sample), gradients(primitive, sample)
        for layout in (with_gaps, backwards):
            strided = sample.map(layout)
            what = f"{sample} {layout.__name__}"
            close(forward(primitive, strided), expected, what=what)
            outputs = live(call(primitive, tensors(primitive, strided), sample.keywords))
            if outputs and wanted(primitive, sample):
                seeds = [layout(g) for g in seeds_for(outputs)]
                close(gradients(primitive, strided, seeds=seeds), slopes, what=what)


# -- what a node keeps -------------------------------------------------------------------------------
@contextlib.contextmanager
def collector_off():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@law(applies=differentiable)
def saves_what_it_declares(primitive, samples):
    """A node keeps what its rules name; all else is freed, without the garbage collector's help."""
    with collector_off():
        for sample in each(primitive, samples):
            _check_saved(primitive, sample)


def _storage(array):
    return CPU.storage(array)


def _check_saved(primitive, sample):
    args = tensors(primitive, sample.map(np.array))
    outputs = call(primitive, args, sample.keywords)
    if not live(outputs):
        return
    args += [None] * (len(primitive.arrays) - len(args))  # inputs that were left out
    node = live(outputs)[0].grad_fn
    items = node.recipe.items
    assert len(node.saved) == len(items)
    for item, value in zip(items, node.saved, strict=True):
        if type(item) is Input and isinstance(args[item.at], lg.Tensor):
            given = args[item.at].array
            assert value is given or value.dtype != given.dtype  # floats of several dtypes are cast first
        assert item.is_array or not isinstance(value, np.ndarray), f"{item} is an array"
    allowed = {i.at for i in items if type(i) is Input} | (set(range(len(args))) if Inputs() in items else set())
    memory = {id(_storage(args[i].array)) for i in allowed if isinstance(args[i], lg.Tensor)}
    parts = range(len(outputs)) if Result() in items else [item.at for item in items if type(item) is Part]
    memory |= {id(_storage(outputs[k].array)) for k in parts}
    watched = {f"input {i}": a.array for i, a in enumerate(args) if isinstance(a, lg.Tensor)}
    watched |= {f"output {k}": y.array for k, y in enumerate(outputs)}
    watched = {k: weakref.ref(_storage(a)) for k, a in watched.items() if id(_storage(a)) not in memory}
    del args, outputs
    value = None
    kept = [k for k, ref in watched.items() if ref() is not None]
    assert not kept, f"{sample}: the node keeps {kept} alive, its rules name {items}"
