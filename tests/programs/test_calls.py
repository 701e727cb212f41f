"""What a program's function may be given, what it gives back, and who owns it."""

import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from traces import apart

import lucidgrad as lg
from lucidgrad import func
from lucidgrad.backends.cpu.compiled import building
from lucidgrad.backends.cpu.programs import compiled, segments
from lucidgrad.core.primitive import registry
from lucidgrad.levels.program import Action, Equation, Program, Variable
from lucidgrad.levels.traced import program_of as traced

HOWS = ["flat", "c"]
if building.why_not() is not None:
    HOWS = ["flat"]


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def loss(w, b, x):
    return (lg.tanh(lg.nn.functional.linear(x, w, b)) ** 2).mean()


def step(w, b, x):
    g, value = func.grad_and_value(loss, argnums=(0, 1))(w, b, x)
    return w - 0.1 * g[0], b - 0.1 * g[1], value


def arguments():
    return [draw(4, 3), draw(4), draw(5, 3)]


@pytest.mark.parametrize("how", HOWS)
def test_outputs_are_written_into_inputs(how):
    arrays = arguments()
    program = traced(step, *arrays)
    want = program.run(arrays)
    run = compiled(program, {0: 0, 1: 1}, how)
    given = [a.copy() for a in arrays]
    got = run(given)
    assert got[0] is given[0]
    assert got[1] is given[1]
    for mine, expected in zip(got, want, strict=True):
        assert apart(mine, expected) <= 4


@pytest.mark.parametrize("how", HOWS)
def test_old_values_are_read_until_the_end(how):
    """Exchanged, turned and used again after they are made: none sees what is written."""
    arrays = [draw(6, 6, seed=1), draw(6, 6, seed=2)]

    def exchange(a, b):
        c = a + b
        return c.mT - a, b * 2, a, c, (a * b).sum(0)

    program = traced(exchange, *arrays)
    want = [np.array(y) for y in program.run(arrays)]
    run = compiled(program, {0: 0, 1: 1}, how)
    got = run([a.copy() for a in arrays])
    for mine, expected in zip(got, want, strict=True):
        assert apart(mine, expected) == 0
    for factor in (1, 2):
        swap = compiled(traced(lambda a, b, c=factor: (b.mT * c, a.mT * c), *arrays), {0: 0, 1: 1}, how)
        first, second = (a.copy() for a in arrays)
        swap([first, second])
        assert np.array_equal(first, arrays[1].T * factor)
        assert np.array_equal(second, arrays[0].T * factor)
    turn = compiled(traced(lambda a: (a.mT * 2 + 1, a.sum()), arrays[0]), {0: 0}, how)
    first = arrays[0].copy()
    turn([first])
    assert np.array_equal(first, arrays[0].T * 2 + 1)


@pytest.mark.parametrize("how", HOWS)
def test_what_is_written_into_an_input_may_be_an_output_as_well(how):
    x = draw(4, 3)

    def twice(x):
        y = x * 2 + 1
        return y, y, y.mT

    given = x.copy()
    got = compiled(traced(twice, x), {0: 0}, how)([given])
    assert got[0] is given
    for y in got:
        assert np.array_equal(y if y.shape == x.shape else y.T, x * 2 + 1)
        assert y is given or not np.shares_memory(y, given)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("parts", [(slice(0, 4), slice(2, 6)), (slice(2, 6), slice(0, 4)), (slice(0, 4), slice(0, 4))])
def test_a_written_input_may_share_memory_with_another(how, parts):
    whole = draw(8, 6)
    one, two = parts
    program = traced(lambda a, b: (a * 2 + b, b.sum(0) * 3, b - a), whole[one].copy(), whole[two].copy())
    want = [np.array(y) for y in program.run([whole[one], whole[two]])]
    run = compiled(program, {0: 0}, how)
    mine = whole.copy()
    got = run([mine[one], mine[two]])
    assert apart(got[0], want[0]) == 0
    assert np.array_equal(mine[one], got[0])
    assert apart(got[1], want[1]) == 0
    assert apart(got[2], want[2]) == 0


@pytest.mark.parametrize("how", HOWS)
def test_strides_of_any_kind_and_read_only_memory(how):
    arrays = arguments()
    program = traced(step, *arrays)
    want = program.run(arrays)
    run = compiled(program, {}, how)
    frozen = [a.copy() for a in arrays]
    for a in frozen:
        a.flags.writeable = False
    far = [np.repeat(a, 2, axis=-1)[..., ::2] for a in arrays]
    back = [np.ascontiguousarray(a[..., ::-1])[..., ::-1] for a in arrays]
    turned = [np.asfortranarray(a) for a in arrays]
    odd = [np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape) for a in arrays]
    for given in (frozen, far, back, turned, odd):
        for mine, expected in zip(run(given), want, strict=True):
            assert apart(mine, expected) <= 4
    target = np.zeros((8, 6), np.float32)[::2, ::2]
    target[...] = arrays[0]
    written = compiled(program, {0: 0}, how)([target, *arrays[1:]])
    assert written[0] is target
    assert apart(target, want[0]) <= 4


@pytest.mark.parametrize("how", HOWS)
def test_outputs_are_nobody_elses(how):
    x = draw(5, 3)
    constant = lg.asarray(draw(5, 3, seed=3))

    def views(x):
        y = x * 2
        return y, y, y.mT, y[1:], x, x.mT, x[0], lg.broadcast_to(x[:1], (4, 3)), constant + 0 * x

    program = traced(views, x)
    run = compiled(program, {}, how)
    first, second = run([x]), run([x])
    assert first[4] is x
    want = [np.array(y) for y in program.run([x])]
    own = [y for k, y in enumerate(first) if k != 4]
    others = [y for k, y in enumerate(second) if k != 4]
    for k, y in enumerate(own):
        assert y.flags.writeable
        for z in (*own[k + 1 :], *others, x):
            assert not np.shares_memory(y, z)
    for y in own:
        y[...] = 7
    for mine, expected in zip(run([x]), want, strict=True):
        assert apart(mine, expected) == 0


@pytest.mark.parametrize("how", HOWS)
def test_no_elements_and_no_axes(how):
    def odd(a, b, c):
        return a * 2, lg.concat([a, a], axis=0), b * c, (b + c).sum(), lg.tanh(b).reshape((1, 1)), a.sum(0), a.mT

    arrays = [np.zeros((0, 3), np.float32), np.asarray(2, np.float32), np.asarray(3, np.float32)]
    program = traced(odd, *arrays)
    for mine, expected in zip(compiled(program, {}, how)(arrays), program.run(arrays), strict=True):
        assert apart(mine, expected) <= 4


@pytest.mark.parametrize("how", HOWS)
def test_numbers_are_inputs(how):
    """As Python computes with them, and an array with what comes of that; an error is Python's."""
    x, y = Variable(0, (3,), np.dtype("float32"), "cpu"), Variable(1, (3,), np.dtype("float32"), "cpu")
    z, w = (Variable(k, (3,), np.dtype("float32"), "cpu") for k in (2, 3))
    lr, t, power, scale = (Variable(k, (), kind, None) for k, kind in ((4, float), (5, int), (6, float), (7, float)))
    equations = [
        Equation(registry["pow"], (0.9, t), {}, (power,)),
        Equation(registry["divide"], (lr, power), {}, (scale,)),
        Equation(registry["multiply"], (x, scale), {}, (y,)),
        Equation(registry["add"], (y, t), {}, (z,)),
        Equation(registry["subtract"], (x, z), {}, (w,)),
    ]
    run = compiled(Program([x, lr, t], equations, [w], {}), {0: 0}, how)
    a = draw(3)
    for rate, count in ((0.1, 1), (0.3, 12), (1e-9, 100)):
        mine = a.copy()
        run([mine, rate, count])
        assert np.array_equal(mine, a - (a * (rate / 0.9**count) + count))
    with pytest.raises(ZeroDivisionError):
        run([a.copy(), 0.1, 100_000])


@pytest.mark.parametrize("how", HOWS)
def test_actions_are_done_anew_and_in_order(how):
    drawn = []

    def make(k):
        return lambda: (drawn.append(k), np.full(3, len(drawn), np.float32))[1]

    x, a, b, y, z = (Variable(k, (3,), np.dtype("float32"), "cpu") for k in range(5))
    equations = [
        Equation(Action("first", make(1)), (), {}, (a,)),
        Equation(registry["multiply"], (x, a), {}, (y,)),
        Equation(Action("second", make(2)), (), {}, (b,)),
        Equation(registry["add"], (y, b), {}, (z,)),
    ]
    run = compiled(Program([x], equations, [z], {}), {}, how)
    assert run([np.ones(3, np.float32)])[0].tolist() == [3.0] * 3
    assert run([np.ones(3, np.float32)])[0].tolist() == [7.0] * 3
    assert drawn == [1, 2, 1, 2]


@pytest.mark.parametrize("how", HOWS)
def test_an_action_that_waits_holds_up_later_ones(how):
    drawn = []

    def first(y):
        drawn.append("first")
        return y + 1

    def second():
        drawn.append("second")
        return np.ones(3, np.float32)

    x, a, b, c, y, z = (Variable(k, (3,), np.dtype("float32"), "cpu") for k in range(6))
    equations = [
        Equation(registry["multiply"], (x, 2.0), {}, (y,)),
        Equation(registry["add"], (y, 3.0), {}, (c,)),
        Equation(Action("first", first), (c,), {}, (a,)),
        Equation(Action("second", second), (), {}, (b,)),
        Equation(registry["add"], (a, b), {}, (z,)),
    ]
    run = compiled(Program([x], equations, [z], {}), {}, how)
    assert run([np.ones(3, np.float32)])[0].tolist() == [7.0] * 3
    assert drawn == ["first", "second"]


@pytest.mark.parametrize("how", HOWS)
def test_threads_call_one_function_at_once(how):
    arrays = [draw(300, 200), draw(300), draw(250, 200)]
    run = compiled(traced(step, *arrays), {}, how)
    sets = [[a * (k + 1) for a in arrays] for k in range(4)]
    want = [run(given) for given in sets]
    wrong = []

    def work(k):
        for _ in range(20):
            for mine, expected in zip(run(sets[k]), want[k], strict=True):
                if not np.array_equal(mine, expected):
                    wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize("how", HOWS)
def test_results_do_not_depend_on_the_number_of_threads(how):
    x = draw(700, 300)
    program = traced(lambda x: (lg.tanh(x).sum(), lg.exp(x).sum(0), x.mean(1), lg.softmax(x, axis=-1)), x)
    run = compiled(program, {}, how)
    before = lg.get_num_threads()
    try:
        found = []
        for count in (1, 2, 5):
            lg.set_num_threads(count)
            found.append(run([x]))
    finally:
        lg.set_num_threads(before)
    for one in found[1:]:
        assert all(map(np.array_equal, one, found[0]))


@pytest.mark.parametrize("how", HOWS)
def test_memory_stays_the_same_over_many_calls(how):
    arrays = arguments()
    run = compiled(traced(step, *arrays), {0: 0}, how)
    for _ in range(50):
        run(arrays)
    tracemalloc.start()
    try:
        grown = []
        for _ in range(3):  # other threads of the process may take some once; a leak takes it every time
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(10_000):
                run(arrays)
            grown.append(tracemalloc.get_traced_memory()[0] - before)
            if grown[-1] < 4096:
                return
        raise AssertionError(f"bytes that 10,000 calls kept: {grown}")
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("how", HOWS)
def test_a_class_that_there_is_not_raises_as_eager_does(how):
    x, i = draw(40, 10), np.arange(40) % 10
    program = traced(lambda x, i: lg.nn.functional.cross_entropy(x * 2, i), x, i)
    run = compiled(program, {}, how)
    assert apart(run([x, i])[0], program.run([x, i])[0]) <= 4
    i = i.copy()
    i[3] = 10
    with pytest.raises(IndexError, match="class number 10 is out of range"):
        run([x, i])


@pytest.mark.parametrize("how", HOWS)
def test_nothing_is_written_where_a_class_is_wrong(how):
    w, x, i = draw(10, 7), draw(40, 7), np.arange(40) % 11

    def step(w, x, i):
        made = w * 2 + 0.0
        return made, lg.nn.functional.cross_entropy(lg.nn.functional.linear(x, made), i)

    run = compiled(traced(step, w, x, i % 10), {0: 0}, how)
    before = w.copy()
    with pytest.raises(IndexError):
        run([w, x, i])
    assert np.array_equal(w, before)
    run([w, x, i % 10])
    assert np.array_equal(w, before * 2)


def test_without_a_compiler_programs_are_python_functions():
    source = """
import numpy as np
import lucidgrad as lg
from lucidgrad.backends.cpu.programs import compiled
from lucidgrad.levels.traced import program_of as traced
x = np.ones((3, 2), np.float32)
run = compiled(traced(lambda x: lg.tanh(x) * 2 + x.sum(0), x), {})
assert "call" not in run.__globals__
assert np.array_equal(run([x])[0], np.tanh(x) * 2 + x.sum(0))
"""
    folder = os.path.dirname(__file__)
    environment = {**os.environ, "LUCIDGRAD_COMPILED": "0", "PYTHONPATH": os.pathsep.join([folder, *sys.path])}
    subprocess.run([sys.executable, "-c", source], check=True, env=environment)


@pytest.mark.skipif(HOWS == ["flat"], reason="no C compiler")
def test_a_training_step_is_one_call():
    arrays = arguments()
    program = traced(step, *arrays)
    assert len(segments.parts_of(program, 2)) == 1


@pytest.mark.skipif(HOWS == ["flat"], reason="no C compiler")
def test_parts_for_python_between_parts_for_c():
    x = draw(6, 6) @ draw(6, 6).T + 6 * np.eye(6, dtype=np.float32)

    def mixed(x):
        y = lg.tanh(x * 0.1) + x
        z = lg.linalg.inv(y)
        return (z * 2).mT @ y, z[1:].sum(0), y.mT

    program = traced(mixed, x)
    assert len(segments.parts_of(program, 2)) == 3
    for mine, expected in zip(compiled(program, {}, "c")([x]), program.run([x]), strict=True):
        assert apart(mine, expected) <= 64


@pytest.mark.skipif(HOWS == ["flat"], reason="no C compiler")
def test_what_is_written_into_inputs_is_written_by_the_last_part():
    """An update that could be made early waits, so that it needs no memory of its own."""
    arrays = [draw(5, 5, seed=1), draw(5, 5, seed=2), draw(6, 5)]

    def step(v, w, x):
        def value(v, w):
            y = lg.cumulative_sum(lg.tanh(x @ w), axis=0)  # which C does not do, nor its cotangent
            return (lg.tanh(y @ v) ** 2).sum()

        g = func.grad(value, argnums=(0, 1))(v, w)
        return v - 0.1 * g[0], w - 0.1 * g[1]

    program = traced(step, *arrays)
    want = program.run(arrays)
    run = compiled(program, {0: 0, 1: 1}, "c")
    assert "copyto" not in run.__code__.co_names
    got = run(arrays)
    assert got[0] is arrays[0]
    assert got[1] is arrays[1]
    for mine, expected in zip(got, want, strict=True):
        assert apart(mine, expected) <= 64
