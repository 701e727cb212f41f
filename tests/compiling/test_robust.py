"""Compiled functions under stress: many calls, threads, forks, errors, and objects that change under their hands."""

import collections
import contextvars
import gc
import os
import sys
import threading
import tracemalloc
import types
import warnings

import numpy as np
import pytest

import lucidgrad as lg
from tests.thoroughness import cases

F = lg.nn.functional


def training(rate=0.01):
    lg.manual_seed(0)
    model = lg.nn.Sequential(lg.nn.Linear(4, 5), lg.nn.Tanh(), lg.nn.Linear(5, 2))
    optimizer = lg.optim.Adam(model.parameters(), lr=rate)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return model, optimizer, step


# -- many calls --------------------------------------------------------------------------------------
def test_memory_stays_flat_in_a_training():
    _, optimizer, step = training()
    compiled = lg.compile(step)
    sizes, count = [], cases(1_000, 10_000)

    def calls(n):
        for k in range(n):
            optimizer.param_groups[0]["lr"] = 0.01 / (1 + k % 7)
            compiled(lg.randn(3, 4), lg.zeros(3, 2))

    calls(50)
    tracemalloc.start()
    for _ in range(5):
        calls(count // 5)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert min(np.diff(sizes)) < 1_000, sizes
    assert compiled.cache_info()[1:] == (2, 0, 1)


def test_results_and_gradients_of_earlier_calls_stay():
    model, _, step = training()
    compiled = lg.compile(step)
    kept = []
    for k in range(8):
        loss = compiled(lg.full((3, 4), float(k)), lg.zeros(3, 2))
        grads = [p.grad for p in model.parameters()]
        kept.append([(x, x.tolist()) for x in (loss, *grads)])
    for x, values in (pair for row in kept for pair in row):
        assert x.tolist() == values


# -- threads and processes ---------------------------------------------------------------------------
def test_threads_make_and_call_programs_at_once():
    """Some trace while others call: the module's parameters are traced arrays meanwhile."""
    lg.manual_seed(0)
    module = lg.nn.Linear(3, 2)
    compiled = lg.compile(module, options={"warn": False})
    expected = {n: module(lg.ones(n, 3)).tolist() for n in range(1, 7)}
    wrong = []

    def work(first):
        for k in range(60):
            n = 1 + (first + k) % 6
            found = compiled(lg.ones(n, 3))
            if not np.allclose(found.tolist(), expected[n], rtol=1e-6):
                wrong.append((n, found))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert type(module.weight.array) is np.ndarray
    assert compiled.cache_info().programs <= 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_runs_the_programs_of_its_parent():
    compiled = lg.compile(lambda x: (lg.tanh(x) * 2 + 1).sum())
    x = lg.ones(1000)
    compiled(x)
    expected, other = compiled(x).item(), (2 * np.tanh(np.float32(1)) + 1) * 10
    sending, taking = os.pipe()[::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
        child = os.fork()
    if child == 0:
        try:
            before = compiled.cache_info()
            right = compiled(x).item() == expected and compiled.cache_info().hits == before.hits + 1
            right = right and abs(compiled(lg.ones(10)).item() - other) < 1e-4  # and makes its own
            os.write(sending, b"right" if right else b"wrong")
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(taking, "rb") as found:
        assert found.read() == b"right"
    os.waitpid(child, 0)


# -- errors ------------------------------------------------------------------------------------------
def test_an_error_in_the_middle_leaves_what_eager_leaves():
    for compiling in (False, True):
        w, count = lg.ones(2, requires_grad=True), lg.zeros(())
        optimizer = lg.optim.SGD([w], lr=0.5)

        def step(x, optimizer=optimizer, w=w, count=count):
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            count.add_(1)
            if x.shape == (1,):
                raise ValueError("one")
            return w.sum()

        run = lg.compile(step) if compiling else step
        for size in (2, 1, 2, 1):
            if size == 1:
                with pytest.raises(ValueError, match="one"):
                    run(lg.ones(1))
            else:
                run(lg.ones(2))
        assert w.tolist() == [-1.0, -1.0] and count.item() == 4 and type(w.array) is np.ndarray
        assert w.grad.tolist() == [1.0, 1.0] and type(w.grad.array) is np.ndarray


def test_tensors_and_numbers_that_leak_are_plain_afterwards():
    leaked = []

    def function(x, t):
        leaked.append((x * 2, t * 3))
        return x + t

    compiled = lg.compile(function, options={"warn": False})
    for t in (0.5, 0.25, 0.75):
        compiled(lg.ones(2), t)
    assert [(x + 1).tolist() for x, _ in leaked] == [[3.0, 3.0]] * 3
    assert [type(t + 1) for _, t in leaked] == [float] * 3
    assert [float(t) for _, t in leaked] == [1.5, 0.75, 2.25]
    assert lg.ones(1).mul(leaked[1][1]).item() == 0.75


def test_an_argument_that_has_no_hash_is_told_of():
    compiled = lg.compile(lambda x, how=None: x * len(how), static_argnames="how")
    with pytest.warns(UserWarning, match="has no hash"):
        assert compiled(lg.ones(1), how=[1, 2]).item() == 2
    assert compiled(lg.ones(1), how=(1, 2, 3)).item() == 3
    assert compiled.cache_info() == (0, 1, 1, 1)


@pytest.mark.parametrize("made", [None, 3, "text", 2.5, (), {"a": 1}, lg.float32])
def test_results_that_are_no_tensors(made):
    compiled = lg.compile(lambda x: (x + 1, made))
    for _ in range(3):
        y, rest = compiled(lg.ones(1))
        assert y.item() == 2 and rest == made
    assert compiled.cache_info().hits == 2


def test_results_that_would_be_shared_objects_are_told_of():
    compiled = lg.compile(lambda x: (x, [object()][0]))
    with pytest.warns(UserWarning, match="neither a tensor nor a plain value"):
        compiled(lg.ones(1))
    assert compiled(lg.ones(1))[1] is not compiled(lg.ones(1))[1]


# -- what may change ---------------------------------------------------------------------------------
def test_arguments_that_are_none_at_times():
    compiled = lg.compile(
        lambda x, y=None, more=(): x * 2 if y is None else x * y + sum(z for z in more if z is not None)
    )
    x, y = lg.full((2,), 3.0), lg.full((2,), 5.0)
    for _ in range(2):
        assert compiled(x).tolist() == compiled(x, None).tolist() == [6.0, 6.0]
        assert compiled(x, y).tolist() == [15.0, 15.0]
        assert compiled(x, y, more=(None, y)).tolist() == [20.0, 20.0]
        assert compiled(x, y, more=[y, None]).tolist() == [20.0, 20.0]
    assert compiled.cache_info().programs == 5


def test_parameters_and_modules_that_are_registered_anew():
    model = lg.nn.Sequential(lg.nn.Linear(1, 1, bias=False), lg.nn.Identity())
    compiled = lg.compile(model)

    def weight(value):
        return lg.nn.Parameter(lg.full((1, 1), value))

    def again(value):
        del model[0].weight
        model[0].register_parameter("weight", weight(value))

    def layer(value):
        model[0] = lg.nn.Linear(1, 1, bias=False)
        model[0].weight = weight(value)

    def entry(value):
        model[0]._parameters["weight"] = weight(value)

    def unseen(value):
        model[0].__dict__["weight"] = weight(value)

    def doubled(value):
        model[1] = lg.nn.Threshold(0.0, 0.0)
        model[0].weight.data = lg.full((1, 1), value)

    for value, change in enumerate((again, layer, entry, unseen, doubled, again), 2):
        change(float(value))
        assert compiled(lg.ones(1, 1)).item() == compiled(lg.ones(1, 1)).item() == value


class _Slotted:
    __slots__ = ("flag",)


def _changes():
    """Pairs of a function of no arguments and what changes its answer."""
    table, names, flags = {"a": True}, {"x"}, collections.OrderedDict(a=True)
    space, slotted, queue = types.SimpleNamespace(fast=True), _Slotted(), collections.deque([1])
    slotted.flag = 1
    numbered = {1: True}

    def rename(holder, old, new):
        holder[new] = holder.pop(old)

    return {
        "a key": (lambda: "a" in table, lambda: rename(table, "a", "b")),
        "a key in order": (lambda: "a" in flags, lambda: rename(flags, "a", "b")),
        "a key that is no name": (lambda: 1 in numbered, lambda: rename(numbered, 1, 2)),
        "a set": (lambda: "x" in names, lambda: (names.clear(), names.add("y"))),
        "an attribute's name": (lambda: hasattr(space, "fast"), lambda: rename(vars(space), "fast", "slow")),
        "a slot": (lambda: slotted.flag is True, lambda: setattr(slotted, "flag", True)),
        "a queue": (lambda: len(queue) == 1, lambda: queue.append(2)),
    }


@pytest.mark.parametrize("name", _changes())
def test_no_change_is_overlooked(name):
    ask, change = _changes()[name]
    compiled = lg.compile(lambda x: x * (2 if ask() else 3))
    first = compiled(lg.ones(1)).item()
    assert compiled(lg.ones(1)).item() == first
    change()
    assert compiled(lg.ones(1)).item() == compiled(lg.ones(1)).item() == 5 - first


def test_what_keeps_changing_is_told_of():
    """An integer that counts outside: a program for each would be slower than none."""
    holder = {"step": 0}
    compiled = lg.compile(lambda x: x * holder["step"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for k in range(30):
            holder["step"] = k
            assert compiled(lg.ones(1)).item() == k
    assert len(told) == 1 and "others in nearly every call" in str(told[0].message)
    assert compiled.cache_info().misses < 12 and compiled.cache_info().eager > 15


@pytest.mark.parametrize("pair", [(1, True), (0, False), (0.0, -0.0), (1, 1.0), (0j, -0j), ("1", b"1")])
def test_equal_values_of_other_kinds_are_others(pair):
    """As an argument, as one that is static, and as something that is reached."""
    holder = {}

    def shown(value):
        return float(sum(map(ord, repr(value))) % 97)

    by_argument = lg.compile(lambda x, k: x * shown(k))
    by_name = lg.compile(lambda x, k: x * shown(k), static_argnames="k")
    by_reach = lg.compile(lambda x: x * shown(holder["k"]))
    for k in (*pair, *pair):
        holder["k"] = k
        assert by_argument(lg.ones(1), k).item() == shown(k)
        assert by_name(lg.ones(1), k=k).item() == shown(k)
        assert by_reach(lg.ones(1)).item() == shown(k)


def test_weights_of_draws_are_read():
    def picked(x, weights):
        return x[lg.multinomial(weights, 4, True)]

    compiled = lg.compile(picked)
    x, weights = lg.arange(5.0), lg.tensor([0.1, 0.2, 0.0, 0.3, 0.4])
    lg.manual_seed(1)
    with pytest.warns(UserWarning, match="runs as it is, since a value was read"):
        first = compiled(x, weights)
    lg.manual_seed(1)
    assert picked(x, weights).tolist() == first.tolist()
    assert compiled.cache_info().programs == 0


# -- classes, modules and arrays of others -----------------------------------------------------------
GAIN = 2


class _Base:
    shift = 1

    def shifted(self, x):
        return x + self.shift


class _Model(lg.nn.Module, _Base):
    scale = 3

    def forward(self, x):
        return self.shifted(x) * GAIN * self.scale

    def unasked(self):
        return COUNT

    @property
    def gain(self):
        return GAIN

    @staticmethod
    def fixed():
        return GAIN

    @classmethod
    def of_all(cls):
        return cls.scale * GAIN


class _Halved(lg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / GAIN

    @staticmethod
    def backward(ctx, g):
        return g / GAIN


COUNT = 0
_MODEL, _LOCAL, _VARIABLE = _Model(), threading.local(), contextvars.ContextVar("_VARIABLE", default=2)
_LOCAL.gain = 2
_ARRAY, _PICTURE = np.full((1,), 2.0, np.float32), np.full((300, 300), 2.0, np.float32)
_PACKAGE = types.ModuleType("_package_of_a_user")
_PACKAGE.part = types.ModuleType("_package_of_a_user.part")
_PACKAGE.part.gain = 2


def _by_name(x):
    return x * getattr(_MODEL, "of" + "_all")()


def _imports(x):
    import _package_of_a_user

    return x * _package_of_a_user.part.gain


def _in_a_loop(x):
    return lg.func.fori_loop(0, 3, lambda i, carried: carried * _ARRAY, x)


#: What a function asks for, and what changes it: (owner, name, another value).
_FAR = {
    "a global of a method": (lambda x: _MODEL(x), globals(), "GAIN", 5),
    "a module itself": (_MODEL, globals(), "GAIN", 5),
    "an attribute of a class": (lambda x: _MODEL(x), _Model, "scale", 5),
    "an attribute of a base class": (lambda x: _MODEL(x), _Base, "shift", 5),
    "a method": (lambda x: _MODEL(x), _Model, "forward", lambda self, x: x - 1),
    "a method of a base class": (lambda x: _MODEL(x), _Base, "shifted", lambda self, x: x - 1),
    "a method that comes first": (lambda x: _MODEL(x), _Model, "shifted", lambda self, x: x - 1),
    "a property": (lambda x: x * _MODEL.gain, globals(), "GAIN", 5),
    "a static method": (lambda x: x * _Model.fixed(), globals(), "GAIN", 5),
    "a class method": (lambda x: x * _MODEL.of_all(), _Model, "scale", 5),
    "a method by its name": (_by_name, globals(), "GAIN", 5),
    "a rule of one's own": (lambda x: _Halved.apply(x), globals(), "GAIN", 5),
    "a module in a module": (lambda x: x * _PACKAGE.part.gain, _PACKAGE.part, "gain", 5),
    "a module that is imported inside": (_imports, _PACKAGE.part, "gain", 5),
    "a variable of a context": (lambda x: x * _VARIABLE.get(), _VARIABLE, None, 5),
    "a variable of a thread": (lambda x: x * _LOCAL.gain, _LOCAL, "gain", 5),
    "an array": (lambda x: x * _ARRAY, _ARRAY, ..., 5),
    "an array on the left": (lambda x: _ARRAY * x, _ARRAY, ..., 5),
    "a large array": (lambda x: (x * _PICTURE).sum(), _PICTURE, ..., 5),
    "an element of an array": (lambda x: x * float(_ARRAY[0]), _ARRAY, ..., 5),
    "what an array decides": (lambda x: -x if _ARRAY.sum() > 3 else x, _ARRAY, ..., 5),
    "an array in a loop": (_in_a_loop, _ARRAY, ..., 5),
}


@pytest.mark.parametrize("name", _FAR)
def test_no_change_far_away_is_overlooked(name, monkeypatch):
    function, owner, place, value = _FAR[name]
    monkeypatch.setitem(sys.modules, "_package_of_a_user", _PACKAGE)
    compiled, x = lg.compile(function), lg.full((1,), 3.0)
    first = compiled(x).tolist()
    assert compiled(x).tolist() == first == function(x).tolist()
    assert compiled.cache_info().hits == 1
    undo = None
    if isinstance(owner, dict):
        monkeypatch.setitem(owner, place, value)
    elif place is None:
        undo = owner.set(value)
    elif isinstance(owner, np.ndarray):
        owner[...] = value
    else:
        monkeypatch.setattr(owner, place, value, raising=False)
    try:
        expected = function(x).tolist()
        assert compiled(x).tolist() == compiled(x).tolist() == expected != first
    finally:
        if undo is not None:
            owner.reset(undo)
        if isinstance(owner, np.ndarray):
            owner[...] = 2


def test_what_nobody_asks_for_may_change(monkeypatch):
    """A member whose name no code asks for, and an array that every run reads."""
    compiled, x = lg.compile(lambda x: _MODEL(x) * lg.asarray(_ARRAY)), lg.ones(1)
    for k in range(5):
        monkeypatch.setitem(globals(), "COUNT", k)
        _ARRAY[0] = k
        assert compiled(x).item() == 12 * k
    _ARRAY[0] = 2
    assert compiled.cache_info().misses == 1


def test_an_array_that_is_written_inside():
    counter = np.zeros(1)

    def function(x):
        counter[0] += 1
        return x * float(counter[0])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = lg.compile(function)
        assert [compiled(lg.ones(())).item() for _ in range(4)] == [1, 2, 3, 4]
