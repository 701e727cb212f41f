"""The page of PyTorch's names is current, and what it says of ours is so."""

import importlib.util

import pytest

from tools import names


def test_the_page_is_current():
    assert names.PAGE.read_text(encoding="utf-8") == names.page(), "run `python -m tools.names`"


def test_every_reason_is_needed():
    assert names.idle() == []


def test_names_that_count_as_there_exist():
    places = names.table()
    assert [place.name for place in places] == [names.PLACES[0], names.MAKING, *names.PLACES[1:]]
    for place in places:
        found = names.ours(place.name)
        assert [n for n in (*place.there, *place.different) if getattr(found, n, None) is None] == []
        recorded = [*place.there, *place.different, *place.missing, *place.left_out]
        assert sorted(recorded) == names.read()[place.name]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not in the test extra")
def test_the_recorded_names_are_pytorchs():
    torch = importlib.import_module("torch")
    if not torch.__version__.startswith(names.RECORDED.read_text(encoding="utf-8").split()[1]):
        pytest.skip("another version than the recorded one")
    assert names.installed() == names.read()
