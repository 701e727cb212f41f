"""Copies between devices: differentiable, never in place, and only where needed."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends import cudasim


def test_to_copies_only_where_needed():
    x = lg.ones(2)
    y = x.to("cuda")
    assert y.to("cuda") is y
    assert y.to("cuda:0") is y
    assert y.cuda() is y
    assert x.cpu() is x
    assert y.to("cuda", copy=True) is not y
    y.add_(1)
    assert x.tolist() == [1.0, 1.0]
    z = y.cpu()
    z.add_(1)
    assert y.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "bool", "float16"])
def test_values_and_dtypes_survive(shape, dtype):
    x = np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape), dtype=dtype)
    there = lg.asarray(x, device="cuda")
    assert there.dtype == x.dtype
    back = there.cpu().numpy()
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x)


def test_strided_arrays():
    x = np.arange(12.0).reshape(3, 4)
    for view in (x.T, x[::2, ::-1], np.broadcast_to(x[0], (2, 4))):
        there = lg.asarray(view, device="cuda")
        np.testing.assert_array_equal(there.numpy(force=True), view)
        np.testing.assert_array_equal(there.mT.cpu().numpy(), view.T)


def test_between_devices(second):
    x = lg.asarray(np.arange(12.0).reshape(3, 4), device="cuda:0")
    for part in (x, x.mT, x[::2], x[:0], x[1, 1]):
        there = part.to(second)
        assert str(there.device) == second
        np.testing.assert_array_equal(there.numpy(force=True), part.numpy(force=True))


def test_gradients_travel_back(second):
    for where in ("cuda:0", second):
        x = lg.tensor([1.0, 2.0], requires_grad=True)
        y = x.to(where)
        assert y.grad_fn.name() == "TransferBackward"
        (y * y).sum().backward()
        assert str(x.grad.device) == "cpu"
        assert x.grad.tolist() == [2.0, 4.0]
        z = lg.tensor([1.0, 2.0], device=where, requires_grad=True)
        (z.cpu() ** 2).sum().backward()
        assert str(z.grad.device) == where
        assert z.grad.tolist() == [2.0, 4.0]


def test_dtype_and_device_together():
    x = lg.tensor([1.0], requires_grad=True)
    y = x.to("cuda", dtype=lg.float64)
    assert (y.dtype, str(y.device)) == (lg.float64, "cuda:0")
    y.sum().backward()
    assert x.grad.dtype == lg.float32


# -- page-locked memory and copies beside the host -----------------------------------------------
def test_pin_memory():
    x = lg.tensor([1.0, 2.0])
    p = x.pin_memory()
    assert p.is_pinned()
    assert p.pin_memory() is p
    assert not x.is_pinned()
    assert p.tolist() == [1.0, 2.0]
    assert p.cuda().tolist() == [1.0, 2.0]


def test_a_pinned_source_may_change_after_a_blocking_copy(lazy):
    p = lg.tensor([1.0, 2.0]).pin_memory()
    there = p.cuda()
    p.zero_()
    assert there.tolist() == [1.0, 2.0]


def test_a_pageable_source_may_change_at_once(lazy):
    x = lg.tensor([1.0, 2.0])
    there = x.cuda(non_blocking=True)
    x.zero_()
    assert there.tolist() == [1.0, 2.0]


def test_non_blocking_copies_wait_for_nobody(lazy):
    p = lg.tensor([1.0, 2.0]).pin_memory()
    with cudasim.counting() as counts:
        there = p.to("cuda", non_blocking=True)
        back = (there * 3).to("cpu", non_blocking=True)
    assert counts.synchronisations == 0
    assert back.is_pinned()
    lg.cuda.synchronize()
    assert back.tolist() == [3.0, 6.0]


def test_memory_of_a_copy_under_way_is_kept(lazy):
    x = lg.tensor([1.0, 2.0], device="cuda") * 3
    x.to("cpu", non_blocking=True)  # dropped before it is there
    others = [lg.zeros(2).pin_memory() for _ in range(3)]
    lg.cuda.synchronize()
    assert [o.tolist() for o in others] == [[0.0, 0.0]] * 3


@pytest.mark.parametrize("non_blocking", [False, True])
def test_copies_into_a_tensor_from_another_device(non_blocking):
    source = lg.asarray([1.0, 2.0], requires_grad=True)
    there = lg.zeros(2, dtype=source.dtype, device="cuda").copy_(source, non_blocking)
    (there * 3).sum().backward()
    assert there.tolist() == [1.0, 2.0]
    assert source.grad.tolist() == [3.0, 3.0]
    back = lg.zeros(2).copy_(there.detach() * 2, non_blocking=non_blocking)
    assert back.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_copy_from_page_locked_memory_is_waited_for_unless_told_otherwise(non_blocking, lazy):
    source, there = lg.asarray([1.0, 2.0]).pin_memory(), lg.zeros(2, device="cuda")
    cudasim.synchronise_all()
    there.copy_(source, non_blocking=non_blocking)
    source.fill_(7)
    assert there.tolist() == ([7.0, 7.0] if non_blocking else [1.0, 2.0])
