"""Data parallel training on CUDA, on the emulated device where there is no GPU."""

import checks_cuda_training
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 4)))
@pytest.mark.parametrize("check", names(checks_cuda_training))
def test_training_on_cuda(check, ranks, results):
    results(checks_cuda_training, check, ranks, cuda=True, seconds=300)
