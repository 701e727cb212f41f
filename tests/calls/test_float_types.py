"""Floats keep their dtype: whatever stands beside a float32 tensor, integers, booleans or numbers, lifts it nowhere.

Nothing is listed: of every public function and method, and of the calls that are known to work, tensors of floats are
replaced one by one by integers and booleans, and numbers by every kind of NumPy's scalars. A call may refuse such an
argument; it may not change the dtype of its result.
"""

import inspect
import warnings

import callables
import numpy as np
import pytest
from thoroughness import cases

import lucidgrad as lg

SCALARS = (np.float64, np.float32, np.float16, np.longdouble, np.int64, np.int8, np.uint8, np.bool_)
INTEGERS = cases(("int64", "bool"), ("int64", "int32", "uint8", "bool"))
REALS = cases(("float32",), ("float32", "float16", "bfloat16"))
#: On CUDA bfloat16 is refused by name.
WAYS = [("cpu", real) for real in REALS] + [("cuda", real) for real in REALS[:-1]]
#: What gives no numbers that are computed, or draws them.
PLACES_LEFT_OUT = (
    "amp", "autograd", "cuda", "distributions", "files", "func", "nn.init", "optim", "random", "signal.windows", "utils"
)  # fmt: skip
#: Functions whose result has the dtype of one argument, by its place, or of each its own: they copy, or write into it.
OF_ITS_OWN = {
    0: """
        bernoulli contiguous cpu diagonal_scatter expand_as index_copy index_reduce masked_scatter new new_tensor
        pin_memory put reshape_as roll scatter select_scatter slice_scatter unique view_as nn.utils.fuse_conv_bn_weights
        nn.utils.fuse_linear_bn_weights
    """,
    1: """
        as_tensor astype cuda new_tensor select to to_device triangular_solve type type_as
        nn.utils.fuse_conv_bn_weights nn.utils.fuse_linear_bn_weights
    """,
}
#: Functions of one array whose other tensors are settings: they say how, and not of what.
SETTINGS = """
    hardshrink nanpercentile nanquantile percentile pinverse quantile rrelu linalg.pinv nn.functional.hardshrink
""".split()
EACH = "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_tensors meshgrid".split()


def own(name, place):
    plain = name.removeprefix("Tensor.")
    return name.endswith("_") or plain in OF_ITS_OWN.get(place, "").split() or plain in (*EACH, *SETTINGS)


def results(call, args, keywords):
    """The tensors that a call gives; None where it refuses."""
    try:
        with callables.restored(), np.errstate(all="ignore"):
            y = call.function(*args, **keywords)
    except Exception:
        return None
    return [part for part in _flat(y) if isinstance(part, lg.Tensor)]


def _flat(y):
    return [part for each in y for part in _flat(each)] if isinstance(y, (tuple, list)) else [y]


def dtypes(tensors):
    return [str(x.dtype) for x in tensors]


def is_number(function, place):
    """Whether an argument is a setting, and no value that is computed with."""
    found = callables.parameters(function)
    note = found[place].annotation if place < len(found) else inspect.Parameter.empty
    return note in (float, int, float | None, int | None) or "float" in str(note)


def computing(most):
    """The calls of what computes with its arguments."""
    for call in callables.valid(most) if most > 1 else callables.working():
        if call.source and ".cuda()" not in call.source and not call.name.startswith(PLACES_LEFT_OUT):
            yield call


@pytest.fixture(scope="module")
def calls():
    return list(computing(cases(1, 2)))


def prepared(call, real, device):
    """The arguments with floats in a dtype; the places of tensors of floats, and of numbers."""
    args, keywords = call.arguments()
    floats = [i for i, a in enumerate(args) if isinstance(a, lg.Tensor) and a.dtype == lg.float32]
    numbers = [i for i, a in enumerate(args) if type(a) in (float, int, bool)]

    def made():
        return [
            a if not isinstance(a, lg.Tensor) else a.detach().to(device).to(real if i in floats else a.dtype)
            for i, a in enumerate(args)
        ]

    return made, keywords, floats, numbers


def beside_tensors(call, real, device):
    """How many calls with integers in place of floats were tried, and those that give another dtype."""
    made, keywords, floats, _ = prepared(call, real, device)
    wanted = results(call, made(), keywords) if len(floats) > 1 else None
    tried, wrong = 0, []
    for place in floats if wanted else ():
        if own(call.name, place) or is_number(call.function, place):
            continue
        for kind in INTEGERS:
            args = made()
            args[place] = args[place] > 0.5 if kind == "bool" else (args[place] * 4 + 1).to(kind)
            found = results(call, args, keywords)
            tried += found is not None
            if found is not None and any("float" in a and a != b for a, b in zip(dtypes(wanted), dtypes(found))):
                wrong.append(f"{call.name}({call.source}), argument {place} of {kind}: {dtypes(found)}")
    return tried, wrong


def beside_scalars(call, real, device):
    """The same with NumPy's scalars in place of numbers, which give what Python's give."""
    made, keywords, floats, numbers = prepared(call, real, device)
    tried, wrong = 0, []
    for place in numbers + floats[1:] if floats else ():
        for kind in SCALARS:
            args, plain = made(), made()
            value = args[place] if place in numbers else 1.0
            scalar = kind(value)
            if scalar != value or (place in numbers and np.asarray(value).dtype.kind != np.dtype(kind).kind):
                continue
            args[place] = scalar
            plain[place] = float(scalar) if isinstance(scalar, np.floating) else scalar.item()
            wanted, found = results(call, plain, keywords), results(call, args, keywords)
            tried += wanted is not None
            if wanted is not None and (found is None or dtypes(found) != dtypes(wanted)) and not own(call.name, place):
                given = None if found is None else dtypes(found)
                wrong.append(f"{call.name}({call.source}), argument {place} {kind.__name__}: {given}")
    return tried, wrong


def law(calls, check, real, device):
    tried, wrong = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in calls:
            count, found = check(call, real, device)
            tried, wrong = tried + count, wrong + found
    return tried, wrong


@pytest.mark.parametrize(("check", "least"), [(beside_tensors, 300), (beside_scalars, 600)])
@pytest.mark.parametrize(("device", "real"), WAYS)
def test_a_float_keeps_its_dtype(calls, check, least, real, device):
    if real == "bfloat16":
        pytest.importorskip("ml_dtypes")
    if device == "cuda":
        pytest.importorskip("cupy")
    tried, wrong = law(calls, check, real, device)
    assert wrong == []
    assert tried > least
