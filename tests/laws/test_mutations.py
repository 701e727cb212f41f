"""Planted faults: each kind of mistake that a rule can have is caught by a law, and the rule without it passes all."""

import types

import pytest
from rows import ROWS
from samples import samples_of
from without_cuda import excuse

from lucidgrad.core.primitive import ELEMENTWISE, LINEAR, primitive, registry
from lucidgrad.levels.batching import shift_axis

from . import test_matrix  # noqa: F401  (it brings all laws into the table)
from .law import LAWS


@pytest.fixture
def declare():
    """Declare a primitive for the time of a test."""
    before = set(registry)

    def make(name, kind, program, **rules):
        program.__name__ = program.__qualname__ = name
        return primitive(kind, **rules)(program).primitive

    yield make
    for name in set(registry) - before:
        del registry[name]


def broken(made, samples):
    """The laws that a primitive breaks."""
    found = set()
    for law in LAWS.values():
        if law.applies(made):
            try:
                law.check(made, samples)
            except Exception as error:
                if excuse(error) is None:
                    found.add(law.name)
    return found


# -- programs to plant faults in -----------------------------------------------------------------------
def smooth_modulus(xp, x, /):
    return x * xp.tanh(x)


def running_sum(xp, x, /, *, axis=None, include_initial=False):
    return xp.cumulative_sum(x, axis=axis, include_initial=include_initial)


def right(xp, g, x):
    t = xp.tanh(x)
    return g * (t + x * (1 - t * t))


def wrong_factor(xp, g, x):
    return 2 * right(xp, g, x)


def lost_term(xp, g, x):
    return g * xp.tanh(x)


def slightly_off(xp, g, x):
    return right(xp, g, x) * (1 + 1e-6)


def without_history(xp, g, x):
    return right(xp, g, x.detach() if hasattr(x, "detach") else x)


def elementwise(declare, rule):
    made = declare(f"smooth_modulus_{rule.__name__}", ELEMENTWISE, _copy(smooth_modulus), vjp=rule, dtype="float")
    return broken(made, samples_of(made))


def _copy(program):
    """A function object of its own, as a name is set on it."""
    made = types.FunctionType(program.__code__, program.__globals__)
    made.__kwdefaults__ = program.__kwdefaults__
    return made


def scan(declare, name, batch):
    def rule(xp, g, x_meta, *, axis, include_initial):
        axis = 0 if axis is None else axis
        g = xp.flip(xp.cumulative_sum(xp.flip(g, axis=axis), axis=axis), axis=axis)
        first = (*(slice(None),) * (axis % len(x_meta.shape)), slice(1, None))
        return xp.index(g, key=first) if include_initial else g

    made = declare(name, LINEAR, _copy(running_sum), vjp=rule, batch=batch)
    return broken(made, [s for s in ROWS["cumulative_sum"] if s.keywords.get("axis") is not None])


def unshifted(call, values, batched, keywords):
    return call(*values, **keywords)


# -- the five faults -----------------------------------------------------------------------------------
def test_right_elementwise_rule_breaks_no_law(declare):
    assert elementwise(declare, right) == set()


def test_right_batching_breaks_no_law(declare):
    assert scan(declare, "running_sum_shifted", shift_axis) == set()


def test_wrong_factor_is_caught(declare):
    assert {"gradcheck", "jvp is finite difference"} <= elementwise(declare, wrong_factor)


def test_lost_term_is_caught(declare):
    assert {"gradcheck", "jvp is finite difference"} <= elementwise(declare, lost_term)


def test_wrong_axis_in_batching_is_caught(declare):
    assert "vmap is a loop" in scan(declare, "running_sum_unshifted", unshifted)


def test_scale_error_of_a_millionth_is_caught(declare):
    assert {"gradcheck", "jvp is finite difference"} <= elementwise(declare, slightly_off)


def test_rule_that_drops_history_is_caught(declare):
    found = elementwise(declare, without_history)
    assert "gradgradcheck" in found
    assert "gradcheck" not in found  # the first order is right: only the second one shows it
