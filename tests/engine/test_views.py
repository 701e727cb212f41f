"""Views share memory and version, and a write through one reaches the history of all; ``__setitem__``."""

import contextlib

import numpy as np
import pytest

import lucidgrad as lg


def leaf(*values):
    return lg.tensor(list(values), requires_grad=True)


def close(t, expected):
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=1e-5)


def backward_of(y, *weights):
    """Backward of the weighted sum of ``y``, so that every entry has a gradient of its own."""
    (y * lg.tensor(list(weights))).sum().backward()


# --- writing through a view ---------------------------------------------------------------------------


def test_write_through_a_view_reaches_the_gradient_of_the_base():
    x, w = leaf(1.0, 2.0, 3.0, 4.0), leaf(5.0)
    y = x * 2
    v = y[1:3]
    v.mul_(w)
    close(y, [2.0, 20.0, 30.0, 8.0])
    assert v._version == y._version == 1
    backward_of(y, 1.0, 2.0, 3.0, 4.0)
    close(x.grad, [2.0, 20.0, 30.0, 8.0])
    close(w.grad, [26.0])


def test_write_through_a_zero_dimensional_view():
    x, w = leaf(1.0, 2.0), lg.tensor(3.0, requires_grad=True)
    y = x * 2
    v = y[0]
    v.mul_(w)
    y.sum().backward()
    close(x.grad, [6.0, 2.0])
    close(w.grad, 2.0)


def test_write_through_a_chain_of_views():
    x = lg.tensor(np.arange(6.0, dtype="float32"), requires_grad=True)
    w = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 2
    v = y.reshape(2, 3)[:, 1:].T
    v.mul_(w)
    close(y, [0.0, 2.0, 12.0, 6.0, 16.0, 40.0])
    backward_of(y, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    close(x.grad, [0.0, 2.0, 12.0, 6.0, 16.0, 40.0])
    close(w.grad, [[2.0, 32.0], [8.0, 50.0]])


def test_several_writes_through_one_view():
    x, w = leaf(1.0, 2.0, 3.0, 4.0), leaf(3.0, 3.0)
    y = x * 2
    v = y[:2]
    v *= w
    v += w
    (y**2).sum().backward()
    close(x.grad, [108.0, 180.0, 24.0, 32.0])
    close(w.grad, [54.0, 150.0])


def test_another_view_of_the_base_is_refreshed():
    x, w = leaf(1.0, 2.0, 3.0, 4.0), leaf(5.0)
    y = x * 2
    v, u = y[1:3], y[2:4]
    v.mul_(w)
    close(u, [30.0, 8.0])
    u.sum().backward()
    close(x.grad, [0.0, 0.0, 10.0, 2.0])
    close(w.grad, [6.0])


def test_views_are_refreshed_when_the_base_is_written():
    x, w = leaf(1.0, 2.0, 3.0, 4.0), leaf(5.0)
    y = x * 2
    v = y[1:3]
    stale = v.grad_fn
    y.mul_(w)
    assert v.grad_fn is not stale
    assert v.grad_fn is v.grad_fn
    close(v, [20.0, 30.0])
    v.sum().backward()
    close(x.grad, [0.0, 10.0, 10.0, 0.0])
    close(w.grad, [10.0])


def test_views_of_views_are_refreshed_both_ways():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    a = y[:3]
    b = a[1:]
    b.mul_(10.0)
    close(a, [2.0, 40.0, 60.0])
    a.mul_(2.0)
    close(b, [80.0, 120.0])
    backward_of(b, 1.0, 2.0)
    close(x.grad, [0.0, 40.0, 80.0, 0.0])


def test_what_was_computed_from_a_view_before_the_write_keeps_its_history():
    x = leaf(1.0, 2.0)
    y = x * 2
    v = y[:1]
    z = v * 1
    v.mul_(5.0)
    (z.sum() + y.sum()).backward()
    close(x.grad, [12.0, 2.0])


def test_view_outlives_its_base():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    v = y[:3]
    del y
    v.mul_(3.0)
    v.sum().backward()
    close(x.grad, [6.0, 6.0, 6.0, 0.0])


def test_write_of_a_parameter_into_a_view_of_a_plain_base():
    b, w = lg.zeros(4), leaf(1.0, 2.0)
    v, u = b[1:3], b[:2]
    assert not u.requires_grad
    v.copy_(w)
    for t in (b, v, u):
        assert t.requires_grad
        assert not t.is_leaf
    (g,) = lg.autograd.grad((u * 3).sum(), w, retain_graph=True)
    close(g, [3.0, 0.0])
    backward_of(b, 1.0, 10.0, 100.0, 1000.0)
    close(w.grad, [10.0, 100.0])


def test_assignment_through_a_transpose():
    a, w = lg.zeros(2, 2), leaf(1.0, 2.0)
    a.T[0] = w
    close(a, [[1.0, 0.0], [2.0, 0.0]])
    (a * lg.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    close(w.grad, [1.0, 3.0])


def test_copy_from_a_sibling_view():
    x = leaf(0.0, 1.0, 2.0, 3.0)
    y = x * 2
    y[:2].copy_(y[2:])
    backward_of(y, 1.0, 2.0, 3.0, 4.0)
    close(x.grad, [0.0, 0.0, 8.0, 12.0])


# --- saved values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [lambda y: y.mul_(3.0), lambda y: y[3:].zero_()], ids=["base", "disjoint view"])
def test_saved_view_notices_a_write_to_the_base(write):
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    v = y[1:3]
    z = v * v
    write(y)
    with pytest.raises(RuntimeError, match="in-?place"):
        z.sum().backward()


def test_saved_base_notices_a_write_to_a_view():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y[0].add_(1.0)
    with pytest.raises(RuntimeError, match="in-?place"):
        z.sum().backward()


def test_a_write_to_the_base_is_no_matter_where_the_view_was_not_saved():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    v = y[1:3]
    z, e = v + 1, v.exp()
    y.mul_(3.0)
    (z + e).sum().backward()
    close(x.grad, [0.0, 2 + 2 * np.exp(4), 2 + 2 * np.exp(6), 0.0])


# --- detach -------------------------------------------------------------------------------------------


def test_detach_shares_memory_and_version_but_no_history():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    node, d = y.grad_fn, y.detach()
    assert not d.requires_grad
    d[0] = 9.0
    close(y, [9.0, 4.0, 6.0])
    assert y._version == d._version == 1
    assert y.grad_fn is node
    y[1:].mul_(2.0)
    close(d, [9.0, 8.0, 12.0])
    assert d._version == 2
    assert not d.requires_grad
    y.sum().backward()
    close(x.grad, [2.0, 4.0, 4.0])


def test_detach_of_a_leaf_is_writable():
    x = leaf(1.0, 2.0)
    x.detach().mul_(2.0)
    assert x.tolist() == [2.0, 4.0]
    assert x._version == 1
    d = x.detach().requires_grad_()
    assert d.is_leaf
    (d * 3).sum().backward()
    assert x.grad is None


# --- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["interior", "leaf"])
def test_view_made_under_no_grad_is_not_written_with_grad_on(base):
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2 if base == "interior" else x
    with lg.no_grad():
        v = y[:2]
    with pytest.raises(RuntimeError, match="no_grad"):
        v.mul_(3.0)
    with lg.no_grad():
        v.mul_(3.0)
    assert y._version == 1
    assert y.requires_grad


def test_view_of_a_plain_base_made_under_no_grad_takes_constants_but_no_parameters():
    b = lg.ones(4)
    with lg.no_grad():
        v = b[:2]
    v.mul_(3.0)
    close(b, [3.0, 3.0, 1.0, 1.0])
    with pytest.raises(RuntimeError, match="no_grad"):
        v.copy_(leaf(1.0, 2.0))


def test_view_made_under_no_grad_gives_no_history_or_the_right_one_once_the_base_was_written():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    with lg.no_grad():
        v = y[:2]
    y.mul_(3.0)
    with contextlib.suppress(RuntimeError):
        v.sum().backward()
        close(x.grad, [6.0, 6.0, 0.0])


SPLITS = {
    "unstack": lambda y: lg.unstack(y),
    "unbind": lambda y: y.unbind(0),
    "split": lambda y: y.split(2),
    "chunk": lambda y: y.chunk(2),
}


@pytest.mark.parametrize("name", SPLITS)
def test_one_of_several_views_is_not_written(name):
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    part = SPLITS[name](y)[0]
    with pytest.raises(RuntimeError, match="view|several outputs"):
        part.mul_(2.0)
    close(y, [2.0, 4.0, 6.0, 8.0])
    with lg.no_grad():
        part.mul_(2.0)
    assert y._version == 1
    y.sum().backward()
    close(x.grad, [2.0, 2.0, 2.0, 2.0])


def test_rows_of_an_iteration_are_not_written_or_are_written_right():
    x = leaf(1.0, 2.0)
    y = x * 2
    with contextlib.suppress(RuntimeError):
        for k, row in enumerate(y):
            row.mul_(k + 5.0)
    y.sum().backward()
    close(x.grad * x, y.detach().tolist())


@pytest.mark.parametrize("name", SPLITS)
def test_several_views_of_a_plain_tensor(name):
    b = lg.ones(4)
    part = SPLITS[name](b)[0]
    part.add_(1.0)
    close(b[0], 2.0)
    with pytest.raises(RuntimeError, match="view|several outputs"):
        part.mul_(lg.tensor(2.0, requires_grad=True))


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("expand", [lambda y: y.expand(2, 3), lambda y: lg.broadcast_to(y, (2, 3))])
def test_expanded_tensor_is_not_written(expand, requires_grad):
    x = lg.ones(3, requires_grad=requires_grad)
    y = x * 2
    e = expand(y)
    for write in (lambda: e.mul_(2.0), lambda: e.copy_(lg.zeros(2, 3))):
        with pytest.raises(RuntimeError, match=r"clone"):
            write()
    close(y, [2.0, 2.0, 2.0])
    e.clone().mul_(2.0)


# --- laws ---------------------------------------------------------------------------------------------

# Whether the result shares memory is the operation's affair; that history follows memory is the engine's.
MAYBE_VIEWS = {
    "slice": lambda y: y[1:, ::2],
    "reversed slice": lambda y: y[::-1],
    "int": lambda y: y[1],
    "new axis": lambda y: y[:, None],
    "ellipsis": lambda y: y[...],
    "integers": lambda y: y[[0, 1]],
    "mask": lambda y: y[y > 5],
    "reshape": lambda y: y.reshape(-1),
    "reshape of transpose": lambda y: y.T.reshape(-1),
    "T": lambda y: y.T,
    "mT": lambda y: y.mT,
    "permute_dims": lambda y: lg.permute_dims(y, (1, 0)),
    "matrix_transpose": lambda y: lg.matrix_transpose(y),
    "moveaxis": lambda y: lg.moveaxis(y, 0, 1),
    "expand_dims": lambda y: lg.expand_dims(y, axis=1),
    "squeeze": lambda y: lg.squeeze(y[:1], 0),
    "flatten": lambda y: y.flatten(),
    "flip": lambda y: lg.flip(y, (0,)),
    "roll": lambda y: lg.roll(y, 1, 0),
    "contiguous": lambda y: y.contiguous(),
    "to": lambda y: y.to(y.dtype),
    "asarray": lambda y: lg.asarray(y),
    "clone": lambda y: y.clone(),
    "real": lambda y: y.real,
}


@pytest.mark.parametrize("name", MAYBE_VIEWS)
def test_history_follows_memory(name):
    x = lg.tensor(np.arange(1.0, 7.0, dtype="float32").reshape(2, 3), requires_grad=True)
    y = x * 2
    v = MAYBE_VIEWS[name](y)
    factors = np.arange(2.0, 2.0 + np.prod(v.shape), dtype="float32").reshape(v.shape)
    before = v.detach().clone()
    v.mul_(lg.tensor(factors))
    close(v, before.numpy() * factors)
    assert (v._version == y._version) or not np.shares_memory(v.array, y.array)
    for t in (y, v):
        (gx,) = lg.autograd.grad(t.sum(), x, retain_graph=True)
        # Every entry is a multiple of an entry of x, so by Euler <x, dt/dx> = sum(t).
        close((gx * x).sum(), t.detach().sum().item())
    (gx,) = lg.autograd.grad(y.sum(), x)
    close(gx * x, y.detach().tolist())


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_of_views_and_writes(seed):
    rng = np.random.default_rng(seed)
    x = lg.tensor(rng.uniform(0.5, 1.5, (3, 4)), requires_grad=True)
    w = lg.tensor(rng.uniform(0.5, 1.5, 6), requires_grad=True)
    y = x * 2
    # counts[..., k] is how often w[k] has been multiplied into an entry; it takes the same views as y does.
    entries, counts = np.arange(12).reshape(3, 4), np.zeros((3, 4, 6), int)
    views = [(y, entries, counts)]
    for k in range(6):
        for _ in range(3):
            t, e, c = views[rng.integers(len(views))]
            step = rng.integers(4)
            if step == 0 and t.ndim == 2 and t.shape[0] > 1:
                start = int(rng.integers(t.shape[0] - 1))
                views.append((t[start:], e[start:], c[start:]))
            elif step == 1 and t.ndim == 2:
                views.append((t.T, e.T, c.swapaxes(0, 1)))
            elif step == 2 and t.ndim == 2:
                j = int(rng.integers(t.shape[1]))
                views.append((t[:, j], e[:, j], c[:, j]))
            else:
                views.append((t[..., ::2], e[..., ::2], c[..., ::2, :]))
        t, _, c = views[rng.integers(len(views))]
        t.mul_(w[k])
        c[..., k] += 1
    xs, ws = x.detach().numpy(), w.detach().numpy()
    for t, e, c in views:
        value = 2 * xs.ravel()[e] * np.prod(ws**c, -1)
        np.testing.assert_allclose(t.detach().numpy(), value, rtol=1e-12)
        gx, gw = lg.autograd.grad(t.sum(), [x, w], retain_graph=True, allow_unused=True)
        expected = np.zeros(12)
        np.add.at(expected, e.ravel(), (value / xs.ravel()[e]).ravel())
        np.testing.assert_allclose(gx.numpy().ravel(), expected, rtol=1e-12)
        expected = (value[..., None] * c).reshape(-1, 6).sum(0) / ws
        np.testing.assert_allclose(np.zeros(6) if gw is None else gw.numpy(), expected, rtol=1e-12)


# --- __setitem__ --------------------------------------------------------------------------------------

KEYS = {
    "int": 1,
    "negative int": -1,
    "slice": slice(1, 3),
    "step": slice(None, None, 2),
    "ellipsis": ...,
    "pair": (0, 2),
    "column": (slice(None), 1),
    "last column": (..., -1),
    "new axis": (None, 0),
    "mask": np.array([[True, False, True], [False, True, False], [False, False, False]]),
    "row mask": np.array([True, False, True]),
    "integers": [0, 2],
    "integer array": np.array([[0, 2], [2, 1]])[:, :1],
    "pairs": (np.array([0, 1]), np.array([2, 2])),
    "row and columns": (0, [0, 2]),
    "all": slice(None),
    "nothing": slice(0, 0),
}


def as_key(key, tensors):
    """The key with Tensors in place of arrays."""
    if isinstance(key, tuple):
        return tuple(as_key(k, tensors) for k in key)
    return lg.tensor(key) if tensors and isinstance(key, list | np.ndarray) else key


@pytest.mark.parametrize("tensors", [False, True], ids=["numpy key", "tensor key"])
@pytest.mark.parametrize("value", ["number", "0-d", "full", "broadcast"])
@pytest.mark.parametrize("name", KEYS)
def test_setitem(name, value, tensors):
    key = KEYS[name]
    base = np.arange(1.0, 10.0).reshape(3, 3).astype("float32")
    shape = base[key].shape
    shape = {"number": (), "0-d": (), "full": shape, "broadcast": shape[-1:]}[value]
    w = 20 + np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)
    expected = base * 2
    expected[key] = w

    # Tag every entry with where it came from: 0..8 are x, the rest are w.
    source = np.arange(9).reshape(3, 3)
    source[key] = 9 + np.arange(w.size).reshape(shape)
    weights = np.arange(1.0, 10.0).reshape(3, 3)
    np.add.at(both := np.zeros(9 + w.size), source.ravel(), weights.ravel())
    gx, gw = 2 * both[:9], both[9:]

    x = lg.tensor(base, requires_grad=True)
    y = x * 2
    t = float(w) if value == "number" else lg.tensor(w, requires_grad=True)
    y[as_key(key, tensors)] = t
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    assert y._version == 1
    (y * lg.tensor(weights.astype("float32"))).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), gx.reshape(3, 3))
    if value != "number":
        np.testing.assert_array_equal(t.grad.numpy(), gw.reshape(shape))


def test_setitem_values_of_other_kinds():
    y = leaf(1.0, 2.0, 3.0) * 1
    y[0] = np.float32(5)
    y[1:] = np.array([6.0, 7.0])
    y[lg.tensor(0)] = 4
    close(y, [4.0, 6.0, 7.0])
    assert y.dtype == lg.float32
    i = lg.tensor([1, 2])
    i[0] = True
    assert i.tolist() == [1, 2]


def test_setitem_into_a_plain_tensor_row_by_row():
    x, b = leaf(1.0, 2.0, 3.0), lg.zeros(3)
    for k in range(3):
        b[k] = x[k] ** 2 + (b[k - 1] if k else 0)
    close(b, [1.0, 5.0, 14.0])
    b.sum().backward()
    close(x.grad, [6.0, 8.0, 6.0])


def test_setitem_of_its_own_entries():
    x, b = leaf(1.0, 2.0, 3.0), lg.zeros(3)
    for k in range(3):
        b[k] = x[k] ** 2 * (b[k - 1].clone() if k else 1)
    b.sum().backward()
    close(x.grad, [82.0, 40.0, 24.0])
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 2
    y[:2] += y[2:]
    close(y, [8.0, 12.0, 6.0, 8.0])
    backward_of(y, 1.0, 2.0, 3.0, 4.0)
    close(x.grad, [2.0, 4.0, 8.0, 12.0])


@pytest.mark.parametrize(
    ("change", "twin"),
    [
        (lambda x: x.t_(), lambda x: x.mT),
        (lambda x: x.transpose_(0, 1).transpose_(0, 1).t_(), lambda x: x.mT),
        (lambda x: x.unsqueeze_(0), lambda x: x[None]),
        (lambda x: x.unsqueeze_(0).squeeze_(0), lambda x: x),
        (lambda x: x.squeeze_(), lambda x: x),
    ],
)
def test_views_stay_where_they_are_when_axes_change_in_place(change, twin):
    w = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x = lg.zeros((3, 3))
    row = x[0]  # taken before
    change(x)
    last = x[..., 1]  # and after
    row.copy_(w * 1)
    weights = lg.arange(9.0).reshape(x.shape)
    loss = (x * weights).sum() + (last * last).sum() + (row * row).sum()
    loss.backward()
    v = lg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = twin(lg.stack([v, lg.zeros(3), lg.zeros(3)]))
    assert x.tolist() == y.tolist()
    ((y * weights).sum() + (y[..., 1] ** 2).sum() + (v * v).sum()).backward()
    assert w.grad.tolist() == v.grad.tolist()
