"""Whether archives of sources and wheels are whole: ``python -m tools.package dist [v1.2.3]``, after building them.

The archive must hold what the repository holds, and its own tests must pass where it is unpacked. The wheel must work
where nothing but its dependencies is to be found. A tag, if there is one, must be the version. The emulated CUDA device
is a distribution beside it. All of them name the addresses that `tools.urls` knows, and no others.
"""

import argparse
import email
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from . import urls

ROOT = Path(__file__).resolve().parents[1]

#: Of the archive's own tests: the rules of the repository, the public names, and all laws of three primitives.
TESTS = ["tests/test_repository.py", "tests/test_namespace.py", "tests/laws/test_matrix.py"]
CHOSEN = "not wheel and (test_repository or test_namespace or -exp] or -matmul] or -sum])"

#: Computes a gradient, and says where the package is.
PROGRAM = """
import lucidgrad as lg
x = lg.tensor([1.0, 2.0], requires_grad=True)
(x**3).sum().backward()
assert x.grad.tolist() == [3.0, 12.0]
lg.nn.Linear(2, 2)(x).sum().backward()
print(lg.__version__, lg.__file__)
"""


def missing(archive: Path) -> list[str]:
    """Files of the repository that the archive lacks."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    return sorted(set(filter(None, tracked)) - held)


def addresses(built: Path) -> dict[str, str]:
    """The addresses in the metadata of an archive or a wheel."""
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as wheel:
            (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            text = wheel.read(name).decode()
    else:
        with tarfile.open(built) as archive:
            top = built.name.removesuffix(".tar.gz")
            held = archive.extractfile(f"{top}/PKG-INFO")
            assert held is not None
            text = held.read().decode()
    found = email.message_from_string(text).get_all("Project-URL") or []
    return dict(line.split(", ", 1) for line in found)


def run(command: list[str], where: Path, **environment: str) -> str:
    """Run Python elsewhere, and end if it fails."""
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *command], cwd=where, env=clean | environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Check both, and say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.package", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("tag", nargs="?")
    chosen = parser.parse_args()
    (archive,), (wheel,) = chosen.folder.glob("lucidgrad-*.tar.gz"), chosen.folder.glob("lucidgrad-*.whl")
    (device,), (own,) = chosen.folder.glob("cudasim-*.tar.gz"), chosen.folder.glob("cudasim-*.whl")
    for built in (archive, wheel, device, own):
        if addresses(built) != urls.known():
            sys.exit(f"{built.name} names {addresses(built)}, not {urls.known()}")
    version = archive.name.removesuffix(".tar.gz").partition("-")[2]
    if chosen.tag not in (None, f"v{version}"):
        sys.exit(f"the tag is {chosen.tag}, the version {version}")
    if (ROOT / ".git").exists() and (left_out := missing(archive)):
        sys.exit(f"{archive.name} lacks {', '.join(left_out)}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        (tree,) = Path(folder).iterdir()
        told = (
            run(["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, "-k", CHOSEN], tree).strip().splitlines()[-1]
        )
        print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB, its tests: {told}")
    with tempfile.TemporaryDirectory() as folder:
        run(["-m", "pip", "install", "-q", "--no-deps", "--target", folder, str(wheel.resolve())], Path(folder))
        told, place = run(["-P", "-c", PROGRAM], Path(folder), PYTHONPATH=folder).split()
        if told != version or not place.startswith(folder):
            sys.exit(f"{wheel.name}: lucidgrad {told} from {place} was imported")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, works")
    with tempfile.TemporaryDirectory() as folder:
        run(["-m", "pip", "install", "-q", "--no-deps", "--target", folder, str(own.resolve())], Path(folder))
        place = run(["-P", "-c", "import cudasim; print(cudasim.__file__)"], Path(folder), PYTHONPATH=folder)
        if not place.startswith(folder):
            sys.exit(f"{own.name}: cudasim from {place.strip()} was imported")
        print(f"{own.name}: {own.stat().st_size / 1e6:.1f} MB, can be imported")


if __name__ == "__main__":
    main()
