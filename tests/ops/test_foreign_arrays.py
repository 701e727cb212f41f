"""Arrays of other libraries and byte orders: what comes in is native, and bfloat16 travels, too."""

import importlib.util

import numpy as np
import pytest

import lucidgrad as lg

DTYPES = ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
WAYS = {
    "asarray": lg.asarray,
    "tensor": lg.tensor,
    "as_tensor": lg.as_tensor,
    "from_numpy": lg.from_numpy,
    "asarray of a copy": lambda a: lg.asarray(a, copy=True),
    "operand": lambda a: lg.zeros_like(lg.asarray(a)) + a,
    "operand on the left": lambda a: a + lg.zeros_like(lg.asarray(a)),
    "asarray with a dtype": lambda a: lg.asarray(a, dtype=a.dtype),
    "tensor with a dtype": lambda a: lg.tensor(a.tolist(), dtype=a.dtype),
    "astype": lambda a: lg.astype(lg.asarray(a), a.dtype),
    "zeros": lambda a: lg.zeros(3, dtype=a.dtype) + a,
}


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_other_byte_orders_become_native(way, code):
    array = np.array([1, 2, 3]).astype(">" + code)
    y = WAYS[way](array)
    assert y.dtype.isnative
    assert y.array.dtype.isnative
    assert y.dtype == np.dtype(code)
    assert y.tolist() == [1, 2, 3]
    if code[0] in "fc":
        y = y.detach().requires_grad_()
        (y * y).sum().backward() if code[0] == "f" else lg.abs(y).sum().backward()
        assert y.grad.dtype.isnative


def test_memory_in_another_order_can_not_be_shared():
    with pytest.raises(ValueError, match="copy=False"):
        lg.asarray(np.arange(3, dtype=">f8"), copy=False)


def test_brain_floats_travel():
    pytest.importorskip("ml_dtypes")
    x = lg.asarray([[1.0, 2.0], [3.0, 1e30]], dtype=lg.bfloat16)
    again = lg.from_dlpack(x.array)
    assert again.dtype == lg.bfloat16
    assert again.tolist() == x.tolist()
    again[0, 0] = 5.0
    assert x[0, 0].item() == 5.0
    apart = lg.from_dlpack(x.array, copy=True)
    apart[0, 0] = 7.0
    assert x[0, 0].item() == 5.0
    assert lg.from_dlpack(x.array.T).tolist() == x.T.tolist()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_brain_floats_travel_to_torch_and_back():
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    x = lg.asarray([1.0, 2.0, 3.0], dtype=lg.bfloat16)
    there = torch.from_dlpack(x)
    assert there.dtype == torch.bfloat16
    there[0] = 9
    assert x.tolist() == [9.0, 2.0, 3.0]
    back = lg.from_dlpack(there)
    back[1] = 8
    assert there.tolist() == [9.0, 8.0, 3.0]
    assert lg.from_dlpack(torch.arange(6).to(torch.bfloat16).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_what_can_not_travel_is_named():
    class Strange:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            raise BufferError("no dtype of theirs")

    with pytest.raises(BufferError, match="no dtype of theirs"):
        lg.from_dlpack(Strange())
