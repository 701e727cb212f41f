"""NumPy's functions at the edges: empty arrays, single numbers, small dtypes; and dtypes that are lucidgrad's."""

import numpy as np
import pytest
from numpy_expressions import evaluated, flat

import lucidgrad as lg

#: Arrays at the edge: none, one, small integers, halves, truth values, complex numbers of 64 bits.
EDGES = {
    "E": np.zeros((0, 3)),
    "e": np.zeros(0),
    "s": np.asarray(2.5),
    "o": np.asarray([[1.5]]),
    "b": np.asarray([True, False, True]),
    "k": np.asarray([200, 100, 7], np.uint8),
    "i": np.asarray([[1, 2], [3, 4]], np.int32),
    "h": np.asarray([1.5, 2.5], np.float16),
    "f": np.arange(6, dtype=np.float32).reshape(2, 3),
    "c": np.asarray([1 + 2j, 3 - 1j], np.complex64),
    "nan": np.asarray([np.nan, np.nan]),
}
AT_EDGES = """
np.sum(f, axis=()) | np.sum(E) | np.sum(E, 0) | np.prod(e) | np.mean(s) | np.max(o) | np.sum(k) | np.sum(i, 0)
np.prod(i) | np.cumsum(i) | np.cumprod(k) | np.add.accumulate(i) | np.add.reduce(i) | np.add.accumulate(b)
np.add.reduce(b) | np.mean(k) | np.mean(h) | np.sum(h) | np.std(h) | np.var(c) | np.mean(b) | np.median(b)
np.median(k) | np.median(h) | np.max(b) | np.ptp(k) | np.argmax(b) | np.argmax(c) | np.max(c) | np.sort(c)
np.sort(b) | np.diff(k) | np.clip(k, 3, 150) | np.clip(i, 1.5, 3) | np.round(i, 1) | np.round(c, 1) | np.sin(i)
np.sin(h) | np.exp(c) | np.power(k, 2) | np.power(i, 0.5) | np.divide(k, 3) | np.add(k, k) | np.add(b, b)
np.arctan2(i, i) | np.heaviside(i, 1) | np.floor(i) | np.ceil(b) | np.abs(b) | np.abs(c) | np.sign(c) | np.negative(k)
np.cbrt(f) | np.isnan(i) | np.signbit(k) | np.modf(f) | np.frexp(f) | np.degrees(i) | np.rint(h) | np.spacing(f)
np.linalg.norm(E) | np.linalg.norm(i) | np.linalg.norm(c) | np.linalg.det(i) | np.linalg.eigvals(i) | np.fft.fft(f)
np.fft.fft(h) | np.fft.fft(i) | np.fft.rfft(b) | np.fft.irfft(c) | np.dot(b, b) | np.vdot(c, c) | np.outer(k, k)
np.kron(i, i) | np.trace(i) | np.einsum("ij->", i) | np.interp(s, [1, 3], [1, 2]) | np.correlate(c, c)
np.polyval(i[0], 2) | np.gradient(i[0]) | np.cov(i) | np.concatenate([b, k]) | np.where(b, k, 1.5)
np.where(b, f[0], 2) | np.where(b, 1, 2) | np.select([b], [k], 7) | np.append(i, 1.5) | np.insert(i[0], 1, 7.9)
np.pad(k, 1) | np.tile(s, 2) | np.repeat(s, 3) | np.ravel(s) | np.squeeze(o) | np.atleast_2d(s) | np.vstack([s, s])
np.flip(s) | np.unique(e) | np.unique(b) | np.unique(c) | np.bincount(k) | np.histogram(i) | np.isin(k, [7])
np.nan_to_num(c) | np.nan_to_num(i) | np.i0(i) | np.sinc(i) | np.angle(i) | np.real(c) | np.imag(i)
np.linspace(i, 5, 3) | np.linspace(f[0], 5, 3) | np.full_like(i, 2.7) | np.zeros_like(b) | np.nansum(nan)
np.nanmean(nan) | np.nanmean(i) | np.nanprod(k) | np.quantile(f, 0.5) | np.percentile(i, 30) | np.percentile(h, 30)
np.average(f, weights=f + 1) | np.float_power(f, 2) | np.bitwise_count(k) | np.left_shift(k, 1) | np.invert(k)
np.fmod(k, 3) | np.floor_divide(f, 0.5) | np.nextafter(f, 3) | np.vander(k) | np.fmax(i, 2.5) | np.take(k, [[0, 1]])
np.roll(s, 1) | np.trim_zeros(k) | np.meshgrid(k, h) | np.polyint(f[0]) | np.poly(f[0]) | np.roots(f[0] + 1)
np.polydiv(i[0], i[1]) | np.sort_complex(i[0]) | np.maximum(e, 1) | np.fft.fftshift(k) | np.add([1, 2], i)
"""


@pytest.mark.parametrize("expression", [part for line in AT_EDGES.split("\n") for part in line.split(" | ") if part])
def test_edges_are_numpys(expression):
    expected = evaluated(expression, np, EDGES)
    with np.errstate(all="ignore"):
        found = evaluated(expression, np, {name: lg.asarray(array) for name, array in EDGES.items()})
        there = evaluated(expression, lg.numpy, EDGES)
    for result in (found, there):
        for one, other in zip(flat(result), flat(expected), strict=True):
            assert (one.dtype, one.shape) == (np.asarray(other).dtype, np.shape(other))
            exact = {"float16": 1e-3, "float32": 1e-5, "complex64": 1e-5}.get(str(one.dtype), 1e-12)
            np.testing.assert_allclose(one.numpy(), other, rtol=exact, atol=exact)


_RNG = np.random.default_rng(0)
_U, _V = _RNG.normal(size=4), _RNG.normal(size=7)
USUAL = {
    "x": _RNG.normal(size=(3, 4)),
    "u": _U,
    "v": _V,
    "R": np.outer(_U, _U),
    "near": np.diag([1.0, 1e-3, 8e-16]),  # what counts as zero differs between NumPy's and the standard's default
    "rank1": np.outer(_V[:5], _V[:2]),
    "tall": _RNG.normal(size=(5, 2)),
    "w5": _RNG.normal(size=5),
    "cs": _RNG.normal(size=4) + 1j * _RNG.normal(size=4),
    "p": np.asarray([0.0, 0.0, 1.0, 2.0]),
    "neg0": np.asarray([-0.0, 0.0, -1.0]),
    "i": np.asarray([[-1], [0], [-2]]),
}
METHODS = """
inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear median_unbiased
normal_unbiased lower higher midpoint nearest
"""

#: Rarer arguments, and numbers with signs of zero.
RARELY = """
np.clip(x, 1.0, -1.0) | np.linalg.lstsq(rank1, w5) | np.linalg.matrix_rank(near) | np.linalg.pinv(near)
np.linalg.pinv(near, rtol=None) | np.linalg.pinv(R) | np.linalg.matrix_rank(R) | np.linalg.pinv(near, rcond=1e-10)
np.insert(u, -1, 5.0) | np.insert(u, [-1, 0], [5.0, 6.0]) | np.insert(u, [0, 0], [5.0, 6.0]) | np.insert(u, 4, 1.0)
np.insert(u, [3, 1], 7.0) | np.insert(x, -1, 9.0, axis=-1) | np.delete(u, -1) | np.delete(x, [0, -1], axis=-1)
np.delete(u, [True, False, False, True]) | np.take_along_axis(x, i, 1) | np.take(u, -1) | np.take(x, [-1, 0], axis=-1)
np.linspace(u[0], 2.0, 1) | np.linspace(u[0], 2.0, 0) | np.linspace(u[0], 2.0, 1, endpoint=False)
np.linspace(u[0], 2.0, 2) | np.logspace(0, u, 3, base=2) | np.logspace(0.0, 1.0, 3, base=u ** 2)
np.geomspace(abs(u[0]), 3.0, 3, endpoint=False) | np.geomspace(-abs(u[0]), -3.0, 3) | np.convolve(u, v)
np.convolve(u, v, "same") | np.convolve(u, v, "valid") | np.correlate(u, v) | np.correlate(u, v, "same")
np.correlate(v, u, "same") | np.correlate(cs, cs, "full") | np.correlate(u, cs, "full") | np.correlate(cs, u, "full")
np.convolve(cs, u) | np.polydiv(p, u) | np.polymul(p, u) | np.polyval(p, x) | np.roots(p) | np.angle(neg0)
np.sign(neg0) | np.arctan2(neg0, neg0) | np.copysign(1.0, neg0) | np.reciprocal(neg0) | np.max(neg0)
np.maximum(neg0, 0.0) | np.modf(neg0) | np.rint(neg0) | np.signbit(np.cbrt(neg0)) | np.signbit(np.modf(neg0)[0])
np.signbit(np.trunc(neg0)) | np.hypot(neg0, 0.0) | np.fft.fft(x, 3, 0) | np.fft.irfft(x, 7) | np.fft.hfft(x, 5)
np.fft.fftn(x, s=(2, 5)) | np.fft.rfftn(x, axes=[0]) | np.fft.fftn(x, axes=(0,)) | np.split(u, 4)
np.array_split(v, 3) | np.array_split(v, [2, 5, 9]) | np.split(x, [1, 2], axis=-1) | np.hsplit(u, 2)
np.average(x, axis=0, weights=[1, 2, 3]) | np.average(x, axis=(0, 1), weights=x ** 2) | np.median(v)
np.median(x, axis=-1, keepdims=True) | np.std(x, axis=(0, 1), keepdims=True) | np.var(x, ddof=2, axis=1)
np.nanmean(x, axis=(0, 1)) | np.cumsum(x, -1) | np.argmin(x, -1) | np.roll(x, -5) | np.roll(x, (1, -1), axis=(1, 0))
np.rot90(x, 3) | np.rot90(x, -1) | np.flip(x, (0, 1)) | np.tile(x, (2, 1, 2)) | np.repeat(x, [1, 2, 0], axis=0)
np.pad(u, (5, 6), "reflect") | np.pad(u, (5, 6), "wrap") | np.pad(u, (9, 0), "symmetric")
np.pad(x, ((1, 2), (0, 3)), "linear_ramp", end_values=((1, 2), (3, 4)))
np.pad(x, 1, "mean", stat_length=((2, 1), (1, 3))) | np.pad(x, 1, constant_values=((1, 2), (3, 4))) | np.trace(x, 1)
np.diagonal(x, -1) | np.diag(x, -1) | np.tril(x, -1) | np.kron(u, x) | np.kron(x, u) | np.tensordot(x, x, ([1], [1]))
np.tensordot(x, x, axes=[(0, 1), (0, 1)]) | np.tensordot(u, u, 0) | np.cross(x[:, :3], x[:, 1:])
np.gradient(x, [1.0, 2.0, 4.0], axis=0) | np.gradient(v, 2.0, edge_order=2) | np.gradient(x, 2.0, 3.0)
np.interp(v, np.sort(u), u) | np.interp(v, np.sort(u), u, period=2.0) | np.interp(cs.real, np.sort(u), cs)
np.searchsorted(u, v, sorter=np.argsort(u)) | np.histogram(v, bins=3, density=True)
np.histogram(v, [-1, 0, 1], weights=v) | np.histogramdd(tall, [2, 3], density=True)
np.unique(np.round(v), return_inverse=True) | np.resize(u, (0,)) | np.trim_zeros(p) | np.trim_zeros(p, "f")
np.ediff1d(u, to_begin=[1, 2]) | np.diff(x, n=0) | np.diff(x, n=3) | np.diff(x, axis=0, prepend=x[:1], append=9.0)
np.vander(u, 0) | np.unwrap(v * 5) | np.apply_along_axis(lambda t: t[:2] * 2, 0, x)
np.apply_along_axis(lambda t: t.sum(), -1, x) | np.block([[x], [u]]) | np.block(u) | np.block([[[x]], [[x]]])
np.select([x > 0.5, x > 0], [1, 2], default=-1) | np.choose([0, 1, 0, 1], [u, -u]) | np.piecewise(u, [u < 0], [-1.0])
np.extract(x > 0, x) | np.compress([1, 0, 1, 1], u) | np.sort(x, axis=0, kind="mergesort") | np.lexsort(x)
np.sort_complex(cs) | np.nan_to_num(np.log(x)) | np.ptp(x, axis=-1, keepdims=True) | np.cov(u, v[:4])
np.cov(tall.T, fweights=[1, 2, 1, 2, 1]) | np.corrcoef(tall, rowvar=False) | np.linalg.norm(x, -1)
np.linalg.norm(x, -2) | np.linalg.norm(u, 0) | np.linalg.norm(u, -np.inf) | np.linalg.norm(x, "fro")
np.linalg.norm(x, np.inf, axis=1) | np.linalg.norm(x, 1, axis=(1, 0)) | np.linalg.cond(R + np.eye(4), "fro")
np.linalg.cond(x) | np.linalg.matrix_power(R, 0) | np.linalg.slogdet(R) | np.linalg.det(R * 0)
np.linalg.eigvals(R + np.triu(R) * 3 - np.tril(R) * 5) | np.linalg.tensorinv(np.reshape(np.eye(4) + R, (2, 2, 4)), 2)
np.linalg.multi_dot([u, R, u]) | np.linalg.svdvals(R) | np.vecdot(cs, cs) | np.vecmat(cs, R) | np.matvec(R, cs)
np.einsum("i,i", u, u) | np.einsum("ij", R) | np.einsum("i...->...", x) | np.einsum("ii->i", R) | np.inner(x, u)
np.outer(cs, u) | np.dot(u, R) | np.dot(2.0, x) | np.vdot(cs, u + 0j) | np.fmod(-x, 0.7) | np.remainder(-x, -0.7)
np.floor_divide(x, -0.3) | np.divmod(x, -0.3) | np.float_power(-u ** 2, 0.5) | np.heaviside(neg0, 0.3)
np.ldexp(u, [1, -2, 3, 0]) | np.frexp(neg0) | np.spacing(neg0) | np.nextafter(neg0, 1.0) | np.logaddexp(-np.inf, neg0)
np.logaddexp2(u, -np.inf) | np.isclose(neg0, 1e-09) | np.real_if_close(cs * 0 + 1) | np.i0(v * 9)
"""
RARE = [part for line in RARELY.split("\n") for part in line.split(" | ") if part]
RARE += [f"np.quantile(v, [0.0, 0.13, 0.5, 0.77, 1.0], method={name!r})" for name in METHODS.split()]


@pytest.mark.parametrize("expression", RARE)
def test_rare_arguments_mean_what_they_mean_to_numpy(expression):
    expected = evaluated(expression, np, USUAL)
    for found in (
        evaluated(expression, np, {name: lg.asarray(array) for name, array in USUAL.items()}),
        evaluated(expression, lg.numpy, USUAL),
    ):
        for one, other in zip(flat(found), flat(expected), strict=True):
            other = np.asarray(other)
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(one.numpy(), other, rtol=1e-9, atol=1e-12)


#: Where dtypes are lucidgrad's: float32 stays float32, and every integer becomes float64.
OUR_DTYPES = {
    "np.sin(k)": "float64",
    "np.sin(b)": "float64",
    "np.cov(f)": "float32",
    "np.polyfit(f[0], f[1], 1)": "float32",
    "np.concatenate([i[0], f[0]])": "float32",
    "np.add(i[0, 0], f)": "float32",
}


@pytest.mark.parametrize("expression", OUR_DTYPES)
def test_dtypes_that_are_lucidgrads(expression):
    found = evaluated(expression, np, {name: lg.asarray(array) for name, array in EDGES.items()})
    expected = evaluated(expression, np, EDGES)
    assert found.dtype == OUR_DTYPES[expression] != expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-5)
