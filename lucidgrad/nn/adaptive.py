"""Softmax over many classes, rare ones in clusters."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import lucidgrad as lg
from lucidgrad.nn.containers import ModuleList, Sequential
from lucidgrad.nn.functional.arguments import on_host
from lucidgrad.nn.functional.probabilities import log_softmax
from lucidgrad.nn.linear import Linear
from lucidgrad.nn.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _Result(NamedTuple):
    """The logarithm of the probability of each target, and their negative mean."""

    output: lg.Tensor
    loss: lg.Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log softmax over many classes, sorted by how frequent they are, and its loss (Grave et al., 2017).

    Frequent classes are outputs of the head; rare ones are in clusters, which the head has one output for each, and
    whose projections become narrower the rarer they are.

    Parameters
    ----------
    in_features, n_classes : int
        How long an input is, and how many classes there are.
    cutoffs : sequence of int
        Where clusters begin, increasing.
    div_value : float
        By how much each cluster is narrower than the one before.
    head_bias : bool
        Whether the head has a bias.
    device, dtype
        Of the parameters.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10], div_value=2.0)
    >>> output, loss = layer(lg.randn(4, 8), lg.tensor([0, 6, 19, 3]))
    >>> loss.backward()
    >>> output.shape, layer.head.weight.grad.shape
    ((4,), (7, 8))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        bounds = [0, *cutoffs, n_classes]
        if any(a >= b for a, b in pairwise(bounds)) or any(int(c) != c for c in cutoffs):
            raise ValueError(
                f"given cutoffs={cutoffs}: cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (i + 1))
            parts = Linear(in_features, width, bias=False, **made), Linear(width, high - low, bias=False, **made)
            self.tail.append(Sequential(*parts))

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: lg.Tensor, target_: lg.Tensor) -> _Result:
        """Logarithms of the targets' probabilities, and their negative mean."""
        if target_.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.ndim != target_.ndim + 1:
            raise RuntimeError(
                f"{target_.ndim}D target tensor expects {target_.ndim + 1}D input tensors, but found inputs with size "
                f"{input_.shape}"
            )
        single = target_.ndim == 0
        x, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        if x.shape[0] != target.shape[0]:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension: given "
                f"{x.shape[0]} and {target.shape[0]}"
            )
        known = on_host(target)
        if known is not None and known.size and (known.min() < 0 or known.max() >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{known.min()}, "
                f"{known.max()}] were found."
            )
        output = self._log_prob_of(x, target)
        return _Result(output.squeeze(0) if single else output, -output.mean())

    def _log_prob_of(self, x: lg.Tensor, target: lg.Tensor) -> lg.Tensor:
        column, known = target, on_host(target)
        found: Any = 0
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            inside = (target >= low) & (target < high)
            column = lg.where(inside, self.shortlist_size + i, column)
            place = lg.where(inside, target - low, 0)
            if known is None:  # on a device that is not to be waited for, all examples pass every cluster
                found = found + lg.where(inside, self._in_cluster(i, x, place), 0)
                continue
            rows = lg.nonzero(inside)[0]
            if rows.size:
                part = self._in_cluster(i, lg.take(x, rows, axis=0), lg.take(place, rows, axis=0))
                none = lg.zeros(target.shape, dtype=part.dtype, device=x.device)
                found = found + lg.index_copy(none, 0, rows, part)
        head = log_softmax(self.head(x), dim=1)
        made: lg.Tensor = lg.take_along_axis(head, column.unsqueeze(1), axis=1).squeeze(1) + found
        return made

    def _in_cluster(self, i: int, x: lg.Tensor, place: lg.Tensor) -> lg.Tensor:
        within = log_softmax(self.tail[i](x), dim=1)
        made: lg.Tensor = lg.take_along_axis(within, place.unsqueeze(1), axis=1).squeeze(1)
        return made

    def log_prob(self, input: lg.Tensor) -> lg.Tensor:
        """Logarithms of the probabilities of all classes."""
        head = log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            at = self.shortlist_size + i
            parts.append(log_softmax(cluster(input), dim=1) + head[:, at : at + 1])
        made: lg.Tensor = lg.concat(parts, axis=1)
        return made

    def predict(self, input: lg.Tensor) -> lg.Tensor:
        """The most probable class of each example."""
        found: lg.Tensor = lg.argmax(self.log_prob(input), axis=1)
        return found
