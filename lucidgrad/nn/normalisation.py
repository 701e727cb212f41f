"""Layers that normalise."""

import warnings
from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.communication import groups
from lucidgrad.nn import functional
from lucidgrad.nn.functional.normalisation import batch_norm_of_all
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LayerNorm", "LocalResponseNorm", "RMSNorm", "SyncBatchNorm",
]  # fmt: skip


class _Affine(Module):
    """A layer with a weight and a bias that may be left out: ones and zeros to begin with."""

    weight: Any
    bias: Any

    def _add_affine(self, shape: tuple[int, ...], weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted, make in (("weight", weight, lg.ones), ("bias", bias, lg.zeros)):
            self.register_parameter(name, Parameter(make(shape, device=device, dtype=dtype)) if wanted else None)

    def reset_parameters(self) -> None:
        """Make the weight ones and the bias zeros."""
        with lg.no_grad():
            if self.weight is not None:
                self.weight.fill_(1)
            if self.bias is not None:
                self.bias.fill_(0)


class _Tracking(_Affine):
    """What batch and instance normalisation have: parameters, and statistics that are tracked."""

    _version = 2
    ranks: tuple[int, ...]
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: Any,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._add_affine((num_features,), affine, affine and bias, device, dtype)
        tracked = track_running_stats
        self.register_buffer("running_mean", lg.zeros(num_features, device=device, dtype=dtype) if tracked else None)
        self.register_buffer("running_var", lg.ones(num_features, device=device, dtype=dtype) if tracked else None)
        count = lg.zeros((), dtype=lg.int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def reset_running_stats(self) -> None:
        """Forget what was tracked."""
        if self.track_running_stats:
            with lg.no_grad():
                self.running_mean.fill_(0)
                self.running_var.fill_(1)
                self.num_batches_tracked.fill_(0)

    def reset_parameters(self) -> None:
        """Make the weight ones and the bias zeros, and forget what was tracked."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_rank(self, x: lg.Tensor) -> None:
        if x.ndim not in self.ranks:
            raise ValueError(
                f"{type(self).__name__}: given an input of shape {tuple(x.shape)}, expected "
                f"{' or '.join(map(str, self.ranks))} axes"
            )

    def _channel_axis(self, x: lg.Tensor) -> int:
        return 1

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Older checkpoints lack the number of batches: it stays."""
        key = prefix + "num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = count if count is not None else lg.zeros((), dtype=lg.int64)
        found = (missing_keys, unexpected_keys, error_msgs)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *found)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Tracking):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Normalise ``(n, channels, *sizes)``."""
        self._check_rank(input)
        momentum: Any = self.momentum
        tracks = self.training and self.track_running_stats
        if momentum is None and tracks:  # the mean of all batches; their number stays on its device
            momentum = 1 / lg.astype(self.num_batches_tracked + 1, self.running_mean.dtype)
        own = self.training or (self.running_mean is None and self.running_var is None)
        mean, var = (self.running_mean, self.running_var) if tracks or not self.training else (None, None)
        momentum = 0.0 if momentum is None else momentum
        y = self._normalised(input, mean, var, own, momentum)
        if tracks:
            self.num_batches_tracked.add_(1)
        return y

    def _normalised(self, x: lg.Tensor, mean: Any, var: Any, own: bool, momentum: Any) -> lg.Tensor:
        return functional.batch_norm(x, mean, var, self.weight, self.bias, own, momentum, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalise each channel of ``(n, channels)`` or ``(n, channels, size)``; see `BatchNorm2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.BatchNorm1d(1, eps=0.0)(lg.tensor([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel of ``(n, channels, height, width)``.

    While training by the batch's own mean and variance, which are tracked; then by those that were tracked.

    Parameters
    ----------
    num_features
        How many channels there are.
    eps
        What is added to the variance.
    momentum
        How much of the running statistics a batch replaces; None: they are means over all batches.
    affine, bias
        Whether there are a weight and a bias for each channel.
    track_running_stats
        Whether statistics are tracked; if not, those of the batch are always used.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.BatchNorm2d(1)
    >>> y = layer(lg.ones((1, 1, 2, 2)))
    >>> y.sum().backward()
    >>> layer.bias.grad.tolist(), round(layer.running_mean.item(), 4), layer.num_batches_tracked.item()
    ([4.0], 0.1, 1)
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel of ``(n, channels, depth, height, width)``; see `BatchNorm2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.BatchNorm3d(2)(lg.zeros((1, 2, 3, 3, 3))).shape
    (1, 2, 3, 3, 3)
    """

    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over all processes of a training: while training, by the statistics of all their batches.

    Batches may differ in size, and be empty. In evaluation, or without `init_process_group`, it is `BatchNorm2d` for
    inputs of any sizes.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As for `BatchNorm2d`; the input has any sizes.
    process_group
        The processes whose batches belong together; all by default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> network = lg.nn.Sequential(lg.nn.Linear(2, 3), lg.nn.BatchNorm1d(3))
    >>> type(lg.nn.SyncBatchNorm.convert_sync_batchnorm(network)[1]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_rank(self, x: lg.Tensor) -> None:
        if x.ndim < 2:
            raise ValueError(f"SyncBatchNorm: given an input of shape {tuple(x.shape)}, expected (n, channels, *sizes)")

    def _normalised(self, x: lg.Tensor, mean: Any, var: Any, own: bool, momentum: Any) -> lg.Tensor:
        group = None
        if self.training and groups.is_initialized():
            group = groups.resolve(self.process_group, "SyncBatchNorm")
        if group is None or group.size() == 1:
            return super()._normalised(x, mean, var, own, momentum)
        return batch_norm_of_all(x, mean, var, self.weight, self.bias, momentum, self.eps, group)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """A module with this in place of all batch normalisations; parameters and statistics are the same tensors."""
        made = module
        if isinstance(module, _BatchNorm):
            ways = (module.eps, module.momentum, module.affine, module.track_running_stats, process_group)
            made = cls(module.num_features, *ways, bias=module.bias is not None)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            made.train(module.training)
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_Tracking):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Normalise ``(n, channels, *sizes)``, or the same without n."""
        self._check_rank(input)
        axis = self._channel_axis(input)
        single, channels = axis == 0, input.shape[axis]
        if channels != self.num_features:
            text = (
                f"{type(self).__name__}: given an input of shape {tuple(input.shape)}, expected "
                f"num_features={self.num_features} channels"
            )
            if self.affine:
                raise ValueError(text)
            warnings.warn(f"{text}; without affine parameters the number is not used", UserWarning, stacklevel=3)
        x = input.reshape((1, *input.shape)) if single else input
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        y = functional.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, own, momentum, self.eps
        )
        return y.reshape(tuple(input.shape)) if single else y

    def _channel_axis(self, x: lg.Tensor) -> int:
        return 0 if x.ndim == self.ranks[0] else 1


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each example of ``(n, channels, size)``; arguments as of `BatchNorm2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.InstanceNorm1d(1, eps=0.0)(lg.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each example of ``(n, channels, height, width)``; arguments as of `BatchNorm2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.InstanceNorm2d(1, affine=True)
    >>> layer(lg.ones((1, 1, 2, 2))).sum().backward()
    >>> layer.bias.grad
    tensor([4.])
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each example of ``(n, channels, depth, height, width)``; see `BatchNorm2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.InstanceNorm3d(2)(lg.zeros((2, 3, 3, 3))).shape
    (2, 3, 3, 3)
    """

    ranks = (4, 5)


# -- layers and groups ---------------------------------------------------------------------------
def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(_Affine):
    """Normalise along the last axes.

    Parameters
    ----------
    normalized_shape
        The sizes of the last axes, or the size of the last one.
    eps
        What is added to the variance.
    elementwise_affine, bias
        Whether there are a weight and a bias of that shape.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.LayerNorm(2, eps=0.0)
    >>> layer(lg.tensor([[1.0, 3.0]])).sum().backward()
    >>> layer.weight.grad
    tensor([-1.,  1.])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Normalise ``(*, *normalized_shape)``."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:  # noqa: D102
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """Divide by the root of the mean square along the last axes.

    Parameters
    ----------
    normalized_shape
        The sizes of the last axes, or the size of the last one.
    eps
        What is added to the mean square: the dtype's if None.
    elementwise_affine
        Whether there is a weight of that shape.
    device, dtype
        Of the weight.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.RMSNorm(2, eps=0.0)
    >>> layer(lg.tensor([3.0, 3.0])).sum().backward()
    >>> layer.weight.grad
    tensor([1., 1.])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        made = Parameter(lg.ones(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", made)

    def reset_parameters(self) -> None:
        """Make the weight ones."""
        if self.weight is not None:
            with lg.no_grad():
                self.weight.fill_(1)

    def forward(self, x: lg.Tensor) -> lg.Tensor:
        """Normalise ``(*, *normalized_shape)``."""
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:  # noqa: D102
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalise groups of channels of each example of ``(n, channels, *sizes)``.

    Parameters
    ----------
    num_groups, num_channels
        How many groups and channels there are.
    eps
        What is added to the variance.
    affine, bias
        Whether there are a weight and a bias for each channel.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.GroupNorm(1, 2, eps=0.0)
    >>> layer(lg.tensor([[1.0, 3.0]])).sum().backward()
    >>> layer.weight.grad
    tensor([-1.,  1.])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: given num_groups={num_groups} and num_channels={num_channels}, expected a positive number "
                f"that divides the channels"
            )
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_affine((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Normalise ``(n, channels, *sizes)``."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:  # noqa: D102
        bias = self.bias is not None
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={bias}"


class LocalResponseNorm(Module):
    """Divide by a power of the mean square of neighbouring channels; see `functional.local_response_norm`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LocalResponseNorm(2)(lg.zeros((1, 3, 4))).shape
    (1, 3, 4)
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """Normalise ``(n, channels, *sizes)``."""
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:  # noqa: D102
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
