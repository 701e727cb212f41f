"""Views, joins and parts as users write them: a line for each, with gradients, hooks and errors; `trace_of_calls`."""

import numpy as np

import lucidgrad as lg

KEYS = [
    0, -1, 7, slice(1, 3), slice(None, None, -1), slice(2, None, 2), slice(5, 9), None, ..., (), True, 1.5, "a", [0, 1],
    (0, 1), (0, slice(None)), (slice(None), 1), (..., 0), (None, ..., 1), (1, 2, 3), (0, 9), (slice(None), None, -2),
    (True, 0), (0, [1, 2]), np.int64(1), np.array([1, 0]), slice(np.int64(1), None), slice("a"), 10**30,
]  # fmt: skip


def square(dtype=np.float32, wants=True):
    x = lg.asarray(np.linspace(-1, 1, 12, dtype=np.float64).astype(dtype).reshape(3, 4))
    return x.requires_grad_() if wants else x


def forms(dtype):
    """Functions of one tensor."""
    for key in KEYS:
        yield f"[{key}]", lambda x, key=key: x[key]
        yield f"[{key}] of a column", lambda x, key=key: x[:, 1][key]
    yield "of all", lambda x: x.reshape(-1)[3]
    yield "T", lambda x: x.T
    yield "T of three", lambda x: x[None].T
    yield "mT", lambda x: x[None].mT
    for shape in [(4, 3), (-1,), (2, 2, 3), (5, 3), (), ("a",), (3, -1, -1)]:
        yield f"reshape {shape}", lambda x, shape=shape: x.reshape(*shape)
        yield f"reshape of a view {shape}", lambda x, shape=shape: lg.reshape(x.T, shape)
    for axis in (0, 1, -1, -2, 2, -3, None, 1.0, True, "a"):
        yield f"concat {axis}", lambda x, axis=axis: lg.concat([x, x * 2], axis)
        yield f"concat by name {axis}", lambda x, axis=axis: lg.concat((x, x[:, :2].T.T, x), axis=axis)
        yield f"stack {axis}", lambda x, axis=axis: lg.stack([x, x * 2, x], axis)
        yield f"unstack {axis}", lambda x, axis=axis: lg.unstack(x, axis)
        yield f"split {axis}", lambda x, axis=axis: x.split(2, axis)
        yield f"cat {axis}", lambda x, axis=axis: lg.cat([x[0], x[1]], axis)
    for sizes in [(1, 3), (2, 2), (4,), (0, 4), (5, -1), (1, 1), (), ("a", 3), (1.0, 3), 3, 0]:
        yield f"split into {sizes}", lambda x, sizes=sizes: x.split(sizes, 1)
    yield "concat of none", lambda x: lg.concat([])
    yield "concat of numbers", lambda x: lg.concat([x, 1.0])
    yield "concat of arrays", lambda x: lg.concat([x, np.ones((1, 4), dtype)])
    yield "concat of dtypes", lambda x: lg.concat([x, lg.ones((1, 4), dtype=lg.float64)])
    yield "concat of integers", lambda x: lg.concat([x, lg.ones((1, 4), dtype=lg.int64)])
    yield "concat of integers alone", lambda x: lg.concat([lg.ones(2, dtype=lg.int64)] * 2)
    yield "concat of constants", lambda x: lg.concat([x.detach(), x.detach()])
    yield "concat of shapes", lambda x: lg.concat([x, x[:, :2]])
    yield "stack of shapes", lambda x: lg.stack([x, x[:, :2]])
    yield "concat twice an axis", lambda x: lg.concat([x, x], 0, axis=1)
    yield "concat of other names", lambda x: lg.concat([x, x], dim=1)
    yield "overlapping parts", lambda x: x[:2] * x[1:] + x[0] + x[2, 3] + x[1:2, 1:3].sum()
    yield "parts of parts", lambda x: lg.concat([part[::-1] * 3 for part in x.split(1)][:2], 1) + x.split(2, 1)[1][0, 0]
    yield "a part of minus zero", lambda x: (x * -0.0)[1:] * -1.0 + (x[1:] * 0.0 + x[:2])
    yield "a sum, then parts", lambda x: lg.sum(x * 2) + x[0].sum() + x[0, 0] + x[1].sum()
    yield "one element in parts", lambda x: x[0, 0].reshape(1)[0] + x[0, 0].reshape(1)[0]
    yield "whole and parts", lambda x: x + x[...] + x[:, :]


def written(x):
    """Writes into views and bases, and what becomes of their histories."""
    base = x * 1
    view, row, turned = base[1:], base[0], base.T
    part = lg.split(base, 2, axis=1)[0] if base.shape[1] % 2 == 0 else base
    base += 1
    yield "after a write", lambda: view * 2 + row + turned.T[1:]
    yield "a part after a write", lambda: part * 2
    yield "a write into a part", lambda: lg.chunk(x * 1, 2)[0].add_(1)
    view.mul_(3)
    yield "after a write into a view", lambda: lg.concat([base, turned.T, view])
    yield "a view of a view", lambda: view[0].reshape(2, 2).T[0]


def lines(value_of, gradients):
    """Pairs of a name and what came of it."""

    def tried(name, call, x):
        try:
            y = call()
            return name, value_of(y), gradients(y, [x])
        except Exception as error:
            return name, type(error).__name__, str(error)

    for dtype in (np.float32, np.float64, np.float16, np.int64, np.complex64):
        for mode in (lg.enable_grad, lg.no_grad, lg.inference_mode):
            for name, form in forms(dtype):
                x = square(dtype, wants=dtype is not np.int64)
                for _ in range(2):  # the first call of all makes the operator
                    with mode():
                        yield tried(f"{dtype.__name__} {mode.__name__} {name}", lambda form=form, x=x: form(x), x)
    x = square()
    for name, call in written(x):
        yield tried(name, call, x)
    yield tried("hooks", lambda: _hooked(x), x)


def _hooked(x):
    seen = []
    a, b = lg.chunk(x * 2, 2, 1)
    a.register_hook(lambda g: seen.append(g.tolist()) or g * 3)
    b.retain_grad()
    y = lg.concat([b, a, b[:, :1]], 1)[:, 1:]
    y.register_hook(lambda g: g + 1)
    y.grad_fn.register_prehook(lambda gs: None)
    (y * y).sum().backward(retain_graph=True)
    found = [x.grad, b.grad, lg.tensor(seen)]
    x.grad = None
    return (*(g.detach() for g in found), y)
