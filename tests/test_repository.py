"""The rules of the repository that no linter knows. CONTRIBUTING.md lists them."""

import ast
import doctest
import importlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
import tomllib
import zipfile
from pathlib import Path

import pytest

import lucidgrad

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def modules(*folders):
    """Return the Python files below `folders`, each once (lucidgrad/backends is a symlink)."""
    return sorted({path.resolve() for folder in folders for path in (ROOT / folder).rglob("*.py")})


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def name(path):
    return path.relative_to(ROOT).as_posix()


def python(code):
    """Run `code` in a fresh interpreter at the root of the repository."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


# --- size and finish ----------------------------------------------------------------------------------

PACKAGED = modules("lucidgrad", "backends")


def test_no_file_exceeds_800_lines():
    sizes = {name(path): len(lines(path)) for path in PACKAGED + modules("tests", "bench", "examples", "tools")}
    assert {file: size for file, size in sizes.items() if size > 800} == {}


def test_the_engine_in_c_has_at_most_1000_lines():
    """Comments and blank lines among them, and none longer than those of Python."""
    sources = {name(path): lines(path) for path in sorted((ROOT / "backends" / "native").glob("*.[ch]"))}
    assert 0 < sum(map(len, sources.values())) <= 1000
    assert [f"{file}:{n}" for file, text in sources.items() for n, line in enumerate(text, 1) if len(line) > 120] == []


def test_no_two_tests_are_one_module():
    """Folders of tests that are no packages share one space of module names, so the second file would not be run."""
    loose = [path for path in modules("tests") if not (path.parent / "__init__.py").exists()]
    owners = {}
    for path in loose:
        if path.name != "conftest.py":
            owners.setdefault(path.stem, []).append(name(path))
    assert {module: files for module, files in owners.items() if len(files) > 1} == {}


def test_any_folders_of_tests_can_be_named_together():
    """Several conftest.py clash with one another, or none does: all folders are named at once. Other files: above."""
    folders = sorted({path.parent for path in modules("tests")} - {ROOT / "tests"})
    others = [f"--ignore={path}" for path in modules("tests") if path.name != "conftest.py"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *others, *folders]
    collected = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert collected.returncode == 5, collected.stdout + collected.stderr  # no tests, and no errors


def lines_of_code(path):
    """Count the lines that hold code: no blank lines, comments or docstrings."""
    source = path.read_text(encoding="utf-8")
    documentation = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            documentation |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - documentation)


def test_core_stays_below_2000_lines_of_code():
    """Small enough to be read in a day: primitives, dispatch, tape, walk, modes and devices.

    Who interprets arrays (levels), who writes in place and who adds to ``.grad`` have rooms of their own.
    """
    assert sum(map(lines_of_code, modules("lucidgrad/core"))) < 2000


def test_nothing_is_left_unfinished():
    unfinished = re.compile(r"\b(NotImplementedError|TODO|FIXME)\b")
    theirs = ('is missing the required "forward"', "in closed form")  # what users left out, and what nobody knows
    assert [
        f"{name(path)}:{number}: {line.strip()}"
        for path in PACKAGED
        for number, line in enumerate(lines(path), 1)
        if unfinished.search(line) and not any(words in line for words in theirs)
    ] == []


@pytest.mark.parametrize("module", ["lucidgrad", "lucidgrad.autograd"])
def test_public_names_are_documented(module):
    public = importlib.import_module(module)
    found = {key: getattr(public, key) for key in public.__all__}
    assert [key for key, value in found.items() if callable(value) and not documented(value)] == []


def documented(obj):
    """Tell whether `obj` has a docstring of its own, not one inherited from its class."""
    own = inspect.isclass(obj) or obj.__doc__ is not type(obj).__doc__
    return bool(own and (obj.__doc__ or "").strip())


def test_the_page_on_architecture_lists_the_rooms():
    """Folders that are packages, and the files beside them at the top."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    folders = {path.parent for path in PACKAGED if path.name == "__init__.py"} - {ROOT / "lucidgrad"}
    files = {path for path in PACKAGED if path.parent == ROOT / "lucidgrad" and path.name != "__init__.py"}
    assert sorted(listed) == sorted(map(name, folders | files))


# --- imports ------------------------------------------------------------------------------------------


def test_import_brings_no_other_framework():
    result = python("import sys, lucidgrad; print(sorted({'cupy', 'torch', 'jax', 'mpi4py'} & set(sys.modules)))")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"


def test_backends_refuses_any_other_name():
    result = python("import backends")
    assert result.returncode != 0
    message = result.stderr.strip().splitlines()[-1]
    assert message.startswith("ImportError:")
    assert "lucidgrad.backends" in message


# --- packaging ----------------------------------------------------------------------------------------


def test_backends_is_reached_through_a_symlink():
    link = ROOT / "lucidgrad/backends"
    assert link.is_symlink()
    assert os.readlink(link) == "../backends"


def test_package_list_matches_folders():
    folders = [
        ".".join(Path(folder).relative_to(ROOT).parts)
        for folder, _, files in os.walk(ROOT / "lucidgrad", followlinks=True)
        if "__init__.py" in files
    ]
    assert sorted(PYPROJECT["tool"]["setuptools"]["packages"]) == sorted(folders)


def test_wheel_contents(tmp_path):
    tree, out = tmp_path / "tree", tmp_path / "wheel"
    skip = shutil.ignore_patterns(".*", "__pycache__", "build", "*.egg-info")  # nothing stale may leak in
    shutil.copytree(ROOT, tree, symlinks=True, ignore=skip)
    pip_wheel = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    build = subprocess.run([*pip_wheel, "--wheel-dir", out, tree], capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr

    (wheel,) = out.iterdir()
    contents = zipfile.ZipFile(wheel).namelist()
    information = f"lucidgrad-{lucidgrad.__version__}.dist-info"
    plugin = "pytest_cudasim.py"  # alone at the top: pytest imports it at every start
    assert {file.split("/")[0] for file in contents} == {"lucidgrad", plugin, information}
    assert {"lucidgrad/py.typed", "lucidgrad/backends/cpu/__init__.py"} <= set(contents)
    linked = ["lucidgrad/backends/cudasim/caches.py", "lucidgrad/backends/cudasim/progress.py"]  # it stands alone, too
    assert sorted(file for file in contents if file.endswith(".py")) == sorted(
        [plugin, *linked, *(re.sub("^backends/", "lucidgrad/backends/", name(path)) for path in PACKAGED)]
    )
    assert {name(path) for path in (ROOT / "lucidgrad").rglob("*.pyi")} == {f for f in contents if f.endswith(".pyi")}
    emulator = ROOT / "backends/cudasim"  # its sources are built where they are installed
    sources = [path for folder in ("src", "include") for path in (emulator / folder).rglob("*") if path.is_file()]
    assert {f"lucidgrad/{name(path)}" for path in sources} <= set(contents)


def test_examples_show_no_digits_that_processors_disagree_on():
    """Functions of float32 differ in their last digits; doctest compares as many digits as an example shows."""
    exact = {"2.220446049250313e-16", "1.6666666666666667"}
    number = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])")
    shown = []
    for path in modules("lucidgrad"):
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, documented)]
        texts = filter(None, map(ast.get_docstring, nodes))
        for example in (one for text in texts for one in doctest.DocTestParser().get_examples(text)):
            for found in number.findall(example.want):
                digits = found.partition("e")[0].replace(".", "").lstrip("0")
                if len(digits) > 6 and found not in exact:
                    shown.append(f"{path.relative_to(ROOT)}: {example.source.strip()} gives {found}")
    assert not shown, "\n".join(shown)
