"""Random functions of three numbers, with as many results, and transforms of them with what these mean."""

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import forward_ad, grad

N = 3  # programs and transformed programs are functions of so many numbers, with as many results


class Cube(lg.autograd.Function):
    """A function with rules of its own, among the others."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


class Sine(lg.autograd.Function):
    """The same with ``setup_context``, ``jvp`` and ``vmap``."""

    @staticmethod
    def forward(x):
        return lg.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return lg.cos(ctx.saved_tensors[0]) * g

    @staticmethod
    def jvp(ctx, t):
        return lg.cos(ctx.saved_tensors[0]) * t

    @staticmethod
    def vmap(info, in_dims, x):
        return Sine.apply(x.movedim(in_dims[0], 0)), 0


@lg.custom_vjp
def doubled(x):
    return x * 2


doubled.defvjp(lambda x: (x * 2, None), lambda kept, g: (g * 2,))


def written(x):
    y = x * 1
    y[0] = x[1] * x[2]
    y[1:].mul_(x[:2])
    return y


def identity(x):
    return lg.eye(N, dtype=x.dtype, device=x.device)


def permuted(x):
    return lg.take_along_axis(x, lg.argsort(lg.sin(3 * x)), axis=0)


# Steps of programs: x has N elements, and so has the result; c are constants.
STEPS = {
    "sin": lambda x, c: lg.sin(x),
    "tanh": lambda x, c: lg.tanh(x * c),
    "exp": lambda x, c: lg.exp(0.3 * x),
    "square": lambda x, c: x * x,
    "power": lambda x, c: (1 + x * x) ** 0.7,
    "divide": lambda x, c: c / (2 + lg.cos(x)),
    "atan2": lambda x, c: lg.atan2(x, c + 3),
    "softmax": lambda x, c: lg.nn.functional.softmax(x, -1) * c,
    "matmul": lambda x, c: lg.stack([c, c * c, 1 - c]) @ x,
    "outer": lambda x, c: (x[:, None] * lg.tanh(x)[None, :] * c).sum(0),
    "sum": lambda x, c: x * x.sum(),
    "prod": lambda x, c: x + (1 + 0.2 * x).prod(),
    "norm": lambda x, c: x / (1 + (x * x).sum()) ** 0.5,
    "logsumexp": lambda x, c: c * lg.logsumexp(x + c, 0),
    "cumsum": lambda x, c: lg.cumsum(x, 0) * 0.5,
    "cumprod": lambda x, c: lg.cumprod(0.5 + 0.3 * lg.sin(x), 0),
    "variance": lambda x, c: x * lg.var(x + c),
    "sort": lambda x, c: lg.sort(x) * c,
    "gather": lambda x, c: permuted(x),
    "amax": lambda x, c: x + lg.amax(x * c),
    "where": lambda x, c: lg.where(x > 0.1, x * c, lg.sin(x)),
    "clip": lambda x, c: lg.clip(x, -0.8, 0.9) + x,
    "concat": lambda x, c: lg.concat([x[1:], x[:1] * c[:1]]),
    "flip": lambda x, c: lg.flip(x) * c,
    "index": lambda x, c: x[[2, 0, 0]] + x,
    "reshape": lambda x, c: (x.reshape(3, 1) * c).permute(1, 0).reshape(9)[::3],
    "einsum": lambda x, c: lg.einsum("i,j,j->i", x, x, c),
    "solve": lambda x, c: lg.linalg.solve(identity(x) * 4 + x[:, None] * c[None, :], x),
    "det": lambda x, c: x * lg.linalg.det(identity(x) + x[:, None] * c),
    "conv": lambda x, c: lg.nn.functional.conv1d(x.reshape(1, 1, 3), c.reshape(1, 1, 3), padding=1).reshape(3),
    "layer_norm": lambda x, c: lg.nn.functional.layer_norm(x, (3,), c),
    "pad": lambda x, c: lg.nn.functional.pad(x[:2], (0, 1)) + c * x,
    "complex": lambda x, c: (lg.exp(1j * x) * (x + 1j * c)).real,
    "fft": lambda x, c: lg.abs(lg.fft.fft(x + c)) + x,
    "written": lambda x, c: written(x),
    "cube": lambda x, c: Cube.apply(0.5 * x),
    "sine": lambda x, c: Sine.apply(x) * c,
    "doubled": lambda x, c: doubled(x) - c,
    "mapped": lambda x, c: func.vmap(lambda a, b: lg.sin(a * b) + b, (0, None))(x, c[0]),
    "slope": lambda x, c: func.grad(lambda z: (lg.sin(z) * c * z[0]).sum())(x),
}


#: In nested levels memory may lack a level that a value has: writing there raises.
FLAT_ONLY = {"written"}


def program(rng, depth):
    names = rng.choice(sorted(STEPS if depth == 1 else STEPS.keys() - FLAT_ONLY), size=rng.integers(2, 4))
    constants = [rng.normal(size=N) for _ in names]

    def run(x):
        for name, c in zip(names, constants, strict=True):
            x = STEPS[name](x, lg.tensor(c, device=x.device))
        return lg.tanh(x)  # so that nothing grows

    return run, "→".join(names)


# -- transforms, each with what it means on the plain tape -------------------------------------------
def plain_pull(f, x, w):
    x = x * 1 if x.requires_grad else x.detach().requires_grad_()
    y = f(x)
    if not y.requires_grad:
        return lg.zeros_like(x)
    return grad(y, x, w, create_graph=True, materialize_grads=True)[0]


def plain_push(f, x, t):
    x = x * 1 if x.requires_grad else x.detach().requires_grad_()
    y = f(x)
    seed = lg.zeros_like(y).detach().requires_grad_()
    if not y.requires_grad:
        return lg.zeros_like(y)
    (g,) = grad(y, x, seed, create_graph=True, materialize_grads=True)
    return grad(g, seed, t, create_graph=True, materialize_grads=True)[0] if g.requires_grad else lg.zeros_like(y)


def rows(like, pull):
    return lg.stack([pull(e) for e in identity(like)])


def weighted(f, w):
    return lambda x: (f(x) * w).sum()


def dual(f, x, t):
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(f(forward_ad.make_dual(x, t))).tangent
    return lg.zeros_like(x) if found is None else found


def batched(f, x, v):
    """``is_grads_batched``; x may carry tangents of transforms around it."""
    x = x * 1
    x = x if x.requires_grad else x.requires_grad_()
    y = f(x)
    if not y.requires_grad:
        return lg.zeros_like(x)
    found = grad(y, x, identity(x), create_graph=True, is_grads_batched=True, allow_unused=True)[0]
    return lg.zeros_like(x) if found is None else v @ found


TRANSFORMS = {
    "grad": (lambda f, w, v: func.grad(weighted(f, w)), lambda f, w, v: lambda x: plain_pull(f, x, w)),
    "vjp": (lambda f, w, v: lambda x: func.vjp(f, x)[1](w * x)[0], lambda f, w, v: lambda x: plain_pull(f, x, w * x)),
    "jvp": (
        lambda f, w, v: lambda x: func.jvp(f, (x,), (v * lg.sin(x),))[1],
        lambda f, w, v: lambda x: plain_push(f, x, v * lg.sin(x)),
    ),
    "jacrev": (
        lambda f, w, v: lambda x: func.jacrev(f)(x) @ v,
        lambda f, w, v: lambda x: rows(x, lambda e: plain_pull(f, x, e)) @ v,
    ),
    "jacrev in chunks": (
        lambda f, w, v: lambda x: func.jacrev(f, chunk_size=2)(x) @ v,
        lambda f, w, v: lambda x: rows(x, lambda e: plain_pull(f, x, e)) @ v,
    ),
    "jacfwd": (
        lambda f, w, v: lambda x: w @ func.jacfwd(f)(x),
        lambda f, w, v: lambda x: w @ rows(x, lambda e: plain_push(f, x, e)).mT,
    ),
    "hessian": (
        lambda f, w, v: lambda x: func.hessian(weighted(f, w))(x) @ v,
        lambda f, w, v: lambda x: rows(x, lambda e: plain_pull(lambda z: plain_pull(f, z, w), x, e)) @ v,
    ),
    "hvp": (
        lambda f, w, v: lambda x: func.jvp(func.grad(weighted(f, w)), (x,), (v,))[1],
        lambda f, w, v: lambda x: plain_pull(lambda z: plain_pull(f, z, w), x, v),
    ),
    "vmap": (
        lambda f, w, v: lambda x: w @ func.vmap(f)(lg.stack([x, x * v, lg.cos(x)])),
        lambda f, w, v: lambda x: w @ lg.stack([f(x), f(x * v), f(lg.cos(x))]),
    ),
    "vmap along the second axis": (
        lambda f, w, v: lambda x: func.vmap(f, 1, -1, chunk_size=2)(lg.stack([x, x * v, lg.cos(x)], axis=1)) @ w,
        lambda f, w, v: lambda x: w @ lg.stack([f(x), f(x * v), f(lg.cos(x))]),
    ),
    "vmap around": (
        lambda f, w, v: lambda x: func.vmap(lambda a: f(a * x))(v).sum(0),
        lambda f, w, v: lambda x: sum(f(a * x) for a in v),
    ),
    "per-sample": (
        lambda f, w, v: lambda x: func.vmap(func.grad(lambda z, a: (f(z * a) * w).sum()), (None, 0))(x, v).sum(0),
        lambda f, w, v: lambda x: sum(plain_pull(lambda z, a=a: f(z * a), x, w) for a in v),
    ),
    "dual_level": (
        lambda f, w, v: lambda x: dual(f, x, v),
        lambda f, w, v: lambda x: plain_push(f, x, v),
    ),
    "batched seeds": (
        lambda f, w, v: lambda x: batched(f, x, v),
        lambda f, w, v: lambda x: plain_pull(f, x, v),
    ),
}


def composition(rng, depth, device="cpu"):
    """A random function with transforms around it, the same on the plain tape, and what it is called."""
    ours, steps = program(rng, depth)
    names = list(rng.choice(sorted(TRANSFORMS), size=depth))
    plain = ours
    for name in names:
        w, v = (lg.tensor(rng.normal(size=N), device=device) for _ in range(2))
        ours, plain = TRANSFORMS[name][0](ours, w, v), TRANSFORMS[name][1](plain, w, v)
    return ours, plain, " of ".join([*reversed(names), steps])
