"""Which dtype comes out of operands of several dtypes, and that it is the same in every way of computing.

Kinds are ordered: bool, integer, real, complex. Tensors of the highest kind decide; numbers, Python's and NumPy's
alike, decide only where they are of a higher kind, and then they take the default dtype. So a float32 network stays
float32.
"""

import itertools
import operator

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.core.primitive import ELEMENTWISE, registry

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *REALS, *COMPLEX)
NUMBERS = (True, 2, 1.5, 1 + 0.5j)
SCALARS = [getattr(np, name + "_" * (name == "bool"))(1) for name in (*DTYPES, "uint16", "uint32", "uint64")]
SCALARS += [np.longdouble(1.5)]
LARGE = 9001  # from where on compiled loops may run


def kind(x):
    """0 to 3: bool, integer, real, complex; of a dtype's name, or of a number."""
    if isinstance(x, str):
        return 0 if x == "bool" else 3 if x.startswith("complex") else 2 if "float" in x else 1
    return [bool, int, float, complex].index(type(x))


def expected(tensors, numbers=(), floats=False):
    """The dtype of a result, by name; ``floats``: a function that makes floats of integers."""
    highest = max(map(kind, tensors))
    found = str(np.result_type(*(np.dtype(t) for t in tensors if kind(t) == highest or kind(t) >= 2)))
    above = max([highest, *map(kind, numbers), 2 if floats else 0])
    if above == 3 and highest < 3:
        return "complex128" if found == "float64" else "complex64"
    if above == 2 and highest < 2:
        return "float32"
    return "int64" if above == 1 and highest == 0 else found


def binary():
    """The functions of two operands whose result has their dtype: all of one kind of primitive, found by themselves."""
    for name, p in sorted(registry.items()):
        if p.kind is ELEMENTWISE and len(p.arrays) == 2 and (p.differentiable == (0, 1) or p.dtype == "float"):
            yield name


BINARY = [name for name in binary() if hasattr(lg, name) and not name.endswith("_pull")]
UNORDERED = {"multiply", "add", "subtract", "divide", "pow"}  # those that take complex numbers
OPERATORS = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "pow": operator.pow, "remainder": operator.mod, "floor_divide": operator.floordiv,
}  # fmt: skip


def values(dtype, size=6, device=None):
    array = (np.arange(size) % 3 + 1).astype(dtype)
    return lg.asarray(array, device=device)


def call(f, *args):
    """A result, or the class of the error."""
    try:
        return f(*args)
    except (TypeError, RuntimeError, ValueError, OverflowError) as error:
        return type(error)


def same(a, b):
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and a.cpu().numpy().tobytes() == b.cpu().numpy().tobytes()


def near(a, b):
    return a.dtype == b.dtype and np.allclose(a.numpy(), b.numpy(), rtol=1e-5)


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda":
        pytest.importorskip("cupy")
    return request.param


def pairs(name):
    takes = [d for d in DTYPES if kind(d) < 3 or name in UNORDERED]
    return [pair for pair in itertools.product(takes, takes) if not (name == "subtract" and set(pair) == {"bool"})]


@pytest.mark.parametrize("name", BINARY)
def test_mixed_tensors_are_the_same_as_cast_ones(name):
    """Values, dtype and gradients: integers become the floats' dtype first, wherever they stand and whatever runs."""
    f, floats = getattr(lg, name), registry[name].dtype == "float"
    for d1, d2 in pairs(name):
        want = expected((d1, d2), floats=floats)
        for size in (6, LARGE):
            a, b = values(d1, size), values(d2, size)
            if size == LARGE and (kind(want) < 2 or {d1, d2} <= {"float32", "float64"}):
                continue
            if kind(want) < 2:
                y = call(f, a, b)
                assert isinstance(y, type) or kind(str(y.dtype)) < 2, (d1, d2)
                continue
            goal = getattr(lg, want)
            real = [kind(d) < 2 for d in (d1, d2)]
            ca, cb = (lg.astype(x, goal) if cast else x for x, cast in zip((a, b), real, strict=True))
            y = call(f, a, b)
            assert isinstance(y, type) or str(y.dtype) == want, (d1, d2, size, str(y.dtype), want)
            exact = size < LARGE or (
                max(kind(d1), kind(d2)) > 1 and (floats or "bool" not in (d1, d2))
            )  # else two loops
            assert (same if exact else near)(y, call(f, ca, cb)), (d1, d2, size)
            if isinstance(y, type):
                continue
            assert str(lg.result_type(a, b) if max(kind(d1), kind(d2)) > 1 else y.dtype) == want
            assert str(lg.result_type(a.dtype, b.dtype) if max(kind(d1), kind(d2)) > 1 else y.dtype) == want
            if not registry[name].differentiable:
                continue
            grads = []
            for one, two in ((a, b), (ca, cb)):
                leaves = [x.detach().clone() for x in (one, two)]
                wanting = [x.requires_grad_() for x, r in zip(leaves, real, strict=True) if not r]
                if wanting:
                    out = f(*leaves)
                    assert (same if exact else near)(out.detach(), y)
                    grads.append(lg.autograd.grad(out, wanting, lg.ones_like(out)))
                    assert [g.dtype for g in grads[-1]] == [x.dtype for x in wanting]
            assert not grads or all(map(same if exact else near, *grads)), (d1, d2, size)


@pytest.mark.parametrize("name", BINARY)
def test_numpys_scalars_are_numbers(name):
    """Every scalar type on either side gives what the Python number gives, as a function and as an operator."""
    f, floats = getattr(lg, name), registry[name].dtype == "float"
    ways = [f, *([OPERATORS[name]] if name in OPERATORS else ())]
    for d, s in itertools.product(DTYPES, SCALARS):
        plain = float(s) if type(s) is np.longdouble else s.item()
        if (kind(d) == 3 or type(plain) is complex) and name not in UNORDERED:
            continue
        x = values(d)
        for way in ways:
            for given, number in (((x, s), (x, plain)), ((s, x), (plain, x))):
                y = call(way, *given)
                assert same(y, call(way, *number)), (d, type(s), way)
                if not isinstance(y, type) and (kind(d) > 1 or type(plain) is float or floats):
                    assert str(y.dtype) == expected((d,), (plain,), floats), (d, type(s))
                    assert floats or lg.result_type(x, s) == lg.result_type(x, plain) == y.dtype


MIXED = {
    "where": lambda a, b: lg.where(a > 1, a, b),
    "clip": lambda a, b: lg.clip(a, b, b + b),
    "concat": lambda a, b: lg.concat([a, b]),
    "stack": lambda a, b: lg.stack([b, a]),
    "asarray": lambda a, b: lg.asarray([a[0], b[1], 2]),
    "matmul": lambda a, b: a @ b,
    "matmul2": lambda a, b: lg.reshape(a, (2, 3)) @ lg.reshape(b, (3, 2)),
    "vecdot": lambda a, b: lg.vecdot(a, b),
    "tensordot": lambda a, b: lg.tensordot(a, b, axes=1),
    "outer": lambda a, b: lg.linalg.outer(a, b),
    "einsum": lambda a, b: lg.einsum("i,j->ij", a, b),
    "kron": lambda a, b: lg.kron(a, b),
    "cross": lambda a, b: lg.linalg.cross(a[:3], b[:3]),
    "addcmul": lambda a, b: lg.addcmul(a, b, b),
    "lerp": lambda a, b: lg.lerp(a, a + a, b),
    "average": lambda a, b: lg.average(a, weights=b),
    "linear": lambda a, b: lg.nn.functional.linear(lg.reshape(a, (2, 3)), lg.reshape(b, (2, 3))),
    "bias": lambda a, b: lg.nn.functional.linear(lg.reshape(a, (2, 3)), lg.reshape(a, (2, 3)), b[:2]),
    "mse": lambda a, b: lg.nn.functional.mse_loss(a, b),
    "l1": lambda a, b: lg.nn.functional.l1_loss(a, b),
    "huber": lambda a, b: lg.nn.functional.huber_loss(a, b),
    "bce": lambda a, b: lg.nn.functional.binary_cross_entropy_with_logits(a, lg.astype(b == 1, b.dtype)),
    "mean of a mask": lambda a, b: a.sum() / (b > 1).sum(),
    "mean of counts": lambda a, b: a.mean() * b.sum(),
    "prelu": lambda a, b: lg.nn.functional.prelu(a, b[:1]),
    "dist": lambda a, b: lg.cdist(lg.reshape(a, (2, 3)), lg.reshape(b, (2, 3))),
    "norm": lambda a, b: lg.nn.functional.layer_norm(lg.reshape(a, (2, 3)), (3,), b[:3], b[:3]),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("real", REALS)
def test_integers_never_lift_a_float(name, real):
    f = MIXED[name]
    for d in INTEGERS:
        a = values(real).requires_grad_()
        y, cast = f(a, values(d)), f(a, lg.astype(values(d), a.dtype))
        assert str(y.dtype) == real, d
        assert same(y.detach(), cast.detach()), d
        (g,) = lg.autograd.grad(y.sum(), a)
        assert g.dtype == a.dtype
        assert same(g, lg.autograd.grad(cast.sum(), a)[0])


def test_a_network_in_float32_stays_so():
    x = lg.ones((4, 8), requires_grad=True)
    assert (x / np.sqrt(8.0)).dtype == lg.float32
    assert (x.sum() / (x > 0).sum()).dtype == lg.float32
    assert (np.float64(2) * x).dtype == (x * np.int64(2)).dtype == (x ** np.float64(2)).dtype == lg.float32
    assert (x * lg.asarray(2.0, dtype=lg.float64)).dtype == lg.float64  # a tensor's dtype counts


@pytest.mark.parametrize(
    ("d1", "d2"), [("float32", "int64"), ("int64", "float32"), ("float16", "int32"), ("complex64", "int64")]
)
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "pow", "maximum", "atan2"])
def test_every_way_of_computing_gives_one_dtype(name, d1, d2, device):
    if "complex64" in (d1, d2) and name not in UNORDERED:
        return
    f, want = getattr(lg, name), "complex64" if d1 == "complex64" else d1 if "float" in d1 else d2
    a, b = values(d1, device=device), values(d2, device=device)
    t = lg.ones(6, dtype=getattr(lg, want), device=device)
    at = 0 if "int" not in d1 else 1
    one = lambda x: f(x, b) if at == 0 else f(a, x)
    x = (a, b)[at]
    y = f(a, b)
    leaf = x.detach().clone().requires_grad_()
    results = {
        "plain": y,
        "recorded": one(leaf).detach(),
        "vmap": lg.func.vmap(f)(a, b),
        "vmap of one": lg.func.vmap(one, in_dims=0)(lg.stack([x, x]))[1],
        "jvp": lg.func.jvp(one, (x,), (t,))[0],
        "linearised": lg.func.jvp(one, (x,), (t,))[1],
        "gradient": lg.autograd.grad(one(leaf), leaf, lg.ones_like(y))[0],
        "second": lg.autograd.grad(one(leaf), leaf, lg.ones_like(y), create_graph=True)[0].detach(),
        "inference": lg.inference_mode()(one)(x),
    }
    if want != "complex64":
        results["large"] = f(lg.concat([a] * 2000), lg.concat([b] * 2000))[:6]
    assert {way: str(r.dtype) for way, r in results.items()} == dict.fromkeys(results, want)
    for way in ("recorded", "vmap", "vmap of one", "jvp"):
        assert same(results[way], y), way


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("other", [lg.asarray([2, 3, 4]), np.float64(2), np.int32(3), np.float32(2)])
def test_written_in_place(other, recorded):
    for write in (operator.iadd, operator.imul, operator.itruediv, operator.ipow):
        x = lg.tensor([1.0, 2.0, 3.0], requires_grad=recorded)
        y = write(x * 1, other)
        out = {operator.iadd: operator.add, operator.imul: operator.mul, operator.itruediv: operator.truediv}
        assert y.dtype == lg.float32
        assert same(y.detach(), out.get(write, operator.pow)(x, other).detach())
        z = x * 1
        z[:] = other
        z[0] = np.float64(7)
        assert z.dtype == lg.float32 and z[0].item() == 7
        if recorded:
            assert lg.autograd.grad(y.sum(), x)[0].dtype == lg.float32


def test_creation_from_scalars():
    """They are numbers there, too: only an array has a dtype of its own."""
    for make in (lambda v: lg.full((2,), v), lambda v: lg.arange(v)):
        for s in SCALARS:
            plain = float(s) if type(s) is np.longdouble else s.item()
            if type(plain) is complex and make(1.0).shape == (1,):
                continue
            assert same(make(s), make(plain)), type(s)
    assert lg.full_like(lg.ones(2), np.float64(3)).dtype == lg.float32
    assert lg.asarray(np.float64(3)).dtype == lg.float64


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    b, i = lg.ones(3, dtype=lg.bfloat16, requires_grad=True), lg.asarray([1, 2, 3])
    for y in (b * i, i + b, b / np.float64(3), lg.where(i > 1, b, i), lg.concat([b, i]), b**i, lg.maximum(i, b)):
        assert y.dtype == lg.bfloat16
        assert lg.autograd.grad(y.sum(), b)[0].dtype == lg.bfloat16
    assert lg.result_type(b, i) == lg.result_type(lg.bfloat16, lg.int64) == lg.bfloat16
    assert (b * lg.ones(3)).dtype == lg.result_type(lg.bfloat16, lg.float32) == lg.float32
    assert (b * lg.ones(3, dtype=lg.float16)).dtype == lg.result_type(lg.bfloat16, lg.float16) == lg.float32


def test_bincount_adds_integers_exactly():
    weights = lg.asarray([2**24, 1, 1, 2**40])
    found = lg.bincount(lg.asarray([0, 0, 0, 1]), weights)
    assert found.tolist() == [2**24 + 2, 2**40]


def test_numbers_alone_take_the_default_dtype(device):
    """Beside a condition there is nothing that numbers could take their dtype from."""
    mask = values("int64", device=device) > 1
    ways = {
        "plain": lambda *v: lg.where(mask, *v),
        "vmap": lambda *v: lg.func.vmap(lambda m: lg.where(m, *v))(mask),
        "jvp": lambda *v: lg.func.jvp(
            lambda x: lg.where(mask, *v) * x, (lg.ones(6, device=device),) * 1, (lg.ones(6, device=device),)
        )[0],
    }
    for way, f in ways.items():
        assert str(f(1.0, 0.0).dtype) == str(f(np.float64(1), np.float64(0)).dtype) == "float32", way
        assert f(1.0, 0.0).tolist() == [float(m) for m in mask.tolist()], way
    assert str(lg.where(mask, 1, 0).dtype) == "int64"
    assert str(lg.where(mask, True, False).dtype) == "bool"
    assert str(lg.where(mask, 1j, 0).dtype) == "complex64"
    assert str(lg.where(mask, 1, 0.5).dtype) == "float32"


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool"])
@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss"])
def test_labels_may_be_integers(name, kind, device):
    """Values, gradients and dtypes are those of labels that are floats."""
    loss = getattr(lg.nn.functional, name)
    x = lg.tensor([0.2, 0.6, 0.9], device=device, requires_grad=True)
    labels = lg.asarray([0, 1, 1], dtype=kind, device=device)
    found, wanted = (loss(x, y) for y in (labels, labels.float()))
    assert same(found.detach(), wanted.detach())
    assert same(lg.autograd.grad(found, x)[0], lg.autograd.grad(wanted, x)[0])


@pytest.mark.parametrize("make", [lg.optim.SGD, lg.optim.Adam, lg.optim.AdamW, lg.optim.RMSprop, lg.optim.Adagrad])
def test_settings_of_optimisers_are_numbers(make):
    ended = []
    for number in (float, np.float64, np.float32):
        p = lg.tensor([1.0, 2.0], requires_grad=True)
        optimiser = make([p], lr=number(0.5), weight_decay=number(0.25))
        for _ in range(3):
            optimiser.zero_grad()
            (p * p).sum().backward()
            optimiser.step()
        ended.append(p.detach())
    assert same(ended[0], ended[1]) and same(ended[0], ended[2])
    assert ended[0].dtype == lg.float32
