"""Laws about values: results, dtypes, shapes, examples in docstrings."""

import doctest
import inspect
import re

import array_api_strict
import numpy as np
from samples import EMPTY, RULES_ONLY, Sample, domain_of, reference_of, samples_of

import lucidgrad as lg
from lucidgrad.backends.protocol import STANDARD, Namespace
from lucidgrad.core import device
from lucidgrad.core.primitive import ELEMENTWISE

from .law import (
    call,
    close,
    differentiable,
    fixed_shapes,
    forward,
    gradients,
    has_samples,
    host,
    law,
    live,
    seeds_for,
    tensors,
    wanted,
)

CPU = device.backend_named("cpu")
STRICTEST = {"data_dependent_shapes": False, "boolean_indexing": False}


# -- results -----------------------------------------------------------------------------------------
@law(applies=lambda primitive: reference_of(primitive.name) is not None)
def forward_is_reference(primitive, samples):
    """NumPy's or SciPy's function of that name gives the same, or the one in `samples.REFERENCES`."""
    reference = reference_of(primitive.name)
    for sample in samples + special_values(primitive, samples[0]):
        with np.errstate(all="ignore"):
            expected = reference(*sample.args, **sample.keywords)
            found = forward(primitive, sample)
        expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
        close(found, expected, rtol=1e-9, what=f"{sample}")


def special_values(primitive, sample):
    """For elementwise primitives on floats: zeros, infinities, NaN, large and small numbers, in all combinations."""
    count = len(primitive.arrays)
    if primitive.kind is not ELEMENTWISE or any(domain_of(primitive.name, i).kind != "f" for i in range(count)):
        return []
    values = np.array([-np.inf, -1e3, -1.0, -1e-300, -0.0, 0.0, 1e-300, 1.0, 1e3, np.inf, np.nan])
    grid = np.meshgrid(*[values] * count, indexing="ij")
    return [Sample(tuple(np.ascontiguousarray(axis) for axis in grid), sample.keywords)]


class SelfCall(Exception):
    """A program calls the function that has its own name: the library's function is all there is."""


class Program(Namespace):
    """The CPU's namespace, but for one primitive, which has no kernel."""

    def __init__(self, primitive):
        super().__init__(CPU)
        self._primitive = primitive

    def __getattr__(self, name):
        if name == self._primitive.name:
            raise SelfCall
        return super().__getattr__(name)


def has_program(primitive):
    """Whether a primitive is more than the library's function of its name: else there is nothing to compare."""
    if primitive.name not in STANDARD or not has_samples(primitive):
        return True
    sample = samples_of(primitive)[0]
    with np.errstate(all="ignore"):
        try:
            primitive.program(Program(primitive), *sample.args, **{**primitive.keywords, **sample.keywords})
        except SelfCall:
            return False
    return True


@law(applies=has_program)
def kernel_is_program(primitive, samples):
    """The CPU's kernel, or the library's function, gives what the program gives."""
    for sample in samples + special_values(primitive, samples[0]):
        arrays = [CPU.asarray(a) if isinstance(a, np.ndarray) else a for a in sample.args]
        keywords = {**primitive.keywords, **sample.keywords}
        with np.errstate(all="ignore"):
            try:
                expected = primitive.program(Program(primitive), *arrays, **keywords)
            except SelfCall:
                raise AssertionError(f"{primitive.name} has a kernel and no program beside it") from None
            found = forward(primitive, sample)
        close(found, list(expected) if primitive.outputs else [expected], what=f"{sample}")


@law(applies=fixed_shapes)
def strictest_back_end(primitive, samples):
    """array-api-strict, with all options off, gives the values and gradients that the CPU gives."""
    with array_api_strict.ArrayAPIStrictFlags(**STRICTEST), np.errstate(all="ignore"):
        for sample in special_values(primitive, samples[0]):
            close(forward(primitive, sample, "strict"), forward(primitive, sample), what=f"{sample} value")
    for sample in samples:
        if sample.data_dependent:
            continue
        expected, slopes = forward(primitive, sample), gradients(primitive, sample)
        with array_api_strict.ArrayAPIStrictFlags(**STRICTEST):
            close(forward(primitive, sample, "strict"), expected, what=f"{sample} value")
            close(gradients(primitive, sample, "strict"), slopes, what=f"{sample} gradient")
            close(gradients(primitive, sample, "strict", create_graph=True), slopes, what=f"{sample} graph")


# -- dtypes ------------------------------------------------------------------------------------------
SINGLE = {"f": np.dtype("float32"), "c": np.dtype("complex64")}


def narrowed(array):
    return array.astype(SINGLE.get(array.dtype.kind, array.dtype))


@law()
def dtype_kept(primitive, samples):
    """Single precision in, single precision out: results, gradients, and gradients of gradients.

    Where integers become floats, they become the default ones, which are single precision.
    """
    if primitive.kind is ELEMENTWISE and domain_of(primitive.name).kind == "f" and primitive.name not in RULES_ONLY:
        first = samples[0]
        whole = first.map(lambda a: np.ones(a.shape, "int64") if a.dtype.kind == "f" else a)
        with np.errstate(all="ignore"):
            _check_results(whole, call(primitive, tensors(primitive, whole), first.keywords))
    for sample in samples:
        if any(a.dtype.kind in "fc" for a in sample.arrays()) and sample.keywords.get("dtype") is None:
            _check_dtypes(primitive, sample.map(narrowed))


def _check_results(sample, outputs):
    for y in outputs:
        assert y.dtype.kind not in "fc" or y.dtype in SINGLE.values(), f"{sample} gives {y.dtype}"


def _check_dtypes(primitive, sample):
    args = tensors(primitive, sample)
    outputs = call(primitive, args, sample.keywords)
    _check_results(sample, outputs)
    outputs, xs = live(outputs), [args[i] for i in wanted(primitive, sample)]
    if not outputs or not xs:
        return
    seeds = [lg.asarray(g) for g in seeds_for(outputs)]
    for graph in (False, True):
        found = lg.autograd.grad(outputs, xs, seeds, retain_graph=True, create_graph=graph, materialize_grads=True)
        for x, g in zip(xs, found, strict=True):
            assert type(g.array) is np.ndarray
            assert g.dtype == x.dtype, f"{sample}: a {g.dtype} gradient for {x.dtype}, create_graph={graph}"
    again = [g for g in found if g.requires_grad]
    if again:
        seeds = [lg.asarray(g) for g in seeds_for(again)]
        for x, g in zip(xs, lg.autograd.grad(again, xs, seeds, materialize_grads=True), strict=True):
            assert g.dtype == x.dtype, f"{sample}: a {g.dtype} second gradient for {x.dtype}"


# -- edges of shape ----------------------------------------------------------------------------------
@law(applies=lambda primitive: primitive.kind is ELEMENTWISE)
def zero_dimensions(primitive, samples):
    """0-d arrays stay arrays, and give what longer ones give."""
    for sample in samples:
        if len({a.shape for a in sample.arrays()}) > 1:
            continue
        short = sample.map(lambda a: np.array(a.reshape(-1)[:1]))
        small = sample.map(lambda a: np.array(a.reshape(-1)[0]))
        outputs = call(primitive, tensors(primitive, small), sample.keywords)
        for y, expected in zip(outputs, forward(primitive, short), strict=True):
            assert y.shape == () and type(y.array) is np.ndarray
            close(host(y).reshape(1), expected, what=f"{sample}")
        if live(outputs):
            seeds = seeds_for(outputs)
            found = gradients(primitive, small, seeds=seeds)
            assert all(type(g) is np.ndarray and g.shape == () for g in found)
            expected = gradients(primitive, short, seeds=[g.reshape(1) for g in seeds])
            close([g.reshape(1) for g in found], expected, what=f"{sample}")


@law(applies=lambda primitive: primitive.name not in EMPTY)
def size_zero(primitive, samples):
    """Arrays without elements give arrays without elements, or what the reduction of nothing is."""
    empty = [s for s in samples if s.arrays()[0].size == 0]
    if primitive.kind is ELEMENTWISE:
        empty = [samples[0].map(lambda a: np.zeros((0, 3), a.dtype))]
    assert empty, f"{primitive.name} has no sample of size 0: add one to its row, or a reason to samples.EMPTY"
    for sample in empty:
        with np.errstate(all="ignore"):
            outputs = call(primitive, tensors(primitive, sample), sample.keywords)
        if primitive.kind is ELEMENTWISE:
            assert all(y.shape == (0, 3) for y in outputs)
        for i, g in zip(wanted(primitive, sample), gradients(primitive, sample), strict=True):
            assert g.shape == sample.args[i].shape
            assert g.dtype == sample.args[i].dtype


# -- words -------------------------------------------------------------------------------------------
def is_public(primitive):
    """Whether users can call a primitive by its name."""
    homes = [lg, *(getattr(lg, name, None) for name in ("linalg", "special", "fft"))]
    return any(getattr(home, primitive.name, None) is primitive.op for home in homes)


class Rounded(doctest.OutputChecker):
    """Compares decimal numbers to the precision they are written with, as pytest's NUMBER does."""

    number = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")

    def check_output(self, want, got, optionflags):
        wants, gots = self.number.findall(want), self.number.findall(got)
        if len(wants) == len(gots):
            for w, g in zip(wants, gots, strict=True):
                digits = len(w.partition("e")[0].partition(".")[2])
                exponent = int(w.partition("e")[2] or 0)
                if abs(float(w) - float(g)) <= 10.0 ** (exponent - digits):
                    got = got.replace(g, w, 1)
        return super().check_output(want, got, optionflags)


@law(applies=lambda primitive: differentiable(primitive) and is_public(primitive))
def docstring_runs(primitive, samples):
    """A public op with a derivative has an example, and it runs."""
    op = primitive.op
    found = doctest.DocTestFinder(recurse=False).find(op, primitive.name, module=inspect.getmodule(op), globs={})
    tests = [test for test in found if test.examples]
    assert tests, f"{primitive.name} has no example in its docstring"
    for test in tests:
        report = []
        runner = doctest.DocTestRunner(Rounded(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        assert runner.run(test, out=report.append).failed == 0, "".join(report)
