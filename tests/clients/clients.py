"""How the tests of third-party code check a case: values against NumPy, gradients against central differences.

A case is a function of arrays that returns one array, and the NumPy arrays to call it with. Cases of libraries that
must be told before they are imported to look at namespaces run in an interpreter of their own: see `outcomes`.
"""

import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import lucidgrad as lg

HERE = Path(__file__).resolve().parent


class Lazy:
    """A module that is imported when it is first used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, key):
        return getattr(importlib.import_module(self._name), key)


def like(x, values):
    """The values as an array of x's namespace."""
    return x.__array_namespace__().asarray(values)


def numbers(*shape, low=None, high=None, seed=0):
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=shape) if low is None else rng.uniform(low, high, size=shape)


def same_values(f, arrays):
    y = f(*map(lg.tensor, arrays))
    assert isinstance(y, lg.Tensor), f"the result is a {type(y).__name__}"
    np.testing.assert_allclose(y.numpy(), f(*arrays), rtol=1e-6, atol=1e-8)
    return y


def check(f, *arrays, step=1e-6):
    """Values are NumPy's; the gradient along a random direction is the difference quotient's."""
    same_values(f, arrays)
    xs = [lg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    y = f(*xs)
    assert y.requires_grad, "the result has no history"
    leaves = [x for x in xs if x.requires_grad]
    weight = numbers(*y.shape, seed=1)
    seed = lg.tensor(weight, dtype=y.dtype)
    gradients = lg.autograd.grad(y, leaves, seed, allow_unused=True, materialize_grads=True)
    ways = [numbers(*a.shape, seed=2) if a.dtype.kind == "f" else np.zeros_like(a) for a in arrays]
    floating = [way for way, a in zip(ways, arrays) if a.dtype.kind == "f"]
    slope = sum(float((g.numpy() * way).sum()) for g, way in zip(gradients, floating))
    ends = [f(*(lg.tensor(a + sign * step * way) for a, way in zip(arrays, ways))).numpy() for sign in (1, -1)]
    expected = float(((ends[0] - ends[1]) * weight).sum() / (2 * step))
    np.testing.assert_allclose(slope, expected, rtol=2e-5, atol=1e-7)
    assert any(np.any(g.numpy() != 0) for g in gradients), "the gradient is zero"


def check_mutates(f, *arrays):
    """A value that a rule keeps is written over: the walk says so; where mutation is allowed, all is right."""
    y = f(*(lg.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays))
    with pytest.raises(RuntimeError, match="modified by an in-place operation"):
        y.sum().backward()
    with lg.autograd.graph.allow_mutation_on_saved_tensors():
        check(f, *arrays)


def outcomes(module):
    """Run all cases of a module in a new interpreter: what went wrong by name, or None."""
    code = f"import clients; clients.main({module!r})"
    path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def main(module):
    """Print the outcomes as JSON."""
    warnings.simplefilter("ignore")
    lg.set_default_dtype(lg.float64)
    cases = importlib.import_module(module)
    found = {}
    for checker, table in ((check, cases.CASES), (check_mutates, cases.MUTATES)):
        for name, (f, *arrays) in table.items():
            try:
                checker(f, *arrays)
                found[name] = None
            except (Exception, pytest.fail.Exception) as error:
                found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))
