"""Bounds for gradients."""

import warnings
from collections.abc import Iterable
from typing import Any

import lucidgrad as lg
from lucidgrad.ops.lists import clip_all, norm_of_all
from lucidgrad.shards import shard_of

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

    Of gradients of shards these are the rows of this process; `clip_grad_norm_` asks for those of others, too.

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
    if norm_type > 0 and any(x.is_sparse for x in listed):
        from lucidgrad.ops.rows import summed

        listed = [summed(x) for x in listed]
    with lg.no_grad():
        total = norm_of_all(listed, norm_type)
        if total is None:
            total = _norm_one_by_one(listed, norm_type)
    _check_finite(total, norm_type, error_if_nonfinite)
    return total


def _check_finite(total: lg.Tensor, norm_type: float, raises: bool) -> None:
    if raises and not bool(lg.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )


def _norm_of_all(parameters: list[lg.Tensor], p: float) -> lg.Tensor:
    """The norm of the gradients of parameters; of shards, with the rows that other ranks have."""
    groups: dict[int, tuple[Any, list[lg.Tensor]]] = {}
    norms: list[lg.Tensor] = []
    for parameter in parameters:
        shard, g = shard_of(parameter), parameter.grad
        if shard is not None and g is not None:
            groups.setdefault(id(shard.group), (shard.group, []))[1].append(g)
    if not groups:
        return get_total_norm(_gradients(parameters), p)
    with lg.no_grad():
        norms += [_norm(x.grad, p) for x in parameters if shard_of(x) is None and x.grad is not None]
        for group, gradients in groups.values():
            norms += _norms_of_wholes(gradients, p, group)
        where = norms[0].device
        return _norm(lg.stack([norm.to(where) for norm in norms]), p)


def _norms_of_wholes(gradients: list[lg.Tensor], p: float, group: Any) -> list[lg.Tensor]:
    """The norm of each gradient that ranks have rows of: one call for all, in which those without rows take part."""
    from lucidgrad.communication.collectives import all_reduce
    from lucidgrad.communication.groups import ReduceOp

    ends, where = p in (float("inf"), -float("inf")), gradients[0].device
    wide = any(str(g.dtype) in ("float64", "complex128") for g in gradients)
    nothing = lg.full((), float("inf") if p == -float("inf") else 0.0, device=where)
    own = [_norm(g, p).to(where) if g.size else nothing for g in gradients]
    parts = lg.stack([norm.to(lg.float64 if wide else lg.float32) for norm in own])
    if ends:
        all_reduce(parts, op=ReduceOp.MAX if p > 0 else ReduceOp.MIN, group=group)
        return list(parts)
    parts = parts if p == 0 else parts**p
    all_reduce(parts, group=group)
    return list(parts if p == 0 else parts ** (1 / p))


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

    Of parameters that `distributed.fully_shard` has cut into shards, the rows of all ranks count: every rank calls
    this, and gets the norm that one process would have.

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
    total = _norm_of_all(listed, float(norm_type))
    _check_finite(total, norm_type, error_if_nonfinite)
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
