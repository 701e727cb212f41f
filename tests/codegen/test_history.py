"""A call's kernel does not depend on the calls before it: each is the one that a fresh cache would make.

Nothing is compiled here: kernels are compared as text, with the numbers that they are given.
"""

import math

import catalogue
import numpy as np
import pytest
from samples import COMPLEX, KEYWORDS
from thoroughness import cases, draw

from lucidgrad.backends.codegen import cache
from lucidgrad.backends.cpu.compiled import building, elementwise
from lucidgrad.core import device
from lucidgrad.core.primitive import registry

#: Numbers that are equal but not the same, that no C type holds, and that programs may look at.
NUMBERS = (
    *(0.0, -0.0, 0, False, 1, 1.0, True, -1, -1.0, 2, 2.0, 3, 2.5, 0.5, -0.5, -3, 7, 1e-300, 1e300, 5e-324),
    *(math.nan, float("nan"), math.inf, -math.inf, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 2**64, 10**20),
    *(-(2**70), 2**70, 10**300, 1j, complex(-0.0, 2.0), np.float64(2.5), np.float32(-0.0), np.int64(3), np.bool_(True)),
)
SIZES = (1 << 13, 20_000, (1 << 18) - 1, 1 << 18)
#: Programs that take long to trace.
SLOW = frozenset("beta betaln beta_density gamma_density hurwitz_zeta lower_beta lower_gamma upper_gamma".split())
DTYPES = ("float32", "float64", "bool", "int64", "complex128")


def described(value):
    return type(value).__name__, repr(value)


class Recorder:
    """Stands for compiled kernels: what would have run, as text."""

    def __init__(self):
        self.seen = []

    def made(self, kernel):
        def run(*arguments):
            numbers = [x for x in arguments if not isinstance(x, np.ndarray) and not hasattr(x, "get")]
            self.seen.append((kernel.lines, kernel.arrays, kernel.takes, [described(x) for x in numbers]))
            return [np.zeros(1)] * len(kernel.results)

        return run

    def of(self, call, *args, **keywords):
        self.seen.clear()
        found = call(*args, **keywords)
        return list(self.seen), "rules" if found is None else type(found).__name__


def usual(*xs, **keywords):
    return "usual"


class Host:
    """The CPU's caches."""

    def __init__(self, monkeypatch, recorder):
        def runner(kernel, layout):
            run = recorder.made(kernel)
            return lambda layout, arrays, numbers: run(*arrays, *numbers)

        monkeypatch.setattr(elementwise, "runner", runner)

    def array(self, size, dtype):
        return np.ones(size, dtype)

    def forward(self, primitive):
        return elementwise.forward(primitive, usual)

    def pull(self, recipe, goes):
        return elementwise.pull(recipe, goes)


class Cuda:
    """The GPU's."""

    def __init__(self, monkeypatch, recorder):
        cupy = pytest.importorskip("cupy")
        device.backend_named("cuda")
        from lucidgrad.backends.cuda import generated

        monkeypatch.setattr(generated, "compiled", recorder.made)
        monkeypatch.setattr(generated, "program_of", lambda name: usual)
        self.cupy, self.generated = cupy, generated

    def array(self, size, dtype):
        return self.cupy.ones(4, dtype)

    def forward(self, primitive):
        return self.generated.forward(primitive)

    def pull(self, recipe, goes):
        return self.generated.pull(recipe, goes)


def keywords_of(name, rng):
    """Keywords of which numbers are replaced by others."""
    given = {**registry[name].keywords, **rng.choice(KEYWORDS.get(name, [{}]))}
    swap = [k for k, value in given.items() if type(value) is float]
    return {k: rng.choice(NUMBERS[:23]) if k in swap and rng.random() < 0.7 else v for k, v in given.items()}


def random_call(name, arrays, rng):
    """Arguments with at least one array, and keywords."""
    count, size = len(registry[name].arrays), rng.choice(SIZES)
    dtype = rng.choice(DTYPES[:2] if rng.random() < 0.8 else DTYPES)
    numbers = NUMBERS if name in COMPLEX else [x for x in NUMBERS if not isinstance(x, complex)]
    xs = [arrays[size, dtype] if rng.random() < 0.5 else rng.choice(numbers) for _ in range(count)]
    xs[rng.randrange(count)] = arrays[size, dtype]
    return xs, keywords_of(name, rng), arrays[size, dtype]


@pytest.mark.parametrize("caches", [Host, Cuda])
@pytest.mark.parametrize("name", catalogue.names())
def test_the_kernel_of_a_call_is_that_of_a_fresh_cache(name, caches, monkeypatch):
    if building.why_not() and caches is Host:
        pytest.skip("no compiled kernels")
    primitive, rng, recorder = registry[name], draw(name), Recorder()
    caches = caches(monkeypatch, recorder)
    monkeypatch.setattr(cache, "MOST_KERNELS", math.inf)  # beyond it programs run as they are
    arrays = {(n, d): caches.array(n, d) for n in SIZES for d in DTYPES}
    several = len(primitive.arrays) == 2 or any(type(value) is float for value in primitive.keywords.values())
    old_forward, old_pulls, wrong = caches.forward(primitive), {}, []
    count = cases(4, 12) if not several else cases(6, 24) if name in SLOW else cases(30, 200)
    for _ in range(count):
        xs, keywords, g = random_call(name, arrays, rng)
        found = [recorder.of(kernel, *xs, **keywords) for kernel in (old_forward, caches.forward(primitive))]
        if found[0] != found[1]:
            wrong.append(("forward", xs, keywords, *found))
        wanted = tuple(i for i in primitive.differentiable if xs[i] is g)
        if wanted and g.dtype.kind == "f":
            recipe, goes = primitive.recipe(wanted), tuple(i in wanted for i in range(len(xs)))
            saved = recipe.save(g, xs, keywords, lambda x: arrays[SIZES[0], "float64"])
            old = old_pulls.setdefault(wanted, caches.pull(recipe, goes))
            found = [recorder.of(pull, g, saved, None) for pull in (old, caches.pull(recipe, goes))]
            if found[0] != found[1]:
                wrong.append(("backward", saved, *found))
    assert not wrong, f"{len(wrong)} calls got a kernel of another; the first: {wrong[0]}"
