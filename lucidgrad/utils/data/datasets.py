"""Where samples come from: by index, or one after the other."""

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any

import lucidgrad as lg

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]  # fmt: skip


class Dataset:
    """Samples by index. Subclasses define ``__getitem__`` and, for most uses, ``__len__``.

    ``__getitems__(indices)``, where there is one, gives a list of samples at once.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Squares(lg.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, i):
    ...         return i * i
    >>> list(lg.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4, 9])]
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # so that annotations may say what the samples are

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(f"{type(self).__name__} has no __getitem__: a subclass of Dataset defines it")

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Samples one after the other. Subclasses define ``__iter__``.

    Each worker of a `DataLoader` iterates over a copy of its own: `get_worker_info` tells which part is its share.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Count(lg.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter(range(3))
    >>> list(lg.utils.data.DataLoader(Count(), batch_size=2))
    [tensor([0, 1]), tensor([2])]
    """

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{type(self).__name__} has no __iter__: a subclass of IterableDataset defines it")

    def __add__(self, other: Dataset) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """The rows of tensors that have one length: sample i is the tuple of their rows i.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.utils.data.TensorDataset(lg.arange(3), lg.tensor([5, 6, 7]))[1]
    (tensor(1), tensor(6))
    """

    def __init__(self, *tensors: Any) -> None:
        lengths = [len(t) for t in tensors]
        if len(set(lengths)) != 1:
            raise ValueError(f"TensorDataset: given tensors of lengths {lengths}, expected one length")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __getbatch__(self, indices: Sequence[int]) -> list[Any]:
        """What `default_collate` makes of these samples, in one step per tensor."""
        return [t[list(indices)] for t in self.tensors]

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Several datasets side by side: a sample is a tuple of their samples, or a dict for datasets given by name.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.utils.data.StackDataset(x=[1, 2], y="ab")[1]
    {'x': 2, 'y': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: expected datasets by position or by name, and at least one")
        self.datasets: Any = kwargs or args
        parts = list(kwargs.values() or args)
        lengths = [len(part) for part in parts]
        if len(set(lengths)) != 1:
            raise ValueError(f"StackDataset: given datasets of lengths {lengths}, expected one length")
        self._length = lengths[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Many samples, each dataset being asked once where it can."""
        parts = self.datasets.values() if isinstance(self.datasets, dict) else self.datasets
        rows = zip(*(_samples(part, indices) for part in parts), strict=True)
        return [dict(zip(self.datasets, row)) for row in rows] if isinstance(self.datasets, dict) else list(rows)

    def __len__(self) -> int:
        return self._length


def _samples(dataset: Any, indices: Sequence[int]) -> list[Any]:
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):
        return [dataset[i] for i in indices]
    found: list[Any] = many(indices)
    if len(found) != len(indices):
        raise ValueError(f"{type(dataset).__name__}.__getitems__ gave {len(found)} samples for {len(indices)} indices")
    return found


class ConcatDataset(Dataset):
    """Datasets one after the other, by index.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> both = lg.utils.data.ConcatDataset(["ab", "cde"])
    >>> len(both), both[2], both[-1]
    (5, 'c', 'e')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: given no dataset, expected at least one")
        for part in self.datasets:
            if isinstance(part, IterableDataset):
                raise ValueError("ConcatDataset: given an IterableDataset, which has no indices; use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(part) for part in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"ConcatDataset: given the index {index}, there are {len(self)} samples")
        which = bisect.bisect_right(self.cumulative_sizes, i)
        return self.datasets[which][i - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Letters(lg.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter("ab")
    >>> list(lg.utils.data.ChainDataset([Letters(), Letters()]))
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise TypeError(f"ChainDataset: given a {type(part).__name__}, expected IterableDatasets")
            yield from part

    def __len__(self) -> int:
        return sum(len(part) for part in self.datasets)


class Subset(Dataset):
    """Some samples of a dataset, by their indices.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> list(lg.utils.data.Subset("abcde", [4, 0]))
    ['e', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Many samples at once, if the dataset gives them so."""
        return _samples(self.dataset, [self.indices[i] for i in indices])

    @property
    def __getbatch__(self) -> Any:
        whole = getattr(self.dataset, "__getbatch__", None)
        return None if whole is None else lambda indices: whole([self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split a dataset at random into parts of given lengths, or of given fractions of it.

    What fractions leave over goes to the parts in turn.

    Parameters
    ----------
    dataset
        A dataset with a length.
    lengths
        Numbers of samples that sum to the dataset's length, or fractions that sum to 1.
    generator
        Where the order comes from; by default the CPU's default generator.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> parts = lg.utils.data.random_split(range(10), [0.75, 0.25], lg.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [8, 2]
    >>> sorted(list(parts[0]) + list(parts[1])) == list(range(10))
    True
    """
    n = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"random_split: lengths[{i}] is {fraction}, expected a fraction between 0 and 1")
        sizes = [math.floor(n * fraction) for fraction in lengths]
        for i in range(n - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warnings.warn(f"random_split: part {i} is empty", stacklevel=2)
    else:
        sizes = list(lengths)  # type: ignore[arg-type]
    if sum(sizes) != n:
        raise ValueError(f"random_split: given lengths that sum to {sum(sizes)}, the dataset has {n} samples")
    order = lg.randperm(n, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends)]
