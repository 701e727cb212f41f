"""Steps of recurrent layers in C: what is done between their matrix products.

Each function gives another one, which does the step of a number, or None where that is work for NumPy. Arrays are
those of whole sequences; buffers hold what products gave.
"""

from collections.abc import Callable
from struct import pack
from typing import Any

from .library import Library, address, plain, run

_LIBRARY = Library("recurrence")

#: A unit takes about as long as this many elements of other loops.
WORK = 4

Step = Callable[[int], None]


def _found(name: str, like: Any, *readable: Any) -> int | None:
    """The function for a dtype, if all arrays have it, with features side by side."""
    dtype = like.dtype
    if not like.size or dtype.char not in "fd" or not dtype.isnative:
        return None
    for a in readable:
        if a.dtype != dtype or not a.flags.aligned or (a.strides[-1] != a.itemsize and a.shape[-1] > 1):
            return None
    return _LIBRARY.get(name, dtype)


def _row(a: Any) -> int:
    """How far apart the examples of a batch lie, in elements."""
    return a.strides[-2] // a.itemsize


def lstm_step(a: Any, x: Any, b: Any, c: Any, inner: Any, hidden: Any) -> Step | None:
    """From products in a, the inner values and hidden states of a step."""
    batch, n = hidden.shape[1:]
    function = _found("lstm_step", hidden, x, c)
    if function is None or not (b is None or (plain(b) and b.dtype == x.dtype)):
        return None
    at_a, at_x, at_b, at_c = address(a), address(x), 0 if b is None else address(b), address(c)
    at_inner, at_hidden, after = address(inner), address(hidden), 4 * n * x.itemsize
    x_step, inner_step, hidden_step = x.strides[0], inner.strides[0], hidden.strides[0]
    x_row, c_row, units = _row(x), _row(c), batch * n * WORK

    def step(t: int) -> None:
        here = at_inner + t * inner_step
        c, row = (here - inner_step + after, 5 * n) if t else (at_c, c_row)
        task = pack("9q", at_a, at_x + t * x_step, at_b, c, here, at_hidden + t * hidden_step, n, x_row, row)
        run(function, task, batch, units)

    return step


def lstm_step_pull(gy: Any, gh: Any, gs: Any, inner: Any, c: Any, gc: Any, out: Any) -> Step | None:
    """From cotangents gh and gc of the states after a step, those of its gates, in out; gc becomes the one before.

    gs, which may be None, has cotangents of the cell states in its last part.
    """
    batch, n = gy.shape[1:]
    given = [] if gs is None else [gs]
    function = _found("lstm_step_pull", gy, gy, inner, c, *given)
    if function is None or not plain(inner):
        return None
    at_gy, at_gh, at_c, at_gc, at_inner, at_out = map(address, (gy, gh, c, gc, inner, out))
    after = 4 * n * gy.itemsize
    at_gs, gs_step, gs_row = (0, 0, 0) if gs is None else (address(gs) + after, gs.strides[0], _row(gs))
    gy_step, inner_step, out_step = gy.strides[0], inner.strides[0], out.strides[0]
    gy_row, c_row, units = _row(gy), _row(c), batch * n * WORK

    def step(t: int) -> None:
        here = at_inner + t * inner_step
        c, row = (here - inner_step + after, 5 * n) if t else (at_c, c_row)
        places = at_gy + t * gy_step, at_gh, at_gs + t * gs_step, here, c, at_gc, at_out + t * out_step
        run(function, pack("11q", *places, n, gy_row, gs_row, row), batch, units)

    return step


def gru_step(a: Any, x: Any, b: Any, h: Any, inner: Any, hidden: Any) -> Step | None:
    """From products in a, the inner values and hidden states of a step."""
    batch, n = hidden.shape[1:]
    function = _found("gru_step", hidden, x, h)
    if function is None or not (b is None or (plain(b) and b.dtype == x.dtype)):
        return None
    at_a, at_x, at_b, at_h = address(a), address(x), 0 if b is None else address(b), address(h)
    at_inner, at_hidden = address(inner), address(hidden)
    x_step, inner_step, hidden_step = x.strides[0], inner.strides[0], hidden.strides[0]
    x_row, h_row, units = _row(x), _row(h), batch * n * WORK

    def step(t: int) -> None:
        here = at_hidden + t * hidden_step
        h, row = (here - hidden_step, n) if t else (at_h, h_row)
        task = pack("9q", at_a, at_x + t * x_step, at_b, h, at_inner + t * inner_step, here, n, x_row, row)
        run(function, task, batch, units)

    return step


def gru_step_pull(gy: Any, product: Any, inner: Any, h: Any, y: Any, gh: Any, to_x: Any, to_a: Any) -> Step | None:
    """From cotangents gh and product of the state after a step, those of its gates; gh becomes a part of the next."""
    batch, n = gy.shape[1:]
    function = _found("gru_step_pull", gy, gy, inner, h, y)
    if function is None or not plain(inner):
        return None
    at_gy, at_product, at_inner, at_h, at_y, at_gh, at_x, at_a = map(
        address, (gy, product, inner, h, y, gh, to_x, to_a)
    )
    gy_step, inner_step, y_step, x_step = gy.strides[0], inner.strides[0], y.strides[0], to_x.strides[0]
    gy_row, h_row, y_row, units = _row(gy), _row(h), _row(y), batch * n * WORK

    def step(t: int) -> None:
        h, row = (at_y + (t - 1) * y_step, y_row) if t else (at_h, h_row)
        places = at_gy + t * gy_step, at_product, at_inner + t * inner_step, h, at_gh
        run(function, pack("10q", *places, at_x + t * x_step, at_a + t * x_step, n, gy_row, row), batch, units)

    return step
