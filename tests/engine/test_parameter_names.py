"""Primitives may call their keywords what they like: operators, rules and forward mode have names of their own."""

import pytest

import lucidgrad as lg
from lucidgrad.core import operators
from lucidgrad.core.primitive import ELEMENTWISE, primitive, registry

NAMES = ["state", "lead", "kind", "kernel", "out", "big", "now", "told", "new", "a0", "n0", "P", "Tensor", "s", "t"]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    before = dict(registry)
    yield
    registry.clear()
    registry.update(before)


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_keyword_works(name):
    scope = {"primitive": primitive, "ELEMENTWISE": ELEMENTWISE}
    exec(
        f"@primitive(ELEMENTWISE, vjp=lambda xp, g, *, {name}: g * {name})\n"
        f"def scaled_by_{name}(xp, x, /, *, {name}): return x * {name}\n",
        scope,
    )
    made = registry[f"scaled_by_{name}"]
    made.op = operators.compile_op(made)
    x = lg.asarray([1.0, 2.0]).requires_grad_()
    y = made.op(x, **{name: 3.0})
    assert y.tolist() == [3.0, 6.0]
    assert lg.autograd.grad(y.sum(), x)[0].tolist() == [3.0, 3.0]
    assert lg.func.jvp(lambda x: made.op(x, **{name: 3.0}), (x.detach(),), (lg.ones(2),))[1].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", ["g", "y", "_kind"])
def test_names_that_rules_read_are_refused(name):
    scope = {"primitive": primitive, "ELEMENTWISE": ELEMENTWISE}
    with pytest.raises(TypeError, match="a parameter is called"):
        exec(f"@primitive(ELEMENTWISE)\ndef wrong(xp, x, /, *, {name}): return x\n", scope)
