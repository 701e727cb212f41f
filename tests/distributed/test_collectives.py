"""Collectives, and those that obey the laws of derivatives: two processes in every run, more at night."""

import checks_collectives
import checks_functional
import checks_fuzz
import checks_staged
import checks_tensors
import pytest
from ranks import names
from thoroughness import cases, seeds

HOST = checks_collectives, checks_tensors, checks_fuzz, checks_functional


@pytest.mark.parametrize("ranks", cases((2,), (2, 3, 4)))
@pytest.mark.parametrize("check", names(*HOST))
def test_collectives(check, ranks, results):
    tried = seeds(60, 1000)
    results(HOST, check, ranks, seconds=900, LUCIDGRAD_TEST_CASES=f"{tried.start} {len(tried)}")


@pytest.mark.parametrize("check", names(checks_staged))
def test_cuda_tensors_by_mpi(check, results):
    """The emulated device's memory is the host's, so that any library takes it."""
    tried = seeds(8, 200)
    settings = {"LUCIDGRAD_TEST_BACKEND": "mpi", "LUCIDGRAD_TEST_DEVICE": "cuda"}
    settings["LUCIDGRAD_TEST_CASES"] = f"{tried.start} {len(tried)}"
    results([checks_staged], check, cuda=True, seconds=600, **settings)
