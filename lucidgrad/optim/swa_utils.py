"""Averages of models along training: stochastic weight averaging, and exponential moving averages."""

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn.normalisation import _BatchNorm
from lucidgrad.refusals import guard as _guard

from .averages import FOLLOW
from .optimizer import Optimizer
from .scheduling import LRScheduler, one_per_group

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


@lg.no_grad()
def _follow(averages: list[Any], params: list[Any], change: float) -> None:
    """Move averages a part of the way to the parameters, floats of all in one call."""
    floats = [k for k, x in enumerate(averages) if lg.isdtype(x.dtype, ("real floating", "complex floating"))]
    if floats:
        FOLLOW([averages[k] for k in floats], [params[k] for k in floats], change=change)
    for k in set(range(len(averages))) - set(floats):
        whole = averages[k]
        whole.copy_((whole + (params[k] - whole) * change).to(whole.dtype))


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[list[Any], list[Any], Any], None]:
    """A function that moves averages by ``1 - decay`` of the way to the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> average = lg.zeros(1)
    >>> lg.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [lg.ones(1)], 1)
    >>> average.tolist()
    [0.25]
    """
    _check_decay(decay)
    return lambda averages, params, count: _follow(averages, params, 1.0 - decay)


def get_swa_multi_avg_fn() -> Callable[[list[Any], list[Any], Any], None]:
    """A function that takes parameters up into the mean of ``count`` others.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> average = lg.zeros(1)
    >>> lg.optim.swa_utils.get_swa_multi_avg_fn()([average], [lg.ones(1)], 1)
    >>> average.tolist()
    [0.5]
    """
    return lambda averages, params, count: _follow(averages, params, 1.0 / (int(count) + 1))


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """The same as `get_ema_multi_avg_fn` for one tensor; it returns the new average.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> average = lg.optim.swa_utils.get_ema_avg_fn(0.5)
    >>> average(lg.tensor(0.0), lg.tensor(4.0), 1)
    tensor(2.)
    """
    _check_decay(decay)
    return lg.no_grad()(lambda average, p, count: decay * average + (1 - decay) * p)


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """The same as `get_swa_multi_avg_fn` for one tensor; it returns the new average.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> average = lg.optim.swa_utils.get_swa_avg_fn()
    >>> average(lg.tensor(1.0), lg.tensor(4.0), 2)
    tensor(2.)
    """
    return lg.no_grad()(lambda average, p, count: average + (p - average) / (count + 1))


class AveragedModel(nn.Module):
    """A copy of a model whose parameters are averages of the model's.

    Parameters
    ----------
    model
        The model; it is copied.
    device
        Where the copy lives; where the model does by default.
    avg_fn
        ``avg_fn(average, parameter, count) -> average`` for each parameter.
    multi_avg_fn
        ``multi_avg_fn(averages, parameters, count)`` for all at once, in place. By default it is the plain mean.
    use_buffers
        Whether buffers are averaged, too; else they are copied.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.Linear(1, 1, bias=False)
    >>> swa = lg.optim.swa_utils
    >>> average = swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.5))
    >>> for value in (1.0, 3.0):
    ...     _ = lg.nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average(lg.ones(1, 1)).tolist()
    [[2.0]]
    """

    n_averaged: Any

    def __init__(
        self,
        model: nn.Module,
        device: Any = None,
        avg_fn: Callable[[Any, Any, Any], Any] | None = None,
        multi_avg_fn: Callable[[list[Any], list[Any], Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", lg.tensor(0, dtype="int64", device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model makes of the arguments."""
        return self.module(*args, **kwargs)

    def _of(self, model: nn.Module) -> list[lg.Tensor]:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]

    @lg.no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Take the parameters of a model up into the averages; the first ones are copied."""
        averages, params = ([x.detach() for x in self._of(m)] for m in (self.module, model))
        params = [p.to(x.device) for x, p in zip(averages, params, strict=True)]
        count = int(self.n_averaged)
        if count == 0:
            for x, p in zip(averages, params, strict=True):
                x.copy_(p)
        elif self.avg_fn is not None:
            for x, p in zip(averages, params, strict=True):
                x.copy_(self.avg_fn(x, p, count))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, params, count)
        if not self.use_buffers:
            for mine, its in itertools.zip_longest(self.module.buffers(), model.buffers()):
                mine.detach().copy_(its.detach().to(mine.device))
        self.n_averaged.add_(1)


@lg.no_grad()
def update_bn(loader: Iterable[Any], model: nn.Module, device: Any = None) -> None:
    """Compute the running statistics of a model's batch normalisations anew, from data.

    Parameters
    ----------
    loader
        Batches; of a list or tuple the first entry counts.
    model
        The model.
    device
        Where batches are brought to.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.BatchNorm1d(1)
    >>> lg.optim.swa_utils.update_bn([lg.tensor([[1.0], [3.0]]), lg.tensor([[3.0], [5.0]])], model)
    >>> model.running_mean.tolist()
    [3.0]
    """
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    try:
        for module in momenta:
            module.momentum = None  # the plain mean of all batches
        for batch in loader:
            batch = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(batch if device is None else batch.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """Brings learning rates to a constant one.

    Parameters
    ----------
    optimizer, last_epoch
        As for other schedulers.
    swa_lr
        The learning rate at the end, or a list of one per group.
    anneal_epochs
        How many steps it takes.
    anneal_strategy
        ``"cos"`` or ``"linear"``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> optimiser = lg.optim.SGD([lg.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = lg.optim.swa_utils.SWALR(optimiser, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimiser.step(), scheduler.step()
    (None, None)
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if type(anneal_epochs) is not int or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for lr, group in zip(one_per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step: int) -> float:
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        """The learning rates of this step."""
        self._warn_outside_step()
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now = self._part(step - 1), self._part(step)
        lrs = []
        for group in self.optimizer.param_groups:
            end = group["swa_lr"]
            start = end if before == 1 else (group["lr"] - before * end) / (1 - before)
            lrs.append(end * now + start * (1 - now))
        return lrs


_guard(__name__, __all__)
