"""Arguments that many functions share: sizes for each axis, inputs with and without a batch, reductions."""

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.func import is_transformed
from lucidgrad.ops.numbers import only_real
from lucidgrad.ops.tables import kept
from lucidgrad.tensor import Tensor

Sizes = int | Sequence[int]

MOST_LAYERS = 2**16  # of one kind, one after the other


def per_axis(name: str, argument: str, value: Any, axes: int, least: int | None = None) -> tuple[int, ...]:
    """One whole number for each axis, from one number or a sequence of them."""
    if type(value) is not tuple or len(value) != axes:
        parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        if len(parts) not in (1, axes):
            raise RuntimeError(f"{name}: given {argument}={value!r}, expected one number or {axes} of them")
        try:
            parts = tuple(map(operator.index, parts))
        except TypeError:
            raise TypeError(
                f"{name}: given {argument}={value!r}, expected one whole number or {axes} of them"
            ) from None
        value = parts * axes if len(parts) == 1 else parts
    if least is not None and min(value) < least:
        raise RuntimeError(f"{name}: given {argument}={value!r}, expected numbers not below {least}")
    return value


def table(x: Tensor, make: Callable[..., Any], *args: Any, dtype: Any = None, part: Any = None) -> Tensor:
    """What ``make(*args)`` lists, or a part of it, as a tensor beside x; on CUDA it is copied there only once."""

    def made() -> Any:
        values = make(*args)
        for k in part or ():
            values = values[k]
        return lg.tensor(values, dtype=x.dtype if dtype is None else dtype, device=x.device)

    found: Tensor = kept(x, (make, args, part, str(x.dtype if dtype is None else dtype)), made)
    return found


def with_batch(name: str, x: Tensor, axes: int) -> tuple[Tensor, bool]:
    """An input ``(n, channels, *sizes)``, and whether the batch axis had to be added."""
    if x.ndim == axes + 2:
        return x, False
    if x.ndim == axes + 1:
        return x.reshape((1, *x.shape)), True
    raise RuntimeError(
        f"{name}: given an input of shape {tuple(x.shape)}, expected {axes + 2} axes (n, channels, *sizes) or, "
        f"without a batch, {axes + 1}"
    )


def check_floats(name: str, x: Any, weight: Any) -> None:
    """Refuse integers where the weights, if any, are floats: PyTorch does, since they are mostly there by mistake."""
    if x.is_floating_point() or x.is_complex() or (weight is not None and not weight.is_floating_point()):
        return
    given = "" if weight is None else f" and weights of {weight.dtype}"
    wanted = "float32" if weight is None else str(weight.dtype)
    raise RuntimeError(
        f"{name}: given an input of {x.dtype}{given}, expected floating-point numbers; convert it with .to({wanted!r})"
    )


def on_host(x: Any) -> Any:
    """The raw array of a tensor if looking at its values costs nothing (on the CPU, outside of transforms), or None."""
    raw = getattr(x, "array", None)
    return None if raw is None or is_transformed(x) or x.device != "cpu" else raw


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that PyTorch's older arguments ask for, with a warning, or the one given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        reduction = "none"
    else:
        reduction = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce are old spellings; write reduction={reduction!r} instead", UserWarning, stacklevel=3
    )
    return reduction


def reduced(name: str, loss: Tensor, reduction: str) -> Tensor:
    """A loss for each element as it is, its mean or its sum."""
    only_real(name, loss)
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{name}: given reduction={reduction!r}, expected 'none', 'mean' or 'sum'")
