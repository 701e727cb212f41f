"""Forward and backward written by hand in NumPy: what an engine that calls NumPy per operation cannot beat.

No algebra is saved: every operation of the program and every product of its derivative is one NumPy call.
"""

import numpy as np

LABEL = "by hand"
VERSION = np.__version__


def forward(case):
    program, inputs = case.program, case.inputs
    return lambda: (program(np, *inputs),)


def _mix_forward(x, params):
    """The value, what ``x * w`` saw of x, and what tanh gave."""
    seen, tanhs = [], []
    for w, b in zip(params[:-1:2], params[1::2], strict=True):
        seen.append(x)
        x = np.tanh(x * w + b)
        tanhs.append(x)
    return x * params[-1], seen, tanhs


def small_record(case):
    x, *params = case.inputs
    return lambda: _mix_forward(x, params)[:1]


def small_fwdbwd(case):
    (x, *params), seed = case.inputs, case.cotangent

    def step():
        value, _, tanhs = _mix_forward(x, params)
        g = seed * params[-1]
        for w, y in zip(params[-3::-2], reversed(tanhs), strict=True):
            g = g * (1 - y * y) * w
        return value, g

    return step


def small_params(case):
    (x, *params), seed = case.inputs, case.cotangent

    def step():
        value, seen, tanhs = _mix_forward(x, params)
        gradients = [seed * tanhs[-1]]
        g = seed * params[-1]
        for w, x_in, y in zip(params[-3::-2], reversed(seen), reversed(tanhs), strict=True):
            g = g * (1 - y * y)
            gradients += g, g * x_in
            g = g * w
        return value, g, *reversed(gradients)

    return step


def small_scalars(case):
    (start,), seed = case.inputs, case.cotangent

    def step():
        x, tanhs = start, []
        for _ in range(case.n):
            x = np.tanh(x * 1.01 + 0.5)
            tanhs.append(x)
        g = seed * 1.01
        for y in reversed(tanhs):
            g = g * (1 - y * y) * 1.01
        return x * 1.01, g

    return step


def layers(case):
    (x, w, b, v, c), seed = case.inputs, case.cotangent

    def step():
        h = np.tanh(x @ w + b)
        g = (seed @ v.T) * (1 - h * h)
        return h @ v + c, g @ w.T, x.T @ g, g.sum(axis=0), h.T @ seed, seed.sum(axis=0)

    return step


def chain_10k(case):
    (start, scale, shift), seed = case.inputs, case.cotangent

    def step():
        x, g = start, seed
        for _ in range(case.n // 2):
            x = x * scale + shift
        for _ in range(case.n // 2):
            g = g * scale
        return x, g

    return step


chain_100k = chain_10k


def fanout_10k(case):
    (x,), seed = case.inputs, case.cotangent

    def step():
        total = x
        for _ in range(case.n):
            total = total + x
        g = seed.copy()
        for _ in range(case.n):
            g += seed
        return total, g

    return step


def to_numpy(x):
    return x
