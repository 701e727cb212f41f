"""L-BFGS: steps by gradients of the past in place of second derivatives."""

from collections.abc import Callable
from typing import Any

import lucidgrad as lg

from .elementwise import check_lr
from .line_search import strong_wolfe
from .optimizer import Optimizer, ParamsT

Closure = Callable[[], Any]


class LBFGS(Optimizer):
    """Limited-memory BFGS, for one group of parameters; every step evaluates a closure several times.

    Parameters
    ----------
    params
        Tensors or named tensors.
    lr
        The length of steps, or the first length that a line search tries.
    max_iter, max_eval
        Iterations of a step and evaluations of the closure at most (1.25 times as many by default).
    tolerance_grad, tolerance_change
        A step ends when no element of the gradient, or no change of a parameter or of the loss, is larger.
    history_size
        How many past changes are kept.
    line_search_fn
        None, or ``"strong_wolfe"``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], dtype="float64", requires_grad=True)
    >>> optimiser = lg.optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=50)
    >>> def closure():
    ...     optimiser.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> first = optimiser.step(closure)
    >>> bool(((x - 1).abs() < 1e-4).all())
    True
    """

    _whole = True

    def __init__(
        self,
        params: ParamsT,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        defaults = dict(lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad)
        defaults |= dict(tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn)
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refused after the first: there is one history for all parameters."""
        if self.param_groups:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        super().add_param_group(param_group)

    # -- all parameters as one vector
    @property
    def _params(self) -> list[Any]:
        found: list[Any] = self.param_groups[0]["params"]
        return found

    def _flat_grad(self) -> Any:
        return lg.concat([_flat(lg.zeros_like(p.detach()) if p.grad is None else p.grad) for p in self._params])

    def _move(self, length: Any, direction: Any) -> None:
        start = 0
        for p in self._params:
            is_complex = lg.isdtype(p.dtype, "complex floating")
            size = int(p.size) * (2 if is_complex else 1)
            part = direction[start : start + size]
            if is_complex:
                pairs = part.reshape(-1, 2)
                part = (pairs[:, 0] + 1j * pairs[:, 1]).to(p.dtype)
            p.add_(part.reshape(p.shape).to(dtype=p.dtype, device=p.device), alpha=length)
            start += size

    def _evaluate(self, closure: Closure, start: list[Any], length: float, direction: Any) -> tuple[float, Any]:
        """The loss and the gradient somewhere along a direction."""
        self._move(length, direction)
        loss = float(closure())
        grad = self._flat_grad()
        for p, value in zip(self._params, start, strict=True):
            p.copy_(value)
        return loss, grad

    def _search(
        self, closure: Closure, length: float, direction: Any, loss: float, grad: Any, slope: float, max_steps: int
    ) -> tuple[float, Any, float, int]:
        start = [p.clone() for p in self._params]
        return strong_wolfe(
            lambda t: self._evaluate(closure, start, t, direction),
            length,
            float(direction.abs().max()),
            loss,
            grad,
            slope,
            lambda g: float(g @ direction),
            max_steps=max_steps,
        )

    # -- steps
    @lg.no_grad()
    def step(self, closure: Closure) -> Any:  # type: ignore[override]
        """Iterate until a tolerance or a limit is reached.

        Parameters
        ----------
        closure
            Clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns
        -------
        object
            The loss before the step.
        """
        closure = lg.enable_grad()(closure)
        group = self.param_groups[0]
        lr, tolerance = float(group["lr"]), group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if float(grad.abs().max()) <= group["tolerance_grad"]:
            return first_loss
        direction, length, before = state.get("d"), state.get("t"), loss
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, group, grad, direction, length)
            state["prev_flat_grad"], before = grad, loss
            length = lr * min(1.0, 1.0 / float(grad.abs().sum())) if state["n_iter"] == 1 else lr
            slope = float(grad @ direction)
            if slope > -tolerance:
                break
            tried = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                loss, grad, length, tried = self._search(
                    closure, length, direction, loss, grad, slope, group["max_eval"] - evaluations
                )
                self._move(length, direction)
            else:
                self._move(length, direction)
                if n != group["max_iter"]:
                    loss, tried = float(closure()), 1
                    grad = self._flat_grad()
            evaluations += tried
            state["func_evals"] += tried
            if n == group["max_iter"] or evaluations >= group["max_eval"]:
                break
            if float(grad.abs().max()) <= group["tolerance_grad"]:
                break
            if float(direction.abs().max()) * length <= tolerance or abs(loss - before) < tolerance:
                break
        state["d"], state["t"], state["prev_loss"] = direction, length, before
        return first_loss

    def _direction(self, state: dict[str, Any], group: dict[str, Any], grad: Any, direction: Any, length: Any) -> Any:
        """Take up the last change, and multiply the gradient by the inverse Hessian that all changes suggest."""
        if state["n_iter"] == 1:
            state["old_dirs"], state["old_stps"], state["ro"], state["H_diag"] = [], [], [], 1.0
            return -grad
        ys, ss, ros = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = grad - state["prev_flat_grad"], direction * float(length)
        product = float(y @ s)
        if product > 1e-10:
            if len(ys) == group["history_size"]:
                for column in (ys, ss, ros):
                    column.pop(0)
            ys.append(y)
            ss.append(s)
            ros.append(1.0 / product)
            state["H_diag"] = product / float(y @ y)
        q, shares = -grad, []
        for y, s, ro in zip(reversed(ys), reversed(ss), reversed(ros), strict=True):
            shares.append(float(s @ q) * float(ro))
            q = q - y * shares[-1]
        q = q * float(state["H_diag"])
        for y, s, ro, share in zip(ys, ss, ros, reversed(shares), strict=True):
            q = q + s * (share - float(y @ q) * float(ro))
        return q


def _flat(x: Any) -> Any:
    x = x.reshape(-1)
    if lg.isdtype(x.dtype, "complex floating"):
        return lg.stack([lg.real(x), lg.imag(x)], axis=1).reshape(-1)
    return x
