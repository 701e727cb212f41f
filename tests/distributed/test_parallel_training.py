"""Data parallel training and layers over several processes: two of them in every run, three and four at night."""

import pytest
from jobs import ON_HOST, TRAINING
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(*TRAINING))
def test_parallel(check, ranks, results):
    results(ON_HOST, check, ranks)
