"""PyTorch's names of its methods' parameters: ``python -m tools.signatures`` reads them from an installed PyTorch.

A line is a method, and what each way of calling it takes after the tensor itself: names in order, ``*`` before those
that are given by name alone, and before one that may be given as several arguments.
"""

import ast
import importlib
import sys
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("torch_signatures.txt")

#: Where PyTorch's own types tell another name than its method takes.
_WRONG = {("requires_grad_", "mode"): "requires_grad"}


def read() -> dict[str, list[list[str]]]:
    """The recorded parameters: of each method a list for each way of calling it."""
    found: dict[str, list[list[str]]] = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines()[1:]:
        name, _, ways = line.partition(":")
        found[name] = [way.split() for way in ways.split("|")]
    return found


def installed() -> dict[str, list[list[str]]]:
    """The same of an installed PyTorch: its C++ methods from the types that it ships, others from themselves."""
    torch: Any = importlib.import_module("torch")
    text = (Path(torch.__file__).parent / "_C" / "__init__.pyi").read_text(encoding="utf-8")
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    base = next(node for node in classes if node.name == "TensorBase")
    found: dict[str, list[list[str]]] = {}
    for node in base.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and hasattr(torch.Tensor, node.name):
            way = _parameters(node)
            ways = found.setdefault(node.name, [])
            if way not in ways:
                ways.append(way)
    return dict(sorted(found.items()))


def _parameters(node: ast.FunctionDef) -> list[str]:
    own, given = node.args, [a.arg for a in (*node.args.posonlyargs, *node.args.args)][1:]
    given += [f"*{own.vararg.arg}"] if own.vararg is not None else []
    given += ["*", *(a.arg for a in own.kwonlyargs)] if own.kwonlyargs else []
    return [_WRONG.get((node.name, name), name) for name in given]


def record() -> None:
    """Write the parameters of the installed PyTorch down."""
    torch: Any = importlib.import_module("torch")
    lines = [f"PyTorch {torch.__version__.partition('+')[0]}"]
    lines += [f"{name}: {' | '.join(map(' '.join, ways))}".rstrip() for name, ways in installed().items()]
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit(f"signatures: given {' '.join(sys.argv[1:])}, expected nothing")
    record()
