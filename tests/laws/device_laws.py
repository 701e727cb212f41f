"""Laws about devices: CUDA gives what the CPU gives."""

import numpy as np
from samples import Sample

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.core.primitive import ELEMENTWISE

from .law import call, close, differentiable, forward, gradients, host, law, live, seeds_for, tensors, wanted
from .value_laws import narrowed, special_values

#: Beyond rounding: sums in another order, and functions of other libraries.
TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}


def derivatives(primitive, sample, where):
    """Values, gradients, gradients with a graph, and gradients of these."""
    args = tensors(primitive, sample, where)
    outputs = invariant(primitive.name, call(primitive, args, sample.keywords))
    found = [list(outputs)]
    ends, xs = live(outputs), [args[i] for i in wanted(primitive, sample)]
    if ends and xs:
        seeds = [lg.asarray(g, device=y.device) for g, y in zip(seeds_for(ends), ends, strict=True)]
        found.append(lg.autograd.grad(ends, xs, seeds, retain_graph=True, materialize_grads=True))
        found.append(lg.autograd.grad(ends, xs, seeds, create_graph=True, materialize_grads=True))
        again = [g for g in found[-1] if g.requires_grad]
        if again:
            seeds = [lg.asarray(g, device=where) for g in seeds_for(again)]
            found.append(lg.autograd.grad(again, xs, seeds, materialize_grads=True))
    for tensor in (t for part in found for t in part if primitive.name != "transfer"):
        assert tensor.device.type == where.partition(":")[0], f"{sample}: a result on {tensor.device}"
    return found


def invariant(name, outputs):
    """What is determined of a decomposition: signs and phases of vectors are not, nor is the order of eigenvalues."""
    if name == "eig":
        w, v = outputs
        return [w.sum(-1), (w * w).sum(-1), (lg.abs(v) ** 2 * w[..., None, :]).sum(-1)]
    return [lg.abs(y) ** 2 for y in outputs] if name in ("eigh", "svd", "qr") else outputs


@law()
def cuda_is_cpu(primitive, samples):
    """Values, gradients and gradients of gradients, and their dtypes, are the CPU's; and nothing waits for CUDA."""
    with np.errstate(all="ignore"):
        for sample in special_values(primitive, samples[0]):
            compare(sample, [call(primitive, tensors(primitive, sample, "cuda"), sample.keywords)],
                    [call(primitive, tensors(primitive, sample), sample.keywords)], **TOLERANCE)  # fmt: skip
    for sample in samples:
        compare(sample, derivatives(primitive, sample, "cuda"), derivatives(primitive, sample, "cpu"), **TOLERANCE)
        check_waits(primitive, sample)
    single = samples[0].map(narrowed)
    compare(single, derivatives(primitive, single, "cuda"), derivatives(primitive, single, "cpu"), 1e-4, 1e-5)


#: Below 2^-126 float32 has fewer digits; CuPy's own kernels take such numbers for zeros (``-ftz=true``).
SMALLEST = float(np.finfo("float32").smallest_normal)
TINY = np.array([1e-38, -2e-38, 3e-39, -1e-40, 4e-42, 0.0, 5e-38, 1.0], "float32")
FAR_APART = np.array([0.0, -88.0, -95.0, -103.0, 1.0, 88.0], "float32")


def tiny_samples(primitive, samples):
    """Float32 samples in whose inputs, or results, there are numbers below 2^-126."""
    first = samples[0].map(narrowed)
    if special_values(primitive, samples[0]):
        for values in (TINY, FAR_APART):
            grid = np.meshgrid(*[values] * len(primitive.arrays), indexing="ij")
            yield Sample(tuple(np.ascontiguousarray(axis) for axis in grid), first.keywords)
    elif primitive.kind is not ELEMENTWISE:
        for scale in (np.float32(2.0**-128), np.float32(40)):
            yield first.map(lambda a, scale=scale: np.asarray(a * scale) if a.dtype.kind in "fc" else a)


def is_steady(primitive):
    """Whether a primitive has derivatives, and is none of linear algebra, which LAPACK does not compute this small."""
    return differentiable(primitive) and ".linalg" not in str(primitive.program.__module__)


@law(applies=is_steady)
def tiny_numbers_on_cuda(primitive, samples):
    """Where float32 gets below 2^-126, values and gradients are the CPU's but for such numbers themselves.

    Kernels that take them for zeros make -inf of log(softmax(x)), and nothing of a square root.
    """
    with np.errstate(all="ignore"):
        for sample in tiny_samples(primitive, samples):
            found, expected = (
                [*forward(primitive, sample, where), *gradients(primitive, sample, where)] for where in ("cuda", "cpu")
            )
            for k, (a, b) in enumerate(zip(found, expected, strict=True)):
                if not np.allclose(a, b, 1e-4, 8 * SMALLEST, equal_nan=True):
                    lost = lost_digits(primitive, sample, k)
                    close(np.where(np.abs(a - b) <= 4 * lost, b, a), b, 1e-4, 8 * SMALLEST, f"{sample}, part {k}")


def lost_digits(primitive, sample, part):
    """How far each result of the CPU in float32 is off: next to a zero of a function no two ways of rounding agree."""
    narrow, wide = (
        [*forward(primitive, s, "cpu"), *gradients(primitive, s, "cpu")][part]
        for s in (sample, sample.map(lambda a: a.astype("float64") if a.dtype == "float32" else a))
    )
    return np.abs(narrow - wide)


#: Primitives whose result has a shape that only the values know, and the one that reads them.
READERS = {"nonzero", "unique_places", "transfer", "matrix_exp"}


def check_waits(primitive, sample):
    """Neither forward nor backward waits for the device or reads from it (counted where it is emulated)."""
    if primitive.name in READERS or sample.data_dependent or not cudasim.is_installed():
        return
    with cudasim.counting() as counts:
        derivatives(primitive, sample, "cuda")
    assert (counts.synchronisations, counts.copies_to_host) == (0, 0), f"{sample} waits"


def compare(sample, found, expected, rtol, atol):
    assert len(found) == len(expected), f"{sample}: {len(found)} orders, expected {len(expected)}"
    for order, (some, others) in enumerate(zip(found, expected, strict=True)):
        for a, b in zip(some, others, strict=True):
            assert a.dtype == b.dtype, f"{sample}, part {order}: {a.dtype}, expected {b.dtype}"
            close(host(a), host(b), rtol, atol, f"{sample}, part {order}")
