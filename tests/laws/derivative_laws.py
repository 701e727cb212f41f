"""Laws about derivatives: against differences, against each other, and at the edges."""

import numpy as np
from samples import KINKS, PREPARE, RULES_ONLY, SINGULAR, UNUSED, Sample, domain_of

import lucidgrad as lg
from lucidgrad.core import device, dispatch
from lucidgrad.core.engine import tape_namespace
from lucidgrad.core.primitive import ELEMENTWISE
from lucidgrad.levels import dual

from .law import (
    call,
    close,
    differentiable,
    draw,
    each,
    function,
    gradients,
    host,
    law,
    live,
    seeds_for,
    tensors,
    wanted,
)

CPU = device.backend_named("cpu")

# Central differences with this step are right to about 1e-10, so a factor that is off by 1e-6 shows.
STEP = dict(eps=1e-5, atol=3e-8, rtol=2e-7)


@law(applies=differentiable)
def gradcheck(primitive, samples):
    """First derivatives are what differences say."""
    for sample in each(primitive, samples):
        of, xs = function(primitive, sample)
        lg.autograd.gradcheck(of, xs, check_grad_dtypes=True, **STEP)


@law(applies=differentiable)
def gradgradcheck(primitive, samples):
    """Second derivatives, with respect to inputs and cotangents, are what differences of first ones say."""
    for sample in each(primitive, samples):
        of, xs = function(primitive, sample)
        if live(of(*xs)):
            lg.autograd.gradgradcheck(of, xs, check_grad_dtypes=True, **STEP)


@law(applies=differentiable)
def value_mode_is_graph_mode(primitive, samples):
    """With and without create_graph the gradients are the same numbers."""
    for sample in each(primitive, samples):
        close(gradients(primitive, sample, create_graph=True), gradients(primitive, sample), what=f"{sample}")


# -- forward rules -----------------------------------------------------------------------------------
def _forward_mode(primitive, sample, only=None):
    """Raw values, tangents for the differentiable arguments (or one of them), and the output's tangents."""
    xs = [CPU.asarray(a) if isinstance(a, np.ndarray) else a for a in sample.args]
    places = wanted(primitive, sample) if only is None else [only]
    prepare = PREPARE.get(primitive.name, lambda t: t)
    ts = [prepare(draw(x.shape, x.dtype, 7 + i)) if i in places else None for i, x in enumerate(xs)]
    keywords = {**primitive.keywords, **sample.keywords}
    y = dispatch.compute(primitive, xs, keywords)
    with np.errstate(all="ignore"):
        found = dual.jvp(primitive, CPU.xp, y, xs, ts, keywords)
    return xs, ts, keywords, _tuple(y), _tuple(found)


def _tuple(y):
    return y if isinstance(y, tuple) else (y,)


def _inner(a, b):
    """The real inner product, complex numbers being pairs of real ones."""
    return float(np.sum(np.real(np.conj(a) * b)))


@law(applies=differentiable)
def adjoint(primitive, samples):
    """The forward and the backward rule are transposes: <J t, g> = <t, J^T g>."""
    for sample in each(primitive, samples):
        outputs = call(primitive, tensors(primitive, sample), sample.keywords)
        if not live(outputs):
            continue
        for only in (None, *wanted(primitive, sample)):
            _, ts, _, ys, found = _forward_mode(primitive, sample, only)
            seeds = [draw(y.shape, y.dtype, 3 + k) for k, y in enumerate(ys) if np.asarray(y).dtype.kind in "fc"]
            slopes = gradients(primitive, sample, seeds=seeds)
            forth = sum(
                _inner(g, t) for g, t in zip(seeds, [t for t in found if np.asarray(t).dtype.kind in "fc"], strict=True)
            )
            back = sum(
                _inner(g, ts[i]) for i, g in zip(wanted(primitive, sample), slopes, strict=True) if ts[i] is not None
            )
            np.testing.assert_allclose(forth, back, rtol=1e-9, atol=1e-10, err_msg=f"{sample} input {only}")


@law(applies=differentiable)
def jvp_is_finite_difference(primitive, samples):
    """The forward rule gives the slope along its tangent."""
    for sample in each(primitive, samples):
        xs, ts, keywords, ys, found = _forward_mode(primitive, sample)

        def moved(step, xs=xs, ts=ts, keywords=keywords):
            args = [x if t is None else x + step * t for x, t in zip(xs, ts, strict=True)]
            with np.errstate(all="ignore"):
                return [np.asarray(y) for y in _tuple(dispatch.compute(primitive, args, keywords))]

        for y, t, expected in zip(ys, found, _slopes(moved), strict=True):
            y, t = np.asarray(y), np.asarray(t)
            assert t.dtype == y.dtype
            if y.dtype.kind in "fc":
                known = np.isfinite(y)
                close(t[known], expected[known], rtol=2e-8, atol=2e-9, what=f"{sample}")


def _slopes(moved, h=1e-4):
    """Central differences in which the terms in h² cancel (Richardson)."""
    for y2, y1, z1, z2 in zip(moved(h), moved(h / 2), moved(-h / 2), moved(-h), strict=True):
        yield (8 * (y1 - z1) - (y2 - z2)) / (6 * h) if y1.dtype.kind in "fc" else None


@law(applies=differentiable)
def jvp_has_derivatives(primitive, samples):
    """On the tape the forward rule is differentiable in its turn, with respect to inputs and tangents."""
    for sample in each(primitive, samples)[:2]:
        _, xs = function(primitive, sample)
        places = wanted(primitive, sample)
        keywords = {**primitive.keywords, **sample.keywords}
        ts = [lg.tensor(draw(x.shape, x.dtype, 7), requires_grad=True) for x in xs]
        args = tensors(primitive, sample, requires_grad=False)

        def tangents(*both, args=args, places=places, keywords=keywords):
            full, moved, prepare = list(args), [None] * len(args), PREPARE.get(primitive.name, lambda x: x)
            for i, x, t in zip(places, both[: len(places)], both[len(places) :], strict=True):
                full[i], moved[i] = prepare(x), prepare(t)
            y = primitive.op(*full, **keywords)
            return dual.jvp(primitive, tape_namespace, y, full, moved, keywords)

        lg.autograd.gradcheck(tangents, (*xs, *ts), fast_mode=True, **STEP)


@law(applies=differentiable)
def gradients_have_tangents(primitive, samples):
    """Forward over reverse is reverse over reverse, since Hessians are symmetric."""
    for sample in each(primitive, samples)[:2]:
        of, xs = function(primitive, sample)
        if any(x.dtype in dispatch.complexes for x in xs):
            continue

        def loss(*xs, of=of):
            ys = [y for y in of(*xs) if lg.isdtype(y.dtype, "real floating")]
            start = sum(0 * x.sum() for x in xs)  # a complex output alone does not count
            return sum(((y * lg.asarray(g)).sum() for y, g in zip(ys, seeds_for(ys), strict=True)), start)

        ts = [lg.asarray(draw(x.shape, x.dtype, 7)) for x in xs]
        found = lg.func.jvp(lg.func.grad(loss, tuple(range(len(xs)))), tuple(x.detach() for x in xs), tuple(ts))[1]
        slopes = lg.autograd.grad(loss(*xs), xs, create_graph=True)
        along = sum((g * t).sum() for g, t in zip(slopes, ts, strict=True))
        expected = lg.autograd.grad(along, xs, materialize_grads=True)
        close([host(t) for t in found], [host(g) for g in expected], rtol=1e-8, atol=1e-9, what=f"{sample}")


# -- kinks -------------------------------------------------------------------------------------------
#: Where functions tend to have kinks, poles and edges of their domains.
EDGES = np.array([-1e3, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 1e3])


@law(applies=lambda primitive: differentiable(primitive) and (primitive.kind is ELEMENTWISE or primitive.name in KINKS))
def finite_at_kinks(primitive, samples):
    """Subgradients are the documented ones; where the value is finite, so is the gradient; zeros stay zeros."""
    if (primitive.name in KINKS or primitive.name in SINGULAR) and primitive.name not in RULES_ONLY:
        words = primitive.op.__doc__.partition("Examples")[0].lower()
        assert "derivative" in words or "gradient" in words, (
            f"{primitive.name}: the docstring says nothing of its kinks"
        )
    for args, keywords, expected in KINKS.get(primitive.name, ()):
        sample = Sample(tuple(np.asarray(a, dtype="float64") if isinstance(a, list) else a for a in args), keywords)
        args = tensors(primitive, sample)
        outputs = call(primitive, args, keywords)
        xs = [args[i] for i in wanted(primitive, sample)]
        ones = [lg.ones_like(y) for y in outputs]
        for graph in (False, True):
            found = lg.autograd.grad(outputs, xs, ones, retain_graph=True, create_graph=graph, materialize_grads=True)
            close([host(g) for g in found], [np.asarray(e, dtype="float64") for e in expected], what=f"{sample}")
    if primitive.kind is ELEMENTWISE and domain_of(primitive.name).kind == "f":
        _check_edges(primitive, samples[0])


def _check_edges(primitive, first):
    count = len(first.arrays())
    grid = np.meshgrid(*[EDGES] * count, indexing="ij")
    arrays = iter([g.ravel() for g in grid])
    sample = Sample(tuple(next(arrays) if isinstance(a, np.ndarray) else a for a in first.args), first.keywords)
    with np.errstate(all="ignore"):
        args = tensors(primitive, sample)
        (y,) = call(primitive, args, sample.keywords)
    if not y.requires_grad:
        return
    xs = [args[i] for i in wanted(primitive, sample)]
    finite = np.isfinite(host(y))
    for k, g in enumerate(lg.autograd.grad(y, xs, lg.ones_like(y), retain_graph=True, materialize_grads=True)):
        known = SINGULAR.get(primitive.name, lambda *point: False)
        points = [p for p in _points(sample, finite & ~np.isfinite(host(g))) if not known(*p)]
        assert not points, f"the gradient of input {k} is not finite at {points[:5]}"
    # A cotangent of zero says that the value is not used: nothing comes of it, whatever the derivatives are.
    seed, (spoilt, _) = lg.zeros_like(y), UNUSED.get(primitive.name, (lambda *point: False, ""))
    found = ()
    for order in (1, 2):
        outputs = [y] if order == 1 else [g for g in found if g.requires_grad]
        if not outputs:
            break
        seeds = [seed] if order == 1 else [lg.ones_like(g) for g in outputs]
        found = lg.autograd.grad(outputs, xs, seeds, create_graph=True, materialize_grads=True)
        for k, g in enumerate(found):
            points = [p for p in _points(sample, host(g) != 0) if not spoilt(*p)]
            assert not points, f"order {order}: an unused value gives input {k} a gradient at {points[:5]}"


def _points(sample, chosen):
    return sorted({tuple(float(a[i]) for a in sample.arrays()) for i in np.flatnonzero(chosen)})
