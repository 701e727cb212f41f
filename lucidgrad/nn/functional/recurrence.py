"""Recurrent cells, and stacks of recurrent layers over sequences."""

from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.recurrence import gru_sequence, lstm_sequence, rnn_sequence
from lucidgrad.tensor import Tensor

from .arguments import check_floats
from .dropouts import dropout as drop
from .linear import linear

__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]

State = tuple[Tensor, ...]


def _both(b_ih: Tensor | None, b_hh: Tensor | None) -> Tensor | None:
    """The sum of the two biases that PyTorch keeps."""
    return b_ih if b_hh is None else b_hh if b_ih is None else b_ih + b_hh


# -- one layer, one direction: states (time, batch, n) and the state at the end -------------------
def _lstm(x: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, w_hr: Any) -> tuple[Tensor, State]:
    h, c = state
    projected, bias = _projected(x, w_ih, None), _both(b_ih, b_hh)
    if w_hr is not None:
        return _projected_lstm(projected, h, c, w_hh, bias, w_hr)
    hidden, inner = lstm_sequence(projected, h, c, w_hh, bias)
    return hidden, (hidden[-1], inner[-1, :, 4 * c.shape[1] :])


def _projected_lstm(x: Tensor, h: Tensor, c: Tensor, w: Tensor, b: Any, w_hr: Tensor) -> tuple[Tensor, State]:
    """The hidden state is a projection of what the cell gives out: step by step."""
    hidden = []
    for step in lg.unstack(x if b is None else x + b):
        i, f, g, o = (step + linear(h, w)).chunk(4, 1)
        c = lg.sigmoid(f) * c + lg.sigmoid(i) * lg.tanh(g)
        h = linear(lg.sigmoid(o) * lg.tanh(c), w_hr)
        hidden.append(h)
    return lg.stack(hidden), (h, c)


def _gru(x: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, w_hr: Any) -> tuple[Tensor, State]:
    hidden, _ = gru_sequence(_projected(x, w_ih, b_ih), state[0], w_hh, b_hh)
    return hidden, (hidden[-1],)


def _rnn(nonlinearity: str) -> Callable[..., tuple[Tensor, State]]:
    def layer(x: Tensor, state: State, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any, w_hr: Any) -> Any:
        bias = _both(b_ih, b_hh)
        hidden = rnn_sequence(_projected(x, w_ih, None), state[0], w_hh, bias, nonlinearity=nonlinearity)
        return hidden, (hidden[-1],)

    return layer


def _projected(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    """The input's part of the gates at all steps, from one product."""
    steps, batch, width = x.shape
    return linear(x.reshape((steps * batch, width)), w, b).reshape((steps, batch, w.shape[0]))


LAYERS: dict[str, Callable[..., tuple[Tensor, State]]] = {
    "LSTM": _lstm,
    "GRU": _gru,
    "RNN_TANH": _rnn("tanh"),
    "RNN_RELU": _rnn("relu"),
}


def recurrent_layers(
    mode: str,
    parts: list[Tensor],
    state: State,
    weights: Sequence[Sequence[Tensor | None]],
    dropout: float,
    training: bool,
    bidirectional: bool,
) -> tuple[list[Tensor], State]:
    """All layers of a recurrent module, over inputs (time, batch, features) that follow each other in time.

    The batch becomes smaller from one part to the next: the last sequences of a part that are missing in the next one
    have ended. ``weights`` has ``(w_ih, w_hh, b_ih, b_hh, w_hr)`` for each layer and direction, in the order of the
    states.
    """
    layer, directions = LAYERS[mode], 1 + bidirectional
    starts = list(zip(*(lg.unstack(part) for part in state), strict=True))
    ends: list[State] = []
    for k in range(0, len(weights), directions):
        if k and training and dropout > 0:
            parts = [drop(x, dropout, training=True) for x in parts]
        outputs = []
        for d, walk in enumerate((_forwards, _backwards)[:directions]):
            made, end = walk(layer, parts, starts[k + d], weights[k + d])
            outputs.append(made)
            ends.append(end)
        parts = [lg.concat(both, axis=-1) for both in zip(*outputs, strict=True)] if bidirectional else outputs[0]
    return parts, tuple(lg.stack(list(part)) for part in zip(*ends, strict=True))


def _forwards(layer: Any, parts: list[Tensor], state: State, weights: Any) -> tuple[list[Tensor], State]:
    """One direction of a layer: sequences end, and their states are kept for the end."""
    made, ended = [], []
    for x in parts:
        if x.shape[1] < state[0].shape[0]:
            ended.append(tuple(s[x.shape[1] :] for s in state))
            state = tuple(s[: x.shape[1]] for s in state)
        y, state = layer(x, state, *weights)
        made.append(y)
    if ended:
        state = tuple(lg.concat(list(rows), axis=0) for rows in zip(state, *reversed(ended), strict=True))
    return made, state


def _backwards(layer: Any, parts: list[Tensor], start: State, weights: Any) -> tuple[list[Tensor], State]:
    """The other direction: sequences join where they end, each with a state of its own."""
    made: list[Tensor] = []
    state = tuple(s[: parts[-1].shape[1]] for s in start) if len(parts) > 1 else start
    for x in reversed(parts):
        if x.shape[1] > state[0].shape[0]:
            new = (s[state[0].shape[0] : x.shape[1]] for s in start)
            state = tuple(lg.concat(both, axis=0) for both in zip(state, new, strict=True))
        y, state = layer(lg.flip(x, axis=0), state, *weights)
        made.append(lg.flip(y, axis=0))
    return made[::-1], state


# -- cells ---------------------------------------------------------------------------------------
def _step(mode: str, input: Tensor, state: State, *weights: Any) -> State:
    check_floats(mode, input, weights[0])
    return LAYERS[mode](input.unsqueeze(0), state, *weights, None)[1]


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a plain recurrent layer: ``tanh(input @ w_ih.T + b_ih + hx @ w_hh.T + b_hh)``.

    Parameters
    ----------
    input, hx
        Features (batch, m) and hidden state (batch, n).
    w_ih, w_hh, b_ih, b_hh
        Weights (n, m) and (n, n), and biases (n) that may be left out.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.zeros((1, 1), requires_grad=True), lg.ones((1, 1))
    >>> lg.nn.functional.rnn_tanh_cell(x, lg.zeros((1, 1)), w, w).backward()
    >>> x.grad.tolist()
    [[1.0]]
    """
    return _step("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The same as `rnn_tanh_cell` with relu in place of tanh.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, w = lg.ones((1, 1), requires_grad=True), lg.full((1, 1), 2.0)
    >>> lg.nn.functional.rnn_relu_cell(x, lg.ones((1, 1)), w, w).backward()
    >>> x.grad.tolist()
    [[2.0]]
    """
    return _step("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of gated recurrent units: the new hidden state.

    Parameters
    ----------
    input, hx
        Features (batch, m) and hidden state (batch, n).
    w_ih, w_hh, b_ih, b_hh
        Weights (3 n, m) and (3 n, n) of the reset, update and new gates, and biases (3 n) that may be left out.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> h = lg.ones((1, 1), requires_grad=True)
    >>> lg.nn.functional.gru_cell(lg.ones((1, 2)), h, lg.zeros((3, 2)), lg.zeros((3, 1))).backward()
    >>> h.grad.tolist()
    [[0.5]]
    """
    return _step("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def lstm_cell(
    input: Tensor,
    hx: tuple[Tensor, Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of long short-term memory: the new hidden state and cell state.

    Parameters
    ----------
    input, hx
        Features (batch, m); hidden state and cell state, (batch, n) each.
    w_ih, w_hh, b_ih, b_hh
        Weights (4 n, m) and (4 n, n) of the input, forget, cell and output gates, and biases (4 n) that may be left
        out.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> c = lg.ones((1, 1), requires_grad=True)
    >>> hx = lg.zeros((1, 1)), c
    >>> h, new = lg.nn.functional.lstm_cell(lg.ones((1, 2)), hx, lg.zeros((4, 2)), lg.zeros((4, 1)))
    >>> new.backward()
    >>> c.grad.tolist()
    [[0.5]]
    """
    h, c = _step("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return h, c
