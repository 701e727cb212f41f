"""SparseAdam: Adam for tables of which a batch touches a few rows."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import Step

from .elementwise import Elementwise, check, check_betas, check_lr
from .optimizer import ParamsT


def _sparse_adam(
    xp: Any,
    p: Any,
    g: Any,
    mean: Any,
    square: Any,
    touched: Any,
    *,
    rate: float,
    share1: float,
    share2: float,
    eps: float,
    maximize: bool,
) -> Any:
    g = -g if maximize else g
    hit = touched > 0
    new_mean, new_square = mean + (g - mean) * share1, square + (g * g - square) * share2
    new = p - rate * (new_mean / (xp.sqrt(new_square) + eps))
    return xp.where(hit, new, p), xp.where(hit, new_mean, mean), xp.where(hit, new_square, square), touched


class SparseAdam(Elementwise):
    """Adam that leaves rows alone which a gradient does not touch: their values, and their moments.

    For embeddings: rows that were not looked up get zeros as a gradient, and `Adam` would move them on by their
    momentum. There are no sparse tensors here, so a row is touched if its gradient is not all zeros; one that was
    looked up and yet got exactly zero counts as untouched, where PyTorch would let its moments decay. The whole table
    is read in one pass, without waiting for the device.

    Parameters
    ----------
    params, lr, betas, eps, maximize
        As for `Adam`; rows are along the first axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> table = lg.nn.Embedding(3, 2, sparse=True)
    >>> before = table.weight.detach().clone()
    >>> optimiser = lg.optim.SparseAdam(table.parameters())
    >>> table(lg.tensor([0, 2])).sum().backward()
    >>> optimiser.step()
    >>> (table.weight != before).tolist()
    [[True, True], [False, False], [True, True]]
    """

    _rule = Step("sparse_adam_step", _sparse_adam)

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        check("learning rate", lr, lr > 0)
        check("epsilon value", eps, eps > 0)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))

    def _check_group(self, group: dict[str, Any]) -> None:
        if any(p.is_complex() for p in group["params"]):
            raise ValueError("given complex parameters: SparseAdam does not support complex parameters")

    def _names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _settings(self, group: dict[str, Any], number: Any) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        return dict(
            rate=group["lr"] * (math.sqrt(1 - beta2**number) / (1 - beta1**number)),
            share1=1.0 - beta1,
            share2=1.0 - beta2,
            eps=float(group["eps"]),
            maximize=group["maximize"],
        )

    def _take(self, group: dict[str, Any], number: Any, memo: Any) -> None:
        touched = [_touched(g) for g in memo.lists[1]]
        self._rule.take([*memo.lists, touched], self._settings(group, number))
        memo.lists[1] = []


def _touched(g: Any) -> Any:
    """Ones for the elements of rows that are not all zeros."""
    with lg.no_grad():
        rows = lg.any(g != 0, axis=tuple(range(1, g.ndim)), keepdims=True) if g.ndim > 1 else g != 0
        return lg.zeros_like(g) + lg.astype(rows, g.dtype)
