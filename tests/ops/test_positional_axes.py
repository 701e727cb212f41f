"""Where NumPy or PyTorch take an axis by position, so do we, and it means the same.

Nothing is listed: every public function that another library has, too, and that takes ``axis`` or ``dim`` there by
position, is called in both ways.
"""

import importlib.util
import inspect

import numpy as np
import pytest

import lucidgrad as lg
import lucidgrad.nn.functional as F
from lucidgrad.core.primitive import registry
from lucidgrad.spelling import FAMILIES, REQUIRED

HOMES = {"": lg, "linalg": lg.linalg, "fft": lg.fft, "special": lg.special, "nn.functional": F}
TORCH = importlib.util.find_spec("torch") is not None
AXES, _ = FAMILIES
#: Functions of one array that must be told an axis, and nothing else.
NEEDED = [
    name
    for name, p in registry.items()
    if len(p.arrays) == 1 and [k in AXES for k, value in p.keywords.items() if value is REQUIRED] == [True]
]
#: Arguments before the axis: of most functions none, else a size, a number of times or an index.
BEFORE = [(), (2,)]


def peers(path):
    found = []
    for library in ("numpy", "torch") if TORCH else ("numpy",):
        home = importlib.import_module(library)
        for part in path.split(".") if path else ():
            home = getattr(home, part, None)
        if home is not None:
            found.append((library, home))
    return found


def result(f, *args, **keywords):
    """All numbers of a result, or None where the call is not one."""
    try:
        y = f(*args, **keywords)
    except Exception:  # any library's, and whatever it raises
        return None
    parts = y if isinstance(y, (tuple, list)) else (y,)
    try:
        return [np.asarray(p.detach() if hasattr(p, "detach") else p) for p in parts]
    except (TypeError, ValueError, RuntimeError):
        return None


def same(a, b):
    return len(a) == len(b) and all(x.shape == y.shape and np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b))


def calls():
    """(path, name, arguments before the axis, library): what another library takes by position."""
    for path, home in HOMES.items():
        for library, theirs in peers(path):
            for name in sorted(set(dir(home)) & set(dir(theirs))):
                f, other = getattr(home, name), getattr(theirs, name)
                if name.startswith("_") or not callable(f) or inspect.isclass(f) or not callable(other):
                    continue
                yield from ((path, name, before, library) for before in BEFORE if by_position(library, other, before))


def matrix(library=None):
    made = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 2.5], [0.0, 0.0, 0.0]])
    if library == "torch":
        return importlib.import_module("torch").tensor(made)
    return made if library == "numpy" else lg.tensor(made)


def by_position(library, f, before):
    word = "axis" if library == "numpy" else "dim"
    x = matrix(library)
    for words in (word, word.replace("axis", "axes") if library == "numpy" else "dims"):
        named, other = result(f, x, *before, **{words: 0}), result(f, x, *before, **{words: 1})
        placed = result(f, x, *before, 1)
        if named and other and placed and same(placed, other) and not same(placed, named):
            return True
    return False


@pytest.mark.parametrize(("path", "name", "before", "library"), list(calls()))
def test_axis_by_position(path, name, before, library):
    f, x = getattr(HOMES[path], name), matrix()
    named = next(filter(None, (result(f, x, *before, **{w: 1}) for w in ("axis", "dim", "axes", "dims"))), None)
    if named is None or name == "stack":
        pytest.skip("another function of this name, or one of a sequence")
    placed = result(f, x, *before, 1)
    assert placed, "the axis by position"
    assert same(placed, named)


def test_there_are_many():
    found = {name for _, name, _, _ in calls()}
    assert {"sum", "prod", "mean", "std", "var", "max", "min", "argmax", "all", "any", "cumsum", "sort", "fft"} <= found
    assert len(found) > 30


def test_the_standards_keywords_still_work():
    x = matrix()
    assert lg.sum(x, axis=1, keepdims=True).shape == (3, 1)
    assert lg.std(x, 0, correction=1).shape == lg.sum(x, 0, dtype=lg.float32).shape == (3,)
    assert lg.amax(x, 1).tolist() == [3.0, 4.0, 0.0]
    assert lg.amin(x, 1).tolist() == [1.0, 0.0, 0.0]
    assert lg.stack([x, x], 1).shape == lg.concat([x[:, None], x[:, None]], 1).shape == (3, 2, 3)


@pytest.mark.parametrize("name", NEEDED)
def test_what_must_be_given_may_be_spelled_as_in_pytorch(name):
    p = registry[name]
    (k,) = [k for k in AXES if p.keywords.get(k) is REQUIRED]
    x = lg.asarray([[1.0, 3.0], [2.0, 0.5]], dtype=lg.complex64 if name == "dft" else lg.float32)
    value = (1, 0) if k == "axes" or name == "dft" else 1
    for made in (p.op(x, **{name: value}) for name in AXES):
        assert made.tolist() == (p.op(x, value) if k in p.positional else made).tolist()
    with pytest.raises(TypeError, match=f"{name}.. misses the argument '{k}'"):
        p.op(x)
