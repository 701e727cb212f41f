"""Optimisers that go by the signs of gradients: Lion, Rprop."""

from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import Step

from .elementwise import Elementwise, check, check_betas, check_lr, check_ways
from .optimizer import ParamsT


# -- Lion ----------------------------------------------------------------------------------------
def _lion(
    xp: Any,
    p: Any,
    g: Any,
    mean: Any,
    *,
    lr: float,
    keep: float | None,
    change1: float,
    change2: float,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    p = p if keep is None else p * keep
    return p - lr * xp.sign(mean + (g - mean) * change1), mean + (g - mean) * change2


class Lion(Elementwise):
    """Steps of one size in every element, by the sign of a mean of the gradient and its running mean.

    Parameters
    ----------
    params, lr, maximize, foreach, differentiable
        As for `Adam`; a third or a tenth of Adam's learning rate is usual.
    betas
        How much the running mean counts for the sign, and how much of it is kept.
    weight_decay
        Every step takes ``lr * weight_decay`` of a parameter away.

    References
    ----------
    Chen et al., Symbolic Discovery of Optimization Algorithms (2023).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.Lion([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.75, -1.75]
    """

    _advances = False
    _rule = Step("lion_step", _lion)

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_betas(betas)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay, foreach=foreach, maximize=maximize)
        super().__init__(params, defaults | dict(differentiable=differentiable))

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg",)

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        return {"exp_avg": lg.zeros_like(p.detach())}

    def _number(self, state: dict[str, Any]) -> Any:
        """Steps of all numbers are alike."""
        return 0

    def _advance(self, state: dict[str, Any], number: Any, group: dict[str, Any]) -> None:
        pass

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        decay = group["weight_decay"]
        return dict(
            lr=group["lr"],
            keep=1 - group["lr"] * decay if decay else None,
            change1=1.0 - group["betas"][0],
            change2=1.0 - group["betas"][1],
            maximize=group["maximize"],
        )


# -- Rprop ---------------------------------------------------------------------------------------
def _rprop(
    xp: Any,
    p: Any,
    g: Any,
    before: Any,
    size: Any,
    *,
    less: float,
    more: float,
    smallest: float,
    largest: float,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    same = g * before
    nothing = xp.zeros_like(g)
    factor = xp.where(same > 0, nothing + more, xp.where(same < 0, nothing + less, nothing + 1))
    size = xp.minimum(xp.maximum(size * factor, nothing + smallest), nothing + largest)
    g = xp.where(same < 0, nothing, g)
    return p - xp.sign(g) * size, g, size


class Rprop(Elementwise):
    """Every element has a step size, which grows while the gradient keeps its sign; for whole batches.

    Parameters
    ----------
    params, maximize, foreach, capturable, differentiable
        As for `Adam`.
    lr
        The first step size.
    etas
        The factors by which a step size shrinks and grows.
    step_sizes
        The smallest and the largest step size.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.Rprop([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.75, -1.75]
    """

    _rule = Step("rprop_step", _rprop)
    _counts_there = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        check_ways(foreach, differentiable)
        defaults = dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize)
        super().__init__(params, defaults | dict(differentiable=differentiable, capturable=capturable))

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _begin(self, p: Any, group: dict[str, Any]) -> dict[str, Any]:
        lr = float(group["lr"])
        first = complex(lr, lr) if lg.isdtype(p.dtype, "complex floating") else lr
        return {"step": 0, "prev": lg.zeros_like(p.detach()), "step_size": lg.full_like(p.detach(), first)}

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        (less, more), (smallest, largest) = group["etas"], group["step_sizes"]
        limits = dict(smallest=float(smallest), largest=float(largest))
        return dict(less=float(less), more=float(more), **limits, maximize=group["maximize"])
