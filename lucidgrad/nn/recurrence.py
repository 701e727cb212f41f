"""Recurrent cells and layers."""

import math
import numbers
import warnings
from typing import Any, overload

import lucidgrad as lg
from lucidgrad.amp import is_autocast_enabled
from lucidgrad.extents import check_count
from lucidgrad.tensor import Tensor

from .functional.arguments import MOST_LAYERS
from .functional.recurrence import gru_cell, lstm_cell, recurrent_layers, rnn_relu_cell, rnn_tanh_cell
from .init import uniform_
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence, stretches

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


#: Rows of the weights for each unit.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _uniform_parameters(module: Module, hidden_size: int) -> None:
    bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
    for weight in module.parameters():
        uniform_(weight, -bound, bound)


# -- layers --------------------------------------------------------------------------------------
class RNNBase(Module):
    """What `RNN`, `LSTM` and `GRU` share: parameters, checks, and the stack of layers.

    Parameters
    ----------
    mode
        ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``.
    input_size, hidden_size
        Features that come in, and units of every layer.
    num_layers
        How many layers there are, each fed by the one before.
    bias
        Whether there are biases.
    batch_first
        Whether inputs and outputs are (batch, time, features) instead of (time, batch, features). States are not
        concerned.
    dropout
        The probability that a feature is dropped between layers while training.
    bidirectional
        Whether each layer also runs backwards in time.
    proj_size
        For an LSTM, the size that hidden states are projected to; 0: they are not.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> isinstance(lg.nn.GRU(2, 3), lg.nn.RNNBase)
    True
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_arguments(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        rows, width = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._weight_names: list[list[str | None]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                given = input_size if layer == 0 else width * (1 + bidirectional)
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, given), "weight_hh": (rows, width)}
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    empty = lg.empty(shape, device=device, dtype=dtype)
                    setattr(self, f"{name}_l{layer}{suffix}", Parameter(empty))
                every = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
                self._weight_names.append([f"{n}_l{layer}{suffix}" if n in shapes else None for n in every])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly between plus and minus ``1 / sqrt(hidden_size)``."""
        _uniform_parameters(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need no common memory here."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names if name is not None] for names in self._weight_names]

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        words = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0}
        for name, value in {**usual, "bidirectional": False}.items():
            if getattr(self, name) != value:
                words.append(f"{name}={getattr(self, name)}")
        return ", ".join(words)

    def _run(self, input: Any, hx: tuple[Tensor, ...] | None, widths: tuple[int, ...]) -> tuple[Any, Any]:
        """The layers, for an input with or without a batch or packed sequences, and states of these widths."""
        who = "RNN" if self.mode.startswith("RNN") else self.mode
        if isinstance(input, PackedSequence):
            return self._run_packed(who, input, hx, widths)
        if input.ndim not in (2, 3):
            raise ValueError(f"{who}: Expected input to be 2D or 3D, got {input.ndim}D instead")
        batched, batch_axis = input.ndim == 3, 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_axis)
        x = x.swapaxes(0, 1) if self.batch_first else x
        self._check_input(who, x)
        (y,), ends = self._layers([x], self._states(who, hx, batched, x, x.shape[1], widths))
        y = y.swapaxes(0, 1) if self.batch_first else y
        if not batched:
            return y.squeeze(batch_axis), tuple(end.squeeze(1) for end in ends)
        return y, ends

    def _run_packed(
        self, who: str, input: PackedSequence, hx: tuple[Tensor, ...] | None, widths: tuple[int, ...]
    ) -> tuple[PackedSequence, Any]:
        data, sizes, order, back = input
        if data.ndim != 2:
            raise RuntimeError(f"{who}: given packed data of shape {data.shape}, expected (elements, features)")
        self._check_input(who, data)
        states = self._states(who, hx, True, data, int(sizes[0]), widths)
        if order is not None and hx is not None:
            states = tuple(lg.take(s, order, axis=1) for s in states)
        parts, ends = self._layers(stretches(input), states)
        y = lg.concat([part.reshape((-1, part.shape[2])) for part in parts], axis=0)
        if back is not None:
            ends = tuple(lg.take(end, back, axis=1) for end in ends)
        return PackedSequence(y, sizes, order, back), ends

    def _states(
        self, who: str, hx: tuple[Tensor, ...] | None, batched: bool, x: Tensor, batch: int, widths: tuple[int, ...]
    ) -> tuple[Tensor, ...]:
        """The states at the start: those given, or zeros."""
        shapes: list[tuple[int, ...]] = [(self.num_layers * (1 + self.bidirectional), batch, n) for n in widths]
        if hx is None:
            return tuple(lg.zeros(shape, dtype=x.dtype, device=x.device) for shape in shapes)
        return _check_states(who, hx, batched, shapes, x.dtype)

    def _layers(self, parts: list[Tensor], states: tuple[Tensor, ...]) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        weights = [[None if name is None else getattr(self, name) for name in names] for names in self._weight_names]
        return recurrent_layers(self.mode, parts, states, weights, self.dropout, self.training, self.bidirectional)

    def _check_input(self, who: str, x: Tensor) -> None:
        weight = getattr(self, "weight_ih_l0")  # noqa: B009  a name that type checkers don't know
        if x.dtype != weight.dtype and not is_autocast_enabled(x.device.type):
            raise ValueError(
                f"{who}: given an input of dtype {x.dtype}, expected {weight.dtype} as the weights have; convert the "
                f"input or the module with .to()"
            )
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{who}: given an input of {x.shape[-1]} features, expected input_size={self.input_size}"
            )
        if x.shape[0] == 0:
            raise RuntimeError(f"{who}: given a sequence of length 0, expected at least one step")


def _check_arguments(
    mode: str, input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any, proj: int
) -> None:
    if mode not in _GATES:
        raise ValueError(f"given mode {mode!r}, expected one of {', '.join(_GATES)}")
    if isinstance(dropout, bool) or not isinstance(dropout, numbers.Real) or not 0 <= float(dropout) <= 1:
        raise ValueError(f"given dropout={dropout!r}, expected a probability between 0 and 1")
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            f"given dropout={dropout} and num_layers=1: dropout acts between layers, so it needs more than one",
            stacklevel=4,
        )
    for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool)):
        if not isinstance(value, kind):
            raise TypeError(f"given {name} of type {type(value).__name__}, expected bool")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"given {name} of type {type(value).__name__}, expected int")
    check_count(mode, "num_layers", num_layers, 1, MOST_LAYERS)
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if value <= 0:
            raise ValueError(f"given {name}={value}, expected a number above 0")
    if proj < 0 or proj >= hidden_size:
        raise ValueError(f"given proj_size={proj}, expected 0, or less than hidden_size={hidden_size}")


def _check_states(
    who: str, hx: tuple[Tensor, ...], batched: bool, shapes: list[tuple[int, ...]], dtype: Any
) -> tuple[Tensor, ...]:
    if any(part.ndim != 2 + batched for part in hx):
        given = ", ".join(f"{part.ndim}-D" for part in hx)
        raise RuntimeError(
            f"{who}: given states that are {given}, expected {2 + batched}-D ones for "
            f"{'a batched 3-D' if batched else 'an unbatched 2-D'} input"
        )
    states = hx if batched else tuple(part.unsqueeze(1) for part in hx)
    for part, shape in zip(states, shapes, strict=True):
        if tuple(part.shape) != shape:
            raise RuntimeError(f"{who}: given a state of shape {tuple(part.shape)}, expected {shape}")
        if part.dtype != dtype:
            raise RuntimeError(f"{who}: given a state of dtype {part.dtype}, expected {dtype} as the input has")
    return states


class _OneState(RNNBase):
    """Layers with a hidden state alone."""

    @overload
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def forward(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]: ...
    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """All hidden states of the last layer, packed if the input is, and those of every layer at the end."""
        y, (end,) = self._run(input, None if hx is None else (hx,), (self.hidden_size,))
        return y, end


class RNN(_OneState):
    """Plain recurrent layers: ``h = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)``.

    Parameters
    ----------
    input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional, device, dtype
        As for `RNNBase`; ``nonlinearity`` is ``"tanh"`` or ``"relu"``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> rnn = lg.nn.RNN(3, 4, num_layers=2)
    >>> output, h = rnn(lg.ones((5, 2, 3)))
    >>> tuple(output.shape), tuple(h.shape)
    ((5, 2, 4), (2, 2, 4))
    >>> output.sum().backward()
    >>> tuple(rnn.weight_hh_l1.grad.shape)
    (4, 4)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"given nonlinearity={nonlinearity!r}, expected 'tanh' or 'relu'")
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity


class GRU(_OneState):
    """Layers of gated recurrent units.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype
        As for `RNNBase`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> gru = lg.nn.GRU(3, 4, batch_first=True, bidirectional=True)
    >>> output, h = gru(lg.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(h.shape)
    ((2, 5, 8), (2, 2, 4))
    >>> h.sum().backward()
    >>> tuple(gru.weight_ih_l0_reverse.grad.shape)
    (12, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


class LSTM(RNNBase):
    """Layers of long short-term memory.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        As for `RNNBase`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lstm = lg.nn.LSTM(3, 4)
    >>> output, (h, c) = lstm(lg.ones((5, 2, 3)))
    >>> tuple(output.shape), tuple(h.shape), tuple(c.shape)
    ((5, 2, 4), (1, 2, 4), (1, 2, 4))
    >>> output.sum().backward()
    >>> tuple(lstm.weight_ih_l0.grad.shape)
    (16, 3)
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            *(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size),
            *(device, dtype),
        )

    @overload
    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]: ...
    @overload
    def forward(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]: ...
    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        """All hidden states of the last layer, packed if the input is; the states of every layer at the end."""
        y, (h, c) = self._run(input, hx, (self.proj_size or self.hidden_size, self.hidden_size))
        return y, (h, c)


# -- cells ---------------------------------------------------------------------------------------
class RNNCellBase(Module):
    """What the cells share: weights and biases for ``num_chunks`` gates.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> isinstance(lg.nn.GRUCell(2, 3), lg.nn.RNNCellBase)
    True
    """

    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(lg.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(lg.empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(lg.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniformly between plus and minus ``1 / sqrt(hidden_size)``."""
        _uniform_parameters(self, self.hidden_size)

    def extra_repr(self) -> str:
        """Sizes, and what differs from the defaults."""
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        words = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        return words if nonlinearity == "tanh" else f"{words}, nonlinearity={nonlinearity}"

    def _step(self, function: Any, input: Tensor, hx: Any, count: int) -> tuple[Tensor, ...]:
        """A cell's function on an input with or without a batch; count: how many states there are."""
        who = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{who}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        x = input if input.ndim == 2 else input.unsqueeze(0)
        states = hx if hx is None or count > 1 else (hx,)
        if states is None:
            states = (lg.zeros((x.shape[0], self.hidden_size), dtype=x.dtype, device=x.device),) * count
        for part in states:
            if part.ndim not in (1, 2):
                raise ValueError(f"{who}: Expected hx to be 1D or 2D, got {part.ndim}D instead")
        states = tuple(part if part.ndim == 2 else part.unsqueeze(0) for part in states)
        self._check(who, x, states)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        found = function(x, states if count > 1 else states[0], *weights)
        found = found if count > 1 else (found,)
        return tuple(found) if input.ndim == 2 else tuple(part.squeeze(0) for part in found)

    def _check(self, who: str, x: Tensor, states: tuple[Tensor, ...]) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"{who}: given an input of {x.shape[1]} features, expected {self.input_size}")
        for part in states:
            if tuple(part.shape) != (x.shape[0], self.hidden_size):
                raise RuntimeError(
                    f"{who}: given a state of shape {tuple(part.shape)}, expected {(x.shape[0], self.hidden_size)}"
                )


class RNNCell(RNNCellBase):
    """One step of `RNN`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> cell = lg.nn.RNNCell(3, 4)
    >>> h = cell(lg.ones((2, 3)))
    >>> h.sum().backward()
    >>> tuple(h.shape), tuple(cell.weight_ih.grad.shape)
    ((2, 4), (4, 3))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        functions = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}
        if self.nonlinearity not in functions:
            raise RuntimeError(f"RNNCell: given nonlinearity={self.nonlinearity!r}, expected 'tanh' or 'relu'")
        return self._step(functions[self.nonlinearity], input, hx, 1)[0]


class GRUCell(RNNCellBase):
    """One step of `GRU`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> cell = lg.nn.GRUCell(3, 4)
    >>> h = cell(lg.ones((2, 3)), lg.zeros((2, 4)))
    >>> h.sum().backward()
    >>> tuple(cell.weight_hh.grad.shape)
    (12, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        return self._step(gru_cell, input, hx, 1)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> cell = lg.nn.LSTMCell(3, 4)
    >>> h, c = cell(lg.ones((2, 3)))
    >>> (h + c).sum().backward()
    >>> tuple(cell.weight_hh.grad.shape)
    (16, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next hidden and cell states."""
        h, c = self._step(lstm_cell, input, hx, 2)
        return h, c
