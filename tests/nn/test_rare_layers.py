"""Adaptive softmax, fractional pools, pools with places, older and rarer names: against PyTorch and without it."""

import numpy as np
import pytest
from golden import peer
from nn.compared import agree, draw, fixed, mapped

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F


@pytest.fixture
def torch():
    return peer("torch")


# -- adaptive softmax --------------------------------------------------------------------------------
def adaptive(make=nn.AdaptiveLogSoftmaxWithLoss, dtype=lg.float64, **options):
    return make(8, 20, [3, 7, 12], div_value=1.5, dtype=dtype, **options)


@pytest.mark.parametrize("bias", [True, False])
def test_adaptive_softmax_is_torchs(torch, bias):
    ours = adaptive(head_bias=bias)
    theirs = adaptive(torch.nn.AdaptiveLogSoftmaxWithLoss, torch.float64, head_bias=bias)
    assert repr(ours) == repr(theirs) and list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    for x, target in ((draw(9, 8), np.array([0, 2, 3, 6, 7, 11, 12, 19, 1])), (draw(4, 8), np.array([0, 1, 4, 6]))):
        agree(torch, ours, theirs, x, target)
        agree(torch, ours.log_prob, theirs.log_prob, x)
        np.testing.assert_array_equal(ours.predict(lg.tensor(x)).numpy(), theirs.predict(torch.tensor(x)).numpy())
    agree(torch, ours, theirs, draw(8), np.array(13))
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_adaptive_softmax_is_a_distribution():
    lg.manual_seed(0)
    layer, x = adaptive(), lg.tensor(draw(5, 8))
    every = layer.log_prob(x)
    np.testing.assert_allclose(lg.exp(every).sum(axis=1).detach().numpy(), 1, rtol=1e-12)
    target = lg.tensor([0, 4, 8, 19, 12])
    output, loss = layer(x, target)
    np.testing.assert_allclose(output.detach().numpy(), every.detach().numpy()[range(5), target.numpy()], rtol=1e-12)
    np.testing.assert_allclose(loss.item(), -output.mean().item(), rtol=1e-12)
    there = layer.to("cuda")(x.to("cuda"), target.to("cuda"))[0]
    np.testing.assert_allclose(there.detach().cpu().numpy(), output.detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ValueError, lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [])),
        (ValueError, lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 3])),
        (ValueError, lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 10])),
        (ValueError, lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2.5])),
        (RuntimeError, lambda: adaptive(dtype=None)(lg.ones((2, 8)), lg.tensor([0, 20]))),
        (RuntimeError, lambda: adaptive(dtype=None)(lg.ones((2, 8)), lg.tensor([0, 1, 2]))),
        (RuntimeError, lambda: adaptive(dtype=None)(lg.ones(8), lg.tensor([0]))),
        (RuntimeError, lambda: adaptive(dtype=None)(lg.ones((2, 8)), lg.tensor([[0], [1]]))),
        (ValueError, lambda: F.fractional_max_pool2d(lg.ones((1, 4, 4)), 2)),
        (RuntimeError, lambda: F.fractional_max_pool2d(lg.ones((1, 4, 4)), 3, 3)),
        (RuntimeError, lambda: F.fractional_max_pool2d(lg.ones((4, 4)), 2, 2)),
        (RuntimeError, lambda: F.fractional_max_pool2d(lg.ones((1, 4, 4)), 2, 2, _random_samples=lg.ones((1, 2)))),
        (ValueError, lambda: nn.FractionalMaxPool2d(2)),
        (ValueError, lambda: nn.FractionalMaxPool2d(2, 3, 0.5)),
        (ValueError, lambda: nn.FractionalMaxPool3d(2, output_ratio=1.5)),
        (RuntimeError, lambda: F.pdist(lg.ones(3))),
        (RuntimeError, lambda: F.conv_tbc(lg.ones((2, 2)), lg.ones((1, 2, 2)), lg.ones(2))),
        (RuntimeError, lambda: F.linear_cross_entropy(lg.ones((2, 3)), lg.ones((4, 2)), lg.tensor([0, 1]))),
        (TypeError, lambda: nn.factory_kwargs({"size": 3})),
        (ValueError, lambda: nn.SyncBatchNorm(2)(lg.ones(2))),
    ],
)
def test_errors(kind, call):
    with pytest.raises(kind):
        call()


# -- pools -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("axes", "window", "out"), [(2, 2, (3, 4)), (2, (3, 2), (1, 5)), (3, 2, (2, 3, 1))])
def test_fractional_pools_are_torchs(torch, axes, window, out):
    name, sizes = f"fractional_max_pool{axes}d", (6, 7, 5)[:axes]
    samples = fixed(np.random.default_rng(0).uniform(size=(2, 3, axes)))
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    way = {"kernel_size": window, "output_size": out, "return_indices": True, "_random_samples": samples}
    agree(torch, ours, theirs, draw(2, 3, *sizes), **way)
    one = fixed(np.asarray(samples)[:1])
    agree(torch, ours, theirs, draw(3, *sizes), **{**way, "_random_samples": one})


def test_fractional_pools():
    lg.manual_seed(0)
    x = lg.tensor(draw(2, 3, 9, 7), requires_grad=True)
    y, places = nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.6), return_indices=True)(x)
    assert y.shape == places.shape == (2, 3, 4, 4)
    flat, at = x.detach().numpy().reshape(2, 3, -1), places.numpy().reshape(2, 3, -1)
    np.testing.assert_array_equal(y.detach().numpy().reshape(at.shape), np.take_along_axis(flat, at, -1))
    y.sum().backward()
    assert x.grad.sum().item() == y.size and places.max().item() < 63
    every = F.fractional_max_pool2d(x, 1, (9, 7))  # windows of one element, all of them
    np.testing.assert_array_equal(every.detach().numpy(), x.detach().numpy())
    samples = lg.full((1, 1, 2), 0.5, dtype="float64")
    mapped(lambda t: F.fractional_max_pool2d(t, 2, 2, _random_samples=samples), draw(3, 1, 4, 5))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pools_with_places(axes):
    x = lg.tensor(draw(1, 2, *(4,) * axes))
    for name in (f"max_pool{axes}d", f"adaptive_max_pool{axes}d"):
        expected = getattr(F, name)(x, 2, return_indices=True)
        for found in (
            getattr(F, f"{name}_with_indices")(x, 2),
            getattr(F, f"{name}_with_indices")(input=x, **_size(name)),
        ):
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))


def _size(name):
    return {"output_size" if "adaptive" in name else "kernel_size": 2}


# -- the rest ----------------------------------------------------------------------------------------
def test_rare_functions_are_torchs(torch):
    theirs = torch.nn.functional
    for p in (0.0, 1.0, 2.0, 3.5, np.inf):
        agree(torch, F.pdist, theirs.pdist, draw(5, 3), p=p)
    agree(torch, F.conv_tbc, theirs.conv_tbc, draw(5, 2, 3), draw(2, 3, 4), draw(4), pad=1)
    indices = np.array([1, 3])
    for shape, target in (((4, 3), indices), ((4, 2, 3), np.array([[0, 1], [3, 2]]))):
        agree(
            torch, F.linear_cross_entropy, theirs.linear_cross_entropy, draw(2, 3), draw(*shape), target,
            linear_bias=draw(*shape[:-1]), weight=fixed(np.array([1.0, 2.0, 0.5, 1.5])), label_smoothing=0.1,
        )  # fmt: skip
    agree(torch, F.native_channel_shuffle, theirs.native_channel_shuffle, fixed(draw(1, 4, 2, 2)), groups=2)


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_products_of_parts(where):
    """Along rows, columns, and the axis that is summed over; what comes after the last part gives zeros."""
    ends, stack, wide, tall = [2, 2, 5], draw(3, 4, 6), draw(6, 4), draw(4, 6)

    def parts(matrix, axis):
        return np.split(matrix, ends, axis=axis)[:3]

    for a, b, expected in (
        (wide, stack, np.concatenate([p @ m for p, m in zip(parts(wide, 0), stack, strict=True)] + [np.zeros((1, 6))])),
        (stack.swapaxes(1, 2), tall, np.concatenate(
            [m @ p for p, m in zip(parts(tall, 1), stack.swapaxes(1, 2), strict=True)] + [np.zeros((6, 1))], axis=1)),
        (tall, wide, np.stack([p @ q for p, q in zip(parts(tall, 1), parts(wide, 0), strict=True)])),
    ):  # fmt: skip
        given = [lg.tensor(t, device=where, requires_grad=True) for t in (a, b)]
        y = F.grouped_mm(*given, offs=lg.tensor(ends, device=where))
        np.testing.assert_allclose(y.detach().cpu().numpy(), expected, rtol=1e-12, atol=1e-12)
        y.sum().backward()
        assert [g.grad.shape for g in given] == [g.shape for g in given]
    with pytest.raises(RuntimeError, match="offs"):
        F.grouped_mm(lg.tensor(wide), lg.tensor(stack))


def test_pairs_of_rows():
    x = draw(4, 3)
    expected = [np.linalg.norm(x[i] - x[j]) for i in range(4) for j in range(i + 1, 4)]
    np.testing.assert_allclose(F.pdist(lg.tensor(x)).numpy(), expected, rtol=1e-12)
    assert F.pdist(lg.ones((1, 3))).shape == (0,)


def test_one_process_normalises_its_batch():
    network = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, affine=False)).double()
    x = lg.tensor(draw(4, 3))
    before = network(x)
    made = nn.SyncBatchNorm.convert_sync_batchnorm(network)
    assert isinstance(made[1], nn.SyncBatchNorm) and made[1].num_batches_tracked.item() == 1
    np.testing.assert_allclose(made(x).detach().numpy(), before.detach().numpy(), rtol=1e-12)
    assert list(made.state_dict()) == ["0.weight", "0.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked"]


def test_older_names_warn():
    x = lg.tensor(draw(1, 1, 2, 2))
    with pytest.warns(UserWarning, match="interpolate"):
        y = F.upsample_bilinear(x, scale_factor=2)
    np.testing.assert_array_equal(
        y.numpy(), F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True).numpy()
    )
    with pytest.warns(UserWarning, match="interpolate"):
        F.upsample_nearest(x, 3)
    with pytest.warns(FutureWarning, match="NLLLoss"):
        assert isinstance(nn.NLLLoss2d(), nn.NLLLoss)
    with pytest.warns(FutureWarning, match="Container"):
        assert list(dict(nn.Container(a=nn.Identity()).named_children())) == ["a"]
