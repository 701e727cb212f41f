import math
import warnings

import numpy as np
import pytest
from golden import peer
from nn.compared import agree, draw, fixed, mapped, twice, wants_gradient

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

REDUCTIONS = ["none", "mean", "sum"]


def probabilities(*shape, seed=0):
    return 0.05 + 0.9 * np.random.default_rng(seed).random(shape)


def logs(*shape, axis=1, seed=0):
    x = draw(*shape, seed=seed)
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


def signs(*shape, seed=0):
    return fixed(np.random.default_rng(seed).integers(0, 2, shape) * 2.0 - 1)


def classes(*shape, count=4, seed=0):
    return np.random.default_rng(seed).integers(0, count, shape)


def ignoring(target, at, number=-100):
    target = target.copy()
    target.reshape(-1)[at] = number
    return target


#: Name, arrays, keywords.
CASES = [
    ("mse_loss", (draw(3, 4), draw(3, 4, seed=1)), {}),
    ("mse_loss", (draw(3, 4), draw(3, 4, seed=1)), {"weight": fixed(probabilities(3, 4))}),
    ("l1_loss", (draw(3, 4), draw(3, 4, seed=1)), {}),
    ("l1_loss", (draw(3, 4), draw(3, 4, seed=1)), {"weight": fixed(probabilities(3, 4))}),
    ("smooth_l1_loss", (draw(3, 4), draw(3, 4, seed=1)), {}),
    ("smooth_l1_loss", (draw(3, 4), draw(3, 4, seed=1)), {"beta": 0.3}),
    ("smooth_l1_loss", (draw(3, 4), draw(3, 4, seed=1)), {"beta": 0.0}),
    ("huber_loss", (draw(3, 4), draw(3, 4, seed=1)), {}),
    ("huber_loss", (draw(3, 4), draw(3, 4, seed=1)), {"delta": 0.4, "weight": fixed(probabilities(3, 4))}),
    ("binary_cross_entropy", (probabilities(3, 4), probabilities(3, 4, seed=1)), {}),
    ("binary_cross_entropy", (probabilities(3, 4), probabilities(3, 4, seed=1)), {"weight": fixed(probabilities(4))}),
    ("binary_cross_entropy_with_logits", (draw(3, 4) * 9, probabilities(3, 4)), {}),
    (
        "binary_cross_entropy_with_logits",
        (draw(3, 4), probabilities(3, 4)),
        {"weight": fixed(probabilities(3, 4)), "pos_weight": fixed(probabilities(4, seed=2) * 3)},
    ),
    ("kl_div", (logs(3, 4), probabilities(3, 4)), {}),
    ("kl_div", (logs(3, 4), logs(3, 4, seed=1)), {"log_target": True}),
    ("gaussian_nll_loss", (draw(3, 4), draw(3, 4, seed=1), draw(3, 4, low=0.1)), {}),
    ("gaussian_nll_loss", (draw(3, 4), draw(3, 4, seed=1), draw(3, low=0.1)), {"full": True}),
    ("gaussian_nll_loss", (draw(3, 4), draw(3, 4, seed=1), draw(3, 1, low=0.0)), {"eps": 1.0}),
    ("gaussian_nll_loss", (draw(3, 4), draw(3, 4, seed=1), 0.7), {}),
    ("poisson_nll_loss", (draw(3, 4), draw(3, 4, low=0.5)), {}),
    ("poisson_nll_loss", (draw(3, 4), 2 * draw(3, 4, low=0.2)), {"full": True}),
    ("poisson_nll_loss", (draw(3, 4, low=0.1), draw(3, 4, low=0.5)), {"log_input": False, "full": True}),
    ("cosine_embedding_loss", (draw(5, 4), draw(5, 4, seed=1), signs(5)), {}),
    ("cosine_embedding_loss", (draw(5, 4), draw(5, 4, seed=1), signs(5)), {"margin": 0.2}),
    ("cosine_embedding_loss", (draw(4), draw(4, seed=1), np.array(1)), {}),
    ("margin_ranking_loss", (draw(5), draw(5, seed=1), signs(5)), {"margin": 0.5}),
    ("hinge_embedding_loss", (draw(5, 2), signs(5, 2)), {}),
    ("hinge_embedding_loss", (draw(5, 2), signs(5, 2)), {"margin": 0.4}),
    ("soft_margin_loss", (draw(5, 2), signs(5, 2)), {}),
    ("triplet_margin_loss", (draw(5, 3), draw(5, 3, seed=1), draw(5, 3, seed=2)), {}),
    (
        "triplet_margin_loss",
        (draw(5, 3), draw(5, 3, seed=1), draw(5, 3, seed=2)),
        {"p": 3, "swap": True, "margin": 2.0},
    ),
    ("triplet_margin_loss", (draw(3), draw(3, seed=1), draw(3, seed=2)), {"p": 1}),
    ("triplet_margin_with_distance_loss", (draw(5, 3), draw(5, 3, seed=1), draw(5, 3, seed=2)), {"swap": True}),
    ("multilabel_soft_margin_loss", (draw(5, 3), probabilities(5, 3)), {}),
    ("multilabel_soft_margin_loss", (draw(5, 3), probabilities(5, 3)), {"weight": fixed(probabilities(3))}),
    ("multi_margin_loss", (draw(5, 4), classes(5)), {}),
    ("multi_margin_loss", (draw(5, 4), classes(5)), {"p": 2, "margin": 0.5, "weight": fixed(probabilities(4))}),
    ("multi_margin_loss", (draw(4), classes(1)), {}),
    ("multilabel_margin_loss", (draw(3, 4), np.array([[3, 0, -1, 1], [-1, 0, 1, 2], [2, 1, 0, 3]])), {}),
    ("multilabel_margin_loss", (draw(4), np.array([3, 0, -1, 1])), {}),
    ("nll_loss", (logs(5, 4), classes(5)), {}),
    ("nll_loss", (logs(5, 4), ignoring(classes(5), [1, 3])), {"weight": fixed(probabilities(4))}),
    ("nll_loss", (logs(4, axis=0), np.array(2)), {}),
    ("nll_loss", (logs(2, 4, 3), ignoring(classes(2, 3), [2], 1)), {"ignore_index": 1}),
    ("nll_loss", (logs(2, 4, 3, 2), classes(2, 3, 2)), {"weight": fixed(probabilities(4))}),
    ("cross_entropy", (draw(5, 4), classes(5)), {}),
    ("cross_entropy", (draw(4), np.array(2)), {}),
    ("cross_entropy", (draw(4), np.array(2)), {"label_smoothing": 0.2, "weight": fixed(probabilities(4))}),
    ("cross_entropy", (draw(5, 4), ignoring(classes(5), [0, 4])), {}),
    ("cross_entropy", (draw(5, 4), ignoring(classes(5), [0, 4])), {"weight": fixed(probabilities(4))}),
    ("cross_entropy", (draw(5, 4), ignoring(classes(5), [0, 4])), {"label_smoothing": 0.3}),
    (
        "cross_entropy",
        (draw(5, 4), ignoring(classes(5), [0, 4])),
        {"label_smoothing": 0.3, "weight": fixed(probabilities(4))},
    ),
    ("cross_entropy", (draw(2, 4, 3), classes(2, 3)), {"ignore_index": 2}),
    (
        "cross_entropy",
        (draw(2, 4, 3, 2), classes(2, 3, 2)),
        {"weight": fixed(probabilities(4)), "label_smoothing": 0.1},
    ),
    ("cross_entropy", (draw(5, 4), probabilities(5, 4)), {}),
    ("cross_entropy", (draw(5, 4), probabilities(5, 4)), {"weight": fixed(probabilities(4)), "label_smoothing": 0.1}),
    ("cross_entropy", (draw(2, 4, 3), probabilities(2, 4, 3)), {"weight": fixed(probabilities(4))}),
    ("cross_entropy", (draw(4), probabilities(4)), {}),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("case", range(len(CASES)))
def test_against_pytorch(case, reduction):
    torch = peer("torch")
    name, arrays, keywords = CASES[case]
    ours, theirs = getattr(F, name), getattr(torch.nn.functional, name)
    agree(torch, ours, theirs, *arrays, reduction=reduction, **keywords)


#: The gradient is not cut off where a variance is too small, on purpose.
SMOOTH = [case for case, (_, _, keywords) in enumerate(CASES) if keywords.get("eps") != 1.0]
ALL_ARRAYS = [case for case, (_, arrays, _) in enumerate(CASES) if all(isinstance(a, np.ndarray) for a in arrays)]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", SMOOTH)
def test_second_derivatives(case):
    name, arrays, keywords = CASES[case]
    wanted = [k for k, a in enumerate(arrays) if wants_gradient(a)]
    rest = {k: lg.tensor(np.asarray(v)) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    others = [lg.tensor(np.asarray(a)) if isinstance(a, np.ndarray) else a for a in arrays]

    def function(*given):
        at = list(others)
        for k, x in zip(wanted, given, strict=True):
            at[k] = x
        return getattr(F, name)(*at, **rest)

    twice(function, *(arrays[k] for k in wanted))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", ALL_ARRAYS)
def test_vmap(case):
    name, arrays, keywords = CASES[case]
    rest = {k: lg.tensor(np.asarray(v)) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    doubled = [np.stack([a, a if wants_gradient(a) or a.ndim != 1 else a[::-1]]) for a in arrays]
    doubled = [
        d if wants_gradient(a) or a.dtype.kind != "f" else fixed(d) for d, a in zip(doubled, arrays, strict=True)
    ]
    doubled[0] = np.stack([arrays[0], arrays[0] * 0.5 + 0.2])
    mapped(lambda *given: getattr(F, name)(*given, **rest), *doubled)


# -- plain formulas ------------------------------------------------------------------------------
def test_cross_entropy_against_the_definition():
    x, t, w = draw(6, 4), ignoring(classes(6), [2]), probabilities(4)
    p = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    kept = t != -100
    rows = -np.log(p[np.arange(6), np.where(kept, t, 0)])
    loss = F.cross_entropy(lg.tensor(x), lg.tensor(t), reduction="none").numpy()
    np.testing.assert_allclose(loss, np.where(kept, rows, 0), rtol=1e-12)
    weights = np.where(kept, w[np.where(kept, t, 0)], 0)
    loss = F.cross_entropy(lg.tensor(x), lg.tensor(t), lg.tensor(w)).item()
    assert loss == pytest.approx((rows * weights).sum() / weights.sum(), rel=1e-12)


def test_class_numbers_are_one_hot_probabilities():
    x, t = draw(5, 4, 3), classes(5, 3)
    hot = np.moveaxis(np.eye(4)[t], -1, 1)
    for smoothing in (0.0, 0.2):
        one = F.cross_entropy(lg.tensor(x), lg.tensor(t), label_smoothing=smoothing)
        two = F.cross_entropy(lg.tensor(x), lg.tensor(hot), label_smoothing=smoothing)
        assert one.item() == pytest.approx(two.item(), rel=1e-12)


def test_extreme_logits_are_exact():
    x = lg.tensor([1000.0, -1000.0, 0.0], dtype=lg.float64, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(x, lg.tensor([0.0, 1.0, 1.0]), reduction="none")
    np.testing.assert_allclose(loss.detach().numpy(), [1000, 1000, math.log(2)])
    loss.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1, -1, -0.5])
    y = lg.tensor([[-900.0], [900.0]], requires_grad=True)
    F.soft_margin_loss(y, lg.tensor([[1.0], [1.0]]), reduction="sum").backward()
    np.testing.assert_allclose(y.grad.numpy(), [[-1], [0]])


def test_certain_and_wrong_probabilities_can_be_mended():
    torch = peer("torch")
    for p, t in (([0.0, 1.0], [1.0, 0.0]), ([1e-13, 1 - 1e-13], [1.0, 0.0]), ([0.0, 1.0], [0.0, 1.0])):
        ours = lg.tensor(p, dtype=lg.float64, requires_grad=True)
        theirs = torch.tensor(p, dtype=torch.float64, requires_grad=True)
        a = F.binary_cross_entropy(ours, lg.tensor(t, dtype=lg.float64), reduction="none")
        b = torch.nn.functional.binary_cross_entropy(theirs, torch.tensor(t, dtype=torch.float64), reduction="none")
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12)
        a.sum().backward(), b.sum().backward()
        if p[0] != t[0]:
            np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-3)
        assert np.isfinite(ours.grad.numpy()).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_to_count():
    x = lg.tensor(draw(2, 3), requires_grad=True)
    t = lg.tensor([-100, -100])
    assert math.isnan(F.cross_entropy(x, t).item())
    assert F.cross_entropy(x, t, reduction="sum").item() == 0
    assert math.isnan(F.nll_loss(x, t).item())
    F.cross_entropy(x, t, reduction="sum").backward()
    assert not x.grad.numpy().any()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_empty_batches():
    none, no = lg.zeros((0, 3)), lg.zeros((0,), dtype=lg.int64)
    for loss in (F.cross_entropy, F.nll_loss, F.multi_margin_loss):
        assert math.isnan(loss(none, no).item())
        assert loss(none, no, reduction="sum").item() == 0
        assert loss(none, no, reduction="none").shape == (0,)
    for loss in (F.mse_loss, F.l1_loss, F.huber_loss, F.binary_cross_entropy, F.soft_margin_loss):
        assert math.isnan(loss(none, none).item())
        assert loss(none, none, reduction="sum").item() == 0


def test_older_arguments():
    x, t = lg.tensor([1.0, 3.0]), lg.zeros(2)
    for keywords, expected in [
        ({"size_average": False}, [10.0]),
        ({"size_average": True}, [5.0]),
        ({"reduce": False}, [1.0, 9.0]),
        ({"reduce": True, "size_average": False}, [10.0]),
    ]:
        with pytest.warns(UserWarning, match="reduction="):
            assert F.mse_loss(x, t, **keywords).reshape((-1,)).tolist() == expected
        with pytest.warns(UserWarning, match="reduction="):
            layer = nn.MSELoss(**keywords)
        assert layer(x, t).reshape((-1,)).tolist() == expected


def test_warnings():
    with pytest.warns(UserWarning, match="broadcast"):
        F.mse_loss(lg.ones((2, 1)), lg.ones(2))
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(lg.ones((2, 1)), lg.ones((2, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert F.kl_div(lg.zeros((2, 1)), lg.ones((2, 1)), reduction="batchmean").item() == 0


def test_batchmean():
    torch = peer("torch")
    agree(torch, F.kl_div, torch.nn.functional.kl_div, logs(3, 4), probabilities(3, 4), reduction="batchmean")


def test_distances():
    torch = peer("torch")
    T = torch.nn.functional
    agree(torch, F.cosine_similarity, T.cosine_similarity, draw(3, 4), draw(3, 4, seed=1))
    agree(torch, F.cosine_similarity, T.cosine_similarity, draw(3, 4, 2), draw(1, 4, 2, seed=1), dim=-1)
    agree(torch, F.cosine_similarity, T.cosine_similarity, np.zeros((2, 3)), draw(2, 3))
    for keywords in ({}, {"p": 1.0}, {"p": 3.0, "keepdim": True}, {"p": float("inf"), "eps": 0.1}):
        agree(torch, F.pairwise_distance, T.pairwise_distance, draw(3, 4), draw(3, 4, seed=1), **keywords)
    agree(torch, nn.CosineSimilarity(dim=0), torch.nn.CosineSimilarity(dim=0), draw(3, 4), draw(3, 4, seed=1))
    agree(torch, nn.PairwiseDistance(p=1), torch.nn.PairwiseDistance(p=1), draw(3, 4), draw(3, 4, seed=1))


ERRORS = [
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0, 3])), IndexError, "class number 3"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0, -1])), IndexError, "class number -1"),
    (lambda: F.nll_loss(lg.ones((2, 3)), lg.tensor([0, 3])), IndexError, "class number 3"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0, 1, 2])), ValueError, r"\(3,\)"),
    (lambda: F.cross_entropy(lg.ones((2, 3, 4)), lg.tensor([0, 1])), RuntimeError, r"\(2, 4\)"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0.0, 1.0])), RuntimeError, "integers"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0, 1]), lg.ones(2)), RuntimeError, "weight"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0, 1]), label_smoothing=2.0), RuntimeError, "smoothing"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.ones((2, 3)), ignore_index=1), RuntimeError, "ignore_index"),
    (lambda: F.cross_entropy(lg.ones((2, 3)), lg.tensor([0, 1]), reduction="all"), ValueError, "'all'"),
    (lambda: F.mse_loss(lg.ones(2), lg.ones(2), reduction="all"), ValueError, "'all'"),
    (lambda: F.mse_loss(lg.ones(2), lg.ones(2), weight=lg.ones(1)), ValueError, "weight"),
    (lambda: F.smooth_l1_loss(lg.ones(2), lg.ones(2), beta=-1.0), RuntimeError, "beta"),
    (lambda: F.huber_loss(lg.ones(2), lg.ones(2), delta=0.0), RuntimeError, "delta"),
    (lambda: F.binary_cross_entropy(lg.ones(2), lg.ones(3)), ValueError, "one shape"),
    (lambda: F.binary_cross_entropy(lg.tensor([1.5]), lg.ones(1)), RuntimeError, "logits"),
    (lambda: F.binary_cross_entropy(lg.tensor([math.nan]), lg.ones(1)), RuntimeError, "logits"),
    (lambda: F.binary_cross_entropy_with_logits(lg.ones(2), lg.ones(3)), ValueError, "one shape"),
    (lambda: F.gaussian_nll_loss(lg.ones((2, 3)), lg.ones((2, 3)), lg.ones(3)), ValueError, "var"),
    (lambda: F.gaussian_nll_loss(lg.ones(2), lg.ones(2), lg.tensor([1.0, -1.0])), ValueError, "-1"),
    (lambda: F.cosine_embedding_loss(lg.ones(2), lg.ones(2), lg.ones(2)), RuntimeError, "target"),
    (lambda: F.triplet_margin_loss(lg.ones(2), lg.ones(2), lg.ones((1, 2))), RuntimeError, "axes"),
    (lambda: F.triplet_margin_loss(lg.ones(2), lg.ones(2), lg.ones(2), margin=0), ValueError, "margin"),
    (lambda: F.margin_ranking_loss(lg.ones(2), lg.ones(2), lg.ones((1, 2))), RuntimeError, "axes"),
    (lambda: F.multi_margin_loss(lg.ones((2, 3)), lg.tensor([0, 1]), p=3), ValueError, "p=3"),
    (lambda: F.multi_margin_loss(lg.ones((2, 3)), lg.tensor([0, 3])), IndexError, "class number 3"),
    (lambda: F.multi_margin_loss(lg.ones((2, 3)), lg.tensor([0])), RuntimeError, "each row"),
    (lambda: F.multilabel_margin_loss(lg.ones((2, 3)), lg.tensor([[0, 1]])), ValueError, "one shape"),
    (lambda: nn.TripletMarginLoss(margin=0), ValueError, "margin"),
    (lambda: nn.MultiMarginLoss(p=3), ValueError, "p=3"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


# -- layers --------------------------------------------------------------------------------------
LAYERS = [
    ("MSELoss", {}, (draw(3, 4), draw(3, 4, seed=1))),
    ("L1Loss", {"reduction": "sum"}, (draw(3, 4), draw(3, 4, seed=1))),
    ("SmoothL1Loss", {"beta": 0.5}, (draw(3, 4), draw(3, 4, seed=1))),
    ("HuberLoss", {"delta": 0.5}, (draw(3, 4), draw(3, 4, seed=1))),
    ("CrossEntropyLoss", {"weight": fixed(probabilities(4)), "label_smoothing": 0.1}, (draw(5, 4), classes(5))),
    ("CrossEntropyLoss", {"ignore_index": 2, "reduction": "none"}, (draw(5, 4), classes(5))),
    ("NLLLoss", {"weight": fixed(probabilities(4)), "ignore_index": 1}, (logs(5, 4), classes(5))),
    ("BCELoss", {"weight": fixed(probabilities(4))}, (probabilities(3, 4), probabilities(3, 4, seed=1))),
    ("BCEWithLogitsLoss", {"pos_weight": fixed(probabilities(4))}, (draw(3, 4), probabilities(3, 4, seed=1))),
    ("KLDivLoss", {"reduction": "batchmean", "log_target": True}, (logs(3, 4), logs(3, 4, seed=1))),
    ("GaussianNLLLoss", {"full": True}, (draw(3, 4), draw(3, 4, seed=1), draw(3, 4, low=0.1))),
    ("PoissonNLLLoss", {"log_input": False}, (draw(3, 4, low=0.1), draw(3, 4, low=0.1))),
    ("CosineEmbeddingLoss", {"margin": 0.1}, (draw(5, 4), draw(5, 4, seed=1), signs(5))),
    ("MarginRankingLoss", {"margin": 0.1}, (draw(5), draw(5, seed=1), signs(5))),
    ("HingeEmbeddingLoss", {"margin": 0.6}, (draw(5), signs(5))),
    ("TripletMarginLoss", {"swap": True}, (draw(5, 3), draw(5, 3, seed=1), draw(5, 3, seed=2))),
    ("TripletMarginWithDistanceLoss", {"margin": 0.5}, (draw(5, 3), draw(5, 3, seed=1), draw(5, 3, seed=2))),
    ("SoftMarginLoss", {}, (draw(5), signs(5))),
    ("MultiLabelSoftMarginLoss", {"weight": fixed(probabilities(4))}, (draw(3, 4), probabilities(3, 4))),
    ("MultiLabelMarginLoss", {}, (draw(3, 4), np.array([[3, 0, -1, 1], [-1, 0, 1, 2], [2, 1, 0, 3]]))),
    ("MultiMarginLoss", {"p": 2, "weight": fixed(probabilities(4))}, (draw(5, 4), classes(5))),
]


@pytest.mark.parametrize(("name", "keywords", "arrays"), LAYERS)
def test_layers(name, keywords, arrays):
    torch = peer("torch")
    mine = {k: lg.tensor(np.asarray(v)) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    other = {k: torch.tensor(np.asarray(v)) if isinstance(v, np.ndarray) else v for k, v in keywords.items()}
    ours, theirs = getattr(nn, name)(**mine), getattr(torch.nn, name)(**other)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    agree(torch, ours, theirs, *arrays)


def test_on_the_device():
    x, t, p = draw(3, 4).astype("f"), classes(3), probabilities(3, 4).astype("f")
    for function, target in (
        (lambda x, t: F.cross_entropy(x, t, ignore_index=1, label_smoothing=0.1), t),
        (lambda x, t: F.cross_entropy(x, t), t),
        (lambda x, t: F.binary_cross_entropy_with_logits(x, t), p),
        (lambda x, t: F.mse_loss(x, t), p),
        (lambda x, t: F.multi_margin_loss(x, t), t),
    ):
        results = []
        for device in ("cpu", "cuda:0"):
            given = lg.tensor(x, device=device, requires_grad=True)
            loss = function(given, lg.tensor(target, device=device))
            loss.backward()
            results.append([loss.item(), given.grad.cpu().numpy()])
        for one, other in zip(*results, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
