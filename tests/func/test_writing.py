"""In-place operations inside transforms: what has memory of its own is written, and all else says why not."""

import pytest

import lucidgrad as lg

DEVICES = ["cpu", pytest.param("cuda:0", marks=pytest.mark.cuda)]


def accumulate(x):
    y = x * 1.0
    y += x
    y *= 2.0
    return y


def through_view(x):
    y = x * x
    y[:2] *= 10.0
    return y


def assign(x):
    y = lg.zeros_like(x)
    y[0] = x[1]
    y[1:] = x[:-1] * x[1:]
    return y


def assign_twice(x):
    y = lg.zeros_like(x)
    y[lg.tensor([0, 0, 1], device=x.device)] = x * 3.0
    return y


def mask(x):
    y = x * 1.0
    y[lg.tensor([True, False, True], device=x.device)] = 7.0
    return y


FUNCTIONS = [accumulate, through_view, assign, assign_twice, mask]


def points(device="cpu"):
    return lg.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -2.0]], dtype=lg.float64, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_vmap_is_a_loop(f, device):
    x = points(device)
    assert lg.func.vmap(f)(x).tolist() == [f(row).tolist() for row in x]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_forward_mode_is_reverse_mode(f):
    x = points()[0]
    assert lg.func.jacfwd(f)(x).tolist() == lg.func.jacrev(f)(x).tolist()


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_inside_and_outside_of_vmap(f):
    x = points()
    inside = lg.func.vmap(lg.func.grad(lambda row: (f(row) ** 2).sum()))(x)
    outside = lg.func.grad(lambda x: (lg.func.vmap(f)(x) ** 2).sum())(x)
    expected = [lg.func.grad(lambda row: (f(row) ** 2).sum())(row).tolist() for row in x]
    assert inside.tolist() == expected
    assert outside.tolist() == expected


def test_second_derivatives():
    h = lg.func.hessian(lambda x: (through_view(x) ** 2).sum())(points()[0])
    x = points()[0]
    expected = [1200 * x[0] ** 2, 1200 * x[1] ** 2, 12 * x[2] ** 2]
    assert h.tolist() == [[float(e) if i == j else 0.0 for j in range(3)] for i, e in enumerate(expected)]


def test_a_mapped_argument_is_written_as_its_memory_is_shared():
    x = points()
    before = x.tolist()
    lg.func.vmap(lambda row: row.mul_(2))(x)
    assert x.tolist() == [[2 * v for v in row] for row in before]


@pytest.mark.parametrize("write", [lambda c, x: c.add_(x), lambda c, x: c.__setitem__(0, x[0])])
def test_a_constant_takes_no_value_that_differs_between_examples(write):
    constant = lg.zeros(3, dtype=lg.float64)
    with pytest.raises(RuntimeError, match="differs between the 2 examples.*out-of-place"):
        lg.func.vmap(lambda row: write(constant, row) or row)(points())
    assert constant.tolist() == [0, 0, 0] and constant._version == 0


@pytest.mark.parametrize("write", [lambda c, x: c.add_(x), lambda c, x: c.__setitem__(0, x[0])])
def test_a_constant_takes_no_value_with_a_tangent(write):
    constant = lg.zeros(3, dtype=lg.float64)
    x = points()[0]
    with pytest.raises(RuntimeError, match="has a tangent there.*out-of-place"):
        lg.func.jvp(lambda row: write(constant, row) or row, (x,), (x,))
    assert constant.tolist() == [0, 0, 0]


def test_a_tangent_that_lies_elsewhere_in_memory():
    x = lg.ones(2, 3)
    t = lg.ones(3, 2).mT
    with pytest.raises(RuntimeError, match="one that lies elsewhere"):
        lg.func.jvp(lambda x: x.add_(1), (x,), (t,))
    assert x.tolist() == lg.ones(2, 3).tolist()


def test_like_functions_have_the_levels_of_their_argument():
    seen = []

    def f(x):
        for made in (lg.zeros_like(x), lg.ones_like(x), lg.full_like(x, 2.0), lg.zeros_like(x, dtype=lg.int64)):
            seen.append(made.dtype)
            made[0] = made[0] + 1
            x = x + made
        return x

    assert lg.func.vmap(f)(lg.zeros(2, 2)).tolist() == [[7.0, 3.0]] * 2
    assert seen[-1] == lg.int64
