"""DLPack and the CUDA array interface, both ways and in the order of streams."""

import numpy as np
import pytest

import lucidgrad as lg


def cupy_array():
    import cupy

    return cupy.arange(4.0)


def test_arrays_are_taken_without_a_copy():
    a = cupy_array()
    x = lg.asarray(a)
    assert x.array is a
    assert str(x.device) == "cuda:0"
    (g,) = lg.autograd.grad(x.requires_grad_() ** 2, x, a * 0 + 1)  # also as a seed
    assert g.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert (x.detach() + a).tolist() == [0.0, 2.0, 4.0, 6.0]


def test_seeds_of_either_library_are_moved():
    for where in ("cpu", "cuda:0"):
        x = lg.asarray(np.arange(4.0), device=where).requires_grad_()
        for seed in (cupy_array(), np.arange(4.0)):
            (g,) = lg.autograd.grad(x * x, x, seed)
            assert str(g.device) == where
            assert g.tolist() == [0.0, 2.0, 8.0, 18.0]


def test_dlpack_out():
    import cupy

    x = lg.tensor([1.0, 2.0], device="cuda")
    a = cupy.from_dlpack(x)
    assert a.data.ptr == x.array.data.ptr
    assert x.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError, match="requires grad"):
        x.requires_grad_().__dlpack__()


def test_dlpack_in():
    a = cupy_array()
    x = lg.from_dlpack(a)
    assert x.array.data.ptr == a.data.ptr
    assert lg.from_dlpack(a, device="cpu").tolist() == [0.0, 1.0, 2.0, 3.0]
    assert str(lg.from_dlpack(np.ones(2), device="cuda").device) == "cuda:0"
    x = lg.ones(2, device="cuda")
    assert lg.from_dlpack(x) is x


def test_dlpack_of_a_device_that_is_not_current(second):
    import cupy

    x = lg.tensor([1.0, 2.0], device=second)
    a = cupy.from_dlpack(x)
    assert a.device.id == 1
    assert str(lg.from_dlpack(a).device) == second


def test_cuda_array_interface():
    import cupy

    x = lg.tensor([1.0, 2.0], device="cuda")
    assert cupy.asarray(x).data.ptr == x.array.data.ptr
    assert x.__cuda_array_interface__["shape"] == (2,)
    assert not hasattr(lg.ones(2), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="requires grad"):
        x.requires_grad_().__cuda_array_interface__

    class Foreign:
        def __init__(self, array):
            self.array = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    a = cupy_array()
    y = lg.asarray(Foreign(a))
    assert y.array.data.ptr == a.data.ptr
    assert y.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert lg.tensor(Foreign(a)).array.data.ptr != a.data.ptr


def test_dlpack_waits_for_the_stream_of_the_producer(lazy):
    import cupy

    side = lg.cuda.Stream()
    y = lg.tensor([1.0, 2.0], device="cuda") * 3

    class Capsule:
        """What a consumer on another stream gets."""

        capsule = y.__dlpack__(stream=side.cuda_stream)

        def __dlpack__(self, **options):
            return self.capsule

        def __dlpack_device__(self):
            return y.__dlpack_device__()

    with lg.cuda.stream(side):
        made = cupy.from_dlpack(Capsule()) + 1
        assert made.get().tolist() == [4.0, 7.0]


def test_from_dlpack_tells_the_producer_its_stream():
    asked = []
    a = cupy_array()

    class Producer:
        def __dlpack__(self, *, stream=None, **options):
            asked.append(stream)
            return a.__dlpack__(stream=stream)

        def __dlpack_device__(self):
            return a.__dlpack_device__()

    side = lg.cuda.Stream()
    with lg.cuda.stream(side):
        assert lg.from_dlpack(Producer()).array.data.ptr == a.data.ptr
    assert asked == [side.cuda_stream]
