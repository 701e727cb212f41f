"""The first gradients of leaves, which C keeps as they are: nobody else has their memory, and none is lost."""

import weakref

import numpy as np

import lucidgrad as lg


def leaf(*shape):
    return lg.ones(shape, requires_grad=True)


def test_gradients_that_rules_share_are_told_apart():
    x, y = leaf(3), leaf(3)
    (x + y).backward(lg.ones(3))
    assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())
    x.grad.zero_()
    assert y.grad.tolist() == [1.0] * 3


def test_a_seed_stays_the_users():
    x, seed = leaf(3), lg.ones(3)
    (x + 0.0).backward(seed)
    assert not np.shares_memory(x.grad.numpy(), seed.numpy())


def test_a_part_of_a_gradient_is_copied():
    x, y = leaf(2), leaf(2)
    lg.concat([x, y]).backward(lg.asarray([1.0, 2.0, 3.0, 4.0]))
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())
    assert x.grad.numpy().base is None or x.grad.numpy().base.size == 2


def test_a_broadcast_gradient_is_written_out():
    x = leaf(3)
    x.sum().backward()
    x.grad[0] = 5.0
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


def test_one_of_several_has_a_gradient_already():
    x, y = leaf(2), leaf(2)
    x.grad = lg.asarray([10.0, 20.0])
    (x * y * 2).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([12.0, 22.0], [2.0, 2.0])


def test_two_leaves_of_one_tensor_add_up():
    x = leaf(2)
    y = x * 2.0
    x.requires_grad_(False)
    x.requires_grad_(True)
    (y + x * 3.0).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_tensor_that_is_gone_gets_nothing():
    x, y = leaf(2), leaf(2)
    z, gone = (x * y).sum(), weakref.ref(x)
    del x
    z.backward()
    assert gone() is None
    assert y.grad.tolist() == [1.0, 1.0]


def test_numbers_become_arrays():
    x = leaf()
    (x * 3.0).backward()
    assert isinstance(x.grad.numpy(), np.ndarray)
    assert x.grad.item() == 3.0


def test_a_gradient_of_inference_mode():
    x = leaf(2)
    y = (x * 2.0).sum()
    with lg.inference_mode():
        y.backward()
    assert x.grad.is_inference()
    assert x.grad.tolist() == [2.0, 2.0]
