"""Calls through the door give what PyTorch gives: structure, dtypes, shapes, values, gradients."""

import importlib.util
import json

import door_battery
import door_calls
import pytest

import lucidgrad.torch as door

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def test_calls_give_what_pytorch_gives():
    if torch is None:
        pytest.skip("PyTorch is not in the test extra")
    raising, different, number = door_battery.compared(door, torch)
    assert raising == {}
    assert different == {}
    assert number > 2400


def test_calls_give_what_is_recorded():
    recorded = json.loads(door_battery.RECORDED.read_text(encoding="utf-8"))
    assert list(recorded) == list(door_calls.expressions()), "run tests/torch_door/door_battery.py"
    wrong = {}
    for expression, spellings in door_calls.expressions().items():
        for spelling in spellings:
            if note := door_battery.difference(door_battery.summary(door, spelling), recorded[expression]):
                wrong[spelling] = note
    assert wrong == {}


def test_every_function_is_called():
    """No function of the tables is left out of the calls."""
    text = "\n".join(spelling for spellings in door_calls.expressions().values() for spelling in spellings)
    places = {"torch": door, "torch.linalg": door.linalg, "torch.fft": door.fft, "torch.special": door.special}
    called = {f"{place}.{name}" for place, space in places.items() for name in space._TABLE.heads()}
    assert {name for name in called if f"{name}(" not in text} == set()
