"""Many kernels compiled together and run on the device: compiling each alone would take a minute per hundred."""

import frames
import numpy as np

from lucidgrad.backends import cudasim

if not cudasim.usable_gpus() and not cudasim.is_installed():
    cudasim.install()

import cupy

#: Relative errors: C's functions may be off in the last digits, where formulas cancel a little more.
TOLERANCES = {"float16": 2e-3, "float32": 3e-5, "float64": 1e-12, "complex64": 3e-5, "complex128": 1e-12}
#: Functions that lose more digits, and how many times as much.
LOOSE = {"beta": 10, "riemann_slope": 2}


class Batch:
    """Kernels in one module."""

    def __init__(self, kernels):
        unique = {}
        for kernel in kernels:
            unique.setdefault(frames.signature(kernel), kernel)
        self._names = {key: f"k{i}" for i, key in enumerate(unique)}
        pairs = [(self._names[key], kernel) for key, kernel in unique.items()]
        options = ("-std=c++17", "--fmad=false")
        self._module = cupy.RawModule(code=frames.source(pairs, frames.by_pointers), options=options)

    def __len__(self):
        return len(self._names)

    def run(self, kernel, arguments):
        """The kernel's results, as NumPy arrays."""
        given = [arguments[place] for place in kernel.takes]
        count = len(kernel.arrays)
        shape = np.broadcast_shapes(*(np.shape(a) for a in given[:count]))
        arrays = [cupy.asarray(np.ascontiguousarray(np.broadcast_to(a, shape))) for a in given[:count]]
        numbers = [
            np.asarray(value, dtype={int: "int64", float: "float64", complex: "complex128"}[kind])[()]
            for value, (kind, _) in zip(given[count:], kernel.numbers, strict=True)
        ]
        results = [cupy.empty(shape, dtype) for dtype, _ in kernel.results]
        size = int(np.prod(shape))
        launch = self._module.get_function(self._names[frames.signature(kernel)])
        launch(((size + 127) // 128,), (128,), (*arrays, *numbers, *results, np.int64(size)))
        return [cupy.asnumpy(y) for y in results]


def differences(found, expected, name=""):
    """The places at which results differ beyond rounding; NaN, infinities and signs of zeros must agree."""
    assert found.dtype == expected.dtype, f"dtype {found.dtype}, expected {expected.dtype}"
    expected = np.broadcast_to(expected, found.shape)
    if found.dtype.kind not in "fc":
        return np.flatnonzero(found != expected)
    eps = TOLERANCES[str(found.dtype)] * LOOSE.get(name, 1)
    with np.errstate(all="ignore"):
        same = np.isclose(found, expected, rtol=eps, atol=eps * 1e-2, equal_nan=True)
        if found.dtype in (np.float32, np.float64):
            zero = (found == 0) & (expected == 0)
            same &= ~zero | (np.signbit(found) == np.signbit(expected))
    return np.flatnonzero(~same)
