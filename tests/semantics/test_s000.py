"""Lucid v3 ``autograd.grad``."""

import inspect
import itertools

import pytest

import lucidgrad as lg
from lucidgrad.autograd import grad

from .conftest import same, values

SEVEN = ["outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused"]


def test_S000_01_signature(leaf, const):
    """allow_unused defaults to None, by R7."""
    parameters = list(inspect.signature(grad).parameters.values())[:7]
    assert [p.name for p in parameters] == SEVEN
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    assert [p.default for p in parameters[2:]] == [None, None, False, True, None]

    x, seed = leaf([1.0, 2.0]), const([3.0, 5.0])
    y = x * x
    arguments = ([y], [x], [seed], True, False, True, False)
    same(grad(*arguments)[0], [6.0, 20.0])
    same(grad(**dict(zip(SEVEN, arguments, strict=True)))[0], [6.0, 20.0])


def test_S000_02_outputs_one_or_list(leaf):
    x = leaf([1.0, 2.0, 3.0])
    y = (x * x).sum()
    same(grad(y, [x], retain_graph=True)[0], [2.0, 4.0, 6.0])
    same(grad([y], [x], retain_graph=True)[0], [2.0, 4.0, 6.0])


def test_S000_03_inputs_one_or_list(leaf):
    x = leaf([1.0, 2.0, 3.0])
    y = (x * x).sum()
    same(grad(y, x, retain_graph=True)[0], [2.0, 4.0, 6.0])
    same(grad(y, [x], retain_graph=True)[0], [2.0, 4.0, 6.0])


def test_S000_04_always_a_tuple(leaf):
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    for inputs in (x, [x], (x,)):
        result = grad(y, inputs, retain_graph=True)
        assert type(result) is tuple
        (gx,) = result
        same(gx, [2.0, 4.0])


def test_S000_05_one_entry_per_input_in_order(leaf):
    a, b, c = leaf([2.0]), leaf([3.0, 4.0]), leaf([[5.0], [6.0]])
    y = (a * b * c).sum()  # (2,) * (2, 1): sum = a * sum(b) * sum(c)
    expected = {id(a): [77.0], id(b): [22.0, 22.0], id(c): [[14.0], [14.0]]}
    for inputs in itertools.permutations((a, b, c)):
        result = grad(y, inputs, retain_graph=True)
        assert len(result) == 3
        for x, g in zip(inputs, result, strict=True):
            same(g, expected[id(x)])


def test_S000_06_scalar_output_without_seed(leaf):
    x = leaf([1.0, -2.0, 3.0])
    same(grad((x * x).sum(), [x])[0], [2.0, -4.0, 6.0])


def test_S000_07_vector_output_with_ones(leaf):
    x = leaf([1.0, -2.0, 3.0])
    z = x * x
    same(grad(z, [x], grad_outputs=[lg.ones_like(z)])[0], [2.0, -4.0, 6.0])


def test_S000_08_vector_output_without_seed(leaf):
    x = leaf([1.0, -2.0, 3.0])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad(x * x, [x])


def test_S000_09_seeds_weight_outputs(leaf, const):
    x = leaf([1.0, -2.0, 3.0])
    square, double = x * x, 2 * x[:2]
    s1, s2 = const([1.0, 10.0, 100.0]), const([0.5, 4.0])
    (g,) = grad([square, double], [x], grad_outputs=[s1, s2], retain_graph=True)
    same(g, [2.0 + 1.0, -40.0 + 8.0, 600.0])
    (weighted,) = grad((s1 * square).sum() + (s2 * double).sum(), [x])
    same(weighted, values(g))


def test_S000_10_create_graph_second_derivative(leaf):
    x = leaf([1.0, -2.0, 3.0])
    y = (x**3).sum()
    (g,) = grad(y, [x], create_graph=True)
    same(g, [3.0, 12.0, 27.0])
    (gg,) = grad(g.sum(), [x])
    same(gg, [6.0, -12.0, 18.0])


def test_S000_11_without_create_graph_no_history(leaf):
    x = leaf([1.0, 2.0])
    m = x * 3
    for g in grad((m * m).sum(), [x, m]):
        assert g.requires_grad is False
        assert g.grad_fn is None
        assert g.is_leaf


def test_S000_12_retain_graph_follows_create_graph(leaf):
    x = leaf([1.0, 2.0])
    y = (x * x * x).sum()
    grad(y, [x], create_graph=True)
    same(grad(y, [x], create_graph=False)[0], [3.0, 12.0])
    with pytest.raises(RuntimeError, match="a second time"):
        grad(y, [x])


def test_S000_13_allow_unused_gives_none(leaf):
    a, unused, b = leaf([1.0, 2.0]), leaf([7.0]), leaf([3.0, 4.0])
    result = grad((a * b).sum(), [a, unused, b], allow_unused=True)
    same(result[0], [3.0, 4.0])
    assert result[1] is None
    same(result[2], [1.0, 2.0])


def test_S000_14_unreachable_input_raises(leaf):
    x, unused = leaf([1.0, 2.0]), leaf([7.0])
    with pytest.raises(RuntimeError, match="allow_unused=True"):
        grad((x * x).sum(), [x, unused], allow_unused=False)


@pytest.mark.parametrize("allow_unused", [None, False])
def test_S000_15_none_only_under_allow_unused(leaf, allow_unused):
    x, unused = leaf([1.5, -2.0]), leaf([7.0])
    with pytest.raises(RuntimeError):
        grad((x * x).sum(), [x, unused], allow_unused=allow_unused)
    # An input that is reached is used, whatever its derivative: never None.
    same(grad((x * 0).sum(), [x], allow_unused=allow_unused)[0], [0.0, 0.0])
    same(grad(lg.sign(x).sum(), [x], allow_unused=allow_unused)[0], [0.0, 0.0])
    same(grad(lg.sign(x).sum(), [x], allow_unused=True)[0], [0.0, 0.0])


def test_S000_16_no_grad_attribute_touched(leaf, const):
    requested, other, marked = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0])
    marked.grad = before = const([8.0, 9.0])
    requested_before = const([0.5, 0.25])
    y = (requested * other * marked).sum()
    grad(y, [requested], retain_graph=True)
    assert requested.grad is None
    assert other.grad is None
    assert marked.grad is before

    requested.grad = requested_before
    grad(y, [requested, marked])
    assert requested.grad is requested_before
    assert other.grad is None
    assert marked.grad is before
    same(requested_before, [0.5, 0.25])
    same(before, [8.0, 9.0])


def test_S000_17_repeating_never_accumulates(leaf, const):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    m = x * x
    seed = const([1.0, 2.0])
    z = m * w
    for _ in range(5):
        gx, gm = grad(z, [x, m], [seed], retain_graph=True)
        same(gx, [6.0, 32.0])
        same(gm, [3.0, 8.0])
        assert (x.grad, w.grad, m.grad) == (None, None, None)
        same(seed, [1.0, 2.0])


def test_S000_18_interior_inputs(leaf):
    x = leaf([1.0, -2.0])
    m = 3 * x
    gm, gx = grad((m * m).sum(), [m, x])
    same(gm, [6.0, -12.0])
    same(gx, [18.0, -36.0])


def test_S000_19_only_inputs_has_no_effect(leaf):
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x * w).sum()
    same(grad(y, [x], only_inputs=True, retain_graph=True)[0], [3.0, 4.0])
    with pytest.warns(FutureWarning):
        result = grad(y, [x], only_inputs=False)
    assert len(result) == 1
    same(result[0], [3.0, 4.0])
    assert x.grad is None
    assert w.grad is None


def test_S000_20_inside_a_larger_computation(leaf, const):
    # An inner step of gradient descent: theta' = theta - rate * d/dtheta (a theta - b)^2.
    theta, rate = leaf(1.5), 0.25
    (step,) = grad((2 * theta - 1) ** 2, [theta], create_graph=True)
    same(step, 8.0)
    updated = theta - rate * step
    (outer,) = grad((3 * updated - 1) ** 2, [theta])
    same(outer, 2 * (3 * (1.5 - rate * 8.0) - 1) * 3 * (1 - rate * 8))

    # Hessian times vector of sum(x1^2 x2): H = [[2 x2, 2 x1], [2 x1, 0]].
    x, v = leaf([3.0, 5.0]), const([7.0, 11.0])
    (g,) = grad(x[0] ** 2 * x[1], [x], create_graph=True)
    same(grad((g * v).sum(), [x])[0], [10.0 * 7 + 6.0 * 11, 6.0 * 7])


def test_S000_21_output_without_graph(leaf, const):
    x, c = leaf([1.0]), const([2.0])
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(c * 2, [x])
    with lg.no_grad():
        y = x * 2
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad(y, [x])
