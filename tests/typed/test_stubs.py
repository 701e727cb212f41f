"""The stubs are as they are written, and what they say is so at run time."""

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

from calls.callables import LEFT_OUT, Call, restored, valid

import lucidgrad as lg
from tools import stubs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

#: How many annotations say ``Any``: what functions of other people take and give (most of them in the door for HIPS
#: autograd, whose operators are about nothing else), raw arrays, and what was saved.
LOOSE = 117


def test_committed():
    """In an interpreter of its own: other tests leave names behind."""
    check = subprocess.run([sys.executable, "-m", "tools.stubs", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert check.returncode == 0, f"run `python -m tools.stubs`: {check.stdout}{check.stderr}"


def test_loose():
    assert sum(map(stubs.loose, stubs.stubs().values())) <= LOOSE < stubs.loose_in_code() / 20


def test_agreement():
    command, paths = [sys.executable, HERE / "agreement.py"], os.environ | {"PYTHONPATH": str(ROOT)}
    found = subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("", "")


def test_run_time_face():
    """What Python itself shows has not changed: signatures, documentation, and names to complete."""
    assert str(inspect.signature(lg.tanh)) == "(x: Any, /)"
    assert (
        str(inspect.signature(lg.sum)) == "(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False)"
    )
    assert "Hyperbolic tangent" in lg.tanh.__doc__
    assert {*lg.__all__, "core", "ops"} <= set(dir(lg))
    assert [name for name in lg.__all__ if not hasattr(lg, name)] == []


# -- what functions take -----------------------------------------------------------------------------
def heads():
    """Every function of the stubs with its full name: once for each overload."""
    for name in (*stubs.MODULES, lg.Tensor.__module__):
        module = importlib.import_module(name)
        tree = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text())
        for part in tree.body:
            if isinstance(part, ast.FunctionDef):
                yield module, part
            elif isinstance(part, ast.ClassDef) and part.name == "Tensor":
                yield from ((lg.Tensor, method) for method in part.body if isinstance(method, ast.FunctionDef))


def test_keywords():
    """Each parameter of each overload can be given by its name, where the stub says so."""
    unknown = []
    for owner, head in heads():
        function = vars(owner).get(head.name) or getattr(owner, head.name)
        if isinstance(inspect.getattr_static(owner, head.name), property):
            continue
        names = [a.arg for a in (*head.args.args, *head.args.kwonlyargs) if a.arg != "self"]
        unknown += [f"{head.name}({name}=)" for name in names if not stubs.takes(function, name)]
    assert unknown == []


# -- what they give ----------------------------------------------------------------------------------
PRELUDE = """
import lucidgrad as lg
import numpy as np
from io import BytesIO
from calls.callables import *
from calls.callables import _Twice as Twice
nn = lg.nn
W, O = R(3), sgd()
"""
PLACES = ("Tensor", *(name.removeprefix("lucidgrad.") for name in stubs.MODULES[1:]))
ELSEWHERE = {"Tensor.record_stream": "needs a device with streams", **LEFT_OUT}


#: Calls beside those: where the usual ones work by chance alone, and in other words.
MEANT = {
    "Tensor.broadcast_to": ["X(2,3),4,2,3", "X(2,3),(4,2,3)"],
    "Tensor.index_put_": ["X(2,3),[I(2)],0"],
    "Tensor.max": ["X(2,3),dim=0,keepdim=True", "X(2,3),axis=(0,1)"],
    "Tensor.register_hook": ["R(2),lambda g: 2*g"],
    "Tensor.register_post_accumulate_grad_hook": ["R(2),lambda x: None"],
    "Tensor.sum": ["X(2,3),dim=0,keepdim=True", "X(2,3),axis=0,keepdims=True", "X(2,3),0,dtype=lg.float64"],
    "Tensor.to_device": ["X(2),'cpu'"],
    "astype": ["X(2,3),lg.float64", "I(3),float"],
    "can_cast": ["X(2),lg.float64"],
    "cat": ["[X(2,3),X(2,3)],1"],
    "column_stack": ["[X(2,3),X(2,3)]"],
    "cumsum": ["X(2,3),dim=0"],
    "dstack": ["[X(2,3),X(2,3)]"],
    "func.grad": ["square", "square,argnums=(0,)"],
    "func.grad_and_value": ["square"],
    "func.hessian": ["square"],
    "func.jacfwd": ["square"],
    "func.jacrev": ["square"],
    "func.value_and_grad": ["square"],
    "func.vmap": ["square,(0,),randomness='same'"],
    "hstack": ["[X(2,3),X(2,3)]"],
    "index_put": ["X(2,3),[I(2)],0"],
    "isdtype": ["lg.float32,'real floating'"],
    "mean": ["X(2,3),dim=0,keepdim=True"],
    "nn.functional.threshold": ["X(2,3),0.5,1.0"],
    "nn.functional.threshold_": ["X(2,3),0.5,1.0"],
    "promote_types": ["lg.float32,lg.float64"],
    "quantile": ["X(2,3),[0.1,0.9],dim=0"],
    "randint": ["0,3,(2,3)"],
    "roll": ["X(2,3),1,0", "X(2,3),1,dim=0"],
    "select": ["[B(2,3)],[X(2,3)]"],
    "set_default_dtype": ["lg.float64"],
    "stack": ["[X(2,3),X(2,3)],dim=1", "X(2),X(2),axis=0"],
    "threshold": ["X(2,3),0.5,1.0"],
    "use_deterministic_algorithms": ["False"],
    "vmap": ["square,(0,),randomness='same'"],
    "vstack": ["[X(2,3),X(2,3)]"],
}


def typed(name):
    """Whether a callable's type is in a stub: a function of a module that has one, or a method."""
    place = name.rpartition(".")[0]
    return name not in ELSEWHERE and (place in PLACES or not place) and not isinstance(_found(name), type)


def _found(name):
    found = lg
    for part in name.split("."):
        found = getattr(found, part)
    return found


def matches(text, value):
    """Whether a value is of a type that mypy wrote down."""
    text = text.strip()
    if text == "Any":
        return True
    if " | " in re.sub(r"\[.*\]", "", text):
        return any(matches(part, value) for part in text.split(" | "))
    if text.startswith(("def ", "Overload(")):
        return callable(value)
    fallback = re.fullmatch(r"tuple\[.*, fallback=([\w.]+)\]", text)
    if fallback:
        return f"{type(value).__module__}.{type(value).__qualname__}" == fallback[1]
    if text.startswith("tuple["):
        parts = stubs._parts(text[6:-1])
        parts = [parts[0]] * len(value) if parts[1:] == ["..."] else parts
        return type(value) is tuple and len(value) == len(parts) and all(map(matches, parts, value))
    plain = re.sub(r"\[.*\]", "", text)
    if plain == "None":
        return value is None
    module, _, name = plain.rpartition(".")
    kind = getattr(importlib.import_module(module or "builtins"), name)
    return type(value) is kind if kind is lg.Tensor else isinstance(value, kind)


def test_calls(tmp_path, mypy, monkeypatch):
    """Of calls that work, mypy takes some of each function, and knows the types of their results."""
    calls = [call for call in valid(2) if typed(call.name)]
    calls += [Call(name, _found(name), source) for name, sources in MEANT.items() for source in sources]
    start = PRELUDE.count("\n") + 1
    lines = [f"reveal_type(lg.{call.name}({call.source}))" for call in calls]
    file = tmp_path / "every_call.py"
    file.write_text(PRELUDE + "\n".join(lines) + "\n")
    done = mypy(file)
    refused = {int(line) - start for line in re.findall(r"every_call\.py:(\d+): error: ", done.stdout)}
    told = {
        int(line) - start: text
        for line, text in re.findall(r'every_call\.py:(\d+): note: Revealed type is "(.*)"', done.stdout)
    }
    monkeypatch.chdir(tmp_path)  # where a file is saved
    wrong, taken = [], set()
    for i, call in enumerate(calls):
        if i in refused:
            continue
        taken.add(call.name)
        args, keywords = call.arguments()
        with restored():
            value = call.function(*args, **keywords)
        if not matches(told[i], value):
            wrong.append(f"{lines[i]}: {type(value).__name__}, not {told[i]}")
    assert not wrong, "\n".join(wrong)
    refused_always = {call.name for call in calls} - taken
    assert not refused_always, " ".join(sorted(refused_always))
    assert len(taken) > 500
