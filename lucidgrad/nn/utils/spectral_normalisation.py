"""`spectral_norm` as a hook, with the keys that older checkpoints have."""

from typing import Any, TypeVar

import lucidgrad as lg
from lucidgrad.nn.functional.linear import normalize
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter, is_lazy
from lucidgrad.nn.utils.computed import ComputedWeight
from lucidgrad.nn.utils.parametrizations import divided, output_axis, rows_of

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

_M = TypeVar("_M", bound=Module)


class SpectralNorm(ComputedWeight):
    """Computes a weight as ``<name>_orig`` divided by an estimate of its largest singular value."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def value(self, module: Module) -> lg.Tensor:
        """The weight divided; in training, power iteration goes on before."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = rows_of(weight, self.dim)
        if module.training:
            with lg.no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(lg.matmul(matrix.mT, u), dim=0, eps=self.eps))
                    u.copy_(normalize(lg.matmul(matrix, v), dim=0, eps=self.eps))
        return divided(weight, matrix, u, v)

    def _saved(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """PyTorch's mark in a state: that ``<name>_v`` is in it."""
        marks = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.name}.version"
        if key in marks:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        marks[key] = self._version


def spectral_norm(
    module: _M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> _M:
    """Divide a weight by its largest singular value, which power iteration follows in training (Miyato et al., 2018).

    `lucidgrad.nn.utils.parametrizations.spectral_norm` does the same in the newer way.

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        The weight; ``<name>_orig`` is trained instead.
    n_power_iterations : int
        How many iterations each call makes.
    eps : float
        The least length that a vector counts as.
    dim : int, optional
        The axis of the outputs: 0, but 1 for transposed convolutions.

    Returns
    -------
    Module
        The module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.spectral_norm(lg.nn.Linear(4, 3), n_power_iterations=50)
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    >>> y = layer(lg.ones(4))
    >>> round(lg.linalg.svdvals(layer.weight).max().item(), 2)
    1.0
    """
    if SpectralNorm.of(module, name) is not None:
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    hook = SpectralNorm(name, n_power_iterations, output_axis(module) if dim is None else dim, eps)
    if name not in module._parameter_names:
        raise ValueError(f"spectral_norm: {name!r} is not a parameter of {type(module).__name__}")
    weight = getattr(module, name)
    if weight is None or is_lazy(weight):
        what = "None" if weight is None else "not initialised yet; call the module on an example first"
        raise ValueError(f"spectral_norm: the parameter {name!r} is {what}")
    matrix = rows_of(weight.detach(), hook.dim)
    u, v = (normalize(lg.randn(n, dtype=weight.dtype, device=weight.device), dim=0, eps=eps) for n in matrix.shape)
    delattr(module, name)
    module.register_parameter(f"{name}_orig", weight)
    setattr(module, name, weight.detach())
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)
    module.register_forward_pre_hook(hook)
    module._register_state_dict_hook(hook._saved)
    return module


def remove_spectral_norm(module: _M, name: str = "weight") -> _M:
    """Undo `spectral_norm`: the weight, divided, is a parameter again.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.spectral_norm(lg.nn.Linear(4, 3))
    >>> list(lg.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    hook = SpectralNorm.of(module, name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook.detach_from(module)
    training = module.training
    module.__dict__["training"] = False  # no iteration more
    with lg.no_grad():
        value = hook.value(module)
    module.__dict__["training"] = training
    for part in (name, f"{name}_u", f"{name}_v", f"{name}_orig"):
        delattr(module, part)
    assert module._hooks is not None
    saved = module._hooks.saved
    for key in [key for key, (other, _) in saved.items() if getattr(other, "__self__", None) is hook]:
        del saved[key]
    module.register_parameter(name, Parameter(value))
    return module
