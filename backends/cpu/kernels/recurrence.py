"""NumPy kernels of recurrent layers: loops over time in buffers that are used again, one product for all weights.

What of a step's pull does not wait for later steps is computed for several steps at once, as many as the cache holds.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lucidgrad.backends.cpu.compiled import memory, recurrence as compiled
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

#: Elements of the steps that are prepared together.
BLOCK = 131072


def _program(name: str, *arrays: Any, **keywords: Any) -> Any:
    """The program in place of the kernel, for what is too rare to write out."""
    return registry[name].program(device.backend_named("cpu").xp, *arrays, **keywords)


def sigmoid_of(x: Any, out: Any) -> Any:
    """``1 / (1 + exp(-x))``; x and out may be the same. The caller ignores overflow."""
    np.negative(x, out=out)
    np.exp(out, out=out)
    out += 1
    return np.reciprocal(out, out=out)


def _slope(s: Any, out: Any) -> Any:
    """The derivative of the logistic function from its value."""
    np.subtract(1, s, out=out)
    out *= s
    return out


def _tanh_slope(t: Any, out: Any) -> Any:
    """The derivative of tanh from its value."""
    np.multiply(t, t, out=out)
    return np.subtract(1, out, out=out)


def _is_given(g: Any) -> bool:
    """Whether a cotangent has numbers other than zero. One that never came has a single number in memory."""
    return bool(g[(slice(0, 1),) * g.ndim].any() if not any(g.strides) else g.any())


def _blocks(steps: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of steps, last first."""
    count = max(1, BLOCK // max(size, 1))
    for end in range(steps, 0, -count):
        yield max(0, end - count), end


def _before(start: int, end: int, first: Any, y: Any, out: Any) -> Any:
    """What a range of steps began with: the rows of y one step earlier."""
    if start:
        return y[start - 1 : end - 1]
    out[0] = first
    out[1 : end - start] = y[: end - 1]
    return out[: end - start]


def _weight_cotangents(a: Any, h: Any, y: Any) -> tuple[Any, Any]:
    """Of the recurrent weights and the bias: one product over all steps."""
    steps, batch, n = a.shape
    to_w, to_b = np.empty((n, y.shape[2]), a.dtype), np.empty(n, a.dtype)
    if compiled.weight_cotangents(a, h, y, to_w, to_b):
        return to_w, to_b
    flat = a.reshape(steps * batch, n)
    np.matmul(a[0].T, h, out=to_w)
    if steps > 1:
        to_w += np.matmul(flat[batch:].T, y[:-1].reshape((steps - 1) * batch, y.shape[2]))
    return to_w, np.add.reduce(flat, axis=0, out=to_b)


# -- LSTM ----------------------------------------------------------------------------------------
def _lstm_step(a: Any, c: Any, inner: Any, hidden: Any, buffer: Any) -> None:
    """One step after its products: gates before their functions a, cell state c; fills inner and hidden."""
    n = c.shape[1]
    both, new, last, now = inner[:, : 2 * n], inner[:, 2 * n : 3 * n], inner[:, 3 * n : 4 * n], inner[:, 4 * n :]
    sigmoid_of(a[:, : 2 * n], both)
    np.tanh(a[:, 2 * n : 3 * n], out=new)
    sigmoid_of(a[:, 3 * n :], last)
    np.multiply(both[:, n:], c, out=now)
    np.multiply(both[:, :n], new, out=buffer)
    now += buffer
    np.tanh(now, out=buffer)
    np.multiply(last, buffer, out=hidden)


def lstm_sequence(x: Any, h: Any, c: Any, w: Any, b: Any = None) -> Any:
    (steps, batch, _), n, dtype = x.shape, h.shape[1], x.dtype
    hidden, inner = memory.empty((steps, batch, n), dtype), memory.empty((steps, batch, 5 * n), dtype)
    if compiled.lstm_sequence(x, h, c, w, b, inner, hidden):
        return hidden, inner
    a, buffer, turned = np.empty((batch, 4 * n), dtype), np.empty((batch, n), dtype), w.T
    with np.errstate(over="ignore"):
        for t in range(steps):
            np.matmul(h, turned, out=a)
            a += x[t]
            if b is not None:
                a += b
            _lstm_step(a, inner[t - 1, :, 4 * n :] if t else c, inner[t], hidden[t], buffer)
            h = hidden[t]
    return hidden, inner


def _lstm_rates(s: Any, before: Any, out: Any, slope: Any) -> None:
    """What the cotangents of cell state and hidden state are multiplied by: gates in out, the cell state in slope."""
    n = slope.shape[-1]
    i, _, g, o, c = (s[..., k * n : (k + 1) * n] for k in range(5))
    to_i, to_f, to_g, to_o = (out[..., k * n : (k + 1) * n] for k in range(4))
    _slope(s[..., : 2 * n], out[..., : 2 * n])
    to_i *= g
    to_f *= before
    _tanh_slope(g, to_g)
    to_g *= i
    _slope(o, to_o)
    np.tanh(c, out=slope)
    to_o *= slope
    _tanh_slope(slope, slope)
    slope *= o


def lstm_sequence_pull(gy: Any, gs: Any, y: Any, s: Any, h: Any, c: Any, w: Any) -> Any:
    (steps, batch, n), dtype = y.shape, s.dtype
    if _is_given(gs[..., : 4 * n]):
        return _program("lstm_sequence_pull", gy, gs, y, s, h, c, w)
    to_c = gs[..., 4 * n :] if _is_given(gs[..., 4 * n :]) else None
    a = memory.empty((steps, batch, 4 * n), dtype)
    gh, gc = np.zeros((batch, n), dtype), np.zeros((batch, n), dtype)
    if not compiled.lstm_sequence_pull(gy, to_c, s, c, w, gh, gc, a):
        _lstm_pull_steps(gy, to_c, s, c, w, a, gh, gc)
    return a, gh, gc, *_weight_cotangents(a, h, y)


def _lstm_pull_steps(gy: Any, to_c: Any, s: Any, c: Any, w: Any, a: Any, gh: Any, gc: Any) -> None:
    """Fill a with the cotangents of all gates, gh and gc with those of the states at the start."""
    steps, batch, n = gy.shape
    cells, now, blocks = s[..., 4 * n :], np.empty_like(gh), list(_blocks(steps, batch * 4 * n))
    size = max(end - start for start, end in blocks)
    slope, before = np.empty((size, batch, n), s.dtype), np.empty((size, batch, n), s.dtype)
    for start, end in blocks:
        _lstm_rates(s[start:end], _before(start, end, c, cells, before), a[start:end], slope[: end - start])
        for t in range(end - 1, start - 1, -1):
            row = a[t]
            gh += gy[t]
            np.multiply(gh, slope[t - start], out=now)
            gc += now
            if to_c is not None:
                gc += to_c[t]
            gates = row[:, : 3 * n].reshape(batch, 3, n)
            gates *= gc[:, None]
            row[:, 3 * n :] *= gh
            np.matmul(row, w, out=gh)
            gc *= s[t, :, n : 2 * n]


# -- GRU -----------------------------------------------------------------------------------------
def _gru_step(x: Any, a: Any, h: Any, inner: Any, hidden: Any, buffer: Any) -> None:
    """One step after its products: projected input x, projected state a, state h; fills inner and hidden."""
    n = h.shape[1]
    both, new = inner[:, : 2 * n], inner[:, 2 * n : 3 * n]
    np.add(x[:, : 2 * n], a[:, : 2 * n], out=both)
    sigmoid_of(both, both)
    inner[:, 3 * n :] = a[:, 2 * n :]
    np.multiply(both[:, :n], a[:, 2 * n :], out=new)
    new += x[:, 2 * n :]
    np.tanh(new, out=new)
    np.subtract(h, new, out=buffer)
    buffer *= both[:, n:]
    np.add(new, buffer, out=hidden)


def gru_sequence(x: Any, h: Any, w: Any, b: Any = None) -> Any:
    (steps, batch, _), n, dtype = x.shape, h.shape[1], x.dtype
    hidden, inner = memory.empty((steps, batch, n), dtype), memory.empty((steps, batch, 4 * n), dtype)
    if compiled.gru_sequence(x, h, w, b, inner, hidden):
        return hidden, inner
    a, buffer, turned = np.empty((batch, 3 * n), dtype), np.empty((batch, n), dtype), w.T
    with np.errstate(over="ignore"):
        for t in range(steps):
            np.matmul(h, turned, out=a)
            if b is not None:
                a += b
            _gru_step(x[t], a, h, inner[t], hidden[t], buffer)
            h = hidden[t]
    return hidden, inner


def _gru_rates(s: Any, before: Any, out: Any, buffer: Any) -> None:
    """What cotangents are multiplied by: that of the new gate in the first part of out, that of the state in others."""
    n = before.shape[-1]
    _, z, new, state = (s[..., k * n : (k + 1) * n] for k in range(4))
    to_r, to_z, to_n = (out[..., k * n : (k + 1) * n] for k in range(3))
    _slope(s[..., : 2 * n], out[..., : 2 * n])
    to_r *= state
    np.subtract(before, new, out=buffer)
    to_z *= buffer
    _tanh_slope(new, to_n)
    np.subtract(1, z, out=buffer)
    to_n *= buffer


def gru_sequence_pull(gy: Any, gs: Any, y: Any, s: Any, h: Any, w: Any) -> Any:
    (steps, batch, n), dtype = y.shape, s.dtype
    if _is_given(gs):
        return _program("gru_sequence_pull", gy, gs, y, s, h, w)
    to_x, a = memory.empty((steps, batch, 3 * n), dtype), memory.empty((steps, batch, 3 * n), dtype)
    gh, product = np.zeros((batch, n), dtype), np.zeros((batch, n), dtype)
    if compiled.gru_sequence_pull(gy, s, h, y, w, gh, product, to_x, a):
        gh += product
    else:
        _gru_pull_steps(gy, y, s, h, w, to_x, a, gh, product)
    return to_x, gh, *_weight_cotangents(a, h, y)


def _gru_pull_steps(gy: Any, y: Any, s: Any, h: Any, w: Any, to_x: Any, a: Any, gh: Any, product: Any) -> None:
    """Fill to_x and a with the cotangents of all gates, gh with that of the state at the start."""
    steps, batch, n = gy.shape
    blocks = list(_blocks(steps, batch * 3 * n))
    size = max(end - start for start, end in blocks)
    before, buffer = np.empty((size, batch, n), s.dtype), np.empty((size, batch, n), s.dtype)
    for start, end in blocks:
        _gru_rates(s[start:end], _before(start, end, h, y, before), to_x[start:end], buffer[: end - start])
        for t in range(end - 1, start - 1, -1):
            row, of_state, gates = to_x[t], a[t], s[t]
            gh += gy[t]
            rest = row[:, n:].reshape(batch, 2, n)
            rest *= gh[:, None]
            row[:, :n] *= row[:, 2 * n :]
            of_state[:, : 2 * n] = row[:, : 2 * n]
            np.multiply(row[:, 2 * n :], gates[:, :n], out=of_state[:, 2 * n :])
            np.matmul(of_state, w, out=product)
            gh *= gates[:, n : 2 * n]
            gh += product


# -- plain recurrence ----------------------------------------------------------------------------
def rnn_sequence(x: Any, h: Any, w: Any, b: Any = None, *, nonlinearity: str = "tanh") -> Any:
    hidden, turned = memory.empty(x.shape, x.dtype), w.T
    if compiled.rnn_sequence(x, h, w, b, nonlinearity == "tanh", hidden):
        return hidden
    for t in range(len(x)):
        row = hidden[t]
        np.matmul(h, turned, out=row)
        row += x[t]
        if b is not None:
            row += b
        if nonlinearity == "tanh":
            np.tanh(row, out=row)
        else:
            np.maximum(row, 0, out=row)
        h = row
    return hidden


def rnn_sequence_pull(gy: Any, y: Any, h: Any, w: Any, *, nonlinearity: str = "tanh") -> Any:
    steps, batch, n = y.shape
    a, gh = memory.empty(y.shape, y.dtype), np.zeros((batch, n), y.dtype)
    if compiled.rnn_sequence_pull(gy, y, w, nonlinearity == "tanh", gh, a):
        return a, gh, *_weight_cotangents(a, h, y)
    for start, end in _blocks(steps, batch * n):
        if nonlinearity == "tanh":
            _tanh_slope(y[start:end], a[start:end])
        else:
            np.greater(y[start:end], 0, out=a[start:end], casting="unsafe")
        for t in range(end - 1, start - 1, -1):
            gh += gy[t]
            row = a[t]
            row *= gh
            np.matmul(row, w, out=gh)
    return a, gh, *_weight_cotangents(a, h, y)


_FUNCTIONS = (lstm_sequence, lstm_sequence_pull, gru_sequence, gru_sequence_pull, rnn_sequence, rnn_sequence_pull)

TABLE: dict[str, Callable[..., Any]] = {function.__name__: function for function in _FUNCTIONS}
