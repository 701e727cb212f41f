"""The page of PyTorch's names is current, and what it says of ours is so."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import names

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(params=names.FACES, ids=lambda face: face.module)
def face(request):
    return request.param


def test_the_page_is_current(face):
    assert face.page.read_text(encoding="utf-8") == names.page(face), "run `python -m tools.names`"


def test_every_reason_is_needed(face):
    assert names.idle(face) == []


def test_every_place_is_looked_at():
    assert sorted(names.DOOR.places) == sorted(names.read())
    assert set(names.LUCIDGRAD.places) < set(names.DOOR.places)


def test_every_name_that_is_missing_from_the_door_has_a_reason():
    missing = {place.name: place.missing for place in names.table(names.DOOR)}
    assert {place: [n for n, why in found.items() if why == names._NOT_YET] for place, found in missing.items()} == {
        place: [] for place in missing
    }


def test_names_that_count_as_there_exist(face):
    for place in names.table(face):
        found = face.ours(place.name)
        assert [n for n in (*place.there, *place.different) if not hasattr(found, n)] == []
        recorded = [*place.there, *place.different, *place.missing, *place.left_out]
        assert sorted(recorded) == names.read()[place.name]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not in the test extra")
def test_the_recorded_names_are_pytorchs():
    torch = importlib.import_module("torch")
    if not torch.__version__.startswith(names.RECORDED.read_text(encoding="utf-8").split()[1]):
        pytest.skip("another version than the recorded one")
    program = "import json; from tools import names; print(json.dumps(names.installed()))"  # here others import more
    told = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout.splitlines()[-1]) == names.read()
