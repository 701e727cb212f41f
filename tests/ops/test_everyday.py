"""Everyday names beside PyTorch's: values and gradients of one table of expressions, in float64."""

import importlib.util
import json
import warnings

import everyday
import numpy as np
import pytest

import lucidgrad as lg

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None


@pytest.fixture(autouse=True)
def _in_double():
    lg.set_default_dtype(lg.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    lg.set_default_dtype(lg.float32)


def _differs(one, other):
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return f"{one.dtype}{one.shape} beside {other.dtype}{other.shape}"
    if one.dtype.kind in "US":
        return str(one) != str(other)
    return not np.allclose(one, other, rtol=1e-12, atol=1e-13, equal_nan=True)


def _all_differing(expected):
    """The expressions that give something else, with what."""
    found = {}
    for expression in everyday.expressions():
        mine = [part for parts in everyday.results(lg, expression) for part in parts]
        wanted = expected(expression)
        if len(mine) != len(wanted):
            found[expression] = f"{len(mine)} arrays beside {len(wanted)}"
        elif notes := [note for pair in zip(mine, wanted, strict=True) if (note := _differs(*pair))]:
            found[expression] = notes
    return found


def test_values_and_gradients_are_pytorchs():
    if torch is None:
        pytest.skip("PyTorch is not in the test extra")
    torch.set_default_dtype(torch.float64)
    try:
        differing = _all_differing(lambda e: [part for parts in everyday.results(torch, e) for part in parts])
    finally:
        torch.set_default_dtype(torch.float32)
    assert differing == {}


def test_values_and_gradients_are_the_recorded_ones():
    recorded = json.loads(everyday.RECORDED.read_text(encoding="utf-8"))
    assert list(recorded) == everyday.expressions(), "run `python tests/ops/everyday.py`"
    differing = {}
    for expression, wanted in recorded.items():
        for mine, theirs in zip(everyday.results(lg, expression), wanted, strict=True):
            for part, other in zip(map(everyday.projected, mine), theirs, strict=True):
                near = part[2:] == other[2:] or np.allclose(part[2:], other[2:], rtol=1e-11, atol=1e-11)
                if part[:2] != other[:2] or not near:
                    differing[expression] = part, other
    assert differing == {}
