"""The door's functions take PyTorch's parameters, by position and by name, and say what is missing or unknown."""

import copy
import importlib.util
import inspect
import json
import os
import pickle
import subprocess
import sys

import door_parameters
import pytest
from thoroughness import NIGHTLY

import lucidgrad.torch as door
from lucidgrad.torch.making import SPELLINGS

#: Overloads whose parameters stand in other places: what they mean is told by the arguments themselves.
BY_MEANING = {
    "as_tensor": "the stubs allow positions that the function itself refuses",
    "subtract": "alpha by position stands in the stubs, and is for numbers alone",
    "tensor": "the stubs allow positions that the function itself refuses",
    "arange": "(end): one number is the end",
    "max": "(input, other): a tensor in the place of dim",
    "min": "(input, other): a tensor in the place of dim",
    "randint": "(high, size): a size in the place of high",
    "randint_like": "(input, high): one number is the upper bound",
    "repeat_interleave": "(repeats): numbers alone",
    "result_type": "(scalar, tensor): in any order",
    "std": "(input, unbiased): a bool in the place of dim",
    "std_mean": "(input, unbiased): a bool in the place of dim",
    "var": "(input, unbiased): a bool in the place of dim",
    "var_mean": "(input, unbiased): a bool in the place of dim",
}


def found(name):
    value = door
    for part in name.split("."):
        value = getattr(value, part)
    return value


def own(name, parameters):
    """The door's name of a parameter; empty where it has none."""
    return next((n for n in (name, *SPELLINGS.get(name, ())) if n in parameters), "")


def test_parameters_are_known_by_pytorchs_names():
    unknown = {}
    for name, overloads in door_parameters.read().items():
        parameters = inspect.signature(found(name)).parameters
        for by_position, by_name in overloads:
            missing = [p for p in (*by_position, *by_name) if not own(p, parameters)]
            if missing:
                unknown.setdefault(name, []).extend(missing)
    assert unknown == {"result_type": ["scalar", "scalar1", "scalar2"]}  # tensors and numbers in any order


def test_parameters_are_in_pytorchs_places():
    moved = {}
    for name, overloads in door_parameters.read().items():
        parameters = inspect.signature(found(name)).parameters
        several = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
        order = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for by_position, _ in overloads:
            mine = [own(p, parameters) for p in by_position]
            if not several and mine != order[: len(mine)]:
                moved[name] = mine
    assert moved.keys() == BY_MEANING.keys()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not in the test extra")
def test_the_recorded_parameters_are_pytorchs():
    torch = importlib.import_module("torch")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("another version than the recorded one")
    recorded = dict(line.split(": ", 1) for line in door_parameters.RECORDED.read_text(encoding="utf-8").splitlines())
    assert {n: " | ".join(o) for n, o in door_parameters.installed(recorded).items()} == recorded


def test_missing_and_unknown_arguments_are_named():
    places = {"": door, "linalg.": door.linalg, "fft.": door.fft, "special.": door.special}
    for place, space in places.items():
        for name in space._TABLE.heads():
            function = found(place + name)
            parameters = inspect.signature(function).parameters.values()
            required = [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
            if required:
                with pytest.raises(TypeError, match="missing"):
                    function()
            named = {p.name: 2 for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
            with pytest.raises(TypeError, match="wooden"):
                function(*[door.ones(2, 2) for _ in required], wooden=1, **named)
            for count in range(1, len(required)):
                with pytest.raises(TypeError, match="missing"):
                    function(*[door.ones(2, 2) for _ in range(count)], **named)


def test_other_spellings():
    x = door.tensor([[3.0, 1.0], [2.0, 5.0]])
    assert door.sum(x, axis=1, keepdims=True).tolist() == [[4.0], [7.0]]
    assert door.sum(x=x).item() == door.sum(a=x).item() == 11.0
    assert door.zeros(size=(2, 3)).shape == door.zeros(size=[2, 3]).shape == (2, 3)
    with pytest.raises(TypeError, match="one argument"):
        door.sum(x, 1, axis=1)
    with pytest.raises(TypeError, match="dims"):
        door.sum(x, dims=1)


def test_wrong_arguments_are_described():
    x = door.ones(2, 3)
    for call, words in {
        "door.sum([1, 2])": "a Tensor as input",
        "door.sum(x, dim='a')": "as dim",
        "door.cat((x, x), dim='a')": "as dim",
        "door.matmul(x, x)": "last axis",
        "door.zeros(2, 3, layout='torch.sparse_coo')": "dense",
        "door.searchsorted(x, x, right=True, side='left')": "one of them",
        "door.mean(door.ones(2, dtype=door.int64))": "floating-point",
        "door.arange()": "end",
        "door.randint(size=(2,))": "high",
    }.items():
        with pytest.raises((TypeError, ValueError, RuntimeError, IndexError), match=words):
            eval(call, {"door": door, "x": x})


def test_functions_have_documentation_and_can_be_pickled():
    for name in ("sum", "max", "zeros", "linalg.eigh"):
        function = found(name)
        assert name.rpartition(".")[2] in function.__doc__
        assert pickle.loads(pickle.dumps(function)) is function is copy.deepcopy(function)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is bounded in Linux's way")
def test_no_wrong_call_ends_inside(tmp_path):
    script = os.path.join(os.path.dirname(door_parameters.__file__), "door_wrong_calls.py")
    every = 2 if NIGHTLY else 40
    ended = subprocess.run([sys.executable, script, str(every)], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["tried"] > (30_000 if NIGHTLY else 1500)
    assert not told["found"], "\n".join([f"{len(told['found'])} of {told['tried']}", *told["found"][:40]])
