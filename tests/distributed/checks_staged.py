"""CUDA tensors and MPI: through page-locked memory, or from device memory where the library takes it."""

import checks_fuzz

import lucidgrad as lg
from lucidgrad import distributed as dist


def check_backend():
    assert dist.get_backend() == "mpi"
    assert lg.cuda.is_available()


def check_streams():
    """What a stream was given to do before is in what is sent, and what comes after sees what was received."""
    rank, n = dist.get_rank(), dist.get_world_size()
    stream = lg.cuda.Stream()
    x = lg.zeros(1000, device="cuda")
    stream.wait_stream(lg.cuda.current_stream())
    with lg.cuda.stream(stream):
        for _ in range(10):
            x += rank + 1
        work = dist.all_reduce(x, async_op=True)
        work.wait()
        x *= 2
    lg.cuda.current_stream().wait_stream(stream)
    assert (x == 10 * n * (n + 1)).all().item()
    assert x.device.type == "cuda"


def check_parts_on_the_device():
    rank, n = dist.get_rank(), dist.get_world_size()
    x = lg.full((2, 3), float(rank), device="cuda")
    whole = lg.zeros(n, 2, 3, device="cuda")
    dist.all_gather_into_tensor(whole, x)
    assert whole[:, 0, 0].tolist() == list(range(n))
    part = whole[:, :, 1]
    dist.all_reduce(part)
    assert whole[:, 1, 1].tolist() == [n * i for i in range(n)] and whole[:, 1, 0].tolist() == list(range(n))


def check_random_collectives():
    checks_fuzz.check_random_collectives()
