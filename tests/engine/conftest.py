"""What every engine test starts from: gradients on, float32, the interpreter's own settings."""

import gc
import sys

import pytest

import lucidgrad as lg


@pytest.fixture(autouse=True)
def fresh_settings():
    """Undo whatever a test did to the modes, the default dtype, the collector and the thread switching."""
    dtype, interval, collecting = lg.get_default_dtype(), sys.getswitchinterval(), gc.isenabled()
    yield
    lg.set_grad_enabled(True)
    lg.set_default_dtype(dtype)
    sys.setswitchinterval(interval)
    if collecting:
        gc.enable()
    else:
        gc.disable()
