"""Bringing the emulated device into a process: the libraries that CuPy asks for, and the redirection of its modules."""

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from . import build, gpu
from .errors import EmulatorError
from .wheel import LIBRARIES, PACKAGES


class _State:
    """What this process has: nothing, a finder that waits for ``import cupy``, or the loaded device."""

    finder: "Finder | None" = None
    home: build.Home | None = None
    library: ctypes.CDLL | None = None
    lock = threading.RLock()  # imports nest, and may start in several threads


def _of_this_process() -> type[_State]:
    """The one state: these sources may be here twice, as ``cudasim`` and as a part of lucidgrad."""
    shared = sys.modules.setdefault("_cudasim_of_this_process", ModuleType("_cudasim_of_this_process"))
    found: type[_State] = vars(shared).setdefault("State", _State)
    return found


State = _of_this_process()


def is_installed() -> bool:
    """Tell whether ``import cupy`` meets the emulated device in this process."""
    return State.finder is not None


def load() -> ctypes.CDLL:
    """Build and load the emulated device now; `install` does it when CuPy is first imported."""
    with State.lock:
        if State.library is None:
            if State.finder is None:
                raise EmulatorError("the emulated CUDA device is not installed; call install() before importing CuPy")
            refuse_real_libraries()
            home = build.build()
            set_environment(home)
            State.library = ctypes.CDLL(str(home.library), mode=ctypes.RTLD_GLOBAL)
            # CuPy's modules ask for these by soname and get what is mapped already, wherever it lies.
            for soname in home.sonames:
                ctypes.CDLL(str(home.library.with_name(soname)))
            State.home = home
        return State.library


def set_environment(home: build.Home) -> None:
    """Tell CuPy where its toolkit is, and the emulated device where its files are."""
    root, cache = str(home.root), str(build.cache())
    os.environ["CUDA_PATH"] = os.environ["CUDA_HOME"] = os.environ["CUDASIM_HOME"] = root
    os.environ["NVCC"] = str(home.root / "bin" / "nvcc")
    os.environ["CUDASIM_PYTHON"] = sys.executable  # for the emulated compiler
    os.environ["CUDASIM_CACHE"] = cache
    os.environ["CUDASIM_CXX"] = str(build.compiler())
    os.environ["CUPY_CACHE_DIR"] = os.path.join(cache, "cupy")  # kernels of a real GPU must never be found there
    os.environ.setdefault("CUPY_ACCELERATORS", "")


def refuse_real_libraries() -> None:
    """Raise if one of CUDA's own libraries is in this process: CuPy would get that one."""
    names = tuple(f"lib{name}.so." for name in LIBRARIES)
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[5].strip() if len(line.split(maxsplit=5)) == 6 else ""
            if os.path.basename(path).startswith(names):
                raise EmulatorError(
                    f"{path} is loaded in this process already (a CUDA build of another library was imported?), so "
                    f"CuPy would not meet the emulated device; install() first, or use that library's CPU build"
                )


def register(force: bool = False) -> None:
    """Make ``import cupy`` load the emulated device."""
    with State.lock:
        if State.finder is not None:
            return
        if loaded := [name for name in (*PACKAGES, "cupy_backends.cuda.api.runtime") if name in sys.modules]:
            raise EmulatorError(
                f"{loaded[0]} was imported before the emulated CUDA device was installed, and is bound to the real "
                f"driver; call install() first, for example at the top of the first conftest.py"
            )
        if not force and (count := gpu.usable()):
            raise EmulatorError(
                f"this machine has {count} usable GPU{'s' * (count > 1)}: the emulated CUDA device doesn't take their "
                f"place by itself; run without it, or ask for it with force=True (command line: --force)"
            )
        build.check_machine()
        State.finder = Finder()
        sys.meta_path.insert(0, State.finder)


class Finder(MetaPathFinder):
    """Finds what the other finders find; CuPy's packages load the device, and some of its modules are redirected."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the usual spec with one of the loaders below; None for all other modules."""
        top = name.partition(".")[0]
        if top not in PACKAGES:
            return None
        kind: type[Loading] | None = Loading if name == top else None
        if State.home is not None and name in State.home.patched:
            kind = Redirecting
        if kind is None:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                if spec.loader is not None and spec.origin is not None:
                    spec.loader = kind(spec.loader, Path(spec.origin))
                return spec
        return None


class Loading(Loader):
    """A loader that loads the device first: to look for CuPy is not yet to use it."""

    def __init__(self, inner: Loader, path: Path):
        self._inner, self._path = inner, path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Load the device, then as usual."""
        load()
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """As usual."""
        self._inner.exec_module(module)


class Redirecting(Loading):
    """A loader whose extension module calls the emulated device."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Map the file, redirect it, and let the usual loader go on with the same mapping."""
        ctypes.CDLL(str(self._path))
        count = load().cudasim_patch(os.fsencode(self._path))
        if count <= 0:
            reasons = {0: "no function was found", -1: "the file can't be read", -2: "it is not mapped"}
            reason = reasons.get(count, "its code can't be written to (a security policy?)")
            raise ImportError(f"{spec.name} can't be redirected to the emulated CUDA device: {reason}")
        return super().create_module(spec)
