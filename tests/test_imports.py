"""What `import lucidgrad` loads, counted instead of timed, and what is loaded when it is first asked for."""

import contextlib
import importlib
import io
import json
import pkgutil
import subprocess
import sys

import pytest

import lucidgrad.ops
from lucidgrad.backends.cpu import kernels
from lucidgrad.core.primitive import registry

#: Modules of this package that an import loads: the engine, the class of tensors, NumPy as a back end.
MOST = 55

#: Parts of Python that take long to import, and that neither NumPy nor an import of this package needs.
UNWANTED = """
    argparse asyncio base64 cProfile concurrent.futures dataclasses decimal difflib doctest email fractions glob gzip
    hashlib html http importlib.metadata json logging multiprocessing optparse pdb pkgutil pprint profile queue random
    secrets selectors shutil socket sqlite3 ssl statistics subprocess tempfile tomllib unittest urllib.request uuid xml
    zipfile
""".split()


def fresh(program: str) -> str:
    """What a program prints in an interpreter of its own."""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    return child.stdout


def test_an_import_loads_few_modules():
    program = "import sys, json, numpy; before = set(sys.modules); import lucidgrad; "
    added = json.loads(fresh(program + "print(json.dumps(sorted(set(sys.modules) - before)))"))
    own = [name for name in added if name.partition(".")[0] == "lucidgrad"]
    assert len(own) <= MOST, own
    assert not set(added) & set(UNWANTED)
    assert not [name for name in added if name.startswith(("lucidgrad.nn", "lucidgrad.func", "lucidgrad.compiling"))]


def test_the_registry_knows_where_every_primitive_is_declared():
    for module in pkgutil.walk_packages(lucidgrad.ops.__path__, "lucidgrad.ops."):
        importlib.import_module(module.name)
    declared = {
        p.name: p.program.__module__ for p in registry.loaded() if p.program.__module__.startswith("lucidgrad.ops")
    }
    assert declared == registry.homes


def test_the_table_of_kernels_knows_where_every_one_is():
    families = [module.name for module in pkgutil.iter_modules(kernels.__path__)]
    tables = {f: getattr(importlib.import_module(f"{kernels.__name__}.{f}"), "TABLE", {}) for f in families}
    found = {name: family for family, table in tables.items() for name in table if family != "elementwise"}
    assert found == kernels.Kernels().homes


def test_a_table_is_whole_to_whoever_looks_at_it():
    table = kernels.Kernels()
    count = len(table.loaded())
    assert "svd" in table and table.get("svd") is not None
    assert count < len(table.loaded()) < len(table)
    assert sorted(table) == sorted(table.keys()) == sorted(dict(table.items())) == sorted({**table})
    assert len(table.values()) == len(table) and table.get("no such kernel") is None
    with pytest.raises(KeyError, match="no such kernel"):
        table["no such kernel"]


def test_modules_of_a_package_are_attributes_and_others_are_not():
    assert lucidgrad.ops.linalg.einsum.__name__ == "lucidgrad.ops.linalg.einsum"
    with pytest.raises(AttributeError, match=r"lucidgrad\.ops.*no attribute 'reductions'"):
        lucidgrad.ops.reductions
    with pytest.raises(ImportError):
        from lucidgrad.ops import reductions  # noqa: F401


#: First lines of programs, each in a fresh interpreter: nothing but them has loaded anything.
FIRST = {
    "a method": "print(lg.tensor([[3.0, 0.0], [0.0, 4.0]]).svd().S.tolist())",
    "an operator on the right": "print((2 ** lg.tensor([1.0, 2.0])).tolist())",
    "an operator in place": "x = lg.ones(2); x /= 4; print(x.tolist())",
    "NumPy's operator": "import numpy; print((numpy.float64(2) * lg.ones(2) + numpy.ones(2)).tolist())",
    "a program's primitive": "known = lg.core.primitive.registry; print('packed_lu' in known, 'nothing' in known)",
    "a map": "print(lg.vmap(lambda x: x.cumsum(0).max())(lg.ones(2, 3)).tolist())",
    "a second derivative": "print(lg.func.grad(lg.func.grad(lambda x: x.sigmoid()))(lg.tensor(0.5)).item() < 0)",
    "a rule that needs others": (
        "x = lg.ones(3, requires_grad=True); x.var().backward(); x.softmax(0).sum().backward(); print(x.grad.tolist())"
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "with Pool(8) as pool:\n"
        "    print(len(list(pool.map(lambda name: getattr(lg.ones(3), name)(), ['exp', 'sort', 'median', 'std'] * 8))))"
    ),
    "the version": "print(lg.__version__ == lg.config.__version__, lg.__array_api_version__ >= '2024.12')",
    "modules": (
        "print([getattr(lg, m[1:]) for m in lg._FUNCTIONS if '.' not in m[1:]], lg.config.get_num_threads() > 0)"
    ),
    "pickles": "import pickle; print([pickle.loads(pickle.dumps(f)) is f for f in (lg.cov, lg.exp)])",
    "everything": "from lucidgrad import *; print(exp is lg.exp, hann_window is lg.hann_window)",
}


@pytest.mark.parametrize("first", FIRST)
def test_the_first_line_of_a_program_finds_what_it_needs(first):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec("import lucidgrad as lg\n" + FIRST[first], {})
    assert fresh("import lucidgrad as lg\n" + FIRST[first]) == said.getvalue() != ""
