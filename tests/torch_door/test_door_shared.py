"""One class, one implementation: tensors and modules pass between the door and lucidgrad, nothing is loaded twice."""

import importlib
import subprocess
import sys

import pytest

import lucidgrad as lg
import lucidgrad.torch as door


def test_tensors_are_the_same():
    x = door.ones(2, 3, requires_grad=True)
    assert type(x) is lg.Tensor
    assert isinstance(lg.ones((2,)), door.Tensor)
    y = door.sum(lg.exp(x) * door.max(x, 1).values[:, None])
    (g,) = lg.autograd.grad(y, x)
    assert g.shape == (2, 3)
    assert door.from_numpy(x.detach().numpy()).data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    "name", "nn nn.functional nn.init nn.utils.rnn optim optim.lr_scheduler utils.data distributions".split()
)
def test_modules_are_loaded_once(name):
    """A class of the door is lucidgrad's, whichever name it is imported by."""
    ours, theirs = importlib.import_module(f"lucidgrad.{name}"), importlib.import_module(f"lucidgrad.torch.{name}")
    classes = {n: c for n, c in vars(ours).items() if isinstance(c, type)}
    assert all(getattr(theirs, n) is c for n, c in classes.items())
    assert ours.__spec__.name == f"lucidgrad.{name}"


def test_ways_to_import():
    code = """
import sys
import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
from lucidgrad.torch.utils.data import DataLoader
from lucidgrad.torch import nn as again, optim
from lucidgrad.torch.nn import Linear
import lucidgrad
assert nn.Linear is again.Linear is Linear is torch.nn.Linear is lucidgrad.nn.Linear
assert F.relu is lucidgrad.nn.functional.relu and DataLoader is lucidgrad.utils.data.DataLoader
assert "torch" not in sys.modules
for name in ("lucidgrad.torch.nn.wooden", "lucidgrad.torch.wooden"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert error.name == name, error.name
    else:
        raise AssertionError(name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_door_is_loaded_when_it_is_asked_for():
    code = "import sys, lucidgrad; assert 'lucidgrad.torch' not in sys.modules; lucidgrad.torch.sum"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_public_names_exist():
    assert [n for n in door.__all__ if not hasattr(door, n)] == []
    assert set(door.__all__) <= set(dir(door))
    with pytest.raises(AttributeError, match="wooden"):
        door.wooden


def test_functions_of_functions_take_them():
    """Levels see through the door: batches, dual numbers, and derivatives of derivatives."""
    x = lg.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=lg.float64)

    def f(row):
        return door.sum(door.std(row, dim=0) * door.cumsum(row, dim=0) ** 2)

    rows = [f(row).item() for row in x]
    assert lg.vmap(f)(x).tolist() == pytest.approx(rows)
    tangent = lg.func.jvp(f, (x[0],), (lg.ones_like(x[0]),))[1]
    assert tangent.item() == pytest.approx(lg.func.grad(f)(x[0]).sum().item())
    assert lg.func.hessian(f)(x[0]).shape == (2, 2)


def test_random_numbers_have_no_history():
    mean = door.zeros(1000, requires_grad=True)
    draw = door.normal(mean, 1.0)
    assert not draw.requires_grad
    assert door.normal(0.0, 1.0, (2,), requires_grad=True).requires_grad
    door.manual_seed(3)
    first = door.rand(3)
    lg.manual_seed(3)
    assert lg.rand(3).tolist() == first.tolist()


def test_names_may_be_asked_for_by_several_threads():
    """Functions are written out when they are first asked for, whoever asks."""
    code = """
import sys
import threading
import lucidgrad.torch as torch
sys.setswitchinterval(1e-6)
names, wrong = torch._TABLE.names, []
start = threading.Barrier(8)
def ask():
    start.wait()
    for name in names:
        try:
            assert getattr(torch, name).__name__
        except Exception as error:
            wrong.append((name, repr(error)))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[:5]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_kernels_of_attention_are_accepted():
    from lucidgrad.torch.nn.attention import SDPBackend, sdpa_kernel

    x = door.rand(1, 2, 3, 4)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]), sdpa_kernel(SDPBackend.MATH):
        y = door.nn.functional.scaled_dot_product_attention(x, x, x)
    assert y.tolist() == door.nn.functional.scaled_dot_product_attention(x, x, x).tolist()
    with pytest.raises(TypeError, match="SDPBackend"), sdpa_kernel("flash"):
        pass
