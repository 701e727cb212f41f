"""Layers that ask other processes: statistics of all batches, and weights that are cut."""

import numpy as np
import pytest
from checks_ddp import close, compiled, same_everywhere

import lucidgrad as lg
from lucidgrad import distributed as dist, nn
from lucidgrad.distributed.tensor import Replicate, Shard
from lucidgrad.distributed.tensor.parallel import (
    ColumnwiseParallel,
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

F = nn.functional


def _rows(sizes, *shape, seed=0):
    """A batch of all processes, and the part of this one."""
    x = np.random.default_rng(seed).normal(2.0, 3.0, size=(sum(sizes), *shape))
    begin = sum(sizes[: dist.get_rank()])
    return lg.tensor(x), lg.tensor(x[begin : begin + sizes[dist.get_rank()]])


def _sizes(kind):
    n = dist.get_world_size()
    return {"even": [3] * n, "uneven": [2 + 3 * r for r in range(n)], "empty": [0, *(4 for _ in range(n - 1))]}[kind]


def check_statistics_of_all_batches():
    for kind in ("even", "uneven", "empty"):
        for shape, momentum in (((4,), 0.1), ((4, 3, 2), None)):
            whole, mine = _rows(_sizes(kind), *shape)
            weights = lg.tensor(np.random.default_rng(1).normal(size=whole.shape))
            begin = sum(_sizes(kind)[: dist.get_rank()])
            own = weights[begin : begin + len(mine)]
            alone, layer = (
                nn.BatchNorm2d(4, momentum=momentum).double(),
                nn.SyncBatchNorm(4, momentum=momentum).double(),
            )
            alone.ranks = (2, 4)
            for m in (alone, layer):
                with lg.no_grad():
                    m.weight.copy_(lg.arange(1.0, 5.0)), m.bias.copy_(lg.arange(4.0))
            xs = whole.requires_grad_(), mine.requires_grad_()
            ys = alone(xs[0]), layer(xs[1])
            close(ys[0][begin : begin + len(mine)], ys[1])
            (ys[0] * weights).sum().backward()
            (ys[1] * own).sum().backward()
            close(xs[0].grad[begin : begin + len(mine)], xs[1].grad)
            for p, q in zip(alone.parameters(), layer.parameters()):
                total = q.grad.clone()
                dist.all_reduce(total)  # what each process knows of it, together
                close(p.grad, total)
            close(alone.running_mean, layer.running_mean), close(alone.running_var, layer.running_var)
            assert layer.num_batches_tracked.item() == 1
            same_everywhere(layer.buffers())
            alone.eval(), layer.eval()
            close(alone(xs[0])[begin : begin + len(mine)], layer(xs[1]))


def check_second_derivatives_of_statistics():
    whole, mine = _rows(_sizes("uneven"), 3)
    begin = sum(_sizes("uneven")[: dist.get_rank()])
    found = []
    for x, layer in ((whole, nn.BatchNorm1d(3).double()), (mine, nn.SyncBatchNorm(3).double())):
        x = x.requires_grad_()
        y = lg.tanh(layer(x)) ** 2
        (g,) = lg.autograd.grad(y.sum(), x, create_graph=True)
        found.append(lg.autograd.grad((g**2).sum(), x)[0])
    close(found[0][begin : begin + len(mine)], found[1], 1e-8)


def check_statistics_of_large_means_and_short_numbers():
    n = dist.get_world_size()
    layer = nn.SyncBatchNorm(1, affine=False)
    x = lg.tensor([[1e4 + dist.get_rank()], [1e4 + dist.get_rank() + n]])
    rows = np.arange(2 * n) - (2 * n - 1) / 2
    expected = rows / np.sqrt((rows**2).mean() + 1e-5)
    found = layer(x).numpy().reshape(-1)
    np.testing.assert_allclose(found, expected[[dist.get_rank(), dist.get_rank() + n]], rtol=2e-3)
    half = nn.SyncBatchNorm(2).half()
    y = half(lg.full((3, 2), 30.0, dtype=lg.float16) * (dist.get_rank() + 1))
    assert y.dtype == lg.float16 and lg.isfinite(y).all()


def check_one_process_of_a_group_normalises_alone():
    groups = [dist.new_group([r]) for r in range(dist.get_world_size())]
    layer = nn.SyncBatchNorm(3, process_group=groups[dist.get_rank()]).double()
    _, mine = _rows(_sizes("uneven"), 3)
    close(layer(mine), nn.BatchNorm1d(3).double()(mine))


# -- weights that are cut ----------------------------------------------------------------------------
class Feed(nn.Module):
    """Tokens, a wide layer between two narrow ones, and scores."""

    def __init__(self, rows=10, width=6, inner=12):
        super().__init__()
        self.tokens = nn.Embedding(rows, width)
        self.up, self.down, self.norm = nn.Linear(width, inner), nn.Linear(inner, width), nn.LayerNorm(width)
        self.head = nn.Linear(width, rows, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens)
        return self.head(self.norm(x + self.down(F.gelu(self.up(x)))))


def _feed(**sizes):
    lg.manual_seed(2 + 100 * dist.get_rank())  # the first process's weights count
    return Feed(**sizes).double()


def _gathered(part, axis, length):
    n = dist.get_world_size()
    sizes = [max(min(-(-length // n), length - k * -(-length // n)), 0) for k in range(n)]
    padded = np.zeros([sizes[0] if a == axis else s for a, s in enumerate(part.shape)])
    padded[tuple(slice(0, sizes[dist.get_rank()]) if a == axis else slice(None) for a in range(part.ndim))] = (
        part.numpy()
    )
    parts = [lg.empty(padded.shape, dtype=lg.float64) for _ in range(n)]
    dist.all_gather(parts, lg.tensor(padded))
    return np.concatenate([np.take(p.numpy(), range(size), axis) for p, size in zip(parts, sizes)], axis)


def check_cut_layers_compute_what_whole_ones_do():
    plans = [
        ({"up": ColwiseParallel(), "down": RowwiseParallel()}, {"up.weight": 0, "up.bias": 0, "down.weight": 1}),
        (
            {
                "tokens": ColumnwiseParallel(output_layouts=Replicate()),
                "head": ColwiseParallel(output_layouts=Replicate()),
            },
            {"tokens.weight": 1, "head.weight": 0},
        ),
        (
            {"tokens": RowwiseParallel(input_layouts=Replicate()), "head": RowwiseParallel(input_layouts=Replicate())},
            {"tokens.weight": 0, "head.weight": 1},
        ),
        (
            {"up": ColwiseParallel(output_layouts=Replicate())},
            {"up.weight": 0, "up.bias": 0},
        ),
    ]
    for sizes in ({}, {"rows": 7, "width": 5, "inner": 9}):  # the second can't be cut evenly
        rng = np.random.default_rng(0)
        tokens = lg.tensor(rng.integers(0, sizes.get("rows", 10), (2, 4)))
        for plan, axes in plans:
            alone = _feed(**sizes)
            for p in alone.parameters():
                with lg.no_grad():
                    dist.broadcast(p, 0)
            model = _feed(**sizes)
            with lg.no_grad():
                for name in ("tokens", "up", "down", "norm", "head"):
                    if name not in plan:
                        for p, q in zip(getattr(model, name).parameters(), getattr(alone, name).parameters()):
                            p.copy_(q)
            assert parallelize_module(model, None, plan) is model
            ys = alone(tokens), model(tokens)
            close(*ys)
            for y in ys:
                F.cross_entropy(y.reshape(-1, y.shape[-1]), tokens.reshape(-1)).backward()
            for (name, p), q in zip(alone.named_parameters(), model.parameters(), strict=True):
                if name in axes:
                    assert q.size < p.size
                    found = _gathered(q.grad, axes[name], p.shape[axes[name]])
                else:
                    found = q.grad.numpy()
                    same_everywhere([q.grad])
                np.testing.assert_allclose(found, p.grad.numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


def check_sequences_that_are_cut():
    """Activations between layers may be parts of another axis than the layers'."""
    n = dist.get_world_size()
    lg.manual_seed(0)
    alone = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)).double()
    lg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)).double()
    plan = {"0": ColwiseParallel(input_layouts=Shard(1)), "2": RowwiseParallel(output_layouts=Shard(1))}
    parallelize_module(model, dist.group.WORLD, plan)
    x = lg.tensor(np.random.default_rng(0).normal(size=(2, 3 * n, 4)))
    mine = lg.chunk(x, n, 1)[dist.get_rank()].clone().requires_grad_()
    whole = x.requires_grad_()
    ys = alone(whole), model(mine)
    close(lg.chunk(ys[0], n, 1)[dist.get_rank()], ys[1])
    for y in ys:
        (y**3).sum().backward()
    close(lg.chunk(whole.grad, n, 1)[dist.get_rank()], mine.grad)
    close(alone[2].bias.grad, model[2].bias.grad)
    close(lg.chunk(alone[0].weight.grad, n, 0)[dist.get_rank()], model[0].weight.grad)
    last = parallelize_module(nn.Linear(4, 2 * n).double(), None, RowwiseParallel(
        input_layouts=Replicate(), output_layouts=Shard(-1)))  # fmt: skip
    assert last(whole).shape == (2, 3 * n, 2)


def check_second_derivatives_of_cut_layers():
    lg.manual_seed(0)
    found = []
    x = lg.tensor(np.random.default_rng(0).normal(size=(3, 4)), requires_grad=True)
    for cut in (False, True):
        lg.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)).double()
        if cut:
            parallelize_module(model, None, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        (g,) = lg.autograd.grad((model(x) ** 2).sum(), x, create_graph=True)
        found.append((g, lg.autograd.grad((g**2).sum(), x)[0]))
        tangent = lg.func.jvp(model, (x.detach(),), (lg.ones(3, 4, dtype=lg.float64),))[1]
        found[-1] += (tangent, lg.func.vmap(model)(x.detach()))
    for a, b in zip(*found):
        close(a, b)


def check_programs_of_cut_layers():
    lg.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)).double()
    parallelize_module(model, None, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    called = compiled(model)
    x = lg.ones(3, 4, dtype=lg.float64, requires_grad=True)
    for _ in range(3):
        ys = called(x), model(x)
        close(*ys)
        gs = [lg.autograd.grad((y**2).sum(), [x, *model.parameters()]) for y in ys]
        for a, b in zip(*gs):
            close(a, b)
    assert called.cache_info().hits == 2


def check_what_is_refused():
    with pytest.raises(TypeError, match="given a Tanh, expected Linear or Embedding"):
        parallelize_module(nn.Tanh(), None, ColwiseParallel())
    with pytest.raises(TypeError, match="given a plan of type list"):
        parallelize_module(nn.Linear(2, 2), None, [ColwiseParallel()])
    with pytest.raises(TypeError, match="input_layouts of type int"):
        ColwiseParallel(input_layouts=0)
    with pytest.raises(ValueError, match="use_local_output=False"):
        RowwiseParallel(use_local_output=False)
    with pytest.warns(UserWarning, match="no layer is called 'a.b'"):
        parallelize_module(nn.Linear(2, 2), None, {"a.b": ColwiseParallel()})
    layer = parallelize_module(nn.Linear(2, 4), None, ColwiseParallel())
    assert f"of 4, process {dist.get_rank()} of {dist.get_world_size()}" in repr(layer) and isinstance(layer, nn.Linear)
    with pytest.raises(TypeError, match="not cut yet"):
        parallelize_module(layer, None, ColwiseParallel())
    network = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2)))
    parallelize_module(network, None, {"*.0": ColwiseParallel(output_layouts=Replicate())})
    assert network(lg.ones(1, 4)).shape == (1, 4) and network[1][0].weight.size < 16
