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


def test_a_tangent_may_lie_elsewhere_in_memory_and_is_not_written():
    x = lg.ones(2, 3)
    t = lg.ones(3, 2).mT
    y, moved = lg.func.jvp(lambda x: x.mul_(2), (x,), (t,))
    assert x.tolist() == y.tolist() == moved.tolist() == [[2.0] * 3] * 2
    assert t.tolist() == [[1.0] * 3] * 2


def test_a_tangent_that_two_values_share_is_written_for_one():
    x, t = lg.tensor([1.0, 2.0]), lg.ones(2)

    def f(x):
        y = x + 1.0  # has the tangent of x
        y.mul_(3.0)
        return x * 1.0, y

    assert [m.tolist() for m in lg.func.jvp(f, (x,), (t,))[1]] == [[1.0, 1.0], [3.0, 3.0]]
    assert t.tolist() == [1.0, 1.0]


def test_layouts_of_value_and_tangent_may_differ():
    def f(x):
        y = lg.sort(x) * 2
        y[0] = x[1]
        return y

    x = lg.tensor([3.0, 1.0, 2.0])
    assert lg.func.jacfwd(f)(x).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]]


def test_a_write_without_tangents_leaves_none():
    def f(x):
        y = lg.nextafter(x, x)  # which has no derivative
        y[0] = 1.0
        return y

    with pytest.raises(RuntimeError, match="does not depend"):
        lg.func.jvp(f, (lg.ones(2),), (lg.ones(2),), strict=True)


def test_one_of_several_views_is_written():
    def f(x):
        y = x * 1.0
        first, rest = y.split([1, 2])
        a, b, c = lg.unstack(y)
        rest.mul_(x[0])
        c.add_(x[1])
        first.mul_(5.0)
        return y * b + a

    def g(x):
        y = lg.stack([x[0] * 5.0, x[1] * x[0], x[2] * x[0] + x[1]])
        return y * y[1] + y[0]

    x, t = points()
    for found, expected in zip(lg.func.jvp(f, (x,), (t,)), lg.func.jvp(g, (x,), (t,)), strict=True):
        assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def halves(z):
    y = z * 1.0
    y.imag.mul_(2.0)
    y.real[0] = z.imag[1]
    return y


def halves_out_of_place(z):
    return lg.stack([z.imag[1] + 0j, z.real[1] + 0j]) + 2j * z.imag


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: lambda z: lg.func.jvp(f, (z,), (z * (2 - 1j),))[1],
        lambda f: lg.func.grad(lambda z: abs(f(z)).sum()),
        lambda f: lambda z: lg.func.vmap(lg.func.grad(lambda z: abs(f(z)).sum()))(lg.stack([z, z * 2j])),
        lambda f: lg.func.grad(lambda z: abs(lg.func.jvp(f, (z,), (z * (2 - 1j),))[1]).sum()),
    ],
)
def test_real_and_imaginary_parts_are_written(transform):
    z = lg.tensor([1 + 2j, 3 - 1j], dtype=lg.complex128)
    found, expected = (transform(f)(z) for f in (halves, halves_out_of_place))
    assert lg.max(abs(found - expected)).item() < 1e-12


@pytest.mark.parametrize("argnums", range(3))
@pytest.mark.parametrize("part", [slice(None), slice(1, None)])
def test_a_write_may_bring_levels_that_the_tangent_did_not_have(part, argnums):
    def written(a, b):
        y = a * 1.0
        y[part].mul_(b[part])
        return y

    def plain(a, b):
        y = lg.concat([a[: part.start or 0], a[part] * b[part]])
        return y

    def loss(f):
        def of(a, b, t):
            rows = lg.func.vmap(lambda s: lg.func.jvp(f, (a * a, b), (t, s))[1])(lg.eye(3, dtype=a.dtype))
            return (rows**2).sum()

        return of

    given = (*points(), points()[0] + 1.0)
    found, expected = (lg.func.grad(loss(f), argnums)(*given) for f in (written, plain))
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_an_inner_value_takes_none_that_differs_between_outer_examples():
    def f(a):
        return lg.func.jvp(lambda z: (z * 1.0).mul_(a), (lg.ones(3, dtype=a.dtype),), (lg.ones(3, dtype=a.dtype),))

    with pytest.raises(RuntimeError, match="differs between the 2 examples.*out-of-place"):
        lg.func.vmap(f)(points())


# -- keys that differ between examples ---------------------------------------------------------------------------
def row(y, i, j, v):
    y[i] = v


def constant_row(y, i, j, v):
    y[i] = 0.0


def added_row(y, i, j, v):
    y[i] += v


def column(y, i, j, v):
    y[:, i] = 0.5


def columns_of_some_rows(y, i, j, v):
    y[1:, j] = 7.0


def pairs(y, i, j, v):
    y[i, j] = v[:2]


def last_axis(y, i, j, v):
    y[..., i] *= 2.0


def inside_a_view(y, i, j, v):
    y[0][i] = v[1]


def positive(y, i, j, v):
    y[y > 0] = 0.0


def positive_as_one_value(y, i, j, v):
    y[y > 0] = v.sum()


def masked_rows(y, i, j, v):
    y[y[:, 0] > 0] = v


def masked_columns(y, i, j, v):
    y[:, v > 0] = 3.0


def masked_part_of_a_row(y, i, j, v):
    y[1, v > 0] = v[0]


def masked_columns_by_rows(y, i, j, v):
    y[:, v > 0] = y[:, :1].clone()


def filled(y, i, j, v):
    y.masked_fill_(y > 0.5, -1.0)


def put(y, i, j, v):
    y.index_put_((j, j), v[:2])


KEYS = [
    row, constant_row, added_row, column, columns_of_some_rows, pairs, last_axis, inside_a_view, positive,
    positive_as_one_value, masked_rows, masked_columns, masked_part_of_a_row, masked_columns_by_rows, filled, put,
]  # fmt: skip


def by_key():
    numbers = lg.sin(lg.arange(24, dtype=lg.float64) * 2.0).reshape(2, 3, 4)
    return (
        numbers,
        lg.tensor([1, -1]),
        lg.tensor([[0, 2], [1, -1]]),
        lg.cos(lg.arange(8, dtype=lg.float64)).reshape(2, 4),
    )


def written_at(write):
    def f(x, i, j, v):
        y = x * 1.0
        write(y, i, j, v)
        return y

    return f


@pytest.mark.parametrize("write", KEYS, ids=lambda write: write.__name__)
def test_keys_differ_between_examples(write):
    f, given = written_at(write), by_key()
    rows = [[part[k] for part in given] for k in range(2)]
    assert lg.func.vmap(f)(*given).tolist() == [f(*parts).tolist() for parts in rows]

    slope = lg.func.grad(lambda *args: (f(*args) ** 2).sum(), argnums=(0, 3))
    inside = lg.func.vmap(slope)(*given)
    outside = lg.func.grad(lambda *args: (lg.func.vmap(f)(*args) ** 2).sum(), argnums=(0, 3))(*given)
    for a, b, expected in zip(inside, outside, zip(*(slope(*parts) for parts in rows), strict=True), strict=True):
        assert a.tolist() == b.tolist() == [e.tolist() for e in expected]
    assert lg.func.vmap(lg.func.jacfwd(f))(*given).tolist() == lg.func.vmap(lg.func.jacrev(f))(*given).tolist()


def test_keys_that_differ_between_examples_are_refused_where_nothing_holds_them():
    y = lg.zeros(3)
    with pytest.raises(RuntimeError, match="differs between the 2 examples"):
        lg.func.vmap(lambda i: y.__setitem__(i, 1.0) or i)(lg.tensor([0, 1]))
    assert y.tolist() == [0.0, 0.0, 0.0]


def test_masks_that_differ_between_examples_take_one_value():
    def f(x, v):
        y = x * 1.0
        y[x > 0] = v
        return y

    with pytest.raises(ValueError, match=r"shape \(3,\) for a mask.*use where"):
        lg.func.vmap(f)(points(), points())
    with pytest.raises(IndexError, match="beside other arrays"):
        lg.func.vmap(lambda x: (x * 1.0).reshape(1, 3).__setitem__((lg.tensor([0]), x > 0), 1.0))(points())


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


def test_masks_that_differ_between_examples_put_into_what_all_share():
    x, masks = points()[0], points() > 0
    put = lg.func.vmap(lambda mask: lg.index_put(x, (mask,), lg.tensor(9.0, dtype=x.dtype)))(masks)
    assert put.tolist() == lg.where(masks, 9.0, x).tolist()


def test_a_number_is_written_through_a_view():
    def f(x):
        y = lg.sum(x) * x[0]
        y.reshape(1).mul_(x[1:2])
        return y

    def g(x):
        return lg.sum(x) * x[0] * x[1]

    x, t = points()
    assert [a.item() for a in lg.func.jvp(f, (x,), (t,))] == [a.item() for a in lg.func.jvp(g, (x,), (t,))]
    assert lg.func.jacfwd(lg.func.jacfwd(f))(x).tolist() == lg.func.jacfwd(lg.func.jacfwd(g))(x).tolist()
