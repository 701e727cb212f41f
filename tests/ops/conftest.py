"""Tests draw the same numbers in whichever order and process they run."""

import zlib

import finite
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def numbers_of_the_test_itself(request):
    seed = zlib.crc32(request.node.name.encode())
    for home in (request.module, finite):
        for name in ("rng", "RNG"):
            if hasattr(home, name):
                getattr(home, name).bit_generator.state = np.random.default_rng(seed).bit_generator.state
