"""How a tensor lies in several processes: the same in all, or a part in each; layers cut that way are in `parallel`."""

from lucidgrad.refusals import guard as _guard

from . import parallel
from .placements import Placement, Replicate, Shard

__all__ = ["Placement", "Replicate", "Shard", "parallel"]

_guard(__name__, ["Placement", "Replicate", "Shard"])
