"""Rows of an array that is zero elsewhere: what a lookup sends back to the table that it looked up in.

A `RowSparse` stands where a raw array stands, as the layers of transforms do, but belongs to no level. It is the
gradient of a leaf, made where nothing is recorded (`lucidgrad.ops.rows`), so that rules hardly meet it. Whatever meets
it all the same makes a dense array of it first and goes on with that; a few operations that leave zeros alone keep it.
"""

import sys
from collections.abc import Callable
from typing import Any

from lucidgrad.core import device, dispatch
from lucidgrad.core.dispatch import SCALARS, floats
from lucidgrad.core.dtype import named
from lucidgrad.core.primitive import Primitive

from .batching import Batched
from .layer import Layer, LayerBackend, run, ufunc_name

_REST = slice(1, None)


class RowSparse(Layer):
    """The sum of ``values[k]`` put at row ``indices[k]`` of zeros of a shape; an index of -1 stands for no row.

    A row that is named twice counts twice, unless ``coalesced`` says that none is, and that they are in order. Values
    of no row are zeros; there are such on devices only, where to drop them would be to wait for their number. A write
    replaces indices and values, so that all tensors see it that share the object.
    """

    __slots__ = ("__weakref__", "coalesced", "gaps", "indices", "length", "values")
    level: Any = 0  # older than all levels: what is mixed with it decides
    outside = False
    levels: Any = ()
    held: Any = ()
    sparse = True

    def __init__(self, indices: Any, values: Any, length: int, coalesced: bool = False, gaps: bool = False) -> None:
        self.indices, self.values, self.length = indices, values, length
        self.coalesced, self.gaps = coalesced, gaps

    @property
    def parts(self) -> tuple[Any, ...]:
        return self.values, self.indices

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.length, *self.values.shape[_REST])

    @property
    def home(self) -> Any:
        """The back end of the values."""
        return device.by_array[type(self.values)]

    def map(self, function: Callable[[Any], Any]) -> "RowSparse":
        values, indices = map(function, self.parts)
        if values is self.values and indices is self.indices:  # the same memory: whoever writes it writes both
            return self
        return RowSparse(indices, values, self.length, self.coalesced, self.gaps)

    def with_values(self, values: Any) -> "RowSparse":
        """Other values in the same rows."""
        return RowSparse(self.indices, values, self.length, self.coalesced, self.gaps)

    def write(self, value: Any) -> None:
        dtype = self.dtype
        if type(value) is not RowSparse:
            value = _rows_of(self.home, run("broadcast_to", value, shape=self.shape))
        self.indices, self.coalesced, self.gaps = value.indices, value.coalesced, value.gaps
        self.values = value.values if value.dtype == dtype else self.home.cast(value.values, dtype)

    def filled(self, value: Any, make: Callable[[tuple[int, ...], Any], Any]) -> Any:
        return make(self.shape, value)

    def dense(self) -> Any:
        """The whole array."""
        with self.home.at(self.values):
            return self.home.xp.take_put(self.values, self._places(), axis=0, size=self.length)

    def add_to(self, total: Any) -> Any:
        """Add it to a dense array of its shape, in that one's memory."""
        if not self.adds_in_place or total.dtype != self.dtype:
            total += self.dense()
        else:
            self.home.adding["take_put"](total, self.values, self.indices, axis=0, size=self.length)
        return total

    @property
    def adds_in_place(self) -> bool:
        """Whether a sum with a dense array takes its rows alone; sums of 16 bits, which are rounded once, don't."""
        return hasattr(self.home, "adding") and self.dtype.itemsize > 2

    def joined(self, other: "RowSparse") -> "RowSparse":
        """The sum of both; of rows that would be more than the array has, each once."""
        xp = self.home.xp
        with self.home.at(self.values):
            parts = [xp.concat(*pair, axis=0) for pair in zip(self.parts, other.parts)]
            made = RowSparse(parts[1], parts[0], self.length, False, self.gaps or other.gaps)
            if made.indices.size <= self.length:
                return made
            ones = self.home.cast(made.indices >= 0, made.indices.dtype)
            some = xp.take_put(ones, made._places(), axis=0, size=self.length) > 0
            return _rows_of(self.home, made.dense(), some)

    def once(self) -> "RowSparse":
        """The same with every row once, in order; on a device this waits for their number."""
        if self.coalesced:
            return self
        xp = self.home.xp
        with self.home.at(self.values):
            found = xp.unique_inverse(self.indices)
            at, inverse = found.values, found.inverse_indices.reshape(-1)
            values = xp.take_put(self.values, inverse, axis=0, size=at.size)
            first = int(self.gaps and at.size > 0 and int(at[0]) < 0)
            return RowSparse(at[first:], values[first:], self.length, coalesced=True)

    def totals(self) -> Any:
        """Values whose rows are all different but for zeros: as many as there are, without waiting for a device."""
        if self.coalesced or not self.indices.size:
            return self.values
        with self.home.at(self.values):
            return self.home.xp.take_put(self.values, self._last(self._places()), axis=0, size=self.indices.size)

    def touched(self) -> tuple[Any, Any, Any]:
        """Rows, the sum that belongs to each, and what says that there are none: for who reads rows and writes them.

        On the CPU every row is there once. On a device, where their number would have to be waited for, a row is there
        as often as it was named, each time with the whole sum: what is computed of it is written several times, and
        the same. What stands for no row stands there for the last one.
        """
        if self.coalesced or self.home.name == "cpu" or not self.indices.size:
            found = self.once()
            return found.indices, found.values, None
        xp = self.home.xp
        with self.home.at(self.values):
            at, none = self.indices, None
            if self.gaps:
                top = xp.max(at)
                at, none = xp.where(at < 0, xp.maximum(top, 0 * top), at), top < 0
            last = self._last(at)
            sums = xp.take_put(self.values, last, axis=0, size=at.size)
            return at, xp.take(sums, last, axis=0), none

    def _last(self, at: Any) -> Any:
        """Of each position the last one with the same row."""
        xp = self.home.xp
        return xp.take(xp.last_put(at, axis=0, size=self.length), at, axis=0)

    def _places(self) -> Any:
        """The rows, with one that exists in place of none: zeros are added there."""
        return self.home.xp.maximum(self.indices, 0 * self.indices) if self.gaps else self.indices

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if list(options) == ["out"] and method == "__call__" and ufunc_name(ufunc) == "add":
            (total,) = options["out"]
            if inputs[0] is total and inputs[1] is self and total.shape == self.shape:  # total += self
                return self.add_to(total)
        return super().__array_ufunc__(ufunc, method, *inputs, **options)

    def __repr__(self) -> str:
        return f"RowSparse({self.indices.size} of {self.length} rows)"


def rows_at(indices: Any, values: Any, length: int, nowhere: int | None = None) -> RowSparse:
    """Values, of the shape of the indices and then that of a row, at rows of zeros; the row ``nowhere`` gets none."""
    home = device.by_array[type(values)]
    xp = home.xp
    with home.at(values):
        rest = tuple(values.shape[indices.ndim :])
        if indices.ndim != 1:
            values = values.reshape((indices.size, *rest))
        indices = home.cast(home.copy(indices), named("int64")).reshape(-1)  # whoever gave them may write them
        if nowhere is None:
            return RowSparse(indices, values, length)
        counts = indices != nowhere
        if home.name == "cpu":
            return RowSparse(indices[counts], values[counts], length)
        values = xp.where(counts.reshape((-1, *(1,) * len(rest))), values, xp.zeros_like(values))
        return RowSparse(xp.where(counts, indices, 0 * indices - 1), values, length, gaps=True)


def _rows_of(home: Any, dense: Any, some: Any = None) -> RowSparse:
    """Some rows of a dense array: those that are not all zeros, if no mask says which."""
    xp, length = home.xp, dense.shape[0]
    with home.at(dense):
        if some is None:
            some = xp.any(dense.reshape((length, dense.size // max(length, 1))) != 0, axis=1)
        at = home.create("arange", home.device_of(dense), length, dtype=named("int64"))
        if home.name == "cpu":
            return RowSparse(at[some], dense[some], length, coalesced=True)
        return RowSparse(xp.where(some, at, 0 * at - 1), home.copy(dense), length, gaps=True)


# -- how primitives run ------------------------------------------------------------------------------
def _dense(x: Any) -> Any:
    return x.dense() if type(x) is RowSparse else x


def _is_number(x: Any) -> bool:
    return x.__class__ in SCALARS or (type(x) in device.by_array and not x.shape)


def _scaled(primitive: Primitive, args: Any, keywords: dict[str, Any]) -> Any:
    """Times a number, or divided by one."""
    x, other = args if type(args[0]) is RowSparse else args[::-1]
    if not _is_number(other) or (x is args[1] and primitive.name == "divide"):
        return None
    return x.with_values(dispatch.compute(primitive, [x.values if a is x else a for a in args], keywords))


def _mapped(primitive: Primitive, args: Any, keywords: dict[str, Any]) -> Any:
    """What leaves zeros alone, and sums."""
    made = dispatch.compute(primitive, [args[0].values], keywords)
    return args[0].with_values(made) if made.dtype in floats else None


def _moved(primitive: Primitive, args: Any, keywords: dict[str, Any]) -> Any:
    return args[0].map(lambda part: dispatch.compute(primitive, [part], keywords))


def _added(primitive: Primitive, args: Any, keywords: dict[str, Any]) -> Any:
    x1, x2 = args
    if type(x1) is type(x2):
        alike = x1.shape == x2.shape and x1.dtype == x2.dtype and type(x1.values) is type(x2.values)
        return x1.joined(x2) if alike else None
    x, total = args if type(x1) is RowSparse else (x2, x1)
    if _is_number(total) or type(total) is not type(x.values) or total.shape != x.shape or total.dtype != x.dtype:
        return None
    with x.home.at(total):
        return x.add_to(x.home.copy(total))


def _nothing(primitive: Primitive, args: Any, keywords: dict[str, Any]) -> Any:
    (x,) = args
    if any(value is not None for value in keywords.values()):
        return None
    return RowSparse(x.indices[:0], x.values[:0], x.length, coalesced=True)


def _overwritten(primitive: Primitive, args: Any, keywords: dict[str, Any]) -> Any:
    x, v, at = args
    ((step, key, _),) = keywords["steps"] if len(keywords["steps"]) == 1 else ((None, None, None),)
    whole = step is not None and step.name == "index" and key == {"key": ...} and at is None
    fits = whole and type(v) is RowSparse and v.shape == x.shape and v.dtype == x.dtype
    return v.map(v.home.copy) if fits else None


#: What keeps an array sparse, by primitives: ``(primitive, arrays, keywords) -> array``, None: not with these.
_KEEPING: dict[str, Callable[..., Any]] = {
    "add": _added, "astype": _mapped, "clone": _moved, "conj": _mapped, "divide": _scaled, "multiply": _scaled,
    "negative": _mapped, "overwrite": _overwritten, "positive": _mapped, "transfer": _moved, "zeros_like": _nothing,
}  # fmt: skip


def _interpreter(primitive: Primitive) -> Callable[..., Any]:
    keeping = _KEEPING.get(primitive.name)

    def run(*args: Any, **keywords: Any) -> Any:
        y = None if keeping is None else keeping(primitive, args, keywords)
        return dispatch.compute(primitive, list(map(_dense, args)), keywords) if y is None else y

    return run


# -- as a back end -----------------------------------------------------------------------------------
def _alone() -> int:
    found = RowSparse(None, object(), 0)
    return sys.getrefcount(found.values)


_ALONE = _alone()  # how many references values have that only their rows hold


class _Backend(LayerBackend):
    def storage(self, array: Any) -> Any:
        return array

    def owns(self, array: Any) -> bool:
        return sys.getrefcount(array.values) == _ALONE and bool(array.home.owns(array.values))

    def writable(self, array: Any) -> bool:
        return type(array) is RowSparse  # dense ones get no rows in place: that may fail halfway

    def contiguous(self, array: Any) -> bool:
        return True

    def to_numpy(self, array: Any) -> Any:
        return array.home.to_numpy(array.dense())

    def format(self, array: Any, **options: Any) -> str:
        shown = {"indices": array.indices.reshape((1, -1)), "values": array.values}
        lines = [f"{name}=tensor({_shown(part, len(name), options)})" for name, part in shown.items()]
        return ",\n       ".join([*lines, f"size={array.shape}, nnz={array.indices.size}, layout=row-sparse"])


def _shown(part: Any, indent: int, options: dict[str, Any]) -> str:
    if not part.size:
        return f"[], size={tuple(part.shape)}"
    text: str = device.by_array[type(part)].format(part, **options)
    return text.replace("\n", "\n" + " " * (len("tensor(=") + indent))


_Backend("rows", RowSparse, _interpreter)
if Batched in device.places:  # a back end with streams was there first
    device.places[RowSparse] = device.places[Batched]
