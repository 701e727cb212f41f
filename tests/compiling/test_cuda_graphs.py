"""Programs on CUDA as graphs: recorded once, one launch from then on, and the same results as without."""

import gc
import threading
import time

import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim, func
from lucidgrad.backends.cuda import streams
from lucidgrad.backends.cuda.programs import graphs

pytestmark = pytest.mark.cuda


def numbers(*shape, seed=0, dtype="float32"):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype), device="cuda")


@pytest.fixture
def recordings(monkeypatch):
    """The programs that were recorded, in order; None where that failed."""
    made, usual = [], graphs._record

    def record(*args):
        made.append(usual(*args))
        return made[-1]

    monkeypatch.setattr(graphs, "_record", record)
    return made


def network(*, dropout=0.0, norm=False, seed=0):
    lg.manual_seed(seed)
    layers = [lg.nn.Linear(4, 6)]
    layers += [lg.nn.BatchNorm1d(6)] if norm else []
    layers += [lg.nn.Tanh()]
    layers += [lg.nn.Dropout(dropout)] if dropout else []
    return lg.nn.Sequential(*layers, lg.nn.Linear(6, 2)).to("cuda")


def training(model, optimizer, how=None):
    def step(x, y):
        optimizer.zero_grad()
        loss = lg.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step if how == "eager" else lg.compile(step, options={"backend": how} if how else None)


OPTIMIZERS = {
    "SGD": lambda p: lg.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: lg.optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("parts", [{}, {"dropout": 0.4}, {"norm": True}], ids=str)
def test_steps_of_training(optimizer, parts, recordings):
    found = []
    for how in ("eager", None):
        model = network(**parts)
        run = training(model, OPTIMIZERS[optimizer](model.parameters()), how)
        lg.manual_seed(3)
        losses = [run(numbers(5, 4, seed=k), numbers(5, 2, seed=k + 50)).item() for k in range(7)]
        found.append((losses, [x.cpu().numpy() for x in model.state_dict().values()]))
    (losses, state), (own, own_state) = found
    np.testing.assert_allclose(own, losses, rtol=2e-6)
    for a, b in zip(own_state, state, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    assert 1 <= len(recordings) <= 4  # a first one may be bound to addresses that batches had by chance
    assert None not in recordings


def test_a_step_is_one_launch(recordings):
    model = network(norm=True)
    optimizer = lg.optim.Adam(model.parameters(), lr=0.01)
    run = training(model, optimizer)
    batches = [(numbers(5, 4, seed=k), numbers(5, 2, seed=k + 50)) for k in range(9)]  # all at addresses of their own
    for batch in batches[:4]:
        run(*batch)
    programs = run.cache_info().programs
    with cudasim.counting() as counts:
        for k, batch in enumerate(batches[4:]):
            optimizer.param_groups[0]["lr"] = 0.01 / (k + 1)
            run(*batch)
    assert counts.graph_launches == 5
    assert counts.launches["lg_words"] == 5
    assert sum(counts.launches.values()) == counts.graph_nodes  # nothing is outside, the words of each step neither
    assert counts.synchronisations == counts.copies_to_host == counts.copies_to_device == 0
    assert counts.compilations == 0
    assert len(recordings) == 1
    assert run.cache_info().programs == programs


def test_random_numbers_are_new_in_every_run(recordings):
    def function(x):
        for _ in range(3):
            x = lg.nn.functional.dropout(lg.cumsum(x, 0), 0.5) + lg.rand(4, device="cuda")
        return x

    run, x = lg.compile(function), numbers(4)
    lg.manual_seed(5)
    expected = [function(x).tolist() for _ in range(6)]
    lg.manual_seed(5)
    found = [run(x).tolist() for _ in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len({str(values) for values in found}) == 6
    assert len(recordings) == 1


def test_the_first_numbers_of_a_generator(monkeypatch, recwarn):
    """A device's own generator is made when numbers are first drawn, while tracing, too."""
    from lucidgrad import random

    monkeypatch.setattr(random, "_defaults", {})
    run = lg.compile(lambda x: x + lg.rand(3, device="cuda"))
    lg.manual_seed(4)
    found = [run(numbers(3)).tolist() for _ in range(3)]
    lg.manual_seed(4)
    assert found == [(numbers(3) + lg.rand(3, device="cuda")).tolist() for _ in range(3)]
    assert run.cache_info().hits == 2
    assert not recwarn.list


def layered(x, y):
    """Enough calls that a graph pays, with results of all kinds."""
    a = lg.cumsum(x * 2, 0)
    b = lg.tanh(a @ y)
    return a, b, b.sum(), lg.cumsum(b, 1).T


def test_results_of_earlier_calls_do_not_change(recordings):
    run = lg.compile(layered)
    seen = []
    for k in range(8):
        x, y = numbers(3, 3, seed=k), numbers(3, 3, seed=k + 20)
        seen.append(([r.cpu().numpy() for r in layered(x, y)], run(x, y)))
    for expected, found in seen:
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.cpu().numpy(), b, rtol=1e-6, atol=1e-7)
    owners = [r.array.data.ptr for _, results in seen for r in results]
    assert len(set(owners)) == len(owners)
    assert recordings


def test_inputs_that_move_are_copied(recordings):
    """First the same arrays twice, to which the graph is bound; then others, some of them strided."""
    run = lg.compile(layered)
    x, y = numbers(3, 3), numbers(3, 3, seed=1)
    wide, turned = numbers(3, 6, seed=2), numbers(3, 3, seed=3)
    for a, b in [(x, y)] * 4 + [(wide[:, ::2], y), (x, turned.T), (wide[:, 1::2], turned), (x, y)]:
        for found, expected in zip(run(a, b), layered(a, b), strict=True):
            np.testing.assert_allclose(found.cpu().numpy(), expected.cpu().numpy(), rtol=1e-6, atol=1e-7)
    assert len(recordings) == 3  # one, and once more for each input that moved
    assert len(recordings[0].bound) == 2
    assert not recordings[2].bound


def test_memory_of_a_graph_is_given_to_nobody(recordings):
    run = lg.compile(layered)
    y = numbers(3, 3, seed=1)
    for k in range(3):
        run(numbers(3, 3, seed=k), y)
    cupy.get_default_memory_pool().free_all_blocks()
    with cudasim.poison():
        for k in range(3):
            x = numbers(3, 3, seed=k)
            others = [cupy.full((n,), 7, "float32") for n in range(1, 2000, 10)]
            found = run(x, y)
            for a, b in zip(found, layered(x, y), strict=True):
                np.testing.assert_allclose(a.cpu().numpy(), b.cpu().numpy(), rtol=1e-6, atol=1e-7)
            assert all(bool((other == 7).all()) for other in others)
    assert recordings[0].memory.pool.total_bytes() > 0  # which nobody else takes memory from


def test_lazy_streams():
    """Nothing runs before somebody waits: what a launch needs must be there until then."""
    model = network(dropout=0.3)
    twin = network(dropout=0.3)
    batches = [(numbers(5, 4, seed=k), numbers(5, 2, seed=k + 50)) for k in range(8)]
    lg.manual_seed(1)
    usual = training(twin, lg.optim.Adam(twin.parameters(), lr=0.01), "eager")
    expected = [usual(*batch).item() for batch in batches]
    lg.manual_seed(1)
    with cudasim.lazy():
        run = training(model, lg.optim.Adam(model.parameters(), lr=0.01))
        losses = [run(*(x.clone() for x in batch)) for batch in batches]
        del run
        gc.collect()  # the graph is let go with its launches still waiting
        found = [loss.item() for loss in losses]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_a_graph_that_is_let_go_waits_for_nobody():
    run = lg.compile(layered)
    x, y = numbers(3, 3), numbers(3, 3, seed=1)
    expected = [r.cpu().numpy() for r in layered(x, y)]
    for _ in range(3):
        run(x, y)
    gc.collect()
    streams.sweep()  # what others have left
    with cudasim.lazy():
        found = run(x, y)
        with cudasim.counting() as counts:
            del run
            gc.collect()
        assert counts.frees == counts.synchronisations == 0  # to free is to wait
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.cpu().numpy(), b, rtol=1e-6, atol=1e-7)


def test_two_streams(recordings):
    """A graph has one memory: a launch on another stream waits for the one before."""
    run = lg.compile(layered)
    x, y = numbers(3, 3), numbers(3, 3, seed=1)
    expected = [r.cpu().numpy() for r in layered(x, y)]
    places = [lg.cuda.Stream(), lg.cuda.Stream()]
    found = [run(x, y) for _ in range(3)]
    lg.cuda.synchronize()
    with cudasim.lazy(), cudasim.counting() as counts:
        for k in range(7):
            with lg.cuda.stream(places[k % 2]):
                found.append(run(x, y))
        for place in places[::-1]:
            place.synchronize()
    for results in found:
        for a, b in zip(results, expected, strict=True):
            np.testing.assert_allclose(a.cpu().numpy(), b, rtol=1e-6, atol=1e-7)
    assert counts.waits == 7
    assert len(recordings) == 1


def test_two_threads(recordings, monkeypatch):
    usual = graphs.Words.renew

    def slow(*args):
        usual(*args)
        time.sleep(0.001)  # others have their turn between the words and the launch

    monkeypatch.setattr(graphs.Words, "renew", slow)
    run, wrong = lg.compile(layered), []
    given = [(numbers(3, 3, seed=k), numbers(3, 3, seed=k + 9)) for k in range(4)]
    expected = [[r.cpu().numpy() for r in layered(*args)] for args in given]
    run(*given[0])
    lg.cuda.synchronize()

    def work(k):
        with lg.cuda.stream(lg.cuda.Stream()):
            for _ in range(6):
                found = run(*given[k])
                for a, b in zip(found, expected[k], strict=True):
                    if not np.allclose(a.cpu().numpy(), b, rtol=1e-6, atol=1e-7):
                        wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert recordings
    assert None not in recordings


def test_what_can_not_be_recorded_runs_without_a_graph(recordings):
    def function(a, b):
        return lg.tanh(lg.linalg.solve(lg.cumsum(a, 0), b)) * 2, lg.cumsum(b, 0)

    run = lg.compile(function)
    for k in range(5):
        a, b = numbers(3, 3, seed=k, dtype="float64"), numbers(3, 2, seed=k + 9, dtype="float64")
        for found, expected in zip(run(a, b), function(a, b), strict=True):
            np.testing.assert_allclose(found.cpu().numpy(), expected.cpu().numpy(), rtol=1e-12)
    assert recordings == [None]
    assert cupy.cuda.runtime.streamIsCapturing(cupy.cuda.get_current_stream().ptr) == 0


def test_libraries_that_keep_memory_are_not_recorded(recordings):
    run = lg.compile(lambda x: lg.cumsum(lg.abs(lg.fft.fft(lg.cumsum(x, 0))), 0) * 2)
    for k in range(4):
        run(numbers(4, seed=k))
    assert recordings == []


def test_an_error_while_recording(monkeypatch):
    """Nothing is written, no stream stays recording, and the program runs on without a graph."""
    x = numbers(4)

    def function(x):
        x.mul_(lg.cumsum(lg.cumsum(x, 0) * 0.1, 0))
        return lg.cumsum(x, 0)

    run, twin = lg.compile(function), x.clone()
    for _ in range(2):
        run(x)
        function(twin)
    monkeypatch.setattr(graphs, "_move", lambda *args: 1 / 0)
    for _ in range(3):
        np.testing.assert_allclose(run(x).tolist(), function(twin).tolist(), rtol=1e-6)
        np.testing.assert_allclose(x.tolist(), twin.tolist(), rtol=1e-6)


def test_inside_of_a_recording_of_somebody_else():
    """A compiled function, products and all, is recorded as its launches."""
    run = lg.compile(layered)
    x, y = numbers(3, 3), numbers(3, 3, seed=1)
    for _ in range(2):
        run(x, y)
    expected = [r.cpu().numpy() for r in layered(x, y)]
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        found = run(x, y)
        graph = stream.end_capture()
    for r in found:
        r.array.fill(0)
    lg.cuda.synchronize()
    graph.launch(stream)
    stream.synchronize()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.cpu().numpy(), b, rtol=1e-6, atol=1e-7)


def test_gradients_of_results():
    """Forward and backward are graphs of their own."""

    def function(x, w):
        return lg.cumsum(lg.tanh(lg.cumsum(x, 0) @ w), 0).sum()

    run = lg.compile(function)
    for k in range(5):
        x, w = numbers(3, 3, seed=k).requires_grad_(), numbers(3, 2, seed=k + 5).requires_grad_()
        found = lg.autograd.grad(run(x, w), (x, w))
        for a, b in zip(found, lg.autograd.grad(function(x, w), (x, w)), strict=True):
            np.testing.assert_allclose(a.cpu().numpy(), b.cpu().numpy(), rtol=1e-5, atol=1e-6)


def test_products_of_all_kinds(recordings):
    """cuBLAS inside of a recording: vectors, batches, batches of batches, half precision."""

    def function(v, m, b, t, h):
        return v @ v, v @ m, m @ v, m @ m.T, b @ m, (t @ t.mT).sum(), h @ h

    given = [numbers(3), numbers(3, 3), numbers(4, 3, 3), numbers(2, 5, 4, 3)[:, ::2].permute(1, 0, 2, 3)]
    given.append(numbers(3, 3, dtype="float16"))
    run = lg.compile(function)
    for _ in range(4):
        for found, expected in zip(run(*given), function(*given), strict=True):
            np.testing.assert_allclose(found.cpu().numpy(), expected.cpu().numpy(), rtol=1e-5, atol=1e-6)
    assert len(recordings) == 1
    assert None not in recordings


def test_options():
    with pytest.raises(ValueError, match="expected 'backend', one of c, flat, graph, launches, interpret"):
        lg.compile(layered, options={"backend": "cuda"})
    x = numbers(3)
    for how in ("graph", "launches", "interpret", "c", "flat"):
        run = lg.compile(lambda x: lg.exp(x) * 2, options={"backend": how})
        for _ in range(3):
            run(x)
        with cudasim.counting() as counts:
            run(x)
        assert counts.graph_launches == (how == "graph")
        assert (sum(counts.launches.values()) == 2) == (how == "interpret")
    lg.compile(lambda x: x * 2, options={"backend": "launches"})(lg.ones(3))  # on the CPU it is C all the same


def test_functions_of_the_library_that_a_function_holds():
    """What primitives know of devices, and learn while they are traced, is nothing that a program depends on."""
    from lucidgrad.ops.pooling import max_pool

    sizes = dict(window=(2, 2), stride=(2, 2), padding=(0, 0), dilation=(1, 1))
    run = lg.compile(lambda x: max_pool(x, **sizes)[0] * 2, fullgraph=True)
    x = numbers(1, 1, 4, 4).requires_grad_()
    for _ in range(3):
        (slope,) = lg.autograd.grad(run(x).sum(), x)
    assert slope.sum().item() == 8
    assert run.cache_info()[:3] == (2, 1, 0)


def test_arguments_that_are_written_and_move(recordings):
    """They are copied in, and back to where they are this time; strided ones, too."""

    def function(x, y):
        x += lg.cumsum(y, 0)
        y.mul_(lg.cumsum(x, 0))
        return x.sum()

    run = lg.compile(function)
    for k in range(6):
        x, y = numbers(4, 6, seed=k), numbers(4, 6, seed=k + 9)
        x, y = (x[:, ::2], y[:, 1::2]) if k > 2 else (x[:, :3].clone(), y[:, :3].clone())
        a, b = x.clone(), y.clone()
        np.testing.assert_allclose(run(x, y).item(), function(a, b).item(), rtol=1e-5)
        np.testing.assert_allclose(x.cpu().numpy(), a.cpu().numpy(), rtol=1e-5)
        np.testing.assert_allclose(y.cpu().numpy(), b.cpu().numpy(), rtol=1e-5)
    assert run.cache_info().hits == 5
    assert recordings
    assert None not in recordings


def test_what_is_refused_exists():
    import lucidgrad.fft
    import lucidgrad.linalg  # noqa: F401  # which declare primitives
    from lucidgrad.core.primitive import registry

    assert set(registry) >= graphs.UNRECORDABLE


# -- loops and choices ---------------------------------------------------------------------------
def carried(w, xs):
    h, ys = func.scan(lambda h, x: (lg.tanh(w @ h + x), h.sum()), xs[0], xs)
    return h.sum() + ys.sum()


def nested(w, xs):
    return func.scan(lambda h, x: (func.fori_loop(0, 2, lambda i, v: lg.tanh(w @ v) * i, h) + x, h), xs[0], xs)


#: Functions of w and xs: loops whose number of steps is known, with their gradients.
LOOPS = {
    "scan": carried,
    "scan, gradient": func.grad(carried, (0, 1)),
    "fori_loop": lambda w, xs: func.fori_loop(0, 5, lambda i, h: lg.tanh(w @ h) + i, xs[0]),
    "map": lambda w, xs: func.map(lambda x: lg.tanh(w @ x) * 2, xs),
    "nested": nested,
}
#: Where a value says what is next, numbers are drawn in every step, or there are too many of them.
READ = {
    "cond": lambda w, xs: func.cond(xs.sum() > 0, lambda: lg.tanh(w @ xs[0]) * 3 + xs.sum(), lambda: xs[1]),
    "while_loop": lambda w, xs: func.while_loop(lambda v: v.sum() > 1, lambda v: lg.tanh(v / 2) * 0.9, abs(w)),
    "cond in a scan": lambda w, xs: func.scan(
        lambda h, x: (func.cond(x.sum() > 0, lambda: lg.tanh(w @ h), lambda: h), h), xs[0], xs
    )[1],
    "dropout in a scan": lambda w, xs: func.scan(
        lambda h, x: (lg.nn.functional.dropout(lg.tanh(w @ h + x), 0.5), h), xs[0], xs
    )[1],
    "many steps": lambda w, xs: func.fori_loop(0, graphs.MOST, lambda i, h: lg.tanh(h) * 2, xs[0]),
}


def flat(y):
    return [y] if isinstance(y, lg.Tensor) else list(y)


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
@pytest.mark.parametrize("length", [1, 6, 70])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_recorded_with_all_their_steps(name, length, recordings):
    compiled = lg.compile(LOOPS[name], fullgraph=True)
    for k in range(5):
        w, xs = numbers(3, 3, seed=k), numbers(length, 3, seed=k + 7)
        with cudasim.counting() as counts:
            found = compiled(w, xs)
        for y, expected in zip(flat(found), flat(LOOPS[name](w, xs)), strict=True):
            np.testing.assert_allclose(y.cpu().numpy(), expected.cpu().numpy(), rtol=2e-5, atol=1e-5)
    assert recordings and None not in recordings
    assert counts.graph_launches == 1 and sum(counts.launches.values()) <= counts.graph_nodes
    assert counts.synchronisations == counts.copies_to_host == counts.bytes_to_device == 0


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
@pytest.mark.parametrize("name", READ)
def test_what_the_host_decides_has_no_graph(name, recordings):
    compiled = lg.compile(READ[name], fullgraph=True)
    for k in range(2 if name == "many steps" else 5):
        w, xs = numbers(3, 3, seed=k), numbers(6, 3, seed=k + 7)
        lg.manual_seed(k)
        with cudasim.counting() as counts:
            found = compiled(w, xs)
        lg.manual_seed(k)
        for y, expected in zip(flat(found), flat(READ[name](w, xs)), strict=True):
            np.testing.assert_allclose(y.cpu().numpy(), expected.cpu().numpy(), rtol=2e-5, atol=1e-5)
    assert recordings == [] and counts.graph_launches == 0
