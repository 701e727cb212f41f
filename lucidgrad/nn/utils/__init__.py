"""Functions on the parameters and gradients of modules."""

from lucidgrad.nn.utils import parametrizations, parametrize, rnn
from lucidgrad.nn.utils.clipping import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from lucidgrad.nn.utils.vectors import parameters_to_vector, skip_init, vector_to_parameters
from lucidgrad.nn.utils.weight_normalisation import remove_weight_norm, weight_norm
from lucidgrad.refusals import guard as _guard

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "vector_to_parameters",
    "weight_norm",
]


_guard(__name__, __all__)
