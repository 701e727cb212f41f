"""Products against NumPy; their gradients against differences and algebra."""

import itertools
import tracemalloc

import array_api_strict
import numpy as np
import pytest
from finite import check_orders, close, grad, leaves, numbers, strict

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.items import Input, InputMeta
from lucidgrad.core.primitive import registry
from lucidgrad.levels.batching import Batched, run
from lucidgrad.levels.layer import Level
from lucidgrad.ops.linalg import products

# -- matmul --------------------------------------------------------------------------------------
MATMUL = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((2, 2, 2, 3), (3,)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 2, 0), (0, 4)),
    ((5, 0, 3), (3,)),
]

LEVEL, NEWER = Level("vmap"), Level("vmap")


@pytest.mark.parametrize(("first", "second"), MATMUL)
def test_matmul(first, second):
    x1, x2 = numbers(*first), numbers(*second)
    close(lg.matmul(lg.tensor(x1), lg.tensor(x2)), np.matmul(x1, x2))
    check_orders(lg.matmul, x1, x2)


def test_matmul_complex_follows_the_conjugate_convention():
    x1, x2, w = numbers(4, 2, 3, complex=True), numbers(3, 5, complex=True), numbers(4, 2, 5, complex=True)
    xs = leaves((x1, x2))
    g1, g2 = grad(xs[0] @ xs[1], xs, lg.tensor(w))
    close(g1, w @ x2.conj().T)
    close(g2, np.einsum("bij,bik->jk", x1.conj(), w))


@pytest.mark.parametrize("turned", list(itertools.product([False, True], repeat=2)))
def test_matmul_takes_views(turned):
    x1, x2 = (numbers(4, 4)[::2].T if t else numbers(4, 4)[:, ::2] for t in turned)
    shapes = x1.shape, x2.shape
    if shapes[0][1] != shapes[1][0]:
        x2 = x2.T
    check_orders(lg.matmul, x1, x2)


@pytest.mark.parametrize(("first", "second"), [pair for pair in MATMUL if 0 not in pair[0] + pair[1]])
@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
def test_matmul_in_batches_equals_a_loop(first, second, batched):
    xs = [numbers(*(6,) * b, *shape) for shape, b in zip((first, second), batched)]
    y = run("matmul", *(Batched(x, LEVEL) if b else x for x, b in zip(xs, batched)))
    loop = [np.matmul(*(x[k] if b else x for x, b in zip(xs, batched))) for k in range(6)]
    close(y.value, np.stack(loop))
    nested = [Batched(Batched(np.stack([x, 2 * x]), LEVEL), NEWER) if b else x for x, b in zip(xs, batched)]
    twice = run("matmul", *nested).value.value
    close(twice[1], 2 ** sum(batched) * np.stack(loop))


@pytest.mark.parametrize(("first", "second"), [pair for pair in MATMUL if 0 not in pair[0] + pair[1]])
def test_matmul_batched_cotangents(first, second):
    xs = leaves((numbers(*first), numbers(*second)))
    y = lg.matmul(*xs)
    w = numbers(4, *y.shape)
    together = grad(y, xs, lg.tensor(w), is_grads_batched=True, retain_graph=True)
    for k in range(4):
        for all_, one in zip(together, grad(y, xs, lg.tensor(w[k]), retain_graph=True)):
            close(all_.numpy()[k], one.numpy())


def test_matmul_keeps_the_other_factor_only():
    primitive = registry["matmul"]
    left, right = (primitive.needs(rule) for rule in primitive.rules)
    assert left == (Input(1),)
    assert right == (Input(0), InputMeta(1))


def test_gradient_of_a_shared_matrix_makes_no_product_per_example():
    x, w = lg.ones((64, 2, 128)), lg.ones((128, 128), requires_grad=True)
    y = x @ w
    g = lg.ones(y.shape)
    tracemalloc.start()
    grad(y, w, g)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 128 * 128 * 4  # one product per example would be 64 times a matrix


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_products_keep_their_dtype(name):
    x = lg.ones((2, 2), dtype=getattr(lg, name), requires_grad=True)
    for y in (x @ x, lg.einsum("ij,kj,i->ik", x, x, x[0]), lg.kron(x, x), lg.vecdot(x, x), x[0] @ x[1]):
        assert y.dtype == name
        (g,) = grad(lg.sum(lg.abs(y)), x)
        assert g.dtype == name


def test_integers_multiply_and_have_no_gradient():
    x = lg.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    for y in (x @ x.mT, lg.einsum("ij,kj->ik", x, x), lg.tensordot(x, x, axes=((1,), (1,)))):
        assert y.dtype == "int32" and not y.requires_grad
        assert y.tolist() == [[5, 14], [14, 50]]
    assert lg.einsum("ij->i", x).dtype == "int32"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((2, 3), (4, 5), ["(2, 3)", "(4, 5)", "last axis (3)", "last but one (4)"]),
        ((3, 2, 3), (2, 4), ["(3, 2, 3)", "(2, 4)"]),
        ((2, 3), (4,), ["only one (4)"]),
        ((3, 2, 3), (2, 3, 4), ["batches (3,) and (2,)"]),
        ((2, 3), (), ["multiply by a number with *"]),
    ],
)
def test_matmul_mismatch(first, second, words):
    with pytest.raises(ValueError, match="^matmul: given arrays of shape") as error:
        lg.matmul(lg.ones(first), lg.ones(second))
    assert all(word in str(error.value) for word in words)


# -- the other products --------------------------------------------------------------------------
PRODUCTS = [
    ("tensordot", dict(axes=1), [(2, 3), (3, 4)]),
    ("tensordot", dict(axes=0), [(2,), (3, 2)]),
    ("tensordot", {}, [(4, 2, 3), (2, 3)]),
    ("tensordot", dict(axes=([0, -1], [1, 0])), [(2, 3, 4), (4, 2, 2)]),
    ("vecdot", {}, [(2, 3), (2, 3)]),
    ("vecdot", {}, [(4, 1, 3), (2, 3)]),
    ("vecdot", dict(axis=0), [(3, 1), (3, 2)]),
    ("outer", {}, [(2,), (3,)]),
    ("outer", {}, [(2, 2), (3, 1)]),
    ("vdot", {}, [(2, 3), (2, 3)]),
    ("inner", {}, [(2, 3), (4, 3)]),
    ("inner", {}, [(3,), (3,)]),
    ("inner", {}, [(), (2,)]),
    ("dot", {}, [(3,), (3,)]),
    ("dot", {}, [(2, 3), (3, 2)]),
    ("dot", {}, [(2, 3), (2, 3, 2)]),
    ("dot", {}, [(2, 2, 3), (3,)]),
    ("dot", {}, [(2, 2), ()]),
    ("kron", {}, [(2, 3), (2, 2)]),
    ("kron", {}, [(2,), (2, 1, 3)]),
    ("trace", {}, [(3, 3)]),
    ("trace", dict(offset=1), [(2, 4)]),
    ("trace", dict(axis1=0, axis2=2), [(2, 3, 2)]),
]


@pytest.mark.parametrize(("name", "keywords", "shapes"), PRODUCTS)
@pytest.mark.parametrize("complex", [False, True])
def test_products(name, keywords, shapes, complex):
    arrays = [numbers(*shape, complex=complex) for shape in shapes]
    close(getattr(products, name)(*map(lg.tensor, arrays), **keywords), getattr(np, name)(*arrays, **keywords))
    if not complex:
        check_orders(lambda *xs: getattr(products, name)(*xs, **keywords), *arrays)


def test_products_of_the_standard():
    x1, x2 = numbers(4, 3), numbers(1, 3)
    close(lg.linalg.cross(x1, x2), np.cross(x1, x2))
    close(lg.linalg.cross(lg.tensor(x1.T), lg.tensor(x2.T), axis=0), np.cross(x1, x2).T)
    check_orders(lg.linalg.cross, x1[:2], x2)
    x = numbers(2, 3, 4)
    close(lg.linalg.trace(x, offset=1), np.linalg.trace(x, offset=1))
    close(lg.linalg.diagonal(x, offset=-1), np.linalg.diagonal(x, offset=-1))
    assert lg.linalg.trace(lg.ones((2, 2)), dtype=lg.float64).dtype == "float64"
    assert all(getattr(lg.linalg, name).__doc__ for name in lg.linalg.__all__)


def test_vecdot_conjugates_the_first():
    x1, x2, w = numbers(3, complex=True), numbers(3, complex=True), 0.5 - 2j
    xs = leaves((x1, x2))
    g1, g2 = grad(lg.vecdot(*xs), xs, lg.tensor(np.asarray(w)))
    close(g1, np.conj(w) * x2)
    close(g2, w * x1)


def test_torch_products():
    b, x1, x2 = numbers(1, 4), numbers(2, 3), numbers(3, 4)
    close(lg.mm(x1, x2), x1 @ x2)
    close(lg.mv(x1, x2[:, 0]), x1 @ x2[:, 0])
    close(lg.bmm(numbers(2, 3, 0), numbers(2, 0, 3)), np.zeros((2, 3, 3)))
    close(lg.addmm(b, x1, x2, beta=0.5, alpha=-2), 0.5 * b - 2 * x1 @ x2)
    close(lg.addmm(b * np.nan, x1, x2, beta=0), x1 @ x2)
    close(lg.baddbmm(b, x1[None], x2[None], alpha=2), (b + 2 * x1 @ x2)[None])
    check_orders(lambda *xs: lg.addmm(*xs, beta=0.5, alpha=-2), b, x1, x2)
    check_orders(lambda *xs: lg.baddbmm(*xs, beta=3), b, x1[None], x2[None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: lg.mm(x, x[0]), r"mm: mat2 has shape \(3,\), expected 2 dimensions"),
        (lambda x: lg.mv(x, x), r"mv: vec has shape \(2, 3\), expected 1 dimensions"),
        (lambda x: lg.bmm(lg.ones((2, 1, 1)), lg.ones((3, 1, 1))), "bmm: given batches of 2 and 3 matrices"),
        (
            lambda x: lg.tensordot(x, x, axes=1),
            "tensordot: axis 1 of x1 has size 3 and axis 0 of x2 has size 2",
        ),
        (lambda x: lg.tensordot(x, x, axes=3), "tensordot: given axes=3"),
        (lambda x: lg.tensordot(x, x, axes=((0, 1), (0,))), "tensordot: given 2 axes of x1 and 1 of x2"),
        (lambda x: lg.vecdot(x, x[:, :1]), r"vecdot: given vectors of 3 and 1 elements \(axis -1\)"),
        (lambda x: lg.linalg.cross(x, x[:, :2]), "cross: axis -1 of x2 has size 2, expected 3"),
    ],
)
def test_product_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(lg.ones((2, 3)))


@pytest.mark.parametrize(("first", "second"), MATMUL)
def test_matmul_rules_on_the_strictest_library(first, second):
    primitive = registry["matmul"]
    x1, x2 = numbers(*first), numbers(*second)
    y = np.asarray(x1 @ x2)
    g = numbers(*y.shape)
    xs = leaves((x1, x2))
    references = grad(lg.matmul(*xs), xs, lg.tensor(g))
    s1, s2, sg = map(array_api_strict.asarray, (x1, x2, g))
    left, right = primitive.rules
    cts = left(strict, sg, s2), right(strict, sg, s1, s2)  # an array serves as its own meta
    for ct, x, reference in zip(cts, (x1, x2), references):
        ct = np.asarray(ct)
        extra = tuple(range(ct.ndim - x.ndim))
        ct = ct.sum(extra)
        ones = tuple(a for a, n in enumerate(x.shape) if n == 1 != ct.shape[a])
        close(ct.sum(ones, keepdims=True), reference.numpy())


@pytest.mark.parametrize("name", ["matmul", "pair_einsum"])
@pytest.mark.parametrize("moved", [(True, False), (False, True), (True, True)])
def test_forward_rule_is_bilinear(name, moved):
    keywords = dict(subscripts="ij,jk->ki") if name == "pair_einsum" else {}
    primitive = registry[name]
    f = primitive.find_kernel(np.ndarray)
    xs, ts = [numbers(2, 3), numbers(3, 4)], [numbers(2, 3), numbers(3, 4)]
    given = [t if m else None for t, m in zip(ts, moved)]
    xp = device.by_array[np.ndarray].xp
    t = primitive.jvp(xp, f(*xs, **keywords), xs, given, **keywords)
    step = 1e-6
    ends = [f(*(x + s * d * m for x, d, m in zip(xs, ts, moved)), **keywords) for s in (step, -step)]
    close(t, (ends[0] - ends[1]) / (2 * step), 1e-6)
