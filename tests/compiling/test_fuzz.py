"""Random functions, and transforms of them, compiled: values and derivatives of both orders are the same."""

import warnings

import numpy as np
import pytest
from random_functions import N, composition, program
from thoroughness import cases

import lucidgrad as lg

CASES = [
    (depth, seed)
    for depth, quick, nightly in ((0, 60, 700), (1, 100, 900), (2, 40, 400))
    for seed in range(cases(quick, nightly))
]


def derivatives(function, x):
    """The value, its gradient and a derivative of that, each weighted by something."""
    x = x.detach().requires_grad_()
    y = function(x)
    found = [y]
    if y.requires_grad:
        w = lg.cos(lg.arange(y.size, dtype=y.dtype)).reshape(y.shape)
        (g,) = lg.autograd.grad((y * w).sum(), x, create_graph=True, materialize_grads=True)
        found.append(g)
        if g.requires_grad:
            found += lg.autograd.grad((g * g).sum(), x, materialize_grads=True)
    return [each.detach().numpy() for each in found]


@pytest.mark.parametrize(("depth", "seed"), CASES)
def test_random_functions(depth, seed):
    rng = np.random.default_rng([depth, seed])
    function, name = program(rng, 1) if depth == 0 else composition(rng, depth)[::2]
    compiled = lg.compile(function, options={"backend": "flat" if seed % 4 else "c"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            x = lg.tensor(rng.normal(size=N))
            np.testing.assert_allclose(
                compiled(x).detach().numpy(), function(x).detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=name
            )
        if depth < 2:
            for _ in range(2):
                x = lg.tensor(rng.normal(size=N))
                for a, b in zip(derivatives(compiled, x), derivatives(function, x), strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10, err_msg=name)
    assert compiled.cache_info().hits >= 2, name
