"""Errors of elementwise primitives: values, VJPs and JVPs at points, against exact ones."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp
from samples import COMPLEX, KEYWORDS, complexified, domain_of

import lucidgrad as lg
from lucidgrad.core.primitive import Primitive

from .numbers import error, largest, ulp
from .pointwise import ANALYTIC, FUNCTIONS, OutsideDomain, real

Point = tuple[Any, ...]

#: How many ordinary points there are; a quick run takes the first ones.
MOST = 40


#: Errors up to this many ulp need no explanation.
LIMIT = 4.0

#: What is measured, in the order of the columns.
COLUMNS = ("value", "vjp", "jvp", "adjoint", "step")


@dataclass
class Peak:
    """The largest error, in ulp, and where; ``eased``: in ulp of what a change of the inputs by half an ulp does."""

    error: float = 0.0
    where: str = ""
    eased: float = 0.0
    eased_where: str = ""


@dataclass
class Row:
    """The largest errors of a primitive with a dtype, by column and kind of point; none where nothing is measured."""

    peaks: dict[str, dict[str, Peak]] = field(default_factory=dict)
    points: int = 0

    def see(self, column: str, kind: str, found: float, where: str, condition: Callable[[], float]) -> None:
        """Note an error; the condition is asked for where it is large."""
        peak = self.peaks.setdefault(column, {}).setdefault(kind, Peak())
        found = found if found > 1e-20 else 0.0
        if found > peak.error:
            peak.error, peak.where = found, where
        if found > peak.eased:
            eased = found / max(1.0, condition()) if found > LIMIT else found
            if eased > peak.eased:
                peak.eased, peak.eased_where = eased, where

    def largest(self, column: str, eased: bool = False) -> float | None:
        """The largest error of a column."""
        peaks = self.peaks.get(column)
        return None if not peaks else max(p.eased if eased else p.error for p in peaks.values())


# -- points ------------------------------------------------------------------------------------------
#: Points that are hard for some function: near zero, at integers and halves, far out.
SPECIAL = [0.0, 1e-300, 1e-30, 1e-8, 1e-3, 0.25, 0.5, 0.75, 0.999, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.5, 40.0, 100.0]

#: Functions with points of their own: where they are defined, or where mpmath is fast.
OWN_POINTS: dict[str, list[float]] = {
    "hurwitz_zeta": [1.001, 1.25, 2.0, 3.5, 10.0, 30.0],
    "riemann_zeta": [1.001, 1.25, 2.0, 3.5, 10.0, 30.0],
    "upper_beta": [0.25, 0.5, 0.75],
    "lower_beta": [0.25, 0.5, 0.75],
    "beta_density": [0.25, 0.5, 0.75],
    "gamma": [0.001, 0.5, 1.0, 1.5, 3.0, 10.5, 30.0, 100.0],
    "gammaln": [0.001, 0.5, 1.25, 3.0, 10.5, 30.0, 1000.0],
    "psi": [0.001, 0.5, 1.0, 3.0, 10.5, 30.0, 1000.0],
    "psi_derivative": [0.001, 0.5, 1.0, 3.0, 10.5, 30.0, 1000.0],
    **{name: [0.001, 0.5, 1.0, 3.0, 10.5, 30.0] for name in ("beta", "betaln")},
    **{name: [0.25, 0.5, 1.0, 2.0, 5.0, 10.0] for name in ("lower_gamma", "upper_gamma", "gamma_density")},
}


def points_of(primitive: Primitive, dtype: str, count: int, complex_numbers: bool = False) -> list[Any]:
    """Arrays of points for the arguments: ordinary ones, then special ones."""
    name, seed = primitive.name, zlib.crc32(primitive.name.encode())
    arity = len(primitive.arrays)
    ordinary = [domain_of(name, i).draw((MOST,), seed + 100 + i)[:count] for i in range(arity)]
    if complex_numbers:
        return [complexified(a, seed + i).astype(dtype) for i, a in enumerate(ordinary)]
    special = OWN_POINTS.get(name, SPECIAL)
    special = special if name in OWN_POINTS else special + [-x for x in special if x]
    tiny = float(np.finfo(dtype).tiny)
    special = [x if abs(x) >= tiny or x == 0 else np.sign(x) * 1e-30 for x in special]
    special = special if count == MOST else special[:: max(1, 12 // count)]
    if arity > 1:
        rng = np.random.default_rng(seed)
        mixed = [rng.permutation(np.resize(special, 2 * len(special))) for _ in range(arity)]
    else:
        mixed = [np.asarray(special)]
    made = []
    for i, (a, b) in enumerate(zip(ordinary, mixed, strict=True)):
        b = rng.integers(0, 2, b.shape).astype(bool) if domain_of(name, i).kind == "b" else b
        made.append(np.concatenate([a, b]).astype(a.dtype if a.dtype.kind != "f" else dtype))
    return made


# -- exact values and derivatives at a point -----------------------------------------------------------
class Unclear(ArithmeticError):
    """The digits do not suffice, or the function has a kink there."""


def _settled(function: Callable[[], Any]) -> Any:
    """A value on which two precisions agree."""
    before = None
    for digits in (60, 100, 220, 500, 1100):
        with mp.workdps(digits):
            now = function()
        # A zero may be all that is left of a difference: it counts if all digits say so.
        if before is not None and abs(now - before) <= abs(now) * mp.mpf(10) ** -25 and (now != 0 or digits > 1000):
            return now
        before = now
    raise Unclear


def value_at(function: Callable[..., Any], xs: Point, is_real: bool) -> Any:
    """The exact value."""
    return _settled(lambda: real(function(*xs)) if is_real else mp.mpc(function(*xs)))


def slope_at(function: Callable[..., Any], xs: Point, i: int, is_real: bool, turn: Any = 1) -> Any:
    """The exact derivative by one argument (times a direction, for complex numbers); raises at kinks."""

    def difference() -> Any:
        # At zero the others say what is small.
        size = abs(xs[i]) if xs[i] != 0 else min([abs(x) for x in xs if x != 0 and x is not True], default=mp.mpf(1))
        h = min(size, mp.mpf(10) ** 6) * mp.mpf(10) ** -(mp.dps // 3)

        def moved(step: Any) -> Any:
            y = function(*(x + step * turn if k == i else x for k, x in enumerate(xs)))
            return real(y) if is_real else mp.mpc(y)

        ahead, here, behind = moved(h), moved(mp.mpf(0)), moved(-h)
        right, left = (ahead - here) / h, (here - behind) / h
        if abs(right - left) > (abs(right) + abs(left)) * mp.mpf(10) ** -6 and abs(right - left) > h * 10**9:
            raise Unclear
        return (ahead - behind) / (2 * h)

    return _settled(difference)


# -- measurement ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Setting:
    """How a primitive is run: ``length`` is what arrays have at least, the points being repeated."""

    dtype: str
    device: str = "cpu"
    count: int = MOST
    length: int = 0

    def tensor(self, values: Any) -> Any:
        """Values as a tensor, repeated if they are few."""
        return lg.asarray(np.resize(values, max(len(values), self.length)), device=self.device)


def measure(primitive: Primitive, dtype: str, device: str = "cpu", count: int = MOST, length: int = 0) -> Row:
    """The errors of an elementwise primitive; every set of keywords that the samples have counts."""
    row, setting = Row(), Setting(dtype, device, count, length)
    for keywords in KEYWORDS.get(primitive.name, [{}]):
        _measure(row, primitive, keywords, points_of(primitive, dtype, count, dtype[0] == "c"), setting)
    if dtype == "float64" and primitive.name in ANALYTIC & COMPLEX:
        _complex_step(row, primitive, [p[:count] for p in points_of(primitive, dtype, count)], device)
    return row


def _numbers(array: Any) -> list[Any]:
    if array.dtype.kind == "c":
        return [mp.mpc(float(z.real), float(z.imag)) for z in array]
    return [mp.mpf(float(x)) for x in array] if array.dtype.kind == "f" else list(array)


def _measure(row: Row, primitive: Primitive, keywords: dict[str, Any], points: Sequence[Any], setting: Setting) -> None:
    dtype = setting.dtype
    function = FUNCTIONS[primitive.name]
    wanted = [i for i in primitive.differentiable if points[i].dtype.kind in "fc"]
    exact_of = partial(function, **keywords)
    values, slopes, kept = _exact(exact_of, list(zip(*map(_numbers, points), strict=True)), wanted, dtype)
    if not kept:
        return
    points = [p[kept] for p in points]
    rng = np.random.default_rng(len(kept))
    ts = {i: _draw(rng, len(kept), dtype) for i in wanted}
    args = [setting.tensor(p) for p in points]
    with np.errstate(all="ignore"):
        xs = [args[i].requires_grad_() for i in wanted]
        y = primitive.op(*args, **keywords)
        out = str(np.dtype(y.numpy(force=True).dtype))
        g = _draw(rng, len(kept), out)
        found = y.numpy(force=True)
        grads = lg.autograd.grad(y, xs, setting.tensor(g), materialize_grads=True) if y.requires_grad else []
        forth = _forward(primitive, args, {i: setting.tensor(t) for i, t in ts.items()}, keywords)
    row.points += len(kept)
    grads = [a.numpy(force=True) for a in grads]
    rows, is_real = list(zip(*map(_numbers, points), strict=True)), dtype[0] == "f"
    for n in range(len(kept)):
        kind = "ordinary" if kept[n] < setting.count else "special"
        where = ", ".join(f"{p[n]:.6g}" for p in points) + "".join(f", {k}={v}" for k, v in keywords.items())
        off = error(found[n], np.asarray(values[n]), np.asarray(values[n]), out)
        row.see("value", kind, off, where, lambda n=n: _condition(values[n], rows[n], slopes[n]))
        if slopes[n] is None or not grads:
            continue
        seed, total, size, back = _numbers(g)[n], mp.mpf(0), mp.mpf(0), mp.mpf(0)
        bends = _Bends(exact_of, rows[n], wanted, is_real, slopes[n])
        for k, i in enumerate(wanted):
            by = slopes[n][i]  # along 1, and along the imaginary unit
            parts = [mp.re(mp.conj(seed) * d) for d in by]
            expected = parts[0] if len(by) == 1 else mp.mpc(*parts)
            off = error(grads[k][n], np.asarray(expected), np.asarray(expected), dtype)
            row.see("vjp", kind, off, f"{where}; input {i}", lambda b=bends, i=i: b.of(i))
            t = _numbers(ts[i])[n]
            moved = by[0] * mp.re(t) + (by[1] * mp.im(t) if len(by) > 1 else 0)
            total, size = total + moved, size + abs(moved)
            back += mp.re(mp.conj(mp.mpmathify(complex(grads[k][n]))) * t)
        if forth is not None:
            off = error(forth[n], np.asarray(total), np.asarray(size), out)
            row.see("jvp", kind, off, where, lambda b=bends: max(b.of(i) for i in b.wanted))
            met = mp.re(mp.conj(seed) * mp.mpmathify(complex(forth[n])))
            row.see("adjoint", kind, float(abs(met - back) / ulp(abs(seed) * size, out)), where, lambda: 1.0)


def _condition(value: Any, xs: Point, slopes: Any) -> float:
    """By how many half ulps a value changes if all inputs change by half an ulp."""
    if value == 0 or slopes is None:
        return 1.0
    return float(sum(abs(xs[i]) * max(map(abs, by)) for i, by in slopes.items()) / abs(value))


class _Bends:
    """By how many half ulps derivatives change if all inputs change by half an ulp."""

    def __init__(self, function: Any, xs: Point, wanted: list[int], is_real: bool, slopes: Any) -> None:
        self.function, self.xs, self.wanted, self.is_real, self.slopes = function, xs, wanted, is_real, slopes

    def of(self, i: int) -> float:
        """The condition of the derivative by one input."""
        total = mp.mpf(0)
        here = self.slopes[i][0]
        if here == 0:
            return 1.0
        for k in self.wanted:
            if self.xs[k] == 0:
                continue
            near = [tuple(x * (1 + s) if m == k else x for m, x in enumerate(self.xs)) for s in (_NEAR, -_NEAR)]
            try:
                ahead, behind = (slope_at(self.function, xs, i, self.is_real) for xs in near)
            except (ArithmeticError, ValueError, TypeError):
                continue
            total += abs(ahead - behind) / (2 * _NEAR * abs(here))
        return float(total)


_NEAR = mp.mpf(10) ** -12


def _exact(function: Callable[..., Any], rows: list[Point], wanted: list[int], dtype: str) -> Any:
    """Values, derivatives by argument (None at kinks), and the points that are inside the domain."""
    is_real, top = dtype[0] == "f", largest(dtype)
    values, slopes, kept = [], [], []
    for n, xs in enumerate(rows):
        try:
            y = value_at(function, xs, is_real)
            if abs(y) > top:
                continue
        except (ArithmeticError, ValueError, OutsideDomain, TypeError):
            continue
        try:
            turns = (1,) if is_real else (1, mp.mpc(0, 1))
            found = {i: [slope_at(function, xs, i, is_real, turn) for turn in turns] for i in wanted}
            if any(abs(d) > top / 16 for by in found.values() for d in by):
                found = None
        except (ArithmeticError, ValueError, OutsideDomain, TypeError):
            found = None
        values.append(y)
        slopes.append(found)
        kept.append(n)
    return values, slopes, kept


def _draw(rng: Any, count: int, dtype: str) -> Any:
    values = rng.uniform(0.5, 2, count) * rng.choice([-1, 1], count)
    return (values + 1j * rng.uniform(0.5, 2, count) if dtype[0] == "c" else values).astype(dtype)


def _forward(primitive: Primitive, args: list[Any], ts: dict[int, Any], keywords: dict[str, Any]) -> Any:
    """The tangent of the result."""

    def of(*moved: Any) -> Any:
        full = [a.detach() for a in args]
        for i, x in zip(ts, moved, strict=True):
            full[i] = x
        return primitive.op(*full, **keywords)

    if not ts:
        return None
    _, t = lg.func.jvp(of, tuple(args[i].detach() for i in ts), tuple(ts.values()))
    return t.numpy(force=True)


def _complex_step(row: Row, primitive: Primitive, points: Sequence[Any], device: str) -> None:
    """``imag f(x + ih) / h`` has no rounding but the function's own: the distance of the VJP from it, in ulp."""
    for i in primitive.differentiable:
        if points[i].dtype.kind != "f":
            continue
        args = [lg.asarray(p, device=device) for p in points]
        with np.errstate(all="ignore"):
            x = args[i].requires_grad_()
            y = primitive.op(*args)
            (slope,) = lg.autograd.grad(y, [x], lg.ones_like(y), materialize_grads=True)
            moved = list(points)
            h = 1e-30 * np.where(points[i] == 0, 1, np.abs(points[i]))
            moved[i] = points[i] + 1j * h
            stepped = primitive.op(*(lg.asarray(m, device=device) for m in moved)).numpy(force=True).imag / h
            slope = slope.numpy(force=True)
            known = np.isfinite(stepped) & np.isfinite(y.numpy(force=True)) & np.isfinite(slope) & (slope != 0)
            off = np.abs(stepped - slope) / np.spacing(np.abs(slope))
        for n in np.flatnonzero(known):
            row.see("step", "ordinary", float(off[n]), f"{points[i][n]:.6g}; input {i}", lambda: 1.0)
