"""What a call costs besides its program, counted and not timed: steps of the interpreter, for a call and for a leaf."""

import sys
import time

import pytest

import lucidgrad as lg
from bench import guards as bench
from lucidgrad.backends.cpu.compiled import building, looks
from lucidgrad.compiling import guards
from lucidgrad.compiling.compiled import entries_of

#: Without a compiler the program itself is Python, and would be counted, too.
compiling = pytest.mark.skipif(building.why_not() is not None, reason="there is no compiler")


def counted(call):
    """How many instructions of Python a call takes, in how many functions, and how many functions in C it calls."""
    for _ in range(3):
        call()
    counts = [0, 0, 0]

    def each(frame, event, _):
        counts[0] += event == "opcode"
        return each

    def begin(frame, event, _):
        frame.f_trace_opcodes = True
        counts[1] += 1
        return each

    def note(frame, event, _):
        counts[2] += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    try:
        sys.settrace(begin)
        call()
        sys.settrace(before[0])
        sys.setprofile(note)
        call()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return counts


def slope(make, few, many):
    """Instructions and calls of C that each further leaf adds."""
    (_, one, a), (_, other, b) = make(few), make(many)
    small, large = counted(one), counted(other)
    return [(y - x) / (b - a) for x, y in zip(small, large, strict=True)]


@compiling
def test_a_small_call_takes_few_steps():
    instructions, functions, in_c = counted(bench.pair()[1])
    assert instructions < 450 and functions < 18 and in_c < 14, (instructions, functions, in_c)


@compiling
def test_a_small_step_of_training_takes_few_steps():
    for optimiser, states in ((lg.optim.SGD, 0), (lg.optim.Adam, 2)):
        instructions, functions, in_c = counted(bench.training(optimiser, 2, states)[1])
        assert instructions < 2300 and functions < 50 and in_c < 50, (instructions, functions, in_c)


@compiling
@pytest.mark.parametrize("c", [True, False])
@pytest.mark.parametrize(("make", "few", "many"), [(bench.tensors, 30, 60), (bench.module, 12, 24)])
def test_each_tensor_that_is_held_takes_few_steps(make, few, many, c, monkeypatch):
    """Where C looks, next to none: what is left is that the program is given them, too."""
    if not c:
        monkeypatch.setattr(looks, "differ", lambda: None)
    instructions, functions, in_c = slope(make, few, many)
    assert instructions < (10 if c else 70) and functions == 0 and in_c < 2, (instructions, functions, in_c)


@compiling
@pytest.mark.parametrize("c", [True, False])
def test_each_argument_takes_few_steps(c, monkeypatch):
    if not c:
        monkeypatch.setattr(looks, "strange", lambda kind: None)
    instructions, functions, in_c = slope(bench.arguments, 8, 50)
    assert instructions < (20 if c else 75) and functions == 0 and in_c <= (0 if c else 3), (instructions, in_c)


@compiling
def test_many_signatures_take_no_more_steps_than_few():
    few, many = (counted(bench.signatures(n)[1]) for n in (3, 30))
    assert many[0] < few[0] + 60, (few, many)


@compiling
def test_a_call_is_quicker_than_the_function_itself():
    """In turns, in processor time: a step of a tiny network."""
    compiled, call, _ = bench.training(lg.optim.SGD, 2, 0)
    plain = compiled.function_itself
    x, y = lg.randn(16, 32), lg.zeros(16, 1)
    best = [float("inf")] * 2
    for _ in range(15):
        for k, run in enumerate((call, lambda: plain(x, y))):
            run()
            begin = time.thread_time()
            for _ in range(5):
                run()
            best[k] = min(best[k], time.thread_time() - begin)
    assert best[0] < best[1] / 3, best


# -- whoever looks sees the same -----------------------------------------------------------------------
class _Part:
    def __init__(self, k):
        self.scale, self.bias, self.name = lg.full((1,), float(k)), lg.ones(1), f"part {k}"


def _function(parts):
    return lambda x: sum((part.scale * len(part.name) + part.bias for part in parts), x)


CHANGES = {
    "another tensor": lambda part: setattr(part, "scale", lg.full((1,), 50.0)),
    "another array": lambda part: setattr(part.scale, "data", lg.full((1,), 60.0)),
    "values": lambda part: part.scale.fill_(70.0),
    "a text": lambda part: setattr(part, "name", "something longer"),
    "an equal text": lambda part: setattr(part, "name", "".join(list(part.name))),
    "a new attribute": lambda part: setattr(part, "more", 1),
    "a lost attribute": lambda part: (delattr(part, "bias"), setattr(part, "bias", lg.zeros(1))),
    "a dictionary": lambda part: vars(part).update(scale=lg.full((1,), 80.0)),
    "a gradient": lambda part: setattr(part.bias, "grad", lg.ones(1)),
    "wants a gradient": lambda part: part.bias.requires_grad_(),
}


@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen_by_python_and_by_c(name, count):
    parts = [_Part(k) for k in range(count)]
    function = _function(parts)
    compiled = lg.compile(function)
    x = lg.ones(1)
    compiled(x)
    assert compiled(x).item() == function(x).item()
    for part in (parts[0], parts[-1]):
        CHANGES[name](part)
        for _ in range(2):
            mine, expected = compiled(x), function(x)
            assert mine.item() == expected.item() and mine.requires_grad == expected.requires_grad
    assert compiled.cache_info().eager == 0


def _given():
    """Arguments whose sizes, dtypes and histories differ; and names in another order than that of the alphabet."""
    lg.manual_seed(0)
    tree = {"z": lg.rand(2, 3), "b": lg.rand(3, 2), "m": (lg.rand(()), lg.rand(4, dtype=lg.float64))}
    return [tree, [lg.rand(3, requires_grad=True), lg.rand(3), lg.arange(5)], lg.rand(0, 2), lg.rand(2, 3) * 2]


def _reached(given):
    tree, more, empty, last = given
    return [tree["z"], tree["b"], *tree["m"], *more, empty, last]


def _weighted(*given):
    weights = [(k + 1.0) * x.sum() * x.ndim for k, x in enumerate(_reached(given))]
    return sum(weights) + sum(x.grad.sum() for x in _reached(given) if x.grad is not None)


def _swapped(tree):
    tree["z"], tree["b"] = tree["b"], tree["z"]


OTHERS = {
    "the same": lambda g: None,
    "sizes in another order": lambda g: _swapped(g[0]),
    "another size": lambda g: g[0].update(z=lg.rand(2, 4)),
    "another rank": lambda g: g[1].__setitem__(1, lg.rand(3, 1)),
    "another dtype": lambda g: g[1].__setitem__(1, lg.rand(3, dtype=lg.float64)),
    "no history": lambda g: g[1].__setitem__(0, lg.rand(3)),
    "a history": lambda g: g[1].__setitem__(1, lg.rand(3, requires_grad=True)),
    "a gradient": lambda g: setattr(g[1][1], "grad", lg.ones(3)),
    "the same one twice": lambda g: g.__setitem__(3, g[0]["z"]),
    "another layout": lambda g: g.__setitem__(3, lg.rand(3, 2).T),
    "half": lambda g: g.__setitem__(3, lg.rand(2, 3).to(lg.bfloat16)),
    "names": lambda g: g[0].update(b=g[0].pop("b")),
}


def _changed(name):
    given = _given()
    OTHERS[name](given)
    return given


@pytest.mark.parametrize("name", OTHERS)
def test_arguments_are_told_apart_by_c(name):
    compiled = lg.compile(_weighted)
    for _ in range(2):
        compiled(*_given())
    (kind,) = compiled._kinds.values()
    other, again = _changed(name), _changed(name)
    same = name in ("the same", "another layout")
    assert (kind.match(tuple(other), {}) is not None) is same
    assert compiled(*other).item() == pytest.approx(_weighted(*again).item(), rel=1e-6)
    assert compiled(*_given()).item() == pytest.approx(_weighted(*_given()).item(), rel=1e-6)
    if building.why_not() is None:
        assert "strange" in kind.match.__code__.co_names
    with pytest.raises(AttributeError):  # what is no tensor is told apart, too, and reaches the function
        compiled(*_given()[:3], 3)


@compiling
def test_c_looks_where_there_is_much():
    compiled = lg.compile(_function([_Part(k) for k in range(40)]))
    compiled(lg.ones(1))
    assert looks.differ() is not None
    (entry,) = entries_of(compiled)
    assert "differ" in entry.look.__code__.co_names
    small = lg.compile(_function([_Part(0)]))
    small(lg.ones(1))
    assert "differ" not in entries_of(small)[0].look.__code__.co_names


def test_too_much_to_write_out_is_looked_at_closely(monkeypatch):
    monkeypatch.setattr(guards, "_MOST", 3)
    table = {"k": 2.0}
    compiled = lg.compile(lambda x: x * len(str(table["k"])))
    for k in ("a", "bb", "bb", "ccc"):
        table["k"] = k
        assert compiled(lg.ones(1)).item() == compiled(lg.ones(1)).item() == len(k)


class _Counting:
    """Counts, and says that nothing depends on that."""

    def __init__(self):
        self.factor, self.calls = 2.0, 0

    def program_terms(self):
        return [self.factor]


def test_objects_say_what_programs_depend_on():
    counting = _Counting()

    def function(x):
        counting.calls += 1
        return x * counting.factor

    compiled = lg.compile(function)
    assert [compiled(lg.ones(1)).item() for _ in range(3)] == [2, 2, 2]
    assert compiled.cache_info().hits == 2 and counting.calls == 1
    counting.factor = 3.0
    assert compiled(lg.ones(1)).item() == 3
