"""array-api-strict has several devices of its own: tensors live on one of them and stay there."""

import pytest

import lucidgrad as lg

DEVICES = ["strict", "strict:1", "strict:2"]
X = [0.5, -1.0, 2.0]

CALLS = {
    "elementwise": lambda x: lg.gelu(x * 2.0) + lg.where(x > 0, x, 0.5),
    "reductions": lambda x: lg.logsumexp(x) + lg.var(x) + lg.prod(x),
    "indexing": lambda x: x[[0, 2, 0]] + x[1:][:1],
    "products": lambda x: lg.einsum("i,j->ij", x, x) @ x,
    "joining": lambda x: lg.concat([x, lg.repeat(x, 2)]),
    "matrices": lambda x: lg.linalg.det(lg.diag(x) + 1.0),
    "sorting": lambda x: lg.sort(x) * lg.take(x, lg.argsort(x)),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CALLS)
def test_gradients_stay_on_the_device_and_equal_the_cpus(name, device):
    found = []
    for where in ("cpu", device):
        x = lg.tensor(X, dtype=lg.float64, device=where, requires_grad=True)
        y = CALLS[name](x)
        assert y.device == where
        (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
        assert g.device == where
        (h,) = lg.autograd.grad((g * g).sum(), x, materialize_grads=True)
        found.append(g.tolist() + h.tolist())
    assert found[1] == pytest.approx(found[0], rel=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_creation_and_moves(device):
    assert lg.zeros(2, device=device).device == lg.ones_like(lg.arange(3, device=device)).device == device
    x = lg.tensor(X, requires_grad=True)
    moved = x.to(device)
    assert moved.device == device
    (moved * 2).to("cpu").sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_devices_do_not_mix_and_unknown_ones_are_named():
    with pytest.raises(ValueError, match="different devices"):
        lg.ones(2, device="strict:1") + lg.ones(2, device="strict:2")
    with pytest.raises(RuntimeError, match="strict:7"):
        lg.ones(2, device="strict:7")


SECOND = {
    "forward over forward": lambda f: (
        lambda x: lg.func.jvp(lambda x: lg.func.jvp(f, (x,), (lg.ones_like(x).detach(),))[1], (x,), (lg.ones_like(x),))[
            1
        ]
    ),
    "jacobian": lg.func.jacfwd,
    "jacobian of jacobian": lambda f: lg.func.jacfwd(lg.func.jacfwd(f)),
    "forward over reverse": lambda f: lg.func.jacfwd(lg.func.jacrev(f)),
    "reverse over forward": lambda f: lg.func.jacrev(lg.func.jacfwd(f)),
}


@pytest.mark.parametrize("transform", SECOND)
@pytest.mark.parametrize("name", ["elementwise", "reductions", "products", "matrices"])
def test_transforms_nest(name, transform):
    found = [
        SECOND[transform](CALLS[name])(lg.tensor(X, dtype=lg.float64, device=where)).cpu().flatten().tolist()
        for where in ("cpu", "strict:1")
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-10, abs=1e-12)


def test_only_layers_are_left_to_reflected_operators():
    x = lg.ones(2, device="strict").array
    with pytest.raises(TypeError, match="Expected Array"):
        x + "text"
