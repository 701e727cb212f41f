"""Parameters, gradients and states shared out among processes, and saved: two in every run, more at night."""

import checks_checkpoint
import checks_sharding
import checks_sharding_cuda
import pytest
from ranks import names
from thoroughness import cases

HOST = checks_sharding, checks_checkpoint


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(*HOST))
def test_sharding(check, ranks, results):
    results(HOST, check, ranks, seconds=600)


@pytest.mark.parametrize("check", names(checks_sharding_cuda))
def test_sharding_on_cuda(check, results):
    """In the emulated device's strictest mode: work runs only when something waits for it, memory begins as rubbish."""
    pytest.importorskip("cupy")
    strict = {"CUDASIM_LAZY": "1", "CUDASIM_POISON": "1"}
    results([checks_sharding_cuda], check, cuda=True, seconds=300, LUCIDGRAD_TEST_DEVICE="cuda", **strict)
