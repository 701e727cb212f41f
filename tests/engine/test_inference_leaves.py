"""``requires_grad=True`` in inference mode: it is kept, and whoever trains such a tensor is told. As in PyTorch."""

import pytest
from golden import installed, peer

import lucidgrad as lg

#: PyTorch is held to the same, where it is installed.
LIBRARIES = ["lucidgrad", *["torch"] * installed()]


@pytest.fixture(params=LIBRARIES)
def lib(request):
    return lg if request.param == "lucidgrad" else peer("torch")


MADE = {
    "tensor": lambda lib: lib.tensor([1.0, 2.0], requires_grad=True),
    "zeros": lambda lib: lib.zeros(2, requires_grad=True),
    "method": lambda lib: lib.tensor([1.0, 2.0]).requires_grad_(),
    "parameter": lambda lib: lib.nn.Parameter(lib.ones(2)),
    "layer": lambda lib: lib.nn.Linear(2, 1).weight,
}


@pytest.fixture(params=MADE)
def made(lib, request):
    with lib.inference_mode():
        return MADE[request.param](lib)


def test_it_is_kept(made):
    assert made.requires_grad
    assert made.is_leaf
    assert made.is_inference()


def test_nothing_is_recorded_inside(lib, made):
    with lib.inference_mode():
        assert not (made * 2).requires_grad
        assert not made.reshape(-1).requires_grad
        assert not made.detach().requires_grad
        with lib.enable_grad():
            assert not (made * 2).requires_grad
        assert made.mul_(2).requires_grad
        with pytest.raises(RuntimeError, match="does not require grad"):
            (made * 2).sum().backward()


def test_it_has_a_gradient_outside(lib, made):
    y = made + lib.zeros(made.shape)
    assert y.requires_grad
    assert not y.is_inference()
    y.sum().backward()
    assert (made.grad == 1).all()
    with lib.inference_mode(), lib.inference_mode(False):
        assert (made * 2).requires_grad


def test_it_may_not_be_written_outside(lib, made):
    with pytest.raises(RuntimeError, match=r"(?i)in-?place"):
        made.mul_(2)
    with lib.no_grad(), pytest.raises(RuntimeError, match=r"(?i)in-?place update (of|to) (an )?inference tensor"):
        made.mul_(2)


def test_it_may_be_switched_off_but_not_on_again(made):
    assert not made.requires_grad_(False).requires_grad
    with pytest.raises(RuntimeError, match="outside"):
        made.requires_grad_()


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_an_optimiser_tells_that_a_layer_cannot_be_trained(lib, name):
    with lib.inference_mode():
        layer = lib.nn.Linear(2, 1)
    optimizer = getattr(lib.optim, name)(layer.parameters(), lr=0.1)
    (layer.bias + lib.zeros(1)).sum().backward()
    with pytest.raises(RuntimeError, match=r"(?i)in-?place update (of|to) (an )?inference tensor"):
        optimizer.step()


def test_gradients_are_right_where_pytorch_refuses():
    """PyTorch saves no inference tensor, and records nothing where all tensors are such; here they are leaves."""
    with lg.inference_mode():
        layer, constant = lg.nn.Linear(2, 1), lg.tensor([3.0, 4.0])
    x = lg.tensor([[1.0, 2.0]], requires_grad=True)
    (layer(x * constant) ** 2).sum().backward()
    value = layer(x * constant).detach()
    assert lg.allclose(layer.weight.grad, 2 * value * (x * constant).detach())
    assert lg.allclose(x.grad, 2 * value * layer.weight.detach() * constant)
    assert lg.autograd.grad((layer.weight * layer.weight).sum(), layer.weight)[0].shape == (1, 2)
