"""Sequential, lists and dictionaries of modules and parameters."""

import operator

import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad import nn


def _kinds(modules):
    return [type(module).__name__ for module in modules]


def _acts(nn=nn):
    return [nn.ReLU(), nn.Tanh(), nn.Sigmoid(), nn.GELU()]


# -- Sequential
def test_sequential_passes_through_all():
    m = nn.Sequential({"a": nn.Linear(2, 3), "b": nn.ReLU()})
    assert list(m.state_dict()) == ["a.weight", "a.bias"]
    x = lg.ones(2)
    assert m(x).tolist() == lg.relu(m.a(x)).tolist()


def test_slices_indices_and_changes():
    m = nn.Sequential(*_acts())
    assert _kinds(m[1:3]) == ["Tanh", "Sigmoid"]
    assert list(m[1:3]._modules) == ["1", "2"]
    assert isinstance(m[-1], nn.GELU)
    m[0] = nn.Identity()
    assert _kinds(m)[0] == "Identity"
    del m[1]
    assert (_kinds(m), list(m._modules)) == (["Identity", "Sigmoid", "GELU"], ["0", "1", "2"])
    del m[:2]
    assert (_kinds(m), list(m._modules)) == (["GELU"], ["0"])
    assert m.append(nn.ReLU()) is m
    assert m.insert(0, nn.Tanh()) is m
    assert m.extend([nn.Identity()]) is m
    assert _kinds(m) == ["Tanh", "GELU", "ReLU", "Identity"]
    assert isinstance(m.pop(0), nn.Tanh)
    assert len(m) == 3
    for index in (3, -4):
        with pytest.raises(IndexError):
            m[index]
    with pytest.raises(IndexError):
        m.insert(9, nn.ReLU())


def test_sequential_arithmetic():
    a, b = nn.Sequential(nn.ReLU()), nn.Sequential(nn.Tanh())
    assert _kinds(a + b) == ["ReLU", "Tanh"]
    assert _kinds(a * 3) == _kinds(3 * a) == ["ReLU"] * 3
    a += b
    a *= 2
    assert _kinds(a) == ["ReLU", "Tanh"] * 2
    with pytest.raises(ValueError, match="only objects of Sequential"):
        operator.add(a, [b])
    with pytest.raises(ValueError, match="Non-positive"):
        a * 0
    with pytest.raises(TypeError):
        a * 1.5


# -- ModuleList, ModuleDict
def test_module_list():
    m = nn.ModuleList(_acts())
    assert _kinds(m[1:3]) == ["Tanh", "Sigmoid"]
    assert list(m[1:3]._modules) == ["0", "1"]
    m.insert(1, nn.Identity())
    m.append(nn.Linear(1, 1)).extend([nn.ReLU()])
    assert _kinds(m) == ["ReLU", "Identity", "Tanh", "Sigmoid", "GELU", "Linear", "ReLU"]
    assert list(m.state_dict()) == ["5.weight", "5.bias"]
    m += [nn.Tanh()]
    assert len(m) == 8
    assert isinstance(m.pop(-1), nn.Tanh)
    assert len(operator.add(m, [nn.Tanh()])) == 8
    with pytest.raises(TypeError):
        m.extend(3)
    with pytest.raises(TypeError):
        m.append(3)
    assert "0" not in dir(m)


def test_module_dict():
    m = nn.ModuleDict([("a", nn.ReLU()), ("b", nn.Linear(1, 1))])
    m["c"] = nn.Tanh()
    assert (list(m), len(m), "c" in m) == (["a", "b", "c"], 3, True)
    assert isinstance(m.pop("a"), nn.ReLU)
    m.update({"d": nn.GELU()})
    assert [k for k, _ in m.items()] == list(m.keys()) == ["b", "c", "d"]
    assert _kinds(m.values()) == ["Linear", "Tanh", "GELU"]
    del m["c"]
    with pytest.raises(KeyError):
        m["c"]
    for bad, error in ((3, TypeError), ([3], TypeError), ([("a",)], ValueError)):
        with pytest.raises(error):
            m.update(bad)
    m.clear()
    assert len(m) == 0


# -- parameters
def test_parameter_list():
    m = nn.ParameterList([lg.ones(2), nn.Parameter(lg.ones(3))])
    m.append(lg.ones(1)).extend([lg.ones(4)])
    m.append("text")
    assert [n for n, _ in m.named_parameters()] == ["0", "1", "2", "3"]
    assert len(m) == 5
    assert m[-1] == "text"
    m[0] = lg.zeros(2)
    assert isinstance(m[0], nn.Parameter)
    assert [p.shape for p in m[1:3]] == [(3,), (1,)]
    with pytest.raises(IndexError):
        m[5]
    with pytest.raises(TypeError):
        m.extend(lg.ones(2))
    m += [lg.ones(1)]
    assert len(list(m)) == 6


def test_parameter_dict():
    m = nn.ParameterDict({"a": lg.ones(2), "b": nn.Parameter(lg.ones(3))})
    assert list(m.state_dict()) == ["a", "b"]
    assert isinstance(m["a"], nn.Parameter)
    m["c"] = 5
    assert m.get("z", 7) == 7
    assert m.setdefault("d", lg.ones(1)).shape == (1,)
    assert list(reversed(m)) == ["d", "c", "b", "a"]
    assert m.popitem()[0] == "d"
    assert m.pop("c") == 5
    other = m | nn.ParameterDict({"e": lg.ones(1)})
    assert list(other) == ["a", "b", "e"]
    assert other["a"] is m["a"]
    m |= nn.ParameterDict({"f": lg.ones(1)})
    assert len(m.copy()) == 3
    assert list(m.fromkeys(["x"], 1)) == ["x"]
    del m["f"]
    with pytest.raises(KeyError):
        m["f"]
    m.clear()
    assert list(m.parameters()) == []


# -- beside PyTorch
@pytest.mark.parametrize(
    "make",
    [
        lambda nn, t: nn.Sequential(*_acts(nn)),
        lambda nn, t: nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()))[1:],
        lambda nn, t: nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(1, 2), nn.ReLU()]),
        lambda nn, t: nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU())]),
        lambda nn, t: nn.ModuleList(),
        lambda nn, t: nn.ModuleDict({"a": nn.ReLU(), "b": nn.ModuleList([nn.Tanh()])}),
    ],
)
def test_pytorch_shows_the_same(make):
    torch = peer("torch")
    m, t = make(nn, lg), make(torch.nn, torch)
    assert repr(m) == repr(t)
    assert list(m.state_dict()) == list(t.state_dict())


def test_pytorch_shows_parameters_alike():
    torch = peer("torch")

    def shown(nn, xp):
        made = [nn.ParameterList([xp.ones(2, 3), "text"]), nn.ParameterDict({"a": xp.ones(2, 3)})]
        return [repr(m).replace("torch.float32", "float32").replace("torch.FloatTensor", "float32") for m in made]

    assert shown(nn, lg) == shown(torch.nn, torch)
