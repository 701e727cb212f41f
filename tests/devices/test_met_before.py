"""Arrays of other libraries as arguments behave the same, whether or not their library was met before.

Each expression is evaluated in a process of its own: one in which nothing but the library was imported, and one in
which its arrays have been computed with.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from thoroughness import cases

EXPRESSIONS = """
x + t | t + x | w * t | x == t | lg.add(x, t) | lg.add(t, x) | lg.exp(t) | lg.sum(t) | lg.where(x > 0, x, t)
lg.stack([x, t]) | lg.concat([x, t]) | lg.matmul(x, t) | lg.einsum("i,i->", x, t) | lg.clip(x, t, None)
lg.lerp(x, x, t) | lg.take(x, i) | lg.median(t) | lg.zeros_like(t) | lg.asarray(t) | lg.tensor(t)
lg.asarray([t, t]) | lg.full((2,), t[0]) | x + t[0] | x[i] | x.clone().__setitem__(i, 1.0)
x.clone().__setitem__(0, t[0]) | x.clone().copy_(t) | x.clone().mul_(t) | x.clone().__iadd__(t)
lg.nn.functional.mse_loss(x, t) | lg.nn.functional.linear(t, x) | lg.autograd.grad(w * 2, w, t)
lg.func.vmap(lg.exp)(t) | lg.func.grad(lg.sum)(t)
""".replace("\n", "|")
PROGRAM = """
import importlib, json, os, sys, warnings
warnings.simplefilter("ignore")
import lucidgrad as lg
from lucidgrad.backends import cudasim

name, met, expressions = sys.argv[1], sys.argv[2] == "met", json.loads(sys.argv[3])

def given():
    if name == "cupy" and not cudasim.usable_gpus():
        cudasim.install()
    library = importlib.import_module(name)
    return library.ones(2), library.asarray([0, 1])

def told(expression, ones, whole):
    x, w = lg.ones(2), lg.ones(2, requires_grad=True)
    try:
        y = eval(expression, {"lg": lg, "x": x, "w": w, "t": ones, "i": whole})
        text = f"{type(y).__name__} {getattr(y, 'device', '')} {getattr(y, 'dtype', '')} {y}"
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    print(json.dumps([expression, text]), flush=True)

if met:
    ones, whole = given()
    lg.asarray(ones) + 1
    for expression in expressions:
        told(expression, ones, whole)
for expression in () if met else expressions:
    sys.stdout.flush()
    child = os.fork()  # before the library is there: some have threads, which a copy of the process would wait for
    if not child:
        told(expression, *given())
        os._exit(0)
    os.waitpid(child, 0)
"""


def told(library, met):
    expressions = [e.strip() for e in EXPRESSIONS.split("|") if e.strip()][:: cases(5, 1)]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, library, met, json.dumps(expressions)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=1200,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = dict(map(json.loads, ended.stdout.splitlines()))
    assert list(found) == expressions, ended.stderr[-2000:]
    return found


#: What adding an array of a library to a tensor of the CPU says: they are of different devices, or of no known library.
SAID = {
    "array_api_strict": "expected arrays of one device; lg.asarray(x)",
    "torch": "expected arrays of one device; lg.asarray(x)",
    "jax.numpy": "expected arrays of one device; lg.asarray(x)",
    "cupy": "expected",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that share what was imported")
@pytest.mark.parametrize("library", cases(["array_api_strict", "cupy"], list(SAID)))
def test_what_was_met_before_makes_no_difference(library):
    if importlib.util.find_spec(library.partition(".")[0]) is None:
        pytest.skip(f"needs {library}")
    fresh, met = told(library, "not met"), told(library, "met")
    assert fresh == met
    assert SAID[library] in fresh["x + t"]
