"""Sharded modules and programs: gathers and reductions are equations."""

from checks_sharding import _batch, _loss, _made, _raises, _same, _sharded

import lucidgrad as lg
from lucidgrad.distributed.fsdp import MixedPrecisionPolicy, units


def check_compiled():
    """Programs inside of sharded modules, programs of them, and programs of whole steps."""
    steps = 4
    plain = _made()
    whole = lg.optim.AdamW(plain.parameters(), lr=0.01)
    for step in range(steps):
        whole.zero_grad()
        _loss(plain, *_batch(step)[0]).backward()
        whole.step()
    for way in ("inside", "outside", "step"):
        model = _made()
        if way == "inside":
            model.blocks[1].compile()
        _sharded(model)
        own = lg.optim.AdamW(model.parameters(), lr=0.01)
        called = lg.compile(model.__call__) if way == "outside" else model

        def train(words, after, called=called, own=own):
            own.zero_grad()
            loss = _loss(called, words, after)
            loss.backward()
            own.step()
            return loss

        train = lg.compile(train) if way == "step" else train
        for step in range(steps):
            train(*_batch(step)[1])
        _same(model, plain)
        program = {"inside": None, "outside": called, "step": train}[way]
        assert program is None or (program.cache_info().hits >= 1 and program.cache_info().eager == 0), way


def check_compiled_with_other_settings():
    """Precision is the policy's in a program, too; accumulation without exchanges is refused by name."""
    policy = MixedPrecisionPolicy(param_dtype=lg.float32, reduce_dtype=lg.float64)
    models = [_sharded(_made(), mp_policy=policy) for _ in range(2)]
    mine, called, sent = _batch(0)[1], lg.compile(models[1].__call__), {}
    names = "all_gather_tensor", "reduce_scatter_tensor"
    real = [getattr(units.functional, name) for name in names]
    for name, function in zip(names, real, strict=True):
        made = lambda x, *args, name=name, function=function, **words: (
            sent.setdefault(name, set()).add(x.dtype),
            function(x, *args, **words),
        )[1]
        setattr(units.functional, name, made)
    try:
        for it in (models[0], called):
            _loss(it, *mine).backward()
    finally:
        for name, function in zip(names, real, strict=True):
            setattr(units.functional, name, function)
    assert sent == {"all_gather_tensor": {lg.float32}, "reduce_scatter_tensor": {lg.float64}}, sent
    assert called.cache_info().eager == 0
    for p, q in zip(*(model.parameters() for model in models), strict=True):
        assert p.grad.dtype == q.grad.dtype == p.dtype and lg.allclose(p.grad, q.grad, rtol=1e-5, atol=1e-7)
    models[1].set_requires_gradient_sync(False)
    _raises(RuntimeError, "accumulates gradients without reducing them", lg.compile(models[1].__call__), mine[0])
