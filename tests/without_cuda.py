"""Tests of CUDA where there can be none: they are skipped, and say why. A plugin of pytest, for the whole repository.

Without CuPy nothing of them can run. Without a compiler there is no emulated device; that is an error, since it would
hide a third of the tests, unless ``LUCIDGRAD_WITHOUT_CUDA=1`` says that it is meant. With a GPU a test ends where it
asks for what only the emulated device knows, such as launches. And what tests of that device share.
"""

import contextlib
import importlib.util
import os
import sys

import pytest

from lucidgrad.backends import cudasim
from lucidgrad.core.errors import DeviceError

#: Whether tests of CUDA are left out.
EXPECTED = importlib.util.find_spec("cupy") is None or bool(os.environ.get("LUCIDGRAD_WITHOUT_CUDA"))

if not cudasim.usable_gpus() and not cudasim.is_installed():
    # Tests of device="cuda" run everywhere: on an emulated one where there is no GPU. Without a compiler they fail.
    with contextlib.suppress(cudasim.EmulatorError):
        cudasim.install(devices=2)


def _for_want_of_cuda(error: BaseException | None) -> bool:
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").partition(".")[0] in ("cupy", "cupyx", "cupy_backends")
    if isinstance(error, DeviceError):
        return "device 'cuda' can't be used" in str(error)
    return isinstance(error, cudasim.EmulatorError)


def excuse(error: BaseException | None) -> str | None:
    """Why an error is none, where it comes of CUDA and there is meant to be none.

    An error that led to the one that was raised counts, too: many are said again in the words of a call.
    """
    if isinstance(error, cudasim.EmulatorError) and not cudasim.is_installed() and cudasim.usable_gpus():
        return f"a GPU is here: {error}"
    while EXPECTED and error is not None and not _for_want_of_cuda(error):
        error = error.__cause__ or error.__context__
    return f"no CUDA here: {error}" if EXPECTED and error is not None else None


def _skipping():
    try:
        return (yield)
    except Exception as error:
        if reason := excuse(error):
            pytest.skip(reason)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    return (yield from _skipping())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    return (yield from _skipping())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """A position outside of an axis that no synchronisation told is this test's fault, not that of a later one."""
    result = yield
    faults = sys.modules.get("lucidgrad.backends.cuda.faults")
    if found := faults and faults.take():
        pytest.fail(f"a kernel met position {found[1]} of an axis of size {found[2]}, and nobody was told")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """A file that can't be imported is one skip."""
    report = yield
    found = getattr(getattr(report, "call", None), "excinfo", None)
    if report.failed and found is not None and (reason := excuse(found.value)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {reason}")
    return report


@pytest.fixture
def lazy():
    """Work runs only when something waits for it, and freed memory is garbage: a missing wait shows."""
    if not cudasim.is_installed():
        pytest.skip("needs the emulated device")
    with cudasim.lazy(), cudasim.poison():
        yield
    cudasim.synchronise_all()
