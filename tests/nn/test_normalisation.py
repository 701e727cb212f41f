import numpy as np
import pytest
from golden import peer
from nn.compared import agree, draw, mapped, twice

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

SHAPES = {1: (4, 3, 5), 2: (4, 3, 5, 2), 3: (2, 3, 3, 2, 2)}


def both(torch, name, *args, **keywords):
    """A layer of each library in double precision, with the same random state."""
    theirs = getattr(torch.nn, name)(*args, **keywords).double()
    ours = getattr(nn, name)(*args, **keywords).double()
    assert repr(ours) == repr(theirs)
    state = {
        k: v.numpy() if v.dtype == torch.int64 else np.abs(draw(*v.shape, seed=k.__len__())) + 0.5
        for k, v in theirs.state_dict().items()
    }
    theirs.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
    ours.load_state_dict(state)
    return ours, theirs


def same_state(ours, theirs):
    ours, theirs = ours.state_dict(), theirs.state_dict()
    assert list(ours) == list(theirs)
    for key in ours:
        np.testing.assert_allclose(ours[key].numpy(), theirs[key].numpy(), rtol=1e-10)
        assert str(ours[key].dtype) == str(theirs[key].numpy().dtype)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"momentum": None},
        {"affine": False},
        {"track_running_stats": False},
        {"eps": 0.1, "momentum": 0.3, "bias": False},
    ],
)
def test_batch_norm_trains_and_tracks_as_pytorch_does(axes, keywords):
    torch = peer("torch")
    ours, theirs = both(torch, f"BatchNorm{axes}d", 3, **keywords)
    for step in range(3):
        agree(torch, ours, theirs, draw(*SHAPES[axes], seed=step))
    same_state(ours, theirs)
    ours.eval(), theirs.eval()
    agree(torch, ours, theirs, draw(*SHAPES[axes], seed=9))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10)
    same_state(ours, theirs)


def test_batch_norm_of_vectors():
    torch = peer("torch")
    ours, theirs = both(torch, "BatchNorm1d", 3)
    agree(torch, ours, theirs, draw(6, 3))
    same_state(ours, theirs)


def test_batch_norm_against_the_definition():
    x, w, b = draw(4, 3, 5), draw(3), draw(3, seed=1)
    mean, var = lg.zeros(3, dtype=lg.float64), lg.ones(3, dtype=lg.float64)
    y = F.batch_norm(lg.tensor(x), mean, var, lg.tensor(w), lg.tensor(b), training=True, momentum=0.25)
    m, v = x.mean(axis=(0, 2)), x.var(axis=(0, 2))
    centred = (x - m[:, None]) / np.sqrt(v[:, None] + 1e-5)
    np.testing.assert_allclose(y.numpy(), centred * w[:, None] + b[:, None], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mean.numpy(), 0.25 * m, rtol=1e-12)
    np.testing.assert_allclose(var.numpy(), 0.75 + 0.25 * x.var(axis=(0, 2), ddof=1), rtol=1e-12)
    before = mean.numpy().copy()
    F.batch_norm(lg.tensor(x), mean, var)
    np.testing.assert_array_equal(mean.numpy(), before)


def test_a_cumulative_mean_is_the_mean_of_all_batches():
    layer = nn.BatchNorm1d(2, momentum=None).double()
    xs = [draw(5, 2, seed=k) for k in range(4)]
    for x in xs:
        layer(lg.tensor(x))
    np.testing.assert_allclose(layer.running_mean.numpy(), np.mean([x.mean(axis=0) for x in xs], axis=0))
    assert layer.num_batches_tracked.item() == 4
    layer.reset_running_stats()
    assert layer.num_batches_tracked.item() == 0 and not layer.running_mean.numpy().any()


def test_old_checkpoints_without_the_number_of_batches_load():
    layer = nn.Sequential(nn.BatchNorm1d(2))
    state = {k: v for k, v in layer.state_dict().items() if "num_batches" not in k}
    layer.load_state_dict(state)
    new = layer.state_dict()
    del new["0.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        layer.load_state_dict(new)  # its version says that it should be there


def test_eval_without_statistics_uses_the_batch():
    torch = peer("torch")
    ours, theirs = both(torch, "BatchNorm1d", 3, track_running_stats=False)
    ours.eval(), theirs.eval()
    agree(torch, ours, theirs, draw(4, 3))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    "keywords", [{}, {"affine": True}, {"affine": True, "track_running_stats": True, "momentum": 0.3}]
)
def test_instance_norm(axes, keywords):
    torch = peer("torch")
    ours, theirs = both(torch, f"InstanceNorm{axes}d", 3, **keywords)
    for step in range(2):
        agree(torch, ours, theirs, draw(*SHAPES[axes], seed=step))
    agree(torch, ours, theirs, draw(*SHAPES[axes][1:]))
    same_state(ours, theirs)
    ours.eval(), theirs.eval()
    agree(torch, ours, theirs, draw(*SHAPES[axes], seed=5))
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "args", "keywords", "shape"),
    [
        ("LayerNorm", (4,), {}, (2, 3, 4)),
        ("LayerNorm", ((3, 4),), {"eps": 0.1}, (2, 3, 4)),
        ("LayerNorm", (4,), {"bias": False}, (3, 4)),
        ("LayerNorm", (4,), {"elementwise_affine": False}, (4,)),
        ("LayerNorm", (4,), {}, (0, 4)),
        ("RMSNorm", (4,), {}, (2, 3, 4)),
        ("RMSNorm", ((3, 4),), {"eps": 0.1}, (2, 3, 4)),
        ("RMSNorm", (4,), {"elementwise_affine": False}, (3, 4)),
        ("GroupNorm", (2, 4), {}, (3, 4, 5)),
        ("GroupNorm", (4, 4), {"affine": False, "eps": 0.1}, (3, 4, 2, 2)),
        ("GroupNorm", (1, 4), {"bias": False}, (3, 4)),
        ("LocalResponseNorm", (2,), {}, (2, 5, 4)),
        ("LocalResponseNorm", (3,), {"alpha": 0.5, "beta": 0.5, "k": 2.0}, (2, 5, 3, 2)),
    ],
)
def test_layers(name, args, keywords, shape):
    torch = peer("torch")
    ours, theirs = both(torch, name, *args, **keywords)
    agree(torch, ours, theirs, draw(*shape))
    same_state(ours, theirs)
    for (key, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert key == other
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-10)


def test_bias_without_weight():
    torch = peer("torch")
    agree(
        torch,
        lambda x, b: F.layer_norm(x, (4,), None, b),
        lambda x, b: torch.nn.functional.layer_norm(x, (4,), None, b),
        draw(3, 4),
        draw(4),
    )


def test_layer_norm_against_the_definition():
    x = draw(3, 4, 5)
    y = F.layer_norm(lg.tensor(x), (4, 5)).numpy()
    expected = (x - x.mean(axis=(1, 2), keepdims=True)) / np.sqrt(x.var(axis=(1, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, expected, rtol=1e-10, atol=1e-12)
    groups = F.group_norm(lg.tensor(x), 2).numpy().reshape(3, 2, 10)
    np.testing.assert_allclose(groups.mean(axis=2), 0, atol=1e-12)
    np.testing.assert_allclose(groups.var(axis=2), 1, rtol=1e-3)


@pytest.mark.parametrize(
    "norm",
    [
        lambda x, w: F.layer_norm(x, (64,), w),
        lambda x, w: F.layer_norm(x, (64,)),
        lambda x, w: F.rms_norm(x, (64,), w),
        lambda x, w: F.batch_norm(x.T, None, None, training=True).T,
        lambda x, w: F.group_norm(x[:, :, None], 4, w).squeeze(-1),
        lambda x, w: F.instance_norm(x[None])[0],
    ],
    ids=["layer", "plain layer", "rms", "batch", "group", "instance"],
)
def test_squares_of_16_bit_values_do_not_overflow(norm):
    values = draw(8, 64, seed=3) * 1000
    x = lg.tensor(values, dtype=lg.float16).requires_grad_()
    w = lg.ones(64, dtype=lg.float16).requires_grad_()
    y, exact = norm(x, w), norm(lg.tensor(values), lg.ones(64, dtype=lg.float64))
    assert y.dtype == lg.float16
    np.testing.assert_allclose(y.detach().numpy(), exact.numpy(), rtol=1e-2, atol=1e-2)
    (y * y).sum().backward()
    assert x.grad.dtype == lg.float16 and bool(lg.isfinite(x.grad).all())


def test_running_statistics_of_16_bits_are_tracked():
    layer = nn.BatchNorm1d(2).half()
    layer(lg.tensor([[0.0, 400.0], [4.0, 404.0]], dtype=lg.float16))
    np.testing.assert_allclose(layer.running_mean.numpy(), [0.2, 40.2], rtol=1e-3)
    np.testing.assert_allclose(layer.running_var.numpy(), [1.7, 1.7], rtol=1e-3)
    assert layer.running_var.dtype == lg.float16


def test_second_derivatives():
    x, w, b = draw(3, 2, 2), draw(2), draw(2, seed=1)
    twice(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, w, b)
    mean, var = lg.tensor(draw(2)), lg.tensor(draw(2, low=0.5))
    twice(lambda x, w, b: F.batch_norm(x, mean, var, w, b) ** 2, x, w, b)
    twice(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), x, w, b)
    twice(lambda x, w, b: F.layer_norm(x, (2,), w, b), x, w, b)
    twice(lambda x, w: F.rms_norm(x, (2,), w), x, w)
    twice(lambda x, w, b: F.group_norm(x, 1, w, b), x, w, b)
    twice(lambda x: F.local_response_norm(x, 2, alpha=1.0), x)


def test_vmap():
    x, w, b = draw(3, 4, 2, 3), draw(3, 2), draw(3, 2, seed=1)
    mapped(lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), x, w, b)
    mapped(lambda x, w, b: F.instance_norm(x, weight=w, bias=b), x, w, b)
    mapped(lambda x, w, b: F.group_norm(x, 2, w, b) if x.shape[1] == 2 and x.shape[2] > 1 else x, x, w, b)
    mapped(lambda x: F.layer_norm(x, (2, 3)), x)
    mapped(lambda x: F.rms_norm(x, (3,)), x)
    mapped(lambda x: F.local_response_norm(x, 2), x)


ERRORS = [
    (lambda: F.batch_norm(lg.ones((1, 3)), None, None, training=True), ValueError, "more than one value"),
    (lambda: F.batch_norm(lg.ones((2, 3)), None, None), RuntimeError, "running_mean"),
    (lambda: F.batch_norm(lg.ones((2, 3)), lg.ones(2), lg.ones(3)), RuntimeError, "running_mean"),
    (lambda: F.batch_norm(lg.ones((2, 3)), None, None, lg.ones(2), training=True), RuntimeError, "weight"),
    (lambda: nn.BatchNorm2d(3)(lg.ones((2, 3))), ValueError, "4 axes"),
    (lambda: nn.BatchNorm1d(3)(lg.ones((2, 3, 2, 2))), ValueError, "2 or 3 axes"),
    (lambda: nn.BatchNorm2d(3)(lg.ones((2, 4, 2, 2))), RuntimeError, "running_mean"),
    (lambda: F.instance_norm(lg.ones((2, 3, 1))), ValueError, "more than one value"),
    (lambda: nn.InstanceNorm1d(3, affine=True)(lg.ones((2, 4, 2))), ValueError, "num_features=3"),
    (lambda: F.layer_norm(lg.ones((2, 4)), (3,)), RuntimeError, "normalized_shape"),
    (lambda: F.layer_norm(lg.ones((2, 4)), ()), RuntimeError, "normalized_shape"),
    (lambda: F.layer_norm(lg.ones((2, 4)), (4,), lg.ones(3)), RuntimeError, "weight"),
    (lambda: F.rms_norm(lg.ones((2, 4)), (2, 4, 1)), RuntimeError, "normalized_shape"),
    (lambda: F.group_norm(lg.ones((2, 4)), 3), RuntimeError, "num_groups=3"),
    (lambda: F.group_norm(lg.ones((1, 2)), 2), ValueError, "more than one"),
    (lambda: nn.GroupNorm(3, 4), ValueError, "num_groups=3"),
    (lambda: F.local_response_norm(lg.ones((2, 4)), 2), ValueError, "channels"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_instance_norm_warns_of_an_unused_number():
    with pytest.warns(UserWarning, match="num_features=3"):
        nn.InstanceNorm1d(3)(lg.ones((2, 4, 2)))


def test_a_failed_call_tracks_nothing():
    layer = nn.BatchNorm2d(3)
    with pytest.raises(RuntimeError):
        layer(lg.ones((2, 4, 2, 2)))
    with pytest.raises(RuntimeError, match="vmap"):
        lg.func.vmap(layer)(lg.ones((2, 2, 3, 2, 2)))
    assert layer.num_batches_tracked.item() == 0
    assert layer.running_mean.tolist() == [0, 0, 0] and layer.running_var.tolist() == [1, 1, 1]
    assert lg.func.vmap(layer.eval())(lg.ones((2, 2, 3, 2, 2))).shape == (2, 2, 3, 2, 2)


def test_empty_batches():
    torch = peer("torch")
    ours, theirs = both(torch, "BatchNorm1d", 3)
    agree(torch, ours, theirs, draw(0, 3))


def test_on_the_device():
    results = []
    for device in ("cpu", "cuda:0"):
        layer = nn.Sequential(nn.BatchNorm1d(4), nn.GroupNorm(2, 4), nn.LayerNorm(3)).to(device)
        x = lg.tensor(draw(2, 4, 3).astype("f"), device=device, requires_grad=True)
        y = layer(x)
        (y * y * y).sum().backward()
        results.append([t.detach().cpu().numpy() for t in (y, x.grad, *layer.state_dict().values())])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
