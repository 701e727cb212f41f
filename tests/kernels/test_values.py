"""Every hand-written kernel gives what its program gives."""

import importlib
import re

import cupy
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.backends.cuda.faults import PLACE
from lucidgrad.backends.cuda.kernels import rows
from lucidgrad.core import device
from lucidgrad.determinism import are_deterministic_algorithms_enabled, use_deterministic_algorithms
from lucidgrad.ops.losses import cross_entropy_rows

from .cases import CASES
from .comparison import LAYOUTS, compare

lg.zeros(1, device="cuda")  # loads the back end
ADDING = ("take_put", "put_along_axis_add")


def test_every_kernel_has_cases():
    from lucidgrad.backends.cuda import compiling
    from lucidgrad.backends.cuda.kernels import (
        attention,
        convolution,
        norms,
        puts,
        recurrence,
        reductions,
        rows,
        windows,
    )

    modules = (attention, convolution, norms, puts, recurrence, reductions, rows, windows)
    tables = [module.TABLE for module in modules]
    assert {name for table in tables for name in table} == set(CASES)
    known = device.backend_named("cuda").kernels
    if compiling.brains is None:  # with bfloat16 some ask first whether an array is one of these
        assert all(known[name] is table[name] for table in tables for name in table)
    assert all(name in known for table in tables for name in table)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_kernel_is_program(name, dtype):
    for case in CASES[name]:
        if not case.large:
            compare(name, case, dtype)


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "plain"])
@pytest.mark.parametrize("name", CASES)
def test_any_memory_layout(name, layout):
    for case in CASES[name]:
        if not case.large:
            compare(name, case, "float32", layout)


@pytest.mark.parametrize("name", CASES)
def test_a_million_elements(name):
    for case in [case for case in CASES[name] if case.large][:2]:
        compare(name, case, "float32")


def test_blocks_for_layers_are_as_large_as_their_kernel_says():
    """At most; else a launch of it fails."""
    from lucidgrad.backends.cuda.compiling import rows_of
    from lucidgrad.backends.cuda.kernels import norms

    (bound,) = {int(n) for n in re.findall(r"__launch_bounds__\((\d+), 1\) layer_pull", "".join(norms.BODIES.values()))}
    assert max(rows_of((7, n), (1,)).layout()[2] for n in (*range(1, 70), 511, 512, 1023, 2048, 4096, 10**6)) == bound


def test_layers_too_wide_for_shared_memory(monkeypatch):
    monkeypatch.setattr("lucidgrad.backends.cuda.kernels.norms.ROOM", 0)
    for case in CASES["layer_norm_pull"]:
        if not case.large:
            compare("layer_norm_pull", case, "float32")


@pytest.fixture
def deterministic():
    use_deterministic_algorithms(True)
    yield
    use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("name", ADDING)
def test_adding_in_a_fixed_order(name):
    assert are_deterministic_algorithms_enabled()
    for case in CASES[name]:
        for dtype in ["float32"] if case.large else ["float16", "float32", "float64"]:
            compare(name, case, dtype)
        if not case.large:
            compare(name, case, "float32", "with gaps")


@pytest.mark.parametrize("mode", [False, True])
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "int64", "int32", "int8", "bool"])
@pytest.mark.parametrize("name", ADDING)
def test_adding_other_numbers(name, dtype, mode):
    cpu, cuda = (device.backend_named(where).kernels[name] for where in ("cpu", "cuda"))
    use_deterministic_algorithms(mode)
    try:
        for case in CASES[name]:
            if not case.large:
                g, i = case.arrays()
                g = (g * 9).astype(dtype) if dtype[0] != "c" else (g + 1j * g[::-1]).astype(dtype)
                found = cuda(cupy.asarray(g), cupy.asarray(i), **case.keywords)
                assert found.dtype == g.dtype
                expected = cpu(g, i, **case.keywords)
                np.testing.assert_allclose(cupy.asnumpy(found), expected, rtol=1e-5, atol=1e-5)
    finally:
        use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
def test_the_same_bits_every_time():
    rng = np.random.default_rng(0)
    g, i = cupy.asarray(rng.normal(size=3000).astype("float32")), rng.integers(0, 3, 3000)
    order = cupy.asnumpy(g)
    expected = np.zeros(3, "float32")
    for k, at in enumerate(i):  # in their order
        expected[at] += order[k]
    found = device.backend_named("cuda").kernels["take_put"](g, cupy.asarray(i), axis=0, size=3)
    np.testing.assert_array_equal(cupy.asnumpy(found), expected)


@pytest.mark.usefixtures("deterministic")
def test_indexing_is_deterministic_on_request():
    x = lg.zeros((4, 2), device="cuda", requires_grad=True)
    i = lg.asarray([1, 1, 3]).to("cuda")
    with cudasim.counting() as found:
        lg.autograd.grad(x[i].sum(), x)
    assert "put_atomic" not in found.launches


def test_class_numbers_out_of_range_give_nan_and_are_said():
    x = lg.zeros((3, 4), device="cuda")
    loss = cross_entropy_rows(x, lg.asarray([4, -5, 0]).to("cuda"))
    with pytest.raises(IndexError, match="cross_entropy: index (4|-5) is out of range"):
        lg.cuda.synchronize()
    assert np.isnan(loss.cpu().numpy()).tolist() == [True, True, False]


def test_quotients_of_large_numbers():
    """Places are found by divisions of 32 bits, as long as these suffice."""
    edges = [0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40 + 3]
    i, n = (np.asarray(pairs, "int64") for pairs in zip(*((i, n) for i in edges for n in edges if n), strict=True))
    divide = cupy.ElementwiseKernel(
        "int64 x, int64 n", "int64 q, int64 r", "q = part_of(x, n); r = rest_of(x, n);", "divide", preamble=PLACE
    )
    for found, expected in zip(divide(cupy.asarray(i), cupy.asarray(n)), np.divmod(i, n), strict=True):
        np.testing.assert_array_equal(cupy.asnumpy(found), expected)


@pytest.mark.parametrize("module", ["columns", "convolution", "puts", "windows"])
def test_no_place_is_found_by_divisions_of_64_bits(module):
    """Of an element's number, that is; they are the most that such a kernel would compute."""
    sources = importlib.import_module(f"lucidgrad.backends.cuda.kernels.{module}").SOURCES
    for name, text in sources.items():
        body = text[text.rindex('extern "C"') :]
        assert not re.search(r"\be [/%]|\bline [/%]", body), name


def _long_rows(x):
    yield lg.max(x)
    yield lg.var(x)
    yield lg.std(x)
    yield lg.logsumexp(x, axis=0)
    yield (lg.softmax(x, axis=0) * lg.softmax(-x, axis=0)).sum()
    yield (lg.log_softmax(x, axis=0) * x).mean()


@pytest.mark.skipif(not cudasim.is_installed(), reason="only the emulated device counts launches")
def test_few_rows_that_are_long_are_not_for_single_blocks():
    draws = np.random.default_rng(0).normal(size=rows.LONG).astype("float32")
    for size in (rows.LONG, 1000):
        found, single = [], {"extreme_pull", "variance_pull", "logsumexp_pull", "softmax", "softmax_pull"}
        for where in ("cpu", "cuda"):
            x = lg.asarray(draws[:size], device=where).requires_grad_()
            with cudasim.counting() as counts:
                found.append([lg.autograd.grad(y, x)[0].cpu().numpy() for y in _long_rows(x)])
        for expected, y in zip(*found, strict=True):
            np.testing.assert_allclose(y, expected, rtol=2e-3, atol=1e-5 * np.abs(expected).max())
        assert bool(single & set(counts.launches)) is (size < rows.LONG), counts.launches
