"""Activation functions; those with ``inplace`` may write into their input."""

from typing import Any

import lucidgrad as lg
from lucidgrad.amp import in_precision
from lucidgrad.ops.conventions import update
from lucidgrad.ops.numbers import only_real

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "logsigmoid", "mish", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def written_into(op: Any, input: lg.Tensor, *args: Any) -> lg.Tensor:
    """What a function gives, in the memory of its input."""
    if hasattr(op, "primitive"):
        return update(op, input, **dict(zip(op.primitive.keywords, args, strict=False)))
    # its derivative may need the old values
    return input.copy_(op(input.clone() if input.requires_grad else input, *args))


def relu(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """``max(x, 0)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.relu(x).sum().backward()
    >>> x.grad
    tensor([0., 1.])
    """
    return written_into(lg.relu, input) if inplace else lg.relu(input)


def relu6(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """``min(max(x, 0), 6)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.relu6(x).sum().backward()
    >>> x.grad
    tensor([0., 1.])
    """
    return written_into(lg.relu6, input) if inplace else lg.relu6(input)


def leaky_relu(input: lg.Tensor, negative_slope: float = 0.01, inplace: bool = False) -> lg.Tensor:
    """The input x where it is positive, ``negative_slope * x`` elsewhere.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.leaky_relu(x).sum().backward()
    >>> x.grad
    tensor([0.01, 1.  ])
    """
    return written_into(lg.leaky_relu, input, negative_slope) if inplace else lg.leaky_relu(input, negative_slope)


def elu(input: lg.Tensor, alpha: float = 1.0, inplace: bool = False) -> lg.Tensor:
    """The input x where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.elu(x).sum().backward()
    >>> x.grad.tolist()
    [0.3679, 1.0]
    """
    return written_into(lg.elu, input, alpha) if inplace else lg.elu(input, alpha)


def celu(input: lg.Tensor, alpha: float = 1.0, inplace: bool = False) -> lg.Tensor:
    """The input x where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.celu(x).sum().backward()
    >>> x.grad.tolist()
    [0.3679, 1.0]
    """
    return written_into(lg.celu, input, alpha) if inplace else lg.celu(input, alpha)


def selu(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """`elu` scaled so that mean and variance of values tend to 0 and 1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.selu(x).sum().backward()
    >>> x.grad.tolist()
    [0.6468, 1.0507]
    """
    return written_into(lg.selu, input) if inplace else lg.selu(input)


def silu(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """``x * sigmoid(x)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.silu(x).sum().backward()
    >>> x.grad.tolist()
    [0.0723, 1.0908]
    """
    return written_into(lg.silu, input) if inplace else lg.silu(input)


def mish(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """``x * tanh(softplus(x))``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.mish(x).sum().backward()
    >>> x.grad.tolist()
    [0.0592, 1.0693]
    """
    return written_into(lg.mish, input) if inplace else lg.mish(input)


def hardsigmoid(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """A sigmoid of three straight pieces: ``relu6(x + 3) / 6``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.hardsigmoid(x).sum().backward()
    >>> x.grad.tolist()
    [0.1667, 0.1667]
    """
    return written_into(lg.hardsigmoid, input) if inplace else lg.hardsigmoid(input)


def hardswish(input: lg.Tensor, inplace: bool = False) -> lg.Tensor:
    """``x * hardsigmoid(x)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.hardswish(x).sum().backward()
    >>> x.grad.tolist()
    [0.1667, 1.1667]
    """
    return written_into(lg.hardswish, input) if inplace else lg.hardswish(input)


def hardtanh(input: lg.Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> lg.Tensor:
    """The input x within bounds, and the bounds outside.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.hardtanh(x).sum().backward()
    >>> x.grad
    tensor([0., 0.])
    """
    return written_into(lg.hardtanh, input, min_val, max_val) if inplace else lg.hardtanh(input, min_val, max_val)


def sigmoid(input: lg.Tensor) -> lg.Tensor:
    """Logistic function ``1 / (1 + exp(-x))``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.sigmoid(x).sum().backward()
    >>> x.grad.tolist()
    [0.1966, 0.1050]
    """
    return lg.sigmoid(input)


def logsigmoid(input: lg.Tensor) -> lg.Tensor:
    """``log(sigmoid(x))``, elementwise, without overflow.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.logsigmoid(x).sum().backward()
    >>> x.grad.tolist()
    [0.7311, 0.1192]
    """
    return lg.logsigmoid(input)


def tanh(input: lg.Tensor) -> lg.Tensor:
    """Hyperbolic tangent, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.tanh(x).sum().backward()
    >>> x.grad.tolist()
    [0.4200, 0.0707]
    """
    return lg.tanh(input)


def tanhshrink(input: lg.Tensor) -> lg.Tensor:
    """``x - tanh(x)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.tanhshrink(x).sum().backward()
    >>> x.grad.tolist()
    [0.5800, 0.9293]
    """
    return lg.tanhshrink(input)


def softsign(input: lg.Tensor) -> lg.Tensor:
    """``x / (1 + |x|)``, elementwise.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.softsign(x).sum().backward()
    >>> x.grad.tolist()
    [0.25, 0.1111]
    """
    return lg.softsign(input)


def hardshrink(input: lg.Tensor, lambd: float = 0.5) -> lg.Tensor:
    """The input x where its size exceeds ``lambd``, zero elsewhere.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.hardshrink(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    return lg.hardshrink(input, lambd)


def softshrink(input: lg.Tensor, lambd: float = 0.5) -> lg.Tensor:
    """The input x moved towards zero by ``lambd``, and no further than zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.softshrink(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    return lg.softshrink(input, lambd)


def softplus(input: lg.Tensor, beta: float = 1.0, threshold: float = 20.0) -> lg.Tensor:
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x`` exceeds ``threshold``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.softplus(x).sum().backward()
    >>> x.grad.tolist()
    [0.2689, 0.880797]
    """
    return lg.softplus(input, beta, threshold)


def gelu(input: lg.Tensor, approximate: str = "none") -> lg.Tensor:
    """The input x times the probability that a normal number is below it.

    With ``approximate="tanh"`` it is the usual approximation.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0, 9.0], requires_grad=True)
    >>> lg.nn.functional.gelu(x).sum().backward()
    >>> x.grad
    tensor([0.5, 1. ])
    """
    return lg.gelu(input, approximate)


def threshold(input: lg.Tensor, threshold: float, value: float, inplace: bool = False) -> lg.Tensor:
    """The input x where it exceeds ``threshold``, ``value`` elsewhere.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.threshold(x, 0.5, 7.0).sum().backward()
    >>> x.grad
    tensor([0., 1.])
    """
    return written_into(lg.threshold, input, threshold, value) if inplace else lg.threshold(input, threshold, value)


@in_precision("low")
def prelu(input: lg.Tensor, weight: lg.Tensor) -> lg.Tensor:
    """The input x where it is positive, ``weight * x`` elsewhere; one weight, or one per channel (the second axis).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.tensor([0.25], requires_grad=True)
    >>> lg.nn.functional.prelu(lg.tensor([-1.0, 2.0]), w).sum().backward()
    >>> w.grad
    tensor([-1.])
    """
    if weight.size != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if not input.ndim:
            raise RuntimeError("prelu: Not allow zero-dim input tensor.")
        if weight.ndim != 1 or weight.shape[0] != channels:
            raise RuntimeError(
                f"prelu: given weights of shape {weight.shape} for an input of shape {input.shape}, expected one "
                f"weight, or one for each of {channels} channels"
            )
        weight = lg.reshape(weight, (channels, *(1,) * (input.ndim - 2)))
    elif weight.ndim > 1 or not input.ndim:
        weight = lg.reshape(weight, ())
    only_real("prelu", input, weight)
    return lg.where(input > 0, input, weight * input)


def rrelu(
    input: lg.Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> lg.Tensor:
    """The input x where it is positive, ``a * x`` elsewhere.

    In training a is drawn between the bounds, otherwise it is in their middle.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([-1.0, 2.0], requires_grad=True)
    >>> lg.nn.functional.rrelu(x, 0.1, 0.3).sum().backward()
    >>> x.grad
    tensor([0.2, 1. ])
    """
    if not training:
        slope = (lower + upper) / 2
        return written_into(lg.leaky_relu, input, slope) if inplace else lg.leaky_relu(input, slope)
    drawn = lg.uniform(lower, upper, input.shape, dtype=input.dtype, device=input.device)
    y: lg.Tensor = input * lg.where(input.detach() > 0, 1.0, drawn)
    return input.copy_(y) if inplace else y


def glu(input: lg.Tensor, dim: int = -1) -> lg.Tensor:
    """The first half along an axis, times the sigmoid of the second half.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([3.0, 0.0], requires_grad=True)
    >>> lg.nn.functional.glu(x).sum().backward()
    >>> x.grad
    tensor([0.5 , 0.75])
    """
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    first, second = lg.chunk(input, 2, dim)
    return first * lg.sigmoid(second)


def relu_(input: lg.Tensor) -> lg.Tensor:
    """`relu`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.relu_(lg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return written_into(lg.relu, input)


def leaky_relu_(input: lg.Tensor, negative_slope: float = 0.01) -> lg.Tensor:
    """`leaky_relu`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.leaky_relu_(lg.tensor([-1.0, 2.0]))
    tensor([-0.01,  2.  ])
    """
    return written_into(lg.leaky_relu, input, negative_slope)


def elu_(input: lg.Tensor, alpha: float = 1.0) -> lg.Tensor:
    """`elu`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.elu_(lg.tensor([-1.0, 2.0])).tolist()
    [-0.6321, 2.0]
    """
    return written_into(lg.elu, input, alpha)


def celu_(input: lg.Tensor, alpha: float = 1.0) -> lg.Tensor:
    """`celu`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.celu_(lg.tensor([-1.0, 2.0])).tolist()
    [-0.6321, 2.0]
    """
    return written_into(lg.celu, input, alpha)


def selu_(input: lg.Tensor) -> lg.Tensor:
    """`selu`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.selu_(lg.tensor([-1.0, 2.0])).tolist()
    [-1.1113, 2.1014]
    """
    return written_into(lg.selu, input)


def hardtanh_(input: lg.Tensor, min_val: float = -1.0, max_val: float = 1.0) -> lg.Tensor:
    """`hardtanh`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.hardtanh_(lg.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """
    return written_into(lg.hardtanh, input, min_val, max_val)


def threshold_(input: lg.Tensor, threshold: float, value: float) -> lg.Tensor:
    """`threshold`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.threshold_(lg.tensor([-1.0, 2.0]), 0.5, 7.0)
    tensor([7., 2.])
    """
    return written_into(lg.threshold, input, threshold, value)


def rrelu_(input: lg.Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> lg.Tensor:
    """`rrelu`, written into the input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.functional.rrelu_(lg.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2,  2. ])
    """
    return rrelu(input, lower, upper, training, inplace=True)
