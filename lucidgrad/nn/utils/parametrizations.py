"""Ready-made parametrisations: weights with a norm of their own, of spectral norm one, or orthogonal."""

from typing import Any

import lucidgrad as lg
from lucidgrad.nn.functional.linear import normalize
from lucidgrad.nn.module import Module
from lucidgrad.nn.utils.orthogonality import orthogonal
from lucidgrad.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def norm_but(v: lg.Tensor, dim: int) -> lg.Tensor:
    """The lengths of the parts along an axis, of shape (1, ..., n, ..., 1); of the whole for -1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.parametrizations.norm_but(lg.tensor([[3.0, 4.0], [0.0, 2.0]]), 0)
    tensor([[5.],
            [2.]])
    """
    if dim == -1:
        whole: lg.Tensor = lg.linalg.vector_norm(v)
        return whole
    found: lg.Tensor = lg.linalg.vector_norm(v, axis=tuple(i for i in range(v.ndim) if i != dim), keepdims=True)
    return found


class _WeightNorm(Module):
    """A weight from its lengths and its directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: lg.Tensor, weight_v: lg.Tensor) -> lg.Tensor:
        return weight_v * (weight_g / norm_but(weight_v, self.dim))

    def right_inverse(self, weight: lg.Tensor) -> tuple[lg.Tensor, lg.Tensor]:
        return norm_but(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Learn the lengths of a weight's parts and their directions apart (Salimans and Kingma, 2016).

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        The weight.
    dim : int or None
        The axis along which every part has a length; None for one length of the whole.

    Returns
    -------
    Module
        The module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.parametrizations.weight_norm(lg.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    (40, 1)
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def accept_old_keys(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(accept_old_keys)
    return module


def rows_of(weight: lg.Tensor, dim: int) -> lg.Tensor:
    """A weight as a matrix whose rows are along an axis.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.parametrizations.rows_of(lg.ones((2, 3, 4)), 1).shape
    (3, 8)
    """
    made: lg.Tensor = lg.flatten(lg.moveaxis(weight, dim, 0), 1)
    return made


def divided(weight: lg.Tensor, matrix: lg.Tensor, u: lg.Tensor, v: lg.Tensor) -> lg.Tensor:
    """A weight divided by its largest singular value, as its matrix and estimates of the singular vectors tell it.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x, e = lg.eye(2) * 4, lg.tensor([1.0, 0.0])
    >>> lg.nn.utils.parametrizations.divided(x, x, e, e).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    u, v = u.clone(), v.clone()  # a later call writes into these, and the derivative needs the values of this one
    made: lg.Tensor = weight / lg.vecdot(u, lg.matmul(matrix, v))
    return made


class _SpectralNorm(Module):
    """A weight divided by an estimate of its largest singular value."""

    _u: Any
    _v: Any

    def __init__(self, weight: lg.Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.ndim
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % rank
        self.eps = eps
        if rank > 1:
            self.n_power_iterations = n_power_iterations
            matrix = rows_of(weight.detach(), self.dim)
            for key, size in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = lg.randn(size, dtype=weight.dtype, device=weight.device)
                self.register_buffer(key, normalize(drawn, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: lg.Tensor, times: int) -> None:
        with lg.no_grad():
            for _ in range(times):
                self._u.copy_(normalize(lg.matmul(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(lg.matmul(lg.conj(matrix.mT), self._u), dim=0, eps=self.eps))

    def forward(self, weight: lg.Tensor) -> lg.Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = rows_of(weight, self.dim)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return divided(weight, matrix, self._u, self._v)

    def right_inverse(self, value: lg.Tensor) -> lg.Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, which power iteration follows in training (Miyato et al., 2018).

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        The weight.
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
    >>> layer = lg.nn.utils.parametrizations.spectral_norm(lg.nn.Linear(4, 4), n_power_iterations=50)
    >>> round(lg.linalg.svdvals(layer.weight).max().item(), 2)
    1.0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, lg.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = output_axis(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def output_axis(module: Module) -> int:
    """The axis of a layer's weight that belongs to its outputs.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.parametrizations import output_axis
    >>> output_axis(lg.nn.Conv1d(1, 2, 3)), output_axis(lg.nn.ConvTranspose1d(1, 2, 3))
    (0, 1)
    """
    return 1 if any(base.__name__.startswith("ConvTranspose") for base in type(module).__mro__) else 0
