"""Forward mode by hand: dual tensors inside a `dual_level`, with PyTorch's names.

`lucidgrad.func.jvp` does the same for a whole function.
"""

from types import TracebackType
from typing import NamedTuple

from lucidgrad.core.dual import make_dual as _make_dual
from lucidgrad.core.levels import Level
from lucidgrad.func.forward import check_tangent, take_apart
from lucidgrad.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_levels: list[Level] = []


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives: the value, and the tangent or None."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level; `dual_level` is the safer way."""
    _levels.append(Level("dual_level", forgets=True))
    return len(_levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the newest level: its tangents are forgotten, its tensors are plain ones."""
    if not _levels:
        raise RuntimeError("exit_dual_level: no dual level is entered")
    if level is not None and level != len(_levels) - 1:
        raise RuntimeError(f"exit_dual_level: level {level} is not the newest, which is {len(_levels) - 1}")
    _levels.pop().ended = True


class dual_level:
    """A context in which tensors may carry tangents.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lg.tensor(3.0), lg.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        exit_dual_level()


def _level(who: str, level: int | None) -> Level:
    if not _levels:
        raise RuntimeError(f"{who}: no dual level is entered; use it inside 'with forward_ad.dual_level():'")
    if level is not None and not 0 <= level < len(_levels):
        raise ValueError(f"{who}: level {level} is not entered; there are {len(_levels)}")
    return _levels[-1 if level is None else level]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor that carries a tangent."""
    number = _level("make_dual", level)
    check_tangent("make_dual: the tangent", tensor, tangent)
    return _make_dual(tensor, tangent, level=number)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor and the tangent that it carries, None if it carries none (or no level is entered)."""
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*take_apart(tensor, _level("unpack_dual", level)))
