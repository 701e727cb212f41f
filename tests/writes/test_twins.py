"""Every write in place gives what its out-of-place twin gives, and is refused where PyTorch's is."""

import operator
import warnings
from dataclasses import dataclass

import numpy as np
from expressions import torch
from thoroughness import seeds

import lucidgrad as lg

UNARY = """abs absolute acos asin atan ceil cos cosh exp expm1 floor log log1p neg negative reciprocal relu round rsqrt
sigmoid sin sinh sqrt square tan tanh trunc acosh arccos arccosh arcsin arcsinh arctan arctanh asinh atanh conj_physical
deg2rad digamma erf erfc erfinv exp2 fix frac i0 lgamma log10 log2 logical_not logit nan_to_num rad2deg sgn sign
sinc""".split()
BINARY = """add sub subtract mul multiply div divide true_divide pow remainder fmod floor_divide arctan2 atan2 clamp_max
clamp_min copysign eq float_power ge greater greater_equal gt heaviside hypot igamma igammac ldexp le less less_equal
logical_and logical_or logical_xor lt ne nextafter not_equal xlogy""".split()
#: Writes with arguments of other kinds, of integers, of random numbers and of axes: tests/ops has them.
ELSEWHERE = """addbmm_ addmm_ addmv_ addr_ baddbmm_ bitwise_and_ bitwise_left_shift_ bitwise_not_ bitwise_or_
bitwise_right_shift_ bitwise_xor_ clip_ cumprod_ cumsum_ fill_diagonal_ gcd_ index_reduce_ lcm_ lerp_ mvlgamma_
polygamma_ put_ renorm_ tril_ triu_ bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_
squeeze_ swapaxes_ swapdims_ t_ transpose_ unsqueeze_""".split()
OPERATORS = {
    "+=": (operator.iadd, operator.add),
    "-=": (operator.isub, operator.sub),
    "*=": (operator.imul, operator.mul),
    "/=": (operator.itruediv, operator.truediv),
    "**=": (operator.ipow, operator.pow),
    "%=": (operator.imod, operator.mod),
    "//=": (operator.ifloordiv, operator.floordiv),
}
F_UNARY = "celu elu hardtanh leaky_relu relu selu".split()


@dataclass
class Case:
    """A write ``way(y, *args)`` into a tensor of a shape, and what it is to be equal to."""

    name: str
    shape: tuple
    args: tuple
    write: object
    twin: object

    def __str__(self):
        words = [f"{a.dtype}{a.shape}" if isinstance(a, np.ndarray) else repr(a) for a in self.args]
        return f"{self.name} of {self.shape} with {', '.join(words)}"


class Draw:
    """Random shapes and arguments."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def shape(self, least=0):
        return tuple(int(n) for n in self.rng.choice([1, 2, 3], self.rng.integers(least, 4)))

    def lesser(self, shape, more=0.15):
        """A shape that broadcasts to another, or seldom one that does not fit into it."""
        drop = int(self.rng.integers(0, len(shape) + 1)) if self.rng.random() < 0.5 else 0
        made = tuple(1 if self.rng.random() < 0.3 else n for n in shape[drop:])
        if self.rng.random() < more:
            lead = (1,) * (len(shape) - len(made)) if self.rng.random() < 0.7 else ()
            made = (*self.rng.choice([(1,), (2,), (1, 1)][: 1 + (self.rng.random() < 0.3)]), *lead, *made)
            made = tuple(int(n) for n in made)
        return made

    def floats(self, shape):
        n = int(np.prod(shape))
        values = 0.15 + 0.7 * (np.arange(n) + self.rng.random()) / max(n, 1)
        return np.asarray(self.rng.permutation(values).reshape(shape))

    def other(self, shape):
        """A number, or an array that broadcasts to a shape."""
        return float(self.floats(())) if self.rng.random() < 0.2 else self.floats(self.lesser(shape))

    def mask(self, shape):
        return np.asarray(self.rng.random(self.lesser(shape)) < 0.5)

    def axis(self, shape):
        return int(self.rng.integers(-len(shape), len(shape)))

    def index(self, size, count=None):
        """Places along an axis, each at most once."""
        count = int(self.rng.integers(0, size + 1)) if count is None else count
        return self.rng.permutation(size)[:count]


def along(draw, shape):
    """An axis, places along it, and an array of a part's shape."""
    axis = draw.axis(shape)
    index = draw.index(shape[axis])
    part = list(shape)
    part[axis] = len(index)
    return axis, index, draw.floats(tuple(part))


def scattered(draw, shape):
    """Axis, index and source of a scatter: the index may be smaller than the tensor, the source larger."""
    axis = draw.axis(shape)
    part = tuple(int(draw.rng.integers(1, n + 1)) for n in shape)
    index = np.argsort(draw.rng.random((*part[:axis], shape[axis], *part[axis % len(shape) + 1 :])), axis=axis)
    index = np.take(index, range(part[axis]), axis=axis) if index.shape != part else index
    return (
        axis,
        index[tuple(slice(n) for n in part)],
        draw.floats(tuple(n + int(draw.rng.integers(0, 2)) for n in part)),
    )


KEYS = [
    lambda d, s: ...,
    lambda d, s: 0,
    lambda d, s: (slice(None), 0),
    lambda d, s: slice(1, None),
    lambda d, s: (slice(None), None),
    lambda d, s: (0, ..., slice(None, None, 2)),
    lambda d, s: d.index(s[0]),
    lambda d, s: (slice(None), d.index(s[1])),
    lambda d, s: d.rng.random(s) < 0.5,
    lambda d, s: d.rng.random(s[:1]) < 0.5,
    lambda d, s: (slice(None), d.rng.random(s[1:2]) < 0.5),
    lambda d, s: (d.index(s[0], 1), d.index(s[1], 1)),
    lambda d, s: tuple(0 for _ in s),
    lambda d, s: None,
]


def set_item(y, key, value):
    y[key] = value
    return y


def with_item(x, key, value):
    """What ``x[key] = value`` makes of x, out of place: by where, from where each element comes."""
    library = lg if isinstance(x, lg.Tensor) else torch
    places = np.full(x.shape, -1)
    inside = places[key].shape
    places[key] = np.arange(places[key].size).reshape(inside)
    if isinstance(value, library.Tensor):
        while value.ndim > len(inside):
            value = value[0]
        source = lg.broadcast_to(value, inside).reshape(-1)
        source = lg.concat([source, lg.zeros(1, dtype=x.dtype, device=x.device)])
        value = source[lg.asarray(places, device=x.device)]
    return lg.where(lg.asarray(places >= 0, device=x.device), value, x)


def generate(draw):
    """One random case."""
    rng, kind = draw.rng, draw.rng.integers(0, 20)
    shape = draw.shape()
    deep = shape if shape else (2,)
    if kind == 0:
        name = str(rng.choice(UNARY))
        return Case(f"{name}_", shape, (), lambda y: getattr(y, f"{name}_")(), lambda x: getattr(x, name)())
    if kind == 1:
        name = str(rng.choice(F_UNARY))
        ways = [lambda x, name=name: getattr(_library(x).nn.functional, name)(x) for name in (f"{name}_", name)]
        return Case(f"F.{name}_", shape, (), *ways)
    if kind in (2, 3):
        name = str(rng.choice(BINARY))
        return _method(name, shape, (draw.other(shape),))
    if kind in (4, 5):
        name = str(rng.choice(list(OPERATORS)))
        return Case(name, shape, (draw.other(shape),), *OPERATORS[name])
    if kind == 6:
        name, alpha = str(rng.choice(["add", "sub"])), float(rng.normal())
        return _method(name, shape, (draw.floats(draw.lesser(shape)),), alpha=alpha)
    if kind == 7:
        low, high = (None if rng.random() < 0.3 else draw.floats(draw.lesser(shape)) for _ in "ab")
        low = draw.floats(draw.lesser(shape)) if low is None and high is None else low
        return _method("clamp", shape, (low, None if high is None else np.asarray(high + 0.2)))
    if kind == 8:
        value = draw.other(shape)
        return Case("copy_", shape, (draw.floats(np.shape(value)),), lambda y, v: y.copy_(v), lambda x, v: x * 0 + v)
    if kind == 9:
        value = float(rng.normal()) if rng.random() < 0.5 else draw.floats(())
        return Case("fill_", shape, (value,), lambda y, v: y.fill_(v), lambda x, v: x * 0 + v)
    if kind in (10, 11):
        value = float(rng.normal()) if rng.random() < 0.5 else draw.floats(())
        return _method("masked_fill", shape, (draw.mask(shape), value))
    if kind == 12:
        return _method("masked_scatter", shape, (draw.mask(shape), draw.floats(shape)))
    if kind == 13:
        name = str(rng.choice(["index_add", "index_copy", "index_fill"]))
        axis, index, source = along(draw, deep)
        if name == "index_fill":
            return _method(name, deep, (axis, index, float(rng.normal()) if rng.random() < 0.5 else draw.floats(())))
        return _method(name, deep, (axis, index, source))
    if kind == 14:
        axis, index, source = scattered(draw, deep)
        name = str(rng.choice(["scatter", "scatter_add"]))
        return _method(name, deep, (axis, index, source if name == "scatter_add" or rng.random() < 0.6 else 1.5))
    if kind == 15:
        axis, index, source = scattered(draw, deep)
        how = str(rng.choice(["sum", "prod", "mean", "amax", "amin"]))
        return _method("scatter_reduce", deep, (axis, index, source, how))
    if kind == 16:
        name, others = str(rng.choice(["addcmul", "addcdiv"])), [draw.floats(draw.lesser(shape)) for _ in "ab"]
        return _method(name, shape, tuple(others), value=0.5)
    if kind == 17:
        index = draw.index(deep[0])
        value = draw.floats(draw.lesser((len(index), *deep[1:])))
        more = bool(rng.random() < 0.5)
        return Case(
            "index_put_",
            deep,
            (index, value),
            lambda y, i, v: y.index_put_((i,), v, more),
            lambda x, i, v: x.index_put((i,), v, more),
        )
    shape = draw.shape(2)
    key = KEYS[rng.integers(len(KEYS))](draw, shape)
    inside = np.zeros(shape)[key].shape
    value = draw.other(inside) if rng.random() < 0.9 else draw.floats((1, 1, *inside))
    ways = [lambda y, v: set_item(y, _key(key, y), v), lambda x, v: with_item(x, key, v)]
    return Case(f"[{key}] =", shape, (value,), *ways)


def _method(name, shape, args, **more):
    ways = [lambda x, *a, name=name: getattr(x, name)(*a, **more) for name in (f"{name}_", name)]
    return Case(f"{name}_", shape, args, *ways)


def _library(y):
    return lg if isinstance(y, lg.Tensor) else torch


def _key(key, y):
    """A key as both libraries take it."""
    parts = key if isinstance(key, tuple) else (key,)
    make = (lambda a: lg.asarray(a, device=y.device)) if isinstance(y, lg.Tensor) else (lambda a: torch.from_numpy(a))
    parts = tuple(make(part) if isinstance(part, np.ndarray) else part for part in parts)
    return parts if isinstance(key, tuple) else parts[0]


#: Memory that is written: the tensor itself, or a view; ``(shape of the base, the view)``.
PLACES = {
    "itself": lambda shape: (shape, lambda y: y * 1),
    "transposed": lambda shape: (shape[::-1], lambda y: (y * 1).permute(tuple(reversed(range(len(shape)))))),
    "part": lambda shape: ((2, *shape), lambda y: (y * 1)[1]),
    "every other": lambda shape: ((*shape, 2), lambda y: (y * 1)[..., 1]),
    "reshaped": lambda shape: ((int(np.prod(shape)),), lambda y: (y * 1).reshape(shape)),
}


def _leaves(library, case, base, where):
    def leaf(value):
        if not isinstance(value, np.ndarray):
            return value
        made = lg.asarray(value.copy(), device=where) if library is lg else torch.from_numpy(value.copy())
        return made.requires_grad_() if value.dtype.kind == "f" else made

    return leaf(base), [leaf(a) for a in case.args]


def _gradients(library, out, base, args):
    """Gradients of a weighted sum, zeros where there are none."""
    leaves = [t for t in (base, *args) if isinstance(t, library.Tensor) and t.requires_grad]
    weights = np.cos(np.arange(int(np.prod(out.shape)))).reshape(tuple(out.shape))
    weights = lg.asarray(weights, device=out.device) if library is lg else torch.from_numpy(weights)
    if not out.requires_grad:
        return [np.zeros(tuple(t.shape)) for t in leaves]
    loss = (out * out * weights).sum()
    found = library.autograd.grad(loss, leaves, allow_unused=True)
    return [np.zeros(tuple(t.shape)) if g is None else _host(g) for t, g in zip(leaves, found, strict=True)]


def _host(t):
    t = t.detach()
    return t.numpy(force=True) if isinstance(t, lg.Tensor) else t.numpy()


def _outcome(library, case, base_values, view, where, in_place):
    """Values and gradients, or the error."""
    base, args = _leaves(library, case, base_values, where)
    try:
        y = view(base)
        out = case.write(y, *args) if in_place else case.twin(y, *args)
        if in_place:
            assert out is y or case.name in OPERATORS
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        return error
    try:
        return _host(out), _gradients(library, out, base, args)
    except (RuntimeError, AssertionError) as error:
        if library is lg:
            raise AssertionError(f"{case}: backward raises: {error}") from None
        return _host(out), None  # a defect of its own


def check(case, place, where, seed):
    """Compare the write with its twin, and whether it is refused with PyTorch."""
    shape, view = PLACES[place](case.shape)
    base = Draw(seed).floats(shape)
    what = f"{case} into {place} on {where}, seed {seed}"
    found = _outcome(lg, case, base, view, where, in_place=True)
    expected = _outcome(lg, case, base, view, where, in_place=False)
    if torch is not None and where == "cpu":
        peer = _outcome(torch, case, base, view, where, in_place=True)
        if "not implemented" in str(peer) or "must be Tensor, not float" in str(peer):
            peer = found  # PyTorch has no derivative of this write, or does not take numbers
        assert isinstance(peer, Exception) <= isinstance(found, Exception), f"{what}: PyTorch refuses: {peer}"
        assert isinstance(found, Exception) <= isinstance(peer, Exception), f"{what}: PyTorch computes; {found!r}"
        expected = peer if isinstance(expected, Exception) else expected
    if isinstance(found, Exception):
        assert isinstance(found, (RuntimeError, ValueError, IndexError)), f"{what}: {found!r}"
        return
    if isinstance(expected, Exception) or expected[0].shape != tuple(case.shape):
        raise AssertionError(f"{what}: computes, its twin does not fit: {expected!r}")
    for a, b in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=what)


def _run(seeds, where):
    broken = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            draw = Draw(seed)
            case = generate(draw)
            place = str(draw.rng.choice(list(PLACES)))
            try:
                check(case, place, where, seed)
            except AssertionError as error:
                broken.append(str(error).strip().splitlines()[0])
    return broken


def test_writes_equal_their_twins():
    assert not _run(seeds(700, 20_000), "cpu")


def test_writes_equal_their_twins_on_cuda():
    assert not _run(seeds(60, 1000, first=10**6), "cuda")


def test_every_write_has_a_twin():
    written = {name for name in dir(lg.Tensor) if name.endswith("_") and not name.startswith("_")}
    tried = {f"{name}_" for name in (*UNARY, *BINARY)} | {generate(Draw(seed)).name.split()[0] for seed in range(700)}
    assert written - tried == {"zero_", "detach_", "requires_grad_", *ELSEWHERE}
