"""Laws about devices: CUDA gives what the CPU gives."""

import numpy as np

import lucidgrad as lg
from lucidgrad.backends import cudasim

from .law import call, close, host, law, live, seeds_for, tensors, wanted
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
