"""The debug mode: what processes are about to do is compared, and a difference is named, in every process."""

import pytest

import lucidgrad as lg
from lucidgrad import distributed as dist
from lucidgrad.distributed.nn import functional as F


def _differs(call, *words):
    with pytest.raises(dist.DistError, match=".*".join(words)):
        call()
    x = lg.ones(2)  # nothing is out of step
    dist.all_reduce(x)
    assert x.tolist() == [dist.get_world_size()] * 2


def _mine(first, other):
    """Something for process 1, and another thing for all others."""
    return other if dist.get_rank() == 1 else first


def check_shapes():
    _differs(
        lambda: dist.all_reduce(lg.ones(*_mine((3,), (4,)))),
        r"all_reduce: the processes of 'world' are about to do different things at operation \d+: ",
        r"shape: \[3\] in process 0, \[4\] in process 1; all must make the same calls in the same order",
    )
    columns, n = _mine(3, 4), dist.get_world_size()
    _differs(
        lambda: dist.all_gather_into_tensor(lg.ones(2 * n, columns), lg.ones(2, columns)),
        r"shape: \[2, 3\] in process 0, \[2, 4\] in process 1",
    )


def check_dtypes():
    x = lg.ones(3, dtype=_mine(lg.float32, lg.float64))
    _differs(lambda: dist.broadcast(x, 0), "dtype: 'float32' in process 0, 'float64' in process 1")


def check_operations():
    op = _mine(dist.ReduceOp.SUM, dist.ReduceOp.MAX)
    _differs(lambda: dist.all_reduce(lg.ones(3), op), "op: 'SUM' in process 0, 'MAX' in process 1")


def check_sources():
    _differs(lambda: dist.broadcast(lg.ones(3), _mine(0, 1)), "src: 0 in process 0, 1 in process 1")


def check_order():
    calls = [lambda: dist.all_reduce(lg.ones(3)), lambda: dist.broadcast(lg.ones(3), 0)]
    _differs(_mine(*calls), "operation: 'all_reduce' in process 0, 'broadcast' in process 1")
    _differs(_mine(calls[0], dist.barrier), "operation: 'all_reduce' in process 0, 'barrier' in process 1")


def check_parts():
    n = dist.get_world_size()
    x = lg.ones(2 * n)
    sent = [2] * n
    received = _mine([2] * n, [3] + [2] * (n - 1))
    _differs(
        lambda: dist.all_to_all_single(lg.ones(sum(received)), x, received, sent),
        "all_to_all_single: process 0 sends 2 to process 1, which expects 3",
    )


def check_gradients():
    x = lg.ones(3, requires_grad=_mine(True, False))
    _differs(lambda: F.all_reduce(x), "requires_grad: True in process 0, False in process 1")


class Parts(lg.nn.Module):
    """Two layers, of which the second may be left out."""

    def __init__(self):
        super().__init__()
        self.first, self.second = lg.nn.Linear(4, 4), lg.nn.Linear(4, 4)

    def forward(self, x, both):
        y = self.first(x)
        return self.second(y) if both else y


def _sharded():
    model = Parts()
    for part in (model.first, model.second, model):
        dist.fully_shard(part)
    return model


def check_modules_that_some_leave_out():
    """What a sharded module was about to do is said, with the module."""
    words = r"(parameters|gradients) of Linear with weight, bias, module \d+ of fully_shard"
    _differs(lambda: _sharded()(lg.ones(2, 4), _mine(True, False)).sum().backward(), "'all_gather_into_tensor'", words)


def check_losses_that_some_leave_out():
    loss = _sharded()(lg.ones(2, 4), True).sum()
    words = (
        r"'all_gather_into_tensor' in process 0, for parameters of Linear with weight, bias, module \d+ of fully_shard"
    )
    _differs(_mine(loss.backward, dist.barrier), words, "'barrier' in process 1")


def check_modules_in_another_order():
    """They have the same shapes, so that nothing else would tell."""
    model = _sharded()
    _differs(lambda: _mine(model.first, model.second)(lg.ones(2, 4)), "for: 'parameters of Linear", "in process 1")


def check_what_is_alike():
    """All goes well where nothing differs, and as it does without the mode."""
    n = dist.get_world_size()
    x = lg.ones(3, requires_grad=True)
    F.all_reduce(x * 2).sum().backward()
    assert x.grad.tolist() == [2 * n] * 3
    whole = lg.zeros(n, 2)
    work = dist.all_gather_into_tensor(whole, lg.ones(2), async_op=True)
    work.wait()
    assert whole.tolist() == [[1, 1]] * n
    every = [None] * n
    dist.all_gather_object(every, {"rank": dist.get_rank()})
    assert every == [{"rank": i} for i in range(n)]
    if dist.get_rank() == 0:  # what two do is not counted by the others
        dist.send(lg.ones(2), 1)
    elif dist.get_rank() == 1:
        dist.recv(lg.ones(2), 0)
    dist.barrier()
    group = dist.new_group([1])
    if dist.get_rank() == 1:
        dist.all_reduce(lg.ones(2), group=group)
