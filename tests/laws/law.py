"""What the laws share: the table of laws, calls of primitives on samples, and comparison."""

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from samples import LEVELS, LONG, PREPARE, Sample, samples_of
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad.core.primitive import Primitive, registry

LAWS: dict[str, "Law"] = {}


@dataclass(frozen=True)
class Law:
    """What must hold of a primitive, and of which ones."""

    name: str
    check: Callable[[Primitive, list[Sample]], None]
    applies: Callable[[Primitive], bool]


def always(primitive):
    return True


def differentiable(primitive):
    return bool(primitive.differentiable)


def has_samples(primitive):
    try:
        return bool(samples_of(primitive))
    except LookupError:
        return False


def fixed_shapes(primitive):
    """Whether some sample has a result whose shape does not depend on values."""
    return not has_samples(primitive) or not all(sample.data_dependent for sample in samples_of(primitive))


def law(applies=always):
    """Enter a function ``(primitive, samples)`` in the table; it raises where the law is broken."""

    def enter(check):
        name = check.__name__.replace("_", " ").strip()
        LAWS[name] = Law(name, check, applies)
        return check

    return enter


def cells():
    """All pairs of law and primitive that go together."""
    names = sorted(set(registry) - set(LEVELS))
    return [(law, name) for law, name in itertools.product(LAWS, names) if LAWS[law].applies(registry[name])]


def ways_of_programs(primitive):
    """On which devices programs are tried, and as what they run; C has tests of its own, and CUDA takes its time."""
    everywhere = NIGHTLY or zlib.crc32(primitive.name.encode()) % 12 == 0
    return [("cpu", "flat"), *([("cuda", "graph"), ("cpu", "c")] if everywhere else [])]


# -- samples as tensors ------------------------------------------------------------------------------
def is_inexact(value):
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


def wanted(primitive, sample):
    """The arguments of a sample that have a derivative."""
    places = range(len(sample.args)) if primitive.variadic and primitive.joint else primitive.differentiable
    return [i for i in places if i < len(sample.args) and is_inexact(sample.args[i])]


def tensors(primitive, sample, where="cpu", requires_grad=True):
    """The arguments as tensors; those with a derivative require grad. The memory is the sample's on the CPU."""
    wants = wanted(primitive, sample) if requires_grad else ()
    made = []
    for i, value in enumerate(sample.args):
        if isinstance(value, np.ndarray):
            value = lg.asarray(value, device=where)
            value = value.requires_grad_() if i in wants else value
        made.append(value)
    return made


def call(primitive, args, keywords):
    """The outputs of a call, always as a tuple."""
    y = primitive.op(*args, **keywords)
    return tuple(y) if isinstance(y, (tuple, list)) else (y,)


def live(outputs):
    """The outputs that have a gradient."""
    return [y for y in outputs if y.requires_grad]


def function(primitive, sample):
    """The primitive as a function of the arguments that have a derivative, and these as leaves."""
    args = tensors(primitive, sample)
    places = wanted(primitive, sample)

    prepare = PREPARE.get(primitive.name, lambda x: x)

    def of(*xs):
        full = list(args)
        for i, x in zip(places, xs, strict=True):
            full[i] = prepare(x)
        return call(primitive, full, sample.keywords)

    return of, [args[i] for i in places]


def draw(shape, dtype, seed=0):
    """Random numbers, complex where the dtype is."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return np.asarray(values, dtype=dtype)


def seeds_for(outputs, seed=0):
    """Random cotangents for outputs."""
    return [draw(y.shape, y.dtype, seed + k) for k, y in enumerate(outputs)]


def on(array, where):
    return lg.asarray(array, device=where)


def host(tensor):
    """The values as a NumPy array."""
    return None if tensor is None else np.array(tensor.detach().numpy(force=True))


def forward(primitive, sample, where="cpu"):
    """The values of all outputs."""
    outputs = call(primitive, tensors(primitive, sample, where), sample.keywords)
    return [host(y) for y in outputs]


def gradients(primitive, sample, where="cpu", create_graph=False, seeds=None):
    """The gradients for random seeds, one array per argument with a derivative (zeros where there is none)."""
    args = tensors(primitive, sample, where)
    outputs = live(call(primitive, args, sample.keywords))
    xs = [args[i] for i in wanted(primitive, sample)]
    if not outputs or not xs:
        return [np.zeros_like(sample.args[i]) for i in wanted(primitive, sample)]
    seeds = seeds_for(outputs) if seeds is None else seeds
    seeds = [on(g, y.device) for g, y in zip(seeds, outputs, strict=True)]
    found = lg.autograd.grad(outputs, xs, seeds, create_graph=create_graph, materialize_grads=True)
    return [host(g) for g in found]


# -- comparison --------------------------------------------------------------------------------------
def close(found, expected, rtol=1e-10, atol=1e-12, what=""):
    """Two arrays, or two lists of arrays, have the same shapes and about the same values."""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), f"{what}: {len(found)} arrays, expected {len(expected)}"
        for k, (a, b) in enumerate(zip(found, expected, strict=True)):
            close(a, b, rtol, atol, f"{what} {k}")
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=what)


def each(primitive, samples) -> list[Any]:
    """The samples that have something to differentiate."""
    return [s for s in samples if wanted(primitive, s)]


def samples_for(name, law=None):
    """The samples that a law is tried on: of long programs two by day, and others by another law."""
    found = samples_of(registry[name])
    if law is None or NIGHTLY or name not in LONG:
        return found
    first = zlib.crc32(law.encode()) % len(found)
    return (found + found)[first : first + 2]
