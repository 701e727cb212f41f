"""PyTorch's old constructors: ``Tensor(2, 3)``, ``LongTensor([1, 2])``, ``torch.cuda.FloatTensor`` and so on.

They make ordinary tensors: there is one class of them. What they do have is a way to tell: a tensor is an instance of
``FloatTensor`` if it is on the CPU and of float32.
"""

from typing import Any

import lucidgrad as lg
from lucidgrad.tensor import further

from . import dtypes

#: The dtype of each class.
KINDS = {
    "BoolTensor": "bool", "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32",
    "LongTensor": "int64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16", "FloatTensor": "float32",
    "DoubleTensor": "float64", "ComplexFloatTensor": "complex64", "ComplexDoubleTensor": "complex128",
}  # fmt: skip


class _OneClass(type(lg.Tensor)):  # type: ignore[misc]  # tensors have a class of classes of their own
    """The class of `Tensor`: it is lucidgrad's in all that can be asked of it, and can be called."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return new(None, None, *args, **options) if cls is Tensor else super().__call__(*args, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, lg.Tensor) if cls is Tensor else super().__instancecheck__(instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, lg.Tensor) if cls is Tensor else super().__subclasscheck__(subclass)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (cls is Tensor and other is lg.Tensor)

    def __hash__(cls) -> int:
        return hash(lg.Tensor) if cls is Tensor else super().__hash__()

    def __setattr__(cls, name: str, value: Any) -> None:
        if cls is Tensor:
            setattr(lg.Tensor, name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        if cls is Tensor:
            delattr(lg.Tensor, name)
        else:
            super().__delattr__(name)


class Tensor(lg.Tensor, metaclass=_OneClass):
    """The class of all tensors, with PyTorch's constructor.

    ``Tensor(2, 3)`` has that shape and values that are not to be relied on, ``Tensor([2, 3])`` those values, both in
    the default dtype. An instance is any tensor; a method that is assigned here is one of all tensors.

    Examples
    --------
    >>> import lucidgrad.torch as torch
    >>> torch.Tensor([1, 2])
    tensor([1., 2.])
    >>> torch.Tensor(2, 3).shape, isinstance(torch.ones(2), torch.Tensor)
    ((2, 3), True)
    """

    __slots__ = ()


class Kind(type):
    """The class of the constructors of one dtype on one kind of device."""

    is_cuda: bool

    def __instancecheck__(cls, instance: Any) -> bool:
        if not isinstance(instance, lg.Tensor) or instance.device.type != ("cuda" if cls.is_cuda else "cpu"):
            return False
        return str(instance.dtype) == KINDS[cls.__name__]

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return new(cls.dtype, "cuda" if cls.is_cuda else "cpu", *args, **options)

    @property
    def dtype(cls) -> Any:
        """The dtype of what it makes."""
        return dtypes.by_name(KINDS[cls.__name__])


def new(dtype: Any, where: Any, *args: Any, device: Any = None) -> Any:
    """A tensor of a shape, or of values, or nothing at all."""
    dtype = lg.get_default_dtype() if dtype is None else dtype
    if len(args) == 1 and isinstance(args[0], lg.Tensor) and args[0].dtype != dtype:
        raise TypeError(f"new: given a tensor of {args[0].dtype}, expected one of {dtype}; use x.to({dtype})")
    return further.new(lg.empty(0, dtype=dtype, device=device or where), *args)


def kinds(module: str, is_cuda: bool) -> dict[str, Kind]:
    """The constructors by name, of the CPU's tensors or of CUDA's."""
    where = "CUDA" if is_cuda else "the CPU"
    own = {"__module__": module, "is_cuda": is_cuda}
    return {
        name: Kind(
            name, (), {"__doc__": f"Makes tensors of {dtype} on {where}; a tensor that is one is an instance.", **own}
        )
        for name, dtype in KINDS.items()
    }


_HERE = kinds("lucidgrad.torch", is_cuda=False)

__all__ = ["Tensor", *_HERE]


def __getattr__(name: str) -> Kind:
    if name not in _HERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _HERE[name]


def set_default_tensor_type(t: Any) -> None:
    """Set the dtype that Python floats become, and the device, by a constructor or its name."""
    kind = _HERE[t.rpartition(".")[2]] if isinstance(t, str) else t
    is_cuda = ".cuda." in t if isinstance(t, str) else kind.is_cuda
    lg.set_default_dtype(kind.dtype)
    lg.set_default_device("cuda" if is_cuda else "cpu")
