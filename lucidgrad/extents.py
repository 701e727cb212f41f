"""Sizes: of tensors, and of windows that slide over axes, which rules and kernels both ask."""

from typing import Any

Sizes = tuple[int, ...]


class Size(int):
    """The number of elements, which can also be asked for one axis as PyTorch's method can."""

    _shape: tuple[int, ...]

    def __new__(cls, shape: tuple[int, ...]) -> "Size":  # noqa: D102
        n = 1
        for k in shape:
            n *= k
        made = super().__new__(cls, n)
        made._shape = shape
        return made

    def __call__(self, dim: int | None = None) -> Any:  # noqa: D102
        return self._shape if dim is None else self._shape[dim]


def out_sizes(
    name: str, sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> Sizes:
    """How many places a window has along each axis."""
    if not len(sizes) == len(window) == len(stride) == len(padding) == len(dilation):
        raise ValueError(
            f"{name}: given sizes {tuple(sizes)}, window {window}, stride {stride}, padding {padding} and dilation "
            f"{dilation}, expected as many of each"
        )
    made = []
    for n, k, s, p, d in zip(sizes, window, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        if min(k, s, d) < 1 or p < 0 or room < 0:
            raise RuntimeError(
                f"{name}: a window {window} with stride {stride}, padding {padding} and dilation {dilation} does not "
                f"fit into sizes {tuple(sizes)}"
            )
        places = room // s + 1
        if ceil_mode and room % s and places * s < n + p:  # a last window that starts inside
            places += 1
        made.append(places)
    return tuple(made)


def check_channels(x: Sizes, w: Sizes, groups: int) -> None:
    """Raise unless weights fit the channels of an input."""
    if len(x) != len(w) or groups < 1 or w[0] % groups or x[1] != w[1] * groups:
        raise RuntimeError(
            f"convolution: given an input of shape {tuple(x)} and weights of shape {tuple(w)} in {groups} groups, "
            f"expected (n, channels, ...) and (outputs, channels / groups, ...), both divisible by the groups"
        )
