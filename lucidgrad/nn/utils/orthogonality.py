"""Weights that are orthogonal matrices, whatever is stored."""

import lucidgrad as lg
from lucidgrad.nn.module import Module
from lucidgrad.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal"]

_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows where it is wide, from any matrix of its shape."""

    base: lg.Tensor | None

    def __init__(self, orthogonal_map: str) -> None:
        super().__init__()
        self.orthogonal_map = orthogonal_map

    def forward(self, X: lg.Tensor) -> lg.Tensor:
        wide = X.shape[-2] < X.shape[-1]
        made = self._columns(X.mT if wide else X)
        base = getattr(self, "base", None)
        made = made if base is None else base @ made
        return made.mT if wide else made

    def _columns(self, X: lg.Tensor) -> lg.Tensor:
        rows, columns = X.shape[-2:]
        if self.orthogonal_map == "householder":
            v = lg.tril(X, -1)
            found: lg.Tensor = lg.linalg.householder_product(v, 2 / (1 + (v * v).sum(-2)))
            signs = lg.diagonal(X.detach(), axis1=-2, axis2=-1).trunc()  # which are not trained
            return found * signs[..., None, :]
        lower = lg.tril(X)
        if rows > columns:
            more = lg.zeros((*X.shape[:-1], rows - columns), dtype=X.dtype, device=X.device)
            lower = lg.concat([lower, more], axis=-1)
        skew = lower - lower.mT.conj()
        if self.orthogonal_map == "matrix_exp":
            turned: lg.Tensor = lg.linalg.matrix_exp(skew)
        else:
            one = lg.eye(rows, dtype=X.dtype, device=X.device)
            turned = lg.linalg.solve(one - skew / 2, one + skew / 2)
        return turned[..., :columns]


class _Assigned(_Orthogonal):
    """The same for which a value can be set: as signs and reflections, or as the base that all is multiplied with."""

    def __init__(self, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__(orthogonal_map)
        if use_trivialization:
            self.register_buffer("base", None)

    def right_inverse(self, value: lg.Tensor) -> lg.Tensor:
        wide = value.shape[-2] < value.shape[-1]
        Q = value.mT if wide else value
        if not hasattr(self, "base"):
            packed, tau = lg.geqrf(Q)
            diagonal = lg.diagonal(packed, axis1=-2, axis2=-1)
            signs = lg.where(tau == 0, -lg.sign(diagonal), lg.sign(diagonal))
            kept = lg.tril(packed, -1) + lg.triu(packed, 1) + _on_diagonal(packed, signs)
            return kept.mT if wide else kept
        rows, columns = Q.shape[-2:]
        if rows > columns:  # completed to a square, by any columns
            more = lg.randn((*Q.shape[:-1], rows - columns), dtype=Q.dtype, device=Q.device)
            Q = _orthonormalised(lg.concat([Q, more], axis=-1))
        else:
            Q = Q.clone() if _is_orthonormal(Q) else _orthonormalised(Q)
        self.base = Q
        signs = lg.full((*value.shape[:-2], min(value.shape[-2:])), -1.0, dtype=value.dtype, device=value.device)
        return _on_diagonal(value, signs)


def _on_diagonal(like: lg.Tensor, values: lg.Tensor) -> lg.Tensor:
    made = lg.zeros_like(like)
    lg.diagonal(made, axis1=-2, axis2=-1).copy_(values)
    return made


def _orthonormalised(x: lg.Tensor) -> lg.Tensor:
    packed, tau = lg.geqrf(x)
    found: lg.Tensor = lg.linalg.householder_product(packed, tau)
    return found * lg.sgn(lg.diagonal(packed, axis1=-2, axis2=-1))[..., None, :]  # so that it is the only one


def _is_orthonormal(x: lg.Tensor) -> bool:
    rows, columns = x.shape[-2:]
    one = lg.eye(columns, dtype=x.dtype, device=x.device)
    return bool(lg.allclose(x.mT.conj() @ x, one, atol=10 * rows * float(lg.finfo(x.dtype).eps)))


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Let a weight be an orthogonal (unitary) matrix, or a stack of them, while any values are trained.

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        The weight, of two axes or more.
    orthogonal_map : {"matrix_exp", "cayley", "householder"}, optional
        The exponential of a skew-symmetric matrix, Cayley's map of one, or a product of reflections; the default is the
        first for square or complex matrices, and else the last.
    use_trivialization : bool
        Keep the first value, made orthogonal, as a base that the map's result is multiplied with. Without it, only a
        product of reflections begins with the first value, and can be set.

    Returns
    -------
    Module
        The module, changed.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.utils.parametrizations.orthogonal(lg.nn.Linear(3, 5))
    >>> q = layer.weight
    >>> bool(lg.allclose(q.mT @ q, lg.eye(3), atol=1e-5))
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, lg.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(f"orthogonal_map has to be one of {', '.join(map(repr, _MAPS))}. Got: {orthogonal_map!r}")
    if orthogonal_map == "householder" and weight.is_complex():
        raise ValueError("The householder parametrization does not support complex tensors.")
    free = not use_trivialization and orthogonal_map != "householder"
    made = _Orthogonal(orthogonal_map) if free else _Assigned(orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
