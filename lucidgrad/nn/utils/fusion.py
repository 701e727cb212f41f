"""A layer and the batch normalisation after it as one layer, for evaluation."""

import copy
from typing import Any, TypeVar

import lucidgrad as lg
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

_M = TypeVar("_M", bound=Module)


def _fused(layer: Any, bn: Any, axis: int) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call .eval() on both modules first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(
            "given a normalisation without running_mean and running_var, expected one that tracks them"
        )
    made = copy.deepcopy(layer)
    statistics = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = _fused_weights(made.weight, made.bias, *statistics, axis)
    return made


def _fused_weights(w: Any, b: Any, mean: Any, var: Any, eps: float, scale: Any, shift: Any, axis: int) -> Any:
    """The weight and the bias of the layer that is another one, normalised; axis: that of the outputs."""
    factor = 1 / lg.sqrt(var + eps)
    factor = factor if scale is None else factor * scale
    shape = [1] * w.ndim
    shape[axis] = -1
    weight = (w * lg.reshape(factor, tuple(shape))).to(w.dtype)
    bias = (-mean if b is None else b - mean) * factor
    bias = (bias if shift is None else bias + shift).to(w.dtype if b is None else b.dtype)
    return Parameter(weight, w.requires_grad), Parameter(bias, b is not None and b.requires_grad)


def fuse_conv_bn_eval(conv: _M, bn: Module, transpose: bool = False) -> _M:
    """A convolution that does what another one and the batch normalisation after it do, in evaluation mode.

    Parameters
    ----------
    conv, bn : Module
        The two, both in evaluation mode.
    transpose : bool
        Whether the convolution is transposed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> conv, bn = lg.nn.Conv2d(1, 2, 3).eval(), lg.nn.BatchNorm2d(2).eval()
    >>> x = lg.randn(1, 1, 4, 4)
    >>> lg.allclose(lg.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    return _fused(conv, bn, 1 if transpose else 0)


def fuse_conv_bn_weights(
    conv_w: lg.Tensor,
    conv_b: lg.Tensor | None,
    bn_rm: lg.Tensor,
    bn_rv: lg.Tensor,
    bn_eps: float,
    bn_w: lg.Tensor | None,
    bn_b: lg.Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of `fuse_conv_bn_eval`, from those of both and the statistics.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> one = lg.ones(1)
    >>> w, b = lg.nn.utils.fuse_conv_bn_weights(lg.ones((1, 1, 1)), one, 3 * one, 4 * one, 0.0, None, None)
    >>> w.item(), b.item()
    (0.5, -1.0)
    """
    return _fused_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 1 if transpose else 0)


def fuse_linear_bn_eval(linear: _M, bn: Module) -> _M:
    """A linear layer that does what another one and the batch normalisation after it do, in evaluation mode.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> linear, bn = lg.nn.Linear(3, 2).eval(), lg.nn.BatchNorm1d(2).eval()
    >>> x = lg.randn(4, 3)
    >>> lg.allclose(lg.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    given, features = linear.out_features, bn.num_features  # type: ignore[attr-defined]
    if features not in (given, 1):
        raise AssertionError(
            f"given a normalisation of {features} features after a layer of {given}, expected as many, or 1"
        )
    return _fused(linear, bn, 0)


def fuse_linear_bn_weights(
    linear_w: lg.Tensor,
    linear_b: lg.Tensor | None,
    bn_rm: lg.Tensor,
    bn_rv: lg.Tensor,
    bn_eps: float,
    bn_w: lg.Tensor,
    bn_b: lg.Tensor,
) -> tuple[Parameter, Parameter]:
    """The weight and the bias of `fuse_linear_bn_eval`, from those of both and the statistics.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> one = lg.ones(1)
    >>> w, b = lg.nn.utils.fuse_linear_bn_weights(lg.ones((1, 1)), one, 3 * one, 4 * one, 0.0, one, one)
    >>> w.item(), b.item()
    (0.5, 0.0)
    """
    return _fused_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, 0)
