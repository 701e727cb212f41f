"""PyTorch's arguments and modules have the dtype of ours: float64."""

import pytest
from expressions import torch

import lucidgrad as lg


@pytest.fixture(autouse=True)
def float64():
    """PyTorch's arguments and modules have the dtype of ours."""
    before = lg.get_default_dtype()
    lg.set_default_dtype(lg.float64)
    if torch is not None:
        torch.set_default_dtype(torch.float64)
    yield
    lg.set_default_dtype(before)
    if torch is not None:
        torch.set_default_dtype(torch.float32)
