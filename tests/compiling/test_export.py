"""Programs as files: what goes out comes in again, computes the same, and has the same gradients; the rest is told."""

import io
import os
import subprocess
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import files, func
from lucidgrad.compiling.encoding import decoded, encoded
from lucidgrad.func import trees
from lucidgrad.levels.program import Structure
from lucidgrad.levels.traced import program_of

F = lg.nn.functional


def numbers(*shape, seed=0, dtype="float32"):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape).astype(dtype))


def through_a_file(function, *args, device=None, **kwargs):
    file = io.BytesIO()
    lg.export(function, args, file, kwargs=kwargs)
    file.seek(0)
    return lg.import_program(file, device)


def same_bits(a, b):
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes()


def models():
    lg.manual_seed(0)
    nn = lg.nn
    images = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    block = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True)
    return {
        "mlp": (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 2)), numbers(5, 3)),
        "images": (images, numbers(2, 2, 8, 8)),
        "lstm": (nn.LSTM(4, 5), numbers(6, 3, 4)),
        "transformer": (block, numbers(2, 3, 8)),
        "embedding": (nn.Embedding(7, 4), lg.asarray([1, 6, 0])),
    }


# -- what comes back ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", models())
def test_models_have_their_results_and_gradients(name):
    model, x = models()[name]
    model.eval()
    run = through_a_file(model, x)
    leaves = lambda tree: [y for y in func.trees.flatten(tree)[0] if isinstance(y, lg.Tensor)]
    for mine, expected in zip(leaves(run(x)), leaves(model(x)), strict=True):
        same_bits(mine, expected)
    if x.is_floating_point():
        model.requires_grad_(False)
        gradient = lambda of: func.grad(lambda x: sum((y**2).sum() for y in leaves(of(x))))(x)
        np.testing.assert_allclose(gradient(run).numpy(), gradient(model).numpy(), rtol=1e-5, atol=1e-7)


def test_transforms_and_steps_are_programs_too():
    f = lambda x: (lg.tanh(x) ** 3).sum()
    x = numbers(4, dtype="float64")
    for transform in (func.grad(f), func.hessian(f), func.vmap(lambda one: one**2), func.jacfwd(lambda x: x * x[0])):
        same_bits(through_a_file(transform, x)(x), transform(x))

    def step(params, x, y, rate):
        gradients, loss = func.grad_and_value(lambda p: F.mse_loss(x @ p["w"] + p["b"], y))(params)
        return {name: p - rate * gradients[name] for name, p in params.items()}, loss

    given = {"w": numbers(3, 1), "b": numbers(1)}, numbers(5, 3), numbers(5, 1, seed=1), lg.tensor(0.1)
    run = through_a_file(step, *given)
    params, losses = given[0], []
    for _ in range(20):
        params, loss = run(params, *given[1:])
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_derivatives_of_every_order_and_mode():
    f = lambda x: (lg.exp(x) * lg.sin(x)).sum()
    run, x, v = through_a_file(f, numbers(3, dtype="float64")), numbers(3, seed=1, dtype="float64"), lg.ones(3)
    v = v.to(lg.float64)
    for order in (func.grad, func.hessian, lambda f: func.jacfwd(func.hessian(f))):
        np.testing.assert_allclose(order(run)(x).numpy(), order(f)(x).numpy(), rtol=1e-12)
    same_bits(func.jvp(run, (x,), (v,))[1], func.jvp(f, (x,), (v,))[1])
    rows = numbers(5, 3, dtype="float64")
    same_bits(func.vmap(run)(rows), func.vmap(f)(rows))
    leaf = x.detach().requires_grad_()
    (slope,) = lg.autograd.grad(run(leaf), leaf, create_graph=True)
    (again,) = lg.autograd.grad(slope.sum(), leaf)
    np.testing.assert_allclose(again.numpy(), func.hessian(f)(x).sum(0).numpy(), rtol=1e-12)


def test_it_can_be_compiled():
    model, x = models()["mlp"]
    run = lg.compile(through_a_file(model.eval(), x), fullgraph=True)
    for seed in range(3):
        x = numbers(5, 3, seed=seed)
        np.testing.assert_allclose(run(x).numpy(), model(x).detach().numpy(), rtol=1e-6)
    assert run.cache_info()[:3] == (2, 1, 0)
    for _ in range(2):
        x = numbers(5, 3, seed=3).requires_grad_()
        (slope,) = lg.autograd.grad((run(x) ** 2).sum(), x)
        (expected,) = lg.autograd.grad((model(x) ** 2).sum(), x)
        np.testing.assert_allclose(slope.numpy(), expected.numpy(), rtol=1e-5)


def test_compiled_functions_export_themselves(tmp_path):
    model, x = models()["mlp"]
    expected = model.eval()(x)
    lg.compile(model).export(tmp_path / "model", x)
    same_bits(lg.import_program(tmp_path / "model")(x), expected)
    lg.compile(lambda x, *, scale: x * scale).export(tmp_path / "f", x, scale=2.0)
    same_bits(lg.import_program(tmp_path / "f")(x, scale=2.0), x * 2)


def test_trees_and_values():
    def function(pair, *rest, more, flag=None):
        return OrderedDict(a=[pair[0] + pair[1]["k"], "text", (3, None)], b=(), c=more * rest[0], d=flag)

    x, y = numbers(2), numbers(2, seed=1)
    run = through_a_file(function, (x, {"k": y}), x, 2.5, more=y, flag=-0.0)
    found = run((x, {"k": y}), x, 2.5, more=y, flag=-0.0)
    assert type(found) is OrderedDict and list(found) == ["a", "b", "c", "d"]
    same_bits(found["a"][0], x + y)
    same_bits(found["c"], y * x)
    assert found["a"][1:] == ["text", (3, None)] and found["b"] == () and str(found["d"]) == "-0.0"
    assert "pair[0]: float32[2], pair[1]['k']: float32[2], rest[0]: float32[2], more: float32[2]" in repr(run)


@pytest.mark.parametrize("value", [0.0, -0.0, float("nan"), float("inf"), 5e-324, 1 / 3, 2**70, True, 1 + 2j])
def test_numbers_keep_every_bit(value):
    x = numbers(3, dtype="float64")
    f = lambda x: x.to(lg.complex128 if isinstance(value, complex) else lg.float64) * value
    same_bits(through_a_file(f, x)(x), f(x))
    run = through_a_file(lambda x, n: (x, n), x, value)
    assert repr(run(x, value)[1]) == repr(value) and type(run(x, value)[1]) is type(value)


def test_keys_views_and_writes_into_clones():
    def function(x, i):
        y = x.clone()
        y[0] = 1.0
        y[:, 1:2].mul_(3.0)
        y[i] += 1
        return (
            y,
            x[..., None, ::2],
            x[i, 0],
            x.T,
            lg.take_along_axis(x, i[:, None], axis=1),
            x.argmax(0),
            y[y.shape[0] - 1],
        )

    x, i = numbers(3, 4), lg.asarray([2, 0, 2])
    for mine, expected in zip(through_a_file(function, x, i)(x, i), function(x, i), strict=True):
        same_bits(mine, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int8", "bool"])
def test_dtypes(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = lg.asarray([[0, 1], [1, 1]]).to(getattr(lg, dtype))
    constant = x.clone()
    f = lambda x: lg.concat([x, constant]).sum(axis=0, dtype=x.dtype) if dtype != "bool" else x & constant
    found, expected = through_a_file(f, x)(x), f(x)
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_constants_are_the_files_own(tmp_path):
    model, x = models()["mlp"]
    before = model.eval()(x)
    lg.export(model, (x,), tmp_path / "model")
    with lg.no_grad():
        model[0].weight.zero_()
    run = lg.import_program(tmp_path / "model")
    same_bits(run(x), before)
    held = files.load(tmp_path / "model")["constants"]
    assert {"0.weight", "0.bias", "3.weight", "3.bias"} <= held.keys()
    table = lg.ones(3)
    run = through_a_file(lambda x: (x + table, table, table.reshape(3, 1)), numbers(3))
    for part in run(numbers(3))[1:]:
        part.add_(1)  # which the next run does not see
    assert run(numbers(3))[2].tolist() == [[1], [1], [1]]


def test_arguments_are_left_alone():
    x = numbers(3).requires_grad_()
    x.grad = lg.ones(3)
    run = through_a_file(lambda x: x, x)
    assert x.grad.tolist() == [1, 1, 1] and x.is_leaf
    y = numbers(3)
    run(y).add_(1)
    same_bits(y, numbers(3))
    through_a_file(lambda a, b: a * b, y, y)(y, y)


def test_modes_of_the_call_change_nothing():
    f = lambda x: x @ x
    run, x = through_a_file(f, numbers(3, 3)), numbers(3, 3).requires_grad_()
    with lg.autocast("cpu", dtype=lg.float16):
        assert run(x).dtype == lg.float32
        half = through_a_file(f, numbers(3, 3))
    assert half(x).dtype == lg.float16 and f(x).dtype == lg.float32
    with lg.no_grad():
        assert not run(x).requires_grad
    with lg.inference_mode():
        assert through_a_file(f, numbers(3, 3))(x.detach()).shape == (3, 3)


def test_another_process_runs_it(tmp_path):
    model, x = models()["lstm"]
    lg.export(lambda x: lg.special.gammaln(model(x)[0] + 3), (x,), tmp_path / "program")
    lg.save(x, tmp_path / "x")
    code = "import sys, lucidgrad as lg\nlg.save(lg.import_program(sys.argv[1])(lg.load(sys.argv[2])), sys.argv[3])"
    subprocess.run(
        [sys.executable, "-c", code, *(str(tmp_path / name) for name in ("program", "x", "y"))],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    same_bits(lg.load(tmp_path / "y"), lg.special.gammaln(model(x)[0] + 3))


@pytest.mark.cuda
def test_a_program_moves_to_another_device():
    model, x = models()["mlp"]
    model.eval()
    run = through_a_file(lambda x: model(x).to("cpu") + lg.ones(2), x, device="cuda")
    found = run(x.to("cuda"))
    assert found.device.type == "cuda"
    np.testing.assert_allclose(found.cpu().numpy(), (model(x) + 1).detach().numpy(), rtol=1e-5)
    with pytest.raises(lg.DeviceError, match="input is on cpu, expected cuda|x is on cpu, expected cuda"):
        run(x)
    there = models()["mlp"][0].eval().to("cuda")
    file = io.BytesIO()
    lg.export(there, (x.to("cuda"),), file)
    for device, place in ((None, "cuda"), ("cpu", "cpu")):
        file.seek(0)
        found = lg.import_program(file, device)(x.to(place))
        assert found.device.type == place
        np.testing.assert_allclose(found.cpu().numpy(), model(x).detach().numpy(), rtol=1e-5)
    with pytest.raises(RuntimeError, match="computes on cpu and cuda:0, expected one device"):
        lg.export(lambda x: x.to("cuda"), (x,), io.BytesIO())


# -- gradients that are not the program's --------------------------------------------------------------
class _Rule(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return lg.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


@pytest.mark.parametrize(
    "function",
    [lambda x: (x * x.detach()).sum(), lambda x: lg.where(x > 0, x.detach() * x, x), lambda x: _Rule.apply(x) * x],
)
def test_gradients_that_are_others_are_refused(function):
    x = lg.zeros(3)
    run = through_a_file(function, x)
    same_bits(run(x), function(x))
    for ask in (lambda: run(x.requires_grad_()), lambda: func.grad(lambda x: run(x).sum())(x.detach())):
        with pytest.raises(RuntimeError, match="the function has others: it detaches .*; call it under lg.no_grad"):
            ask()
    with pytest.raises(RuntimeError, match="the function has others"):
        func.jvp(run, (x.detach(),), (lg.ones(3),))
    with lg.no_grad():
        run(x.requires_grad_())


def test_results_without_a_history_have_none():
    run = through_a_file(lambda x: (x * 2, (x * 3).detach(), x > 0), numbers(3))
    assert [y.requires_grad for y in run(numbers(3).requires_grad_())] == [True, False, False]
    run = through_a_file(lg.no_grad()(lambda x: x * 2), numbers(3))
    assert not run(numbers(3).requires_grad_()).requires_grad


# -- what is refused -----------------------------------------------------------------------------------
class _Counter:
    value = 0

    def __call__(self, x):
        self.value += 1
        return x * 2


def test_what_is_no_pure_program_is_told(tmp_path):
    x, outside, path = numbers(3), lg.zeros(3), tmp_path / "program"
    weight, other = lg.ones(3, requires_grad=True), lg.ones(3, requires_grad=True)
    sgd = lg.optim.SGD([other], lr=0.1)

    def backward(x):
        (x * weight).sum().backward()
        return x * 1

    def step(x):
        sgd.step()
        return x * 1

    other.grad = lg.ones(3)
    own, chances = lg.Generator().manual_seed(0), lg.ones(3)
    norm = lg.nn.BatchNorm1d(3)
    Pair = namedtuple("Pair", "a b")
    for function, error, what in (
        (lambda x: x.add_(1), RuntimeError, "writes into an argument; write into a clone"),
        (lambda x: outside.copy_(x), RuntimeError, "writes into a tensor outside"),
        (lambda x: norm(x.reshape(1, 3).expand(2, 3)), RuntimeError, r"writes into a tensor outside.*eval\(\)"),
        (
            lambda x: x + lg.rand(3, generator=own),
            RuntimeError,
            "from a generator of its own; draw",
        ),
        (lambda x: x[lg.multinomial(chances, 3)], RuntimeError, "a value was read"),
        (lambda x: x if x.sum() > 0 else -x, RuntimeError, "a value was read .*test_export.py, line"),
        (backward, RuntimeError, "sets gradients of tensors; return them"),
        (step, RuntimeError, "takes steps of an optimiser"),
        (_Counter(), RuntimeError, "it changed values that"),
        (lambda x: Pair(x, x), TypeError, "the result has a .*Pair, which a file of plain data can't hold"),
        (lambda x: object(), RuntimeError, "neither a tensor nor a plain value"),
    ):
        with pytest.raises(error, match=f"export: .*{what}"):
            lg.export(function, (x,), path)
    same_bits(x, numbers(3))
    for wrong in (3, lg.nn.Linear, None):
        with pytest.raises(TypeError, match="export: given a .*, expected a function"):
            lg.export(wrong, (x,), path)
    with pytest.raises(TypeError, match=r"args is a Tensor, expected a tuple of the arguments, such as \(x,\)"):
        lg.export(lambda x: x, x, path)
    with pytest.raises(TypeError, match="an argument has a .*Pair, which a file"):
        lg.export(lambda x: x, (Pair(x, x),), path)
    with pytest.raises(RuntimeError, match="inside a transform"):
        func.vmap(lambda x: lg.export(lambda x: x, (x,), path))(numbers(2, 3))
    assert not list(tmp_path.iterdir())


def test_arguments_of_another_kind_are_told():
    run = through_a_file(lambda x, n: x["w"] * n, {"w": numbers(2, 3)}, 2)
    for args, error, what in (
        (({"w": numbers(3, 3)}, 2), ValueError, r"x\['w'\] is float32\[3, 3\], expected float32\[2, 3\]"),
        (({"w": numbers(2, 3, dtype="float64")}, 2), ValueError, r"is float64\[2, 3\], expected float32\[2, 3\]"),
        (({"w": numbers(2, 3)}, 3), ValueError, "given 3, expected 2, which is part of the program"),
        (({"w": numbers(2, 3)}, 2.0), ValueError, "given 2.0, expected 2"),
        (({"w": numbers(2, 3).numpy()}, 2), TypeError, r"x\['w'\] is a ndarray, expected a tensor"),
        ((numbers(2, 3), 2), TypeError, r"given arguments of the structure .* expected .* the tensors x\['w'\]"),
        (({"w": numbers(2, 3)},), TypeError, "structure"),
    ):
        with pytest.raises(error, match=what):
            run(*args)


def test_files_are_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "program"
    lg.export(lambda x: x + 1, (numbers(3),), path)
    before = path.read_bytes()
    with pytest.raises(RuntimeError):
        lg.export(lambda x: x.add_(1), (numbers(3),), path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["program"]
    assert files.load(path)["format"] == "lucidgrad program"


def test_programs_inside_programs():
    """Keywords may hold programs, which have constants of their own."""
    x, table = numbers(2, 3), numbers(3, seed=1)
    inner = program_of(lambda x: (lg.tanh(x)[0, ::2], x.sum(axis=(0,))), x.array)
    outer = program_of(lambda x: x * 2 + table, x.array)
    for value in (outer, {"body": (outer, inner, None)}):
        file = io.BytesIO()
        files.save({"value": encoded(value, "a keyword")}, file)
        file.seek(0)
        found = decoded(files.load(file)["value"], lg.device("cpu"))
        programs = [found] if value is outer else found["body"][:2]
        for mine, expected in zip(programs, (outer, inner), strict=False):
            assert [e.primitive for e in mine.equations] == [e.primitive for e in expected.equations]
            for a, b in zip(mine.run([x.array]), expected.run([x.array]), strict=True):
                assert a.tobytes() == b.tobytes() and a.dtype == b.dtype
    with pytest.raises(RuntimeError, match="which is no operation of lucidgrad's that a file could name"):
        encoded(program_of(lambda x: x + lg.from_numpy(np.ones(3, "float32")), x.array), "a keyword")


W = numbers(3, 3, seed=5)


def _rows(x):
    """What is carried, what is collected, and what is the same in all steps, a constant among it."""
    return lg.func.scan(lambda c, row: (lg.tanh(c @ W + row * x.mean()), c * 2), lg.zeros(3), x)


def _halved(x):
    return lg.func.while_loop(lambda v: v[1].sum() > 1, lambda v: (v[0] + 1, v[1] / 2), (lg.zeros(()), x * x))


LOOPS = {
    "scan": _rows,
    "backwards": lambda x: lg.func.scan(lambda c, row: (c + row, c * row), x[0], x, reverse=True),
    "counted": lambda x: lg.func.fori_loop(0, 4, lambda k, c: c * 0.5 + k * x, x),
    "mapped": lambda x: lg.func.map(lambda row: row * row.sum(), x),
    "choice": lambda x: lg.func.cond(x.sum() > 0, lambda x: x * 2, lambda x: -W.sum() * x, x),
    "constant branch": lambda x: lg.func.cond(x.sum() > 0, lambda: W, lambda: W * 2),
    "choice in a loop": lambda x: lg.func.scan(
        lambda c, row: (c + lg.func.cond(row.sum() > c.sum(), lambda: row, lambda: -c), c), lg.ones(3), x
    ),
    "written out": lambda x: lg.func.scan(lambda c, row: (c * 0.5 + row, c), lg.zeros(3), x, unroll=True),
    "while": _halved,
}


def same(found, wanted, close=1e-5):
    """Whether trees of tensors are nearly the same."""
    pairs = zip(*(trees.flatten(tree)[0] for tree in (found, wanted)), strict=True)
    return all(np.allclose(*(x.detach().numpy() for x in pair), rtol=close, atol=close) for pair in pairs)


def slopes(f, x):
    """The gradient of all that a function gives, and the gradient of that."""
    ends = [y for y in trees.flatten(f(x))[0] if y.requires_grad]
    (first,) = lg.autograd.grad([(y**2).sum() for y in ends], x, create_graph=True)
    return first, lg.autograd.grad((first**2).sum(), x)[0]


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_choices_are_exported(name, tmp_path):
    f, path = LOOPS[name], tmp_path / "loop"
    x = numbers(5, 3, seed=2)
    lg.export(f, (x,), path)
    run = lg.import_program(path)
    loops = [e for e in run.program.equations if type(e.primitive) is Structure]
    assert bool(loops) == (name != "written out")
    quick = lg.compile(run, fullgraph=True)
    for sign in (1.0, -1.0, 0.3):  # either branch, and other numbers of steps
        given = (x * sign).requires_grad_(name not in ("while", "constant branch"))
        for other in (run, quick, quick):
            assert same(other(given), f(given))
        if given.requires_grad:
            assert same(slopes(run, given), slopes(f, given), 1e-4)
    batch = lg.stack([x, x * 0.5, -x])
    assert same(lg.func.vmap(run)(batch), lg.func.vmap(f)(batch))


def test_constants_of_branches_are_not_handed_out(tmp_path):
    path = tmp_path / "branch"
    x = numbers(3)
    lg.export(LOOPS["constant branch"], (x,), path)
    run = lg.import_program(path)
    run(x * 0 + 1).fill_(0.0)
    assert run(x * 0 + 1).tolist() == W.tolist()


# -- random numbers ------------------------------------------------------------------------------------
DRAWS = {
    "dropout": lambda x: F.dropout(x, 0.4) * x,
    "normal": lambda x: x * lg.randn(3) + lg.normal(1.0, 2.0, size=(2, 3)),
    "complex": lambda x: x * lg.randn(3, dtype=lg.complex64).real,
    "half": lambda x: x * lg.rand(3, dtype=lg.float16).to(x.dtype),
    "integers": lambda x: x[:, lg.randint(0, 3, (4,))] + lg.randint(-2, 5, (4,)),
    "permutation": lambda x: x[:, lg.randperm(3)],
    "bernoulli": lambda x: x * lg.bernoulli(lg.full((2, 3), 0.5)),
    "map": lambda x: lg.func.map(lambda row: row * lg.rand(3), x),
    "scan": lambda x: lg.func.scan(lambda c, row: (c * 0.5 + row * lg.randn(3), c), lg.zeros(3), x),
    "choice": lambda x: lg.func.cond(x.sum() > 0, lambda: x * lg.rand(3), lambda: x + lg.randn(3) * x),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_those_of_the_function(name):
    f, x = DRAWS[name], numbers(2, 3, seed=4)
    lg.manual_seed(5)
    before = lg.rand(2)
    lg.manual_seed(5)
    run = through_a_file(f, x)
    same_bits(lg.rand(2), before)  # no number of the stream is used up
    quick = lg.compile(run, fullgraph=True)

    def three(g):
        lg.manual_seed(7)
        made, given = [], (x * 1).requires_grad_()
        for sign in (1, -1, 1):
            made += trees.flatten(g(given * sign))[0]
        return made, lg.autograd.grad([y.sum() for y in made if y.requires_grad], given)

    expected, slope = three(f)
    assert not lg.array_equal(expected[0], expected[-1] if name != "scan" else expected[-2])
    for other in (run, quick):
        found, own = three(other)
        assert same(found, expected) and same(own, slope)
    batch = lg.stack([x, x])
    if name != "choice":
        lg.manual_seed(1)
        wanted = lg.func.vmap(f, randomness="different")(batch)
        lg.manual_seed(1)
        assert same(lg.func.vmap(run, randomness="different")(batch), wanted)
    with pytest.raises(RuntimeError, match="draws random numbers"):
        lg.func.vmap(run)(batch)


@pytest.mark.parametrize(
    ("place", "value", "what"),
    [
        (("how",), "gamma", "draws 'gamma', which is not known"),
        (("how",), "permutation", "other numbers than 0 for permutation"),
        (("how",), "integers", "has what is no number for integers"),
        (("args",), (0.0,), "other numbers than 2"),
        (("args",), (0.0, "1"), "no number for uniform"),
        (("more",), 1, "other parts"),
    ],
)
def test_draws_of_made_up_files_are_told(place, value, what, tmp_path):
    path = tmp_path / "draws"
    lg.export(lambda x: x + lg.rand(3), (numbers(3),), path)
    about = files.load(path)
    (words,) = [words for name, _, words, _ in about["equations"] if name == "draw"]
    words[place[0]] = value
    files.save(about, path)
    with pytest.raises(files.FileFormatError, match=what):
        lg.import_program(path)


# -- branches that are not taken -----------------------------------------------------------------------
def _detaching(x, deep=False):
    either = lambda: lg.func.cond(x.max() > 9, lambda: x * x.detach(), lambda: x * 2)
    return lg.func.cond(x.sum() > 100, either if deep else lambda: x * x.detach(), lambda: x * 3)


@pytest.mark.parametrize(
    "function",
    [
        _detaching,
        lambda x: _detaching(x, deep=True),
        lambda x: lg.func.cond(x.sum() > 100, lambda: x.detach() * 2, lambda: x * 3),
        lambda x: lg.func.cond(x.sum() > 100, lambda: x * 3, lambda: x.detach() * 2),
        lambda x: lg.func.scan(lambda c, row: (c + _detaching(row), c), lg.zeros(3), x),
    ],
)
def test_what_another_branch_detaches_is_found(function):
    x = numbers(2, 3).requires_grad_()
    run = through_a_file(function, x)
    with lg.no_grad():
        assert same(run(x), function(x))
    with pytest.raises(RuntimeError, match="the function has others: it detaches"):
        run(x)


def test_choices_that_python_makes_are_left_alone():
    def choosing(x, flag):
        x = lg.func.cond(flag, lambda x: x * 2, lambda x: x.detach() * 5, x)
        return lg.func.cond(x.sum() > 100, lambda: x[1] * 3, lambda: x[0])

    x = numbers(3, 3).requires_grad_()
    run = through_a_file(choosing, x, True)
    assert same(slopes(lambda x: run(x, True), x), slopes(lambda x: choosing(x, True), x))
