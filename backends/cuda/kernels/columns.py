"""Convolution by cuBLAS: where there are no columns to write down, and where tensor cores make them worth it.

A window of one element needs none: examples are multiplied as they lie, in one launch. In 16 bits, and in float32 where
`set_float32_matmul_precision` allows it, tensor cores multiply ten times as fast as other units, more than writing and
reading columns costs: these are made for some examples at a time, in no more memory than the input takes.
"""

import math
from collections.abc import Iterator
from typing import Any

import cupy

from lucidgrad.backends.cuda.compiling import Sources, contiguous, launch
from lucidgrad.determinism import get_float32_matmul_precision
from lucidgrad.extents import Sizes

from .matmul import matmul
from .windows import PLAN, fold_windows, plan_of, unfold_windows

#: Rows, and what is summed for an element, from which on a tensor core is used well.
ROWS, DEPTH = 32, 64

BODIES = {
    "folded_columns": PLAN
    + r"""
extern "C" __global__ void __launch_bounds__(256) folded_columns(const T *x, T *y, Plan p, I n, I channels, I count) {
    ELEMENT
    int place[3], k[3], at[3];
    const I rest = unravel(e, p.out, place), example = rest_of(rest, n);
    const I channel = unravel(part_of(rest, n), p.window, k);
    const I from = (example * channels + channel) * PLANE(p.size);
    y[e] = inside(p, place, k, at) ? x[from + ravel(at, p.size)] : (T)(A)0;
}
""",
}
SOURCES = Sources(BODIES, dtypes=("float16", "bfloat16", "float32"))


class Columns:
    """A convolution whose columns are made in portions of examples, or not at all."""

    def __init__(
        self, n: int, channels: int, outputs: int, sizes: Sizes, window: Sizes, out: Sizes, steps: dict[str, Any]
    ) -> None:
        self.n, self.channels, self.outputs, self.sizes = n, channels, outputs, tuple(sizes)
        self.window, self.out, self.steps = tuple(window), tuple(out), steps
        self.depth, self.places = channels * math.prod(window), math.prod(out)
        self.portion = 0  # so many examples whose columns take no more memory than all inputs

    def needless(self, groups: int) -> bool:
        """Whether a window is one element at every place."""
        plain = max(self.window) == 1 and max(self.steps["stride"]) == 1 and max(self.steps["padding"]) == 0
        return groups == 1 and plain and self.out == self.sizes

    def pay(self, dtype: Any, groups: int, rows: int, depth: int, wide: bool = False) -> bool:
        """Whether tensor cores multiply this dtype, and the columns of an example fit into as much memory as inputs.

        wide: columns are float32, whatever the dtype, and so is what they are added up to.
        """
        self.portion = self.n * self.channels * math.prod(self.sizes) // max(self.depth * self.places, 1)
        if wide:
            self.portion = self.portion * dtype.itemsize // 8
        fast = dtype.itemsize == 2 or (dtype.char == "f" and get_float32_matmul_precision() != "highest")
        return fast and groups == 1 and rows >= ROWS and depth >= DEPTH and self.portion > 0

    def portions(self) -> Iterator[slice]:
        """All examples, in portions."""
        for start in range(0, self.n, self.portion):
            yield slice(start, min(start + self.portion, self.n))

    # -- the three products; what one portion took is given back before the next one
    def forth(self, x: Any, w: Any, y: Any) -> None:
        rows, made = w.reshape(self.outputs, self.depth), y.reshape(self.n, self.outputs, self.places)
        for part in self.portions():
            cols = unfold_windows(x[part], window=self.window, **self.steps)
            matmul(rows, cols.reshape(-1, self.depth, self.places), out=made[part])
            del cols

    def to_input(self, h: Any, w: Any, y: Any) -> None:
        rows = w.reshape(self.outputs, self.depth).T
        for part in self.portions():
            cols = matmul(rows, h[part].reshape(-1, self.outputs, self.places), single=True)
            cols = cols.reshape(-1, self.channels, *self.window, *self.out)
            y[part] = fold_windows(cols, sizes=self.sizes, **self.steps)
            del cols

    def to_weight(self, x: Any, h: Any, y: Any) -> None:
        """The examples of a portion are part of what is summed; portions are added up in float32."""
        plan = plan_of(self.sizes, self.out, self.window, **self.steps)
        total = cupy.zeros((self.outputs, self.depth), "float32")
        for part in self.portions():
            some = x[part]
            cols = cupy.empty((self.depth, len(some) * self.places), x.dtype)
            kernel = SOURCES.kernel("folded_columns", x.dtype)
            launch(kernel, cols.size, some, cols, plan, len(some), self.channels, cols.size)
            (values,) = contiguous(h[part].reshape(-1, self.outputs, self.places).swapaxes(0, 1))
            matmul(values.reshape(self.outputs, -1), cols.T, single=True, onto=total)
            del cols, values
        y[...] = total.reshape(y.shape)
