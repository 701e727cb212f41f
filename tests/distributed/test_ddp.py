"""Data parallel training, with two processes in every run and four at night."""

import checks_ddp
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(checks_ddp))
def test_data_parallel(check, ranks, results):
    results(checks_ddp, check, ranks)
