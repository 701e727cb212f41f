"""Layers that add elements around."""

from collections.abc import Sequence

import lucidgrad as lg
from lucidgrad.nn import functional
from lucidgrad.nn.functional.arguments import Sizes, per_axis
from lucidgrad.nn.module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Add elements before and after the last axes: one number, or a pair for each axis, the last first."""

    axes: int
    mode: str
    value = 0.0

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        self.padding: Sequence[int] = per_axis(type(self).__name__, "padding", padding, 2 * self.axes)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Pad the last axes."""
        return functional.pad(input, self.padding, self.mode, self.value if self.mode == "constant" else None)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A value before and after the last axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ConstantPad1d((1, 0), 9.0)(lg.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2.]])
    """

    axes = 1


class ConstantPad2d(_ConstantPad):
    """A value around the last two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ConstantPad2d(1, 9.0)(lg.zeros((1, 1, 1))).sum().item()
    72.0
    """

    axes = 2


class ConstantPad3d(_ConstantPad):
    """A value around the last three axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ConstantPad3d(1, 1.0)(lg.zeros((1, 1, 1, 1))).sum().item()
    26.0
    """

    axes = 3


class ZeroPad1d(_Pad):
    """Zeros before and after the last axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ZeroPad1d(1)(lg.tensor([[1.0, 2.0]]))
    tensor([[0., 1., 2., 0.]])
    """

    axes, mode = 1, "constant"


class ZeroPad2d(_Pad):
    """Zeros around the last two axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ZeroPad2d((1, 0, 0, 1))(lg.ones((1, 1, 1))).tolist()
    [[[0.0, 1.0], [0.0, 0.0]]]
    """

    axes, mode = 2, "constant"


class ZeroPad3d(_Pad):
    """Zeros around the last three axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ZeroPad3d(1)(lg.ones((1, 1, 1, 1))).shape
    (1, 3, 3, 3)
    """

    axes, mode = 3, "constant"


class ReflectionPad1d(_Pad):
    """The last axis mirrored at its ends.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReflectionPad1d(1)(lg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    axes, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The last two axes mirrored at their ends.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReflectionPad2d((1, 0, 0, 0))(lg.tensor([[[1.0, 2.0]]])).tolist()
    [[[2.0, 1.0, 2.0]]]
    """

    axes, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The last three axes mirrored at their ends.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReflectionPad3d(1)(lg.ones((1, 2, 2, 2))).shape
    (1, 4, 4, 4)
    """

    axes, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The ends of the last axis repeated.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReplicationPad1d(2)(lg.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 1., 2., 2., 2.]])
    """

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The edges of the last two axes repeated.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReplicationPad2d(1)(lg.ones((1, 1, 1))).sum().item()
    9.0
    """

    axes, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The edges of the last three axes repeated.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ReplicationPad3d(1)(lg.ones((1, 1, 1, 1))).sum().item()
    27.0
    """

    axes, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The last axis continued from its other end.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.CircularPad1d(1)(lg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    axes, mode = 1, "circular"


class CircularPad2d(_Pad):
    """The last two axes continued from their other ends.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.CircularPad2d((1, 0, 0, 0))(lg.tensor([[[1.0, 2.0]]])).tolist()
    [[[2.0, 1.0, 2.0]]]
    """

    axes, mode = 2, "circular"


class CircularPad3d(_Pad):
    """The last three axes continued from their other ends.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.CircularPad3d(1)(lg.ones((1, 2, 2, 2))).shape
    (1, 4, 4, 4)
    """

    axes, mode = 3, "circular"
