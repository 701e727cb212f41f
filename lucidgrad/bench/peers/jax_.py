"""JAX as it is meant to be used: the whole step under ``jax.jit``. Compilation is no part of the time."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

LABEL = "jax.jit"
VERSION = jax.__version__

# XLA's compile time grows faster than the graph; from 20 s on a case is left out.
SKIP = {
    "chain_10k": "jax.jit compiles this for about 45 s",
    "chain_100k": "jax.jit compiles a tenth of this for about 45 s",
    "fanout_10k": "jax.jit compiles this for about 70 s",
}


def _compiled(function, *arrays):
    arrays = [jnp.asarray(a) for a in arrays]
    compiled = jax.jit(function)
    return lambda: jax.block_until_ready(compiled(*arrays))


def forward(case):
    return _compiled(lambda *inputs: (case.program(jnp, *inputs),), *case.inputs)


def gradient(case):
    def value_and_gradients(seed, *inputs):
        def of_wanted(*wanted):
            arguments = list(inputs)
            arguments[case.wrt] = wanted
            return case.program(jnp, *arguments)

        y, vjp = jax.vjp(of_wanted, *inputs[case.wrt])
        return y, *vjp(seed)

    return _compiled(value_and_gradients, case.cotangent, *case.inputs)


def to_numpy(x):
    return jax.device_get(x)
