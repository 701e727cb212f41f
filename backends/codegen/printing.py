"""Expressions as C: one statement per operation, in single assignment."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .expression import Node
from .functions import FUNCTIONS

__all__ = ["arguments_of", "c_type", "statements"]

_REAL = {"float16": "float", "float32": "float", "float64": "double", "complex64": "float", "complex128": "double"}
_C_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    **_REAL, "complex64": "complex<float>", "complex128": "complex<double>",
}  # fmt: skip
_WEAK = {int: "long long", float: "double", complex: "complex<double>", bool: "bool"}


def c_type(dtype: Any) -> str:
    """The type that a dtype is computed in."""
    return _WEAK[dtype] if isinstance(dtype, type) else _C_TYPES[np.dtype(dtype).name]


def statements(results: Sequence[Node], names: dict[Node, str]) -> tuple[list[str], list[str]]:
    """The statements that compute nodes, and the expressions of these nodes, given names of the arguments."""
    words: dict[Node, str] = dict(names)
    lines: list[str] = []
    for node in _in_order(results, words):
        if node.op == "constant":
            words[node] = _constant(node.value, node.dtype)
            continue
        made = c_type(node.dtype)
        text = _spell(node, [words[a] for a in node.args])
        words[node] = f"t{len(lines)}"
        lines.append(f"const {made} t{len(lines)} = {text};")
    return lines, [words[node] for node in results]


def arguments_of(results: Iterable[Node]) -> set[Node]:
    """The arguments that results depend on."""
    return {node for node in _in_order(list(results), {}) if node.op == "argument"}


def _in_order(results: Sequence[Node], known: dict[Node, Any]) -> list[Node]:
    """All nodes that the results need, every one after its arguments."""
    seen = set(known)
    order: list[Node] = []
    stack = [(node, False) for node in reversed(results)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((a, False) for a in reversed(node.args))
    return order


def _spell(node: Node, args: list[str]) -> str:
    if node.op == "cast":
        return _cast(args[0], node.args[0].dtype, node.dtype)
    if node.op == "where":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if node.op in ("real", "imag"):
        return f"{args[0]}.{node.op}()"
    first = node.args[0].dtype
    kind = {int: "i", float: "f"}[first] if isinstance(first, type) else first.kind
    text = FUNCTIONS[node.op].spelling(kind)
    assert text is not None  # or the node would not have been made
    real = "double" if first is float else _REAL.get(getattr(first, "name", ""), "")
    text = text.format(*args, T=real, C=f"complex<{real}>")
    return f"static_cast<{c_type(node.dtype)}>({text})" if kind in "iu" else text


def _cast(word: str, old: Any, new: Any) -> str:
    if not isinstance(new, type) and new.kind == "b":
        return f"({word} != {c_type(old)}(0))" if "complex" in c_type(old) else f"({word} != 0)"
    target = c_type(new)
    if target == c_type(old):
        return word
    if target.startswith("complex") and not c_type(old).startswith("complex"):
        return f"{target}(static_cast<{target[8:-1]}>({word}))"
    return f"{target}({word})" if target.startswith("complex") else f"static_cast<{target}>({word})"


def _constant(value: Any, dtype: Any) -> str:
    target = c_type(dtype)
    if target.startswith("complex"):
        value = complex(value)
        part = target[8:-1]
        return f"{target}({_real_constant(value.real, part)}, {_real_constant(value.imag, part)})"
    if target == "bool":
        return "true" if value else "false"
    if target in ("float", "double"):
        return _real_constant(float(value), target)
    return f"static_cast<{target}>({int(value)}{'ull' if int(value) >= 2**63 else 'll'})"


def _real_constant(value: float, target: str) -> str:
    """The double that Python has, rounded by a cast, as NumPy does it."""
    if math.isnan(value):
        return f"static_cast<{target}>(LG_NAN)"
    if math.isinf(value):
        return f"static_cast<{target}>({'-' if value < 0 else ''}LG_INFINITY)"
    text = f"{value!r}"
    return text if target == "double" else f"static_cast<float>({text})"
