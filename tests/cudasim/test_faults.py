"""What goes wrong on the device is raised by CuPy, with its own exceptions, and explained by ``last_fault``."""

import pytest

from lucidgrad import cudasim

from .processes import python


def kernel(xp, body, name="broken"):
    return xp.RawKernel(f'extern "C" __global__ void {name}(int *x, long long n) {{ {body} }}', name)


def launch(xp, function, threads, arguments):
    """Launch and wait: a failure is raised by either."""
    function((1,), (threads,), arguments)
    xp.cuda.Device().synchronize()


def test_an_illegal_address(xp):
    x = xp.zeros(4, "int32")
    function = kernel(xp, "*(volatile int *)n = 1;")
    with pytest.raises(xp.cuda.driver.CUDADriverError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
        function((1,), (4,), (x, 64))
    assert "broken" in cudasim.last_fault()
    with cudasim.lazy():  # as on a GPU: found when something waits
        function((1,), (4,), (x, 64))
        with pytest.raises(xp.cuda.runtime.CUDARuntimeError, match="cudaErrorIllegalAddress"):
            xp.cuda.Device().synchronize()
    assert "broken" in cudasim.last_fault()
    assert xp.arange(4).sum().get() == 6  # unlike a GPU's, this device goes on


def test_a_host_address_is_not_a_device_address(xp):
    import numpy as np

    host, x = np.zeros(4, "int32"), xp.zeros(4, "int32")
    with cudasim.guard():
        assert (x + 1).get().tolist() == [1, 1, 1, 1]
    assert host.tolist() == [0, 0, 0, 0]


def test_a_failed_launch(xp):
    x = xp.zeros(4, "int32")
    with pytest.raises(xp.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel(xp, "x[0] = 1;")((1,), (2000,), (x, 0))
    with pytest.raises(xp.cuda.driver.CUDADriverError, match="CUDA_ERROR_INVALID_VALUE"):
        kernel(xp, "x[0] = 1;")((1,), (32,), (x, 0), shared_mem=10 << 20)
    assert x.get().tolist() == [0, 0, 0, 0]


def test_a_barrier_that_not_all_threads_of_a_warp_reach(xp):
    x = xp.zeros(4, "int32")
    body = "if (threadIdx.x == 0) __syncwarp(0x3); else { __syncthreads(); } x[0] = 1;"
    with pytest.raises((xp.cuda.runtime.CUDARuntimeError, xp.cuda.driver.CUDADriverError), match="(?i)launch.?fail"):
        launch(xp, kernel(xp, body), 2, (x, 0))
    assert "broken" in cudasim.last_fault()


def test_a_device_assertion(xp):
    x = xp.zeros(4, "int32")
    code = '#include <assert.h>\nextern "C" __global__ void checked(int *x) { assert(x[threadIdx.x] == 1); }'
    with pytest.raises((xp.cuda.runtime.CUDARuntimeError, xp.cuda.driver.CUDADriverError), match="(?i)assert"):
        launch(xp, xp.RawKernel(code, "checked"), 4, (x,))


def test_a_missing_function(xp):
    with pytest.raises(xp.cuda.driver.CUDADriverError, match="CUDA_ERROR_NOT_FOUND"):
        xp.RawModule(code='extern "C" __global__ void there(int *x) {}').get_function("elsewhere")


def test_what_is_not_emulated_says_so(xp, capfd):
    descriptor = xp.cuda.texture.ChannelFormatDescriptor(32, 0, 0, 0, xp.cuda.runtime.cudaChannelFormatKindFloat)
    with pytest.raises(xp.cuda.runtime.CUDARuntimeError, match="cudaErrorNotSupported"):
        xp.cuda.texture.CUDAarray(descriptor, 8, 8)
    assert "is not emulated" in capfd.readouterr().err


def test_a_host_dereference_of_guarded_memory_faults_with_a_traceback():
    code = """
        import ctypes, cupy
        x = cupy.arange(10)
        def careless():
            return ctypes.c_long.from_address(x.data.ptr).value
        print("before", flush=True)
        careless()
        print("after")
    """
    result = python(code, guard=True)
    assert result.returncode < 0
    assert result.stdout.split() == ["before"]
    assert "in careless" in result.stderr
    assert python(code).stdout.split() == ["before", "after"]  # unguarded, it goes unnoticed


def test_poisoned_memory_shows_what_was_never_written():
    code = "import cupy; print(hex(cupy.empty(4, 'uint8')[0].item()))"
    assert python(code, poison=True).stdout.strip() == "0xa5"


def test_the_limit_of_memory():
    code = """
        import cupy
        print(cupy.cuda.Device().mem_info[1] >> 20)
        kept = cupy.zeros(40 << 20, "uint8")
        try:
            cupy.zeros(40 << 20, "uint8")
        except cupy.cuda.memory.OutOfMemoryError as error:
            print("out of memory:", error)
    """
    result = python(code, memory=64)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("64\nout of memory: ")
