"""Attention on CUDA by tiles: where heads are, which tile is for them, and launches of `attention_sources`."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from cupy.cuda import get_device_id

from lucidgrad.backends.cuda.compiling import by_value, contiguous, processors, program_of
from lucidgrad.backends.cuda.memory import is_absent
from lucidgrad.determinism import are_deterministic_algorithms_enabled

from . import attention_products as products
from .attention_sources import SOURCES, WIDTHS, Tile, constants, shared_room, tile_for

# -- plans ---------------------------------------------------------------------------------------
_OPERANDS = ("q", "k", "v", "m", "y", "t", "h", "of_t", "less", "to_q", "to_k", "to_v", "to_m", "number")
_MOST_AXES = 4


def _steps(x: Any, lead: tuple[int, ...], tail: int) -> list[int]:
    """Strides of an array in elements: along all leading axes, 0 where it is broadcast, and along the last ones."""
    size, rank = x.dtype.itemsize, x.ndim - tail
    own = [0 if n == 1 else s // size for n, s in zip(x.shape, x.strides, strict=True)]
    return [0] * (len(lead) - rank) + own


class _Plan:
    """Where heads are: leading axes, neighbours made one where single strides go through both for all arrays."""

    def __init__(self, lead: tuple[int, ...], sizes: Sequence[int], operands: dict[str, Any]) -> None:
        self.steps: dict[str, list[int]] = {}
        tails: dict[str, list[int]] = {}
        for name, x in operands.items():
            tail = 1 if name in ("t", "of_t", "less") else 2
            steps = _steps(x, lead, tail)
            self.steps[name], rest = steps[: len(lead)], steps[len(lead) :]
            tails[name] = [*rest, 0][:2]
        self.steps["number"] = [math.prod(lead[a + 1 :]) for a in range(len(lead))]
        self.tails, self.sizes, self.lead = tails, list(sizes), self._merged(lead)

    def _merged(self, lead: tuple[int, ...]) -> list[int]:
        axes: list[tuple[int, list[int]]] = []
        for a, n in enumerate(lead):
            steps = [s[a] for s in self.steps.values()]
            if n == 1:
                continue
            if axes and all(far == near * n for far, near in zip(axes[-1][1], steps, strict=True)):
                axes[-1] = axes[-1][0] * n, steps
            else:
                axes.append((n, steps))
        for at, name in enumerate(self.steps):
            self.steps[name] = [steps[at] for _, steps in axes]
        return [n for n, _ in axes]

    @property
    def fits(self) -> bool:
        return len(self.lead) <= _MOST_AXES

    def given(self, names: Sequence[str] = ()) -> tuple[int, Any]:
        """How many groups of heads there are, and the structure; these arrays are one for the heads of a group."""
        shared = [bool(names) and all(self.steps[name][a] == 0 for name in names) for a in range(len(self.lead))]
        fill = [1] * (_MOST_AXES - len(self.lead))
        own = [1 if s else n for n, s in zip(self.lead, shared, strict=True)] + fill
        others = [n if s else 1 for n, s in zip(self.lead, shared, strict=True)] + fill
        numbers = [*own, *others, *self.sizes, math.prod(others)]
        for name in _OPERANDS:
            steps, tail = self.steps.get(name, []), self.tails.get(name, [0, 0])
            numbers += [*steps, *[0] * (_MOST_AXES - len(steps)), *tail]
        return math.prod(own), by_value(np.asarray(numbers, "int64"))


class _Launcher:
    """Launches for operands of one dtype and widths, with the tile for them."""

    def __init__(self, dtype: Any, tile: Tile, width: int) -> None:
        self.dtype, self.tile, self.width = dtype, tile, width
        self.constants = constants(tile, width)

    def __call__(self, name: str, blocks: int, *args: Any) -> None:
        if blocks:
            shared = self.tile.shared_bytes(name, self.width, self.dtype.itemsize)
            kernel = SOURCES.kernel(name, self.dtype, self.constants, get_device_id(), shared)
            kernel((blocks,), (self.tile.threads,), args, shared_mem=shared)


def _launcher(dtype: Any, widths: Sequence[int], rows: int, heads: int) -> _Launcher | None:
    """What launches with the tile for heads of these widths; None: there is none."""
    width = next((w for w in WIDTHS if w >= max(widths)), None)
    if width is None:
        return None
    here = get_device_id()
    tile = tile_for(width, dtype.itemsize, shared_room(here), rows, heads, processors(here))
    return None if tile is None else _Launcher(dtype, tile, width)


# -- calls ---------------------------------------------------------------------------------------
def _lead(*arrays: Any) -> tuple[int, ...]:
    """The axes before the last two, broadcast."""
    return np.broadcast_shapes(*(a.shape[:-2] for a in arrays if a is not None))


def _rows(x: Any) -> Any:
    """An array whose last axis is in order in memory."""
    return x if x.shape[-1] <= 1 or x.strides[-1] == x.itemsize else cupy.ascontiguousarray(x)


def _like(a: Any, lead: tuple[int, ...], rows: int, columns: int, make: Callable[..., Any] = cupy.empty) -> Any:
    """A new array whose axes lie in memory as those of a: what was split into heads is joined again without a copy."""
    shape = (*lead, rows, columns)
    if a.shape[:-2] == lead:
        order = sorted(range(a.ndim - 1), key=lambda axis: -abs(a.strides[axis]))
        made = make([shape[axis] for axis in (*order, a.ndim - 1)], a.dtype)
        return made.transpose(*sorted(range(a.ndim - 1), key=order.__getitem__), a.ndim - 1)
    return make(shape, a.dtype)


def _as_matrices(m: Any) -> Any:
    return m if m is None or m.ndim > 1 else m.reshape((1,) * (2 - m.ndim) + m.shape)


def _summed_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Sums over the axes along which an array of a shape was broadcast."""
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + a for a, n in enumerate(shape) if n != x.shape[lead + a]))
    return cupy.sum(x, axis=axes, keepdims=True).reshape(shape) if axes else x


def _changes(m: Any, r: Any, scale: float, causal: bool, dropout: float) -> tuple[Any, ...]:
    kind = 0 if m is None else 1 if m.dtype.kind == "b" else 2
    dropped = math.ceil(dropout * 2**24)
    share = 0.0 if dropout >= 1 else 1 / (1 - dropout)
    r = None if r is None else contiguous(r)[0]
    return m, np.int32(kind), bool(causal), float(scale), r, np.uint32(dropped), share


def _taken(q: Any, k: Any, v: Any, m: Any, r: Any) -> bool:
    """Whether kernels take these arrays."""
    dtype = q.dtype
    if dtype.char not in "fd" or k.dtype != dtype or v.dtype != dtype or min(q.ndim, k.ndim, v.ndim) < 2:
        return False
    if m is not None and m.dtype != dtype and m.dtype.kind != "b":
        return False
    return r is None or (r.dtype == np.int64 and r.shape == (2,))


def _multiplied(q: Any, k: Any, v: Any, lead: tuple[int, ...], causal: bool) -> bool:
    """Whether 16-bit numbers, of which nothing is dropped, are for tensor cores."""
    if q.dtype.char != "f" or sum(n > 1 for n in lead) > _MOST_AXES:
        return False
    width = (q.shape[-1] + v.shape[-1]) // 2
    return products.is_faster(math.prod(lead), q.shape[-2], k.shape[-2], width, causal)


def _change(sizes: Sequence[int], scale: float, causal: bool) -> products.Change:
    """What changes the scores of some heads, and where they are."""

    def change(lead: tuple[int, ...], operands: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
        numbers = _Plan(lead, sizes, operands).given()[1]
        return _changes(operands.get("m"), None, scale, causal, 0.0), numbers

    return change


def attention(
    q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True, narrow: bool = False,
) -> Any:  # fmt: skip
    def by_program() -> Any:
        keywords: dict[str, Any] = {"scale": scale, "causal": causal, "dropout": dropout, "learned": learned}
        return program_of("attention")(q, k, v, m, r, **keywords)

    if not _taken(q, k, v, m, r) or k.shape[-1] != q.shape[-1] or v.shape[-2] != k.shape[-2]:
        return by_program()
    queries, keys = q.shape[-2], k.shape[-2]
    matrices = _as_matrices(m)
    lead = _lead(q, k, v, matrices)
    if narrow and r is None and _multiplied(q, k, v, lead, causal):
        change = _change((queries, keys, q.shape[-1], v.shape[-1]), scale, causal)
        return products.values(q, k, v, matrices, lead, change)
    launch = _launcher(q.dtype, (q.shape[-1], v.shape[-1]), queries, math.prod(lead))
    y, t = _like(q, lead, queries, v.shape[-1]), cupy.empty((*lead, queries), q.dtype)
    operands = {"q": _rows(q), "k": _rows(k), "v": _rows(v), "y": y, "t": t}
    if m is not None:
        operands["m"] = matrices
    plan = _Plan(lead, (queries, keys, q.shape[-1], v.shape[-1]), operands)
    if launch is None or not plan.fits:
        return by_program()
    heads, numbers = plan.given()
    arrays = (operands["q"], operands["k"], operands["v"], y, t)
    tiles = -(-queries // launch.tile.own)
    launch("attention_values", heads * tiles, *arrays, *_changes(m, r, scale, causal, dropout), numbers)
    return y, t


def attention_pull(
    h: Any, e: Any, y: Any, t: Any, q: Any, k: Any, v: Any, m: Any = None, r: Any = None, *,
    scale: float = 1.0, causal: bool = False, dropout: float = 0.0, learned: bool = True, narrow: bool = False,
) -> Any:  # fmt: skip
    def by_program() -> Any:
        keywords: dict[str, Any] = {"scale": scale, "causal": causal, "dropout": dropout, "learned": learned}
        return program_of("attention_pull")(h, e, y, t, q, k, v, m, r, **keywords)

    if not _taken(q, k, v, m, r) or any(a.dtype != q.dtype for a in (h, e, y, t)):
        return by_program()
    queries, keys, widths = q.shape[-2], k.shape[-2], (q.shape[-1], v.shape[-1])
    matrices = _as_matrices(m)
    lead = np.broadcast_shapes(h.shape[:-2], y.shape[:-2], e.shape[:-1], t.shape[:-1], _lead(q, k, v, matrices))
    if not math.prod(lead) * queries * keys:  # nothing to look at, or nobody who looks
        zeros = tuple(map(cupy.zeros_like, (q, k, v)))
        return (*zeros, cupy.zeros_like(m)) if learned and m is not None and m.dtype.kind != "b" else zeros
    adds = learned and m is not None and m.dtype.kind != "b"
    # In a second derivative logarithms have cotangents, too, and that of the values is no longer of 16 bits.
    if narrow and r is None and not adds and is_absent(e) and _multiplied(q, k, v, lead, causal):
        whole = products.pulled(h, t, q, k, v, matrices, lead, _change((queries, keys, *widths), scale, causal))
        return tuple(_summed_to(c, x.shape) for c, x in zip(whole, (q, k, v), strict=True))
    fixed = are_deterministic_algorithms_enabled()
    both = _shared(lead, k, v)  # axes that keys and values don't have are summed over at once
    launch = _launcher(q.dtype, widths, queries, math.prod(lead))
    launch_keys = _launcher(q.dtype, widths, keys, math.prod(both))
    if launch is None or launch_keys is None:
        return by_program()
    to_q, to_k, to_v = (
        _like(q, lead, queries, widths[0], cupy.empty if fixed else cupy.zeros),
        _like(k, both, keys, widths[0]),
        _like(v, both, keys, widths[1]),
    )
    operands = dict(zip("qkvhy", map(_rows, (q, k, v, h, y)), strict=True))
    operands |= {"t": t, "of_t": e, "to_q": to_q, "to_k": to_k, "to_v": to_v}
    less = to_m = None
    if fixed or adds:
        less = operands["less"] = cupy.empty((*lead, queries), q.dtype)
    if m is not None:
        operands["m"] = matrices
        if adds:
            to_m = operands["to_m"] = cupy.empty(matrices.shape, m.dtype)
    plan = _Plan(lead, (queries, keys, *widths), operands)
    if not plan.fits:
        return by_program()
    q_, k_, v_, h_, y_ = (operands[name] for name in "qkvhy")
    changes = _changes(m, r, scale, causal, dropout)
    given = h_, e, y_, t, less, q_, k_, v_, to_q
    if fixed:
        heads, numbers = plan.given()
        tiles = -(-queries // launch.tile.own)
        launch("attention_queries", heads * tiles, *given, *changes, numbers)
        given = h_, None, None, t, less, q_, k_, v_, None
    groups, numbers = plan.given(("to_k", "to_v"))
    tiles = -(-keys // launch_keys.tile.own)
    launch_keys("attention_keys", groups * tiles, *given, to_k, to_v, not fixed, *changes, numbers)
    cotangents = zip((to_q, to_k, to_v), (q, k, v), strict=True)
    found = tuple(_summed_to(c, x.shape) for c, x in cotangents)
    if to_m is None:
        return found
    groups, numbers = plan.given(("to_m",))
    one_row, one_column = to_m.shape[-2] == 1 != queries, to_m.shape[-1] == 1 != keys
    tiles = (1 if one_row else -(-queries // launch.tile.own)) * (1 if one_column else -(-keys // launch.tile.others))
    arrays = (h_, t, less, q_, k_, v_, to_m)
    launch("attention_mask", groups * tiles, *arrays, *changes, one_row, one_column, numbers)
    return (*found, to_m.reshape(m.shape))


def _shared(lead: tuple[int, ...], k: Any, v: Any) -> tuple[int, ...]:
    """Leading axes with ones for those that neither keys nor values have."""
    sizes = [[1] * (len(lead) - a.ndim + 2) + list(a.shape[:-2]) for a in (k, v)]
    return tuple(1 if one == two == 1 else n for n, one, two in zip(lead, *sizes, strict=True))


TABLE: dict[str, Callable[..., Any]] = {"attention": attention, "attention_pull": attention_pull}
