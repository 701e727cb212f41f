"""Recurrent layers over whole sequences: the input's projection comes in, all states come out.

Each layer and what pulls cotangents back through it have a name, so that a device can run the loop over time in
buffers of its own. Time is the first axis.
"""

from typing import Any

from lucidgrad.core.primitive import MATRIX, joint, primitive
from lucidgrad.levels.batching import through_program

from .jvp_rules import on_duals


def _parts(xp: Any, x: Any, count: int) -> Any:
    """The gates: equal parts of the last axis."""
    return xp.split_with_sizes(x, split_sizes=(x.shape[-1] // count,) * count, axis=-1)


def _with_bias(a: Any, b: Any) -> Any:
    return a if b is None else a + b


def _earlier(xp: Any, h: Any, y: Any) -> Any:
    """The state before each step: h, and all states but the last, in one matrix of rows."""
    rows = xp.concat(xp.expand_dims(h, axis=0), xp.index(y, key=(slice(0, y.shape[0] - 1),)), axis=0)
    return xp.reshape(rows, shape=(-1 if y.shape[1] else 0, y.shape[2]))


def _weight_cotangents(xp: Any, a: Any, h: Any, y: Any) -> tuple[Any, Any]:
    """Of the recurrent weights and the bias, for cotangents a of what they made: one product over all steps."""
    flat = xp.reshape(a, shape=(-1 if a.shape[1] else 0, a.shape[2]))
    return xp.matmul(xp.matrix_transpose(flat), _earlier(xp, h, y)), xp.sum(flat, axis=0)


# -- LSTM ----------------------------------------------------------------------------------------
def _lstm_vjp(xp: Any, g: Any, y: Any, h: Any, c: Any, w: Any) -> Any:
    return xp.lstm_sequence_pull(*g, *y, h, c, w)


@primitive(
    MATRIX,
    vjp=joint(_lstm_vjp),
    batch=through_program("lstm_sequence"),
    jvp=on_duals("lstm_sequence"),
    outputs=True,
    precision="low",
    single=True,
)
def lstm_sequence(xp: Any, x: Any, h: Any, c: Any, w: Any, b: Any = None, /) -> Any:
    """A layer of long short-term memory over a sequence: all hidden states, and what was inside the cells.

    Parameters
    ----------
    x
        The projected input, of shape (time, batch, 4 n): the input, forget, cell and output gates.
    h, c
        Hidden state and cell state at the start, (batch, n).
    w, b
        Recurrent weights, (4 n, n), and a bias, (4 n), that may be left out.

    Returns
    -------
    tuple of Tensor
        The hidden states, (time, batch, n); the four gates and the cell states beside each other, (time, batch, 5 n).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.recurrence import lstm_sequence
    >>> x, zero = lg.zeros((1, 1, 4), requires_grad=True), lg.zeros((1, 1))
    >>> hidden, inner = lstm_sequence(x, zero, zero, lg.ones((4, 1)))
    >>> inner.tolist()
    [[[0.5, 0.5, 0.0, 0.5, 0.0]]]
    >>> hidden.sum().backward()
    >>> x.grad.tolist()
    [[[0.0, 0.0, 0.25, 0.0]]]
    """
    turned = xp.matrix_transpose(w)
    hidden, inner = [], []
    for step in xp.unstack(x, axis=0):
        i, f, g, o = _parts(xp, _with_bias(step, b) + xp.matmul(h, turned), 4)
        i, f, g, o = xp.sigmoid(i), xp.sigmoid(f), xp.tanh(g), xp.sigmoid(o)
        c = f * c + i * g
        h = o * xp.tanh(c)
        hidden.append(h)
        inner.append(xp.concat(i, f, g, o, c, axis=-1))
    return xp.stack(*hidden, axis=0), xp.stack(*inner, axis=0)


@primitive(MATRIX, batch=through_program("lstm_sequence_pull"), outputs=True, inline=True)
def lstm_sequence_pull(xp: Any, gy: Any, gs: Any, hs: Any, s: Any, h: Any, c: Any, w: Any, /) -> Any:
    """The cotangents of all inputs for those, gy and gs, of ``hs, s = lstm_sequence(x, h, c, w, b)``."""
    steps = [_parts(xp, step, 5) for step in xp.unstack(s, axis=0)]
    rates = [_parts(xp, step, 5) for step in xp.unstack(gs, axis=0)]
    earlier = [c, *(step[4] for step in steps[:-1])]
    gh = gc = None
    pulled: list[Any] = []
    for to_h, (gi, gf, gg, go, to_c), (i, f, g, o, now), before in zip(
        *(reversed(row) for row in (xp.unstack(gy, axis=0), rates, steps, earlier)), strict=True
    ):
        gh, t = to_h if gh is None else to_h + gh, xp.tanh(now)
        gc = (to_c if gc is None else to_c + gc) + gh * o * (1 - t * t)
        a = xp.concat(
            (gc * g + gi) * i * (1 - i),
            (gc * before + gf) * f * (1 - f),
            (gc * i + gg) * (1 - g * g),
            (gh * t + go) * o * (1 - o),
            axis=-1,
        )
        gh, gc = xp.matmul(a, w), gc * f
        pulled.append(a)
    a = xp.stack(*pulled[::-1], axis=0)
    return a, gh, gc, *_weight_cotangents(xp, a, h, hs)


# -- GRU -----------------------------------------------------------------------------------------
def _gru_vjp(xp: Any, g: Any, y: Any, h: Any, w: Any) -> Any:
    return xp.gru_sequence_pull(*g, *y, h, w)


@primitive(
    MATRIX,
    vjp=joint(_gru_vjp),
    batch=through_program("gru_sequence"),
    jvp=on_duals("gru_sequence"),
    outputs=True,
    precision="low",
    single=True,
)
def gru_sequence(xp: Any, x: Any, h: Any, w: Any, b: Any = None, /) -> Any:
    """A layer of gated recurrent units over a sequence: all hidden states, and what was inside the units.

    Parameters
    ----------
    x
        The projected input, of shape (time, batch, 3 n): the reset, update and new gates.
    h
        The hidden state at the start, (batch, n).
    w, b
        Recurrent weights, (3 n, n), and their bias, (3 n), that may be left out.

    Returns
    -------
    tuple of Tensor
        The hidden states, (time, batch, n); the three gates and the state's part of the new gate beside each
        other, (time, batch, 4 n).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.recurrence import gru_sequence
    >>> x = lg.zeros((1, 1, 3), requires_grad=True)
    >>> hidden, inner = gru_sequence(x, lg.ones((1, 1)), lg.zeros((3, 1)))
    >>> hidden.tolist()
    [[[0.5]]]
    >>> hidden.sum().backward()
    >>> x.grad.tolist()
    [[[0.0, 0.25, 0.5]]]
    """
    turned = xp.matrix_transpose(w)
    hidden, inner = [], []
    for step in xp.unstack(x, axis=0):
        xr, xz, xn = _parts(xp, step, 3)
        hr, hz, hn = _parts(xp, _with_bias(xp.matmul(h, turned), b), 3)
        r, z = xp.sigmoid(xr + hr), xp.sigmoid(xz + hz)
        n = xp.tanh(xn + r * hn)
        h = n + z * (h - n)
        hidden.append(h)
        inner.append(xp.concat(r, z, n, hn, axis=-1))
    return xp.stack(*hidden, axis=0), xp.stack(*inner, axis=0)


@primitive(MATRIX, batch=through_program("gru_sequence_pull"), outputs=True, inline=True)
def gru_sequence_pull(xp: Any, gy: Any, gs: Any, hs: Any, s: Any, h: Any, w: Any, /) -> Any:
    """The cotangents of all inputs for those, gy and gs, of ``hs, s = gru_sequence(x, h, w, b)``."""
    steps = [_parts(xp, step, 4) for step in xp.unstack(s, axis=0)]
    rates = [_parts(xp, step, 4) for step in xp.unstack(gs, axis=0)]
    earlier = [h, *xp.unstack(hs, axis=0)[:-1]]
    gh = None
    to_x, to_a = [], []
    for to_h, (gr, gz, gn, ghn), (r, z, n, hn), before in zip(
        *(reversed(row) for row in (xp.unstack(gy, axis=0), rates, steps, earlier)), strict=True
    ):
        gh = to_h if gh is None else to_h + gh
        pn = (gh * (1 - z) + gn) * (1 - n * n)
        pr = (pn * hn + gr) * r * (1 - r)
        pz = (gh * (before - n) + gz) * z * (1 - z)
        a = xp.concat(pr, pz, pn * r + ghn, axis=-1)
        gh = gh * z + xp.matmul(a, w)
        to_x.append(xp.concat(pr, pz, pn, axis=-1))
        to_a.append(a)
    a = xp.stack(*to_a[::-1], axis=0)
    return xp.stack(*to_x[::-1], axis=0), gh, *_weight_cotangents(xp, a, h, hs)


# -- plain recurrence ----------------------------------------------------------------------------
def _rnn_vjp(xp: Any, g: Any, y: Any, h: Any, w: Any, *, nonlinearity: str) -> Any:
    return xp.rnn_sequence_pull(g, y, h, w, nonlinearity=nonlinearity)


@primitive(
    MATRIX,
    vjp=joint(_rnn_vjp),
    batch=through_program("rnn_sequence"),
    jvp=on_duals("rnn_sequence"),
    precision="low",
    single=True,
)
def rnn_sequence(xp: Any, x: Any, h: Any, w: Any, b: Any = None, /, *, nonlinearity: str = "tanh") -> Any:
    """A layer of ``h = tanh(x + h @ w.T + b)`` over a sequence: all hidden states.

    Parameters
    ----------
    x
        The projected input, of shape (time, batch, n).
    h
        The hidden state at the start, (batch, n).
    w, b
        Recurrent weights, (n, n), and a bias, (n), that may be left out.
    nonlinearity
        ``"tanh"`` or ``"relu"``, whose derivative at 0 is 0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.ops.recurrence import rnn_sequence
    >>> x = lg.ones((2, 1, 1), requires_grad=True)
    >>> y = rnn_sequence(x, lg.zeros((1, 1)), lg.full((1, 1), 2.0), nonlinearity="relu")
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[[1.0]], [[3.0]]], [[[3.0]], [[1.0]]])
    """
    turned, function = xp.matrix_transpose(w), getattr(xp, nonlinearity)
    hidden = []
    for step in xp.unstack(x, axis=0):
        h = function(_with_bias(step, b) + xp.matmul(h, turned))
        hidden.append(h)
    return xp.stack(*hidden, axis=0)


@primitive(MATRIX, batch=through_program("rnn_sequence_pull"), outputs=True, inline=True)
def rnn_sequence_pull(xp: Any, gy: Any, hs: Any, h: Any, w: Any, /, *, nonlinearity: str = "tanh") -> Any:
    """The cotangents of all inputs for that, gy, of ``hs = rnn_sequence(x, h, w, b)``."""
    gh = None
    pulled: list[Any] = []
    for to_h, now in zip(*(reversed(xp.unstack(a, axis=0)) for a in (gy, hs)), strict=True):
        gh = to_h if gh is None else to_h + gh
        a = gh * (1 - now * now) if nonlinearity == "tanh" else xp.where(now > 0, gh, 0)
        gh = xp.matmul(a, w)
        pulled.append(a)
    a = xp.stack(*pulled[::-1], axis=0)
    return a, gh, *_weight_cotangents(xp, a, h, hs)
