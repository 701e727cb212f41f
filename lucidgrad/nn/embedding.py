"""Layers that look up vectors by index."""

from typing import Any, Self

import lucidgrad as lg
from lucidgrad.nn import init
from lucidgrad.nn.functional.embedding import embedding, embedding_bag
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A matrix of vectors, with the row for padding zero at first."""

    weight: Any
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _set(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: lg.Tensor | None,
        freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if weight is None:
            made = lg.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(made, requires_grad=not freeze)
            self.reset_parameters()
        else:
            if weight.shape != (num_embeddings, embedding_dim):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw new starting values: normal numbers."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with lg.no_grad():
                self.weight[self.padding_idx] = 0


class Embedding(_Table):
    """A vector for each index, learnt.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many vectors, and how long.
    padding_idx : int, optional
        The vector with this index is zero at first and gets no gradient.
    max_norm : float, optional
        Vectors that are looked up and longer are shortened to it.
    norm_type : float
        The p of that norm.
    scale_grad_by_freq : bool
        Divide gradients by how often an index occurs.
    sparse : bool
        Let the weight's gradient be row-sparse, for `SGD`, `Adagrad` and `SparseAdam`; see `functional.embedding`.
    device, dtype
        Of the vectors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Embedding(10, 3)
    >>> layer(lg.tensor([[1, 2], [4, 1]])).shape
    (2, 2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: lg.Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set(num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse

    def forward(self, input: lg.Tensor) -> lg.Tensor:
        """The vectors with the given indices."""
        return embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """The sizes, and what differs from the usual."""
        told = f"{self.num_embeddings}, {self.embedding_dim}"
        told += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        told += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        told += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        told += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return told + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: lg.Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """A layer with given vectors; ``freeze`` keeps them from being trained.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.nn.Embedding.from_pretrained(lg.tensor([[1.0, 2.0], [3.0, 4.0]]))(lg.tensor([1]))
        tensor([[3., 4.]])
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, length = embeddings.shape
        return cls(
            rows, length, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
            _freeze=freeze,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """Sums, means or maxima of the learnt vectors in bags of indices.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        How many vectors, and how long.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As in `Embedding`.
    mode : {"mean", "sum", "max"}
        What is made of a bag.
    include_last_offset : bool
        Whether the last offset is the end of the last bag.
    padding_idx : int, optional
        An index that doesn't count.
    device, dtype
        Of the vectors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.EmbeddingBag(10, 3, mode="sum")
    >>> layer(lg.tensor([1, 2, 4, 5, 4, 3]), lg.tensor([0, 4])).shape
    (2, 3)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: lg.Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._set(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(
        self, input: lg.Tensor, offsets: lg.Tensor | None = None, per_sample_weights: lg.Tensor | None = None
    ) -> lg.Tensor:
        """What is made of each bag."""
        return embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes, and what differs from the usual."""
        told = f"{self.num_embeddings}, {self.embedding_dim}"
        told += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        told += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        told += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        told += f", mode={self.mode!r}"
        return told + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: lg.Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A layer with given vectors; ``freeze`` keeps them from being trained.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> lg.nn.EmbeddingBag.from_pretrained(lg.tensor([[1.0, 2.0], [3.0, 4.0]]))(lg.tensor([[0, 1]]))
        tensor([[2., 3.]])
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, length = embeddings.shape
        made = cls(
            rows, length, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        made.weight.requires_grad_(not freeze)
        return made
