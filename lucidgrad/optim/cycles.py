"""Schedulers that go up and down: cosines, triangles, one cycle."""

import math
from collections.abc import Callable
from typing import Any

from .optimizer import Optimizer
from .scheduling import (
    LRScheduler,
    current,
    load_functions,
    need_optimizer,
    one_per_group,
    saved_functions,
    set_value,
)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int) and value > 0


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial learning rate to the least, in T_max steps; then up again.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    T_max
        How many steps it takes.
    eta_min
        The least learning rate.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=2)
    >>> optimiser.step(), scheduler.step()
    (None, None)
    >>> round(scheduler.get_last_lr()[0], 6)
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:  # noqa: D102
        self._warn_outside_step()
        n, most = self.last_epoch, self.T_max
        if self._is_initial:
            return current(self.optimizer)
        if self._step_count == 1 and n > 0:
            return self._get_closed_form_lr()
        lrs = [group["lr"] for group in self.optimizer.param_groups]
        if (n - 1 - most) % (2 * most) == 0:  # it was at the least: a factor can't lift it
            rise = (1 - math.cos(math.pi / most)) / 2
            return [lr + (first - self.eta_min) * rise for first, lr in zip(self.base_lrs, lrs, strict=True)]
        factor = (1 + math.cos(math.pi * n / most)) / (1 + math.cos(math.pi * (n - 1) / most))
        return [factor * (lr - self.eta_min) + self.eta_min for lr in lrs]

    def _get_closed_form_lr(self) -> list[Any]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines, one after the other, each ``T_mult`` times as long as the one before.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    T_0
        The length of the first.
    T_mult
        The factor of lengths.
    eta_min
        The least learning rate.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimiser, T_0=2)
    >>> for _ in range(2):
    ...     optimiser.step(), scheduler.step()
    (None, None)
    (None, None)
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not _is_positive(T_0):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not _is_positive(T_mult):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:  # noqa: D102
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (lr - self.eta_min) * height for lr in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the learning rates of the next step, or of a step with a number, which may be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lrs(self.get_lr)

    def _place(self, epoch: float) -> None:
        """Find the cosine that a step is in."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n


class _Momentum(LRScheduler):
    """Schedulers that move the momentum the other way."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base: Any, most: Any, last_epoch: int) -> tuple[list[Any], list[Any]]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        low = one_per_group("base_momentum", optimizer, base)
        high = one_per_group("max_momentum", optimizer, most)
        if last_epoch == -1:
            for group, base_momentum, max_momentum in zip(optimizer.param_groups, low, high, strict=True):
                self._set_momentum(group, max_momentum)
                group["max_momentum"], group["base_momentum"] = max_momentum, base_momentum
        return low, high

    def _set_momentum(self, group: dict[str, Any], value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Momentum):
    """Up and down between two learning rates, along straight lines.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    base_lr, max_lr
        The learning rates between which it goes, or lists of one per group.
    step_size_up, step_size_down
        How many steps it takes up, and down (the same by default).
    mode
        ``"triangular"``; ``"triangular2"``, with half the height in every cycle; ``"exp_range"``, with the height
        times ``gamma`` at every step.
    gamma
        See ``mode``.
    scale_fn, scale_mode
        A function in place of a mode, of the number of the cycle or of the step (``"cycle"``, ``"iterations"``).
    cycle_momentum, base_momentum, max_momentum
        Whether momentum goes down and up, and between which values.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = lg.optim.lr_scheduler.CyclicLR(optimiser, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> optimiser.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        need_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_per_group("base_lr", optimizer, base_lr)
        self.max_lrs = one_per_group("max_lr", optimizer, max_lr)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, or at a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return float(self.gamma**x)
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else 1.0

    def get_lr(self) -> list[Any]:  # noqa: D102
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            rows = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in rows:
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser; of a function nothing, of an object that can be called its attributes."""
        state, custom = super().state_dict(), self._scale_fn_custom
        state["_scale_fn_custom"] = None if custom is None else saved_functions([custom])[0]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        if self._scale_fn_custom is not None:
            load_functions([self._scale_fn_custom], [state_dict["_scale_fn_custom"]])
        super().load_state_dict({k: value for k, value in state_dict.items() if k != "_scale_fn_custom"})


class OneCycleLR(_Momentum):
    """From a small learning rate to the largest, and down to a tiny one, in a given number of steps.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    max_lr
        The largest learning rate, or a list of one per group.
    total_steps, epochs, steps_per_epoch
        The number of steps, or two numbers whose product it is.
    pct_start
        The part of the steps that goes up.
    anneal_strategy
        ``"cos"`` or ``"linear"``.
    cycle_momentum, base_momentum, max_momentum
        Whether momentum goes down and up, and between which values.
    div_factor, final_div_factor
        The first learning rate is ``max_lr / div_factor``, the last that divided by ``final_div_factor``.
    three_phase
        Go down to the first learning rate as fast as up, and from there to the last.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = lg.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1.0, total_steps=10, div_factor=4)
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        need_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _steps(total_steps, epochs, steps_per_epoch)
        if type(pct_start) is not float or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        lasting = pct_start * self.total_steps
        ends = [lasting - 1, *([2 * lasting - 2] if three_phase else []), self.total_steps - 1]
        lrs = ["initial_lr", "max_lr", *(["initial_lr"] if three_phase else []), "min_lr"]
        momenta = ["max_momentum", "base_momentum", *["max_momentum"] * (2 if three_phase else 1)]
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": ends[k],
                "start_lr": lrs[k],
                "end_lr": lrs[k + 1],
                "start_momentum": momenta[k],
                "end_momentum": momenta[k + 1],
            }
            for k in range(len(ends))
        ]
        largest = one_per_group("max_lr", optimizer, max_lr)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"], group["max_lr"] = lr / div_factor, lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self) -> list[Any]:  # noqa: D102
        self._warn_outside_step()
        n = self.last_epoch
        if n > self.total_steps:
            raise ValueError(f"Tried to step {n} times. The specified number of total steps is {self.total_steps}")
        begin = 0.0
        for phase in self._schedule_phases:
            end: Any = phase["end_step"]
            if n <= end or phase is self._schedule_phases[-1]:
                break
            begin = end
        part = (n - begin) / (end - begin)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                momentum = self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part)
                self._set_momentum(group, momentum)
        return lrs


def _steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    given = (
        dict(total_steps=total_steps)
        if total_steps is not None
        else dict(epochs=epochs, steps_per_epoch=steps_per_epoch)
    )
    for name, value in given.items():
        if not _is_positive(value):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(value for value in given.values() if value is not None)
