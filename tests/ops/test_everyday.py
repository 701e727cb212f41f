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


#: Expressions that can't be mapped: their results' sizes, or where they write, depend on what differs.
NOT_MAPPED = ("unique(dim", "histogramdd", "n) + 0).logical_")


def test_maps_are_loops_and_tangents_are_gradients():
    wrong = {}
    for expression in everyday.expressions():
        names = [n for n in everyday.names_in(expression) if everyday.GIVEN[n].dtype.kind in "fc"]
        if not names or {"odd", "w", "ranks"} & set(names) or any(part in expression for part in NOT_MAPPED):
            continue
        xs = [lg.asarray(np.stack([everyday.GIVEN[n], everyday.GIVEN[n] * 0.93 + 0.01])) for n in names]

        def function(*values, names=names, expression=expression):
            return everyday.tensors(lg, expression, dict(zip(names, values, strict=True)))

        rows = [function(*(x[k] for x in xs)) for k in range(2)]
        found = lg.vmap(function)(*xs) if rows[0] else ()
        if any(not np.allclose(y.numpy(), np.stack([a.numpy(), b.numpy()])) for y, a, b in zip(found, *rows)):
            wrong[expression] = "vmap"
        leaves = [x[0].clone().requires_grad_() for x in xs]
        along = [lg.asarray(np.cos(np.arange(x.numel())).reshape(x.shape)).to(x.dtype) for x in leaves]
        tangents = lg.func.jvp(function, tuple(x.detach() for x in leaves), tuple(along))[1] if rows[0] else ()
        for y, t in zip(function(*leaves), tangents, strict=True):
            if y.requires_grad and not y.is_complex() and "1e-310" not in expression:
                w = lg.asarray(np.sin(np.arange(y.numel()) + 1.0).reshape(y.shape))
                slopes = lg.autograd.grad((y * w).sum(), leaves, materialize_grads=True)
                right = sum(float(lg.real(lg.conj(g) * a).sum()) for g, a in zip(slopes, along, strict=True))
                if float((t * w).sum()) != pytest.approx(right, rel=1e-9, abs=1e-10):
                    wrong[expression] = "jvp"
    assert wrong == {}
