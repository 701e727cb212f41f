"""The same call in lucidgrad and in PyTorch: values and gradients must agree."""

import numpy as np
from golden import thin

import lucidgrad as lg


def draw(*shape, seed=0, low=None):
    """Random numbers, above a bound if one is given."""
    made = np.random.default_rng(seed + 7 * sum(shape)).normal(size=shape)
    return made if low is None else np.abs(made) + low


class Fixed(np.ndarray):
    """Floats of which no gradient is wanted."""


def fixed(a):
    return np.asarray(a).view(Fixed)


def wants_gradient(a):
    return type(a) is np.ndarray and a.dtype.kind == "f"


def _ours(a, device):
    if isinstance(a, np.ndarray):
        return lg.tensor(np.asarray(a), device=device, requires_grad=wants_gradient(a))
    return a


def _theirs(torch, a):
    if isinstance(a, np.ndarray):
        return torch.tensor(np.asarray(a), requires_grad=wants_gradient(a))
    return a


def _parts(y):
    return list(y) if isinstance(y, (tuple, list)) else [y]


def agree(torch, ours, theirs, *args, device="cpu", rtol=1e-9, atol=1e-9, **keywords):
    """Run both functions on arrays (and other arguments); compare all results and all gradients."""
    xs = [_ours(a, device) for a in args]
    ts = [_theirs(torch, a) for a in args]
    k1 = {k: _ours(v, device) for k, v in keywords.items()}
    k2 = {k: _theirs(torch, v) for k, v in keywords.items()}
    ys, zs = _parts(ours(*xs, **k1)), _parts(theirs(*ts, **k2))
    assert len(ys) == len(zs)
    rng = np.random.default_rng(1)
    total, other = 0, 0
    for y, z in zip(ys, zs, strict=True):
        assert tuple(y.shape) == tuple(z.shape)
        values = thin(z.detach()).numpy()
        assert str(y.dtype) == str(values.dtype)
        np.testing.assert_allclose(thin(y.detach().cpu()).numpy(), values, rtol=rtol, atol=atol)
        if z.requires_grad:
            assert y.requires_grad
            seed = rng.normal(size=tuple(z.shape)).astype(values.dtype)
            total = total + (y * lg.tensor(seed, device=device)).sum()
            other = other + (z * torch.tensor(seed)).sum()
    if isinstance(other, int):
        return
    total.backward()
    other.backward()
    for x, t in zip([*xs, *k1.values()], [*ts, *k2.values()], strict=True):
        if isinstance(x, lg.Tensor) and x.requires_grad:
            if t.grad is None:
                assert x.grad is None or not np.any(x.grad.cpu().numpy())
            else:
                found, expected = thin(x.grad.cpu()).numpy(), thin(t.grad).numpy()
                np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def tensors(*arrays):
    """Double precision tensors that want gradients."""
    return tuple(lg.tensor(a, requires_grad=True) for a in arrays)


def twice(function, *arrays):
    """Check first and second derivatives by finite differences."""
    given = tensors(*arrays)
    assert lg.autograd.gradcheck(function, given)
    assert lg.autograd.gradgradcheck(function, given)


def mapped(function, *arrays, rtol=1e-10, atol=1e-12):
    """Check vmap over the first axis against a loop, values and gradients."""
    xs = [_ours(a, "cpu") for a in arrays]
    y = lg.func.vmap(function)(*xs)
    z = lg.stack([function(*(x[k] for x in xs)) for k in range(len(arrays[0]))])
    np.testing.assert_allclose(y.detach().numpy(), z.detach().numpy(), rtol=rtol, atol=atol)
    wanted = [x for x in xs if x.requires_grad]
    seed = lg.tensor(np.random.default_rng(2).normal(size=y.shape))
    got = lg.autograd.grad((y * seed).sum(), wanted)
    expected = lg.autograd.grad((z * seed).sum(), wanted)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=rtol, atol=atol)
