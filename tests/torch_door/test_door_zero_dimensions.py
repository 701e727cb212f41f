"""0-d tensors beside PyTorch: every function and every method that takes an axis, with 0, -1 and an axis too far.

What PyTorch answers has to be answered, with its values and shapes; an axis too far raises where it does there. The
functions are those that the recorded parameters say take an axis, so that none is forgotten.
"""

from functools import reduce

import numpy as np
import pytest
from door_parameters import read
from golden import peer

import lucidgrad as lg
import lucidgrad.torch as door

AXES = {"dim", "dims", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "destination"}
FAR = 1
PLACES = (0, -1, FAR)
SEVERAL = ((0,), (-1,), (), (FAR,))  # for functions that take many axes, and name them so

#: Arguments by the names of parameters, without which functions can't be called; texts are arrays, as `made` says.
GIVEN = {
    **dict.fromkeys("input tensor y x1 x2 a b other src".split(), "x"), "index": "i", "indices": "i",
    "chunks": 1, "k": 1, "q": 0.5, "p": 2.0, "maxnorm": 1.0, "value": 2.0, "start": 0, "length": 1, "repeats": 2,
    "shifts": 1, "sections": 1, "split_size_or_sections": 1, "split_sizes": [1], "sizes": [1], "reduce": "amax",
    "tensors": "several",
}  # fmt: skip

#: What some functions are given under these names, unlike the others.
MORE = {
    "select": {"index": 0}, "select_scatter": {"index": 0}, "index_add": {"source": "x"}, "index_copy": {"source": "x"},
    "index_reduce": {"source": "x"},
}  # fmt: skip

#: Functions in which a difference has a reason.
DIFFERENT = {
    "repeat_interleave": "PyTorch forgets that it took a 0-d tensor for a vector, and can't find the axis that it made",
    "tile": "its dims are numbers of repetitions",
    "tensordot": "its dims are a number of axes",
}


#: Functions that look at no axis of a single element, which they leave as it is.
CARELESS = "argsort cummax cummin log_softmax logcumsumexp nanquantile quantile softmax topk".split()


def made(m, value):
    if value == "x":
        return m.tensor(1.5, dtype=m.float64)
    if value == "i":
        return m.tensor(0)
    return (made(m, "x"),) if value == "several" else value


def places(axes):
    return PLACES + SEVERAL * ("dims" in axes or "destination" in axes)


def overloads():
    """Names of functions with their parameters that are required, and those that are axes."""
    for name, signatures in read().items():
        for i, (positional, named) in enumerate(signatures):
            axes = [p for p in (*positional, *named) if p in AXES]
            if axes and name not in DIFFERENT:
                yield pytest.param(name, positional, axes, id=f"{name}-{i}")


def arguments(name, positional, axes, place):
    """What a function is called with, by name; where things go and where they come from are axes, too."""
    known = {**GIVEN, "source": place, **MORE.get(name, {})}
    return {p: known[p] for p in positional if p in known} | dict.fromkeys(axes, place)


def outcome(function, m, given):
    """Shapes and values of what a call gives, or None if it raises."""
    try:
        y = function(**{name: made(m, value) for name, value in given.items()})
    except (IndexError, RuntimeError, TypeError, ValueError):
        return None
    parts = [y] if hasattr(y, "shape") else list(y)
    return [(tuple(part.shape), np.asarray(part.tolist())) for part in parts]


def same(name, one, two, place):
    if two is None:  # which is no answer, but for an axis that is not there
        return one is None or place not in (FAR, (FAR,)) or name.rpartition(".")[2] in CARELESS
    return (
        one is not None
        and len(one) == len(two)
        and all(a[0] == b[0] and np.allclose(a[1], b[1], equal_nan=True) for a, b in zip(one, two, strict=True))
    )


@pytest.mark.parametrize(("name", "positional", "axes"), list(overloads()))
@pytest.mark.filterwarnings("ignore")
def test_functions_of_the_door(name, positional, axes):
    torch = peer("torch")
    theirs, ours = (reduce(getattr, name.split("."), m) for m in (torch, door))
    for place in places(axes):
        given = arguments(name, positional, axes, place)
        expected, found = outcome(theirs, torch, given), outcome(ours, door, given)
        assert same(name, found, expected, place), (given, found, expected)


METHODS = [p for p in overloads() if hasattr(lg.Tensor, p.values[0]) and p.values[1][:1] in (["input"], ["tensor"])]


@pytest.mark.parametrize(("name", "positional", "axes"), METHODS)
@pytest.mark.filterwarnings("ignore")
def test_methods(name, positional, axes):
    torch = peer("torch")
    for place in places(axes):
        given = arguments(name, positional, axes, place)
        del given[positional[0]]
        found, expected = (outcome(getattr(made(m, "x"), name), m, given) for m in (lg, torch))
        assert same(name, found, expected, place), (given, found, expected)
