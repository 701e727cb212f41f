"""Recurrent cells and layers: against PyTorch, against loops over cells, differences, forms of input, errors."""

import itertools
import warnings

import numpy as np
import pytest
from golden import peer
from nn.sequence_models import compare, draw, twins

import lucidgrad as lg

MODES = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("LSTM", {}), ("GRU", {}), ("LSTM", {"proj_size": 2})]
WAYS = [
    {},
    {"bias": False},
    {"num_layers": 2},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
]


@pytest.fixture
def torch():
    return peer("torch")


def states(name, way, batch, n, proj):
    count = way.get("num_layers", 1) * (1 + way.get("bidirectional", False))
    lead = (count,) if batch is None else (count, batch)
    h = draw(*lead, proj or n, seed=1)
    return (h, draw(*lead, n, seed=2)) if name == "LSTM" else h


# -- PyTorch -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("name", "options"), MODES, ids=str)
def test_layers_are_torchs(torch, name, options, way):
    ours, theirs = twins(torch, name, 3, 4, **options, **way)
    x = draw(2, 5, 3) if way.get("batch_first") else draw(5, 2, 3)
    compare(torch, ours, theirs, x)
    compare(torch, ours, theirs, x, states(name, way, 2, 4, options.get("proj_size")))
    compare(torch, ours, theirs, draw(5, 3))
    compare(torch, ours, theirs, draw(5, 3), states(name, way, None, 4, options.get("proj_size")))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("name", "options"), [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu"}), ("LSTMCell", {}), ("GRUCell", {})]
)
def test_cells_are_torchs(torch, name, options, bias):
    ours, theirs = twins(torch, name, 3, 4, bias=bias, **options)
    for lead in ((2,), ()):
        h = draw(*lead, 4, seed=1)
        compare(torch, ours, theirs, draw(*lead, 3))
        compare(torch, ours, theirs, draw(*lead, 3), (h, draw(*lead, 4, seed=2)) if name == "LSTMCell" else h)


def test_functional_cells_are_torchs(torch):
    for name, gates in (("rnn_tanh_cell", 1), ("rnn_relu_cell", 1), ("gru_cell", 3), ("lstm_cell", 4)):
        h = draw(2, 4, seed=1)
        weights = draw(gates * 4, 3), draw(gates * 4, 4), draw(gates * 4), draw(gates * 4, seed=5)
        for part in (weights, weights[:2]):
            found = []
            for make, home in ((lg.asarray, lg.nn.functional), (torch.from_numpy, torch)):
                state = (make(h), make(draw(2, 4, seed=2))) if name == "lstm_cell" else make(h)
                y = getattr(home, name)(make(draw(2, 3)), state, *map(make, part))
                found.append(np.stack([t.numpy() for t in (y if isinstance(y, tuple) else (y,))]))
            np.testing.assert_allclose(*found, rtol=1e-12)


def test_single_precision_and_long_sequences_are_torchs(torch):
    """Many steps: the kernels prepare several of them at once."""
    for name in ("LSTM", "GRU", "RNN"):
        ours, theirs = twins(torch, name, 3, 64, spread=0.1)  # larger weights make chaos
        compare(torch, ours, theirs, draw(70, 32, 3), tolerance=1e-8)
        ours, theirs = ours.to(lg.float32), theirs.to(torch.float32)
        y, _ = ours(lg.asarray(draw(5, 2, 3).astype("f")))
        z, _ = theirs(torch.from_numpy(draw(5, 2, 3).astype("f")))
        assert y.dtype == lg.float32
        np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=1e-5, atol=1e-6)


# -- without PyTorch ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_a_layer_is_a_loop_over_its_cell(name):
    layer, cell = getattr(lg.nn, name)(3, 4), getattr(lg.nn, f"{name}Cell")(3, 4)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x = lg.asarray(draw(5, 2, 3).astype("f"))
    y, end = layer(x)
    state, rows = None, []
    for step in x:
        state = cell(step, state)
        rows.append(state[0] if name == "LSTM" else state)
    np.testing.assert_allclose(y.detach().numpy(), lg.stack(rows).detach().numpy(), rtol=1e-5, atol=1e-6)
    last = end if name == "LSTM" else (end,)
    for found, expected in zip(last, state if name == "LSTM" else (state,), strict=True):
        np.testing.assert_allclose(found[0].detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), MODES, ids=str)
def test_derivatives_of_two_orders(name, options):
    module = getattr(lg.nn, name)(2, 3, **options, dtype=lg.float64)
    names = list(module.state_dict())

    def of(x, *parameters):
        y, end = lg.func.functional_call(module, dict(zip(names, parameters, strict=True)), (x,))
        return (y, *(end if isinstance(end, tuple) else (end,)))

    xs = [lg.tensor(draw(2, 1, 2), requires_grad=True)]
    xs += [lg.tensor(p.detach().numpy(), requires_grad=True) for p in module.parameters()]
    assert lg.autograd.gradcheck(of, xs)
    assert lg.autograd.gradgradcheck(of, xs, fast_mode=True)


def test_transforms():
    module = lg.nn.LSTM(2, 3, dtype=lg.float64)
    x = lg.asarray(draw(4, 5, 2, 2))
    together = lg.func.vmap(lambda one: module(one)[0])(x)
    for one, row in zip(x, together, strict=True):
        np.testing.assert_allclose(row.detach().numpy(), module(one)[0].detach().numpy(), rtol=1e-12)
    parameters = dict(module.named_parameters())

    def loss(parameters, one):
        return (lg.func.functional_call(module, parameters, (one,))[0] ** 2).sum()

    each = lg.func.vmap(lg.func.grad(loss), in_dims=(None, 0))(parameters, x)
    alone = lg.func.grad(loss)(parameters, x[1])
    for name, g in each.items():
        np.testing.assert_allclose(g[1].detach().numpy(), alone[name].detach().numpy(), rtol=1e-9, atol=1e-12)
    _, slope = lg.func.jvp(lambda one: module(one)[0], (x[0],), (lg.ones_like(x[0]),))
    step = 1e-6
    ahead, behind = (module(x[0] + s)[0].detach().numpy() for s in (step, -step))
    np.testing.assert_allclose(slope.detach().numpy(), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-8)


def test_dropout_between_layers():
    lg.manual_seed(0)
    module = lg.nn.GRU(3, 8, num_layers=2, dropout=0.5)
    x = lg.asarray(draw(4, 2, 3).astype("f"))
    first, second = (module(x)[0].detach().numpy() for _ in range(2))
    assert not np.allclose(first, second)
    module.eval()
    np.testing.assert_array_equal(*(module(x)[0].detach().numpy() for _ in range(2)))
    module.train()
    module.dropout = 1.0  # the second layer sees nothing
    y, _ = module(x)
    np.testing.assert_allclose(y[:, 0].detach().numpy(), y[:, 1].detach().numpy())
    with pytest.warns(UserWarning, match="num_layers=1"):
        lg.nn.LSTM(3, 4, dropout=0.5)


def test_parameters_begin_uniformly():
    lg.manual_seed(0)
    module = lg.nn.LSTM(3, 100)
    for parameter in module.parameters():
        values = parameter.detach().numpy()
        assert np.abs(values).max() <= 0.1
        assert np.abs(values).max() > 0.09 and abs(values.mean()) < 0.02
    assert [len(part) for part in module.all_weights] == [4]
    module.flatten_parameters()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_steps_in_c_are_those_in_numpy(monkeypatch, name, dtype):
    """Also of inputs that lie backwards or with gaps in memory, and of cotangents of the cell states."""
    from lucidgrad.backends.cpu.kernels import recurrence as kernels

    found = []
    for compiled in (True, False):
        if not compiled:
            monkeypatch.setattr(kernels.compiled, "WORTH", 1 << 60)
        lg.manual_seed(0)
        module = getattr(lg.nn, name)(3, 40, num_layers=2, bidirectional=True, batch_first=True, dtype=dtype)
        x = lg.asarray(draw(7, 33, 3).astype(dtype))
        y, end = module(x)
        end = end if isinstance(end, tuple) else (end,)
        sum((part * part).sum() for part in (y, *end)).backward()
        found.append([t.detach().numpy() for t in (y, *end, *(p.grad for p in module.parameters()))])
    tolerance = {"float32": 2e-4, "float64": 1e-11}[dtype]
    for a, b in zip(*found, strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_large_inputs_stay_finite():
    module = lg.nn.LSTM(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y, _ = module(lg.full((3, 1, 1), 1e4))
        y.sum().backward()
    assert all(np.isfinite(p.grad.numpy()).all() for p in module.parameters())


@pytest.mark.parametrize(
    ("kind", "make", "message"),
    [
        (ValueError, lambda: lg.nn.LSTM(3, 4, dropout=2.0), "dropout"),
        (ValueError, lambda: lg.nn.RNN(3, 4, nonlinearity="sin"), "nonlinearity"),
        (ValueError, lambda: lg.nn.LSTM(3, 4, proj_size=4), "proj_size"),
        (ValueError, lambda: lg.nn.GRU(0, 4), "input_size"),
        (TypeError, lambda: lg.nn.GRU(3.0, 4), "input_size"),
        (TypeError, lambda: lg.nn.GRU(3, 4, bias=1), "bias"),
        (RuntimeError, lambda: lg.nn.GRU(3, 4)(lg.ones((5, 2, 4))), "features"),
        (RuntimeError, lambda: lg.nn.GRU(3, 4)(lg.ones((0, 2, 3))), "length 0"),
        (ValueError, lambda: lg.nn.GRU(3, 4)(lg.ones(3)), "2D or 3D"),
        (ValueError, lambda: lg.nn.GRU(3, 4)(lg.ones((5, 2, 3), dtype=lg.float64)), "float64"),
        (RuntimeError, lambda: lg.nn.GRU(3, 4)(lg.ones((5, 2, 3)), lg.ones((1, 3, 4))), r"\(1, 2, 4\)"),
        (RuntimeError, lambda: lg.nn.GRU(3, 4)(lg.ones((5, 2, 3)), lg.ones((1, 4))), "3-D"),
        (RuntimeError, lambda: lg.nn.GRU(3, 4)(lg.ones((5, 2, 3)), lg.ones((1, 2, 4), dtype=lg.float64)), "float64"),
        (ValueError, lambda: lg.nn.LSTMCell(3, 4)(lg.ones((1, 2, 3))), "1D or 2D"),
        (RuntimeError, lambda: lg.nn.GRUCell(3, 4)(lg.ones((2, 3)), lg.ones((3, 4))), r"\(2, 4\)"),
        (RuntimeError, lambda: lg.nn.RNNCell(3, 4)(lg.ones((2, 2))), "features"),
    ],
)
def test_errors(kind, make, message):
    with pytest.raises(kind, match=message):
        make()


def test_errors_are_of_torchs_class(torch):
    for args, keywords in itertools.product([(0, 4), (3, -1), (3.0, 4)], [{}]):
        with pytest.raises((ValueError, TypeError)) as theirs:
            torch.nn.LSTM(*args, **keywords)
        with pytest.raises(theirs.type):
            lg.nn.LSTM(*args, **keywords)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_cuda_is_cpu(name):
    module = getattr(lg.nn, name)(2, 2, dtype=lg.float64)
    x = draw(2, 1, 2)
    found = []
    for where in ("cpu", "cuda:0"):
        module = module.to(where)
        module.zero_grad()
        y, _ = module(lg.asarray(x, device=where))
        (y * y).sum().backward()
        found.append([y.detach().numpy(force=True), *(p.grad.numpy(force=True) for p in module.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
