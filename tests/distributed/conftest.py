"""What tests with several processes share."""

import importlib.util
import os
import shutil

import pytest
from ranks import Results, mpiexec


@pytest.fixture(scope="session", autouse=True)
def _launcher():
    """Without MPI there is nothing to test."""
    if importlib.util.find_spec("mpi4py") is None or shutil.which(mpiexec()) is None:
        pytest.skip("needs mpi4py and mpiexec: pip install mpi4py mpich")


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """The results of checks, one launch for a module, shared by the processes of pytest-xdist."""
    folder = tmp_path_factory.getbasetemp()
    return Results(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder)
