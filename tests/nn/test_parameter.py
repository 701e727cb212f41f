"""Parameters and buffers are plain tensors with a mark."""

import copy
import pickle
import sys

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import nn


def test_a_parameter_is_a_tensor_that_requires_grad():
    p = nn.Parameter(lg.ones(2))
    assert isinstance(p, nn.Parameter)
    assert isinstance(p, lg.Tensor)
    assert issubclass(nn.Parameter, lg.Tensor)
    assert p.requires_grad
    assert p.is_leaf
    assert not nn.Parameter(lg.ones(2), requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)


def test_its_type_is_the_one_that_compiled_operators_expect():
    assert type(nn.Parameter(lg.ones(2))) is lg.Tensor


def test_other_tensors_and_objects_are_no_parameters():
    p = nn.Parameter(lg.ones(2))
    for other in (lg.ones(2), p * 1, p.detach(), p.clone(), p[0], nn.Buffer(lg.ones(2)), 3, None, "p"):
        assert not isinstance(other, nn.Parameter)


def test_memory_is_shared_with_the_data():
    x = lg.zeros(2)
    p = nn.Parameter(x)
    with lg.no_grad():
        p.add_(1)
    assert x.tolist() == [1, 1]
    assert not x.requires_grad


def test_the_graph_of_the_data_is_left():
    x = lg.ones(2, requires_grad=True)
    p = nn.Parameter(x * 3)
    (p * 2).sum().backward()
    assert x.grad is None
    assert p.grad.tolist() == [2, 2]


def test_representation():
    assert repr(nn.Parameter(lg.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(nn.Buffer(lg.ones(1))) == "Buffer containing:\ntensor([1.])"
    assert repr(nn.Buffer(lg.ones(1), persistent=False)) == "Buffer containing:\ntensor([1.])"


@pytest.mark.parametrize(
    "made",
    [
        lambda: nn.Parameter(lg.ones(2)),
        lambda: nn.Parameter(lg.ones(2), requires_grad=False),
        lambda: nn.Buffer(lg.ones(2)),
        lambda: nn.Buffer(lg.ones(2), persistent=False),
    ],
)
@pytest.mark.parametrize("through", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_stay_what_they_are(made, through):
    p = made()
    q = through(p)
    assert repr(q) == repr(p)
    assert isinstance(q, nn.Parameter) == isinstance(p, nn.Parameter)
    assert isinstance(q, nn.Buffer) == isinstance(p, nn.Buffer)
    assert q.requires_grad == p.requires_grad
    with lg.no_grad():
        q.add_(1)
    assert p.tolist() == [1, 1]


def test_a_copy_has_no_gradient_and_is_made_once():
    p = nn.Parameter(lg.ones(2))
    p.sum().backward()
    first, second = copy.deepcopy([p, p])
    assert first is second
    assert first.grad is None


def test_new_data_may_have_another_dtype():
    p = nn.Parameter(lg.ones(2))
    p.data = p.data.to("float64")
    (p * p).sum().backward()
    assert p.grad.dtype == "float64"


def test_hooks_survive_new_data():
    p, seen = nn.Parameter(lg.ones(2)), []
    p.register_hook(lambda g: seen.append(g.dtype))
    p.data = p.data.to("float64")
    p.sum().backward()
    assert [str(d) for d in seen] == ["float64"]


def test_raw_arrays_become_parameters():
    a = np.ones(2, "float32")
    assert nn.Parameter(a).tolist() == [1, 1]


def test_an_operator_takes_the_same_path_with_a_parameter():
    x, w = lg.randn(8, 8), lg.randn(8, 8, requires_grad=True)
    p = nn.Parameter(lg.randn(8, 8))

    def called(m):
        names = []
        sys.setprofile(lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None)
        try:
            x @ m
        finally:
            sys.setprofile(None)
        return names

    called(w)  # the first call compiles the operator
    assert called(p) == called(w)
    assert "apply" not in called(p)  # the generic path, which takes several times as long
