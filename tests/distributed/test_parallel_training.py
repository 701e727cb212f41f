"""Data parallel training and layers over several processes: two of them in every run, three and four at night."""

import checks_parallel
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(checks_parallel))
def test_parallel(check, ranks, results):
    results(checks_parallel, check, ranks, seconds=300)
