"""NumPy's public names beside the door's, by place: which are there, which mean something else, which are missing.

``python -m tools.numpy_names`` writes ``docs/numpy-names.md``, ``--check`` tells whether it would be written
differently, and ``--record`` reads NumPy's names anew from the installed one. Why a name is missing stands where calls
of it are refused, in `lucidgrad.numpy.refused`.
"""

import importlib
import sys
import textwrap
from pathlib import Path
from typing import Any

import lucidgrad.numpy as door
from lucidgrad.numpy.refused import REASONS

from .names import Place, grouped, read as read_names

RECORDED = Path(__file__).with_name("numpy_names.txt")
PAGE = Path(__file__).parents[1] / "docs" / "numpy-names.md"
VERSION = "2.4"
_NOT_YET = "not there yet"

#: Names that mean something else here, or less, by place.
_WEIGHTS = "without `weights`"
_EDGES = "edges are constants: gradients reach weights alone"
DIFFERENT: dict[str, dict[str, str]] = {
    "numpy, handed on": {
        "partition argpartition": "sorted altogether, which is one of the partitions",
        "unique_values": "in rising order",
        "quantile percentile nanquantile nanpercentile": _WEIGHTS,
        "std var nanstd nanvar": "without `mean`",
        "histogram histogram2d histogramdd histogram_bin_edges": _EDGES,
        "pad": "without `reflect_type='odd'`, and no function as a mode",
        "nan_to_num": "a copy always",
        "einsum": "without `dtype`; the order of products is chosen here",
        "empty_like": "zeros",
        "result_type": "float32 stays float32 beside integers",
        "broadcast_to broadcast_arrays": "what is spread can't be written into",
        "nextafter spacing heaviside": "constants, without gradients",
        "shares_memory may_share_memory": "on the CPU alone",
        "save savez savez_compressed savetxt": "of values without history; `lucidgrad.save` keeps tensors",
        "einsum_path": "NumPy's answer, from shapes alone",
        "trim_zeros roots polymul polydiv poly real_if_close unique nonzero flatnonzero argwhere": (
            "values decide about the shape or the dtype, so not for the examples of vmap"
        ),
    },
    "numpy, never handed on": {
        "array asarray asanyarray ascontiguousarray": "tensors in sequences keep their history; no order of memory",
        "empty": "zeros",
        "full": "a tensor keeps its history",
    },
    "numpy, others": {
        "ndarray": "`Tensor`, for `isinstance`; calling it makes nothing",
        "vectorize": "without `excluded` and `signature`; elements keep their history",
        "r_ c_": "of arrays, numbers and ranges, without directives in text",
        "testing": "NumPy's own: it takes values, so detach first",
        "random": "NumPy's numbers for a seed, as tensors; gradients reach the arguments of `normal` and `uniform`",
        "ndenumerate": "elements are tensors",
    },
    "linalg": {
        "eig eigvals": "complex inside vmap, where nobody can look whether all imaginary parts are zero",
        "qr": "without mode `'raw'`",
        "svd": "`hermitian` makes no difference",
    },
    "fft": {},
}


def read() -> dict[str, list[str]]:
    """The recorded names by place."""
    return read_names(RECORDED)


def installed() -> dict[str, list[str]]:
    """The names of the installed NumPy by place: what it hands on to the classes of arguments, what not, the rest."""
    numpy: Any = importlib.import_module("numpy")
    overrides: Any = importlib.import_module("numpy.testing.overrides")
    importlib.import_module("numpy.fft")
    functions = overrides.get_overridable_numpy_array_functions()
    heard = {id(f) for f in functions} | {id(f) for f in overrides.get_overridable_numpy_ufuncs()}
    making = {f.__name__ for f in functions if "like=" in (f.__doc__ or "") or not hasattr(f, "_implementation")}
    found: dict[str, list[str]] = {
        "numpy, handed on": [],
        "numpy, never handed on": [],
        "numpy, others": [],
        "linalg": sorted(n for n in numpy.linalg.__all__),
        "fft": sorted(n for n in numpy.fft.__all__),
    }
    for name in sorted(numpy.__all__):
        value = getattr(numpy, name)
        if not callable(value) or isinstance(value, type):
            found["numpy, others"].append(name)
        elif id(value) in heard and name not in making:
            found["numpy, handed on"].append(name)
        else:
            found["numpy, never handed on"].append(name)
    return found


def record() -> None:
    """Write the names of the installed NumPy down."""
    numpy: Any = importlib.import_module("numpy")
    lines = [f"NumPy {numpy.__version__}"]
    for place, names in installed().items():
        lines += [f"[{place}]", *textwrap.wrap(" ".join(names), 118)]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compared(place: str, names: list[str]) -> Place:
    """The names of a place beside the door's."""
    here: Any = getattr(door, place) if place in ("linalg", "fft") else door
    different = {name: reason for names_, reason in DIFFERENT[place].items() for name in names_.split()}
    names = [name for name in names if not name.startswith("__")]
    present = [name for name in names if hasattr(here, name)]
    return Place(
        place,
        [name for name in present if name not in different],
        {name: different[name] for name in present if name in different},
        {name: REASONS.get(name, _NOT_YET) for name in names if name not in present},
        {},
    )


def table() -> list[Place]:
    """All places."""
    return [compared(place, names) for place, names in read().items()]


def idle() -> list[str]:
    """Reasons that nothing needs, and names that have none."""
    found = []
    for place in table():
        listed = [name for names in DIFFERENT[place.name] for name in names.split()]
        found += [f"{place.name}: {name} is not there, so not different" for name in {*listed} - {*place.different}]
        found += [f"{place.name}: {name} has no reason" for name, why in place.missing.items() if why == _NOT_YET]
    missing = {name for place in table() for name in place.missing}
    return found + [f"{name} is not missing" for name in REASONS if "." not in name and name not in missing]


_HEAD = """# NumPy's names

Which of NumPy's public names the door `lucidgrad.numpy` has; `python -m tools.numpy_names` writes this page. NumPy
hands the functions of the first place, of `linalg` and of `fft` (but `fftfreq` and `rfftfreq`) on to tensors, so they
work under NumPy's own name, too; those that are missing raise there. The functions of the second place it never hands
on: under NumPy's own name they raise for a tensor with a history. [How both entrances work](numpy.md).

Everywhere `out=`, `where=` and `initial=` are refused, and orders of memory other than C's.
"""


def page() -> str:
    """The page as it is to be."""
    version = RECORDED.read_text(encoding="utf-8").splitlines()[0]
    lines = [_HEAD, f"| place in {version} | names | there | different | missing |", "|---|--:|--:|--:|--:|"]
    places = table()
    for p in places:
        lines.append(f"| {p.name} | {p.counted} | {len(p.there)} | {len(p.different)} | {len(p.missing)} |")
    for p in places:
        lines += ["", f"## {p.name}"]
        for title, names in (("Different", p.different), ("Missing", p.missing)):
            if names:
                lines += ["", f"{title}:", "", *grouped(names)]
        there = ", ".join(f"`{name}`" for name in p.there)
        lines += ["", *textwrap.wrap(f"There: {there}.", 118, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` tell whether it is current."""
    if arguments not in ([], ["--check"], ["--record"]):
        raise SystemExit(f"numpy_names: given {' '.join(arguments)}, expected nothing, --check or --record")
    if arguments == ["--record"]:
        record()
    text = page()
    if arguments == ["--check"]:
        stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
        print("\n".join(idle() + [f"{PAGE.name}: not as `python -m tools.numpy_names` writes it"] * stale) or "current")
        return bool(stale or idle())
    PAGE.write_text(text, encoding="utf-8")
    for p in table():
        print(f"{p.name}: {len(p.there)} there, {len(p.different)} different, {len(p.missing)} missing")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
