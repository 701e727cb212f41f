"""Boxes and arrows, laid out in layers and drawn as SVG."""

import html
import itertools
from pathlib import Path
from typing import Any

#: How boxes of a kind look: fill, edge, and what the legend says.
COLOURS = {
    "named": ("#d8f0d8", "#3a7d3a", "parameter"),
    "leaf": ("#eef7e6", "#7fa65f", "leaf"),
    "elementwise": ("#e3ecf9", "#4a6fa5", "elementwise"),
    "linear": ("#e9e4f6", "#7458a8", "linear"),
    "reduction": ("#fbe9d6", "#b3742a", "reduction"),
    "matrix": ("#f9dfe1", "#b04552", "matrix"),
    "custom": ("#eeeeee", "#666666", "custom"),
    "group": ("#fdf6d2", "#a08a1f", "collapsed"),
    "end": ("#3d4656", "#20262f", "loss"),
    "input": ("#d8f0d8", "#3a7d3a", "input"),
    "constant": ("#eef7e6", "#7fa65f", "constant"),
    "output": ("#3d4656", "#20262f", "output"),
}

#: Kinds of boxes that a graph leads to.
ENDS = ("end", "output")

#: Files that matplotlib draws, by how their names end.
PICTURES = (".png", ".pdf", ".jpg", ".eps")

_FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
_GLYPH = 0.615  # the width of a letter of these fonts, in parts of their size
_TITLE, _LINE, _PAD, _GAP, _RISE = 13, 11, 10, 24, 44  # sizes of letters, space in boxes, beside and between layers


class Box:
    """A box of the drawing."""

    __slots__ = ("inputs", "kind", "leaves", "lines", "ops", "scope", "title")

    def __init__(self, kind: str, title: str, lines: list[str], ops: list[str] | None = None, leaves: int = 0) -> None:
        self.kind, self.title, self.lines = kind, title, lines
        self.ops = [] if ops is None else ops
        self.leaves = leaves  # how many leaf tensors are inside
        self.inputs: list[Box] = []
        self.scope: str | None = None

    @property
    def label(self) -> str:
        """All in one line."""
        return " ".join([self.title, *self.lines])


def depths_of(boxes: list[Box]) -> dict[int, int]:
    """How many boxes stand above each at most, by id; the boxes come inputs first."""
    found: dict[int, int] = {}
    for box in boxes:
        found[id(box)] = max((found[id(p)] + 1 for p in box.inputs), default=0)
    return found


class _Place:
    """A box in the layout, or (without one) a bend of an arrow that passes a layer."""

    __slots__ = ("box", "down", "height", "layer", "up", "width", "x", "y")

    def __init__(self, box: Box | None, layer: int) -> None:
        self.box, self.layer = box, layer
        self.up: list[_Place] = []
        self.down: list[_Place] = []
        self.x = self.y = 0.0
        self.width = self.height = 4.0
        if box is not None:
            letters = max([len(box.title) * _TITLE, *(len(line) * _LINE for line in box.lines)])
            self.width = letters * _GLYPH + 2 * _PAD
            self.height = _TITLE + len(box.lines) * (_LINE + 4) + 2 * _PAD - 2


class Layout:
    """Boxes in layers, each below its inputs, with few crossings."""

    def __init__(self, boxes: list[Box]) -> None:
        depths = depths_of(boxes)
        users: dict[int, list[Box]] = {}
        private: set[int] = set()  # what nothing but leaves of its own leads to
        for box in boxes:
            for p in dict.fromkeys(box.inputs):
                users.setdefault(id(p), []).append(box)
        for box in boxes:
            if all(id(p) in private and len(users[id(p)]) == 1 for p in box.inputs):
                private.add(id(box))
        for box in reversed(boxes):  # goes down to where it is used
            if id(box) in private and id(box) in users:
                depths[id(box)] = min(depths[id(user)] for user in users[id(box)]) - 1
        places = {id(box): _Place(box, depths[id(box)]) for box in boxes}
        self.layers: list[list[_Place]] = [[] for _ in range(max(depths.values(), default=0) + 1)]
        for place in places.values():
            self.layers[place.layer].append(place)
        self.arrows = [self._arrow(places[id(p)], places[id(box)]) for box in boxes for p in dict.fromkeys(box.inputs)]
        for sweep in range(8):
            self._sort(downwards=sweep % 2 == 0)
        self._place()

    def _arrow(self, start: _Place, end: _Place) -> list[_Place]:
        bends = [_Place(None, layer) for layer in range(start.layer + 1, end.layer)]
        path = [start, *bends, end]
        for above, below in itertools.pairwise(path):
            above.down.append(below)
            below.up.append(above)
        for bend in bends:
            self.layers[bend.layer].append(bend)
        return path

    def _sort(self, downwards: bool) -> None:
        """Order every layer by the middle of its neighbours in the layer before."""
        layers = self.layers if downwards else self.layers[::-1]
        for before, layer in itertools.pairwise(layers):
            at = {id(place): float(i) for i, place in enumerate(before)}
            own = {id(place): float(i) for i, place in enumerate(layer)}

            def middle(place: _Place, at: dict[int, float] = at, own: dict[int, float] = own) -> float:
                near = [at[id(n)] for n in (place.up if downwards else place.down)]
                return sum(near) / len(near) if near else own[id(place)]

            layer.sort(key=middle)

    def _place(self) -> None:
        y = float(_GAP)
        for layer in self.layers:
            height = max((place.height for place in layer), default=0.0)
            for place in layer:
                place.y = y + (height - place.height) / 2
                if place.box is None:
                    place.y, place.height = y, height
            y += height + _RISE
            x = 0.0
            for place in layer:
                place.x = x + place.width / 2
                x += place.width + _GAP
            for place in layer:
                place.x -= x / 2
        for sweep in range(24):
            for layer in self.layers if sweep % 2 == 0 else self.layers[::-1]:
                self._settle(layer)
        left = min((p.x - p.width / 2 for layer in self.layers for p in layer), default=0.0)
        for layer in self.layers:
            for place in layer:
                place.x += _GAP - left
        self.width = max((p.x + p.width / 2 for layer in self.layers for p in layer), default=0.0) + _GAP
        self.height = y - _RISE + _GAP

    @staticmethod
    def _settle(layer: list[_Place]) -> None:
        """Move the boxes of a layer as near to the middle of their neighbours as they can be without overlapping."""
        offsets, at = [], 0.0
        for i, place in enumerate(layer):
            at += (layer[i - 1].width + place.width) / 2 + _GAP if i else 0.0
            offsets.append(at)
        blocks: list[tuple[float, float, int]] = []  # runs of boxes that touch: sum of wishes, of weights, number
        for place, offset in zip(layer, offsets, strict=True):
            near = [(n.x, _stiff(n, place)) for n in (*place.up, *place.down)] or [(place.x, 0.1)]
            weight = sum(w for _, w in near)
            blocks.append((sum((x - offset) * w for x, w in near), weight, 1))
            while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
                last = blocks.pop()
                blocks[-1] = (blocks[-1][0] + last[0], blocks[-1][1] + last[1], blocks[-1][2] + last[2])
        starts = [wish / weight for wish, weight, count in blocks for _ in range(count)]
        for place, offset, start in zip(layer, offsets, starts, strict=True):
            place.x = start + offset

    @property
    def legend(self) -> list[tuple[str, float]]:
        """The kinds of boxes that there are, and how wide their entries in the legend are."""
        there = {place.box.kind for layer in self.layers for place in layer if place.box is not None}
        return [(kind, len(COLOURS[kind][2]) * _LINE * _GLYPH + 30) for kind in COLOURS if kind in there]

    @property
    def extent(self) -> tuple[float, float]:
        """Width and height, with the legend."""
        return max(self.width, sum(width for _, width in self.legend) + 2 * _GAP), self.height + 30

    def svg(self) -> str:
        """The drawing."""
        (width, height), legend = self.extent, self.legend
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{_FONT}">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#667"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>',
            *(_curve(path) for path in self.arrows),
            *(_drawn(place) for layer in self.layers for place in layer if place.box is not None),
        ]
        x = float(_GAP)
        for kind, step in legend:
            fill, edge, word = COLOURS[kind]
            out.append(
                f'<rect x="{x:.1f}" y="{height - 26:.1f}" width="12" height="12" rx="3" fill="{fill}" stroke="{edge}"/>'
                f'<text x="{x + 17:.1f}" y="{height - 16:.1f}" font-size="{_LINE}" fill="#445">{word}</text>'
            )
            x += step
        return "\n".join([*out, "</svg>"])

    def draw(self, path: Path) -> None:
        """Write a picture by matplotlib, which is laid out as the SVG is."""
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
            from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
            from matplotlib.path import Path as Curve
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"save: given {path.name!r}, which matplotlib draws, and it is not installed: pip install matplotlib; "
                f".svg and .dot files need nothing"
            ) from error
        (width, height), points = self.extent, 72  # letters are as large as in the SVG: a unit is a point
        figure: Any = Figure(figsize=(width / points, height / points), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.axis("off")
        codes = {"M": [Curve.MOVETO], "C": [Curve.CURVE4] * 3, "L": [Curve.LINETO]}
        for arrow in self.arrows:
            steps = _points(arrow)
            corners = [point for _, some in steps for point in some]
            curve = Curve(corners, [code for kind, _ in steps for code in codes[kind]])
            axes.add_patch(
                FancyArrowPatch(
                    path=curve, arrowstyle="-|>", mutation_scale=8, color="#667", lw=1.3, shrinkA=0, shrinkB=0
                )
            )

        def rectangle(kind: str, x: float, y: float, w: float, h: float, corner: float) -> None:
            fill, edge, _ = COLOURS[kind]
            style = f"round,pad=0,rounding_size={corner}"
            axes.add_patch(FancyBboxPatch((x, y), w, h, boxstyle=style, fc=fill, ec=edge, lw=1.2))

        for place in (place for layer in self.layers for place in layer if place.box is not None):
            box: Any = place.box
            (ink, dim), y = _inks(box.kind), place.y + _PAD + _TITLE - 3
            rectangle(box.kind, place.x - place.width / 2, place.y, place.width, place.height, 6)
            look: dict[str, Any] = {"ha": "center", "va": "baseline", "family": "DejaVu Sans Mono", "parse_math": False}
            axes.text(place.x, y, box.title, color=ink, fontsize=_TITLE, weight="bold", **look)
            for n, line in enumerate(box.lines, 1):
                axes.text(place.x, y + n * (_LINE + 4), line, color=dim, fontsize=_LINE, **look)
        x = float(_GAP)
        for kind, step in self.legend:
            rectangle(kind, x, height - 26, 12, 12, 3)
            axes.text(x + 17, height - 16, COLOURS[kind][2], color="#445", fontsize=_LINE, family="DejaVu Sans Mono")
            x += step
        largest = max(width, height) / points  # pixels of a side are limited
        figure.savefig(path, dpi=min(150, 30_000 / largest))


def _stiff(one: _Place, other: _Place) -> float:
    """How much an arrow between two places is to be straight: long ones most."""
    return (1.0, 2.0, 8.0)[(one.box is None) + (other.box is None)]


def _points(path: list[_Place]) -> list[tuple[str, list[tuple[float, float]]]]:
    """An arrow from the bottom of a box to the top of another, straight through the layers that it passes.

    Steps as SVG names them: M goes to a point, C is a cubic curve to the last of three, L a line.
    """
    x, y = path[0].x, path[0].y + path[0].height
    steps = [("M", [(x, y)])]
    for place in path[1:]:
        end = place.y - (2 if place is path[-1] else 0)
        steps.append(("C", [(x, (y + end) / 2), (place.x, (y + end) / 2), (place.x, end)]))
        x, y = place.x, end if place is path[-1] else place.y + place.height
        if place is not path[-1]:
            steps.append(("L", [(x, y)]))
    return steps


def _curve(path: list[_Place]) -> str:
    words = [kind + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) for kind, points in _points(path)]
    return f'<path d="{" ".join(words)}" fill="none" stroke="#667" stroke-width="1.3" marker-end="url(#tip)"/>'


def _inks(kind: str) -> tuple[str, str]:
    """The colours of a title and of the lines below."""
    return ("white", "#d5dbe6") if kind in ENDS else ("#1d2430", "#4b5566")


def _drawn(place: _Place) -> str:
    box: Any = place.box
    fill, edge, _ = COLOURS[box.kind]
    ink, dim = _inks(box.kind)
    left, y = place.x - place.width / 2, place.y + _PAD + _TITLE - 3
    out = [
        f'<g><title>{html.escape(box.label)}</title><rect x="{left:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="6" fill="{fill}" stroke="{edge}" stroke-width="1.4"/>',
        f'<text x="{place.x:.1f}" y="{y:.1f}" font-size="{_TITLE}" font-weight="bold" text-anchor="middle" '
        f'fill="{ink}">{html.escape(box.title)}</text>',
    ]
    for line in box.lines:
        y += _LINE + 4
        out.append(
            f'<text x="{place.x:.1f}" y="{y:.1f}" font-size="{_LINE}" text-anchor="middle" fill="{dim}">'
            f"{html.escape(line)}</text>"
        )
    return "".join([*out, "</g>"])
