"""SparseAdam: Adam for tables of which a batch touches a few rows."""

import math
from typing import Any

import lucidgrad as lg
from lucidgrad.nn.functional.arguments import on_host
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
    momentum. Of a row-sparse gradient, as lookups with ``sparse=True`` give it, the rows that were looked up are
    touched, and nothing else is read. Of a dense one, which PyTorch refuses, those are touched that are not all zeros:
    on the CPU the gradient is read once, and of the parameter and its moments the touched rows alone; on CUDA, where
    the number of these would have to be waited for, all is read in one pass.

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

    def _check_sparse(self, group: dict[str, Any]) -> None:
        """Row-sparse gradients are what it is for."""

    def _beside(self, rows: Any) -> Any:
        return [lg.ones_like(rows[1])]

    def _take(self, group: dict[str, Any], number: Any, memo: Any, sparse: bool = False) -> None:
        settings = self._settings(group, number)
        if sparse and any(g.is_sparse for g in memo.lists[1]):
            memo = self._take_sparse(group, settings, memo)
        lists = memo.lists
        with lg.no_grad():
            touched = [_touched(g) for g in lists[1]]
            few = [_few(*row) for row in zip(touched, *lists, strict=True)]
            whole = [k for k, at in enumerate(few) if at is None]
            self._rule.take(
                [[column[k] for k in whole] for column in lists]
                + [[lg.zeros_like(lists[1][k]) + lg.astype(touched[k], lists[1][k].dtype) for k in whole]],
                settings,
            )
            for at, *row in zip(few, *lists, strict=True):
                if at is not None:
                    self._take_rows(at, lg.take(row[1], at, axis=0), None, row, settings)
        memo.lists[1] = []


#: Elements of a parameter from which rows are taken out of it, if they are few.
_MANY = 1 << 16


def _touched(g: Any) -> Any:
    """Which rows are not all zeros."""
    return lg.any(g, axis=tuple(range(1, g.ndim)), keepdims=True) if g.ndim > 1 else g != 0


def _few(touched: Any, p: Any, g: Any, *moments: Any) -> Any:
    """The touched rows of a large parameter on the CPU, unless they are most of it; None: all are to be read."""
    raw = on_host(touched)
    if raw is None or p.size < _MANY or any(x.shape != p.shape for x in (g, *moments)):
        return None
    at = lg.nonzero(lg.reshape(touched, (-1,)))[0]
    return at if 2 * at.size < touched.size else None
