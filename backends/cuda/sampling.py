"""Random numbers made on the device: Philox 4x32-10, whose n-th number is a function of a seed and n alone.

A generator is a seed and a count, so its state is two integers that are known without asking the device, and the
numbers do not depend on what GPU draws them.
"""

import secrets
import threading
from typing import Any

import cupy
import numpy as np

from . import captures

PHILOX = """
__device__ void philox(unsigned long long seed, unsigned long long at, unsigned int r[4]) {
    unsigned int k0 = (unsigned int)seed, k1 = (unsigned int)(seed >> 32);
    r[0] = (unsigned int)at; r[1] = (unsigned int)(at >> 32); r[2] = 0; r[3] = 0;
    for (int round = 0; round < 10; ++round) {
        unsigned long long a = 0xD2511F53ULL * r[0], b = 0xCD9E8D57ULL * r[2];
        unsigned int r1 = r[1], r3 = r[3];
        r[0] = (unsigned int)(b >> 32) ^ r1 ^ k0; r[1] = (unsigned int)b;
        r[2] = (unsigned int)(a >> 32) ^ r3 ^ k1; r[3] = (unsigned int)a;
        k0 += 0x9E3779B9U; k1 += 0xBB67AE85U;
    }
}
__device__ unsigned long long philox_bits(const unsigned int r[4]) {
    return ((unsigned long long)r[1] << 32) | r[0];
}
__device__ double philox_unit(unsigned int high, unsigned int low) {  // 53 bits in [0, 1)
    return ((((unsigned long long)high << 32) | low) >> 11) * (1.0 / 9007199254740992.0);
}
__device__ float philox_unit(unsigned int bits) {  // 24 bits in [0, 1)
    return (bits >> 8) * (1.0f / 16777216.0f);
}
"""


class _Kernel:
    """A kernel that fills an array; one of its forms finds in memory where the generator is: for graphs."""

    def __init__(self, name: str, numbers: str, output: str, code: str) -> None:
        plain, recorded = "philox(seed, start + i, r)", "philox(base[0], base[1] + start + i, r)"
        self.plain = self._made(name, f"uint64 seed, uint64 start{numbers}", output, plain, code)
        self.recorded = self._made(
            f"{name}_recorded", f"raw uint64 base, uint64 start{numbers}", output, recorded, code
        )

    @staticmethod
    def _made(name: str, numbers: str, output: str, begin: str, code: str) -> Any:
        code = f"unsigned int r[4]; {begin}; {code}"
        return cupy.ElementwiseKernel(numbers, output, code, f"lucidgrad_{name}", preamble=PHILOX)


# 1 - u is in (0, 1], where the logarithm is finite.
_UNIFORM = {
    "f": _Kernel("uniform_f", ", float32 low, float32 span", "float32 y", "y = low + span * philox_unit(r[0]);"),
    "d": _Kernel("uniform_d", ", float64 low, float64 span", "float64 y", "y = low + span * philox_unit(r[1], r[0]);"),
}
_NORMAL = {
    "f": _Kernel(
        "normal_f",
        ", float32 mean, float32 std",
        "float32 y",
        "y = mean + std * sqrtf(-2 * logf(1 - philox_unit(r[0]))) * cospif(2 * philox_unit(r[1]));",
    ),
    "d": _Kernel(
        "normal_d",
        ", float64 mean, float64 std",
        "float64 y",
        "y = mean + std * sqrt(-2 * log(1 - philox_unit(r[1], r[0]))) * cospi(2 * philox_unit(r[3], r[2]));",
    ),
}
_BITS = _Kernel("bits", "", "uint64 y", "y = philox_bits(r);")
_INTEGERS = _Kernel(
    "integers",
    ", int64 low, uint64 span",
    "int64 y",
    "y = (long long)((unsigned long long)low + philox_bits(r) % span);",
)


class Source:
    """A seed, and how many numbers were drawn."""

    def __init__(self, seed: int | None, device: int) -> None:
        self.seed = (secrets.randbits(64) if seed is None else int(seed)) & 0xFFFFFFFFFFFFFFFF
        self.count = 0
        self.device = device
        self._lock = threading.Lock()

    def take(self, kernel: Any, shape: tuple[int, ...], dtype: Any, *args: Any) -> Any:
        """An array that a kernel fills."""
        y = cupy.empty(shape, dtype)
        if y.size:
            capture = captures.now()
            if capture is None:
                kernel.plain(*map(np.uint64, self.advanced(y.size)), *args, y)
            else:  # every launch is told where the generator is then
                words, before = capture.drawn(self, y.size)
                kernel.recorded(words, np.uint64(before), *args, y)
        return y

    def advanced(self, count: int) -> tuple[int, int]:
        """The seed, and the place of the first of so many new numbers."""
        with self._lock:  # no other thread draws the same numbers
            start = self.count
            self.count += count
            return self.seed, start

    @property
    def state(self) -> tuple[int, int]:
        """The seed and the count, which belong together."""
        with self._lock:
            return self.seed, self.count

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        seed, count = state
        with self._lock:
            self.seed, self.count = seed, count


def draw(source: Source, how: str, shape: tuple[int, ...], dtype: Any, *args: Any) -> Any:
    """Numbers of a distribution; float32 and float64 are drawn as such, not rounded from the other."""
    dtype = np.dtype(dtype)
    if how in ("uniform", "normal"):
        return _floats(source, _UNIFORM if how == "uniform" else _NORMAL, how, shape, dtype, *args)
    if how == "integers":
        low, high = args
        if high <= low:
            raise ValueError(f"randint: given low {low} and high {high}, expected a larger one")
        return source.take(_INTEGERS, shape, np.int64, np.int64(low), np.uint64(high - low)).astype(dtype, copy=False)
    captures.refuse(f"{how} sorts random numbers", "draw it before the recording")
    if how == "permutation":
        return cupy.argsort(source.take(_BITS, shape, np.uint64)).astype(dtype, copy=False)
    weights, count, replacement = args
    return _multinomial(source, cupy.asarray(weights, np.float64), count, replacement).astype(dtype, copy=False)


def _floats(source: Source, kernels: Any, how: str, shape: tuple[int, ...], dtype: Any, first: Any, second: Any) -> Any:
    if dtype.kind == "c":  # unit variance in all, as PyTorch's
        real = np.dtype("float32" if dtype.itemsize == 8 else "float64")
        parts = _floats(source, kernels, how, (*shape, 2), real, 0.0, 0.5**0.5 if how == "normal" else 1.0)
        return parts.view(dtype).reshape(shape) * dtype.type(second) + dtype.type(first)
    own = dtype if dtype.char in kernels else np.dtype("float32")
    span = second - first if how == "uniform" else second
    return source.take(kernels[own.char], shape, own, own.type(first), own.type(span)).astype(dtype, copy=False)


def _multinomial(source: Source, weights: Any, count: int, replacement: bool) -> Any:
    """By the inverse of the cumulative weights; without replacement by the order of exponential waiting times."""
    if replacement:
        total = cupy.cumsum(weights, axis=-1)
        u = source.take(_UNIFORM["d"], (*weights.shape[:-1], count), np.float64, 0.0, 1.0)
        below = total[..., None, :] <= (u * total[..., -1:])[..., None]
        return cupy.minimum(cupy.count_nonzero(below, axis=-1), weights.shape[-1] - 1)
    u = source.take(_UNIFORM["d"], weights.shape, np.float64, 0.0, 1.0)
    return cupy.argsort(-cupy.log1p(-u) / weights, axis=-1)[..., :count]
