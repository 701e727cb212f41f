"""`LRScheduler`: what all schedulers of learning rates share."""

import functools
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import do_again

from .optimizer import Optimizer

EPOCH_WARNING = (
    "scheduler.step(epoch) is deprecated; call step() without it. With it the closed form of a schedule is used, where "
    "there is one"
)


def need_optimizer(optimizer: Any) -> None:
    """Raise unless it is an optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def one_per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A setting as a list with an entry for each group."""
    if isinstance(value, (list, tuple)):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                f"param_groups has {len(optimizer.param_groups)}."
            )
        return [_own(v) for v in value]
    return [_own(value) for _ in optimizer.param_groups]


def current(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """A setting of all groups."""
    return [_own(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Change a setting; a tensor is written in place, so that whoever holds it sees the change."""
    if isinstance(group[key], lg.Tensor):
        with lg.no_grad():  # without asking the device what the new value is
            group[key].copy_(value.reshape(group[key].shape) if isinstance(value, lg.Tensor) else value)
    else:
        group[key] = value


def _own(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, lg.Tensor) else value


class LRScheduler:
    """The base of schedulers: a subclass says the learning rates of a step in ``get_lr``.

    Parameters
    ----------
    optimizer
        Whose learning rates to set.
    last_epoch
        The number of the last step, to go on with; -1 begins.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Halves(lg.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr / 2**self.last_epoch for lr in self.base_lrs]
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halves(optimiser)
    >>> optimiser.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False
    _step_count: int
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        need_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    f"last_epoch >= 0; load the optimizer's state first"
                )
        self.base_lrs = current(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the first learning rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates that were set last, one per group."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The learning rates of step ``last_epoch``, one per group; every scheduler has its own."""
        raise TypeError(f"{type(self).__name__} has no get_lr(); a scheduler has to define one")

    def step(self, epoch: int | None = None) -> None:
        """Set the learning rates of the next step; call it after the optimiser's.

        Parameters
        ----------
        epoch
            Deprecated: the number of the step.
        """
        do_again(functools.partial(LRScheduler.step, self, epoch))
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "else the first learning rate of the schedule is skipped",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        closed: Callable[[], list[Any]] | None = None
        if epoch is None:
            self.last_epoch += 1
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
        self._set_lrs(closed or self.get_lr)

    def _set_lrs(self, find: Callable[[], list[Any]]) -> None:
        self._get_lr_called_within_step = True
        try:
            values = find()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", lr)
        self._last_lr = current(self.optimizer)

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )


# -- functions in states -------------------------------------------------------------------------
def saved_functions(functions: Sequence[Any]) -> list[Any]:
    """What a state keeps of functions: nothing, and of objects that can be called their attributes."""
    return [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in functions]


def load_functions(functions: Sequence[Any], saved: Sequence[Any]) -> None:
    """Give objects that can be called their attributes back."""
    for function, attributes in zip(functions, saved, strict=True):
        if attributes is not None:
            function.__dict__.update(attributes)
