"""Collectives, with two processes in every run and more at night."""

import checks_collectives
import checks_fuzz
import checks_tensors
import pytest
from ranks import names
from thoroughness import cases, seeds

RANKS = cases((2,), (2, 3, 4))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", names(checks_collectives))
def test_collectives(check, ranks, results):
    results(checks_collectives, check, ranks)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", names(checks_tensors))
def test_tensors(check, ranks, results):
    results(checks_tensors, check, ranks)


@pytest.mark.parametrize("ranks", RANKS)
def test_random_collectives(ranks, results):
    tried = seeds(60, 1000)
    (check,) = names(checks_fuzz)
    results(checks_fuzz, check, ranks, LUCIDGRAD_TEST_CASES=f"{tried.start} {len(tried)}")
