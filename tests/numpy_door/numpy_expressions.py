"""Expressions that NumPy reads: every function that NumPy hands on to tensors, with arguments, one or more of each.

``np`` stands for NumPy, given arrays or tensors, or for the door. Results are compared as numbers with what NumPy gives
for arrays, and gradients with respect to all floats among the names with finite differences.
"""

import re
import warnings

import numpy as np


def _numbers(seed, *shape):
    """Distinct numbers that differ by more than a step of a difference, both negative and positive."""
    n = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(-1.9, 2.1, n)).reshape(shape)


_a = _numbers(20, 3, 3)

#: What the names in expressions are.
GIVEN = {
    "x": _numbers(1, 3, 4),
    "y": _numbers(2, 3, 4) + 0.013,
    "u": _numbers(3, 4),
    "v": _numbers(4, 3),
    "w": np.abs(_numbers(5, 5)) + 0.1,
    "b": _numbers(6, 2, 3, 4),
    "c": _numbers(7, 2, 4, 2),
    "m": _numbers(8, 4, 4) + 3 * np.eye(4),
    "h": _a @ _a.T + 3 * np.eye(3),
    "tall": _numbers(9, 5, 3),
    "s": np.asarray(0.7),
    "p": 0.05 + 0.9 * (_numbers(11, 3, 4) + 2) / 4.2,
    "z": _numbers(12, 3, 4) + 1j * _numbers(13, 3, 4),
    "zv": _numbers(14, 5) + 1j * _numbers(15, 5),
    "rising": np.asarray([-1.5, -0.2, 0.4, 1.1, 2.0]),
    "angles": np.asarray([0.1, 2.9, -3.0, -0.5, 3.1, -2.2]),
    "lead": np.asarray([0.0, 1.5, 0.0, -2.0, 0.0]),
    "gaps": np.asarray([[np.nan, 1.0, -0.5, 0.3], [0.2, np.nan, 2.0, 0.7], [0.4, -0.9, 1.3, -1.7]]),
    "odd": np.asarray([np.nan, 1.0, -np.inf, np.inf, -0.0, 2.5]),
    "i": np.asarray([2, 0, 1]),
    "j": np.asarray([0, 2, 2, 1]),
    "n": np.asarray([[12, -8, 0, 7], [5, 30, 16, 1], [-9, 6, 4, 0]]),
    "o": np.asarray([[18, 6, 5, -3], [10, 4, 24, 1], [3, -6, 2, 7]]),
    "mask": np.asarray([[True, False, True, True], [False, True, False, True], [True, True, False, False]]),
    "four": np.asarray([True, False, False, True]),
    "f": (_numbers(16, 3, 4) + 0.3).astype(np.float32),
    "rows": np.asarray([[1, 2], [0, 5], [1, 2], [1, 1]]),
}

EXPRESSIONS = """
np.absolute(x) | np.absolute(z) | np.abs(n) | np.fabs(x) | np.negative(x) | np.positive(x) | np.sign(x) | np.square(z)
np.sqrt(p) | np.cbrt(x) | np.reciprocal(x) | np.exp(x) | np.exp2(x) | np.expm1(x) | np.log(p) | np.log2(p)
np.log10(p) | np.log1p(p) | np.sin(x) | np.cos(x) | np.tan(x) | np.arcsin(p) | np.arccos(p) | np.arctan(x)
np.sinh(x) | np.cosh(x) | np.tanh(x) | np.arcsinh(x) | np.arccosh(p + 1.5) | np.arctanh(p) | np.deg2rad(x)
np.rad2deg(x) | np.degrees(x) | np.radians(x) | np.ceil(x) | np.floor(x) | np.trunc(x) | np.rint(x) | np.rint(n)
np.fix(x) | np.conjugate(z) | np.conj(x) | np.isfinite(odd) | np.isinf(odd) | np.isnan(odd) | np.signbit(odd)
np.spacing(x) | np.logical_not(mask) | np.logical_not(x) | np.invert(n) | np.invert(mask) | np.bitwise_count(n)
np.modf(x) | np.modf(odd[1:]) | np.frexp(x) | np.sin(n) | np.exp(i) | np.sqrt(abs(n)) | np.reciprocal(2 * w)
np.cbrt(n) | np.fabs(n) | np.exp(f) | np.exp(z) | np.add(x, u) | np.add(x, 2) | np.add(1.5, x) | np.add(n, x)
np.add(x, [1.0, 2.0, 3.0, 4.0]) | np.subtract(x, y) | np.multiply(x, v[:, None]) | np.divide(x, y)
np.divide(n, abs(o)) | np.true_divide(n, 4) | np.floor_divide(x, p) | np.floor_divide(n, o) | np.remainder(x, p)
np.remainder(n, o) | np.mod(n, 7) | np.fmod(x, p) | np.fmod(n, o) | np.divmod(x, p) | np.divmod(n, o) | np.power(p, x)
np.power(p, 2) | np.power(n, abs(o)) | np.pow(2.0, x) | np.float_power(p, y) | np.float_power(abs(n) + 1, 2)
np.float_power(f[f > 0], 2.0) | np.arctan2(x, y) | np.hypot(x, y) | np.copysign(x, y) | np.copysign(x, -1.0)
np.nextafter(x, y) | np.ldexp(x, 3) | np.ldexp(x, j) | np.heaviside(x, 0.5) | np.logaddexp(x, y) | np.logaddexp2(x, y)
np.maximum(x, y) | np.maximum(x, 0.0) | np.minimum(x, y) | np.fmax(x, y) | np.fmin(x, y) | np.fmax(odd, 0.5)
np.maximum(odd, 0.5) | np.gcd(n, o) | np.lcm(n, o) | np.bitwise_and(n, o) | np.bitwise_or(n, o) | np.bitwise_xor(n, o)
np.left_shift(n, 2) | np.right_shift(n, 1) | np.logical_and(mask, x > 0) | np.logical_or(mask, x > 0)
np.logical_xor(mask, x > 0) | np.equal(n, o) | np.not_equal(n, o) | np.less(x, y) | np.less_equal(x, y)
np.greater(x, y) | np.greater_equal(x, y) | np.matmul(x, m) | np.matmul(b, m) | np.matmul(u, m) | np.vecdot(x, y)
np.vecdot(z, z) | np.vecdot(x, y, axis=0) | np.matvec(m, u) | np.vecmat(u, m) | np.vecmat(z[0], z.T)
np.add(x, y, dtype=np.float32) | np.multiply(n, o, dtype=float) | np.exp(i, dtype=np.float64)
np.equal(n, o, dtype=bool) | np.add(x, y, out=None) | np.add(x, y, where=True)
np.sin(x, casting="same_kind", order="K", subok=True)

np.add.reduce(x) | np.add.reduce(x, axis=1) | np.add.reduce(x, axis=None) | np.add.reduce(b, (0, 2))
np.add.reduce(n) | np.add.reduce(x, 1, keepdims=True) | np.multiply.reduce(x, 1) | np.maximum.reduce(x)
np.minimum.reduce(x, axis=None) | np.logaddexp.reduce(x) | np.logical_and.reduce(mask)
np.logical_or.reduce(mask, axis=1) | np.subtract.reduce(x, 1) | np.divide.reduce(p, 0)
np.hypot.reduce(x, axis=1, keepdims=True) | np.bitwise_or.reduce(n) | np.fmax.reduce(odd)
np.bitwise_xor.reduce(n[:0]) | np.add.reduce(x, dtype=np.float32) | np.power.reduce(p[:, :2], axis=1)
np.add.accumulate(x) | np.add.accumulate(x, axis=1) | np.multiply.accumulate(x, 1) | np.maximum.accumulate(x)
np.minimum.accumulate(x, axis=1) | np.logaddexp.accumulate(x, 1) | np.subtract.accumulate(x, 0) | np.add.accumulate(n)
np.add.outer(u, v) | np.subtract.outer(x, v) | np.multiply.outer(u, [1.0, 2.0]) | np.maximum.outer(u, v + 0.05)
np.less.outer(u, v) | np.equal.outer(i, j)

np.sum(x) | np.sum(x, 0) | np.sum(x, axis=(0, 1)) | np.sum(b, axis=(0, 2), keepdims=True) | np.sum(n) | np.sum(mask)
np.sum(x, dtype=np.float32) | np.sum(f) | np.sum(x, 0, None, None, True) | np.prod(x) | np.prod(x, 1)
np.prod(n[:, :2]) | np.mean(x) | np.mean(x, axis=1, keepdims=True) | np.mean(n) | np.mean(f, 0)
np.mean(n, dtype=np.float32) | np.std(x) | np.std(x, 0) | np.std(x, ddof=1) | np.std(x, axis=1, correction=1)
np.var(x) | np.var(x, 1, ddof=1) | np.var(n) | np.var(z) | np.std(f) | np.max(x) | np.max(x, 0) | np.max(n, axis=1)
np.amax(x, axis=(0, 1)) | np.min(x, 1, keepdims=True) | np.amin(x) | np.ptp(x) | np.ptp(x, 0) | np.all(mask)
np.all(mask, 0) | np.any(mask, axis=1, keepdims=True) | np.all(x) | np.argmax(x) | np.argmax(x, 1)
np.argmin(x, axis=0, keepdims=True) | np.count_nonzero(n) | np.count_nonzero(n, axis=0) | np.average(x)
np.average(x, axis=1, weights=[1.0, 2.0, 3.0, 4.0]) | np.average(x, weights=p) | np.average(n)
np.average(x, 0, [1.0, 2.0, 3.0], returned=True) | np.cumsum(x) | np.cumsum(x, 1) | np.cumprod(x)
np.cumprod(x, axis=0) | np.cumsum(n, 0) | np.cumulative_sum(x, axis=1) | np.cumulative_sum(u, include_initial=True)
np.cumulative_prod(x, axis=0) | np.nansum(gaps) | np.nansum(gaps, 0) | np.nanprod(gaps, axis=1) | np.nanmean(gaps, 0)
np.nanvar(gaps, ddof=1) | np.nanstd(gaps, axis=1) | np.nanmax(gaps) | np.nanmin(gaps, 0) | np.nanargmax(gaps)
np.nanargmin(gaps, 1) | np.nancumsum(gaps) | np.nancumsum(gaps, 1) | np.nancumprod(gaps, axis=0)
np.nanmedian(gaps, axis=1) | np.nanmedian(gaps) | np.nanquantile(gaps, 0.3, axis=1) | np.nanpercentile(gaps, 60)
np.median(x) | np.median(x, 1) | np.median(n) | np.median(x, axis=(0, 1), keepdims=True) | np.quantile(x, 0.3)
np.quantile(x, [0.2, 0.7], axis=1) | np.quantile(x, 0.4, method="lower") | np.percentile(x, 35, axis=0)
np.percentile(n, 50) | np.cov(x) | np.cov(x, y) | np.cov(x, rowvar=False) | np.cov(x, bias=True) | np.cov(x, ddof=2)
np.cov(x, aweights=[1.0, 2.0, 1.0, 3.0]) | np.cov(u) | np.corrcoef(x) | np.corrcoef(x, y) | np.corrcoef(u, x[0])
np.trapezoid(x) | np.trapezoid(x, u) | np.trapezoid(x, dx=0.5, axis=0) | np.diff(x) | np.diff(x, 2, axis=1)
np.diff(x, axis=0, prepend=0.0) | np.diff(u, append=[3.0, 4.0]) | np.diff(n) | np.diff(mask) | np.ediff1d(x)
np.ediff1d(u, to_end=[9.0], to_begin=-1.0) | np.gradient(u) | np.gradient(x) | np.gradient(x, 0.5)
np.gradient(x, axis=1) | np.gradient(w, rising) | np.gradient(x, 2.0, [0.0, 1.0, 3.0, 4.5])
np.gradient(u, edge_order=2) | np.unwrap(angles) | np.unwrap(angles, discont=3.5) | np.unwrap(x * 4, axis=0)
np.unwrap(n, period=10)

np.ndim(x) | np.shape(b) | np.size(x) | np.size(x, 1) | np.iscomplexobj(z) | np.isrealobj(x) | np.reshape(x, (4, 3))
np.reshape(x, -1) | np.reshape(b, (2, -1), order="F") | np.ravel(x) | np.ravel(x, "F") | np.transpose(x)
np.transpose(b, (1, 0, 2)) | np.transpose(b) | np.matrix_transpose(b) | np.swapaxes(b, 0, 2) | np.moveaxis(b, 0, -1)
np.moveaxis(b, [0, 1], [2, 0]) | np.rollaxis(b, 2) | np.rollaxis(b, 0, 3) | np.expand_dims(x, 1)
np.expand_dims(x, (0, 2)) | np.squeeze(x[:, None]) | np.squeeze(x[None, :, None], 0) | np.squeeze(x)
np.atleast_1d(s) | np.atleast_1d(s, x) | np.atleast_2d(u) | np.atleast_3d(x) | np.broadcast_to(u, (2, 4))
np.broadcast_arrays(u, v[:, None]) | np.concatenate([x, y]) | np.concatenate((x, y), axis=1)
np.concatenate([x, u], axis=None) | np.concatenate([n, x]) | np.concatenate([x, y], dtype=np.float32)
np.stack([x, y]) | np.stack((x, y), -1) | np.stack(b) | np.vstack([x, u]) | np.hstack([x, y]) | np.hstack([u, v])
np.dstack([x, y]) | np.column_stack([v, x]) | np.block([[x, y], [y, x]]) | np.block([u, v])
np.block([[h, v[:, None]], [v, 1.0]]) | np.append(x, y) | np.append(x, y, axis=0) | np.append(u, 3.0)
np.insert(u, 1, 5.0) | np.insert(x, 1, v, axis=1) | np.insert(x, [1, 3], v[:, None], axis=1)
np.insert(u, [0, 2], [7.0, 8.0]) | np.insert(x, 0, u, axis=0) | np.insert(u, slice(1, 3), 9.0)
np.insert(x, 1, [[1.0], [2.0], [3.0]], axis=1) | np.insert(x, [1], [[1.0], [2.0], [3.0]], axis=1)
np.delete(x, 1, axis=1) | np.delete(x, [0, 2], 0) | np.delete(u, slice(1, 3)) | np.delete(x, 5) | np.delete(u, four)
np.resize(u, (2, 3)) | np.resize(x, 5) | np.tile(u, 2) | np.tile(x, (2, 1)) | np.repeat(x, 2)
np.repeat(x, 2, axis=0) | np.repeat(u, [1, 0, 2, 1]) | np.split(x, 2, axis=1) | np.split(u, [1, 3])
np.array_split(u, 3) | np.hsplit(x, 2) | np.vsplit(x, 3) | np.dsplit(b, [1]) | np.unstack(x) | np.unstack(b, axis=1)
np.trim_zeros(lead) | np.trim_zeros(lead, "b") | np.trim_zeros(np.concatenate([[0.0], u, [0.0]])) | np.flip(x)
np.flip(x, 1) | np.fliplr(x) | np.flipud(x) | np.rot90(x) | np.rot90(b, 2, (1, 2)) | np.roll(x, 1)
np.roll(x, 2, axis=1) | np.roll(x, (1, 2), (0, 1)) | np.roll(x, 1, (0, 1)) | np.tril(x) | np.triu(x, 1) | np.diag(u)
np.diag(m, 1) | np.diagflat(x) | np.diagonal(m) | np.diagonal(b, 1, 1, 2) | np.trace(m) | np.trace(b, 1, 1, 2)
np.lib.stride_tricks.sliding_window_view(u, 2) | np.lib.stride_tricks.sliding_window_view(x, (2, 3))
np.lib.stride_tricks.sliding_window_view(x, 2, axis=0) | np.pad(u, 2) | np.pad(x, ((1, 0), (2, 1)))
np.pad(x, 1, constant_values=2.0) | np.pad(x, (1, 2), "edge") | np.pad(x, 2, "reflect")
np.pad(u, (3, 5), mode="symmetric") | np.pad(x, 1, "wrap") | np.pad(x, (2, 1), "linear_ramp")
np.pad(x, 2, "linear_ramp", end_values=(5.0, -4.0)) | np.pad(x, 1, "mean")
np.pad(x, (1, 2), "maximum", stat_length=2) | np.pad(x, 1, "minimum") | np.pad(x, ((1, 1), (0, 2)), "median")
np.pad(n, 1, "mean") | np.pad(x, {1: (2, 0)})

np.empty_like(x).shape | np.zeros_like(x) | np.ones_like(n) | np.zeros_like(x, dtype=int)
np.ones_like(x, shape=(2,)) | np.full_like(x, 3.0) | np.full_like(n, 2) | np.full_like(mask, True) | np.copy(x)
np.astype(x, np.float32) | np.astype(n, float) | np.linspace(s, 2.0, 4) | np.linspace(u, v[0], 3)
np.linspace(s, u, 3, endpoint=False, axis=1) | np.linspace(s, 3.0, 4, retstep=True) | np.logspace(s, 2.0, 4)
np.logspace(s, 1.0, 3, base=2.0) | np.geomspace(s, 5.0, 4) | np.meshgrid(u, v) | np.meshgrid(u, v, indexing="ij")
np.meshgrid(u, v, sparse=True) | np.meshgrid(u, v, w) | np.vander(u) | np.vander(u, 3, increasing=True)
np.tril_indices_from(m) | np.triu_indices_from(x, 1) | np.diag_indices_from(m) | np.ix_(i, j) | np.ix_(four, i)
np.unravel_index(j, (2, 3)) | np.ravel_multi_index((i, i), (3, 4))
np.ravel_multi_index((n[0], j), (3, 4), mode="clip")

np.where(mask, x, y) | np.where(x > 0, x, 0.0) | np.where(mask) | np.where(mask, 1.0, 0.0) | np.where(n, x, y)
np.select([x > 1, x > 0], [x, x * y]) | np.select([x > 1], [y], 9.0) | np.choose(j, [u, -u, u * 2])
np.choose(n, [x, y], mode="wrap") | np.piecewise(x, [x < 0, x >= 0], [lambda t: -t * t, lambda t: 3 * t])
np.piecewise(u, [u > 1], [5.0, lambda t: t * 2]) | np.compress([True, False, True], x, axis=0)
np.compress(four, x, 1) | np.compress([0, 1, 1], x) | np.extract(mask, x) | np.nonzero(n) | np.flatnonzero(n)
np.argwhere(n) | np.take(x, [0, 5, 11]) | np.take(x, i, axis=1) | np.take(x, [[0, 1], [2, 0]], 0)
np.take(u, [7, -9], mode="wrap") | np.take(u, [7, -9], mode="clip") | np.take_along_axis(x, np.argsort(x, 1), axis=1)
np.take_along_axis(x, np.argsort(x, None), None) | np.sort(x) | np.sort(x, 0) | np.sort(x, axis=None)
np.sort(n, kind="stable") | np.argsort(x) | np.argsort(x, 0) | np.argsort(x, None) | np.sort_complex(zv)
np.sort_complex(u) | np.lexsort((n[0], i[[0, 1, 2, 0]])) | np.lexsort((x[0], x[1])) | np.searchsorted(rising, u)
np.searchsorted(rising, 0.4, side="right") | np.digitize(u, rising) | np.digitize(u, rising, right=True)
np.unique(n) | np.unique(n, return_index=True, return_inverse=True, return_counts=True) | np.unique(rows, axis=0)
np.unique(x) | np.unique_all(n) | np.unique_counts(n) | np.unique_inverse(n) | np.sort(np.unique_values(n))
np.intersect1d(n, o) | np.union1d(n, o) | np.intersect1d(n, o, return_indices=True) | np.setdiff1d(n, o)
np.setxor1d(n, o) | np.isin(n, o) | np.isin(n, [1, 4], invert=True) | np.bincount(j) | np.bincount(j, weights=u)
np.bincount(j, minlength=6) | np.histogram(x) | np.histogram(x, 4, (-1.0, 1.0)) | np.histogram(u, rising)
np.histogram(u, 3, (-2.0, 2.5), weights=w[:4]) | np.histogram(x, 5, density=True) | np.histogram(x, "sturges")
np.histogram_bin_edges(x, 4) | np.histogram_bin_edges(x, "fd") | np.histogram2d(u, w[:4], 3)
np.histogram2d(u, w[:4], [2, 3]) | np.histogramdd(tall, 3)
np.histogramdd(tall, (2, 3, 2), [(-2.0, 2.5)] * 3, weights=w) | np.clip(x, -1.0, 1.0) | np.clip(x, None, 0.5)
np.clip(x, min=0.0) | np.clip(x, y - 1, y + 1) | np.clip(n, 0, 10) | np.nan_to_num(odd)
np.nan_to_num(odd, nan=1.0, posinf=9.0) | np.round(x, 1) | np.around(x) | np.round(n, -1) | np.isneginf(odd)
np.isposinf(odd) | np.isreal(z) | np.iscomplex(z) | np.i0(x) | np.sinc(x) | np.real(z) | np.imag(z) | np.real(x)
np.imag(x) | np.angle(z) | np.angle(z, deg=True) | np.angle(x) | np.real_if_close(z) | np.real_if_close(x + 0j)
np.isclose(x, y) | np.isclose(x, x + 1e-9) | np.allclose(x, y) | np.allclose(x, x) | np.array_equal(x, x)
np.array_equal(x, y) | np.array_equiv(u, np.stack([u, u])) | np.array_equiv(x, v)

np.interp(x, rising, w) | np.interp(u, rising, w, left=-9.0, right=9.0) | np.interp(u, rising, w, period=3.1)
np.convolve(u, v) | np.convolve(u, [1.0, 2.0], "same") | np.correlate(u, v) | np.correlate(u, v, "full")
np.dot(x, m) | np.dot(u, u) | np.dot(x, 2.0) | np.dot(b, c[0]) | np.outer(u, v) | np.outer(x, v) | np.inner(x, y)
np.inner(u, u) | np.vdot(x, y) | np.vdot(z, z) | np.kron(u, v) | np.kron(x, h) | np.tensordot(b, c, ([2], [1]))
np.tensordot(x, m, 1) | np.tensordot(x, y) | np.cross(v, h) | np.cross(tall, v) | np.cross(x[:, :3].T, h, axisa=0)
np.einsum("ij,jk->ik", x, m) | np.einsum("ij->j", x) | np.einsum(x, [0, 1], m, [1, 2]) | np.einsum("ii", m)
np.einsum("bij,bjk,kl->bil", b, c, c[0].T) | np.einsum("...j,j", x, u) | np.einsum_path("ij,jk,kl->il", x, m, m)
np.polyval(u, x) | np.polyval(v, 2.0) | np.polyadd(u, v) | np.polysub(v, u) | np.polymul(u, v) | np.polydiv(w, v)
np.polydiv(v, w) | np.polyder(u) | np.polyder(w, 2) | np.polyint(u) | np.polyint(u, 2, [3.0, 4.0]) | np.polyint(n[0])
np.poly(u) | np.poly(h) | np.poly(i) | np.roots(np.add(u * 0, [1.0, -6.0, 11.0, -6.0])) | np.roots(u) | np.roots(lead)
np.roots(np.concatenate([[0.0], u, [0.0, 0.0]])) | np.polyfit(rising, w, 2) | np.polyfit(rising, tall, 1)
np.polyfit(rising, w, 1, w=[1.0, 2.0, 1.0, 2.0, 1.0]) | np.polyfit(rising, w, 2, cov=True)
np.polyfit(rising, w, 1, full=True)[:2] | np.apply_along_axis(np.sort, 1, x) | np.apply_along_axis(np.mean, 0, x)
np.apply_along_axis(lambda t: np.outer(t, t), 0, tall) | np.apply_over_axes(np.sum, b, [0, 2])

np.linalg.cholesky(h + h.T) | np.linalg.cholesky(h + h.T, upper=True) | np.linalg.cond(m) | np.linalg.cond(m, 1)
np.linalg.cross(v, h) | np.linalg.det(m) | np.linalg.det(np.stack([h, h])) | np.linalg.diagonal(b)
np.linalg.diagonal(b, offset=1) | np.linalg.eigvals(h) | np.linalg.eigvalsh(h + h.T)
np.linalg.eigvalsh(h + h.T, "U") | np.linalg.inv(m) | np.linalg.lstsq(tall, w) | np.linalg.lstsq(tall, w)[0]
np.linalg.matmul(x, m) | np.linalg.matrix_norm(b) | np.linalg.matrix_norm(b, ord=1, keepdims=True)
np.linalg.matrix_power(m, 3) | np.linalg.matrix_power(m, -2) | np.linalg.matrix_power(n[:, :3], 2)
np.linalg.matrix_rank(x) | np.linalg.matrix_rank(u) | np.linalg.matrix_transpose(b) | np.linalg.multi_dot([x, m, u])
np.linalg.norm(x) | np.linalg.norm(u, 1) | np.linalg.norm(x, axis=1) | np.linalg.norm(x, "nuc")
np.linalg.norm(x, 2, axis=(0, 1)) | np.linalg.norm(u, np.inf) | np.linalg.norm(b) | np.linalg.norm(n)
np.linalg.norm(x, axis=0, keepdims=True) | np.linalg.outer(u, v) | np.linalg.pinv(tall)
np.linalg.pinv(h + h.T, hermitian=True) | np.linalg.pinv(tall, rtol=1e-10) | np.linalg.slogdet(m)
np.linalg.slogdet(-h) | np.linalg.solve(m, u) | np.linalg.solve(m, x.T) | np.linalg.svd(x, compute_uv=False)
np.linalg.svdvals(x) | np.linalg.tensordot(x, m, axes=1) | np.linalg.tensorinv(m, 1) | np.linalg.tensorsolve(m, u)
np.linalg.trace(b) | np.linalg.trace(b, offset=1) | np.linalg.vecdot(x, y) | np.linalg.vecdot(x, y, axis=0)
np.linalg.vector_norm(x) | np.linalg.vector_norm(x, axis=1, ord=3) | np.linalg.qr(tall, "r") | np.linalg.qr(tall)
np.linalg.qr(tall, "complete") | np.linalg.eigh(h + h.T) | np.linalg.svd(x, full_matrices=False) | np.linalg.svd(tall)
np.linalg.eig(h) | np.linalg.det(n[:, :3]) | np.linalg.inv(f[:, :3])

np.fft.fft(x) | np.fft.fft(z, 6) | np.fft.fft(x, axis=0, norm="ortho") | np.fft.ifft(z) | np.fft.ifft(x, 3)
np.fft.rfft(x) | np.fft.rfft(f) | np.fft.rfft(x, 5, 0, "forward") | np.fft.irfft(z) | np.fft.irfft(z, 5)
np.fft.hfft(z) | np.fft.ihfft(x) | np.fft.fft2(b) | np.fft.ifft2(z) | np.fft.rfft2(b) | np.fft.irfft2(z)
np.fft.fftn(b) | np.fft.ifftn(z) | np.fft.rfftn(b, axes=(0, 1)) | np.fft.irfftn(z) | np.fft.fftshift(x)
np.fft.fftshift(x, 1) | np.fft.ifftshift(x) | np.fft.fft2(b, (2, 2), (0, 1))

np.result_type(x, n) | np.result_type(n, mask) | np.can_cast(x.dtype, np.complex128) | np.common_type(x, n)
np.min_scalar_type(x) | np.shares_memory(x, x) | np.shares_memory(x, y) | np.may_share_memory(x, x)
np.array2string(u) | np.array_repr(i) | np.array_str(n) | np.packbits(mask)
np.packbits(mask, axis=1, bitorder="little") | np.unpackbits(np.astype(j, np.uint8))
np.amax(x, 0) | np.partition(x, 2)[:, 2]
np.argpartition(x, 1, axis=0)[1]
"""


def expressions():
    """All expressions, in order."""
    return [part.strip() for part in re.split(r"\s\|\s|\n", EXPRESSIONS) if part.strip()]


_WORD = re.compile(r"(?<![\w.])([a-z_0-9]+)(?!\s*[\w(=]|[\w.]*\()")


def names_in(expression):
    """The given names that an expression has."""
    words = dict.fromkeys(_WORD.findall(re.sub(r'"[^"]*"', "", expression)))
    return [word for word in words if word in GIVEN and not re.search(rf"lambda {word}\b", expression)]


def evaluated(expression, namespace, given):
    """What an expression gives, without NumPy's warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(expression, {"np": namespace, **given})


def flat(value):
    """The results in nested tuples and lists."""
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [value]
