"""CUDA graphs: what is recorded and launched again is what would have been done, and one launch."""

import contextlib
import gc

import numpy as np
import pytest
from counted import assert_one_launch, counting

import lucidgrad as lg
from lucidgrad.backends import cudasim
from lucidgrad.backends.cuda import words

pytestmark = pytest.mark.cuda


def numbers(*shape, seed=0):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape).astype("float32"), device="cuda")


def network(dropout=0.0):
    lg.manual_seed(3)
    layers = [lg.nn.Linear(4, 8), lg.nn.LayerNorm(8), lg.nn.Tanh(), lg.nn.Dropout(dropout), lg.nn.Linear(8, 2)]
    return lg.nn.Sequential(*layers).to("cuda")


class Training:
    """Steps of a model, as they are or recorded."""

    def __init__(self, make, optimizer=lg.optim.Adam, clip=1.0, **settings):
        self.model = make()
        self.optimizer = optimizer(self.model.parameters(), **settings)
        self.x, self.y = numbers(5, 4), numbers(5, 2)
        self.clip = clip

    def step(self):
        self.optimizer.zero_grad()
        loss = lg.nn.functional.mse_loss(self.model(self.x), self.y)
        loss.backward()
        if self.clip:
            lg.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        return loss.detach()

    def give(self, k):
        self.x.copy_(numbers(5, 4, seed=k))
        self.y.copy_(numbers(5, 2, seed=k + 100))

    def parameters(self):
        return [p.detach().cpu().numpy().copy() for p in self.model.parameters()]


OPTIMISERS = {
    "SGD": dict(lr=0.1, momentum=0.9),
    "Adam": dict(lr=0.01),
    "AdamW": dict(lr=0.01, weight_decay=0.1, capturable=True),
    "NAdam": dict(lr=0.01),
    "RMSprop": dict(lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_training_step_is_one_launch_and_the_same_step(name):
    plain, recorded = (
        Training(lambda: network(dropout=0.3), getattr(lg.optim, name), **OPTIMISERS[name]) for _ in range(2)
    )
    steps = 20 if name == "Adam" else 5
    losses = []
    lg.manual_seed(7)
    for k in range(steps):
        plain.give(k)
        plain.optimizer.param_groups[0]["lr"] = 0.01 / (k + 1)  # a schedule
        losses.append(plain.step().item())
    drawn = lg.cuda.get_rng_state()
    lg.manual_seed(7)
    recorded.give(0)
    recorded.optimizer.param_groups[0]["lr"] = 0.01
    found = [recorded.step().item()]
    g = lg.cuda.CUDAGraph()
    with lg.cuda.graph(g):
        loss = recorded.step()
    assert recorded.optimizer.state[next(recorded.model.parameters())].get("step", 1) == 1  # nothing was done
    for k in range(1, steps):
        recorded.give(k)
        recorded.optimizer.param_groups[0]["lr"] = 0.01 / (k + 1)
        with counting() as counts:
            g.replay()
        assert_one_launch(counts)
        found.append(loss.item())
    np.testing.assert_allclose(found, losses, rtol=1e-6)
    for a, b in zip(plain.parameters(), recorded.parameters(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
    state = recorded.optimizer.state[next(recorded.model.parameters())]
    assert state.get("step", steps) == steps
    assert lg.cuda.get_rng_state() == drawn


def test_steps_as_they_are_and_launches_take_turns():
    plain, recorded = Training(network, lr=0.01), Training(network, lr=0.01)
    g = lg.cuda.CUDAGraph()
    for k in range(6):
        plain.give(k)
        plain.step()
        recorded.give(k)
        if k in (0, 3):
            recorded.step()
        else:
            g.replay()
        if k == 0:
            with lg.cuda.graph(g):
                recorded.step()
    for a, b in zip(plain.parameters(), recorded.parameters(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_random_numbers_go_on_in_their_stream():
    def drawn():
        return lg.rand(3, device="cuda") + lg.randn(3, device="cuda"), lg.randint(0, 9, (2,), device="cuda")

    drawn()
    lg.manual_seed(5)
    expected = [[y.tolist() for y in drawn()] for _ in range(4)]
    lg.manual_seed(5)
    g = lg.cuda.CUDAGraph()
    with lg.cuda.graph(g):
        made = drawn()
    found = []
    for k in range(4):
        if k == 2:  # between launches others may draw
            found.append([y.tolist() for y in drawn()])
        else:
            g.replay()
            found.append([y.tolist() for y in made])
    assert found == expected
    lg.manual_seed(5)
    g.replay()
    assert [y.tolist() for y in made] == expected[0]


def marked():
    """An event that has just been recorded."""
    event = lg.cuda.Event(enable_timing=True)
    event.record()
    return event


def on(stream, x):
    """Work on another stream, which nothing told to wait."""
    with lg.cuda.stream(stream):
        return x + 1


@pytest.mark.parametrize(
    ("what", "named"),
    [
        (lambda x: x.sum().item(), "values are read"),
        (lambda x: bool(x.sum() > 0), "values are read"),
        (lambda x: x + lg.tensor([1.0, 2.0, 3.0], device="cuda"), "host data is copied"),
        (lambda x: lg.sort(x), "argsort|sort"),
        (lambda x: lg.fft.fft(x), "dft"),
        (lambda x: lg.linalg.inv(lg.diag(x)), "inv"),
        (lambda x: lg.linalg.eigh(lg.diag(x)), "eigh"),
        (lambda x: lg.linalg.cholesky(lg.diag(x)), "cholesky"),
        (lambda x: lg.linalg.slogdet(lg.diag(x)), "slogdet|packed_lu"),
        (lambda x: lg.linalg.solve(lg.diag(x), x), "solve"),
        (lambda x: lg.unique(x), "unique"),
        (lambda x: lg.nonzero(x), "nonzero"),
        (lambda x: x[x > 0], "nonzero|values are read"),
        (lambda x: lg.randperm(4, device="cuda"), "randperm|permutation"),
        (lambda x: lg.multinomial(x, 2), "multinomial"),
        (lambda x: x.tolist(), "values are read"),
        (lambda x: repr(x), "values are read"),
        (lambda x: f"{x.sum():.2f}", "values are read"),
        (lambda x: lg.allclose(x, x), "values are read"),
        (lambda x: x.cpu(), "transfer waits"),
        (lambda x: lg.zeros(3).copy_(x), "transfer waits"),
        (lambda x: x.copy_(lg.zeros(3)), "host data is copied"),
        (lambda x: x + lg.randn(3).to("cuda"), "host data is copied"),  # random numbers of the host
        (lambda x: lg.masked_select(x, x > 0), "nonzero"),
        (lambda x: x.__setitem__(x > 0, lg.zeros(3, device="cuda")), "a mask says how many"),
        (lambda x: lg.topk(x, 2), "argtopk"),
        (lambda x: lg.bincount(x.astype("int64")), "values are read"),
        (lambda x: lg.func.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x), "values are read"),
        (lambda x: lg.func.cond(x.sum() > 0, lambda: x, lambda: -x), "values are read"),
        (lambda x: lg.cuda.synchronize(), "synchronize waits for the device"),
        (lambda x: lg.cuda.current_stream().synchronize(), "synchronize waits for a stream"),
        (lambda x: lg.cuda.current_stream().query(), "query asks a stream"),
        (lambda x: marked().synchronize(), "Event.synchronize"),
        (lambda x: marked().query(), "Event.query"),
        (lambda x: marked().elapsed_time(marked()), "Event.elapsed_time"),
        (lambda x: on(lg.cuda.default_stream(), x), "work was sent to <stream 0x0 of cuda:0>"),
        (lambda x: on(lg.cuda.Stream(), x), "work was sent to <stream 0x.*wait_stream"),
    ],
)
@pytest.mark.parametrize("caught", [False, True])
def test_what_cannot_be_recorded_names_itself(what, named, caught):
    x, g = lg.ones(3, device="cuda"), lg.cuda.CUDAGraph()
    what(x.clone())

    def record():
        with lg.cuda.graph(g):
            y = x * 2
            if caught:
                with contextlib.suppress(Exception):
                    what(y)
            else:
                what(y)

    with pytest.raises(Exception, match=named) as told:
        record()
    assert isinstance(told.value, RuntimeError)
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        g.replay()
    assert not lg.cuda.is_current_stream_capturing()
    with lg.cuda.graph(g):  # and the next recording is as good as any
        y = x * 3
    g.replay()
    assert y.tolist() == [3.0, 3.0, 3.0]


def test_what_looks_like_it_and_can_be_recorded():
    """Sizes, masks for one value, loops of known length, streams that wait, and questions that no launch answers."""
    x, side = lg.ones(3, device="cuda"), lg.cuda.Stream()

    def run(x):
        y = x * 2
        y[y > 3] = 7.0
        total, sums = lg.func.scan(lambda c, v: (c + v, c * v), y.sum() * 0, y)
        side.wait_stream(lg.cuda.current_stream())
        with lg.cuda.stream(side):
            z = y + lg.func.fori_loop(0, 3, lambda i, v: v * 2, y)
        lg.cuda.current_stream().wait_stream(side)
        assert lg.cuda.memory_allocated() > 0 and len(z) == 3
        return total + sums + z

    run(x)
    g = lg.cuda.CUDAGraph()
    with lg.cuda.graph(g):
        made = run(x)
    for value in (1.0, 2.0):
        x.fill_(value)
        g.replay()
        assert made.tolist() == run(x).tolist()


def test_gradients_of_what_was_done_before_are_refused():
    w, g = lg.ones(3, device="cuda", requires_grad=True), lg.cuda.CUDAGraph()
    (w * w).sum().backward()
    y = (w * w).sum()
    with pytest.raises(RuntimeError, match="work was sent to <stream 0x0"), lg.cuda.graph(g):
        y.backward()
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        g.replay()


@pytest.mark.parametrize("what", ["scan", "while", "cond"])
def test_loops_of_programs(what):
    """A compiled function with a loop runs as ever; where its length is asked of the device, no graph is made of it."""
    loops = {
        "scan": lambda x: lg.func.scan(lambda c, v: (c + v, c * v), x.sum() * 0, x)[1],
        "while": lambda x: lg.func.while_loop(lambda v: v.sum() < 100, lambda v: v * 2, x),
        "cond": lambda x: lg.func.cond(x.sum() > 4, lambda: x * 3, lambda: -x),
    }
    run = lg.compile(loops[what], fullgraph=True)
    for seed in range(4):
        x = abs(numbers(3, seed=seed)) + 1
        np.testing.assert_allclose(run(x).cpu(), loops[what](x).cpu(), rtol=1e-6)
    assert run.cache_info().programs == 1
    g, x = lg.cuda.CUDAGraph(), lg.ones(3, device="cuda")
    if what == "scan":
        with lg.cuda.graph(g):
            y = run(x)
        x.fill_(2.0)
        g.replay()
        assert y.tolist() == loops[what](x).tolist()
    else:
        with pytest.raises(RuntimeError, match="values are read|asks"), lg.cuda.graph(g):
            run(x)
        with pytest.raises(RuntimeError, match="nothing was recorded"):
            g.replay()
        assert run(x).tolist() == loops[what](x).tolist()


def test_a_first_step_is_refused():
    training, g = Training(network, lr=0.1), lg.cuda.CUDAGraph()
    before = training.parameters()
    with pytest.raises(RuntimeError, match="take a step before the recording"), lg.cuda.graph(g):
        training.step()
    for a, b in zip(before, training.parameters(), strict=True):
        assert (a == b).all()
    training.optimizer.zero_grad()
    training.step()


def test_an_optimiser_that_was_changed_is_noticed():
    training, g = Training(network, lr=0.1), lg.cuda.CUDAGraph()
    training.step()
    with lg.cuda.graph(g):
        training.step()
    g.replay()
    before = lg.cuda.get_rng_state()
    training.optimizer.param_groups[0]["maximize"] = True
    with pytest.raises(RuntimeError, match="record the graph anew"):
        g.replay()
    assert lg.cuda.get_rng_state() == before
    training.optimizer.param_groups[0]["maximize"] = False
    g.replay()


def test_memory_is_the_graphs_own():
    g, x = lg.cuda.CUDAGraph(), lg.ones(1000, device="cuda")
    _ = (x * 2).sum()
    with lg.cuda.graph(g):
        z = x * 2  # freed while recording: it must not be anybody else's
        y = z.sum()
        address = z.array.data.ptr
        del z
    others = [lg.zeros(1000, device="cuda") for _ in range(50)]
    assert all(o.array.data.ptr != address for o in others)
    g.replay()
    assert y.item() == 2000
    assert all(o.sum().item() == 0 for o in others)


def test_graphs_may_share_a_pool():
    a, b, x = lg.cuda.CUDAGraph(), lg.cuda.CUDAGraph(), lg.ones(4, device="cuda")
    _ = x * 2 + 1
    with lg.cuda.graph(a, pool=lg.cuda.graph_pool_handle()):
        y = x * 2
    with lg.cuda.graph(b, pool=a.pool()):
        z = y + 1
    x.fill_(3.0)
    a.replay()
    b.replay()
    assert z.tolist() == [7.0] * 4


def test_launches_on_several_streams_wait_for_each_other():
    training, g = Training(network, lr=0.01), lg.cuda.CUDAGraph()
    plain = Training(network, lr=0.01)
    for one in (training, plain):
        one.step()
    with lg.cuda.graph(g):
        training.step()
    sides = [lg.cuda.Stream() for _ in range(2)]
    for side in sides:
        side.wait_stream(lg.cuda.current_stream())
    lg.cuda.synchronize()
    with cudasim.lazy():
        for k in range(4):
            with lg.cuda.stream(sides[k % 2]):
                g.replay()
        sides[1].synchronize()
        sides[0].synchronize()
    for _ in range(4):
        plain.step()
    for a, b in zip(plain.parameters(), training.parameters(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_drivers_that_cannot_change_a_graph(monkeypatch):
    monkeypatch.setattr(words, "can_renew", lambda: False)
    test_random_numbers_go_on_in_their_stream()
    plain, recorded = Training(network, lr=0.01), Training(network, lr=0.01)
    for one in (plain, recorded):
        one.step()
    g = lg.cuda.CUDAGraph()
    with lg.cuda.graph(g):
        recorded.step()
    for _ in range(3):
        plain.step()
        with counting() as counts:
            g.replay()
        assert counts is None or sum(counts.launches.values()) - counts.graph_nodes <= 1
    for a, b in zip(plain.parameters(), recorded.parameters(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def test_what_a_graph_holds_is_let_go():
    x = lg.ones(1 << 16, device="cuda")
    g = lg.cuda.CUDAGraph()
    _ = x * 2
    with lg.cuda.graph(g):
        y = x * 2
    g.replay()
    pool = g.pool()
    assert pool.used_bytes() >= 1 << 18
    del y
    g.reset()
    gc.collect()
    lg.cuda.synchronize()
    assert pool.used_bytes() == 0


def test_wrong_calls():
    g = lg.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        g.replay()
    with pytest.raises(RuntimeError, match="nothing is being recorded"):
        g.capture_end()
    with pytest.raises(RuntimeError, match="default stream"):
        g.capture_begin()
    with pytest.raises(TypeError, match="expected a lucidgrad.cuda.CUDAGraph"):
        lg.cuda.graph("g")
    with pytest.raises(ValueError, match="capture_error_mode"):
        g.capture_begin(capture_error_mode="strict")
    x = lg.ones(2, device="cuda")
    _ = x + 1
    with lg.cuda.graph(g):
        with pytest.raises(RuntimeError, match="already"), lg.cuda.graph(lg.cuda.CUDAGraph()):
            pass
        y = x + 1
    with pytest.raises(RuntimeError, match="recorded already"), lg.cuda.graph(g):
        pass
    g.replay()
    assert y.tolist() == [2.0, 2.0]
    assert not lg.cuda.is_current_stream_capturing()


def test_graphed_callables_have_the_gradients_of_the_plain_ones():
    plain, graphed = network(), network()
    x = numbers(5, 4)
    graphed = lg.cuda.make_graphed_callables(graphed, (x.clone().requires_grad_(),))
    optimizers = [lg.optim.SGD(m.parameters(), lr=0.1) for m in (plain, graphed)]
    for k in range(3):
        given = numbers(5, 4, seed=k)
        slopes = []
        for model, optimizer in zip((plain, graphed), optimizers, strict=True):
            x = given.clone().requires_grad_()
            optimizer.zero_grad()
            (model(x) ** 2).sum().backward()
            optimizer.step()
            slopes.append([x.grad.cpu().numpy(), *(p.grad.cpu().numpy() for p in model.parameters())])
        for a, b in zip(*slopes, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    with counting() as counts:
        y = graphed(x)
    assert counts is None or counts.graph_launches == 1
    with counting() as counts:
        y.sum().backward()
    assert counts is None or counts.graph_launches == 1
    graphed.eval()
    assert not graphed(numbers(3, 4)).isnan().any()  # another mode: as it is, of any size
    graphed.train()
    with pytest.raises(TypeError, match="float32\\[5, 4\\]"):
        graphed(numbers(3, 4))


def test_graphed_functions_of_several():
    def first(x):
        return {"a": lg.tanh(x), "b": x.sum()}

    def second(x):
        return x * 3

    x = numbers(3).requires_grad_()
    f, g = lg.cuda.make_graphed_callables((first, second), ((x,), (x.detach().clone().requires_grad_(),)))
    y = f(x)
    z = g(y["a"])
    (z.sum() + y["b"]).backward()
    np.testing.assert_allclose(x.grad.cpu(), 3 * (1 - lg.tanh(x.detach()) ** 2).cpu().numpy() + 1, rtol=1e-5)
    with pytest.raises(TypeError, match="sample_args"):
        lg.cuda.make_graphed_callables(first, [x])
