"""Methods of `Tensor` that no function has: new tensors like this one, its memory, and its axes changed in place."""

import builtins
from collections.abc import Callable
from typing import Any

from lucidgrad.core import device as devices, dtype as dtypes
from lucidgrad.core.device import Device
from lucidgrad.core.dispatch import box, node_of
from lucidgrad.core.engine import tape_namespace as ops
from lucidgrad.core.modes import recorded
from lucidgrad.levels.layer import Layer
from lucidgrad.ops.axes import axis_of, product, sizes_of
from lucidgrad.ops.elementwise.copies import clone
from lucidgrad.ops.indexing.placement import take_flat
from lucidgrad.ops.shape import arrangement, joining, layout
from lucidgrad.refusals import guard

_TYPES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


# -- NumPy's, which programs for arrays have -----------------------------------------------------
def astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    """In another dtype, with the history; a copy if it has that dtype already, unless ``copy`` is False."""
    return ops.public.astype(x, dtype, copy=copy)


def copy(x: Any) -> Any:
    """A copy, with the history: the same as `clone`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> y = x.copy()
    >>> y[0] = 5.0
    >>> x
    tensor([1., 1.])
    """
    return clone(x)


def conjugate(x: Any) -> Any:
    """The conjugate: the same as `conj`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.tensor([1.0 + 2.0j]).conjugate()
    tensor([1.-2.j], dtype=complex64)
    """
    return x.conj()


# -- new tensors ---------------------------------------------------------------------------------
def _like(x: Any, make: Any, given: tuple[Any, ...], dtype: Any, device: Any, requires_grad: bool, pin: bool) -> Any:
    """What a function at the root makes, in a tensor's dtype and on its device."""
    dtype, device = x.dtype if dtype is None else dtype, x.device if device is None else device
    made = make(*given, dtype=dtype, device=device)
    return (made.pin_memory() if pin else made).requires_grad_(requires_grad)


def new_tensor(
    x: Any,
    data: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with a copy of data, in this one's dtype and on its device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1).new_tensor([1, 2])
    tensor([1., 2.])
    """
    return _like(x, ops.public.tensor, (data,), dtype, device, requires_grad, pin_memory)


def new(x: Any, *args: Any, device: Any = None) -> Any:
    """A tensor of a shape, or of values, in this one's dtype and on its device: the older way to say it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2).new(3).shape
    (3,)
    """
    options = {"dtype": x.dtype, "device": x.device if device is None else device}
    if len(args) != 1 or isinstance(args[0], int):
        return ops.public.empty(args or (0,), **options)
    (data,) = args
    if isinstance(data, tuple) and all(isinstance(n, int) for n in data):
        if builtins.type(data) is tuple:  # PyTorch tells shapes of tensors by their type
            raise TypeError(
                f"new: given {data}, which may be a shape or values; say new_empty({data}) or new_tensor({[*data]})"
            )
        return ops.public.empty(tuple(data), **options)
    if isinstance(data, x.__class__):
        return data.detach().to(**options)
    return ops.public.tensor(data, **options)


def new_full(
    x: Any,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """One value in a shape, in this tensor's dtype and on its device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1).new_full((2,), 7.0)
    tensor([7., 7.])
    """
    return _like(x, ops.public.full, (tuple(size), fill_value), dtype, device, requires_grad, pin_memory)


def new_zeros(
    x: Any, size: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """Zeros in a shape, in this tensor's dtype and on its device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1).new_zeros(2)
    tensor([0., 0.])
    """
    return _like(x, ops.public.zeros, (size,), dtype, device, requires_grad, pin_memory)


def new_ones(
    x: Any, size: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """Ones in a shape, in this tensor's dtype and on its device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros(1).new_ones(2)
    tensor([1., 1.])
    """
    return _like(x, ops.public.ones, (size,), dtype, device, requires_grad, pin_memory)


def new_empty(
    x: Any, size: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A shape of values that are not to be relied on, in this tensor's dtype and on its device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1).new_empty(2, 3).shape
    (2, 3)
    """
    return _like(x, ops.public.empty, (size,), dtype, device, requires_grad, pin_memory)


def bernoulli(x: Any, p: float | None = None, *, generator: Any = None) -> Any:
    """Zeros and ones, a one with the probability ``p``, or else with that which this tensor gives for its place."""
    if p is None:
        return ops.public.bernoulli(x, generator=generator)
    return clone(x.detach()).bernoulli_(p, generator=generator)


# -- dtypes --------------------------------------------------------------------------------------
def type(x: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the kind of tensor, or this tensor in another dtype, which such a name may say.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2).type(lg.int64)
    tensor([1, 1])
    """
    if dtype is None:
        where = "" if x.device.type == "cpu" else f"{x.device.type}."
        return f"torch.{where}{_TYPES[str(x.dtype)]}Tensor"
    if isinstance(dtype, str) and dtype.endswith("Tensor"):
        found = {kind: name for name, kind in _TYPES.items()}
        kind = dtype.rpartition(".")[2].removesuffix("Tensor")
        if kind not in found:
            raise ValueError(f"type: given {dtype!r}, expected one of {', '.join(f'{k}Tensor' for k in found)}")
        dtype = found[kind]
    elif hasattr(dtype, "is_cuda"):  # a constructor of the door, with a place
        x, dtype = x.to("cuda" if dtype.is_cuda else "cpu", non_blocking=non_blocking), dtype.dtype
    return x.to(dtype=dtypes.named(dtype) if isinstance(dtype, str) else dtype, non_blocking=non_blocking)


def byte(x: Any) -> Any:
    """As uint8.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.tensor([1.7, 2.0]).byte()
    tensor([1, 2], dtype=uint8)
    """
    return x.to(dtypes.named("uint8"))


def char(x: Any) -> Any:
    """As int8.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.tensor([1.7, -2.0]).char()
    tensor([ 1, -2], dtype=int8)
    """
    return x.to(dtypes.named("int8"))


def short(x: Any) -> Any:
    """As int16.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.tensor([1.7, -1.7]).short()
    tensor([ 1, -1], dtype=int16)
    """
    return x.to(dtypes.named("int16"))


def bfloat16(x: Any) -> Any:
    """As bfloat16."""
    return x.to(ops.public.bfloat16)


def cfloat(x: Any) -> Any:
    """As complex64.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1).cfloat()
    tensor([1.+0.j], dtype=complex64)
    """
    return x.to(dtypes.named("complex64"))


def cdouble(x: Any) -> Any:
    """As complex128.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1).cdouble()
    tensor([1.+0.j], dtype=complex128)
    """
    return x.to(dtypes.named("complex128"))


def is_signed(x: Any) -> bool:
    """Whether the dtype has negative numbers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_signed(lg.ones(2))
    True
    """
    return not str(x.dtype).startswith(("u", "bool"))


# -- what it is ----------------------------------------------------------------------------------
def ndimension(x: Any) -> int:
    """The number of axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).ndimension()
    2
    """
    return len(x.shape)


def nelement(x: Any) -> int:
    """The number of elements.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).nelement()
    6
    """
    return product(x.shape)


def get_device(x: Any) -> int:
    """The index of the device; -1 on the CPU.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.get_device(lg.ones(2))
    -1
    """
    where: Device = x.device
    return -1 if where.type == "cpu" else where.index or 0


def is_same_size(x: Any, other: Any) -> bool:
    """Whether another tensor has this one's shape.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_same_size(lg.ones(2), lg.zeros(2))
    True
    """
    return tuple(x.shape) == tuple(other.shape)


def is_nonzero(x: Any) -> bool:
    """Whether the only element is not zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_nonzero(lg.tensor([0.0]))
    False
    """
    if product(x.shape) != 1:
        raise RuntimeError(f"is_nonzero: a tensor with {product(x.shape)} elements is neither; it must have one")
    return bool(x.item())


def is_conj(x: Any) -> bool:
    """Whether it waits to be conjugated: never, as `conj` computes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_conj(lg.tensor([1j]).conj())
    False
    """
    return False


def is_neg(x: Any) -> bool:
    """Whether it waits to be negated: never.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_neg(-lg.ones(2))
    False
    """
    return False


def resolve_conj(x: Any) -> Any:
    """This tensor: nothing waits to be conjugated.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.resolve_conj(lg.tensor([1j]))
    tensor([0.+1.j], dtype=complex64)
    """
    return x


def resolve_neg(x: Any) -> Any:
    """This tensor: nothing waits to be negated.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.resolve_neg(lg.ones(2))
    tensor([1., 1.])
    """
    return x


# -- its memory ----------------------------------------------------------------------------------
def _interface(name: str, x: Any) -> dict[str, Any]:
    """What the array says of its memory."""
    if isinstance(x.array, Layer):
        raise RuntimeError(f"{name}: inside a transform a tensor has no memory of its own")
    found = getattr(x.array, "__cuda_array_interface__", None) or getattr(x.array, "__array_interface__", None)
    if found is None:
        raise RuntimeError(f"{name}: the arrays of device {str(x.device)!r} don't tell where they are")
    return dict(found)


def data_ptr(x: Any) -> int:
    """The address of the first element; 0 where there is none.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> x.data_ptr() == x.detach().data_ptr()
    True
    """
    return int(_interface("data_ptr", x)["data"][0]) if product(x.shape) else 0


def stride(x: Any, dim: int | None = None) -> Any:
    """How many elements of the memory lie between neighbours along each axis, or along one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).stride()
    (3, 1)
    """
    steps = getattr(x.array, "strides", None)
    if steps is None:
        made = tuple(product(x.shape[k + 1 :]) for k in range(x.ndim))
    else:
        made = tuple(step // x.itemsize for step in steps)
    return made if dim is None else made[axis_of("stride", dim, x.ndim)]


def storage_offset(x: Any) -> int:
    """How many elements of the memory come before the first.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.arange(4)[2:].storage_offset()
    2
    """
    backend = devices.by_array[x.array.__class__]
    owner = backend.storage(x.array)
    whole = owner if hasattr(owner, "dtype") else x.array
    first = (getattr(a, "__cuda_array_interface__", None) or a.__array_interface__ for a in (x.array, whole))
    start, base = (place["data"][0] for place in first)
    return int(start - base) // int(x.itemsize)


def is_contiguous(x: Any, memory_format: Any = None) -> bool:
    """Whether the elements follow one another in memory, the last axis fastest, or as a format of PyTorch's says.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).is_contiguous(), lg.ones(2, 3).T.is_contiguous()
    (True, False)
    """
    if str(memory_format).startswith("torch.channels_last"):
        return x.ndim in (4, 5) and is_contiguous(layout.moveaxis(x.detach(), 1, -1))
    return bool(devices.by_array[x.array.__class__].contiguous(x.array))


def is_set_to(x: Any, other: Any) -> bool:
    """Whether another tensor is the same elements of the same memory.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> x.is_set_to(x.detach()), x.is_set_to(lg.ones(2))
    (True, False)
    """
    same = tuple(x.shape) == tuple(other.shape) and stride(x) == stride(other) and x.dtype == other.dtype
    return same and x.device == other.device and data_ptr(x) == data_ptr(other)


def is_shared(x: Any) -> bool:
    """Whether the memory is shared with other processes: on the CPU never.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2).is_shared()
    False
    """
    return x.device.type == "cuda"


# -- functions with another meaning --------------------------------------------------------------
def cross(x: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along an axis, by default the first of size 3 (`lucidgrad.cross` takes the last one)."""
    if dim is None:
        dim = next((a for a, n in enumerate(x.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError(f"cross: given shape {tuple(x.shape)}, expected an axis of size 3")
    return ops.public.linalg.cross(x, other, axis=dim)


def take(x: Any, index: Any) -> Any:
    """Elements at positions in the flattened tensor (`lucidgrad.take` is the standard's)."""
    return take_flat(x, index)


def tile(x: Any, dims: Any) -> Any:
    """Repeated along each axis as a whole."""
    return joining.tile(x, sizes_of("tile", dims))


def broadcast_to(x: Any, size: Any) -> Any:
    """Stretched to a shape, by the rules of broadcasting."""
    return layout.broadcast_to(x, sizes_of("broadcast_to", size))


def reshape_as(x: Any, other: Any) -> Any:
    """In another tensor's shape.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.arange(4.0).reshape_as(lg.zeros(2, 2))
    tensor([[0., 1.],
            [2., 3.]])
    """
    return layout.reshape(x, tuple(other.shape))


def narrow_copy(x: Any, dim: int, start: int, length: int) -> Any:
    """A copy of a number of slices along an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.arange(4.0).narrow_copy(0, 1, 2)
    tensor([1., 2.])
    """
    return clone(arrangement.narrow(x, dim, start, length))


def fill_diagonal_(x: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write one value on the diagonal of a matrix, which with ``wrap`` begins anew below one that is tall.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros(2, 2).fill_diagonal_(1.0)
    tensor([[1., 0.],
            [0., 1.]])
    """
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise RuntimeError(f"fill_diagonal_: given shape {tuple(x.shape)}, expected a matrix, or axes of one size")
    rows = ops.arange(x.shape[0] if wrap and x.ndim == 2 else min(x.shape), device=x.device)
    if wrap and x.ndim == 2:
        columns = ops.remainder(rows, x.shape[1] + 1)
        inside = columns < x.shape[1]
        x[rows[inside], columns[inside]] = fill_value
    else:
        x[(rows,) * x.ndim] = fill_value
    return x


# -- axes changed in place -----------------------------------------------------------------------
def _become(x: Any, name: str, take: Callable[[Any], Any]) -> Any:
    """Make a tensor what a view of it is. It is one from now on, of what it was, as are the views taken before."""
    was = x
    if x._alias is None:
        if node_of(x) is not None:
            raise RuntimeError(f"{name}: the tensor has a history; use x = x.{name.removesuffix('_')}(...)")
        was = box(x.array)
        with recorded(True):
            view = take(was)
    else:
        view = take(x)
    if view is not was:
        x.array, x._node, x._alias = view.array, view._node, view._alias
    return x


def t_(x: Any) -> Any:
    """The transpose of a matrix, in place; for tensors without a history, and for views.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).t_().shape
    (3, 2)
    """
    return _become(x, "t_", ops.public.t)


def transpose_(x: Any, dim0: int, dim1: int) -> Any:
    """Two axes swapped, in place; for tensors without a history, and for views.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).transpose_(0, 1).shape
    (3, 2)
    """
    return _become(x, "transpose_", lambda x: layout.swapaxes(x, dim0, dim1))


swapaxes_ = swapdims_ = transpose_


def squeeze_(x: Any, dim: Any = None) -> Any:
    """Without the axes of length one, in place; for tensors without a history, and for views.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(1, 3).squeeze_().shape
    (3,)
    """
    return _become(x, "squeeze_", lambda x: x.squeeze(dim))


def unsqueeze_(x: Any, dim: int) -> Any:
    """With a new axis of length one, in place; for tensors without a history, and for views.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(3).unsqueeze_(0).shape
    (1, 3)
    """
    return _become(x, "unsqueeze_", lambda x: layout.expand_dims(x, axis=dim))


guard(__name__, [name for name, found in vars().items() if getattr(found, "__module__", None) == __name__])
