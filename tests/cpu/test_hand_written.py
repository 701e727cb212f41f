"""Hand-written C kernels against NumPy's: values, special values, threads, and what C does not take."""

import hand_written
import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.backends.cpu.compiled import library, puts, rows, steps, threads, windows
from lucidgrad.backends.cpu.kernels import steps as kernels_steps
from lucidgrad.ops.losses import cross_entropy_rows
from lucidgrad.ops.steps import adam_step, sgd_step


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("family", hand_written.FAMILIES)
def test_values(family, dtype):
    assert hand_written.disagreement(family, dtype) is None


@pytest.mark.parametrize("family", hand_written.FAMILIES)
def test_results_do_not_depend_on_the_number_of_threads(family):
    calls = hand_written.calls(family, "float32")
    for name, args, keywords in calls[:: max(1, len(calls) // 40)]:
        one, three = (hand_written.run(name, args, keywords, True, count) for count in (1, 3))
        for a, b in zip(one, three, strict=True):
            assert a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_results_have_the_bits_of_small_ones(dtype, monkeypatch):
    """They are written past the caches, a vector at a time."""
    taken, get = set(), library.Library.get
    monkeypatch.setattr(library.Library, "get", lambda self, name, kind: (taken.add(name), get(self, name, kind))[1])
    for family in ("softmax", "normalisation", "sums"):
        for name, args, keywords in hand_written.calls(family, dtype):
            results = []
            for least in (0, 1 << 60):
                monkeypatch.setattr(rows, "STREAMED", least)
                results.append([r.tobytes() for r in hand_written.run(name, args, keywords, True)])
            assert results[0] == results[1], name
    assert taken >= {f"{name}_streamed" for name in rows._STREAMING}


@pytest.mark.parametrize("family", hand_written.FAMILIES)
def test_c_is_what_runs(family, monkeypatch):
    ran = []
    usual = library.run
    for module in [library, *(m for m in hand_written.MODULES.values() if hasattr(m, "run"))]:
        monkeypatch.setattr(module, "run", lambda *args: (ran.append(args), usual(*args))[1])
    taken = 0
    calls = hand_written.calls(family, "float64")
    for name, args, keywords in calls:
        ran.clear()
        hand_written.run(name, args, keywords, True)
        taken += bool(ran)
        ran.clear()
        hand_written.run(name, args, keywords, False)
        assert not ran
    assert taken > 0.5 * len(calls)


def test_a_fault_is_noticed():
    """One for each source; the program of `hand_written` plants them all."""
    for name, ((family, old, new, after), *_) in hand_written.FAULTS.items():
        assert not hand_written.survives(name, family, old, new, after), old


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "sum", "mean", "var", "standardise"])
def test_empty_arrays_and_other_dtypes_are_for_numpy(name):
    for x in (np.zeros((0, 5), "f"), np.zeros((3, 4), "e"), np.zeros((3, 4), ">f8"), np.zeros((6, 4), "f")[::2]):
        keywords = {"axis": -1}
        a, b = (hand_written.run(name, (x,), keywords, wanted) for wanted in (True, False))
        assert hand_written.agree(name, a, b)


@pytest.mark.parametrize("axis", [2, -3, (1, 2), (1, 1)])
def test_axes_that_large_arrays_do_not_have(axis):
    for function in (lg.any, lg.logsumexp, lg.var, lg.std, lg.sum, lg.mean, lg.amax):
        errors = []
        for shape in ((2, 3), (400, 300)):
            with pytest.raises((IndexError, ValueError)) as caught:
                function(lg.ones(shape), axis=axis)
            errors.append(caught.type)
        assert errors[0] is errors[1], function


def test_a_class_that_does_not_exist():
    x = lg.zeros((300, 10))
    with pytest.raises(IndexError, match="class number 10 is out of range for 10 classes"):
        cross_entropy_rows(x, lg.asarray(np.full(300, 10)))
    assert x.size >= rows.WORTH


def test_views_are_copied_where_that_pays():
    h, s = np.broadcast_to(np.float32(2), (60, 30)), np.full((60, 30), 1 / 30, "f")
    assert np.abs(hand_written.run("softmax_pull", (h, s), {"axis": -1}, True)[0]).max() < 1e-6
    rows_alike, places = np.broadcast_to(np.float32(2), (60, 30)), np.arange(60) % 7  # a sum's gradient
    made = puts.put_rows(rows_alike, places, 7)
    assert made is not None and (made == 2 * np.bincount(places)[:, None]).all()


def test_long_rows_keep_their_precision():
    """The sum is off by 3e-7 where C is vectorised, 2e-6 where it is not (under sanitizers), and 1e-4 without parts."""
    x = np.full((2, 3_000_001), 0.1, "f")
    y = hand_written.run("sum", (x,), {"axis": 1}, True)[0]
    np.testing.assert_allclose(y, np.float64(x[0, 0]) * x.shape[1], 1e-5)
    x[:, 0] += 2  # ones would add up exactly
    np.testing.assert_allclose(hand_written.run("softmax", (x,), {"axis": 1}, True)[0].sum(1, "d"), 1, 1e-5)


def test_powers_are_right_to_the_smallest_numbers():
    below = np.concatenate([np.linspace(0, 110, 200_001), np.linspace(86, 104, 50_001)]).astype("f")
    x = np.stack([np.zeros_like(below), -below], 1)
    y = hand_written.run("softmax", (x,), {"axis": 1}, True)[0][:, 1]
    e = np.exp(-below.astype("d"))
    right = e / (1 + e)
    assert np.max(np.abs(y - right) / np.spacing(right.astype("f")).astype("d")) < 3
    assert y[below > 104].max() == 0 < y[below < 103].min()


def test_a_convolution_with_few_examples_is_divided_by_places():
    source = np.random.default_rng(0)
    x, w = source.standard_normal((1, 3, 40, 50)), source.standard_normal((6, 3, 3, 3))
    steps_ = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    before = threads.get_num_threads()
    results = []
    try:
        for count in (1, 4):
            threads.set_num_threads(count)
            results.append(hand_written.run("convolution", (x, w), steps_, True, count)[0])
    finally:
        threads.set_num_threads(before)
    assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], hand_written.run("convolution", (x, w), steps_, False)[0], 1e-10, 1e-12)


def test_narrow_convolutions_are_for_numpy():
    assert not windows._worth(np.dtype("f"), 5, (100, 1), 1 << 40)
    assert windows._worth(np.dtype("f"), 5, (1, 100), 1 << 40)


# -- steps ---------------------------------------------------------------------------------------
SIZES = ((3,), (7, 5), (20000,))


def _lists(count, dtype):
    source = np.random.default_rng(5)
    lists = [[source.standard_normal(size).astype(dtype) for size in SIZES] for _ in range(count)]
    for values in lists[3:]:
        for array in values:
            np.abs(array, out=array)
    lists[0][0][0], lists[1][0][1] = np.nan, np.inf
    return lists


def _take(step, lists, settings):
    tensors = [[lg.asarray(array.copy()) for array in values] for values in lists]
    step(*tensors, **settings)
    return [x.numpy().tobytes() for values in tensors for x in values]


ADAM = [
    {"weight_decay": decay, "decoupled": decoupled, "maximize": maximize}
    for decay in (0.0, 0.1)
    for decoupled in (False, True)
    for maximize in (False, True)
]
SGD = [
    {"momentum": 0.9, "dampening": damp, "weight_decay": decay, "nesterov": nesterov, "first": first}
    for damp, nesterov in ((0.0, True), (0.3, False))
    for decay in (0.0, 0.1)
    for first in (False, True)
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("step", "count", "settings"),
    [
        *((adam_step, count, {"step": 3, "lr": 0.01, **s}) for s in ADAM[::3] for count in (4, 5)),
        *((sgd_step, 3, {"lr": 0.01, **s}) for s in SGD[::3]),
        (sgd_step, 2, {"lr": 0.01, "maximize": True}),
    ],
)
def test_steps_have_the_bits_of_numpys(step, count, settings, dtype, monkeypatch):
    lists, taken = _lists(count, dtype), []
    monkeypatch.setattr(kernels_steps.TABLE["elementwise_step"], "_caches", {})  # others may have tried without C
    monkeypatch.setattr(steps, "run", lambda *args: (taken.append(1), library.run(*args))[1])
    in_c = _take(step, lists, settings)
    assert taken
    monkeypatch.setattr(steps.CompiledStep, "__call__", lambda *args: False)
    assert in_c == _take(step, lists, settings)


def test_small_steps_are_compiled_after_some_time(monkeypatch):
    monkeypatch.setattr(kernels_steps.TABLE["elementwise_step"], "_caches", {})
    monkeypatch.setattr(steps, "PATIENCE", 3)
    taken = []
    monkeypatch.setattr(steps, "run", lambda *args: (taken.append(1), library.run(*args))[1])
    p, g = lg.ones(4), lg.ones(4)
    counts = []
    for _ in range(4):
        sgd_step([p], [g], lr=0.25)
        counts.append(len(taken))
    assert counts == [0, 0, 1, 2]
    assert p.tolist() == [0.0] * 4


def test_steps_of_views_are_for_numpy():
    whole = lg.zeros((2, 40000))
    sgd_step([whole[:, ::2]], [lg.ones((2, 20000))], lr=1.0)
    assert whole.numpy()[:, ::2].max() == -1
    assert not whole.numpy()[:, 1::2].any()


def test_what_equals_an_axis_is_none():
    """How sums are taken is known by shape and axis, and 1.0 is 1 where things are known by value."""
    x = np.ones((64, 64), "f")
    with hand_written.compiled(True):
        assert rows.sums(x, 1, False) is not None
        with pytest.raises(TypeError):
            rows.sums(x, 1.0, False)
