"""Adam and AdamW."""

from typing import Any

from lucidgrad.ops import steps

from .elementwise import Elementwise, check, check_betas, check_lr, check_ways
from .optimizer import ParamsT


class Adam(Elementwise):
    """Steps of the size of the learning rate, by running means of gradients and of their squares.

    Parameters
    ----------
    params
        Tensors, named tensors, or groups.
    lr
        The learning rate.
    betas
        How much of the running means is kept: of the gradients, and of their squares.
    eps
        Added to the root of the mean square.
    weight_decay, decoupled_weight_decay
        How much of the parameter is added to its gradient; decoupled, times the learning rate, how much of it goes.
    amsgrad
        Divide by the largest mean square so far.
    maximize
        Climb instead of descending.
    foreach, fused
        Accepted; every step is one call for all tensors.
    capturable
        Count the steps of parameters on CUDA there, in ``state[p]["step"]``, so that `lucidgrad.GradScaler` leaves
        steps out without asking the device, in a CUDA graph, too; that takes one more launch. Every step can be
        recorded without it, see `lucidgrad.cuda.graph`.
    differentiable
        Record the step.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.5, -1.5]
    """

    _rule = steps.ADAM
    _counts_there = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr)
        check("epsilon value", eps, eps >= 0)
        check_betas(betas)
        check("weight_decay value", weight_decay, weight_decay >= 0)
        check_ways(foreach, differentiable, fused)
        betas = (float(betas[0]), float(betas[1]))
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)
        defaults |= dict(foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused)
        super().__init__(params, defaults | dict(decoupled_weight_decay=decoupled_weight_decay))

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return dict(
            lr=group["lr"],
            beta1=beta1,
            beta2=beta2,
            eps=float(group["eps"]),
            weight_decay=float(group["weight_decay"]),
            step=number,
            decoupled=group["decoupled_weight_decay"],
            maximize=group["maximize"],
        )


class AdamW(Adam):
    """Adam with weights that decay by themselves.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, amsgrad, maximize, foreach, capturable, differentiable, fused
        As for `Adam`; every step takes ``lr * weight_decay`` of a parameter away.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, -2.0], requires_grad=True)
    >>> optimiser = lg.optim.AdamW([x], lr=0.5, weight_decay=0.5)
    >>> (x * x).sum().backward()
    >>> optimiser.step()
    >>> x.tolist()
    [0.25, -1.0]
    """

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
