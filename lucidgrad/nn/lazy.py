"""Layers that learn from the first input how many features it has, and then become ordinary ones."""

from typing import Any

import lucidgrad as lg
from lucidgrad.nn import convolution, normalisation
from lucidgrad.nn.functional.arguments import Sizes
from lucidgrad.nn.linear import Linear
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from lucidgrad.refusals import refuse_method

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "LazyLinear", "LazyModuleMixin",
]  # fmt: skip


class LazyModuleMixin(Module):
    """What makes a module wait for its first input: a subclass says in ``initialize_parameters`` what it learns of it.

    Parameters and buffers without a shape are `UninitializedParameter` and `UninitializedBuffer`. They are part of the
    state: it loads into a module that waits, or that does not, and gives a waiting one the shapes. An optimiser may be
    made before the first call; parameters stay the same objects.

    Attributes
    ----------
    cls_to_become : type, optional
        The class that the module has after the first call.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Scale(lg.nn.modules.lazy.LazyModuleMixin, lg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = lg.nn.UninitializedParameter()
    ...
    ...     def initialize_parameters(self, x):
    ...         self.factor.materialize(x.shape[-1:])
    ...         lg.nn.init.ones_(self.factor)
    ...
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> scale = Scale()
    >>> scale.has_uninitialized_params()
    True
    >>> scale(lg.tensor([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """

    cls_to_become: type | None = None
    _waits: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waits = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """`forward`; the first time, what is to be known of the input is learnt before."""
        if not self._waits:
            return super().__call__(*args, **kwargs)
        try:
            self._infer(args, kwargs)
        except Exception as error:
            refuse_method(error, self, self.initialize_parameters, args, kwargs)
            raise
        return self(*args, **kwargs)

    def _infer(self, args: Any, kwargs: Any) -> None:
        with lg.no_grad():
            self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        if self.cls_to_become is None:
            self._waits = False
        else:
            del self._waits
            self.__class__ = self.cls_to_become

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters shapes and values, by what `forward` is called with: every subclass defines it."""
        raise TypeError(f"{type(self).__name__} does not say how its parameters are initialised; define it")

    def has_uninitialized_params(self) -> bool:
        """Whether parameters or buffers have no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))


class _LazyLayer(LazyModuleMixin):
    """A layer that waits for one size, which one of its attributes is."""

    _size: str  # the name of the attribute; 0 while it is not known

    def reset_parameters(self) -> None:
        """Draw new starting values, if the shapes are known."""
        if not self.has_uninitialized_params() and getattr(self, self._size):
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: lg.Tensor, *args: Any, **kwargs: Any) -> None:
        """Learn the size of an input."""
        size = self._found(input)
        if not self.has_uninitialized_params():  # a state was loaded: that the input fits is up to forward
            setattr(self, self._size, self._loaded(size))
            return
        shapes = self._shapes(size)
        setattr(self, self._size, size)
        for name, shape in shapes.items():
            if is_lazy(getattr(self, name)):
                getattr(self, name).materialize(shape)
        self.reset_parameters()

    def _await(self, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        if weight:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _found(self, x: lg.Tensor) -> int:
        """The size that an input has."""
        return x.shape[-1]

    def _loaded(self, size: int) -> int:
        """The size that the parameters have, or that of the input, if there are none."""
        return size

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        """The shapes of parameters and buffers for a size."""
        return {}


class LazyLinear(_LazyLayer, Linear):
    """A `Linear` that learns ``in_features`` from its first input.

    Parameters
    ----------
    out_features, bias, device, dtype
        As for `Linear`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.LazyLinear(3)
    >>> layer
    LazyLinear(in_features=0, out_features=3, bias=True)
    >>> layer(lg.ones(2, 5)).sum().backward()
    >>> layer, layer.weight.grad.shape
    (Linear(in_features=5, out_features=3, bias=True), (3, 5))
    """

    cls_to_become = Linear
    _size = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self._await(True, bias, device, dtype)

    def _loaded(self, size: int) -> int:
        return int(self.weight.shape[1])

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, size), "bias": (self.out_features,)}


# -- convolutions --------------------------------------------------------------------------------
class _LazyConvolution(_LazyLayer, convolution._Convolution):
    """A convolution that waits for the number of channels."""

    _size = "in_channels"

    def _found(self, x: lg.Tensor) -> int:
        if x.ndim not in (self.axes + 1, self.axes + 2):
            raise RuntimeError(
                f"Expected {self.axes + 1}D (unbatched) or {self.axes + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {x.shape}"
            )
        return x.shape[-self.axes - 1]

    def _loaded(self, size: int) -> int:
        return int(self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups)

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        if size % self.groups:
            raise ValueError(
                f"{type(self).__name__}: given an input of {size} channels and groups={self.groups}, expected a number "
                f"of channels that groups divide"
            )
        shape = self._weight_shape(size, self.out_channels)
        return {"weight": shape, "bias": (self.out_channels,)}


class _LazyPlain(_LazyConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self.out_channels = out_channels
        self._await(True, bias, device, dtype)


class LazyConv1d(_LazyPlain, convolution.Conv1d):
    """A `Conv1d` that learns ``in_channels`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.LazyConv1d(3, 5)
    >>> layer(lg.zeros((4, 2, 7))).shape, layer
    ((4, 3, 3), Conv1d(2, 3, kernel_size=(5,), stride=(1,)))
    """

    cls_to_become = convolution.Conv1d


class LazyConv2d(_LazyPlain, convolution.Conv2d):
    """A `Conv2d` that learns ``in_channels`` from its first input.

    Parameters
    ----------
    out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        As for `Conv2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.LazyConv2d(2, 3)
    >>> layer(lg.ones((4, 1, 5, 5))).sum().backward()
    >>> layer.bias.grad
    tensor([36., 36.])
    """

    cls_to_become = convolution.Conv2d


class LazyConv3d(_LazyPlain, convolution.Conv3d):
    """A `Conv3d` that learns ``in_channels`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyConv3d(2, (1, 2, 3))(lg.zeros((1, 3, 3, 3))).shape
    (2, 3, 2, 1)
    """

    cls_to_become = convolution.Conv3d


class _LazyTransposed(_LazyConvolution):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self.out_channels = out_channels
        self._await(True, bias, device, dtype)


class LazyConvTranspose1d(_LazyTransposed, convolution.ConvTranspose1d):
    """A `ConvTranspose1d` that learns ``in_channels`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyConvTranspose1d(3, 4, stride=2)(lg.zeros((2, 5))).shape
    (3, 12)
    """

    cls_to_become = convolution.ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, convolution.ConvTranspose2d):
    """A `ConvTranspose2d` that learns ``in_channels`` from its first input.

    Parameters
    ----------
    out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode, device, dtype
        As for `ConvTranspose2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyConvTranspose2d(1, 3, stride=2)(lg.zeros((4, 2, 3, 3))).shape
    (4, 1, 7, 7)
    """

    cls_to_become = convolution.ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, convolution.ConvTranspose3d):
    """A `ConvTranspose3d` that learns ``in_channels`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyConvTranspose3d(1, 2)(lg.zeros((1, 2, 2, 2))).shape
    (1, 3, 3, 3)
    """

    cls_to_become = convolution.ConvTranspose3d


# -- normalisation -------------------------------------------------------------------------------
class _LazyNorm(_LazyLayer, normalisation._Tracking):
    """A normalisation that waits for the number of channels."""

    _size = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        self._await(affine, affine and bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = lg.zeros((), dtype=lg.int64, device=device)

    def _found(self, x: lg.Tensor) -> int:
        self._check_rank(x)
        return x.shape[self._channel_axis(x)]

    def _loaded(self, size: int) -> int:
        known = self.weight if self.affine else self.running_mean
        return size if known is None else int(known.shape[0])

    def _shapes(self, size: int) -> dict[str, tuple[int, ...]]:
        return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (size,))


class LazyBatchNorm1d(_LazyNorm, normalisation.BatchNorm1d):
    """A `BatchNorm1d` that learns ``num_features`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyBatchNorm1d(eps=0.0)(lg.tensor([[1.0], [3.0]])).tolist()
    [[-1.0], [1.0]]
    """

    cls_to_become = normalisation.BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, normalisation.BatchNorm2d):
    """A `BatchNorm2d` that learns ``num_features`` from its first input.

    Parameters
    ----------
    eps, momentum, affine, track_running_stats, device, dtype, bias
        As for `BatchNorm2d`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.LazyBatchNorm2d()
    >>> layer(lg.ones((1, 3, 2, 2))).sum().backward()
    >>> layer.bias.grad.tolist(), layer.num_features
    ([4.0, 4.0, 4.0], 3)
    """

    cls_to_become = normalisation.BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, normalisation.BatchNorm3d):
    """A `BatchNorm3d` that learns ``num_features`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyBatchNorm3d()(lg.zeros((1, 2, 3, 3, 3))).shape
    (1, 2, 3, 3, 3)
    """

    cls_to_become = normalisation.BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, normalisation.InstanceNorm1d):
    """An `InstanceNorm1d` that learns ``num_features`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyInstanceNorm1d(eps=0.0)(lg.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    cls_to_become = normalisation.InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, normalisation.InstanceNorm2d):
    """An `InstanceNorm2d` that learns ``num_features`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyInstanceNorm2d()(lg.zeros((1, 2, 3, 3))).shape
    (1, 2, 3, 3)
    """

    cls_to_become = normalisation.InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, normalisation.InstanceNorm3d):
    """An `InstanceNorm3d` that learns ``num_features`` from its first input.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.LazyInstanceNorm3d()(lg.zeros((2, 3, 3, 3))).shape
    (2, 3, 3, 3)
    """

    cls_to_become = normalisation.InstanceNorm3d
