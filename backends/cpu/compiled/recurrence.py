"""Recurrent layers over whole sequences in C: a loop over time, whose products are those of `panels`.

Each function fills the arrays that it is given last, or says that this is work for NumPy.
"""

from collections.abc import Sequence
from struct import pack
from typing import Any

import numpy as np

from . import panels, threads
from .library import Library, address, run

_LIBRARY = Library("recurrence")

#: Elements from which an array is for C: one that has any. And a unit takes about as long as so many of other loops.
WORTH, WORK = 1, 4
#: Examples that a thread takes together are a multiple of this.
ROWS = 4


def _function(name: str, *arrays: Any) -> int | None:
    """The function for the dtype of all arrays, if they have the same one, and elements."""
    dtype = arrays[0].dtype
    if dtype.char not in "fd" or not dtype.isnative or panels.width(dtype.char) is None:
        return None
    if any(a.dtype != dtype or a.size < WORTH for a in arrays if a is not None):
        return None
    return _LIBRARY.get(name, dtype)


def _rows(a: Any) -> Any:
    """An array whose last axis C can read: features side by side."""
    return a if a.strides[-1] == a.itemsize and a.flags.aligned else np.ascontiguousarray(a)


def _whole(a: Any) -> Any:
    """An array without gaps."""
    return a if a is None or (a.flags.c_contiguous and a.flags.aligned) else np.ascontiguousarray(a)


def _steps(a: Any) -> tuple[int, int]:
    """How far apart steps and rows of a sequence lie, in elements."""
    return a.strides[0] // a.itemsize, a.strides[1] // a.itemsize


def share(batch: int) -> int:
    """Examples that a thread takes at a time: the more there are, the less often weights are read."""
    return -(-batch // (threads.get_num_threads() * ROWS)) * ROWS


def _run(function: int, w: Any, arrays: Sequence[Any], numbers: Sequence[int], shape: tuple[int, ...]) -> None:
    """Call a function with packed weights, or None; `shape` is that of the hidden states."""
    steps, batch, n = shape
    fields = (0, 0, 0, 0, 0) if w is None else (address(w[0]), *w[1:])
    places = [0 if a is None else address(a) for a in arrays]
    task = pack(f"{5 + len(places) + 3 + len(numbers)}q", *fields, *places, *shape, *numbers)
    products = 0 if w is None else w[2] * w[3] // panels.PRODUCTS
    run(function, task, batch, steps * batch * (n * WORK + products), share(batch))


def _states(x: Any, h: Any, w: Any, out: Any) -> tuple[Any, Any]:
    """Packed weights of what hidden states are multiplied by, and room for a step's products.

    A single step's product is one of the BLAS's, without packing.
    """
    if len(x) == 1:
        with np.errstate(over="ignore"):
            return None, np.matmul(h, w.T, out=out)
    return panels.packed(w.T), np.empty(x.shape[1:], x.dtype) if out is None else out


def _pulled(a: Any, w: Any, pull: Any, out: Any) -> None:
    """Run what pulls back with packed weights; where a single step has none, multiply its cotangents afterwards."""
    pull(panels.packed(w) if len(a) > 1 else None)
    if len(a) == 1:
        np.matmul(a[0], w, out=out)


# -- layers --------------------------------------------------------------------------------------
def lstm_sequence(x: Any, h: Any, c: Any, w: Any, b: Any, inner: Any, hidden: Any) -> bool:
    """The inner values and hidden states of all steps."""
    function = _function("lstm_sequence", x, h, c, w, b)
    if function is None:
        return False
    x, h, c, b = _rows(x), _whole(h), _whole(c), _whole(b)
    packed, a = _states(x, h, w, None)
    _run(function, packed, (x, h, c, b, a, inner, hidden), _steps(x), hidden.shape)
    return True


def lstm_sequence_pull(gy: Any, gs: Any, inner: Any, c: Any, w: Any, gh: Any, gc: Any, out: Any) -> bool:
    """The cotangents of the states at the start and of all gates. gs, that of cell states, may be None."""
    function = _function("lstm_sequence_pull", gy, gs, inner, c, w)
    if function is None:
        return False
    gy, inner, c = _rows(gy), _whole(inner), _whole(c)
    gs = None if gs is None else _rows(gs)
    numbers = (*_steps(gy), *((0, 0) if gs is None else _steps(gs)))
    arrays = gy, gs, inner, c, gh, gc, out
    _pulled(out, w, lambda packed: _run(function, packed, arrays, numbers, gy.shape), gh)
    return True


def gru_sequence(x: Any, h: Any, w: Any, b: Any, inner: Any, hidden: Any) -> bool:
    """The inner values and hidden states of all steps."""
    function = _function("gru_sequence", x, h, w, b)
    if function is None:
        return False
    x, h, b = _rows(x), _whole(h), _whole(b)
    packed, a = _states(x, h, w, None)
    _run(function, packed, (x, h, b, a, inner, hidden), _steps(x), hidden.shape)
    return True


def gru_sequence_pull(gy: Any, inner: Any, h: Any, y: Any, w: Any, gh: Any, product: Any, to_x: Any, out: Any) -> bool:
    """The cotangents of all gates; that of the state at the start is the sum of gh and product."""
    function = _function("gru_sequence_pull", gy, inner, h, y, w)
    if function is None:
        return False
    gy, inner, h, y = _rows(gy), _whole(inner), _whole(h), _whole(y)
    arrays = gy, inner, h, y, gh, product, to_x, out
    _pulled(out, w, lambda packed: _run(function, packed, arrays, _steps(gy), gy.shape), product)
    return True


def rnn_sequence(x: Any, h: Any, w: Any, b: Any, tanh: bool, hidden: Any) -> bool:
    """The hidden states of all steps, by tanh or else relu."""
    function = _function("rnn_sequence", x, h, w, b)
    if function is None:
        return False
    x, h, b = _rows(x), _whole(h), _whole(b)
    packed, _ = _states(x, h, w, hidden[0])
    _run(function, packed, (x, h, b, hidden), (*_steps(x), tanh), hidden.shape)
    return True


def rnn_sequence_pull(gy: Any, y: Any, w: Any, tanh: bool, gh: Any, out: Any) -> bool:
    """The cotangents of the state at the start, and of what tanh or relu was taken of."""
    function = _function("rnn_sequence_pull", gy, y, w)
    if function is None:
        return False
    gy, y = _rows(gy), _whole(y)
    numbers = (*_steps(gy), tanh)
    _pulled(out, w, lambda packed: _run(function, packed, (gy, y, gh, out), numbers, gy.shape), gh)
    return True


def weight_cotangents(a: Any, h: Any, y: Any, to_w: Any, to_b: Any) -> bool:
    """The recurrent weights' cotangent, and the bias's: products and sums over all steps."""
    if _function("rnn_sequence", a, h, y) is None:
        return False
    (steps, batch, n), y = y.shape, _whole(y)
    panels.turned_product(a[0], _whole(h), to_w, to_b)
    if steps > 1:
        rows = (steps - 1) * batch
        panels.turned_product(a[1:].reshape(rows, -1), y[:-1].reshape(rows, n), to_w, to_b, adds=True)
    return True
