"""Where CuPy differs from NumPy or the standard, CUDA tensors give what CPU tensors give: a case for each."""

import numpy as np
import pytest

import lucidgrad as lg

NAN, INF = np.nan, np.inf
ODD = [-INF, -2.5, -1.0, -0.0, 0.0, 1.0, 2.5, INF, NAN]
PARTS = [-INF, -1.0, -0.0, 0.0, 2.0, INF, NAN]


def t(data, dtype=None):
    """A function that makes a tensor on a device."""
    return lambda where: lg.asarray(np.asarray(data, dtype=dtype), device=where)


odd = t(ODD)
odd32 = t(ODD, "float32")
ints = t([[3, -1, 2], [-7, 0, 5]])
flags = t([[True, False, True], [False, False, True]])
rows = t([[2.0, 1.0, 2.0, NAN], [0.0, 3.0, -1.0, 3.0]])
plane = t(np.array([complex(a, b) for a in PARTS for b in PARTS]))
tall = t(np.arange(6.0).reshape(3, 2) + np.eye(3, 2))
square = t([[4.0, 1.0], [1.0, 3.0]])

CASES = {
    # promotion
    "numbers are weak": lambda d: [
        odd32(d) * 2.0,
        odd32(d) + 1,
        3 - ints(d),
        lg.asarray([1], dtype="int8", device=d) + 1,
    ],
    "half times a number": lambda d: lg.asarray([1.5], dtype="float16", device=d) * 3.14159,
    "where with numbers": lambda d: [lg.where(flags(d), 1.0, 0.0), lg.where(odd32(d) > 0, odd32(d), 0.0)],
    "maximum with a number": lambda d: lg.maximum(odd32(d), 0.5),
    "0-d tensors promote": lambda d: lg.asarray(2.0, dtype="float32", device=d) * lg.asarray([1, 2], device=d),
    "0-d results": lambda d: [odd(d).sum(), odd(d)[1], lg.argmax(rows(d)), lg.all(flags(d))],
    # creation
    "linspace": lambda d: [
        lg.linspace(0, 1, 7, device=d),
        lg.linspace(0, 1j, 3, device=d),
        lg.linspace(0, 10, 0, device=d),
    ],
    "arange": lambda d: [lg.arange(5, device=d), lg.arange(1.0, 2.0, 0.25, device=d), lg.arange(5, 0, -2, device=d)],
    "eye": lambda d: [lg.eye(3, device=d), lg.eye(2, 3, k=1, dtype=lg.int64, device=d)],
    # reductions
    "axis as a list": lambda d: lg.sum(ints(d), axis=[0, 1]),
    "no axes": lambda d: [lg.sum(ints(d), axis=()), lg.max(ints(d), axis=())],
    "dtypes of sums": lambda d: [lg.sum(flags(d)), lg.sum(t([1, 2], "int8")(d)), lg.prod(t([1, 2], "uint8")(d))],
    "sums of nothing": lambda d: [lg.sum(t(np.zeros((0, 3)))(d), axis=0), lg.prod(t(np.zeros((2, 0)))(d), axis=1)],
    "count_nonzero": lambda d: [lg.count_nonzero(ints(d)), lg.count_nonzero(ints(d), axis=1, keepdims=True)],
    "any and all of numbers": lambda d: [lg.any(ints(d), axis=0), lg.all(ints(d), axis=1, keepdims=True)],
    "extremes with nan": lambda d: [lg.max(rows(d), axis=1), lg.min(rows(d)), lg.argmax(rows(d), axis=1)],
    "mean and variance": lambda d: [lg.mean(ints(d)), lg.var(t([1.0, 2.0, 4.0])(d), correction=1), lg.std(odd(d)[1:4])],
    "running sums": lambda d: [
        lg.cumulative_sum(t([1.0, 2.0])(d), include_initial=True),
        lg.cumulative_sum(ints(d), axis=1),
        lg.cumulative_prod(ints(d), axis=0),
    ],
    # order
    "argsort keeps ties": lambda d: lg.argsort(rows(d), axis=1),
    "argsort backwards keeps ties": lambda d: lg.argsort(rows(d), axis=1, descending=True),
    "sort": lambda d: [lg.sort(rows(d), axis=0), lg.sort(odd(d), descending=True), lg.sort(lg.asarray(3.0, device=d))],
    "sort of truth values": lambda d: lg.sort(flags(d), axis=1),
    "searchsorted": lambda d: [
        lg.searchsorted(t([1.0, 2.0, 2.0, NAN])(d), odd(d)),
        lg.searchsorted(t([1.0, 2.0, 2.0])(d), t([[2.0, 0.5]])(d), side="right"),
        lg.searchsorted(t([1, 2, 3])(d), t([1.5, 2.5])(d)),
        lg.searchsorted(t(np.zeros(0))(d), t([1.0])(d)),
    ],
    "nan is never twice the same": lambda d: list(lg.unique_all(t([2.0, NAN, 1.0, NAN, 2.0])(d))),
    "unique of a matrix": lambda d: [*lg.unique_inverse(ints(d) % 3), lg.unique_values(flags(d))],
    "nonzero": lambda d: list(lg.nonzero(ints(d))),
    "isin": lambda d: [lg.isin(ints(d), t([3, 5])(d)), lg.isin(ints(d), t([3, 5])(d), invert=True)],
    "top": lambda d: list(lg.topk(t([2.0, 5.0, 5.0, 1.0])(d), 2)),
    # elements
    "rounding of integers": lambda d: [lg.floor(ints(d)), lg.ceil(ints(d)), lg.trunc(ints(d)), lg.round(ints(d))],
    "rounding": lambda d: [lg.round(odd(d)), lg.floor(odd(d)), lg.trunc(odd(d))],
    "sign": lambda d: [lg.sign(odd(d)), lg.sign(ints(d)), lg.sign(t([3 + 4j, 0j])(d))],
    "infinities divided": lambda d: [lg.floor_divide(odd(d)[:, None], odd(d)), lg.remainder(odd(d)[:, None], odd(d))],
    "quotients that round up": lambda d: [
        f(t([1.0, 20.5, -1.0, 0.3], dtype)(d)[:, None], t([0.001, -0.001, 0.1], dtype)(d))
        for f in (lg.floor_divide, lg.remainder)
        for dtype in ("float16", "float32", "float64")
    ],
    "quotients of numbers": lambda d: [
        f(*xs)
        for f in (lg.floor_divide, lg.remainder)
        for x in (odd(d), odd32(d), t(ODD, "float16")(d))
        for number in (0.1, -0.1, 0.0, -0.0, INF, 3)
        for xs in ((x, number), (number, x))
    ],
    "derivatives of remainders": lambda d: [
        lg.func.jvp(lambda x: lg.remainder(20.5, x), (t([0.001, -0.001, INF, -INF])(d),), (t([1.0] * 4)(d),))[1],
        lg.func.grad(lambda x: lg.remainder(-1.0, x).sum())(t([0.001, -0.001, INF, -INF])(d)),
    ],
    "tails of logarithms": lambda d: [
        lg.logaddexp2(t([0.0, 1.0, INF, -INF, NAN])(d)[:, None], t([-20.5, -45.0, INF, -INF, NAN])(d)),
        lg.logaddexp2(t([0.0], "float32")(d), t([-20.5], "float32")(d)),
    ],
    "integers divided": lambda d: [ints(d) // 2, ints(d) % 2, ints(d) // -2, ints(d) % -2, ints(d) / 2],
    "powers": lambda d: [odd(d)[:, None] ** odd(d), ints(d) ** 2, t([2, 3])(d) ** t([3, 0])(d)],
    "two arguments": lambda d: [f(odd(d)[:, None], odd(d)) for f in (lg.atan2, lg.hypot, lg.copysign, lg.logaddexp)],
    "neighbours": lambda d: lg.nextafter(odd(d), lg.asarray(0.0, dtype="float64", device=d)),
    "signbit": lambda d: lg.signbit(odd(d)),
    "bits": lambda d: [ints(d) << 1, ints(d) >> 1, ~ints(d), ints(d) ^ 3, flags(d) & ~flags(d)],
    "nan_to_num": lambda d: [lg.nan_to_num(odd(d)), lg.nan_to_num(odd32(d), nan=1.0, posinf=2.0, neginf=3.0)],
    "heaviside and sinc": lambda d: [lg.heaviside(odd(d), lg.asarray(0.5, dtype="float64", device=d)), lg.sinc(odd(d))],
    "clip": lambda d: [lg.clip(odd(d), -1.0, 2.0), lg.clip(ints(d), min=0), lg.clip(odd(d), max=0.0)],
    "astype": lambda d: [lg.astype(odd(d)[1:7], lg.int32), lg.astype(odd(d), lg.float16)],
    "casts to bool": lambda d: [lg.astype(odd(d), lg.bool), lg.astype(plane(d), lg.bool)],
    # complex numbers at special points
    **{
        f"complex {name}": lambda d, name=name: getattr(lg, name)(plane(d))
        for name in ("exp", "expm1", "sqrt", "square", "abs", "conj", "real", "imag", "isnan", "isinf", "isfinite")
    },
    **{
        f"complex {name} where it is finite": lambda d, name=name: getattr(lg, name)(
            t([1 + 2j, -1j, 0.5, -2 + 0.1j])(d)
        )
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "log", "log1p", "log2", "log10"),
            *("sin", "sinh", "tan", "tanh", "reciprocal", "angle", "sign"),
        )
    },
    # shapes and keys
    "unstack": lambda d: list(lg.unstack(ints(d), axis=1)),
    "flip": lambda d: [lg.flip(ints(d)), lg.flip(ints(d), axis=[0]), lg.flip(lg.asarray(2.0, device=d))],
    "roll": lambda d: [lg.roll(ints(d), 1), lg.roll(ints(d), (1, -1), axis=(0, 1))],
    "diagonal": lambda d: [lg.linalg.diagonal(ints(d)), lg.linalg.diagonal(ints(d), offset=1)],
    "triangles": lambda d: [lg.tril(ints(d), k=-1), lg.triu(ints(d), k=1)],
    "joining": lambda d: [lg.concat([ints(d), flags(d)], axis=None), lg.stack([ints(d), ints(d)], axis=-1)],
    "take": lambda d: [
        lg.take(ints(d), t([0, -1, 2])(d), axis=1),
        lg.take_along_axis(ints(d), t([[0], [-1]])(d), axis=1),
    ],
    "keys": lambda d: [ints(d)[0, ::-1], ints(d)[[1, 0], [2, -1]], ints(d)[flags(d)], ints(d)[..., None, 1:]],
    "meshgrid": lambda d: list(lg.meshgrid(ints(d)[0], ints(d)[1])),
    "repeat": lambda d: [lg.repeat(ints(d), 2), lg.repeat(ints(d), t([1, 0, 2])(d), axis=1)],
    # products and decompositions
    "vecdot": lambda d: [lg.vecdot(plane(d)[8:10], plane(d)[9:11]), lg.vecdot(ints(d), ints(d), axis=0)],
    "matmul of integers": lambda d: [ints(d) @ ints(d).mT, lg.matmul(ints(d)[0], ints(d)[1])],
    "matmul of nothing": lambda d: t(np.zeros((2, 0)))(d) @ t(np.zeros((0, 3)))(d),
    "cholesky": lambda d: [lg.linalg.cholesky(square(d)), lg.linalg.cholesky(square(d), upper=True)],
    "solve": lambda d: [
        lg.linalg.solve(square(d), t([1.0, 2.0])(d)),
        lg.linalg.inv(square(d)),
        lg.linalg.det(square(d)),
    ],
    "batches of solve broadcast": lambda d: [
        lg.linalg.solve(square(d), t(np.ones((3, 2, 1)))(d)),
        lg.linalg.solve(t(np.stack([np.eye(2)] * 3))(d), t([1.0, 2.0])(d)),
    ],
    "eigenvalues are complex": lambda d: [lg.linalg.eig(t(np.zeros((0, 2, 2)))(d)).eigenvalues],
    "slogdet": lambda d: list(lg.linalg.slogdet(square(d))),
    "singular values": lambda d: [lg.linalg.svd(tall(d), full_matrices=False).S, lg.linalg.svdvals(tall(d))],
    "eigenvalues": lambda d: [lg.linalg.eigh(square(d)).eigenvalues, lg.linalg.eigvalsh(square(d))],
    "qr": lambda d: [abs(part) for part in lg.linalg.qr(tall(d))],
    "norms": lambda d: [
        lg.linalg.vector_norm(tall(d)),
        lg.linalg.matrix_norm(tall(d)),
        lg.linalg.vector_norm(ints(d) * 1.0, ord=1),
    ],
    "transforms": lambda d: [
        lg.fft.fft(t([1.0, 2.0, 3.0])(d)),
        lg.fft.rfft(odd32(d)[1:7]),
        lg.fft.irfft(t([1 + 0j, 2j, 3.0])(d), n=5),
        lg.fft.fftn(tall(d)),
        lg.fft.hfft(t([1 + 0j, 2j, 3.0])(d)),
    ],
}


@pytest.mark.parametrize("name", CASES)
def test_cuda_does_as_the_cpu(name):
    with np.errstate(all="ignore"):
        found, expected = CASES[name]("cuda"), CASES[name]("cpu")
    found, expected = ([x] if isinstance(x, lg.Tensor) else x for x in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert str(a.device) == "cuda:0"
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        single = str(a.dtype) in ("float16", "float32", "complex64")
        a, b = a.numpy(force=True), b.numpy()
        np.testing.assert_allclose(a, b, rtol=2e-6 if single else 1e-12, atol=1e-7 if single else 1e-13)
        if a.dtype.kind == "f" and name != "qr":
            zero = (b == 0) & (a == 0)
            np.testing.assert_array_equal(np.signbit(a)[zero], np.signbit(b)[zero], err_msg="signs of zeros")
