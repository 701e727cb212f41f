"""Convolutions, pools, norms, gathers, attention and recurrent layers: C gives what the kernel calls give.

Many calls are one program, which is compiled once; none of its equations may be left to Python.
"""

import numpy as np
import pytest
from traces import apart

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import building
from lucidgrad.backends.cpu.programs import compiled
from lucidgrad.backends.cpu.programs.segments import parts_of
from lucidgrad.levels.program import Action, Equation
from lucidgrad.levels.traced import program_of as traced
from lucidgrad.ops import recurrence

F = lg.nn.functional
pytestmark = pytest.mark.skipif(building.why_not() is not None, reason="no C compiler")


class Calls:
    """Functions of arrays, of which one program computes results and cotangents."""

    def __init__(self, dtype):
        self.rng, self.dtype = np.random.default_rng(7), dtype
        self.calls, self.arrays, self.names = [], [], []

    def draw(self, *shape):
        return (self.rng.normal(size=shape) * 0.5).astype(self.dtype)

    def integers(self, low, high, *shape):
        return lg.asarray(self.rng.integers(low, high, shape))

    def add(self, name, function, *arrays):
        self.names.append(name)
        self.calls.append((function, len(arrays)))
        self.arrays += arrays

    def run(self, *given):
        made, rest = [], list(given)
        for number, (function, count) in enumerate(self.calls):
            own = [x.detach().requires_grad_() for x in rest[:count]]
            del rest[:count]
            y = function(*own)
            y = list(y) if isinstance(y, (tuple, list)) else [y]
            rng = np.random.default_rng(number)
            seeds = [lg.asarray(rng.normal(size=part.shape).astype(self.dtype)) for part in y]
            found = lg.autograd.grad(y, own, seeds, allow_unused=True)
            made.append([*(part.detach() for part in y), *(g for g in found if g is not None)])
        self.counts = [len(part) for part in made]
        return [part for some in made for part in some]

    def worst(self):
        """How far C is apart from the kernel calls, by the names of calls; and what Python does of it."""
        program = traced(self.run, *self.arrays)
        parts = parts_of(program, 1)
        left = [p.primitive for p in parts if isinstance(p, Equation) and type(p.primitive) is not Action]
        want = compiled(program, {}, "flat")(self.arrays)
        run = compiled(program, {}, "c")
        assert building.why_not("program") is None
        found = {}
        for _ in range(2):  # the second run is in memory that the first one left
            got, at = run(self.arrays), 0
            for name, count in zip(self.names, self.counts, strict=True):
                pairs = zip(got[at : at + count], want[at : at + count], strict=True)
                found[name] = max(found.get(name, 0), *(apart(mine, expected) for mine, expected in pairs))
                at += count
        return found, left


#: Examples, channels, outputs, sizes, window, stride, padding, dilation, groups.
CONVOLUTIONS = [
    (2, 3, 4, (9, 8), 3, 1, 1, 1, 1),
    (2, 4, 6, (9, 11), 3, 2, 1, 1, 2),
    (1, 4, 5, (12, 12), 2, 3, 0, 2, 1),
    (3, 2, 2, (17,), 4, 2, 2, 1, 1),
    (2, 2, 3, (5, 6, 7), 2, 1, 1, 1, 1),
    (5, 3, 9, (20, 37), 3, 1, 1, 1, 1),
    (2, 3, 4, (5, 3), 1, 1, 0, 1, 1),
    (2, 3, 4, (7, 9), 1, 2, 0, 1, 1),
    (2, 2, 2, (8, 8), 3, 4, 1, 2, 2),
]


def convolutions(calls):
    for n, c, o, sizes, k, stride, padding, dilation, groups in CONVOLUTIONS:
        f = getattr(F, f"conv{len(sizes)}d")

        def convolve(x, w, f=f, steps=(stride, padding, dilation, groups)):
            return f(x, w, None, *steps)

        x, w = calls.draw(n, c, *sizes), calls.draw(o, c // groups, *(k,) * len(sizes))
        calls.add(f"convolution of {sizes} by {k}, stride {stride}", convolve, x, w)
    x = calls.draw(3, 6, 5, 2)
    turned = lambda x, w: F.conv2d(lg.flip(lg.permute_dims(x, (3, 0, 1, 2)), axis=2), w, padding=1)
    calls.add("convolution of a view", turned, x, calls.draw(4, 3, 3, 3))


def pools(calls):
    x = calls.draw(2, 3, 9, 12)
    steps = [(2, 2, 0), (3, 2, 1), (3, 1, 1), (2, 3, 0)]
    for window, stride, padding in steps:
        words = {"kernel_size": window, "stride": stride, "padding": padding}
        calls.add(f"max pool {words}", lambda x, words=words: F.max_pool2d(x, **words), x)
        calls.add(f"avg pool {words}", lambda x, words=words: F.avg_pool2d(x, **words), x)
    calls.add("ceil", lambda x: F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False), x)
    calls.add("divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), x)
    calls.add("lines", lambda x: F.max_pool1d(x, 3, 2), calls.draw(4, 33))
    calls.add("volumes", lambda x: F.max_pool3d(x, 2), calls.draw(2, 5, 6, 7))
    calls.add("a view", lambda x: F.max_pool2d(x.mT, 2), x)


def norms(calls):
    w, b = calls.draw(3), calls.draw(3)
    normed = lambda x, w, b: F.batch_norm(x, None, None, w, b, True, eps=1e-3)
    for shape in ((6, 3, 9, 12), (16, 3), (4, 3, 50)):
        calls.add(f"batch norm of {shape}", normed, calls.draw(*shape), w, b)
    calls.add("batch norm of a view", lambda x, w, b: normed(lg.permute_dims(x, (3, 0, 1, 2)), w, b),
              calls.draw(3, 5, 7, 4), w, b)  # fmt: skip


def gathers(calls):
    x, big = calls.draw(7, 5, 6), calls.draw(300, 64)
    i, many = calls.integers(-3, 4, 2, 3), calls.integers(0, 300, 40, 20)
    narrow = lg.astype(i, lg.int32)
    for axis in range(3):
        calls.add(f"take along {axis}", lambda x, axis=axis: lg.take(x, i, axis=axis), x)
        calls.add(f"sums up to, along {axis}", lambda x, axis=axis: lg.cumulative_sum(x, axis=axis), x)
    calls.add("small integers", lambda x: lg.take(x, narrow, axis=1), x)
    calls.add("embedding", lambda x: F.embedding(many, x) * 2, big)
    calls.add("index_select", lambda x: lg.index_select(x, 1, many[0]), calls.draw(4, 300))
    calls.add("a view", lambda x: lg.take(lg.flip(x.mT, axis=0), i, axis=2), x)
    calls.add("key", lambda x: x[many], big)
    calls.add("key behind a slice", lambda x: x[:, i], x)
    calls.add("two keys", lambda x: x[i, i], x)
    calls.add("two keys behind a slice", lambda x: x[:, i, i] * 2, x)
    for name, axis, at in (
        ("whole", 1, calls.integers(0, 5, 7, 9, 6)),
        ("one for all", 1, calls.integers(-5, 5, 1, 9, 1)),
        ("some for all", 1, calls.integers(0, 5, 7, 9, 1)),
        ("first axis", 0, calls.integers(0, 7, 4, 5, 6)),
    ):
        calls.add(f"along an axis, {name}", lambda x, at=at, axis=axis: lg.take_along_axis(x, at, axis=axis), x)
    calls.add("classes", lambda x: F.nll_loss(F.log_softmax(x, -1), calls.integers(0, 6, 35)), calls.draw(35, 6))


def attentions(calls):
    q, k, v = calls.draw(2, 3, 5, 4), calls.draw(2, 3, 7, 4), calls.draw(2, 3, 7, 6)
    attend, flags = F.scaled_dot_product_attention, lg.asarray(calls.rng.random((5, 7)) > 0.5)
    blind = lg.asarray(np.zeros((5, 7), bool))
    calls.add("plain", attend, q, k, v)
    calls.add("causal", lambda q, k, v: attend(q, k, v, is_causal=True), q, k, v)
    calls.add("flags", lambda q, k, v: attend(q, k, v, attn_mask=flags), q, k, v)
    calls.add("nothing to see", lambda q, k, v: attend(q, k, v, attn_mask=blind), q, k, v)
    for shape in ((5, 7), (3, 1, 7), (2, 1, 5, 7)):
        calls.add(f"numbers {shape}", lambda q, k, v, m: attend(q, k, v, attn_mask=m), q, k, v, calls.draw(*shape))
    calls.add("matrices", attend, calls.draw(5, 4), calls.draw(7, 4), calls.draw(7, 6))
    calls.add("broadcast", attend, calls.draw(3, 5, 4), calls.draw(2, 1, 7, 4), calls.draw(7, 1))

    def split(x):
        a = x.reshape(*x.shape[:2], 3, 2, -1)
        q, k, v = (lg.moveaxis(a[:, :, i], 1, 2) for i in range(3))
        return lg.moveaxis(attend(q, k, v, is_causal=True), 1, 2).reshape(*x.shape[:2], -1)

    calls.add("heads", split, calls.draw(3, 8, 24))
    calls.add("heads in several blocks", split, calls.draw(12, 160, 24))


def sequences(calls):
    """Weights of a state are small enough that steps do not magnify what is rounded."""
    draw = lambda *shape: calls.draw(*shape) * shape[-1] ** -0.5
    for steps, batch, n in ((6, 3, 5), (1, 2, 4), (9, 1, 8), (4, 13, 21)):
        h, c = calls.draw(batch, n), calls.draw(batch, n)
        for gates, name, states in ((1, "rnn", (h,)), (4, "lstm", (h, c)), (3, "gru", (h,))):
            f = getattr(recurrence, f"{name}_sequence")
            x, w, b = calls.draw(steps, batch, gates * n), draw(gates * n, n), calls.draw(gates * n)
            first = lambda *xs, f=f: f(*xs)[0] if f is not recurrence.rnn_sequence else f(*xs)
            calls.add(f"{name}, {steps} steps", first, x, *states, w, b)
            calls.add(f"{name}, {steps} steps, no bias", first, x, *states, w)
        relu = lambda x, h, w: recurrence.rnn_sequence(x, h, w, nonlinearity="relu")
        calls.add(f"relu, {steps} steps", relu, calls.draw(steps, batch, n), h, draw(n, n))
        cells = lambda *xs, n=n: [part[..., -n:] for part in recurrence.lstm_sequence(*xs)]
        x, w = calls.draw(steps, batch, 4 * n), draw(4 * n, n)
        calls.add(f"cell states, {steps} steps", cells, x, h, c, w)


#: Families of calls, and how far results may be apart where the kernel calls are not the same C function.
FAMILIES = [(convolutions, 4), (pools, 0), (norms, 4), (gathers, 2), (attentions, 16), (sequences, 0)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("family", "bound"), FAMILIES, ids=lambda part: getattr(part, "__name__", ""))
def test_c_gives_what_the_kernel_calls_give(family, bound, dtype):
    calls = Calls(dtype)
    family(calls)
    found, left = calls.worst()
    assert not left
    assert {name: far for name, far in found.items() if far > bound} == {}


def test_cotangents_of_inner_values_are_left_to_the_kernel_calls():
    """Of gates, which hardly anybody asks for: C notices, and nothing is written before."""
    rng = np.random.default_rng(0)
    n, arrays = 3, [rng.normal(size=s).astype("f") for s in ((4, 2, 12), (2, 3), (2, 3), (12, 3), (4, 2, 15))]

    def gradients(x, h, c, w, seed):
        own = [a.detach().requires_grad_() for a in (x, h, c, w)]
        _, inner = recurrence.lstm_sequence(*own)
        found = lg.autograd.grad(inner[..., : 4 * n].sum() + (inner * seed).sum(), own)
        return w - found[3], *found[:3]

    program = traced(gradients, *arrays)
    want = [np.array(y) for y in program.run(arrays)]
    got = compiled(program, {0: 3}, "c")([a.copy() for a in arrays])
    for mine, expected in zip(got, want, strict=True):
        assert apart(mine, expected) <= 4


@pytest.mark.parametrize("how", ["flat", "c"])
def test_nothing_to_do(how):
    x, w, i = np.zeros((0, 3, 8, 8), "f"), np.ones((4, 3, 3, 3), "f"), np.zeros((0,), np.int64)
    table = np.ones((5, 2), "f")

    def run(x, w, i, table):
        y = F.max_pool2d(F.conv2d(x, w, padding=1), 2)
        rows = F.embedding(i, table)
        return y * 2, y.sum(), rows + 1, lg.cumulative_sum(rows, axis=0), lg.take_along_axis(rows, i[:, None], axis=1)

    program = traced(run, x, w, i, table)
    for mine, expected in zip(compiled(program, {}, how)([x, w, i, table]), program.run([x, w, i, table]), strict=True):
        assert apart(mine, expected) == 0


BAD = {
    "take": lambda x, i: lg.take(x, i, axis=0),
    "key": lambda x, i: x[i],
    "second key": lambda x, i: x[i * 0, i],
    "along an axis": lambda x, i: lg.take_along_axis(x, lg.broadcast_to(i[:, None], (3, 4)), axis=0),
    "cross-entropy": lambda x, i: F.cross_entropy(x[:3], i),
}


@pytest.mark.parametrize("number", [4, -5, 1 << 40])
@pytest.mark.parametrize("name", BAD)
def test_a_position_that_is_out_of_range_leaves_all_as_it_was(name, number):
    x, w = np.arange(16.0, dtype="f").reshape(4, 4), np.ones(4, "f")

    def step(x, w, i):
        y = BAD[name](x, i)
        return w * 2, x + y.sum()

    program = traced(step, x, w, np.array([0, 1, 2]))
    run = compiled(program, {0: 1, 1: 0}, "c")
    before = x.copy(), w.copy()
    with pytest.raises(IndexError):
        run([x, w, np.array([0, number, 2])])
    assert np.array_equal(x, before[0])
    assert np.array_equal(w, before[1])
    want = program.run([x, w, np.array([0, 3, 2])])
    for mine, expected in zip(run([x.copy(), w.copy(), np.array([0, 3, 2])]), want, strict=True):
        assert apart(mine, expected) <= 2


# -- whole steps -----------------------------------------------------------------------------------
def cnn():
    nn = lg.nn
    model = nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(24, 5)),
    )
    return model, [lg.asarray(np.random.default_rng(0).normal(size=(4, 3, 8, 8)).astype("f"))], 5


class CharGPT(lg.nn.Module):
    def __init__(self):
        super().__init__()
        nn = lg.nn
        self.characters, self.places = nn.Embedding(11, 16), nn.Embedding(6, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, "gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16))
        self.out = nn.Linear(16, 11)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(6))

    def forward(self, i):
        x = self.characters(i) + self.places.weight
        return self.out(self.layers(x, mask=self.mask, is_causal=True)).reshape(-1, 11)


def char_gpt():
    return CharGPT(), [lg.asarray(np.random.default_rng(0).integers(0, 11, (3, 6)))], 11


class Recurrent(lg.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.out = lg.nn.LSTM(3, 6), lg.nn.GRU(6, 5), lg.nn.Linear(5, 4)

    def forward(self, x):
        return self.out(self.gru(self.lstm(x)[0])[0][-1])


def recurrent():
    return Recurrent(), [lg.asarray(np.random.default_rng(0).normal(size=(7, 4, 3)).astype("f"))], 4


def training(make, optimiser):
    """A step of training, with a class for each row of what the model gives."""
    lg.manual_seed(3)
    model, given, classes = make()
    rows = model(*given).shape[0]
    wanted = lg.asarray(np.random.default_rng(1).integers(0, classes, rows))
    steps = getattr(lg.optim, optimiser)(model.parameters(), lr=0.01)

    def step():
        steps.zero_grad()
        loss = F.cross_entropy(model(*given), wanted)
        loss.backward()
        steps.step()
        return loss.detach()

    return model, step


@pytest.mark.parametrize(("make", "optimiser"), [(cnn, "SGD"), (char_gpt, "AdamW"), (recurrent, "Adam")])
def test_a_step_is_one_call_of_c(make, optimiser):
    """What Python does besides is to draw random numbers, before it."""
    model, step = training(make, optimiser)
    run = lg.compile(step, fullgraph=True)
    lg.manual_seed(5)
    losses = [run().item() for _ in range(6)]
    *draws, whole = parts_of(run.program(), 1)
    assert not isinstance(whole, Equation)
    assert all(isinstance(part, Equation) and type(part.primitive) is Action for part in draws)
    assert building.why_not("program") is None
    other, eager = training(make, optimiser)
    lg.manual_seed(5)
    assert [eager().item() for _ in range(6)] == pytest.approx(losses, rel=1e-4)
    for (name, mine), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        assert np.allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-2, atol=2e-3), name
