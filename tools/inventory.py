"""The inventory of NumPy's documentation that the site links by: ``python -m tools.inventory``.

NumPy's functions and classes have a page each, whose address follows from the name, so the list is made from the
installed NumPy. Those of Python (3.11) and SciPy (1.10) in ``docs/inventories`` are their own, from Debian's packages
of their documentation. So a build needs no network.
"""

import importlib
import types
import zlib
from pathlib import Path

PATH = Path(__file__).parents[1] / "docs" / "inventories" / "numpy.inv"
PLACES = ("numpy", "numpy.linalg", "numpy.fft")


def lines() -> list[str]:
    """A line for each name: what it is, and where its page is."""
    made = []
    for place in PLACES:
        module = importlib.import_module(place)
        for name in sorted(module.__all__):
            found = getattr(module, name)
            if isinstance(found, types.ModuleType) or not callable(found) or name.startswith("_"):
                continue
            kind = "class" if isinstance(found, type) else "function"
            made.append(f"{place}.{name} py:{kind} 1 reference/generated/{place}.{name}.html#$ -")
    return made


def main() -> None:
    """Write the file in Sphinx's format."""
    version = importlib.import_module("numpy").__version__
    head = ["Sphinx inventory version 2", "Project: NumPy", f"Version: {version}"]
    head += ["The remainder of this file is compressed using zlib."]
    PATH.write_bytes(
        "".join(f"# {line}\n" for line in head).encode() + zlib.compress("\n".join([*lines(), ""]).encode(), 9)
    )


if __name__ == "__main__":
    main()
