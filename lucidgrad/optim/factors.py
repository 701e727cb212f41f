"""Schedulers that multiply learning rates by factors."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from .optimizer import Optimizer
from .scheduling import LRScheduler, current, load_functions, saved_functions

Factor = Callable[[int], float]


class _Functions(LRScheduler):
    """Schedulers with a function for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        groups = optimizer.param_groups
        many = isinstance(lr_lambda, (list, tuple))
        if many and len(lr_lambda) != len(groups):  # type: ignore[arg-type]
            raise ValueError(f"Expected {len(groups)} lr_lambdas, but got {len(lr_lambda)}")  # type: ignore[arg-type]
        self.lr_lambdas: list[Any] = list(lr_lambda) if many else [lr_lambda] * len(groups)  # type: ignore[arg-type]
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser; of functions nothing, of objects that can be called their attributes."""
        return {**super().state_dict(), "lr_lambdas": saved_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        load_functions(self.lr_lambdas, state_dict["lr_lambdas"])
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})


class LambdaLR(_Functions):
    """The initial learning rate times a function of the number of the step.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    lr_lambda
        The function, or a list of one per group.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=2.0)
    >>> lg.optim.lr_scheduler.LambdaLR(optimiser, lambda n: 1 / (n + 1)).get_last_lr()
    [2.0]
    """

    def get_lr(self) -> list[Any]:  # noqa: D102
        self._warn_outside_step()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_Functions):
    """The learning rate times a function of the number of the step, at every step.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    lr_lambda
        The function, or a list of one per group.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=2.0)
    >>> lg.optim.lr_scheduler.MultiplicativeLR(optimiser, lambda n: 0.5).get_last_lr()
    [2.0]
    """

    def get_lr(self) -> list[Any]:  # noqa: D102
        self._warn_outside_step()
        if self._is_initial:
            return current(self.optimizer)
        lrs = [group["lr"] for group in self.optimizer.param_groups]
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, lrs, strict=True)]


class _Chained(LRScheduler):
    """Schedulers that multiply whatever the learning rates are by one factor, so that they can be combined."""

    def _factor(self) -> float | None:
        """The factor of this step; None leaves the learning rates as they are."""

    def _total(self) -> float:
        """The factor of the initial learning rates."""
        return 1.0

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._warn_outside_step()
        factor = self._factor()
        if factor is None:
            return current(self.optimizer)
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Any]:
        return [lr * self._total() for lr in self.base_lrs]


class StepLR(_Chained):
    """Times ``gamma`` every ``step_size`` steps.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    step_size
        How many steps a learning rate lasts.
    gamma
        The factor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.lr_scheduler.StepLR(optimiser, 1, gamma=0.5)
    >>> optimiser.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _total(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_Chained):
    """Times ``gamma`` at each of some steps.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    milestones
        The numbers of the steps.
    gamma
        The factor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> lg.optim.lr_scheduler.MultiStepLR(optimiser, [30, 80]).get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser; the milestones as a plain dictionary, which files can keep."""
        return {**super().state_dict(), "milestones": dict(self.milestones)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        super().load_state_dict({**state_dict, "milestones": Counter(state_dict["milestones"])})

    def _factor(self) -> float | None:
        times = self.milestones.get(self.last_epoch, 0)
        return self.gamma**times if times else None

    def _total(self) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch))


class ConstantLR(_Chained):
    """Times a factor for the first steps.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    factor
        The factor.
    total_iters
        For how many steps.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> lg.optim.lr_scheduler.ConstantLR(optimiser, factor=0.25).get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _total(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(_Chained):
    """Times a factor that goes from one value to another in the first steps.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    start_factor, end_factor
        The factor at the first step and at the last.
    total_iters
        How many steps it takes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> lg.optim.lr_scheduler.LinearLR(optimiser, start_factor=0.5).get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _total(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters


class ExponentialLR(_Chained):
    """Times ``gamma`` at every step.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    gamma
        The factor.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.lr_scheduler.ExponentialLR(optimiser, gamma=0.5)
    >>> optimiser.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _total(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_Chained):
    """Falls to zero like a power of the steps that are left.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    total_iters
        How many steps it takes.
    power
        The power.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.lr_scheduler.PolynomialLR(optimiser, total_iters=4)
    >>> optimiser.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return float(left**self.power)

    def _total(self) -> float:
        return float((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)
