"""What a device computes of each primitive: the CPU's values and derivatives, or an error that says what is missing."""

import contextlib
import importlib.util
import warnings

import numpy as np
from laws.device_laws import compare, derivatives, invariant
from laws.law import call, live, samples_for, seeds_for, tensors, wanted
from samples import LEVELS

import lucidgrad as lg
from lucidgrad.core.primitive import registry

#: Devices, the packages that they need, and how far from the CPU's their numbers may be.
DEVICES = {
    "strict": ("array_api_strict", 1e-9),
    "torch": ("torch", 1e-9),
    "jax": ("jax", 1e-8),
    "dask": ("dask", 1e-9),
}

#: Errors that say what a device can't do.
REFUSALS = (lg.DeviceError, TypeError)


def installed():
    """The devices whose library is there."""
    return [device for device, (package, _) in DEVICES.items() if importlib.util.find_spec(package) is not None]


#: Families of long programs, which take minutes on libraries that compile or schedule every operation.
LONG = set(
    "airy attention bessel ctc cylinder error gamma incomplete macdonald polynomials pooling recurrence special".split()
)
SLOW = {"jax", "dask"}


def names(device):
    """The primitives to try on a device."""
    found = sorted(set(registry) - set(LEVELS) - {"transfer"})
    return [name for name in found if device not in SLOW or family(name) not in LONG]


def family(name):
    """The module that a primitive is declared in."""
    return registry[name].program.__module__.rpartition(".")[2]


@contextlib.contextmanager
def ready(device):
    """JAX with 64-bit numbers, and no warnings of libraries."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if device != "jax":
            yield
            return
        import jax

        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        try:
            yield
        finally:
            jax.config.update("jax_enable_x64", before)


def results(device, name, sample):
    """Values and gradients, and where that does not take minutes gradients of gradients."""
    if device not in SLOW:
        return derivatives(registry[name], sample, device), derivatives(registry[name], sample, "cpu")
    return [first_order(registry[name], sample, where) for where in (device, "cpu")]


def first_order(primitive, sample, where):
    args = tensors(primitive, sample, where)
    outputs = invariant(primitive.name, call(primitive, args, sample.keywords))
    ends, xs = live(outputs), [args[i] for i in wanted(primitive, sample)]
    if not ends or not xs:
        return [list(outputs)]
    seeds = [lg.asarray(g, device=y.device) for g, y in zip(seeds_for(ends), ends, strict=True)]
    return [list(outputs), lg.autograd.grad(ends, xs, seeds, materialize_grads=True)]


def survey(device, name, few=False):
    """``"works"``, or the reason that the device gives; raises where it gives something else than the CPU."""
    tolerance = DEVICES[device][1]
    samples = [sample for sample in samples_for(name) if device == "torch" or not sample.data_dependent]
    samples = samples[: 1 if few or device in SLOW else None]
    refused = None
    with ready(device):
        for sample in samples:
            try:
                found, expected = results(device, name, sample)
            except REFUSALS as error:
                if f"{device!r}" not in str(error):
                    raise
                refused = str(error)
                continue
            compare(sample, found, expected, tolerance, tolerance / 100)
    return "works" if refused is None else refused


#: Primitives that a device refuses; all others work there.
REFUSED = {
    "torch": ("dft", "half_dft", "real_dft", "unique_places"),
    "dask": (
        "cofactor", "convolution", "convolution_input", "convolution_weight", "cross_entropy_pull",
        "cross_entropy_rows", "det", "eig", "eigh", "eigvalsh", "extreme_put", "fold_windows", "half_dft", "ldl_layout",
        "packed_ldl", "packed_lu", "pick", "pick_put", "put_along_axis_add", "raising", "row_order", "slogdet", "stays",
        "svd", "svdvals", "take", "take_along_axis", "take_put", "unfold_windows", "zero_pivot",
    ),
}  # fmt: skip
