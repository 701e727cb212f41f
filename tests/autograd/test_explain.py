"""`explain` names what is wrong with a gradient: 25 seeded defects, and controls where nothing is.

Each defect returns (loss, x); the line that is to blame, where there is one, ends in ``# here``.
"""

import gc
import inspect

import pytest

import lucidgrad as lg
from lucidgrad.autograd import explain, explaining
from lucidgrad.autograd.explanation import provenance

DEFECTS = {}
CONTROLS = []


def defect(status, cause, without=None):
    """Without notes the cause is the same, or another one that says less."""

    def declare(function):
        DEFECTS[function.__name__] = (function, status, cause, without or cause)
        return function

    return declare


def control(function):
    CONTROLS.append(function)
    return function


def leaf(*values):
    return lg.tensor(list(values), requires_grad=True)


# -- no gradient ---------------------------------------------------------------------------------
@defect("none", "no_path")
def never_used():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    return (w * 2).sum(), x


@defect("none", "detach", "no_path")
def detached_on_the_way():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = lg.exp(x)
    target = h.detach()  # here
    return (target * w).sum(), x


@defect("none", "detach")
def detached_itself():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    frozen = x.data  # here
    return (frozen * w).sum(), x


@defect("none", "detach", "no_path")
def copied_to_a_new_leaf():
    x = leaf(1.0, 2.0)
    other = x.clone().detach().requires_grad_()  # here
    return (other * other).sum(), x


@defect("none", "integer", "no_path")
def cast_to_integers():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    steps = (x * 10).to(lg.int64)  # here
    return (w * steps).sum(), x


@defect("none", "not_differentiable", "no_path")
def compared():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gate = x > 1.5  # here
    return (w * gate.to(lg.float64)).sum(), x


@defect("none", "no_grad", "no_path")
def computed_under_no_grad():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with lg.no_grad():
        scale = lg.exp(x)  # here
        scale = scale + 1
    return (w + scale).sum(), x


@defect("none", "no_grad", "no_path")
def all_under_no_grad():
    x = leaf(1.0, 2.0)
    with lg.no_grad():
        loss = x.sum()  # here
    return loss, x


@defect("none", "inference_mode")
def in_inference_mode():
    x = leaf(1.0, 2.0)
    with lg.inference_mode():
        loss = x.sum()  # here
    return loss, x


@defect("none", "host", "no_path")
def read_as_a_number():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    scale = x.sum().item()  # here
    return (w * scale).sum(), x


@defect("none", "requires_grad")
def without_requires_grad():
    x, w = lg.tensor([1.0, 2.0]), leaf(3.0, 4.0)
    return (x * w).sum(), x


@defect("none", "requires_grad_late")
def requires_grad_too_late():
    x, w = lg.tensor([1.0, 2.0]), leaf(3.0, 4.0)
    loss = (x * w).sum()
    return loss, x.requires_grad_()


@defect("none", "rebound")
def name_given_to_another_tensor():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    x = lg.tensor([0.5, 1.5], requires_grad=True)
    return loss, x


@defect("none", "non_leaf")
def interior_tensor():
    w = leaf(1.0, 2.0)
    x = lg.exp(w)  # here
    return (x * x).sum(), x


# -- zero ----------------------------------------------------------------------------------------
@defect("zero", "dead_relu")
def dead_relu():
    x = leaf(-1.0, -2.0, 0.0)
    return (lg.relu(x * 3) * 2).sum(), x  # here


@defect("zero", "saturated_clip")
def saturated_clip():
    x = leaf(3.0, -4.0)
    y = lg.clip(x, -1.0, 1.0)  # here
    return (y * y).sum(), x


@defect("zero", "saturated")
def saturated_sigmoid():
    x = leaf(800.0, 900.0)
    return lg.sigmoid(x).sum(), x  # here


@defect("zero", "times_zero")
def masked_by_zeros():
    x = leaf(1.0, 2.0)
    mask = lg.zeros(2)
    h = lg.exp(x) * mask  # here
    return (h + 1).sum(), x


@defect("zero", "never_chosen")
def branch_never_taken():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = lg.where(x > 5, x, w)  # here
    return (y * 2).sum(), x


@defect("zero", "not_attained")
def maximum_elsewhere():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    both = lg.concat([x, w])
    return both.max() * 2, x  # here


@defect("zero", "flat")
def rounded():
    x = leaf(1.2, 2.7)
    y = lg.round(x)  # here
    return (y * y).sum(), x


# -- not finite ----------------------------------------------------------------------------------
@defect("inf", "infinite_slope")
def square_root_of_zero():
    x = leaf(0.0, 4.0, 0.0)
    r = lg.sqrt(x * 2)  # here
    return r.sum(), x


@defect("inf", "division_by_zero")
def division_by_zero():
    x, w = leaf(0.0, 2.0), leaf(3.0, 4.0)
    y = w / x  # here
    return y.sum(), x


@defect("nan", "bad_forward")
def logarithm_of_a_negative_number():
    x = leaf(-1.0, 2.0)
    y = lg.log(x)  # here
    return (y * y).sum(), x


# -- huge ----------------------------------------------------------------------------------------
@defect("huge", "amplified")
def steep():
    x = leaf(1.0, 2.0)
    y = lg.exp(x * 30.0)  # here
    return y.sum(), x


# -- nothing wrong -------------------------------------------------------------------------------
@control
def small_network():
    x, w1, w2 = leaf(1.0, -2.0), leaf(0.5, 0.3), leaf(1.0, 1.0)
    return ((lg.tanh(x * w1) * w2).sum()) ** 2, w1


@control
def some_units_are_dead():
    x = leaf(-1.0, 2.0)
    return lg.relu(x).sum(), x


@control
def detached_beside_a_path():
    x = leaf(1.0, 2.0)
    return (x * x.detach()).sum(), x


@control
def interior_that_retains():
    w = leaf(1.0, 2.0)
    x = w * 2
    x.retain_grad()
    return (x * x).sum(), x


@control
def several_outputs():
    x = leaf(3.0, 1.0, 2.0)
    values, _ = lg.topk(x, 2)
    return values.sum(), x


@control
def complex_values():
    x = lg.tensor([1.0 + 2j, 3.0], requires_grad=True)
    return lg.abs(x * x).sum(), x


@control
def higher_order():
    x = leaf(1.0, 2.0)
    (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
    return (g * g).sum(), x


@control
def inside_transforms():
    x = leaf(1.0, 2.0)
    y = lg.func.vmap(lambda t: lg.sin(t) * t)(x)
    return y.sum() + lg.func.grad(lambda t: (t * t * t).sum())(x).sum(), x


@control
def written_in_place():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.mul_(3.0)
    y[0] = y[1]
    return y.sum(), x


@control
def masked_with_minus_infinity():
    q = lg.tensor([[1.0, 2.0], [0.5, -1.0]], requires_grad=True)
    scores = lg.where(lg.tril(lg.ones((2, 2))) > 0, q @ q.mT, -float("inf"))
    return (lg.softmax(scores, axis=-1) @ q).sum(), q


@control
def not_a_scalar():
    x = leaf(1.0, 2.0)
    return x * 3, x


def blamed_line(function):
    lines, first = inspect.getsourcelines(function)
    return next((first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here")), None)


def test_there_are_25_defects():
    assert len(DEFECTS) == 25


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_diagnosed(name):
    function, status, cause, without = DEFECTS[name]
    with explaining():
        loss, x = function()
    found = explain(loss, x)
    assert (found.status, found.cause) == (status, cause), str(found)
    line = blamed_line(function)
    if line is not None:
        assert (found.where.file, found.where.line, found.where.function) == (__file__, line, name), str(found)
    assert found.advice and found.message in str(found) and not found.healthy
    bare = explain(*function())
    assert (bare.status, bare.cause) == (status, without), str(bare)
    assert bare.where is None


@pytest.mark.parametrize("function", CONTROLS, ids=lambda f: f.__name__)
def test_healthy_gradient_is_left_in_peace(function):
    with explaining():
        loss, x = function()
    assert explain(loss, x).healthy, str(explain(loss, x))
    assert explain(*function()).cause == "ok"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_are_told():
    found = explain(*square_root_of_zero())
    assert (found.op, found.counts["offending"], found.counts["of"], found.counts["infinities"]) == ("sqrt", 2, 3, 2)
    found = explain(*steep())
    assert (found.op, found.counts["after"] > 1e20, found.counts["before"] < 2) == ("exp", True, True)


def test_nothing_is_changed():
    x = leaf(1.0, 2.0)
    x.grad = lg.ones(2)
    loss = (x * x).sum()
    for _ in range(2):
        assert explain(loss, x).healthy
    assert x.grad.tolist() == [1.0, 1.0]
    loss.backward()
    assert x.grad.tolist() == [3.0, 5.0]
    assert explain(loss, x).cause == "ok"  # the graph is gone, .grad is fine
    x.grad = None
    assert explain(loss, x).cause == "freed"


def test_other_causes():
    x = leaf(1.0, 2.0)
    assert explain((x - x).sum(), x).cause == "cancelled"
    assert explain((x * 1).sum(), x, 0.0).cause == "seed"
    h = x * 2
    h.register_hook(lambda g: g * 0)
    assert explain((h * h).sum(), x).cause == "hook"
    y = x * 1
    y[:] = 5.0
    assert explain(y.sum(), x).cause == "overwritten"
    h = x
    for _ in range(40):
        h = h * 2
    found = explain(h.sum(), x)
    assert found.cause == "exploding" and "40 operations" in str(found)
    bad = leaf(float("nan"), 1.0)
    assert explain((bad * bad).sum(), bad).cause == "bad_input"
    empty = lg.zeros((0,), requires_grad=True)
    assert explain((empty * 2).sum(), empty).healthy
    joined = lg.concat([x, leaf(3.0)])
    assert explain(joined[2:].sum(), x).cause == "not_selected"
    assert explain((x * 2).sum(), lg.asarray([1, 2])).cause == "integer"


def twice(x):
    return x * x


def classes(x, *targets):
    return lg.nn.functional.cross_entropy(lg.stack([x, -x], axis=1), lg.asarray(targets), reduction="sum")


MORE = {
    "affine: times_zero": lambda x: lg.nn.functional.linear(x, lg.zeros((3, 2)), lg.zeros(3)).sum(),
    "linear: times_zero": lambda x: lg.nn.functional.linear(x, lg.zeros((3, 2))).sum(),
    "convolution: times_zero": lambda x: lg.nn.functional.conv1d(x[None], lg.zeros((1, 1, 2))).sum(),
    "pair_einsum: times_zero": lambda x: lg.einsum("i,ij->j", x, lg.zeros((2, 2))).sum(),
    "thin: times_zero": lambda x: lg.nn.functional.dropout(x, 1.0).sum(),
    "leaky_relu: dead_relu": lambda x: lg.nn.functional.leaky_relu(-x, 0.0).sum(),
    "mean_squared_error: stationary": lambda x: lg.nn.functional.mse_loss(x, lg.tensor([1.0, 0.3])),
    "multiply: stationary": lambda x: twice(x - x.detach()).sum(),
    "square: stationary": lambda x: lg.square(x - x.detach()).sum(),
    "matmul: cancelled": lambda x: (x @ lg.tensor([[1.0, -1.0], [2.0, -2.0]])).sum(),
    "multiply: cancelled": lambda x: (x[0] * lg.tensor([1.0, -1.0])).sum(),
    "softmax: cancelled": lambda x: lg.softmax(x * 0, axis=0).sum(),
    "cross_entropy_rows: saturated": lambda x: classes(x * 1000, 0, 0),
    "cross_entropy_rows: ignored": lambda x: classes(x, -100, -100),
    "eigh: degenerate": lambda x: (lg.linalg.eigh(lg.eye(2) * x[0])[1] * lg.tensor([1.0, 2.0])).sum(),
    "svd: degenerate": lambda x: (lg.linalg.svd(lg.eye(2) * x[0])[0] * lg.tensor([1.0, 2.0])).sum(),
    "times_zero": lambda x: (x @ lg.zeros((2, 3))).sum(),
    "saturated": lambda x: lg.softmax(x * 1000, axis=0)[0],
    "never_chosen": lambda x: lg.masked_fill(x, lg.asarray([True, True]), 0.0).sum(),
    "saturated_clip": lambda x: lg.hardtanh(x + 3).sum(),
    "not_attained": lambda x: lg.maximum(x, lg.tensor([5.0, 5.0])).sum(),
    "underflow": lambda x: (x * 1e-30 * 1e-30).sum(),
    "stationary": lambda x: ((x - x.detach()) ** 2).sum(),
    "infinite_slope": lambda x: lg.acos(x).sum(),
    "division_by_zero": lambda x: ((x - 1) / (x - 1)).sum(),
    "bad_input": lambda x: (x * lg.tensor([float("nan"), 1.0])).sum(),
    "overflow": lambda x: (lg.exp(x * 1000) / lg.exp(x * 1000).sum())[0],
    "amplified": lambda x: lg.log(x * 1e-9).sum() * 1e-9 + lg.log((x - 1) + 1e-8).sum(),
}


def test_operations_that_are_named_exist():
    from lucidgrad.autograd.explanation import causes

    lg.nn, lg.linalg, lg.special
    assert {*causes._ZERO, *causes._SLOPES, *causes._DIVIDES, *causes._SPECTRAL} <= set(causes.registry)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("cause", MORE)
def test_more_causes(cause):
    x = leaf(1.0, 0.3)
    found = explain(MORE[cause](x), x)
    op, _, cause = cause.rpartition(": ")
    assert found.cause == cause and found.op == (op or found.op) and found.advice, str(found)


def test_copies_indices_and_decorators_leave_the_tape():
    @lg.no_grad()
    def doubled(x):
        return x * 2

    w = leaf(1.0, 1.0)
    for cut, cause, op in (
        (lambda x: (w * lg.tensor(x)).sum(), "detach", "tensor"),
        (lambda x: (w * doubled(x)).sum(), "no_grad", "multiply"),
        (lambda x: w[lg.argmax(x)] * 1, "not_differentiable", "argmax"),
    ):
        x = leaf(1.0, 0.3)
        with explaining():
            loss = cut(x)
        found = explain(loss, x)
        assert (found.cause, found.op) == (cause, op), str(found)


def test_custom_functions():
    class Nothing(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * 0

    x = leaf(1.0)
    found = explain(Nothing.apply(x).sum(), x)
    assert (found.status, found.cause, found.op) == ("zero", "custom", "Nothing")


def test_wrong_arguments():
    x = leaf(1.0)
    with pytest.raises(TypeError, match="loss is a float"):
        explain(1.0, x)
    with pytest.raises(lg.GradArgError, match="shape"):
        explain(x * 2, x, lg.ones(3))


def test_notes_nest_end_and_leak_nothing():
    from lucidgrad.core.modes import state, unusual

    gc.collect()
    before = len(provenance._off)
    running = lg.zeros(2)
    x = leaf(1.0, 2.0)
    gc.disable()
    try:
        with explaining(), explaining():
            for _ in range(100):
                running = running * 0.9 + (x * 2).detach() * 0.1
            assert len(provenance.reasons_of(running)) <= provenance._MOST
            del running
        assert len(provenance._off) <= before + 1  # x itself is on the tape
    finally:
        gc.enable()
    assert state.told is None and not state.notes and not unusual


def test_gradients_inside_the_context_are_the_same():
    x = leaf(1.0, 2.0)
    with explaining():
        (lg.exp(x) * x).sum().backward()
        (g,) = lg.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    y = leaf(1.0, 2.0)
    (lg.exp(y) * y).sum().backward()
    assert x.grad.tolist() == pytest.approx((y.grad + 6 * y.detach()).tolist())
