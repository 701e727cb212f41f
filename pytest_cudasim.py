"""The pytest options ``--cudasim...``: tests run on an emulated CUDA device.

A module of its own, outside the packages: pytest imports it at every start, so it must not bring lucidgrad with it. The
distribution ``cudasim`` has it under another name; where both are installed, pytest takes the first.
"""

import importlib

import pytest

SETTINGS = ("devices", "memory", "lazy", "poison", "guard", "races")
PACKAGE = "cudasim" if __name__ == "cudasim_pytest" else "lucidgrad.backends.cudasim"


def pytest_addoption(parser):
    """Add the options, which have the names of those of ``python -m cudasim``."""
    group = parser.getgroup("cudasim", "emulated CUDA device")
    group.addoption("--cudasim", action="store_true", help="run CuPy on an emulated CUDA device, if there is no GPU")
    group.addoption("--cudasim-devices", type=int, metavar="N", help="number of devices (1)")
    group.addoption("--cudasim-memory", type=int, metavar="MB", help="memory of each device (4096)")
    group.addoption("--cudasim-lazy", action="store_true", help="work runs only when something waits for it")
    group.addoption("--cudasim-poison", action="store_true", help="fresh and freed memory holds garbage")
    group.addoption("--cudasim-guard", action="store_true", help="the host can't touch device memory")
    group.addoption("--cudasim-races", action="store_true", help="a test fails in which threads of a kernel race")
    group.addoption("--cudasim-force", action="store_true", help="use it although there is a GPU")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Install the device before any conftest.py can import CuPy; workers of pytest-xdist come here too."""
    chosen = early_config.known_args_namespace
    if not chosen.cudasim:
        return
    cudasim, launcher = importlib.import_module(PACKAGE), importlib.import_module(f"{PACKAGE}.launcher")
    if cudasim.usable_gpus() and not chosen.cudasim_force:
        return  # tests run on the GPU
    settings = {name: getattr(chosen, f"cudasim_{name}") or None for name in SETTINGS}
    try:
        cudasim.install(**settings, force=chosen.cudasim_force)
        launcher.inherit()
    except cudasim.EmulatorError as error:
        raise pytest.UsageError(f"--cudasim: {error}") from error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test in which a race was found."""
    if not item.config.getoption("cudasim_races"):
        return (yield)
    cudasim = importlib.import_module(PACKAGE)
    before = len(cudasim.races()) if cudasim.is_installed() else 0
    result = yield
    if found := cudasim.races()[before:] if cudasim.is_installed() else []:
        pytest.fail("threads of a kernel race:\n" + "\n".join(found), pytrace=False)
    return result


def pytest_report_header(config):
    """Say which device the tests run on."""
    if not config.getoption("cudasim"):
        return None
    cudasim = importlib.import_module(PACKAGE)
    return f"cudasim: {'emulated CUDA device' if cudasim.is_installed() else 'not used, there is a GPU'}"
