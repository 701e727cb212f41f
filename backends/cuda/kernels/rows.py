"""Hand-written kernels that give something for every element of a row, or a loss: softmax and its kin, cotangents."""

from typing import Any

import cupy
from cupy.cuda import get_device_id

from lucidgrad.backends.cuda.compiling import ROWS, Sources, contiguous, processors, program_of, rows_of, table
from lucidgrad.backends.cuda.faults import note

BODIES = {
    "softmax": r"""
extern "C" __global__ void BOUNDS softmax(const T *x, T *y, bool logarithmic, LAYOUT) {
    ROW
    A top = -infinity(), total = 0;
    EACH(k, at) top = larger(top, (A)x[at]);
    top = MAX(top);
    EACH(k, at) total += power((A)x[at] - top);
    total = SUM(total);
    if (logarithmic) {
        total = logarithm(total);
        EACH(k, at) y[at] = (T)((A)x[at] - top - total);
    } else {
        EACH(k, at) y[at] = (T)(power((A)x[at] - top) / total);
    }
}
""",
    "softmax_pull": r"""
extern "C" __global__ void BOUNDS softmax_pull(const T *h, const T *s, T *y, LAYOUT) {
    ROW
    A inner_product = 0;
    EACH(k, at) inner_product += (A)h[at] * (A)s[at];
    inner_product = SUM(inner_product);
    EACH(k, at) y[at] = (T)(((A)h[at] - inner_product) * (A)s[at]);
}
""",
    "log_softmax_pull": r"""
extern "C" __global__ void BOUNDS log_softmax_pull(const T *h, const T *s, T *y, LAYOUT) {
    ROW
    A total = 0;
    EACH(k, at) total += (A)h[at];
    total = SUM(total);
    EACH(k, at) y[at] = (T)((A)h[at] - power((A)s[at]) * total);
}
""",
    "logsumexp_pull": r"""
extern "C" __global__ void BOUNDS logsumexp_pull(const T *h, const T *s, const T *x, T *y, LAYOUT) {
    ROW
    A scale = row < rows ? (A)h[row] : (A)0, shift = row < rows ? (A)s[row] : (A)0;
    if (shift == -infinity()) shift = 0;
    EACH(k, at) y[at] = (T)(scale * power((A)x[at] - shift));
}
""",
    "variance_pull": r"""
extern "C" __global__ void BOUNDS variance_pull(const T *h, const T *s, const T *x, T *y, double freedom, LAYOUT) {
    ROW
    A mean = 0, scale = row < rows ? (A)h[row] : (A)0;
    if (s == 0) {
        scale *= 2;
    } else if (row < rows) {
        scale = (A)s[row] == (A)0 ? (A)0 : scale / (A)s[row];
    }
    scale /= (A)freedom;
    EACH(k, at) mean += (A)x[at];
    mean = SUM(mean) / (A)n;
    EACH(k, at) y[at] = (T)(scale * ((A)x[at] - mean));
}
""",
    "cross_entropy": r"""
extern "C" __global__ void BOUNDS cross_entropy(const T *x, const I *i, T *y, I ignored, NOTE, LAYOUT) {
    ROW
    I target = row < rows ? i[row] : ignored;
    bool used = target != ignored;
    if (used && lane == 0) target = class_of(target, n, note, name);
    A top = -infinity(), total = 0;
    EACH(k, at) top = larger(top, (A)x[at]);
    top = MAX(top);
    if (!is_finite(top)) top = 0;
    EACH(k, at) total += power((A)x[at] - top);
    total = SUM(total);
    if (row < rows && lane == 0) {
        A loss = used && target >= 0 ? logarithm(total) + top - (A)x[place + target * inner] : nothing();
        y[row] = (T)(used ? loss : (A)0);
    }
}
""",
    "cross_entropy_pull": r"""
extern "C" __global__ void BOUNDS cross_entropy_pull(
    const T *x, const I *i, const T *h, T *y, I ignored, I every, NOTE, LAYOUT) {
    ROW
    I target = row < rows ? i[row] : ignored;
    A scale = target != ignored ? (A)h[row * every] : (A)0;
    if (target != ignored) target = class_of(target, n, note, name);
    A top = -infinity(), total = 0;
    EACH(k, at) top = larger(top, (A)x[at]);
    top = MAX(top);
    EACH(k, at) total += power((A)x[at] - top);
    total = SUM(total);
    EACH(k, at) y[at] = (T)(scale * (power((A)x[at] - top) / total - (k == target ? (A)1 : (A)0)));
}
""",
    "extreme_pull": r"""
extern "C" __global__ void BOUNDS extreme_pull(const T *h, const T *s, const T *x, T *y, LAYOUT) {
    ROW
    A share = row < rows ? (A)h[row] : (A)0, extreme = row < rows ? (A)s[row] : (A)0, ties = 0;
    EACH(k, at) ties += (A)x[at] == extreme ? (A)1 : (A)0;
    ties = SUM(ties);
    share /= ties;
    EACH(k, at) y[at] = (T)(((A)x[at] == extreme ? (A)1 : (A)0) * share);
}
""",
}

SOURCES = Sources(BODIES, ROWS)
#: Elements of a row that one block takes as long for as a whole device takes for some more launches.
LONG = 1 << 17


def _starves(x: Any, axis: Any) -> bool:
    """Whether rows are few and long, so that a block for each leaves most multiprocessors without work.

    There programs take several launches, of many blocks each. They would round 16-bit floats in between.
    """
    if x.size < LONG or x.dtype.char not in "fd":
        return False
    rows = rows_of(x.shape, axis)
    return bool(rows.n >= LONG and 4 * rows.grid[0][0] <= processors(get_device_id()))


def _like(name: str, axis: Any, *xs: Any, more: tuple[Any, ...] = ()) -> Any:
    """Run a kernel whose arrays, and result, all have one shape."""
    rows = rows_of(xs[0].shape, axis)
    for x in xs:
        if rows.order is not None or not x.flags.c_contiguous:
            xs = tuple(map(rows.lay, xs))
            break
    y = cupy.ndarray(xs[0].shape, xs[0].dtype)
    rows.launch(SOURCES.kernel(name, y.dtype), *xs, y, *more)
    return y if rows.order is None else rows.back(y)


def _up(name: str, axis: Any, h: Any, s: Any, x: Any, *more: Any) -> Any:
    """Run a kernel that spreads a value for each row."""
    rows = rows_of(x.shape, axis)
    h, s = (None if r is None else contiguous(r)[0] for r in (h, s))
    x = rows.lay(x)
    y = cupy.ndarray(x.shape, x.dtype)
    rows.launch(SOURCES.kernel(name, x.dtype), h, s, x, y, *more)
    return rows.back(y)


def softmax(x: Any, *, axis: Any = -1) -> Any:
    if _starves(x, axis):
        return program_of("softmax")(x, axis=axis)
    return _like("softmax", axis, x, more=(False,))


def log_softmax(x: Any, *, axis: Any = -1) -> Any:
    if _starves(x, axis):
        return program_of("log_softmax")(x, axis=axis)
    return _like("softmax", axis, x, more=(True,))


def softmax_pull(h: Any, s: Any, *, axis: Any = -1) -> Any:
    if _starves(s, axis):
        return program_of("softmax_pull")(h, s, axis=axis)
    return _like("softmax_pull", axis, h, s)


def log_softmax_pull(h: Any, s: Any, *, axis: Any = -1) -> Any:
    if _starves(s, axis):
        return program_of("log_softmax_pull")(h, s, axis=axis)
    return _like("log_softmax_pull", axis, h, s)


def logsumexp_pull(h: Any, s: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    if _starves(x, axis):
        return program_of("logsumexp_pull")(h, s, x, axis=axis, keepdims=keepdims)
    return _up("logsumexp_pull", axis, h, s, x)


def _freedom(x: Any, axis: Any, correction: float) -> float:
    return max(rows_of(x.shape, axis).n - float(correction), 0.0)


def var_pull(h: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    if _starves(x, axis):
        return program_of("var_pull")(h, x, axis=axis, correction=correction, keepdims=keepdims)
    return _up("variance_pull", axis, h, None, x, _freedom(x, axis, correction))


def std_pull(h: Any, s: Any, x: Any, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    if _starves(x, axis):
        return program_of("std_pull")(h, s, x, axis=axis, correction=correction, keepdims=keepdims)
    return _up("variance_pull", axis, h, s, x, _freedom(x, axis, correction))


def extreme_pull(h: Any, s: Any, x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    if _starves(x, axis):
        return program_of("extreme_pull")(h, s, x, axis=axis, keepdims=keepdims)
    return _up("extreme_pull", axis, h, s, x)


def cross_entropy_rows(x: Any, i: Any, *, axis: int = -1, ignore_index: int = -100) -> Any:
    rows = rows_of(x.shape, axis)
    (i,) = contiguous(i.astype("int64", copy=False))
    y = cupy.empty(i.shape, x.dtype)
    rows.launch(SOURCES.kernel("cross_entropy", x.dtype), rows.lay(x), i, y, ignore_index, *note("cross_entropy"))
    return y


def cross_entropy_pull(x: Any, i: Any, h: Any, *, axis: int = -1, ignore_index: int = -100) -> Any:
    rows = rows_of(x.shape, axis)
    x, i = contiguous(x, i.astype("int64", copy=False))
    every = int(any(h.strides))  # one number may serve all rows, as the cotangent of a mean does
    h = contiguous(h)[0] if every else h
    y = cupy.empty(x.shape, x.dtype)
    kernel = SOURCES.kernel("cross_entropy_pull", x.dtype)
    rows.launch(kernel, x, i, h, y, ignore_index, every, *note("cross_entropy"))
    return y


TABLE = table(
    (
        *(softmax, log_softmax, softmax_pull, log_softmax_pull, logsumexp_pull),
        *(var_pull, std_pull, extreme_pull, cross_entropy_rows, cross_entropy_pull),
    )
)
