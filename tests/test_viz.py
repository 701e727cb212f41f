"""Drawings of the graph: complete, readable, and small enough for a large graph."""

import io
import re
import xml.etree.ElementTree as ET

import pytest

import lucidgrad as lg
from lucidgrad.viz import graph

SVG = "{http://www.w3.org/2000/svg}"


def network(layers, width=4):
    """A residual network, its parameters named by module, and its loss."""
    params = {}
    h = lg.ones((2, width))
    for i in range(layers):
        weight, bias = lg.ones((width, width), requires_grad=True), lg.zeros(width, requires_grad=True)
        params.update({f"blocks.{i}.weight": weight, f"blocks.{i}.bias": bias})
        h = h + lg.tanh(h @ weight + bias)
    return (h * h).mean(), params


def drawn(drawing):
    """Boxes as (left, top, right, bottom, texts) and the curves of a drawing, from its SVG."""
    root = ET.fromstring(drawing.svg())
    boxes = []
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        boxes.append((x, y, x + w, y + h, group.findall(f"{SVG}text")))
    return root, boxes, [p.get("d") for p in root.iter(f"{SVG}path") if p.get("marker-end")]


def check(drawing):
    """Nothing overlaps, texts are inside their boxes, arrows begin and end at boxes and cross none."""
    root, boxes, curves = drawn(drawing)
    width, height = float(root.get("width")), float(root.get("height"))
    for i, (left, top, right, bottom, texts) in enumerate(boxes):
        assert 0 <= left < right <= width and 0 <= top < bottom <= height
        for text in texts:
            half = len(text.text) * 0.6021 * float(text.get("font-size")) / 2
            x, y = float(text.get("x")), float(text.get("y"))
            assert left <= x - half and x + half <= right and top + 9 < y < bottom - 2
        for other in boxes[:i]:
            assert right < other[0] or other[2] < left or bottom < other[1] or other[3] < top
    assert len(curves) == sum(len(set(map(id, box.inputs))) for box in drawing.boxes)
    for curve in curves:
        numbers = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", curve)]
        (x0, y0), (x1, y1) = numbers[0], numbers[-1]
        assert any(abs(b[3] - y0) < 1 and b[0] < x0 < b[2] for b in boxes)
        assert any(abs(b[1] - y1) < 4 and b[0] < x1 < b[2] for b in boxes)
        for (xa, ya), (xb, yb) in re_lines(curve):  # the straight parts pass layers
            assert xa == xb and not any(b[0] < xa < b[2] and ya < b[3] and b[1] < yb for b in boxes)


def re_lines(curve):
    points = re.findall(r"(-?[\d.]+),(-?[\d.]+) L(-?[\d.]+),(-?[\d.]+)", curve)
    return [((float(a), float(b)), (float(c), float(d))) for a, b, c, d in points]


def test_small_network_is_drawn_in_full():
    loss, params = network(2)
    drawing = graph(loss, params)
    assert not drawing.collapsed and len(drawing.boxes) == drawing.size
    check(drawing)
    text = drawing.text()
    for name, p in params.items():
        assert f"{name} {p.shape} float32" in text and f">{name}<" in drawing.svg()
    assert text.startswith("loss: mean () float32\n  multiply (2, 4) float32\n")
    assert "?" not in text  # all shapes are known
    assert "matmul (2, 4) float32" in text and "as above" in text


def test_large_network_is_collapsed_by_module():
    loss, params = network(20)
    drawing = graph(loss, params, limit=30)
    assert drawing.collapsed and len(drawing.boxes) == 20
    titles = [box.title for box in drawing.boxes]
    assert titles[:19] == [f"blocks.{i}" for i in range(19)] and titles[19] == "loss: blocks.19"
    assert drawing.boxes[5].lines == ["4 ops, 2 tensors", "matmul, add, tanh, add", "(2, 4) float32"]
    check(drawing)
    coarse = graph(loss, params, limit=10)
    assert len(coarse.boxes) <= 10
    check(coarse)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("layers", [3, 12, 60])
def test_layout_of_any_size(layers, named):
    loss, params = network(layers)
    for limit in (8, 40, 1000):
        drawing = graph(loss, params if named else None, limit=limit)
        assert len(drawing.boxes) <= limit
        check(drawing)


def test_scopes_within_scopes():
    loss, params = network(12)
    params = {f"{'encoder' if i < 12 else 'decoder'}.{name}": p for i, (name, p) in enumerate(params.items())}
    for limit, boxes in ((200, 74), (40, 12), (10, 2)):
        drawing = graph(loss, params, limit=limit)
        assert len(drawing.boxes) == boxes, drawing.text()
        check(drawing)
    assert [box.title for box in drawing.boxes] == ["encoder.blocks", "loss: decoder.blocks"]


def test_branches_of_a_scope_are_one_box():
    params = {}

    def linear(name, x):
        params[f"{name}.weight"] = lg.ones((4, 4), requires_grad=True)
        params[f"{name}.bias"] = lg.zeros(4, requires_grad=True)
        return x @ params[f"{name}.weight"] + params[f"{name}.bias"]

    h = params["embedding.weight"] = lg.ones((3, 4), requires_grad=True)
    for i in range(2):
        q, k, v = (linear(f"layers.{i}.attn.{name}", h) for name in "qkv")
        h = h + linear(f"layers.{i}.attn.o", lg.softmax(q @ k.mT / 2, axis=-1) @ v)
        h = h + linear(f"layers.{i}.down", lg.gelu(linear(f"layers.{i}.up", h)))
    loss = linear("head", h).mean()
    assert "?" not in graph(loss, params, limit=100).text()
    for limit in (100, 40, 12, 6):
        drawing = graph(loss, params, limit=limit)
        assert len(drawing.boxes) <= limit
        check(drawing)
    assert [box.title for box in drawing.boxes] == ["embedding.weight", "layers.0", "layers.1", "loss: head"]


def test_shared_parameters_do_not_make_circles():
    w, v = (lg.ones((3, 3), requires_grad=True) for _ in range(2))
    h = lg.ones((2, 3))
    for _ in range(30):
        h = lg.tanh(lg.tanh(h @ w) @ v) + h
    drawing = graph(h.sum(), {"cell.a.w": w, "cell.b.w": v}, limit=20)
    assert len(drawing.boxes) <= 20
    seen = set()
    for box in drawing.boxes:
        assert all(id(p) in seen for p in box.inputs)
        seen.add(id(box))
    check(drawing)


def test_repeated_operations_are_counted():
    x = lg.ones(3, requires_grad=True)
    h = x
    for _ in range(30):
        h = lg.sin(h) * 2
    drawing = graph(h.sum(), [x])
    assert drawing.text() == ("loss: chain 61 ops 30 x (sin, multiply), sum () float32\n  param0 (3,) float32")


def test_very_deep_graph():
    x = lg.ones(2, requires_grad=True)
    h = x
    for i in range(20_000):
        h = h + x if i % 3 else lg.sin(h)
    drawing = graph(h.sum())
    assert drawing.size > 20_000 and len(drawing.boxes) <= 40
    check(drawing)


def test_several_outputs_names_and_losses():
    x = lg.tensor([[3.0, 1.0], [1.0, 2.0]], requires_grad=True)
    values, vectors = lg.linalg.eigh(x)
    h = lg.exp(values)
    drawing = graph([h.sum(), vectors.sum()], {"x": x, "h <&>": h})
    assert "loss 1: sum" in drawing.text() and "loss 2: sum" in drawing.text() and "h <&> = exp (2,)" in drawing.text()
    check(drawing)
    assert graph(lg.ones(2).sum()).text() == "loss: constant () float32"
    check(graph(lg.ones(2).sum()))
    assert graph(x).text() == "loss: leaf 1 (2, 2) float32"


def test_custom_functions_and_freed_graphs():
    @lg.custom_vjp
    def double(x):
        return x * 2

    double.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))
    x = lg.ones(3, requires_grad=True)
    loss = lg.exp(double(x)).sum()
    before = graph(loss).text()
    assert "double (3,) float32" in before
    loss.backward()
    assert len(graph(loss).text().splitlines()) == len(before.splitlines())
    assert x.grad is not None


def test_files_and_notebooks(tmp_path):
    loss, params = network(1)
    drawing = graph(loss, params.items())
    drawing.save(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == drawing.svg() == drawing._repr_svg_()
    assert str(drawing) == drawing.text() and "boxes" in repr(drawing)


def training_step():
    """The program of a step of training, with numbers and constants among its inputs."""
    lg.manual_seed(0)
    model = lg.nn.Sequential(lg.nn.Linear(3, 4), lg.nn.Tanh(), lg.nn.Linear(4, 2))
    optimizer = lg.optim.Adam(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = lg.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return lg.compile(step).program(lg.ones(5, 3), lg.zeros(5, 2))


def test_a_program_is_drawn_in_full():
    f = lg.compile(lambda x, w: (lg.tanh(x @ w).sum(axis=0, keepdims=True), x * 2.5))
    drawing = graph(f.program(lg.ones(2, 3), lg.ones(3, 4)))
    check(drawing)
    assert drawing.text().splitlines() == [
        "output 2: multiply 2.5 (2, 3) float32",
        "  [1] v0 (2, 3) float32",
        "output 1: sum axis=0 keepdims=True (1, 4) float32",
        "  tanh (2, 4) float32",
        "    matmul (2, 4) float32",
        "      [1] v0, as above",
        "      v1 (3, 4) float32",
    ]
    kinds = {box.kind for box in drawing.boxes}
    assert kinds == {"input", "output", "elementwise", "matrix"}
    assert ">input<" in drawing.svg() and ">output<" in drawing.svg() and "loss" not in drawing.svg()


def test_programs_of_any_size():
    program = training_step()
    for limit in (8, 40, 1000):
        drawing = graph(program, limit=limit)
        assert len(drawing.boxes) <= limit and drawing.dot().startswith("digraph")
        check(drawing)
    constants = sum(box.kind == "constant" for box in drawing.boxes)
    assert drawing.size == len(program) + len(program.inputs) + constants
    text = drawing.text()
    assert "number" in text and f"output {len(program.outputs)}: mean_squared_error () float32" in text
    assert len([line for line in text.splitlines() if "constant () float32" in line]) == constants == 1


def test_imported_programs_have_names():
    file = io.BytesIO()
    table = lg.ones(7, 2)
    lg.export(lambda i, x: (table[i] * x, x, table), (lg.asarray([1, 2]), lg.ones(2)), file)
    file.seek(0)
    drawing = graph(lg.import_program(file))
    check(drawing)
    words = drawing.text()
    assert "i (2,) int64" in words and "x (2,) float32" in words and "constant (7, 2) float32" in words
    assert "output 2: clone (2,) float32" in words and "output 3: constant (7, 2) float32" in words


def test_wrong_arguments():
    program = lg.compile(lambda x: x + 1).program(lg.ones(2))
    with pytest.raises(TypeError, match="given a program and params, expected a program alone"):
        graph(program, {"x": lg.ones(2)})
    with pytest.raises(ValueError, match="limit is 1"):
        graph(program, limit=1)
    with pytest.raises(TypeError, match=r"loss is a Compiled.*compiled.program\(\*args\)"):
        graph(lg.compile(lambda x: x))
    x = lg.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="loss is a float"):
        graph([1.0])
    with pytest.raises(TypeError, match="pairs"):
        graph(x, [3])
    with pytest.raises(ValueError, match="limit"):
        graph(x, limit=1)


def test_a_network_is_collapsed_by_module():
    network = lg.nn.Sequential(*(lg.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True) for _ in range(2)))
    drawn = lg.viz.graph(network(lg.randn(1, 3, 4)).sum(), network)
    assert drawn.collapsed
    text = drawn.text()
    assert "0.self_attn" in text and "1.linear2" in text and "1.norm2" in text
    assert len(drawn.boxes) <= 40 < drawn.size
