"""Adafactor: the mean squares of a matrix of gradients, kept as a row and a column."""

import math
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import Step

from .optimizer import Optimizer, ParamsT

_APPLY = Step("adafactor_step", lambda xp, p, change, *, keep: (p * keep - change,))


def _rms(x: Any) -> Any:
    return (x * x).mean().sqrt()


class Adafactor(Optimizer):
    """Divides by the root of mean squares, which a matrix needs little memory for (Shazeer and Stern, 2018).

    Parameters
    ----------
    params, lr, weight_decay, maximize, foreach
        As for `Adam`; the rate of step n is ``1 / sqrt(n)`` at most, and relative to the size of the parameter.
    beta2_decay
        The share of step n in the mean squares is ``n ** beta2_decay``.
    eps
        The least root of a mean square (the dtype's precision if None), and the least size of a parameter.
    d
        The largest root mean square of a change, before the rate.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones(2, 3, requires_grad=True)
    >>> optimiser = lg.optim.Adafactor([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimiser.step()
    >>> [tuple(optimiser.state[w][name].shape) for name in ("row_var", "col_var")]
    [(2, 1), (1, 3)]
    >>> bool((abs(w - 0.75) < 1e-6).all())
    True
    """

    _whole = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, lg.Tensor) and lr.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        for what, value, bound, fine in (
            ("Learning rate", lr, ">= 0", lr >= 0),
            ("beta2_decay", beta2_decay, "<= 0", beta2_decay <= 0),
            ("epsilon1", eps[0], ">= 0", eps[0] is None or eps[0] >= 0),
            ("epsilon2", eps[1], ">= 0", eps[1] >= 0),
            ("Clipping threshold d", d, ">= 1", d >= 1),
            ("weight_decay", weight_decay, ">= 0", weight_decay >= 0),
        ):
            if not fine:
                raise ValueError(f"{what} should be {bound} but is: {value}")
        defaults = dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay)
        super().__init__(params, defaults | dict(foreach=foreach, maximize=maximize))

    def _check_group(self, group: dict[str, Any]) -> None:
        if any(p.is_complex() for p in group["params"]):
            raise RuntimeError("Adafactor does not support complex parameters")

    def _check_state(self, p: Any, state: Any) -> None:
        shapes = {"row_var": (*p.shape[:-1], 1), "col_var": (*p.shape[:-2], 1, *p.shape[-1:]), "variance": p.shape}
        for name, shape in shapes.items():
            if name in state and tuple(state[name].shape) != tuple(shape):
                raise ValueError(
                    f"loaded state dict has a {name} of shape {state[name].shape} for a parameter of shape {p.shape}"
                )

    @lg.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what the closure returned."""
        loss = None
        if closure is not None:
            with lg.enable_grad():
                loss = closure()
        self._check_gradients()
        # all changes and states are computed before any is written: an error leaves everything as it was
        found: list[tuple[float, list[Any], list[Any], list[Any]]] = []
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None and p.size]
            changes, states = [], []
            for p in params:
                change, state = self._change(p, p.grad, self.state.get(p) or {}, group)
                changes.append(change)
                states.append(state)
            found.append((1.0 - float(group["lr"]) * group["weight_decay"], params, changes, states))
        for keep, params, changes, states in found:
            if params:
                _APPLY(params, changes, keep=keep)
                self.state.update(zip(params, states, strict=True))
        return loss

    def _change(self, p: Any, g: Any, state: dict[str, Any], group: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What is taken away from a parameter, and its next state; sizes stay on their device."""
        g = -g if group["maximize"] else g
        eps1, eps2 = group["eps"]
        eps1 = float(lg.finfo(p.dtype).eps) if eps1 is None else eps1
        step = state.get("step", 0) + 1
        share = step ** group["beta2_decay"]

        def mixed(name: str, new: Any) -> Any:
            old = state.get(name)
            return new * share if old is None else old + (new - old) * share

        squares = g * g
        made: dict[str, Any] = {"step": step}
        if g.ndim > 1:
            rows = made["row_var"] = mixed("row_var", squares.mean(axis=-1, keepdims=True))
            columns = made["col_var"] = mixed("col_var", squares.mean(axis=-2, keepdims=True))
            estimate = rows @ columns / rows.mean(axis=-2, keepdims=True).clamp(min=eps1)
        else:
            estimate = made["variance"] = mixed("variance", squares)
        update = g / estimate.clamp(min=eps1 * eps1).sqrt()
        rate = min(float(group["lr"]), 1 / math.sqrt(step))
        size = _rms(p.detach()).clamp(min=eps2) * rate / (_rms(update) / group["d"]).clamp(min=1.0)
        return update * size, made
