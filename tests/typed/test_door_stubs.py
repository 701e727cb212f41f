"""The stubs of the doors say what their functions take and give: calls that work are taken, results are as told.

The calls are those that are compared with PyTorch and with NumPy elsewhere.
"""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from typed.test_stubs import matches

import lucidgrad as lg
import lucidgrad.numpy
import lucidgrad.torch
from lucidgrad import hips
from tools import stubs
from tools.hips_stubs import OPERATORS

#: Spellings of expressions that checkers object to by themselves: comparisons of unlike words.
REFUSED = {"conj", "positive", "selu"}
TESTS = Path(__file__).parents[1]


def torch_calls():
    import door_battery
    import door_calls

    given = door_calls.GIVEN
    for spellings in door_calls.expressions().values():
        for expression in (" ".join(each.split()) for each in spellings):
            names = {n: lg.asarray(np.array(given[n])) for n in door_battery.names_in(expression)}
            yield expression, names, {"torch": lg.torch, "t": lg.torch, "np": np}


def numpy_calls():
    import numpy_expressions

    for expression in numpy_expressions.expressions():
        names = {n: lg.asarray(np.array(numpy_expressions.GIVEN[n])) for n in numpy_expressions.names_in(expression)}
        yield expression, names, {"np": lg.numpy}


def function_of(expression):
    """The first function of a door that an expression calls."""
    found = re.search(r"\b(?:torch|np)\.([\w.]+)\(", expression)
    return found[1] if found else expression


@np.errstate(all="ignore")
def evaluated(expression, names, space):
    with warnings.catch_warnings(), lg.no_grad():
        warnings.simplefilter("ignore")
        return eval(expression, {**space, **names})


@pytest.mark.parametrize(
    ("door", "calls", "head", "least"),
    [
        ("torch_door", torch_calls, "import numpy as np\nimport lucidgrad.torch as torch\nt = torch", 0.97),
        ("numpy_door", numpy_calls, "import lucidgrad.numpy as np", 0.99),
    ],
)
def test_calls(tmp_path, mypy, monkeypatch, door, calls, head, least):
    """Of each function some calls are taken, nearly all are, and what they give is what the stub tells."""
    monkeypatch.syspath_prepend(TESTS / door)
    known = {}
    for expression, names, space in calls():
        try:
            known[expression] = names, evaluated(expression, names, space)
        except Exception:
            continue  # which is for the doors' own tests
    words = sorted({n for names, _ in known.values() for n in names})
    lines = [*head.split("\n"), "from lucidgrad import Tensor", *(f"{n}: Tensor" for n in words)]
    start = len(lines) + 1
    file = tmp_path / "door_calls.py"
    file.write_text("\n".join([*lines, *(f"reveal_type({expression})" for expression in known)]) + "\n")
    done = mypy(file)
    refused = {int(line) - start for line in re.findall(r":(\d+): error: ", done.stdout)}
    told = {int(line) - start: text for line, text in re.findall(r':(\d+): note: Revealed type is "(.*)"', done.stdout)}
    wrong, taken, all_ = [], set(), set()
    for k, (expression, (_, value)) in enumerate(known.items()):
        all_.add(function_of(expression))
        if k in refused:
            continue
        taken.add(function_of(expression))
        if not matches(told[k].removesuffix("?"), value):
            wrong.append(f"{expression}: {type(value).__name__}, not {told[k]}")
    assert not wrong, "\n".join(wrong)
    assert all_ - taken <= REFUSED, sorted(all_ - taken)
    assert len(refused) <= (1 - least) * len(known)


def test_operators_of_hips():
    """The stub of that door has its operators, each with the parameters that it takes."""
    assert {*OPERATORS, "primitive"} == {*hips.__all__}
    for name, heads in OPERATORS.items():
        for word in {word for head in heads for word in re.findall(r"(\w+): ", head)}:
            assert stubs.takes(getattr(hips, name), word), f"{name}({word}=)"
