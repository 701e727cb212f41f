"""The installed CuPy, as files: it is looked at before it is imported."""

import importlib.machinery
import importlib.util
import json
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .elf import FUNCTION, LOCAL, SYMBOLS, Elf
from .errors import EmulatorError

PACKAGES = ("cupy", "cupy_backends", "cupyx")
TESTED = ("14.0", "14.1", "14.2")  # docs/cudasim.md says how
INSTALL = f'pip install "cupy-cuda12x=={TESTED[-1]}.*"'
# What the stand-ins replace. A version number follows: `libcublas.so.12`.
LIBRARIES = "cuda cudart nvrtc nvJitLink cublas cublasLt curand cufft cusolver cusparse nccl".split()
RUNTIME = "cupy_backends.cuda.api.runtime"


@dataclass(frozen=True)
class Wheel:
    """An installed CuPy."""

    root: Path
    version: str

    @property
    def identity(self) -> str:
        """What a build depends on."""
        runtime = self.extensions.get(RUNTIME)
        return f"{self.root} {self.version} {runtime and runtime.stat().st_mtime_ns} {sys.version_info[:2]}"

    @cached_property
    def extensions(self) -> dict[str, Path]:
        """Extension modules by their names."""
        suffixes = importlib.machinery.EXTENSION_SUFFIXES
        found = {}
        for package in PACKAGES:
            for path in sorted((self.root / package).rglob("*.so")):
                suffix = next((s for s in suffixes if path.name.endswith(s)), None)
                if suffix:
                    relative = path.relative_to(self.root)
                    found[".".join((*relative.parent.parts, path.name.removesuffix(suffix)))] = path
        return found

    @property
    def cuda(self) -> str:
        """The major version of CUDA that the wheel is made for."""
        data = self.root / "cupy" / ".data" / "_wheel.json"
        text = json.loads(data.read_text())["cuda"] if data.exists() else "12"
        return str(text).split(".")[0]


def find() -> Wheel:
    """Return the CuPy that ``import cupy`` would find, if the emulated device can run it."""
    spec = importlib.machinery.PathFinder.find_spec("cupy") or importlib.util.find_spec("cupy")
    if spec is None or spec.origin is None:
        raise EmulatorError(f"CuPy is not installed: the emulated CUDA device runs its unmodified wheel; {INSTALL}")
    root = Path(spec.origin).resolve().parents[1]
    text = (root / "cupy" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", text)
    version = found[1] if found else "unknown"
    if ".".join(version.split(".")[:2]) not in TESTED:
        raise EmulatorError(
            f"CuPy {version} is installed, but the emulated CUDA device supports CuPy {', '.join(TESTED)} only, with "
            f"which it was tested: it replaces what their extension modules call; {INSTALL}"
        )
    return Wheel(root, version)


@dataclass
class Survey:
    """What the extension modules need from us."""

    patched: dict[str, int]  # modules that contain the CUDA runtime: how many of its functions
    undefined: dict[str, dict[str, str]]  # by soname: names of functions, with their version nodes
    sonames: list[str]


def survey(wheel: Wheel) -> Survey:
    """Read all extension modules."""
    library = re.compile(rf"lib({'|'.join(LIBRARIES)})\.so\.\d+")
    patched: dict[str, int] = {}
    undefined: dict[str, dict[str, str]] = {}
    sonames, dynamic = set(), False
    for module, path in wheel.extensions.items():
        with Elf(path) as elf:
            needed = elf.needed()
            sonames |= {name for name in needed if library.fullmatch(name)}
            dynamic |= module == RUNTIME and any(name.startswith("libcudart") for name in needed)
            for name, version in elf.undefined().items():
                if not version and name.startswith("nccl"):  # the one library whose functions have no version
                    version = next(soname for soname in needed if soname.startswith("libnccl.so."))
                if library.fullmatch(version):
                    undefined.setdefault(version, {})[name] = version
            if elf.mentions("cudaMemcpyAsync"):
                local = (s.name for s in elf.symbols(SYMBOLS) if s.kind == FUNCTION and s.binding == LOCAL)
                if count := sum(bool(re.match("cuda[A-Z]", name)) for name in local):
                    patched[module] = count
    if RUNTIME not in patched and not dynamic:
        raise EmulatorError(
            f"CuPy {wheel.version} in {wheel.root} can't be redirected to the emulated device: {RUNTIME} neither "
            f"names the functions of the CUDA runtime inside it nor links libcudart (was it stripped?); use the "
            f"wheel: {INSTALL}"
        )
    standard = {"cuda": "1", "curand": "10", "nccl": "2"}
    for name in LIBRARIES:
        if not any(soname.startswith(f"lib{name}.so.") for soname in sonames):
            sonames.add(f"lib{name}.so.{standard.get(name, wheel.cuda)}")
    return Survey(patched, undefined, sorted(sonames))
