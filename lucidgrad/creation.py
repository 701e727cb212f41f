"""Making tensors: from data, from other libraries' arrays, and filled ones."""

import functools
from collections.abc import Iterator
from typing import Any

from .core import device as devices, dtype as dtypes
from .core.device import Device
from .core.dispatch import SCALARS, box, complexes, dtype_of, floats, number, promoted
from .core.modes import leave, state
from .levels.dual import has_tangents, without_tangents
from .levels.layer import Layer, filled
from .levels.numbers import plain_number
from .levels.traced import acting, constant, tracing
from .ops.elementwise.copies import clone
from .ops.elementwise.exponential import pow
from .ops.shape.joining import stack
from .refusals import warn_user
from .tensor import Tensor

__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "eye", "from_dlpack", "from_numpy", "frombuffer", "full",
    "full_like", "is_tensor", "linspace", "logspace", "ones", "ones_like", "scalar_tensor", "tensor", "zeros",
    "zeros_like",
]  # fmt: skip


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A new tensor with a copy of ``data``; Python floats get the default dtype.

    It has no history: one that tensors in ``data`` have is dropped, with a warning. `asarray` keeps it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.tensor([1, 2.5])
    tensor([1. , 2.5])
    """
    if type(data) is not list and isinstance(data, Layer):
        data = box(data)  # the array of a tensor inside a transform
    dropped: list[Tensor] = []
    if isinstance(data, Tensor):
        if _has_history(data):
            dropped.append(data)
        made = data.detach().to(device=device, dtype=dtype)
        made = leave("tensor", data, box(_backend(made.array).copy(made.array)))
    else:
        given = data, dtype, device, True, dropped
        made = box(_raw(*given) if tracing() is None else _taken("tensor", *given))
    if dropped:
        warn_user(
            "tensor: given a tensor with a history, which its copy does not have; lg.asarray keeps it, x.detach() says "
            "that it is not wanted"
        )
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def asarray(
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ``obj``: itself with its history if it is one, without a copy where that is possible.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.ones(2)
    >>> lg.asarray(x) is x
    True
    >>> w = lg.tensor(3.0, requires_grad=True)
    >>> lg.asarray([w, 1.0]).sum().backward()  # tensors in sequences keep their history, too
    >>> w.grad.tolist()
    1.0
    """
    obj = box(obj) if isinstance(obj, Layer) else obj  # the array of a tensor inside a transform
    if isinstance(obj, Tensor):
        made = obj.to(device=device, dtype=dtype)
        if copy and made is obj:
            made = clone(obj)
        elif copy is False and made is not obj:
            raise ValueError("asarray: copy=False, but the dtype or the device asked for needs a copy")
    elif isinstance(obj, (list, tuple)) and _holds_tensors(obj):
        if copy is False:
            raise ValueError("asarray: copy=False, but tensors in a sequence must be copied")
        common = _common_dtype(obj) if dtype is None else dtype
        made = _stacked(obj, common, next(_tensors(obj)).device).to(device=device)
    else:
        made = box(_raw(obj, dtype, device, copy) if tracing() is None else _taken("asarray", obj, dtype, device, copy))
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def _has_history(x: Tensor) -> bool:
    """Whether derivatives flow to a tensor, by the tape or forwards."""
    return (state.recording and x.requires_grad) or has_tangents(x.array)


def _tensors(obj: Any) -> Iterator[Tensor]:
    """The tensors in nested sequences."""
    if isinstance(obj, Tensor):
        yield obj
    elif isinstance(obj, (list, tuple)):
        for part in obj:
            yield from _tensors(part)


def _holds_tensors(obj: list[Any] | tuple[Any, ...]) -> bool:
    return any(isinstance(part, (list, tuple, Tensor)) for part in obj) and next(_tensors(obj), None) is not None


def _common_dtype(obj: Any) -> Any:
    """What tensors and arrays in nested sequences promote to; numbers beside them give way, but for their kind."""
    cpu = devices.backend_named("cpu")
    kinds: list[Any] = []
    numbers: list[Any] = [False]  # the weakest kind
    _sort_out(obj, kinds, numbers)
    found, plain = promoted(*kinds), cpu.asarray(numbers).dtype
    if found.kind in "biu" and plain.kind in "fc":
        return plain
    return cpu.xp.result_type(found, {"b": False, "f": 1.0, "c": 1j}.get(plain.kind, 1))


def _sort_out(obj: Any, kinds: list[Any], numbers: list[Any]) -> None:
    """Gather the dtypes of tensors and arrays in nested sequences, and the numbers; values may be out of reach."""
    for part in obj:
        if isinstance(part, (list, tuple)):
            _sort_out(part, kinds, numbers)
        elif isinstance(part, Tensor) or getattr(part, "shape", ()) != ():
            kinds.append(part.dtype)
        else:
            numbers.append(part)


def _stacked(obj: Any, dtype: Any, device: Any) -> Tensor:
    """Nested sequences of tensors and numbers as one tensor, with history."""
    if isinstance(obj, (list, tuple)):
        return stack([_stacked(part, dtype, device) for part in obj], axis=0) if obj else zeros(0, dtype=dtype)
    if isinstance(obj, Tensor):
        return obj.to(dtype=dtype)
    if hasattr(obj, "shape"):
        return asarray(obj, dtype=dtype, device=device)
    return full((), obj, dtype=dtype, device=device)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The same as `asarray`, in PyTorch's spelling.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.as_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    return asarray(data, dtype=dtype, device=device)


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.is_tensor(lg.ones(2)), lg.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def from_numpy(array: Any) -> Tensor:
    """A CPU tensor that shares the memory of a NumPy array.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> import numpy as np
    >>> a = np.zeros(2)
    >>> x = lg.from_numpy(a)
    >>> a[0] = 5
    >>> x.tolist()
    [5.0, 0.0]
    """
    backend = devices.backend_named("cpu")
    if not backend.accepts(array):
        raise TypeError(f"from_numpy: given {type(array).__name__}, expected a numpy.ndarray")
    return box(acting("from_numpy", lambda: backend.asarray(array), source=array))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor from any object with ``__dlpack__``, sharing its memory where possible.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> import numpy as np
    >>> a = np.ones(2)
    >>> x = lg.from_dlpack(a)
    >>> a[0] = 5
    >>> x
    tensor([5., 1.], dtype=float64)
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    on_cuda = x.__dlpack_device__()[0] in (2, 13)  # device memory, managed memory
    home = "cuda" if on_cuda else "cpu" if device is None or Device(device).type == "cuda" else device
    made: Tensor = box(devices.backend_named(home).from_dlpack(x, copy))
    return made if device is None else made.to(device)


def _backend(array: Any) -> Any:
    return devices.by_array[type(array)]


def _taken(name: str, obj: Any, *how: Any) -> Any:
    """An array of data from outside; a program that is being traced looks at the data in every run."""
    obj = plain_number(obj)
    if type(obj) in SCALARS:
        return constant(_raw(obj, *how))
    return acting(name, functools.partial(_raw, obj, *how), source=obj)


def _raw(obj: Any, dtype: Any, device: Any, copy: bool | None, dropped: list[Tensor] | None = None) -> Any:
    home = devices.recognise(obj)
    if home is None and hasattr(obj, "__cuda_array_interface__"):
        home = devices.backend_named("cuda")
        obj = home.asarray(obj)
    if device is None and home is not None and (home.name != "cpu" or devices.get_default_device() == "cpu"):
        return home.asarray(obj, dtype=dtype, copy=copy)
    where = devices.located(device)
    backend = devices.backend_named(where)
    if home is not None and home is not backend:
        if copy is False:
            raise ValueError(f"asarray: copy=False, but an array on {home.name} must be copied to get to {where}")
        made = backend.receive(obj, home, where, False)
        return made if dtype is None else backend.asarray(made, dtype=dtype, where=where)
    return backend.asarray(_plain(obj, dropped), dtype=dtype, where=where, copy=copy)


def _plain(obj: Any, dropped: list[Tensor] | None = None) -> Any:
    """Nested sequences that hold tensors, as plain data; those whose history is lost are noted."""
    if isinstance(obj, Tensor):
        if dropped is not None and _has_history(obj):
            dropped.append(obj)
        return obj.tolist()
    if isinstance(obj, (list, tuple)):
        return [part if type(part) in SCALARS else _plain(part, dropped) for part in obj]
    return plain_number(obj)


# -- filled ----------------------------------------------------------------------------------------
def _shape(size: tuple[Any, ...], name: str) -> tuple[int, ...]:
    """A shape given as one sequence, one int, or several ints."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    shape = tuple(int(n.__index__()) for n in size)
    if any(n < 0 for n in shape):
        raise ValueError(f"{name}: given shape {shape}, expected no negative number")
    return shape


def _filled(name: str, size: tuple[Any, ...], value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    where = devices.located(device)
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.checked(name, dtype)
    array = devices.backend_named(where).full(_shape(size, name), value, dtype, where)
    made: Tensor = box(array if tracing() is None else constant(array))
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def zeros(shape: Any, *more: int, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros: ``zeros((2, 3))`` or ``zeros(2, 3)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros(2)
    tensor([0., 0.])
    """
    return _filled("zeros", (shape, *more), 0, dtype, device, requires_grad)


def ones(shape: Any, *more: int, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones: ``ones((2, 3))`` or ``ones(2, 3)``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones(2, 3).shape
    (2, 3)
    """
    return _filled("ones", (shape, *more), 1, dtype, device, requires_grad)


def empty(shape: Any, *more: int, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor whose values are not to be relied on (they are zeros).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.empty((2, 3)).shape
    (2, 3)
    """
    return _filled("empty", (shape, *more), 0, dtype, device, requires_grad)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """One value everywhere; a Python number decides the dtype if none is given.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.full((2,), 7.0)
    tensor([7., 7.])
    """
    if isinstance(fill_value, Tensor):
        fill_value, dtype = fill_value.item(), fill_value.dtype if dtype is None else dtype
    fill_value = number(fill_value)
    return _filled(
        "full",
        (shape,),
        fill_value,
        _dtype_for(fill_value) if dtype is None else dtype,
        device,
        requires_grad,
    )


def _dtype_for(value: Any) -> Any:
    if isinstance(value, bool):
        return dtypes.named("bool")
    if isinstance(value, int):
        return dtypes.named("int64")
    return dtypes.default_complex_dtype() if isinstance(value, complex) else dtypes.get_default_dtype()


def _like(x: Any, value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    x = asarray(x)
    dtype, device = dtype or x.dtype, device or x.device
    if isinstance(x.array, Layer) and x.device == device:
        array = filled(x.array, value, lambda shape, v: _filled("like", (shape,), v, dtype, device, False).array)
        made: Tensor = box(array if array.dtype in floats else without_tangents(array))
        return made if requires_grad is False else made.requires_grad_(requires_grad)
    return _filled("like", (x.shape,), value, dtype, device, requires_grad)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Zeros of another tensor's shape, dtype and device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.zeros_like(lg.tensor([1, 2]))
    tensor([0, 0])
    """
    return _like(x, 0, dtype, device, requires_grad)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Ones of another tensor's shape, dtype and device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.ones_like(lg.tensor([1, 2]))
    tensor([1, 1])
    """
    return _like(x, 1, dtype, device, requires_grad)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of another's shape, dtype and device whose values are not to be relied on.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.empty_like(lg.ones(2, 3)).shape
    (2, 3)
    """
    return _like(x, 0, dtype, device, requires_grad)


def full_like(
    x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """One value in another tensor's shape, dtype and device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.full_like(lg.ones(2), 7.0)
    tensor([7., 7.])
    """
    return _like(x, fill_value.item() if isinstance(fill_value, Tensor) else fill_value, dtype, device, requires_grad)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Evenly spaced values in a half-open interval.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.arange(3)
    tensor([0, 1, 2])
    """
    start, stop = (0, start) if stop is None else (start, stop)
    parts = [_number("arange", p) for p in (start, stop, step)]
    if parts[2] == 0:
        raise ValueError("arange: step is 0, expected another number")
    if dtype is None:
        dtype = dtypes.named("int64") if all(isinstance(p, int) for p in parts) else dtypes.get_default_dtype()
    return _made("arange", device, requires_grad, *parts, dtype=dtype)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
    requires_grad: bool = False,
) -> Tensor:
    """``num`` evenly spaced values in an interval.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.linspace(0, 1, 3)
    tensor([0. , 0.5, 1. ])
    """
    start, stop = _number("linspace", start), _number("linspace", stop)
    if dtype is None:
        complex_ = isinstance(start, complex) or isinstance(stop, complex)
        dtype = dtypes.default_complex_dtype() if complex_ else dtypes.get_default_dtype()
    return _made("linspace", device, requires_grad, start, stop, num, dtype=dtype, endpoint=endpoint)


def logspace(
    start: Any,
    stop: Any,
    /,
    num: int = 50,
    *,
    base: float = 10.0,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
    requires_grad: bool = False,
) -> Tensor:
    """The powers of a base whose exponents are evenly spaced in an interval.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.checked("logspace", dtype)
    base = number(base)
    kind = dtype if dtype in floats else dtypes.named("float64")
    made = pow(float(base), linspace(start, stop, num, dtype=kind, device=device, endpoint=endpoint))
    made = made.to(dtype=dtype)
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a 0-d tensor, of the default dtype if none is given (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.scalar_tensor(3)
    tensor(3.)
    """
    s = number(s)
    if dtype is None:
        is_complex = isinstance(s, complex) or dtype_of(s) in complexes
        dtype = dtypes.default_complex_dtype() if is_complex else dtypes.get_default_dtype()
    return _filled("scalar_tensor", ((),), s, dtype, device, requires_grad)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor of the numbers in a buffer, whose memory it shares (PyTorch's meaning).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.frombuffer(bytearray([1, 2, 3]), dtype=lg.uint8, offset=1).tolist()
    [2, 3]
    """
    dtype = dtypes.checked("frombuffer", dtypes.named(dtype) if isinstance(dtype, str) else dtype)
    data = memoryview(buffer).cast("B")
    room = (data.nbytes - offset) // dtype.itemsize if 0 <= offset < data.nbytes else 0
    if not room or count == 0 or count > room or (count < 0 and (data.nbytes - offset) % dtype.itemsize):
        raise ValueError(
            f"frombuffer: given {data.nbytes} bytes, offset={offset} and count={count}, expected room for numbers of "
            f"{dtype.itemsize} bytes"
        )
    size = (room if count < 0 else count) * dtype.itemsize
    array = devices.backend_named("cpu").asarray(data[offset : offset + size]).view(dtype)
    made: Tensor = box(array)
    return made if requires_grad is False else made.requires_grad_(requires_grad)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on a diagonal, zeros elsewhere.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    return _made("eye", device, requires_grad, n_rows, n_cols, k=k, dtype=dtype)


def _number(name: str, value: Any) -> Any:
    """A number of Python, which a tensor or an array of one element may stand for."""
    if not hasattr(value, "item"):
        return value
    if getattr(value, "requires_grad", False):
        raise RuntimeError(
            f"{name}: given a tensor that requires grad, but what is made has no history; detach it, or compute with "
            f"lg.{name} of numbers"
        )
    return value.item() if isinstance(value, Tensor) else number(value)


def _made(name: str, device: Any, requires_grad: bool, *args: Any, dtype: Any, **options: Any) -> Tensor:
    where = devices.located(device)
    dtype = dtypes.checked(name, dtype)
    made: Tensor = box(constant(devices.backend_named(where).create(name, where, *args, dtype=dtype, **options)))
    return made if requires_grad is False else made.requires_grad_(requires_grad)
