"""Parameters, gradients and states that are shared out among processes."""

import gc
import os
import tracemalloc
import weakref

import pytest

import lucidgrad as lg
from lucidgrad import distributed as dist, nn
from lucidgrad.distributed.checkpoint.state_dict import (
    StateDictOptions,
    full_tensor,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from lucidgrad.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard, units
from lucidgrad.shards import shard_of

FLOAT = "float64"
#: Where models are: launches on CUDA say so.
DEVICE = os.environ.get("LUCIDGRAD_TEST_DEVICE", "cpu")


def _rank():
    return dist.get_rank(), dist.get_world_size()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(lg.tanh(self.up(self.norm(x))))


class Model(nn.Module):
    """Blocks between an embedding and a head that share a weight; five rows, which no two or four ranks have alike."""

    def __init__(self, width=5, words=7, depth=3):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, words)
        self.head.weight = self.embedding.weight
        self.scale = nn.Parameter(lg.tensor(1.5))  # without an axis
        self.register_buffer("shift", lg.full((), 0.25))

    def forward(self, words):
        x = self.embedding(words) * self.scale
        for block in self.blocks:
            x = block(x)
        return self.head(x) + self.shift


def _made(seed=0, **options):
    lg.manual_seed(seed)
    return Model(**options).to(FLOAT).to(DEVICE)


def _sharded(model, **options):
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def _batch(step, each=3):
    """The words and their successors of all ranks, and those of this one."""
    rank, n = _rank()
    lg.manual_seed(100 + step)
    words = lg.randint(0, 7, (each * n, 4)).to(DEVICE)
    after = lg.randint(0, 7, (each * n, 4)).to(DEVICE)
    mine = slice(rank * each, (rank + 1) * each)
    return (words, after), (words[mine], after[mine])


def _loss(model, words, after):
    return nn.functional.cross_entropy(model(words).reshape(-1, 7), after.reshape(-1))


def _same(model, plain, tolerance=1e-10):
    """Whether a sharded model has the parameters of a whole one, and its gradients if it has some."""
    for (name, own), (_, whole) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        found = full_tensor(own)
        assert found.shape == whole.shape, name
        assert float(lg.abs(found - whole).max()) <= tolerance, (name, float(lg.abs(found - whole).max()))
        if whole.grad is not None and own.grad is not None:
            shard = shard_of(own)
            rows = whole.grad.reshape(-1, *whole.shape[1:])[shard.start : shard.stop]
            assert own.grad.shape == rows.shape
            assert not rows.size or float(lg.abs(own.grad - rows).max()) <= tolerance, name


OPTIMISERS = {
    "SGD": lambda params: lg.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=0.01),
    "AdamW": lambda params: lg.optim.AdamW(params, lr=0.01),
}


def _trained(name, clip, steps=20):
    plain, model = _made(), _sharded(_made())
    own, whole = OPTIMISERS[name](model.parameters()), OPTIMISERS[name](plain.parameters())
    for step in range(steps):
        everything, mine = _batch(step)
        for optimiser, it, batch in ((whole, plain, everything), (own, model, mine)):
            optimiser.zero_grad()
            _loss(it, *batch).backward()
        if clip:
            norms = [nn.utils.clip_grad_norm_(it.parameters(), clip) for it in (plain, model)]
            assert abs(float(norms[0] - norms[1])) <= 1e-12 * float(norms[0]), norms
        whole.step()
        own.step()
    _same(model, plain)


def check_sgd():
    _trained("SGD", None)


def check_adamw_and_clipping():
    _trained("AdamW", 0.05)


def check_norms():
    plain, model = _made(), _sharded(_made())
    everything, mine = _batch(0)
    _loss(plain, *everything).backward()
    _loss(model, *mine).backward()
    for p in (1.0, 2.0, 3.5, 0.0, float("inf")):
        a, b = (float(nn.utils.clip_grad_norm_(it.parameters(), 1e9, norm_type=p)) for it in (plain, model))
        assert abs(a - b) <= 1e-12 * a, (p, a, b)


def check_other_optimisers():
    for kind in (lg.optim.Adagrad, lg.optim.RMSprop, lg.optim.Lion):
        plain, model = _made(depth=1), _sharded(_made(depth=1))
        own, whole = kind(model.parameters(), lr=1e-3), kind(plain.parameters(), lr=1e-3)
        for step in range(3):
            everything, mine = _batch(step)
            for optimiser, it, batch in ((whole, plain, everything), (own, model, mine)):
                optimiser.zero_grad()
                _loss(it, *batch).backward()
                optimiser.step()
        _same(model, plain)
    for kind in (lg.optim.Adafactor, lg.optim.Muon, lg.optim.LBFGS):
        _raises(ValueError, "cut into rows", kind, [model.blocks[0].up.weight])


def _raises(kind, words, call, *args, **kwargs):
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    assert words in str(caught.value), caught.value


def check_memory():
    """Parameters, gradients and states take at most 1.1 of an Nth, and nothing whole outlives its use."""
    _, n = _rank()

    def made():
        lg.manual_seed(0)
        return nn.Sequential(*(nn.Sequential(nn.Linear(8 * n + 3, 8 * n + 3), nn.Tanh()) for _ in range(3)))

    def size(optimiser):
        params = [p for group in optimiser.param_groups for p in group["params"]]
        states = [x for p in params for x in optimiser.state[p].values() if isinstance(x, lg.Tensor)]
        return sum(x.size * x.itemsize for x in (*params, *(p.grad for p in params), *states))

    model, plain = made(), made()
    watched = []
    for layer in model:
        layer[0].register_forward_hook(lambda module, *_: watched.append(weakref.ref(module.weight.array)))
        fully_shard(layer)
    fully_shard(model)
    x = lg.ones(2, 8 * n + 3)
    sizes = []
    for it in (plain, model):
        optimiser = lg.optim.AdamW(it.parameters())
        loss = it(x).sum()
        if it is model:
            gc.collect()
            assert len(watched) == 3 and not any(ref() is not None for ref in watched)
        loss.backward()
        optimiser.step()
        sizes.append(size(optimiser))
    assert sizes[1] <= 1.1 / n * sizes[0], (sizes, sizes[1] * n / sizes[0])
    assert not units._gathered and all(unit.full is None for unit in model._units(True))


def check_memory_of_backward():
    """At any moment of backward few modules are whole: parameters, gradients, and buffers that travel."""
    _, n = _rank()
    width, depth = 256, 8
    model = nn.Sequential(*(nn.Sequential(nn.Linear(width, width, bias=False), nn.Tanh()) for _ in range(depth)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    whole, peaks = width * width * 4, []

    def look(*_):
        peaks.append(tracemalloc.get_traced_memory()[0])

    x = lg.ones(2, width)
    for step in range(2):  # the order is known in the second
        if step:
            gc.collect()
            tracemalloc.start()
        y = x.clone().requires_grad_()
        for layer in model:
            if step:
                layer.register_full_backward_hook(look)
        model(y).sum().backward()
    tracemalloc.stop()
    # this module's parameters and the next one's, a gradient, and two buffers: of eight modules
    assert len(peaks) == depth and max(peaks) < (depth / n + 6.5) * whole, (max(peaks) / whole, n)


def check_order():
    """From the second call on the next module is on its way before it is needed, and no reduction is waited for."""
    model = _sharded(_made())
    for step in range(3):
        _, mine = _batch(step)
        _loss(model, *mine).backward()
    for i, block in enumerate(model.blocks):
        # in the first call nothing is known of the order; in backward nobody comes before the last module
        early = 2 + (3 if i < 2 else 0)
        assert block._unit.counts == {"gathers": 6, "early": early, "reductions": 3, "deferred": 3}, (
            i,
            block._unit.counts,
        )
    assert model._unit.counts == {"gathers": 3, "early": 0, "reductions": 3, "deferred": 3}


def check_reshard_after_forward():
    for flag, expected in ((True, 2), (False, 1)):
        plain, model = _made(), _sharded(_made(), reshard_after_forward=flag)
        everything, mine = _batch(0)
        _loss(plain, *everything).backward()
        _loss(model, *mine).backward()
        _same(model, plain)
        assert model.blocks[1]._unit.counts["gathers"] == expected
    model.set_reshard_after_forward(True)
    _loss(model, *mine).backward()
    assert model.blocks[1]._unit.counts["gathers"] == 3


def check_shards():
    """Parameters are rows, the last ranks' fewer or none; shared ones stay one; the first rank's values count."""
    rank, _ = _rank()
    model = _made(seed=rank)
    model.shift.fill_(float(rank))
    expected = _made(seed=0)
    found = _sharded(model)
    assert found is model and isinstance(model, (FSDPModule, Model)) and isinstance(model, Model)
    assert model.head.weight is model.embedding.weight and isinstance(model.head.weight, nn.Parameter)
    assert float(model.shift) == 0
    assert len(list(model.parameters())) == len(list(expected.parameters()))
    _same(model, expected, 0)
    rows = sum(p.shape[0] for p in model.parameters())
    total = lg.tensor(float(rows))
    dist.all_reduce(total)
    assert int(total) == sum(p.shape[0] if p.ndim else 1 for p in expected.parameters())
    assert model.scale.shape == ((1,) if rank == 0 else (0,))


def check_early_optimiser():
    model = _made()
    early = lg.optim.SGD(model.parameters(), lr=0.1)
    old = model.scale
    _sharded(model)
    _raises(RuntimeError, "made before", early.step)
    _raises(RuntimeError, "made before", early.zero_grad)
    _raises(RuntimeError, "made before", lg.optim.SGD, [old], lr=0.1)
    _raises(RuntimeError, "made before", nn.utils.clip_grad_norm_, [old], 1.0)
    _raises(RuntimeError, "made before", lambda: old + 1)


def check_frozen():
    plain, model = _made(), _made()
    for it in (plain, model):
        it.blocks[0].requires_grad_(False)
        it.blocks[1].up.weight.requires_grad_(False)
    _sharded(model)
    everything, mine = _batch(0)
    _loss(plain, *everything).backward()
    _loss(model, *mine).backward()
    _same(model, plain)
    for own, whole in zip(model.parameters(), plain.parameters(), strict=True):
        assert own.requires_grad == whole.requires_grad and (own.grad is None) == (whole.grad is None)


class Choice(nn.Module):
    """Of three layers one is used, and one never."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, i):
        return self.layers[i](x)


def check_unused():
    """A parameter that no rank used has no gradient; one that some used has the mean, with zeros of the others."""
    rank, n = _rank()
    lg.manual_seed(0)
    model = fully_shard(Choice().to(FLOAT))
    model(lg.ones(2, 3, dtype=FLOAT), min(rank, 1)).sum().backward()
    for i, used in ((0, 1), (1, n - 1))[:n]:
        rows = model.layers[i].bias.shape[0]
        assert model.layers[i].bias.grad.tolist() == [2.0 * used / n] * rows
    assert model.layers[2].bias.grad is None and model.layers[2].weight.grad is None


def check_accumulation():
    """Passes without synchronisation add up, and the last one reduces once: the gradient of all of them."""
    plain, model = _made(), _sharded(_made())
    for step in range(3):
        everything, mine = _batch(step)
        _loss(plain, *everything).backward()
        model.set_requires_gradient_sync(step == 2)
        _loss(model, *mine).backward()
        assert step == 2 or all(p.grad is None for p in model.parameters())
    _same(model, plain)
    assert model.blocks[0]._unit.counts["reductions"] == 1
    for step in range(2):  # and once more, with reductions: .grad accumulates
        everything, mine = _batch(step)
        _loss(plain, *everything).backward()
        _loss(model, *mine).backward()
    _same(model, plain)
    model.set_requires_gradient_sync(False)
    _loss(model, *mine).backward()
    model.zero_grad()
    model.set_requires_gradient_sync(True)
    plain.zero_grad()
    _loss(plain, *everything).backward()
    _loss(model, *mine).backward()
    _same(model, plain)


class Recomputed(Block):
    def forward(self, x):
        def inner(x):
            return self.down(lg.tanh(self.up(self.norm(x))))

        return x + lg.utils.checkpoint.checkpoint(inner, x)


def check_checkpointing():
    """Checkpoints around sharded modules, and inside of them."""
    for inside in (False, True):
        plain, model = _made(), _made()
        for block in model.blocks:
            if inside:
                block.__class__ = Recomputed
        _sharded(model)
        if not inside:
            for block in model.blocks:
                kind = type(block)
                around = {"__call__": lambda self, x, kind=kind: lg.utils.checkpoint.checkpoint(kind.__call__, self, x)}
                block.__class__ = type(kind.__name__, (kind,), around)
        for step in range(2):
            everything, mine = _batch(step)
            _loss(plain, *everything).backward()
            _loss(model, *mine).backward()
        _same(model, plain)
        assert not units._gathered and all(unit.full is None for unit in model._units(True))
    model = _sharded(_made())  # the whole model in one checkpoint
    plain = _made()
    lg.utils.checkpoint.checkpoint(_loss, model, *mine).backward()
    _loss(plain, *everything).backward()
    _same(model, plain)


def check_second_forward():
    """Two calls before backward, and a graph that is walked twice."""
    plain, model = _made(), _sharded(_made())
    everything, mine = zip(*(_batch(step) for step in range(2)), strict=True)
    for it, batches in ((plain, everything), (model, mine)):
        total = _loss(it, *batches[0]) + 2 * _loss(it, *batches[1])
        total.backward(retain_graph=True)
        total.backward()
    _same(model, plain)


def check_autograd_grad():
    plain, model = _made(), _sharded(_made())
    everything, mine = _batch(0)
    wholes = lg.autograd.grad(_loss(plain, *everything), list(plain.parameters()))
    own = lg.autograd.grad(_loss(model, *mine), list(model.parameters()))
    for whole, part, p in zip(wholes, own, model.parameters(), strict=True):
        shard = shard_of(p)
        rows = whole.reshape(-1, *whole.shape[1:])[shard.start : shard.stop]
        assert not rows.size or float(lg.abs(rows - part).max()) < 1e-12
        assert p.grad is None


def check_second_derivatives():
    """A penalty of the gradients, whose rows each rank has: the mean of all ranks' losses is differentiated."""
    _, n = _rank()
    plain, model = _made(), _sharded(_made())
    everything, mine = _batch(0)
    for it, batch, share in ((plain, everything, n), (model, mine, 1)):
        loss = _loss(it, *batch)
        gradients = lg.autograd.grad(loss, list(it.parameters()), create_graph=True)
        (loss + 0.1 * sum((g * g).sum() for g in gradients) / share).backward()
    _same(model, plain)


def check_hooks():
    """Hooks of shards see their gradients, reduced."""
    plain, model = _made(), _sharded(_made())
    everything, mine = _batch(0)
    _loss(plain, *everything).backward()
    p = model.blocks[0].up.weight
    shard, seen = shard_of(p), []
    p.register_hook(lambda g: seen.append(g.clone()) or 2 * g)
    p.register_post_accumulate_grad_hook(lambda q: seen.append(q.grad.clone()))
    _loss(model, *mine).backward()
    rows = plain.blocks[0].up.weight.grad[shard.start : shard.stop]
    assert float(lg.abs(seen[0] - rows).max()) < 1e-12 and float(lg.abs(seen[1] - 2 * rows).max()) < 1e-12


def check_saved_tensors_hooks():
    """What users pack away is packed, and whole parameters are not among it."""
    plain, model = _made(), _sharded(_made(), reshard_after_forward=True)
    everything, mine = _batch(0)
    _loss(plain, *everything).backward()
    packed = []
    hooks = lg.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t.clone(), lambda t: t)
    for around in (lg.autograd.graph.save_on_cpu(), hooks):
        model.zero_grad()
        with around:
            loss = _loss(model, *mine)
        loss.backward()
        _same(model, plain)
    weight = plain.blocks[0].up.weight.shape
    assert packed and weight not in packed and weight[::-1] not in packed


def check_penalty():
    """A term of the loss that shards enter directly, before the model and after it."""
    plain, model = _made(), _sharded(_made())
    everything, mine = _batch(0)
    for it, batch in ((plain, everything), (model, mine)):
        early = sum((p * p).sum() for p in it.parameters())
        loss = _loss(it, *batch)
        (loss + early + sum((p * p * p).sum() for p in it.parameters())).backward()
    _same(model, plain)


def check_without_gradients():
    plain, model = _made(), _sharded(_made())
    _, mine = _batch(0)
    for _ in range(2):
        with lg.no_grad():
            assert float(lg.abs(plain(mine[0]) - model(mine[0])).max()) < 1e-12
    with lg.inference_mode():
        assert float(lg.abs(plain(mine[0]) - model(mine[0])).max()) < 1e-12
    assert not units._gathered and all(unit.full is None for unit in model._units(True))


def check_errors_inside():
    """After an error in forward everything is in its place, and the next step is right."""
    plain, model = _made(), _sharded(_made())
    everything, mine = _batch(0)
    _raises(Exception, "", model, lg.full((2, 2), 99, dtype="int64"))
    assert not units.active and all(unit.depth == 0 and unit.full is None for unit in model._units(True))
    _loss(plain, *everything).backward()
    _loss(model, *mine).backward()
    _same(model, plain)
    loss = _loss(model, *mine)
    with lg.no_grad():
        for p in model.parameters():
            p.mul_(2)
    _raises(RuntimeError, "modified by an in-place operation", loss.backward)


def check_refusals():
    model = _sharded(_made())
    _raises(ValueError, "sharded before", fully_shard, model)
    _raises(ValueError, "never called", fully_shard, nn.ModuleList([nn.Linear(2, 2)]))
    _raises(TypeError, "expected a module", fully_shard, [1])
    _raises(TypeError, "expected True, False or None", fully_shard, nn.Linear(2, 2), reshard_after_forward=2)
    _raises(ValueError, "no shape yet", fully_shard, nn.LazyLinear(2))
    layer = nn.Linear(2, 2)
    layer(lg.ones(2)).sum().backward()
    _raises(ValueError, "has a gradient", fully_shard, layer)
    import copy

    _raises(TypeError, "other ranks", copy.deepcopy, model)
    if dist.get_world_size() > 1:
        other = nn.Linear(2, 2 + dist.get_rank())
        _raises(ValueError, "expected the same module on all ranks", fully_shard, other)
    _raises(TypeError, "expected a floating-point dtype", MixedPrecisionPolicy, param_dtype="int32")
    model.blocks[0].up.weight = nn.Parameter(lg.ones(2, 2))
    _raises(RuntimeError, "was replaced", model.blocks[0], lg.ones(1, 5, dtype=FLOAT))


def check_unshard():
    plain, model = _made(), _sharded(_made())
    block = model.blocks[0]
    shard = block.up.weight
    assert block.unshard() is None
    assert block.up.weight.shape == plain.blocks[0].up.weight.shape
    everything, mine = _batch(0)
    _loss(model, *mine).backward()
    block.reshard()
    assert block.up.weight is shard
    _loss(plain, *everything).backward()
    _same(model, plain)
    handle = block.unshard(async_op=True)
    handle.wait()
    assert (block.up.weight == plain.blocks[0].up.weight).all()
    block.reshard()
    assert block._unit.full is None and not units._gathered


def check_layers():
    """Layers that look at their parameters in their own ways."""
    rank, n = _rank()
    lg.manual_seed(3)
    x = lg.randn(2 * n, 6, 6, dtype=FLOAT)
    makers = {
        "LSTM": lambda: nn.LSTM(6, 5, num_layers=2, batch_first=True),
        "attention": lambda: nn.TransformerEncoderLayer(6, 2, 7, dropout=0.0, batch_first=True),
        "convolution": lambda: nn.Sequential(
            nn.Conv1d(6, 5, 3, padding=1), nn.GroupNorm(1, 5), nn.ConvTranspose1d(5, 3, 2)
        ),
        "norm of weights": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(6, 3)),
        "bilinear": lambda: nn.Sequential(nn.Linear(6, 3), nn.PReLU(), nn.Flatten(), nn.Linear(18, 1)),
    }
    for name, make in makers.items():
        pair = []
        for _ in range(2):
            lg.manual_seed(4)
            pair.append(make().to(FLOAT))
        plain, model = pair
        fully_shard(model, reshard_after_forward=True)
        for it, batch in ((plain, x), (model, x[2 * rank : 2 * rank + 2])):
            found = it(batch)
            found = found[0] if isinstance(found, tuple) else found
            (found * found).mean().backward()
        assert all(p.grad is not None for p in plain.parameters()), name
        _same(model, plain)


def check_mixed_precision():
    policy = MixedPrecisionPolicy(param_dtype="float32", reduce_dtype="float64", output_dtype="float64")
    plain, model = _made(), _made()
    seen = []
    model.blocks[0].register_forward_pre_hook(lambda module, args: seen.append((args[0].dtype, module.up.weight.dtype)))
    _sharded(model, mp_policy=policy)
    everything, mine = _batch(0)
    _loss(plain, *everything).backward()
    loss = _loss(model, *mine)
    loss.backward()
    assert [str(x) for x in seen[0]] == ["float32", "float32"] and str(loss.dtype) == FLOAT
    assert {str(p.dtype) for p in model.parameters()} == {str(p.grad.dtype) for p in model.parameters()} == {FLOAT}
    _same(model, plain, 1e-5)
    assert any(float(lg.abs(p.grad).max()) > 0 for p in model.parameters() if p.size)
    policy = MixedPrecisionPolicy(param_dtype="bfloat16", reduce_dtype="float32", output_dtype="float32")
    plain, model = _made().to("float32"), _sharded(_made().to("float32"), mp_policy=policy)
    _loss(plain, *everything).backward()
    _loss(model, *mine).backward()
    assert {str(p.grad.dtype) for p in model.parameters()} == {"float32"}
    _same(model, plain, 0.05)


def check_scaler():
    """An overflow in the rows of one rank is everybody's."""
    rank, _ = _rank()
    lg.manual_seed(0)
    model = fully_shard(nn.Linear(4, 4))
    optimiser = lg.optim.SGD(model.parameters(), lr=0.1)
    scaler = lg.amp.GradScaler("cpu", init_scale=4.0)
    before = full_tensor(model.weight)
    scaler.scale(model(lg.ones(2, 4)).sum()).backward()
    with lg.no_grad():
        if rank == 0:
            model.weight.grad[0, 0] = float("inf")
    scaler.step(optimiser)
    scaler.update()
    assert scaler.get_scale() == 2.0 and (full_tensor(model.weight) == before).all()
    optimiser.zero_grad()
    scaler.scale(model(lg.ones(2, 4)).sum()).backward()
    scaler.step(optimiser)
    assert float(lg.abs(full_tensor(model.weight) - (before - 0.2)).max()) < 1e-6


def check_states():
    """Whole and sharded states of models and optimisers go from one kind to the other."""
    rank, n = _rank()
    plain, model = _made(), _sharded(_made(seed=5))
    model.load_state_dict(plain.state_dict())  # whole tensors: each rank takes its rows
    _same(model, plain, 0)
    own, whole = OPTIMISERS["AdamW"](model.parameters()), OPTIMISERS["AdamW"](plain.parameters())
    everything, mine = _batch(0)
    for optimiser, it, batch in ((whole, plain, everything), (own, model, mine)):
        _loss(it, *batch).backward()
        optimiser.step()
    full = StateDictOptions(full_state_dict=True)
    found = get_model_state_dict(model, options=full)
    assert list(found) == list(plain.state_dict())
    for name, value in plain.state_dict().items():
        assert found[name].shape == value.shape and float(lg.abs(found[name] - value).max()) < 1e-12, name
    offloaded = StateDictOptions(full_state_dict=True, cpu_offload=True)
    assert bool(get_model_state_dict(model, options=offloaded)) == (rank == 0)
    states = get_optimizer_state_dict(model, own, options=full)
    assert states["state"]["head.bias"]["exp_avg"].shape == (7,)
    fresh, other = _made(seed=6), _sharded(_made(seed=7))
    set_model_state_dict(fresh, found)
    first = StateDictOptions(broadcast_from_rank0=True)
    set_model_state_dict(other, found if rank == 0 else {}, options=first)
    pairs = []
    for it in (fresh, other):
        optimiser = OPTIMISERS["AdamW"](it.parameters())
        set_optimizer_state_dict(it, optimiser, states)
        pairs.append(optimiser)
    everything, mine = _batch(1)
    for optimiser, it, batch in ((whole, plain, everything), (pairs[0], fresh, everything), (pairs[1], other, mine)):
        optimiser.zero_grad()
        _loss(it, *batch).backward()
        optimiser.step()
    _same(other, plain)
    _same(other, fresh)
    local = model.state_dict()
    other.load_state_dict(local)
    _same(other, fresh, 1) if n > 1 else None
    assert all((a == b).all() for a, b in zip(other.state_dict().values(), local.values(), strict=True))


def check_groups():
    """A module that some ranks share, while others don't know of it."""
    rank, _ = _rank()
    pair = dist.new_group([0])
    if rank == 0:
        layer = fully_shard(nn.Linear(3, 2), mesh=pair)
        layer(lg.ones(2, 3)).sum().backward()
        assert layer.bias.grad.tolist() == [2.0, 2.0]


# -- the state alone -------------------------------------------------------------------------------
def _averaged(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)


def _zero_trained(kind, clip=None, steps=20, **settings):
    plain, model = _made(), _made()
    whole = kind(plain.parameters(), **settings)
    own = lg.optim.ZeroRedundancyOptimizer(model.parameters(), optimizer_class=kind, **settings)
    schedules = [lg.optim.lr_scheduler.StepLR(optimiser, 5, 0.5) for optimiser in (whole, own)]
    for step in range(steps):
        _, mine = _batch(step)
        for optimiser, it, schedule in zip((whole, own), (plain, model), schedules, strict=True):
            optimiser.zero_grad()
            _loss(it, *mine).backward()
            _averaged(it)
            if clip:
                nn.utils.clip_grad_norm_(it.parameters(), clip)
            optimiser.step()
            schedule.step()
    for (name, a), b in zip(plain.named_parameters(), model.parameters(), strict=True):
        assert float(lg.abs(a - b).max()) <= 1e-10, name
    return plain, model, whole, own


def check_zero_sgd():
    _zero_trained(lg.optim.SGD, lr=0.05, momentum=0.9)


def check_zero_adamw():
    _zero_trained(lg.optim.AdamW, clip=0.05, lr=0.01)


def check_zero_matrices():
    plain, model = nn.Linear(6, 6, bias=False), nn.Linear(6, 6, bias=False)
    model.load_state_dict(plain.state_dict())
    dist.broadcast(plain.weight, 0)
    dist.broadcast(model.weight, 0)
    a = lg.optim.Muon(plain.parameters(), lr=0.1)
    b = lg.optim.ZeroRedundancyOptimizer(model.parameters(), lg.optim.Muon, lr=0.1)
    for it, optimiser in ((plain, a), (model, b)):
        it(lg.ones(2, 6)).sum().backward()
        optimiser.step()
    assert float(lg.abs(plain.weight - model.weight).max()) < 1e-6


def check_zero_state():
    """States are shared out by size, come together at one rank, and load into either kind of optimiser."""
    rank, n = _rank()
    plain, model, whole, own = _zero_trained(lg.optim.AdamW, steps=3, lr=0.01)
    sizes = lg.zeros(n)
    sizes[rank] = float(sum(p.size for p in own.state))
    dist.all_reduce(sizes)
    total, largest = sum(p.size for p in model.parameters()), max(p.size for p in model.parameters())
    assert int(sizes.sum()) == total and float(sizes.max()) <= total / n + largest
    _raises(RuntimeError, "consolidate_state_dict", own.state_dict)
    own.consolidate_state_dict(to=n - 1)
    if rank == n - 1:
        found, expected = own.state_dict(), whole.state_dict()
        assert list(found["state"]) == list(expected["state"])
        for i, state in expected["state"].items():
            assert found["state"][i]["step"] == state["step"]
            assert float(lg.abs(found["state"][i]["exp_avg"] - state["exp_avg"]).max()) < 1e-12
        fresh = lg.optim.AdamW(plain.parameters(), lr=1.0)
        fresh.load_state_dict(found)
        assert fresh.param_groups[0]["lr"] == whole.param_groups[0]["lr"]
    else:
        _raises(RuntimeError, "consolidate_state_dict", own.state_dict)
    again = lg.optim.ZeroRedundancyOptimizer(model.parameters(), lg.optim.AdamW, lr=1.0)
    again.load_state_dict(whole.state_dict())
    _, mine = _batch(50)
    for it, optimiser in ((plain, whole), (model, again)):
        optimiser.zero_grad()
        _loss(it, *mine).backward()
        _averaged(it)
        optimiser.step()
    for a, b in zip(plain.parameters(), model.parameters(), strict=True):
        assert float(lg.abs(a - b).max()) <= 1e-10


def check_zero_groups_and_closures():
    plain, model = _made(), _made()
    optimisers = []
    for it, kind in ((plain, None), (model, lg.optim.ZeroRedundancyOptimizer)):
        groups = [
            {"params": it.blocks.parameters(), "lr": 0.1},
            {"params": [it.scale]},
        ]
        if kind is None:
            optimiser = lg.optim.SGD(groups, lr=0.01, momentum=0.5)
        else:
            optimiser = kind(groups, optimizer_class=lg.optim.SGD, lr=0.01, momentum=0.5)
        optimiser.add_param_group({"params": [it.embedding.weight], "lr": 0.3})
        optimisers.append(optimiser)
    for step in range(3):
        _, mine = _batch(step)
        for it, optimiser in zip((plain, model), optimisers, strict=True):

            def closure(it=it, optimiser=optimiser, mine=mine):
                optimiser.zero_grad()
                loss = _loss(it, *mine)
                loss.backward()
                _averaged(it)
                return loss

            assert float(optimiser.step(closure)) > 0
    for a, b in zip(plain.parameters(), model.parameters(), strict=True):
        assert float(lg.abs(a - b).max()) <= 1e-12
    _raises(
        TypeError, "each parameter on its own", lg.optim.ZeroRedundancyOptimizer, plain.parameters(), lg.optim.LBFGS
    )
    _raises(TypeError, "expected the class", lg.optim.ZeroRedundancyOptimizer, plain.parameters(), "SGD")
    _raises(ValueError, "empty parameter list", lg.optim.ZeroRedundancyOptimizer, [], lg.optim.SGD)
    sharded = fully_shard(nn.Linear(2, 2))
    _raises(ValueError, "cut into shards", lg.optim.ZeroRedundancyOptimizer, sharded.parameters(), lg.optim.SGD, lr=0.1)
