"""Transformer layers, stacks and the whole model: against PyTorch, differences, masks, errors."""

import numpy as np
import pytest
from golden import peer
from nn.sequence_models import compare, draw, twins

import lucidgrad as lg

WAYS = [
    {},
    {"norm_first": True},
    {"activation": "gelu", "batch_first": True},
    {"bias": False, "layer_norm_eps": 1e-3},
    {"norm_first": True, "batch_first": True, "activation": "gelu"},
]
PADDING = np.array([[False, True, False], [False, False, False]])
CAUSAL = np.triu(np.full((3, 3), -np.inf), 1)


@pytest.fixture
def torch():
    return peer("torch")


def sequence(way, length=3, seed=0):
    return draw(2, length, 4, seed=seed) if way.get("batch_first") else draw(length, 2, 4, seed=seed)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_encoder_layers_are_torchs(torch, way):
    ours, theirs = twins(torch, "TransformerEncoderLayer", 4, 2, 6, dropout=0.0, **way)
    x = sequence(way)
    compare(torch, ours, theirs, x)
    compare(torch, ours, theirs, x, src_key_padding_mask=PADDING)
    compare(torch, ours, theirs, x, src_mask=CAUSAL)
    compare(torch, ours, theirs, x, src_mask=CAUSAL != 0, is_causal=True)
    compare(torch, ours, theirs, draw(3, 4))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_decoder_layers_are_torchs(torch, way):
    ours, theirs = twins(torch, "TransformerDecoderLayer", 4, 2, 6, dropout=0.0, **way)
    x, memory = sequence(way), sequence(way, 5, seed=1)
    compare(torch, ours, theirs, x, memory)
    compare(torch, ours, theirs, x, memory, tgt_mask=CAUSAL, tgt_is_causal=True, memory_mask=draw(3, 5))
    padding = np.array([[False, True, False, True, False], [False] * 5])
    compare(torch, ours, theirs, x, memory, tgt_key_padding_mask=PADDING, memory_key_padding_mask=padding)
    compare(torch, ours, theirs, draw(3, 4), draw(5, 4))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_models_are_torchs(torch, way):
    sizes = {"num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 6, "dropout": 0.0}
    ours, theirs = twins(torch, "Transformer", 4, 2, **sizes, **way)
    x, y = sequence(way, 5), sequence(way)
    compare(torch, ours, theirs, x, y, tolerance=1e-9)
    compare(
        torch, ours, theirs, x, y, tgt_mask=CAUSAL, tgt_key_padding_mask=np.where(PADDING, -np.inf, 0.0), tolerance=1e-9
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_stacks_are_torchs(torch):
    for kind in ("Encoder", "Decoder"):
        made = []
        for nn, dtype in ((lg.nn, lg.float64), (torch.nn, torch.float64)):
            layer = getattr(nn, f"Transformer{kind}Layer")(4, 2, 6, 0.0, dtype=dtype)
            made.append(getattr(nn, f"Transformer{kind}")(layer, 2))
        ours, theirs = made
        assert repr(ours) == repr(theirs)
        ours.load_state_dict({k: lg.asarray(v.numpy().copy()) for k, v in theirs.state_dict().items()})
        more = [] if kind == "Encoder" else [draw(5, 2, 4)]
        compare(torch, ours, theirs, draw(3, 2, 4), *more)


def test_layers_of_a_stack_are_copies():
    layer = lg.nn.TransformerEncoderLayer(4, 2, 6)
    encoder = lg.nn.TransformerEncoder(layer, 2, norm=lg.nn.LayerNorm(4))
    first, second = encoder.layers
    assert first.linear1.weight is not second.linear1.weight is not layer.linear1.weight
    np.testing.assert_array_equal(first.linear1.weight.detach().numpy(), second.linear1.weight.detach().numpy())
    with lg.no_grad():
        first.linear1.weight.zero_()
    assert second.linear1.weight.detach().numpy().any()
    assert len(list(encoder.parameters())) == 2 * 12 + 2


def test_causal_mask():
    mask = lg.nn.Transformer.generate_square_subsequent_mask(3)
    np.testing.assert_array_equal(mask.numpy(), CAUSAL)
    assert mask.dtype == lg.get_default_dtype()
    layer = lg.nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0)
    x = lg.asarray(draw(3, 1, 4).astype("f"))
    later = x.numpy().copy()
    later[2] += 1
    one, other = (layer(lg.asarray(v), src_mask=mask).detach().numpy() for v in (x.numpy(), later))
    np.testing.assert_allclose(one[:2], other[:2], rtol=1e-5, atol=1e-6)  # what comes later changes nothing
    assert not np.allclose(one[2], other[2])
    hinted = layer(x, src_mask=mask, is_causal=True).detach().numpy()
    np.testing.assert_allclose(hinted, one, rtol=1e-5, atol=1e-6)


def test_derivatives_of_two_orders():
    layer = lg.nn.TransformerEncoderLayer(2, 1, 3, dropout=0.0, activation="gelu", dtype=lg.float64, norm_first=True)
    names = list(layer.state_dict())

    def of(x, *parameters):
        return lg.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))

    xs = [lg.tensor(draw(3, 1, 2), requires_grad=True)]
    xs += [lg.tensor(p.detach().numpy(), requires_grad=True) for p in layer.parameters()]
    assert lg.autograd.gradcheck(of, xs)
    assert lg.autograd.gradgradcheck(of, xs, fast_mode=True)


def test_dropout_only_while_training():
    lg.manual_seed(0)
    layer = lg.nn.TransformerDecoderLayer(4, 2, 6, dropout=0.5)
    x, memory = lg.ones((3, 2, 4)), lg.ones((5, 2, 4))
    one, other = (layer(x, memory).detach().numpy() for _ in range(2))
    assert not np.allclose(one, other)
    layer.eval()
    np.testing.assert_array_equal(*(layer(x, memory).detach().numpy() for _ in range(2)))


def test_activations():
    x = lg.asarray(draw(3, 2, 4).astype("f"))
    lg.manual_seed(0)
    by_name = lg.nn.TransformerEncoderLayer(4, 2, 6, 0.0, "gelu")
    lg.manual_seed(0)
    by_function = lg.nn.TransformerEncoderLayer(4, 2, 6, 0.0, lg.gelu)
    np.testing.assert_array_equal(by_name(x).detach().numpy(), by_function(x).detach().numpy())
    with pytest.raises(RuntimeError, match="sin"):
        lg.nn.TransformerEncoderLayer(4, 2, activation="sin")


def test_errors():
    model = lg.nn.Transformer(4, 2, 1, 1, 6)
    with pytest.raises(RuntimeError, match="batches of 2 and 3"):
        model(lg.ones((5, 2, 4)), lg.ones((5, 3, 4)))
    with pytest.raises(RuntimeError, match="d_model=4"):
        model(lg.ones((5, 2, 4)), lg.ones((5, 2, 6)))


def test_custom_parts():
    class Twice(lg.nn.Module):
        def forward(self, x, **masks):
            return 2 * x

    class Sum(lg.nn.Module):
        def forward(self, y, memory, **masks):
            return y + memory

    model = lg.nn.Transformer(4, 2, custom_encoder=Twice(), custom_decoder=Sum())
    assert not list(model.parameters())
    np.testing.assert_array_equal(model(lg.ones((3, 1, 4)), lg.ones((3, 1, 4))).numpy(), np.full((3, 1, 4), 3.0))


def test_cuda_is_cpu():
    layer = lg.nn.TransformerEncoderLayer(4, 2, 3, dropout=0.0, dtype=lg.float64)
    found = []
    for where in ("cpu", "cuda:0"):
        layer = layer.to(where)
        layer.zero_grad()
        y = layer(lg.asarray(draw(3, 1, 4), device=where))
        (y * y * y).sum().backward()
        found.append([y.detach().numpy(force=True), *(p.grad.numpy(force=True) for p in layer.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
