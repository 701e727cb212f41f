"""No kernel spills registers, and none needs more than its blocks have: what NVIDIA's assembler says."""

import assembled
import catalogue
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
        assert text.count("__global__") == text.count("__global__ void __launch_bounds__("), name


@pytest.mark.skipif(not NIGHTLY, reason="takes minutes: part of make nightly")
@pytest.mark.parametrize("architecture", [assembled.ARCHITECTURES[0], assembled.ARCHITECTURES[-1]])
def test_generated_kernels(architecture):
    """Elementwise kernels of single and double precision, which have the most registers; steps, and what is alone."""
    texts = {dtype: sources.generated(dtype, large=False)[1] for dtype in catalogue.FLOATS[1:]}
    texts |= sources.steps() | sources.alone() | sources.programs()
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
