"""Random functions with loops and choices in each other: compiled as they are, values and derivatives."""

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad.func import cond, fori_loop, grad, jvp, scan, vmap
from tests.thoroughness import cases, draw, seeds


def _made(r, depth):
    """A random function ``(w, x, h) -> h`` of vectors."""
    kinds = ["affine", "mixed", "wave", "shift", "detached"] + ["scan", "cond", "fori", "chain"] * (depth > 0)
    kind, a = r.choice(kinds), r.uniform(0.3, 0.9)
    if kind == "affine":
        return lambda w, x, h: lg.tanh(w @ h + x)
    if kind == "mixed":
        return lambda w, x, h: a * h * x + 0.3
    if kind == "wave":
        return lambda w, x, h: lg.sin(h) * a + x.sum() * 0.1
    if kind == "shift":
        return lambda w, x, h: lg.concat([h[1:], h[:1]]) * a + w[0] * h.max()
    if kind == "detached":
        return lambda w, x, h: h.detach() * x + a * h
    first, second = _made(r, depth - 1), _made(r, depth - 1)
    if kind == "chain":
        return lambda w, x, h: second(w, x, first(w, x, h))
    if kind == "cond":
        by_x = r.random() < 0.5
        return lambda w, x, h: cond(
            (x if by_x else h).sum() > 0, lambda h: first(w, x, h), lambda h: second(w, x, h), h
        )
    length, reverse = r.randint(2, 4), r.random() < 0.5
    if kind == "fori":
        return lambda w, x, h: fori_loop(0, length, lambda i, h: first(w, x * (i + 1), h) * a, h)

    def steps(w, x, h):
        h, ys = scan(
            lambda h, z: (first(w, z, h), second(w, x, h)),
            h,
            lg.stack([x * k for k in range(1, length)]),
            None,
            reverse,
        )
        return h * a + ys.mean(axis=0)

    return steps


def _several(function):
    """Derivatives of both modes and orders, and inside of a map."""
    whole = lambda *given: (function(*given) ** 2).sum()
    return {
        "value": function,
        "reverse": grad(whole, (0, 1, 2)),
        "forward": lambda *given: jvp(function, given, tuple(0.1 * g for g in given)),
        "forward over reverse": lambda *given: jvp(grad(whole, (0, 1, 2)), given, tuple(0.1 * g for g in given)),
        "reverse over reverse": grad(lambda *given: sum((g * g).sum() for g in grad(whole, (0, 1, 2))(*given)), (0, 2)),
        "map": lambda w, x, h: vmap(grad(whole, (0, 2)), (None, None, 0))(w, x, lg.stack([h, h * 0.5])),
    }


def _flat(found):
    return np.concatenate([x.detach().numpy().ravel() for x in lg.func.trees.flatten(found)[0]])


@pytest.mark.parametrize("seed", seeds(15, 400))
def test_random_control_flow(seed):
    r = draw(seed)
    function = _made(r, 2)
    numbers = np.random.default_rng(abs(hash(seed)) % 2**32)
    calls = [[lg.asarray(numbers.normal(size=shape) * 0.6) for shape in ((3, 3), (3,), (3,))] for _ in range(3)]
    for name, ask in _several(function).items():
        for how in ("interpret", *cases((), ("flat", "c"))):
            compiled = lg.compile(ask, options={"backend": how}, fullgraph=True)
            for given in calls:
                np.testing.assert_allclose(
                    _flat(compiled(*given)), _flat(ask(*given)), rtol=1e-8, atol=1e-10, err_msg=f"{name} {how}"
                )
            assert compiled.cache_info().programs == 1
