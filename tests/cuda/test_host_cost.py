"""What backward costs the host, counted and not timed: instructions of Python for each further node.

Where all nodes ran on the current stream of the current device, a walk over them takes the plain path, as on the CPU.
"""

import sys

import pytest

import lucidgrad as lg

#: What a CUDA node may take, relative to a CPU node.
MOST = 1.3
CALLS = {
    "exp": lambda y, x: lg.exp(y),
    "tanh": lambda y, x: lg.tanh(y),
    "relu": lambda y, x: lg.relu(y),
    "multiply": lambda y, x: y * x,
    "add": lambda y, x: y + x,
    "divide": lambda y, x: y / x,
    "number": lambda y, x: y * 2.0,
    "where": lambda y, x: lg.where(x > 0.5, y, x),
    "reshape": lambda y, x: y.reshape(3, 1).reshape(3),
    "bias": lambda y, x: (y.reshape(1, 3) + x).reshape(3),
    "matmul": lambda y, x: y @ (x[:, None] * x),
    "softmax": lambda y, x: lg.softmax(y, -1),
    "sum": lambda y, x: y.sum() + x,
}


def graph(function, length, where):
    x = lg.asarray([0.5, 0.25, 0.75], dtype="float32", device=where).requires_grad_()
    y = x
    for _ in range(length):
        y = function(y, x)
    return y, x, lg.ones_like(y)


def instructions(function, length, where):
    """How many instructions a walk takes, with all that prepares calls of cuBLAS, or lays out rows."""
    for _ in range(3):
        y, x, g = graph(function, length, where)
        lg.autograd.grad(y, x, g)
    y, x, g = graph(function, length, where)
    count = 0

    def each(frame, event, _):
        nonlocal count
        count += event == "opcode"
        return each

    def begin(frame, event, _):
        frame.f_trace_opcodes = True
        return each

    before = sys.gettrace()
    try:
        sys.settrace(begin)
        lg.autograd.grad(y, x, g)
    finally:
        sys.settrace(before)
    return count


def per_node(function, where):
    few, many = (instructions(function, length, where) for length in (10, 30))
    return (many - few) / 20


@pytest.fixture(autouse=True)
def quiet():
    """Values don't matter here, and nobody asks how much memory is in use at most: that is followed in Python."""
    import numpy as np

    from lucidgrad.backends.cuda import memory

    while memory._peak:
        memory._peak.pop().__exit__()
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("name", CALLS)
def test_a_node_takes_hardly_more_than_on_the_cpu(name):
    cuda, cpu = (per_node(CALLS[name], where) for where in ("cuda", "cpu"))
    assert cuda <= MOST * cpu, f"{name}: {cuda} instructions, {cpu} on the CPU"


def test_on_a_side_stream_too():
    with lg.cuda.stream(lg.cuda.Stream()):
        cuda, cpu = (per_node(CALLS["exp"], where) for where in ("cuda", "cpu"))
    assert cuda <= MOST * cpu


def test_nodes_of_another_stream_are_walked_with_waits():
    """What is counted above is not had by leaving out what streams need."""
    with lg.cuda.stream(lg.cuda.Stream()):
        y, x, g = graph(CALLS["exp"], 3, "cuda")
    waits = []
    with pytest.MonkeyPatch.context() as patch:
        from lucidgrad.backends.cuda.streams import Place

        usual = Place.wait_for
        patch.setattr(Place, "wait_for", lambda self, other, arrays=(): waits.append(1) or usual(self, other, arrays))
        lg.autograd.grad(y, x, g)
    assert waits


def test_the_cpu_s_walk_takes_no_more_than_before():
    """Instructions of a node of ``exp``, which was 124 when walks knew of no common place."""
    assert per_node(CALLS["exp"], "cpu") <= 124
