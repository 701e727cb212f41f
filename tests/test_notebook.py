"""What notebooks show: escaped, bounded, without colours; looking changes nothing; files are what their names say."""

import html.parser
import importlib
import os
import struct
import subprocess
import sys
import types

import pytest

import lucidgrad as lg
from lucidgrad import nn, notebook
from lucidgrad.core.modes import state
from lucidgrad.profiler import profile
from lucidgrad.utils.tensorboard import SummaryWriter
from lucidgrad.viz import graph


class Page(html.parser.HTMLParser):
    """Checks that tags are closed in order, and collects texts, tags and styles."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.styles = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.append(tag)
        self.styles += [value for name, value in attributes if name == "style"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)


class Odd(nn.Module):
    """Says of itself what a page would take for tags."""

    def extra_repr(self):
        return "<script>alert('&')</script>"


def test_tensors():
    x = lg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    page = Page(x._repr_html_())
    assert page.text == f"float32 (2, 2) on cpu{x!r}"
    assert "grad_fn=<ExpBackward>" in Page(lg.exp(x)._repr_html_()).text  # < and > are no tags
    assert set(page.tags) == {"div", "pre"}
    assert "on cuda:0" in Page(lg.ones(2, device="cuda")._repr_html_()).text
    assert "Parameter containing" in Page(nn.Parameter(lg.ones(2))._repr_html_()).text


@pytest.mark.parametrize("shape", [(10_000,), (1000, 1000), (2,) * 14, (0, 3), ()])
def test_tensors_of_any_size(shape):
    assert len(lg.ones(shape)._repr_html_()) < notebook.MOST_LETTERS + 1000


def test_tensors_inside_transforms():
    seen = []
    lg.func.vmap(lambda x: seen.append(Page(x._repr_html_()).text) or x)(lg.ones(3, 2))
    assert seen and "float32" in seen[0]


def test_modules():
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 1)), Odd())
    page = Page(model._repr_html_())
    assert "Sequential() 21 parameters" in page.text
    assert "(0): Linear(in_features=3, out_features=4, bias=True) 16 parameters" in page.text
    assert "(2): Odd(<script>alert('&')</script>)" in page.text  # as text
    assert "script" not in page.tags
    assert page.tags.count("details") == 2
    lazy = Page(nn.LazyLinear(3)._repr_html_()).text
    assert "when they are known" in lazy


def test_large_modules_are_cut():
    model = nn.Sequential(*(nn.Sequential(*(nn.ReLU() for _ in range(30))) for _ in range(30)))
    page = Page(model._repr_html_())
    assert page.text.count("ReLU") < notebook.MOST_MODULES
    assert "..." in page.text


def test_graphs_and_profiles():
    model = nn.Sequential(nn.Linear(3, 2))
    with profile() as p:
        loss = model(lg.ones(4, 3)).sum()
        loss.backward()
    drawing = graph(loss)
    assert drawing.svg() in drawing._repr_html_()
    assert 'fill="white"' in drawing.svg()  # it brings its background, so that a dark page does not matter
    assert str(p) == p.table() and "affine" in str(p)
    assert Page(p._repr_html_()).text.endswith(p.table())
    assert repr(p).startswith("<profile with ")


def test_no_colours():
    for shown in (lg.ones(2), nn.Sequential(nn.Linear(2, 2)), profile()):
        for style in Page(shown._repr_html_()).styles:
            assert "#" not in style and "rgb" not in style
            assert "color" not in style.replace("color:inherit", "")


def test_looking_changes_nothing():
    x = lg.ones(3, requires_grad=True)
    y = lg.exp(x)
    before = (y._version, y._node, x.grad, state.recording, str(lg.get_rng_state()))
    y._repr_html_()
    graph(y.sum())._repr_html_()
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout())
    kept = {name: value.tolist() for name, value in model.state_dict().items()}
    model._repr_html_()
    assert {name: value.tolist() for name, value in model.state_dict().items()} == kept
    assert model.training
    assert (y._version, y._node, x.grad, state.recording, str(lg.get_rng_state())) == before
    y.sum().backward()
    assert x.grad is not None


def test_no_more_waits_than_text_needs():
    if lg.cudasim.usable_gpus():
        pytest.skip("a GPU does not count")
    x, model = lg.ones(3, device="cuda"), nn.Linear(3, 2, device="cuda")
    repr(x), x._repr_html_(), model._repr_html_()
    with lg.cudasim.counting() as text:
        repr(x)
    with lg.cudasim.counting() as page:
        x._repr_html_()
        model._repr_html_()
    told = ("copies_to_host", "copies_to_device", "synchronisations", "launches")
    assert [getattr(page, name) for name in told] == [getattr(text, name) for name in told]


# -- drawings as files ---------------------------------------------------------------------------
def drawn():
    w = lg.ones((2, 2), requires_grad=True)
    return graph((lg.exp(w) * w).sum(), {'layer."w" <&> $x^2$': w})


BEGINS = {
    ".png": b"\x89PNG\r\n", ".pdf": b"%PDF", ".jpg": b"\xff\xd8\xff", ".eps": b"%!PS", ".svg": b"<svg ",
    ".dot": b"digraph {", ".gv": b"digraph {", ".txt": b"loss: sum", ".html": b"<!DOCTYPE html>",
}  # fmt: skip


@pytest.mark.parametrize("kind", BEGINS)
def test_a_file_is_what_its_name_says(kind, tmp_path):
    for name in (f"x{kind}", f"X{kind.upper()}"):
        drawn().save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(BEGINS[kind])
    drawn().save(str(tmp_path / f"y{kind}"))


@pytest.mark.parametrize("name", ["graph", "graph.bmp", "graph.svg.gz"])
def test_other_names_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=rf"given '{name}', expected a name that ends in one of \.svg, \.dot"):
        drawn().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_pictures_without_matplotlib(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"'x\.png', which matplotlib draws.*pip install matplotlib; \.svg"):
        drawn().save(tmp_path / "x.png")
    drawn().save(tmp_path / "x.svg")


def test_large_pictures_fit(tmp_path):
    x = lg.ones(2, requires_grad=True)
    y = x
    for i in range(150):
        y = lg.sin(y) if i % 2 else y * x
    graph(y.sum(), limit=1000).save(tmp_path / "x.png")
    width, height = struct.unpack(">II", (tmp_path / "x.png").read_bytes()[16:24])
    assert max(width, height) <= 30_000 + 1


def test_dot_is_understood_by_graphviz_rules():
    text = drawn().dot()
    assert '\\"w\\" <&> $x^2$' in text
    assert text.count("->") == 4 and text.count("[label=") == 4  # w to exp and multiply, exp to multiply, to sum


# -- names of leaves -----------------------------------------------------------------------------
def test_leaves_are_named_by_the_callers_modules():
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    text = graph(model(lg.ones(4, 2)).sum()).text()
    assert "model.0.weight (3, 2)" in text and "model.0.bias (3,)" in text
    assert "leaf" not in text


def test_leaves_inside_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def picture(self):
            return graph(self.layer(lg.ones(1, 2)).sum()).text()

    text = Net().picture()
    assert "\n    layer.weight (2, 2)" in text


def test_leaves_that_belong_to_nobody():
    assert "leaf 1" in graph(lg.ones(2, requires_grad=True).sum()).text()


# -- TensorBoard's files -------------------------------------------------------------------------
def events(folder):
    """What an event file holds: tags, steps and values."""
    proto = importlib.import_module("tensorboardX.proto.event_pb2")
    found = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = proto.Event.FromString(data[12 : 12 + length])
            found += [(value.tag, event.step, value) for value in event.summary.value]
            data = data[16 + length :]
    return found


def test_a_training_writes_events(tmp_path):
    pytest.importorskip("tensorboardX")
    model = nn.Linear(3, 1)
    optimizer = lg.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with SummaryWriter(tmp_path) as writer:
        for step in range(3):
            loss = (model(lg.ones(4, 3)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("loss", loss, step)  # on the tape: its value is written
            writer.add_scalars("both", {"a": loss, "b": lg.tensor(1.0)}, step)
            writer.add_histogram("weights", model.weight, step)
            losses.append(loss.item())
        writer.add_text("note", "done", 3)
        writer.add_image("picture", lg.rand(3, 8, 8), 3)
        assert loss.grad_fn is not None and model.weight.grad is not None
        assert writer.log_dir == writer.get_logdir() == str(tmp_path)
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert all("tfevents" in path.name for path in files)
    inside = tmp_path / "events"
    inside.mkdir()
    for path in files:
        path.rename(inside / path.name)
    found = events(inside)
    assert [round(v.simple_value, 5) for tag, _, v in found if tag == "loss"] == [round(x, 5) for x in losses]
    assert [step for tag, step, _ in found if tag == "loss"] == [0, 1, 2]
    assert {"weights", "picture"} <= {tag for tag, _, _ in found}


def test_tensors_of_cuda_are_written(tmp_path):
    pytest.importorskip("tensorboardX")
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", lg.tensor(2.0, device="cuda"), 0)
    assert [v.simple_value for tag, _, v in events(tmp_path) if tag == "x"] == [2.0]


def test_a_profile_is_written(tmp_path):
    pytest.importorskip("tensorboardX")
    x = lg.ones(3, requires_grad=True)
    with profile() as p:
        lg.exp(x).sum().backward()
    with SummaryWriter(tmp_path) as writer:
        writer.add_profile(p, 5)
    tags = {tag: step for tag, step, _ in events(tmp_path)}
    assert tags["profile/forward/exp"] == tags["profile/backward/exp"] == 5
    assert any(tag.startswith("profile/text") or tag == "profile" for tag in tags)


def test_without_the_package(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ModuleNotFoundError, match="tensorboardX, which is not installed: pip install tensorboardX"):
        SummaryWriter(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_door_has_pytorchs_arguments():
    theirs = pytest.importorskip("tensorboardX").SummaryWriter
    for name in ("add_scalar", "add_histogram", "add_figure", "flush", "close"):
        assert isinstance(getattr(SummaryWriter, name), types.FunctionType)
        assert hasattr(theirs, name)


def test_nothing_of_it_is_imported_with_the_package():
    code = "import lucidgrad, sys; print([m for m in sys.modules if 'tensorboard' in m or m.endswith('.notebook')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert result.stdout == "[]\n", result.stderr


def test_programs_are_text():
    program = lg.compile(lambda x: (lg.tanh(x) < 2, x * 2)).program(lg.ones(2))
    page = Page(program._repr_html_())
    assert "program of 3 equations" in page.text and repr(program) in page.text
    long = lg.compile(lambda x: sum(lg.sin(x * k) for k in range(1, 99))).program(lg.ones(2))
    assert "lines ..." in long._repr_html_() and len(long._repr_html_()) < 2 * notebook.MOST_LETTERS
