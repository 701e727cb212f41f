"""Data parallel training: any number of processes computes what one does on the whole batch."""

import contextlib
import copy
import functools
import gc
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import distributed as dist, nn
from lucidgrad.communication import collectives
from lucidgrad.distributed.algorithms.ddp_comm_hooks import default_hooks
from lucidgrad.nn.parallel import DistributedDataParallel

F = nn.functional
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


# -- what the checks share -----------------------------------------------------------------------
def mine(x):
    """This process's rows."""
    return lg.chunk(x, dist.get_world_size(), 0)[dist.get_rank()]


def close(a, b, rtol=1e-10):
    """Raise unless two tensors agree."""
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=rtol)


def same_everywhere(tensors):
    """Raise unless tensors have the same bits in all processes."""
    for x in tensors:
        other = x.detach().clone()
        dist.broadcast(other, 0)
        assert np.array_equal(other.numpy(), x.detach().numpy(), equal_nan=True)


def pair(make, **options):
    """A module in one process, and a copy of it in all, which begins as another one."""
    alone, other = make(), nn.SyncBatchNorm.convert_sync_batchnorm(make())
    if dist.get_rank():
        with lg.no_grad():
            for p in other.parameters():
                p.add_(1.0)
    return alone, DistributedDataParallel(other, **options)


def mlp():
    lg.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 3)).double()


def cnn():
    lg.manual_seed(4)
    layers = (
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3, stride=2),
        nn.BatchNorm2d(4),
        nn.Tanh(),
    )
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(36, 3)).double()


def gpt():
    """The example's, smaller."""
    sys.path.insert(0, str(EXAMPLES))
    import gpt as example

    example.CONTEXT, example.WIDTH, example.HEADS, example.BLOCKS = 8, 16, 2, 2
    lg.manual_seed(5)
    return example.GPT(11).double()


def data(kind, seed, rows=24):
    """A batch, and what is wanted of it."""
    rng = np.random.default_rng(seed)
    if kind is gpt:
        text = rng.integers(0, 11, (rows, 9))
        return lg.tensor(text[:, :-1]), lg.tensor(text[:, 1:])
    shape = (6,) if kind is mlp else (1, 9, 9)
    return lg.tensor(rng.normal(size=(rows, *shape))), lg.tensor(rng.integers(0, 3, rows))


def loss_of(model, x, y):
    """The mean over the rows."""
    scores = model(x)
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))


def train(kind, model, optimizer, part, steps=6, clip=None, pieces=1, scaler=None, autocast=None):
    """Some steps on parts of the same batches."""
    for step in range(steps):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        x, y = data(kind, step)
        xs, ys = (part(v) for v in (x, y))
        for k in range(pieces):
            rows = slice(k * len(xs) // pieces, (k + 1) * len(xs) // pieces)
            waits = k < pieces - 1 and isinstance(model, DistributedDataParallel)
            with model.no_sync() if waits else contextlib.nullcontext():
                with autocast or contextlib.nullcontext():
                    loss = loss_of(model, xs[rows], ys[rows]) / pieces
                (scaler.scale(loss) if scaler else loss).backward()
        if clip:
            if scaler:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()


OPTIMIZERS = {
    "SGD": functools.partial(lg.optim.SGD, lr=0.1, momentum=0.9),
    "AdamW": functools.partial(lg.optim.AdamW, lr=0.01),
}


def whole(x):
    """All rows."""
    return x


def compare(kind, optimizer, options=None, rtol=1e-9, **ways):
    """Train alone and together: the same parameters and buffers to rounding, the same bits everywhere."""
    alone, model = pair(kind, **(options or {}))
    train(kind, alone, OPTIMIZERS[optimizer](alone.parameters()), whole, **ways)
    train(kind, model, OPTIMIZERS[optimizer](model.parameters()), mine, **ways)
    for (name, a), b in zip(alone.state_dict().items(), model.module.state_dict().values(), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=rtol, atol=rtol, err_msg=name)
    same_everywhere(model.module.parameters())
    return model


# -- equal to one process ------------------------------------------------------------------------
def check_gradients_are_those_of_the_whole_batch():
    for options in ({}, {"bucket_cap_mb": 0.001}, {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.001}):
        alone, model = pair(mlp, **options)
        same_everywhere(model.parameters())
        for step in range(3):
            x, y = data(mlp, step)
            for m, part in ((alone, whole), (model, mine)):
                m.zero_grad()
                loss_of(m, part(x), part(y)).backward()
            for p, q in zip(alone.parameters(), model.parameters()):
                close(p.grad, q.grad)
            same_everywhere([p.grad for p in model.parameters()])


def check_mlp_with_sgd():
    compare(mlp, "SGD")


def check_tables_with_row_sparse_gradients():
    """They are dense once they were exchanged: rows of other processes have come, too."""

    def tables():
        lg.manual_seed(6)
        return nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Linear(4, 2)).double()

    for options in ({}, {"gradient_as_bucket_view": True}):
        alone, model = pair(tables, **options)
        optimizers = [
            [lg.optim.SparseAdam([m[0].weight]), lg.optim.Adam(m[1].parameters())] for m in (alone, model.module)
        ]
        for step in range(3):
            x = lg.tensor(np.random.default_rng(step).integers(0, 8, size=(12, 3)))
            for m, part, some in zip((alone, model), (whole, mine), optimizers):
                m.zero_grad()
                (m(part(x)) ** 2).mean().backward()
                for optimizer in some:
                    optimizer.step()
            assert alone[0].weight.grad.is_sparse and not model.module[0].weight.grad.is_sparse
        for p, q in zip(alone.parameters(), model.parameters()):
            close(p.grad.to_dense(), q.grad)
            close(p, q, 1e-9)
    with pytest.raises(RuntimeError, match="row-sparse"):
        dist.all_reduce(alone[0].weight.grad)


def check_mlp_with_adamw_clipping_and_accumulation():
    compare(mlp, "AdamW", clip=0.1, pieces=2)
    compare(mlp, "AdamW", clip=0.1, pieces=2, options={"gradient_as_bucket_view": True, "bucket_cap_mb": 0.002})


def check_cnn_with_sync_batch_norm():
    compare(cnn, "SGD", clip=1.0)
    compare(cnn, "AdamW", options={"bucket_cap_mb": 0.001}, rtol=1e-6)


def check_mlp_with_grad_scaler():
    scalers = [lg.GradScaler("cpu", init_scale=1024.0, growth_interval=2) for _ in range(2)]
    alone, model = pair(mlp)
    for m, part, scaler in zip((alone, model), (whole, mine), scalers):
        train(mlp, m, OPTIMIZERS["SGD"](m.parameters()), part, clip=0.5, scaler=scaler)
    for p, q in zip(alone.parameters(), model.parameters()):
        close(p, q, 1e-6)  # the scale is of float32
    assert scalers[0].get_scale() == scalers[1].get_scale() == 8192.0


def check_gpt_with_adamw():
    compare(gpt, "AdamW", clip=1.0, rtol=1e-6)  # gradients that are rounding errors are divided by their own size


def check_gpt_with_sgd_and_checkpoints():
    alone, model = pair(gpt)
    for block in model.module.blocks:
        block.forward = functools.partial(lg.utils.checkpoint.checkpoint, block.forward)
    for m, part in ((alone, whole), (model, mine)):
        train(gpt, m, OPTIMIZERS["SGD"](m.parameters()), part, steps=3)
    for p, q in zip(alone.parameters(), model.parameters()):
        close(p, q, 1e-9)


def check_runs_repeat_bit_by_bit():
    ends = []
    for _ in range(2):
        _, model = pair(mlp, bucket_cap_mb=0.001)
        train(mlp, model, OPTIMIZERS["AdamW"](model.parameters()), mine, clip=0.1)
        ends.append([p.detach().numpy().tobytes() for p in model.parameters()])
    assert ends[0] == ends[1]


def check_autocast_and_an_overflow_of_one_process():
    model = DistributedDataParallel(mlp().float())
    optimizer, scaler = lg.optim.SGD(model.parameters(), lr=0.1), lg.GradScaler("cpu", init_scale=64.0)
    before = [p.detach().clone() for p in model.parameters()]
    x, y = (mine(v) for v in data(mlp, 0))
    x = x.float()
    if dist.get_rank() == 0:
        x = x * 1e30  # too much for float16
    with lg.autocast("cpu", dtype=lg.float16):
        loss = (model(x) ** 2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 32.0  # everywhere
    for p, q in zip(before, model.parameters()):
        assert (p == q).all()
    with lg.autocast("cpu", dtype=lg.float16):
        loss = loss_of(model, mine(data(mlp, 0)[0]).float(), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert any((p != q).any() for p, q in zip(before, model.parameters()))
    same_everywhere(model.parameters())


# -- when what travels ---------------------------------------------------------------------------
def check_buckets_are_rebuilt_in_the_order_of_the_first_process():
    class Backwards(nn.Module):
        """Uses its layers in another order than that in which it has them."""

        def __init__(self):
            super().__init__()
            self.last, self.first = nn.Linear(8, 3), nn.Linear(6, 8)

        def forward(self, x):
            return self.last(lg.tanh(self.first(x)))

    lg.manual_seed(0)
    model = DistributedDataParallel(Backwards(), bucket_cap_mb_list=[1e-4])
    parameters = list(model.parameters())
    reducer = model._reducer
    assert not model.communication_counts()["rebuilt"] and reducer.buckets[0].numbers[0] == 3
    x, y = data(mlp, 0)
    loss_of(model, mine(x).float(), mine(y)).backward()
    assert model.communication_counts()["rebuilt"]
    order = [n for bucket in reducer.buckets for n in bucket.numbers]
    assert set(order[:2]) == {0, 1} and set(order[2:]) == {2, 3}  # the last layer's gradients come first
    kept = [p.grad.clone() for p in parameters]
    model.zero_grad()
    loss_of(model, mine(x).float(), mine(y)).backward()
    for p, g in zip(parameters, kept):
        assert (p.grad == g).all()


def check_buckets_follow_the_first_process_where_orders_differ():
    """Else what travels together would be gradients of different parameters."""
    alone, model = pair(branches, bucket_cap_mb=1e-4)
    x, arrived = data(mlp, 0)[0], []
    for number, p in enumerate(model.parameters()):
        p.register_post_accumulate_grad_hook(lambda p, number=number: arrived.append(number))
    for step in range(3):
        alone.zero_grad(), model.zero_grad()
        (alone(x, 0, 1, 2) ** 2).mean().backward()
        (model(mine(x), *((0, 1, 2) if dist.get_rank() == 0 else (2, 1, 0))) ** 2).mean().backward()
        for p, q in zip(alone.parameters(), model.parameters()):
            close(p.grad, q.grad)
        if step == 0:
            told = [None] * dist.get_world_size()
            dist.all_gather_object(told, arrived)
            assert told[0] != told[1] and sorted(told[0]) == sorted(told[1])
    assert len(model.communication_counts()["buckets"]) > 2 and model._reducer.order == told[0]


@contextlib.contextmanager
def slow(seconds):
    """Messages take so long after they were started; notes what happens when, and how long was waited."""
    events, real, waited = [], collectives.all_reduce, []

    def all_reduce(tensor, *args, async_op=False, **kwargs):
        work = real(tensor, *args, async_op=async_op, **kwargs)
        if not async_op:
            return work
        begun = time.monotonic()
        events.append(("start", tensor.size))
        wait = work.wait

        def later(*given):
            waited.append(max(begun + seconds - time.monotonic(), 0))
            time.sleep(waited[-1])
            events.append(("end", tensor.size))
            return wait(*given)

        work.wait = later
        return work

    collectives.all_reduce = all_reduce
    try:
        yield events, waited
    finally:
        collectives.all_reduce = real


def check_messages_begin_while_backward_runs():
    lg.manual_seed(0)
    layers = [nn.Linear(16, 16).double() for _ in range(8)]
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb_list=[16 * 17 * 8 / 2**20])
    x = lg.tensor(np.random.default_rng(0).normal(size=(4, 16)))
    model(x).sum().backward()  # the order becomes known
    pause = 0.02
    for layer in layers:  # backward takes its time
        layer.register_full_backward_hook(lambda *_: time.sleep(pause))
    before = model.communication_counts()
    with slow(4 * pause) as (events, waited):
        model(x).sum().backward()
    counts = model.communication_counts()
    assert len(counts["buckets"]) == 8 and counts["started"] - before["started"] == 8
    assert counts["started_early"] - before["started_early"] == 7  # all but the last one
    assert [what for what, _ in events] == ["start"] * 8 + ["end"] * 8
    assert counts["bytes"] - before["bytes"] == sum(counts["buckets"]) == 8 * 16 * 17 * 8
    assert sum(waited) <= 4 * pause + 1e-3  # as long as the last one takes; one after the other they take 8 times that


def check_no_exchange_under_no_sync():
    model = DistributedDataParallel(mlp())
    x, y = data(mlp, 0)
    with model.no_sync():
        loss_of(model, mine(x), mine(y)).backward()
    alone = mlp()
    loss_of(alone, mine(x), mine(y)).backward()
    for p, q in zip(alone.parameters(), model.parameters()):
        close(p.grad, q.grad)
    assert model.communication_counts()["started"] == 0 and model.require_backward_grad_sync


def check_calls_decide_whether_gradients_are_exchanged():
    """What counts is where the module was called, not where backward runs."""
    x, y = data(mlp, 0)
    own, together, alone = mine(x), mine(y), mlp()
    loss_of(alone, own, together).backward()
    whole_batch = mlp()
    loss_of(whole_batch, x, y).backward()
    model = DistributedDataParallel(mlp())

    def call(quiet):
        with model.no_sync() if quiet else contextlib.nullcontext():
            return loss_of(model, own, together)

    def backward(loss, quiet):
        with model.no_sync() if quiet else contextlib.nullcontext():
            loss.backward()

    for called_quietly in (True, False, True, True, False, False):
        for backward_quietly in (False, True):
            model.zero_grad()
            before = model.communication_counts()["passes"]
            backward(call(called_quietly), backward_quietly)
            expected = alone if called_quietly else whole_batch
            assert model.communication_counts()["passes"] - before == (not called_quietly)
            for p, q in zip(expected.parameters(), model.parameters()):
                close(p.grad, q.grad)
    model.zero_grad()
    losses = [call(True), call(True)]  # two calls first, then both backward passes
    for loss in losses:
        backward(loss, False)
    for p, q in zip(alone.parameters(), model.parameters()):
        close(2 * p.grad, q.grad)
    model.zero_grad()
    awaited = call(False)
    call(True)  # whose result is not used
    backward(awaited, False)
    for p, q in zip(whole_batch.parameters(), model.parameters()):
        close(p.grad, q.grad)
    model.eval()
    with lg.no_grad():
        call(False)
    same_everywhere(p.grad for p in model.parameters())


def check_gradients_are_views_of_buckets():
    model = DistributedDataParallel(mlp(), gradient_as_bucket_view=True)
    for step in range(2):
        x, y = data(mlp, step)
        model.zero_grad(set_to_none=step == 0)
        loss_of(model, mine(x), mine(y)).backward()
        for number, p in enumerate(model._reducer.parameters):
            assert p.grad is model._reducer._view(number)
            model._reducer.buckets[model._reducer.places[number][0]].flat.fill_(7.0)
            assert (p.grad == 7).all()


# -- parameters that are not used ----------------------------------------------------------------
class Branches(nn.Module):
    """Uses the parts that it is told to."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(6, 3) for _ in range(3)])

    def forward(self, x, *used):
        return sum(self.parts[k](x) for k in used)


def branches():
    lg.manual_seed(1)
    return Branches().double()


def check_parameters_that_some_or_all_leave_out():
    alone, model = pair(branches, find_unused_parameters=True, bucket_cap_mb=1e-4)
    n, rank = dist.get_world_size(), dist.get_rank()
    x, _ = data(mlp, 0)
    for _ in range(3):
        alone.zero_grad(), model.zero_grad()
        used = (0,) if rank == 0 else (0, 1)  # nobody uses the last part
        (model(mine(x), *used) ** 2).mean().backward()
        for r in range(n):
            rows = lg.chunk(x, n, 0)[r]
            ((alone(rows, *((0,) if r == 0 else (0, 1))) ** 2).mean() / n).backward()
        for p, q in zip(alone.parameters(), model.parameters()):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None:
                close(p.grad, q.grad)
    assert model.module.parts[2].weight.grad is None
    assert model.communication_counts()["started_early"] > 0  # nobody waits for gradients that will not come


def check_a_parameter_without_gradient_is_named():
    model = DistributedDataParallel(branches())
    x, _ = data(mlp, 0)
    with pytest.raises(RuntimeError, match=r"without a gradient of parts\.1\.weight, parts\.1\.bias, .*find_unused"):
        model(mine(x), 0, 2).sum().backward()
    model(mine(x), 0, 1, 2).sum().backward()  # the next one is right again
    expected = lg.tensor(x.numpy().sum(0) / dist.get_world_size())
    model.zero_grad()
    model(mine(x), 0, 1, 2).sum().backward()
    close(model.module.parts[1].weight.grad[0], expected)


def check_static_graphs():
    alone, model = pair(branches, static_graph=True, bucket_cap_mb=1e-4)
    x, _ = data(mlp, 0)
    for _ in range(3):
        alone.zero_grad(), model.zero_grad()
        (alone(x, 0, 2) ** 2).mean().backward()
        (model(mine(x), 0, 2) ** 2).mean().backward()
        for p, q in zip(alone.parameters(), model.parameters()):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None:
                close(p.grad, q.grad)
    assert model.communication_counts()["rebuilt"]
    with pytest.raises(RuntimeError, match=r"gradient of parts\.1\.\w+, which the first backward did not use"):
        model(mine(x), 0, 1, 2).sum().backward()


def check_frozen_parameters_may_come_back():
    alone, model = pair(branches)
    x, _ = data(mlp, 0)
    for frozen in (True, False, True):
        for m, part in ((alone, whole), (model, mine)):
            network = m if m is alone else m.module
            network.parts[1].requires_grad_(not frozen)
            m.zero_grad()
            (m(part(x), 0, 1, 2) ** 2).mean().backward()
        assert (alone.parts[1].weight.grad is None) == frozen
        for p, q in zip(alone.parameters(), model.parameters()):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None:
                close(p.grad, q.grad)


# -- what else ------------------------------------------------------------------------------------
def check_modules_must_be_alike():
    width = 3 + (dist.get_rank() == dist.get_world_size() - 1)
    with pytest.raises(RuntimeError, match=r"process \d.*same module everywhere") as error:
        DistributedDataParallel(nn.Linear(2, width))
    if width == 4:
        assert "weight of shape (4, 2), float32, expected process 0's, weight of shape (3, 2)" in str(error.value)
    with pytest.raises(RuntimeError, match="without a parameter that requires grad"):
        DistributedDataParallel(nn.Tanh())
    with pytest.raises(ValueError, match=r"device_ids=\[0, 1\].*expected one device per process"):
        DistributedDataParallel(nn.Linear(2, 2), device_ids=[0, 1])
    with pytest.raises(ValueError, match="mixed_precision.*autocast"):
        DistributedDataParallel(nn.Linear(2, 2), mixed_precision=object())
    with pytest.raises(ValueError, match="bucket of 0 megabytes"):
        DistributedDataParallel(nn.Linear(2, 2), bucket_cap_mb=0)


def check_buffers_are_those_of_the_first_process():
    x, _ = data(mlp, 0)
    rows = [lg.chunk(x, dist.get_world_size(), 0)[r] for r in range(dist.get_world_size())]
    for told in (True, False):
        alone = nn.BatchNorm1d(6).double()
        model = DistributedDataParallel(nn.BatchNorm1d(6).double(), broadcast_buffers=told)
        for _ in range(3):
            model(mine(x)).sum().backward()
            alone(rows[0 if told else dist.get_rank()])
        model.eval(), alone.eval()
        model(mine(x))  # before a call they are told
        close(model.module.running_mean, alone.running_mean)
        close(model.module.running_var, alone.running_var)
        assert model.module.num_batches_tracked.item() == 3


def check_uneven_inputs():
    n, rank = dist.get_world_size(), dist.get_rank()
    for by_all, options in ((True, {}), (False, {"bucket_cap_mb": 0.001, "find_unused_parameters": True})):
        alone, model = pair(mlp, **options)
        optimizers = [lg.optim.SGD(m.parameters(), lr=0.1) for m in (alone, model)]
        batches = [
            [data(mlp, 10 * r + k, 4) for k in range(2 + 2 * (r + 1 == n) + (n > 2 and r == 0))] for r in range(n)
        ]
        with model.join(divide_by_initial_world_size=by_all):
            for k, (x, y) in enumerate(batches[rank]):
                optimizers[1].zero_grad()
                with model.no_sync() if k == 1 else contextlib.nullcontext():
                    loss_of(model, x, y).backward()
                if k != 1:
                    optimizers[1].step()
        assert model._joining is None and model._reducer.divisor is None
        for k in range(max(map(len, batches))):
            present = [rows[k] for rows in batches if len(rows) > k]
            if k == 1:
                continue  # only within each process, and forgotten
            optimizers[0].zero_grad()
            for x, y in present:
                (loss_of(alone, x, y) / (n if by_all else len(present))).backward()
            optimizers[0].step()
        same_everywhere(model.parameters())
        for p, q in zip(alone.parameters(), model.parameters()):
            close(p, q)


def check_uneven_inputs_may_be_an_error():
    model = DistributedDataParallel(mlp())
    n, rank = dist.get_world_size(), dist.get_rank()

    def uneven():
        with model.join(throw_on_early_termination=True):
            for k in range(1 + (rank > 0)):
                loss_of(model, *data(mlp, k, 4)).backward()

    with pytest.raises(RuntimeError, match=r"processes \[0\] have no inputs any more"):
        uneven()
    with pytest.raises(RuntimeError, match="SyncBatchNorm"), DistributedDataParallel(nn.SyncBatchNorm(3)).join():
        pass
    assert n > 1 and model._joining is None


def check_communication_hooks():
    x, y = data(mlp, 0)
    expected = mlp()
    loss_of(expected, x, y).backward()
    seen = []

    def own(state, bucket):
        assert state == "state" and bucket.buffer().ndim == 1
        assert [g.shape for g in bucket.gradients()] == [p.shape for p in bucket.parameters()]
        seen.append((bucket.index(), bucket.is_last()))
        future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
        return future.then(lambda done: [done.value()[0] / dist.get_world_size()])

    hooks = [("state", own, 1e-12), (None, default_hooks.allreduce_hook, 1e-12)]
    hooks += [(None, default_hooks.fp16_compress_hook, 2e-3), (None, default_hooks.bf16_compress_hook, 2e-2)]
    hooks += [(None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook), 2e-3)]
    hooks += [(None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook), 2e-2)]
    for state, hook, tolerance in hooks:
        model = DistributedDataParallel(mlp(), bucket_cap_mb=0.002)
        model.register_comm_hook(state, hook)
        with pytest.raises(RuntimeError, match="one already"):
            model.register_comm_hook(state, hook)
        loss_of(model, mine(x), mine(y)).backward()
        for p, q in zip(expected.parameters(), model.parameters()):
            close(p.grad, q.grad, tolerance)
            assert tolerance < 1e-10 or (p.grad != q.grad).any()
        same_everywhere([p.grad for p in model.parameters()])
    count = max(index for index, _ in seen) + 1
    assert count > 1 and seen == [(k, k == count - 1) for k in range(count)]
    model = DistributedDataParallel(nn.Linear(6, 3).double())
    model.register_comm_hook(None, lambda state, bucket: lg.distributed.Future(lambda: None))
    with pytest.raises(TypeError, match="hook's future gave NoneType"):
        model(mine(x)).sum().backward()


def check_sixteen_bits_travel():
    model = DistributedDataParallel(nn.Linear(40, 10))
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    sizes = []
    real = collectives.all_to_all_single, collectives.all_gather_into_tensor
    collectives.all_to_all_single = lambda out, x, **kw: (sizes.append((x.dtype, x.size)), real[0](out, x, **kw))[1]
    collectives.all_gather_into_tensor = lambda out, x, **kw: (sizes.append((x.dtype, x.size)), real[1](out, x, **kw))[
        1
    ]
    try:
        model(lg.ones(2, 40)).sum().backward()
    finally:
        collectives.all_to_all_single, collectives.all_gather_into_tensor = real
    share = -(-410 // dist.get_world_size())
    assert sizes == [(lg.float16, share * dist.get_world_size()), (lg.float16, share)]


def check_half_precision_parameters():
    model = DistributedDataParallel(nn.Linear(3, 2).half())
    x = lg.full((2, 3), float(dist.get_rank() + 1), dtype=lg.float16)
    model(x).sum().backward()
    assert model.module.weight.grad.tolist() == [[dist.get_world_size() + 1.0] * 3] * 2


def check_the_wrapper_leaves_nothing_behind():
    module = mlp()
    model = DistributedDataParallel(module)
    ref = weakref.ref(model._reducer)
    x, y = (mine(v) for v in data(mlp, 0))
    loss_of(model, x, y).backward()
    gc.disable()
    try:
        del model
        assert ref() is None
    finally:
        gc.enable()
    module.zero_grad()
    loss_of(module, x, y).backward()  # its own gradients again
    alone = mlp()
    loss_of(alone, x, y).backward()
    for p, q in zip(alone.parameters(), module.parameters()):
        close(p.grad, q.grad)
    assert copy.deepcopy(module)[0].weight.requires_grad


def check_copies_exchange_their_own_gradients():
    x, y = data(mlp, 0)
    model = DistributedDataParallel(mlp(), gradient_as_bucket_view=True)
    loss_of(model, mine(x), mine(y)).backward()
    other = copy.deepcopy(model)
    average = lg.optim.swa_utils.AveragedModel(model)
    average.update_parameters(model)
    other.zero_grad()
    loss_of(other, mine(x), mine(y)).backward()
    alone = mlp()
    loss_of(alone, x, y).backward()
    for p, q, r, s in zip(alone.parameters(), model.parameters(), other.parameters(), average.parameters()):
        assert q is not r and q.grad is not r.grad and (q == s).all()
        close(p.grad, q.grad), close(p.grad, r.grad)


def check_a_group_of_some():
    n, rank = dist.get_world_size(), dist.get_rank()
    some = dist.new_group([n - 1])  # one alone: as it is
    both = dist.new_group([0, 1])
    if rank == n - 1:
        model = DistributedDataParallel(mlp(), process_group=some)
        assert model._reducer is None
    if rank < 2:
        model = DistributedDataParallel(nn.Linear(2, 1), process_group=both)
        model(lg.full((1, 2), float(rank))).sum().backward()
        assert model.module.weight.grad.tolist() == [[0.5, 0.5]]
    else:
        with pytest.raises(ValueError, match="not in process_group"):
            DistributedDataParallel(nn.Linear(2, 1), process_group=both)


# -- derivatives of derivatives, programs -----------------------------------------------------------
def check_gradients_of_gradients():
    """A penalty on the gradient of the whole batch's loss, with smooth layers."""
    for options in ({}, {"bucket_cap_mb": 0.002}, {"find_unused_parameters": True}):
        alone, model = pair(mlp, **options)
        x, y = data(mlp, 0)
        for m, part in ((alone, whole), (model, mine)):
            loss_of(m, part(x), part(y)).backward(create_graph=True)
            gradients = [p.grad for p in m.parameters()]
            m.zero_grad()
            sum((g**2).sum() for g in gradients).backward()
        for p, q in zip(alone.parameters(), model.parameters()):
            assert not q.grad.requires_grad
            close(p.grad, q.grad)
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    with pytest.raises(RuntimeError, match="communication hook.*create_graph=True"):
        loss_of(model, mine(x), mine(y)).backward(create_graph=True)


compiled = functools.partial(lg.compile, options={"backend": "flat"})  # as programs are where there is no compiler


def _compiled_step(model, optimizer):
    @compiled
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def check_programs():
    """Compiled modules, modules compiled around the exchange, and whole steps of which the exchange is a part."""
    alone = cnn()
    train(cnn, alone, OPTIMIZERS["SGD"](alone.parameters()), whole, steps=4)
    for way in ("inside", "outside", "step"):
        _, model = pair(cnn)
        if way == "inside":
            model = DistributedDataParallel(compiled(model.module))
        optimizer = OPTIMIZERS["SGD"](model.parameters())
        if way == "step":
            step = _compiled_step(model, optimizer)
            for k in range(4):
                step(*(mine(v) for v in data(cnn, k)))
            assert step.cache_info().hits == 2
        else:
            called = compiled(model) if way == "outside" else model
            train(cnn, called, optimizer, mine, steps=4)
            info = (called if way == "outside" else model.module).cache_info()
            assert info.hits >= 1 and info.eager == 0, (way, info)
        for (name, a), b in zip(alone.state_dict().items(), model.state_dict().values(), strict=True):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-9, atol=1e-9, err_msg=f"{way} {name}")


def check_programs_follow_no_sync():
    """A program that was made for one is not used for the other."""
    x, y = (mine(v) for v in data(mlp, 0))
    for of_backward in (True, False):
        model, alone, together = DistributedDataParallel(mlp()), mlp(), DistributedDataParallel(mlp())
        called = compiled(model)
        network = model if of_backward else called

        def run(x, y, network=network):
            loss_of(network, x, y).backward()

        run = compiled(run) if of_backward else run
        loss_of(alone, x, y).backward()
        loss_of(together, x, y).backward()
        for k in range(6):
            model.zero_grad()
            expected = together if k % 2 else alone
            with contextlib.nullcontext() if k % 2 else model.no_sync():
                run(x, y)
            for p, q in zip(expected.parameters(), model.parameters()):
                close(p.grad, q.grad)


def check_programs_refuse_by_name():
    x, _ = data(mlp, 0)
    model = DistributedDataParallel(branches(), find_unused_parameters=True)
    step = compiled(lambda x: model(x, 0, 1).sum().backward())
    with pytest.warns(UserWarning, match="processes tell each other which parameters they use"):
        step(mine(x))
    close(model.module.parts[0].weight.grad[0], lg.tensor(x.numpy().sum(0) / dist.get_world_size()))
    model = DistributedDataParallel(mlp())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    with pytest.raises(RuntimeError, match="compiled backward; compile the module, or the forward"):
        compiled(lambda x: model(x).sum().backward())(mine(x))
