"""The same with tensors on CUDA, by NCCL: a few of the checks, and those that only make sense there.

They run in the emulated device's strictest mode: work runs only when something waits for it, memory begins as rubbish.
"""

import functools
from types import SimpleNamespace

import checks_checkpoint
import checks_sharding
import checks_sharding_programs
from checks_sharding import _batch, _loss, _made, _same, _sharded
from thoroughness import NIGHTLY, cases

import lucidgrad as lg
from lucidgrad import distributed as dist
from lucidgrad.backends import cudasim
from lucidgrad.distributed.fsdp import units

EMULATED = cudasim.is_installed()  # where work can be kept from running


def _strictly(check):
    @functools.wraps(check)
    def run():
        if not EMULATED:
            check()
            return
        lg.cuda.empty_cache()  # what was kept is no rubbish
        with cudasim.lazy(), cudasim.poison():
            check()
            lg.cuda.synchronize()

    return run


@_strictly
def check_engine():
    assert "cuda:nccl" in dist.get_backend()
    assert all(p.device.type == "cuda" for p in _sharded(_made()).parameters())


@_strictly
def check_steps():
    checks_sharding._trained("AdamW", 0.05, steps=cases(3, 20))


@_strictly
def check_zero():
    checks_sharding._zero_trained(lg.optim.AdamW, steps=cases(2, 20), lr=0.01)


check_order = _strictly(checks_sharding.check_order)
check_checkpointing = _strictly(checks_sharding.check_checkpointing)
if NIGHTLY:  # kernels of programs take their time to compile
    check_compiled = _strictly(checks_sharding_programs.check_compiled)


@_strictly
def check_resumption():
    checks_checkpoint._resumes("sharded")


@_strictly
def check_removed_waits():
    """Without one of the waits between streams results are wrong, where work runs only when something waits for it."""
    plain = _made()
    everything, mine = _batch(0)
    _loss(plain, *everything).backward()
    for name in ("all_gather_into_tensor", "reduce_scatter_tensor"):
        model, real, running = _sharded(_made()), getattr(units, name), []

        def without(*args, real=real, running=running, **kwargs):
            running.append(real(*args, **kwargs))
            return SimpleNamespace(wait=lambda: None)

        setattr(units, name, without)
        try:
            _loss(model, *mine).backward()
            wrong = [p.grad.clone() for p in model.parameters() if p.size]
        finally:
            setattr(units, name, real)
            for work in running:
                work.wait()
        model.zero_grad()
        _loss(model, *mine).backward()
        _same(model, plain)
        right = [p.grad for p in model.parameters() if p.size]
        found = lg.asarray([all(bool(lg.allclose(a, b)) for a, b in zip(wrong, right, strict=True))])
        dist.all_reduce(found, op=dist.ReduceOp.MIN)  # where one is slow, another one's waiting may help it
        assert not found.item() or not EMULATED, name
