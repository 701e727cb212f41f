"""The order in which samples are visited.

A random sampler draws one number per pass from its generator, and the order follows from that number. So a pass can be
begun again from it (`Sampler.draw`, `Sampler.begin`): this is how a `DataLoader` goes on within an epoch.
"""

from collections.abc import Iterable, Iterator, Sequence
from types import GenericAlias
from typing import Any

import lucidgrad as lg

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]  # fmt: skip


def draw_seed(generator: Any = None) -> int:
    """A number to begin a stream of random numbers from; by default drawn from the CPU's default generator."""
    where = "cpu" if generator is None else generator.device
    return int(lg.randint(0, 2**63 - 1, (), generator=generator, device=where).item())


def draw_order(sampler: Any) -> int | None:
    """The number that the order of a sampler's next pass follows from; None for one that only has ``__iter__``."""
    return sampler.draw() if getattr(type(sampler), "__iter__", None) is Sampler.__iter__ else None


class Sampler:
    """The indices of samples, in the order to visit them. Subclasses define ``__iter__``, and ``__len__`` if they can.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> class Backwards(lg.utils.data.Sampler):
    ...     def __init__(self, data):
    ...         self.data = data
    ...
    ...     def __iter__(self):
    ...         return iter(range(len(self.data) - 1, -1, -1))
    >>> list(lg.utils.data.DataLoader("abc", batch_size=None, sampler=Backwards("abc")))
    ['c', 'b', 'a']
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __iter__(self) -> Iterator[Any]:
        return self.begin(self.draw())

    def draw(self) -> int | None:
        """The number that the order of a pass follows from; None if it does not depend on one."""
        return None

    def begin(self, seed: int | None) -> Iterator[Any]:
        """A pass whose order follows from a number that `draw` gave."""
        raise TypeError(f"{type(self).__name__} has no __iter__: a subclass of Sampler defines it")


class SequentialSampler(Sampler):
    """All indices in order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> list(lg.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def begin(self, seed: int | None) -> Iterator[int]:
        """The indices."""
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class _Random(Sampler):
    generator: Any

    def draw(self) -> int:
        """The number that the order of a pass follows from."""
        return draw_seed(self.generator)

    def begin(self, seed: int | None) -> Iterator[int]:
        """A pass whose order follows from a number that `draw` gave."""
        return self._pass(lg.Generator().manual_seed(self.draw() if seed is None else seed))

    def _pass(self, generator: Any) -> Iterator[int]:
        raise AssertionError  # every random sampler says how


class RandomSampler(_Random):
    """All indices in random order, or numbers drawn from them with replacement.

    Parameters
    ----------
    data_source
        What has a length.
    replacement
        Whether an index may come again before all have come.
    num_samples
        How many indices make a pass; by default the length.
    generator
        Where the order comes from; by default the CPU's default generator.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> order = list(lg.utils.data.RandomSampler(range(5), generator=lg.Generator().manual_seed(1)))
    >>> sorted(order)
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement is {replacement!r}, expected a bool")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if type(self.num_samples) is not int or self.num_samples < 0:
            raise ValueError(f"RandomSampler: num_samples is {num_samples!r}, expected a non-negative integer")

    @property
    def num_samples(self) -> int:
        """How many indices make a pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def _pass(self, generator: Any) -> Iterator[int]:
        n, left = len(self.data_source), self.num_samples
        while left > 0 and n:
            if self.replacement:
                drawn = lg.randint(0, n, (min(left, 4096),), generator=generator).tolist()
            else:
                drawn = lg.randperm(n, generator=generator).tolist()[:left]
            left -= len(drawn)
            yield from drawn

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(_Random):
    """Given indices in random order.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> sorted(lg.utils.data.SubsetRandomSampler([7, 3, 5]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def _pass(self, generator: Any) -> Iterator[int]:
        for i in lg.randperm(len(self.indices), generator=generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(_Random):
    """Indices drawn with the probabilities that weights give, which need not sum to 1.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> list(lg.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        if type(num_samples) is not int or num_samples <= 0:
            raise ValueError(f"WeightedRandomSampler: num_samples is {num_samples!r}, expected a positive integer")
        if not isinstance(replacement, bool):
            raise ValueError(f"WeightedRandomSampler: replacement is {replacement!r}, expected a bool")
        self.weights = lg.as_tensor(weights, dtype=lg.float64)
        if self.weights.ndim != 1:
            raise ValueError(f"WeightedRandomSampler: weights have the shape {self.weights.shape}, expected a vector")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def _pass(self, generator: Any) -> Iterator[int]:
        drawn = lg.multinomial(self.weights.cpu(), self.num_samples, self.replacement, generator=generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of indices that another sampler gives.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> list(lg.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if type(batch_size) is not int or batch_size <= 0:
            raise ValueError(f"BatchSampler: batch_size is {batch_size!r}, expected a positive integer")
        if not isinstance(drop_last, bool):
            raise ValueError(f"BatchSampler: drop_last is {drop_last!r}, expected a bool")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def draw(self) -> int | None:
        """The number that the order of a pass follows from."""
        return draw_order(self.sampler)

    def begin(self, seed: int | None) -> Iterator[list[Any]]:
        """A pass whose order follows from a number that `draw` gave."""
        return self._batches(iter(self.sampler) if seed is None else self.sampler.begin(seed))  # type: ignore[attr-defined]

    def _batches(self, indices: Iterator[Any]) -> Iterator[list[Any]]:
        batch = []
        for i in indices:
            batch.append(i)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
