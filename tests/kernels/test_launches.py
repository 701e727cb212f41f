"""How often kernels are launched: once for a function, once for what pulls its cotangent back."""

import pytest

import lucidgrad as lg
from bench import bytes as moved, launches
from lucidgrad import cudasim
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.ops import attention, losses, normalisation, pooling, steps, windows

pytestmark = pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")

PLANE = dict(window=(3, 3), stride=(2, 2), padding=(1, 1))


def arrays(*shapes):
    lg.manual_seed(0)
    made = []
    for shape in shapes:
        if isinstance(shape, list):  # class numbers
            made.append(lg.asarray(shape).to("cuda"))
        else:
            made.append(lg.rand(shape, device="cuda").requires_grad_())
    return made


#: What is called, on which shapes, and the launches forth and back.
CALLS = {
    "softmax": (lambda x: ops.softmax(x, axis=-1), [(5, 40)], 1, 1),
    "log_softmax": (lambda x: ops.log_softmax(x, axis=1), [(5, 40)], 1, 1),
    "logsumexp": (lambda x: ops.logsumexp(x, axis=1), [(5, 40)], 1, 1),
    "var": (lambda x: ops.var(x, axis=1), [(5, 40)], 1, 1),
    "std": (lambda x: ops.std(x, axis=1), [(5, 40)], 1, 1),
    "cross_entropy": (losses.cross_entropy_rows, [(3, 40), [1, 39, 0]], 1, 1),
    "standardise": (lambda x: ops.standardise(x, axis=1), [(5, 40)], 1, 1),
    "layer_norm": (normalisation.layer_norm, [(5, 40), (40,), (40,)], 1, 1),
    "rms_norm": (normalisation.rms_norm, [(5, 40), (40,)], 1, 1),
    "batch_norm": (lambda *xs: normalisation.batch_norm(*xs)[0], [(5, 4, 7), (4,), (4,)], 1, 1),
    "attention": (lambda *xs: attention.attention(*xs, causal=True)[0], [(2, 9, 4), (2, 7, 4), (2, 7, 4)], 1, 2),
    "sum": (lambda x: ops.sum(x, axis=0), [(40, 5)], 1, 0),
    "mean": (lambda x: ops.mean(x, axis=1), [(5, 40)], 1, 1),
    "max": (lambda x: ops.max(x, axis=1), [(5, 40)], 1, 1),
    "vector_norm": (lambda x: ops.vector_norm(x, axis=1), [(5, 40)], 1, None),
    "mean_squared_error": (losses.mean_squared_error, [(5, 40), (5, 40)], 1, None),
    "unfold_windows": (lambda x: windows.unfold_windows(x, dilation=(1, 1), **PLANE), [(2, 9, 9)], 1, 1),
    "max_pool": (lambda x: pooling.max_pool(x, dilation=(1, 1), **PLANE)[0], [(2, 9, 9)], 1, 1),
    "avg_pool": (lambda x: pooling.avg_pool(x, **PLANE), [(2, 9, 9)], 1, 1),
    "take": (lambda x, i: ops.take(x, i, axis=0), [(9, 4), [1, 1, 5]], None, 2),  # zeros, and what is put there
}


@pytest.mark.parametrize("name", CALLS)
def test_one_forth_one_back(name):
    function, shapes, forth, back = CALLS[name]
    xs = arrays(*shapes)
    leaves = [x for x in xs if x.requires_grad]
    for _ in range(2):  # the first call compiles
        with cudasim.counting() as there:
            y = function(*xs)
        seed = lg.ones_like(y)
        with cudasim.counting() as home:
            lg.autograd.grad(y, leaves, seed)
    assert forth is None or launches.calls_of(there) == forth, there.launches
    assert back is None or launches.calls_of(home) == back, home.launches


@pytest.mark.parametrize("count", [3, 89, 90, 113, 1001])
def test_one_step_for_many_tensors(count):
    lists = [[lg.ones((k % 7 + 1, 3), device="cuda") for k in range(count)] for _ in range(4)]
    for _ in range(2):
        with cudasim.counting() as sgd:
            steps.sgd_step(*lists[:3], lr=0.1, momentum=0.9)
        with cudasim.counting() as adam:
            steps.adam_step(*lists, step=1)
    for found, name, most in ((sgd, "lg_sgd_step", 1000), (adam, "lg_adam_step", 800)):  # as their arguments have room
        assert found.launches == {name: -(-count // most)}
        assert found.counters["synchronisations"] == 0 and found.counters["bytes_to_device"] == 0, found.counters


def test_a_step_of_training_waits_for_nothing():
    x, w, b, i = arrays((4, 8), (3, 8), (3,), [0, 1, 2, 1])
    for _ in range(2):
        with cudasim.counting() as found:
            y = normalisation.layer_norm(x, lg.ones(8, device="cuda"))
            loss = losses.cross_entropy_rows(y @ w.T + b, i).mean()
            grads = lg.autograd.grad(loss, [w, b])
            steps.sgd_step([w, b], grads, lr=0.1)
    assert found.counters["synchronisations"] == 0 and found.counters["bytes_to_host"] == 0, found.counters


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_step_of_a_recurrent_layer(kind):
    """A product and a kernel forth, the same back; the rest does not depend on the length."""
    lg.manual_seed(0)
    layer = getattr(lg.nn, kind)(6, 5).to("cuda")
    found = {}
    for length in (2, 2, 7):  # the first call compiles
        x = lg.rand(length, 3, 6, device="cuda")
        layer.zero_grad()
        with cudasim.counting() as counts:
            layer(x)[0].sum().backward()
        found[length] = launches.calls_of(counts)
    assert counts.synchronisations == counts.copies_to_host == counts.bytes_to_device == 0, counts.counters
    assert found[7] - found[2] == 4 * 5 and found[2] - 4 * 2 <= 16, counts.launches


@pytest.mark.parametrize("name", launches.GOALS)
def test_a_training_step_launches_little_more_than_it_must(name):
    make, batch = launches.models()[name]
    counts, least = launches.count_step(make, batch)
    total = launches.calls_of(counts)
    assert total <= launches.GOALS[name] * least, (total, least, counts.launches)
    assert counts.synchronisations == counts.copies_to_host == 0, counts.counters


@pytest.mark.parametrize("name", launches.layers() if cudasim.is_installed() else ())
def test_layers_and_calls(name):
    run, most = launches.layers()[name]
    total, counts = run()
    assert total <= most, counts.launches
    assert counts.synchronisations == counts.copies_to_host == counts.copies_to_device == 0, counts.counters


@pytest.mark.parametrize("name", moved.ops() if cudasim.is_installed() else ())
def test_bytes_that_an_operation_moves(name):
    function, given = moved.ops()[name]
    for back in (False, True):
        found = moved.count(function, given, back)
        if found is not None:
            _, _, bytes_moved, least, others = found
            assert bytes_moved <= moved.MOST * least and not others, (back, found)


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
def test_bytes_of_attention_in_a_fixed_order():
    function, given = moved.ops()["attention"]
    launched, _, bytes_moved, least, others = moved.count(function, given, back=True, fixed=True)
    assert launched == 2 and bytes_moved <= moved.MOST_FIXED * least and not others
