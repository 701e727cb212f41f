"""What the page of names does not call different has PyTorch's meaning: all calls of the table give its values."""

import warnings

import numpy as np
import pytest
from expressions import arguments, expressions, name_of, names_in, torch

import lucidgrad as lg
from tools.names import MAKING
from tools.reasons import DIFFERENT

#: Other than by meaning: random numbers, addresses, and texts that name the library.
OTHERWISE = """rand normal bernoulli binomial poisson multinomial dropout rrelu uniform bfloat16 data_ptr empty
promote_types lstsq""".split()


def _different(*places):
    return {name for place in places for names in DIFFERENT[place] for name in names.split()}


def _value(library, expression):
    scope = {"lg": library, **arguments(library, names_in(expression))}
    found = list(_arrays(eval(expression, scope), library.Tensor))
    # what is found from random numbers has any signs: singular vectors have none of their own
    return list(map(np.abs, found)) if "lowrank" in expression else found


def _arrays(value, tensor):
    if isinstance(value, tensor):
        yield value.detach().resolve_conj().numpy(force=True)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _arrays(part, tensor)
    else:
        yield np.asarray(value if isinstance(value, (bool, int, float, np.ndarray)) else str(value))


def _same(one, other):
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return False
    return str(one) == str(other) if one.dtype.kind in "US" else np.allclose(one, other, rtol=1e-6, equal_nan=True)


@pytest.mark.skipif(torch is None, reason="beside PyTorch")
def test_names_that_are_not_different_mean_the_same():
    named = {True: _different("torch", MAKING), False: _different("Tensor")}
    compared, other = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression in expressions():
            at_root = expression.startswith("lg.")
            if expression.startswith(("nn.", "F.", "special.")) or name_of(expression) in named[at_root]:
                continue
            if any(word in expression for word in OTHERWISE):
                continue
            try:
                theirs = _value(torch, expression)
            except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):
                continue  # not PyTorch's words
            compared += 1
            ours = _value(lg, expression)
            if len(ours) != len(theirs) or not all(map(_same, ours, theirs)):
                other.append(expression)
    assert other == []
    assert compared > 700
