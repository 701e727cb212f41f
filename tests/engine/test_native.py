"""The engine in C is the engine in Python: calls to the bit, errors to the word; and how it is had, or not."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from thoroughness import cases

from lucidgrad.backends.native import building, library

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def run(*command, **environment):
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, *command], env={**os.environ, "PYTHONPATH": paths, **environment}, cwd=ROOT,
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def program(text, **environment):
    done = run("-c", textwrap.dedent(text), **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def compiled():
    """The compiled engine, in the usual cache: built now if it is not there."""
    if library.unfit() is not None:
        pytest.skip(library.unfit())
    done = run("-c", "from lucidgrad import native; native.parts()", LUCIDGRAD_ENGINE="compiled")
    if done.returncode:
        reason = done.stderr.splitlines()[-1]
        assert "no C compiler" in reason or "no Python.h" in reason, done.stderr
        pytest.skip(reason)


STATUS = """
    import lucidgrad as lg
    from lucidgrad.backends import native

    x = lg.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    print(native.status())
"""


def test_every_call_is_the_same_to_the_bit(compiled):
    few = str(cases(1, 5))
    traces = {}
    for engine, name in (("compiled", "compiled"), ("python", "Python")):
        done = run(str(HERE / "trace_of_calls.py"), few, LUCIDGRAD_ENGINE=engine)
        assert done.returncode == 0, done.stderr
        assert done.stderr.splitlines()[0] == name
        traces[engine] = done.stdout.splitlines()
    assert len(traces["python"]) > 5000
    differences = [pair for pair in zip(traces["compiled"], traces["python"], strict=True) if pair[0] != pair[1]]
    assert not differences, "\n".join(differences[0])


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_hooks_writes_and_nested_walks_hold_on_both(compiled, engine):
    files = cases(["hook_returns"], "walks_inside hooks hook_returns observing views inplace threads".split())
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"tests/engine/test_{f}.py" for f in files),
               LUCIDGRAD_ENGINE=engine)  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_it_takes_calls_and_leaves_them_to_python(compiled):
    lines = program(
        """
        import sys
        import lucidgrad as lg

        frames = []
        x, y = lg.tensor([1.0, 2.0], requires_grad=True), lg.tensor([3.0, 4.0])
        x * y + 1.0
        sys.setprofile(lambda frame, event, _: frames.append(frame.f_code.co_name) if event == "call" else None)
        z = x * y
        z = z + 1.0
        sys.setprofile(None)
        print(frames)
        try:
            x * lg.ones(3)
        except Exception as error:
            print(type(error).__name__, error)
            trace, names = error.__traceback__, []
            while trace:
                names.append(trace.tb_frame.f_code.co_name)
                trace = trace.tb_next
            print(names[:2])
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert lines[0] == "[]", "a frame of Python between the operator and NumPy"
    assert "(2,)" in lines[1]
    assert "(3,)" in lines[1]
    assert lines[2] == "['<module>', 'op']", "the operator's own lines are in the traceback"


def test_views_are_one_call_and_joins_two(compiled):
    lines = program(
        """
        import sys
        import lucidgrad as lg

        x = lg.ones((4, 4), requires_grad=True) * 2
        calls = [
            lambda: x[1:3], lambda: x[0, ..., None], lambda: x[2], lambda: x[0][1], lambda: x.T,
            lambda: x.reshape(2, 8), lambda: lg.concat([x, x], 1), lambda: lg.concat((x, x), axis=0),
        ]
        for call in calls:
            call(), call()
            frames = []
            note = lambda frame, event, _: frames.append(frame.f_code.co_name) if event == "call" else None
            sys.setprofile(note)
            call()
            sys.setprofile(None)
            print(frames[1:])
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert lines[:5] == ["[]"] * 5, "a frame of Python between a view and NumPy"
    assert set(lines[5:]) <= {"[]", "['op']"}


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_many_cotangents_are_added_as_numpy_adds_them(compiled, engine):
    """To the bit: of few numbers and of many, with gaps and without, of every float; seeds are not written to."""
    lines = program(
        """
        import numpy as np
        import lucidgrad as lg

        rng = np.random.default_rng(0)
        for dtype in (np.float16, np.float32, np.float64):
            for shape in ((), (0,), (1,), (7,), (64,), (65,), (8, 8), (3, 50), (2, 1, 3)):
                for turned in (False, True):
                    given = [(rng.standard_normal(shape) * 10.0**k).astype(dtype) for k in range(-3, 3)]
                    given = [a.T if turned else a for a in given]
                    x = lg.tensor(np.ones(given[0].shape, dtype), requires_grad=True)
                    before = [a.copy() for a in given]
                    lg.autograd.backward([x * 1 for _ in given], [lg.asarray(a) for a in given])
                    total = given[-1]
                    for a in given[-2::-1]:
                        total = total + a
                    assert x.grad.numpy().tobytes() == total.tobytes(), (dtype, shape, turned)
                    assert all(a.tobytes() == b.tobytes() for a, b in zip(given, before))
        print("same")
        """,
        LUCIDGRAD_ENGINE=engine,
    )
    assert lines == ["same"]


SMALL = """
    import itertools, warnings
    import numpy as np
    import lucidgrad as lg

    rng, large = np.random.default_rng(0), [np.inf, -np.inf, np.nan, -0.0, 3e38, 1e-40, 1e300, 5e-324]
    shapes = (), (1,), (3,), (2, 3), (1, 3), (2, 1), (1, 1), (0,), (2, 0), (4, 2, 3), (7, 9, 80), (3, 2)
    numbers = 2, -3, 2**24, 2**24 + 1, 2**53 + 1, -(2**70), 10**400, 1.5, 1e300, 1e-320, -0.0, np.inf, np.nan
    names = "add subtract multiply divide maximum pow atan2".split()

    def told(call):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                y = call()
                value = [str(y.dtype), y.shape, y.detach().numpy().tobytes().hex()]
            except Exception as error:
                value = [type(error).__name__, str(error)]
        print(hash(tuple(value)), sorted(str(w.message) for w in seen), *value[:2])

    def array(shape, dtype, turned):
        a = rng.standard_normal(shape).astype(dtype)
        if a.size > 2:
            with np.errstate(all="ignore"):
                a.reshape(-1)[: len(large)] = np.array(large[: a.size]).astype(dtype)
        return lg.asarray(np.asfortranarray(a) if turned else a)

    for dtype, turned in itertools.product((np.float32, np.float64, np.float16, np.int64), (False, True)):
        xs = [array(shape, dtype, turned) for shape in shapes]
        for name in names:
            f = getattr(lg, name)
            for x, y in itertools.product(xs, xs):
                told(lambda: f(x, y))
            for x, number in itertools.product(xs, numbers):
                told(lambda: f(x, number))
                told(lambda: f(number, x))
        for x in xs:
            for f in (lg.exp, lg.log, lg.tanh, lg.sqrt, lg.negative, lg.reciprocal):
                told(lambda: f(x))
    x = lg.asarray(np.array([1e-30, 1.0], np.float32))
    for state in ("raise", "ignore", "warn"):
        with np.errstate(all=state):
            for f in (lambda: x * x, lambda: x / 0.0, lambda: x * 1.0, lambda: 1e30 / x, lambda: lg.log(x * 0)):
                told(f)
"""


def test_small_arrays_are_computed_and_warned_of_as_numpy_does(compiled):
    """Shapes that broadcast or don't, layouts, numbers that round or overflow; all states of NumPy's warnings."""
    ours, pythons = (program(SMALL, LUCIDGRAD_ENGINE=e, PYTHONHASHSEED="0") for e in ("compiled", "python"))
    assert len(ours) > 10_000
    assert any("overflow encountered in multiply" in line for line in ours)
    assert any("FloatingPointError" in line for line in ours)
    assert [pair for pair in zip(ours, pythons, strict=True) if pair[0] != pair[1]] == []


def test_nothing_is_kept_of_calls_that_are_over(compiled):
    """References to what calls share are as many as before, and so are blocks of memory; with errors and without."""
    lines = program(
        """
        import gc, sys
        import numpy as np
        import lucidgrad as lg
        from lucidgrad.core import box, tape
        from lucidgrad.core.primitive import registry

        x = lg.tensor(np.ones((4, 6), np.float32), requires_grad=True)
        key, sizes, axis = (slice(1, 3), 2), (2, 4), 10**6
        shared = [tape.NOTHING, box.INFERENCE, x, x._node, x.array, x.array.dtype, key, sizes, axis, tape.FREED]
        shared += [registry[n] for n in ("index", "concat", "stack", "split_with_sizes", "unstack", "reshape", "tanh")]
        shared += [p.recipe(()) if p.joint else p.recipe((0,)) for p in shared[-7:]]

        def once():
            y = lg.tanh(x[1:].T)
            a, b = y.split((2, 4))
            y = lg.concat([b, a * 2.0], 0).reshape(3, 6)
            z = lg.stack([part[::-1] for part in lg.unstack(y)])[:, 1:]
            y = z + y[key].sum() + y[0, 0] + b.T[:, 0].reshape(3, 1)
            (g,) = lg.autograd.grad((y * y).sum(), x, create_graph=True)
            lg.autograd.grad(g.sum() + g[0, 1] + lg.concat([g, g]).sum(), x)
            lg.split(x * 1, 2)[0].sum().backward()
            x.grad = None
            for wrong in (lambda: y[9], lambda: lg.concat([y, g]), lambda: lg.concat([y], axis), lambda: y.T[key, "a"],
                          lambda: lg.stack([y, g]), lambda: y.reshape(axis), lambda: x.split(sizes, 0)):
                try:
                    wrong()
                except Exception:
                    continue
                raise AssertionError("it was taken")

        for _ in range(400):  # caches of errors and of Python's own grow for a while
            once()
        found = []
        for rounds in (0, 400):
            for _ in range(rounds):
                once()
            gc.collect()
            found.append([sys.getallocatedblocks(), *map(sys.getrefcount, shared)])
        before, after = found
        print(after[0] - before[0])
        print([b - a for a, b in zip(before[1:], after[1:])])
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert abs(int(lines[0])) < 350, "400 rounds left something behind each"
    assert set(lines[1].strip("[]").split(", ")) == {"0"}


def test_functions_stay_functions(compiled):
    lines = program(
        """
        import copy, inspect, pickle
        import lucidgrad as lg

        x = lg.tensor([0.5], requires_grad=True)
        lg.tanh(x) * x
        print(inspect.isfunction(lg.tanh), inspect.signature(lg.tanh), pickle.loads(pickle.dumps(lg.tanh)) is lg.tanh)
        print(inspect.isfunction(lg.Tensor.__mul__), lg.Tensor.__mul__(x, x).tolist())
        y = pickle.loads(pickle.dumps(x)), copy.deepcopy(x)
        print([(t * 2).requires_grad for t in y])
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert lines == ["True (x: Any, /) True", "True [0.25]", "[True, True]"]


def test_an_interrupt_ends_a_walk_of_known_rules(compiled):
    lines = program(
        """
        import signal
        import lucidgrad as lg

        x = lg.tensor([1.0], requires_grad=True)
        y = x
        for _ in range(300_000):
            y = y + 1.0
        signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        lg.autograd.grad(y, x, retain_graph=True)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        try:
            while True:
                lg.autograd.grad(y, x, retain_graph=True)
        except KeyboardInterrupt:
            print("ended")
        print(lg.autograd.grad(y, x)[0].tolist())
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert lines == ["ended", "[1.0]"]


def test_a_rule_that_is_changed_is_called(compiled):
    """What C knows of a rule it knows of its code, while that is the rule's."""
    lines = program(
        """
        import lucidgrad as lg
        from lucidgrad.core.primitive import registry

        x = lg.tensor([3.0], requires_grad=True)
        print(lg.autograd.grad(x * 2.0, x)[0].tolist())
        registry["multiply"].rules[0].__code__ = (lambda xp, g, x2: g * x2 + 1).__code__
        print(lg.autograd.grad(x * 2.0, x)[0].tolist())
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert lines == ["[2.0]", "[3.0]"]


def test_what_other_processes_take_part_in_fails_once(compiled):
    """Python does again what failed in C, to tell what is wrong: not where others would see it."""
    lines = program(
        """
        import lucidgrad as lg
        from lucidgrad.core.primitive import ELEMENTWISE, primitive

        calls = []

        def failing(name, silenced):
            def program(xp, x, /):
                calls.append(name)
                raise ValueError("it failed")

            program.__name__ = name
            op = primitive(ELEMENTWISE, vjp=lambda xp, g: g)(program)
            op.primitive.silenced = silenced
            for _ in range(3):
                try:
                    op(lg.ones(2))
                except ValueError:
                    continue

        failing("alone", None)
        failing("together", lambda keywords: keywords)
        print(calls.count("alone") > 3, calls.count("together"))
        """,
        LUCIDGRAD_ENGINE="compiled",
    )
    assert lines == ["True 3"]


# -- how it is had ---------------------------------------------------------------------------------
def test_the_environment_chooses(compiled, tmp_path):
    assert program(STATUS, LUCIDGRAD_ENGINE="compiled")[0].startswith("compiled (")
    assert program(STATUS, LUCIDGRAD_ENGINE="python") == ["Python (LUCIDGRAD_ENGINE=python)"]
    assert program(STATUS, LUCIDGRAD_ENGINE="", LUCIDGRAD_COMPILED="0") == [
        "Python (switched off by LUCIDGRAD_COMPILED=0)"
    ]
    built = program(STATUS, LUCIDGRAD_ENGINE="built", XDG_CACHE_HOME=str(tmp_path))
    assert built == ["Python (it was not built before)"]
    assert not list(tmp_path.iterdir())
    done = run("-c", textwrap.dedent(STATUS), LUCIDGRAD_ENGINE="swift")
    assert "LUCIDGRAD_ENGINE: given 'swift', expected" in done.stderr


def test_the_first_process_lets_it_be_built_and_a_later_one_has_it(compiled, tmp_path):
    here = {"LUCIDGRAD_ENGINE": "", "XDG_CACHE_HOME": str(tmp_path)}
    assert program(STATUS, **here) == ["Python (it is being built, for processes that start later)"]
    folder, end = tmp_path / "lucidgrad" / "engine", time.monotonic() + 300
    assert program(STATUS, **here)[0].startswith(("Python (another process is building it)", "compiled ("))
    while not list(folder.glob("engine-*.so")) or list(folder.glob("*.building")):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert program(STATUS, **here)[0].startswith("compiled (")
    (built,) = folder.iterdir()  # nothing else is left
    content = built.read_bytes()
    built.write_bytes(content[: len(content) // 2])  # a broken one is not loaded
    assert program(STATUS, **here)[0].startswith("Python (it is being built")
    while list(folder.glob("*.building")):
        assert time.monotonic() < end
        time.sleep(0.2)
    assert len(built.read_bytes()) == len(content)


@pytest.mark.skipif(library.unfit() is not None, reason=str(library.unfit()))
@pytest.mark.parametrize("compiler", ["no_such_compiler", "false"])
def test_without_a_compiler_there_is_python_and_the_reason(tmp_path, compiler):
    here = {"LUCIDGRAD_ENGINE": "", "LUCIDGRAD_CC": compiler, "XDG_CACHE_HOME": str(tmp_path)}
    assert program(STATUS, **here) == ["Python (it is being built, for processes that start later)"]
    end = time.monotonic() + 120
    while not list(tmp_path.glob("lucidgrad/engine/*.why")):
        assert time.monotonic() < end
        time.sleep(0.1)
    reason = f"LUCIDGRAD_CC={compiler} names no program" if "_" in compiler else "the compiler says: exit status 1"
    assert program(STATUS, **here) == [f"Python ({reason})"]
    done = run("-c", textwrap.dedent(STATUS), **{**here, "LUCIDGRAD_ENGINE": "compiled"})
    assert "the engine can't be compiled here" in done.stderr


def test_a_folder_that_cannot_be_written_leaves_python(tmp_path):
    (tmp_path / "lucidgrad").write_text("no folder")
    (line,) = program(STATUS, LUCIDGRAD_ENGINE="", XDG_CACHE_HOME=str(tmp_path))
    assert line.startswith("Python (")


def test_a_folder_that_others_may_write_to_is_not_loaded_from(compiled, tmp_path):
    here = {"LUCIDGRAD_ENGINE": "compiled", "XDG_CACHE_HOME": str(tmp_path)}
    assert program(STATUS, **here)[0].startswith("compiled (")
    (tmp_path / "lucidgrad" / "engine").chmod(0o777)
    (line,) = program(STATUS, **{**here, "LUCIDGRAD_ENGINE": ""})
    assert line.startswith("Python (")
    assert "may be written by others" in line


def test_a_second_builder_does_not_begin(tmp_path):
    mark = tmp_path / "engine.building"
    mark.touch()
    before = mark.stat().st_mtime_ns
    assert not building.begin(library.SOURCE, tmp_path / "engine.so", mark)
    assert mark.stat().st_mtime_ns == before
