"""The pytest options ``--cudasim...``: tests run on lucidgrad's emulated CUDA device.

A module of its own, outside the package: pytest imports it at every start, so it must not bring lucidgrad with it.
"""

import pytest


def pytest_addoption(parser):
    """Add the options, which have the names of those of ``python -m lucidgrad.cudasim``."""
    group = parser.getgroup("cudasim", "lucidgrad's emulated CUDA device")
    group.addoption("--cudasim", action="store_true", help="run CuPy on an emulated CUDA device, if there is no GPU")
    group.addoption("--cudasim-devices", type=int, metavar="N", help="number of devices (1)")
    group.addoption("--cudasim-memory", type=int, metavar="MB", help="memory of each device (4096)")
    group.addoption("--cudasim-lazy", action="store_true", help="work runs only when something waits for it")
    group.addoption("--cudasim-poison", action="store_true", help="fresh and freed memory holds garbage")
    group.addoption("--cudasim-guard", action="store_true", help="the host can't touch device memory")
    group.addoption("--cudasim-force", action="store_true", help="use it although there is a GPU")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Install the device before any conftest.py can import CuPy; workers of pytest-xdist come here too."""
    chosen = early_config.known_args_namespace
    if not chosen.cudasim:
        return
    from lucidgrad.backends import cudasim
    from lucidgrad.backends.cudasim import launcher

    if cudasim.usable_gpus() and not chosen.cudasim_force:
        return  # tests run on the GPU
    settings = {
        name: getattr(chosen, f"cudasim_{name}") or None for name in ("devices", "memory", "lazy", "poison", "guard")
    }
    try:
        cudasim.install(**settings, force=chosen.cudasim_force)
        launcher.inherit()
    except cudasim.EmulatorError as error:
        raise pytest.UsageError(f"--cudasim: {error}") from error


def pytest_report_header(config):
    """Say which device the tests run on."""
    if not config.getoption("cudasim"):
        return None
    from lucidgrad.backends import cudasim

    return f"cudasim: {'emulated CUDA device' if cudasim.is_installed() else 'not used, there is a GPU'}"
