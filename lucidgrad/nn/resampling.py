"""Layers that change sizes: interpolation, and channels that become places."""

from collections.abc import Sequence

import lucidgrad as lg
from lucidgrad.nn import functional
from lucidgrad.nn.module import Module

__all__ = [
    "ChannelShuffle", "PixelShuffle", "PixelUnshuffle", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


class Upsample(Module):
    """Sample at other places; arguments are those of `functional.interpolate`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.Upsample(scale_factor=2, mode="linear")(lg.tensor([[[1.0, 3.0]]])).tolist()
    [[[1.0, 1.5, 2.5, 3.0]]]
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, (tuple, list)):
            self.scale_factor: float | tuple[float, ...] | None = tuple(map(float, scale_factor))
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None  # type: ignore[arg-type]
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Sample ``(n, channels, *sizes)``."""
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:  # noqa: D102
        given = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images in mode nearest.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.UpsamplingNearest2d(scale_factor=2)(lg.ones((1, 1, 1, 1))).shape
    (1, 1, 2, 2)
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images in mode bilinear with aligned corners.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.UpsamplingBilinear2d(size=(1, 3))(lg.tensor([[[[1.0, 3.0]]]])).tolist()
    [[[[1.0, 2.0, 3.0]]]]
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Channels become places; see `functional.pixel_shuffle`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.PixelShuffle(2)(lg.arange(4.0).reshape((4, 1, 1))).tolist()
    [[[0.0, 1.0], [2.0, 3.0]]]
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Shuffle ``(*, channels, height, width)``."""
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:  # noqa: D102
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Places become channels; see `functional.pixel_unshuffle`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.PixelUnshuffle(2)(lg.zeros((1, 4, 4))).shape
    (4, 2, 2)
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Shuffle ``(*, channels, height, width)``."""
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:  # noqa: D102
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleave groups of channels; see `functional.channel_shuffle`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.ChannelShuffle(2)(lg.arange(4.0).reshape((1, 4, 1))).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0]
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Shuffle ``(n, channels, *sizes)``."""
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:  # noqa: D102
        return f"groups={self.groups}"
