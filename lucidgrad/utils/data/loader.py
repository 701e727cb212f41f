"""`DataLoader`: batches of a dataset, in order or shuffled, made here or in other processes."""

import functools
import itertools
import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import GenericAlias
from typing import Any

import lucidgrad as lg
from lucidgrad.core.device import Device

from . import transfer
from .collation import default_collate, default_convert
from .datasets import IterableDataset
from .fetching import Exhausted, make_fetch
from .samplers import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_order, draw_seed
from .sharing import DistributedSampler
from .workers import Pool, raise_again

__all__ = ["DataLoader"]


class DataLoader:
    """Batches of a dataset: each ``for`` loop over it is an epoch.

    The order of an epoch, and the random numbers of its workers, follow from numbers that are drawn when it begins:
    from ``generator``, or else from the CPU's default generator, which `lucidgrad.manual_seed` seeds.

    Parameters
    ----------
    dataset
        Samples by index (`Dataset`, or any object with ``__getitem__`` and ``__len__``), or an `IterableDataset`.
    batch_size
        How many samples make a batch; None: samples come one by one, as they are.
    shuffle
        Visit the samples in a random order, another one in each epoch.
    sampler, batch_sampler
        The order: indices, or lists of indices. They exclude ``shuffle``; the second also ``batch_size``, ``sampler``
        and ``drop_last``.
    num_workers
        How many processes make the batches; 0: they are made here. The order of batches does not depend on it, but
        for ``in_order=False``.
    collate_fn
        What makes a batch of a list of samples; by default `default_collate`.
    pin_memory
        Give batches in page-locked memory, from which copies to a GPU run beside the host.
    drop_last
        Leave out the last batch if it is smaller than the others.
    timeout
        Seconds to wait for a batch of a worker; 0: as long as it takes.
    worker_init_fn
        Called in each worker with its number, once, after it was seeded.
    multiprocessing_context
        How workers are started: ``"fork"``, ``"spawn"``, or a context of `multiprocessing`.
    generator
        Where the random numbers come from.
    prefetch_factor
        How many batches a worker makes ahead; by default 2.
    persistent_workers
        Keep the workers from one epoch to the next.
    pin_memory_device
        Accepted; page-locked memory serves every device.
    in_order
        False: a batch that is ready need not wait for one before it that is not. An epoch then can't be gone on with
        exactly.
    device
        Where batches go. On CUDA the next batch is copied on a side stream while the current one is used.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.arange(5.0)
    >>> loader = lg.utils.data.DataLoader(lg.utils.data.TensorDataset(x, 2 * x), batch_size=2)
    >>> for a, b in loader:
    ...     print(a.tolist(), b.tolist())
    [0.0, 1.0] [0.0, 2.0]
    [2.0, 3.0] [4.0, 6.0]
    [4.0] [8.0]
    """

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        device: Any = None,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self._streams = isinstance(dataset, IterableDataset)
        if not self._streams and not hasattr(dataset, "__getitem__") and not hasattr(dataset, "__getitems__"):
            raise TypeError(
                f"DataLoader: given a {type(dataset).__name__} as dataset, expected one with len() and [i], such as a "
                f"TensorDataset or a list; what can only be iterated over is an IterableDataset"
            )
        if self._streams:
            for name, given in {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}.items():
                if given not in (None, False):
                    raise ValueError(f"DataLoader: {name}={given!r} with an IterableDataset, which has its own order")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: given sampler and shuffle, expected one of them")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last")
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: batch_size=None gives samples one by one, so drop_last has no meaning")
        if not self._streams and sampler is None:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and not self._streams:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]
        elif batch_size is not None and (type(batch_size) is not int or batch_size <= 0):
            raise ValueError(f"DataLoader: batch_size is {batch_size!r}, expected a positive integer or None")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.pin_memory = persistent_workers, pin_memory
        self.pin_memory_device, self.in_order = pin_memory_device, in_order
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self.multiprocessing_context = multiprocessing_context
        self.device = None if device is None else Device(device)
        self._pool: Pool | None = None
        self._state: dict[str, Any] | None = None  # of the latest epoch
        self._resumed: dict[str, Any] | None = None  # what the next epoch begins with

    @property
    def _batched(self) -> bool:
        return self.batch_size is not None or self.batch_sampler is not None

    @property
    def _order(self) -> Any:
        return self.batch_sampler if self.batch_sampler is not None else self.sampler

    def __len__(self) -> int:
        if not self._streams:
            return len(self._order)
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    # -- epochs
    def __iter__(self) -> Iterator[Any]:
        resumed, self._resumed = self._resumed, None
        state = self._begin() if resumed is None else dict(resumed)
        self._state = state
        tasks = self._tasks(state)
        if not self._streams:
            tasks = itertools.islice(tasks, state["batches"], None)
        source: Iterator[Any]
        if self.num_workers:
            source = _FromWorkers(self, self._take_pool(), tasks, state["seed"])
        else:
            source = _MadeHere(make_fetch(self.dataset, *self._parts()), tasks)
        if self._streams:
            source = itertools.islice(source, state["batches"], None)
        return _Epoch(self._placed(source), state, self)

    def _begin(self) -> dict[str, Any]:
        """The numbers that an epoch follows from."""
        seed = draw_seed(self.generator)
        return {"seed": seed, "order": draw_order(self._order), "batches": 0, **self._share()}

    def _share(self) -> dict[str, int]:
        """Among how many processes the samples are shared, if they are."""
        return {"replicas": self.sampler.num_replicas} if isinstance(self.sampler, DistributedSampler) else {}

    def _tasks(self, state: dict[str, Any]) -> Iterator[Any]:
        if self._streams:
            return itertools.repeat(None)
        if state["order"] is None:
            return iter(self._order)
        return self._order.begin(state["order"])

    def _parts(self) -> tuple[Any, ...]:
        return self.collate_fn, self.batch_size, self.drop_last, self._batched

    def _placed(self, source: Iterator[Any]) -> Iterator[Any]:
        if self.device is not None and self.device.type == "cuda":
            return transfer.Ahead(source, lg.core.device.located(self.device))
        if self.pin_memory:
            if lg.cuda.is_available():
                source = map(transfer.pin, source)
            else:
                warnings.warn("DataLoader: pin_memory=True without a CUDA device has no effect", stacklevel=3)
        if self.device is not None:
            return map(functools.partial(transfer.moved, device=self.device), source)
        return source

    def _take_pool(self) -> Pool:
        if self._pool is not None and self._pool.stop.alive:
            return self._pool
        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        pool = Pool(self.num_workers, context, self.dataset, self._parts(), self.worker_init_fn)
        if self.persistent_workers:
            self._pool = pool
        return pool

    # -- going on within an epoch
    def state_dict(self) -> dict[str, Any]:
        """Where the latest epoch stands: how many batches were given, and the numbers that its order follows from.

        Examples
        --------
        >>> import lucidgrad as lg
        >>> loader = lg.utils.data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> batches = iter(loader)
        >>> first, state = next(batches), loader.state_dict()
        >>> again = lg.utils.data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> again.load_state_dict(state)
        >>> [b.tolist() for b in again] == [b.tolist() for b in batches]
        True
        """
        return {} if self._state is None else dict(self._state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Let the next epoch go on where a state says; after an epoch that was over, a new one begins.

        Parameters
        ----------
        state_dict
            What `state_dict` gave. The dataset, the batch size and the sampler must be the same.
        """
        if not state_dict:
            self._resumed = self._state = None
            return
        if not {"seed", "order", "batches"} <= state_dict.keys():
            raise ValueError(f"DataLoader.load_state_dict: given the keys {sorted(state_dict)}, which are not its own")
        random = self._order is not None and isinstance(self._order, Sampler) and not self._streams
        if state_dict["order"] is not None and not random:
            raise ValueError(
                "DataLoader.load_state_dict: the state is that of a shuffling loader, this one has an order"
            )
        before, now = state_dict.get("replicas", 1), self._share().get("replicas", 1)
        if before != now:
            raise ValueError(
                f"DataLoader.load_state_dict: given the state of one of {before} processes, expected {now}: the shares "
                f"of an epoch are others; load the sampler's state and begin the epoch again"
            )
        self._state = dict(state_dict)
        self._resumed = None if state_dict.get("done") else dict(state_dict)


class _Epoch:
    """An iterator over the batches of an epoch, which notes how many were given."""

    def __init__(self, source: Iterator[Any], state: dict[str, Any], loader: DataLoader) -> None:
        self._source, self._state, self._loader = source, state, loader

    def __iter__(self) -> "_Epoch":
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        try:
            batch = next(self._source)
        except StopIteration:
            self._state["done"] = True
            raise
        self._state["batches"] += 1
        return batch


class _MadeHere:
    """The batches that this process makes. One that fails does not end the epoch, just as with workers."""

    def __init__(self, fetch: Callable[[Any], Any], tasks: Iterator[Any]) -> None:
        self._fetch, self._tasks = fetch, tasks

    def __iter__(self) -> "_MadeHere":
        return self

    def __next__(self) -> Any:
        task = next(self._tasks)
        try:
            return self._fetch(task)
        except Exhausted:
            raise StopIteration from None
        except StopIteration as error:  # would look like the end of the epoch
            raise RuntimeError("DataLoader: the dataset raised StopIteration for a sample") from error


class _FromWorkers:
    """The batches that workers make, in the order of the tasks if that is wanted."""

    def __init__(self, loader: DataLoader, pool: Pool, tasks: Iterator[Any], seed: int) -> None:
        self._pool, self._tasks, self._timeout = pool, tasks, loader.timeout
        self._keep, self._in_order = loader.persistent_workers, loader.in_order
        self._epoch = pool.begin(seed)
        self._workers = itertools.cycle(range(len(pool.workers)))
        self._active = set(range(len(pool.workers)))
        self._sent: dict[int, int] = {}  # number of a task -> its worker, in the order of the batches
        self._ready: dict[int, tuple[str, Any]] = {}
        self._numbers = itertools.count()
        for _ in range((loader.prefetch_factor or 2) * len(pool.workers)):
            self._send_next()

    def __iter__(self) -> "_FromWorkers":
        return self

    def _send_next(self) -> None:
        """Give the next task to the next worker that still has samples."""
        if not self._active:
            return
        try:
            task = next(self._tasks)
        except StopIteration:
            self._active.clear()
            return
        worker = next(i for i in self._workers if i in self._active)
        number = next(self._numbers)
        self._sent[number] = worker
        self._pool.send(worker, (self._epoch, number), task)

    def __next__(self) -> Any:
        if self._pool.epoch != self._epoch:
            raise RuntimeError("DataLoader: a later epoch has taken over the workers, which are persistent")
        try:
            while self._sent:
                number = next(iter(self._sent))
                while number not in self._ready:
                    (epoch, found), kind, value = self._pool.receive(self._timeout)
                    if epoch == self._epoch:
                        self._ready[found] = kind, value
                        number = number if self._in_order else found
                        if kind == "exhausted":
                            self._active.discard(self._sent[found])
                kind, value = self._ready.pop(number)
                del self._sent[number]
                self._send_next()
                if kind != "exhausted":
                    break
            else:
                if not self._keep:
                    self._pool.stop()
                raise StopIteration
        except StopIteration:
            raise
        except BaseException:  # an interrupt, a timeout, a dead worker: all of them end
            self._pool.stop()
            raise
        if kind == "error":
            raise_again(value)
        return value


def _check_workers(number: int, timeout: float, prefetch: int | None, persistent: bool, context: Any) -> None:
    if number < 0 or timeout < 0:
        raise ValueError(f"DataLoader: num_workers={number}, timeout={timeout}; expected non-negative numbers")
    if not number:
        for name, given in {
            "prefetch_factor": prefetch is not None,
            "persistent_workers": persistent,
            "timeout": timeout,
            "multiprocessing_context": context is not None,
        }.items():
            if given:
                raise ValueError(f"DataLoader: {name} is for workers, and num_workers is 0")
    elif prefetch is not None and prefetch < 1:
        raise ValueError(f"DataLoader: prefetch_factor is {prefetch}, expected a positive number")
    if isinstance(context, str) and context not in multiprocessing.get_all_start_methods():
        raise ValueError(
            f"DataLoader: multiprocessing_context is {context!r}, expected one of "
            f"{', '.join(multiprocessing.get_all_start_methods())}"
        )
