"""Programs on CUDA as launches: which equations share one, and that nothing but the launches changes."""

import numpy as np
import pytest
from random_functions import N, program
from thoroughness import cases

import lucidgrad as lg
from lucidgrad import cudasim
from lucidgrad.compiling.compiled import entries_of

pytestmark = pytest.mark.cuda


def numbers(*shape, dtype="float32", seed=0):
    values = np.random.default_rng(seed).normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * values[::-1]
    values = values * 5 if np.dtype(dtype).kind in "iu" else values > 0 if dtype == "bool" else values
    return lg.asarray(np.asarray(values).astype(dtype), device="cuda")


def same_bits(found, expected, ulps=0):
    a, b = found.cpu().numpy(), expected.cpu().numpy()
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    if ulps:  # of the largest: sums are added up in another order
        np.testing.assert_allclose(a, b, rtol=0, atol=ulps * np.spacing(np.abs(b).max()))
        return
    assert a.tobytes() == b.tobytes() or np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"), (a, b)


def compiled_like(function, *args, most=None, ulps=0):
    """Compiled results are those of the function, bit by bit or so; the launches of a run, by kernel."""
    run = lg.compile(function, options={"backend": "launches"})
    for _ in range(2):
        run(*args)  # traced, and kernels compiled
    with cudasim.counting() as counts:
        found = run(*args)
    assert run.cache_info().hits == 2
    assert not counts.synchronisations
    expected = function(*args)
    several = isinstance(expected, tuple)
    for a, b in zip(found, expected, strict=True) if several else [(found, expected)]:
        same_bits(a, b, ulps)
    assert most is None or sum(counts.launches.values()) <= most, counts.launches
    return counts.launches


def chain(x, y):
    z = lg.exp(-lg.abs(x)) * y + 2
    return lg.where(z > 1, lg.tanh(z) / (1 + y * y), lg.sqrt(lg.abs(z) + 1)) - x


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_chain_is_one_launch(dtype):
    compiled_like(chain, numbers(6, 5, dtype=dtype), numbers(6, 5, dtype=dtype, seed=1), most=1)


def test_integers_truth_values_and_complex_numbers():
    def function(i, b, z):
        whole = (i * 3 - 7) // 2 % 5
        return whole, (whole > 1) & ~b, z * 2 - z.conj(), lg.where(b, i, -i)

    compiled_like(function, numbers(9, dtype="int32"), numbers(9, dtype="bool"), numbers(9, dtype="complex64"), most=1)


def test_functions_of_complex_numbers():
    def function(z):
        return z * z.conj() / (1 + z) - lg.exp(z)

    run, z = lg.compile(function), numbers(9, dtype="complex128")
    for _ in range(3):
        np.testing.assert_allclose(run(z).cpu().numpy(), function(z).cpu().numpy(), rtol=1e-14)


def test_what_is_broadcast_and_what_is_a_view():
    def function(x, row, column, one):
        y = (x.T * row + column) * one
        return y[:, ::2] - row[::2], lg.flip(y) * 2 + column

    x, row, column = numbers(4, 6), numbers(4, seed=1), numbers(6, 1, seed=2)
    compiled_like(function, x, row, column, numbers(seed=3), most=2)
    compiled_like(function, numbers(6, 8).T[::2], row, numbers(6, 2)[:, :1], numbers(seed=3), most=2)


def test_layouts_that_keep_changing(monkeypatch):
    """A kernel has the steps of its arrays built in; from a number of kernels on, arrays are copied."""
    from lucidgrad.backends.cuda.programs import launching

    monkeypatch.setattr(launching, "MOST_LAYOUTS", 2)
    run = lg.compile(lambda x: lg.exp(x) * 3, options={"backend": "launches"})
    for k in range(1, 7):
        x = numbers(3 * k, seed=k)[::k]
        same_bits(run(x), lg.exp(x) * 3)
    (entry,) = entries_of(run)
    assert len(entry.run.units[0]._calls) <= 3


def test_sizes_of_all_kinds():
    def function(x):
        return lg.exp(x) * 2 + 1

    for shape in ((), (1,), (0, 3), (1, 1, 5), (3, 1, 2, 1, 4)):
        compiled_like(function, numbers(*shape))


def test_sections_that_do_not_depend_on_each_other_share_a_launch():
    def function(x, y, z):
        return lg.tanh(x) * 2, lg.exp(y) + 1, z * z, lg.tanh(y) * 2

    kernels = compiled_like(function, numbers(3, 4), numbers(5), numbers(2, 2, 2), most=1)
    assert len(kernels) == 1


def test_long_programs_are_cut_to_pieces():
    def function(x):
        for k in range(150):
            x = lg.sin(x) * (1 + k / 100) + x / (2 + x * x)
        return x

    assert len(compiled_like(function, numbers(7), most=5)) > 1


def test_many_arrays():
    """The addresses of a kernel's arrays have to fit among its arguments."""

    def function(*xs):
        total = xs[0]
        for x in xs[1:]:
            total = total + x
        return total, *[x * 2 for x in xs]

    compiled_like(function, *[numbers(2, seed=k) for k in range(230)], most=6)


def test_products_and_bias():
    """The bias of a linear map joins what follows it."""
    model = lg.nn.Sequential(lg.nn.Linear(4, 6), lg.nn.Tanh(), lg.nn.Linear(6, 2)).to("cuda")

    def function(x):
        with lg.no_grad():
            return lg.tanh(model(x)) * 2

    assert len(compiled_like(function, numbers(3, 4), most=4)) == 3  # two products, two launches


def test_numbers_are_no_part_of_a_kernel():
    x = numbers(5)
    parameter = lg.nn.Parameter(numbers(5, seed=1))
    optimizer = lg.optim.SGD([parameter], lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        (parameter * x).sum().backward()
        optimizer.step()

    run = lg.compile(step, options={"backend": "launches"})
    for _ in range(4):
        run(x)
    before = parameter.detach().clone()
    optimizer.param_groups[0]["lr"] = 0.003
    velocity = optimizer.state[parameter]["momentum_buffer"].clone()
    with cudasim.counting() as counts:
        run(x)
    assert counts.compilations == 0
    same_bits(parameter.detach(), before - 0.003 * (velocity * 0.9 + x))
    assert run.cache_info().programs <= 2


# -- writes ----------------------------------------------------------------------------------------
def test_writes_into_arguments():
    def function(x, y):
        old = x * 1
        x += y
        y.mul_(x)
        return old, x.T * 1

    for how in ("launches", "graph"):
        run = lg.compile(function, options={"backend": how})
        x, y = numbers(3, 3), numbers(3, 3, seed=1)
        a, b = x.clone(), y.clone()
        for _ in range(5):
            for found, expected in zip(run(x, y), function(a, b), strict=True):
                same_bits(found, expected)
            same_bits(x, a)
            same_bits(y, b)
        assert run.cache_info().hits == 4


def test_what_is_written_is_read_before():
    """A result that looks at memory which is written, in another order, has the old values."""

    def function(x, y):
        turned = x.T + 0
        last, other = x[::-1, 0] * 2, lg.flip(x)
        x[...] = y.T
        y[...] = turned
        return last, other

    for how in ("launches", "graph"):
        run = lg.compile(function, options={"backend": how})
        x, y = numbers(4, 4), numbers(4, 4, seed=1)
        a, b = x.clone(), y.clone()
        for _ in range(4):
            for found, expected in zip(run(x, y), function(a, b), strict=True):
                same_bits(found, expected)
            same_bits(x, a)
            same_bits(y, b)


def test_a_failure_leaves_nothing_half_done(monkeypatch):
    from lucidgrad.backends.cuda.programs import running

    x = numbers(4)

    def function(x):
        x += 1
        lg.cumsum(x, 0).mul_(2)
        x.mul_(lg.cumsum(x, 0))
        return x.sum()

    run = lg.compile(function, options={"backend": "launches"})
    run(x)
    before, usual = x.clone(), running.enter

    def failing(equation, known):
        if equation.primitive.name == "sum":
            raise MemoryError("no more")
        usual(equation, known)

    monkeypatch.setattr(running, "enter", failing)
    with pytest.raises(MemoryError):
        run(x)
    same_bits(x, before)
    monkeypatch.undo()
    other = before.clone()
    same_bits(run(x), function(other))
    same_bits(x, other)


# -- random functions --------------------------------------------------------------------------------
def derivatives(function, x):
    x = x.detach().requires_grad_()
    y = function(x)
    found = [y]
    if y.requires_grad:
        w = lg.cos(lg.arange(y.size, dtype=y.dtype, device="cuda")).reshape(y.shape)
        found += lg.autograd.grad((y * w).sum(), x, materialize_grads=True)
    return [each.detach().cpu().numpy() for each in found]


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("seed", range(cases(12, 300)))
def test_random_functions(seed):
    rng = np.random.default_rng([11, seed])
    function, name = program(rng, 1)
    run = lg.compile(function, options={"backend": ("graph", "launches")[seed % 2]})
    for _ in range(4):
        x = lg.tensor(rng.normal(size=N), device="cuda")
        for a, b in zip(derivatives(run, x), derivatives(function, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)


# -- reductions --------------------------------------------------------------------------------------
def test_a_reduction_computes_what_it_reduces():
    def function(x, y):
        apart = lg.tanh(x) - y
        return (apart * apart).sum(), (x * y).mean(-1), lg.exp(x).sum(0, keepdims=True), (x + y[0]).mean((0, 1))

    for dtype in ("float32", "float64"):
        compiled_like(function, numbers(5, 6, dtype=dtype), numbers(5, 6, dtype=dtype, seed=1), most=4, ulps=4)
    compiled_like(function, numbers(6, 10).T[::2], numbers(5, 6, seed=1), most=4, ulps=4)


def test_what_others_ask_for_is_computed_once():
    def function(x):
        y = lg.tanh(x) * 2
        return y.sum(), lg.cumsum(y, 0), lg.exp(x).sum(0).sum(0)

    kernels = compiled_like(function, numbers(4, 3))
    assert sum(n for name, n in kernels.items() if "tanh" in name) == 1


def test_numbers_in_reductions():
    parameter = lg.nn.Parameter(numbers(5))
    optimizer = lg.optim.SGD([parameter], lr=0.5)
    x = numbers(5, seed=1)

    def step():
        optimizer.zero_grad()
        (parameter * x).sum().backward()
        optimizer.step()
        return (parameter.detach() * x).sum()

    run = lg.compile(step, options={"backend": "graph"})
    twin = parameter.detach().clone()
    for k in range(6):
        optimizer.param_groups[0]["lr"] = lr = 0.5 / (k + 1)
        twin -= lr * x
        np.testing.assert_allclose(run().item(), (twin * x).sum().item(), rtol=1e-5)


def test_long_reductions_compute_what_they_reduce_too():
    """Blocks share a row, and the last of them joins what all found."""
    kernels = compiled_like(lambda x: (x * x).sum(), numbers(1 << 15), ulps=4)
    assert kernels == {"lg_sum_multiply": 1}


@pytest.mark.parametrize("axis", [(0, 2), (0, 3), (1, 3), (0, 2, 3), 1, [2, 3]])
def test_reductions_along_any_axes(axis):
    compiled_like(lambda x, y: (x * y).mean(axis), numbers(4, 3, 5, 70), numbers(3, 1, 70, seed=1), most=1, ulps=4)


def test_no_block_is_idle(monkeypatch):
    """Sections of other sizes in one launch: as many blocks as there is work for."""
    from lucidgrad.backends.cuda.programs import launching

    grids, usual = [], launching._Call

    def watched(kernel, grid, *rest):
        grids.append(grid)
        return usual(kernel, grid, *rest)

    monkeypatch.setattr(launching, "_Call", watched)
    x, y = numbers(100_000), numbers(7)
    compiled_like(lambda x, y: (lg.tanh(x) * 2, lg.tanh(y) * 2), x, y, most=1)
    assert grids == [(1 + -(-100_000 // launching.ELEMENTS),)]
