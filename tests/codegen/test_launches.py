"""Launches: one per elementwise operation, one per VJP whatever the number of its cotangents, none for the identity."""

import catalogue
import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.backends.cuda import generated
from lucidgrad.core.primitive import registry

pytestmark = pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")

#: Which results of rules are the cotangent as it came, where all are: nothing is launched.
IDENTITIES = {"add", "positive"}

#: What is done without a launch: memory is set to zero.
NO_LAUNCH = {"zeros_like"}


def _launched(run):
    """What a function returns, and the kernels that it launched."""
    run()  # kernels are compiled, constants are made
    cudasim.reset()
    found = run()
    return found, sum(cudasim.launches().values()), cudasim.launches()


def _tensors(case):
    wants = case.primitive.differentiable
    made = []
    for i, value in enumerate(case.args):
        tensor = lg.asarray(value, device="cuda") if isinstance(value, np.ndarray) else value
        made.append(tensor.requires_grad_() if i in wants and value.dtype.kind in "fc" else tensor)
    return made


def _first(name):
    dtype = next(d for d in ("float32", "int32", "bool") if catalogue.takes(name, d))
    return catalogue.cases_of(name, (dtype,))[0]


@pytest.mark.parametrize("name", catalogue.names())
def test_one_launch_each_way(name):
    case = _first(name)
    xs = _tensors(case)
    y, count, names = _launched(lambda: registry[name].op(*xs, **case.keywords))
    assert count == (0 if name in NO_LAUNCH else 1), f"forward: {names}"
    if y.requires_grad:
        g = lg.asarray(case.cotangent(), device="cuda")
        wanted = [x for x in xs if x.requires_grad]
        found, count, names = _launched(lambda: lg.autograd.grad(y, wanted, g, retain_graph=True))
        assert count == (0 if name in IDENTITIES else 1), f"backward: {names}"
        expected = [e for e in _gradients(case) if e is not None]
        for y, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(cupy.asnumpy(y.array), e, rtol=1e-3, atol=1e-5)


def _gradients(case):
    """On the CPU."""
    xs = [lg.asarray(a) if isinstance(a, np.ndarray) else a for a in case.args]
    wanted = [xs[i].requires_grad_() for i in case.primitive.differentiable]
    y = case.primitive.op(*xs, **case.keywords)
    return [g.numpy() for g in lg.autograd.grad(y, wanted, lg.asarray(case.cotangent()))]


@pytest.mark.parametrize("name", ["multiply", "divide", "maximum", "hypot"])
def test_sums_over_broadcast_axes_come_on_top(name):
    x1 = lg.ones((3, 4), device="cuda", requires_grad=True)
    x2 = lg.ones((4,), device="cuda", requires_grad=True)
    y = registry[name].op(x1, x2)
    g = lg.ones_like(y)
    found, count, names = _launched(lambda: lg.autograd.grad(y, [x1, x2], g, retain_graph=True))
    assert [tuple(x.shape) for x in found] == [(3, 4), (4,)]
    assert count == 2, names  # the rules, and one sum


def test_the_cast_to_an_inputs_dtype_is_part_of_the_kernel():
    x1 = lg.ones((3, 4), device="cuda", requires_grad=True)
    x2 = lg.ones((3, 4), dtype=lg.float64, device="cuda", requires_grad=True)
    y = x1 * x2
    g = lg.ones_like(y)
    found, count, names = _launched(lambda: lg.autograd.grad(y, [x1, x2], g, retain_graph=True))
    assert [x.dtype for x in found] == [lg.float32, lg.float64]
    assert count == 1, names


def test_real_parts_are_part_of_the_kernel():
    x1 = lg.ones(3, device="cuda", requires_grad=True)
    x2 = lg.ones(3, dtype=lg.complex64, device="cuda", requires_grad=True)
    y = x1 * x2 * 1j
    (g,) = lg.autograd.grad(x1 * x2, x1, lg.ones_like(y), retain_graph=True)
    assert g.dtype == lg.float32


@pytest.mark.parametrize("name", ["real", "imag", "conj"])
def test_parts_of_complex_numbers(name):
    """They are linear primitives, not elementwise ones; their rules take one launch all the same."""
    x = lg.tensor([1 + 2j, 3 - 1j], dtype=lg.complex64, device="cuda", requires_grad=True)
    y = registry[name].op(x)
    g = lg.ones_like(y)
    found, count, names = _launched(lambda: lg.autograd.grad(y, x, g, retain_graph=True))
    assert found[0].tolist() == [{"imag": 1j}.get(name, 1)] * 2
    border = sum(n for kernel, n in names.items() if "conjugate" in kernel)  # of seeds and results
    assert count - border == 1, names


def test_cotangents_that_are_not_wanted_are_not_computed():
    x1, x2 = (lg.ones(3, device="cuda", requires_grad=True) for _ in range(2))
    y = x1 - x2
    g = lg.ones_like(y)
    (found,), count, names = _launched(lambda: lg.autograd.grad(y, [x1], g, retain_graph=True))
    assert count == 0, names  # x1's cotangent is g itself
    assert found.tolist() == [1, 1, 1]


def test_python_numbers_are_parameters(monkeypatch):
    x = lg.ones(3, device="cuda", requires_grad=True)
    for k in range(5):
        y = lg.multiply(x, 1.5 + k)
        assert lg.autograd.grad(y, x, lg.ones_like(y))[0].tolist() == [1.5 + k] * 3
    made = []
    monkeypatch.setattr(generated, "compiled", lambda kernel: made.append(kernel) or (lambda g, *saved: g))
    recipe = registry["multiply"].recipe((0,))
    pull, g = generated.pull(recipe, (True, False)), cupy.ones(3)
    for number in (1.5, 2.5, -0.0, 2, 3):
        pull(g, recipe.save(g, (g, number), {}), None)
    assert len(made) == 2  # of floats and of integers


def test_batched_cotangents_take_the_rules():
    x = lg.tensor([0.5, 1.5], device="cuda", requires_grad=True)
    y = lg.exp(x)
    (g,) = lg.autograd.grad(y, x, lg.asarray(np.eye(2, dtype="float32"), device="cuda"), is_grads_batched=True)
    np.testing.assert_allclose(cupy.asnumpy(g.array), np.diag(np.exp([0.5, 1.5])), rtol=1e-6)
