"""Layers whose weights are cut among processes: each computes with its part, and sums or joins travel.

A layer that is cut by columns of its outputs and one that is cut by its inputs, one after the other, exchange once: the
sum of what the second one gives. All processes have the same inputs and the same loss, which counts once.
"""

import fnmatch
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.communication import collectives, functional, groups
from lucidgrad.communication.replication import rank_join, rank_part, rank_spread, rank_total, shares
from lucidgrad.refusals import guard as _guard

from .placements import Placement, Replicate, Shard

__all__ = ["ColumnwiseParallel", "ColwiseParallel", "ParallelStyle", "RowwiseParallel", "parallelize_module"]


class _Cut:
    """What a layer knows that has a part of its weight."""

    def __init__(self, group: Any, length: int, given: Placement, wanted: Placement) -> None:
        self.group, self.length, self.given, self.wanted = group, length, given, wanted
        sizes = shares(length, group.size())
        self.begin = sum(sizes[: group.rank()])
        self.end = self.begin + sizes[group.rank()]

    def joined(self, y: Any) -> Any:
        """The outputs of which this process has a part of the last axis, as they are wanted."""
        if self.wanted in (Shard(-1), Shard(y.ndim - 1)):
            return y
        whole = rank_join(y, group=self.group, axis=y.ndim - 1, length=self.length)
        return whole if self.wanted.is_replicate() else self.own(whole, self.wanted)

    def summed(self, y: Any, bias: Any = None) -> Any:
        """Outputs that are sums over the processes, as they are wanted."""
        total = rank_total(y, group=self.group)
        total = total if bias is None else total + bias
        return total if self.wanted.is_replicate() else self.own(total, self.wanted)

    def own(self, x: Any, placement: Any) -> Any:
        """The part of this process of what all have."""
        axis = placement.dim % x.ndim
        return rank_part(x, group=self.group, axis=axis, length=x.shape[axis])

    def whole(self, x: Any) -> Any:
        """The inputs, for each process to compute its part with."""
        if self.given.is_replicate():
            return rank_spread(x, group=self.group)
        return functional.all_gather_tensor(x, self.given.dim % x.ndim, group=self.group)  # type: ignore[attr-defined]

    def part(self, x: Any) -> Any:
        """This process's part of the last axis of the inputs."""
        if self.given in (Shard(-1), Shard(x.ndim - 1)):
            return x
        if not self.given.is_replicate():
            axis = self.given.dim % x.ndim  # type: ignore[attr-defined]
            x = rank_join(x, group=self.group, axis=axis, length=x.shape[axis] * self.group.size())
        return self.own(x, Shard(-1))

    def told(self) -> str:
        return f", part {self.begin} to {self.end} of {self.length}, process {self.group.rank()} of {self.group.size()}"


class _Layer(nn.Module):
    _cut: _Cut

    def extra_repr(self) -> str:
        return super().extra_repr() + self._cut.told()


class _ColumnwiseLinear(_Layer, nn.Linear):
    """Each process computes some of the outputs."""

    def forward(self, input: Any) -> Any:
        return self._cut.joined(nn.functional.linear(self._cut.whole(input), self.weight, self.bias))


class _RowwiseLinear(_Layer, nn.Linear):
    """Each process computes with some of the inputs, and outputs are sums."""

    def forward(self, input: Any) -> Any:
        return self._cut.summed(nn.functional.linear(self._cut.part(input), self.weight), self.bias)


class _ColumnwiseEmbedding(_Layer, nn.Embedding):
    """Each process has some columns of every row."""

    def forward(self, input: Any) -> Any:
        return self._cut.joined(nn.functional.embedding(input, self.weight))


class _RowwiseEmbedding(_Layer, nn.Embedding):
    """Each process has some rows, and looks up those that it has."""

    def forward(self, input: Any) -> Any:
        cut = self._cut
        here = lg.logical_and(input >= cut.begin, input < cut.end)
        if cut.end == cut.begin:  # more processes than rows
            found = self.weight.sum() + lg.zeros((*input.shape, self.embedding_dim), dtype=self.weight.dtype)
        else:
            found = nn.functional.embedding(lg.where(here, input - cut.begin, 0), self.weight)
        return cut.summed(lg.where(lg.unsqueeze(here, -1), found, lg.zeros_like(found)))


class ParallelStyle:
    """How a layer is cut among processes: `ColwiseParallel` or `RowwiseParallel`.

    Examples
    --------
    >>> from lucidgrad.distributed.tensor.parallel import ColwiseParallel, ParallelStyle
    >>> issubclass(ColwiseParallel, ParallelStyle)
    True
    """

    _inputs: Placement
    _outputs: Placement
    _kinds: ClassVar[
        dict[type, tuple[type, int, str]]
    ]  # by layer: the layer that is cut, the weight's axis, and what it counts

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        for name, given in {"input_layouts": input_layouts, "output_layouts": output_layouts}.items():
            if given is not None and not isinstance(given, Placement):
                raise TypeError(
                    f"{type(self).__name__}: given {name} of type {type(given).__name__}, expected Replicate() or "
                    f"Shard(dim)"
                )
        if not use_local_output:
            raise ValueError(f"{type(self).__name__}: given use_local_output=False, expected True: outputs are tensors")
        self.input_layouts = self._inputs if input_layouts is None else input_layouts
        self.output_layouts = self._outputs if output_layouts is None else output_layouts

    def __repr__(self) -> str:
        return f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts})"

    def apply(self, module: nn.Module, group: Any, source: int | None = 0) -> None:
        """Let a layer keep its part of the weight, and compute with it."""
        found = self._kinds.get(type(module))
        if found is None:
            raise TypeError(
                f"{type(self).__name__}: given a {type(module).__name__}, expected "
                f"{' or '.join(kind.__name__ for kind in self._kinds)}, not cut yet"
            )
        made, axis, counts = found
        if isinstance(module, nn.Embedding) and not _is_plain(module):
            raise ValueError(
                f"{type(self).__name__}: given an Embedding with max_norm or padding_idx, expected neither"
            )
        if source is not None and group.size() > 1:
            with lg.no_grad():
                for p in module.parameters():
                    collectives.broadcast(p, groups.get_global_rank(group, source), group=group)
        cut = _Cut(group, getattr(module, counts), self.input_layouts, self.output_layouts)
        weight: Any = module.get_parameter("weight")
        for name, p in list(module.named_parameters(recurse=False)):
            if name == "bias" and axis != 0:
                continue  # added to sums, whole
            with lg.no_grad():
                own = p.narrow(axis if p is weight else 0, cut.begin, cut.end - cut.begin).clone()
            module.register_parameter(name, nn.Parameter(own, requires_grad=p.requires_grad))
        module.__class__ = made
        module._cut = cut


def _is_plain(module: Any) -> bool:
    return module.max_norm is None and module.padding_idx is None and not module.scale_grad_by_freq


class ColwiseParallel(ParallelStyle):
    """Each process computes some of a layer's outputs.

    It has rows of a `Linear`'s weight, or columns of an `Embedding`.

    Parameters
    ----------
    input_layouts
        How inputs are given: ``Replicate()`` by default, or parts along an axis, ``Shard(dim)``, which are joined.
    output_layouts
        How outputs are wanted: ``Shard(-1)``, each process its own, by default; ``Replicate()`` joins them.
    use_local_output
        Must be True: outputs are plain tensors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> layer = parallelize_module(lg.nn.Linear(3, 4), alone, ColwiseParallel())
    >>> layer(lg.ones(2, 3)).sum().backward()
    >>> layer.bias.grad
    tensor([2., 2., 2., 2.])
    """

    _inputs, _outputs = Replicate(), Shard(-1)
    _kinds: ClassVar[Any] = {
        nn.Linear: (_ColumnwiseLinear, 0, "out_features"),
        nn.Embedding: (_ColumnwiseEmbedding, 1, "embedding_dim"),
    }


class RowwiseParallel(ParallelStyle):
    """Each process computes with some of a layer's inputs, and the outputs are summed.

    It has columns of a `Linear`'s weight, or rows of an `Embedding`.

    Parameters
    ----------
    input_layouts
        How inputs are given: ``Shard(-1)``, each process its own, by default, as a `ColwiseParallel` layer gives them;
        ``Replicate()`` for those that all have, as the indices of an `Embedding`.
    output_layouts
        How outputs are wanted: ``Replicate()`` by default; ``Shard(dim)``: each process gets a part of them.
    use_local_output
        Must be True: outputs are plain tensors.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.distributed.tensor.parallel import RowwiseParallel, parallelize_module
    >>> layer = parallelize_module(lg.nn.Linear(3, 4), alone, RowwiseParallel())
    >>> layer(lg.ones(2, 3)).sum().backward()
    >>> layer.bias.grad
    tensor([2., 2., 2., 2.])
    """

    _inputs, _outputs = Shard(-1), Replicate()
    _kinds: ClassVar[Any] = {
        nn.Linear: (_RowwiseLinear, 1, "in_features"),
        nn.Embedding: (_RowwiseEmbedding, 0, "num_embeddings"),
    }


ColumnwiseParallel = ColwiseParallel


def parallelize_module(
    module: nn.Module,
    device_mesh: Any = None,
    parallelize_plan: ParallelStyle | Mapping[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> nn.Module:
    """Cut layers of a module among the processes of a group, in place.

    Parameters
    ----------
    module
        The module.
    device_mesh
        A process group, or what has ``get_group()``; all processes by default.
    parallelize_plan
        A style for the module itself, or styles by the names of layers in it, in which ``*`` stands for any part of a
        name between dots.
    src_data_rank
        The member of the group whose weights are cut; None: each cuts its own, which are alike.

    Returns
    -------
    Module
        The module.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.communication.groups import alone
    >>> from lucidgrad.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    >>> network = lg.nn.Sequential(lg.nn.Linear(3, 8), lg.nn.GELU(), lg.nn.Linear(8, 3))
    >>> made = parallelize_module(network, alone, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    >>> made is network, network(lg.ones(2, 3)).shape
    (True, (2, 3))
    """
    given = device_mesh.get_group() if hasattr(device_mesh, "get_group") else device_mesh
    group = given if given is groups.alone else groups.resolve(given, "parallelize_module")
    if group is None:
        raise ValueError("parallelize_module: this process is not in the group")
    if parallelize_plan is None:
        warnings.warn("parallelize_module: given no plan, so nothing is cut", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.apply(module, group, src_data_rank)
        return module
    if not isinstance(parallelize_plan, Mapping):
        raise TypeError(
            f"parallelize_module: given a plan of type {type(parallelize_plan).__name__}, expected a style, or styles "
            f"by the names of layers"
        )
    for pattern, style in parallelize_plan.items():
        if not isinstance(style, ParallelStyle):
            raise TypeError(f"parallelize_module: {pattern!r} has a {type(style).__name__}, expected a style")
        found = [part for name, part in module.named_modules() if _matches(name, pattern)]
        if not found:
            warnings.warn(f"parallelize_module: no layer is called {pattern!r}, so nothing is cut for it", stacklevel=2)
        for part in found:
            style.apply(part, group, src_data_rank)
    return module


def _matches(name: str, pattern: str) -> bool:
    words, patterns = name.split("."), pattern.split(".")
    return len(words) == len(patterns) and all(map(fnmatch.fnmatchcase, words, patterns))


_guard(__name__, [name for name in __all__ if name != "ColumnwiseParallel"])
