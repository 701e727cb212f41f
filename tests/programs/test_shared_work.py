"""Threads of products: a program divides them itself, and NumPy's BLAS has its own again afterwards."""

import multiprocessing
import threading

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import blas
from lucidgrad.backends.cpu.programs import compiled
from lucidgrad.backends.cpu.programs.calling import is_possible
from lucidgrad.levels.traced import program_of as traced
from lucidgrad.ops import recurrence

pytestmark = [
    pytest.mark.skipif(not is_possible(), reason="there is no C compiler"),
    pytest.mark.skipif(blas._threads() is None, reason="NumPy's BLAS is not OpenBLAS"),
]


@pytest.fixture
def three_threads():
    before, own = lg.get_num_threads(), blas_threads()
    lg.set_num_threads(3)
    yield
    lg.set_num_threads(before)
    blas.set_num_threads(own)


def blas_threads():
    return blas._threads()[0]()


def draw(*shape, dtype="float32"):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def test_the_number_of_threads_is_that_of_products_too(three_threads):
    assert blas_threads() == 3
    lg.set_num_threads(1)
    assert blas_threads() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("one", "two", "turned"),
    [
        ((300, 170), (170, 90), (False, False)),  # rows are divided
        ((70, 200), (200, 513), (False, False)),  # columns, the last portion smaller
        ((170, 301), (170, 129), (True, False)),
        ((130, 170), (419, 170), (False, True)),
        ((170, 129), (340, 170), (True, True)),
        ((5, 120, 90), (5, 90, 110), (False, False)),  # matrices are shared
        ((2, 300, 200), (2, 200, 150), (False, False)),  # fewer than threads: each divided
        ((2, 1, 3, 100, 80), (4, 1, 80, 90), (False, False)),
    ],
)
def test_divided_products_are_products(three_threads, one, two, turned, dtype):
    a, b = draw(*one, dtype=dtype), draw(*two, dtype=dtype)
    turn = lambda x, t: lg.swapaxes(x, -1, -2) if t else x
    program = traced(lambda a, b: turn(a, turned[0]) @ turn(b, turned[1]) + 1, a, b)
    run = compiled(program, {}, "c")
    (found,), ((wanted,)) = run([a, b]), program.run([a, b])
    size = np.abs(a.astype("float64")).max() * np.abs(b.astype("float64")).max() * a.shape[-2 if turned[0] else -1]
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= 4 * np.finfo(dtype).eps * size
    assert blas_threads() == 3


def test_results_are_the_same_whether_threads_help_or_not(three_threads):
    """Another program has all helpers half of the time."""
    a, b = draw(400, 300), draw(300, 350)
    run = compiled(traced(lambda a, b: a @ b - 1, a, b), {}, "c")
    (wanted,), wrong = run([a, b]), []

    def work():
        for _ in range(20):
            if not np.array_equal(run([a, b])[0], wanted):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert blas_threads() == 3


def test_a_number_that_is_set_while_a_program_runs_stays(three_threads):
    a = draw(900, 900)
    run = compiled(traced(lambda a: a @ a + 1, a), {}, "c")
    run([a])
    library = blas._products()
    library.lg_alone(1)  # as a program does that another thread runs
    assert blas_threads() == 1
    blas.set_num_threads(2)
    run([a])
    assert blas_threads() == 1
    library.lg_alone(0)
    assert blas_threads() == 2


def test_an_error_in_a_program_gives_threads_back(three_threads):
    x, i = draw(300, 300), np.full(300, 500)
    run = compiled(traced(lambda x, i: lg.take(x @ x, i, axis=0) + 1, x, i * 0), {}, "c")
    with pytest.raises(IndexError):
        run([x, i])
    assert blas_threads() == 3


def _threads_of_a_child(at, answer):
    blas._products().lg_alone(1)
    blas._products().lg_alone(0)
    answer.put((blas_threads(), at))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_is_in_no_program(three_threads):
    a = draw(300, 300)
    run = compiled(traced(lambda a: a @ a + 1, a), {}, "c")
    run([a])
    library = blas._products()
    library.lg_alone(1)
    try:
        context = multiprocessing.get_context("fork")
        answer = context.SimpleQueue()
        child = context.Process(target=_threads_of_a_child, args=(7, answer))
        child.start()
        found = answer.get()
        child.join()
    finally:
        library.lg_alone(0)
    assert found == (3, 7)


@pytest.mark.parametrize("kind", ["rnn_tanh", "lstm", "gru"])
def test_rows_of_a_recurrent_layer_do_not_depend_on_who_does_them(kind, three_threads):
    gates = {"rnn_tanh": 1, "lstm": 4, "gru": 3}[kind]
    steps, batch, n = 20, 29, 40
    x, h, w = draw(steps, batch, gates * n), draw(batch, n), draw(gates * n, n) * n**-0.5
    states = [h, draw(batch, n, dtype="float32")] if kind == "lstm" else [h]
    f = getattr(recurrence, f"{kind.partition('_')[0]}_sequence")

    def layer(x, w, *states):
        given = [t.detach().requires_grad_() for t in (x, *states, w)]
        y = f(*given)
        y = y[0] if isinstance(y, tuple) else y
        return [y.detach(), *lg.autograd.grad((y * y).sum(), given)]

    given = [x, w, *states]
    run = compiled(traced(layer, *given), {}, "c")
    found = run(given)
    lg.set_num_threads(1)
    alone = run(given)
    assert all(np.array_equal(a, b) for a, b in zip(found, alone, strict=True))


@pytest.mark.parametrize("before", [1, 5])
def test_the_number_of_threads_may_change_after_compiling(before, three_threads):
    """Heads of attention, rows of a layer and matrices of a stack have memory for the portions of then."""
    q, x, w = draw(3, 7, 40, 16), draw(12, 30, 20), draw(20, 20) * 0.2

    def all_of(q, x, w):
        given = [t.detach().requires_grad_() for t in (q, x, w)]
        y = lg.nn.functional.scaled_dot_product_attention(given[0], given[0] * 0.5, lg.tanh(given[0]), is_causal=True)
        rows = recurrence.rnn_sequence(given[1], lg.zeros(30, 20), given[2])
        found = lg.autograd.grad((y**2).sum() + (rows**2).sum(), given)
        return [y.detach(), rows.detach(), y.detach() @ lg.swapaxes(q, -1, -2), *found]

    program = traced(all_of, q, x, w)
    wanted = program.run([q, x, w])
    lg.set_num_threads(before)
    run = compiled(program, {}, "c")
    for count in (before, 1, 2, 8):
        lg.set_num_threads(count)
        for mine, expected in zip(run([q, x, w]), wanted, strict=True):
            assert np.abs(mine - expected).max() <= 1e-5 * np.abs(expected).max()
