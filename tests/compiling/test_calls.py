"""What compiled functions do in all the ways they can be called: always what the function itself does."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import func


def numbers(*shape, seed=0):
    return lg.asarray(np.random.default_rng(seed).normal(size=shape))


def quiet(function, **options):
    """A compiled function of which it does not matter whether it runs as it is."""
    compiled = lg.compile(function, **options)

    def call(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compiled(*args, **kwargs)

    call.compiled = compiled
    return call


def same(a, b):
    a, b = a.detach().numpy(), b.detach().numpy()
    rtol = 18 * np.finfo(a.dtype).eps if a.dtype.kind in "fc" else 0
    np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-300, strict=True)


# -- what can be compiled ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (lg.tanh(x) ** 2).sum(),
        func.grad(lambda x: (lg.sin(x) * x).sum()),
        func.hessian(lambda x: (x**3).sum()),
        func.vmap(lambda one: lg.stack([one, one * one]).sum()),
        func.jacfwd(lambda x: lg.exp(x) * x[0]),
        lambda x: func.jvp(func.grad(lambda t: (t**4).sum()), (x,), (x,))[1],
    ],
)
def test_functions_and_transforms(function):
    compiled = lg.compile(function)
    for seed in range(3):
        x = numbers(4, seed=seed)
        same(compiled(x), function(x))
    assert compiled.cache_info()[:3] == (2, 1, 0)


def test_trees_go_in_and_out():
    def function(pair, *, more):
        return {"sum": pair[0] + pair[1], "rest": [more["w"] * 2, "name", 3]}

    compiled = lg.compile(function)
    for seed in range(2):
        x, y, w = (numbers(3, seed=seed + k) for k in range(3))
        found = compiled((x, y), more={"w": w})
        same(found["sum"], x + y)
        same(found["rest"][0], w * 2)
        assert found["rest"][1:] == ["name", 3]
    assert compiled.cache_info().hits == 1


def test_a_decorator_with_and_without_arguments():
    @lg.compile
    def one(x):
        return x + 1

    @lg.compile(fullgraph=True)
    def two(x):
        return x + 2

    assert one(lg.zeros(1)).item() == one(lg.zeros(1)).item() == 1
    assert two(lg.zeros(1)).item() == two(lg.zeros(1)).item() == 2


def test_methods_are_compiled_for_each_instance():
    class Scale:
        def __init__(self, by):
            self.by = lg.tensor(by)

        @lg.compile
        def __call__(self, x):
            return x * self.by

    one, two = Scale(2.0), Scale(3.0)
    for _ in range(2):
        assert (one(lg.ones(1)).item(), two(lg.ones(1)).item()) == (2, 3)


def test_a_module():
    module = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.ReLU(), lg.nn.Linear(4, 2)).double()
    compiled = lg.compile(module)
    for seed in range(3):
        x = numbers(5, 3, seed=seed)
        same(compiled(x), module(x))
    assert compiled.cache_info().hits == 2


# -- signatures --------------------------------------------------------------------------------------
def test_new_kinds_of_arguments_make_new_programs():
    compiled = lg.compile(lambda x, k=1: x * k)
    for x, k in (
        (lg.ones(2), 1),
        (lg.ones(3), 1),
        (lg.ones(2, dtype=lg.float64), 1),
        (lg.ones(2), 2),
        (lg.ones(2), 2.0),
    ):
        for _ in range(2):
            y = compiled(x, k)
            assert (y.shape, y.dtype, y.sum().item()) == (x.shape, (x * k).dtype, (x * k).sum().item())
    assert compiled.cache_info() == (5, 5, 0, 5)


@pytest.mark.parametrize("dtype", [lg.float16, lg.bfloat16, lg.float64, lg.complex128, lg.int32])
def test_every_dtype(dtype):
    weight = lg.asarray(np.random.default_rng(3).normal(size=(4, 3)) * 3).to(dtype)

    def function(x):
        y = x @ weight
        y += 1
        return y * 2, (y * y).sum(), y.to(lg.float32) if dtype not in (lg.complex128,) else y.real

    compiled = lg.compile(function)
    for seed in range(3):
        x = (numbers(2, 4, seed=seed) * 3).to(dtype)
        for a, b in zip(compiled(x), function(x), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-6 if dtype == lg.float16 else 1e-12)
    assert compiled.cache_info().hits == 2


@pytest.mark.parametrize("inside", [True, False])
def test_autocast(inside):
    layer = lg.nn.Linear(4, 4)

    def function(x):
        with lg.autocast("cpu", dtype=lg.bfloat16, enabled=inside):
            return layer(x)

    compiled = quiet(function if inside else layer)
    for seed in range(3):
        x = numbers(2, 4, seed=seed).to(lg.float32)
        with lg.autocast("cpu", dtype=lg.bfloat16, enabled=not inside), lg.no_grad():
            found, expected = compiled(x), (function if inside else layer)(x)
        assert found.dtype == expected.dtype == lg.bfloat16
        assert found.tolist() == expected.tolist()


def test_zeros_of_both_signs_are_two_numbers():
    compiled = lg.compile(lambda x, k: x / k)
    with np.errstate(divide="ignore"):
        assert compiled(lg.ones(1), 0.0).item() == np.inf
        assert compiled(lg.ones(1), -0.0).item() == -np.inf
        assert compiled(lg.ones(1), 0.0).item() == np.inf


def test_modes_belong_to_the_signature():
    compiled = lg.compile(lambda x: x * 2)
    x = lg.ones(2, requires_grad=True)
    for _ in range(2):
        assert compiled(x).requires_grad
        with lg.no_grad():
            assert not compiled(x).requires_grad
        with lg.inference_mode():
            assert compiled(x).is_inference()
    assert compiled.cache_info().programs == 3


def test_training_and_evaluating_are_two_programs():
    module = lg.nn.Sequential(lg.nn.BatchNorm1d(3), lg.nn.Dropout(0.5))
    other = lg.nn.Sequential(lg.nn.BatchNorm1d(3), lg.nn.Dropout(0.5))
    compiled = lg.compile(module)
    for training in (True, False, True, False):
        for m in (module, other):
            m.train(training)
        for seed in range(2):
            x = numbers(4, 3, seed=seed).to(lg.float32)
            lg.manual_seed(seed)
            expected = other(x)
            lg.manual_seed(seed)
            same(compiled(x), expected)
    for a, b in zip(module.buffers(), other.buffers(), strict=True):
        same(a, b)


def test_many_programs_are_told_of():
    compiled = lg.compile(lambda x, k: x * k)
    for k in range(8):
        compiled(lg.ones(1), k)
    with pytest.warns(UserWarning, match="9 programs"):
        compiled(lg.ones(1), 8)


# -- what is outside ---------------------------------------------------------------------------------
def test_values_that_it_reaches_are_looked_at():
    settings, table = {"factor": 2.0}, [lg.ones(2)]

    def function(x):
        return x * settings["factor"] + table[0]

    compiled = lg.compile(function)
    x = lg.ones(2)
    for change in (
        lambda: None,
        lambda: settings.update(factor=3.0),
        lambda: table.__setitem__(0, lg.zeros(2)),
        lambda: table[0].fill_(7),
        lambda: settings.update(factor=-0.0),
    ):
        change()
        same(compiled(x), function(x))
        same(compiled(x), function(x))


def test_arrays_of_numpy_are_read_in_every_run():
    data = np.ones(3)
    compiled = lg.compile(lambda x: x + lg.asarray(data))
    x = lg.zeros(3, dtype=lg.float64)
    assert compiled(x).tolist() == compiled(x).tolist() == [1, 1, 1]
    data[0] = 5
    assert compiled(x).tolist() == [5, 1, 1]
    assert compiled.cache_info().hits == 2


_HIDDEN = {}


class _Hidden:
    """Something that gives a tensor in a way that nobody finds out about."""

    def __init__(self, value):
        _HIDDEN[id(self)] = value

    def get(self):
        return eval(f"_HIDDEN[{id(self)}]")


def test_tensors_that_it_reaches_unseen_are_not_built_in():
    hidden = _Hidden(lg.ones(2))
    compiled = quiet(lambda x: x + hidden.get() * 2)
    x = lg.ones(2)
    assert compiled(x).tolist() == [3, 3]
    hidden.get().fill_(5)
    assert compiled(x).tolist() == [11, 11]


def test_memory_that_it_reaches_unseen_is_written_all_the_same():
    total, weight = lg.zeros(2), lg.ones(2, requires_grad=True)
    weight.grad = lg.ones(2)
    hidden, other = _Hidden(total), _Hidden(weight)

    def function(x):
        hidden.get().add_(x)
        hidden.get()[0] = x[1] * 0
        (other.get() * x).sum().backward()
        return x * 2

    compiled = quiet(function)
    for k in range(1, 3):
        assert compiled(lg.full((2,), 3.0)).tolist() == [6, 6]
        assert total.tolist() == [0, 3 * k] and weight.grad.tolist() == [1 + 3 * k] * 2


_SOURCE, _RNG = iter(range(1, 9)), np.random.default_rng(0)


def test_modules_and_optimisers_may_be_arguments():
    def step(model, optimizer, x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    compiled = lg.compile(step)
    pairs = []
    for run in (step, compiled):
        lg.manual_seed(0)
        model = lg.nn.Linear(3, 2)
        optimizer = lg.optim.Adam(model.parameters(), lr=0.1)
        pairs.append([run(model, optimizer, lg.ones(2, 3)).item() for _ in range(5)])
    np.testing.assert_allclose(*pairs, rtol=1e-6)
    assert compiled.cache_info().hits >= 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * next(_SOURCE),
        lambda x: x + lg.asarray(_RNG.normal(size=3)),
        lambda x: x + lg.rand(3, generator=lg.Generator().manual_seed(int(x.shape[0]))),
        lambda x: [x * 2, object()],
    ],
)
def test_what_is_another_in_every_call_is_not_built_in(function):
    compiled = lg.compile(function)
    with pytest.warns(UserWarning, match="runs as it is"):
        compiled(lg.ones(3))
    compiled(lg.ones(3))
    assert compiled.cache_info() == (0, 1, 1, 0)


def test_parameters_that_are_replaced():
    module = lg.nn.Linear(2, 1, bias=False)
    compiled = lg.compile(module)
    x = lg.ones(1, 2)
    for value in (1.0, 2.0):
        module.weight = lg.nn.Parameter(lg.full((1, 2), value))
        assert compiled(x).item() == compiled(x).item() == 2 * value
    with lg.no_grad():
        module.weight.fill_(4)
    assert compiled(x).item() == 8
    module.weight.data = lg.full((1, 2), 5.0)
    assert compiled(x).item() == 10


def test_writes_into_python_are_not_forgotten():
    seen, count = [], {"calls": 0}

    def function(x):
        count["calls"] += 1
        seen.append(x.shape)
        return x * 2

    compiled = lg.compile(function)
    with pytest.warns(UserWarning, match="it changed values"):
        compiled(lg.ones(2))
    for _ in range(3):
        compiled(lg.ones(2))
    assert count["calls"] == len(seen) == 4


def test_tensors_that_are_kept_outside_are_renewed():
    class Keeper:
        last = None

        def __call__(self, x):
            self.last = x * 2
            return self.last + 1

    keeper = Keeper()
    compiled = quiet(keeper)
    for k in range(4):
        compiled(lg.full((2,), float(k)))
        assert keeper.last.tolist() == [2 * k, 2 * k]
        (keeper.last + 1).sum().item()


# -- values that are read ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: bool(x[0] > 0),
        lambda x: int(x[0]),
        lambda x: x.detach().numpy()[0],
        lambda x: x.tolist(),
        lambda x: repr(x),
        lambda x: x[x > 0],
        lambda x: lg.nonzero(x)[0],
    ],
)
def test_reading_a_value_runs_it_as_it_is(read):
    def function(x):
        return x * 2 if read(x) is not None else x

    compiled = lg.compile(function)
    with pytest.warns(UserWarning, match=r"runs as it is, since .*test_calls.py, line \d+"):
        compiled(lg.ones(3))
    for sign in (-1, 1):
        same(compiled(sign * lg.ones(3)), function(sign * lg.ones(3)))
    assert compiled.cache_info() == (0, 1, 2, 0)
    with pytest.raises(RuntimeError, match=r"fullgraph=True, but .*lg\.where"):
        lg.compile(function, fullgraph=True)(lg.ones(3))
    same(function(lg.ones(3)), 2 * lg.ones(3))  # nothing is left of the trace


def test_an_error_leaves_nothing_behind():
    weight = lg.ones(2, requires_grad=True)

    def function(x):
        y = weight * x
        if x.shape[0] == 3:
            raise KeyError("three")
        return y

    compiled = lg.compile(function)
    with pytest.raises((KeyError, ValueError)):
        compiled(lg.ones(3))
    assert type(weight.array) is np.ndarray
    same(compiled(lg.ones(2)), lg.ones(2))
    same(compiled(2 * lg.ones(2)), 2 * lg.ones(2))


# -- memory ------------------------------------------------------------------------------------------
def test_results_own_their_memory():
    compiled = lg.compile(lambda x: (x + 1, x * 2))
    x = lg.ones(3)
    compiled(x)
    one = compiled(x)
    two = compiled(x)
    one[0].fill_(9)
    assert two[0].tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
    assert compiled(x)[0].tolist() == [2, 2, 2]


@pytest.mark.parametrize("how", ["c", "flat", "interpret"])
def test_copies_of_arguments_are_copies(how):
    weight = lg.ones(3, requires_grad=True)

    def function(x):
        weight.grad = None
        (weight * x).sum().backward()  # whose gradient has the values of x
        return x.clone(), x * 1, x.reshape(1, 3).clone()[0], lg.zeros(3), lg.zeros(3), weight.detach().clone()

    compiled = lg.compile(function, options={"backend": how})
    x = lg.ones(3)
    for _ in range(3):
        found = compiled(x)
    for k, y in enumerate((*found, weight.grad)):
        y.fill_(9 + k)
    assert [y.tolist()[0] for y in (*found, weight.grad)] == [9, 10, 11, 12, 13, 14, 15]
    assert x.tolist() == weight.tolist() == [1, 1, 1]
    assert [y.tolist()[0] for y in compiled(x)] == [1, 1, 1, 0, 0, 1]


def test_views_of_arguments_are_views():
    compiled = lg.compile(lambda x: (x[1:], x, x.T if x.ndim > 1 else x))
    for _ in range(3):
        x = lg.ones(3)
        part, whole, _ = compiled(x)
        assert whole is x
        x.fill_(5)
        assert part.tolist() == [5, 5]


def test_results_that_share_memory():
    def function(x):
        y = x * 2
        return y, y[1:], y.reshape(1, 3)

    compiled = lg.compile(function)
    for _ in range(3):
        y, part, wide = compiled(lg.ones(3))
        y.fill_(7)
        assert part.tolist() == [7, 7] and wide.tolist() == [[7, 7, 7]]


def test_arguments_are_written():
    def function(x, y):
        x.mul_(2)
        part = x[1:]
        part += y
        y[0] = x[2]
        return x.sum() + part

    compiled = lg.compile(function)
    for seed in range(3):
        x, y = numbers(3, seed=seed), numbers(2, seed=seed + 9)
        a, b = x.clone(), y.clone()
        same(compiled(x, y), function(a, b))
        same(x, a)
        same(y, b)
        assert x._version > 0
    assert compiled.cache_info().hits == 2


@pytest.mark.parametrize(
    "given", [lambda x: (x, x), lambda x: (x, x[:]), lambda x: (x, x.flip(0).flip(0)), lambda x: (x[::2], x[1::2])]
)
def test_arguments_that_share_memory(given):
    def function(x, y):
        x.add_(y)
        return x * y

    compiled = quiet(function)
    for seed in range(3):
        x, a = numbers(4, seed=seed), numbers(4, seed=seed)
        same(compiled(*given(x)), function(*given(a)))
        same(x, a)
        x, y, a, b = (numbers(2, seed=seed + k % 2) for k in range(4))
        same(compiled(x, y), function(a, b))
        same(x, a)


def test_arrays_of_any_layout_and_read_only_ones():
    compiled = lg.compile(lambda x: (x * 2 + 1).sum(axis=0))
    base = np.random.default_rng(0).normal(size=(6, 8))
    base.flags.writeable = False
    for array in (
        base[:3, :4],
        base[::2, ::2],
        base[::-2, 3::-1],
        base.T[:3, :4],
        np.broadcast_to(base[0, :4], (3, 4)),
    ):
        x = lg.from_numpy(array)
        np.testing.assert_allclose(compiled(x).numpy(), (array * 2 + 1).sum(0), rtol=1e-15)
    assert compiled.cache_info().misses == 1


def test_memory_stays_flat():
    import tracemalloc

    compiled = lg.compile(func.grad(lambda x: (lg.tanh(x) ** 2).sum()))
    x = numbers(50)
    for _ in range(200):
        compiled(x)
    tracemalloc.start()
    sizes = []
    for _ in range(5):
        for _ in range(2_000):
            compiled(x)
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert min(np.diff(sizes)) < 1_000, sizes


def test_threads_call_one_function_at_once():
    compiled = lg.compile(lambda x: (x * 2 + 1).sum())
    compiled(lg.ones(100))
    found = {}

    def work(k):
        x = lg.full((100,), float(k))
        found[k] = {compiled(x).item() for _ in range(200)}

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {k: {100 * (2.0 * k + 1)} for k in range(4)}


# -- random numbers ----------------------------------------------------------------------------------
def test_the_random_stream_is_the_same():
    def function(x):
        return x + lg.rand(3) * lg.bernoulli(lg.full((3,), 0.5)) + lg.randn(3)

    compiled = lg.compile(function)
    lg.manual_seed(3)
    found = [compiled(lg.zeros(3)) for _ in range(4)]
    lg.manual_seed(3)
    for y in found:
        same(y, function(lg.zeros(3)))


# -- gradients ---------------------------------------------------------------------------------------
def test_gradients_of_compiled_functions():
    def function(x, w):
        return lg.tanh(x @ w) * x.sum(), (w**2).sum()

    compiled = lg.compile(function)
    x, w = numbers(3, 4).requires_grad_(), numbers(4, 2, seed=1).requires_grad_()
    compiled(x, w)
    assert lg.autograd.gradcheck(compiled, (x, w))
    assert lg.autograd.gradgradcheck(compiled, (x, w))
    assert compiled.cache_info().misses == 1


def test_gradients_inside_transforms_and_batches():
    function = lambda x: (lg.sin(x) * x).sum()
    compiled = lg.compile(function)
    x = numbers(5, 3)
    compiled(x[0])
    for transform in (func.grad, func.jacfwd, func.hessian):
        same(transform(compiled)(x[0]), transform(function)(x[0]))
        same(func.vmap(transform(compiled))(x), func.vmap(transform(function))(x))
    y = compiled(x.requires_grad_())
    seeds = lg.ones(4)
    seeds = seeds.to(lg.float64)
    (found,) = lg.autograd.grad(compiled(x), x, seeds, is_grads_batched=True)
    (expected,) = lg.autograd.grad(function(x), x, seeds, is_grads_batched=True)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-14)
    y.backward()


class _Own(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.detach() * 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.detach() * x,
        lambda x: x * lg.tensor(x.detach().numpy() * 2),
        lambda x: _Own.apply(x) * x,
        lambda x: func.grad(lambda z: (lg.sin(z) * z).sum())(x) * x,
        lambda x: lg.nn.functional.layer_norm(x * x, (3,)) * x.detach(),
    ],
)
def test_what_is_detached_stays_so_in_every_order(function):
    compiled = quiet(function)
    for seed in range(3):
        x = numbers(3, seed=seed).requires_grad_()
        found = []
        for f in (function, compiled):
            (g,) = lg.autograd.grad(f(x).sum(), x, create_graph=True)
            h = lg.autograd.grad((g * g).sum(), x)[0] if g.requires_grad else lg.zeros_like(g)
            found.append((g, h))
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_derivatives_of_gradients_of_chance_are_refused():
    compiled = lg.compile(lambda x: (x * lg.rand(2)) ** 2)
    x = lg.ones(2, requires_grad=True)
    compiled(x)
    (g,) = lg.autograd.grad(compiled(x).sum(), x)
    assert g.shape == (2,)
    with pytest.raises(RuntimeError, match="compile the function that asks for derivatives"):
        lg.autograd.grad(compiled(x).sum(), x, create_graph=True)


def test_what_backward_needs_may_not_be_written():
    compiled = lg.compile(lambda x, w: (x * w).sum())
    for _ in range(2):
        x, w = lg.ones(2), lg.ones(2, requires_grad=True)
        y = compiled(x, w)
        x.add_(1)
        with pytest.raises(RuntimeError, match="in-place|in place"):
            y.backward()


def test_a_history_from_outside_goes_on():
    compiled = lg.compile(lambda x: x * x)
    for _ in range(3):
        a = numbers(3).requires_grad_()
        (compiled(a * 2) * 3).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), 24 * a.detach().numpy())


def test_gradients_of_arguments_go_to_the_arguments():
    @lg.compile
    def function(x):
        (x * x).sum().backward()
        return x.grad * 1

    for k in range(1, 6):
        x = lg.full((2,), float(k), requires_grad=True)
        if k % 2:
            x.grad = lg.ones(2)
        assert function(x).tolist() == x.grad.tolist() == [2 * k + k % 2] * 2
    assert function.cache_info() == (3, 2, 0, 2)


def test_hooks_hear_of_every_gradient():
    heard = []
    weight = lg.ones(2, requires_grad=True)
    weight.register_hook(lambda g: heard.append(g.tolist()))
    compiled = quiet(lambda x: (weight * x).sum())
    for k in range(1, 4):
        compiled(lg.full((2,), float(k))).backward()
    assert heard == [[k, k] for k in (1, 2, 3)]


def test_what_waits_for_written_gradients_is_called_after_programs():
    """Only hooks that the program would have to call are in its way."""
    heard = []
    weight = lg.ones(2, requires_grad=True)
    weight.register_post_accumulate_grad_hook(lambda w: heard.append(w.grad.tolist()))
    compiled = lg.compile(lambda x: (weight * x).sum())
    for k in range(1, 5):
        weight.grad = None
        compiled(lg.full((2,), float(k))).backward()
    assert heard == [[k, k] for k in (1, 2, 3, 4)]
    assert compiled.cache_info().hits == 3 and compiled.cache_info().eager == 0


# -- wrong calls -------------------------------------------------------------------------------------
def _yielding(x):
    yield x


async def _awaited(x):
    return x


@pytest.mark.parametrize("given", [3, "f", None.__class__, lg.nn.Linear, _yielding, _awaited])
def test_what_is_no_function_is_refused(given):
    with pytest.raises(TypeError, match="expected a function"):
        lg.compile(given)


def test_arguments_without_a_hash():
    compiled = quiet(lambda x, how: x * len(how))
    assert compiled(lg.ones(1), {1, 2}).item() == 2
    assert compiled(lg.ones(1), {1, 2, 3}).item() == 3
    assert quiet(lambda x: lg.asarray(x) * 2)(np.ones(2)).tolist() == [2, 2]


def test_a_program_can_be_read():
    compiled = lg.compile(lambda x: lg.tanh(x) * 2)
    text = repr(compiled.program(lg.ones(2, 3)))
    assert "tanh(v0)" in text and "float32[2, 3]" in text


def test_a_compiled_module_is_a_module(tmp_path):
    module = lg.nn.Sequential(lg.nn.Linear(3, 2), lg.nn.Dropout(0.5))
    compiled = lg.compile(module)
    assert isinstance(compiled, lg.nn.Module) and lg.compile(compiled) is compiled
    assert list(compiled.state_dict()) == [f"_orig_mod.{name}" for name in module.state_dict()]
    assert all(a is b for a, b in zip(compiled.parameters(), module.parameters(), strict=True))
    compiled.eval()
    assert not module.training and not module[1].training
    whole = lg.nn.Sequential(compiled, lg.nn.ReLU())
    assert whole(lg.ones(1, 3)).shape == (1, 2)


def test_copies_make_programs_of_their_own():
    module = lg.nn.Linear(3, 2)
    module.compile()
    module(lg.ones(1, 3))
    other = copy.deepcopy(module)
    with lg.no_grad():
        other.weight.fill_(0)
        other.bias.fill_(4)
    for _ in range(2):
        assert other(lg.ones(1, 3)).tolist() == [[4, 4]]
    assert module.forward.cache_info().misses == 1
    assert pickle.loads(pickle.dumps(lg.compile(_doubled)))(lg.ones(1)).item() == 2


def _doubled(x):
    return x * 2


def test_histories_that_are_wrong_are_not_dropped():
    class Wrong(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("no gradient today")

    compiled = quiet(Wrong.apply)
    for _ in range(2):
        y = compiled(lg.ones(2, requires_grad=True))
        assert y.requires_grad
        with pytest.raises(RuntimeError, match="no gradient today"):
            y.sum().backward()


def test_modules_are_compiled_in_place():
    module = lg.nn.Linear(3, 2)
    expected = module(lg.ones(1, 3))
    module.compile()
    for _ in range(3):
        same(module(lg.ones(1, 3)), expected)
    assert module.forward.cache_info().hits == 2
    outer = lg.compile(lambda x: module(x) * 2)
    for _ in range(3):
        same(outer(lg.ones(1, 3)), expected * 2)
    assert outer.cache_info().hits == 2


def test_an_argument_that_is_reached_otherwise_too():
    known = numbers(3)
    compiled = lg.compile(lambda x: x * known)
    for x in (known, numbers(3, seed=1), known, numbers(3, seed=2)):
        same(compiled(x), x * known)
