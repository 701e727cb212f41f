"""Where the parts of a tensor are."""

__all__ = ["Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies in the processes of a group: `Replicate` or `Shard`.

    Examples
    --------
    >>> from lucidgrad.distributed.tensor import Placement, Replicate, Shard
    >>> isinstance(Shard(0), Placement), Replicate() == Replicate(), Shard(0) == Shard(-1)
    (True, True, False)
    """

    def is_replicate(self) -> bool:
        """Whether all have the whole."""
        return isinstance(self, Replicate)

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each has a part; along an axis, if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))


class Replicate(Placement):
    """All processes have the whole tensor.

    Examples
    --------
    >>> from lucidgrad.distributed.tensor import Replicate
    >>> Replicate()
    Replicate()
    """

    def __repr__(self) -> str:
        return "Replicate()"


class Shard(Placement):
    """Each process has a part, along an axis, as `chunk` cuts it.

    Examples
    --------
    >>> from lucidgrad.distributed.tensor import Shard
    >>> Shard(-1).dim
    -1
    """

    def __init__(self, dim: int) -> None:
        if type(dim) is not int:
            raise TypeError(f"Shard: given an axis of type {type(dim).__name__}, expected an integer")
        self.dim = dim

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"
