"""Layers that read tables of places copy them to the device once, and give what the CPU gives."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.nn import functional as F

pytestmark = pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts copies")

CALLS = {
    "nearest": lambda x: F.interpolate(x, size=(7, 3)),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, size=(4, 9), mode="bicubic", align_corners=True),
    "smaller": lambda x: F.interpolate(x, size=(3, 2), mode="bilinear", antialias=True),
    "adaptive mean": lambda x: F.adaptive_avg_pool2d(x, (3, 4)),
    "adaptive largest": lambda x: F.adaptive_max_pool2d(x, (3, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_copied_again(name):
    call = CALLS[name]
    values = np.random.default_rng(0).normal(size=(2, 2, 5, 6)).astype("float32")
    made = []
    for where in ("cpu", "cuda", "cuda"):
        x = lg.tensor(values, device=where).requires_grad_()
        with cudasim.counting() as found:
            y = call(x)
            y.backward(lg.ones_like(y))
        made.append((y.detach().cpu().numpy(), x.grad.cpu().numpy()))
    assert found.bytes_to_device == found.copies_to_host == found.synchronisations == 0, found.counters
    for y, g in made[1:]:
        np.testing.assert_allclose(y, made[0][0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(g, made[0][1], rtol=1e-5, atol=1e-6)


def test_every_stream_has_its_own(lazy):
    """A table that another stream copies may not be there yet."""
    values = np.random.default_rng(1).normal(size=(1, 1, 5, 6)).astype("float32")
    expected = CALLS["adaptive mean"](lg.tensor(values)).numpy()
    for stream in (lg.cuda.Stream(), lg.cuda.Stream()):
        with lg.cuda.stream(stream):
            y = CALLS["adaptive mean"](lg.tensor(values, device="cuda")).cpu()
        np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_programs_and_inference_mode():
    x = lg.rand(1, 2, 5, 6, device="cuda")
    with lg.inference_mode():
        expected = CALLS["bilinear"](x)
    compiled = lg.compile(CALLS["bilinear"])
    for _ in range(3):
        assert lg.allclose(compiled(x), expected)
    x.requires_grad_()
    CALLS["bilinear"](x).sum().backward()
    assert x.grad is not None
    y = lg.func.vmap(CALLS["nearest"])(lg.rand(3, 1, 2, 5, 6, device="cuda"))
    assert y.shape == (3, 1, 2, 7, 3)
