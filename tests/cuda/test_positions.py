"""Positions on CUDA: keys mean what they mean on the CPU, and one outside is an error where the host waits anyway."""

import numpy as np
import pytest
from thoroughness import SEED, cases

import lucidgrad as lg
import lucidgrad.nn.functional as F
from lucidgrad.backends import cudasim


# -- keys ----------------------------------------------------------------------------------------
def random_key(rng, shape):
    """A key with at least one array of positions, for NumPy; positions may be negative and repeat."""
    common = tuple(rng.integers(1, 4, rng.integers(0, 3)))
    parts, used = [], 0
    for n in shape[: rng.integers(1, len(shape) + 1)]:
        if rng.random() < 0.15:
            parts.append(None)
        kind = rng.random()
        if kind < 0.5:
            own = tuple(1 if rng.random() < 0.2 else m for m in common)[rng.integers(0, len(common) + 1) :]
            parts.append(rng.integers(-n, n, own).astype(rng.choice(["int64", "int32", "uint8"]) if n > 9 else "int64"))
            used += 1
        elif kind < 0.65:
            parts.append(int(rng.integers(-n, n)))
        else:
            start, stop = rng.integers(-n, n + 1, 2)
            parts.append(slice(int(start), int(stop), int(rng.choice([-2, -1, 1, 2]))))
    if not used:
        parts.append(rng.integers(0, shape[0], 2)) if not parts else parts.__setitem__(0, rng.integers(0, shape[0], 2))
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), Ellipsis)
    return tuple(parts) if len(parts) > 1 or rng.random() < 0.5 else parts[0]


def sent(key, device):
    """The same key with tensors in place of arrays."""
    if isinstance(key, tuple):
        return tuple(sent(part, device) for part in key)
    return lg.asarray(key, device=device) if isinstance(key, np.ndarray) else key


AT = np.array([1, -1])
#: An ellipsis between arrays, which puts their axes first also where it stands for no axis.
APART = [
    (slice(None), AT, Ellipsis, np.array(0)), (slice(2, 2), AT, Ellipsis, np.array(0)), (slice(None), AT, Ellipsis, 0),
    (slice(None), 1, Ellipsis, AT[:1]), (AT, Ellipsis, 0), (slice(None), AT, None, np.array(0)), (Ellipsis, AT, 0),
]  # fmt: skip


def test_random_keys_read_write_and_pull_as_on_the_cpu():
    tried = 0
    for seed in range(cases(150, 5000)):
        rng = np.random.default_rng(SEED * 10**7 + seed)
        x = rng.normal(size=tuple(rng.integers(1, 5, rng.integers(1, 4))) if seed >= len(APART) else (4, 3, 1))
        key = APART[seed] if seed < len(APART) else random_key(rng, x.shape)
        try:
            expected = x[key]
        except IndexError:  # too many parts
            continue
        tried += 1
        found = {}
        for where in ("cpu", "cuda"):
            leaf = lg.asarray(x.copy(), device=where).requires_grad_()
            y = leaf[sent(key, where)]
            weights = lg.asarray(np.arange(1.0, y.size + 1).reshape(y.shape), device=where)
            (g,) = lg.autograd.grad((y * weights).sum(), leaf, materialize_grads=True)
            w = lg.asarray(x.copy(), device=where)
            flipped = lg.flip(w)[tuple(slice(None, None, -1) for _ in x.shape)]  # strides, and again the same order
            values = lg.asarray(
                np.full((), 7.0) if seed % 2 else np.arange(expected.size).reshape(expected.shape) * 0.5
            )
            if not seed % 2 and np.unique(np.arange(x.size).reshape(x.shape)[key]).size < expected.size:
                values = lg.asarray(3.0)  # which of several values stays is not said
            flipped[sent(key, where)] = values.to(where).to(lg.float64)
            found[where] = [t.detach().cpu().numpy() for t in (y, g, flipped)]
        for mine, theirs in zip(found["cuda"], found["cpu"], strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=f"seed {seed}, shape {x.shape}, key {key}")
        np.testing.assert_array_equal(found["cpu"][0], expected)
    assert tried > 100


# -- positions outside ---------------------------------------------------------------------------
def t(*shape):
    return lg.asarray(np.arange(1.0, np.prod(shape, dtype=int) + 1).reshape(shape), device="cuda").requires_grad_()


def written(x, key, value):
    y = x * 1.0
    y[key] = value
    return y


CALLS = {
    "x[i]": lambda i: t(3, 2)[i],
    "x[:, i]": lambda i: t(2, 3)[:, i],
    "x[i, i]": lambda i: t(3, 3)[i, i],
    "x[i, :, i]": lambda i: t(3, 2, 3)[i, :, i],
    "x[i, 0]": lambda i: t(3, 2)[i, 0],
    "x[i] = number": lambda i: written(t(3, 2), i, 1.0),
    "x[i] = tensor": lambda i: written(t(3, 2), i, t(3, 2)),
    "x[:, i] = tensor": lambda i: written(t(2, 3), (slice(None), i), t(2, 3)),
    "x[i, i] = number": lambda i: written(t(3, 3), (i, i), 2.0),
    "take": lambda i: lg.take(t(3, 2), i, axis=0),
    "take of integers": lambda i: lg.take(lg.arange(3, device="cuda"), i, axis=0),
    "take_along_axis": lambda i: lg.take_along_axis(t(3, 2), i[:, None], axis=0),
    "gather": lambda i: lg.gather(t(3, 2), 0, i[:, None]),
    "scatter": lambda i: lg.scatter(t(3, 1), 0, i[:, None], t(3, 1)),
    "scatter_add": lambda i: lg.scatter_add(t(3, 1), 0, i[:, None], t(3, 1)),
    "scatter_add of integers": lambda i: lg.scatter_add(lg.arange(3, device="cuda"), 0, i, lg.arange(3, device="cuda")),
    "scatter_reduce": lambda i: lg.scatter_reduce(t(3), 0, i, t(3), "amax"),
    "index_select": lambda i: lg.index_select(t(3, 2), 0, i),
    "index_add": lambda i: lg.index_add(t(3, 2), 0, i, t(3, 2)),
    "index_copy": lambda i: lg.index_copy(t(3, 2), 0, i, t(3, 2)),
    "index_fill": lambda i: lg.index_fill(t(3, 2), 0, i, 2.0),
    "index_put": lambda i: lg.index_put(t(3, 2), (i,), t(3, 2)),
    "index_put, added": lambda i: lg.index_put(t(3, 2), (i,), t(3, 2), accumulate=True),
    "embedding": lambda i: F.embedding(i, t(3, 2)),
    "embedding_bag": lambda i: F.embedding_bag(i[None], t(3, 2)),
    "cross_entropy": lambda i: F.cross_entropy(t(3, 3), i),
    "nll_loss": lambda i: F.nll_loss(t(3, 3), i),
}
OUTSIDE = {"beyond": [0, 5, 1], "before": [0, -4, 1], "at the end": [0, 3, 1]}


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("name", CALLS)
def test_a_position_outside_is_said_where_the_host_waits_and_costs_nothing(name, outside):
    call = CALLS[name]
    inside, bad = (lg.asarray(values, device="cuda") for values in ([0, 2, 1], OUTSIDE[outside]))
    call(inside)
    with cudasim.counting() as right:
        call(inside)
    with cudasim.counting() as wrong:
        y = call(bad)
    assert dict(wrong.launches) == dict(right.launches)
    assert right.synchronisations == wrong.synchronisations == wrong.copies_to_host == 0
    if y.requires_grad:
        y.sum().backward()  # waits for nothing, either
    with pytest.raises(IndexError, match=rf": index {OUTSIDE[outside][1]} is out of range for an axis of size 3"):
        y.sum().item()
    lg.cuda.synchronize()  # it is said once
    np.testing.assert_array_equal(call(inside).detach().cpu().numpy(), call(inside).detach().cpu().numpy())


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "bool", "complex64"])
def test_gradients_and_sums_leave_out_what_is_outside(dtype):
    from lucidgrad.ops.indexing.taking import put_along_axis_add, take_put

    g, bad = lg.asarray([1, 1, 1], dtype=dtype, device="cuda"), lg.asarray([0, -4, 1], device="cuda")
    for put in (take_put, put_along_axis_add):
        for deterministic in (False, True):
            lg.use_deterministic_algorithms(deterministic)
            try:
                y = put(g, bad, axis=0, size=3)
            finally:
                lg.use_deterministic_algorithms(False)
            with pytest.raises(IndexError, match=f"{put.__name__}: index -4 is out of range for an axis of size 3"):
                lg.cuda.synchronize()
            np.testing.assert_array_equal(y.cpu().numpy(), np.asarray([1, 1, 0], dtype))


WAITS = {
    "item": lambda y: y.sum().item(),
    "tolist": lambda y: y.tolist(),
    "numpy": lambda y: y.numpy(force=True),
    "cpu": lambda y: y.cpu(),
    "bool": lambda y: bool(y.sum() > 0),
    "repr": repr,
    "copy_": lambda y: lg.zeros(tuple(y.shape), dtype=y.dtype).copy_(y),
    "synchronize": lambda y: lg.cuda.synchronize(),
    "stream": lambda y: lg.cuda.current_stream().synchronize(),
    "event": lambda y: lg.cuda.current_stream().record_event().synchronize(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_every_wait_looks(wait, lazy):
    y = lg.take(lg.ones(3, device="cuda"), lg.asarray([7], device="cuda"), axis=0)
    with pytest.raises(IndexError, match="take: index 7 is out of range for an axis of size 3"):
        WAITS[wait](y)
    WAITS[wait](lg.ones(2, device="cuda"))


def test_class_numbers_do_not_count_from_the_end():
    loss = F.cross_entropy(t(3, 3), lg.asarray([0, -1, 1], device="cuda"))
    with pytest.raises(IndexError, match="cross_entropy: index -1 is out of range for an axis of size 3"):
        loss.item()
    assert F.cross_entropy(t(3, 3), lg.asarray([0, -100, 1], device="cuda")).isfinite().item()


def test_numbers_in_a_key_are_checked_at_once():
    with pytest.raises(IndexError, match="index 7 is out of range for an axis of size 2"):
        t(3, 2)[lg.asarray([0], device="cuda"), 7]
    with pytest.raises(IndexError, match="axis of size 0"):
        lg.zeros((0, 2), device="cuda")[lg.asarray([0], device="cuda")]
