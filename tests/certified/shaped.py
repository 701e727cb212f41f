"""Errors of primitives that are not elementwise: values, VJPs and JVPs of small arrays, against exact ones.

The unit is the ulp of the sum of the absolute terms: of ``sum_j |g_j J_ji|`` for entry i of a VJP, of
``sum_i |J_ji t_i|`` for entry j of a JVP, and of ``sum_i |x_i J_ji|`` (or of the value, if it is larger) for a value.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp
from rows import COMPLEX_ROWS, ROWS
from samples import PREPARE, Sample, complexified

import lucidgrad as lg
from lucidgrad.core.primitive import Primitive

from . import arrays, matrices, windows
from .measure import Row
from .numbers import STEP, WORKING, error, exact, ulp, zeros

FUNCTIONS: dict[str, Callable[..., Any]] = {**arrays.FUNCTIONS, **windows.FUNCTIONS, **matrices.FUNCTIONS}

#: Entries that the inputs of a sample may have: exact Jacobians take two evaluations for each.
ENTRIES = 40

#: What values are scaled by at special points, for functions that must not overflow or cancel; others stay as they are.
FAR = {
    **dict.fromkeys(["softmax", "log_softmax", "logsumexp", "logcumsumexp"], lambda x: x * 300),
    **dict.fromkeys(["cross_entropy_rows", "cross_entropy_pull"], lambda x: x * 300 if x.dtype.kind == "f" else x),
    **dict.fromkeys(["var", "std", "mean", "sum"], lambda x: x + 1000),
    **dict.fromkeys(["vector_norm", "prod", "cumulative_sum", "cumulative_prod"], lambda x: x * 1e6),
    **dict.fromkeys(["standardise", "layer_norm", "batch_norm"], lambda x: x * 1000),
    **dict.fromkeys(["matmul", "pair_einsum", "convolution"], lambda x: x * 1e3 + 1e3),
    **dict.fromkeys(["inv", "solve", "det", "slogdet"], lambda x: x * 1e6),
}


def samples_of(primitive: Primitive, dtype: str) -> list[tuple[str, Sample]]:
    """Ordinary and special calls of a size that exact numbers can handle, in a dtype."""
    name, kind = primitive.name, dtype[0]
    found = []
    for sample in ROWS[name]:
        floats = [a for a in sample.arrays() if a.dtype.kind in "fc"]
        entries = sum(a.size for a in floats)
        if not floats or not entries or entries > ENTRIES or any(a.size == 0 for a in sample.arrays()):
            continue
        if kind == "c" and (name in COMPLEX_ROWS or any(a.dtype.kind == "c" for a in floats)):
            found.append(("ordinary", _cast(_complex(sample).map(PREPARE.get(name, np.asarray)), dtype)))
        elif kind == "f" and not any(a.dtype.kind == "c" for a in floats):
            found.append(("ordinary", _cast(sample, dtype)))
            if name in FAR:
                found.append(("special", _cast(sample.map(FAR[name]), dtype)))
    return found


def _complex(sample: Sample) -> Sample:
    return Sample(tuple(complexified(a, i) for i, a in enumerate(sample.args)), sample.keywords)


def _cast(sample: Sample, dtype: str) -> Sample:
    names = {"f": "float32", "c": "complex64"} if dtype == "float32" else {"f": "float64", "c": "complex128"}
    into = {**names, "f": dtype}  # where a call asks for a dtype
    changed = {
        k: np.dtype(into[v.kind]) if k == "dtype" and isinstance(v, np.dtype) and v.kind in into else v
        for k, v in sample.keywords.items()
    }
    moved = sample.map(lambda a: a.astype(names.get(a.dtype.kind, a.dtype)))
    return Sample(moved.args, changed)


# -- measurement ---------------------------------------------------------------------------------------
def measure(primitive: Primitive, dtype: str, device: str = "cpu", count: int = 40) -> Row:
    """The errors of a primitive on its samples, of which ``count`` are taken at most."""
    row = Row()
    found = samples_of(primitive, dtype)
    # From the front, the middle and the end: rows go from plain calls to those with many keywords.
    for kind, sample in found if len(found) <= count else [found[k * len(found) // count] for k in range(count)]:
        with mp.workdps(WORKING if kind == "ordinary" else 10 * WORKING):  # exponentials of far values lose digits
            _Call(row, primitive, kind, sample, dtype, device).measure()
    return row


def is_inexact(value: Any) -> bool:
    """Whether a value is an array of floats or complex numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


class _Call:
    """One call, its exact function and its exact Jacobian."""

    def __init__(self, row: Row, primitive: Primitive, kind: str, sample: Sample, dtype: str, device: str) -> None:
        self.row, self.primitive, self.kind, self.sample, self.dtype = row, primitive, kind, sample, dtype
        self.device = device
        places = range(len(sample.args)) if primitive.variadic and primitive.joint else primitive.differentiable
        self.places = [i for i in places if i < len(sample.args) and is_inexact(sample.args[i])]
        self.hermitian = primitive.name in PREPARE
        self.like: Any = None

    def function(self, xs: Sequence[Any]) -> list[Any]:
        """Exact outputs; None where they are integers."""
        keywords = dict(self.sample.keywords)
        if self.primitive.name in matrices.LIKE:
            keywords["like"] = self.like
        y = FUNCTIONS[self.primitive.name](*xs, **keywords)
        parts = y if isinstance(y, tuple) else (y,)
        return [None if part is None else np.asarray(part, dtype=object) for part in parts]

    def run(self) -> tuple[Any, ...]:
        """Found: outputs, seeds, gradients, tangents in and out."""
        args = [lg.asarray(a, device=self.device) if isinstance(a, np.ndarray) else a for a in self.sample.args]
        keywords = {k: _on(v, self.device) for k, v in self.sample.keywords.items()}
        keywords |= {"device": self.device} if "device" in keywords else {}
        xs = [args[i].requires_grad_() for i in self.places]
        y = self.primitive.op(*args, **keywords)
        ys = list(y) if isinstance(y, (tuple, list)) else [y]
        rng = np.random.default_rng(len(self.sample.args))
        live = [part for part in ys if part.requires_grad]
        seeds = [_draw(rng, part.shape, part.numpy(force=True).dtype) for part in live]
        grads = lg.autograd.grad(live, xs, [lg.asarray(g, device=self.device) for g in seeds], materialize_grads=True)
        ts = [_draw(rng, x.shape, self.sample.args[i].dtype) for i, x in zip(self.places, xs, strict=True)]
        ts = [(t + t.swapaxes(-1, -2).conj()) / 2 for t in ts] if self.hermitian else ts

        def of(*moved: Any) -> Any:
            full = [a.detach() if isinstance(a, lg.Tensor) else a for a in args]
            for i, x in zip(self.places, moved, strict=True):
                full[i] = x
            found = self.primitive.op(*full, **keywords)
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)

        tangents = tuple(lg.asarray(t, device=self.device) for t in ts)
        _, forth = lg.func.jvp(of, tuple(x.detach() for x in xs), tangents)
        alive = iter(seeds)
        seeds = [next(alive) if part.requires_grad else None for part in ys]
        return ([part.numpy(force=True) for part in ys], seeds, [g.numpy(force=True) for g in grads], ts,
                [None if t is None else t.numpy(force=True) for t in forth])  # fmt: skip

    def jacobian(self, xs: Sequence[Any]) -> list[Any]:
        """By differentiable input: its exact Jacobian, as (entries, directions, outputs flat)."""
        turns = [mp.mpf(1), mp.mpc(0, 1)]
        found = []
        for i in self.places:
            directions = turns if self.sample.args[i].dtype.kind == "c" else turns[:1]
            columns = []
            for at in np.ndindex(xs[i].shape):
                columns.append([self._difference(xs, i, at, turn) for turn in directions])
            found.append(columns)
        return found

    def _difference(self, xs: Sequence[Any], i: int, at: Any, turn: Any) -> Any:
        ends = []
        for sign in (1, -1):
            moved = list(xs)
            moved[i] = np.array(xs[i], dtype=object)
            step = sign * STEP * turn
            if self.hermitian:  # functions of the Hermitian part
                moved[i][at] += step / 2
                moved[i][(*at[:-2], at[-1], at[-2])] += mp.conj(step) / 2
            else:
                moved[i][at] += step
            ends.append(_flat(self.function(moved)))
        return (ends[0] - ends[1]) / (2 * STEP)

    def measure(self) -> None:
        ys, seeds, grads, ts, forth = self.run()
        self.like = ys
        if not any(g is not None for g in seeds):
            return
        xs = [exact(a) if isinstance(a, np.ndarray) else a for a in self.sample.args]
        values = self.function(xs)
        if any(mp.isinf(v) for v in _flat(values)):
            return  # nothing to differentiate
        jacobian = self.jacobian(xs)
        self.row.points += sum(xs[i].size for i in self.places)
        where = str(self.sample)
        flat_seed = _flat([None if v is None else zeros(v.shape) if g is None else exact(g)
                           for g, v in zip(seeds, values, strict=True)])  # fmt: skip
        outs = [np.asarray(y) for y, v in zip(ys, values, strict=True) if v is not None]
        dtypes = [str(y.dtype) for y in outs for _ in range(y.size)]
        flat_y, flat_found = _flat(values), [v for y in outs for v in y.ravel()]
        size = np.array([abs(v) for v in flat_y], dtype=object)
        moved, terms = zeros(len(flat_y)), zeros(len(flat_y))
        back = mp.mpf(0)
        for k, i in enumerate(self.places):
            felt = zeros(len(flat_y))
            for n, at in enumerate(np.ndindex(xs[i].shape)):
                by = jacobian[k][n]
                parts = [sum((mp.re(mp.conj(g) * d) for g, d in zip(flat_seed, c, strict=True)), mp.mpf(0)) for c in by]
                scale = sum((abs(g) * abs(d) for c in by for g, d in zip(flat_seed, c, strict=True)), mp.mpf(0))
                expected = parts[0] if len(parts) == 1 else mp.mpc(*parts)
                if scale or expected or grads[k][at]:
                    off = error(grads[k][at], np.asarray(expected), np.asarray(scale), self.dtype)
                    bend = self._bend(xs, k, n, scale, flat_seed) if self.dtype == "float64" else _unasked
                    self.row.see("vjp", self.kind, off, f"{where}, input {i}", bend)
                t = exact(ts[k])[at]
                for c, part in zip(by, (mp.re(t), mp.im(t)), strict=False):
                    moved, terms = moved + c * part, terms + np.array([abs(v * part) for v in c], dtype=object)
                steepest = np.array([max(map(abs, slopes)) for slopes in zip(*by, strict=True)], dtype=object)
                felt = felt + abs(xs[i][at]) * steepest
                back += mp.re(mp.conj(mp.mpmathify(complex(grads[k][at]))) * t)
            size = np.array([max(a, b) for a, b in zip(size, felt, strict=True)], dtype=object)
        flat_forth = [v for t, value in zip(forth, values, strict=True) if value is not None for v in np.ravel(t)]
        met, weight = mp.mpf(0), mp.mpf(0)
        for m in range(len(flat_y)):
            off = error(flat_found[m], np.asarray(flat_y[m]), np.asarray(size[m]), dtypes[m])
            self.row.see("value", self.kind, off, where, lambda: 1.0)
            off = error(flat_forth[m], np.asarray(moved[m]), np.asarray(terms[m]), dtypes[m])
            bend = self._bend_forth(xs, m, terms[m], ts) if self.dtype == "float64" else _unasked
            self.row.see("jvp", self.kind, off, where, bend)
            met += mp.re(mp.conj(flat_seed[m]) * mp.mpmathify(complex(flat_forth[m])))
            weight += abs(flat_seed[m]) * terms[m]
        if weight:
            self.row.see("adjoint", self.kind, float(abs(met - back) / ulp(weight, self.dtype)), where, lambda: 1.0)

    # -- what a change of the inputs by half an ulp does to derivatives
    def _near(self, xs: Sequence[Any]) -> list[Any]:
        """Exact Jacobians at changed inputs, with the size of the change's inverse; made once."""
        if not hasattr(self, "_bent"):
            self._bent = []
            near = mp.mpf(10) ** -12
            for i in self.places:
                for at in np.ndindex(xs[i].shape):
                    if xs[i][at] == 0:
                        continue
                    ends = []
                    for sign in (1, -1):
                        moved = list(xs)
                        moved[i] = np.array(xs[i], dtype=object)
                        moved[i][at] *= 1 + sign * near
                        ends.append(self.jacobian(moved))
                    self._bent.append((ends, 2 * near))
        return self._bent

    def _bend(self, xs: Sequence[Any], k: int, n: int, scale: Any, seed: Any) -> Callable[[], float]:
        def of() -> float:
            total = mp.mpf(0)
            for (ahead, behind), width in self._near(xs):
                total += abs(sum((abs(g) * abs(a - b) for c, d in zip(ahead[k][n], behind[k][n], strict=True)
                                  for g, a, b in zip(seed, c, d, strict=True)), mp.mpf(0))) / width  # fmt: skip
            return float(total / scale) if scale else 1.0

        return of

    def _bend_forth(self, xs: Sequence[Any], m: int, scale: Any, ts: Sequence[Any]) -> Callable[[], float]:
        def of() -> float:
            total = mp.mpf(0)
            for (ahead, behind), width in self._near(xs):
                for k in range(len(self.places)):
                    for n, at in enumerate(np.ndindex(np.shape(ts[k]))):
                        step = max(abs(c[m] - d[m]) for c, d in zip(ahead[k][n], behind[k][n], strict=True))
                        total += step * abs(complex(ts[k][at])) / width
            return float(total / scale) if scale else 1.0

        return of


def _unasked() -> float:
    """The condition where nobody asks for it."""
    return 1.0


def _flat(parts: Sequence[Any]) -> Any:
    return np.concatenate([np.ravel(p) for p in parts if p is not None])


def _on(value: Any, device: str) -> Any:
    """A keyword with the arrays in it on a device."""
    from lucidgrad.core.device import backend_named

    if isinstance(value, np.ndarray) and device != "cpu":
        return backend_named(device).asarray(value)
    return tuple(_on(v, device) for v in value) if type(value) is tuple else value


def _draw(rng: Any, shape: Any, dtype: Any) -> Any:
    values = rng.uniform(0.5, 2, shape) * rng.choice([-1, 1], shape)
    values = values + 1j * rng.uniform(0.5, 2, shape) if np.dtype(dtype).kind == "c" else values
    return np.asarray(values).astype(dtype)
