"""Modules: attributes, the tree, the state, conversions."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from golden import ask, peer

import lucidgrad as lg
from lucidgrad import nn


class Pair(nn.Module):
    """Two layers, a parameter, two buffers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = nn.Parameter(lg.ones(3))
        self.register_buffer("mean", lg.zeros(3))
        self.register_buffer("passing", lg.zeros(1), persistent=False)
        self.last = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def forward(self, x):
        return self.last(self.first(x) * self.scale + self.mean)


KEYS = ["scale", "mean", "first.weight", "first.bias", "last.0.weight", "last.0.bias"]


# -- attributes
def test_attributes_are_registered_by_kind():
    m = Pair()
    assert [name for name, _ in m.named_parameters()] == [k for k in KEYS if k != "mean"]
    assert [name for name, _ in m.named_buffers()] == ["mean", "passing"]
    assert [name for name, _ in m.named_children()] == ["first", "last"]
    assert [name for name, _ in m.named_modules()] == ["", "first", "last", "last.0", "last.1"]
    assert [name for name, _ in m.named_parameters(prefix="net", recurse=False)] == ["net.scale"]


def test_assignment_before_init_is_refused():
    class Late(nn.Module):
        def __init__(self, value):
            self.value = value
            super().__init__()

    for value, what in ((nn.Parameter(lg.ones(1)), "parameters"), (nn.ReLU(), "modules"), (nn.Buffer(), "buffers")):
        with pytest.raises(AttributeError, match=f"cannot assign {what} before"):
            Late(value)
    Late(3)


def test_names_take_only_what_they_are_for():
    m = Pair()
    for name in ("scale", "first", "mean"):
        with pytest.raises(TypeError, match="cannot assign 'int' as"):
            setattr(m, name, 3)
    with pytest.raises(TypeError, match="cannot assign 'Tensor' as parameter"):
        m.scale = lg.ones(3)
    m.mean = lg.ones(3)
    assert m.state_dict()["mean"].tolist() == [1, 1, 1]
    m.scale = m.mean = m.first = None
    assert list(m.state_dict()) == KEYS[-2:]
    assert len(list(m.parameters())) == 2


def test_a_name_can_change_its_kind():
    m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(lg.ones(1))
    assert list(m._parameters) == ["x"]
    m.x = nn.ReLU()
    assert (list(m._parameters), list(m._modules)) == ([], ["x"])
    m.x = nn.Buffer(lg.ones(1), persistent=False)
    assert (list(m._modules), list(m._buffers), list(m.state_dict())) == ([], ["x"], [])
    del m.x
    assert not hasattr(m, "x")
    assert list(m._buffers) == []


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module", "register_module"])
def test_names_are_checked(register):
    m = nn.Module()
    for name, error in ((3, TypeError), ("a.b", KeyError), ("", KeyError), ("forward", KeyError)):
        with pytest.raises(error):
            getattr(m, register)(name, None)
    with pytest.raises(TypeError):
        getattr(m, register)("x", 3)
    getattr(m, register)("x", None)
    assert m.x is None


def test_missing_attributes_and_forward_say_so():
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'nothing'"):
        nn.Module().nothing
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_the_members_are_a_live_view():
    m = Pair()
    m._parameters["scale"] = nn.Parameter(lg.zeros(3))
    assert m.scale.tolist() == [0, 0, 0]
    del m._parameters["scale"]
    assert not hasattr(m, "scale")
    assert "first" in m._modules
    assert len(m._buffers) == 2
    with pytest.raises(KeyError):
        m._buffers["first"]


def test_a_shallow_copy_has_names_of_its_own():
    m = Pair()
    other = copy.copy(m)
    other.more = nn.Parameter(lg.ones(1))
    assert len(list(m.parameters())) + 1 == len(list(other.parameters()))
    assert other.first is m.first


# -- the tree
def test_shared_parts_are_listed_once():
    layer = nn.Linear(2, 2)
    m = nn.Sequential(layer, layer)
    other = nn.Linear(2, 2)
    other.weight = layer.weight
    m.append(other)
    assert len(list(m.parameters())) == 3
    assert len(list(m.named_parameters(remove_duplicate=False))) == 6
    assert [n for n, _ in m.named_children()] == ["0", "2"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False)] == ["", "0", "1", "2"]
    assert list(m.state_dict()) == [f"{i}.{n}" for i in range(3) for n in ("weight", "bias")]


def test_looking_up_by_full_name():
    m = Pair()
    assert m.get_submodule("last.0") is m.last[0]
    assert m.get_submodule("") is m
    assert m.get_parameter("last.0.bias") is m.last[0].bias
    assert m.get_buffer("mean") is m.mean
    for call in (
        lambda: m.get_submodule("last.7"),
        lambda: m.get_submodule("scale"),
        lambda: m.get_parameter("mean"),
        lambda: m.get_buffer("scale"),
        lambda: m.get_parameter("no"),
    ):
        with pytest.raises(AttributeError):
            call()
    m.set_submodule("last.1", nn.Tanh())
    assert isinstance(m.last[1], nn.Tanh)
    with pytest.raises(AttributeError):
        m.set_submodule("last.5", nn.Tanh(), strict=True)
    with pytest.raises(ValueError, match="target name"):
        m.set_submodule("", nn.Tanh())


def test_apply_visits_descendants_first():
    seen = []
    m = Pair()
    assert m.apply(lambda part: seen.append(type(part).__name__)) is m
    assert seen == ["Linear", "Linear", "ReLU", "Sequential", "Pair"]


def test_modes_and_gradients():
    m = Pair()
    assert not m.eval().training
    assert not m.last[1].training
    assert m.train().last[0].training
    with pytest.raises(ValueError, match="boolean"):
        m.train(1)
    m(lg.ones(2)).sum().backward()
    assert m.scale.grad is not None
    m.zero_grad(set_to_none=False)
    assert m.scale.grad.tolist() == [0, 0, 0]
    m.zero_grad()
    assert m.scale.grad is None
    assert not any(p.requires_grad for p in m.requires_grad_(False).parameters())


# -- the state
def test_state_dict_has_the_keys_in_order_and_shares_memory():
    m = Pair()
    state = m.state_dict()
    assert list(state) == KEYS
    assert not state["scale"].requires_grad
    assert m.state_dict(keep_vars=True)["scale"] is m.scale
    with lg.no_grad():
        state["scale"].add_(1)
    assert m.scale.tolist() == [2, 2, 2]
    assert state._metadata[""] == {"version": 1}
    assert list(state._metadata) == ["", "first", "last", "last.0", "last.1"]
    given = {}
    assert m.state_dict(destination=given, prefix="net.") is given
    assert list(given) == [f"net.{k}" for k in KEYS]


def test_a_state_comes_back():
    m, other = Pair(), Pair()
    result = other.load_state_dict(m.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert (result.missing_keys, result.unexpected_keys) == ([], [])
    for p, q in zip(m.state_dict().values(), other.state_dict().values(), strict=True):
        assert p.tolist() == q.tolist()
    assert m.first.weight is not other.first.weight


def test_loading_copies_into_the_same_parameters_and_assign_replaces_them():
    m = Pair()
    before = m.scale
    values = {k: v.clone().to("float64") for k, v in m.state_dict().items()}
    m.load_state_dict(values)
    assert m.scale is before
    assert m.scale.dtype == "float32"
    m.load_state_dict(values, assign=True)
    assert m.scale is not before
    assert isinstance(m.scale, nn.Parameter)
    assert m.scale.dtype == "float64"
    assert m.scale.requires_grad
    assert m.mean.dtype == "float64"


def _values(m):
    return {k: v.clone().tolist() for k, v in m.state_dict().items()}


def test_a_failing_load_names_all_faults_and_changes_nothing():
    m = Pair()
    before = _values(m)
    state = {k: v + 1 for k, v in m.state_dict().items()}
    del state["scale"]
    state["extra"] = lg.ones(1)
    state["last.0.more"] = lg.ones(1)
    state["first.bias"] = lg.ones(7)
    state["mean"] = "text"
    with pytest.raises(RuntimeError) as caught:
        m.load_state_dict(state)
    told = str(caught.value)
    assert told.startswith('Error(s) in loading state_dict for Pair:\n\tMissing key(s) in state_dict: "scale". ')
    assert 'Unexpected key(s) in state_dict: "extra", "last.0.more". ' in told
    assert "size mismatch for first.bias: copying a param with shape (7,) from checkpoint" in told
    assert "the shape in current model is (3,)" in told
    assert 'parameter named "mean"' in told
    assert _values(m) == before
    with pytest.raises(RuntimeError) as caught:
        m.load_state_dict(state, strict=False)  # shapes must fit even then
    assert "Missing" not in str(caught.value)
    assert _values(m) == before
    for assign in (False, True):
        with pytest.raises(RuntimeError):
            m.load_state_dict({k: v + 1 for k, v in m.state_dict().items() if k != "scale"}, assign=assign)
        assert _values(m) == before


def test_loading_what_is_there():
    m = Pair()
    result = m.load_state_dict({"scale": lg.zeros(3), "more": 1}, strict=False)
    assert m.scale.tolist() == [0, 0, 0]
    assert result.unexpected_keys == ["more"]
    assert result.missing_keys == [k for k in KEYS if k != "scale"]
    assert "missing_keys=['mean'" in repr(result)
    with pytest.raises(TypeError, match="dict-like"):
        m.load_state_dict([1])


def test_numpy_arrays_load():
    m = nn.Linear(2, 1)
    m.load_state_dict({"weight": np.asarray([[1.0, 2.0]]), "bias": np.asarray([3.0], "float32")})
    assert m(lg.ones(2)).item() == 6
    m.load_state_dict(OrderedDict(weight=np.zeros((1, 2)), bias=np.zeros(1)), assign=True)
    assert m.weight.dtype == "float64"


def test_extra_state():
    class Counter(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m = nn.Sequential(Counter())
    m[0].count = 3
    state = m.state_dict()
    assert list(state) == ["0._extra_state"]
    other = nn.Sequential(Counter())
    other.load_state_dict(state)
    assert other[0].count == 3
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match="Unexpected key"):
        nn.Sequential(nn.ReLU()).load_state_dict(state)


# -- conversions
def test_conversion_keeps_the_parameters_themselves():
    m = Pair()
    m.register_buffer("steps", lg.zeros((), dtype="int64"))
    before = list(m.parameters())
    m(lg.ones(2)).sum().backward()
    m.double()
    assert all(p is q for p, q in zip(before, m.parameters(), strict=True))
    assert {str(t.dtype) for t in m.parameters()} == {"float64"}
    assert {str(p.grad.dtype) for p in m.parameters()} == {"float64"}
    assert (str(m.mean.dtype), str(m.steps.dtype)) == ("float64", "int64")
    m.zero_grad()
    m(lg.ones(2, dtype="float64")).sum().backward()
    assert m.scale.grad.dtype == "float64"
    assert m.half().scale.dtype == "float16"
    assert m.float().scale.dtype == "float32"
    assert m.to(lg.float64).scale.dtype == "float64"
    assert m.to(lg.ones(1)).scale.dtype == "float32"
    assert m.to("cpu", dtype="float64").scale.dtype == "float64"
    assert m.type("float32").steps.dtype == "float32"
    with pytest.raises(TypeError, match="floating point or complex"):
        m.to("int64")
    with pytest.raises(TypeError, match="unexpected keyword"):
        m.to(where="cpu")


def test_to_cuda_and_back():
    m = Pair()
    shared = nn.Sequential(m, m.first)
    x = lg.ones(2)
    y = m(x)
    before = list(shared.parameters())
    shared.to("cuda")
    assert all(p is q for p, q in zip(before, shared.parameters(), strict=True))
    assert {str(p.device) for p in shared.parameters()} == {"cuda:0"}
    assert str(m.mean.device) == "cuda:0"
    z = m(x.cuda())
    z.sum().backward()
    assert str(m.scale.grad.device) == "cuda:0"
    np.testing.assert_allclose(z.detach().cpu().numpy(), y.detach().numpy(), rtol=1e-5)
    m.load_state_dict({k: np.ones(v.shape) for k, v in m.state_dict().items()})
    assert m.scale.cpu().tolist() == [1, 1, 1]
    assert str(shared.cpu()[1].weight.device) == "cpu"
    assert str(m.scale.grad.device) == "cpu"


def test_deepcopy_and_pickle():
    m = Pair()
    m.alias = m.first
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert _values(other) == _values(m)
        assert other.alias is other.first
        assert other.first is not m.first
        assert all(isinstance(p, nn.Parameter) for p in other.parameters())
        other.more = nn.ReLU()
        assert "more" not in m._modules


# -- showing
def test_representation():
    assert repr(Pair()) == (
        "Pair(\n  (first): Linear(in_features=2, out_features=3, bias=True)\n  (last): Sequential(\n"
        "    (0): Linear(in_features=3, out_features=3, bias=True)\n    (1): ReLU()\n  )\n)"
    )
    assert repr(nn.Module()) == "Module()"


# -- beside PyTorch
def _theirs(torch):
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(2, 3)
            self.scale = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("passing", torch.zeros(1), persistent=False)
            self.last = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())

        def forward(self, x):
            return self.last(self.first(x) * self.scale + self.mean)

    return Pair()


def test_pytorch_has_the_same_keys_names_and_representation():
    torch = peer("torch")
    m, t = Pair(), _theirs(torch)
    assert list(m.state_dict()) == list(t.state_dict())
    assert m.state_dict()._metadata == ask(t, lambda t: t.state_dict()._metadata)
    assert repr(m) == repr(t)
    for method in ("named_parameters", "named_buffers", "named_modules", "named_children"):
        assert [n for n, _ in getattr(m, method)()] == [n for n, _ in getattr(t, method)()]


def test_a_pytorch_checkpoint_loads():
    torch = peer("torch")
    m, t = Pair(), _theirs(torch)
    m.load_state_dict(t.state_dict())
    x = np.random.default_rng(0).normal(size=(4, 2)).astype("float32")
    np.testing.assert_allclose(m(lg.tensor(x)).detach().numpy(), t(torch.tensor(x)).detach().numpy(), rtol=1e-5)
    m.load_state_dict(t.state_dict(keep_vars=True))
    m.load_state_dict({k: v.bfloat16() if v.is_floating_point() else v for k, v in t.state_dict().items()})
    np.testing.assert_array_equal(m.scale.detach().numpy(), t.scale.detach().bfloat16().float().numpy())
    m.load_state_dict(t.state_dict(), assign=True)
    assert str(m.scale.device) == "cpu"
    m(lg.tensor(x)).sum().backward()


def test_pytorch_says_the_same_of_a_bad_state():
    torch = peer("torch")
    m, t = Pair(), _theirs(torch)

    def told(model, make):
        state = {k: v for k, v in model.state_dict().items() if k != "scale"}
        state["extra"] = make(1)
        state["first.bias"] = make(7)
        with pytest.raises(RuntimeError) as caught:
            model.load_state_dict(state)
        return str(caught.value).replace("torch.Size([7])", "(7,)").replace("torch.Size([3])", "(3,)")

    assert told(m, lg.ones) == told(t, torch.ones)
