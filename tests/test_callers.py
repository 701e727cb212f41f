"""Warnings point at users' lines, and whoever shows, records or filters warnings does so as without lucidgrad."""

import importlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import callers


def divided():
    return lg.ones(2) / lg.zeros(2)


LINE = divided.__code__.co_firstlineno + 1


def test_recorded():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        divided()
    assert [(w.filename, w.lineno, w.category) for w in found] == [(__file__, LINE, RuntimeWarning)]


def test_pytest_records():
    with pytest.warns(RuntimeWarning, match="divide by zero") as found:
        divided()
    assert [(w.filename, w.lineno) for w in found] == [(__file__, LINE)]


def test_own_way_to_show(monkeypatch):
    shown = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda *args, **more: shown.append(args[1:4]))
        divided()
        warnings.warn("mine", UserWarning, stacklevel=1)
    assert [category for category, _, _ in shown] == [RuntimeWarning, UserWarning]
    assert shown[0][1:] == (__file__, LINE)


def test_filters_of_the_users_module():
    """A filter by module is one of the module that called, and an error is raised there."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.filterwarnings("error", module=__name__.rpartition(".")[2])
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            divided()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module=__name__.rpartition(".")[2])
        divided()
    assert found == []


def test_once_for_each_line():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            divided()
        lg.ones(2) / lg.zeros(2)
    assert len(found) == 2


def test_warnings_of_others_are_untouched():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        np.ones(2) / np.zeros(2)
        warnings.warn_explicit("elsewhere", UserWarning, "a_file.py", 7)
        warnings.warn("here", DeprecationWarning, stacklevel=1)
    assert [w.filename for w in found] == [__file__, "a_file.py", __file__]


def test_loaded_again():
    """One wrapper, however often the module is loaded, around what was there."""
    before = warnings._showwarnmsg
    try:
        for _ in range(3):
            importlib.reload(callers)
        assert warnings._showwarnmsg.plainly is before.plainly
        test_recorded()
    finally:
        warnings._showwarnmsg = before


def test_taken_away():
    """Somebody who puts back Python's own function gets Python's own behaviour."""
    before = warnings._showwarnmsg
    try:
        warnings._showwarnmsg = before.plainly
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            divided()
        assert len(found) == 1
    finally:
        warnings._showwarnmsg = before


def test_without_that_function():
    """A Python that has no such function shows warnings in its own way."""
    code = "import warnings; del warnings._showwarnmsg; import lucidgrad; print(hasattr(warnings, '_showwarnmsg'))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "False\n", found.stderr
