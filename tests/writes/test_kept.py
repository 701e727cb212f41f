"""What operations keep: a write into a result or an argument is refused only where PyTorch's is, or for a reason."""

import contextlib
import warnings

import pytest
from expressions import ARGUMENTS, arguments, evaluate, expressions, name_of, names_in, torch
from thoroughness import NIGHTLY

import lucidgrad as lg

OUT = "the result"
UNREADABLE = (AttributeError, TypeError, RuntimeError, ValueError, BufferError)

#: Where a write is refused that PyTorch allows: function and what is written, with the reason.
REASONS = {
    ("expm1", "x"): "PyTorch's rule, result + 1, loses digits where the result is near -1",
    ("ndtr", "x"): "PyTorch's is made of others, which keep results of their own",
    ("ndtri", "x"): "as ndtr",
    ("sign", "x"): "its rule keeps x for complex numbers",
    ("1 / x", "x"): "PyTorch keeps a reciprocal of its own",
    ("polar", "x"): "PyTorch's rule keeps the result",
    ("polar", "w"): "as above",
    ("kron", "x"): "PyTorch multiplies copies",
    ("kron", "w"): "as above",
    ("kron", "flat"): "as above",
    ("max", OUT): "as PyTorch's amax; indices would cost memory",
    ("max", "row"): "as above",
    ("cond", "m"): "as svdvals",
    ("svdvals", "m"): "PyTorch keeps the vectors, too",
    ("eigvalsh", "spd"): "as svdvals",
    ("svd", "m"): "without vectors, as svdvals",
    ("vander", OUT): "running products are kept once, as the result",
    ("cross_entropy", "x"): "PyTorch keeps all logarithms of probabilities",
    ("CrossEntropyLoss", "x"): "as cross_entropy",
    ("margin_ranking_loss", "sign"): "PyTorch multiplies with a negated copy",
    ("MarginRankingLoss", "sign"): "as above",
    ("scaled_dot_product_attention", OUT): "PyTorch's fused kernels keep it, too; the other one keeps all weights",
    **dict.fromkeys([(name, OUT) for name in ("GRU", "GRUCell", "LSTM", "LSTMCell", "RNN")],
                    "states are kept once, as the result; PyTorch's layers on the CPU keep the parts of every step"),
}  # fmt: skip


def _outcome(library, expression, what):
    """Whether backward computes after a write that changes no value; None where there is nothing to compare."""
    leaves = arguments(library, names_in(expression), requires_grad=True)
    given = {name: t * 1 if t.requires_grad else t for name, t in leaves.items()}
    results = [y for y in evaluate(library, expression, given) if y.requires_grad]
    if not results:
        return None
    loss = sum(((y * 1).abs() if y.is_complex() else y).sum() for y in results)
    with library.no_grad():
        for t in results if what == OUT else [given[what]]:
            try:
                t.detach().mul_(1)
            except RuntimeError:  # stretched
                return None
    try:
        loss.backward()
    except RuntimeError as error:
        if "modified by an in" not in str(error):
            raise
        return False
    return True


def _refused(expression):
    """What must not be written, though PyTorch allows it."""
    for what in (OUT, *(name for name in names_in(expression) if ARGUMENTS[name].dtype.kind in "fc")):
        with warnings.catch_warnings(), contextlib.suppress(*UNREADABLE):
            warnings.simplefilter("ignore")
            if _outcome(torch, expression, what) and _outcome(lg, expression, what) is False:
                yield name_of(expression), what


@pytest.mark.skipif(torch is None, reason="beside PyTorch")
@pytest.mark.parametrize("start", ["lg.", "F.", "nn.", "special.", ""])
def test_writes_are_refused_only_where_pytorch_refuses(start):
    spaces = ("lg.", "F.", "nn.", "special.")
    chosen = [e for e in expressions() if (e.startswith(start) if start else not e.startswith(spaces))]
    chosen = [e for e in chosen if NIGHTLY or ".eval()" not in e]
    assert not {found: e for e in chosen for found in _refused(e) if found not in REASONS}


@pytest.mark.skipif(torch is None, reason="beside PyTorch")
def test_every_reason_is_needed():
    names = {name for name, _ in REASONS}
    chosen = [e for e in expressions() if name_of(e) in names and ".eval()" not in e]
    assert {found for e in chosen for found in _refused(e)} == set(REASONS)


#: Results that can be written before backward: nothing keeps them.
WRITTEN = """
x / w | 1 / x | lg.divide(x, w) | lg.fmod(x, w) | lg.sign(x) | lg.sign(z) | lg.erfinv(x) | F.normalize(x)
F.softsign(x) | F.max_pool1d(line, 2) | F.max_pool2d(img, 2) | F.max_pool3d(vol, 2) | F.cosine_similarity(x, w)
"""


@pytest.mark.parametrize("expression", [call.strip() for call in WRITTEN.replace("\n", "|").split("|") if call.strip()])
def test_results_that_nothing_keeps_can_be_written(expression):
    assert _outcome(lg, expression, OUT)


def test_normalising_and_scaling_in_place():
    x, s, g = (lg.tensor(values, requires_grad=True) for values in ([1.0, 2.0], [2.0, 4.0], [3.0, 5.0]))
    y = x * 1
    y /= s
    y *= g
    y.sum().backward()
    assert x.grad.tolist() == [1.5, 1.25]
    assert s.grad.tolist() == [-0.75, -0.625]
    assert g.grad.tolist() == [0.5, 0.5]


def test_the_places_of_a_pool_are_kept():
    x = lg.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
    y, i = lg.nn.functional.max_pool1d((x * 1).reshape(1, 1, 4), 2, return_indices=True)
    i.zero_()
    with pytest.raises(RuntimeError, match="max_pool.*its output 1"):
        y.sum().backward()
