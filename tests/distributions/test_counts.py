"""Random counts as functions of the root."""

import numpy as np
import pytest
from scipy import stats

import lucidgrad as lg


@pytest.mark.parametrize("rate", [0.3, 7.0, 40.0])
def test_poisson(rate):
    drawn = lg.poisson(lg.full((4000,), rate), generator=lg.Generator().manual_seed(1))
    assert drawn.dtype == lg.float32
    counts = np.bincount(np.asarray(drawn).astype(int))
    _agree(counts, stats.poisson(rate))


@pytest.mark.parametrize(("n", "p"), [(6, 0.3), (200, 0.2), (200, 0.9)])
def test_binomial(n, p):
    count, prob = lg.tensor(float(n)), lg.full((4000,), p)
    drawn = lg.binomial(count, prob, generator=lg.Generator().manual_seed(1))
    counts = np.bincount(np.asarray(drawn).astype(int), minlength=n + 1)
    _agree(counts, stats.binom(n, p))


def _agree(counts, law):
    expected = law.pmf(np.arange(len(counts))) * counts.sum()
    often = expected > 5
    rest = counts.sum() - counts[often].sum(), counts.sum() - expected[often].sum()
    found, wanted = np.append(counts[often], rest[0]), np.append(expected[often], max(rest[1], 1e-9))
    keep = wanted > 1
    assert stats.chi2.sf(((found - wanted)[keep] ** 2 / wanted[keep]).sum(), keep.sum() - 1) > 1e-3


def test_a_generator_decides():
    rates = lg.full((50,), 3.0)
    first, again = (lg.poisson(rates, generator=lg.Generator().manual_seed(5)) for _ in range(2))
    assert first.tolist() == again.tolist()
    assert first.tolist() != lg.poisson(rates, generator=lg.Generator().manual_seed(6)).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: lg.poisson(lg.tensor([-1.0])), lambda: lg.poisson(lg.tensor([1])), lambda: lg.poisson(3.0),
        lambda: lg.binomial(lg.tensor([-1.0]), lg.tensor([0.5])),
        lambda: lg.binomial(lg.tensor([1.0]), lg.tensor([2.0])),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(call):
    with pytest.raises(RuntimeError, match="expected"):
        call()
