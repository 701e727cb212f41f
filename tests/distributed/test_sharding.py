"""Parameters, gradients and states shared out among processes: two in every run, four at night."""

import checks_sharding
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(checks_sharding))
def test_sharding(check, ranks, results):
    results(checks_sharding, check, ranks)
