"""Is there a real GPU? The emulated device must not take its place unasked."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

# Files that a driver makes: without one, no process needs to be started to know the answer.
DRIVERS = "/dev/nvidiactl /dev/nvidia0 /dev/dxg /dev/nvhost-ctrl /dev/nvmap".split()
PROBE = """
import ctypes
driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
print(count.value)
"""


@cache
def usable() -> int:
    """Return the number of real GPUs that the installed driver offers.

    The driver is asked in a process of its own: here, it would keep the name that the emulated driver needs.
    """
    if not any(map(os.path.exists, DRIVERS)) and not list(Path("/dev").glob("nvidia*")):
        return 0
    # Isolated and without `site`, or a start-up file could install the emulated device there.
    result = subprocess.run([sys.executable, "-I", "-S", "-c", PROBE], capture_output=True, text=True)
    return int(result.stdout) if result.returncode == 0 and result.stdout.strip().isdigit() else 0
