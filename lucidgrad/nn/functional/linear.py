"""Linear maps and norms as functions."""

import functools
import operator
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import rounded_once
from lucidgrad.nn.functional.arguments import check_floats, on_host
from lucidgrad.ops.linalg.linear import affine, linear as linear_map

__all__ = ["bilinear", "grouped_mm", "linear", "normalize"]


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
    if getattr(input, "array", weight.array).dtype is not weight.array.dtype:
        check_floats("linear", input, weight)
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
    for input in (input1, input2):
        check_floats("bilinear", input, weight)
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


def grouped_mm(
    mat_a: lg.Tensor,
    mat_b: lg.Tensor,
    *,
    offs: lg.Tensor | None = None,
    bias: lg.Tensor | None = None,
    out_dtype: Any = None,
) -> lg.Tensor:
    """Products of several pairs of matrices, of which some may lie in one matrix, one after the other.

    Parameters
    ----------
    mat_a, mat_b : Tensor
        Matrices (m, k) and (k, n), or stacks of them. A single matrix beside a stack is cut into parts along its rows
        or its columns; two single matrices are cut along the axis that is summed over, and give a stack.
    offs : Tensor, optional
        Where the parts end. What comes after the last end gives zeros. On the CPU every part is multiplied alone;
        elsewhere all of it, with zeros in place of other parts, so that nothing waits for the offsets.
    bias : Tensor, optional
        Added to the result.
    out_dtype
        The dtype of the result.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> a, b = lg.ones((3, 2), requires_grad=True), lg.stack([lg.ones((2, 1)), lg.full((2, 1), 5.0)])
    >>> y = lg.nn.functional.grouped_mm(a, b, offs=lg.tensor([1, 3]))
    >>> y.sum().backward()
    >>> y.flatten().tolist(), a.grad[:, 0].tolist()
    ([2.0, 10.0, 10.0], [1.0, 5.0, 5.0])
    """
    ranks = (mat_a.ndim, mat_b.ndim)
    if not {*ranks} <= {2, 3} or (offs is None) != (ranks == (3, 3)):
        raise RuntimeError(
            f"grouped_mm: given matrices of shapes {tuple(mat_a.shape)} and {tuple(mat_b.shape)} "
            f"{'without' if offs is None else 'with'} offs, expected two stacks without, or a matrix or two with offs"
        )
    y = lg.matmul(mat_a, mat_b) if offs is None else _of_parts(mat_a, mat_b, offs)
    y = y if bias is None else y + bias
    return y if out_dtype is None else y.to(out_dtype)


def _of_parts(a: Any, b: Any, offs: lg.Tensor) -> Any:
    """Of matrices with parts that end where ``offs`` says; see `grouped_mm`."""
    cut_a, cut_b = 0 if b.ndim == 3 else 1, 1 if a.ndim == 3 else 0
    count, size = offs.shape[0], a.shape[cut_a] if a.ndim == 2 else b.shape[cut_b]
    known, places = on_host(offs), lg.arange(size, device=offs.device)
    made: list[Any] = []
    start: Any = 0
    for i in range(count):
        end: Any = offs[i] if known is None else int(known[i])
        parts = []
        for matrix, cut in ((a, cut_a), (b, cut_b)):
            if matrix.ndim == 3:
                parts.append(matrix[i])
            elif known is not None:
                parts.append(matrix[start:end] if cut == 0 else matrix[:, start:end])
            else:
                inside = (places >= start) & (places < end)
                parts.append(lg.where(inside.unsqueeze(1) if cut == 0 else inside, matrix, 0))
        made.append(lg.matmul(*parts))
        start = end
    if a.ndim == b.ndim:
        return lg.stack(made)
    if known is None:
        return functools.reduce(operator.add, made)
    axis = 0 if a.ndim == 2 else 1
    shape = (size - start, b.shape[2]) if axis == 0 else (a.shape[1], size - start)
    return lg.concat([*made, lg.zeros(shape, dtype=made[0].dtype, device=a.device)], axis=axis)
