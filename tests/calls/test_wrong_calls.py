"""No wrong call ends inside: each gets an error that says what was given and what was expected, and quickly."""

import inspect
import json
import os
import pickle
import re
import subprocess
import sys

import battery
import numpy as np
import pytest
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad.nn import functional as F


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is bounded in Linux's way")
def test_no_wrong_call_ends_inside(tmp_path):
    path = os.pathsep.join([os.path.dirname(battery.__file__), *sys.path])
    every, most = (1, 2) if NIGHTLY else (40, 1)
    ended = subprocess.run(
        [sys.executable, battery.__file__, str(every), str(most)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-3000:]
    told = json.loads(ended.stdout.splitlines()[-1])
    print(f"{told['tried']} wrong calls, {len(told['found'])} internal errors")
    assert not told["missing"], f"give these a line in WRITTEN, or a reason in LEFT_OUT: {told['missing']}"
    assert told["tried"] > (100_000 if NIGHTLY else 3000)
    assert not told["found"], "\n".join([f"{len(told['found'])} of {told['tried']}", *told["found"][:40]])


def _raised(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "inside",
    [
        lambda: np.ones(2) + np.ones(3), lambda: np.ones(2) & np.ones(2), lambda: [][1],
        lambda: {}["a"], lambda: 1 / 0, lambda: int("a"), lambda: np.zeros(2**62), lambda: operator_of("a"),
    ],
)  # fmt: skip
def test_the_battery_knows_the_inside(inside):
    assert battery.is_internal(_raised(inside))


def operator_of(value):
    assert value is None


# -- calls that were found ---------------------------------------------------------------------------
def _loop():
    made = [1.0]
    made.append(made)
    return made


X = lg.ones(3, 5)

KNOWN = [
    (lambda: lg.zeros("abc"), TypeError, "zeros.*'abc'"),
    (lambda: lg.nn.Linear(None, 3), TypeError, "Linear.*in_features=None.*int"),
    (lambda: F.cross_entropy(X, [0, 1, 2]), TypeError, "cross_entropy.*target.*Tensor as target"),
    (lambda: F.conv2d(X, None), (TypeError, RuntimeError), "conv2d"),
    (lambda: F.embedding([0], X), TypeError, "embedding.*Tensor as input"),
    (lambda: lg.from_dlpack(3), TypeError, "from_dlpack"),
    (lambda: lg.tensor(_loop()), ValueError, "tensor"),
    (lambda: lg.device(object()), TypeError, "device.*object"),
    (lambda: lg.set_default_dtype(None), TypeError, "set_default_dtype"),
    (lambda: lg.autocast("nope"), RuntimeError, "device 'nope'.*cuda"),
    (lambda: lg.tensor([1.0], requires_grad="s"), TypeError, "requires_grad.*str.*bool"),
    (lambda: lg.ones(2).requires_grad_(1), TypeError, "requires_grad"),
    (lambda: lg.nn.Conv2d(1, 1, 0), (RuntimeError, ValueError), "Conv2d.*kernel_size"),
    (lambda: lg.nn.Conv2d(1, 1, 2, stride=0), (RuntimeError, ValueError), "Conv2d.*stride"),
    (lambda: lg.nn.Conv2d(1, 1, 2, dilation=0), (RuntimeError, ValueError), "Conv2d.*dilation"),
    (lambda: lg.nn.Conv2d(1, 1, 2, padding=-1), (RuntimeError, ValueError), "Conv2d.*padding"),
    (lambda: F.interpolate(lg.ones(1, 1, 2, 2), size=2**62), RuntimeError, "interpolate"),
    (lambda: lg.zeros(2**62), RuntimeError, "zeros"),
    (lambda: lg.arange(2**62), RuntimeError, "arange"),
    (lambda: lg.eye(2**40), RuntimeError, "eye"),
    (lambda: lg.linspace(0, 1, 2**62), RuntimeError, "linspace"),
    (lambda: F.one_hot(lg.tensor([1]), 2**62), RuntimeError, "one_hot"),
    (lambda: lg.bincount(lg.tensor([1]), minlength=2**62), RuntimeError, "bincount"),
    (lambda: lg.repeat(X, 2**62), (RuntimeError, ValueError), "can't be broadcast"),
    (lambda: lg.tile(X, (2**62,)), (RuntimeError, ValueError), "can't be broadcast"),
    (lambda: F.pad(X, (2**62, 0)), RuntimeError, "pad"),
    (lambda: lg.fft.fft(X, n=2**62), RuntimeError, "fft"),
    (lambda: lg.zeros(2, dtype=object), TypeError, "zeros"),
    (lambda: X + lg.ones(4), ValueError, r"add: given x1=float32 \(3, 5\), x2=float32 \(4,\); expected .*broadcast"),
    (lambda: X & X, TypeError, "bitwise_and.*float32.*dtypes"),
    (lambda: X.sum(7), (ValueError, IndexError), "sum: axis 7 is out of"),
    (lambda: F.group_norm(lg.ones(2, 4, 6, 6), 2, eps=None), TypeError, "group_norm.*float as eps"),
    (lambda: X.reshape(4), ValueError, "reshape.*as many elements"),
]


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_known_wrong_calls(number):
    call, kind, text = KNOWN[number]
    with pytest.raises(kind) as caught:
        call()
    assert re.search(text, str(caught.value)), caught.value
    assert not battery.is_internal(caught.value)


# -- what is not ours --------------------------------------------------------------------------------
def _fails(*args):
    return {}["the user's own"]


class _Failing(lg.nn.Module):
    def forward(self, x):
        return x.nothing


class _Function(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return np.ones(2) + np.ones(3)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: lg.func.grad(_fails)(lg.ones(2)), KeyError),
        (lambda: lg.func.vmap(_fails)(lg.ones(2)), KeyError),
        (lambda: lg.utils.checkpoint.checkpoint(_fails, lg.ones(2)), KeyError),
        (lambda: _Failing()(lg.ones(2)), AttributeError),
        (lambda: lg.nn.Sequential(_Failing())(lg.ones(2)), AttributeError),
        (lambda: _Function.apply(lg.ones(2)), ValueError),
        (lambda: lg.optim.SGD([lg.ones(2, requires_grad=True)], 0.1).step(_fails), KeyError),
    ],
)
def test_errors_of_the_user_pass_as_they_are(call, kind):
    error = _raised(call)
    assert type(error) is kind and error.__cause__ is None
    assert "given" not in str(error)


def test_an_error_keeps_its_cause():
    error = _raised(lambda: lg.ones(2) + lg.ones(3))
    assert "broadcast" in str(error.__cause__)


def test_warnings_that_are_errors_pass():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="rarely meant"):
            F.l1_loss(lg.ones(2, 1), lg.ones(2))


def test_guarded_functions_are_what_they_were():
    for function in (F.cross_entropy, lg.zeros, lg.linalg.lstsq, lg.optim.lr_scheduler.LambdaLR, lg.func.vmap):
        assert pickle.loads(pickle.dumps(function)) is function
        assert function.__doc__
    assert list(inspect.signature(F.mse_loss).parameters)[:2] == ["input", "target"]
    assert list(inspect.signature(lg.nn.Linear).parameters)[:2] == ["in_features", "out_features"]
    with pytest.raises(TypeError, match=r"conv2d\(\) missing 1 required positional argument"):
        F.conv2d(X)
    with pytest.raises(TypeError, match=r"conv2d\(\) got an unexpected keyword argument 'nothing'"):
        F.conv2d(X, X, nothing=1)
