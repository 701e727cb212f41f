"""Functions on the parameters and gradients of modules, and on sequences of different lengths."""

from lucidgrad.nn.utils import fusion, parametrizations, parametrize, prune, rnn, stateless
from lucidgrad.nn.utils.clipping import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from lucidgrad.nn.utils.fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
from lucidgrad.nn.utils.spectral_normalisation import remove_spectral_norm, spectral_norm
from lucidgrad.nn.utils.vectors import parameters_to_vector, skip_init, vector_to_parameters
from lucidgrad.nn.utils.weight_normalisation import remove_weight_norm, weight_norm
from lucidgrad.refusals import guard as _guard

__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "fusion", "get_total_norm",
    "parameters_to_vector", "parametrizations", "parametrize", "prune", "remove_spectral_norm", "remove_weight_norm",
    "rnn", "skip_init", "spectral_norm", "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip


_guard(__name__, __all__)
