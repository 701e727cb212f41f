"""Data parallel training and layers over several processes: two of them in every run, three and four at night."""

import checks_ddp
import checks_layers
import pytest
from ranks import names
from thoroughness import cases

HOST = checks_ddp, checks_layers


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(*HOST))
def test_parallel(check, ranks, results):
    results(HOST, check, ranks, seconds=300)
