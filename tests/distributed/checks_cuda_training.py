"""Data parallel training on CUDA: gradients travel on a stream of their own while backward runs on others."""

import contextlib

import numpy as np
from checks_ddp import close, data, loss_of, mine, mlp, whole
from checks_nccl import _everywhere, _without

import lucidgrad as lg
from bench import distributed as bench
from lucidgrad import cudasim, distributed as dist, nn
from lucidgrad.backends.communication import nccl
from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from lucidgrad.nn.parallel import DistributedDataParallel


def _modes():
    """Work that runs at once, and work that runs only when something waits for it."""
    yield contextlib.nullcontext()
    if cudasim.is_installed():
        yield cudasim.lazy()


def _backward(model, x, y):
    model.zero_grad()
    loss_of(model, x, y).backward()
    return [p.grad for p in model.parameters()]


def check_gradients_are_those_of_the_whole_batch():
    alone = mlp()
    for options in ({}, {"bucket_cap_mb": 0.001, "gradient_as_bucket_view": True}):
        for mode in _modes():
            model = DistributedDataParallel(mlp().cuda(), device_ids=["cuda"], **options)
            with mode:
                for step in range(2):
                    x, y = data(mlp, step)
                    found = _backward(model, mine(x), mine(y).cuda())  # inputs are moved there
                    for p, q in zip(_backward(alone, x, y), found):
                        close(p, q.cpu())


def check_another_stream():
    """Backward on a stream that the user chose: what travels waits for it, and it waits for what has travelled."""
    expected = _backward(mlp(), *data(mlp, 0))
    for mode in _modes():
        model, stream = DistributedDataParallel(mlp().cuda(), bucket_cap_mb=0.001), lg.cuda.Stream()
        x, y = (mine(v).cuda() for v in data(mlp, 0))
        lg.cuda.synchronize()
        with mode:
            with lg.cuda.stream(stream):
                doubled = [g * 2 for g in _backward(model, x, y)]
            stream.synchronize()
            for p, q in zip(expected, doubled):
                close(p * 2, q.cpu())


def _gradients_are_right(views):
    """Whether they are in every process, nothing having run before the host asks."""
    model = DistributedDataParallel(mlp().cuda(), bucket_cap_mb=0.001, gradient_as_bucket_view=views)
    x, y = (mine(v).cuda() for v in data(mlp, 0))
    _backward(model, x, y)  # kernels are compiled, and the order of buckets is known
    lg.cuda.synchronize()
    dist.barrier()
    with cudasim.lazy():
        found = [g.cpu().numpy() for g in _backward(model, x, y)]
    dist.barrier()
    expected = [g.numpy() for g in _backward(mlp(), *data(mlp, 0))]
    return _everywhere(all(np.allclose(a, b, 1e-9, 1e-12) for a, b in zip(expected, found)))


def check_without_a_wait_gradients_are_wrong():
    """Buckets are filled before they travel, and have travelled before anybody sees them."""
    for views in (False, True) if cudasim.is_installed() else ():
        assert _gradients_are_right(views)
        for owner, name in ((nccl.Line, "follow"), (nccl.Running, "wait")):
            with _without(owner, name):
                assert not _gradients_are_right(views), name


def check_hooks_and_gradients_of_gradients():
    x, y = data(mlp, 0)
    expected = _backward(mlp(), x, y)
    for mode in _modes():
        model = DistributedDataParallel(mlp().cuda())
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
        with mode:
            for p, q in zip(expected, _backward(model, mine(x).cuda(), mine(y).cuda())):
                close(p, q.cpu(), 2e-3)
    found = []
    for m, part in ((mlp(), whole), (DistributedDataParallel(mlp().cuda()), lambda v: mine(v).cuda())):
        loss_of(m, part(x), part(y)).backward(create_graph=True)
        gradients = [p.grad for p in m.parameters()]
        m.zero_grad()
        sum((g**2).sum() for g in gradients).backward()
        found.append([p.grad.cpu() for p in m.parameters()])
    for p, q in zip(*found):
        close(p, q)


def check_graphs():
    """A step of training as one CUDA graph, collectives included: each launch exchanges the gradients of its time."""
    models = [DistributedDataParallel(mlp().cuda(), gradient_as_bucket_view=views) for views in (False, True)]
    for model in models:
        alone = mlp()
        optimizers = [lg.optim.SGD(m.parameters(), lr=0.1, momentum=0.9) for m in (alone, model)]
        x, y = (mine(v).cuda() for v in data(mlp, 0))
        stream = lg.cuda.Stream()

        def step(model=model, optimizer=optimizers[1], x=x, y=y):
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step()

        stream.wait_stream(lg.cuda.current_stream())
        with lg.cuda.stream(stream):
            for _ in range(2):
                step()
        lg.cuda.current_stream().wait_stream(stream)
        graph = lg.cuda.CUDAGraph()
        with lg.cuda.graph(graph):
            step()
        for k in range(5):
            given = data(mlp, 0 if k < 2 else k)
            if k >= 2:
                x.copy_(mine(given[0])), y.copy_(mine(given[1]))
                graph.replay()
            optimizers[0].zero_grad()
            loss_of(alone, *given).backward()
            optimizers[0].step()
        for p, q in zip(alone.parameters(), model.parameters()):
            close(p, q.cpu())


def check_nothing_is_launched_in_vain():
    """A step takes what the plain one does, and for each bucket one launch to fill it and one to reduce it."""
    if cudasim.is_installed() and dist.get_world_size() == 2:  # with others means are divided
        found = bench.cuda(None)
        ways = [name for name in found if f"{name}, at least" in found]
        assert [found[name]["calls"] for name in ways] == [1, 2, 1]
        for name in ways:
            assert found[name] == found[f"{name}, at least"], name
            assert found[name]["synchronisations"] == found[name]["host copies"] == 0


def check_statistics_of_all_batches():
    x = lg.tensor(np.random.default_rng(0).normal(size=(12, 6)))
    alone, layer = nn.BatchNorm1d(6).double(), nn.SyncBatchNorm(6).double().cuda()
    for mode in _modes():
        with mode:
            ys = alone(x), layer(mine(x).cuda())
            close(mine(ys[0]), ys[1].cpu())
    close(alone.running_var, layer.running_var.cpu())


def check_an_optimiser_and_a_scaler():
    ends = []
    for m, part in ((mlp(), whole), (DistributedDataParallel(mlp().cuda()), lambda v: mine(v).cuda())):
        optimizer = lg.optim.AdamW(m.parameters(), lr=0.01)
        scaler = lg.GradScaler(next(m.parameters()).device, init_scale=16.0)
        for step in range(3):
            optimizer.zero_grad()
            x, y = data(mlp, step)
            scaler.scale(loss_of(m, part(x), part(y))).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(m.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
        ends.append([p.detach().cpu() for p in m.parameters()])
    for p, q in zip(*ends):
        close(p, q, 1e-6)
    assert dist.get_backend() == "cpu:mpi,cuda:nccl"
