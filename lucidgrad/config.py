"""What this installation is made of."""

import contextlib
import os
from typing import TYPE_CHECKING

from .core import device
from .levels import tally

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["get_num_threads", "set_num_threads", "show_config"]

__version__ = "0.1.0"


#: What devices and options stand on: packages by the names they are imported by, and distributions that have them.
_LIBRARIES = {
    "numpy": "numpy",
    "array_api_compat": "array-api-compat",
    "cupy": "cupy-cuda12x cupy-cuda13x cupy",
    "torch": "torch",
    "jax": "jax",
    "dask": "dask",
    "array_api_strict": "array-api-strict",
    "ml_dtypes": "ml-dtypes",
    "opt_einsum": "opt-einsum",
}
_PACKAGES = {"cuda": "cupy", "strict": "array_api_strict"}  # of devices that are not named after theirs


def show_config() -> None:
    """Print the version, devices and libraries, the engine, compiled kernels and programs, and what is cached where.

    Nothing is imported or compiled for it; ``python -m lucidgrad`` also tests gradients on every device.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.show_config()  # doctest: +ELLIPSIS
    lucidgrad ...
    """
    import importlib.util  # all this with much that is hardly ever needed
    import platform

    from .backends import native
    from .backends.cpu.compiled import building, threads

    print(f"lucidgrad {__version__} in {os.path.dirname(__file__)}")
    print(f"  Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    print(f"  {', '.join(f'{name} {found}' for name in _LIBRARIES if (found := _version(name)))}")
    print("devices")
    for name, state in device.known().items():
        package = _PACKAGES.get(name, name)
        missing = name != "cpu" and importlib.util.find_spec(package) is None
        print(f"  {name}: {f'{package} is not installed' if missing else state}")
    print("engine")
    print(f"  {native.status()}")
    print("kernels")
    print(f"  compiled for the CPU: {building.status()}, {threads.get_num_threads()} threads")
    made = tally.of_process()
    print(f"  built in this process: {made.built}, found on disk: {made.found}")
    print("programs")
    print(f"  made in this process: {made.programs}, with {made.equations} equations")
    print(f"  traced in {made.tracing:.1f} s, compiled in {made.compiling:.1f} s")
    print("caches")
    for folder in _caches(building.folder()):
        print(f"  {folder}: {_megabytes(folder)}")
    chosen = {name: value for name, value in sorted(os.environ.items()) if name.startswith(("LUCIDGRAD_", "CUDASIM"))}
    if chosen:
        print(f"environment\n  {', '.join(f'{name}={value}' for name, value in chosen.items())}")


def _version(package: str) -> str | None:
    import importlib.metadata

    for name in _LIBRARIES[package].split():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None


def _caches(compiled: "Path | None") -> "list[Path]":
    """The folders that kernels and the emulated CUDA device are kept in."""
    from pathlib import Path

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lucidgrad"
    found = [*([compiled] if compiled else []), Path(os.environ.get("CUDASIM_CACHE") or home / "cudasim")]
    return list(dict.fromkeys(found))


def _megabytes(folder: "Path") -> str:
    if not folder.is_dir():
        return "nothing yet"
    size = 0
    for at, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):  # another process is tidying up
                size += os.lstat(os.path.join(at, name)).st_size
    writable = "" if os.access(folder, os.W_OK) else ", can't be written"
    return f"{size / 1e6:.1f} MB{writable}"


def get_num_threads() -> int:
    """The number of threads that loops of compiled kernels on the CPU are shared among.

    At first it is ``OMP_NUM_THREADS``, else the number of processors that this process may use. A child of `fork`
    has one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.config.get_num_threads() >= 1
    True
    """
    from .backends.cpu.compiled import threads

    return threads.get_num_threads()


def set_num_threads(n: int) -> None:
    """Share loops of compiled kernels and matrix products on the CPU among ``n`` threads.

    Results of loops do not depend on it. Matrix products are NumPy's: its BLAS is told the number, if it is OpenBLAS;
    at first it has what ``OPENBLAS_NUM_THREADS`` or ``OMP_NUM_THREADS`` says. In a compiled program they share the
    threads of loops.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> before = lg.config.get_num_threads()
    >>> lg.config.set_num_threads(1)
    >>> lg.config.get_num_threads()
    1
    >>> lg.config.set_num_threads(before)
    """
    from .backends.cpu.compiled import blas, threads

    threads.set_num_threads(n)
    blas.set_num_threads(threads.get_num_threads())
