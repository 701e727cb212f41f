"""What tests of the CUDA back end share."""

import pytest

import lucidgrad as lg


@pytest.fixture(autouse=True, scope="session")
def cuda():
    """Where there is none, fixtures of modules are not made either."""
    lg.cuda.set_device(0)


@pytest.fixture(autouse=True)
def first_device():
    """Every test begins on device 0 and its default stream."""
    lg.cuda.set_device(0)
    yield
    for number in range(lg.cuda.device_count()):
        lg.cuda.set_stream(lg.cuda.default_stream(number))
    lg.cuda.set_device(0)


@pytest.fixture
def second():
    """The name of a second device."""
    if lg.cuda.device_count() < 2:
        pytest.skip("needs two devices")
    return "cuda:1"
