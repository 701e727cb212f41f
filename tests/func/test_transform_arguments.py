"""What transforms are given and give back: modes, complex numbers, structures, choices of arguments, and misuse."""

import collections
import contextlib
import dataclasses
import threading

import numpy as np
import pytest
from golden import peer

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.autograd import forward_ad, functional
from lucidgrad.core.modes import state, unusual
from lucidgrad.levels.layer import draws

X = lg.tensor([1.0, 2.0, 3.0], dtype=lg.float64)
Y = lg.tensor([0.5, -1.0], dtype=lg.float64)
Z = lg.tensor([1 + 2j, 3 - 1j], dtype=lg.complex128)
V = lg.tensor([0.5 - 1j, 2 + 1j], dtype=lg.complex128)
ROWS = lg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=lg.float64)


def close(a, b):
    np.testing.assert_allclose(np.asarray(a.detach()), np.asarray(b.detach()), rtol=1e-12, atol=1e-12)


def wave(x):
    return lg.sin(x) * x


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    yield
    assert state.enabled and state.recording and state.fresh is None and not draws.maps
    assert threading.get_ident() not in unusual
    assert not forward_ad._levels.entered


# -- linearize -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [lambda z: z * z, lambda z: (z * z).real, lg.conj, lg.abs, lambda z: lg.exp(z) * lg.conj(z), lambda z: z.imag * 2],
)
def test_linearize_is_jvp_for_complex_numbers(f):
    y, push = func.linearize(f, Z)
    close(y, f(Z))
    close(push(V), func.jvp(f, (Z,), (V,))[1])


def test_linearize_from_real_to_complex_numbers():
    f = lambda x: x * x * (1 + 2j)
    close(func.linearize(f, X)[1](X), func.jvp(f, (X,), (X,))[1])


def speed(x):
    return func.linearize(wave, x)[1](lg.ones_like(x))


SECOND = 2 * lg.cos(X) - X * lg.sin(X)


@pytest.mark.parametrize(
    "slope",
    [
        lambda: func.grad(lambda x: speed(x).sum())(X),
        lambda: lg.diagonal(func.jacrev(speed)(X)),
        lambda: lg.diagonal(func.jacfwd(speed)(X)),
        lambda: func.jvp(speed, (X,), (lg.ones_like(X),))[1],
        lambda: func.linearize(speed, X)[1](lg.ones_like(X)),
        lambda: func.vmap(func.grad(lambda x: speed(x).sum()))(lg.stack([X, X]))[1],
    ],
)
def test_linearize_can_be_differentiated(slope):
    close(slope(), SECOND)


def test_linearize_depends_on_what_is_outside_and_on_nothing_else():
    w = lg.ones(3, dtype=lg.float64, requires_grad=True)
    value, push = func.linearize(lambda x: x * w * w, X)
    assert value.requires_grad
    close(lg.autograd.grad(push(X).sum(), w)[0], 2 * X)
    with lg.no_grad():
        assert not push(X).requires_grad
        value, push = func.linearize(lambda x: x * w * w, w)
    assert not value.requires_grad and not push(X).requires_grad
    value, push = func.linearize(wave, X)
    assert not value.requires_grad and not push(X).requires_grad
    close(lg.autograd.grad(push(w).sum(), w)[0], func.grad(lambda x: wave(x).sum())(X))


def test_linearize_of_constants_and_unused_inputs():
    f = lambda x, y: {"used": x * 2, "constant": Y, "flat": x[:2] * 0}
    moved = func.linearize(f, X, Y)[1](X, Y)
    close(moved["used"], 2 * X)
    assert moved["constant"].tolist() == moved["flat"].tolist() == [0.0, 0.0]
    assert func.linearize(lambda y: X, Y)[1](Y).tolist() == [0.0, 0.0, 0.0]


def test_many_directions_at_once():
    close(func.vmap(func.linearize(wave, X)[1])(lg.eye(3, dtype=lg.float64)).T, func.jacrev(wave)(X))


# -- modes ---------------------------------------------------------------------------------------------
cube = lambda x: x**3
MODES = {
    "grad": lambda x: func.grad(lambda x: cube(x).sum())(x),
    "grad of a view": lambda x: func.grad(lambda x: (x[1:] * x[:-1]).sum())(x),
    "grad of a row": lambda x: func.grad(lambda x: cube(x).sum(keepdims=True))(x),
    "vjp": lambda x: func.vjp(cube, x)[1](x)[0],
    "jacrev": lambda x: func.jacrev(cube)(x),
    "jacrev in chunks": lambda x: func.jacrev(cube, chunk_size=2)(x),
    "jacfwd": lambda x: func.jacfwd(cube)(x),
    "hessian": lambda x: func.hessian(lambda x: cube(x).sum())(x),
    "linearize": lambda x: func.linearize(cube, x)[1](x),
    "grad of grad": lambda x: func.grad(lambda x: func.grad(lambda x: cube(x).sum())(x).sum())(x),
    "vmap of grad": lambda x: func.vmap(func.grad(cube))(x),
    "grad of vmap": lambda x: func.grad(lambda x: func.vmap(cube)(x).sum())(x),
    "strict hessian": lambda x: functional.hessian(lambda x: cube(x).sum(), x, strict=True),
    "hvp": lambda x: functional.hvp(lambda x: cube(x).sum(), x, x)[1],
}


@pytest.mark.parametrize("mode", [lg.inference_mode, lg.no_grad])
@pytest.mark.parametrize("name", MODES)
def test_no_mode_changes_a_derivative(name, mode):
    expected = MODES[name](X)
    with mode():
        found = MODES[name](X)
        again = MODES[name](X * 1)  # made in the mode
        assert lg.is_inference_mode_enabled() == (mode is lg.inference_mode) and not lg.is_grad_enabled()
    for each in (found, again):
        close(each, expected)
        assert not each.requires_grad and each.is_inference() == (mode is lg.inference_mode)
    assert float(abs(expected).sum()) > 1


class Failing(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        raise KeyError("on the way back")


def fail(*args):
    raise KeyError("on the way there")


FAILURES = {
    "grad": lambda: func.grad(fail)(X),
    "vjp": lambda: func.vjp(fail, X),
    "jvp": lambda: func.jvp(fail, (X,), (X,)),
    "vmap": lambda: func.vmap(fail)(X),
    "vmap in chunks": lambda: func.vmap(fail, randomness="same", chunk_size=1)(X),
    "hessian": lambda: func.hessian(fail)(X),
    "linearize": lambda: func.linearize(fail, X),
    "nested": lambda: func.vmap(lambda a: func.jvp(func.grad(fail), (a,), (a,)))(X),
    "strict": lambda: functional.hvp(fail, X, X, strict=True),
    "backward in grad": lambda: func.grad(lambda x: Failing.apply(x).sum())(X),
    "backward in jacrev": lambda: func.jacrev(Failing.apply)(X),
    "backward in linearize": lambda: func.linearize(Failing.apply, X),
    "backward in vmap": lambda: func.vmap(func.grad(Failing.apply))(X),
}


@pytest.mark.parametrize("mode", [contextlib.nullcontext, lg.inference_mode, lg.no_grad])
@pytest.mark.parametrize("name", FAILURES)
def test_modes_come_back_after_an_error(name, mode):
    with mode():
        before = state.enabled, state.recording, state.fresh, state.walking, draws.maps
        with pytest.raises(KeyError, match="on the way"):
            FAILURES[name]()
        assert before == (state.enabled, state.recording, state.fresh, state.walking, draws.maps)


def test_values_of_inference_mode_may_be_constants():
    with lg.inference_mode():
        w = X * 2
        close(func.grad(lambda x: (x * w * x).sum())(X), 4 * X * X)


def test_pulling_back_records_only_where_recording_is_on():
    w = X.detach().requires_grad_()
    _, pull = func.vjp(lambda x: x * w, X)
    assert pull(X)[0].requires_grad
    with lg.no_grad():
        assert not pull(X)[0].requires_grad
    with lg.inference_mode():
        close(pull(X)[0], X * X)


def test_each_result_keeps_the_history_outside_only():
    w = lg.ones(3, dtype=lg.float64, requires_grad=True)

    def shared(x):
        s = x**2
        return s.sum(), {"outer": w * 2, "own": x * 2, "both": s * w}

    g, aux = func.grad(shared, has_aux=True)(X)
    (value, again), _ = func.value_and_grad(shared, has_aux=True)(X)
    assert not value.requires_grad
    for told in (aux, again):
        assert [told[k].requires_grad for k in ("outer", "own", "both")] == [True, False, True]
    assert not g.requires_grad
    (told,) = lg.autograd.grad(aux["both"].sum(), w)  # the walk has freed nothing that is shared
    close(told, X**2)
    assert not func.grad(lambda x: ((x * w).sum(), x * 2), has_aux=True)(X)[1].requires_grad
    assert func.jacrev(lambda x: (x * 2, w * 2), has_aux=True)(X)[1].requires_grad
    assert [y.requires_grad for y in func.vjp(lambda x: (x * 2, w * 2), X)[0]] == [False, True]
    assert func.vjp(lambda x: (x * 2, w * 2), X, has_aux=True)[2].requires_grad
    assert [y.requires_grad for y in func.linearize(lambda x: (x * 2, w * 2), X)[0]] == [False, True]


@pytest.mark.parametrize("pull", [lambda x: lambda v: func.vjp(cube, x)[1](v)[0], lambda x: func.linearize(cube, x)[1]])
@pytest.mark.parametrize("slope", [func.grad, func.jacrev])
def test_what_is_pulled_back_holds_nothing_of_its_own(pull, slope):
    total = lambda v: (pull(X)(v) * v).sum()
    found = slope(total)(X)
    close(found, 6 * X**3)
    assert not found.requires_grad
    w = X.detach().requires_grad_()
    (outer,) = lg.autograd.grad(slope(lambda v: (pull(w)(v) * v).sum())(X).sum(), w)
    close(outer, 12 * X**2)


# -- complex numbers -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call",
    [
        lambda: func.jacrev(lambda z: z * z)(Z),
        lambda: func.jacfwd(lambda z: z * z)(Z),
        lambda: func.jacrev(lambda z: z.real)(Z),
        lambda: func.jacrev(lambda x: x * 1j)(X),
        lambda: func.jacfwd(lambda x: x * 1j)(X),
        lambda: func.hessian(lambda z: (z * z).real.sum())(Z),
        lambda: functional.jacobian(lambda z: z * z, Z),
        lambda: functional.jacobian(lambda z: z * z, Z, strategy="forward-mode"),
        lambda: functional.hessian(lambda z: (z * z).real.sum(), Z),
    ],
)
def test_no_jacobian_of_complex_numbers(call):
    with pytest.raises(RuntimeError, match="expected real numbers"):
        call()


def test_complex_constants_in_a_jacobian():
    f = lambda x, z: (x[:2] * z).real
    close(func.jacrev(f)(X, Z), func.jacfwd(f)(X, Z))


# -- which arguments -----------------------------------------------------------------------------------
TRANSFORMS = {"grad": func.grad, "jacrev": func.jacrev, "jacfwd": func.jacfwd, "hessian": func.hessian}


@pytest.mark.parametrize(
    ("argnums", "error"),
    [((0, 0), ValueError), ((0, -2), ValueError), ((), ValueError), ((0, 2), ValueError), (-3, ValueError),
     (1.0, TypeError), ("a", TypeError), (None, TypeError), ((0, "a"), TypeError)],
)  # fmt: skip
@pytest.mark.parametrize("name", TRANSFORMS)
def test_arguments_that_cannot_be_chosen(name, argnums, error):
    with pytest.raises(error, match="argnums"):
        TRANSFORMS[name](lambda a, b: (a * b).sum(), argnums)(Y, Y)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_arguments_counted_from_the_end(name):
    f = lambda a, b: (a * b * b).sum()
    close(TRANSFORMS[name](f, -1)(Y, Y), TRANSFORMS[name](f, 1)(Y, Y))
    assert isinstance(TRANSFORMS[name](f, (-1,))(Y, Y), tuple)


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_an_unused_argument_has_a_zero_jacobian(jacobian, chunk_size):
    used, unused = jacobian(lambda x, y: x * 2, (0, 1), chunk_size=chunk_size)(X, Y)
    close(used, 2 * lg.eye(3, dtype=lg.float64))
    assert unused.shape == (3, 2) and not unused.any()
    close(functional.jacobian(lambda x, y: x * 2, (X, Y))[1], lg.zeros((3, 2), dtype=lg.float64))
    batch = func.vmap(jacobian(lambda x, y: x * 2, (0, 1)), (0, None))(ROWS, Y)[1]
    assert batch.shape == (3, 2, 2) and not batch.any()


def test_trees_without_tensors():
    assert func.grad(lambda tree, x: (x * 2).sum())({}, X) == {}
    assert func.jacrev(lambda tree, x: x * 2)([], X) == []
    with pytest.raises(ValueError, match="at least one"):
        func.jacfwd(lambda tree: X)({})
    for nothing in (
        lambda: func.vjp(lambda: X),
        lambda: func.linearize(lambda: X),
        lambda: func.jvp(lambda: X, (), ()),
    ):
        with pytest.raises(ValueError, match="at least one primal"):
            nothing()


# -- vmap ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("chunk_size", [1, 2, 3])
def test_the_same_random_numbers_in_every_chunk(chunk_size):
    def draw():
        lg.manual_seed(3)
        rows = func.vmap(lambda x: x * 0 + lg.rand(1), randomness="same", chunk_size=chunk_size)(X)
        return rows, lg.rand(1)

    rows, after = draw()
    assert len({row.item() for row in rows}) == 1
    lg.manual_seed(3)
    assert rows[0].item() == pytest.approx(lg.rand(1).item())
    assert after.item() == lg.rand(1).item()  # as many were drawn as for one chunk


def test_the_same_random_numbers_for_every_column():
    noisy = lambda a, b: (a + b) * lg.rand(3, dtype=lg.float64)
    for chunk_size in (None, 1):
        a, b = func.jacfwd(noisy, (0, 1), randomness="same", chunk_size=chunk_size)(X, X)
        close(a, b)


@pytest.mark.parametrize("chunk_size", [None, 2])
def test_keyword_arguments_are_shared(chunk_size):
    total = func.vmap(lambda x, k: x * k.sum(), chunk_size=chunk_size)
    close(total(X, k=lg.ones(5, dtype=lg.float64)), 5 * X)
    scaled = func.vmap(lambda x, k=1.0, how=None: x * k["by"], chunk_size=chunk_size)
    close(scaled(X, k={"by": 2.0}, how="any"), 2 * X)
    with pytest.raises(ValueError, match="no argument"):
        func.vmap(lambda k: k)(k=X)


def test_a_lone_place_may_be_in_a_tuple():
    for chunk_size in (None, 2):
        close(func.vmap(lambda x: x * 2, out_dims=(0,), chunk_size=chunk_size)(X), 2 * X)
        close(func.vmap(lambda x: x * 2, out_dims=(1,), chunk_size=chunk_size)(ROWS), 2 * ROWS.T)
    assert isinstance(func.vmap(lambda x: (x,), out_dims=(0,))(X), tuple)


def test_what_all_examples_share_need_not_be_a_tensor():
    for chunk_size in (None, 2):
        y, told = func.vmap(lambda x: (x * 2, "told"), out_dims=(0, None), chunk_size=chunk_size)(X)
        close(y, 2 * X)
        assert told == "told"
    assert func.jacfwd(lambda x: (x, {"n": 3}), has_aux=True)(X)[1] == {"n": 3}


@pytest.mark.parametrize(
    ("error", "call", "says"),
    [
        (ValueError, lambda: func.vmap(wave, out_dims="a"), "out_dims has 'a'"),
        (ValueError, lambda: func.vmap(wave, out_dims=(0, 1.5)), "out_dims has 1.5"),
        (ValueError, lambda: func.vmap(wave, out_dims=(0, 0))(X), "out_dims"),
        (ValueError, lambda: func.vmap(wave, out_dims=[0])(X), "out_dims"),
        (ValueError, lambda: func.vmap(wave, out_dims=4)(X), "out_dims is 4"),
        (ValueError, lambda: func.vmap(lambda x: {"a": x}, out_dims={"b": 0})(X), "out_dims"),
        (ValueError, lambda: func.vmap(wave, in_dims="a")(X), "in_dims has 'a'"),
        (TypeError, lambda: func.vmap(wave, in_dims=True)(ROWS), "in_dims has True"),
        (ValueError, lambda: func.vmap(wave, in_dims=-2)(X), "in_dims"),
        (ValueError, lambda: func.vmap(wave, in_dims=({"a": 0},))({"b": X}), "in_dims"),
        (ValueError, lambda: func.vmap(lambda x, k: x)(X, 2.0), "argument 1 is a float"),
        (ValueError, lambda: func.vmap(lambda x: X)({}), "no argument"),
        (ValueError, lambda: func.vmap(wave)(lg.tensor(1.0)), "0 axes"),
        (ValueError, lambda: func.vmap(wave, randomness="some"), "randomness"),
        (TypeError, lambda: func.vmap(wave, chunk_size=1.5), "chunk_size"),
        (ValueError, lambda: func.vmap(wave, chunk_size=-1), "chunk_size"),
        (ValueError, lambda: func.jacfwd(wave, chunk_size=0), "chunk_size"),
        (ValueError, lambda: func.hessian(wave, chunk_size=0), "chunk_size"),
        (TypeError, lambda: func.jacrev(wave, chunk_size="a"), "chunk_size"),
        (ValueError, lambda: func.jacfwd(wave, randomness="some"), "jacfwd: randomness"),
        (TypeError, lambda: func.jacfwd(wave)(lg.arange(3)), "jacfwd: .* floating"),
        (TypeError, lambda: func.hessian(lambda x: 3.0)(X), "hessian: .* expected tensors"),
        (TypeError, lambda: func.grad(lambda x: x.sum(), has_aux=True)(X), "aux"),
        (TypeError, lambda: func.jacrev(lambda x: [x, x], has_aux=True)(X), "aux"),
        (TypeError, lambda: func.jvp(lambda x: (x, x, x), (X,), (X,), has_aux=True), "aux"),
        (TypeError, lambda: func.linearize(lambda x: 3.0, X), "expected tensors"),
        (TypeError, lambda: func.linearize(wave, lg.arange(3)), "floating"),
        (ValueError, lambda: func.linearize(wave, X)[1](Y), "shape"),
        (ValueError, lambda: func.linearize(wave, X)[1]([X]), "structure"),
        (ValueError, lambda: func.vjp(lambda x: {"a": x}, X)[1]({"b": X}), "structure"),
        (RuntimeError, lambda: func.jvp(lambda x: (x, Y), (X,), (X,), strict=True), "does not depend"),
        (RuntimeError, lambda: forward_ad.make_dual(X, X), "no dual level"),
        (RuntimeError, lambda: forward_ad.exit_dual_level(), "no dual level"),
    ],
)
def test_misuse_says_what_is_wrong(error, call, says):
    with pytest.raises(error, match=says):
        call()


# -- trees ---------------------------------------------------------------------------------------------
FORMS = {
    "OrderedDict": lambda: collections.OrderedDict(b=X, a=Y),
    "defaultdict": lambda: collections.defaultdict(list, b=X, a=Y),
    "dict": lambda: {"b": X, "a": Y},
}


@pytest.mark.parametrize("form", FORMS)
def test_dictionaries_are_trees(form):
    tree = FORMS[form]()
    slopes = func.grad(lambda t: (t["b"] ** 2).sum() + t["a"].sum())(tree)
    assert type(slopes) is type(tree) and list(slopes) == ["b", "a"]
    close(slopes["b"], 2 * X)
    assert slopes["a"].tolist() == [1.0, 1.0]
    if form == "defaultdict":
        assert slopes.default_factory is list
    twice = func.vmap(lambda t: {**t, "b": t["b"] * 2}, in_dims=({"a": None, "b": 0},))(tree)
    close(twice["b"], 2 * X)


@dataclasses.dataclass
class Point:
    x: object


def test_a_dataclass_itself_is_a_leaf():
    tree = {"kind": Point, "int": int, "point": Point(X)}
    again = func.trees.map(lambda leaf: leaf, tree)
    assert again["kind"] is Point and again["int"] is int and again["point"].x is X


def test_a_deque_is_a_tree():
    tree = collections.deque([X, Y], maxlen=2)
    again = func.trees.map(lambda x: x * 2, tree)
    assert isinstance(again, collections.deque) and again.maxlen == 2
    close(again[1], 2 * Y)


@pytest.mark.parametrize(
    "kind", [dict, collections.OrderedDict, lambda *a, **k: collections.defaultdict(None, *a, **k)]
)
def test_the_order_of_keys_means_nothing(kind):
    product = lambda t: t["a"] * t["n"]["b"]
    primal, tangent = kind(a=X, n=kind(b=2 * X, c=Y)), kind(n=kind(c=0 * Y, b=0 * X), a=X)
    expected = func.jvp(lambda a: a * 2 * X, (X,), (X,))[1]
    close(func.jvp(product, (primal,), (tangent,))[1], expected)
    close(func.linearize(product, primal)[1](tangent), expected)
    _, pull = func.vjp(lambda x: kind(b=x * 2, a=x * 3), X)
    close(pull(kind(a=X, b=0 * X))[0], 3 * X)
    places = kind(n=kind(c=None, b=None), a=0)
    scaled = func.vmap(lambda t: t["a"] * t["n"]["b"][1], in_dims=(places,))(primal)
    close(scaled, 4 * X)
    turned = func.vmap(lambda x: kind(b=x, a=x * 2), out_dims=kind(a=0, b=1))(ROWS)
    assert turned["a"].shape == (3, 2) and turned["b"].shape == (2, 3)
    assert func.trees.map(lambda a, b: a - b, kind(p=5, q=3), kind(q=1, p=2)) == {"p": 3, "q": 2}


# -- against PyTorch -----------------------------------------------------------------------------------
def test_choices_are_pytorchs():
    torch = peer("torch")
    theirs = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    their_z, their_v = (torch.asarray(np.asarray(t)) for t in (Z, V))
    same = lambda a, b: np.testing.assert_allclose(np.asarray(a.detach()), b.detach().numpy(), rtol=1e-12)
    square_it = lambda z: z * z
    same(func.linearize(square_it, Z)[1](V), torch.func.jvp(square_it, (their_z,), (their_v,))[1])
    with lg.inference_mode(), torch.inference_mode():
        cubes = lambda x: (x**3).sum()
        same(func.grad(cubes)(X), torch.func.grad(cubes)(theirs))
        same(func.hessian(cubes)(X), torch.func.hessian(cubes)(theirs))
    scale = lambda x, k: x * k
    same(func.vmap(scale)(X, k=X), torch.func.vmap(scale)(theirs, k=theirs))
    same(func.vmap(scale)(X, k=2.0), torch.func.vmap(scale)(theirs, k=2.0))
    same(func.vmap(wave, out_dims=(0,))(X), torch.func.vmap(lambda x: torch.sin(x) * x, out_dims=(0,))(theirs))
    for library, x, z in ((func, X, Z), (torch.func, theirs, their_z)):
        for call in (library.jacrev, library.jacfwd, library.hessian):
            with pytest.raises(RuntimeError):
                call(lambda z: (z * z).real.sum())(z)
            with pytest.raises((RuntimeError, ValueError)):
                call(lambda a, b: (a * b).sum(), (0, 0))(x, x)


def test_a_dual_level_decorates():
    @forward_ad.dual_level()
    def slope(x):
        return forward_ad.unpack_dual(forward_ad.make_dual(x, lg.ones_like(x)) ** 2).tangent

    close(slope(X), 2 * X)
    close(slope(X), 2 * X)


def test_argnums_are_checked_whatever_was_asked_before():
    def f(a, b):
        return (a * b).sum()

    x = lg.ones(2)
    lg.func.grad(f, argnums=(0, 1))(x, x)
    with pytest.raises(TypeError, match="argnums has a float"):
        lg.func.grad(f, argnums=(0.0, 1.0))(x, x)
