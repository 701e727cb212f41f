import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "codegen"))  # the catalogue of kernels

from lucidgrad.backends.cpu.compiled import building


@pytest.fixture(scope="module", autouse=True)  # before those of a module, which compile
def _compiler():
    reason = building.why_not()
    if reason:
        pytest.skip(f"no compiled kernels: {reason}")
