"""Transformers: layers of attention and feed-forward networks, stacks of them, and the whole model."""

import copy
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.extents import check_count
from lucidgrad.tensor import Tensor

from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .functional.arguments import MOST_LAYERS
from .init import xavier_uniform_
from .linear import Linear
from .module import Module
from .normalisation import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _function_of(activation: Activation) -> Any:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"given activation={activation!r}, expected 'relu', 'gelu' or a function")
    return lg.relu if activation == "relu" else lg.gelu


def _copies(module: Module, count: int) -> ModuleList:
    count = check_count("Transformer", "num_layers", count, 0, MOST_LAYERS)
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """What encoder and decoder layers share: self-attention and a feed-forward network, with norms and dropout."""

    _norms: int  # one for each block

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: Activation,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        attends = ("self_attn", "multihead_attn")[: self._norms - 1]
        for name in attends:
            made = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place)
            setattr(self, name, made)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        for k in range(1, self._norms + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place))
        for k in range(1, self._norms + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _function_of(activation)

    def _block(self, k: int, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """The sum of x and a function of it, with norm and dropout number k."""
        own = self.__dict__
        norm, drop = own[f"norm{k}"], own[f"dropout{k}"]
        if self.norm_first:
            return x + drop(function(norm(x)))
        return norm(x + drop(function(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each around a residual connection.

    Parameters
    ----------
    d_model, nhead
        Features, and heads of attention.
    dim_feedforward
        Features between the two linear layers.
    dropout
        The probability that a feature or a weight of attention is dropped while training.
    activation
        ``"relu"``, ``"gelu"`` or a function.
    layer_norm_eps
        What layer norms add to the variance.
    batch_first
        Whether inputs and outputs are (batch, length, features) instead of (length, batch, features).
    norm_first
        Whether norms come before attention and feed-forward network, instead of after the sums.
    bias
        Whether linear layers and norms have biases.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True)
    >>> y = layer(lg.ones((3, 5, 4)))
    >>> y.square().sum().backward()
    >>> tuple(y.shape), tuple(layer.linear1.weight.grad.shape)
    ((3, 5, 4), (8, 4))
    """

    _norms = 2
    self_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = lg.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias),
            *(device, dtype),
        )

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence with what each place found at the others; masks as in `MultiheadAttention`."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, True, is_causal)[0]

        return self._block(2, self._block(1, src, attend), self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to an encoder's output, and a feed-forward network.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        As for `TransformerEncoderLayer`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> y = layer(lg.ones((5, 3, 4)), lg.ones((7, 3, 4)))
    >>> y.square().sum().backward()
    >>> tuple(y.shape), tuple(layer.multihead_attn.in_proj_weight.grad.shape)
    ((5, 3, 4), (12, 4))
    """

    _norms = 3
    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = lg.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            *(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias),
            *(device, dtype),
        )

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence with what each place found at the others and in the memory."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, True, tgt_is_causal)[0]

        def look_up(x: Tensor) -> Tensor:
            return self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask, True, memory_is_causal
            )[0]

        return self._block(3, self._block(2, self._block(1, tgt, attend), look_up), self._feed_forward)


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer.

    Parameters
    ----------
    encoder_layer, num_layers
        The layer, and how many copies of it there are.
    norm
        A module for the output.
    enable_nested_tensor, mask_check
        Accepted as PyTorch's; nested tensors are not used.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)
    >>> encoder = lg.nn.TransformerEncoder(layer, num_layers=2)
    >>> y = encoder(lg.ones((5, 3, 4)))
    >>> y.square().sum().backward()
    >>> tuple(encoder.layers[1].linear2.weight.grad.shape)
    (4, 8)
    """

    norm: Any

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers = _copies(encoder_layer, num_layers), num_layers
        self.norm = norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence through all layers; ``is_causal`` is a hint that the mask is the causal one."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer.

    Parameters
    ----------
    decoder_layer, num_layers
        The layer, and how many copies of it there are.
    norm
        A module for the output.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> decoder = lg.nn.TransformerDecoder(layer, num_layers=2)
    >>> y = decoder(lg.ones((5, 3, 4)), lg.ones((7, 3, 4)))
    >>> y.square().sum().backward()
    >>> tuple(decoder.layers[0].linear2.weight.grad.shape)
    (4, 8)
    """

    norm: Any

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers = _copies(decoder_layer, num_layers), num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence and the encoder's output through all layers; the last two are hints about the masks."""
        for layer in self.layers:
            tgt = layer(
                *(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask),
                *(bool(tgt_is_causal), memory_is_causal),
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder for one sequence and a decoder for another that looks it up.

    Parameters
    ----------
    d_model, nhead
        Features, and heads of attention.
    num_encoder_layers, num_decoder_layers
        How many layers there are of each.
    dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype
        As for `TransformerEncoderLayer`.
    custom_encoder, custom_decoder
        Modules in place of the usual ones.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.Transformer(4, 2, 1, 1, dim_feedforward=8)
    >>> mask = model.generate_square_subsequent_mask(3)
    >>> y = model(lg.ones((5, 2, 4)), lg.ones((3, 2, 4)), tgt_mask=mask, tgt_is_causal=True)
    >>> y.square().sum().backward()
    >>> tuple(y.shape), tuple(model.encoder.norm.weight.grad.shape)
    ((3, 2, 4), (4,))
    """

    encoder: Any
    decoder: Any

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = lg.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            one = TransformerEncoderLayer(*layer, **place)
            custom_encoder = TransformerEncoder(one, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
            other = TransformerDecoderLayer(*layer, **place)
            custom_decoder = TransformerDecoder(other, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """What the decoder makes of ``tgt``, given what the encoder makes of ``src``."""
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError(
                f"Transformer: given batches of {src.shape[axis]} and {tgt.shape[axis]} sequences as src and tgt, "
                f"expected the same"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"Transformer: given src and tgt of {src.shape[-1]} and {tgt.shape[-1]} features, expected "
                f"d_model={self.d_model}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """A causal mask to add: 0 where place i looks at places up to i, ``-inf`` elsewhere.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.nn.Transformer.generate_square_subsequent_mask(2).tolist()
        [[0.0, -inf], [0.0, 0.0]]
        """
        return lg.triu(lg.full((sz, sz), float("-inf"), dtype=dtype, device=device), k=1)
