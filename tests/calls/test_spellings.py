"""However an axis is spelled, it means the same: axis, axes, dim, dims; keepdims, keepdim; and by position.

Nothing is listed: every public function and method with such a parameter is called in all ways.
"""

import inspect

import callables
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.spelling import FAMILIES

#: What an axis may be: one, or several.
VALUES = {"keep": (True,), "axis": (1, 0, -1, (0, 1), (1, 0), [0], 2)}
#: Sources of arguments before an axis, beside those that are known to work.
MORE = ("X(2,3)", "X(3,3),2", "X(2,3),X(2,3)", "X(2,3),0.5", "[X(2,3),X(2,3)]", "X(4,4,4)", "X(4,4),1", "X(2,4),(2,2)")
PLACES_LEFT_OUT = ("cuda", "distributions", "files", "optim", "utils", "nn.utils", "autograd", "func", "random")


def numbers(y):
    """All values of a result."""
    if isinstance(y, (tuple, list)):
        return [part for each in y for part in numbers(each)]
    return [np.asarray(y.detach()) if isinstance(y, lg.Tensor) else np.asarray(y)]


def result(function, args, keywords):
    try:
        with callables.restored():
            lg.manual_seed(0)
            own = [a.detach().clone() if isinstance(a, lg.Tensor) else a for a in args]  # which may be written into
            return numbers(function(*own, **keywords))
    except Exception:
        return None


def same(a, b):
    return b is not None and len(a) == len(b) and all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b))


def spelled():
    """(name, function, parameter, family) of all that has an axis."""
    for name, function in callables.public().items():
        if isinstance(function, type) or name.endswith(".forward") or name.startswith(PLACES_LEFT_OUT):
            continue
        found = {p.name: p for p in callables.parameters(function)}
        for family in FAMILIES:
            own = [p for n, p in found.items() if n in family]
            if len(own) == 1 and own[0].kind is not inspect.Parameter.VAR_POSITIONAL:
                yield name, function, own[0], family


def working(name, function, parameter, family, known):
    """Arguments without the parameter, and a value for it, with which the function works."""
    kind = "keep" if family[0] == "keepdims" else "axis"
    for source in (*known.get(name, ()), *MORE):
        call = callables.Call(name, function, source)
        try:
            args, keywords = call.arguments()
            given = inspect.signature(function).bind_partial(*args, **keywords).arguments
        except (TypeError, NameError):
            continue
        names = list(inspect.signature(function).parameters)
        place = names.index(parameter.name)
        if parameter.name in given and place < len(args):
            keywords = {**keywords, **{n: given[n] for n in names[place + 1 :] if n in given}}
            args = args[:place]
        for value in VALUES[kind]:
            for more in ({}, {"dim": 1}, {"axis": 1}) if kind == "keep" else ({},):
                keywords = {k: v for k, v in keywords.items() if k != parameter.name}
                if result(function, args, {**keywords, **more, parameter.name: value}) is not None:
                    return args, {**keywords, **more}, value
    return None


def test_every_spelling_means_the_same():
    known: dict[str, list[str]] = {}
    for call in callables.working():
        known.setdefault(call.name, []).append(call.source)
    tried, wrong, silent = 0, [], []
    for name, function, parameter, family in spelled():
        found = working(name, function, parameter, family, known)
        if found is None:
            silent.append(f"{name}({parameter.name})")
            continue
        args, keywords, value = found
        own = parameter.name
        wanted = result(function, args, {**keywords, own: value})
        for other in family:
            tried += 1
            if not same(wanted, result(function, args, {**keywords, other: value})):
                wrong.append(f"{name}({other}={value})")
            if other != own:
                try:
                    function(*args, **{**keywords, own: value, other: value})
                    wrong.append(f"{name}({own}={value}, {other}={value}) is accepted")
                except TypeError as error:
                    if "which are one argument" not in str(error):
                        wrong.append(f"{name}({own}={value}, {other}={value}): {error}")
        place = list(inspect.signature(function).parameters).index(own)
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and place == len(args) and not keywords:
            tried += 1
            if not same(wanted, result(function, (*args, value), {})):
                wrong.append(f"{name}({value}) by position")
    assert wrong == []
    assert tried > 800
    assert len(silent) < 12, silent


@pytest.mark.parametrize("wrong", [{"axos": 1}, {"dimension": 0}])
def test_other_names_are_refused_as_python_does(wrong):
    (word,) = wrong
    for function in (lg.sum, lg.median, lg.fft.fft, lg.Tensor.sum, lg.Tensor.flip, lg.concat):
        with pytest.raises(TypeError, match=f"{word}"):
            function(lg.ones((2, 2)), **wrong)


def test_a_sequence_by_name_or_as_arguments():
    x = lg.reshape(lg.arange(6), (2, 3))
    assert x.permute(1, 0).tolist() == x.permute((1, 0)).tolist() == x.permute(dims=[1, 0]).tolist()
    assert x.flip(0, 1).tolist() == x.flip([0, 1]).tolist() == x.flip(dims=(0, 1)).tolist() == lg.flip(x).tolist()
    assert x.flip(()).tolist() == x.flip(dims=()).tolist() == x.tolist()
    assert x.reshape(3, 2).shape == x.reshape(shape=(3, 2)).shape == x.view(size=(3, 2)).shape == (3, 2)
    assert x.expand(4, 2, 3).shape == x.expand(size=(4, 2, 3)).shape == (4, 2, 3)
    assert x.repeat(2, 1).shape == x.repeat(repeats=(2, 1)).shape == x.tile(dims=(2, 1)).shape == (4, 3)
    assert x.new_zeros(2, 1).shape == x.new_zeros(size=(2, 1)).shape == (2, 1)
    with pytest.raises(TypeError, match="'dims' by position and 'dims', which are one argument"):
        x.flip(0, dims=1)
