"""A hook that raises while a write in place is recorded leaves the tensor as it was."""

import pytest

import lucidgrad as lg
from lucidgrad.autograd.graph import saved_tensors_hooks


def refuse(t):
    raise ValueError("not this one")


WRITES = {
    "keeps its input": lambda h: h.mul_(h),
    "keeps its result": lambda h: h.exp_(),
    "through a view": lambda h: h[:1].mul_(h[1:2]),
}


@pytest.mark.parametrize("write", [*WRITES])
def test_a_pack_hook_that_raises_undoes_the_write(write):
    x = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    h = x * x
    node, values = h.grad_fn, h.tolist()
    with saved_tensors_hooks(refuse, lambda t: t), pytest.raises(ValueError, match="not this one"):
        WRITES[write](h)
    assert h.tolist() == values
    assert h.grad_fn is node
    h.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
