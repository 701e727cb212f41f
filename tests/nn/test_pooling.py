import numpy as np
import pytest
from golden import peer
from hypothesis import given, settings, strategies as st
from nn.compared import agree, draw, mapped, twice

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

SHAPES = {1: (2, 3, 9), 2: (2, 3, 7, 8), 3: (2, 2, 5, 6, 5)}

MAX = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 2, "stride": 2, "dilation": 2},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "padding": 1, "ceil_mode": True},
]
AVG = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    {"kernel_size": 3, "stride": 2, "ceil_mode": True},
    {"kernel_size": 2, "stride": 3, "padding": 1, "ceil_mode": True, "count_include_pad": False},
]


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("keywords", MAX)
def test_max(axes, batch, keywords):
    torch = peer("torch")
    name, x = f"max_pool{axes}d", draw(*SHAPES[axes][not batch :])
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    agree(torch, ours, theirs, x, **keywords)
    agree(torch, ours, theirs, x, return_indices=True, **keywords)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("batch", [True, False])
@pytest.mark.parametrize("keywords", AVG)
def test_avg(axes, batch, keywords):
    torch = peer("torch")
    name, x = f"avg_pool{axes}d", draw(*SHAPES[axes][not batch :])
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    agree(torch, ours, theirs, x, **keywords)
    if axes > 1:
        agree(torch, ours, theirs, x, divisor_override=5, **keywords)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("keywords", [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "ceil_mode": True}])
@pytest.mark.parametrize("norm", [1, 2, 3.0, float("inf")])
def test_powers(axes, keywords, norm):
    torch = peer("torch")
    name, x = f"lp_pool{axes}d", draw(*SHAPES[axes], low=0.1)
    agree(torch, getattr(F, name), getattr(torch.nn.functional, name), x, norm_type=norm, **keywords)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 4, None])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive(axes, count, kind):
    torch = peer("torch")
    name = f"adaptive_{kind}_pool{axes}d"
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    if count is None:
        count = (None, 2, 5)[:axes] if axes > 1 else 9
    for x in (draw(*SHAPES[axes]), draw(*SHAPES[axes][1:])):
        agree(torch, ours, theirs, x, output_size=count)
        if kind == "max":
            agree(torch, ours, theirs, x, output_size=count, return_indices=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 14))
def test_adaptive_windows_are_means_over_their_spans(size, count):
    x = draw(2, size)
    y = F.adaptive_avg_pool1d(lg.tensor(x), count).numpy()
    z = F.adaptive_max_pool1d(lg.tensor(x), count).numpy()
    for i in range(count):
        span = x[:, i * size // count : -(-(i + 1) * size // count)]
        np.testing.assert_allclose(y[:, i], span.mean(axis=1), atol=1e-14)
        np.testing.assert_array_equal(z[:, i], span.max(axis=1))


def test_infinities_stay_in_their_windows():
    x = lg.tensor([[1.0, np.inf, 3.0, 4.0, 5.0]])
    np.testing.assert_allclose(F.adaptive_avg_pool1d(x, 3).numpy(), [[np.inf, np.inf, 4.5]])


def test_max_pool_against_the_definition():
    x = draw(1, 1, 6, 6)
    y, i = F.max_pool2d(lg.tensor(x), 2, return_indices=True)
    blocks = x.reshape(3, 2, 3, 2).transpose(0, 2, 1, 3).reshape(3, 3, 4)
    np.testing.assert_array_equal(y.numpy()[0, 0], blocks.max(axis=2))
    np.testing.assert_array_equal(x.reshape(-1)[i.numpy()[0, 0]], blocks.max(axis=2))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_unpool(axes):
    torch = peer("torch")
    x = draw(*SHAPES[axes])
    y, i = getattr(F, f"max_pool{axes}d")(lg.tensor(x), 2, return_indices=True)
    name = f"max_unpool{axes}d"
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    agree(torch, ours, theirs, y.numpy(), i.numpy(), kernel_size=2, output_size=SHAPES[axes])
    y2, i2 = getattr(F, f"max_pool{axes}d")(lg.tensor(draw(2, *(4, 6, 8)[:axes])), 2, return_indices=True)
    agree(torch, ours, theirs, y2.numpy(), i2.numpy(), kernel_size=2)
    back = ours(y, i, 2, output_size=SHAPES[axes])
    assert np.count_nonzero(back.numpy()) == y.size
    np.testing.assert_array_equal(np.sort(back.numpy()[back.numpy() != 0]), np.sort(y.numpy().reshape(-1)))


def test_second_derivatives():
    x = draw(1, 2, 5, 4)
    twice(lambda x: F.max_pool2d(x, 2, ceil_mode=True) ** 2, x)
    twice(lambda x: F.avg_pool2d(x, 3, 2, 1) ** 2, x)
    twice(lambda x: F.adaptive_avg_pool2d(x, 3) ** 2, x)
    twice(lambda x: F.adaptive_max_pool2d(x, 3) ** 2, x)
    twice(lambda x: F.lp_pool2d(x, 3, 2), draw(1, 2, 4, 4, low=0.1))
    i = F.max_pool2d(lg.tensor(x), 2, return_indices=True)[1]
    twice(lambda y: F.max_unpool2d(y, i, 2) ** 2, draw(1, 2, 2, 2))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        lambda x: F.adaptive_max_pool2d(x, (3, 2)),
        lambda x: F.lp_pool2d(x**2 + 1, 2, 2),
    ],
)
def test_vmap(function):
    mapped(function, draw(3, 2, 2, 5, 4))
    mapped(function, draw(3, 2, 5, 4))


ERRORS = [
    (lambda: F.max_pool2d(lg.ones((4, 4)), 2), RuntimeError, r"\(4, 4\)"),
    (lambda: F.max_pool2d(lg.ones((1, 4, 4)), 2, padding=2), RuntimeError, "half"),
    (lambda: F.max_pool2d(lg.ones((1, 4, 4)), 5), RuntimeError, "does not fit"),
    (lambda: F.max_pool2d(lg.ones((1, 4, 4)), (2, 2, 2)), RuntimeError, "kernel_size"),
    (lambda: F.avg_pool2d(lg.ones((1, 4, 4)), 2, divisor_override=0), RuntimeError, "divisor"),
    (lambda: F.adaptive_avg_pool2d(lg.ones((1, 4, 4)), (1, 2, 3)), RuntimeError, "output_size"),
    (lambda: F.adaptive_avg_pool2d(lg.ones((1, 4, 0)), 1), RuntimeError, "sizes"),
    (lambda: F.max_unpool1d(lg.ones((1, 2)), lg.zeros((1, 2), dtype=lg.int64), 2, output_size=(9,)), ValueError, "9"),
    (lambda: F.max_unpool1d(lg.ones((1, 2)), lg.zeros((1, 3), dtype=lg.int64), 2), RuntimeError, "one shape"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


LAYERS = [
    (f"{kind}{axes}d", args, keywords, axes)
    for axes in (1, 2, 3)
    for kind, args, keywords in [
        ("MaxPool", (2,), {}),
        ("MaxPool", (3,), {"stride": 2, "padding": 1, "ceil_mode": True, "return_indices": True}),
        ("AvgPool", (2,), {}),
        ("AvgPool", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}),
        ("LPPool", (2, 2), {}),
        ("AdaptiveAvgPool", (2,), {}),
        ("AdaptiveMaxPool", (3,), {"return_indices": True}),
    ]
]


@pytest.mark.parametrize(("name", "args", "keywords", "axes"), LAYERS)
def test_layers(name, args, keywords, axes):
    torch = peer("torch")
    ours, theirs = (getattr(m, name)(*args, **keywords) for m in (nn, torch.nn))
    assert repr(ours) == repr(theirs)
    agree(torch, ours, theirs, draw(*SHAPES[axes]))


def test_unpool_layer():
    torch = peer("torch")
    assert repr(nn.MaxUnpool2d(2, padding=1)) == repr(torch.nn.MaxUnpool2d(2, padding=1))
    y, i = nn.MaxPool2d(2, return_indices=True)(lg.tensor(draw(1, 2, 5, 4)))
    back = nn.MaxUnpool2d(2)(y, i, output_size=(1, 2, 5, 4))
    theirs = torch.nn.MaxUnpool2d(2)(torch.tensor(y.numpy()), torch.tensor(i.numpy()), output_size=(1, 2, 5, 4))
    np.testing.assert_array_equal(back.numpy(), theirs.numpy())


def test_on_the_device():
    x = draw(1, 2, 5, 4).astype("f")
    for function in (
        lambda x: F.max_pool2d(x, 3, 2, 1),
        lambda x: F.adaptive_max_pool2d(x, 3),
        lambda x: F.adaptive_avg_pool2d(x, 3),
        lambda x: F.avg_pool2d(x, 2),
    ):
        results = []
        for device in ("cpu", "cuda:0"):
            t = lg.tensor(x, device=device, requires_grad=True)
            y = function(t)
            (y * y).sum().backward()
            results.append([y.detach().cpu().numpy(), t.grad.cpu().numpy()])
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
