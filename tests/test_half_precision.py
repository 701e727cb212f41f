"""Sixteen bits hold numbers; float32 computes with them: results and gradients are float32's, rounded once.

The reference is the same call in float32, on the same device, with the values that the 16-bit inputs have. What is
found may be one unit in the last place of the 16-bit dtype away from it, and, as sums may run in another order, 2e-5 of
the largest element. Where float32 overflows 16 bits the result is infinite, in both. Cotangents are 16-bit numbers.
"""

import inspect
import itertools
import zlib

import numpy as np
import pytest
from golden import peer
from samples import LEVELS, samples_of
from thoroughness import NIGHTLY, cases

import lucidgrad as lg
from lucidgrad.core.primitive import ELEMENTWISE, registry

F = lg.nn.functional
SIZES = (10, 1000, 100_000)
MAGNITUDES = (1e-4, 1.0, 300.0, 6e4)
WAYS = [("cpu", "float16"), ("cpu", "bfloat16"), ("cuda", "float16")]  # CUDA refuses bfloat16


@pytest.fixture(params=WAYS, ids=["-".join(way) for way in WAYS])
def way(request):
    device, dtype = request.param
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return device, getattr(lg, dtype)


# -- comparison ----------------------------------------------------------------------------------
def rounded(array, dtype):
    """The values, in float32, that a 16-bit dtype has for an array."""
    with np.errstate(all="ignore"):
        return np.asarray(array, "float32").astype(dtype).astype("float32")


def unit(values, dtype):
    """One unit in the last place of a 16-bit dtype, at these values."""
    limits = lg.finfo(dtype)
    size = np.maximum(np.abs(values), np.float32(limits.smallest_normal))
    return np.float64(limits.eps) * np.exp2(np.floor(np.log2(size)))


def compare(what, found, exact, dtype, steps=1):
    """Whether values of a 16-bit dtype are the rounded ones of float32.

    Two ``steps``: what the second one adds up is rounded, too, and is no larger than the largest element.
    """
    assert found.dtype == dtype, f"{what}: {found.dtype}, expected {dtype}"
    found = np.array(found.detach().to("cpu").to(lg.float32).numpy())
    exact = np.array(exact.detach().numpy(force=True))
    assert found.shape == exact.shape, what
    with np.errstate(all="ignore"):
        expected = rounded(exact, dtype)
        finite = np.isfinite(expected) & np.isfinite(found)
        largest = np.max(np.abs(exact), where=finite, initial=0)
        allowed = 1.001 * unit(exact, dtype) + 2e-5 * largest + (steps - 1) * unit(largest, dtype)
        far = np.abs(found.astype("float64") - exact) > allowed
        parts = (steps - 1) * np.max(np.abs(exact), where=np.abs(exact) < np.inf, initial=0)
        border = np.abs(exact) + parts >= 0.999 * float(lg.finfo(dtype).max)  # rounds either way
        other = ~finite & ~((found == expected) | (np.isnan(found) & np.isnan(expected))) & ~border
    wrong = (far & finite) | other
    if wrong.any():
        at = np.unravel_index(np.argmax(wrong), wrong.shape)
        example = f"{found[at]} for {exact[at]} at {list(map(int, at))}"
        raise AssertionError(f"{what}: {wrong.sum()} of {wrong.size} values, e.g. {example}")


def flat(y):
    """The floating-point tensors of a result."""
    parts = y if isinstance(y, (tuple, list)) else (y,)
    return [p for p in parts if isinstance(p, lg.Tensor) and p.is_floating_point()]


def run(function, arrays, seeds, dtype, device):
    """Results and gradients: arrays have values that a 16-bit dtype has."""

    def tensor(a):
        if not isinstance(a, np.ndarray):
            return a
        made = lg.asarray(a, device=device) if a.dtype.kind != "f" else lg.asarray(a).to(dtype).to(device)
        return made.requires_grad_() if a.dtype.kind == "f" else made

    xs = [tensor(a) for a in arrays]
    ys = flat(function(*xs))
    leaves = [x for x in xs if isinstance(x, lg.Tensor) and x.requires_grad]
    ends = [y for y in ys if y.requires_grad]
    if not ends or not leaves:
        return ys, []
    made = [lg.asarray(seeds(y.shape, k)).to(y.dtype).to(device) for k, y in enumerate(ends)]
    return ys, lg.autograd.grad(ends, leaves, made, materialize_grads=True)


def check(what, function, arrays, way):
    device, dtype = way
    steps = 2 if what.split("(")[0].split(",")[0] in TWO_STEPS else 1
    arrays = [rounded(a, dtype) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in arrays]

    def seeds(shape, k):
        rng = np.random.default_rng([k, *shape])
        return rounded(rng.uniform(0.5, 1.5, shape) * rng.choice([1, 1, -1], shape), dtype)

    with np.errstate(all="ignore"):
        exact, slopes = run(function, arrays, seeds, lg.float32, device)
        found, pulls = run(function, arrays, seeds, dtype, device)
    assert len(found) == len(exact) and len(pulls) == len(slopes), what
    for k, (a, b) in enumerate(zip(found, exact, strict=True)):
        compare(f"{what}, result {k}", a, b, dtype, steps)
    for k, (a, b) in enumerate(zip(pulls, slopes, strict=True)):
        compare(f"{what}, gradient {k}", a, b, dtype, steps)


def failures(cases):
    """Check all; raise with what is wrong."""
    wrong = []
    for what, function, arrays, way in cases:
        try:
            check(what, function, arrays, way)
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:12])


#: Made of two functions that each round, on purpose: products in 16 bits are quicker, tables in float32 are large.
TWO_STEPS = {
    "matmul": "the cotangent of a matrix that served a batch is a sum of products",
    **dict.fromkeys(["addmm", "baddbmm"], "a product, and what is added to it"),
    **dict.fromkeys([f"conv{k}{n}d" for n in (1, 2, 3) for k in ("", "_transpose")], "a product, and a bias"),
    **dict.fromkeys(["embedding_bag mean", "embedding_bag max"], "shares of bags, and sums of rows"),
    "pad": "a reflected element has several cotangents",
}


# -- every primitive -----------------------------------------------------------------------------
#: Decompositions run in LAPACK, which has no 16 bits; transforms of 16 bits give complex64, parts of 16 bits nothing.
OTHER = {name for name, p in registry.items() if p.kind.name == "matrix" and p.dtype == "float"}
OTHER |= {"dft", "half_dft", "real_dft", "join_parts", "astype", "cast_discrete", "transfer"}


def primitives():
    """All that are not elementwise, so that a new one is among them."""
    names = sorted(set(registry) - set(LEVELS) - OTHER)
    return [name for name in names if (registry[name].kind is not ELEMENTWISE and registry[name].differentiable) or
            registry[name].variadic]  # fmt: skip


def is_real(sample):
    kinds = {a.dtype.kind for a in sample.arrays()}
    return "f" in kinds and "c" not in kinds and sample.keywords.get("dtype") is None


@pytest.mark.parametrize("name", primitives())
def test_primitives_on_their_samples(name, way):
    primitive = registry[name]
    cases = []
    for sample in filter(is_real, samples_of(primitive)):
        if way[0] == "cuda" and any(isinstance(v, np.ndarray) for v in sample.keywords.values()):
            continue
        for size in MAGNITUDES if NIGHTLY else (300.0,) if way[0] == "cuda" else (1.0, 300.0):
            arrays = [
                np.asarray(a * size) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a for a in sample.args
            ]
            cases.append(
                (f"{name}{sample} x {size:g}", lambda *xs, k=sample.keywords: primitive.op(*xs, **k), arrays, way)
            )
    failures(cases)


# -- functions of sizes and magnitudes -------------------------------------------------------------
def index(n, size):
    """Places among few, so that many fall on one."""
    return np.random.default_rng(n).integers(0, size, n)


def square(n):
    """The side of a square of at most n elements."""
    return int(n**0.5)


def planes(n, axes=2):
    """Sizes of a batch with two channels and about n elements."""
    return (
        1,
        2,
        *(
            max(
                3,
                int((n / 2) ** (1 / axes)),
            )
            for _ in range(axes)
        ),
    )


def along(function, axis=0):
    """A call on a matrix of four columns; gradients of all parts."""
    return lambda n, x: (lambda a: function(a, axis=axis), [x(max(n // 4, 3), 4)])


def whole(function):
    return lambda n, x: (function, [x(n)])


def pair(function):
    """A call on two matrices of four columns."""
    return lambda n, x: (function, [x(max(n // 4, 3), 4), x(max(n // 4, 3), 4)])


def pooled(function, axes, *args, **options):
    return lambda n, x: (lambda a: function(a, *args, **options), [x(*planes(n, axes))])


def scattered(reduce):
    return lambda n, x: (
        lambda a, i, b: lg.scatter_reduce(a, 0, i, b, reduce, include_self=False),
        [x(3), index(n, 3), x(n)],
    )


def bags(mode):
    def make(n, x):
        offsets = np.asarray([0, n // 2, n - 1])
        return lambda w, i: F.embedding_bag(i, w, lg.asarray(offsets, device=w.device), mode=mode), [
            x(3, 2),
            index(n, 3),
        ]

    return make


def classes(function):
    return lambda n, x: (lambda a, i: function(a, i), [x(max(n // 4, 3), 4), index(max(n // 4, 3), 4)])


def signs(function):
    def make(n, x):
        flags = np.where(index(max(n // 4, 3), 2) > 0, 1.0, -1.0)
        return lambda a, b, t: function(a, b, t), [x(max(n // 4, 3), 4), x(max(n // 4, 3), 4), flags]

    return make


def shares(function):
    """A call whose second argument has probabilities."""
    return lambda n, x: (function, [x(n), np.linspace(0.1, 0.9, n)])


def attended(**options):
    def make(n, x):
        rows = min(max(3, n // 8), 300)
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options), [x(2, rows, 4) for _ in range(3)]

    return make


def convolved(function, axes):
    return lambda n, x: (function, [x(*planes(n, axes)), x(2, 2, *(3,) * axes), x(2)])


def ctc(n, x):
    t = min(max(n // 10, 5), 300)
    targets = np.asarray([[1, 2, 1]])
    lengths = np.asarray([t]), np.asarray([3])
    scores = x(t, 1, 3)
    shares = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    return lambda a: F.ctc_loss(a, *(lg.asarray(v, device=a.device) for v in (targets, *lengths))), [shares]


def matrix(function):
    return lambda n, x: (function, [x(square(n), square(n))])


def first_of(function):
    return lambda *args: function(*args)[0]


CALLS = {
    # -- sums
    **{name: along(getattr(lg, name)) for name in ("sum", "mean", "var", "std", "logsumexp", "prod", "amax", "amin")},
    **{f"{name} of all": whole(getattr(lg, name)) for name in ("sum", "mean", "var", "std", "logsumexp", "max", "min")},
    **{name: whole(getattr(lg, name)) for name in ("nansum", "nanmean", "nanvar", "nanstd", "nanprod", "norm")},
    **{name: along(getattr(lg, name)) for name in ("softmax", "log_softmax")},
    **{f"{name}, last": along(getattr(lg, name), -1) for name in ("sum", "mean", "var", "softmax", "log_softmax")},
    "var_mean": whole(lambda x: lg.var_mean(x, axis=0)),
    "std_mean": whole(lambda x: lg.std_mean(x, axis=0)),
    "norm, 1": whole(lambda x: lg.norm(x, 1)),
    "norm, 3": whole(lambda x: lg.norm(x, 3)),
    "norm, inf": whole(lambda x: lg.norm(x, float("inf"))),
    "vector_norm": along(lambda x, axis: lg.linalg.vector_norm(x, axis=axis)),
    "matrix_norm": matrix(lg.linalg.matrix_norm),
    "matrix_norm, 1": matrix(lambda x: lg.linalg.matrix_norm(x, ord=1)),
    "trace": matrix(lg.trace),
    "linalg.trace": matrix(lg.linalg.trace),
    "average": lambda n, x: (lambda a, w: lg.average(a, weights=w), [x(n), np.linspace(0.5, 1.5, n)]),
    "trapezoid": whole(lg.trapezoid),
    "cov": lambda n, x: (lg.cov, [x(3, n)]),
    "corrcoef": lambda n, x: (lg.corrcoef, [x(3, n)]),
    "max of equal ones": lambda n, x: (lg.max, [np.full(n, x(1)[0])]),
    "broadcast_to": lambda n, x: (lambda a: lg.broadcast_to(a, (n, 2)), [x(2)]),
    "x + bias": lambda n, x: (lambda a, b: a + b, [x(n, 2), x(2)]),
    "repeat": lambda n, x: (lambda a: lg.repeat(a, n), [x(2)]),
    # -- scans
    **{name: along(getattr(lg, name)) for name in ("cumsum", "cumprod", "nancumsum")},
    "logcumsumexp": along(lambda x, axis: lg.logcumsumexp(x, axis)),
    "cummax": along(lambda x, axis: lg.cummax(x, axis)[0]),
    "cummin": along(lambda x, axis: lg.cummin(x, axis)[0]),
    # -- places
    **{f"scatter_reduce {name}": scattered(name) for name in ("sum", "mean", "prod", "amax", "amin")},
    "scatter_add": lambda n, x: (lambda a, i, b: lg.scatter_add(a, 0, i, b), [x(3), index(n, 3), x(n)]),
    "index_add": lambda n, x: (lambda a, i, b: lg.index_add(a, 0, i, b), [x(3, 2), index(n, 3), x(n, 2)]),
    "index_put": lambda n, x: (lambda a, i, b: lg.index_put(a, (i,), b, accumulate=True), [x(3), index(n, 3), x(n)]),
    "gather": lambda n, x: (lambda a, i: lg.gather(a, 0, i), [x(3), index(n, 3)]),
    "take": lambda n, x: (lambda a, i: lg.take(a, i, axis=0), [x(3, 2), index(n, 3)]),
    "take_along_dim": lambda n, x: (lambda a, i: lg.take_along_dim(a, i, 0), [x(3), index(n, 3)]),
    "index_select": lambda n, x: (lambda a, i: lg.index_select(a, 0, i), [x(3, 2), index(n, 3)]),
    "x[i]": lambda n, x: (lambda a, i: a[i], [x(3, 2), index(n, 3)]),
    "x[i, j]": lambda n, x: (lambda a, i, j: a[i, j], [x(3, 2), index(n, 3), index(n, 2)]),
    "embedding": lambda n, x: (lambda w, i: F.embedding(i, w), [x(3, 2), index(n, 3)]),
    **{f"embedding_bag {mode}": bags(mode) for mode in ("sum", "mean", "max")},
    # -- products
    "matmul": lambda n, x: (lg.matmul, [x(3, n), x(n, 2)]),
    "matmul of vectors": lambda n, x: (lg.matmul, [x(n), x(n)]),
    "mm": lambda n, x: (lg.mm, [x(2, n), x(n, 2)]),
    "bmm": lambda n, x: (lg.bmm, [x(2, 2, n), x(2, n, 2)]),
    "mv": lambda n, x: (lg.mv, [x(2, n), x(n)]),
    "dot": lambda n, x: (lg.dot, [x(n), x(n)]),
    "vdot": lambda n, x: (lg.vdot, [x(n), x(n)]),
    "vecdot": lambda n, x: (lg.vecdot, [x(2, n), x(2, n)]),
    "inner": lambda n, x: (lg.inner, [x(2, n), x(2, n)]),
    "outer": lambda n, x: (lg.outer, [x(n), x(2)]),
    "tensordot": lambda n, x: (lambda a, b: lg.tensordot(a, b, 1), [x(2, n), x(n, 2)]),
    "einsum": lambda n, x: (lambda a, b: lg.einsum("ij,kj->ik", a, b), [x(2, n), x(3, n)]),
    "einsum of one": lambda n, x: (lambda a: lg.einsum("ij->i", a), [x(2, n)]),
    "einsum, three": lambda n, x: (lambda *a: lg.einsum("ij,jk,kl->il", *a), [x(2, n), x(n, 3), x(3, 2)]),
    "addmm": lambda n, x: (lg.addmm, [x(2, 2), x(2, n), x(n, 2)]),
    "baddbmm": lambda n, x: (lg.baddbmm, [x(2, 2, 2), x(2, 2, n), x(2, n, 2)]),
    "convolve": lambda n, x: (lg.convolve, [x(n), x(5)]),
    "kron": lambda n, x: (lg.kron, [x(n), x(2)]),
    "linear": lambda n, x: (F.linear, [x(3, n), x(2, n)]),
    "linear, bias": lambda n, x: (F.linear, [x(3, n), x(2, n), x(2)]),
    "linear, many": lambda n, x: (F.linear, [x(n, 3), x(2, 3), x(2)]),
    "bilinear": lambda n, x: (F.bilinear, [x(2, square(n)), x(2, square(n)), x(2, square(n), square(n)), x(2)]),
    **{f"conv{k}d": convolved(getattr(F, f"conv{k}d"), k) for k in (1, 2, 3)},
    **{f"conv_transpose{k}d": convolved(getattr(F, f"conv_transpose{k}d"), k) for k in (1, 2, 3)},
    "conv_tbc": lambda n, x: (F.conv_tbc, [x(max(n // 8, 5), 2, 3), x(3, 3, 2), x(2)]),
    "fold": lambda n, x: (lambda a: F.fold(a, 12, 3, padding=1), [x(1, 9, 144)]),
    "unfold": pooled(F.unfold, 2, 3),
    # -- windows
    **{f"avg_pool{k}d": pooled(getattr(F, f"avg_pool{k}d"), k, 3, 1) for k in (1, 2, 3)},
    **{f"max_pool{k}d": pooled(getattr(F, f"max_pool{k}d"), k, 3, 1) for k in (1, 2, 3)},
    **{f"lp_pool{k}d": pooled(getattr(F, f"lp_pool{k}d"), k, 2, 3) for k in (1, 2, 3)},
    **{f"adaptive_avg_pool{k}d": pooled(getattr(F, f"adaptive_avg_pool{k}d"), k, 2) for k in (1, 2, 3)},
    **{f"adaptive_max_pool{k}d": pooled(getattr(F, f"adaptive_max_pool{k}d"), k, 2) for k in (1, 2, 3)},
    **{
        f"{name}_with_indices": pooled(first_of(getattr(F, f"{name}_with_indices")), k, *args)
        for k in (1, 2, 3)
        for name, args in ((f"max_pool{k}d", (3, 1)), (f"adaptive_max_pool{k}d", (2,)))
    },
    "avg_pool2d, one window": lambda n, x: (lambda a: F.avg_pool2d(a, a.shape[-1]), [x(*planes(n))]),
    **{
        f"interpolate {mode}": pooled(F.interpolate, 2, scale_factor=2, mode=mode)
        for mode in ("nearest", "bilinear", "bicubic", "area")
    },
    "interpolate down": pooled(F.interpolate, 2, size=(2, 2), mode="bilinear"),
    "upsample": pooled(F.upsample, 2, scale_factor=2),
    "upsample_nearest": pooled(F.upsample_nearest, 2, scale_factor=2),
    "upsample_bilinear": pooled(F.upsample_bilinear, 2, scale_factor=2),
    "grid_sample": lambda n, x: (
        lambda a, g: F.grid_sample(a, g, align_corners=True),
        [x(*planes(n)), np.linspace(-0.9, 0.9, 2 * max(n // 4, 3)).reshape(1, 1, -1, 2)],
    ),
    "affine_grid": lambda n, x: (
        lambda t: F.affine_grid(t, (1, 1, 2, max(n // 4, 3)), align_corners=True),
        [x(1, 2, 3)],
    ),
    "pad": pooled(F.pad, 2, (2, 2, 2, 2), mode="reflect"),
    # -- norms
    "layer_norm": lambda n, x: (lambda a, w, b: F.layer_norm(a, (n,), w, b), [x(3, n), x(n), x(n)]),
    "layer_norm, rows": lambda n, x: (lambda a, w, b: F.layer_norm(a, (4,), w, b), [x(max(n // 4, 3), 4), x(4), x(4)]),
    "rms_norm": lambda n, x: (lambda a, w: F.rms_norm(a, (n,), w), [x(3, n), x(n)]),
    "batch_norm": lambda n, x: (lambda a, w, b: F.batch_norm(a, None, None, w, b, True), [x(n, 2), x(2), x(2)]),
    "batch_norm, running": lambda n, x: (
        lambda a, m, w, b: F.batch_norm(a, m.detach(), lg.ones_like(m).detach(), w, b),
        [x(n, 2), x(2), x(2), x(2)],
    ),
    "group_norm": lambda n, x: (lambda a, w, b: F.group_norm(a, 2, w, b), [x(1, 4, max(n // 4, 3)), x(4), x(4)]),
    "instance_norm": lambda n, x: (F.instance_norm, [x(1, 2, n)]),
    "local_response_norm": pooled(F.local_response_norm, 2, 2),
    "normalize": along(lambda x, axis: F.normalize(x, dim=axis)),
    # -- distances and losses
    "cosine_similarity": lambda n, x: (F.cosine_similarity, [x(2, n), x(2, n)]),
    "pairwise_distance": lambda n, x: (F.pairwise_distance, [x(2, n), x(2, n)]),
    "pdist": lambda n, x: (F.pdist, [x(3, n)]),
    "cdist": lambda n, x: (lg.cdist, [x(2, n), x(3, n)]),
    **{name: pair(getattr(F, name)) for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")},
    "mse_loss, sum": pair(lambda a, b: F.mse_loss(a, b, reduction="sum")),
    "mse_loss, none": pair(lambda a, b: F.mse_loss(a, b, reduction="none")),
    "cross_entropy": classes(F.cross_entropy),
    "cross_entropy, smoothed": classes(lambda a, i: F.cross_entropy(a, i, label_smoothing=0.1)),
    "cross_entropy, shares": lambda n, x: (F.cross_entropy, [x(max(n // 4, 3), 4), np.full((max(n // 4, 3), 4), 0.25)]),
    "linear_cross_entropy": lambda n, x: (
        lambda a, w: F.linear_cross_entropy(a, w, lg.asarray([0, 2, 1], device=a.device)),
        [x(3, n), x(4, n) / 300],
    ),
    "nll_loss": classes(F.nll_loss),
    "multi_margin_loss": classes(F.multi_margin_loss),
    "multilabel_margin_loss": lambda n, x: (F.multilabel_margin_loss, [x(3, 4), np.asarray([[1, -1, 0, 2]] * 3)]),
    "multilabel_soft_margin_loss": shares(lambda a, t: F.multilabel_soft_margin_loss(a[None], t[None])),
    "binary_cross_entropy": lambda n, x: (
        lambda a, t: F.binary_cross_entropy(a, t),
        [np.linspace(0.01, 0.99, n), np.linspace(0.1, 0.9, n)],
    ),
    "binary_cross_entropy_with_logits": shares(F.binary_cross_entropy_with_logits),
    "kl_div": shares(F.kl_div),
    "poisson_nll_loss": lambda n, x: (F.poisson_nll_loss, [np.linspace(-2, 2, n), x(n)]),
    "gaussian_nll_loss": lambda n, x: (F.gaussian_nll_loss, [x(n), x(n), np.linspace(0.5, 2, n)]),
    "soft_margin_loss": lambda n, x: (F.soft_margin_loss, [x(n), np.where(index(n, 2) > 0, 1.0, -1.0)]),
    "hinge_embedding_loss": lambda n, x: (F.hinge_embedding_loss, [x(n), np.where(index(n, 2) > 0, 1, -1)]),
    "margin_ranking_loss": signs(lambda a, b, t: F.margin_ranking_loss(a[:, 0], b[:, 0], t)),
    "cosine_embedding_loss": signs(F.cosine_embedding_loss),
    "triplet_margin_loss": lambda n, x: (F.triplet_margin_loss, [x(2, n), x(2, n), x(2, n)]),
    "triplet_margin_with_distance_loss": lambda n, x: (
        F.triplet_margin_with_distance_loss,
        [x(2, n), x(2, n), x(2, n)],
    ),
    "ctc_loss": ctc,
    # -- attention
    "scaled_dot_product_attention": attended(),
    "scaled_dot_product_attention, causal": attended(is_causal=True),
    "softmin": along(lambda x, axis: F.softmin(x, axis)),
    "F.softmax": along(lambda x, axis: F.softmax(x, axis)),
    "F.log_softmax": along(lambda x, axis: F.log_softmax(x, axis)),
}

#: Public functions that rearrange, choose, make or act on each element by itself, and so round once, if at all.
ELSEWHERE = """
    alpha_dropout celu celu_ channel_shuffle dropout dropout1d dropout2d dropout3d elu elu_
    feature_alpha_dropout gelu glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh hardtanh_ leaky_relu
    leaky_relu_ logsigmoid max_unpool1d max_unpool2d max_unpool3d mish native_channel_shuffle one_hot
    pixel_shuffle pixel_unshuffle prelu relu relu6 relu_ rrelu rrelu_ selu selu_ sigmoid silu softplus
    softshrink softsign tanh tanhshrink threshold threshold_
""".split()
#: Made of functions that are here.
MADE_OF_OTHERS = """
    fractional_max_pool2d fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices
    grouped_mm gru_cell lstm_cell multi_head_attention_forward rnn_relu_cell rnn_tanh_cell
""".split()


def test_every_function_of_layers_is_here():
    public = {n for n, f in vars(F).items() if inspect.isfunction(f) or (callable(f) and hasattr(f, "primitive"))}
    here = {name.split(",")[0].split(" ")[0].removeprefix("F.") for name in CALLS}
    missing = {n for n in public if not n.startswith("_")} - here - set(ELSEWHERE) - set(MADE_OF_OTHERS)
    assert not missing, f"give these a row in CALLS: {sorted(missing)}"


#: What every run tries; the nightly one tries all sizes with all magnitudes.
QUICK = {
    "cpu-float16": [(10, 6e4), (1000, 1e-4), (1000, 300.0), (100_000, 1.0)],
    "cpu-bfloat16": [(10, 300.0), (1000, 1.0)],
    "cuda-float16": [(1000, 300.0)],
}


def drawn(name, magnitude):
    rng = np.random.default_rng(zlib.crc32(name.encode()))

    def x(*shape):
        values = rng.uniform(0.5, 1.05, shape) * magnitude
        return values * rng.choice([-1, 1], shape) if magnitude > 1 else values

    return x


@pytest.mark.parametrize("name", CALLS)
def test_functions_at_sizes_and_magnitudes(name, way):
    cases = []
    for n, magnitude in itertools.product(SIZES, MAGNITUDES) if NIGHTLY else QUICK["-".join(map(str, way))]:
        function, arrays = CALLS[name](n, drawn(name, magnitude))
        cases.append((f"{name}, n={n}, about {magnitude:g}", function, arrays, way))
    failures(cases)


# -- by themselves -------------------------------------------------------------------------------
@pytest.fixture(params=["float16", "bfloat16"])
def half(request):
    if request.param == "bfloat16":
        pytest.importorskip("ml_dtypes")
    return getattr(lg, request.param)


def test_sums_go_beyond_where_a_16_bit_sum_stands_still(half):
    ones, few = lg.ones(6000, dtype=half), lg.zeros(6000, dtype=lg.int64)
    near = 6000 * float(lg.finfo(half).eps)
    assert abs(lg.ones((6000, 2), dtype=half).sum(axis=0)[0].item() - 6000) <= near
    assert abs(lg.cumulative_sum(ones)[-1].item() - 6000) <= near
    assert abs(lg.scatter_add(lg.zeros(1, dtype=half), 0, few, ones).item() - 6000) <= near
    assert abs(lg.index_add(lg.zeros(1, dtype=half), 0, few, ones).item() - 6000) <= near
    w = lg.ones((1, 1), dtype=half, requires_grad=True)
    F.embedding(few, w).sum().backward()
    assert abs(w.grad.item() - 6000) <= near


def test_means_of_more_elements_than_float16_counts(half):
    x = lg.ones(100_000, dtype=half, requires_grad=True)
    y = x.mean()
    y.backward()
    assert y.item() == 1 and x.grad[0].item() == lg.tensor(1e-5).to(half).item()
    assert F.avg_pool2d(lg.ones((1, 1, 112, 112), dtype=half), 112).item() == 1


def test_squares_that_overflow(half):
    x = lg.full((1, 4), 300.0, dtype=half, requires_grad=True)
    y = F.cosine_similarity(x, x.detach())
    y.sum().backward()
    assert y.tolist() == [1.0] and bool(lg.isfinite(x.grad).all())


def test_the_default_eps_of_rms_norm_is_that_of_float32(half):
    x = lg.full((4,), 1e-3, dtype=half)
    single = F.rms_norm(x.to(lg.float32), (4,))
    assert F.rms_norm(x, (4,)).tolist() == single.to(half).tolist()


@pytest.mark.parametrize("other", ["float32", "float64", "int64", "bool"])
def test_writing_what_is_wider_in_place(half, other):
    z = given = lg.ones(3, dtype=half)
    z += lg.ones(3).to(getattr(lg, other))
    z *= lg.full((3,), 2.0)
    assert z is given and z.dtype == half and z.tolist() == [4.0] * 3
    x = lg.ones(3, requires_grad=True)
    z = lg.ones(3, dtype=half) * 1
    z -= x
    z.sum().backward()
    assert x.grad.dtype == lg.float32 and x.grad.tolist() == [-1.0] * 3


def test_an_asked_dtype_is_given(half):
    x = lg.full((4,), 9.0, dtype=half)
    for reduce in (lg.prod, lg.sum, lg.cumulative_prod, lg.cumulative_sum):
        assert reduce(x, dtype=lg.float32).dtype == lg.float32
        assert reduce(x.to(lg.float32), dtype=half).dtype == half
    assert lg.prod(x, dtype=lg.float32).item() == 9.0**4
    wide = lg.full((4,), 1.0)
    assert F.mse_loss(x, wide).dtype == F.cosine_similarity(x[None], wide[None]).dtype == lg.float32


def test_what_nodes_keep_of_attention_is_not_rounded(half):
    q, k, v = (lg.randn((1, 8, 4)).to(half).requires_grad_() for _ in range(3))
    kept = []
    with lg.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.dtype) or x, lambda x: x):
        F.scaled_dot_product_attention(q, k, v)
    assert kept and set(kept) == {lg.float32}


@pytest.mark.parametrize("way", WAYS, indirect=True, ids=["-".join(way) for way in WAYS])
def test_attention_under_autocast(way):
    device, dtype = way
    rng = np.random.default_rng(0)
    arrays = [rounded(rng.normal(size=(2, 64, 16)) * 3, dtype) for _ in range(4)]

    def gradients(cast):
        xs = [lg.asarray(a, device=device).requires_grad_() for a in arrays[:3]]
        with lg.autocast(device, dtype=dtype, enabled=cast):
            y = F.scaled_dot_product_attention(*xs)
        assert y.dtype == (dtype if cast else lg.float32)
        return lg.autograd.grad(y, xs, lg.asarray(arrays[3], device=device).to(y.dtype))

    for found, exact in zip(gradients(True), gradients(False), strict=True):
        compare("attention", found.to(dtype), exact, dtype)


@pytest.mark.parametrize("keys", cases((4, 200), (4, 32, 200, 1024)))
@pytest.mark.parametrize("magnitude", [1e-3, 1.0, 300.0])
def test_attention_on_tensor_cores(half, keys, magnitude):
    """Products of 11 bits, of weights and slopes in two parts: with one of them every case here fails."""
    pytest.importorskip("cupy")
    lg.zeros(1, device="cuda")
    from kernels.products import always

    rng = np.random.default_rng(keys)
    given = [rounded(rng.normal(size=(2, 33 if k == 0 else keys, 64)) * (2, 2, 1)[k], half) for k in range(3)]
    h = rounded(rng.normal(size=(2, 33, 64)) * magnitude, half)

    def found(dtype, **options):
        xs = [lg.asarray(a, device="cuda").to(dtype).requires_grad_() for a in given]
        y = F.scaled_dot_product_attention(*xs, **options)
        return [y, *lg.autograd.grad(y, xs, lg.asarray(h, device="cuda").to(dtype))]

    for options in ({}, {"is_causal": True}):
        with always() as asked:
            ours = found(half, **options)
        assert len(asked) == 2
        for y, exact in zip(ours, found(lg.float32, **options), strict=True):
            compare(f"attention of {keys} keys, about {magnitude:g}, {options}", y, exact, half)


def test_derivatives_of_every_kind_are_of_16_bits(half):
    x = lg.asarray([[1.0, 2.0, 3.0]]).to(half)
    for function in (lg.softmax, lg.mean, lg.logsumexp, lambda x: F.layer_norm(x, (3,)), lambda x: F.mse_loss(x, -x)):
        y, t = lg.func.jvp(function, (x,), (lg.ones_like(x),))
        assert y.dtype == t.dtype == half
        assert lg.func.vmap(function)(x).dtype == half
        g = lg.func.grad(lambda x, f=function: f(x).sum())
        assert g(x).dtype == half
        assert lg.func.grad(lambda x, g=g: (g(x) * x).sum())(x).dtype == half


# -- beside PyTorch ------------------------------------------------------------------------------
BESIDE = {
    "sum": lambda m, x: m.sum(x, dim=0),
    "cumsum": lambda m, x: m.cumsum(x, 0),
    "logcumsumexp": lambda m, x: m.logcumsumexp(x, 0),
    "logsumexp": lambda m, x: m.logsumexp(x, 0),
    "softmax": lambda m, x: m.softmax(x, 0),
    "mean": lambda m, x: m.mean(x),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (4,)),
    "normalize": lambda m, x: m.nn.functional.normalize(x, dim=0),
    "cosine_similarity": lambda m, x: m.nn.functional.cosine_similarity(x, x.flip(0), 0),
    "avg_pool2d": lambda m, x: m.nn.functional.avg_pool2d(x.reshape((1, 1, 40, 40)), 20),
    "attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(*[x.reshape((4, 100, 4))] * 3),
    "mse_loss": lambda m, x: m.nn.functional.mse_loss(x, x.flip(0)),
    "matmul": lambda m, x: m.matmul(x.reshape((4, 400)), x),
}


@pytest.mark.parametrize("name", BESIDE)
def test_at_least_as_accurate_as_pytorch(name, half):
    torch = peer("torch")
    function = BESIDE[name]
    values = rounded(np.random.default_rng(1).normal(size=(400, 4)) * 3, half)

    def slopes(m, dtype, take):
        x = m.asarray(take(values)).to(dtype).requires_grad_()
        y = function(m, x)
        g = m.ones_like(y) * 0.5
        (found,) = m.autograd.grad(y, x, g)
        return [np.asarray(part.detach().to(m.float64).numpy()) for part in (y, found)]

    exact = slopes(lg, lg.float64, lambda v: v.astype("float64"))
    ours = slopes(lg, half, lambda v: v)
    theirs = slopes(torch, getattr(torch, str(half)), torch.from_numpy)
    for a, b, c in zip(ours, theirs, exact, strict=True):
        at_best = float(lg.finfo(half).eps) / 2 * np.abs(c).max()
        assert np.abs(a - c).max() <= max(np.abs(b - c).max() * 1.01, at_best)
