"""Muon: momentum, made orthogonal by Newton and Schulz's iteration."""

import math
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.steps import Step

from .elementwise import check_lr
from .optimizer import Optimizer, ParamsT

_MOMENTUM = Step("muon_momentum", lambda xp, buffer, g, *, change: (buffer + (g - buffer) * change,))
_APPLY = Step("muon_step", lambda xp, p, direction, *, keep, rate: (p * keep - rate * direction,))


def orthogonalised(g: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """A matrix with the singular vectors of this one, and singular values near 1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.optim.muon import orthogonalised
    >>> x = orthogonalised(lg.tensor([[3.0, 0.0], [0.0, 0.5]]), (3.4445, -4.7750, 2.0315), 5, 1e-7)
    >>> ((lg.linalg.svdvals(x) > 0.6) & (lg.linalg.svdvals(x) < 1.3)).tolist()
    [True, True]
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = g.to(lg.float32) if g.dtype == lg.float16 else g
    tall = x.shape[0] > x.shape[1]
    x = x.mT if tall else x
    x = x / (x * x).sum().sqrt().clamp(min=eps)  # no singular value is above 1
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    x = x.mT if tall else x
    return x.to(g.dtype)


class Muon(Optimizer):
    """For the matrices of hidden layers: the momentum's direction with all singular values near 1.

    PyTorch iterates in bfloat16, this in the dtype of the parameter (float32 for float16): the directions agree to
    the precision of bfloat16.

    Parameters
    ----------
    params
        Matrices; for vectors and embeddings take another optimiser.
    lr
        The learning rate.
    weight_decay
        Every step takes ``lr * weight_decay`` of a parameter away.
    momentum, nesterov
        How much of the running mean of gradients is kept, and whether the step looks ahead along it.
    ns_coefficients, eps, ns_steps
        The coefficients of the iteration, the least norm that is divided by, the number of iterations.
    adjust_lr_fn
        How the learning rate depends on the shape: ``"original"`` (the default) or ``"match_rms_adamw"``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones(2, 2, requires_grad=True)
    >>> optimiser = lg.optim.Muon([w], lr=0.1)
    >>> (w @ lg.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    >>> optimiser.step()
    >>> bool((w < 1).all())
    True
    """

    _whole = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        for what, value in (("momentum", momentum), ("weight decay", weight_decay)):
            if value < 0:
                raise ValueError(f"{what} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov)
        defaults |= dict(ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn)
        super().__init__(params, defaults)

    def _check_group(self, group: dict[str, Any]) -> None:
        for p in group["params"]:
            if p.ndim != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}")
            if lg.isdtype(p.dtype, "complex floating"):
                raise RuntimeError("Muon does not support complex parameters")

    @lg.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what the closure returned."""
        loss = None
        if closure is not None:
            with lg.enable_grad():
                loss = closure()
        self._check_gradients()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            if params:
                self._step_group(group, params)
        return loss

    def _step_group(self, group: dict[str, Any], params: list[Any]) -> None:
        lr, momentum = group["lr"], float(group["momentum"])
        grads, buffers = [p.grad for p in params], []
        by_rate: dict[float, tuple[list[Any], list[Any]]] = {}
        for p in params:
            if "momentum_buffer" not in self.state[p]:
                self.state[p]["momentum_buffer"] = lg.zeros_like(p.detach())
            buffers.append(self.state[p]["momentum_buffer"])
        _MOMENTUM(buffers, grads, change=1.0 - momentum)
        for p, g, buffer in zip(params, grads, buffers, strict=True):
            change = g + (buffer - g) * momentum if group["nesterov"] else buffer
            change = orthogonalised(change, group["ns_coefficients"], group["ns_steps"], group["eps"])
            rows, columns = p.shape
            factor = math.sqrt(max(1.0, rows / max(columns, 1)))
            if group["adjust_lr_fn"] == "match_rms_adamw":
                factor = 0.2 * math.sqrt(max(rows, columns))
            found = by_rate.setdefault(factor, ([], []))
            found[0].append(p)
            found[1].append(change)
        for factor, (some, changes) in by_rate.items():
            _APPLY(some, changes, keep=1 - lr * group["weight_decay"], rate=lr * factor)
