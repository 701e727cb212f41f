"""What the tests of linear algebra compare with: finite differences, and the strictest library."""

import array_api_strict
import numpy as np

import lucidgrad as lg
from lucidgrad.backends.protocol import Backend, Namespace

grad = lg.autograd.grad
rng = np.random.default_rng(7)


def numbers(*shape, complex=False):
    x = rng.normal(size=shape)
    return np.asarray(x + 1j * rng.normal(size=shape) if complex else x)


def leaves(arrays):
    return [lg.tensor(a, requires_grad=True) for a in arrays]


def close(a, b, tolerance=1e-9):
    a = a.detach().numpy() if isinstance(a, lg.Tensor) else a
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def differences(f, arrays, step=1e-5):
    """Central differences of a scalar function of arrays."""
    out = []
    for n, x in enumerate(arrays):
        g = np.zeros(x.shape)
        for at in np.ndindex(*x.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[n][at] += sign * step
                ends.append(f(*moved))
            g[at] = (ends[0] - ends[1]) / (2 * step)
        out.append(g)
    return out


def check_orders(f, *arrays):
    """Gradients of orders one and two of a function of tensors against central differences."""
    xs = leaves(arrays)
    y = f(*xs)
    w = numbers(*y.shape)
    vs = [numbers(*a.shape) for a in arrays]

    def first(*values):
        return float(np.sum(f(*map(lg.tensor, values)).numpy() * w))

    def second(*values):
        inner = leaves(values)
        gs = grad(f(*inner), inner, lg.tensor(w))
        return float(sum(np.sum(g.numpy() ** 2 * v) for g, v in zip(gs, vs)))

    gs = grad(y, xs, lg.tensor(w), create_graph=True)
    for g, reference in zip(gs, differences(first, arrays)):
        close(g, reference, 1e-6)
    total = sum(((g * g * lg.tensor(v)).sum() for g, v in zip(gs, vs)), lg.tensor(0.0, dtype=lg.float64))
    hs = grad(total, xs, allow_unused=True, materialize_grads=True) if total.requires_grad else gs
    if total.requires_grad:
        for h, reference in zip(hs, differences(second, arrays)):
            close(h, reference, 1e-5)


class Strict(Backend):
    """array-api-strict, which no device is registered for: its namespace is enough."""

    name = "strict"
    array_types = (type(array_api_strict.zeros(1)),)
    library = array_api_strict


strict = Namespace(Strict())
