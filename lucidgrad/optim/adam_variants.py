"""Relatives of Adam: NAdam, RAdam, Adamax."""

import math
from typing import Any

from lucidgrad.ops.steps import Step

from .elementwise import Elementwise, check, check_betas, check_lr, check_ways
from .optimizer import ParamsT


def _moments(xp: Any, p: Any, g: Any, mean: Any, square: Any, group: Any) -> tuple[Any, Any, Any, Any]:
    """What NAdam and RAdam have in common: decay, and the running means."""
    g = -g if group["maximize"] else g
    if group["keep"] is not None:
        p = p * group["keep"]
    elif group["decay"]:
        g = g + group["decay"] * p
    mean = mean + (g - mean) * group["change1"]
    square = square * group["beta2"] + g * g * group["change2"]
    return p, g, mean, square


def _common(group: dict[str, Any]) -> dict[str, Any]:
    """The settings that `_moments` needs."""
    beta1, beta2 = group["betas"]
    decay, decoupled = float(group["weight_decay"]), group["decoupled_weight_decay"]
    return dict(
        keep=1 - group["lr"] * decay if decoupled and decay else None,
        decay=0.0 if decoupled else decay,
        change1=1 - beta1,
        beta2=beta2,
        change2=1 - beta2,
        eps=float(group["eps"]),
        maximize=group["maximize"],
    )


class _Moments(Elementwise):
    """The arguments and states that they share."""

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")


# -- NAdam ---------------------------------------------------------------------------------------
def _nadam(xp: Any, p: Any, g: Any, mean: Any, square: Any, **s: Any) -> Any:
    p, g, mean, square = _moments(xp, p, g, mean, square, s)
    root = xp.sqrt(square / s["correction"]) + s["eps"]
    return p - s["rate_now"] * (g / root) - s["rate_mean"] * (mean / root), mean, square


def _momentum(beta1: float, decay: float, step: Any) -> Any:
    return beta1 * (1 - 0.5 * 0.96 ** (step * decay))


def _nadam_settings(
    xp: Any, *, lr: float, beta1: float, momentum_decay: float, step: Any, product: Any, **common: Any
) -> dict[str, Any]:
    mu, mu_next = (_momentum(beta1, momentum_decay, number) for number in (step, step + 1))
    product = product * mu
    return dict(
        common,
        correction=1 - common["beta2"] ** step,
        rate_now=lr * (1 - mu) / (1 - product),
        rate_mean=lr * mu_next / (1 - product * mu_next),
    )


class NAdam(_Moments):
    """Adam with Nesterov's momentum.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, decoupled_weight_decay, maximize, foreach, capturable, differentiable
        As for `Adam`.
    momentum_decay
        How fast the momentum approaches ``betas[0]``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.NAdam([x], lr=0.1)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> (x.abs() < lg.tensor([1.0, 2.0])).tolist()
    [True, True]
    """

    _rule = Step("nadam_step", _nadam, _nadam_settings, varying=("correction", "rate_now", "rate_mean"))
    _counts_there = True
    _numbers = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon value", eps, eps >= 0)
        check_betas(betas)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check("momentum_decay value", momentum_decay, momentum_decay >= 0)
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults |= dict(decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach)
        super().__init__(params, defaults | dict(capturable=capturable, differentiable=differentiable))

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        made = super()._begin(p, group)
        return {"step": made.pop("step"), "mu_product": 1.0, **made}

    def _number(self, state: dict[str, Any]) -> Any:
        return state.get("step", 0) + 1, state.get("mu_product", 1.0)

    def _advance(self, state: dict[str, Any], number: Any, group: dict[str, Any]) -> None:
        step, product = number
        state["step"] = step
        state["mu_product"] = product * _momentum(group["betas"][0], group["momentum_decay"], step)

    @staticmethod
    def _followed(xp: Any, numbers: dict[str, Any], settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        step, product = numbers["step"] + 1, numbers["mu_product"]
        mu = _momentum(settings["beta1"], settings["momentum_decay"], step)
        return {"step": step, "product": product}, {"step": step, "mu_product": product * mu}

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        step, product = number
        own = dict(lr=group["lr"], beta1=group["betas"][0], momentum_decay=float(group["momentum_decay"]))
        return dict(_common(group), **own, step=step, product=product)


# -- RAdam ---------------------------------------------------------------------------------------
def _radam(xp: Any, p: Any, g: Any, mean: Any, square: Any, **s: Any) -> Any:
    p, g, mean, square = _moments(xp, p, g, mean, square, s)
    change = mean / s["correction"] * s["rate"]
    if s["there"] is not None:
        change = change * xp.where(s["there"] > 0, s["there"] / (xp.sqrt(square) + s["eps"]), 1)
    elif s["scale"] is not None:
        change = change * (s["scale"] / (xp.sqrt(square) + s["eps"]))
    return p - change, mean, square


def _radam_settings(xp: Any, *, lr: Any, beta1: float, step: Any, **common: Any) -> dict[str, Any]:
    """``scale`` is None while too few gradients went into the mean square; on a device, ``there`` is 0 then."""
    beta2 = common["beta2"]
    correction2 = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction2
    scale = there = None
    if xp is not math or length > 5:
        variance = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        scale = xp.sqrt(correction2) * xp.sqrt(variance)
    if xp is not math:
        scale, there = None, xp.where(length > 5, scale, 0)
    return dict(common, rate=lr, correction=1 - beta1**step, scale=scale, there=there)


class RAdam(_Moments):
    """Adam that divides by the mean square only when enough gradients went into it, and corrects its variance.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, decoupled_weight_decay, maximize, foreach, capturable, differentiable
        As for `Adam`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.RAdam([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> (x.abs() < lg.tensor([1.0, 2.0])).tolist()
    [True, True]
    """

    _rule = Step("radam_step", _radam, _radam_settings, varying=("correction", "there"))
    _counts_there = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon value", eps, eps >= 0)
        check_betas(betas)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach)
        defaults |= dict(capturable=capturable, decoupled_weight_decay=decoupled_weight_decay)
        super().__init__(params, defaults | dict(differentiable=differentiable))

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        return dict(_common(group), lr=group["lr"], beta1=group["betas"][0], step=number)


# -- Adamax --------------------------------------------------------------------------------------
def _adamax(xp: Any, p: Any, g: Any, mean: Any, norm: Any, **s: Any) -> Any:
    g = -g if s["maximize"] else g
    g = g + s["decay"] * p if s["decay"] else g
    mean = mean + (g - mean) * s["change1"]
    norm = xp.maximum(norm * s["beta2"], xp.abs(g) + s["eps"])
    return p - s["rate"] * (mean / norm), mean, norm


def _adamax_settings(xp: Any, *, lr: float, beta1: float, step: Any, **common: Any) -> dict[str, Any]:
    return dict(common, rate=lr / (1 - beta1**step), change1=1 - beta1)


class Adamax(Elementwise):
    """Adam with a running maximum of the gradients' sizes in place of the mean square.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, maximize, foreach, capturable, differentiable
        As for `Adam`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.Adamax([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    _rule = Step("adamax_step", _adamax, _adamax_settings, varying=("rate",))
    _counts_there = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon value", eps, eps >= 0)
        check_betas(betas)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize)
        super().__init__(params, defaults | dict(differentiable=differentiable, capturable=capturable))

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return dict(
            lr=group["lr"],
            beta1=beta1,
            step=number,
            decay=float(group["weight_decay"]),
            beta2=beta2,
            eps=float(group["eps"]),
            maximize=group["maximize"],
        )
