"""Counts the instructions of Python that walks take for each further node, and prints them: ``host_cost.py``."""

import json
import sys

import numpy as np

import lucidgrad as lg

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


def main():
    from lucidgrad.backends.cuda import memory

    lg.zeros(1, device="cuda")
    while memory._peak:  # nobody asks how much memory is in use at most: that is followed in Python
        memory._peak.pop().__exit__()
    with np.errstate(all="ignore"):  # values don't matter here
        counts = {name: [per_node(f, where) for where in ("cuda", "cpu")] for name, f in CALLS.items()}
        with lg.cuda.stream(lg.cuda.Stream()):
            counts["on a side stream"] = [per_node(CALLS["exp"], where) for where in ("cuda", "cpu")]
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
