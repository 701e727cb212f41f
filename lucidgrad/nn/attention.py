"""Attention of many heads as a module, and PyTorch's words for the kernels that compute attention."""

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.tensor import Tensor

from .functional.attention import multi_head_attention_forward
from .init import constant_, xavier_normal_, xavier_uniform_
from .linear import Linear
from .module import Module
from .parameter import Parameter

__all__ = ["MultiheadAttention", "SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """The kernels that PyTorch chooses from; here there is one way to compute attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Allow some kernels of PyTorch's within a block: accepted, and without effect."""
    for backend in backends if isinstance(backends, (list, tuple)) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise TypeError(f"sdpa_kernel: given {backend!r}, expected SDPBackend, or a list of them")
    yield


class NonDynamicallyQuantizableLinear(Linear):
    """A linear layer under the name that PyTorch shows for the last projection."""


class MultiheadAttention(Module):
    """Attention of many heads: each sees a part of the projected queries, keys and values.

    Parameters
    ----------
    embed_dim, num_heads
        Features of queries and outputs, and how many heads share them.
    dropout
        The probability that a weight is dropped while training.
    bias
        Whether the projections have biases.
    add_bias_kv
        Whether a learnt key and value are added at the end.
    add_zero_attn
        Whether a key and a value of zeros are added at the end.
    kdim, vdim
        Features of keys and values; by default ``embed_dim``.
    batch_first
        Whether inputs and outputs are (batch, length, features) instead of (length, batch, features).
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> attend = lg.nn.MultiheadAttention(4, 2, batch_first=True)
    >>> x = lg.ones((3, 5, 4))
    >>> y, weights = attend(x, x, x)
    >>> tuple(y.shape), tuple(weights.shape)
    ((3, 5, 4), (3, 5, 5))
    >>> y.sum().backward()
    >>> tuple(attend.in_proj_weight.grad.shape)
    (12, 4)
    """

    in_proj_weight: Any
    in_proj_bias: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"given embed_dim={embed_dim} and num_heads={num_heads}, expected numbers above 0")
        if embed_dim % num_heads:
            raise AssertionError(
                f"{type(self).__name__}: given embed_dim={embed_dim} and num_heads={num_heads}, expected an embed_dim "
                f"that is a multiple of num_heads"
            )
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        separate = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(lg.empty((3 * embed_dim, embed_dim), **place))
            for name in separate:
                self.register_parameter(name, None)
        else:
            for name, width in separate.items():
                setattr(self, name, Parameter(lg.empty((embed_dim, width), **place)))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", Parameter(lg.empty(3 * embed_dim, **place)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, Parameter(lg.empty((1, 1, embed_dim), **place)) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The outputs, and the weights if they are needed; see `functional.multi_head_attention_forward`."""
        return multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            batch_first=self.batch_first,
        )
