"""Control flow in compiled functions: what it is without compiling, in one program, and loops that are loops in C."""

import sys
import warnings
import weakref

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.backends.cpu.compiled import building
from lucidgrad.compiling.compiled import entries_of
from lucidgrad.func import cond, fori_loop, grad, jvp, scan, vmap, while_loop
from lucidgrad.levels.program import inner
from lucidgrad.utils.checkpoint import checkpoint
from tests.thoroughness import cases

BACKENDS = ("interpret", "flat", "c")
rng = np.random.default_rng(5)
W = lg.asarray(rng.uniform(-0.6, 0.6, (3, 3)))
XS = lg.asarray(rng.normal(size=(6, 3)))
H = lg.asarray(rng.normal(size=3))


def leaves(tree):
    return [x for x in func.trees.flatten(tree)[0] if x is not None]


def same(found, wanted, rtol=1e-9):
    a, b = leaves(found), leaves(wanted)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=rtol, atol=1e-11)


def agrees(function, *calls, backends=BACKENDS):
    """Compare with the function itself, for arguments of several calls and in all ways to run; the last program."""
    for how in backends:
        compiled = lg.compile(function, fullgraph=True, options={"backend": how})
        for _ in range(2):
            for given in calls:
                same(compiled(*given), function(*given))
        assert compiled.cache_info().programs == 1 and not compiled.cache_info().eager
    return compiled.program(*calls[0])


def count(program, name):
    """How many equations of a name there are, those inside of others as well."""
    own = sum(equation.primitive.name == name for equation in program.equations)
    return own + sum(count(part, name) for equation in program.equations for part in inner(equation))


# -- functions to differentiate ----------------------------------------------------------------------
def recurrent(w, xs, h, reverse=False):
    h, ys = scan(lambda h, x: (lg.tanh(w @ h + x), (h * x).sum()), h, xs, reverse=reverse)
    return h.sum() + (ys**2).sum()


def chosen(w, xs, h):
    return cond(h.sum() > 0, lambda h: lg.log(w @ h + 9).sum() * 2, lambda h: lg.tanh(h) @ w @ h, h)


def chosen_in_steps(w, xs, h):
    def body(h, x):
        return cond(x.sum() > 0, lambda h: lg.tanh(w @ h + x), lambda h: h * 0.5 + x @ w, h), h.sum()

    h, ys = scan(body, h, xs)
    return h.sum() + (ys**2).sum()


def steps_if_chosen(w, xs, h):
    def steps(h):
        return scan(lambda h, x: (lg.tanh(w @ h + x), None), h, xs)[0].sum()

    return cond(h.sum() > 0, steps, lambda h: (h * xs[0]).sum() ** 2, h)


def steps_in_steps(w, xs, h):
    def body(h, x):
        return scan(lambda h, z: (lg.tanh(w @ h + x * z), None), h, xs[:3])[0], h.sum()

    h, ys = scan(body, h, xs)
    return h.sum() + ys.sum()


def counted(w, xs, h):
    return fori_loop(2, 9, lambda i, v: lg.sin(w @ v) + i * h, h).sum()


def mapped(w, xs, h):
    return func.map(lambda x: lg.tanh(w @ x + h).prod(), xs).sum()


FUNCTIONS = [recurrent, chosen, chosen_in_steps, steps_if_chosen, steps_in_steps, counted, mapped]
CALLS = [(W, XS, abs(H)), (W * 0.5, -XS, -abs(H)), (W, XS * 0.3, H)]
V = (W.T, XS * 0.7, H * 0.2)  # directions
ALL = (0, 1, 2)


def reverse_over_reverse(function):
    def product(*given):
        return sum((g * v).sum() for g, v in zip(grad(function, ALL)(*given), V, strict=True))

    return grad(product, ALL)


DERIVATIVES = {
    "value": lambda f: f,
    "reverse": lambda f: grad(f, ALL),
    "forward": lambda f: lambda *given: jvp(f, given, V),
    "forward over reverse": lambda f: lambda *given: jvp(grad(f, ALL), given, V),
    "reverse over forward": lambda f: grad(lambda *given: jvp(f, given, V)[1], ALL),
    "reverse over reverse": reverse_over_reverse,
}


@pytest.mark.parametrize("way", DERIVATIVES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_of_both_modes_and_orders(function, way):
    backends = BACKENDS if function in (recurrent, chosen_in_steps) else cases(("interpret",), BACKENDS)
    agrees(DERIVATIVES[way](function), *CALLS, backends=backends)


def test_reversed_steps_and_third_derivatives():
    def backwards(h):
        return recurrent(W, XS, h, reverse=True)

    agrees(grad(backwards), (H,), (-H,))
    agrees(grad(lambda h: grad(lambda h: grad(backwards)(h).sum())(h).sum()), (H,))
    agrees(func.hessian(lambda h: chosen(W, XS, h)), (abs(H),), (-abs(H),))


@pytest.mark.parametrize("function", [recurrent, chosen_in_steps, steps_if_chosen])
def test_inside_maps(function):
    hs, xs = lg.asarray(rng.normal(size=(4, 3))), lg.asarray(rng.normal(size=(4, 6, 3)))
    agrees(vmap(function, (None, None, 0)), (W, XS, hs))
    agrees(vmap(grad(function, ALL), (None, 0, None)), (W, xs, H))
    agrees(grad(lambda *given: vmap(function, (None, 0, None))(*given).sum(), ALL), (W, xs, H))


def test_jacobians():
    agrees(lambda h: func.jacrev(lambda h: scan(lambda h, x: (lg.tanh(W @ h + x), h), h, XS))(h), (H,))
    agrees(lambda h: func.jacfwd(lambda h: scan(lambda h, x: (lg.tanh(W @ h + x), h), h, XS))(h), (H,))


# -- while -------------------------------------------------------------------------------------------
def test_conditions_are_asked_for_in_every_call():
    def doubled(x):
        return while_loop(lambda v: v[0].sum() < 10, lambda v: (v[0] * 2, v[1] + 1), (x, 0))

    agrees(doubled, (abs(H),), (abs(H) * 40,), (abs(H) * 0.01,))
    agrees(lambda x: fori_loop(0, 5, lambda i, v: v * 2 + i, x), (H,))
    for dtype in (lg.int64, lg.int32):
        bounds = [(H, lg.tensor(n, dtype=dtype)) for n in (3, 0, 7)]
        agrees(lambda x, n: fori_loop(0, n, lambda i, v: v * 2 + i, x), *bounds)


def test_while_forwards_and_in_maps():
    def root(x):
        return while_loop(lambda v: (v * v - x) ** 2 > 1e-12, lambda v: (v + x / v) / 2, lg.ones_like(x))

    many = lg.asarray([2.0, 9.0, 0.25])
    agrees(lambda x: jvp(root, (x,), (x * 0 + 1,)), (many[0],), (many[1],))
    agrees(vmap(root), (many,), (many * 7,))
    agrees(lambda x: jvp(vmap(root), (x,), (x,)), (many,), (many * 7,))
    bounds = [(many, lg.tensor(n)) for n in ([3, 1, 0], [0, 5, 2])]
    agrees(vmap(lambda x, n: fori_loop(0, n, lambda i, v: v * 2 + i, x)), *bounds)


def test_loops_in_each_other():
    def inside(xs):
        return scan(lambda h, x: (while_loop(lambda v: (v * v).sum() > 1, lambda v: v / 2, h + x), h), H, xs)

    def around(h):
        return while_loop(lambda v: v.sum() < 30, lambda v: scan(lambda v, x: (v + x * x, None), v, XS)[0], h)

    assert count(agrees(inside, (XS * 4,), (XS * 9,)), "while_loop") == 1
    assert count(agrees(around, (H,), (H * 0.1,)), "scan") == 1


def test_reverse_mode_through_while_runs_as_it_is():
    compiled = lg.compile(grad(lambda x: while_loop(lambda v: v < 10, lambda v: v * v + 1, x)))
    with pytest.warns(UserWarning, match="runs as it is, since a value was read"):
        first = compiled(lg.tensor(1.0))
    assert (first.item(), compiled(lg.tensor(2.0)).item()) == (80.0, 40.0)


# -- random numbers, histories, state ----------------------------------------------------------------
def _drawing(xs, h):
    return scan(lambda h, x: (lg.tanh(h + x * lg.rand(3, dtype=h.dtype)), h.sum()), h, xs)


def _drawing_one_of_two(xs, h):
    return cond(h.sum() > 0, lambda: h * lg.rand(3, dtype=h.dtype), lambda: h * lg.randn(3) + lg.rand(3))


def _drawing_in_branches(xs, h):
    def body(h, x):
        return cond(h.sum() > 0, lambda: lg.tanh(h + x * lg.rand(3)), lambda: h * lg.randn(3)), lg.rand(())

    return scan(body, h, xs)


def _drawing_deeply(xs, h):
    def body(h, x):
        return scan(lambda h, z: (lg.tanh(h + x * lg.rand(3)), None), h, xs[:3])[0], None

    return scan(body, h, xs)[0]


@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("function", [_drawing, _drawing_one_of_two, _drawing_in_branches, _drawing_deeply])
def test_random_numbers_are_those_of_the_function(function, derivative):
    ask = grad(lambda *given: sum(y.sum() for y in leaves(function(*given))), (0, 1)) if derivative else function
    for how in BACKENDS:
        compiled = lg.compile(ask, fullgraph=True, options={"backend": how})
        for k, h in enumerate((abs(H), -abs(H), H)):
            lg.manual_seed(k)
            wanted, after = ask(XS, h), lg.rand(1)
            lg.manual_seed(k)
            same(compiled(XS, h), wanted)
            assert lg.rand(1) == after


@pytest.mark.parametrize("function", [_drawing, _drawing_one_of_two, _drawing_in_branches, _drawing_deeply])
def test_gradients_from_outside_are_of_the_numbers_that_were_drawn(function):
    for how in BACKENDS:
        compiled = lg.compile(function, fullgraph=True, options={"backend": how})
        for k, h in enumerate((abs(H), -abs(H), H)):
            found = []
            for f in (function, compiled):
                lg.manual_seed(k)
                ts = [XS.clone().requires_grad_(), h.clone().requires_grad_()]
                ends = [y.sum() for y in leaves(f(*ts)) if y.requires_grad]
                found.append([lg.autograd.grad(ends, ts, allow_unused=True), lg.rand(1)])
            same(found[1], found[0])


@pytest.mark.parametrize("function", [recurrent, chosen, _drawing, _drawing_in_branches, lambda x, y: lg.tanh(x) @ y])
def test_nothing_runs_backwards_that_ran_forwards(function):
    given = [x.clone().requires_grad_() for x in (CALLS[0] if function in (recurrent, chosen) else (XS, H))]
    compiled = lg.compile(function, fullgraph=True)
    for _ in range(2):
        compiled(*given)
    (entry,) = entries_of(compiled)
    forward, backward = ({v for e in p.equations for v in e.results} for p in (entry.program, entry.back.backward))
    assert forward and backward and not forward & backward


@pytest.mark.parametrize("how", BACKENDS)
@pytest.mark.parametrize("function", [recurrent, chosen])
def test_histories_of_results(function, how):
    compiled = lg.compile(function, options={"backend": how}, fullgraph=True)
    for given in CALLS:
        ts = [x.clone().requires_grad_() for x in given]
        ask = [ts[2], ts[0]]
        same(lg.autograd.grad(compiled(*ts), ask), lg.autograd.grad(function(*ts), ask))
        slopes = []
        for f in (compiled, function):  # the first time through what the trace left behind
            (g,) = lg.autograd.grad(f(*ts), ask[:1], create_graph=True)
            slopes.append(lg.autograd.grad((g * g).sum(), ask))
        same(*slopes)
    fresh = lg.compile(function, options={"backend": how}, fullgraph=True)
    (g,) = lg.autograd.grad(fresh(*ts), ask[:1], create_graph=True)
    same(lg.autograd.grad((g * g).sum(), ask), slopes[1])


class _Cube(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * 7  # not the derivative, so that it shows


def test_detached_parts_and_own_derivatives_stay_what_they_are():
    def body(h, x):
        with lg.no_grad():
            size = (h * h).sum()
        return lg.tanh(W @ h.detach() + x) * size + 0.1 * h, _Cube.apply(h).sum()

    agrees(grad(lambda h: sum(y.sum() for y in scan(body, h, XS))), (H,), (-H,))


def test_each_loop_keeps_its_own_surroundings():
    def layers(ws, h):
        for k in range(2):
            w = ws[k]
            h, _ = scan(lambda h, x: (lg.tanh(w @ h + x), None), h, XS)  # noqa: B023
        return h.sum()

    agrees(grad(layers, (0, 1)), (lg.stack([W, W.T]), H))


def test_hooks_and_functions_that_read_values():
    def hooked(h):
        def body(h, x):
            y = h * x
            if y.requires_grad:
                y.register_hook(lambda g: g * 2)
            return lg.tanh(y), None

        return scan(body, h, XS)[0].sum()

    agrees(grad(hooked), (H,), (-H,))

    class Reads(_Cube):
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (7 if x.sum() > 0 else 3)

    slope = grad(lambda h: scan(lambda h, x: (lg.tanh(Reads.apply(h) + x), None), h, XS)[0].sum())
    compiled = lg.compile(slope)
    with pytest.warns(UserWarning, match="runs as it is"):
        same(compiled(H), slope(H))
    same(compiled(-H), slope(-H))


def test_checkpoints():
    def around(w, h):
        return checkpoint(lambda h: scan(lambda h, x: (lg.tanh(w @ h + x), None), h, XS)[0], lg.sin(h)).sum()

    def inside(w, h):
        step = lambda h, x: lg.tanh(w @ h + x) * lg.sin(h)
        return scan(lambda h, x: (checkpoint(step, h, x), None), h, XS)[0].sum()

    def chosen(w, h):
        return checkpoint(lambda h: cond(h.sum() > 0, lambda: lg.tanh(w @ h), lambda: h * h), lg.sin(h)).sum()

    for function in (around, inside, chosen):
        agrees(grad(function, (0, 1)), (W, H), (W.T, -H))


def test_tensors_that_nobody_follows_are_told_of():
    hidden = lg.ones(3, dtype=lg.float64)
    name, tensors = str(id(hidden)), weakref.WeakValueDictionary()
    tensors[name] = hidden
    compiled = lg.compile(lambda h: scan(lambda h, x: (h + tensors[name], None), h, XS)[0])
    with pytest.warns(UserWarning, match="runs as it is, since it computes with a tensor that it reaches"):
        same(compiled(H), H + 6)
    same(compiled(H), H + 6)


def test_writes_outside_are_done_once_per_step():
    norms = [lg.nn.BatchNorm1d(3, dtype=lg.float64) for _ in range(2)]
    xs = lg.asarray(rng.normal(size=(5, 4, 3)))

    def run(norm):
        return lambda xs: scan(lambda h, x: (h + norm(x), None), lg.zeros(4, 3, dtype=lg.float64), xs)[0]

    compiled, plain = lg.compile(run(norms[0]), fullgraph=True), run(norms[1])
    for _ in range(3):
        same(compiled(xs), plain(xs))
        same(norms[0].running_mean, norms[1].running_mean)
        assert norms[0].num_batches_tracked == norms[1].num_batches_tracked


def test_writes_inside():
    def own(h, xs):
        def body(h, x):
            h = h * 1
            h += x
            h[0] = h[0] * 2
            return h, h.sum()

        return scan(body, h, xs)

    def carried(h, xs):
        def body(h, x):
            h += x
            return h, h.sum()

        return scan(body, h * 1, xs)

    assert count(agrees(own, (H, XS)), "scan") == 1
    assert not count(agrees(carried, (H, XS)), "scan")  # written out: the first step writes what it was given


def test_a_value_that_was_written_before_its_gradient():
    def function(w):
        v = w * 1
        y = scan(lambda h, x: (lg.tanh(v @ h + x), None), H, XS)[0].sum()
        v += 1
        return lg.autograd.grad(y, w)

    with pytest.raises(RuntimeError, match="backward through scan: a value .* in-place"):
        lg.compile(function)(W.clone().requires_grad_())


class _Net(lg.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out, self.drop = lg.nn.RNNCell(3, 8), lg.nn.Linear(8, 1), lg.nn.Dropout(0.3)

    def forward(self, xs):
        def body(h, x):
            h = self.cell(x, h)
            return h, self.out(self.drop(h))

        return scan(body, lg.zeros(xs.shape[1], 8), xs)[1]


@pytest.mark.parametrize("how", BACKENDS)
def test_training_of_a_recurrent_network(how):
    losses = []
    for compiling in (False, True):
        lg.manual_seed(1)
        net = _Net()
        optimizer = lg.optim.Adam(net.parameters(), lr=0.01)
        xs, ys = lg.randn(20, 4, 3), lg.randn(20, 4, 1)

        def step(xs, ys, net=net, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((net(xs) - ys) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = lg.compile(step, fullgraph=True, options={"backend": how}) if compiling else step
        losses.append([run(xs, ys).item() for _ in range(6)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-6)
    assert run.cache_info().hits == 4 and count(run.program(xs, ys), "scan") == 2


# -- shapes and trees --------------------------------------------------------------------------------
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 200])
def test_lengths(length, reverse):
    xs = lg.asarray(np.random.default_rng(length).normal(size=(length, 3)))
    program = agrees(grad(lambda *given: recurrent(*given, reverse=reverse), ALL), (W, xs, H), (W.T, xs, -H))
    assert length < 2 or len(program) < 10
    assert length < 2 or count(program, "scan") == 2


def test_trees_none_and_whole_numbers():
    agrees(lambda h: scan(lambda c, _: ((c[0] * 1.1, c[1] + 1), c[1]), (h, 0), None, length=7), (H,))
    agrees(lambda xs: scan(lambda c, x: (c + x, c * 2), lg.tensor(0), xs), (lg.arange(9),), (lg.arange(9) * 3,))
    one = {"u": XS, "v": XS * 2}
    agrees(
        lambda d: scan(lambda c, x: ({"a": c["a"] + x["u"], "b": None}, {"z": x["v"]}), {"a": H, "b": None}, d), (one,)
    )
    agrees(lambda h: cond(h.sum() > 0, lambda: {"a": (h, None)}, lambda: {"a": (h * 2, None)}), (abs(H),), (-abs(H),))
    agrees(lambda h: cond(h.sum(), lambda: 1.0, lambda: 2.0), (abs(H),), (H * 0,))  # a number is a truth value, too


def test_what_is_handed_through():
    agrees(lambda h, xs: scan(lambda c, x: (c, x), h, xs), (H, XS))
    agrees(lambda h, xs: scan(lambda c, x: ((c[1], c[0]), c[0]), (h, h * 2), xs), (H, XS))
    agrees(grad(lambda h: sum(y.sum() for y in scan(lambda c, x: ((c[1] * x, c[0]), None), (h, h * 2), XS)[0])), (H,))
    agrees(lambda h, xs: scan(lambda c, x: (c, (W, lg.ones(2))), h, xs), (H, XS))
    agrees(grad(lambda h: scan(lambda c, x: (c, h), h, XS)[1].sum() * 2), (H,))
    agrees(lambda h: cond(h.sum() > 0, lambda: h, lambda: H), (abs(H),), (-abs(H),))


def test_complex_numbers():
    turns = lg.tensor([1.0, 0.2, 0.5, 0.1], dtype=lg.float64)
    z = lg.tensor(0.1 + 0.2j, dtype=lg.complex128)
    agrees(lambda z: scan(lambda c, x: (c * c * x + 0.5j * x, c), z, turns), (z,))
    agrees(grad(lambda z: (scan(lambda c, x: (c * c * x + 0.5j * x, c), z, turns)[0] * (1 + 2j)).real), (z,))
    agrees(grad(lambda z: cond(z.real > 0, lambda: (z * z * 1j).real, lambda: (z**3).imag)), (z,), (-z,))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision(name):
    x = XS.astype(getattr(lg, name))
    function = grad(lambda x: scan(lambda h, x: ((h * x).tanh(), h.sum()), x[0], x)[1].sum())
    for how in BACKENDS:
        compiled = lg.compile(function, options={"backend": how})
        for _ in range(2):
            same(compiled(x).astype(lg.float32), function(x).astype(lg.float32), rtol=0.02)


def test_unroll_writes_steps_out():
    written = agrees(lambda h: scan(lambda h, x: (h * x, None), h, XS, unroll=True), (H,))
    assert not count(written, "scan") and count(written, "multiply") == len(XS)


# -- mistakes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "function",
    [
        lambda h: scan(lambda h, x: (h.sum(), None), h, XS),
        lambda h: scan(lambda h, x: h, h, XS),
        lambda h: scan(lambda h, x: (h.astype(lg.float32), None), h, XS),
        lambda h: scan(lambda h, x: (h @ x[:2], None), h, XS),
        lambda h: fori_loop(0, 5, lambda i, v: v[0], h),
        lambda h: cond(h, lambda: 1, lambda: 2),
        lambda h: cond(h.sum() > 0, lambda: h @ lg.ones(7), lambda: 1.0),
        lambda h: while_loop(lambda v: v, lambda v: v, h),
        lambda h: while_loop(lambda v: v.sum() > 0, lambda v: v[0], h),
    ],
)
def test_errors_are_those_of_the_function(function):
    said = []
    for call in (function, lg.compile(function)):
        with pytest.raises(Exception) as caught:  # noqa: PT011  the same, whatever it is
            call(abs(H))
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]
    same(lg.compile(lambda h: h * 2)(H), H * 2)  # and nothing is left behind


def test_branches_that_differ_run_as_they_are():
    for other in (lambda h: h[:1], lambda h: (h, h), lambda h: h.no_such_name):
        compiled = lg.compile(lambda h, other=other: cond(h.sum() > 0, lambda h: h * 2, other, h))
        with pytest.warns(UserWarning, match="runs as it is, since a value was read"):
            same(compiled(abs(H)), abs(H) * 2)
    strict = lg.compile(lambda h: cond(h.sum() > 0, lambda h: h * 2, lambda h: h[:1], h), fullgraph=True)
    with pytest.raises(RuntimeError, match="fullgraph=True, but a value was read"):
        strict(abs(H))


def test_reading_a_value_in_a_body():
    function = lambda h, xs: scan(lambda h, x: (h + x if x.sum() > 0 else h, None), h, xs)[0]
    compiled = lg.compile(function)
    with pytest.warns(UserWarning, match="runs as it is, since a value was read"):
        same(compiled(H, XS), function(H, XS))
    same(compiled(H, -XS), function(H, -XS))


def test_gradients_of_the_other_branch_do_not_count():
    def safe(x):
        return cond(x > 0, lambda: lg.log(x) * lg.sqrt(x), lambda: x * 3)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agrees(grad(safe), (lg.tensor(0.0, dtype=lg.float64),), (lg.tensor(2.0, dtype=lg.float64),))
        agrees(grad(grad(safe)), (lg.tensor(0.0, dtype=lg.float64),), (lg.tensor(2.0, dtype=lg.float64),))


# -- what the program is -----------------------------------------------------------------------------
def test_a_program_shows_what_is_inside():
    f = lg.compile(lambda x: scan(lambda h, x: (h + x, cond(h > 0, lambda: h * 2, lambda: -h)), 0.0, x))
    assert str(f.program(lg.ones(5))) == "\n".join([
        "program(v0: float32[5])",
        "  v1: float32[] is constant",
        "  v9: float32[], v10: float32[5] = scan(v1, v0, length=5, reverse=False, carries=1, columns=1)",
        "    body: program(v2: float32[], v3: float32[])",
        "      v4: float32[] = add(v2, v3)",
        "      v5: bool[] = greater(v2, 0)",
        "      v8: float32[] = cond(v5, v2)",
        "        true: program(v2: float32[])",
        "          v6: float32[] = multiply(v2, 2)",
        "          return v6",
        "        false: program(v2: float32[])",
        "          v7: float32[] = negative(v2)",
        "          return v7",
        "      return v4, v8",
        "  return v9, v10",
    ])  # fmt: skip


def test_what_is_the_same_in_all_steps_is_computed_before_them():
    program = agrees(lambda w, h: scan(lambda h, x: (lg.exp(w) @ h + x, None), h, XS)[0], (W, H))
    assert [equation.primitive.name for equation in program.equations] == ["exp", "scan"]


def test_nobody_asks_for_what_is_left_out():
    program = agrees(lambda h: scan(lambda c, x: ((c[0] + x, c[1] * x), lg.exp(c[1])), (h, h), XS)[0][0], (H,))
    (loop,) = program.equations
    assert len(loop.results) == 1 and [step.primitive.name for step in loop.keywords["body"].equations] == ["add"]


def _python_calls(run):
    """How many functions of Python run."""
    seen = []
    sys.setprofile(lambda frame, event, argument: seen.append(event) if event == "call" else None)
    try:
        run()
    finally:
        sys.setprofile(None)
    return len(seen)


@pytest.mark.parametrize("function", [recurrent, chosen_in_steps, steps_in_steps])
def test_no_python_runs_between_the_steps_of_a_loop_in_c(function):
    if building.why_not() is not None:
        pytest.skip("there is no C compiler")
    calls = []
    for length in (10, cases(200, 1000)):
        xs = lg.asarray(np.random.default_rng(0).normal(size=(length, 3)))
        compiled = lg.compile(grad(function, ALL), fullgraph=True)
        compiled(W, xs, H)
        same(compiled(W, xs, H), grad(function, ALL)(W, xs, H))
        calls.append(_python_calls(lambda compiled=compiled, xs=xs: compiled(W, xs, H)))
        assert count(compiled.program(W, xs, H), "scan") == (4 if function is steps_in_steps else 2)
    assert calls[0] == calls[1]
