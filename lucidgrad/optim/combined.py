"""Schedulers made of others, and one that looks at the progress."""

import math
import warnings
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from .optimizer import Optimizer
from .scheduling import EPOCH_WARNING, LRScheduler, current, need_optimizer, set_value


def _check_parts(name: str, optimizer: Any, schedulers: Sequence[Any]) -> None:
    for i, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if scheduler.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {i} with another one than {type(optimizer).__name__}."
            )


class _Combined(LRScheduler):
    """Schedulers that hold others."""

    _schedulers: Sequence[Any]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser, and the states of the schedulers."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_schedulers"})


class SequentialLR(_Combined):
    """One scheduler after the other.

    Parameters
    ----------
    optimizer, last_epoch
        As for `LRScheduler`.
    schedulers
        The schedulers, all of this optimiser.
    milestones
        The steps at which the second and every further one begins.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedulers = lg.optim.lr_scheduler
    >>> warm = schedulers.ConstantLR(optimiser, factor=0.5, total_iters=2)
    >>> fall = schedulers.ExponentialLR(optimiser, gamma=0.5)
    >>> both = schedulers.SequentialLR(optimiser, [warm, fall], milestones=[2])
    >>> for _ in range(3):
    ...     optimiser.step()
    ...     both.step()
    ...     print(both.get_last_lr())
    [0.5]
    [1.0]
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        _check_parts(type(self).__name__, optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # the schedulers have taken their first steps
            set_value(group, "lr", group["initial_lr"])
        self._undo(self)
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _undo(self, scheduler: Any) -> None:
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self._undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Set the learning rates of the next step."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedulers at once: each changes what the ones before it made.

    Parameters
    ----------
    schedulers
        The schedulers, all of one optimiser.
    optimizer
        That optimiser.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> schedulers = lg.optim.lr_scheduler
    >>> parts = [schedulers.ExponentialLR(optimiser, gamma=g) for g in (0.5, 0.25)]
    >>> both = schedulers.ChainedScheduler(parts)
    >>> optimiser.step()
    >>> both.step()
    >>> both.get_last_lr()
    [0.125]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check_parts(type(self).__name__, optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = current(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Let all schedulers take a step."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = current(self.optimizer)


class ReduceLROnPlateau(LRScheduler):
    """Times a factor when a quantity has not become better for a while.

    Parameters
    ----------
    optimizer
        Whose learning rates to set.
    mode
        ``"min"`` if smaller is better, ``"max"`` if larger is.
    factor
        The factor.
    patience
        How many steps without progress are allowed.
    threshold, threshold_mode
        How much better counts: as a part of the best (``"rel"``), or as it is (``"abs"``).
    cooldown
        How many steps after a reduction don't count.
    min_lr
        The least learning rate, or a list of one per group.
    eps
        Smaller changes are not made.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.lr_scheduler.ReduceLROnPlateau(optimiser, factor=0.5, patience=0)
    >>> for loss in (2.0, 1.0, 1.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        need_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.factor, self.optimizer = factor, optimizer
        count = len(optimizer.param_groups)
        many = isinstance(min_lr, (list, tuple))
        if many and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        self.default_min_lr = None if many else min_lr
        self.min_lrs = list(min_lr) if many else [min_lr] * count
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = current(optimizer)
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the quantity, and reduce the learning rates if there was no progress for too long.

        Parameters
        ----------
        metrics
            The quantity: a number, or a tensor of one.
        epoch
            Deprecated: the number of the step.
        """
        value = float(metrics)
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = current(self.optimizer)

    @property
    def in_cooldown(self) -> bool:
        """Whether steps don't count, since a reduction was not long ago."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "rel":
            bound = best * (1.0 + sign * self.threshold)
        else:
            bound = best + sign * self.threshold
        return value < bound if self.mode == "min" else value > bound

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}); set `min_lrs` to one value per group"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                set_value(group, "lr", new)
