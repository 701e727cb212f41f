"""A program on CUDA that goes wrong in a way that its argument says; one process of two is to blame."""

import datetime
import os
import sys
import time

import lucidgrad as lg
from lucidgrad import distributed as dist


def main(way, backend=None):
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=3))
    rank = dist.get_rank()
    lg.cuda.set_device(rank % lg.cuda.device_count())
    x = lg.full((5,), rank + 1.0, device="cuda")
    dist.all_reduce(x)
    assert x.tolist() == [3.0] * 5, x
    group = dist.new_group([0, 1])
    dist.broadcast(x, 1, group=group)
    y = lg.zeros(5, device="cuda")
    works = [dist.isend(x, 1 - rank), dist.irecv(y, 1 - rank)]
    for work in works:
        work.wait()
    assert y.tolist() == x.tolist()
    dist.barrier()
    print(f"{rank} has begun", flush=True)
    if way == "fine":
        dist.destroy_process_group()
        print(f"{rank} is over", flush=True)
    elif rank == 1:
        if way == "killed":
            os.kill(os.getpid(), 9)
        if way == "raises":
            raise ValueError("a mistake of process 1")
        time.sleep(60)  # it does not call what process 0 calls
    else:
        _slow_to_end()
        dist.all_reduce(x)
        print(x.tolist())
        time.sleep(60)


def _slow_to_end():
    """Process 1 sees that communicators were aborted long before this one ends by its own error."""
    from lucidgrad.backends.communication import nccl

    abort = nccl.Watchdog.abort

    def slowly(self):
        abort(self)
        time.sleep(1)

    nccl.Watchdog.abort = slowly


if __name__ == "__main__":
    main(*sys.argv[1:])
