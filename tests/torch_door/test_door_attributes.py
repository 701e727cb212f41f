"""NumPy's class of dtypes gets PyTorch's attributes when the door is opened, and in no other way; nothing is lost."""

import subprocess
import sys

import numpy as np
import pytest

import lucidgrad.torch as torch
from lucidgrad.backends.cpu.attributes import give

NAMES = ["is_complex", "is_floating_point", "is_signed", "to_complex", "to_real"]


def told(code):
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return found.stdout


def test_by_the_door_alone():
    asked = f"print([name for name in {NAMES} if hasattr(np.dtype, name)])"
    others = "import numpy as np\nimport lucidgrad, lucidgrad.numpy, lucidgrad.hips"
    code = f"{others}\n{asked}\nimport lucidgrad.torch\n{asked}"
    assert told(code) == f"[]\n{NAMES}\n"


def test_nothing_else_changes():
    code = (
        "import numpy as np\nbefore = dict(np.dtype.__dict__)\n"
        "import lucidgrad.torch\nafter = dict(np.dtype.__dict__)\n"
        "print(all(after[name] is value for name, value in before.items()), sorted(after.keys() - before.keys()))"
    )
    assert told(code) == f"True {NAMES}\n"


def test_an_attribute_that_is_there_stays():
    """NumPy's own, those that subclasses inherit, and those that the door gave before."""
    own = {name: np.dtype.__dict__[name] for name in (*NAMES, "kind", "name")}
    assert give(is_signed=3, kind=4, name=5, to_real=6)
    assert all(np.dtype.__dict__[name] is value for name, value in own.items())
    assert np.dtype("float32").kind == "f"


@pytest.mark.parametrize(
    "lacking",
    [
        "sys.modules['ctypes'] = None",
        "import ctypes; ctypes.pythonapi = object()",
        "import gc; gc.get_referents = lambda *objects: []",
        "import gc; gc.get_referents = lambda *objects: [{}, {}]",
    ],
)
def test_a_python_that_does_not_let_it_be_done(lacking):
    """The door opens all the same; what PyTorch asks of tensors can be asked of them."""
    code = (
        f"import sys, numpy as np\nimport lucidgrad\n{lacking}\nimport lucidgrad.torch as torch\n"
        "x = torch.ones(2)\nprint(x.is_floating_point(), torch.is_complex(x), hasattr(np.dtype, 'is_signed'))"
    )
    assert told(code) == "True False False\n"


def test_dtypes_answer():
    assert [x.is_floating_point for x in (torch.float16, torch.bfloat16, torch.int32, torch.complex64)] == [
        True, True, False, False,
    ]  # fmt: skip
    assert torch.float32.to_complex() == torch.complex64
    assert torch.ones(1).dtype.is_signed
