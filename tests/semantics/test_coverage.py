"""Every promise has a test, and every test of this folder names a promise."""

import ast
import functools
import re
from pathlib import Path

import pytest

LINES = {"S000": 21, "S001": 37, "S002": 15, "S003": 13, "S004": 14}
STREAMS = [f"S001_33{part}" for part in "abcde"]
IDS = [f"{name}_{i:02d}" for name, n in LINES.items() for i in range(1, n + 1) if (name, i) != ("S001", 33)]
IDS += STREAMS + [f"R{i:02d}" for i in range(1, 27)]


@functools.cache
def names_of_tests():
    """Give the names of all test functions in this folder, except those of this file."""
    paths = [path for path in sorted(Path(__file__).parent.glob("test_*.py")) if path.name != Path(__file__).name]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def id_of(name):
    match = re.match(r"test_(S\d{3}_\d\d[a-e]?|R\d\d)_[a-z]", name)
    return match and match[1]


@pytest.mark.parametrize("promise", IDS)
def test_promise_has_a_test(promise):
    assert promise in {id_of(name) for name in names_of_tests()}


def test_every_test_names_a_promise():
    assert [name for name in names_of_tests() if id_of(name) not in IDS] == []


def test_no_test_hides_another():
    names = names_of_tests()
    assert sorted(names) == sorted(set(names))
