"""Parameters, gradients and states shared out among processes, and saved: two in every run, more at night."""

import pytest
from jobs import ON_HOST, SHARDING
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(*SHARDING))
def test_sharding(check, ranks, results):
    results(ON_HOST, check, ranks)
