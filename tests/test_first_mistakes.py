"""The likeliest mistakes: each message says what was given, what was expected, and the way out."""

import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import nn

F = nn.functional
SGD = lg.optim.SGD
HERE = os.path.abspath(__file__)


class Unprepared(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 2)


class Unfinished(nn.Module):
    pass


def ones(*shape, **options):
    return lg.ones(shape, **options)


def leaf():
    return lg.ones(3, requires_grad=True)


def twice():
    y = (leaf() ** 2).sum()
    y.backward()
    y.backward()


def kept():
    y = lg.exp(leaf())
    y += 1
    y.sum().backward()


def written():
    x = leaf()
    x += 1


def truth():
    if ones(3):
        pass


def loaded(state):
    nn.Linear(2, 2).load_state_dict(state)


#: What somebody writes, the error's class, and words of its message in their order.
MISTAKES = {
    "Tensor([1])": (lambda: lg.Tensor([1]), TypeError, "given [1]", "lg.tensor(data)"),
    "Tensor(2, 3)": (lambda: lg.Tensor(2, 3), TypeError, "given 2, 3", "lg.zeros(*sizes)"),
    "cat(a, b)": (lambda: lg.cat(ones(2), ones(2)), TypeError, "one by one", "lg.cat([x, y], 0)"),
    "Linear(2.0, 2)": (lambda: nn.Linear(2.0, 2), TypeError, "in_features=2.0", "expected int as in_features: 2"),
    "Linear('2', 2)": (lambda: nn.Linear("2", 2), TypeError, "in_features='2'", "expected int as in_features"),
    "Conv2d(3, 8)": (lambda: nn.Conv2d(3, 8), TypeError, "Conv2d.__init__() missing", "'kernel_size'"),
    "ReLU(x)": (lambda: nn.ReLU(ones(2)), TypeError, "given a Tensor", "ReLU()(x)"),
    "Linear of a wrong width": (
        lambda: nn.Linear(4, 2)(ones(3, 5)), RuntimeError, "input of shape (3, 5)", "weights of shape (2, 4)",
        "expected (..., inputs)",
    ),
    "Conv2d of wrong channels": (
        lambda: nn.Conv2d(3, 8, 3)(ones(1, 1, 8, 8)), RuntimeError, "input of shape (1, 1, 8, 8)", "3 channels",
    ),
    "heads": (lambda: nn.MultiheadAttention(10, 3), AssertionError, "embed_dim=10", "multiple of num_heads"),
    "load of no file": (lambda: lg.load("x.pt"), FileNotFoundError, "no such file in", "working directory", "x.pt"),
    "one-hot integers": (
        lambda: F.cross_entropy(ones(2, 3), lg.tensor([[1, 0, 0], [0, 1, 0]])), RuntimeError,
        "target of shape (2, 3)", "class numbers", "target.argmax(1)", "target.float()",
    ),
    "class numbers in a column": (
        lambda: F.cross_entropy(ones(2, 3), lg.tensor([[1], [2]])), RuntimeError, "target of shape (2, 1)",
        "expected a target of shape (2,)", "target.squeeze(1)",
    ),
    "class numbers as floats": (
        lambda: F.cross_entropy(ones(2, 3), lg.tensor([1.0, 0.0])), RuntimeError, "float32", "integers", ".long()",
    ),
    "a class too high": (
        lambda: F.cross_entropy(ones(2, 3), lg.tensor([1, 3])), IndexError, "class number 3", "from 0 to 2",
    ),
    "logits as probabilities": (
        lambda: F.binary_cross_entropy(2 * ones(2), ones(2)), RuntimeError, "from 2.0 to 2.0", "[0, 1]", "_with_logits",
    ),
    "device('gpu')": (lambda: lg.device("gpu"), lg.DeviceError, "'gpu'", "cpu, cuda", "'cuda'"),
    "ones on a gpu": (lambda: lg.ones(2, device="gpu:1"), lg.DeviceError, "'gpu:1'", "cpu, cuda", "'cuda'"),
    "view": (lambda: ones(2, 3).view(4, 2), ValueError, "(2, 3)", "shape=(4, 2)", "as many elements", "-1"),
    "backward twice": (twice, RuntimeError, "a second time", "retain_graph=True"),
    "backward of a vector": (
        lambda: (leaf() * 2).backward(), lg.GradArgError, "only for scalar", "(3,)", "lg.ones_like(y)", "y.sum()",
    ),
    "backward of a constant": (lambda: ones(2).sum().backward(), lg.GradArgError, "does not require grad", "no_grad"),
    "numpy() on the tape": (lambda: leaf().numpy(), RuntimeError, "requires grad", "x.detach().numpy()"),
    "np.asarray on the tape": (lambda: np.asarray(leaf()), RuntimeError, "requires grad", "x.detach().numpy()"),
    "in place on a leaf": (written, RuntimeError, "leaf tensor that requires grad", "no_grad()"),
    "in place on what backward needs": (kept, RuntimeError, "exp", "in-place operation", "clone"),
    "item of many": (lambda: ones(2, 3).item(), ValueError, "6 elements", "must have one"),
    "truth of many": (truth, ValueError, "3 elements is ambiguous", ".any() or .all()"),
    "no super().__init__()": (
        Unprepared, AttributeError, "before Module.__init__()", "Unprepared.__init__", "super().__init__()",
    ),
    "no forward": (lambda: Unfinished()(ones(2)), NotImplementedError, "[Unfinished]", '"forward"', "define it"),
    "a called ModuleList": (
        lambda: nn.ModuleList([nn.ReLU()])(ones(2)), NotImplementedError, "[ModuleList]", "nn.Sequential",
    ),
    "no parameters": (lambda: SGD([], lr=0.1), ValueError, "empty parameter list", "only once", "nn.ModuleList"),
    "a tensor as parameters": (lambda: SGD(leaf(), lr=0.1), TypeError, "got a Tensor", "[x]"),
    "a module as parameters": (lambda: SGD(nn.Linear(2, 2), lr=0.1), TypeError, "Linear", ".parameters()"),
    "parameters without ()": (
        lambda: SGD(nn.Linear(2, 2).parameters, lr=0.1), TypeError, "method", "parameters without its ()",
    ),
    "clipping without ()": (
        lambda: nn.utils.clip_grad_norm_(nn.Linear(2, 2).parameters, 1.0), TypeError, "parameters without its ()",
        "expected Tensor | Iterable[Tensor]",
    ),
    "a computed parameter": (lambda: SGD([leaf() * 2], lr=0.1), ValueError, "non-leaf", "x.detach()"),
    "a learning rate of text": (lambda: SGD([leaf()], lr="0.1"), TypeError, "'0.1'", "a number such as 1e-3"),
    "Sequential of a list": (
        lambda: nn.Sequential([nn.ReLU()]), TypeError, "list is not a Module subclass", "Sequential(*layers)",
    ),
    "Sequential of a class": (lambda: nn.Sequential(nn.ReLU), TypeError, "not a Module subclass", "ReLU()"),
    "Sequential of a function": (lambda: nn.Sequential(lg.relu), TypeError, "function is not a Module", "nn.ReLU()"),
    "matmul": (lambda: ones(2, 3) @ ones(2, 3), ValueError, "(2, 3) and (2, 3)", "expected x1's last axis"),
    "broadcasting": (lambda: ones(2, 3) + ones(4), ValueError, "(2, 3)", "(4,)", "shapes that broadcast"),
    "an axis too high": (lambda: ones(2, 3).sum(dim=2), IndexError, "axis 2 is out of bounds", "dimension 2"),
    "gradients of integers": (
        lambda: lg.tensor([1, 2], requires_grad=True), RuntimeError, "int64", "dtype=lg.float32", "1.0 instead of 1",
    ),
    "rows of two lengths": (
        lambda: lg.tensor([[1, 2], [3]]), ValueError, "a list of 2", "equally long", "pad_sequence",
    ),
    "an index of floats": (lambda: ones(2)[1.0], TypeError, "float", "expected ints"),
    "words of floats": (lambda: nn.Embedding(3, 2)(ones(2)), RuntimeError, "float32", "expected int64"),
    "an unknown dtype": (lambda: ones(2, dtype="float33"), TypeError, "'float33'", "expected one of bool"),
    "a state of another size": (
        lambda: loaded({"weight": ones(3, 2), "bias": ones(2)}), RuntimeError, "size mismatch for weight", "(3, 2)",
        "(2, 2)",
    ),
    "a state of other names": (lambda: loaded({"w": ones(2, 2)}), RuntimeError, 'Missing key(s)', '"weight"', '"w"'),
    "a loader of no dataset": (
        lambda: lg.utils.data.DataLoader(3), TypeError, "given a int as dataset", "TensorDataset", "IterableDataset",
    ),
    "the gradient of a vector": (
        lambda: lg.func.grad(lg.exp)(ones(3)), RuntimeError, "shape (3,)", "one element", "jacrev",
    ),
    "an input that was not used": (
        lambda: lg.autograd.grad(leaf().sum(), leaf()), lg.GradArgError, "inputs[0]", "allow_unused=True",
    ),
    "a drawing of a module": (lambda: lg.viz.graph(nn.ReLU()), TypeError, "loss is a ReLU", "expected a Tensor"),
    "something that can't be saved": (
        lambda: lg.save(object(), "x"), TypeError, "builtins.object", "expected tensors", "state_dict",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_message(mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, kind, *words = MISTAKES[mistake]
    with pytest.raises(kind, match="(?s)" + ".*".join(map(re.escape, words))):
        make()


def test_pickles_are_not_run(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(pickle.dumps({"a": os.system}))
    with pytest.raises(lg.files.FileFormatError, match=r"x\.pt: this is a pickle, which is code; .*lg\.save"):
        lg.load(path)


def test_whole_models_are_not_loaded(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "x.pt")
    with pytest.raises(lg.files.FileFormatError, match=r"nn\.modules\.linear\.Linear.*torch\.save\(model\.state_dict"):
        lg.load(tmp_path / "x.pt")


ARRAYS = {"torch": "torch.ones(2)", "jax": "jax.numpy.ones(2)", "array_api_strict": "array_api_strict.ones(2)"}


@pytest.mark.parametrize("library", ARRAYS)
def test_arrays_of_other_libraries(library):
    """In a fresh process, where no device of that library was asked for yet; the way out works."""
    pytest.importorskip(library)
    code = f"""
import numpy, lucidgrad as lg, {library}
x, one = {ARRAYS[library]}, lg.ones(2)
for mix in (lambda: one + x, lambda: one == x, lambda: lg.add(one, x), lambda: x + one):
    try:
        mix()
    except (TypeError, lg.DeviceError) as error:
        text = str(error)
        theirs = "Expected Array or Python scalar" in text  # array-api-strict's own, where it comes first
        assert theirs or "expected arrays of one device; lg.asarray" in text, text
    else:
        raise AssertionError("nothing was raised")
assert (lg.ones(2) + lg.asarray(numpy.asarray(x))).tolist() == [2.0, 2.0]
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_tensors_of_two_devices_and_cuda_to_numpy():
    x = lg.ones(2, device="cuda")
    with pytest.raises(lg.DeviceError, match=r"add: given tensors on cpu and cuda:0, .*\.to\('cuda:0'\)"):
        lg.ones(2) + x
    with pytest.raises(TypeError, match=r"on cuda:0; use x\.cpu\(\)\.numpy\(\)"):
        x.numpy()
    with pytest.raises(lg.DeviceError, match=r"'cuda:7' does not exist here"):
        lg.ones(2, device="cuda:7")


def test_names_that_are_nearly_right():
    """Python suggests the right one, since the error says where it looked."""
    with pytest.raises(AttributeError, match="has no attribute 'sofmax'") as caught:
        lg.sofmax
    assert (caught.value.name, caught.value.obj) == ("sofmax", lg)


def test_subclasses_of_tensor_can_be_made():
    class Mine(lg.Tensor):
        __slots__ = ()

    assert isinstance(Mine(), lg.Tensor)
    assert type(lg.ones(2)) is lg.Tensor


# -- NumPy's warnings ----------------------------------------------------------------------------
ZERO = lg.zeros(3)
WARNING = {
    "an operator": lambda: 1 / ZERO,
    "a function": lambda: lg.log(ZERO),
    "a method": lambda: ZERO.pow(-1.0),
    "overflow": lambda: lg.exp(ZERO + 1000),
    "in place": lambda: lg.zeros(3).div_(ZERO),
    "a kernel of several lines": lambda: lg.softmax(ZERO - lg.inf, -1),
    "a function of several": lambda: lg.std(lg.zeros(0)),
    "vmap": lambda: lg.func.vmap(lg.log)(ZERO),
    "jvp": lambda: lg.func.jvp(lambda x: x / ZERO, (ZERO,), (ZERO,)),
    "recorded": lambda: lg.log(lg.zeros(3, requires_grad=True)),
    "a layer": lambda: nn.Linear(3, 2)(ZERO + lg.inf),
    "broadcasting, of our own": lambda: F.mse_loss(ones(2, 1), ones(2)),
}


@pytest.mark.parametrize("what", WARNING)
def test_warnings_point_at_the_users_line(what):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARNING[what]()
    line = WARNING[what].__code__.co_firstlineno
    assert caught
    assert {(os.path.abspath(w.filename), w.lineno) for w in caught} == {(HERE, line)}


def test_warnings_are_counted_by_the_users_lines():
    """As Python's default says: once for each line, however often it runs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            lg.log(ZERO)
            lg.log(ZERO)
    lines = [w.lineno for w in caught]
    assert len(lines) == 2 and lines[1] == lines[0] + 1


def test_filters_see_the_users_module():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=re.escape(__name__))
        lg.log(ZERO)
    assert not caught
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning, module=re.escape(__name__))
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            lg.log(ZERO)


def test_warnings_of_others_stay_where_they_are():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.log(np.zeros(2))
        warnings.warn("mine", stacklevel=1)
    assert [os.path.abspath(w.filename) for w in caught] == [HERE, HERE]


def test_warnings_in_a_thread_that_has_no_line_of_the_users():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        thread = threading.Thread(target=lg.log, args=(ZERO,))
        thread.start()
        thread.join()
    assert len(caught) == 1  # where Python starts threads, not lost


def test_what_a_script_prints(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import lucidgrad as lg\nx = lg.zeros(2)\ny = 1 / x\n")
    env = {**os.environ, "PYTHONPATH": str(Path(lg.__file__).parents[1]), "PYTHONWARNINGS": "default"}
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, env=env)
    assert result.stderr.splitlines() == [
        f"{script}:3: RuntimeWarning: divide by zero encountered in divide",
        "  y = 1 / x",
    ]
