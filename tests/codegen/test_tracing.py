"""Programs as expressions: what is shared, what is typed how, what can't be traced."""

import catalogue
import numpy as np
import pytest

from lucidgrad.backends import codegen
from lucidgrad.backends.codegen.expression import Graph, Symbol, weak
from lucidgrad.core.primitive import ELEMENTWISE, primitive, registry

F32, F64 = np.dtype("float32"), np.dtype("float64")


def _forward(name, *kinds, **keywords):
    return codegen.trace_forward(registry[name], kinds, {**registry[name].keywords, **keywords})


def _lines(name, *kinds, **keywords):
    trace = _forward(name, *kinds, **keywords)
    from lucidgrad.backends.codegen.kernels import kernel_of

    return kernel_of(trace, trace.results, name).lines


# -- which primitives ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", catalogue.names())
def test_every_elementwise_primitive_is_traced(name):
    """All dtypes that it takes, both ways; exceptions are in the catalogue with their reasons."""
    if name in catalogue.UNTRACEABLE:
        pytest.skip(catalogue.UNTRACEABLE[name])
    cases = catalogue.cases_of(name)
    assert cases
    for case in cases:
        case.kernel()


@pytest.mark.parametrize(("name", "dtype"), sorted(catalogue.LEFT_OUT))
def test_dtypes_that_are_left_out_can_not_be_traced(name, dtype):
    args = catalogue.points(name, dtype)
    with pytest.raises((codegen.Untraceable, ValueError)):
        codegen.forward_kernel(registry[name], np.ndarray, args, registry[name].keywords)


# -- expressions ---------------------------------------------------------------------------------
def test_equal_subexpressions_are_computed_once():
    lines = _lines("silu", F32)
    assert len({line.partition(" = ")[2] for line in lines}) == len(lines)
    assert sum("exp(" in line for line in lines) == 1


def test_both_cotangents_share_their_work():
    recipe = registry["divide"].recipe((0, 1))
    g = np.ones(2, "float32")
    made = codegen.pull_kernel(recipe, (True, True), g, recipe.save(g, (g, g), {}))
    assert len(made.kernel.results) == 2
    assert sum("/" in line for line in made.kernel.lines) == 2  # g / x2 once for both, and x1 / x2


def test_minus_zero_is_not_zero():
    graph = Graph()
    assert graph.constant(0.0) is graph.constant(0.0)
    assert graph.constant(0.0) is not graph.constant(-0.0)
    assert graph.constant(1) is not graph.constant(1.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128", "int8", "uint64"])
@pytest.mark.parametrize("number", [2, 0.5, 1j])
@pytest.mark.parametrize("name", ["add", "multiply", "subtract"])
def test_python_numbers_are_weak(name, dtype, number):
    expected = getattr(np, name)(np.ones(1, dtype), number).dtype
    for kind in (type(number), codegen.Value(number)):
        assert _forward(name, np.dtype(dtype), kind).results[0].dtype == expected


@pytest.mark.parametrize("one", catalogue.DTYPES)
@pytest.mark.parametrize("two", catalogue.DTYPES)
def test_dtypes_are_numpys(one, two):
    expected = np.add(np.ones(1, one), np.ones(1, two)).dtype
    if expected.kind in "fc" or one != "bool" or two != "bool":
        assert _forward("add", np.dtype(one), np.dtype(two)).results[0].dtype == expected


def test_half_precision_is_computed_in_single():
    assert _forward("softplus", np.dtype("float16")).results[0].dtype == np.float16
    assert all(
        line.startswith(("const float ", "const bool ", "r0")) for line in _lines("softplus", np.dtype("float16"))
    )


def test_a_branch_on_an_element_can_not_be_traced():
    @primitive(ELEMENTWISE)
    def branching(xp, x, /):
        return x if x > 0 else -x

    try:
        with pytest.raises(codegen.Untraceable, match="branch"):
            _forward("branching", F32)
    finally:
        del registry["branching"]


def test_shapes_and_reductions_can_not_be_traced():
    x = Symbol(Graph(), Graph().constant(1.0, F32))
    with pytest.raises(codegen.Untraceable, match="shape"):
        _ = x.shape

    @primitive(ELEMENTWISE)
    def reducing(xp, x, /):
        return x - xp.sum(x)

    try:
        with pytest.raises(codegen.Untraceable, match=r"xp\.sum"):
            _forward("reducing", F32)
    finally:
        del registry["reducing"]


# -- parameters ----------------------------------------------------------------------------------
def _parameter(kind):
    graph = Graph()
    return weak(graph, graph.node("argument", (), kind, 0))


def test_a_parameter_is_a_number_without_a_value():
    x = _parameter(float)
    assert isinstance(x, float)
    assert isinstance(_parameter(int), int)
    for look in (bool, float, int, lambda x: 1 if x == 2 else 0, lambda x: x**2, abs):
        with pytest.raises(codegen.NeedsValue):
            look(x)
    assert isinstance(x - 1, float)
    assert isinstance(1 / _parameter(int), float)


@pytest.mark.parametrize("wanted", [(0,), (1,)])
def test_powers_look_at_numbers(wanted):
    recipe = registry["pow"].recipe(wanted)
    x = np.ones(2, "float32")
    args = [x, x]
    args[1 - wanted[0]] = 3.0
    saved, goes = recipe.save(x, args, {}), tuple(i in wanted for i in range(2))
    with pytest.raises(codegen.NeedsValue):
        codegen.pull_kernel(recipe, goes, x, saved)
    assert codegen.pull_kernel(recipe, goes, x, saved, by_value=True).kernel.numbers == ()


def test_integers_beyond_64_bits_are_constants():
    kernel = codegen.forward_kernel(registry["multiply"], np.ndarray, (np.ones(1), 2**70), {})
    assert kernel.numbers == ()
    assert "1.1805916207174113e+21" in "".join(kernel.lines)
