import numpy as np
import pytest
from golden import peer
from hypothesis import given, settings, strategies as st
from nn.compared import agree, draw, mapped, twice

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

NUMPY_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", NUMPY_MODES)
@settings(max_examples=12, deadline=None)
@given(widths=st.tuples(*[st.integers(0, 2)] * 4))
def test_against_numpy(mode, widths):
    x = draw(2, 3, 4)
    y = F.pad(lg.tensor(x), widths, mode)
    expected = np.pad(x, ((0, 0), widths[2:], widths[:2]), NUMPY_MODES[mode])
    np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(
    ("shape", "widths"),
    [
        ((3, 5), (2, 1)),
        ((2, 3, 5), (2, 0)),
        ((2, 3, 4, 5), (1, 2, 3, 0)),
        ((3, 4, 5), (1, 2, 3, 1)),
        ((2, 3, 3, 4, 5), (1, 2, 1, 1, 0, 2)),
        ((2, 3, 4, 5), (-1, 2, 1, -2)),
    ],
)
def test_modes(mode, shape, widths):
    torch = peer("torch")
    agree(torch, F.pad, torch.nn.functional.pad, draw(*shape), pad=widths, mode=mode)


@pytest.mark.parametrize("value", [None, 0, 2.5])
@pytest.mark.parametrize("widths", [(1, 2), (0, 0), (-1, 2), (-1, -1, 3, -2), (1, 0, 0, 0, 2, 1), ()])
def test_constant(value, widths):
    torch = peer("torch")
    agree(torch, F.pad, torch.nn.functional.pad, draw(2, 3, 4), pad=widths, value=value)


def test_infinities_around():
    x = draw(2, 3)
    y = F.pad(lg.tensor(x), (1, 0), value=float("-inf")).numpy()
    np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (1, 0)), constant_values=-np.inf))


def test_second_derivatives_and_vmap():
    for mode in NUMPY_MODES:
        twice(lambda x, mode=mode: F.pad(x, (2, 1, 1, 0), mode) ** 3, draw(1, 3, 3))
        mapped(lambda x, mode=mode: F.pad(x, (2, 1, 1, 0), mode), draw(3, 1, 3, 3))


ERRORS = [
    (lambda: F.pad(lg.ones((2, 3)), (1,)), RuntimeError, "pair"),
    (lambda: F.pad(lg.ones((2, 3)), (1,) * 6), RuntimeError, "pair"),
    (lambda: F.pad(lg.ones((2, 3)), (-2, -2)), RuntimeError, "takes away"),
    (lambda: F.pad(lg.ones((2, 3)), (3, 0), "reflect"), RuntimeError, "at most 2"),
    (lambda: F.pad(lg.ones((2, 3)), (4, 0), "circular"), RuntimeError, "at most 3"),
    (lambda: F.pad(lg.ones((2, 3)), (1, 0), "mirror"), RuntimeError, "mirror"),
    (lambda: F.pad(lg.ones((2, 3)), (1, 0, 1, 0), "reflect"), RuntimeError, "axes"),
    (lambda: F.pad(lg.ones((2, 3)), (1, 0), "reflect", 2.0), ValueError, "value"),
    (lambda: F.interpolate(lg.ones((1, 1, 2))), ValueError, "neither"),
    (lambda: F.interpolate(lg.ones((1, 1, 2)), 2, 2), ValueError, "both"),
    (lambda: F.interpolate(lg.ones((1, 1, 2)), (2, 3)), ValueError, "1 of them"),
    (lambda: F.interpolate(lg.ones((1, 1, 2)), 2, mode="bilinear"), RuntimeError, "'linear'"),
    (lambda: F.interpolate(lg.ones((1, 1, 2)), 2, align_corners=True), ValueError, "align_corners"),
    (lambda: F.interpolate(lg.ones((1, 1, 2)), 2, mode="linear", antialias=True), ValueError, "antialias"),
    (lambda: F.interpolate(lg.ones((1, 1, 2)), scale_factor=0.1), RuntimeError, "above 0"),
    (lambda: F.pixel_shuffle(lg.ones((3, 2, 2)), 2), RuntimeError, "divisible"),
    (lambda: F.pixel_unshuffle(lg.ones((3, 3, 2)), 2), RuntimeError, "divisible"),
    (lambda: F.channel_shuffle(lg.ones((1, 3, 2)), 2), RuntimeError, "divisible"),
    (lambda: nn.ReflectionPad2d((1, 2, 3)), RuntimeError, "4 of them"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("kind", ["ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"])
def test_layers(axes, kind):
    torch = peer("torch")
    more = (2.5,) if kind == "ConstantPad" else ()
    for widths in (1, tuple(range(2 * axes)) if axes < 3 else (1, 0, 2, 1, 0, 2)):
        ours, theirs = (getattr(m, f"{kind}{axes}d")(widths, *more) for m in (nn, torch.nn))
        assert repr(ours) == repr(theirs)
        agree(torch, ours, theirs, draw(2, 2, *(4, 5, 6)[:axes]))


# -- other sizes ---------------------------------------------------------------------------------
RESIZED = [
    ("nearest", (2, 2, 5), [{"size": 8}, {"size": 3}, {"scale_factor": 1.7}, {"scale_factor": 0.6}, {"size": 5}]),
    ("nearest-exact", (2, 2, 5), [{"size": 8}, {"size": 3}, {"scale_factor": 1.7}]),
    ("nearest", (1, 2, 3, 4), [{"size": (7, 5)}, {"scale_factor": (2, 1.5)}, {"scale_factor": 2}]),
    ("nearest", (1, 1, 3, 4, 2), [{"size": (4, 4, 4)}, {"scale_factor": 2}]),
    ("linear", (2, 2, 5), [{"size": 8}, {"size": 1}, {"size": 3}, {"scale_factor": 1.7}]),
    ("bilinear", (1, 2, 4, 5), [{"size": (7, 3)}, {"scale_factor": 2}, {"scale_factor": (0.6, 1.3)}, {"size": (1, 9)}]),
    ("bicubic", (1, 2, 4, 5), [{"size": (7, 3)}, {"scale_factor": 2}, {"scale_factor": (0.6, 1.3)}, {"size": (1, 9)}]),
    ("trilinear", (1, 1, 3, 4, 2), [{"size": (4, 4, 4)}, {"scale_factor": 1.5}]),
    ("area", (1, 2, 5, 6), [{"size": (2, 3)}, {"size": (7, 4)}, {"scale_factor": 0.5}]),
]


@pytest.mark.parametrize(("mode", "shape", "ways"), RESIZED)
def test_interpolate(mode, shape, ways):
    torch = peer("torch")
    corners = [None] if mode.startswith("nearest") or mode == "area" else [None, False, True]
    for keywords in ways:
        for align_corners in corners:
            for more in [{}, {"recompute_scale_factor": True}] if "scale_factor" in keywords else [{}]:
                agree(
                    torch, F.interpolate, torch.nn.functional.interpolate, draw(*shape),
                    mode=mode, align_corners=align_corners, **keywords, **more,
                )  # fmt: skip


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (12, 5), (9, 2)])
@pytest.mark.parametrize("align_corners", [False, True])
def test_antialias(mode, size, align_corners):
    torch = peer("torch")
    keywords = {"size": size, "mode": mode, "antialias": True, "align_corners": align_corners}
    agree(torch, F.interpolate, torch.nn.functional.interpolate, draw(1, 2, 9, 11), **keywords)


@pytest.mark.parametrize(("n", "size"), np.random.default_rng(0).integers(1, (41, 91), (60, 2)).tolist())
def test_nearest_counts_places_as_pytorch_does(n, size):
    torch = peer("torch")
    x = np.arange(float(n)).reshape(1, 1, n)
    for mode in ("nearest", "nearest-exact"):
        ours = F.interpolate(lg.tensor(x), size, mode=mode).numpy()
        np.testing.assert_array_equal(ours, torch.nn.functional.interpolate(torch.tensor(x), size, mode=mode).numpy())


def test_linear_keeps_straight_lines():
    x = lg.tensor(np.arange(5.0).reshape(1, 1, 5))
    y = F.interpolate(x, 9, mode="linear", align_corners=True)
    np.testing.assert_allclose(y.numpy()[0, 0], np.linspace(0, 4, 9), atol=1e-14)


def test_single_precision():
    torch = peer("torch")
    x = draw(1, 2, 6, 7).astype("f")
    for mode in ("bilinear", "bicubic"):
        agree(torch, F.interpolate, torch.nn.functional.interpolate, x, size=(11, 5), mode=mode, rtol=1e-5, atol=1e-5)


def test_shuffles():
    torch = peer("torch")
    T = torch.nn.functional
    agree(torch, F.pixel_shuffle, T.pixel_shuffle, draw(2, 8, 3, 2), upscale_factor=2)
    agree(torch, F.pixel_shuffle, T.pixel_shuffle, draw(9, 3, 2), upscale_factor=3)
    agree(torch, F.pixel_unshuffle, T.pixel_unshuffle, draw(2, 2, 6, 4), downscale_factor=2)
    agree(torch, F.channel_shuffle, T.channel_shuffle, draw(2, 6, 3), groups=3)


def test_resized_second_derivatives_and_vmap():
    for keywords in ({"size": (4, 3)}, {"size": (4, 3), "mode": "bilinear"}, {"size": (4, 3), "mode": "bicubic"}):
        twice(lambda x, k=keywords: F.interpolate(x, **k) ** 3, draw(1, 1, 3, 2))
        mapped(lambda x, k=keywords: F.interpolate(x, **k), draw(3, 1, 1, 3, 2))
    mapped(lambda x: F.pixel_shuffle(x, 2), draw(3, 4, 2, 2))


@pytest.mark.parametrize(
    ("name", "args", "keywords", "shape"),
    [
        ("Upsample", (), {"scale_factor": 2}, (1, 2, 3)),
        ("Upsample", (), {"size": (3, 2), "mode": "bilinear"}, (1, 2, 3, 4)),
        ("Upsample", (), {"scale_factor": (2, 1.5), "mode": "bicubic", "align_corners": True}, (1, 2, 3, 4)),
        ("UpsamplingNearest2d", (), {"scale_factor": 2}, (1, 2, 3, 4)),
        ("UpsamplingBilinear2d", (), {"size": (5, 5)}, (1, 2, 3, 4)),
        ("PixelShuffle", (2,), {}, (1, 4, 3, 2)),
        ("PixelUnshuffle", (2,), {}, (1, 1, 4, 2)),
        ("ChannelShuffle", (2,), {}, (1, 4, 3)),
    ],
)
def test_resampling_layers(name, args, keywords, shape):
    torch = peer("torch")
    ours, theirs = (getattr(m, name)(*args, **keywords) for m in (nn, torch.nn))
    assert repr(ours) == repr(theirs)
    agree(torch, ours, theirs, draw(*shape))


def test_on_the_device():
    x = draw(1, 1, 3, 4).astype("f")
    for function in (
        lambda x: F.pad(x, (1, 2, 0, 1), "reflect"),
        lambda x: F.pad(x, (1, -1), value=2.0),
        lambda x: F.interpolate(x, (5, 3), mode="bilinear"),
    ):
        results = []
        for device in ("cpu", "cuda:0"):
            t = lg.tensor(x, device=device, requires_grad=True)
            y = function(t)
            (y * y).sum().backward()
            results.append([y.detach().cpu().numpy(), t.grad.cpu().numpy()])
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
