"""Gradient descent, with momentum or without, and with a mean of the parameters."""

import math
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.ops import steps
from lucidgrad.ops.steps import Step

from .elementwise import Elementwise, check, check_lr, check_sparse, check_ways
from .optimizer import ParamsT


class SGD(Elementwise):
    """Stochastic gradient descent.

    Parameters
    ----------
    params
        Tensors, named tensors, or groups.
    lr
        The learning rate.
    momentum, dampening, nesterov
        The buffer becomes ``momentum * buffer + (1 - dampening) * gradient`` and takes the gradient's place; with
        ``nesterov`` the step looks ahead along it.
    weight_decay
        How much of the parameter is added to its gradient.
    maximize
        Climb instead of descending.
    foreach, fused
        Accepted; every step is one call for all tensors.
    differentiable
        Record the step.

    Notes
    -----
    Of a parameter with a row-sparse gradient the rows that it names are read and written, and no others; not with
    momentum, by which rows move on. Such gradients go with neither ``weight_decay`` nor ``differentiable``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.SGD([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.5, -1.0]
    """

    _advances = False
    _rule = steps.SGD

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check("momentum value", momentum, momentum >= 0)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_ways(foreach, differentiable, fused)
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)
        defaults |= dict(maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused)
        super().__init__(params, defaults)

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _check_sparse(self, group: dict[str, Any]) -> None:
        check_sparse(group)

    def _takes_rows(self, group: dict[str, Any]) -> bool:
        return not group["momentum"]  # rows that were touched before move on

    def _take_named(self, whole: Sequence[Any], settings: dict[str, Any]) -> None:
        from lucidgrad.ops.rows import add_multiple

        (p, g), lr = whole, settings["lr"]
        plain = isinstance(lr, float) and self.found_inf is None
        if not plain or not add_multiple(p, g, lr if settings["maximize"] else -lr):
            super()._take_named(whole, settings)

    def _number(self, state: dict[str, Any]) -> Any:
        """Whether it is the first step: no number of steps is kept."""
        return not state

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {name: lg.zeros_like(p.detach()) for name in self._names(group)}

    def _advance(self, state: dict[str, Any], number: Any, group: dict[str, Any]) -> None:
        pass

    def _check_state(self, p: Any, state: Any) -> None:
        super()._check_state(p, state)
        if isinstance(state, dict) and state.get("momentum_buffer", 0) is None:
            state.clear()  # PyTorch's way of saying that there was no step yet

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        return dict(
            lr=group["lr"],
            momentum=float(group["momentum"]),
            dampening=float(group["dampening"]),
            weight_decay=group["weight_decay"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            first=number,
        )


# -- averaged ------------------------------------------------------------------------------------
def _asgd(
    xp: Any,
    p: Any,
    g: Any,
    mean: Any,
    *,
    rate: float,
    keep: float,
    share: float,
    decay: float,
    averages: bool,
    there: Any,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    g = g + decay * p if decay else g
    p = p * keep - rate * g
    if there is not None:
        return p, xp.where(there < 1, mean + (p - mean) * there, p)
    return p, mean + (p - mean) * share if averages else p


def _asgd_settings(
    xp: Any, *, lr: float, lambd: float, alpha: float, t0: float, eta: Any, mu: Any, **common: Any
) -> dict[str, Any]:
    """The mean has begun if ``averages``; on a device, if the share that is ``there`` is not 1."""
    return dict(common, rate=eta, keep=1.0 - lambd * eta, share=mu, there=None if xp is math else mu)


class ASGD(Elementwise):
    """Gradient descent that also keeps the mean of the parameters (Polyak and Juditsky, 1992): ``state[p]["ax"]``.

    Parameters
    ----------
    params, lr, weight_decay, maximize, foreach, capturable, differentiable
        As for `Adam`.
    lambd, alpha
        The rate of step n is ``lr / (1 + lambd * lr * n) ** alpha``; every step takes ``lambd`` times the rate of a
        parameter away.
    t0
        The step after which the mean begins.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.ASGD([x], lr=0.25, lambd=0.0)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.5, -1.0]
    """

    _rule = Step("asgd_step", _asgd, _asgd_settings, varying=("rate", "keep", "there"))
    _counts_there = True
    _numbers = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach)
        super().__init__(
            params, defaults | dict(maximize=maximize, differentiable=differentiable, capturable=capturable)
        )

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("ax",)

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "eta": float(group["lr"]), "mu": 1.0, "ax": lg.zeros_like(p.detach())}

    def _number(self, state: dict[str, Any]) -> Any:
        return state.get("step", 0) + 1, state.get("eta"), state.get("mu", 1.0)

    def _advance(self, state: dict[str, Any], number: Any, group: dict[str, Any]) -> None:
        step, lr = number[0], float(group["lr"])
        state["step"] = step
        state["eta"] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        state["mu"] = 1 / max(1.0, step - group["t0"])

    @staticmethod
    def _followed(xp: Any, numbers: dict[str, Any], settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        step, lr = numbers["step"] + 1, settings["lr"]
        alpha = settings["alpha"] + 0 * step  # an array, so that one kernel serves all exponents
        eta = lr / (1 + settings["lambd"] * lr * step) ** alpha
        mu = 1 / xp.maximum(step - settings["t0"], 1)
        return {name: numbers[name] for name in ("eta", "mu")}, {"step": step, "eta": eta, "mu": mu}

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        _, eta, mu = number
        own = {name: float(group[name]) for name in ("lr", "lambd", "alpha", "t0")}
        return dict(
            own,
            eta=own["lr"] if eta is None else eta,
            mu=mu,
            decay=float(group["weight_decay"]),
            averages=mu != 1,
            maximize=group["maximize"],
        )
