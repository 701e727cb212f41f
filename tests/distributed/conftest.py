"""What tests with several processes share."""

import os

import pytest
from ranks import Results


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """The results of checks, one launch for a module, shared by the processes of pytest-xdist."""
    folder = tmp_path_factory.getbasetemp()
    return Results(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder)
