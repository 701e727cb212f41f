"""What surrounds the package: workflows call make targets, install lines name extras that exist, versions agree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from lucidgrad.core.errors import install
from tools import urls

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def targets():
    """What the Makefile declares as targets that are no files."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return {name for line in re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE) for name in line.split()}


# -- workflows -------------------------------------------------------------------------------------
def commands(job):
    """What the steps of a job run, with every value of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for step in job["steps"]:
        if "run" in step:
            named = re.findall(r"\$\{\{ *matrix\.(\w+) *\}\}", step["run"])
            for value in matrix[named[0]] if named else [None]:
                yield re.sub(r"\$\{\{ *matrix\.\w+ *\}\}", str(value), step["run"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_make_targets_and_nothing_else(path):
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "jobs", "permissions"} <= set(read)
    found = [command for job in read["jobs"].values() for command in commands(job)]
    assert found
    for command in found:
        program, *given = command.split()
        assert program == "make", command
        assert given[0] in targets(), command


def test_targets_are_rules_of_the_makefile():
    rules = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert targets() == rules


def test_all_versions_of_python_that_are_declared_are_tested():
    declared = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    read = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert read["jobs"]["test"]["strategy"]["matrix"]["python"] == declared
    assert PROJECT["requires-python"] == f">={declared[0]}"


@pytest.mark.parametrize("path", [*FORMS, ROOT / "CITATION.cff"], ids=lambda path: path.name)
def test_forms_are_read(path):
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.suffix == ".cff":
        assert {"cff-version", "message", "title", "authors"} <= set(read)
        assert (read["title"], read["license"]) == (PROJECT["name"], PROJECT["license"])
        assert read["keywords"] == PROJECT["keywords"]
    elif path.name != "config.yml":
        assert {"name", "description", "body"} <= set(read)


# -- install lines ---------------------------------------------------------------------------------
def sources():
    """Files in which an install line may stand, each once."""
    folders = ("lucidgrad", "backends", "docs", "examples", "bench", "tools", "tests")
    found = {p.resolve() for folder in folders for kind in ("*.py", "*.md") for p in (ROOT / folder).rglob(kind)}
    return sorted(path for path in found | set(ROOT.glob("*.md")) if not {"build", "gallery"} & set(path.parts))


def test_extras_that_are_named_exist():
    """In documentation and messages; those of the package are asked for where it is, from an index or in a clone."""
    unknown = {}
    for path in sources():
        for names in re.findall(
            r"pip install[^\n`]*?['\" ](?:lucidgrad|\.)\[([\w,-]+)\]", path.read_text(encoding="utf-8")
        ):
            if missing := set(names.split(",")) - set(PROJECT["optional-dependencies"]):
                unknown[path.relative_to(ROOT).as_posix()] = missing
    assert unknown == {}


def test_pages_install_from_a_clone_or_say_that_an_index_is_meant():
    """As long as no index has the package, a line that asks one for it must say so."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "packages").rglob("*.md")]
    lines = [(p.name, line) for p in pages for line in p.read_text(encoding="utf-8").splitlines()]
    by_name = re.compile(r"pip install(?=[^#]*[ '\"](lucidgrad|cudasim)\b)")
    asked = [line for line in lines if by_name.search(line[1])]
    assert [line for line in asked if " index" not in line[1]] == []


def test_messages_say_how_to_install_an_extra_in_one_way():
    """From a package index and in a clone: `install` writes both."""
    assert "pip install 'lucidgrad[amp]'" in install("amp") and "pip install '.[amp]'" in install("amp")
    own = [p for folder in ("lucidgrad", "backends") for p in (ROOT / folder).resolve().rglob("*.py")]
    written = {p.name for p in own if re.search(r"pip install ['\"]?lucidgrad\[", p.read_text(encoding="utf-8"))}
    assert written == {"errors.py"}
    used = [name for p in own for name in re.findall(r"\binstall\(['\"](\w+)['\"]\)", p.read_text(encoding="utf-8"))]
    assert {"amp", "cuda12"} <= set(used) <= set(PROJECT["optional-dependencies"])


def test_a_missing_library_names_both_ways():
    code = """
import sys
sys.modules["ml_dtypes"] = None
import lucidgrad as lg
try:
    lg.bfloat16
except AttributeError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout
    assert told.strip().endswith(install("amp"))


# -- addresses -------------------------------------------------------------------------------------
RELEASE = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "somebody/lucidgrad"}


@pytest.mark.parametrize("path", urls.PROJECTS, ids=lambda path: path.parent.name)
def test_a_release_names_the_repository_that_it_is_built_from(path):
    text = path.read_text(encoding="utf-8")
    written = urls.written(text, urls.known(RELEASE))
    found = tomllib.loads(written)["project"]["urls"]
    assert found["Repository"] == "https://forge.example/somebody/lucidgrad"
    assert all(url.startswith(found["Repository"]) for url in found.values())
    assert urls.written(written, urls.known(RELEASE)) == written and urls.written(written, {}) == text


@pytest.mark.parametrize("path", urls.PROJECTS, ids=lambda path: path.parent.name)
def test_elsewhere_no_address_is_made_up(path):
    assert urls.known({}) == {}
    text = path.read_text(encoding="utf-8")
    assert "urls" not in tomllib.loads(urls.written(text, {}))["project"]


@pytest.mark.parametrize("wrong", [{"GITHUB_REPOSITORY": "a/b"}, RELEASE | {"GITHUB_SERVER_URL": 'https://a"'}])
def test_half_an_address_is_refused(wrong):
    with pytest.raises(SystemExit, match="expected https://host and owner/name"):
        urls.known(wrong)


# -- the archive of sources ------------------------------------------------------------------------
def test_the_archive_of_sources_names_every_folder():
    """Whether all files arrive is found out by ``make package``; a new folder must not be forgotten."""
    ask = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if ask.returncode or not (ROOT / ".git").exists():
        folders = {path.name for path in ROOT.iterdir() if path.is_dir()} & {
            "tests",
            "docs",
            "examples",
            "tools",
            "bench",
        }
    else:
        folders = {file.partition("/")[0] for file in ask.stdout.splitlines() if "/" in file}
    grafted = set(re.findall(r"^graft (\S+)", (ROOT / "MANIFEST.in").read_text(encoding="utf-8"), re.MULTILINE))
    assert folders <= grafted
