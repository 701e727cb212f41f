"""What notebooks show of tensors, modules, profiles and programs: HTML, escaped, bounded, with the page's own colours.

No colour is set, so that light and dark pages both can be read. It looks at what a representation as text looks at.
"""

import html
from typing import Any

__all__ = ["preformatted", "tree"]

MOST_LINES, MOST_LETTERS = 60, 8000  # of a text
MOST_MODULES = 200  # of a tree

_TITLE = 'style="opacity:0.7;font-size:85%"'
_PRE = 'style="margin:0;background:transparent;color:inherit;overflow:auto"'


def preformatted(title: str, text: str) -> str:
    """A text in letters of one width below a title; the middle of a long one is left out."""
    return f"<div><div {_TITLE}>{html.escape(title)}</div><pre {_PRE}>{html.escape(_bounded(text))}</pre></div>"


def _bounded(text: str) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} lines ...", *lines[-half:]]
    text = "\n".join(lines)
    half = MOST_LETTERS // 2
    return text if len(text) <= MOST_LETTERS else f"{text[:half]} ... {text[-half:]}"


def tree(module: Any) -> str:
    """A module with its submodules, which can be folded, and how many parameters each has."""
    left = [MOST_MODULES]
    return f"<div>{_branch('', module, left, True)}</div>"


def _branch(name: str, module: Any, left: list[int], is_open: bool) -> str:
    if left[0] <= 0:
        return ""
    left[0] -= 1
    sizes = [_size(p) for p in module.parameters()]
    unknown = " and more, when they are known" if None in sizes else ""
    count = sum(size or 0 for size in sizes)
    extra = _bounded(module.extra_repr())
    head = f"{f'({name}): ' if name else ''}{type(module).__name__}({extra})"
    text = f"<code>{html.escape(head)}</code>"
    if sizes:
        text += f" <span {_TITLE}>{count:,} parameters{unknown}</span>"
    children = list(module.named_children())
    if not children:
        return f'<div style="margin-left:1.2em">{text}</div>'
    inside = "".join(_branch(key, child, left, False) for key, child in children)
    rest = "" if left[0] > 0 else '<div style="margin-left:1.2em">...</div>'
    opened = " open" if is_open else ""
    return f'<details style="margin-left:1.2em"{opened}><summary>{text}</summary>{inside}{rest}</details>'


def _size(parameter: Any) -> int | None:
    """The number of elements; None where the shape is not known yet."""
    try:
        return int(parameter.size)
    except (RuntimeError, AttributeError, TypeError, ValueError):
        return None
