"""Start-up file of every Python process below ``python -m cudasim``: waits for ``import cupy``.

It must cost nothing in processes that don't import CuPy, and must not replace a ``sitecustomize`` that exists.
"""

import importlib.util
import os
import sys
from importlib.machinery import PathFinder

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = os.environ.get("CUDASIM_PACKAGE", "cudasim")  # or lucidgrad's, which has the same folder


class _Waiting:
    """Installs the emulated device when CuPy is first imported."""

    done = False

    def find_spec(self, name, path=None, target=None):
        if self.done or name.partition(".")[0] not in ("cupy", "cupy_backends", "cupyx"):
            return None
        self.done = True
        if NAME in sys.modules:
            return None  # it has a finder of its own
        # By its place, under its own name: it need not be importable here, nor the rest of lucidgrad if it is there.
        folder = os.path.dirname(HERE)
        spec = importlib.util.spec_from_file_location(
            NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[NAME])  # with CUDASIM=1, it installs its finder, as the first one
        return sys.meta_path[0].find_spec(name, path, target)


if os.environ.get("CUDASIM") == "1":
    sys.meta_path.insert(0, _Waiting())

_others = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
_next = PathFinder.find_spec("sitecustomize", _others)
if _next is not None and _next.loader is not None:
    _module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(_next)
    _next.loader.exec_module(_module)
