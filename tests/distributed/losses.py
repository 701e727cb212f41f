"""A program on CUDA that goes wrong in a way that its argument says; one process of two is to blame."""

import datetime
import os
import sys
import time

import lucidgrad as lg
from lucidgrad import cudasim, distributed as dist


def main(way, backend=None):
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=600))  # others may be busy
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
        time.sleep(600)  # it does not call what process 0 calls
    else:
        _slow_to_end()
        if way == "silent":
            _nobody_comes()
        group.engine("cuda").timeout = 3
        dist.all_reduce(x, group=group)
        print(x.tolist())
        time.sleep(600)


def _nobody_comes():
    """To be connected takes all members of a group; NCCL itself would wait for ever."""
    engine = dist.group.WORLD.engine("cuda")
    lonely = type(engine)(engine._meeting, "two who never meet", 0, 2, timeout=0.5)
    try:
        lonely.all_reduce(lg.ones(5, device="cuda").array, "sum")
    except RuntimeError as error:
        print(error, flush=True)


def _slow_to_end():
    """Process 1 sees that communicators were aborted long before this one ends by its own error."""
    from lucidgrad.backends.communication import nccl

    abort = nccl.Watchdog.abort

    def slowly(self):
        abort(self)
        time.sleep(1)

    nccl.Watchdog.abort = slowly


def before_it(port):
    """The same processes meet without MPI, and part: only variables as torchrun sets them tell of each other."""
    kept = {name: os.environ.pop(name) for name in tuple(os.environ) if name.startswith(("PMI", "MPI", "HYD"))}
    own = {"RANK": kept["PMI_RANK"], "LOCAL_RANK": kept["PMI_RANK"], "WORLD_SIZE": "2"}
    os.environ.update(own, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    main("fine", "nccl")
    for name in (*own, "MASTER_ADDR", "MASTER_PORT"):
        del os.environ[name]
    os.environ.update(kept)


if __name__ == "__main__":
    port = os.environ.pop("MASTER_PORT", None) if "PMI_RANK" in os.environ else None
    if port is not None and cudasim.is_installed():  # without MPI each would use the same GPU
        before_it(port)
    main(*sys.argv[1:])
