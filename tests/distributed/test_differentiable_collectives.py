"""Differentiable collectives obey the laws of derivatives across processes."""

import checks_functional
import pytest
from ranks import names
from thoroughness import cases


@pytest.mark.parametrize("ranks", cases((2,), (2, 3)))
@pytest.mark.parametrize("check", names(checks_functional))
def test_laws(check, ranks, results):
    results([checks_functional], check, ranks)


@pytest.mark.parametrize("check", names(checks_functional))
def test_laws_on_cuda(check, results):
    few = cases({"LUCIDGRAD_TEST_FEW": "1"}, {})
    results([checks_functional], check, cuda=True, LUCIDGRAD_TEST_DEVICE="cuda", seconds=300, **few)
