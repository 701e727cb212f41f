"""A module on several devices of one process (`DataParallel`), or in several processes (`DistributedDataParallel`)."""

from lucidgrad.refusals import guard as _guard

from .distributed import DistributedDataParallel
from .replication import DataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


_guard(__name__, __all__)
