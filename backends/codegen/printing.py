"""Expressions as C: one statement per operation, in single assignment."""

from collections.abc import Iterable, Sequence
from typing import Any

from .expression import Node
from .languages import CUDA, Language

__all__ = ["arguments_of", "c_type", "statements"]

c_type = CUDA.type


def statements(
    results: Sequence[Node], names: dict[Node, str], language: Language = CUDA
) -> tuple[list[str], list[str]]:
    """The statements that compute nodes, and the expressions of these nodes, given names of the arguments."""
    words: dict[Node, str] = dict(names)
    lines: list[str] = []
    for node in _in_order(results, words):
        if node.op == "constant":
            words[node] = language.constant(node.value, node.dtype)
            continue
        made = language.type(node.dtype)
        text = language.spell(node, [words[a] for a in node.args])
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
