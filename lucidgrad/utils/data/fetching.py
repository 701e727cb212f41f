"""How a batch is made of a task: a list of indices, an index, or just the wish for the next one."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .collation import default_collate
from .datasets import IterableDataset, _samples


class Exhausted(Exception):
    """An iterable dataset has no more samples."""


class FromIndices:
    """Batches of a dataset that is asked by index."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batched: bool) -> None:
        self.dataset, self.collate, self.batched = dataset, collate, batched
        self.whole = getattr(dataset, "__getbatch__", None) if batched and collate is default_collate else None

    def __call__(self, task: Any) -> Any:
        """The batch of a list of indices, or the sample of an index."""
        if not self.batched:
            return self.collate(self.dataset[task])
        if self.whole is not None and len(task):
            return self.whole(task)
        return self.collate(_samples(self.dataset, task))


class FromStream:
    """Batches of a dataset that is iterated over."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any], batch_size: int | None, drop_last: bool) -> None:
        self.samples: Iterator[Any] = iter(dataset)
        self.collate, self.batch_size, self.drop_last = collate, batch_size, drop_last

    def __call__(self, task: Any) -> Any:
        """The next batch; raises `Exhausted` where there is none."""
        if self.batch_size is None:
            for sample in self.samples:
                return self.collate(sample)
            raise Exhausted
        batch = list(itertools.islice(self.samples, self.batch_size))
        if not batch or (self.drop_last and len(batch) < self.batch_size):
            raise Exhausted
        return self.collate(batch)


def make_fetch(
    dataset: Any, collate: Callable[[Any], Any], batch_size: int | None, drop_last: bool, batched: bool
) -> Any:
    """The function that makes batches of tasks."""
    if isinstance(dataset, IterableDataset):
        return FromStream(dataset, collate, batch_size if batched else None, drop_last)
    return FromIndices(dataset, collate, batched)
