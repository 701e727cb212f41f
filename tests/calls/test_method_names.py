"""Every method takes PyTorch's names of its parameters, and an argument by name is the same as by position."""

import importlib.util
import warnings

import callables
import numpy as np
import pytest

import lucidgrad as lg
from tools import signatures

RECORDED = signatures.read()
#: Parameters that a method does not take, and why; ``*`` are all methods.
EXCEPTIONS = {
    ("*", "out"): "a result has its own memory: write it with copy_",
    ("view", "dtype"): "the bits of a tensor are not given another meaning; x.array.view(dtype) of NumPy's does",
}
#: Methods that tell where something is, draw numbers, need a GPU, or tell arguments by their kinds.
SET_ASIDE = {"cuda", "data_ptr", "new", "random_", "record_stream"}


def methods():
    return [name for name in RECORDED if callable(getattr(lg.Tensor, name, None)) and name not in SET_ASIDE]


def takes(name, parameter):
    """Whether a method knows a name: it is asked."""
    try:
        with warnings.catch_warnings(), callables.restored():
            warnings.simplefilter("ignore")
            getattr(lg.ones((3, 3)), name)(**{parameter: None})
    except Exception as error:
        while error.__cause__ is not None:
            error = error.__cause__
        return f"unexpected keyword argument '{parameter}'" not in str(error)
    return True


def test_every_name_of_a_parameter_is_known():
    tried, unknown = 0, []
    for name in methods():
        for parameter in {p.lstrip("*") for way in RECORDED[name] for p in way} - {""}:
            tried += 1
            excused = (name, parameter) in EXCEPTIONS or ("*", parameter) in EXCEPTIONS
            if takes(name, parameter) == excused and not (excused and ("*", parameter) in EXCEPTIONS):
                unknown.append(f"{name}({parameter}=)" + " is known after all" * excused)
    assert unknown == []
    assert tried > 500


def same(a, b):
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, lg.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a.array, b.array, equal_nan=True)
    return a is b or np.array_equal(a, b) or str(a) == str(b)


def ways(name, count):
    """The names that so many arguments after the tensor may have."""
    for way in RECORDED.get(name, ()):
        placed = way[: way.index("*")] if "*" in way else way
        one = [p[1:] for p in placed if p.startswith("*")]
        if not one and len(placed) >= count and not any((name, p) in EXCEPTIONS for p in placed[:count]):
            yield placed[:count]
        elif one and count == 1:
            yield one


def drawn(name):
    return (
        name.removesuffix("_") in ("bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "uniform")
        or name == "multinomial"
    )


def test_by_name_is_as_by_position():
    tried, wrong = 0, []
    for call in callables.working():
        place, _, name = call.name.rpartition(".")
        if place not in ("Tensor", "") or not hasattr(lg.Tensor, name) or drawn(name) or name in SET_ASIDE:
            continue
        args, keywords = call.arguments()
        if not args or not isinstance(args[0], lg.Tensor) or keywords:
            continue
        try:
            wanted = getattr(args[0], name)(*args[1:])
        except Exception:  # a function whose method is called in another way
            continue
        for names in ways(name, len(args) - 1):
            again, _ = call.arguments()
            tried += len(names) > 0
            try:
                found = getattr(again[0], name)(**dict(zip(names, again[1:], strict=True)))
            except Exception as error:
                wrong.append(f"{name}({', '.join(names)}): {error}")
                continue
            if not same(found, wanted):
                wrong.append(f"{name}({', '.join(names)}): another result")
    assert wrong == []
    assert tried > 200


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_the_record_is_that_of_the_installed_pytorch():
    torch = importlib.import_module("torch")
    version = signatures.RECORDED.read_text(encoding="utf-8").split()[1]
    if not torch.__version__.startswith(version):
        pytest.skip(f"recorded from PyTorch {version}")
    assert signatures.installed() == RECORDED
