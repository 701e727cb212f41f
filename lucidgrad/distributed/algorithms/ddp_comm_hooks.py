"""Communication hooks of `DistributedDataParallel`: gradients as they are, or in 16 bits.

A sum of 16-bit numbers is computed in float32 and rounded once. So that no more than 16 bits travel, each process sums
a part of the bucket, which the others send it, and sends the rounded mean back to all.
"""

import sys
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.communication import collectives, groups
from lucidgrad.communication.work import Future
from lucidgrad.nn.parallel.buckets import GradBucket
from lucidgrad.refusals import guard as _guard

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "default_hooks", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip

_Hook = Callable[[Any, GradBucket], Future]


def _group(given: Any) -> Any:
    found = groups.resolve(given, "a communication hook")
    if found is None:
        raise ValueError("a communication hook: this process is not in the group that is the hook's state")
    return found


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Means over the processes of a group (None: all), as without a hook.

    Examples
    --------
    >>> from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model.register_comm_hook(None, default_hooks.allreduce_hook)  # doctest: +SKIP
    """
    group = _group(process_group)
    work: Any = collectives.all_reduce(bucket.buffer(), op=groups.ReduceOp.AVG, group=group, async_op=True)
    return work.get_future().then(lambda future: future.value()[0])


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Means of gradients that are rounded to float16 before they travel: half of the bytes of float32.

    Examples
    --------
    >>> from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model.register_comm_hook(None, default_hooks.fp16_compress_hook)  # doctest: +SKIP
    """
    return _compressed(process_group, bucket, lg.float16)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """The same in bfloat16, which has the range of float32 and fewer digits; needs ml_dtypes.

    Examples
    --------
    >>> from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> model.register_comm_hook(None, default_hooks.bf16_compress_hook)  # doctest: +SKIP
    """
    return _compressed(process_group, bucket, lg.bfloat16)


def _compressed(process_group: Any, bucket: GradBucket, dtype: Any) -> Future:
    group, buffer = _group(process_group), bucket.buffer()
    n, size = group.size(), buffer.size
    share = -(-size // n)  # of a process, all being alike: the last elements may be nobody's
    sent = lg.zeros(n * share, dtype=dtype, device=buffer.device)
    sent[:size].copy_(buffer)
    received = lg.empty(n * share, dtype=dtype, device=buffer.device)
    work: Any = collectives.all_to_all_single(received, sent, group=group, async_op=True)

    def finish(_: Future) -> Any:
        with lg.no_grad():
            mean = lg.mean(received.reshape(n, share).to(lg.float32), 0).to(dtype)
            collectives.all_gather_into_tensor(sent, mean, group=group)
            return buffer.copy_(sent[:size])

    return work.get_future().then(finish)


def fp16_compress_wrapper(hook: _Hook) -> _Hook:
    """A hook that gets gradients rounded to float16, and whose result becomes gradients again.

    Examples
    --------
    >>> from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> wrapped = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
    >>> model.register_comm_hook(None, wrapped)  # doctest: +SKIP
    """
    return _wrapped(hook, lambda: lg.float16)


def bf16_compress_wrapper(hook: _Hook) -> _Hook:
    """A hook that gets gradients rounded to bfloat16, and whose result becomes gradients again; needs ml_dtypes.

    Examples
    --------
    >>> from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> wrapped = default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook)
    >>> model.register_comm_hook(None, wrapped)  # doctest: +SKIP
    """
    return _wrapped(hook, lambda: lg.bfloat16)


def _wrapped(hook: _Hook, dtype: Callable[[], Any]) -> _Hook:
    def around(state: Any, bucket: GradBucket) -> Future:
        full = bucket.buffer()
        bucket.set_buffer(full.to(dtype()))

        def widened(future: Future) -> Any:
            made = future.value()
            return full.copy_(made[0] if isinstance(made, (list, tuple)) else made)

        return hook(state, bucket).then(widened)

    return around


default_hooks = sys.modules[__name__]  # PyTorch's path leads here, too
_guard(__name__, [name for name in __all__ if name != "default_hooks"])
