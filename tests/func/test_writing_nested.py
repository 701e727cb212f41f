"""In-place operations under two transforms at once: written programs equal the same programs without writes."""

import itertools

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func

ROWS, COLUMNS = 2, 3


def mask(*places, like):
    """Where a matrix is to be written."""
    made = np.zeros((ROWS, COLUMNS), dtype=bool)
    for place in places:
        made[place] = True
    return lg.tensor(made, device=like.device)


def tiled(row):
    return lg.stack([row, row])


# -- steps: (y with memory of its own, x) -> y, once written and once not --------------------------------------------
def multiply(y, x):
    y.mul_(x)
    return y


def add(y, x):
    y += x * x
    y.sub_(0.25)
    return y


def copy(y, x):
    y.copy_(lg.sin(x) + y)
    return y


def assign_row(y, x):
    y[0] = x[1] * y[1].clone()
    return y


def assign_slice(y, x):
    y[:, 1:] = y[:, :2].clone() * x[:, 1:]
    return y


def assign_part(y, x):
    y[:, 0] *= x[:, 2]
    return y


def assign_by_tensor(y, x):
    y[:, lg.tensor([2, 0])] = x[:, :2]
    return y


def assign_twice(y, x):
    y[:, [1, 1]] = x[:, 1:] * 2.0
    return y


def assign_where(y, x):
    y[mask((0, 1), (1, 2), like=y)] = x[0, 0]
    return y


def assign_where_positive(y, x):
    y[y > 0.1] = 0.5
    return y


def assign_where_row(y, x):
    y[:, x[0] > 0] = x[1, 1]
    return y


def assign_at_largest(y, x):
    y[lg.argmax(x[:, 0])] = x[0] * 3.0
    return y


def add_at_largest(y, x):
    y[:, lg.argmax(x[1])] += x[:, 0]
    return y


def through_transpose(y, x):
    y.mT[1].mul_(x[0, 0])
    return y


def through_reshape(y, x):
    y.reshape(6)[::2].add_(x.reshape(6)[:3])
    return y


def through_a_backward_slice(y, x):
    y[:, ::-1][:, :1].mul_(x[:, 1:2])
    return y


def through_diagonal(y, x):
    lg.linalg.diagonal(y).copy_(x[:, 0] * x[:, 1])
    return y


def seen_by_a_view(y, x):
    row = y[1]
    y.mul_(x)
    return y + row


def seen_by_a_sibling(y, x):
    row, column = y[1], y[:, 2]
    row.mul_(x[0])
    return y * column[1]


def sorted_first(y, x):
    z = lg.sort(y, axis=0) * 2.0
    z[0] = x[1]
    return z


def from_zeros(y, x):
    z = lg.zeros_like(x)
    z[1] = y[0]
    return z + y


def shares_a_tangent(y, x):
    z = y + 1.0
    z.mul_(2.0)
    return y * z


STEPS = {
    multiply: lambda y, x: y * x,
    add: lambda y, x: y + x * x - 0.25,
    copy: lambda y, x: lg.sin(x) + y,
    assign_row: lambda y, x: lg.stack([x[1] * y[1], y[1]]),
    assign_slice: lambda y, x: lg.concat([y[:, :1], y[:, :2] * x[:, 1:]], axis=1),
    assign_part: lambda y, x: lg.concat([y[:, :1] * x[:, 2:], y[:, 1:]], axis=1),
    assign_by_tensor: lambda y, x: lg.stack([x[:, 1], y[:, 1], x[:, 0]], axis=1),
    assign_twice: lambda y, x: lg.stack([y[:, 0], x[:, 2] * 2.0, y[:, 2]], axis=1),
    assign_where: lambda y, x: lg.where(mask((0, 1), (1, 2), like=y), x[0, 0], y),
    assign_where_positive: lambda y, x: lg.where(y > 0.1, 0.5, y),
    assign_where_row: lambda y, x: lg.where(tiled(x[0] > 0), x[1, 1], y),
    assign_at_largest: lambda y, x: lg.where(
        lg.reshape(lg.arange(2) == lg.argmax(x[:, 0]), (2, 1)), tiled(x[0]) * 3.0, y
    ),
    add_at_largest: lambda y, x: y + lg.where(lg.arange(3) == lg.argmax(x[1]), x[:, :1], 0.0),
    through_transpose: lambda y, x: lg.where(mask((slice(None), 1), like=y), y * x[0, 0], y),
    through_reshape: lambda y, x: (
        y + lg.stack([x.reshape(6)[:3], lg.zeros_like(x.reshape(6)[:3])], axis=1).reshape(2, 3)
    ),
    through_a_backward_slice: lambda y, x: lg.where(mask((slice(None), 2), like=y), y * x[:, 1:2], y),
    through_diagonal: lambda y, x: lg.where(mask((0, 0), (1, 1), like=y), x[:, :1] * x[:, 1:2], y),
    seen_by_a_view: lambda y, x: y * x + y[1] * x[1],
    seen_by_a_sibling: lambda y, x: lg.stack([y[0], y[1] * x[0]]) * (y[1, 2] * x[0, 2]),
    sorted_first: lambda y, x: lg.stack([x[1], lg.sort(y, axis=0)[1] * 2.0]),
    from_zeros: lambda y, x: lg.stack([y[0], y[1] + y[0]]),
    shares_a_tangent: lambda y, x: y * (y + 1.0) * 2.0,
}


def program(steps, written):
    def run(x):
        y = x * 1.0
        for step in steps:
            y = step(y, x) if written else STEPS[step](y, x)
            y = lg.tanh(y) + 0.1 * x  # which keeps what it is given: writes must not reach that
        return y

    return run


# -- transforms: functions of a matrix to functions of a matrix ------------------------------------------------------
def mapped(f):
    return lambda x: lg.sum(func.vmap(f)(lg.stack([x, -0.5 * x, lg.sin(x)])) * points(3), axis=0)


def pushed(f):
    return lambda x: func.jvp(f, (x,), (lg.cos(x),))[1]


def pulled(f):
    return func.grad(lambda x: lg.sum(f(x) * points()))


def forward(f):
    return lambda x: lg.einsum("ij,ijkl->kl", points(), func.jacfwd(f)(x))


def backward(f):
    return lambda x: lg.einsum("ijkl,kl->ij", func.jacrev(f)(x), points())


def plain(f):
    return f


def points(*more):
    shape = (*more, ROWS, COLUMNS)
    return lg.tensor(np.random.default_rng(len(shape)).normal(size=shape))


TRANSFORMS = [mapped, pushed, pulled, forward, backward]
PAIRS = [*itertools.product(TRANSFORMS, [plain, *TRANSFORMS])]


def compare(steps, outer, inner, x):
    found, expected = (outer(inner(program(steps, written)))(x) for written in (True, False))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=lambda t: t.__name__)
def test_programs(outer, inner):
    random = np.random.default_rng(PAIRS.index((outer, inner)))
    steps = list(STEPS)
    for _ in range(3):
        chosen = [steps[k] for k in random.integers(len(steps), size=3)]
        compare(chosen, outer, inner, lg.tensor(random.normal(size=(ROWS, COLUMNS))))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_each_step_once(step):
    for outer, inner in [(mapped, forward), (forward, mapped), (pushed, pushed), (mapped, mapped), (forward, backward)]:
        compare([step], outer, inner, points())


def test_who_writes_into_a_tangent_that_came_out_leaves_the_one_that_went_in():
    x, v = lg.tensor([1.0, 2.0]), lg.tensor([1.0, 1.0])
    _, moved = lg.func.jvp(lambda x: x + 1, (x,), (v,))
    moved.mul_(3)
    assert v.tolist() == [1.0, 1.0]
