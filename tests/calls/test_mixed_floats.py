"""Floats of several dtypes give what they give in the dtype of the result: nothing is computed in a narrower one.

Nothing is listed but exceptions: every elementwise primitive, and every public function and method of two or more
tensors of floats. Values and gradients are compared with those of arguments that were cast first; gradients come back
in the dtypes of the arguments.
"""

import itertools
import os
import subprocess
import sys

import callables
import numpy as np
import pytest
from samples import ANY, COMPLEX, DOMAINS
from test_float_types import PLACES_LEFT_OUT, results
from thoroughness import cases

import lucidgrad as lg
from lucidgrad.core.primitive import ELEMENTWISE, registry

PAIRS = [
    ("float32", "float64"), ("float16", "float32"), ("float16", "float64"), ("bfloat16", "float32"),
    ("float64", "complex64"),
]  # fmt: skip
EPS = {"bfloat16": 2.0**-7} | {
    name: np.finfo(name).eps for name in ("float16", "float32", "float64", "complex64", "complex128")
}
#: Functions whose result has the dtype of one argument: what else they are given are settings, indices or memory.
OF_ONE = """
    batch_norm hardshrink nanpercentile nanquantile percentile quantile threshold
""".split()
REASONS = {
    **dict.fromkeys("bernoulli binomial gumbel_softmax normal rrelu".split(), "random numbers are drawn in the dtype"),
    **dict.fromkeys(OF_ONE, "the result has the dtype of the first argument"),
    **dict.fromkeys(
        "bilinear conv_tbc gru_cell rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention".split(),
        "products and sums of several matrices, each in the dtype of its factors; PyTorch refuses them",
    ),
    **dict.fromkeys(["Bilinear", "TransformerDecoderLayer"], "layers, whose weights are float32"),
    "grouped_mm": "its backward is that of PyTorch, which takes bfloat16 alone",
}


def compared(function, given, floats, keywords):
    """What is wrong with a call; None if it refuses these dtypes or gives no floats."""
    there = [x.detach().requires_grad_() if i in floats else x for i, x in enumerate(given)]
    y = results(function, there, keywords)
    if not y or len(y) > 1 or str(y[0].dtype) not in EPS or y[0].requires_grad is False:
        return None
    leaves = [x.detach().requires_grad_() if i in floats else x for i, x in enumerate(given)]
    wide = [x.to(y[0].dtype) if i in floats else x for i, x in enumerate(leaves)]
    z = results(function, wide, keywords)
    if not z:
        return "the same in one dtype is refused"
    (y,), (z,) = y, z
    wrong = [] if alike(y, z) else ["the value"]
    found = lg.autograd.grad(summed(y), [there[i] for i in floats], allow_unused=True)
    expected = lg.autograd.grad(summed(z), [leaves[i] for i in floats], allow_unused=True)
    wrong += [f"the gradient of {i}" for i, g, h in zip(floats, found, expected) if not alike(g, h)]
    return ", ".join(wrong)


def summed(y):
    return (y.real + 2 * y.imag if y.is_complex() else y).sum()


def alike(one, two):
    """A few units in the last place: large arrays are computed by other kernels, and sums in another order."""
    if one is None or two is None:
        return one is two
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    wide = "complex128" if one.is_complex() else "float64"
    a, b = (x.detach().cpu().to(wide).numpy() for x in (one, two))
    largest = np.max(np.abs(b), initial=0, where=np.isfinite(b))
    near = np.abs(a - b) <= 16 * EPS[str(one.dtype)] * (np.abs(b) + largest / 16)
    return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b)) | near))


def mixtures(given, floats, pairs, device):
    """The arguments with floats of two dtypes: one of the first and others of the second, and the other way round."""
    for (narrow, wide), place, first in itertools.product(pairs, floats, (True, False)):
        kinds = {i: narrow if (i == place) == first else wide for i in floats}
        made = [x.detach().to(device) if isinstance(x, lg.Tensor) else x for x in given]
        yield kinds, [x.to(kinds[i]) if i in floats else x for i, x in enumerate(made)]


def law(calls, pairs, device):
    tried, wrong = 0, []
    with np.errstate(all="ignore"):
        for name, call, given, keywords in calls:
            floats = [i for i, x in enumerate(given) if isinstance(x, lg.Tensor) and x.dtype == lg.float32]
            real = call.source == "" and name not in COMPLEX
            own = [pair for pair in pairs if not (real and "complex64" in pair)]
            for kinds, args in mixtures(given, floats, own, device) if len(floats) > 1 else ():
                found = compared(call, args, floats, keywords)
                tried += found is not None
                wrong += [f"{name} of {kinds}: {found}"] if found else []
    return tried, wrong


def public():
    """Calls of public functions and methods, but for exceptions."""
    for call in callables.working():
        plain = call.name.removesuffix(".forward").rpartition(".")[2]
        if plain in REASONS or ".cuda()" in call.source or call.name.startswith(PLACES_LEFT_OUT):
            continue
        if not plain.endswith("_"):
            yield call.name, call, *call.arguments()


def primitives(size):
    """Calls of elementwise primitives of several floats."""
    for p in sorted(registry.values(), key=lambda p: p.name):
        if p.kind is ELEMENTWISE and len(p.values) > 1 and not p.variadic and p.dtype != "real":
            domains = DOMAINS.get(p.name, (ANY,))
            domains += domains[-1:] * (len(p.arrays) - len(domains))
            drawn = [domain.draw((size,), seed) for seed, domain in enumerate(domains)]
            given = [lg.tensor(x, dtype=None if x.dtype.kind in "ib" else lg.float32) for x in drawn]
            yield p.name, callables.Call(p.name, p.op, ""), given, {}


def able(pairs, device):
    """The pairs, where there is what they need."""
    if device == "cuda":
        pytest.importorskip("cupy")
    if any("bfloat16" in pair for pair in pairs):
        pytest.importorskip("ml_dtypes")
    return pairs


@pytest.mark.parametrize("device", cases(["cpu"], ["cpu", "cuda"]))
def test_public_functions(device):
    pairs = able(PAIRS[: cases(2, 5)], device)
    tried, wrong = law(public(), pairs, device)
    assert wrong == []
    assert tried > 250 * len(pairs)


@pytest.mark.parametrize("size", [7, 9000])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_primitives(device, size):
    pairs = able(PAIRS if (device, size) == ("cpu", 7) else PAIRS[: cases(1, 5)], device)
    few = 1 if (device, size) == ("cpu", 7) else cases(4, 1)  # loops and kernels take their time to compile
    tried, wrong = law(itertools.islice(primitives(size), 0, None, few), pairs, device)
    assert wrong == []
    assert tried > 30 / few


def test_primitives_without_compiled_loops():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{__file__}::test_primitives[cpu-9000]"]
    found = subprocess.run(command, env={**os.environ, "LUCIDGRAD_COMPILED": "0"}, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-3000:]


def test_exceptions_are_needed():
    """Each stands for a call that fails the law, or whose numbers are drawn."""
    names = {call.name.removesuffix(".forward").rpartition(".")[2] for call in callables.valid(2)}
    assert set(REASONS) <= names


def test_numbers_in_tensors_are_settings():
    """A tensor of one number says how, as the number does; one of several can't."""
    x = lg.tensor([-1.0, 2.0], requires_grad=True)
    assert lg.leaky_relu(x, lg.tensor(0.5)).tolist() == [-0.5, 2.0]
    with pytest.raises(TypeError, match="leaky_relu.*shape"):
        lg.leaky_relu(x, lg.tensor([0.1, 0.2]))
    with pytest.raises(TypeError, match="real"):
        lg.special.beta(lg.tensor([1.0 + 1j]), 2.0)
