"""Collectives, with two processes in every run and more at night."""

import checks_collectives
import checks_fuzz
import checks_staged
import checks_tensors
import pytest
from ranks import names
from thoroughness import cases, seeds

RANKS = cases((2,), (2, 3, 4))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", names(checks_collectives))
def test_collectives(check, ranks, results):
    results(checks_collectives, check, ranks)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("check", names(checks_tensors))
def test_tensors(check, ranks, results):
    results(checks_tensors, check, ranks)


@pytest.mark.parametrize("ranks", RANKS)
def test_random_collectives(ranks, results):
    tried = seeds(60, 1000)
    (check,) = names(checks_fuzz)
    results(checks_fuzz, check, ranks, seconds=900, LUCIDGRAD_TEST_CASES=f"{tried.start} {len(tried)}")


@pytest.mark.parametrize("aware", ["0", "1"], ids=["staged", "from the device"])
@pytest.mark.parametrize("check", names(checks_staged))
def test_cuda_tensors_by_mpi(check, aware, results):
    """The emulated device's memory is the host's, so that any library takes it."""
    settings = {"LUCIDGRAD_TEST_BACKEND": "mpi", "LUCIDGRAD_TEST_DEVICE": "cuda", "LUCIDGRAD_MPI_CUDA": aware}
    tried = seeds(8, 200)
    settings["LUCIDGRAD_TEST_CASES"] = f"{tried.start} {len(tried)}"
    results(checks_staged, check, cuda=True, seconds=300, **settings)
