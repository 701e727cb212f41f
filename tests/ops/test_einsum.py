"""Einsum against NumPy's; its gradients against differences, algebra and the adjoint identity."""

import sys

import array_api_strict
import numpy as np
import pytest
from finite import check_orders, close, grad, leaves, numbers, strict
from hypothesis import given, settings, strategies as st

import lucidgrad as lg
from lucidgrad.core.primitive import registry
from lucidgrad.levels.batching import Batched, run
from lucidgrad.levels.layer import Level
from lucidgrad.ops.linalg import einsum as formulas

# -- einsum --------------------------------------------------------------------------------------
FORMULAS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    ("ji,jk", (3, 2), (3, 4)),
    ("ii->", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij,j->i", (2, 2, 3), (3,)),
    ("iii->", (2, 2, 2)),
    ("ba", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->ij", (2, 3)),
    ("bij,bjk->ikb", (2, 2, 3), (2, 3, 2)),
    ("ijb,jkb->ikb", (2, 2, 3), (2, 2, 3)),
    ("bqhd,bkhd->bhqk", (2, 2, 2, 2), (2, 3, 2, 2)),
    ("...ij,...jk->...ik", (2, 1, 2, 3), (2, 3, 1)),
    ("i...,i...->...", (3, 2), (3, 1)),
    ("...i->i...", (2, 3)),
    ("ij,ij->", (1, 3), (2, 3)),
    ("ij,ij->ij", (1, 3), (2, 1)),
    ("ij,kl->i", (2, 3), (2, 2)),
    ("a,b,c->cab", (2,), (2,), (3,)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)),
    ("ij,jk,ki->", (2, 3), (3, 2), (2, 2)),
    ("ii,ij,j->i", (2, 2), (2, 3), (3,)),
    ("abc,acd,bd,d->ab", (2, 2, 2), (2, 2, 3), (2, 3), (3,)),
    ("abcd,dcef->abef", (1, 2, 2, 3), (3, 2, 2, 1)),
    (",ij->ij", (), (2, 3)),
    (" i , j -> j i ", (2,), (3,)),
    ("ij,jk->ik", (2, 0), (0, 2)),
]

LEVEL = Level("vmap")


@pytest.mark.parametrize(("formula", "shapes"), [(f, shapes) for f, *shapes in FORMULAS])
def test_einsum(formula, shapes):
    arrays = [numbers(*shape) for shape in shapes]
    close(lg.einsum(formula, *map(lg.tensor, arrays)), np.einsum(formula, *arrays))
    check_orders(lambda *xs: lg.einsum(formula, *xs), *arrays)


@st.composite
def problems(draw):
    """A formula, and shapes that fit it: repeated letters, an ellipsis, axes of 1 that stretch."""
    sizes = {c: draw(st.integers(0, 3)) for c in "abCd"}
    wide = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.lists(st.sampled_from("abCd"), max_size=3))
        stretched = draw(st.sets(st.sampled_from("abCd"), max_size=1))
        term, shape = "".join(letters), [1 if c in stretched else sizes[c] for c in letters]
        if draw(st.booleans()):
            at = draw(st.integers(0, len(term)))
            part = wide[draw(st.integers(0, len(wide))) :]
            part = [n if draw(st.booleans()) else 1 for n in part]
            term, shape = term[:at] + "..." + term[at:], [*shape[:at], *part, *shape[at:]]
        terms.append(term)
        shapes.append(tuple(shape))
    formula = ",".join(terms)
    if draw(st.booleans()):
        used = sorted(set("".join(terms)) - {"."})
        output = "".join(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
        if "..." in formula:
            at = draw(st.integers(0, len(output)))
            output = output[:at] + "..." + output[at:]
        formula = f"{formula}->{output}"
    return formula, shapes


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from([True, False]), st.integers(0, 2**32))
def test_einsum_of_any_formula(problem, optimize, seed):
    formula, shapes = problem
    rng = np.random.default_rng(seed)
    arrays, others = ([np.asarray(rng.normal(size=shape)) for shape in shapes] for _ in range(2))

    def f(*xs):
        return lg.einsum(formula, *xs, optimize=optimize)

    xs = leaves(arrays)
    y = f(*xs)
    reference = np.einsum(formula, *arrays)
    assert y.shape == reference.shape
    close(y, reference)
    w = lg.tensor(np.asarray(rng.normal(size=y.shape)))
    gs = grad(y, xs, w, create_graph=True)
    for n, (g, t) in enumerate(zip(gs, others)):
        assert g.shape == shapes[n]
        swapped = [*xs[:n], lg.tensor(t, requires_grad=True), *xs[n + 1 :]]
        y = f(*swapped)
        along = (g * lg.tensor(t)).sum()
        close(along, np.sum(y.detach().numpy() * w.numpy()))  # the adjoint identity: f is linear in each operand
        rest = [x for k, x in enumerate(xs) if k != n]
        if rest:
            second = grad(along, rest, retain_graph=True, allow_unused=True, materialize_grads=True)
            for h, k in zip(second, grad(y, rest, w)):
                close(h, k.numpy())


def test_einsum_complex_is_not_conjugated():
    x1, x2, w = numbers(2, 3, complex=True), numbers(3, complex=True), numbers(2, complex=True)
    xs = leaves((x1, x2))
    y = lg.einsum("ij,j->i", *xs)
    close(y, x1 @ x2)
    g1, g2 = grad(y, xs, lg.tensor(w))
    close(g1, np.outer(w, x2.conj()))
    close(g2, x1.conj().T @ w)


def test_einsum_with_lists_of_axes():
    x1, x2 = numbers(2, 3), numbers(3, 4)
    close(lg.einsum(x1, [0, 1], x2, [1, 2], [2, 0]), (x1 @ x2).T)
    close(lg.einsum(x2, [60, 7], x1, [9, 60]), np.einsum("ik,ji", x2, x1).T)
    close(lg.einsum(x1, [..., 1], x2, [1, 2], [..., 2]), x1 @ x2)
    close(lg.einsum("ij,jk", [lg.tensor(x1), lg.tensor(x2)]), x1 @ x2)
    assert lg.einsum("ij->ji", [[1, 2], [3, 4]]).tolist() == [[1, 3], [2, 4]]


def test_einsum_sums_an_ellipsis_that_the_output_leaves_out():
    x = numbers(2, 3, 4)
    close(lg.einsum("...i->i", x), x.sum((0, 1)))


@pytest.mark.parametrize(
    ("formula", "shapes", "words"),
    [
        (
            "ij,jk->ik",
            [(2, 3), (4, 5)],
            ["letter 'j'", "size 3 in operand 1 of shape (2, 3)", "size 4 in operand 2"],
        ),
        ("...i,...i", [(2, 3), (4, 3)], ["an axis of '...'", "size 2 in operand 1", "size 4 in operand 2"]),
        ("ii->i", [(2, 3)], ["letter 'i' is repeated in operand 1", "2 (axis 0)", "3 (axis 1)"]),
        ("ij->ik", [(2, 3)], ["letter 'k' of the output is in no operand"]),
        ("ij->jj", [(2, 3)], ["letter 'j' occurs 2 times in the output"]),
        ("ij,jk", [(2, 3)], ["given 1 operands, expected 2"]),
        ("ijk", [(2, 3)], ["operand 1 has 2 dimensions, expected 3"]),
        ("i", [(2, 3)], ["operand 1 has 2 dimensions, expected 1", "an ellipsis"]),
        ("ij...", [(2,)], ["operand 1 has 1 dimensions, expected 2", "at least"]),
        ("i$", [(2, 3)], ["given '$'"]),
        ("i....", [(2, 3)], ["given '.'"]),
        ("ij->i->j", [(2, 3)], ["given '-'"]),
        ("", [], ["given no operands"]),
    ],
)
def test_einsum_errors(formula, shapes, words):
    with pytest.raises(ValueError, match=r"^einsum '") as error:
        lg.einsum(formula, *(lg.ones(shape) for shape in shapes))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_einsum_without_arguments():
    with pytest.raises(TypeError, match="expected a formula"):
        lg.einsum()


# -- the order of contractions -------------------------------------------------------------------
CHAIN = "ab,bc,cd,de->ae", [(2, 20), (20, 30), (30, 3), (3, 10)]


def _pairs(formula, shapes, optimize=True):
    formulas._stages.cache_clear()
    steps = formulas._stages(formula, tuple(shapes), optimize)
    return [step.keywords["subscripts"] for step in steps if step.op is formulas.pair_einsum]


@pytest.mark.parametrize("library", [True, False])
def test_path_is_cheap_with_and_without_opt_einsum(monkeypatch, library):
    if library:
        pytest.importorskip("opt_einsum")
    else:
        monkeypatch.setitem(sys.modules, "opt_einsum", None)
    pairs = _pairs(*CHAIN)
    assert len(pairs) == 3
    size = dict(a=2, b=20, c=30, d=3, e=10)
    cost = sum(np.prod([size[c] for c in set(pair) & set(size)]) for pair in pairs)
    assert cost <= (2 * 20 * 30 + 2 * 30 * 3 + 2 * 3 * 10 if library else 2000)  # from the right it is 7300
    arrays = [numbers(*shape) for shape in CHAIN[1]]
    close(lg.einsum(CHAIN[0], *arrays), np.linalg.multi_dot(arrays))
    formulas._stages.cache_clear()


def test_path_from_left_to_right_and_by_hand():
    assert [p.split("->")[0].count("a") for p in _pairs(*CHAIN, optimize=False)] == [1, 1, 1]
    arrays = [numbers(*shape) for shape in CHAIN[1]]
    for path in (
        False,
        [(0, 1), (0, 1), (0, 1)],
        ["einsum_path", (2, 3), (1, 2), (0, 1)],
        [(0, 1, 2, 3)],
        [(1, 2)],
    ):
        close(lg.einsum(CHAIN[0], *arrays, optimize=path), np.linalg.multi_dot(arrays))
    with pytest.raises(ValueError, match="step .* doesn't fit 4 operands"):
        lg.einsum(CHAIN[0], *arrays, optimize=[(0, 4)])


def test_a_formula_of_two_operands_is_one_node():
    x = lg.ones((2, 3), requires_grad=True)
    y = lg.einsum("ij,kj->ik", x, lg.ones((4, 3)))
    assert y.grad_fn.name() == "PairEinsumBackward"
    assert y.grad_fn.next_functions[0][0].next_functions == ()


# -- pair_einsum on its own ----------------------------------------------------------------------
PAIRS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("bi,bi->b", (2, 3), (2, 3)),
    ("bi,bj->jbi", (2, 3), (2, 4)),
    ("i,i->", (3,), (3,)),
    (",->", (), ()),
    ("abc,cbd->da", (2, 3, 4), (4, 3, 2)),
    ("ijb,jkb->ikb", (2, 3, 5), (3, 2, 5)),
    ("ijb,jkb->bik", (9, 9, 2), (9, 9, 2)),
    ("ai,aib->ba", (2, 3), (2, 3, 4)),
    ("ib,ib->b", (3, 5), (3, 5)),
]


@pytest.mark.parametrize(("formula", "first", "second"), PAIRS)
@pytest.mark.parametrize("complex", [False, True])
def test_pair_program_rules_and_kernel_agree(formula, first, second, complex):
    primitive = registry["pair_einsum"]
    x1, x2 = numbers(*first, complex=complex), numbers(*second, complex=complex)
    reference = np.einsum(formula, x1, x2)
    g = numbers(*reference.shape, complex=complex)
    fast = primitive.find_kernel(np.ndarray)
    close(fast(x1, x2, subscripts=formula), reference)
    s1, s2, sg = map(array_api_strict.asarray, (x1, x2, g))
    close(np.asarray(primitive.program(strict, s1, s2, subscripts=formula)), reference)
    left, right = primitive.rules
    t1, t2, out = formula.replace("->", ",").split(",")
    close(np.asarray(left(strict, sg, s2, subscripts=formula)), np.einsum(f"{out},{t2}->{t1}", g, x2))
    close(np.asarray(right(strict, sg, s1, subscripts=formula)), np.einsum(f"{t1},{out}->{t2}", x1, g))


@pytest.mark.parametrize(("formula", "first", "second"), PAIRS)
@pytest.mark.parametrize("batched", [(True, False), (False, True), (True, True)])
def test_pair_in_batches_equals_a_loop(formula, first, second, batched):
    xs = [numbers(*(6,) * b, *shape) for shape, b in zip((first, second), batched)]
    y = run("pair_einsum", *(Batched(x, LEVEL) if b else x for x, b in zip(xs, batched)), subscripts=formula)
    loop = [np.einsum(formula, *(x[k] if b else x for x, b in zip(xs, batched))) for k in range(6)]
    close(y.value, np.stack(loop))


@pytest.mark.parametrize("formula", ["ij,jk->ik", "aij,jk,iia->k"])
def test_einsum_batched_cotangents(formula):
    size = dict(i=2, j=3, k=2, a=4)
    terms = formula.partition("->")[0].split(",")
    xs = leaves([numbers(*(size[c] for c in term)) for term in terms])
    y = lg.einsum(formula, *xs)
    w = numbers(5, *y.shape)
    together = grad(y, xs, lg.tensor(w), is_grads_batched=True, retain_graph=True)
    for k in range(5):
        for all_, one in zip(together, grad(y, xs, lg.tensor(w[k]), retain_graph=True)):
            close(all_.numpy()[k], one.numpy())


def test_letters_do_not_run_out():
    letters = [formulas.letter(k) for k in range(200)]
    assert letters == sorted(set(letters)) and all(c.isalpha() for c in letters)
    formula = "".join(letters[:52])
    y = run(
        "pair_einsum",
        Batched(np.ones((2, *(1,) * 52)), LEVEL),
        np.ones((1,) * 52),
        subscripts=f"{formula},{formula}->",
    )
    assert y.value.tolist() == [1.0, 1.0]
