"""Starting values for parameters, written into the tensors that are given.

The functions return their tensor, and nothing of what they do is recorded.
"""

import functools
import math
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec

import lucidgrad as lg
from lucidgrad.refusals import guard as _guard

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much larger starting weights are to be before an activation function, to keep the scale of values.

    Parameters
    ----------
    nonlinearity : str
        The function's name in `lucidgrad.nn.functional`.
    param : float, optional
        The slope of ``leaky_relu``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            slope: float = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        else:
            slope = param
        return math.sqrt(2.0 / (1 + slope**2))
    linear = ("linear", "sigmoid", *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)))
    gains = {**dict.fromkeys(linear, 1.0), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    if nonlinearity not in gains:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


#: Whether tensors are left as they are: `lucidgrad.nn.utils.skip_init` makes modules so.
skipping: ContextVar[bool] = ContextVar("skipping", default=False)


def _fill(tensor: lg.Tensor, draw: Callable[[], Any]) -> lg.Tensor:
    if not skipping.get():
        with lg.no_grad():
            tensor.copy_(draw())
    return tensor


def _like(tensor: lg.Tensor) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "device": tensor.device}


def uniform_(tensor: lg.Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> lg.Tensor:
    """Fill with uniform numbers from ``a`` to ``b``.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.init.uniform_(lg.empty(100), 2.0, 3.0)
    >>> bool(((w >= 2) & (w < 3)).all())
    True
    """
    return _fill(tensor, lambda: lg.uniform(a, b, tensor.shape, generator=generator, **_like(tensor)))


def normal_(tensor: lg.Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> lg.Tensor:
    """Fill with normal numbers.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.normal_(lg.empty(3), mean=2.0, std=0.0)
    tensor([2., 2., 2.])
    """
    return _fill(tensor, lambda: lg.normal(mean, std, tensor.shape, generator=generator, **_like(tensor)))


def trunc_normal_(
    tensor: lg.Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> lg.Tensor:
    """Fill with normal numbers between ``a`` and ``b``: others are never drawn.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.init.trunc_normal_(lg.empty(1000))
    >>> bool((abs(w) <= 2).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )

    def cdf(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    low, high = cdf((a - mean) / std), cdf((b - mean) / std)

    def draw() -> lg.Tensor:
        drawn = lg.uniform(2 * low - 1, 2 * high - 1, tensor.shape, generator=generator, **_like(tensor))
        return lg.clip(lg.erfinv(drawn) * (std * math.sqrt(2.0)) + mean, a, b)

    return _fill(tensor, draw)


def constant_(tensor: lg.Tensor, val: float) -> lg.Tensor:
    """Fill with one value.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.constant_(lg.empty(2), 0.3)
    tensor([0.3, 0.3])
    """
    if not skipping.get():
        with lg.no_grad():
            tensor.fill_(val)
    return tensor


def ones_(tensor: lg.Tensor) -> lg.Tensor:
    """Fill with ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.ones_(lg.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: lg.Tensor) -> lg.Tensor:
    """Fill with zeros.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.zeros_(lg.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: lg.Tensor) -> lg.Tensor:
    """Fill a matrix with the identity.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.eye_(lg.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor, lambda: lg.eye(*tensor.shape, **_like(tensor)))


def dirac_(tensor: lg.Tensor, groups: int = 1) -> lg.Tensor:
    """Fill the weights of a convolution so that it passes on as many channels as it can.

    Parameters
    ----------
    tensor : Tensor
        Of 3, 4 or 5 dimensions.
    groups : int
        Of the convolution.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.dirac_(lg.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = tensor.shape[0] // groups
    centre = tuple(k // 2 for k in tensor.shape[2:])
    made = lg.zeros(tensor.shape, **_like(tensor))
    for group in range(groups):
        for channel in range(min(each, tensor.shape[1])):
            made[(group * each + channel, channel, *centre)] = 1
    return _fill(tensor, lambda: made)


def _fans(tensor: lg.Tensor) -> tuple[int, int]:
    """How many inputs an output has, and how many outputs an input."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_fan_in_and_fan_out(tensor: lg.Tensor) -> tuple[int, int]:
    return _fans(tensor)


def xavier_uniform_(tensor: lg.Tensor, gain: float = 1.0, generator: Any = None) -> lg.Tensor:
    """Fill with uniform numbers of the scale of Glorot and Bengio (2010).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.init.xavier_uniform_(lg.empty(3, 5))  # within sqrt(6 / (3 + 5))
    >>> bool((abs(w) < 0.8661).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: lg.Tensor, gain: float = 1.0, generator: Any = None) -> lg.Tensor:
    """Fill with normal numbers of the scale of Glorot and Bengio (2010).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.xavier_normal_(lg.empty(3, 5)).shape
    (3, 5)
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor: lg.Tensor, a: float, mode: str, nonlinearity: str) -> float:
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[modes.index(mode.lower())])


def _is_empty(tensor: lg.Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(
    tensor: lg.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> lg.Tensor:
    """Fill with uniform numbers of the scale of He et al. (2015).

    Parameters
    ----------
    tensor : Tensor
        Weights.
    a : float
        The slope of the ``leaky_relu`` that follows.
    mode : {"fan_in", "fan_out"}
        Keep the scale forward or backward.
    nonlinearity : str
        What follows; see `calculate_gain`.
    generator : Generator, optional
        Where the random numbers come from.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.init.kaiming_uniform_(lg.empty(4, 6), nonlinearity="relu")  # within sqrt(2) * sqrt(3 / 6)
    >>> bool((abs(w) <= 1).all())
    True
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: lg.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> lg.Tensor:
    """Fill with normal numbers of the scale of He et al. (2015); see `kaiming_uniform_`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.init.kaiming_normal_(lg.empty(4, 6), mode="fan_out").shape
    (4, 6)
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: lg.Tensor, gain: float = 1, generator: Any = None) -> lg.Tensor:
    """Fill with a random orthogonal matrix; axes after the first count as one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.init.orthogonal_(lg.empty(2, 3))
    >>> lg.allclose(w @ w.T, lg.eye(2), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in tensor.shape:
        return tensor
    rows = tensor.shape[0]
    columns = math.prod(tensor.shape[1:])

    def draw() -> lg.Tensor:
        drawn = lg.randn(rows, columns, generator=generator, **_like(tensor))
        q, r = lg.linalg.qr(drawn.mT if rows < columns else drawn)
        q = q * lg.sign(lg.diagonal(r))  # the distribution is then uniform
        return lg.reshape(gain * (q.mT if rows < columns else q), tensor.shape)

    return _fill(tensor, draw)


def sparse_(tensor: lg.Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> lg.Tensor:
    """Fill a matrix with normal numbers, of which a share in each column is zero.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.nn.init.sparse_(lg.empty(10, 3), sparsity=0.2)
    >>> lg.count_nonzero(w, axis=0).tolist()
    [8, 8, 8]
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)

    def draw() -> lg.Tensor:
        drawn = lg.normal(0.0, std, tensor.shape, generator=generator, **_like(tensor))
        for column in range(columns):
            drawn[lg.randperm(rows, generator=generator, device=tensor.device)[:zeros], column] = 0
        return drawn

    return _fill(tensor, draw)


# -- older names ---------------------------------------------------------------------------------
_P = ParamSpec("_P")


def _older(function: Callable[_P, lg.Tensor], arguments: str) -> Callable[_P, lg.Tensor]:
    """A function by its name without the underscore, which says that there is a newer one."""
    new = function.__name__
    old = new.removesuffix("_")

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> lg.Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"""The same as `{new}`, by an older name: it warns.

    Examples
    --------
    >>> import warnings
    >>> import lucidgrad as lg
    >>> with warnings.catch_warnings(action="ignore"):
    ...     w = lg.nn.init.{old}({arguments})
    """
    return call


constant = _older(constant_, "lg.empty(2), 1.0")
dirac = _older(dirac_, "lg.empty(1, 1, 3)")
eye = _older(eye_, "lg.empty(2, 2)")
kaiming_normal = _older(kaiming_normal_, "lg.empty(2, 2)")
kaiming_uniform = _older(kaiming_uniform_, "lg.empty(2, 2)")
normal = _older(normal_, "lg.empty(2)")
orthogonal = _older(orthogonal_, "lg.empty(2, 2)")
sparse = _older(sparse_, "lg.empty(2, 2), 0.5")
uniform = _older(uniform_, "lg.empty(2)")
xavier_normal = _older(xavier_normal_, "lg.empty(2, 2)")
xavier_uniform = _older(xavier_uniform_, "lg.empty(2, 2)")

_guard(__name__, __all__)
