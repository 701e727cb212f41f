"""`grid_sample` and `affine_grid`: against PyTorch in all modes, recorded values, derivatives, errors."""

import itertools

import numpy as np
import pytest
from golden import peer
from nn.compared import agree, draw, mapped, twice

import lucidgrad as lg
from lucidgrad.nn import functional as F

MODES = [("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3), ("nearest", 3)]
PADDINGS = ["zeros", "border", "reflection"]
SIZES = [(4, 5), (1, 3), (2, 1)]


def places(axes, *lead, seed=0):
    """Within and far outside, and some exactly at centres, edges and halves."""
    made = draw(*lead, axes, seed=seed) * 1.5
    special = np.array([-1, 1, 0, -0.5, 0.5, 3.0, -3.0])
    made.reshape(-1)[: len(special)] = special
    return made


@pytest.mark.parametrize(("mode", "axes"), MODES)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("aligned", [True, False])
def test_sampling_is_torchs(mode, axes, padding, aligned):
    torch = peer("torch")
    way = {"mode": mode, "padding_mode": padding, "align_corners": aligned}
    for sizes in SIZES:
        sizes = (2, *sizes)[-axes:]
        x, grid = draw(2, 3, *sizes), places(axes, 2, *(1, 4, 6)[-axes:])
        agree(torch, F.grid_sample, torch.nn.functional.grid_sample, x, grid, **way)


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 3, 2, 3, 4), (2, 1, 1, 3)])
@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
def test_affine_places_are_torchs(aligned, size):
    torch = peer("torch")
    theta = draw(2, len(size) - 2, len(size) - 1)
    agree(torch, F.affine_grid, torch.nn.functional.affine_grid, theta, size=size, align_corners=aligned)


def test_recorded_values():
    x = lg.arange(6.0, dtype="float64").reshape((1, 1, 2, 3))
    grid = lg.tensor([[[[-1.0, -1.0], [0.1, 0.3], [0.9, -0.2], [1.7, 0.5], [-2.3, 0.4]]]], dtype="float64")
    expected = {
        ("bilinear", "zeros", False): [0.0, 3.55, 1.885, 0.0, 0.0],
        ("bilinear", "border", False): [0.0, 3.55, 2.9, 5.0, 2.7],
        ("bilinear", "reflection", False): [0.0, 3.55, 2.9, 4.45, 4.15],
        ("nearest", "zeros", True): [0.0, 4.0, 2.0, 0.0, 0.0],
        ("bilinear", "zeros", True): [0.0, 3.05, 3.1, 1.275, 0.0],
        ("bicubic", "border", True): [0.0, 3.1439375, 3.08875, 4.3675625, 2.163],
    }
    for (mode, padding, aligned), values in expected.items():
        y = F.grid_sample(x, grid, mode, padding, aligned)
        np.testing.assert_allclose(y.flatten().numpy(), values, rtol=1e-6, atol=1e-12, err_msg=f"{mode} {padding}")


@pytest.mark.parametrize(("mode", "axes"), MODES)
def test_derivatives_of_two_orders_and_batches(mode, axes):
    x, grid = draw(1, 2, *(2, 3, 2)[-axes:]), 0.3 * draw(1, *(1, 2, 2)[-axes:], axes)

    def sample(x, grid):
        return F.grid_sample(x, grid, mode, "reflection", align_corners=False)

    twice(sample, x, grid)
    mapped(sample, np.stack([x, 2 * x]), np.stack([grid, 0.5 * grid]))


def test_an_identity_gives_the_image_back():
    x = lg.tensor(draw(2, 3, 4, 5))
    theta = lg.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype="float64")
    for mode, aligned in itertools.product(("bilinear", "bicubic", "nearest"), (True, False)):
        y = F.grid_sample(x, F.affine_grid(theta, x.shape, aligned), mode, align_corners=aligned)
        np.testing.assert_allclose(y.numpy(), x.numpy(), atol=1e-12)


def test_what_is_nowhere_counts_as_outside():
    x, grid = lg.full((1, 1, 2, 2), np.inf), lg.tensor([[[[np.nan, 0.0], [np.inf, 0.0], [9.0, 9.0]]]])
    assert F.grid_sample(x, grid, align_corners=False).flatten().tolist() == [0.0, 0.0, 0.0]


def test_cuda_is_cpu():
    x, grid = lg.tensor(draw(1, 2, 3, 3)), lg.tensor(draw(1, 2, 2, 2))
    found = []
    for where in ("cpu", "cuda"):
        a, b = (t.to(where).requires_grad_() for t in (x.clone(), grid.clone()))
        y = F.grid_sample(a, b, padding_mode="border", align_corners=False)
        found.append([t.detach().cpu().numpy() for t in (y, *lg.autograd.grad(y.sum(), (a, b)))])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ValueError, lambda x, g: F.grid_sample(x, g, "cubic")),
        (ValueError, lambda x, g: F.grid_sample(x, g, padding_mode="wrap")),
        (RuntimeError, lambda x, g: F.grid_sample(x[0], g)),
        (RuntimeError, lambda x, g: F.grid_sample(x, g[:1])),
        (RuntimeError, lambda x, g: F.grid_sample(x, g[..., :1])),
        (RuntimeError, lambda x, g: F.grid_sample(x[:, :, :0], g)),
        (RuntimeError, lambda x, g: F.grid_sample(x, g.double())),
        (RuntimeError, lambda x, g: F.grid_sample(x[:, :, None], lg.zeros((2, 1, 1, 1, 3)), "bicubic")),
        (ValueError, lambda x, g: F.affine_grid(lg.zeros((2, 3, 3)), (2, 1, 2, 2), align_corners=True)),
        (ValueError, lambda x, g: F.affine_grid(lg.zeros((2, 2, 3)), (2, 2, 2), align_corners=True)),
        (ValueError, lambda x, g: F.affine_grid(lg.zeros((2, 2, 3)), (2, 1, 0, 2), align_corners=True)),
        (ValueError, lambda x, g: F.affine_grid(lg.zeros((2, 2, 3), dtype=int), (2, 1, 2, 2), align_corners=True)),
    ],
)
def test_errors(kind, call):
    with pytest.raises(kind, match="given"):
        call(lg.zeros((2, 1, 3, 3)), lg.zeros((2, 2, 2, 2)))


def test_align_corners_should_be_said():
    with pytest.warns(UserWarning, match="align_corners"):
        F.grid_sample(lg.zeros((1, 1, 2, 2)), lg.zeros((1, 1, 1, 2)))
    with pytest.warns(UserWarning, match="align_corners"):
        F.affine_grid(lg.zeros((1, 2, 3)), (1, 1, 2, 2))
