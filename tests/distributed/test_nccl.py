"""NCCL between processes, on the emulated device where there is no GPU."""

import checks_nccl
import pytest
from ranks import names
from thoroughness import cases, seeds


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(checks_nccl))
def test_nccl(check, ranks, results):
    tried = seeds(40, 400)
    words = f"{tried.start} {tried.start + len(tried)}"
    results(checks_nccl, check, ranks, cuda=True, seconds=300, LUCIDGRAD_TEST_CASES=words)
