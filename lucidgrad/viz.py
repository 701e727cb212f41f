"""Drawings of the graph that gradients go through, and of programs: as text and as SVG.

A drawing is made in three steps: the tape, or a program, becomes boxes and arrows, boxes are put together where there
would be too many, and the rest is laid out in layers, inputs above, the loss below.
"""

import copy
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .callers import caller
from .core.dispatch import node_of
from .core.items import meta_of
from .core.plan import reach
from .core.primitive import ELEMENTWISE, registry
from .core.tape import FREED, Leaf, Output
from .diagram import COLOURS, ENDS, PICTURES, Box, Layout, depths_of
from .levels.program import Program, Variable
from .tensor import Tensor

__all__ = ["Graph", "graph"]


def graph(
    loss: "Tensor | Sequence[Tensor] | Program | Any",
    params: Any = None,
    *,
    limit: int = 40,
) -> "Graph":
    """Draw the graph that leads to a loss (or several), or a program.

    Parameters
    ----------
    loss
        The results to begin with; or a program, as ``compiled.program(*args)`` gives it, or one that was imported:
        its inputs, constants, equations and outputs.
    params
        Names of tensors: a module, a dict, pairs as ``named_parameters()`` gives them, or just tensors. Dots in names
        are scopes: a large graph is collapsed into one box per scope, which is a module. By default the modules among
        the variables of the caller.
    limit
        The number of boxes from which on the drawing is collapsed: by scope, then chains, then stages.

    Returns
    -------
    Graph
        ``text()``, ``svg()``, ``dot()`` and ``save(path)`` show it; notebooks draw it by themselves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones(3, requires_grad=True)
    >>> x = lg.asarray([1.0, 2.0, 3.0])
    >>> print(lg.viz.graph((w * x).sum(), {"w": w}).text())
    loss: sum () float32
      multiply (3,) float32
        w (3,) float32

    >>> f = lg.compile(lambda x, w: lg.tanh(x @ w).sum())
    >>> print(lg.viz.graph(f.program(lg.ones(2, 3), lg.ones(3, 4))).text())
    output: sum () float32
      tanh (2, 4) float32
        matmul (2, 4) float32
          v0 (2, 3) float32
          v1 (3, 4) float32
    """
    if limit < 2:
        raise ValueError(f"viz.graph: limit is {limit}, expected at least 2 boxes")
    program = loss if isinstance(loss, Program) else getattr(loss, "program", None)
    if isinstance(program, Program):
        if params is not None:
            raise TypeError("viz.graph: given a program and params, expected a program alone: it has names of its own")
        return Graph(_boxes_of_program(program, getattr(loss, "names", None)), limit)
    losses: list[Any] = [*loss] if hasattr(loss, "__iter__") and not isinstance(loss, Tensor) else [loss]
    for given in losses:
        if not isinstance(given, Tensor):
            raise TypeError(
                f"viz.graph: loss is a {type(given).__name__}, expected a Tensor or several, or a program; "
                f"compiled.program(*args) gives that of a compiled function"
            )
    return Graph(_boxes(losses, _names(_modules_at_hand() if params is None else params)), limit)


def _modules_at_hand() -> list[tuple[str, Tensor]]:
    """The parameters of modules among the variables of whoever asks for a drawing, by the variables' names."""
    frame = caller()
    found: dict[str, Any] = {} if frame is None else {**frame.f_globals, **frame.f_locals}
    pairs = []
    for name, value in found.items():
        if not name.startswith("_") and hasattr(type(value), "named_parameters"):
            prefix = "" if name == "self" else f"{name}."
            pairs += [(prefix + key, p) for key, p in value.named_parameters() if isinstance(p, Tensor)]
    return pairs


def _names(params: Any) -> dict[Any, str]:
    """Nodes and their names."""
    params = params.named_parameters() if hasattr(params, "named_parameters") else params
    pairs = list(params.items()) if isinstance(params, Mapping) else list(params)
    pairs = [(f"param{i}", p) if isinstance(p, Tensor) else p for i, p in enumerate(pairs)]
    found = {}
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Tensor)):
            raise TypeError(f"viz.graph: params has a {type(pair).__name__}, expected tensors or (name, tensor) pairs")
        found[node_of(pair[1])] = str(pair[0])
    found.pop(None, None)
    return found


# -- from the tape to boxes ----------------------------------------------------------------------
def _words(meta: Any) -> str:
    if meta is None:
        return "?"
    shape = tuple(int(n) for n in meta[0])
    return f"{shape} {meta[1]}"


def _input_metas(node: Any, own: Any) -> list[Any]:
    """Shape and dtype of each input of a node, as far as they can be told from what it keeps."""
    recipe, inputs = node.recipe, node.inputs
    found: list[Any] = [None] * len(inputs)
    if node.fit is not None:
        found = [None if fit is None else fit[:2] for fit in node.fit]
    elif recipe.primitive.kind.broadcasts and recipe.primitive.kind.name == "elementwise":
        found = [own] * len(inputs)
    if node.saved is FREED:
        return found
    for item, value in zip(recipe.items, node.saved, strict=False):
        told = [item.meta(i, value) for i in range(len(inputs))]
        found = [old if new is None else new[:2] for old, new in zip(found, told, strict=True)]
    return found


def _find_metas(order: list[Any], metas: dict[Any, Any]) -> None:
    """Shapes and dtypes of what the nodes made: their users know what went into them, or else the inputs tell."""
    for node in order:
        if type(node) not in (Leaf, Output):
            for parent, meta in zip(node.inputs, _input_metas(node, metas.get(node)), strict=False):
                if parent is not None and metas.get(parent) is None:
                    metas[parent] = meta
    for node in reversed(order):
        if type(node) is Leaf and node.meta is not None:
            metas[node] = node.meta[:2]
        elif type(node) in (Leaf, Output) or metas.get(node) is not None:
            continue
        elif node.recipe.primitive.name == "matmul":
            one, two = _input_metas(node, None)
            if one is not None and two is not None and len(one[0]) > 1 and len(two[0]) > 1:
                longer = max(one[0], two[0], key=len)
                metas[node] = (*longer[:-2], one[0][-2], two[0][-1]), one[1]
        elif node.recipe.primitive.kind is ELEMENTWISE:
            known: list[Any] = [metas.get(parent) for parent in node.inputs if parent is not None]
            dtypes = [meta[1] for meta in known if meta is not None and node.recipe.primitive.dtype != "real"]
            if node.fit is not None:
                known = [fit for fit in node.fit if fit is not None]
            if None not in known:
                shapes = [tuple(meta[0]) for meta in known]
                longest = max(map(len, shapes))
                sides = zip(*((1,) * (longest - len(shape)) + shape for shape in shapes), strict=True)
                metas[node] = tuple(max(side) for side in sides), max(dtypes, key=lambda d: d.itemsize, default="?")


def _boxes(losses: Sequence[Tensor], names: dict[Any, str]) -> list[Box]:
    """One box per operation and leaf, inputs first."""
    roots = [(node_of(loss), loss) for loss in losses]
    order = sorted(
        reach([node for node, _ in roots if node is not None])[0], key=operator.attrgetter("when"), reverse=True
    )
    metas = {node: meta_of(loss.array)[:2] for node, loss in roots}
    _find_metas(order, metas)
    boxes: dict[Any, Box] = {}
    unnamed = 0
    for node in order:
        if type(node) is Output:
            continue
        if type(node) is Leaf:
            unnamed += node not in names
            kind = "named" if node in names else "leaf"
            boxes[node] = Box(kind, names.get(node, f"leaf {unnamed}"), [_words(metas.get(node))], leaves=1)
            continue
        name = node.recipe.primitive.name
        outs = [ref() for ref in getattr(node, "outputs", ())]
        title = next((names[n] + " = " for n in (node, *outs) if n in names), "") + name
        lines = [_words(m) for m in node.metas] if hasattr(node, "metas") else [_words(metas.get(node))]
        boxes[node] = Box(_kind(node.recipe.primitive), title, lines, [name])
    for node, box in boxes.items():
        box.inputs = [boxes[p.fork if type(p) is Output else p] for p in node.inputs if p is not None]
        box.scope = names[node].rpartition(".")[0] if type(node) is Leaf and "." in names.get(node, "") else None
    found = list(reversed(boxes.values()))
    for i, (node, loss) in enumerate(roots):
        end = boxes.get(getattr(node, "fork", node))
        word = "loss" if len(roots) == 1 else f"loss {i + 1}"
        if end is None:
            found.append(Box("end", f"{word}: constant", [_words(meta_of(loss.array))]))
        else:
            end.title = f"{word}: {end.title}"
            end.kind = "end"
    return found


# -- from a program to boxes -----------------------------------------------------------------------
def _boxes_of_program(program: Program, names: Sequence[str] | None) -> list[Box]:
    """One box per input, constant and equation, inputs first."""
    made: dict[Variable, Box] = {}
    found: list[Box] = []
    for i, v in enumerate(program.inputs):
        made[v] = Box("input", repr(v) if names is None else names[i], [_variable_words(v)], leaves=1)
    asked = {v for equation in program.equations for v in equation.variables} | set(program.outputs)
    for v in program.constants:
        if v in asked:
            made[v] = Box("constant", "constant", [_variable_words(v)], leaves=1)
    found += made.values()
    for equation in program.equations:
        name = equation.primitive.name
        numbers = [repr(x) for x in equation.inputs if type(x) is not Variable and x is not None]
        words = " ".join([*numbers, *_told_keywords(equation)])
        title = f"{name} {words}" if words else name
        lines = [_variable_words(v) for v in equation.results]
        box = Box(_kind(equation.primitive), title, lines, [name])
        box.inputs = [made[v] for v in equation.variables]
        made.update(dict.fromkeys(equation.results, box))
        found.append(box)
    for i, v in enumerate(program.outputs):
        box, word = made[v], "output" if len(program.outputs) == 1 else f"output {i + 1}"
        if box.inputs or box.ops:
            box.title = f"{word}, {box.title}" if box.kind == "output" else f"{word}: {box.title}"
            box.kind = "output"
        else:  # an input, or a constant
            end = Box("output", f"{word}: {box.title}", [_variable_words(v)])
            end.inputs = [box]
            found.append(end)
    return found


def _variable_words(variable: Variable) -> str:
    return "number" if variable.is_number else f"{variable.shape} {variable.dtype}"


def _told_keywords(equation: Any) -> list[str]:
    """The keywords that differ from the usual ones, where a few letters tell them."""
    usual = getattr(equation.primitive, "keywords", {})
    told = [f"{key}={value!r}" for key, value in equation.keywords.items() if repr(usual.get(key, ...)) != repr(value)]
    return [word for word in told if len(word) <= _MOST_LETTERS]


_MOST_LETTERS = 24  # of a keyword in a box


def _kind(primitive: Any) -> str:
    own = registry.get(primitive.name) is primitive
    return primitive.kind.name if own and primitive.kind.name in COLOURS else "custom"


# -- fewer boxes ---------------------------------------------------------------------------------
def _merge(boxes: list[Box], groups: list[int], name: Any) -> list[Box]:
    """One box per group; ``groups`` has a number per box, ``name(members)`` gives the title of several."""
    members: dict[int, list[Box]] = {}
    for box, group in zip(boxes, groups, strict=True):
        members.setdefault(group, []).append(box)
    made: dict[int, Box] = {}
    merged = {}
    for group, inside in members.items():
        if len(inside) == 1:
            merged[group] = copy.copy(inside[0])  # what is merged stays as it was
        else:
            ops = [op for box in inside for op in box.ops]
            leaves = sum(box.leaves for box in inside)
            counts = [_count(n, word) for n, word in ((len(ops), "op"), (leaves, "tensor")) if n]
            last = inside[-1]
            ends = [box.title.partition(":")[0] for box in inside if box.kind in ENDS]
            lines = [", ".join(counts), *([_short(ops)] if len(ops) > 1 else []), last.lines[-1]]
            kind = next((box.kind for box in inside if box.kind in ENDS), "group")
            title = f"{_cut(ends)}: {name(inside)}" if ends else name(inside)
            merged[group] = Box(kind, title, lines, ops, leaves)
            merged[group].scope = last.scope
        made.update((id(box), merged[group]) for box in inside)
    inputs = {
        group: list(
            dict.fromkeys(made[id(p)] for box in inside for p in box.inputs if made[id(p)] is not merged[group])
        )
        for group, inside in members.items()
    }
    for group, box in merged.items():
        box.inputs = inputs[group]
    return _ordered(list(merged.values()))


def _ordered(boxes: list[Box]) -> list[Box]:
    """Inputs first."""
    done: dict[int, Box] = {}
    for start in boxes:
        stack = [(start, False)]
        while stack:
            box, ready = stack.pop()
            if id(box) in done:
                continue
            if ready:
                done[id(box)] = box
            else:
                stack.append((box, True))
                stack += [(p, False) for p in reversed(box.inputs) if id(p) not in done]
    return list(done.values())


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def _short(ops: list[str]) -> str:
    """A list of operations in few words: repeated ones are counted."""
    parts, i = [], 0
    while i < len(ops):
        best, period = 1, 1
        for p in range(1, 9):
            n = 1
            while ops[i + n * p : i + (n + 1) * p] == ops[i : i + p]:
                n += 1
            if n > 1 and n * p > best * period:
                best, period = n, p
        words = _cut(ops[i : i + period])
        parts.append(words if best == 1 else f"{best} x {words}" if period == 1 else f"{best} x ({words})")
        i += best * period
    return _cut(parts)


def _cut(ops: list[str]) -> str:
    return ", ".join(ops) if len(ops) <= 4 else f"{ops[0]}, {ops[1]}, ..., {ops[-1]}"


def _scopes(boxes: list[Box]) -> dict[int, str | None]:
    """The scope of each box: that of its own parameters, the one around those of its inputs, or the last of these.

    Scopes that end in a number are layers one after the other: what joins two of them belongs to the later one.
    """
    uses = Counter(id(p) for box in boxes for p in box.inputs)
    place = {id(box): n for n, box in enumerate(boxes)}
    found: dict[int, str | None] = {}
    for box in boxes:
        found[id(box)] = box.scope
        scoped = sorted((p for p in box.inputs if found[id(p)]), key=lambda p: place[id(p)])
        own = [p for p in scoped if not p.inputs and uses[id(p)] == 1]
        carried = [p for p in scoped if p.inputs] or scoped
        if own or carried:
            scope = found[id((own or carried)[-1])] or ""
            outer, _, last = scope.rpartition(".")
            among = {found[id(p)] for p in carried}
            siblings = len(among) > 1 and {str(other).rpartition(".")[0] for other in among} == {outer}
            found[id(box)] = outer if siblings and outer and not own and not last.isdigit() else scope
    return found


def _by_scope(boxes: list[Box], depth: int) -> list[Box]:
    """One box per scope and visit, scopes being cut off at a depth.

    Every group has a level above those of all its inputs, so that arrows never go in circles: a box whose inputs
    are not below the group of its scope begins a new one.
    """
    scopes = {key: scope and ".".join(scope.split(".")[:depth]) for key, scope in _scopes(boxes).items()}
    group: dict[int, int] = {}
    level: dict[int, int] = {}
    latest: dict[str, int] = {}
    for n, box in enumerate(boxes):
        scope = scopes[id(box)]
        g = latest.get(scope, n) if scope and box.inputs else n
        outside = [level[group[id(p)]] for p in box.inputs if group[id(p)] != g]
        if g == n or max(outside, default=-1) >= level[g]:
            g, level[n] = n, max((level[group[id(p)]] for p in box.inputs), default=-1) + 1
            if scope and box.inputs:
                latest[scope] = n
        group[id(box)] = g
    uses: dict[int, set[int]] = {}
    for box in boxes:
        for p in box.inputs:
            uses.setdefault(id(p), set()).add(group[id(box)])
    for box in boxes:  # parameters go where they are used, if that is one place of their scope
        if not box.inputs and scopes[id(box)] and len(uses.get(id(box), ())) == 1:
            (g,) = uses[id(box)]
            group[id(box)] = g if scopes[id(boxes[g])] == scopes[id(box)] else group[id(box)]
    return _merge(boxes, [group[id(box)] for box in boxes], lambda inside: _scope_title(inside, scopes))


def _scope_title(inside: list[Box], scopes: dict[int, str | None]) -> str:
    return next((s for s in (scopes[id(box)] for box in reversed(inside)) if s), "") or "block"


def _by_chain(boxes: list[Box]) -> list[Box]:
    """One box per chain: operations that hand on to one other each, with the leaves that only they use."""
    users: dict[int, list[Box]] = {}
    for box in boxes:
        for p in box.inputs:
            users.setdefault(id(p), []).append(box)
    group = {id(box): n for n, box in enumerate(boxes)}
    for box in boxes:
        before = [p for p in box.inputs if p.inputs]
        if len(before) == 1 and len(users[id(before[0])]) == 1:
            group[id(box)] = group[id(before[0])]
    for box in boxes:
        if not box.inputs and len(users.get(id(box), ())) == 1 and any(p.inputs for p in users[id(box)][0].inputs):
            group[id(box)] = group[id(users[id(box)][0])]  # what a chain begins with stays to be seen
    return _merge(boxes, [group[id(box)] for box in boxes], lambda inside: "chain")


def _by_stage(boxes: list[Box], limit: int) -> list[Box]:
    """One box per stretch of depths."""
    depths = depths_of(boxes)
    width = -(-(max(depths.values()) + 1) // max(limit // 2, 1))
    return _merge(boxes, [depths[id(box)] // width for box in boxes], lambda inside: "stage")


def _collapsed(boxes: list[Box], limit: int) -> list[Box]:
    deepest = max((box.scope.count(".") + 1 for box in boxes if box.scope), default=0)
    original = boxes
    for depth in range(deepest, 0, -1):
        if len(boxes) > limit:
            boxes = _by_scope(original, depth)
    if len(boxes) > limit:
        boxes = _by_chain(boxes)
    return _by_stage(boxes, limit) if len(boxes) > limit else boxes


# -- the drawing ---------------------------------------------------------------------------------
class Graph:
    """A drawing of a graph.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> w = lg.ones(3, requires_grad=True)
    >>> drawing = lg.viz.graph(lg.exp(w).sum(), {"w": w})
    >>> drawing.svg()[:4]
    '<svg'
    """

    def __init__(self, whole: list[Box], limit: int) -> None:
        self.size = len(whole)  # boxes before anything was collapsed
        self.boxes = _collapsed(whole, limit) if len(whole) > limit else _ordered(whole)

    @property
    def collapsed(self) -> bool:
        """Whether boxes stand for several operations."""
        return len(self.boxes) < self.size

    def __repr__(self) -> str:
        return f"<graph with {self.size} nodes in {len(self.boxes)} boxes>"

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The graph as indented text: below each box what goes into it; what was shown before is only named."""
        uses = Counter(id(p) for box in self.boxes for p in box.inputs)
        numbers: dict[int, int] = {}
        lines: list[str] = []
        stack = [(box, 0) for box in self.boxes if id(box) not in uses]
        while stack:
            box, depth = stack.pop()
            indent = "  " * depth
            if id(box) in numbers:
                lines.append(f"{indent}[{numbers[id(box)]}] {box.title}, as above")
                continue
            mark = ""
            if uses[id(box)] > 1:
                numbers[id(box)] = len(numbers) + 1
                mark = f"[{numbers[id(box)]}] "
            lines.append(f"{indent}{mark}{box.label}")
            stack += [(p, depth + 1) for p in reversed(box.inputs)]
        return "\n".join(lines)

    def svg(self) -> str:
        """The graph as an SVG document."""
        return Layout(self.boxes).svg()

    def dot(self) -> str:
        """The graph in the language of Graphviz."""
        lines = ["digraph {", '  node [shape=box style="rounded,filled" fontname=monospace]']
        names = {id(box): f"n{i}" for i, box in enumerate(self.boxes)}
        for box in self.boxes:
            fill, edge, _ = COLOURS[box.kind]
            ink = " fontcolor=white" if box.kind in ENDS else ""
            label = "\\n".join(_quoted(line) for line in (box.title, *box.lines))
            lines.append(f'  {names[id(box)]} [label="{label}" fillcolor="{fill}" color="{edge}"{ink}]')
            lines += [f"  {names[id(p)]} -> {names[id(box)]}" for p in dict.fromkeys(box.inputs)]
        return "\n".join([*lines, "}"]) + "\n"

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto;max-height:40em">{self.svg()}</div>'

    def save(self, path: Any) -> None:
        """Write the drawing to a file of the kind that its name says.

        Parameters
        ----------
        path
            ``.svg``, ``.dot`` (or ``.gv``), ``.txt`` and ``.html`` need nothing else; ``.png``, ``.pdf``, ``.jpg`` and
            ``.eps`` are drawn by matplotlib.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind in _TEXTS:
            path.write_text(_TEXTS[kind](self), encoding="utf-8")
        elif kind in PICTURES:
            Layout(self.boxes).draw(path)
        else:
            known = ", ".join((*_TEXTS, *PICTURES))
            raise ValueError(f"save: given {path.name!r}, expected a name that ends in one of {known}")


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


_TEXTS: dict[str, Callable[[Graph], str]] = {
    ".svg": Graph.svg,
    ".dot": Graph.dot,
    ".gv": Graph.dot,
    ".txt": Graph.text,
    ".html": lambda drawing: f"<!DOCTYPE html><meta charset='utf-8'><title>graph</title>{drawing._repr_html_()}",
}
