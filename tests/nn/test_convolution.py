import itertools

import numpy as np
import pytest
from golden import peer
from nn.compared import agree, draw, mapped, twice

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

CONV = [
    # axes, input, weight, keywords
    (1, (2, 3, 7), (4, 3, 3), {}),
    (1, (3, 7), (4, 3, 3), {"stride": 2, "padding": 1}),
    (1, (2, 4, 9), (6, 2, 2), {"groups": 2, "dilation": 3, "padding": (2,)}),
    (1, (2, 3, 6), (4, 3, 4), {"padding": "same"}),
    (1, (2, 3, 6), (4, 3, 3), {"padding": "valid", "dilation": 2}),
    (2, (2, 3, 5, 6), (4, 3, 3, 2), {}),
    (2, (3, 5, 6), (4, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0)}),
    (2, (2, 4, 6, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    (2, (2, 4, 7, 6), (2, 2, 2, 3), {"groups": 2, "dilation": (2, 1), "stride": 2}),
    (2, (2, 3, 5, 6), (4, 3, 2, 3), {"padding": "same", "dilation": (1, 2)}),
    (2, (2, 3, 4, 4), (5, 3, 1, 1), {"stride": 2}),
    (2, (0, 3, 4, 4), (5, 3, 3, 3), {}),
    (3, (2, 2, 3, 4, 3), (3, 2, 2, 2, 2), {"padding": (1, 0, 1)}),
    (3, (2, 3, 4, 3), (4, 1, 2, 1, 2), {"groups": 2, "stride": (1, 2, 1)}),
    (3, (1, 2, 3, 3, 4), (3, 2, 2, 2, 3), {"padding": "same"}),
]

TRANSPOSED = [
    (1, (2, 3, 5), (3, 4, 3), {}),
    (1, (3, 5), (3, 4, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    (1, (2, 4, 4), (4, 3, 2), {"groups": 2, "dilation": 3}),
    (1, (2, 3, 4), (3, 2, 3), {"dilation": 3, "output_padding": 2, "padding": 1}),  # beyond the stride
    (2, (2, 3, 3, 4), (3, 2, 3, 2), {"stride": (2, 1), "padding": (1, 0), "output_padding": (1, 0)}),
    (2, (3, 3, 4), (3, 2, 2, 2), {"stride": 3}),
    (2, (2, 4, 3, 3), (4, 2, 2, 2), {"groups": 4, "stride": 2, "output_padding": 1}),
    (2, (2, 4, 3, 3), (4, 2, 2, 2), {"stride": 2, "dilation": 3, "output_padding": 2, "padding": 1}),
    (3, (1, 2, 2, 3, 2), (2, 3, 2, 2, 2), {"stride": 2, "padding": 1, "output_padding": (1, 0, 1)}),
]


def plain_convolution(x, w, stride, padding, dilation):
    """The definition along two axes, without groups."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    high, wide = w.shape[2:]
    rows = (x.shape[2] - dilation * (high - 1) - 1) // stride + 1
    columns = (x.shape[3] - dilation * (wide - 1) - 1) // stride + 1
    y = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for i, j, a, b in itertools.product(range(rows), range(columns), range(high), range(wide)):
        y[:, :, i, j] += x[:, :, i * stride + a * dilation, j * stride + b * dilation] @ w[:, :, a, b].T
    return y


@pytest.mark.parametrize(("stride", "padding", "dilation"), [(1, 0, 1), (2, 1, 1), (1, 2, 2), (3, 1, 2)])
def test_against_the_definition(stride, padding, dilation):
    x, w, b = draw(2, 3, 8, 7), draw(4, 3, 3, 2), draw(4)
    y = F.conv2d(*map(lg.tensor, (x, w, b)), stride, padding, dilation)
    expected = plain_convolution(x, w, stride, padding, dilation) + b[:, None, None]
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-10, atol=1e-12)


def test_transposed_is_the_adjoint():
    x, w = draw(2, 3, 9, 8), draw(4, 3, 3, 2)
    y = F.conv2d(lg.tensor(x), lg.tensor(w), stride=2, padding=1)
    h = lg.tensor(draw(*y.shape))
    back = F.conv_transpose2d(h, lg.tensor(w), stride=2, padding=1, output_padding=(0, 0))
    assert back.shape[2:] == (9, 8)
    np.testing.assert_allclose((y * h).sum().item(), (back * lg.tensor(x)).sum().item(), rtol=1e-12)


@pytest.mark.parametrize(("axes", "x", "w", "keywords"), CONV)
@pytest.mark.parametrize("bias", [True, False])
def test_convolution(axes, x, w, keywords, bias):
    torch = peer("torch")
    name = f"conv{axes}d"
    given = [draw(*x), draw(*w)] + [draw(w[0])] * bias
    agree(torch, getattr(F, name), getattr(torch.nn.functional, name), *given, **keywords)


@pytest.mark.parametrize(("axes", "x", "w", "keywords"), TRANSPOSED)
def test_transposed(axes, x, w, keywords):
    torch = peer("torch")
    name = f"conv_transpose{axes}d"
    bias = draw(w[1] * keywords.get("groups", 1))
    agree(torch, getattr(F, name), getattr(torch.nn.functional, name), draw(*x), draw(*w), bias, **keywords)


@pytest.mark.parametrize("seed", range(12))
def test_many_sizes(seed):
    torch, rng = peer("torch"), np.random.default_rng(seed)
    window, stride, padding, dilation, groups, size = map(int, rng.integers([1, 1, 0, 1, 1, 4], [4, 4, 3, 3, 3, 9]))
    if size + 2 * padding < dilation * (window - 1) + 1:
        window = 1
    keywords = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, w = draw(2, 2 * groups, size, size + 1), draw(3 * groups, 2, window, window)
    agree(torch, F.conv2d, torch.nn.functional.conv2d, x, w, **keywords)


def test_large_results_get_their_bias_in_place():
    x, w, b = draw(4, 3, 70, 70), draw(6, 3, 3, 3), draw(6)
    given = [lg.tensor(a, requires_grad=True) for a in (x, w, b)]
    y = F.conv2d(*given)
    assert y.size > 1 << 16
    expected = F.conv2d(lg.tensor(x), lg.tensor(w)) + lg.tensor(b).reshape((6, 1, 1))
    np.testing.assert_array_equal(y.detach().numpy(), expected.numpy())
    (y * 2).sum().backward()
    np.testing.assert_allclose(given[2].grad.numpy(), np.full(6, 2.0 * 4 * 68 * 68))


def test_unfold_and_fold():
    torch = peer("torch")
    for keywords in ({"kernel_size": 2}, {"kernel_size": (2, 3), "padding": 1, "stride": 2, "dilation": (2, 1)}):
        agree(torch, F.unfold, torch.nn.functional.unfold, draw(2, 3, 5, 6), **keywords)
        agree(torch, F.unfold, torch.nn.functional.unfold, draw(3, 5, 6), **keywords)
        y = F.unfold(lg.tensor(draw(2, 3, 5, 6)), **keywords)
        agree(torch, F.fold, torch.nn.functional.fold, draw(*y.shape), output_size=(5, 6), **keywords)
        agree(torch, F.fold, torch.nn.functional.fold, draw(*y.shape[1:]), output_size=(5, 6), **keywords)


def test_fold_undoes_unfold_where_windows_do_not_overlap():
    x = lg.tensor(draw(2, 3, 4, 6))
    np.testing.assert_array_equal(F.fold(F.unfold(x, 2, stride=2), (4, 6), 2, stride=2).numpy(), x.numpy())


def test_second_derivatives():
    twice(lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), draw(1, 2, 4, 3), draw(2, 2, 2, 3), draw(2))
    twice(lambda x, w: F.conv1d(x, w, padding="same", groups=2), draw(1, 2, 4), draw(2, 1, 2))
    twice(
        lambda x, w, b: F.conv_transpose2d(x, w, b, stride=2, output_padding=1, groups=2),
        draw(1, 2, 2, 2), draw(2, 1, 2, 2), draw(2),
    )  # fmt: skip
    twice(lambda x, w: F.conv_transpose1d(x, w, dilation=3, output_padding=2), draw(1, 1, 2), draw(1, 1, 2))


def test_batches_of_inputs_and_of_weights():
    mapped(lambda x, w, b: F.conv2d(x, w, b, padding=1), draw(3, 2, 2, 4, 4), draw(3, 4, 2, 3, 3), draw(3, 4))
    mapped(lambda x, w, b: F.conv2d(x, w, b), draw(3, 2, 4, 4), draw(3, 4, 2, 3, 3), draw(3, 4))
    mapped(lambda x, w: F.conv_transpose1d(x, w, stride=2), draw(3, 1, 2, 4), draw(3, 2, 3, 2))


ERRORS = [
    (lambda: F.conv2d(lg.ones((2, 3)), lg.ones((1, 3, 1, 1))), RuntimeError, r"\(2, 3\)"),
    (lambda: F.conv2d(lg.ones((1, 3, 4, 4)), lg.ones((2, 2, 1, 1))), RuntimeError, "2 channels"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 1, 1, 1)), groups=2), RuntimeError, "groups=2"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 1))), RuntimeError, "weight"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 1, 1)), lg.ones(2)), RuntimeError, "bias"),
    (lambda: F.conv2d(lg.ones((1, 2, 2, 2)), lg.ones((3, 2, 3, 3))), RuntimeError, "does not fit"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 2, 2)), stride=0), RuntimeError, "stride"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 2, 2)), padding=-1), RuntimeError, "padding"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 2, 2)), padding="full"), RuntimeError, "'full'"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 2, 2)), stride=2, padding="same"), RuntimeError, "same"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 2, 2)), stride=(1, 2, 3)), RuntimeError, "stride"),
    (lambda: F.conv2d(lg.ones((1, 2, 4, 4)), lg.ones((3, 2, 2, 2)), stride=1.5), TypeError, "stride"),
    (lambda: F.conv_transpose1d(lg.ones((1, 2, 4)), lg.ones((2, 1, 2)), output_padding=1), RuntimeError, "output_padd"),
    (lambda: F.fold(lg.ones((1, 5, 9)), 4, 2), RuntimeError, "rows"),
    (lambda: F.fold(lg.ones((1, 4, 8)), 4, 2), RuntimeError, "places"),
    (lambda: nn.Conv2d(3, 4, 1, groups=2), ValueError, "groups=2"),
    (lambda: nn.Conv2d(3, 4, 2, stride=2, padding="same"), ValueError, "same"),
    (lambda: nn.Conv2d(3, 4, 2, padding_mode="mirror"), ValueError, "mirror"),
    (lambda: nn.Conv2d(3, 4, 2, padding="full"), ValueError, "full"),
    (lambda: nn.ConvTranspose2d(3, 4, 2, padding_mode="reflect"), ValueError, "reflect"),
    (lambda: nn.ConvTranspose1d(1, 1, 2, stride=2)(lg.ones((1, 1, 3)), output_size=(9,)), ValueError, "output_size"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


# -- layers --------------------------------------------------------------------------------------
LAYERS = [
    ("Conv1d", (2, 4, 3), {"padding": 1, "padding_mode": "reflect"}, (2, 2, 6)),
    ("Conv1d", (2, 4, 4), {"padding": "same", "padding_mode": "circular"}, (2, 2, 6)),
    ("Conv2d", (2, 4, 3), {}, (2, 2, 5, 6)),
    ("Conv2d", (2, 4, (3, 2)), {"stride": 2, "padding": (1, 0), "dilation": 2, "groups": 2, "bias": False}, (2, 6, 7)),
    ("Conv2d", (2, 4, 3), {"padding": (1, 2), "padding_mode": "replicate"}, (2, 2, 5, 6)),
    ("Conv3d", (1, 2, 2), {"padding": 1}, (1, 1, 3, 3, 3)),
    ("ConvTranspose1d", (2, 4, 3), {"stride": 2, "output_padding": 1}, (2, 2, 5)),
    ("ConvTranspose2d", (4, 2, 3), {"groups": 2, "padding": 1, "dilation": 2}, (2, 4, 4, 5)),
    ("ConvTranspose3d", (1, 2, 2), {"bias": False}, (1, 2, 2, 2)),
    ("Unfold", (2,), {"stride": 2}, (1, 2, 4, 4)),
    ("Fold", ((3, 3), 2), {}, (1, 8, 4)),
]


@pytest.mark.parametrize(("name", "args", "keywords", "shape"), LAYERS)
def test_layer_loads_pytorch_state(name, args, keywords, shape):
    torch = peer("torch")
    theirs = getattr(torch.nn, name)(*args, **keywords).double()
    ours = getattr(nn, name)(*args, **keywords).double()
    assert repr(ours) == repr(theirs)
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    agree(torch, ours, theirs, draw(*shape))
    for (key, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert key == other
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-9, atol=1e-9)


def test_initial_weights_are_spread_as_pytorch_does():
    lg.manual_seed(0)
    layer = nn.Conv2d(8, 64, 5)
    bound = 1 / np.sqrt(8 * 25)
    for p in (layer.weight, layer.bias):
        assert abs(p.detach().numpy()).max() <= bound
    assert layer.weight.detach().numpy().std() == pytest.approx(bound / np.sqrt(3), rel=0.05)


def test_output_size_chooses():
    torch = peer("torch")
    ours, theirs = (m.ConvTranspose2d(2, 3, 3, stride=2, padding=1).double() for m in (nn, torch.nn))
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    for size in ((9, 10), (10, 9), (1, 3, 10, 10)):
        agree(
            torch,
            lambda x, size=size: ours(x, output_size=size),
            lambda x, size=size: theirs(x, output_size=size),
            draw(1, 2, 5, 5),
        )


def test_on_the_device():
    x, w, b = draw(2, 2, 4, 4).astype("f"), draw(4, 1, 3, 3).astype("f"), draw(4).astype("f")
    results = []
    for device in ("cpu", "cuda:0"):
        given = [lg.tensor(a, device=device, requires_grad=True) for a in (x, w, b)]
        y = F.conv2d(*given, stride=2, padding=1, groups=2)
        z = F.conv_transpose2d(y, given[1], stride=2, output_padding=1, groups=2)
        z.sum().backward()
        results.append([t.detach().cpu().numpy() for t in (y, z, *(g.grad for g in given))])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
