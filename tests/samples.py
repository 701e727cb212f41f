"""Sample inputs for every primitive: by kind for elementwise ones, a row each for all others.

Values keep away from kinks (integers, halves, ties), so that differences make sense; kinks have a table of
their own. To add a primitive: nothing if it is elementwise and defined everywhere, else an entry in `DOMAINS`
or a row in `rows.ROWS`.
"""

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

import lucidgrad.communication.functional
import lucidgrad.communication.replication
import lucidgrad.fft
import lucidgrad.linalg
import lucidgrad.nn
import lucidgrad.ops.elementwise.composition
import lucidgrad.special  # noqa: F401  its primitives are loaded on demand
from lucidgrad.core.primitive import ELEMENTWISE, Primitive
from lucidgrad.keys import At
from lucidgrad.ops.linalg import linear  # noqa: F401


@dataclass(frozen=True, eq=False)
class Sample:
    """One call: NumPy arrays and numbers, and keywords.

    ``data_dependent``: the result's shape depends on values, so the strictest back end can't compute it.
    ``examples``: for some arguments, what a batch of them holds (by default the same values, moved about).
    """

    args: tuple[Any, ...]
    keywords: dict[str, Any] = field(default_factory=dict)
    data_dependent: bool = False
    examples: dict[int, list[Any]] | None = None

    def arrays(self) -> list[np.ndarray]:
        return [a for a in self.args if isinstance(a, np.ndarray)]

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> "Sample":
        return replace(self, args=tuple(change(a) if isinstance(a, np.ndarray) else a for a in self.args))

    def __str__(self) -> str:
        words = [f"{a.dtype}{list(a.shape)}" if isinstance(a, np.ndarray) else repr(a) for a in self.args]
        words += [f"{k}=..." if _holds_array(v) else f"{k}={v!r}" for k, v in self.keywords.items()]
        return f"({', '.join(words)})"


def _holds_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, tuple) and any(map(_holds_array, value)))


# -- elementwise: where functions are defined ----------------------------------------------------------
@dataclass(frozen=True)
class Domain:
    """What an argument may be: floats in an interval, integers or booleans."""

    kind: str = "f"
    low: float = -2.0
    high: float = 2.0

    def draw(self, shape: tuple[int, ...], seed: int) -> np.ndarray:
        rng = np.random.default_rng([seed, *shape])
        if self.kind == "b":
            return rng.integers(0, 2, shape).astype(bool)
        if self.kind == "i":
            return rng.integers(int(self.low), int(self.high) + 1, shape)
        values = rng.uniform(self.low, self.high, 40 * max(1, int(np.prod(shape))))
        part = values % 0.5  # no closer than 0.08 to an integer or a half
        values = values[(part > 0.08) & (part < 0.42)][: int(np.prod(shape))]
        return np.asarray(values.reshape(shape))


ANY, POSITIVE, BOOL = Domain(), Domain(low=0.2, high=3.0), Domain("b")
UNIT, SHIFT, BITS = Domain(low=-0.9, high=0.9), Domain("i", 0, 3), Domain("i", 0, 9)

#: Arguments of elementwise primitives that are not defined everywhere, or not on floats; the last one repeats.
DOMAINS: dict[str, tuple[Domain, ...]] = {
    **dict.fromkeys(["log", "log2", "log10", "sqrt", "rsqrt"], (POSITIVE,)),
    **dict.fromkeys(["asin", "acos", "atanh", "erfinv"], (UNIT,)),
    **dict.fromkeys(["logit", "log_odds", "ndtri"], (Domain(low=0.1, high=0.9),)),
    **dict.fromkeys(["gammaln", "psi", "gamma", "psi_derivative", "beta", "betaln", "kl_div"], (POSITIVE,)),
    **dict.fromkeys(
        ["riemann_zeta", "hurwitz_zeta", "riemann_slope", "zeta_slope"], (Domain(low=1.1, high=5.0), POSITIVE)
    ),
    "erfcinv": (Domain(low=0.1, high=1.9),),
    **dict.fromkeys(["bessel_j0", "bessel_j1", "bessel_j_quotient"], (Domain(low=-9.0, high=9.0),)),
    **dict.fromkeys(["bessel_y0", "bessel_y1"], (Domain(low=0.2, high=9.0),)),
    **dict.fromkeys(["k0", "k0e", "k1", "k1e"], (POSITIVE,)),
    **dict.fromkeys(["airy_ai", "airy_slope"], (Domain(low=-6.0, high=4.0),)),
    **dict.fromkeys(["gamma_density", "gamma_slope", "lower_gamma", "upper_gamma"], (POSITIVE,)),
    **dict.fromkeys(
        ["beta_density", "beta_slope", "lower_beta", "upper_beta"], (POSITIVE, POSITIVE, Domain(low=0.1, high=0.9))
    ),
    "log1p": (Domain(low=-0.9, high=2.0),),
    "acosh": (Domain(low=1.1, high=3.0),),
    "entr": (POSITIVE,),
    "rel_entr": (POSITIVE, POSITIVE),
    "pow": (POSITIVE, ANY),
    "xlogy": (ANY, POSITIVE),
    "xlog1py": (ANY, UNIT),
    "remainder": (Domain(low=-9.0, high=9.0), POSITIVE),
    "fmod": (Domain(low=-9.0, high=9.0), POSITIVE),
    "floor_divide": (Domain(low=-9.0, high=9.0), POSITIVE),
    "where": (BOOL, ANY),
    "thin": (ANY, BOOL),
    "clip": (ANY, Domain(low=-1.5, high=-0.5), Domain(low=0.5, high=1.5)),
    **dict.fromkeys(["logical_and", "logical_or", "logical_xor", "logical_not"], (BOOL,)),
    **dict.fromkeys(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"], (BITS,)),
    **dict.fromkeys(["bitwise_left_shift", "bitwise_right_shift"], (BITS, SHIFT)),
}

#: Programs of thousands of operations, of which less is tried by day.
LONG = frozenset(
    "beta_density beta_slope gamma_slope lower_beta lower_gamma riemann_slope upper_beta upper_gamma zeta_slope".split()
)

#: Elementwise primitives' keywords that have no default, and variants of those that have.
KEYWORDS: dict[str, list[dict[str, Any]]] = {
    "full_like": [{"fill_value": 2.5}],
    "nan_to_num": [{}, {"nan": 1.0, "posinf": 2.0, "neginf": -2.0}],
    "leaky_relu": [{}, {"negative_slope": 0.3}],
    "hardtanh": [{}, {"min_val": -0.5, "max_val": 1.5}],
    "elu": [{}, {"alpha": 0.5}],
    "celu": [{}, {"alpha": 0.5}],
    "softplus": [{}, {"beta": 2.0, "threshold": 1.25}],
    "gelu": [{}, {"approximate": "tanh"}],
    "psi_derivative": [{}, {"order": 2}, {"order": 5}],
    **{name: [{}, {"order": 2}] for name in ("gamma_slope", "riemann_slope", "zeta_slope")},
    "beta_slope": [{}, {"orders": (0, 1)}, {"orders": (1, 1)}],
    **{name: [{}, {"order": 2}] for name in ("bessel_quotient", "bessel_j_quotient")},
}

#: Primitives that take complex numbers.
COMPLEX = frozenset(
    """
    abs acos acosh add angle asin asinh atan atanh conj cos cosh divide equal exp expm1 imag log log10 log1p log2
    multiply negative not_equal positive pow real reciprocal sign sin sinh sqrt square subtract tan tanh where
    isfinite isinf isnan zeros_like ones_like scale unscale rsqrt exp2 sigmoid silu sinc tanh_pull sigmoid_pull
    """.split()
)

#: Primitives that only rules call, never with Python numbers.
RULES_ONLY = frozenset({"normal_density", "normal_share", "scale", "unscale", "tanh_pull", "sigmoid_pull"})


def domain_of(name: str, i: int = 0) -> Domain:
    """What argument i of an elementwise primitive may be."""
    domains = DOMAINS.get(name, (ANY,))
    return domains[min(i, len(domains) - 1)]


def complexified(array: Any, seed: int) -> Any:
    """The same real parts with imaginary parts that are not small."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        return array
    rng = np.random.default_rng([seed, *array.shape])
    return np.asarray(array + 1j * rng.uniform(0.2, 0.9, array.shape) * rng.choice([-1, 1], array.shape))


def _elementwise(primitive: Primitive) -> list[Sample]:
    count = len(primitive.arrays)
    seed = zlib.crc32(primitive.name.encode())

    def of(*shapes: tuple[int, ...], **keywords: Any) -> Sample:
        arrays = (domain_of(primitive.name, i).draw(shape, seed + i) for i, shape in enumerate(shapes))
        return Sample(tuple(arrays), keywords)

    first, *more = KEYWORDS.get(primitive.name, [{}])
    made = [of(*[(2, 3)] * count, **first), of(*[()] * count, **first), *(of(*[(2, 3)] * count, **k) for k in more)]
    if count > 1:
        stretched = [(2, 1), (3,), (2, 2, 1)]
        made += [of(*stretched[:count], **first), of(*[(2, 3)] * (count - 1), (), **first)]
        kinds = [domain_of(primitive.name, i).kind for i in range(count)]
        for i in range(count):
            if kinds[i] == "f" and "f" in kinds[:i] + kinds[i + 1 :] and primitive.name not in RULES_ONLY:
                args = list(made[0].args)  # with a Python number in its place
                args[i] = float(domain_of(primitive.name, i).draw((), seed + 9))
                made.append(Sample(tuple(args), first))
    if primitive.name in COMPLEX:
        made += [
            replace(s, args=tuple(complexified(a, seed + i) for i, a in enumerate(s.args))) for s in made[:3:2] or made
        ]
        if count == 2:
            made.append(replace(made[0], args=(complexified(made[0].args[0], seed), made[0].args[1])))
            made.append(replace(made[0], args=(made[0].args[0], complexified(made[0].args[1], seed))))
    return made


def samples_of(primitive: Primitive) -> list[Sample]:
    """The samples of a primitive."""
    from rows import COMPLEX_ROWS, ROWS

    if primitive.name in ROWS:
        made = list(ROWS[primitive.name])
        if primitive.name in COMPLEX_ROWS:
            made += [replace(s, args=tuple(map(complexified, s.args, itertools.count()))) for s in made[:2]]
        return made
    if primitive.kind is ELEMENTWISE:
        return _elementwise(primitive)
    raise LookupError(
        f"{primitive.name} has no samples: add a row to tests/rows.py, with one or more calls such as "
        f"`{primitive.name!r}: [call((2, 3), ...)]` (a tuple of sizes stands for an array of random numbers)"
    )


def _hermitian(x: Any) -> Any:
    """Symmetric matrices from any: arrays or tensors, with operators alone."""
    adjoint = x.mT if isinstance(x, np.ndarray) else x.mT.conj()
    return (x + (np.conj(adjoint) if isinstance(x, np.ndarray) else adjoint)) / 2


#: Functions whose arguments belong to a subspace, with a map onto it: differences are taken within.
PREPARE: dict[str, Callable[[Any], Any]] = dict.fromkeys(["cholesky", "eigh", "eigvalsh", "packed_ldl"], _hermitian)

#: Primitives that act on levels instead of computing: tests/engine has their tests.
LEVELS = {
    "all_examples": "takes batched arrays apart, as leave_level; tests/autograd has functions with a rule for vmap",
    "enter_level": "makes batched arrays instead of computing with them",
    "leave_level": "the inverse of enter_level",
    "sum_level": "sums over a level, which a plain sample does not have",
    "make_dual": "makes dual numbers instead of computing with them",
    "primal_part": "takes dual numbers apart; a plain sample has none",
    "untraced": "its derivative raises, which tests/autograd checks",
    "tangent_part": "takes dual numbers apart; a plain sample has none",
}


# -- references --------------------------------------------------------------------------------------
def _descending(sort: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        return np.flip(sort(np.flip(x, axis=axis), axis=axis), axis=axis) if descending else sort(x, axis=axis)

    return reference


def _argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return np.argsort(-x if descending else x, axis=axis, stable=True)


def _added(g: Any, i: Any, axis: int, size: int) -> Any:
    y = np.zeros((*g.shape[:axis], size, *g.shape[axis + i.ndim :]), g.dtype)
    np.add.at(y, (*(slice(None),) * axis, i), g)
    return y


def _put_add(g: Any, *, key: Any, shape: tuple[int, ...]) -> Any:
    y = np.zeros(shape, g.dtype)
    np.add.at(y, key, g)
    return y


def _numpy_key(key: Any, at: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key with its positions in it; those in several axes taken together are taken apart."""
    rows, made, axis = iter([at] if sum(type(part) is At for part in key) == 1 else at), [], 0
    for part in key:
        if type(part) is At and part.axes:
            made += np.unravel_index(next(rows) % np.prod(shape[axis : axis + part.axes], dtype=int),
                                     shape[axis : axis + part.axes])  # fmt: skip
        else:
            made.append(np.asarray(True) if type(part) is At else part)
        axis += part.axes if type(part) is At else part is not None
    return tuple(made)


def _pick(x: Any, at: Any, *, key: Any) -> Any:
    return x[_numpy_key(key, at, x.shape)]


def _pick_put(g: Any, at: Any, *, key: Any, shape: tuple[int, ...]) -> Any:
    return _put_add(g, key=_numpy_key(key, at, shape), shape=shape)


def _take_along_axis(x: Any, i: Any, *, axis: int = -1) -> Any:
    shape = list(np.broadcast_shapes(*(np.delete(a.shape, axis) for a in (x, i))))
    at = axis % x.ndim
    full = (np.broadcast_to(a, (*shape[:at], a.shape[at], *shape[at:])) for a in (x, i))
    return np.take_along_axis(*full, axis=axis)


def _recurrence(a: Any, b: Any, *, axis: int = -1, reverse: bool = False) -> Any:
    a, b = (np.moveaxis(v, axis, 0)[:: -1 if reverse else 1] for v in (a, b))
    y = np.array(b)
    for k in range(1, len(y)):
        y[k] += a[k] * y[k - 1]
    return np.moveaxis(y[:: -1 if reverse else 1], 0, axis)


def _floor_divide(x1: Any, x2: Any) -> Any:
    """The standard's: an infinity divided by a number is one, a number divided by an infinity is a zero."""
    infinite = np.isinf(x1) | np.isinf(x2)
    return np.where(infinite, np.floor(x1 / x2), np.floor_divide(x1, x2))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x)) if np.iscomplexobj(x) else scipy.special.expit(x)


def _argtopk(x: Any, *, k: int, axis: int = -1, largest: bool = True) -> Any:
    return np.take(np.argsort(-x if largest else x, axis=axis, stable=True), range(k), axis=axis)


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return x * scipy.special.ndtr(x)
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _twice(n: int, double: bool) -> Any:
    """Weights of the frequencies in half a spectrum: two where the other half has the conjugate."""
    k = np.arange(n // 2 + 1)
    return np.where((k > 0) & (2 * k < n) & double, 2, 1)


def _half_dft(x: Any, *, axis: int, norm: Any = "backward", inverse: bool = False, double: bool = False) -> Any:
    weights = _twice(x.shape[axis], double)
    y = (np.fft.ifft if inverse else np.fft.fft)(np.moveaxis(x, axis, -1), norm=norm)
    return np.moveaxis(y[..., : weights.size] * weights, -1, axis)


def _real_dft(x: Any, *, axis: int, n: int, norm: Any = "backward", inverse: bool = False, double: bool = True) -> Any:
    x = np.moveaxis(x, axis, -1) * _twice(n, double)
    return np.moveaxis((np.fft.ifft if inverse else np.fft.fft)(x, n, norm=norm).real, -1, axis)


def _dft(x: Any, *, axis: Any, norm: Any = "backward", inverse: bool = False) -> Any:
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=axis, norm=norm)


def _where(mask: Callable[..., Any], value: float, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with other values at some points."""
    return lambda *xs, **keywords: np.where(mask(*xs), value, function(*xs, **keywords))


def _outside_beta(*xs: Any) -> Any:
    return np.any([np.isnan(x) | ((x < 0) & (np.floor(x) == x)) for x in np.broadcast_arrays(*xs)], axis=0)


def _both_infinite(a: Any, b: Any) -> Any:
    return (a == np.inf) & (b == np.inf)


def _bessel_quotient(x: Any, *, order: int = 1) -> Any:
    tiny, huge = np.abs(x) < 1e-30, np.isinf(x)
    safe = np.where(tiny | huge, 1, x)
    y = np.where(huge, np.inf, scipy.special.iv(order, safe) / safe**order)
    return np.where(tiny, 0.5**order / scipy.special.factorial(order), y)


def _at_infinity(values: tuple[float, float], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with its limits, where SciPy's has NaN."""
    return _where(np.isposinf, values[1], _where(np.isneginf, values[0], function))


def _bessel_j_quotient(x: Any, *, order: int = 1) -> Any:
    tiny = np.abs(x) < 1e-30
    y = scipy.special.jv(order, np.where(tiny, 1, x)) / np.where(tiny, 1, x) ** order
    return np.where(tiny, 0.5**order / scipy.special.factorial(order), np.where(np.isinf(x), 0, y))


def _gamma_density(a: Any, x: Any) -> Any:
    y = scipy.special.xlogy(a - 1, x) - x - scipy.special.gammaln(a)
    y = np.where((x == np.inf) & (a < np.inf), 0, np.exp(y))
    return np.where((a >= 0) & (a < np.inf) & (x >= 0), y, np.nan)


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    y = scipy.special.xlogy(a - 1, x) + scipy.special.xlog1py(b - 1, -x) - scipy.special.betaln(a, b)
    return np.where((a >= 0) & (b >= 0) & (a + b < np.inf) & (x >= 0) & (x <= 1), np.exp(y), np.nan)


#: References that NumPy and SciPy have under another name, or none at all; None: there is none.
REFERENCES: dict[str, Callable[..., Any] | None] = {
    "argsort": _argsort,
    "sort": _descending(np.sort),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": _sigmoid,
    "gammaln": _where(lambda x: x == -np.inf, np.inf, scipy.special.gammaln),  # as C's and PyTorch's
    "psi_derivative": _where(np.isneginf, np.nan, lambda x, *, order=1: scipy.special.polygamma(order, x)),
    "hurwitz_zeta": _where(
        lambda x, q: (x != x) | (q != q), np.nan, _where(lambda x, q: (x == np.inf) & (q > 1), 0, scipy.special.zeta)
    ),
    "beta": _where(_outside_beta, np.nan, _where(_both_infinite, 0, scipy.special.beta)),
    "betaln": _where(_outside_beta, np.nan, _where(_both_infinite, -np.inf, scipy.special.betaln)),
    "i0": _where(np.isinf, np.inf, scipy.special.i0),
    "i1": _where(np.isposinf, np.inf, _where(np.isneginf, -np.inf, scipy.special.i1)),
    "riemann_zeta": scipy.special.zeta,
    "bessel_quotient": _bessel_quotient,
    "bessel_j0": _at_infinity((0, 0), scipy.special.j0),
    "bessel_j1": _at_infinity((0, 0), scipy.special.j1),
    "bessel_j_quotient": _bessel_j_quotient,
    "bessel_y0": _at_infinity((np.nan, 0), scipy.special.y0),
    "bessel_y1": _at_infinity((np.nan, 0), scipy.special.y1),
    "spherical_bessel_j0": lambda x: scipy.special.spherical_jn(0, x),
    "airy_ai": _at_infinity((0, 0), lambda x: scipy.special.airy(x)[0]),
    "airy_slope": _at_infinity((np.nan, 0), lambda x: scipy.special.airy(x)[1]),
    "lower_gamma": scipy.special.gammainc,
    "upper_gamma": scipy.special.gammaincc,
    "gamma_density": _gamma_density,
    **dict.fromkeys(["beta_slope", "gamma_slope", "riemann_slope", "zeta_slope"]),
    "lower_beta": scipy.special.betainc,
    "upper_beta": scipy.special.betaincc,
    "beta_density": _beta_density,
    "logsumexp": scipy.special.logsumexp,
    "vector_norm": lambda x, *, ord=2, **axes: np.linalg.vector_norm(x, ord=ord, **axes),
    "softmax": lambda x, *, axis=-1: scipy.special.softmax(x, axis=axis),
    "log_softmax": lambda x, *, axis=-1: scipy.special.log_softmax(x, axis=axis),
    "inv": np.linalg.inv,
    "solve": lambda x1, x2: np.linalg.solve(x1, x2),
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    **{name: getattr(np.linalg, name) for name in ("eigh", "eigvalsh", "svd", "svdvals", "qr")},
    "solve_triangular": lambda x1, x2, *, upper: np.linalg.solve(np.triu(x1) if upper else np.tril(x1), x2),
    "eig": lambda x: tuple(part.astype(complex) for part in np.linalg.eig(x)),
    "pinv": lambda x, rtol, atol: np.linalg.pinv(x, rtol=np.reshape(rtol, np.shape(rtol)[:-2])),
    "matrix_exp": scipy.linalg.expm,
    "cofactor": lambda x: np.linalg.det(x)[..., None, None] * np.linalg.inv(x).mT,
    "clone": np.array,
    "nonzero": lambda x: np.nonzero(x),
    "scale": lambda x1, x2: np.where(x1 == 0, x1, x1 * x2),
    "normal_density": lambda x: np.exp(x * x * -0.5) / np.sqrt(2 * np.pi),
    "normal_share": scipy.special.ndtr,
    "sigmoid_pull": lambda h, s: h * (s - s * s),
    "tanh_pull": lambda h, s: h - h * (s * s),
    "unscale": lambda x1, x2: np.where(x1 == 0, x1, x1 / x2),
    "argtopk": _argtopk,
    "reshape": lambda x, *, shape, copy=None: np.reshape(x, shape),
    "full_like": lambda x, *, fill_value: np.full_like(x, fill_value),
    "count_nonzero": lambda x, **axes: np.asarray(np.count_nonzero(x, **axes)),
    "astype": lambda x, *, dtype, copy=True: x.astype(dtype),
    "floor_divide": _floor_divide,
    "remainder": np.remainder,
    "clip": lambda x, low=None, high=None: np.clip(x, low, high),
    "relu": lambda x: np.maximum(x, 0),
    "index": lambda x, *, key: x[key],
    "concat": lambda *xs, axis=0: np.concat(xs, axis=axis),
    "stack": lambda *xs, axis=0: np.stack(xs, axis=axis),
    "split_with_sizes": lambda x, *, split_sizes, axis=0: np.split(x, np.cumsum(split_sizes)[:-1], axis=axis),
    "pair_einsum": lambda x1, x2, *, subscripts: np.einsum(subscripts, x1, x2),
    "logcumsumexp": lambda x, *, axis: np.logaddexp.accumulate(x, axis=axis),
    "take_put": lambda g, i, *, axis, size: _added(g, i, axis, size),
    "put_add": _put_add,
    "pick": _pick,
    "pick_put": _pick_put,
    "recurrence": _recurrence,
    "take": lambda x, i, *, axis=None: np.take(x, i, axis=axis),
    "take_along_axis": _take_along_axis,
    "leaky_relu": lambda x, *, negative_slope=0.01: np.where(x > 0, x, negative_slope * x),
    "hardtanh": lambda x, *, min_val=-1.0, max_val=1.0: np.clip(x, min_val, max_val),
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "elu": lambda x, *, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)),
    "celu": lambda x, *, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
    "logsigmoid": scipy.special.log_expit,
    "log_odds": scipy.special.logit,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "gelu": _gelu,
    "softplus": lambda x, *, beta=1.0, threshold=20.0: np.where(
        x * beta > threshold, x, np.log1p(np.exp(beta * x)) / beta
    ),
    "dft": _dft,
    "half_dft": _half_dft,
    "real_dft": _real_dft,
    "tile": lambda x, *, repetitions: np.tile(x, repetitions),
    "copy": np.array,
}


def reference_of(name: str) -> Callable[..., Any] | None:
    """The function that says what a primitive's values are."""
    if name in REFERENCES:
        return REFERENCES[name]
    for home in (np, scipy.special):
        if callable(getattr(home, name, None)):
            return getattr(home, name)  # type: ignore[no-any-return]
    return None


# -- kinks -------------------------------------------------------------------------------------------
_INF = float("inf")
_FLAT = [(([-1.0, 0.0, 0.5, 2.0],), {}, ([0.0, 0.0, 0.0, 0.0],))]

#: Arguments, keywords and the gradients of the sum of the result, at kinks and edges: PyTorch's choices.
KINKS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]] = {
    "abs": [(([-1.0, 0.0, 2.0],), {}, ([-1.0, 0.0, 1.0],))],
    "relu": [(([-1.0, 0.0, 2.0],), {}, ([0.0, 0.0, 1.0],))],
    **dict.fromkeys(["sign", "floor", "ceil", "round", "trunc"], _FLAT),
    "sqrt": [(([0.0, 4.0],), {}, ([_INF, 0.25],))],
    "maximum": [(([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), {}, ([0.0, 0.5, 1.0], [1.0, 0.5, 0.0]))],
    "minimum": [(([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]), {}, ([1.0, 0.5, 0.0], [0.0, 0.5, 1.0]))],
    "clip": [(([-2.0, -1.0, 0.0, 1.0, 2.0], -1.0, 1.0), {}, ([0.0, 1.0, 1.0, 1.0, 0.0],))],
    "hypot": [(([0.0, 3.0], [0.0, 4.0]), {}, ([0.0, 0.6], [0.0, 0.8]))],
    "pow": [(([0.0, 0.0, 0.0], [2.0, 1.0, 0.0]), {}, ([0.0, 1.0, 0.0], [0.0, 0.0, 0.0]))],
    "atan2": [(([0.0, 1.0], [0.0, 0.0]), {}, ([0.0, 0.0], [0.0, -1.0]))],
    "max": [
        (([1.0, 3.0, 3.0],), {}, ([0.0, 0.5, 0.5],)),
        (([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]],), {"axis": 1}, ([[0.0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3]],)),
    ],
    "min": [(([1.0, 3.0, 1.0],), {}, ([0.5, 0.0, 0.5],))],
    "prod": [
        (([2.0, 0.0, 4.0],), {}, ([0.0, 8.0, 0.0],)),
        (([0.0, 0.0, 4.0],), {}, ([0.0, 0.0, 0.0],)),
    ],
    "cumulative_prod": [(([2.0, 0.0, 4.0],), {}, ([1.0, 10.0, 0.0],))],
    "std": [(([2.0, 2.0, 2.0],), {}, ([0.0, 0.0, 0.0],))],
    "vector_norm": [
        (([0.0, 0.0],), {}, ([0.0, 0.0],)),
        (([0.0, -2.0],), {"ord": 1}, ([0.0, -1.0],)),
        (([2.0, -2.0],), {"ord": _INF}, ([0.5, -0.5],)),
        (([0.0, 0.0],), {"ord": 3}, ([0.0, 0.0],)),
    ],
    "logsumexp": [(([-_INF, -_INF],), {}, ([0.0, 0.0],)), (([-_INF, 0.0],), {}, ([0.0, 1.0],))],
    "softmax": [(([-_INF, 0.0],), {}, ([0.0, 0.0],))],
    "remainder": [(([4.0, -3.0], [2.0, 2.0]), {}, ([1.0, 1.0], [-2.0, 2.0]))],
    "fmod": [(([4.0, -3.0], [2.0, 2.0]), {}, ([1.0, 1.0], [-2.0, 1.0]))],
}

#: Points at which the value is finite and the derivative is not, documented with the function.
SINGULAR: dict[str, Callable[..., bool]] = {
    "sqrt": lambda x: x == 0,
    "asin": lambda x: abs(x) == 1,
    "acos": lambda x: abs(x) == 1,
    "acosh": lambda x: x == 1,
    "entr": lambda x: x == 0,
    "rel_entr": lambda x1, x2: x1 == 0,
    "kl_div": lambda x1, x2: x1 == 0,
    **dict.fromkeys(["lower_gamma", "upper_gamma"], lambda x1, x2: x2 == 0 and x1 < 1),
    **dict.fromkeys(
        ["lower_beta", "upper_beta"],
        lambda x1, x2, x3: (x3 == 0 and x1 < 1) or (x3 == 1 and x2 < 1) or x1 == 0 or x2 == 0,
    ),
    "hurwitz_zeta": lambda x1, x2: x2 < 0,
    "riemann_zeta": lambda x: x < -200 and x % 2 == 0,
    "gamma_density": lambda x1, x2: x2 == 0,
    "gamma_slope": lambda x1, x2: x2 == 0,
    "beta_slope": lambda x1, x2, x3: x3 in (0, 1),
    "beta_density": lambda x1, x2, x3: x3 in (0, 1),
    "unscale": lambda x1, x2: x2 == 0,
    "pow": lambda x1, x2: x1 < 0 or (x1 == 0 and 0 < x2 < 1),
}

_OVERFLOW = "the derivative overflows where the value does, and the rule is a plain product, for speed"
_NO_VALUE = "of order 2: no function of y is finite there, as y is not"

#: Points at which a value that is not used (its cotangent is zero) spoils the gradient all the same, and why.
UNUSED: dict[str, tuple[Callable[..., bool], str]] = {
    "exp": (lambda x: x > 700, _OVERFLOW),
    "expm1": (lambda x: x > 700, _OVERFLOW),
    "sinh": (lambda x: abs(x) > 700, _OVERFLOW),
    "cosh": (lambda x: abs(x) > 700, _OVERFLOW),
    "bessel_quotient": (lambda x: abs(x) > 700, _OVERFLOW),
    "exprel": (lambda x: x > 700, _OVERFLOW),
    "erfinv": (lambda x: abs(x) >= 1, _NO_VALUE),
    "erfcinv": (lambda x: not 0 < x < 2, _NO_VALUE),
    "ndtri": (lambda x: not 0 < x < 1, _NO_VALUE),
    **dict.fromkeys(
        ["beta_density", "beta_slope"], (lambda x1, x2, x3: x1 <= 0 or x2 <= 0 or not 0 < x3 < 1, _NO_VALUE)
    ),
    "gamma_slope": (lambda x1, x2: x1 <= 0 or x2 <= 0, _NO_VALUE),
    **dict.fromkeys(["hurwitz_zeta", "zeta_slope"], (lambda x1, x2: x1 <= 1 or x2 <= 0, _NO_VALUE)),
    "unscale": (lambda x1, x2: x2 == 0, "only rules call it, and they name a derivative that is infinite there"),
}

#: Primitives that take no array of size 0, with the reason.
EMPTY: dict[str, str] = {
    **dict.fromkeys(["max", "min", "argmax", "argmin"], "the extreme of nothing is not defined"),
}

#: Cells of the matrix that fail, each with its reason; one that passes is an error.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("dtype kept", "thin"): "dropout gives it floats alone: whole numbers would take the dtype of the scale",
}
