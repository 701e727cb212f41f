"""The stubs are as they are written, and what they say is so at run time."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from calls.callables import LEFT_OUT, restored, valid

import lucidgrad as lg
from tools import stubs

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

#: In the annotations of the public modules there were this many before they had stubs, parameters without one counted.
LOOSE_BEFORE = 1556
LOOSE = 43

MYPY = (sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary")
PATHS = os.environ | {"MYPYPATH": f"{ROOT}:{ROOT / 'tests'}", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}


def test_committed():
    assert stubs.differing() == [], "run `python -m tools.stubs`"


def test_loose():
    assert sum(map(stubs.loose, stubs.stubs().values())) <= LOOSE


def test_agreement():
    found = subprocess.run([sys.executable, HERE / "agreement.py"], cwd=ROOT, env=PATHS, capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("", "")


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
        if head.decorator_list and head.decorator_list[0].id != "overload":  # an attribute
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


def typed(name):
    """Whether a callable's type is in a stub: a function of a module that has one, or a method."""
    place, _, short = name.rpartition(".")
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


@pytest.fixture(scope="module")
def calls():
    return [call for call in valid() if typed(call.name)]


def test_calls(calls, tmp_path, monkeypatch):
    """Calls that work are right in the eyes of mypy, and have results of the type that it says."""
    start = PRELUDE.count("\n") + 1
    lines = [f"reveal_type(lg.{call.name}({call.source}))" for call in calls]
    file = tmp_path / "every_call.py"
    file.write_text(PRELUDE + "\n".join(lines) + "\n")
    done = subprocess.run([*MYPY, "--cache-dir", tmp_path, file], cwd=ROOT, env=PATHS, capture_output=True, text=True)
    errors = re.findall(r":(\d+): error: (.*)", done.stdout)
    wrong = [f"{lines[int(line) - start]}: {error}" for line, error in errors]
    told = dict(re.findall(r':(\d+): note: Revealed type is "(.*)"', done.stdout))
    monkeypatch.chdir(tmp_path)
    for i, call in enumerate(calls):
        args, keywords = call.arguments()
        with restored():
            value = call.function(*args, **keywords)
        text = told.get(str(i + start))
        if text is not None and not matches(text, value):
            wrong.append(f"{lines[i]}: {type(value).__name__}, not {text}")
    assert wrong == []
    assert len(told) > 500
