"""Bounds for gradients."""

import warnings
from collections.abc import Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.lists import clip_all, norm_of_all

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

_Tensors = lg.Tensor | Iterable[lg.Tensor]


def _listed(tensors: _Tensors) -> list[lg.Tensor]:
    return [tensors] if isinstance(tensors, lg.Tensor) else list(tensors)


def _number(value: Any) -> Any:
    """A bound as a float; one that is a float already may be an input of a program."""
    return value if isinstance(value, float) else float(value)


def _gradients(parameters: _Tensors) -> list[lg.Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def get_total_norm(
    tensors: _Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> lg.Tensor:
    """The norm of all tensors seen as one vector.

    Parameters
    ----------
    tensors : Tensor or iterable of Tensor
        What to measure.
    norm_type : float
        The p of the norm; ``inf`` for the largest size.
    error_if_nonfinite : bool
        Raise if the norm is infinite or not a number; this waits for the device.
    foreach : bool, optional
        Accepted for compatibility.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.get_total_norm([lg.tensor([3.0]), lg.tensor([4.0])])
    tensor(5.)
    """
    listed = _listed(tensors)
    norm_type = float(norm_type)
    if not listed:
        return lg.zeros(())
    with lg.no_grad():
        total = norm_of_all(listed, norm_type)
        if total is None:
            total = _norm_one_by_one(listed, norm_type)
    if error_if_nonfinite and not bool(lg.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def _norm_one_by_one(tensors: list[lg.Tensor], p: float) -> lg.Tensor:
    where = tensors[0].device
    norms = [_norm(t, p) for t in tensors]
    norms = [norm if norm.device == where else norm.to(where) for norm in norms]
    return norms[0] if len(norms) == 1 else _norm(lg.stack(norms), p)


def _norm(x: lg.Tensor, p: float) -> lg.Tensor:
    if x.itemsize == 2:  # squares of half precision overflow where the norm does not
        return _norm(x.to(lg.float32), p).to(x.dtype)
    if p == 2.0 and not x.is_complex():
        flat = lg.reshape(x, (-1,))
        return lg.sqrt(lg.matmul(flat, flat))
    found: lg.Tensor = lg.linalg.vector_norm(x, ord=p)
    return found


def clip_grads_with_norm_(
    parameters: _Tensors, max_norm: float, total_norm: lg.Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of parameters, whose norm is known, to a norm of ``max_norm`` at most.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.Parameter(lg.ones(1))
    >>> w.grad = lg.tensor([8.0])
    >>> lg.nn.utils.clip_grads_with_norm_(w, 2.0, lg.tensor(8.0))
    >>> round(w.grad.item(), 4)
    2.0
    """
    gradients = _gradients(parameters)
    if not gradients:
        return
    with lg.no_grad():
        if clip_all(gradients, total_norm, _number(max_norm)):
            return
        # no branch on the norm: that would wait for the device
        factor = lg.clip(_number(max_norm) / (total_norm + 1e-6), None, 1.0)
        fitting = factor
        for g in gradients:
            if g.dtype != fitting.dtype or g.device != fitting.device:
                fitting = factor.to(device=g.device, dtype=g.dtype)
            g.mul_(fitting)


def clip_grad_norm_(
    parameters: _Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> lg.Tensor:
    """Scale the gradients of parameters, in place, so that the norm of all together is ``max_norm`` at most.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Whose gradients are clipped.
    max_norm : float
        The bound.
    norm_type : float
        The p of the norm.
    error_if_nonfinite : bool
        Raise if the norm is infinite or not a number, and change nothing; this waits for the device.
    foreach : bool, optional
        Accepted for compatibility.

    Returns
    -------
    Tensor
        The norm before.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.Parameter(lg.ones(2))
    >>> w.grad = lg.tensor([3.0, 4.0])
    >>> lg.nn.utils.clip_grad_norm_(w, 1.0)
    tensor(5.)
    >>> [round(g, 4) for g in w.grad.tolist()]
    [0.6, 0.8]
    """
    listed = _listed(parameters)
    total = get_total_norm(_gradients(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: _Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> lg.Tensor:
    """The same as `clip_grad_norm_`, by an older name: it warns.

    Examples
    --------
    >>> import warnings
    >>> import lucidgrad as lg
    >>> with warnings.catch_warnings(action="ignore"):
    ...     norm = lg.nn.utils.clip_grad_norm(lg.nn.Parameter(lg.ones(2)), 1.0)
    """
    warnings.warn(
        "`nn.utils.clip_grad_norm` is now deprecated in favor of `nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=3,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: _Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bring every element of the gradients of parameters, in place, between ``-clip_value`` and ``clip_value``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.Parameter(lg.ones(2))
    >>> w.grad = lg.tensor([0.5, -4.0])
    >>> lg.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 0.5, -1. ])
    """
    bound: Any = _number(clip_value)
    with lg.no_grad():
        for g in _gradients(parameters):
            g.clamp_(-bound, bound)
