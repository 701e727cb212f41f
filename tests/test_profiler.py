"""The profiler: what it counts, what it leaves behind."""

import json
import threading
import time
import types

import pytest

import lucidgrad as lg
from lucidgrad.core import device
from lucidgrad.core.modes import state
from lucidgrad.core.primitive import ELEMENTWISE, primitive, registry, watchers
from lucidgrad.profiler import profile, record_function


def kernels():
    return {
        (name, at, key): kernel
        for name, p in registry.items()
        for at, table in (("kernels", p.kernels), *p.by_dtype.items())
        for key, kernel in table.items()
    }


def rows(p):
    return {row.key: row for row in p.key_averages()}


@pytest.fixture
def x():
    return lg.ones(1000, requires_grad=True)


@pytest.fixture(autouse=True)
def nothing_is_left_behind():
    before = kernels()
    yield
    after = kernels()
    assert all(after[key] is kernel for key, kernel in before.items())
    assert not any(found.unwatched for found in after.values()) and not watchers
    assert state.observers == ()


def test_forward_and_backward_are_counted(x):
    with profile() as p:
        for _ in range(3):
            (lg.exp(x) * lg.sin(x)).sum().backward()
    found = rows(p)
    assert set(found) == {"exp", "sin", "multiply", "sum"}
    for row in found.values():
        assert (row.forward.count, row.backward.count) == (3, 3)
        for stats in (row.forward, row.backward):
            assert 0 < stats.self_time <= stats.total and stats.mean == stats.total / 3
    assert found["exp"].forward.bytes == found["exp"].backward.bytes == 3 * 4000
    assert found["sum"].forward.bytes == 3 * 4
    assert found["multiply"].backward.bytes == 3 * 8000


def test_times_are_those_of_the_kernels():
    def slow(xp, g):
        time.sleep(0.02)
        return g * 2

    def program(xp, x, /):
        time.sleep(0.03)
        return x * 2

    program.__name__ = "slow_double"
    double = primitive(ELEMENTWISE, vjp=slow)(program)
    try:
        x = lg.ones(3, requires_grad=True)
        with profile() as p, record_function("both"):
            double(x).sum().backward()
    finally:
        del registry["slow_double"]
    row = rows(p)["slow_double"]
    assert 0.03 <= row.forward.total < 0.3 and 0.02 <= row.backward.total < 0.3
    both = rows(p)["both"].forward
    assert both.total >= 0.05 and both.self_time < both.total - 0.05


def test_what_runs_inside_is_not_counted_twice():
    x = lg.ones(4, 3, requires_grad=True)
    with profile() as p:
        y = lg.func.vmap(lambda row: lg.tanh(row) * 2)(x)
        lg.autograd.grad((y * y).sum(), x, create_graph=True)
    own = sum(row.self_time for row in p.key_averages())
    assert own <= p._duration
    outer = [e for e in p.events if e.inner]
    assert outer and all(e.self_time >= 0 for e in p.events)
    roots = sum(e.total for e in p.events if not any(is_in(e, o) for o in p.events))
    assert own == pytest.approx(roots)


def is_in(event, other):
    end = other.start + other.total
    return event is not other and other.start <= event.start and event.start + event.total <= end


def test_views_and_several_outputs_and_layers_have_bytes(x):
    with profile() as p:
        lg.reshape(x, (10, 100))
        lg.linalg.qr(lg.eye(4))
        lg.func.vmap(lambda row: lg.exp(row))(lg.ones(2, 5))
    found = rows(p)
    assert found["reshape"].forward.bytes == 0
    assert found["qr"].forward.bytes == 2 * 64
    assert found["exp"].forward.count == 2  # the batched one, and the plain one inside


def test_functions_of_the_user_are_timed(x):
    class Double(lg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with profile() as p:
        Double.apply(x).sum().backward()
    row = rows(p)["Double"]
    assert row.forward.count == row.backward.count == 1
    assert rows(p)["multiply"].forward.count == 2
    assert row.forward.self_time < row.forward.total and row.backward.self_time < row.backward.total


def test_kernels_found_while_it_runs_are_timed_and_restored():
    p = registry["atanh"]
    before = dict(p.kernels), {k: dict(v) for k, v in p.by_dtype.items()}
    p.kernels.clear(), p.by_dtype.clear()
    with profile() as found:
        lg.atanh(lg.zeros(3, dtype=lg.float16)), lg.atanh(lg.zeros(3, dtype=lg.complex64))
    assert rows(found)["atanh"].count == 2
    assert not any(k.unwatched for k in (*p.kernels.values(), *p.by_dtype[type(lg.zeros(1).array)].values()))
    p.kernels.update(before[0]), p.by_dtype.update(before[1])


@pytest.mark.parametrize("warm", [False, True])
def test_large_arrays_are_timed_too(warm):
    ops = (lg.exp, lg.relu, lg.tanh, lg.sqrt, lambda t: t * 2, lambda t: t + t)
    for name in ("exp", "relu", "tanh", "sqrt", "multiply", "add") if not warm else ():
        for table in (registry[name].kernels, *registry[name].by_dtype.values()):
            for found in table.values():
                found._larger = None
    t = lg.ones(300_000, requires_grad=True)
    for op in ops if warm else ():
        op(t)
    with profile() as p:
        for op in ops:
            op(t)
        t.detach().mul_(3.0)
    found = {name: row.forward.count for name, row in rows(p).items()}
    assert found == {"exp": 1, "relu": 1, "tanh": 1, "sqrt": 1, "multiply": 2, "add": 1}
    assert all(row.forward.bytes >= 1_200_000 for row in p.key_averages())
    with profile() as p:
        for op in ops:
            op(t)
    assert sum(row.forward.count for row in p.key_averages()) == len(ops)


def test_an_exception_restores_everything(x):
    p = profile()
    with pytest.raises(ZeroDivisionError), p:
        raise ZeroDivisionError(lg.exp(x))
    assert rows(p)["exp"].count == 1


def test_a_step_that_raises_is_not_counted(x):
    def fail(xp, g):
        raise ZeroDivisionError

    def program(xp, x, /):
        return x * 2

    program.__name__ = "failing"
    failing = primitive(ELEMENTWISE, vjp=fail)(program)
    try:
        with profile() as p:
            y = lg.exp(failing(lg.exp(x))).sum()
            with pytest.raises(ZeroDivisionError):
                y.backward()
            assert not p._stack
            lg.sin(x).sum().backward()
            with pytest.raises(Exception):  # noqa: B017, PT011
                lg.matmul(lg.ones(2, 3), lg.ones(2, 3))
            assert not p._stack
    finally:
        del registry["failing"]
    found = rows(p)
    assert found["failing"].backward.count == 0 and found["exp"].backward.count == 1
    assert all(not e.inner for e in p.events)


def test_profiles_nest_and_can_be_used_again(x):
    with profile() as outer:
        lg.exp(x)
        with profile() as inner:
            lg.sin(x).sum().backward()
        lg.exp(x)
        with pytest.raises(RuntimeError, match="active already"):
            outer.__enter__()
    assert set(rows(inner)) == {"sin", "sum"}
    assert rows(outer)["sin"].backward.count == 1 and rows(outer)["exp"].count == 2
    with outer:
        lg.exp(x)
    assert rows(outer)["exp"].count == 3


def test_other_threads_are_left_alone(x):
    with profile() as p:
        thread = threading.Thread(target=lambda: lg.exp(x).sum().backward())
        thread.start()
        thread.join()
    assert p.events == []


# -- what comes out ----------------------------------------------------------------------------------
def test_the_table(x):
    with profile() as p, record_function("step"):
        (lg.exp(x) * x).sum().backward()
    lines = p.table(sort_by="name").splitlines()
    assert [line.split()[0] for line in lines[3:-1]] == ["exp", "multiply", "[step]", "sum"]
    assert lines[1].split() == ["operation", *["calls", "total", "self", "mean", "bytes"] * 2]
    assert lines[-1].startswith("in all: forward ")
    assert "... and 3 more" in p.table(row_limit=1)
    totals = [row.total for row in p.key_averages()]
    assert p.table("total", 1).splitlines()[3].startswith("[step]") and max(totals) == rows(p)["step"].total
    for order in ("self", "mean", "forward", "backward", "count", "bytes", "launches"):
        assert len(p.table(sort_by=order, row_limit=None).splitlines()) == 8
    with pytest.raises(ValueError, match="sort_by is 'speed', expected one of"):
        p.table("speed")
    assert "in all" in profile().table()


def test_the_trace(x, tmp_path):
    with profile() as p, record_function("step"):
        y = (lg.exp(x) * x).sum()
        lg.autograd.grad(y, x, create_graph=True)
    p.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = trace["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    shown = [e for e in events if e["ph"] == "X"]
    assert len(shown) == len(p.events)
    for e in shown:
        assert e["ts"] >= 0 and e["dur"] >= 0 and isinstance(e["name"], str) and e["pid"]
    where = {(e["name"], e["cat"], tracks[e["tid"]]) for e in shown}
    assert ("step", "range", "ranges") in where
    assert ("exp", "forward", "forward") in where and ("exp", "backward", "backward") in where
    assert ("multiply", "forward", "backward") in where  # what rules compute with tensors
    for track in tracks:  # on a track, events lie inside or beside each other
        spans = sorted((e["ts"], -e["dur"]) for e in shown if e["tid"] == track)
        ends = []
        for start, minus in spans:
            while ends and ends[-1] <= start + 1e-3:
                ends.pop()
            assert not ends or start - minus <= ends[-1] + 1e-3
            ends.append(start - minus)


def test_ranges_without_a_profile_do_nothing(x):
    @record_function("step")
    def step(x):
        return lg.exp(x)

    step(x)
    with record_function("a"), profile() as p, record_function("b"):
        step(x)
    assert set(rows(p)) == {"b", "step", "exp"}


def test_launches_are_counted_on_the_emulated_device():
    if lg.cudasim.usable_gpus():
        pytest.skip("a GPU does not count")
    x = lg.ones(3, device="cuda", requires_grad=True)
    for _ in range(2):  # the first time compiles
        with profile() as p:
            (lg.exp(x) * x).sum().backward()
    found = rows(p)
    assert (found["exp"].forward.launches, found["exp"].backward.launches) == (1, 1)
    assert found["multiply"].launches == 2
    assert p.table().splitlines()[1].endswith("launches")


def test_times_of_a_device_are_between_two_moments_of_it(x, monkeypatch):
    moments = []

    def moment():
        moments.append(types.SimpleNamespace(seconds_to=lambda later: 100.0 + moments.index(later)))
        return moments[-1]

    with profile(synchronize=True) as p:
        monkeypatch.setitem(device.places, type(x.array), lambda array: types.SimpleNamespace(moment=moment))
        registry["exp"].find_kernel(type(x.array))(x.array)
        monkeypatch.undo()
    assert len(moments) == 2
    assert [(event.name, event.total) for event in p.events] == [("exp", 101.0)]
