"""The device as a distribution of its own: built from a clone and from its sdist, used where there is no lucidgrad."""

import importlib.machinery
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from thoroughness import NIGHTLY

from lucidgrad.backends import cudasim
from lucidgrad.backends.cudasim import wheel as cupy_wheel

from .processes import ROOT, environment

FOLDER = ROOT / "packages/cudasim"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))
PIP = [sys.executable, "-m", "pip"]


def run(*command, cwd, **extra):
    made = {**environment(), "PYTHONPATH": "", "PYTHONSAFEPATH": "1", **extra}
    return subprocess.run([str(word) for word in command], cwd=cwd, env=made, capture_output=True, text=True)


def wheel_of(project, folder):
    result = run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, project, cwd=folder.parent)
    assert result.returncode == 0, result.stdout + result.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What of the repository the distribution is made of, without what a build may have left there."""
    folder = tmp_path_factory.mktemp("clone")
    skip = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    for name in ("packages", "backends"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=skip)
    for name in ("pytest_cudasim.py", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder / "packages/cudasim"


@pytest.fixture(scope="module")
def built(clone, tmp_path_factory):
    return wheel_of(clone, tmp_path_factory.mktemp("wheel"))


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


def test_no_source_is_there_twice():
    """The folder has links only, beside what describes the distribution."""
    own = {path.name for path in FOLDER.iterdir() if not path.is_symlink()} - {"build", "cudasim.egg-info"}
    assert own == {"pyproject.toml", "README.md"}
    assert (FOLDER / "cudasim").resolve() == ROOT / "backends/cudasim"
    assert {path.name for path in (ROOT / "backends/cudasim").iterdir() if path.is_symlink()} == {
        "caches.py",
        "progress.py",
    }


def test_the_wheel_has_all_sources(built):
    found = contents(built)
    emulator = ROOT / "backends/cudasim"
    wanted = [path for path in emulator.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert set(found) == {f"cudasim/{path.relative_to(emulator).as_posix()}" for path in wanted} | {"cudasim_pytest.py"}
    assert all(found[f"cudasim/{path.relative_to(emulator).as_posix()}"] == path.read_bytes() for path in wanted)
    assert not any(b"import lucidgrad" in text or b"from lucidgrad" in text for text in found.values())


@pytest.mark.skipif(not NIGHTLY, reason="two more builds: make nightly")
def test_an_sdist_gives_the_same_wheel(clone, built, tmp_path):
    code = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
    result = run(sys.executable, "-c", code, tmp_path, cwd=clone)
    assert result.returncode == 0, result.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (project,) = (tmp_path / "unpacked").iterdir()
    again = wheel_of(project, tmp_path / "again")
    assert contents(again) == contents(built)


def test_what_the_distribution_says(built):
    with zipfile.ZipFile(built) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("METADATA"))
        said = archive.read(name).decode()
    assert f"Version: {cudasim.__version__}" in said and "License-Expression: MIT" in said
    assert not re.search(r"Requires-Dist: (?!cupy)", said)


def test_pinned_to_the_releases_that_are_accepted():
    first, *_, last = cupy_wheel.TESTED
    major, minor = last.split(".")
    bounds = f">={first},<{major}.{int(minor) + 1}"
    extras = PROJECT["project"]["optional-dependencies"]
    assert extras == {f"cuda{n}": [f"cupy-cuda{n}x{bounds}"] for n in (12, 13)}
    lucidgrad = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (needs,) = lucidgrad["optional-dependencies"]["cudasim"]  # the same for the copy in lucidgrad's wheel
    assert needs.partition(";")[0] == f"cupy-cuda12x{bounds}"


# -- in an environment without lucidgrad ---------------------------------------------------------
def needed(*names):
    """Files and folders of installed distributions and of all that they require, as their records list them."""
    found, todo = {}, list(names)
    while todo:
        name = todo.pop().lower().replace("_", "-")
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for another platform, or an extra
        if name in found:
            continue
        tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
        found[name] = [Path(distribution.locate_file(top)) for top in tops]
        todo += [re.match(r"[\w.-]+", text)[0] for text in distribution.requires or () if "extra ==" not in text]
    return [path for paths in found.values() for path in paths]


@pytest.fixture(scope="module")
def python(built, tmp_path_factory):
    """The Python of a fresh environment with CuPy, NumPy, pytest and the wheel, and nothing else."""
    spec = importlib.machinery.PathFinder.find_spec("cupy")
    owners = importlib.metadata.packages_distributions().get("cupy") if spec else None
    if not owners:
        pytest.skip("CuPy is not installed")
    folder = tmp_path_factory.mktemp("fresh") / "env"
    venv.create(folder, with_pip=False)
    made = folder / "bin/python"
    site = next(folder.glob("lib/python*/site-packages"))
    for path in needed(owners[0], "pytest"):
        (site / path.name).symlink_to(path)
    result = run(*PIP, "--python", made, "install", "--no-index", "--no-deps", built, cwd=folder)
    assert result.returncode == 0, result.stderr
    absent = run(made, "-c", "import importlib.util; print(importlib.util.find_spec('lucidgrad'))", cwd=folder)
    assert absent.stdout == "None\n", absent.stderr
    return made


TEST = """
    import cupy, pytest

    def test_sum():
        assert int(cupy.arange(5).sum()) == 10

    def test_kernel():
        twice = cupy.RawKernel('extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }', "twice")
        x = cupy.ones(4, dtype="float32")
        twice((1,), (4,), (x,))
        assert x.get().tolist() == [2, 2, 2, 2]

    def test_children():
        import subprocess, sys
        code = "import cupy, cudasim; assert cudasim.is_installed() and cupy.arange(5).sum() == 10"
        subprocess.run([sys.executable, "-c", code], check=True)
"""


def test_tests_run_on_it(python, tmp_path):
    """By the option of pytest, and by the launcher."""
    (tmp_path / "test_it.py").write_text(textwrap.dedent(TEST))
    cache = os.environ.get("CUDASIM_CACHE", "")
    ways = [["-m", "pytest", "--cudasim"], ["-m", "cudasim", "--devices", "2", "-m", "pytest"]]
    for command in ways if NIGHTLY else ways[:1]:
        result = run(python, *command, "-q", tmp_path, cwd=tmp_path, CUDASIM_CACHE=cache)
        assert result.returncode == 0, result.stdout + result.stderr
        assert "3 passed" in result.stdout


def test_messages_have_its_name(python, tmp_path):
    assert "python -m cudasim [options]" in run(python, "-m", "cudasim", "--help", cwd=tmp_path).stdout
    result = run(python, "-m", "cudasim", "-c", "0", cwd=tmp_path, CUDASIM_CXX="nothing")
    assert result.returncode == 1
    assert result.stderr.startswith("cudasim: CUDASIM_CXX=nothing doesn't name a program")


def test_it_and_lucidgrad_share_a_device(built, tmp_path):
    """Both in one process: whichever is asked first, the other knows."""
    site = tmp_path / "site"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
    orders = [("cudasim", "lucidgrad.cudasim"), ("lucidgrad.cudasim", "cudasim")]
    for one, other in orders if NIGHTLY else orders[:1]:
        code = f"""
import importlib
one, other = map(importlib.import_module, ({one!r}, {other!r}))
one.install(devices=3)
assert other.is_installed()
other.install()
import cupy
assert cupy.cuda.runtime.getDeviceCount() == 3
with other.counting() as counts:
    cupy.arange(5).sum()
assert sum(counts.launches.values()) >= 1
import lucidgrad as lg
assert lg.ones(3, device="cuda").sum().item() == 3
"""
        result = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=f"{site}{os.pathsep}{ROOT}")
        assert result.returncode == 0, result.stderr
