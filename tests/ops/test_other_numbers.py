"""Complex numbers, integers and booleans: every elementwise function gives their right value, or refuses them by name.

The functions are found, not listed: whatever is public, takes one to three arrays of three numbers and gives three
numbers that do not depend on one another. What no other library knows has its formula here.
"""

import functools
import inspect
import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import lucidgrad as lg
import lucidgrad.nn.functional as F
from lucidgrad.autograd import gradcheck
from lucidgrad.core.primitive import ELEMENTWISE, registry

REAL = ([0.3, 0.75, 0.45], [0.6, 0.35, 0.8], [0.55, 0.25, 0.4])
COMPLEX = (
    [0.3 + 0.4j, 0.7 - 0.2j, -0.4 + 0.1j, -1.6 - 0.7j, 2.4 + 2.9j],
    [0.6 - 0.3j, -0.45 + 0.25j, 0.8 + 1.1j, 1.2 + 0.4j, -0.7 - 0.9j],
    [0.55 + 0.1j, 0.25 - 0.6j, -0.4 - 0.2j, 0.9 + 0.3j, 1.4 + 0.2j],
)
INTEGERS = ([-2, 0, 1, 3], [1, 2, -1, 2], [2, 1, 3, 1])

#: Not functions of numbers: they draw, drop, arrange, or make complex numbers of real ones.
OTHER = frozenset(
    """
    astype cartesian_prod complex concat concatenate flatten polar roll scalar_tensor slice_scatter t unique_consecutive
    unique_values alpha_dropout bernoulli dropout dropout1d dropout2d dropout3d empty_like feature_alpha_dropout
    binomial feature_dropout gumbel_softmax normal poisson rand_like randn_like randint_like rrelu rrelu_ masked_scatter
    """.split()
)


#: How names begin that are no functions of numbers either: these change what comes later.
SETTINGS = ("compile", "load", "manual_seed", "save", "seed", "set_", "use_")


def _logistic(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


#: What neither NumPy nor SciPy computes of complex numbers under these names.
FORMULAS: dict[str, Callable[..., Any]] = {
    "addcdiv": lambda x, a, b: x + a / b,
    "addcmul": lambda x, a, b: x + a * b,
    "clamp": lambda x, *limits: x if not limits else np.clip(x, *limits, *[None] * (2 - len(limits))),
    "clip": lambda x, *limits: x if not limits else np.clip(x, *limits, *[None] * (2 - len(limits))),
    "clamp_max": np.minimum,
    "clamp_min": np.maximum,
    "cosm1": lambda z: np.cos(z) - 1,
    "deg2rad": lambda z: z * (np.pi / 180),
    "exp10": lambda z: 10.0**z,
    "expit": _logistic,
    "exprel": lambda z: np.expm1(z) / z,
    "l1_loss": lambda a, b: np.abs(a - b),
    "lerp": lambda a, b, w: a + w * (b - a),
    "logit": lambda z: np.log(z / (1 - z)),
    "nan_to_num": np.nan_to_num,
    "rad2deg": lambda z: z * (180 / np.pi),
    "rsqrt": lambda z: 1 / np.sqrt(z),
    "rsub": lambda a, b: b - 1 * a,
    "sgn": np.sign,
    "sigmoid": _logistic,
    "silu": lambda z: z * _logistic(z),
    "softsign": lambda z: z / (1 + np.abs(z)),
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "tanhshrink": lambda z: z - np.tanh(z),
    **dict.fromkeys("clone detach as_tensor asarray from_dlpack resolve_conj resolve_neg tensor".split(), np.array),
    **dict.fromkeys([n for n in lg.special.__all__ if "_polynomial_" in n], lambda x, n: np.ones_like(x)),  # n < 1
    **{short: getattr(np, name) for short, name in {
        "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
        "logical_not": "logical_not", "conj_physical": "conj",
    }.items()},
}  # fmt: skip


def reference(name: str) -> Callable[..., Any] | None:
    """The function by another library, or by its formula."""
    if name in FORMULAS:
        return FORMULAS[name]
    return getattr(np, name, None) or getattr(scipy.special, name, None)


def call(function: Callable[..., Any], *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or what it raises."""
    try:
        return call(function, *args)
    except (TypeError, ValueError, RuntimeError) as error:
        return error


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Losses of each element, not of all."""
    if "reduction" in inspect.signature(function).parameters:
        return functools.partial(function, reduction="none")
    return function


def is_elementwise(function: Callable[..., Any], n: int) -> bool:
    xs = [lg.tensor(x, dtype=lg.float64) for x in REAL[:n]]
    try:
        y = call(function, *xs)
        part = call(function, *[x[1:2] for x in xs])
    except Exception:
        return False
    if not isinstance(y, lg.Tensor) or y.shape != (3,) or part.shape != (1,):
        return False
    return bool(np.array_equal(np.asarray(y[1:2].detach().numpy()), np.asarray(part.detach().numpy()), equal_nan=True))


def found() -> dict[str, tuple[Callable[..., Any], int]]:
    """Every public elementwise function with a number of arrays that it takes."""
    made: dict[str, tuple[Callable[..., Any], int]] = {}
    for space in (lg, lg.special, F):
        for name in sorted(space.__all__):
            function = getattr(space, name)
            if name in OTHER or name.endswith("_") or name.startswith(SETTINGS):
                continue
            if isinstance(function, type) or not callable(function):
                continue
            try:
                taken = wrapped(function)
            except (TypeError, ValueError):
                continue
            for n in (1, 2, 3):
                if is_elementwise(taken, n):
                    made[f"{space.__name__.removeprefix('lucidgrad').lstrip('.') or 'lg'}.{name}"] = taken, n
                    break
    return made


FOUND = found()


def refused(error: Exception, dtype: str) -> bool:
    """Whether an error says what was given and what was expected, and knows a way out."""
    text = str(error)
    given = dtype in text or "j)" in text  # a Python number
    return (
        isinstance(error, TypeError)
        and "given" in text
        and given
        and "expected real numbers" in text
        and "lg.real" in text
    )


def test_functions_are_found() -> None:
    assert len(FOUND) > 200
    assert {"lg.exp", "lg.add", "special.gammaln", "special.i0", "nn.functional.hardshrink"} <= FOUND.keys()


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("name", FOUND)
def test_complex_numbers_are_right_or_refused(name: str, dtype: str) -> None:
    function, n = FOUND[name]
    arrays = [np.array(z, dtype) for z in COMPLEX[:n]]
    y = outcome(function, *[lg.asarray(a, copy=True) for a in arrays])
    if isinstance(y, Exception):
        assert refused(y, dtype), y
        return
    known = reference(name.rpartition(".")[2])
    assert known is not None, f"{name} of complex numbers gives {y}, and nobody knows whether that is right"
    expected = call(known, *arrays)
    assert str(y.dtype).rpartition(".")[2] == str(expected.dtype)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12 if dtype == "complex128" else 2e-5)
    if dtype == "complex128" and str(y.dtype).rpartition(".")[2].startswith(("complex", "float")):
        xs = [lg.tensor(a, requires_grad=True) for a in arrays]
        if call(function, *xs).requires_grad:
            assert gradcheck(function, xs)


MIXTURES = {name: (f, n) for name, (f, n) in FOUND.items() if n > 1}


@pytest.mark.parametrize("name", MIXTURES)
def test_complex_numbers_beside_real_ones_are_right_or_refused(name: str) -> None:
    function, n = MIXTURES[name]
    known = reference(name.rpartition(".")[2])
    reals = [np.array([*x, 0.5, 0.9]) for x in REAL]
    for mixture in itertools.product((False, True), repeat=n):
        if len(set(mixture)) == 1:
            continue
        arrays = [np.array(z) if c else x for z, x, c in zip(COMPLEX, reals, mixture, strict=False)]
        for numbers in (False, True):
            args: list[Any] = [lg.asarray(a, copy=True) for a in arrays]
            if numbers:  # Python's
                args = [COMPLEX[i][0] if c else a for i, (a, c) in enumerate(zip(args, mixture, strict=True))]
                arrays = [COMPLEX[i][0] if c else a for i, (a, c) in enumerate(zip(arrays, mixture, strict=True))]
            y = outcome(function, *args)
            if isinstance(y, Exception):
                assert refused(y, "complex") or (numbers and _MISFIT.search(str(y))), y
                continue
            assert known is not None, f"{name} of {mixture} gives {y}, and nobody knows whether that is right"
            # Python's numbers by themselves have the default dtype
            np.testing.assert_allclose(y.numpy(), call(known, *arrays), rtol=1e-6 if numbers else 1e-12)


_MISFIT = re.compile("given .*j[)].*; expected (Tensor|float|Tensor [|] float) as ")  # where no number is expected

REFUSING = ["special.gammaln", "special.i0", "special.erf", "lg.relu", "lg.hypot", "nn.functional.elu", "lg.floor"]


@pytest.mark.parametrize("name", REFUSING)
def test_transforms_refuse_complex_numbers_as_well(name: str) -> None:
    function, n = FOUND[name]
    xs = [lg.tensor(z) for z in COMPLEX[:n]]
    with pytest.raises(TypeError, match="expected real numbers"):
        lg.func.vmap(function)(*xs)
    with pytest.raises(TypeError, match="expected real numbers"):
        lg.func.jvp(function, tuple(xs), tuple(xs))
    with pytest.raises(TypeError, match="expected real numbers"):
        function(*[lg.tensor(z, requires_grad=True) for z in COMPLEX[:n]])


# -- of many numbers -----------------------------------------------------------------------------
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.4], [0.2, 0.4, 1.8]])


def _gives(function: Callable[..., Any] | None, x: Any) -> Any:
    try:
        y = call(function, x)  # type: ignore[arg-type]
        return y.detach().numpy() if isinstance(y, lg.Tensor) else y if isinstance(y, np.ndarray | np.generic) else None
    except Exception:
        return None


def _like_numpy(name: str) -> bool:
    """Whether a function makes of one real matrix the array that NumPy, or SciPy, makes under that name."""
    known = reference(name)
    ours = getattr(lg, name)
    if (
        name in OTHER
        or name.startswith(SETTINGS)
        or isinstance(ours, type)
        or not callable(ours)
        or not callable(known)
        or isinstance(known, type)
    ):
        return False
    y, expected = _gives(ours, lg.tensor(MATRIX)), _gives(known, MATRIX)
    return (
        y is not None and expected is not None and y.dtype.kind in "fc" and expected.dtype.kind in "fc"
        and y.shape == expected.shape and np.allclose(y, expected)
    )  # fmt: skip


ARRAYS = [name for name in sorted(lg.__all__) if f"lg.{name}" not in FOUND and _like_numpy(name)]


def test_functions_of_arrays_are_found() -> None:
    assert {"sum", "mean", "var", "std", "cumsum", "max", "sort", "logsumexp", "cov", "median"} <= {*ARRAYS}


@pytest.mark.parametrize("name", ARRAYS)
def test_functions_of_arrays_take_complex_numbers_rightly_or_refuse_them(name: str) -> None:
    z = MATRIX + 1j * np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.6], [0.0, 0.2, 0.7]])
    y = outcome(getattr(lg, name), lg.tensor(z))
    if isinstance(y, Exception):
        assert "complex128" in str(y)
        assert "expected" in str(y)
        return
    np.testing.assert_allclose(np.asarray(y.numpy()), call(reference(name), z), rtol=1e-10, atol=1e-12)


#: Parts of networks that are made of more than one number, and of real ones.
NETWORKS = {
    "batch_norm": lambda z: F.batch_norm(z, None, None, training=True),
    "cosine_similarity": lambda z: F.cosine_similarity(z, z),
    "cross_entropy": lambda z: F.cross_entropy(z, lg.tensor([0, 1, 2])),
    "group_norm": lambda z: F.group_norm(z, 1),
    "gumbel_softmax": F.gumbel_softmax,
    "layer_norm": lambda z: F.layer_norm(z, (3,)),
    "logcumsumexp": lambda z: lg.logcumsumexp(z, 0),
    "max_pool1d": lambda z: F.max_pool1d(z, 2),
    "mse_loss": lambda z: F.mse_loss(z, z),
    "multigammaln": lambda z: lg.special.multigammaln(z, 2),
    "nll_loss": lambda z: F.nll_loss(z, lg.tensor([0, 1, 2])),
    "prelu": lambda z: F.prelu(z, lg.tensor([0.1])),
    "quantile": lambda z: lg.quantile(z, 0.5),
    "rms_norm": lambda z: F.rms_norm(z, (3,)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_parts_of_networks_refuse_complex_numbers(name: str) -> None:
    with pytest.raises(TypeError, match="complex128.*expected real numbers") as caught:
        NETWORKS[name](lg.tensor(MATRIX + 1j))
    assert refused(caught.value, "complex128")


def test_one_complex_number_stays_complex() -> None:
    assert lg.scalar_tensor(lg.tensor(1 + 2j)).item() == 1 + 2j
    assert lg.scalar_tensor(np.complex64(1 + 2j)).item() == 1 + 2j
    np.testing.assert_allclose(lg.xlogy(lg.tensor([2.0]), 1 + 1j).numpy(), [2 * np.log(1 + 1j)], rtol=1e-6)


PAIRS = [p for p in itertools.product((2.0, 1 + 1j, 3, True), repeat=2) if any(type(x) is complex for x in p)]


@pytest.mark.parametrize("name", sorted(n for n, p in registry.items() if p.kind is ELEMENTWISE and len(p.arrays) == 2))
def test_numbers_alone_are_what_tensors_of_them_are(name: str) -> None:
    """Also if one of them is complex: none of them says which dtype they come to."""
    op = registry[name].op
    for pair in PAIRS:
        try:
            wanted = op(*map(lg.asarray, pair))
        except (TypeError, ValueError, NotImplementedError) as error:
            with pytest.raises(type(error)):
                op(*pair)
        else:
            found = op(*pair)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.numpy(), wanted.numpy())


SHORT, TWISTED = lg.ones(3), lg.tensor([1j, 2, 3])
BESIDE = {
    "mse_loss": lambda: F.mse_loss(SHORT, TWISTED),
    "mse_loss, weight": lambda: F.mse_loss(SHORT, TWISTED, weight=SHORT),
    "mse_loss, sum": lambda: F.mse_loss(SHORT, TWISTED, reduction="sum"),
    "layer_norm": lambda: F.layer_norm(SHORT, (3,), TWISTED),
    "rms_norm": lambda: F.rms_norm(SHORT, (3,), TWISTED),
    "batch_norm": lambda: F.batch_norm(lg.ones(2, 3), None, None, TWISTED, SHORT, training=True),
    "batch_norm, running": lambda: F.batch_norm(lg.ones(2, 3), SHORT, SHORT, TWISTED),
    "instance_norm": lambda: F.instance_norm(lg.ones(1, 3, 4), weight=TWISTED),
    "group_norm": lambda: F.group_norm(lg.ones(1, 3, 4), 3, SHORT, TWISTED),
}


@pytest.mark.parametrize("name", BESIDE)
def test_complex_numbers_beside_an_input_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name.partition(',')[0]}: given .*complex64.*expected real numbers"):
        BESIDE[name]()


# -- integers --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["int64", "bool"])
@pytest.mark.parametrize("name", FOUND)
def test_integers_and_booleans_are_right_or_refused(name: str, kind: str) -> None:
    function, n = FOUND[name]
    arrays = [np.array(x, kind) for x in INTEGERS[:n]]
    y = outcome(function, *[lg.asarray(a, copy=True) for a in arrays])
    if isinstance(y, Exception):
        assert re.search("given .*expected|integer", str(y)), y
        return
    known = reference(name.rpartition(".")[2])  # which has a meaning for them
    if known is not None and y.dtype not in (lg.float32, lg.float64):
        expected = np.asarray(call(known, *arrays))
    else:
        expected = call(function, *[lg.tensor(a.astype(float)) for a in arrays]).numpy()
    np.testing.assert_allclose(np.asarray(y.numpy(), float), expected.astype(float), rtol=2e-5, atol=1e-6)
