"""Type checkers understand what people write, and tell them what can't work."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typed import user_code, user_doors, user_hips

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CODE = [HERE / "user_code.py", HERE / "user_doors.py", HERE / "user_hips.py"]
RULES = {
    "typeCheckingMode": "strict",
    "enableTypeIgnoreComments": False,  # which are mypy's
    "reportUnnecessaryTypeIgnoreComment": "error",
    "reportUnusedExpression": False,  # wrong ones among them
}


@pytest.mark.parametrize("program", [user_code, user_doors, user_hips])
def test_runs(program):
    program.main()


@pytest.mark.parametrize("file", CODE, ids=lambda file: file.stem)
def test_mypy(mypy, file):
    found = mypy(file)
    assert found.returncode == 0, found.stdout


@pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="needs basedpyright")
def test_pyright(tmp_path):
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(json.dumps({"include": list(map(str, CODE)), "extraPaths": [str(ROOT)], **RULES}))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "-p", settings]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
