"""Every kernel compiles with NVIDIA's own compiler, for all architectures it knows: where its wheel is installed.

``pip install '.[nvrtc]'``. Generated kernels of a dtype go into one source, in the frame that CuPy gives them;
kernels written by hand are compiled as they are. The largest generated kernels are compiled for the oldest and the
newest architecture only, unless ``LUCIDGRAD_ARCHITECTURES=all``: each takes the compiler seconds.
"""

import functools
import os
import re

import catalogue
import cupy
import frames
import nvrtc
import pytest
from kernels import single, test_steps
from optim.test_formulas import FAMILIES, stepped

import lucidgrad as lg
from lucidgrad.backends.cuda import generated, kernels
from lucidgrad.backends.cuda.programs import graphs, launching

if nvrtc.library() is None or not nvrtc.headers():
    pytest.skip("needs the wheels nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12", allow_module_level=True)

#: Statements from which a kernel counts as large.
LARGE = 120


@functools.cache
def _architectures():
    return nvrtc.architectures()


def _ends():
    known = _architectures()
    return known if os.environ.get("LUCIDGRAD_ARCHITECTURES") == "all" else sorted({known[0], known[-1]})


@functools.cache
def _generated(dtype, large):
    """All kernels of a dtype, in one source."""
    unique = {}
    for name in catalogue.names():
        for case in catalogue.cases_of(name, (dtype,)):
            kernel = case.kernel().kernel
            if kernel is not None and (len(kernel.lines) >= LARGE) == large:
                unique.setdefault(frames.signature(kernel), kernel)
    pairs = [(f"{kernel.name}_{i}", kernel) for i, kernel in enumerate(unique.values())]
    return len(pairs), frames.source(pairs, frames.by_cupy)


@pytest.mark.parametrize("architecture", _architectures())
@pytest.mark.parametrize("dtype", catalogue.DTYPES)
def test_generated_kernels(dtype, architecture):
    count, source = _generated(dtype, large=False)
    assert count
    assert not nvrtc.compile_all({dtype: source}, architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _ends())
@pytest.mark.parametrize("dtype", catalogue.FLOATS)
def test_large_generated_kernels(dtype, architecture):
    count, source = _generated(dtype, large=True)
    assert count
    assert not nvrtc.compile_all({dtype: source}, architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _architectures())
def test_kernels_written_by_hand(architecture):
    sources = dict(kernels.SOURCES)
    for others in (kernels.lists.SOURCES.of_many(), kernels.convolution.SOURCES.of_large_tiles()):
        sources |= {f"{name}, large": text for name, text in others.items()}
    assert not nvrtc.compile_all(sources, architecture, nvrtc.cupy_options())


@functools.cache
def _steps():
    """The kernels of optimisers' steps."""
    made, usual = {}, kernels.steps.source_of

    def watch(name, *parts):
        source = usual(name, *parts)
        made[f"{name} {len(made)}"] = source
        return source

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels.steps, "source_of", watch)
        patch.setattr(kernels.steps.TABLE["elementwise_step"], "_caches", {})
        for name in FAMILIES:
            stepped(name, "cuda:0", "float32", steps=1)
        for dtype in ("float16", "float64"):
            test_steps.test_adam("cuda", dtype)
    return made


@pytest.mark.parametrize("architecture", _architectures())
def test_steps_of_optimisers(architecture):
    assert len(_steps()) >= len(FAMILIES)
    assert not nvrtc.compile_all(_steps(), architecture, nvrtc.cupy_options())


@functools.cache
def _alone():
    """The kernels that stand alone, as CuPy hands them to the compiler."""
    seen, watched = {}, cupy.cuda.compiler._compile_with_cache_cuda

    def watch(source, *args, **keywords):
        seen[name] = source
        return watched(source, *args, **keywords)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cupy.cuda.compiler, "_compile_with_cache_cuda", watch)
        for name, (_, _, faults) in single.FAULTS.items():
            text = faults[0][0]
            with single.planted(name, text, text):  # a copy without a fault, which is not compiled yet
                assert single.survives(name)
    assert set(seen) == set(single.FAULTS)
    return seen


@pytest.mark.parametrize("architecture", _architectures())
def test_kernels_that_stand_alone(architecture):
    assert not nvrtc.compile_all(_alone(), architecture, nvrtc.cupy_options())


def _program(x, row, z, i, h):
    """What shares launches, of all kinds of dtypes and layouts, and reductions; no other test has these numbers."""
    y = lg.gelu(x * 1.0009765625) + row[:, None] / 3.0078125
    w = lg.where(i % 7 > 2, lg.pow(lg.abs(y), 1.7001953125), lg.erf(y))
    return y, w, (z * z.conj() / (z + 1.0043945312)), h * 1.0048828125 + lg.tanh(h), lg.exp(x * 1.0053710938).sum(-1)


@functools.cache
def _programs():
    """The kernels of whole programs, as CuPy hands them to the compiler."""
    seen, watched = {}, cupy.cuda.compiler._compile_with_cache_cuda

    def watch(source, *args, **keywords):
        if any(mark in source for mark in ("struct Table", "struct Words", "lg_element")):
            seen[f"program {len(seen)}"] = source
        return watched(source, *args, **keywords)

    lg.manual_seed(0)
    layer = lg.nn.Linear(3, 2).to("cuda")
    optimizer = lg.optim.Adam(layer.parameters(), weight_decay=1.0058593750e-3)

    def step(x):
        optimizer.zero_grad()
        (lg.nn.functional.dropout(layer(x), 0.3) ** 2 * 1.0063476562).mean().backward()
        optimizer.step()

    real = lg.arange(12, dtype="float32", device="cuda").reshape(4, 3)
    given = (real, real[:, 0], real * 1j, real.astype("int32"), real.astype("float16"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cupy.cuda.compiler, "_compile_with_cache_cuda", watch)
        for run, args in ((lg.compile(_program), given), (lg.compile(step), (real,))):
            for _ in range(4):
                run(*args)
        for kernel in (graphs._MOVES, launching._filling()):
            cupy.RawKernel(f"{kernel.code}// again", kernel.name).compile()  # others may have compiled them before
    return seen


@pytest.mark.parametrize("architecture", _ends())
def test_whole_programs(architecture):
    sources = _programs()
    for part in ("Table t, const double *numbers", "complex<float>", "__half", "REDUCE", "lg_moves"):
        assert any(part in source for source in sources.values()), part
    assert not nvrtc.compile_all(sources, architecture, nvrtc.cupy_options())


def test_a_fault_is_found():
    faults = nvrtc.compile_all({"f": 'extern "C" __global__ void f() { g(); }'}, nvrtc.OLDEST)
    assert "undefined" in faults["f"]


def test_the_frame_is_cupys(monkeypatch):
    seen = []
    compile_ = cupy.cuda.compiler._compile_with_cache_cuda

    def watch(source, options, *args, **keywords):
        seen.append((source, options))
        return compile_(source, options, *args, **keywords)

    monkeypatch.setattr(cupy.cuda.compiler, "_compile_with_cache_cuda", watch)
    case = next(case for case in catalogue.cases_of("hypot", ("float16",)) if case.recipe is not None)
    kernel = case.kernel().kernel._replace(name="lg_frame")
    generated.compiled(kernel)(*map(cupy.asarray, [case.arguments()[place] for place in kernel.takes]))
    source, options = seen[-1]

    def words(text):
        return re.sub(r"[\s;]+", " ", re.sub(r"/\*.*?\*/", "", text)).split()

    expected = frames.source([("lg_frame", kernel)], frames.by_cupy)
    assert words(source) == words(expected)
    assert {"--fmad=false", "--std=c++17"} <= set(options)


@pytest.mark.parametrize("architecture", _ends())
def test_bfloat16_in_generated_kernels(architecture):
    pytest.importorskip("ml_dtypes")
    from lucidgrad.backends.cuda import bfloat16

    read_and_write = 'extern "C" __global__ void f(unsigned short *x) { *x = lg_bits(lg_wide(*x)); }'
    assert not nvrtc.compile_all({"f": bfloat16._HELPERS + read_and_write}, architecture, nvrtc.cupy_options())
