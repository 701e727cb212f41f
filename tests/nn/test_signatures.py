"""Every public name that PyTorch has, too, takes the same arguments with the same defaults."""

import importlib
import inspect
import re

import pytest
from golden import ask, peer

import lucidgrad as lg

PLACES = ["nn", "nn.functional", "nn.init", "nn.utils"]
PLACES += [f"nn.utils.{name}" for name in ("fusion", "parametrizations", "parametrize", "prune", "rnn", "stateless")]

#: Where arguments differ, and why.
DIFFERENT: dict[tuple[str, str], str] = {
    ("nn.functional", "multi_head_attention_forward"): "batch_first is one more: the layer then moves no axes",
}


def _public(place):
    module = importlib.import_module(f"lucidgrad.{place}")
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and getattr(value, "__module__", "").startswith(f"lucidgrad.{place}")
    }


def _default(value):
    if value is inspect.Parameter.empty:
        return "required"
    if isinstance(value, (bool, str, int, float, tuple, list, type(None))):
        return value
    return "an object"


def _arguments(function):
    """Names and defaults; those that take any number of arguments by how they are called."""
    made = []
    for p in inspect.signature(function).parameters.values():
        if p.name in ("self", "cls"):
            continue
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        made.append((p.name, _default(p.default)))
    return made


def _documented(function, name):
    """Arguments of a compiled function, from the first line of its documentation."""
    found = re.match(rf"\s*{name}\((.*?)\)\s*->", function.__doc__ or "", re.DOTALL)
    if found is None:
        return None
    made = []
    for part in found[1].split(","):
        key, _, default = part.partition("=")
        key = key.strip()
        if key and key != "*":
            made.append((key, _default(eval(default)) if default.strip() else "required"))
    return made


def _made_by(value):
    """What is called to make an instance, or the function itself."""
    if not inspect.isclass(value):
        return value
    return value.__new__ if "__new__" in vars(value) else value.__init__


def _theirs(module, name):
    """PyTorch's arguments, or None where it does not say which they are, or has no such name."""
    if not hasattr(module, name):
        return None
    function = _made_by(getattr(module, name))
    try:
        kinds = {p.kind for p in inspect.signature(function).parameters.values() if p.name != "self"}
    except ValueError:
        return _documented(function, name)
    if kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        # one of two functions is chosen, by whether indices are wanted; others just pass their arguments on
        chosen = getattr(module, f"{name}_with_indices", None)
        return None if chosen is None else _arguments(chosen)
    return _arguments(function)


@pytest.mark.parametrize("place", PLACES)
def test_the_arguments_are_pytorchs(place):
    own = {name: _arguments(_made_by(value)) for name, value in _public(place).items()}
    them = {name: lambda module, name=name: _theirs(module, name) for name in sorted(own)}
    found = {name: ask(peer(f"torch.{place}"), theirs, name) for name, theirs in them.items()}
    differing = {name for name, expected in found.items() if expected is not None and expected != own[name]}
    assert differing == {name for where, name in DIFFERENT if where == place}
    assert any(found.values())


def test_exceptions_are_names():
    assert all(name in _public(place) for place, name in DIFFERENT)


def test_every_public_name_is_documented_with_an_example():
    for place in PLACES:
        for name, value in _public(place).items():
            assert value.__doc__, f"{place}.{name}"
            if not name.endswith("Base"):  # what others derive from can't be called itself
                assert ">>>" in value.__doc__, f"{place}.{name} has no example"


@pytest.mark.parametrize("place", ["nn", "nn.functional", "nn.init", "nn.utils"])
def test_all_lists_the_public_names(place):
    module = importlib.import_module(f"lucidgrad.{place}")
    missing = set(_public(place)) - set(module.__all__)
    assert missing == set()
    assert all(hasattr(module, name) for name in module.__all__)


def test_nn_is_loaded_on_demand():
    assert lg.nn.Linear is importlib.import_module("lucidgrad.nn").Linear
