"""Tests here run on the emulated device: it is installed before anything imports CuPy, or this fails."""

import pytest
import without_cuda

from lucidgrad.backends import cudasim

# Two devices, so that what concerns several of them is tested too.
if cudasim.usable_gpus():
    # The comparisons run on the GPU; what only the emulated device has can't be tested in this process.
    collect_ignore = ["test_controls.py", "test_faults.py", "test_lazy.py", "test_nccl.py"]
elif not cudasim.is_installed() and not without_cuda.EXPECTED:
    cudasim.install(devices=2)


@pytest.fixture(autouse=True, scope="session")
def _device():
    """Many tests here start processes, which need the device, too; so do fixtures of modules."""
    if without_cuda.EXPECTED and not cudasim.usable_gpus():
        pytest.skip("no CUDA here: neither a GPU nor the emulated device")


@pytest.fixture
def xp():
    """CuPy, on device 0; a test leaves no memory behind."""
    import cupy

    with cupy.cuda.Device(0):
        yield cupy
    cupy.get_default_memory_pool().free_all_blocks()
