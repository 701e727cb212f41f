"""NumPy kernels of special functions: their programs, block by block, so that temporaries stay in the cache.

SciPy's functions are not used even where SciPy is there: results would depend on what else was imported.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lucidgrad.core import device, dtype as dtypes
from lucidgrad.core.primitive import registry

from .elementwise import BLOCK, in_blocks, program_of

#: Primitives of one array whose program has many passes.
ONE = (
    *("bessel_quotient", "entr", "erfcinv", "erfcx", "exprel", "gamma", "gammaln", "i0", "i0e", "i1", "i1e"),
    *("log_ndtr", "log_odds", "ndtr", "ndtri", "psi", "psi_derivative", "riemann_zeta"),
)
#: Primitives of several.
SEVERAL = (
    *("beta", "beta_density", "betaln", "gamma_density", "hurwitz_zeta", "kl_div", "lower_beta", "lower_gamma"),
    *("rel_entr", "upper_gamma"),
)


def blocks_of(name: str) -> Callable[..., Any]:
    """The program of a primitive of several arrays, block by block."""

    def program(*xs: Any) -> Any:
        return registry[name].program(device.by_array[np.ndarray].xp, *xs)

    def kernel(*xs: Any) -> Any:
        arrays = [x for x in xs if isinstance(x, (np.ndarray, np.generic))]
        dtype = np.result_type(*arrays)
        if dtype.kind != "f":
            dtype = np.dtype(dtypes.get_default_dtype())
        wide = np.dtype(np.float32) if dtype == np.float16 else dtype  # coefficients would overflow
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        full = [np.broadcast_to(np.asarray(x, wide), shape) for x in xs]
        y = np.empty(shape, dtype)
        if y.size <= BLOCK:
            y[...] = program(*full)
            return y
        target, sources = y.reshape(-1), [x.reshape(-1) for x in full]
        for i in range(0, y.size, BLOCK):
            target[i : i + BLOCK] = program(*(x[i : i + BLOCK] for x in sources))
        return y

    return kernel


TABLE: dict[str, Callable[..., Any]] = {
    **{name: in_blocks(program_of(name)) for name in ONE},
    **{name: blocks_of(name) for name in SEVERAL},
}
