"""Learning rates for each element by past gradients: Adagrad, Adadelta, RMSprop."""

from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import Step

from .elementwise import Elementwise, check, check_lr, check_sparse, check_ways
from .optimizer import ParamsT


def _signed(p: Any, g: Any, maximize: bool, decay: float) -> Any:
    g = -g if maximize else g
    return g + decay * p if decay else g


# -- Adagrad -------------------------------------------------------------------------------------
def _adagrad(xp: Any, p: Any, g: Any, total: Any, *, rate: float, decay: float, eps: float, maximize: bool) -> Any:
    g = _signed(p, g, maximize, decay)
    total = total + g * g
    return p - rate * (g / (xp.sqrt(total) + eps)), total


class Adagrad(Elementwise):
    """Divides by the root of the sum of all squared gradients.

    Parameters
    ----------
    params, lr, weight_decay, eps, maximize, foreach, fused, differentiable
        As for `Adam`.
    lr_decay
        The learning rate of step n is ``lr / (1 + (n - 1) * lr_decay)``.
    initial_accumulator_value
        What the sums begin with.

    Notes
    -----
    Of a parameter with a row-sparse gradient, and of its sums, the rows that it names are read and written, and no
    others. Such gradients go with neither ``weight_decay`` nor ``differentiable``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.Adagrad([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    _rule = Step("adagrad_step", _adagrad)

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check("lr_decay value", lr_decay, lr_decay >= 0)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check("initial_accumulator_value value", initial_accumulator_value, initial_accumulator_value >= 0)
        check("epsilon value", eps, eps >= 0)
        check_ways(foreach, differentiable, fused)
        defaults = dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay)
        defaults |= dict(initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize)
        super().__init__(params, defaults | dict(differentiable=differentiable, fused=fused))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self._begin(p, group)

    def _check_sparse(self, group: dict[str, Any]) -> None:
        check_sparse(group)

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        start = complex(start, start) if lg.isdtype(p.dtype, "complex floating") else start
        return {"step": 0, "sum": lg.full_like(p.detach(), start)}

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        return dict(
            rate=group["lr"] / (1 + (number - 1) * group["lr_decay"]),
            decay=float(group["weight_decay"]),
            eps=float(group["eps"]),
            maximize=group["maximize"],
        )


# -- Adadelta ------------------------------------------------------------------------------------
def _adadelta(
    xp: Any,
    p: Any,
    g: Any,
    square: Any,
    moved: Any,
    *,
    lr: float,
    rho: float,
    rest: float,
    decay: float,
    eps: float,
    maximize: bool,
) -> Any:
    g = _signed(p, g, maximize, decay)
    square = square * rho + g * g * rest
    change = xp.sqrt(moved + eps) / xp.sqrt(square + eps) * g
    return p - lr * change, square, moved * rho + change * change * rest


class Adadelta(Elementwise):
    """Steps in proportion to past steps and inverse proportion to past gradients.

    Parameters
    ----------
    params, lr, eps, weight_decay, maximize, foreach, capturable, differentiable
        As for `Adam`.
    rho
        How much of the running means is kept.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.Adadelta([x])
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> (x.abs() < lg.tensor([1.0, 2.0])).tolist()
    [True, True]
    """

    _rule = Step("adadelta_step", _adadelta)
    _counts_there = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check("rho value", rho, 0 <= rho <= 1)
        check("epsilon value", eps, eps >= 0)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, defaults | dict(capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        return dict(
            lr=group["lr"],
            rho=float(group["rho"]),
            rest=1.0 - group["rho"],
            decay=float(group["weight_decay"]),
            eps=float(group["eps"]),
            maximize=group["maximize"],
        )


# -- RMSprop -------------------------------------------------------------------------------------
def _rmsprop(
    xp: Any,
    p: Any,
    g: Any,
    square: Any,
    *others: Any,
    lr: float,
    alpha: float,
    rest: float,
    momentum: float,
    decay: float,
    eps: float,
    centered: bool,
    maximize: bool,
) -> Any:
    g = _signed(p, g, maximize, decay)
    square = square * alpha + g * g * rest
    made = [square]
    size = square
    if centered:
        mean = others[-1] + (g - others[-1]) * rest
        size = square - mean * mean
        others = (*others[:-1], mean)
    change = g / (xp.sqrt(size) + eps)
    if momentum:
        change = others[0] * momentum + change
        others = (change, *others[1:])
    return (p - lr * change, *made, *others)


class RMSprop(Elementwise):
    """Divides by the root of the running mean of squared gradients.

    Parameters
    ----------
    params, lr, eps, weight_decay, maximize, foreach, capturable, differentiable
        As for `Adam`.
    alpha
        How much of the running mean is kept.
    momentum
        The steps themselves are accumulated with this factor.
    centered
        Divide by the running standard deviation.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.RMSprop([x], lr=0.25, alpha=0.75)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    _rule = Step("rmsprop_step", _rmsprop)
    _counts_there = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon value", eps, eps >= 0)
        check("momentum value", momentum, momentum >= 0)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check("alpha value", alpha, alpha >= 0)
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay)
        defaults |= dict(capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable)
        super().__init__(params, defaults)

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group["momentum"] else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        return dict(
            lr=group["lr"],
            alpha=float(group["alpha"]),
            rest=1.0 - group["alpha"],
            momentum=float(group["momentum"]),
            decay=float(group["weight_decay"]),
            eps=float(group["eps"]),
            centered=group["centered"],
            maximize=group["maximize"],
        )
