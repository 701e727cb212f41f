"""No kernel spills registers, and none needs more than its blocks have: what NVIDIA's assembler says."""

import assembled
import nvrtc
import pytest
import sources
from thoroughness import NIGHTLY, cases

from lucidgrad.backends.cuda import kernels

if nvrtc.library() is None or not nvrtc.headers() or nvrtc.assembler() is None:
    pytest.skip("needs the wheels of the extra nvrtc, ptxas among them", allow_module_level=True)


@pytest.mark.parametrize("architecture", cases((80,), assembled.ARCHITECTURES))
def test_kernels_written_by_hand(architecture):
    texts = dict(kernels.SOURCES) if NIGHTLY else {k: s for k, s in kernels.SOURCES.items() if k.endswith("float32")}
    found = assembled.measured(texts, architecture)
    assert len(found) >= len(texts)
    assert assembled.faults(found) == []


def test_kernels_written_by_hand_have_bounds():
    for name, text in (*kernels.SOURCES.items(), *sources.steps().items()):
        assert assembled.expanded(text).count("__global__") == len(assembled.threads_of(text)), name


def test_constants_of_tiles_and_states():
    """A few of the kernels that are compiled with constants, by day; all of them below."""
    tiles, reduced = sources.tiles(assembled.ROOMS[80]), sources.reduced()
    few = dict(sorted(tiles.items())[:: len(tiles) // 3]) | dict(sorted(reduced.items())[:: len(reduced) // 6])
    found = assembled.measured(few, 80)
    assert len(found) >= len(few)
    assert {kernel.threads for name, kernel in found if name in tiles} <= {64, 128, 256, 512}
    assert assembled.faults(found) == []


@pytest.mark.skipif(not NIGHTLY, reason="takes minutes: part of make nightly")
@pytest.mark.parametrize("architecture", assembled.ARCHITECTURES)
def test_all_kernels(architecture):
    """All families of the page; elementwise kernels of single and double precision, which have the most registers."""
    texts = {}
    for family, made in assembled.everything():
        if family != "by hand":
            texts |= {f"{family}: {name}": text for name, text in made(architecture).items()}
    assert assembled.faults(assembled.measured(texts, architecture)) == []


def test_spills_and_blocks_without_room_are_found():
    greedy = """
extern "C" __global__ void __launch_bounds__(1024, 1) greedy(double *x, int n) {
    double kept[48];
    #pragma unroll
    for (int k = 0; k < 48; ++k) kept[k] = x[threadIdx.x + k * n];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 48; ++k) x[threadIdx.x + (k * 7 % 48) * n] = kept[k] * kept[47 - k];
}
"""
    ((_, kernel),) = assembled.measured({"greedy": greedy}, 80)
    assert kernel.threads == 1024
    assert kernel.spills > 0
    assert any("spilled" in text for text in assembled.faults([("greedy", kernel)]))
    wide = kernel._replace(spills=0, registers=80)
    assert "80 registers for each of 1024 threads" in assembled.faults([("greedy", wide)])[0]
    assert kernel._replace(registers=32).occupancy == 1
    assert kernel._replace(registers=64).occupancy == 0.5
    assert kernel._replace(registers=32, threads=256, architecture=120).occupancy == 1
