"""Calls before, at and after the beginning of a job of one process: what they say, by name, as JSON."""

import importlib.util
import json
import os
import sys

import lucidgrad as lg
from lucidgrad import distributed as dist
from lucidgrad.distributed.nn import functional as F


def without_mpi4py():
    find, importlib.util.find_spec = importlib.util.find_spec, lambda *given: None
    try:
        assert not dist.is_mpi_available()
        dist.init_process_group()  # a process by itself needs none
        dist.destroy_process_group()
        dist.init_process_group("mpi")
    finally:
        importlib.util.find_spec = find


def world_of_one():
    """A process that no launcher has started is a job by itself."""
    for _ in range(2):
        dist.init_process_group()
        x = lg.ones(3)
        dist.all_reduce(x)
        assert x.tolist() == [1, 1, 1]
        assert (dist.get_rank(), dist.get_world_size(), dist.get_node_local_rank()) == (0, 1, 0)
        y = lg.ones(3, requires_grad=True)
        F.all_gather(y)[0].sum().backward()
        assert y.grad.tolist() == [1, 1, 1]
        dist.barrier()
        dist.destroy_process_group()
        assert not dist.is_initialized()


def main(calls):
    found = {}
    for name, (call, extra) in json.loads(calls).items():
        os.environ.update(extra)
        try:
            exec(call, globals())
            found[name] = "went well"
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        for key in extra:
            del os.environ[key]
        assert not dist.is_initialized()
    print(json.dumps(found))
    dist.init_process_group()
    raise SystemExit(4)


if __name__ == "__main__":
    main(sys.argv[1])
