"""`explain` names writes that the tape does not see: ``.data = ``, and in-place operations under no_grad."""

import inspect

import pytest

import lucidgrad as lg
from lucidgrad.autograd import explain, explaining


def leaf():
    return lg.zeros(2, requires_grad=True)


def data_of_a_tensor(x):
    y = lg.zeros(2)
    y.data = x * 2  # here
    return y, "detach"


def data_of_a_leaf(x):
    y = leaf()
    y.data = x * 2  # here
    return y, "detach"


def write_into_data(x):
    y = leaf()
    y.data.copy_(x)  # here
    return y, "detach"


def write_into_a_part_of_data(x):
    y = lg.zeros(2)
    y.data[0] = x[1]  # here
    return y, "detach"


def copy(x):
    y = lg.zeros(2)
    with lg.no_grad():
        y.copy_(x)  # here
    return y, "no_grad"


def update_of_a_leaf(x):
    y = leaf()
    with lg.no_grad():
        y.add_(x)  # here
    return y, "no_grad"


def assignment(x):
    y = leaf()
    with lg.no_grad():
        y[...] = x  # here
    return y, "no_grad"


def update_of_a_view(x):
    y = lg.zeros(2)
    with lg.no_grad():
        y[:1].add_(1.0 + x)  # here
    return y, "no_grad"


@pytest.mark.parametrize(
    "write",
    [
        data_of_a_tensor, data_of_a_leaf, write_into_data, write_into_a_part_of_data, copy, update_of_a_leaf,
        assignment,
    ],
    ids=lambda write: write.__name__,
)  # fmt: skip
def test_the_line_of_the_write_is_named(write):
    x = lg.ones(2, requires_grad=True)
    with explaining():
        y, cause = write(x)
        loss = (y * 3.0).sum()
    found = explain(loss, x)
    assert (found.status, found.cause) == ("none", cause)
    lines, start = inspect.getsourcelines(write)
    assert found.where.line == start + next(k for k, line in enumerate(lines) if "# here" in line)


def test_a_view_that_is_written_speaks_for_its_base():
    x = lg.ones(1, requires_grad=True)
    with explaining():
        loss = update_of_a_view(x)[0].sum()
    assert explain(loss, x).cause == "no_grad"


def test_steps_of_an_optimizer_cut_nothing_off():
    w, other = leaf(), leaf()
    with explaining():
        for _ in range(2):
            loss = ((w - 1.0) ** 2).sum()
            (g,) = lg.autograd.grad(loss, w)
            with lg.no_grad():
                w.sub_(0.1 * g)
            w.data.mul_(1.0)
            w.data = w.data
        loss = ((w - 1.0) ** 2).sum()
    assert explain(loss, w).cause == "ok"
    assert explain(loss, other).cause == "no_path"


def test_tensors_that_share_data_with_each_other():
    x, a, b = lg.ones(2, requires_grad=True), lg.zeros(2), lg.zeros(2)
    with explaining():
        a.data, b.data = b, a
        with lg.no_grad():
            a.copy_(x)
        loss = a.sum()
    assert explain(loss, x).cause == "no_grad"
