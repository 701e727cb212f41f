"""The cases of `bench.programs`: each is written for lucidgrad and PyTorch, and for JAX where that is a few lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

import lucidgrad as lg

from . import training

F, TF = lg.nn.functional, torch.nn.functional
_random = np.random.default_rng(0)


class Case(NamedTuple):
    """What is compared: a function that is compiled, with its arrays, and the same of PyTorch's and JAX's.

    ``settle`` is how many calls make state that programs depend on, of an optimiser for example, and one more.
    """

    mine: Callable[..., Any]
    arrays: Sequence[Any]
    theirs: Callable[[], Any]
    jax: Callable[[], Any] | None = None
    settle: int = 1


def draw(*shape: int, scale: float = 1.0) -> Any:
    return (_random.standard_normal(shape) * scale).astype(np.float32)


def jax_of() -> Any:
    """JAX, which is imported when the first case asks for it; None if it is not installed."""
    try:
        import jax
    except ImportError:
        return None
    return jax


def jitted(make: Callable[[Any], Callable[..., Any]], *given: Any) -> Callable[[], Any] | None:
    """A call of ``jax.jit`` of a function that is made of JAX, and waits for its results; None without JAX."""
    jax = jax_of()
    if jax is None:
        return None
    run, arrays = jax.jit(make(jax)), jax.tree_util.tree_map(jax.numpy.asarray, given)
    return lambda: jax.block_until_ready(run(*arrays))


def _plain(f: Callable[..., Any], *arrays: Any) -> Case:
    """A function of arrays, written for any library."""
    ts = [torch.tensor(a) for a in arrays]
    return Case(
        lambda *xs: f(lg, *xs),
        arrays,
        lambda: f(torch, *ts),
        jitted(lambda jax: lambda *xs: f(jax.numpy, *xs), *arrays),
    )


# -- many small operations -----------------------------------------------------------------------------
def chain(count: int) -> Case:
    def run(_: Any, x: Any) -> Any:
        for _ in range(count // 4):
            x = (x * 0.5 + 0.25 - x) * 0.75  # never near zero, where arithmetic is slow
        return x

    return _plain(run, draw(100, scale=0.5))


def slices() -> Case:
    """Parts of an array, joined in another order many times, and the gradient of all that."""

    def loss(xp: Any, x: Any) -> Any:
        join = getattr(xp, "concatenate", None) or xp.concat
        for k in range(1, 20):
            x = join(
                [
                    x[k:] * 0.5,
                    x[:k] + 1.0,
                ]
            )
            x = x + join([x[::2], x[1::2]])
        return (x * x).sum()

    x = draw(64)
    tx = torch.tensor(x, requires_grad=True)
    mine = lambda x: lg.func.grad(lambda x: loss(lg, x))(x)
    peer = jitted(lambda jax: jax.grad(lambda x: loss(jax.numpy, x)), x)
    return Case(mine, [x], lambda: torch.autograd.grad(loss(torch, tx), tx), peer)


# -- derivatives ---------------------------------------------------------------------------------------
def network(xp: Any, x: Any, p: Sequence[Any]) -> Any:
    for w, b in _pairs(p[:-2]):
        x = xp.tanh(x @ w + b)
    return x @ p[-2] + p[-1]


def _pairs(p: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(p[::2], p[1::2], strict=True))


def _weights(*sizes: int) -> list[Any]:
    return [a for m, n in itertools.pairwise(sizes) for a in (draw(m, n, scale=m**-0.5), draw(n, scale=0.1))]


def hvp() -> Case:
    x, p, v = draw(32, 32), _weights(32, 32, 32, 1), _weights(32, 32, 32, 1)

    def product(m: Any, xp: Any) -> Callable[..., Any]:
        def run(x: Any, p: Any, v: Any) -> Any:
            loss = lambda p: (network(xp, x, p) ** 2).mean()
            return m.jvp(m.grad(loss), (p,), (v,))[1]

        return run

    def mine(x: Any, *rest: Any) -> Any:
        return product(lg.func, lg)(x, list(rest[:6]), list(rest[6:]))

    tx, ts, tv = torch.tensor(x), [torch.tensor(a, requires_grad=True) for a in p], [torch.tensor(a) for a in v]

    def theirs() -> Any:  # of its ways the quickest
        g = torch.autograd.grad((network(torch, tx, ts) ** 2).mean(), ts, create_graph=True)
        return torch.autograd.grad(g, ts, tv)

    return Case(mine, [x, *p, *v], theirs, jitted(lambda jax: product(jax, jax.numpy), x, p, v))


def _transformed(name: str, f: Callable[..., Any], x: Any, *weights: Any) -> Case:
    """A transform of a function of x, by its name in `lucidgrad.func`, `torch.func` and `jax`."""
    tx, ts = torch.tensor(x), [torch.tensor(w) for w in weights]
    theirs = getattr(torch.func, name)(lambda x: f(torch, x, *ts))
    mine = lambda x, *ws: getattr(lg.func, name)(lambda x: f(lg, x, *ws))(x)
    peer = jitted(lambda jax: getattr(jax, name)(lambda x, *ws: f(jax.numpy, x, *ws)), x, *weights)
    return Case(mine, [x, *weights], lambda: theirs(tx), peer)


def hessian() -> Case:
    f = lambda xp, x, w: xp.sum(xp.tanh(x @ w) ** 2) + xp.sum(x**4)
    return _transformed("hessian", f, draw(50), draw(50, 50, scale=50**-0.5))


def jacobian() -> Case:
    f = lambda xp, x, w, v: xp.tanh(xp.tanh(x @ w) @ v)
    return _transformed("jacrev", f, draw(64), draw(64, 64, scale=0.125), draw(64, 64, scale=0.125))


def gradient_penalty() -> Case:
    x, p = draw(64, 32), _weights(32, 64, 64, 1)

    def step(m: Any, x: Any, p: Sequence[Any]) -> Any:
        x = x.detach().requires_grad_()
        (g,) = m.autograd.grad(network(m, x, p).sum(), x, create_graph=True)
        penalty = ((g**2).sum(1) ** 0.5 - 1) ** 2
        return m.autograd.grad(penalty.mean(), p[:-1])

    tx, ts = torch.tensor(x), [torch.tensor(a, requires_grad=True) for a in p]

    def mine(x: Any, *p: Any) -> Any:
        return [g.detach() for g in step(lg, x, [a.detach().requires_grad_() for a in p])]

    def peer(jax: Any) -> Callable[..., Any]:
        def penalty(p: Any, x: Any) -> Any:
            g = jax.grad(lambda x: network(jax.numpy, x, p).sum())(x)
            return (((g**2).sum(1) ** 0.5 - 1) ** 2).mean()

        return jax.grad(penalty)

    return Case(mine, [x, *p], lambda: step(torch, tx, ts), jitted(peer, p, x))


# -- large arrays --------------------------------------------------------------------------------------
def both_ways(
    mine: Callable[..., Any], theirs: Callable[..., Any], jaxs: Callable[[Any], Callable[..., Any]], *arrays: Any
) -> Case:
    """A function and its cotangents, given ones; ``jaxs`` makes JAX's of the library."""

    def run(*xs: Any) -> Any:
        own = [x.detach().requires_grad_() for x in xs]
        y = mine(*own)
        return [y.detach(), *(g.detach() for g in lg.autograd.grad(y, own, [lg.ones_like(y)]))]

    def peer(jax: Any) -> Callable[..., Any]:
        def both(*xs: Any) -> Any:
            y, pull = jax.vjp(jaxs(jax), *xs)
            return y, pull(jax.numpy.ones_like(y))

        return both

    ts = [torch.tensor(a, requires_grad=True) for a in arrays]
    one = torch.ones_like(theirs(*ts))
    return Case(run, arrays, lambda: torch.autograd.grad(theirs(*ts), ts, one), jitted(peer, *arrays))


def function_of(name: str) -> Case:
    """An activation of four million numbers."""
    exact = {"approximate": False} if name == "gelu" else {}
    peer = lambda jax: lambda x: getattr(jax.nn, name)(x, **exact)
    return both_ways(getattr(F, name), getattr(TF, name), peer, draw(2048, 2048))


def mixture() -> Case:
    f = lambda xp: lambda x: xp.log(xp.exp(x) + 1) * x
    return both_ways(f(lg), f(torch), lambda jax: f(jax.numpy), draw(2048, 2048))


def softmax() -> Case:
    f = lambda f: lambda x: f.softmax(x, -1)
    return both_ways(f(F), f(torch), lambda jax: f(jax.nn), draw(4096, 512))


def layer_norm() -> Case:
    def peer(jax: Any) -> Callable[..., Any]:
        def normed(x: Any, w: Any, b: Any) -> Any:
            rate = 1 / jax.numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)
            return (x - x.mean(-1, keepdims=True)) * rate * w + b

        return normed

    f = lambda f: lambda x, w, b: f.layer_norm(x, (512,), w, b)
    return both_ways(f(F), f(TF), peer, draw(4096, 512), draw(512), draw(512))


# -- steps of training -----------------------------------------------------------------------------------
def trained(name: str, jax: Callable[[], Any] | None = None) -> Case:
    """A case of `bench.training`."""
    case = training.CASES[name]
    mine, theirs = (case.make(m, case.rows) for m in (lg, torch))
    return Case(mine, [], theirs, jax, settle=4)


def scanned() -> Case:
    """A recurrent network of 200 steps as one loop, with its gradients."""
    params, x = [draw(16, 32, scale=0.1), draw(32, 32, scale=0.1)], draw(200, 8, 16)

    def loss(u: Any, w: Any, x: Any) -> Any:
        def body(h: Any, x: Any) -> Any:
            h = lg.tanh(x @ u + h @ w)
            return h, h

        return (lg.func.scan(body, lg.zeros(8, 32), x)[1] ** 2).mean()

    ts, tx = [torch.tensor(p, requires_grad=True) for p in params], torch.tensor(x)

    def theirs() -> None:
        h, found = torch.zeros(8, 32), []
        for one in tx:
            h = torch.tanh(one @ ts[0] + h @ ts[1])
            found.append(h)
        torch.autograd.grad((torch.stack(found) ** 2).mean(), ts)

    return Case(lg.func.grad(loss, (0, 1)), [*params, x], theirs)


def adam_of(jnp: Any, p: Any, g: Any, m: Any, v: Any, t: Any, decay: float = 0.0) -> Any:
    """A step of Adam, with decay AdamW, for lists of arrays in JAX: parameters, means, and means of squares."""
    m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
    v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g, strict=True)]
    rate, far = 1e-4 / (1 - 0.9**t), jnp.sqrt(1 - 0.999**t)
    new = [a * (1 - decay) - rate * b / (jnp.sqrt(c) / far + 1e-8) for a, b, c in zip(p, m, v, strict=True)]
    return new, m, v


def _jax_mlp(adam: bool, rows: int, *sizes: int) -> Callable[[], Any] | None:
    """The step of `training.mlp` in JAX."""
    x, p = draw(rows, sizes[0]), _weights(*sizes)
    y = draw(rows, 1) if sizes[-1] == 1 else _random.integers(0, sizes[-1], rows)

    def peer(jax: Any) -> Callable[..., Any]:
        jnp = jax.numpy

        def loss(p: Any) -> Any:
            a = x
            for k, (w, b) in enumerate(_pairs(p)):
                a = a @ w + b
                a = jax.nn.relu(a) if 2 * k + 2 < len(p) else a
            if sizes[-1] == 1:
                return ((a - y) ** 2).mean()
            return -jnp.take_along_axis(jax.nn.log_softmax(a), y[:, None], 1).mean()

        def step(p: Any, m: Any, v: Any, t: Any) -> Any:
            value, g = jax.value_and_grad(loss)(p)
            if not adam:
                return [a - 1e-4 * b for a, b in zip(p, g, strict=True)], m, v, t, value
            return *adam_of(jnp, p, g, m, v, t), t + 1, value

        return step

    zeros = [np.zeros_like(a) for a in p]
    return jitted(peer, p, zeros, zeros, np.float32(1))


def _jax_gpt(rows: int, layers: int = 4, width: int = 128, heads: int = 4, length: int = 64) -> Any:
    """The step of `training.char_gpt` in JAX."""
    vector = lambda n, value=0.0: np.full(n, value, np.float32)
    p = [draw(65, width), draw(length, width)]
    for _ in range(layers):
        p += [vector(width, 1.0), vector(width), draw(width, 3 * width, scale=0.09), vector(3 * width)]
        p += [draw(width, width, scale=0.09), vector(width), vector(width, 1.0), vector(width)]
        p += [draw(width, 4 * width, scale=0.09), vector(4 * width), draw(4 * width, width, scale=0.04), vector(width)]
    p += [vector(width, 1.0), vector(width), draw(width, 65, scale=0.09), vector(65)]
    i = _random.integers(0, 65, (rows, length + 1))

    def peer(jax: Any) -> Callable[..., Any]:
        jnp = jax.numpy
        mask = jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -jnp.inf)

        def norm(x: Any, w: Any, b: Any) -> Any:
            return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b

        def attend(x: Any, w: Any, b: Any, out: Any, shift: Any) -> Any:
            q, k, v = jnp.split((x @ w + b).reshape(rows, length, 3 * heads, -1).swapaxes(1, 2), 3, axis=1)
            scores = q @ k.swapaxes(-1, -2) * (width // heads) ** -0.5 + mask
            y = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(rows, length, width)
            return y @ out + shift

        def loss(p: Any) -> Any:
            x = p[0][i[:, :-1]] + p[1]
            for k in range(2, 2 + 12 * layers, 12):
                a = p[k : k + 12]
                x = x + attend(norm(x, *a[:2]), *a[2:6])
                x = x + jax.nn.gelu(norm(x, *a[6:8]) @ a[8] + a[9], approximate=False) @ a[10] + a[11]
            scores = jax.nn.log_softmax(norm(x, *p[-4:-2]) @ p[-2] + p[-1])
            return -jnp.take_along_axis(scores, i[:, 1:, None], -1).mean()

        def step(p: Any, m: Any, v: Any, t: Any) -> Any:
            value, g = jax.value_and_grad(loss)(p)
            return *adam_of(jnp, p, g, m, v, t, decay=1e-6), t + 1, value

        return step

    zeros = [np.zeros_like(a) for a in p]
    return jitted(peer, p, zeros, zeros, np.float32(1))


def _gpt() -> Case:
    name = "tiny char-GPT, AdamW"
    return trained(name, _jax_gpt(training.CASES[name].rows))


def _mlp(size: str, optimiser: str) -> Case:
    sizes, rows = (training.LARGE, 128) if size == "784-512-512-10" else (training.SMALL, 16)
    return trained(f"MLP {size}, {optimiser}", _jax_mlp(optimiser == "Adam", rows, *sizes))


#: How large the ratio to PyTorch may be, and what makes the case.
CASES: dict[str, tuple[float, Callable[[], Case]]] = {
    "100 small operations": (0.03, lambda: chain(100)),
    "10,000 small operations": (0.02, lambda: chain(10_000)),
    "tiny MLP, SGD step": (0.08, lambda: _mlp("32-32-1", "SGD")),
    "tiny MLP, Adam step": (0.06, lambda: _mlp("32-32-1", "Adam")),
    "Hessian-vector product, MLP": (0.15, hvp),
    "Hessian of 50": (0.02, hessian),
    "Jacobian 64 x 64": (0.15, jacobian),
    "gradient penalty, MLP": (0.45, gradient_penalty),
    "slices and joins, gradient": (0.3, slices),
    "scan of 200 steps, gradient": (0.45, scanned),
    **{f"{name}, 4M": (0.5, lambda name=name: function_of(name)) for name in ("tanh", "sigmoid", "gelu", "silu")},
    "softplus, 4M": (0.5, lambda: function_of("softplus")),
    "exp-log mix, 4M": (0.5, mixture),
    "softmax, 4096 x 512": (0.9, softmax),
    "layer norm, 4096 x 512": (0.9, layer_norm),
    "MLP 784-512-512-10, SGD step": (0.8, lambda: _mlp("784-512-512-10", "SGD")),
    "MLP 784-512-512-10, Adam step": (0.55, lambda: _mlp("784-512-512-10", "Adam")),
    "RNN, 200 steps, 128 units": (0.45, lambda: trained("RNN 200 steps, 128 units")),
    "LSTM, 200 steps, 128 units": (0.7, lambda: trained("LSTM 200 steps, 128 units")),
    "CNN 64x1x28x28": (1.0, lambda: trained("CNN 64x1x28x28, SGD")),
    "CNN 32x3x32x32": (1.2, lambda: trained("CNN 32x3x32x32, SGD")),
    "transformer block": (0.85, lambda: trained("transformer block, AdamW")),
    "char-GPT": (0.95, _gpt),
}
