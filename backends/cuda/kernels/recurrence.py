"""Recurrent layers: a step is one product by cuBLAS and one kernel for all that happens inside of the cells.

What a step needs of the input is multiplied for all steps before, and the weights' cotangents for all steps after.
Arrays of a step are addresses: slicing costs the host more than a launch.
"""

from collections.abc import Callable
from typing import Any

import cupy
from cupy.cuda.device import get_cublas_handle

from lucidgrad.backends.cuda.compiling import Sources, contiguous, launch, program_of, table
from lucidgrad.backends.cuda.memory import unless_absent

from .matmul import TYPES, Gemm, matmul, multiply, plan

_MOST = 2**31 - 1  # elements of a step, which are counted in 32 bits

_CELLS = r"""
__device__ inline A sigmoid(A v) { return (A)1 / ((A)1 + power(-v)); }
__device__ inline float hyperbolic(float v) { return tanhf(v); }
__device__ inline double hyperbolic(double v) { return tanh(v); }
__device__ inline A or_zero(const T *at, I e) { return at ? (A)at[e] : (A)0; }

#define CELL const unsigned e = blockIdx.x * blockDim.x + threadIdx.x; if (e >= (unsigned)count) return; \
    const unsigned row = e / (unsigned)n, j = e % (unsigned)n;
#define GATE(array, k, gates) array[(I)row * (gates) * n + (k) * n + j]
#define INSIDE(k, gates) (gs ? (A)GATE(gs, k, gates) : (A)0)
#define STEP extern "C" __global__ void __launch_bounds__(256)
"""

_BODIES = {
    "lstm_step": r"""
STEP lstm_step(const T *a, const T *x, const T *b, const T *c, T *s, T *h, I width, I n, I count) {
    CELL
    A gate[4];
    for (int k = 0; k < 4; ++k) gate[k] = (A)GATE(x, k, 4) + or_zero(b, k * n + j) + (A)GATE(a, k, 4);
    const A in = sigmoid(gate[0]), keep = sigmoid(gate[1]), made = hyperbolic(gate[2]), out = sigmoid(gate[3]);
    const A now = keep * (A)c[(I)row * width + j] + in * made;
    GATE(s, 0, 5) = (T)in;
    GATE(s, 1, 5) = (T)keep;
    GATE(s, 2, 5) = (T)made;
    GATE(s, 3, 5) = (T)out;
    GATE(s, 4, 5) = (T)now;
    h[e] = (T)(out * hyperbolic(now));
}
""",
    "lstm_step_pull": r"""
STEP lstm_step_pull(const T *gy, const T *gs, const T *later, const T *s, const T *c, T *gc, T *a, I width, I n,
                    I count) {
    CELL
    const A in = (A)GATE(s, 0, 5), keep = (A)GATE(s, 1, 5), made = (A)GATE(s, 2, 5), out = (A)GATE(s, 3, 5);
    const A to_h = or_zero(gy, e) + or_zero(later, e), t = hyperbolic((A)GATE(s, 4, 5));
    const A to_c = INSIDE(4, 5) + (later ? (A)gc[e] : (A)0) + to_h * out * (1 - t * t);
    GATE(a, 0, 4) = (T)((to_c * made + INSIDE(0, 5)) * in * (1 - in));
    GATE(a, 1, 4) = (T)((to_c * (A)c[(I)row * width + j] + INSIDE(1, 5)) * keep * (1 - keep));
    GATE(a, 2, 4) = (T)((to_c * in + INSIDE(2, 5)) * (1 - made * made));
    GATE(a, 3, 4) = (T)((to_h * t + INSIDE(3, 5)) * out * (1 - out));
    gc[e] = (T)(to_c * keep);
}
""",
    "gru_step": r"""
STEP gru_step(const T *a, const T *x, const T *b, const T *before, T *s, T *h, I n, I count) {
    CELL
    const A hr = (A)GATE(a, 0, 3) + or_zero(b, j), hz = (A)GATE(a, 1, 3) + or_zero(b, n + j);
    const A hn = (A)GATE(a, 2, 3) + or_zero(b, 2 * n + j);
    const A r = sigmoid((A)GATE(x, 0, 3) + hr), z = sigmoid((A)GATE(x, 1, 3) + hz);
    const A made = hyperbolic((A)GATE(x, 2, 3) + r * hn);
    GATE(s, 0, 4) = (T)r;
    GATE(s, 1, 4) = (T)z;
    GATE(s, 2, 4) = (T)made;
    GATE(s, 3, 4) = (T)hn;
    h[e] = (T)(made + z * ((A)before[e] - made));
}
""",
    "gru_step_pull": r"""
STEP gru_step_pull(const T *gy, const T *gs, const T *later, const T *s, const T *before, T *gh, T *to_x, T *a, I n,
                   I count) {
    CELL
    const A r = (A)GATE(s, 0, 4), z = (A)GATE(s, 1, 4), made = (A)GATE(s, 2, 4), hn = (A)GATE(s, 3, 4);
    const A to_h = or_zero(gy, e) + (later ? (A)later[e] + (A)gh[e] : (A)0);
    const A pn = (to_h * (1 - z) + INSIDE(2, 4)) * (1 - made * made);
    const A pr = (pn * hn + INSIDE(0, 4)) * r * (1 - r);
    const A pz = (to_h * ((A)before[e] - made) + INSIDE(1, 4)) * z * (1 - z);
    GATE(to_x, 0, 3) = GATE(a, 0, 3) = (T)pr;
    GATE(to_x, 1, 3) = GATE(a, 1, 3) = (T)pz;
    GATE(to_x, 2, 3) = (T)pn;
    GATE(a, 2, 3) = (T)(pn * r + INSIDE(3, 4));
    gh[e] = (T)(to_h * z);
}
""",
    "rnn_step": r"""
STEP rnn_step(const T *x, const T *b, T *h, bool rectified, I n, I count) {
    CELL
    const A v = (A)x[e] + or_zero(b, j) + (A)h[e];
    h[e] = (T)(rectified ? (v < 0 ? (A)0 : v) : hyperbolic(v));
    (void)row;
}
""",
    "rnn_step_pull": r"""
STEP rnn_step_pull(const T *gy, const T *later, const T *h, T *a, bool rectified, I n, I count) {
    CELL
    const A to_h = or_zero(gy, e) + or_zero(later, e), now = (A)h[e];
    a[e] = (T)(rectified ? (now > 0 ? to_h : (A)0) : to_h * (1 - now * now));
    (void)row, (void)j;
}
""",
}

BODIES = {name: _CELLS + body for name, body in _BODIES.items()}
SOURCES = Sources(BODIES, dtypes=("float16", "float32", "float64"))  # of bfloat16 they are given float32


class _Products:
    """The product of a state or of cotangents with the recurrent weights, planned once for all steps."""

    def __init__(self, x1: Any, x2: Any) -> None:
        made = plan(x1.shape, x1.strides, x2.shape, x2.strides, x1.dtype.itemsize, True)
        assert type(made) is Gemm, "a plain matrix times another in order"
        self.made, self.how, self.other, self.handle = made, TYPES[x1.dtype], x2.data.ptr, get_cublas_handle()

    def __call__(self, x1: int, y: int, added: bool = False) -> None:
        multiply(self.handle, self.how, self.made, (self.other, x1, y), added=added)


def _each(*arrays: Any) -> list[Any]:
    """For arrays whose first axis is time, functions that give the address of a step; None for one that is absent."""
    return [
        (lambda t: None) if a is None else (lambda t, at=a.data.ptr, step=a.strides[0]: at + t * step) for a in arrays
    ]


def _weight_cotangents(a: Any, h: Any, y: Any) -> tuple[Any, Any]:
    """Of the recurrent weights and the bias: the first step begins with h, all others with states in y."""
    steps, batch, n = a.shape
    flat = a.reshape(steps * batch, n)
    to_w = matmul(flat[:batch].T, h)
    if steps > 1:
        matmul(flat[batch:].T, y.reshape(steps * batch, -1)[:-batch], onto=to_w)
    return to_w, flat.sum(axis=0)


# -- LSTM ----------------------------------------------------------------------------------------
def lstm_sequence(x: Any, h: Any, c: Any, w: Any, b: Any = None) -> Any:
    (steps, batch, _), n, dtype = x.shape, h.shape[1], x.dtype
    x, h, c, w = contiguous(x, h, c, w)
    hidden, inner = cupy.empty((steps, batch, n), dtype), cupy.empty((steps, batch, 5 * n), dtype)
    a, b = cupy.empty((batch, 4 * n), dtype), None if b is None else contiguous(b)[0]
    product, kernel = _Products(h, w.T), SOURCES.kernel("lstm_step", dtype)
    (at_x, at_h, at_s), cell = _each(x, hidden, inner), 4 * n * dtype.itemsize
    for t in range(steps):
        product(at_h(t - 1) if t else h.data.ptr, a.data.ptr)
        before = (at_s(t - 1) + cell, at_s(t), at_h(t), 5 * n) if t else (c, at_s(t), at_h(t), n)
        launch(kernel, batch * n, a, at_x(t), b, *before, n, batch * n)
    return hidden, inner


def lstm_sequence_pull(gy: Any, gs: Any, y: Any, s: Any, h: Any, c: Any, w: Any) -> Any:
    (steps, batch, n), dtype = y.shape, s.dtype
    (gy, gs), (y, s, h, c, w) = map(unless_absent, (gy, gs)), contiguous(y, s, h, c, w)
    a = cupy.empty((steps, batch, 4 * n), dtype)
    gh, gc = cupy.empty((batch, n), dtype), cupy.empty((batch, n), dtype)
    product, kernel = _Products(a[0], w), SOURCES.kernel("lstm_step_pull", dtype)
    (at_gy, at_gs, at_s, at_a), cell, later = _each(gy, gs, s, a), 4 * n * dtype.itemsize, None
    for t in range(steps - 1, -1, -1):
        before, width = (at_s(t - 1) + cell, 5 * n) if t else (c, n)
        launch(kernel, batch * n, at_gy(t), at_gs(t), later, at_s(t), before, gc, at_a(t), width, n, batch * n)
        product(at_a(t), gh.data.ptr)
        later = gh
    return a, gh, gc, *_weight_cotangents(a, h, y)


# -- GRU -----------------------------------------------------------------------------------------
def gru_sequence(x: Any, h: Any, w: Any, b: Any = None) -> Any:
    (steps, batch, _), n, dtype = x.shape, h.shape[1], x.dtype
    x, h, w = contiguous(x, h, w)
    hidden, inner = cupy.empty((steps, batch, n), dtype), cupy.empty((steps, batch, 4 * n), dtype)
    a, b = cupy.empty((batch, 3 * n), dtype), None if b is None else contiguous(b)[0]
    product, kernel = _Products(h, w.T), SOURCES.kernel("gru_step", dtype)
    at_x, at_h, at_s = _each(x, hidden, inner)
    before = h.data.ptr
    for t in range(steps):
        product(before, a.data.ptr)
        launch(kernel, batch * n, a, at_x(t), b, before, at_s(t), at_h(t), n, batch * n)
        before = at_h(t)
    return hidden, inner


def gru_sequence_pull(gy: Any, gs: Any, y: Any, s: Any, h: Any, w: Any) -> Any:
    (steps, batch, n), dtype = y.shape, s.dtype
    (gy, gs), (y, s, h, w) = map(unless_absent, (gy, gs)), contiguous(y, s, h, w)
    to_x, a = cupy.empty((steps, batch, 3 * n), dtype), cupy.empty((steps, batch, 3 * n), dtype)
    made, gh = cupy.empty((batch, n), dtype), cupy.empty((batch, n), dtype)
    product, kernel = _Products(a[0], w), SOURCES.kernel("gru_step_pull", dtype)
    at_gy, at_gs, at_s, at_y, at_x, at_a = _each(gy, gs, s, y, to_x, a)
    later = None
    for t in range(steps - 1, -1, -1):
        before = at_y(t - 1) if t else h
        launch(kernel, batch * n, at_gy(t), at_gs(t), later, at_s(t), before, gh, at_x(t), at_a(t), n, batch * n)
        if t:
            product(at_a(t), made.data.ptr)
        else:
            product(at_a(t), gh.data.ptr, added=True)  # what goes on to the state at the start
        later = made
    return to_x, gh, *_weight_cotangents(a, h, y)


# -- plain recurrence ----------------------------------------------------------------------------
def rnn_sequence(x: Any, h: Any, w: Any, b: Any = None, *, nonlinearity: str = "tanh") -> Any:
    (steps, batch, n), dtype = x.shape, x.dtype
    x, h, w = contiguous(x, h, w)
    hidden, b = cupy.empty((steps, batch, n), dtype), None if b is None else contiguous(b)[0]
    product, kernel, (at_x, at_h) = _Products(h, w.T), SOURCES.kernel("rnn_step", dtype), _each(x, hidden)
    before = h.data.ptr
    for t in range(steps):
        product(before, at_h(t))
        launch(kernel, batch * n, at_x(t), b, at_h(t), nonlinearity == "relu", n, batch * n)
        before = at_h(t)
    return hidden


def rnn_sequence_pull(gy: Any, y: Any, h: Any, w: Any, *, nonlinearity: str = "tanh") -> Any:
    (steps, batch, n), dtype = y.shape, y.dtype
    gy, y, h, w = contiguous(gy, y, h, w)
    a, gh = cupy.empty((steps, batch, n), dtype), cupy.empty((batch, n), dtype)
    product, kernel, (at_gy, at_y, at_a) = _Products(a[0], w), SOURCES.kernel("rnn_step_pull", dtype), _each(gy, y, a)
    later = None
    for t in range(steps - 1, -1, -1):
        launch(kernel, batch * n, at_gy(t), later, at_y(t), at_a(t), nonlinearity == "relu", n, batch * n)
        product(at_a(t), gh.data.ptr)
        later = gh
    return a, gh, *_weight_cotangents(a, h, y)


#: The shapes of arguments for so many steps, examples and features, and which argument is the state at the start.
_SHAPES: dict[str, tuple[int, Callable[[int, int, int], tuple[tuple[int, ...], ...]]]] = {
    "lstm_sequence": (1, lambda t, b, n: ((t, b, 4 * n), (b, n), (b, n), (4 * n, n), (4 * n,))),
    "lstm_sequence_pull": (4, lambda t, b, n: (*[(t, b, n), (t, b, 5 * n)] * 2, (b, n), (b, n), (4 * n, n))),
    "gru_sequence": (1, lambda t, b, n: ((t, b, 3 * n), (b, n), (3 * n, n), (3 * n,))),
    "gru_sequence_pull": (4, lambda t, b, n: (*[(t, b, n), (t, b, 4 * n)] * 2, (b, n), (3 * n, n))),
    "rnn_sequence": (1, lambda t, b, n: ((t, b, n), (b, n), (n, n), (n,))),
    "rnn_sequence_pull": (2, lambda t, b, n: ((t, b, n), (t, b, n), (b, n), (n, n))),
}


def _fitting(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for arguments that fit each other; others, and sequences of nothing, go to the program."""
    state, shapes = _SHAPES[name]

    def run(*xs: Any, **keywords: Any) -> Any:
        start = xs[state].shape
        fits = len(start) == 2 and xs[state].size <= _MOST and xs[0].size > 0
        if fits:
            expected = shapes(len(xs[0]), *start)
            fits = all(x is None or x.shape == shape for x, shape in zip(xs, expected, strict=False))
        return (kernel if fits else program_of(name))(*xs, **keywords)

    return run


_FUNCTIONS = (lstm_sequence, lstm_sequence_pull, gru_sequence, gru_sequence_pull, rnn_sequence, rnn_sequence_pull)
TABLE = {name: _fitting(name, kernel) for name, kernel in table(_FUNCTIONS).items()}
