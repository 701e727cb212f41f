"""The sources of all kernels, as NVIDIA's compiler gets them: written by hand, generated, of optimisers, programs."""

import functools

import catalogue
import cupy
import frames
import pytest
from kernels import single, test_steps
from optim.test_formulas import FAMILIES, stepped

import lucidgrad as lg
from lucidgrad.backends.cuda import kernels, words
from lucidgrad.backends.cuda.kernels import attention_sources, reductions
from lucidgrad.backends.cuda.programs import graphs

#: Statements from which a kernel counts as large.
LARGE = 120


@functools.cache
def generated(dtype, large, parts=1):
    """All kernels of a dtype: how many they are, and one source, or several that can be compiled at the same time."""
    unique = {}
    for name in catalogue.names():
        for case in catalogue.cases_of(name, (dtype,), everything=True):
            kernel = case.kernel().kernel
            if kernel is not None and (len(kernel.lines) >= LARGE) == large:
                unique.setdefault(frames.signature(kernel), kernel)
    pairs = [(f"{kernel.name}_{i}", kernel) for i, kernel in enumerate(unique.values())]
    made = [frames.source(pairs[k::parts], frames.by_cupy) for k in range(parts)]
    return len(pairs), made[0] if parts == 1 else made


@functools.cache
def steps():
    """The kernels of optimisers' steps."""
    made, usual = {}, kernels.steps.source_of

    def watch(name, *parts):
        source = usual(name, *parts)
        made[f"{name} {len(made)}"] = source
        made[f"{name} {len(made)}, in a graph"] = usual(name, *parts[:2], recorded=True, optional=True)
        return source

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels.steps, "source_of", watch)
        patch.setattr(kernels.steps.TABLE["elementwise_step"], "_caches", {})
        for name in FAMILIES:
            stepped(name, "cuda:0", "float32", steps=1)
        x = lg.ones(3, device="cuda", requires_grad=True)
        x.grad = lg.ones(3, device="cuda")
        lg.optim.NAdam([x], capturable=True).step()  # what counts on the device, and is told from there
        for dtype in ("float16", "float64"):
            test_steps.test_adam("cuda", dtype)
    return made


@functools.cache
def alone():
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


@functools.cache
def tiles(room=None):
    """Attention by all its tiles, or those for which a block has so many KB of shared memory."""
    made = {}
    for limit, sizes in attention_sources.TILES.items():
        for size, widths in sizes.items() if room is None or limit <= room else ():
            for width, tile in widths.items():
                text = attention_sources.constants(tile, width)
                for name in ("values", "queries", "keys", "mask"):
                    source = attention_sources.SOURCES[f"attention_{name}_float{8 * size}"]
                    made[f"attention_{name} {size} {width} {tile}"] = f"{text}{source}"
    return made


@functools.cache
def reduced():
    """Reductions by all their states."""
    return {
        f"{name} {state}": f"{reductions.constants(state)}{source}"
        for state in reductions.STATES
        for name, source in reductions.SOURCES.items()
    }


def _program(x, row, z, i, h):
    """What shares launches, of all kinds of dtypes and layouts, and reductions; no other test has these numbers."""
    y = lg.gelu(x * 1.0009765625) + row[:, None] / 3.0078125
    w = lg.where(i % 7 > 2, lg.pow(lg.abs(y), 1.7001953125), lg.erf(y))
    return y, w, (z * z.conj() / (z + 1.0043945312)), h * 1.0048828125 + lg.tanh(h), lg.exp(x * 1.0053710938).sum(-1)


@functools.cache
def programs():
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
        for kernel in (graphs._MOVES, words._filling()):
            cupy.RawKernel(f"{kernel.code}// again", kernel.name).compile()  # others may have compiled them before
    return seen
