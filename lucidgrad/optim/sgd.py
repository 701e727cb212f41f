"""Gradient descent, with momentum or without."""

from typing import Any

import lucidgrad as lg
from lucidgrad.ops import steps

from .elementwise import Elementwise, check, check_lr, check_ways
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
        check_ways("SGD", foreach, False, differentiable, fused)
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)
        defaults |= dict(maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused)
        super().__init__(params, defaults)

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

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
