"""Names for what functions take and give, for annotations.

Examples
--------
>>> import lucidgrad as lg
>>> from lucidgrad.typing import ArrayLike, Shape
>>> def noisy(x: ArrayLike, shape: Shape) -> lg.Tensor:
...     return lg.randn(shape) + x
"""

from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeAlias, runtime_checkable

from .core.device import Device
from .core.dtype import named
from .tensor import Tensor

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Array", "ArrayLike", "Axes", "DType", "DTypeLike", "Data", "Device", "DeviceLike", "Key", "KeyPart", "NativeArray",
    "Scalar", "Shape", "SupportsArray", "SupportsDLPack", "Tensor",
]  # fmt: skip


@runtime_checkable
class NativeArray(Protocol):
    """An array, or a scalar, of a library that follows the Array API standard, such as NumPy's or CuPy's."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""

    @property
    def dtype(self) -> Any:
        """The library's dtype."""

    def __array_namespace__(self, *, api_version: Any = None) -> Any:
        """The library."""


@runtime_checkable
class SupportsArray(Protocol):
    """What NumPy can make an array of."""

    def __array__(self) -> Any: ...


@runtime_checkable
class SupportsDLPack(Protocol):
    """What gives its memory away by DLPack, as PyTorch's tensors do."""

    def __dlpack__(self) -> Any: ...


#: A Python number.
Scalar: TypeAlias = bool | int | float | complex

#: An array of any kind: most functions take those of the libraries below as they take tensors.
Array: TypeAlias = Tensor | NativeArray

#: What stands for an array where arrays are computed with.
ArrayLike: TypeAlias = Tensor | NativeArray | bool | int | float | complex

#: What a tensor can be made of: arrays, numbers, and nested sequences of them.
Data: TypeAlias = ArrayLike | SupportsArray | SupportsDLPack | Sequence["Data"]

#: A size of one axis, or of several.
Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]

#: One axis or several; all of them where it is None.
Axes: TypeAlias = int | Sequence[int] | None

#: What stands in brackets: this, or a tuple of it.
KeyPart: TypeAlias = SupportsIndex | slice | EllipsisType | NativeArray | list[Any] | None
Key: TypeAlias = KeyPart | tuple[KeyPart, ...]

if TYPE_CHECKING:
    #: A dtype: one of NumPy's objects, on every device.
    DType: TypeAlias = np.dtype[Any]
else:
    DType = type(named("float32")).__mro__[-2]

#: A dtype, its name, or a class that means it, as ``float`` does.
DTypeLike: TypeAlias = DType | type[Any] | str

#: A device, or its name.
DeviceLike: TypeAlias = Device | str
