"""Looking changes no bit, and neither does the way to a kernel: which one runs depends on the operands alone."""

import contextlib
import contextvars
import functools
import zlib

import numpy as np
import pytest
from laws import law
from samples import KEYWORDS, LEVELS, domain_of
from thoroughness import NIGHTLY

import lucidgrad as lg
from lucidgrad import profiler
from lucidgrad.autograd import graph
from lucidgrad.core import modes
from lucidgrad.core.primitive import ELEMENTWISE, registry
from lucidgrad.utils.checkpoint import checkpoint

#: In every run: functions of which a loop in C and NumPy differ in bits, and operations in which they don't.
SOME = ("tanh", "logaddexp", "pow", "softplus", "atan2", "divide", "multiply")
NAMES = sorted(name for name, p in registry.items() if p.kind is ELEMENTWISE and p.differentiable) if NIGHTLY else SOME
SMALL, LARGE, LARGEST = 10, 20_000, 400_000


@functools.cache
def arguments(name, size):
    """NumPy arrays on which a primitive is defined."""
    seed = zlib.crc32(name.encode())
    made = []
    for i in range(len(registry[name].arrays)):
        values = domain_of(name, i).draw((500,), seed + i)
        made.append(np.resize(values[np.random.default_rng(seed).permutation(500)], size))
    return made


def cotangent(size):
    return np.random.default_rng(size).normal(size=size)


def leaves(name, size, where):
    primitive, made = registry[name], []
    for i, a in enumerate(arguments(name, size)):
        t = lg.tensor(a, device=where)
        made.append(t.requires_grad_() if i in primitive.differentiable and a.dtype.kind == "f" else t)
    return made


def gradients(name, size, where, form, observe=None, around=contextlib.nullcontext, wrap=lambda f: f):
    """The bits of a value and of all gradients of ``op(x * 1, ...) ** 2``.

    ``form``: the first operand is stretched, or the last one is a bare array, which compiled operators don't take.
    """
    keywords = KEYWORDS.get(name, [{}])[0]
    xs = leaves(name, size, where)
    if form == "stretched":
        xs[0] = xs[0].detach()[:1].clone().requires_grad_(xs[0].requires_grad)
    bare = [xs.pop().detach().array] if form == "bare" else []

    def function(*inner):
        y = registry[name].op(*inner, *bare, **keywords)
        return y, y * y

    with around():
        inner = [x * 1.0 if x.requires_grad else x for x in xs]
        y, z = wrap(function)(*inner)
        if observe is not None:
            observe(y, inner, xs)
        bits = [y.detach().numpy(force=True).tobytes()]
        g = lg.tensor(cotangent(size), device=where).to(y.dtype)
        del y, inner  # or nothing would be computed again
        z.backward(g)
    return bits + [x.grad.numpy(force=True).tobytes() for x in xs if x.requires_grad]


def changed(name, size, where, options):
    """Which of the options change a bit, and for which form of call."""
    found = []
    forms = ["plain", "stretched"] if len(registry[name].arrays) > 1 else ["plain"]
    forms += ["bare"] if registry[name].differentiable[0] < len(registry[name].arrays) - 1 else []
    for form in forms:
        plain = gradients(name, size, where, form)
        found += [(how, form) for how, more in options.items() if gradients(name, size, where, form, **more) != plain]
    return found


# -- observing -----------------------------------------------------------------------------------
def nothing(*args):
    return None


def look(y, inner, xs):
    repr(y), y.grad_fn, y.grad_fn.next_functions, y.grad_fn.name()


def walk_back(y, inner, xs):
    seen = [y.grad_fn]
    for node in seen:
        node.metadata["seen"] = True
        seen += [found for found, _ in node.next_functions if found is not None]


def hook_tensors(y, inner, xs):
    for t in (y, *inner, *xs):
        if t.requires_grad:
            t.register_hook(nothing)


def hook_nodes(y, inner, xs):
    for node in [y.grad_fn, *(t.grad_fn for t in inner if t.requires_grad)]:
        node.register_hook(nothing)
        node.register_prehook(nothing)


def retain(y, inner, xs):
    for t in (y, *inner):
        if t.requires_grad:
            t.retain_grad()


OBSERVERS = {
    "look": dict(observe=look),
    "walk_back": dict(observe=walk_back),
    "hook_tensors": dict(observe=hook_tensors),
    "hook_nodes": dict(observe=hook_nodes),
    "retain": dict(observe=retain),
    "profiler": dict(around=profiler.profile),
    "anomaly": dict(around=lg.autograd.detect_anomaly),
    "explaining": dict(around=lg.autograd.explaining),
}

#: Ways to keep less, or something else, for backward.
KEEPERS = {
    "budget": dict(around=lambda: lg.autograd.memory_budget(0)),
    "hooks": dict(around=lambda: lg.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)),
    "copies": dict(around=lambda: lg.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)),
    "checkpoint": dict(wrap=lambda f: lambda *xs: checkpoint(f, *xs)),
}

#: Long programs, which take minutes for the largest arrays, all ways together.
SLOW = frozenset(
    "beta_density beta_slope gamma_slope hurwitz_zeta lower_beta lower_gamma upper_beta upper_gamma zeta_slope".split()
)
PLACES = [("cpu", SMALL), ("cpu", LARGE), ("cpu", LARGEST), ("cuda", SMALL)]
EVERYWHERE = [(name, *place) for name in NAMES for place in PLACES if place[1] < LARGEST or name not in SLOW]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "where", "size"), EVERYWHERE)
def test_observing_changes_no_bit(name, where, size):
    assert not changed(name, size, where, OBSERVERS)


@pytest.mark.parametrize(("name", "where", "size"), EVERYWHERE)
def test_what_is_computed_again_is_what_was_kept(name, where, size):
    assert not changed(name, size, where, KEEPERS)


EVERYTHING = [
    name for name in sorted(set(registry) - set(LEVELS)) if registry[name].differentiable or registry[name].joint
]
EVERYTHING = [name for name in EVERYTHING if law.has_samples(registry[name])][:: 1 if NIGHTLY else 6]


def of_sample(primitive, sample, observe=None, around=contextlib.nullcontext, wrap=lambda f: f):
    """The bits of the gradients of one of the samples that every primitive has."""
    args = law.tensors(primitive, sample)
    xs = [args[i] for i in law.wanted(primitive, sample)]

    def function(*some):
        given = dict(zip(law.wanted(primitive, sample), some, strict=True))
        return tuple(law.call(primitive, [given.get(i, a) for i, a in enumerate(args)], sample.keywords))

    with around():
        inner = [x * 1.0 for x in xs]
        ys = law.live(wrap(function)(*inner))
        if not ys:
            return None
        for y in ys:
            if observe is not None:
                observe(y, inner, xs)
        lg.autograd.backward(ys, list(map(lg.tensor, law.seeds_for(ys))))
    return [x.grad.numpy().tobytes() if x.grad is not None else None for x in xs]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", EVERYTHING)
def test_nothing_changes_the_gradients_of_any_primitive(name):
    primitive, found = registry[name], []
    for sample in law.samples_for(name):
        if law.wanted(primitive, sample):
            plain = of_sample(primitive, sample)
            ways = {**OBSERVERS, **KEEPERS}
            found += [(how, str(sample)) for how, more in ways.items() if of_sample(primitive, sample, **more) != plain]
    assert not found


def seen_by_hooks(primitive, sample):
    """What notes, pack hooks and whoever hears of results see of a recorded gradient; and the rules that ran."""
    args, seen, recipes = law.tensors(primitive, sample), [], set()
    xs = [args[i] for i in law.wanted(primitive, sample)]
    hooks = graph.saved_tensors_hooks(lambda t: seen.append(("packed", tuple(t.shape))) or t, lambda t: t)

    def note(node):
        recipes.add(node.recipe)
        seen.append(("new", node.recipe.primitive.name))

    def differentiate():
        modes.told.set(lambda op, *_: seen.append(("made", str(op))))
        with hooks, modes.new_nodes(None, note):
            ys = law.live(law.call(primitive, args, sample.keywords))
            seeds = list(map(lg.tensor, law.seeds_for(ys)))
            if ys:
                lg.autograd.grad(ys, xs, seeds, create_graph=True, allow_unused=True)

    contextvars.copy_context().run(differentiate)
    return seen, recipes


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", EVERYTHING)
def test_hooks_see_the_same_whether_or_not_a_rule_was_tried_before(name):
    primitive = registry[name]
    for sample in law.samples_for(name)[:2]:
        if law.wanted(primitive, sample):
            _, recipes = seen_by_hooks(primitive, sample)
            again, _ = seen_by_hooks(primitive, sample)
            for recipe in recipes:
                recipe.flat = None if recipe.keeps_arrays else False  # as if it had never been asked for
            assert seen_by_hooks(primitive, sample)[0] == again


# -- the way to a kernel -------------------------------------------------------------------------
def ways(name, size):
    """Values of one call that reach the kernel in different ways."""
    keywords, arrays = KEYWORDS.get(name, [{}])[0], arguments(name, size)
    op, xs = registry[name].op, list(map(lg.tensor, arrays))
    yield "off the tape", op(*xs, **keywords)
    yield "on the tape", op(*leaves(name, size, "cpu"), **keywords)
    yield "with an array", op(xs[0], *arrays[1:], **keywords)
    moving = [x for x in xs if x.dtype in (lg.float32, lg.float64)]

    def of(*some):
        rest = iter(some)
        return op(*[next(rest) if x.dtype is lg.float64 else x for x in xs], **keywords)

    yield "forward mode", lg.func.jvp(of, tuple(moving), tuple(map(lg.ones_like, moving)))[0]
    yield "a batch", lg.func.vmap(lambda *parts: op(*parts, **keywords))(*[x.reshape(10, -1) for x in xs]).reshape(-1)
    written = xs[0].clone()
    method = getattr(written, name + "_", None)
    if method is not None and not keywords:
        yield "in place", method(*xs[1:])
        t = (lg.tensor(arrays[0], requires_grad=True) * 1.0).clone()
        yield "in place on the tape", getattr(t, name + "_")(*xs[1:])


@pytest.mark.parametrize("size", [SMALL, LARGE, LARGEST])
@pytest.mark.parametrize("name", NAMES)
def test_every_way_leads_to_one_kernel(name, size):
    (_, first), *others = ways(name, size)
    plain = first.detach().numpy().tobytes()
    assert not [way for way, y in others if y.detach().numpy().tobytes() != plain]


COMMUTATIVE = "add multiply maximum minimum logaddexp hypot equal not_equal".split()
SHAPES = [((), (LARGE,)), ((200,), (100, 200)), ((100, 1), (100, 200)), ((1, 1), (2000, 200)), ((150, 1), (1, 150))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", COMMUTATIVE)
def test_commutative_functions_commute_bit_by_bit(name, shapes, dtype):
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    g = lg.tensor(rng.normal(size=np.broadcast_shapes(*shapes)).astype(dtype))
    found = []
    for swapped in (False, True):
        one, two = (lg.tensor(x, requires_grad=True) for x in (a, b))
        y = getattr(lg, name)(two, one) if swapped else getattr(lg, name)(one, two)
        if y.requires_grad:
            y.backward(g)
        found.append([x.detach().numpy().tobytes() for x in (y, one.grad, two.grad) if x is not None])
    assert found[0] == found[1]
