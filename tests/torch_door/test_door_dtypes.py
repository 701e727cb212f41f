"""Dtypes of results through the door are PyTorch's, for all pairs of dtypes, beside numbers, and alone."""

import operator as op
import warnings

import numpy as np
import pytest
from thoroughness import cases

import lucidgrad.torch as door

torch = pytest.importorskip("torch", reason="PyTorch is not in the test extra")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
NUMBERS = {"bool": True, "int64": 2, "float64": 2.5, "complex128": 2 + 1j}

ONE = """
abs acos angle asinh atan bitwise_not ceil conj_physical cos deg2rad digamma erf erfinv exp exp2 expm1 fix floor frac i0
isneginf isposinf lgamma log log1p logical_not neg rad2deg reciprocal round rsqrt sgn sigmoid sign signbit sin sinc sqrt
square tan tanh trunc relu selu celu positive real isreal isfinite isnan isinf nan_to_num logit sum prod mean all any
amax amin argmax argmin max min median mode std var sort argsort unique count_nonzero norm diff nansum nanmean aminmax
nonzero clone diag cov corrcoef histc bincount trapezoid cumulative_trapezoid msort std_mean var_mean hardshrink trace
det inverse numel cumsum_0 cumprod_0 logsumexp_0 softmax_0 log_softmax_0 cummax_0 topk_1 kthvalue_1 median_0 max_0 min_0
roll_1 quantile_q clamp_c clamp_f threshold_c
""".split()
TWO = """
add sub mul div true_divide floor_divide remainder fmod pow float_power maximum minimum fmax fmin atan2 hypot eq lt
logical_and bitwise_and bitwise_left_shift copysign xlogy where matmul outer cat stack isclose lerp addcmul nextafter
heaviside searchsorted dot kron
""".split()

#: Functions and dtypes that differ, as docs/torch.md says.
DIFFERENT = {("pow", "bool")}


def arrays(library, dtype, name):
    values = [[2, 1], [1, 1]] if name in ("det", "inverse", "trace") else [0, 1, 2, 3]
    return library.asarray(np.asarray(values).astype(dtype))


def alone(library, spec, dtype):
    name, _, argument = spec.rpartition("_") if spec[-2:] in ("_0", "_1", "_q", "_c", "_f") else (spec, "", "")
    more = {"": (), "0": (0,), "1": (1,), "q": (0.5,), "c": (1, 2), "f": (0.5, 1.5)}[argument]
    return getattr(library, name)(arrays(library, dtype, name), *more)


def beside(library, name, one, other):
    function = getattr(library, name)
    if name == "where":
        return function(library.asarray(np.asarray([True, False, True])), one, other)
    if name in ("cat", "stack"):
        return function((one, other))
    more = {"lerp": (0.5,), "addcmul": (other,)}.get(name, ())
    return function(one, other, *more)


def told(value):
    """Dtypes, shapes and numbers, or that nothing came."""
    if isinstance(value, (tuple, list)):
        return [part for each in value for part in told(each)]
    if hasattr(value, "dtype"):
        kind = str(value.dtype).rpartition(".")[2]
        return [(kind, tuple(value.shape), np.asarray(value.resolve_conj().tolist()))]
    return [(type(value).__name__, (), np.asarray(value))]


def difference(call, dtypes):
    """What the door gives beside PyTorch; None where that is the same, or PyTorch refuses."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            theirs = told(call(torch))
        except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError):
            return None
        try:
            mine = told(call(door))
        except Exception as error:
            return str(error)
    if any(kind == "complex32" for kind, _, _ in theirs):
        return None
    if [part[:2] for part in mine] != [part[:2] for part in theirs]:
        return [part[:2] for part in mine], [part[:2] for part in theirs]
    rough = 4e-3 if "float16" in dtypes else 1e-5
    same = all(np.allclose(a[2], b[2], rtol=rough, atol=rough, equal_nan=True) for a, b in zip(mine, theirs))
    return None if same else (mine, theirs)


@pytest.mark.parametrize("spec", ONE)
def test_of_one(spec):
    notes = {d: difference(lambda library, d=d: alone(library, spec, d), d) for d in DTYPES}
    assert {d: note for d, note in notes.items() if note} == {}


@pytest.mark.parametrize("name", TWO)
def test_of_two(name):
    """Tensors beside tensors and beside numbers."""
    wrong = {}
    vector = np.asarray([1, 2, 3])
    for one in DTYPES[:: cases(2, 1)]:
        for other in DTYPES:
            x, y = vector.astype(one), vector.astype(other)
            made = {
                "tensors": lambda t, x=x, y=y: beside(t, name, t.asarray(x), t.asarray(y)),
                "a number": lambda t, x=x, n=other: beside(t, name, t.asarray(x), NUMBERS[n]),
                "a number first": lambda t, x=x, n=other: beside(t, name, NUMBERS[n], t.asarray(x)),
            }
            for way, call in made.items():
                said = (name, one) in DIFFERENT or (way != "tensors" and other not in NUMBERS)
                if not said and (note := difference(call, (one, other))):
                    wrong[one, other, way] = note
    assert wrong == {}


@pytest.mark.parametrize(
    "name", "add sub mul div maximum where atan2 pow eq hypot xlogy remainder floor_divide".split()
)
def test_tensors_without_axes_are_weaker_in_functions(name):
    """They change no dtype of their own kind or a higher one, as in PyTorch."""
    wrong = {}
    for one in DTYPES:
        for other in DTYPES:
            x, y = np.asarray([1, 2, 3]).astype(one), np.asarray(2).astype(other)
            for way, given in {"second": (x, y), "first": (y, x)}.items():
                call = lambda t, given=given: beside(t, name, *map(t.asarray, given))
                if (name, one) not in DIFFERENT and (note := difference(call, (one, other))):
                    wrong[one, other, way] = note
    assert wrong == {}


@pytest.mark.parametrize("operator", [op.add, op.mul, op.truediv, op.pow, op.sub])
def test_tensors_without_axes_count_as_others_in_operators(operator):
    """Operators are shared with lucidgrad, which has the standard's promotion."""
    for one in ("uint8", "int64", "float16", "float32", "float64"):
        for other in ("uint8", "int64", "float16", "float32", "float64"):
            x, y = np.asarray([1, 2, 3]).astype(one), np.asarray(2).astype(other)
            theirs = operator(torch.asarray(x), torch.asarray(y[None]))
            assert str(operator(door.asarray(x), door.asarray(y)).dtype) == str(theirs.dtype).rpartition(".")[2]
