"""Results that are written into tensors which are there already: PyTorch's ``out=``."""

from typing import Any

import lucidgrad as lg
from lucidgrad.core.dtype import rank


def into(name: str, out: Any, result: Any) -> Any:
    """Write what a function gave into a tensor, or into as many tensors as it gave; all are looked at before."""
    if isinstance(result, lg.Tensor):
        _check(name, out, result)
        return _write(out, result)
    if not isinstance(out, (tuple, list)) or len(out) != len(result):
        raise TypeError(f"{name}: given a {type(out).__name__} as out, expected a tuple of {len(result)} tensors")
    for one, made in zip(out, result):
        _check(name, one, made)
    written = [_write(one, made) for one, made in zip(out, result)]
    return result._make(written) if hasattr(result, "_make") else tuple(written)


def _check(name: str, out: Any, result: Any) -> None:
    if not isinstance(out, lg.Tensor):
        raise TypeError(f"{name}: given a {type(out).__name__} as out, expected a Tensor")
    if lg.is_grad_enabled() and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{name}: functions with out= don't record, and one of the arguments requires grad; "
            "leave out= away, or compute within no_grad()"
        )
    if rank(result.dtype) > rank(out.dtype):
        raise RuntimeError(f"{name}: a result of dtype {result.dtype} can't be cast to out's dtype {out.dtype}")
    if result.device != out.device:
        raise RuntimeError(f"{name}: the result is on {result.device}, out is on {out.device}")
    if out.shape != result.shape and out.numel() > 0:
        raise RuntimeError(
            f"{name}: the result has shape {result.shape}, out has shape {out.shape}; "
            "give an out of that shape, or an empty one, which takes the shape of the result"
        )


def _write(out: Any, result: Any) -> Any:
    with lg.no_grad():
        if out.shape != result.shape:
            out.data = result.to(out.dtype, copy=True)
        else:
            out.copy_(result)
    return out
