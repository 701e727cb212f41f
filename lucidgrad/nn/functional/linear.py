"""Linear maps and norms as functions."""

from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.ops.linalg.linear import affine, linear as linear_map

__all__ = ["bilinear", "linear", "normalize"]


def linear(input: lg.Tensor, weight: lg.Tensor, bias: lg.Tensor | None = None) -> lg.Tensor:
    """The affine map ``input @ weight.T + bias`` of the last axis.

    Parameters
    ----------
    input : Tensor
        Of shape (..., inputs).
    weight : Tensor
        Of shape (outputs, inputs), or (inputs,) for one output without an axis.
    bias : Tensor, optional
        Of shape (outputs,).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones((1, 2), requires_grad=True)
    >>> lg.nn.functional.linear(lg.tensor([3.0, 4.0]), w).sum().backward()
    >>> w.grad
    tensor([[3., 4.]])
    """
    if weight.array.ndim != 2:
        return lg.matmul(input, weight) if bias is None else lg.matmul(input, weight) + bias
    return linear_map(input, weight) if bias is None else affine(input, weight, bias)


@rounded_once
def bilinear(input1: lg.Tensor, input2: lg.Tensor, weight: lg.Tensor, bias: lg.Tensor | None = None) -> lg.Tensor:
    """The bilinear map ``y[o] = input1 @ weight[o] @ input2 + bias[o]`` of the last axes.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.bilinear(x, lg.tensor([3.0]), lg.ones(1, 2, 1)).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear: given inputs of shape {input1.shape} and {input2.shape}, expected the same axes but the last"
        )
    y: lg.Tensor = lg.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def normalize(
    input: lg.Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: lg.Tensor | None = None
) -> lg.Tensor:
    """Divide by the p-norm along an axis, which counts as ``eps`` at least.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.normalize(lg.tensor([[3.0, 4.0]]))
    tensor([[0.6, 0.8]])
    """
    y = _normalised(input, p, dim, eps)
    return y if out is None else out.copy_(y)


@rounded_once
def _normalised(x: Any, p: float, dim: Any, eps: float) -> Any:
    return x / lg.clip(lg.linalg.vector_norm(x, axis=dim, keepdims=True, ord=p), eps, None)
