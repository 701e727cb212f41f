"""The names of the parameters of PyTorch's functions, overload by overload.

``PYTHONPATH=.:tests python tests/torch_door/door_parameters.py`` records them from an installed PyTorch: for the root
from the stub file of its functions, for the modules below from the schemas. Parameters that are given by name alone
stand behind a star.
"""

import ast
import importlib
import inspect
import sys
from pathlib import Path

RECORDED = Path(__file__).with_name("door_parameters.txt")
MODULES = ("linalg", "fft", "special")


def read():
    """Recorded overloads by function: pairs of parameters by position and by name."""
    found = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        name, _, rest = line.partition(": ")
        found[name] = [tuple(part.split() for part in overload.split("*")) for overload in rest.split(" | ")]
    return found


def installed(names):
    """The overloads of functions of an installed PyTorch, as they are recorded."""
    import torch

    stubs = ast.parse((Path(torch.__file__).parent / "_C/_VariableFunctions.pyi").read_text(encoding="utf-8"))
    written, schemas = {}, {}
    for node in stubs.body:
        if isinstance(node, ast.FunctionDef):
            written.setdefault(node.name, []).append(_of_stub(node.args))
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            schemas.setdefault(schema.name.removeprefix("aten::"), []).append(_of_schema(schema))
    found = {}
    for name in names:
        place, _, last = name.rpartition(".")
        function = getattr(importlib.import_module(f"torch.{place}" if place else "torch"), last)
        overloads = schemas.get(f"{place}_{last}") if place else written.get(last)
        if inspect.isfunction(function) and not (place and overloads):
            overloads = [_of_function(function)]
        kept = [o for o in dict.fromkeys(overloads or ()) if not {"self", "names"} & set(o.split())]
        if kept and "args" not in kept[0].split():
            found[name] = kept
    return found


def _text(by_position, by_name):
    return f"{' '.join(by_position)} * {' '.join(by_name)}".strip()


def _of_stub(arguments):
    several = [arguments.vararg.arg] if arguments.vararg else []
    return _text([a.arg for a in arguments.args], several + [a.arg for a in arguments.kwonlyargs])


def _of_schema(schema):
    plain = [("input" if a.name == "self" else a.name, a.kwarg_only) for a in schema.arguments if not a.is_out]
    out = ["out"] * any(a.is_out for a in schema.arguments)
    return _text([n for n, last in plain if not last], [n for n, last in plain if last] + out)


def _of_function(function):
    found = inspect.signature(function).parameters.values()
    return _text([p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD],
                 [p.name for p in found if p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)])  # fmt: skip


def public():
    """The names of the door's functions: those at the root, and those of modules with the module in front."""
    import lucidgrad.torch as door

    spaces = {"": door} | {f"{module}.": getattr(door, module) for module in MODULES}
    return [prefix + name for prefix, space in spaces.items() for name in space._TABLE.names]


def main():
    """Record what is installed."""
    import torch

    names = [
        n
        for n in public()
        if hasattr(eval(f"torch.{n.rpartition('.')[0] or '_C'}"), n.rpartition(".")[2]) or hasattr(torch, n)
    ]
    lines = [f"{name}: {' | '.join(overloads)}" for name, overloads in installed(names).items()]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} functions of PyTorch {torch.__version__}")


if __name__ == "__main__":
    sys.exit(main())
