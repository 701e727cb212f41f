"""Collectives, and those that obey the laws of derivatives: two processes in every run, more at night."""

import pytest
from jobs import COLLECTIVES, ON_HOST
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(*COLLECTIVES))
def test_collectives(check, ranks, results):
    results(ON_HOST, check, ranks)
