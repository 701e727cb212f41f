"""Samples that several processes share: each has a part of its own."""

import math
from collections.abc import Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.communication import groups

from .samplers import Sampler


class DistributedSampler(Sampler):
    """The part of a dataset's indices that one of several processes visits.

    All processes shuffle alike, from a seed and the number of the epoch, so their parts never overlap. So that all
    have as many, some indices come twice, or with ``drop_last`` some don't come at all. Its state is what the order
    follows from; how far a pass has come, a `DataLoader` knows, whose state goes on within it.

    Parameters
    ----------
    dataset
        What has a length.
    num_replicas
        How many processes there are; by default those of `lucidgrad.distributed`'s group, or this one alone.
    rank
        Which of them this one is, counted from 0; by default its rank in that group.
    shuffle
        Whether the order is a random one, another one in each epoch that `set_epoch` names.
    seed
        What the order follows from, the same in all processes.
    drop_last
        Whether indices that can't be shared evenly are left out.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> parts = [lg.utils.data.DistributedSampler(range(5), 2, rank, shuffle=False) for rank in (0, 1)]
    >>> [list(part) for part in parts]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        connected = groups.is_initialized()
        size, place = (groups.get_world_size(), groups.get_rank()) if connected else (1, 0)
        self.num_replicas, self.rank = size if num_replicas is None else num_replicas, place if rank is None else rank
        for name, given in {"num_replicas": self.num_replicas, "rank": self.rank, "seed": seed}.items():
            if type(given) is not int:
                raise TypeError(f"DistributedSampler: {name} is a {type(given).__name__}, expected an integer")
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"DistributedSampler: given rank={self.rank} of num_replicas={self.num_replicas}, expected a rank from "
                f"0 to {max(self.num_replicas, 1) - 1} and at least one replica"
            )
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0

    @property
    def num_samples(self) -> int:
        """How many indices each process visits."""
        share = len(self.dataset) / self.num_replicas
        return math.floor(share) if self.drop_last else math.ceil(share)

    @property
    def total_size(self) -> int:
        """How many indices all processes visit."""
        return self.num_samples * self.num_replicas

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch begins, before a pass: each has an order of its own."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """What the order follows from: the seed and the number of the epoch."""
        return {"seed": self.seed, "epoch": self.epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the seed and the epoch of a state.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> sampler, other = (lg.utils.data.DistributedSampler(range(9), seed=seed) for seed in (3, 4))
        >>> sampler.set_epoch(2)
        >>> other.load_state_dict(sampler.state_dict())
        >>> list(other) == list(sampler)
        True
        """
        if state_dict.keys() != {"seed", "epoch"}:
            raise ValueError(
                f"DistributedSampler.load_state_dict: given the keys {sorted(state_dict)}, expected ['epoch', 'seed']"
            )
        self.seed, self.epoch = state_dict["seed"], state_dict["epoch"]

    def draw(self) -> int:
        """The number that the order of a pass follows from."""
        return self.seed + self.epoch

    def begin(self, seed: int | None) -> Iterator[int]:
        """A pass whose order follows from a number."""
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            generator = lg.Generator().manual_seed(self.draw() if seed is None else seed)
            order = lg.randperm(count, generator=generator).tolist()
        while 0 < len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples
