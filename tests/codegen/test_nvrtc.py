"""Every kernel compiles with NVIDIA's own compiler, for all architectures it knows: where its wheel is installed.

``pip install '.[nvrtc]'``. Generated kernels of a dtype go into one source, in the frame that CuPy gives them;
kernels written by hand are compiled as they are. All are compiled for the oldest and the newest architecture, and each
family for one between, another each night; for all with ``LUCIDGRAD_ARCHITECTURES=all``, which takes an hour or more.
`test_assembled` compiles them for five.
"""

import functools
import os
import re

import catalogue
import cupy
import frames
import nvrtc
import pytest
import sources
from optim.test_formulas import FAMILIES
from thoroughness import cases, draw

from lucidgrad.backends.cuda import generated, kernels

if nvrtc.library() is None or not nvrtc.headers():
    pytest.skip("needs the wheels nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12", allow_module_level=True)


@functools.cache
def _architectures():
    return nvrtc.architectures()


ALL = os.environ.get("LUCIDGRAD_ARCHITECTURES") == "all"


def _ends():
    known = _architectures()
    return known if ALL else sorted({known[0], known[-1]})


def _some(family):
    """The oldest, the newest, and one between."""
    return _architectures() if ALL else sorted({*_ends(), draw(family).choice(_architectures()[1:-1])})


@pytest.mark.parametrize(("dtype", "architecture"), [(d, a) for d in catalogue.DTYPES for a in _some(d)])
def test_generated_kernels(dtype, architecture):
    count, source = sources.generated(dtype, large=False)
    assert count
    assert not nvrtc.compile_all({dtype: source}, architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _ends())
@pytest.mark.parametrize("dtype", catalogue.FLOATS)
def test_large_generated_kernels(dtype, architecture):
    count, source = sources.generated(dtype, large=True)
    assert count
    assert not nvrtc.compile_all({dtype: source}, architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _some("by hand"))
def test_kernels_written_by_hand(architecture):
    sources = dict(kernels.SOURCES)
    for others in (kernels.lists.SOURCES.of_many(), kernels.convolution.SOURCES.of_large_tiles()):
        sources |= {f"{name}, large": text for name, text in others.items()}
    assert not nvrtc.compile_all(sources, architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _ends())
def test_kernels_that_are_told_constants(architecture):
    known = sources.tiles() | sources.reduced()
    few = {name: known[name] for k, name in enumerate(sorted(known)) if k % 8 == architecture % 8}
    assert not nvrtc.compile_all(cases(few, known), architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _some("steps"))
def test_steps_of_optimisers(architecture):
    assert len(sources.steps()) >= len(FAMILIES)
    assert not nvrtc.compile_all(sources.steps(), architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _some("alone"))
def test_kernels_that_stand_alone(architecture):
    assert not nvrtc.compile_all(sources.alone(), architecture, nvrtc.cupy_options())


@pytest.mark.parametrize("architecture", _ends())
def test_whole_programs(architecture):
    made = sources.programs()
    for part in ("Table t, const double *numbers", "complex<float>", "__half", "lg_element", "lg_moves"):
        assert any(part in source for source in made.values()), part
    assert not nvrtc.compile_all(made, architecture, nvrtc.cupy_options())


def test_a_fault_is_found():
    for _ in range(2):  # faults are not kept
        faults = nvrtc.compile_all({"f": 'extern "C" __global__ void f() { g(); }'}, nvrtc.OLDEST)
        assert "undefined" in faults["f"]


def test_what_was_said_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ask, asked = nvrtc._ask, []
    monkeypatch.setattr(nvrtc, "_ask", lambda **request: asked.append(sorted(request["sources"])) or ask(**request))
    empty = 'extern "C" __global__ void {}() {{}}'.format
    told = {"f": empty("f"), "g": empty("g")}
    for _ in range(2):
        assert nvrtc.compile_all(told, nvrtc.OLDEST) == {}
    assert nvrtc.compile_all(told | {"h": empty("h"), "f": empty("ff")}, nvrtc.OLDEST) == {}
    assert nvrtc.compile_all(told, nvrtc.OLDEST, ["--fmad=false"]) == nvrtc.compile_all(told, 80) == {}
    assert asked == [["f", "g"], ["f", "h"], ["f", "g"], ["f", "g"]]
    if nvrtc.assembler() is not None:
        reports = [nvrtc.assemble_all(told, 80) for _ in range(2)]
        assert reports[0] == reports[1] and "Used" in reports[0]["g"] and len(asked) == 5
    for place in (tmp_path / "lucidgrad" / "nvrtc").iterdir():
        place.write_bytes(place.read_bytes()[:-1])  # what is not whole is not believed
    assert nvrtc.compile_all(told, nvrtc.OLDEST) == {} and asked[-1] == ["f", "g"]


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
