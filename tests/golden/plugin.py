"""Tests get a tape: hooks of pytest, for the whole repository."""

import zlib

import pytest

import golden
import lucidgrad as lg
from golden import stores, tapes

recorded: dict = {}  # file of answers -> tapes of tests that passed


def _active():
    return not golden.installed()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Before fixtures of the test ask something, the tape is there."""
    if _active() and item.path.is_relative_to(stores.TESTS):
        name = item.nodeid.partition("::")[2]
        if golden.RECORDING:
            tapes.current = tapes.Tape(item.nodeid, [], recording=True)
        else:
            known = stores.answers(stores.place_of(item.path))
            tapes.current = tapes.Tape(item.nodeid, known.tapes.get(name), recording=False, pools=known)
        if tapes.current.entries is not None:
            _same_random_numbers(zlib.crc32(name.encode()))
    return (yield)


def _same_random_numbers(seed):
    """Tests draw the same numbers whenever they are recorded and replayed."""
    lg.manual_seed(seed)
    if golden.RECORDING:
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    """Fixtures that several tests share ask nothing that a test would have to answer for."""
    tape = tapes.current
    if fixturedef.scope != "function":
        tapes.current = None
    try:
        return (yield)
    finally:
        tapes.current = tape


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A test that passed is kept when recording, and must have asked everything when replaying."""
    found = yield
    tape = tapes.current
    if tape is None:
        return found
    if tape.recording and tape.entries:
        path = stores.place_of(item.path)
        recorded.setdefault(path, {})[item.nodeid.partition("::")[2]] = tape.entries
    elif not tape.recording and tape.entries is not None and tape.place < len(tape.entries):
        tape.differ(tape.entries[tape.place][0], "nothing more")
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    tapes.current = None


def pytest_sessionfinish(session):
    """Write the files of all tests that were recorded, or compare with them."""
    if golden.MODE == "record":
        for path, found in recorded.items():
            stores.save(path, found)
        stores.save_facts()
    elif golden.MODE == "check":
        differing = [
            f"{path.stem}::{test}" for path, found in recorded.items() for test in stores.differing(path, found)
        ]
        print("".join(f"\nanother answer than the recorded one: {name}" for name in differing))
        session.exitstatus = session.exitstatus or bool(differing)
