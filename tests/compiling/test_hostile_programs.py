"""Files of programs that were cut, changed or made up: refused by one kind of error, and nothing runs before."""

import contextlib
import copy
import io
import os

import pytest
import thoroughness

import lucidgrad as lg
from lucidgrad import files
from lucidgrad.files import FileFormatError

F = lg.nn.functional


def bytes_of(tree):
    file = io.BytesIO()
    files.save(tree, file)
    return file.getvalue()


def loaded(data):
    return lg.import_program(io.BytesIO(data))


def exported(function, *args):
    file = io.BytesIO()
    lg.export(function, args, file)
    return file.getvalue()


def _simple(x, i):
    return {"y": lg.tanh(x @ x.T)[i, ::2], "s": x.sum(axis=-1, keepdims=True), "c": x.reshape(4) + lg.asarray(1.5)}


SIMPLE = lg.asarray([[1.0, 2.0], [3.0, 4.0]]), lg.asarray([1, 0])


@pytest.fixture(scope="module")
def tree():
    return files.load(io.BytesIO(exported(_simple, *SIMPLE)))


def changed(tree, path, value):
    """The tree with another value at a path."""
    if not path:
        return value
    made = list(tree) if isinstance(tree, tuple) else copy.copy(tree)
    made[path[0]] = changed(made[path[0]], path[1:], value)
    return tuple(made) if isinstance(tree, tuple) else made


def at(tree, name):
    """The place of the first equation of a name."""
    return next(i for i, equation in enumerate(tree["equations"]) if equation[0] == name)


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("format",), "other", "no program that lucidgrad.export wrote"),
        (("version",), 2, "has version 2, this release reads version 1"),
        (("version",), "1", "has version '1'"),
        (("device",), 3, "the device of the program is none"),
        (("names",), ["x", "x"], "other names than one each"),
        (("names",), "xi", "names of arguments are none"),
        (("grows",), [True], "which results have a history is not told"),
        (("gradients",), 3, "whether there are gradients is not told"),
        (("inputs", 0), ["float32", [2, -2]], "a shape that no tensor can have"),
        (("inputs", 0), ["float32", [2**31, 2**31]], "which no tensor can have"),
        (("inputs", 0), ["float32", [2.0]], "a shape that no tensor can have"),
        (("inputs", 0), ["float31", [2, 2]], "dtype 'float31', which is not known"),
        (("inputs", 0), [["float32"], [2, 2]], "dtype .* which is not known"),
        (("inputs", 0), "float32", "variable 0 has no dtype and shape"),
        (("inputs", 0), ["float32", [3, 3]], "do not fit|expected"),
        (("inputs",), [], "which is not known before it|expected"),
        (("constants",), {"c": 3}, "the constant 'c' is no tensor"),
        (("constants",), {}, "which is not known|expected"),
        (("outputs",), [99, 0, 0], "gives variable 99, which is not known"),
        (("outputs",), [-1, 0, 0], "gives variable -1, which is not known"),
        (("outputs",), [True, 0, 0], "gives variable True"),
        (("outputs",), [2], "the tensors among the results are not those of the program"),
        (("equations", 0), 5, "equation 0 has other parts"),
        (("equations", 0, 0), "no_such_operation", "which this release has no operation for"),
        (("equations", 0, 0), "__class__", "which this release has no operation for"),
        (("equations", 0, 0), "enter_level", "which this release has no operation for"),
        (("equations", 0, 0), None, "has no name"),
        (("equations", 0, 1), [50], "given variable 50, which is not known before it"),
        (("equations", 0, 1), [[1.5]], "is given no variable"),
        (("equations", 0, 1), [["text"]], "what is no number"),
        (("equations", 0, 1), [], "is given no variable"),
        (("equations", 0, 2), {"colour": 3}, "keyword .'colour'., which it does not take"),
        (("equations", 0, 3), [], "gives 0 results"),
        (("arguments",), ((), {"kind": "dict", "of": []}), "the tensors among the arguments are not those"),
        (("arguments",), {"kind": "tensor", "of": 0}, "tensors among the arguments"),
        (("arguments",), {"kind": "code", "of": "print()"}, "unknown kind 'code'"),
        (("arguments",), {"kind": "slice", "of": (1, 2)}, "a slice has other parts than three"),
        (("arguments",), {"kind": "dict", "of": [(1, 2), (1, 3)]}, "a dict has a key twice"),
        (("arguments",), {"kind": "primitive", "of": "exp"}, "finds none"),
        (("arguments",), {"plain": 3}, "expected a known kind of value"),
        (("result",), {"kind": "tensor", "of": -1}, "the number of a tensor is none"),
        (("result",), {"kind": ["list"], "of": 0}, "unknown kind"),
    ],
)
def test_what_contradicts_itself_is_named(tree, path, value, what):
    with pytest.raises(FileFormatError, match=f"<BytesIO>: .*({what})"):
        loaded(bytes_of(changed(tree, path, value)))


def test_shapes_are_checked_before_anything_runs(tree):
    for name, what in (("tanh", "expected"), ("matmul", "expected"), ("sum", "expected"), ("reshape", "expected")):
        place = ("equations", at(tree, name), 3, 0)
        with pytest.raises(FileFormatError, match=f"{name}, gives the shape .* {what}"):
            loaded(bytes_of(changed(tree, place, ["float32", [7, 7]])))
    place = ("equations", at(tree, "sum"), 2, "axis")
    for axis in (5, 0.0, (0, 1.5)):
        with pytest.raises(FileFormatError, match="sum, is given axis="):
            loaded(bytes_of(changed(tree, place, axis)))


def test_what_only_a_run_tells_is_told_then(tree):
    place = ("equations", at(tree, "tanh"), 3, 0)
    run = loaded(bytes_of(changed(tree, place, ["float64", [2, 2]])))
    with pytest.raises(ValueError, match=r"<BytesIO>: the file is damaged: .* = tanh.* came to float32\[2, 2\]"):
        run(*SIMPLE)


def test_depth_is_bounded(tree):
    value = 0
    for _ in range(40):
        value = {"kind": "dict", "of": [("k", value)]}
    with pytest.raises(FileFormatError, match="levels"):
        loaded(bytes_of(changed(tree, ("result",), value)))


def test_kernels_are_given_what_fits_together():
    """What rules hand to kernels fits by construction; a file might have them read and write beside their arrays."""
    lg.manual_seed(0)
    conv, lstm = lg.nn.Conv2d(2, 4, 3, padding=1), lg.nn.LSTM(3, 4)
    images, series = lg.randn(2, 2, 16, 16), lg.randn(5, 2, 3)
    slopes = lg.func.grad(lambda x: (F.avg_pool2d(conv(x), 2) ** 2).sum())
    for function, given, changes in (
        (slopes, images, [("convolution_input", 2, "sizes", (400, 16)), ("avg_pool_put", 2, "sizes", (16, 400))]),
        (slopes, images, [("convolution_input", 2, "padding", (1, -1)), ("convolution_input", 2, "groups", 0)]),
        (lambda x: lstm(x)[0], series, [("lstm_sequence", 1, 1, 0)]),
    ):
        found = files.load(io.BytesIO(exported(function, given)))
        for name, *path, value in changes:
            with pytest.raises(FileFormatError, match=f"{name}, "):
                loaded(bytes_of(changed(found, ("equations", at(found, name), *path), value)))


def test_text_is_where_text_is_meant():
    """Numbers of equations become part of C when a program is compiled: nothing else may."""
    hostile = "0); __builtin_trap(); ("
    found = files.load(io.BytesIO(exported(lambda x, i: F.gelu(F.cross_entropy(x, i, reduction="none")), *SIMPLE)))
    for name, key, value, what in (
        ("cross_entropy_rows", "ignore_index", hostile, "is a str, expected a number"),
        ("cross_entropy_rows", "ignore_index", 1.5, "is a float, expected a number"),
        ("gelu", "approximate", hostile, "which is no word"),
        ("gelu", "approximate", 3, "which is no word"),
    ):
        with pytest.raises(FileFormatError, match=f"{name}, keyword {key!r}, .*{what}"):
            loaded(bytes_of(changed(found, ("equations", at(found, name), 2, key), value)))
    sums = files.load(io.BytesIO(exported(_simple, *SIMPLE)))
    with pytest.raises(FileFormatError, match="has text, expected none"):
        loaded(bytes_of(changed(sums, ("equations", at(sums, "sum"), 2, "axis"), (hostile,))))


def test_other_files_are_no_programs(tmp_path):
    path = tmp_path / "file"
    lg.save({"w": lg.ones(3)}, path)
    with pytest.raises(FileFormatError, match="file: this is no program that lucidgrad.export wrote"):
        lg.import_program(path)
    for data in (b"", b"text", bytes(100)):
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match="file: "):
            lg.import_program(path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="is a FIFO, expected a regular file"):
        lg.import_program(tmp_path / "fifo")
    with pytest.raises(FileNotFoundError):
        lg.import_program(tmp_path / "none")


def test_files_that_were_cut_are_refused():
    data = exported(_simple, *SIMPLE)
    for length in range(0, len(data), thoroughness.cases(37, 1)):
        with pytest.raises(FileFormatError, match="<BytesIO>"):
            loaded(data[:length])


def test_changed_bytes_are_refused_or_change_nothing():
    data, draw, refused = exported(_simple, *SIMPLE), thoroughness.draw(7), 0
    expected, count = repr(loaded(data)(*SIMPLE)), thoroughness.cases(200, 10_000)
    for _ in range(count):
        broken = bytearray(data)
        for _ in range(draw.choice((1, 1, 2, 4))):
            broken[draw.randrange(len(broken))] ^= 1 << draw.randrange(8)
        try:
            assert repr(loaded(broken)(*SIMPLE)) == expected
        except FileFormatError:
            refused += 1
    assert refused > count * 0.9


def _choosing(x):
    return lg.func.while_loop(
        lambda v: v.sum() < 9, lambda v: lg.func.cond(v[0] > 0, lambda v: v + 1, lambda v: v * 2, v), x
    )


@pytest.mark.parametrize(
    ("name", "path", "value", "what"),
    [
        ("scan", (2, "length"), 4, "columns of other lengths than 4"),
        ("scan", (2, "length"), 0, "in 0 steps"),
        ("scan", (2, "length"), 2.0, "other keywords than body, length"),
        ("scan", (2, "carries"), -1, "has -1 values"),
        ("scan", (2, "carries"), 0, "does not fit|other lengths"),
        ("scan", (2, "columns"), 9, "9 columns"),
        ("scan", (2, "reverse"), 1, "other keywords than"),
        ("scan", (2, "body"), 3, "other keywords than"),
        ("scan", (2,), {}, "other keywords than"),
        ("scan", (1,), [], "of 0, in 3 steps"),
        ("scan", (1, 0), [1.5], "what is no variable"),
        ("scan", (3, 0), ["float32", [5]], "what it gives is float32.5., expected float32.4."),
        ("scan", (3, 1), ["float64", [3]], "what its body gives"),
        ("scan", (3,), [], "outputs, expected"),
        ("scan", (2, "body", "of", "inputs", 0), ["float32", [5]], "."),
        ("scan", (2, "body", "of", "outputs", 0), None, "has a body of 2 outputs"),
        ("while_loop", (2, "carries"), 0, "has a body of 1 outputs, expected 0"),
        ("while_loop", (2, "condition", "of", "outputs"), [], "condition of 0 outputs"),
        ("while_loop", (2, "condition", "of", "outputs"), [0], "what its condition gives is float32.2., expected bool"),
    ],
)
def test_loops_that_contradict_themselves_are_named(name, path, value, what):
    function, args = _loops() if name == "scan" else (_choosing, (lg.ones(2),))
    found = files.load(io.BytesIO(exported(function, *args)))
    place = ("equations", at(found, name), *path)
    with pytest.raises(FileFormatError, match=f"<BytesIO>: .*({what})"):
        loaded(bytes_of(changed(found, place, value)))


# -- programs that were made up, with right checksums ---------------------------------------------------
def paths(tree, path=()):
    yield path
    parts = enumerate(tree) if isinstance(tree, (list, tuple)) else tree.items() if isinstance(tree, dict) else ()
    for key, part in parts:
        yield from paths(part, (*path, key))


def value_at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def another(value, draw):
    """A value in place of another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice((0, 1, -1, value + 1, value - 1, value * 2, -value, 2**31, 2**40, -(2**63)))
    if isinstance(value, str):
        return draw.choice((value + "x", "add", "sum", "reshape", "convolution", "float64", "int64", "bool"))
    if isinstance(value, float):
        return draw.choice((0.0, -1.0, float("nan"), 1e300))
    if value is None:
        return draw.choice((0, 1, (0,), [1], True))
    if isinstance(value, (list, tuple)) and value:
        parts, k = list(value), draw.randrange(len(value))
        draw.choice((lambda: parts.pop(k), lambda: parts.insert(k, parts[k]), lambda: draw.shuffle(parts)))()
        return type(value)(parts)
    return draw.choice((None, 0, [], {}, "x"))


def _layers():
    """A gradient through layers, and its arguments."""
    lg.manual_seed(0)
    conv, table = lg.nn.Sequential(lg.nn.Conv2d(2, 3, 3), lg.nn.MaxPool2d(2), lg.nn.Flatten()), lg.nn.Embedding(5, 4)

    def loss(x, i):
        y = x.clone()
        y[:, 0, 1:3] = 2.0
        return F.cross_entropy(conv(y), i) + F.layer_norm(table(i), (4,)).pow(3).sum()

    return lg.func.grad_and_value(loss), (lg.randn(2, 2, 8, 8), lg.asarray([1, 2]))


def _loops():
    """A loop with a choice in it; one that ends when values say so might never end when they are others."""

    def body(c, row):
        return lg.tanh(c * row + TABLE), lg.func.cond(row.sum() > 0, lambda: c @ row, lambda: row.max())

    return lambda x: lg.func.scan(body, lg.ones(4), x), (lg.asarray([[1.0, -2.0, 0.5, 3.0]] * 3),)


TABLE = lg.asarray([0.5, 1.5, -1.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("make", [_layers, _loops])
def test_made_up_programs_are_refused_or_run(make):
    """Whatever stands in an equation: loading refuses it by its one error, and what loads ends with a result or one."""
    function, args = make()
    whole = files.load(io.BytesIO(exported(function, *args)))
    places = [path for path in paths(whole) if path and path[0] in ("equations", "outputs", "inputs", "result")]
    draw, count, refused, ran = thoroughness.draw(9), thoroughness.cases(120, 6000), 0, 0
    for _ in range(count):
        made = whole
        for _ in range(draw.choice((1, 1, 2, 3))):
            path = draw.choice(places)
            try:
                made = changed(made, path, another(value_at(made, path), draw))
            except (LookupError, TypeError):  # an earlier change took the place away
                continue
        try:
            run = loaded(bytes_of(made))
        except FileFormatError as error:
            refused += "<BytesIO>" in str(error)
            continue
        with contextlib.suppress(ValueError, TypeError, IndexError, RuntimeError, MemoryError):
            run(*args)
        ran += 1
    assert refused + ran == count and refused > count / 2 and ran
