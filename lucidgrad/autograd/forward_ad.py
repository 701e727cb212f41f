"""Forward mode by hand: dual tensors inside a `dual_level`, with PyTorch's names.

`lucidgrad.func.jvp` does the same for a whole function.
"""

import contextlib
import threading
from types import TracebackType
from typing import NamedTuple

from lucidgrad.func.forward import check_tangent, take_apart
from lucidgrad.levels.dual import make_dual as _make_dual
from lucidgrad.levels.layer import Level
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Levels(threading.local):
    """The levels that this thread has entered, oldest first."""

    def __init__(self) -> None:
        self.entered: list[Level] = []


_levels = _Levels()


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives: the value, and the tangent or None.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lg.tensor(3.0), lg.tensor(1.0))
    ...     tangent = forward_ad.unpack_dual(x * x).tangent
    >>> tangent
    tensor(6.)
    """

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level; `dual_level` is the safer way.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(lg.tensor(3.0), lg.tensor(1.0))
    >>> forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    _levels.entered.append(Level("dual_level", forgets=True))
    return len(_levels.entered) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """End the newest level: its tangents are forgotten, its tensors are plain ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=level)
    """
    entered = _levels.entered
    if not entered:
        raise RuntimeError("exit_dual_level: no dual level is entered")
    if level is not None and level != len(entered) - 1:
        raise RuntimeError(f"exit_dual_level: level {level} is not the newest, which is {len(entered) - 1}")
    entered.pop().ended = True


class dual_level(contextlib.ContextDecorator):
    """A context in which tensors may carry tangents; also a decorator of functions that run in one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lg.tensor(3.0), lg.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __init__(self) -> None:
        self._begun: list[int] = []

    def __enter__(self) -> int:
        self._begun.append(enter_dual_level())
        return self._begun[-1]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        below = self._begun.pop()
        while len(_levels.entered) > below:  # levels that were entered inside and not exited end with it
            exit_dual_level()


def _level(who: str, level: int | None) -> Level:
    entered = _levels.entered
    if not entered:
        raise RuntimeError(f"{who}: no dual level is entered; use it inside 'with forward_ad.dual_level():'")
    if level is not None and not 0 <= level < len(entered):
        raise ValueError(f"{who}: level {level} is not entered; there are {len(entered)}")
    return entered[-1 if level is None else level]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor that carries a tangent.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lg.tensor([1.0, 2.0]), lg.tensor([1.0, 0.0]))
    ...     y, tangent = forward_ad.unpack_dual(lg.exp(x))
    >>> tangent.tolist()
    [2.7183, 0.0]
    """
    number = _level("make_dual", level)
    check_tangent("make_dual: the tangent", tensor, tangent)
    if take_apart(tensor, number)[1] is not None:
        raise RuntimeError(
            "make_dual: the tensor carries a tangent at this level; expected a plain one: take it apart first, "
            "with unpack_dual, or add the tangents"
        )
    return _make_dual(tensor, tangent, level=number)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor and the tangent that it carries, None if it carries none (or no level is entered).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(lg.tensor(2.0), lg.tensor(1.0))
    ...     value, tangent = forward_ad.unpack_dual(x**3)
    >>> value.item(), tangent.item()
    (8.0, 12.0)
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual: given a {type(tensor).__name__}, expected a Tensor")
    if not _levels.entered:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*take_apart(tensor, _level("unpack_dual", level)))


_guard(__name__, __all__)
