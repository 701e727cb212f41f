"""Collectives, with two processes in every run and four at night."""

import checks_collectives
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(checks_collectives))
def test_collectives(check, ranks, results):
    results(checks_collectives, check, ranks)
