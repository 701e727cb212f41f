"""Every generated loop against its program on NumPy: ordinary and special values, both floats, ends of blocks."""

import functools
import math

import catalogue
import numpy as np
import pytest

from lucidgrad.backends import codegen
from lucidgrad.backends.cpu.compiled import building, elementwise
from lucidgrad.backends.cpu.compiled.layouts import layout_of

DTYPES = ("float32", "float64")
#: Relative errors, in units of the last place of 1: the SIMD functions are 4 off at most, and formulas add theirs.
ULPS = {"float32": 250, "float64": 4500}
#: Functions that lose more digits, and how many times as much.
LOOSE = {"beta": 10}
FILES = 64  # a call of the compiler must end in time, also under sanitizers


def kernel_of(case):
    for by_value in (False, True):
        try:
            if case.recipe is None:
                made = codegen.forward_kernel(
                    case.primitive, np.ndarray, case.args, case.keywords, by_value, codegen.PLAIN_C
                )
                return codegen.Pulled(made, (0,))
            return codegen.pull_kernel(
                case.recipe, case.goes, case.cotangent(), case.saved(), by_value=by_value, language=codegen.PLAIN_C
            )
        except codegen.NeedsValue:
            continue
    raise AssertionError(f"{case} needs a value that it has")


@functools.cache
def cases(name):
    """The kernels of a primitive: pairs of case and kernel."""
    return [(case, pulled) for case in catalogue.cases_of(name, DTYPES) if (pulled := kernel_of(case)).kernel]


@functools.cache
def library():
    """All loops, compiled together: one by one they would take ten times as long."""
    unique = {}
    for name in catalogue.names():
        for _, pulled in cases(name):
            unique.setdefault(signature(pulled.kernel), pulled.kernel)
    loops = [(f"k{i}", kernel, (True,) * len(kernel.arrays)) for i, kernel in enumerate(unique.values())]
    texts = {f"part{k}.c": codegen.loop_source(loops[k::FILES], elementwise.OFFSET) for k in range(FILES)}
    made = building.load("every_loop", texts)
    assert made is not None, building.why_not("every_loop")
    return made, {key: f"k{i}" for i, key in enumerate(unique)}


def signature(kernel):
    return kernel.arrays, kernel.numbers, kernel.results, kernel.lines


def run(kernel, arguments, repeats=1):
    made, names = library()
    name = names[signature(kernel)]
    function = elementwise.bound(kernel, getattr(made, f"{name}_flat"), getattr(made, f"{name}_rows"))
    given = [arguments[place] for place in kernel.takes]
    count = len(kernel.arrays)
    arrays = [np.tile(np.ravel(a), repeats) for a in np.broadcast_arrays(*given[:count])]
    return function(layout_of(arrays), arrays, given[count:])


def differences(found, expected, ulps):
    """The places at which results differ beyond rounding; NaN, infinities and signs of zeros must agree."""
    assert found.dtype == expected.dtype, f"dtype {found.dtype}, expected {expected.dtype}"
    if found.dtype.kind != "f":
        return np.flatnonzero(found != expected)
    eps = float(np.finfo(found.dtype).eps) * ulps
    with np.errstate(all="ignore"):
        same = np.isclose(found, expected, rtol=eps, atol=eps * 1e-2, equal_nan=True)
        zero = (found == 0) & (expected == 0)
        same &= ~zero | (np.signbit(found) == np.signbit(expected))
    return np.flatnonzero(~same)


@pytest.mark.parametrize("name", catalogue.names())
def test_a_loop_gives_what_the_program_gives(name):
    wrong = []
    for case, pulled in cases(name):
        found = run(pulled.kernel, case.arguments())
        for y, expected in zip(found, case.expected(), strict=True):
            expected = np.ravel(np.broadcast_to(expected, np.shape(y) if np.ndim(expected) == 0 else expected.shape))
            at = differences(y, expected, ULPS[case.dtype] * LOOSE.get(name, 1))
            if at.size:
                wrong.append(
                    f"{case}: element {at[0]} is {y[at[0]]!r}, expected {expected[at[0]]!r} ({at.size} differ)"
                )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["tanh", "gelu", "where", "pow", "logaddexp", "erfinv"])
def test_every_element_is_reached_whatever_the_length(name):
    case, pulled = cases(name)[0]
    once = run(pulled.kernel, case.arguments())
    for repeats in (2, 5, 400):
        for y, part in zip(run(pulled.kernel, case.arguments(), repeats), once, strict=True):
            whole = np.tile(part, repeats)
            assert not differences(y, whole, 8).size  # the last elements go through scalar functions


@pytest.mark.parametrize(("name", "bodies"), [("relu", 2), ("gelu", 2), ("airy_ai", 1), ("upper_gamma", 1)])
def test_a_long_body_is_compiled_once(name, bodies):
    _, pulled = next((c, p) for c, p in cases(name) if c.recipe is None)
    source = codegen.loop_source([("lg", pulled.kernel, (True,) * len(pulled.kernel.arrays))], elementwise.OFFSET)
    assert source.count(" lg_some(") - 1 == bodies


DENORMAL = {"float32": (1e-45, -1e-45, 1e-40, 1.1754942e-38), "float64": (5e-324, -5e-324, 1e-310, 2.2e-308)}
HUGE = {"float32": (3e38, -3e38, 88.7, -103.9, -87.5), "float64": (1.7e308, -1.7e308, 709.7, -745.1, -708.5)}
SMOOTH = "exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh".split()
#: In double precision.
PLAIN = {
    "erf": math.erf,
    "erfc": math.erfc,
    "normal_density": lambda x: math.exp(max(x * x * -0.5, -900)) / math.sqrt(2 * math.pi),
    "normal_share": lambda x: math.erfc(-x / math.sqrt(2)) / 2,
}
#: Float64 rounds an argument first.
SINGLE = ("normal_density", "normal_share")


@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n in (*SMOOTH, *PLAIN) for d in DTYPES if d == "float32" or n not in SINGLE]
)
def test_functions_are_exact_to_four_units_also_at_the_ends_of_their_range(name, dtype):
    _, pulled = next((c, p) for c, p in cases(name) if c.dtype == dtype and c.recipe is None)
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.standard_normal(3000), rng.uniform(-20, 20, 3000), DENORMAL[dtype], HUGE[dtype]])
    if name in ("sin", "cos", "tan"):
        x = x[np.abs(x) < 1e5]
    x = x.astype(dtype)
    (found,) = run(pulled.kernel, (x,))
    with np.errstate(all="ignore"):
        if name in PLAIN:
            exact = np.array([PLAIN[name](v) for v in x.tolist()])
        else:
            exact = getattr(np, {"asin": "arcsin", "acos": "arccos"}.get(name, name))(x.astype(np.longdouble))
        rounded = exact.astype(dtype)
        finite = np.isfinite(rounded) & np.isfinite(found)
        assert (np.isnan(found) == np.isnan(rounded)).all()
        unit = np.spacing(np.abs(rounded))
        off = np.where(finite, np.abs(found.astype(exact.dtype) - exact) / unit, 0)
        infinite = np.isinf(rounded) ^ np.isinf(found)
    worst = int(np.argmax(off))
    assert off[worst] <= 4.5, f"{name}({x[worst]!r}) is {found[worst]!r}, {off[worst]:.1f} units off"
    assert not infinite.any(), f"{name}({x[infinite][0]!r}) is {found[infinite][0]!r}"
