"""`save` and `load`: every value comes back as it was, nothing runs, and what is damaged is refused."""

import json
import math
import os
import pickle
import random
import stat
import struct
import subprocess
import sys
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import lucidgrad as lg
from lucidgrad import files
from lucidgrad.files import FileFormatError

DTYPES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
            complex128""".split()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tree.safetensors"


def again(obj, path, **options):
    lg.save(obj, path)
    return lg.load(path, **options)


# -- what comes back -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**53, 2**53 + 1, -(10**60), 10**5000, 0.1, -0.0, 1e-310, 1.7e308, "", "näïve 雪",
        "\ud800",
        '"lucidgrad.checksum":"00000000"', b"", b"\0\xff", 1 - 2j, complex(math.inf, -0.0), [], (), {}, [[], ()],
        (1, (2,)),
        {"a": {"b": [1, 2.5, None]}}, {1: "x", "1": "y", None: 0, 2.5: 1, True + 1: 2, (1, "a"): 3},
        lg.float32, lg.int8, lg.device("cpu"), lg.device("cuda", 1), {"dict": 1}, {"tensor": "x"}, {"__metadata__": {}},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_plain_values(value, path):
    found = again(value, path)
    assert found == value
    assert type(found) is type(value)
    assert repr(found) == repr(value) if value != 10**5000 else True


def test_floats_that_are_no_numbers_keep_their_bits(path):
    odd = [math.nan, math.inf, -math.inf, struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]]
    assert [struct.pack(">d", x) for x in again(odd, path)] == [struct.pack(">d", x) for x in odd]


def test_order_and_types_of_containers(path):
    tree = {"z": 1, "a": OrderedDict([("q", 2), ("b", (3,))]), 5: [4]}
    found = again(tree, path)
    assert list(found) == ["z", "a", 5]
    assert type(found["a"]) is OrderedDict and list(found["a"]) == ["q", "b"]
    state = type("State", (OrderedDict,), {})(b=1, a=2)
    assert type(again(state, path)) is OrderedDict and list(again(state, path)) == ["b", "a"]
    assert type(found["a"]["b"]) is tuple and type(found[5]) is list


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_shape(dtype, shape, path):
    values = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    found = again({"x": lg.asarray(values)}, path)["x"]
    assert (found.dtype, found.shape) == (np.dtype(dtype), shape)
    np.testing.assert_array_equal(found.numpy(), values)
    assert found.array.flags.writeable


def test_values_that_are_not_contiguous(path):
    x = np.arange(24.0).reshape(2, 3, 4)
    views = [x.T, x[:, ::-1, ::2], np.broadcast_to(x[0, 0], (3, 4)), np.asfortranarray(x)]
    for found, view in zip(again([lg.asarray(v) for v in views], path), views, strict=True):
        np.testing.assert_array_equal(found.numpy(), view)


def test_special_values_of_tensors_keep_their_bits(path):
    bits = np.array([0x7FC00001, 0xFF800000, 0x80000000, 1], dtype=np.uint32)
    found = again(lg.asarray(bits.view(np.float32)), path)
    np.testing.assert_array_equal(found.numpy().view(np.uint32), bits)


def test_arrays_stay_arrays(path):
    found = again({"a": np.arange(3), "t": lg.arange(3)}, path)
    assert type(found["a"]) is np.ndarray and isinstance(found["t"], lg.Tensor)


def test_requires_grad_is_kept_and_history_is_not(path):
    x = lg.ones(2, requires_grad=True)
    found = again([x, x * 2, lg.ones(2)], path)
    assert [t.requires_grad for t in found] == [True, True, False]
    assert all(t.is_leaf for t in found)
    assert not any(t.requires_grad for t in again([x, x * 2], path, requires_grad=False))
    found = again([lg.ones(2), lg.arange(2), lg.tensor([1j])], path, requires_grad=True)
    assert [t.requires_grad for t in found] == [True, False, True]


@pytest.mark.parametrize(
    "view", [lambda x: x[::2], lambda x: x.reshape(2, 3).T, lambda x: x[::-1], lambda x: lg.broadcast_to(x[:1], (2, 3))]
)
def test_memory_with_gaps_is_kept(view, path):
    x = view(lg.arange(6.0))
    found = again(x, path)
    assert found.shape == x.shape and found.tolist() == x.tolist()


def test_parameters_stay_parameters(path):
    nn = pytest.importorskip("lucidgrad.nn")
    w, b = nn.Parameter(lg.ones(2)), nn.Parameter(lg.ones(2), requires_grad=False)
    found = again({"w": w, "b": b, "x": lg.ones(2)}, path)
    assert [isinstance(t, nn.Parameter) for t in found.values()] == [True, True, False]
    assert [t.requires_grad for t in found.values()] == [True, False, False]


# -- what is shared ------------------------------------------------------------------------------
def test_shared_tensors_stay_shared_and_are_written_once(path):
    x = lg.randn(100, 100)
    a, b, c = again([x, {"again": x}, x.detach()], path)
    assert a is b["again"]
    assert c is not a and c.array is a.array
    assert path.stat().st_size < 1.1 * x.nbytes + 1000
    a.add_(1)
    np.testing.assert_array_equal(c.numpy(), a.numpy())


def test_what_only_looks_alike_is_not_shared(path):
    x = lg.zeros(4, 4)
    a, b, c, d, e = again([x, x.mT, x[:2], lg.zeros(0), lg.zeros(0)], path)
    a.add_(1)
    assert b.sum() == 0 and c.sum() == 0
    assert d is not e


# -- names, metadata, other programs -------------------------------------------------------------
def test_names_are_paths_and_never_clash(path):
    st = pytest.importorskip("safetensors.numpy")
    tree = {
        "model": {"w": lg.ones(1), "b": [lg.ones(2)]},
        "model.w": lg.ones(3),
        "": lg.ones(4),
        "__metadata__": lg.ones(5),
    }
    found = again(tree, path)
    assert {k: v.shape for k, v in found.items() if k != "model"} == {"model.w": (3,), "": (4,), "__metadata__": (5,)}
    assert {k: v.shape[0] for k, v in st.load_file(path).items()} == {
        "model.w": 1, "model.b.0": 2, "model.w#2": 3, "tensor": 4, "__metadata__#2": 5,
    }  # fmt: skip


def test_files_of_others(path):
    st = pytest.importorskip("safetensors.numpy")
    values = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(3, np.int16), "e": np.zeros((0, 2), np.uint8)}
    st.save_file(values, path, metadata={"format": "np"})
    found = lg.load(path)
    assert found.keys() == values.keys()
    for name, value in values.items():
        assert found[name].dtype == value.dtype
        np.testing.assert_array_equal(found[name].numpy(), value)
    assert files.metadata(path) == {"format": "np"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_others_read_our_files(dtype, path):
    st = pytest.importorskip("safetensors.numpy")
    value = np.ones((2, 3), dtype)
    lg.save({"x": lg.asarray(value), "n": 1}, path)
    found = st.load_file(path)["x"]
    np.testing.assert_array_equal(found.view(np.complex128)[..., 0] if dtype == "complex128" else found, value)


def test_torch_reads_our_files(path):
    pytest.importorskip("torch")
    st = pytest.importorskip("safetensors.torch")
    lg.save({"w": lg.arange(3.0), "c": lg.ones(2, dtype=lg.complex64)}, path)
    found = st.load_file(path)
    assert found["w"].tolist() == [0.0, 1.0, 2.0] and found["c"].tolist() == [1, 1]
    st.save_file({"w": found["w"].bfloat16().float() * 2}, path)
    assert lg.load(path)["w"].tolist() == [0.0, 2.0, 4.0]


def test_metadata(path):
    lg.save([lg.ones(2)], path, metadata={"author": "Ada", "note": '"lucidgrad.checksum":"00000000"'})
    assert files.metadata(path) == {"author": "Ada", "note": '"lucidgrad.checksum":"00000000"'}
    assert lg.load(path)[0].tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="metadata has 'n': int"):
        lg.save([], path, metadata={"n": 1})
    with pytest.raises(ValueError, match="'lucidgrad' is used by the format"):
        lg.save([], path, metadata={"lucidgrad": ""})


def test_devices(path):
    lg.save({"a": lg.ones(2, device="cuda:0"), "b": lg.ones(2)}, path)
    assert {k: str(t.device) for k, t in lg.load(path).items()} == {"a": "cuda:0", "b": "cpu"}
    assert {str(t.device) for t in lg.load(path, map_location="cpu").values()} == {"cpu"}
    assert {str(t.device) for t in lg.load(path, device="cuda:0").values()} == {"cuda:0"}
    assert {str(t.device) for t in lg.load(path, map_location={"cuda:0": "cpu"}).values()} == {"cpu"}
    assert lg.load(path)["a"].tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="both map_location and device"):
        lg.load(path, map_location="cpu", device="cpu")


def test_a_device_that_is_not_there(path):
    with lg.device("cpu"):
        t = lg.ones(2, device="cuda:0")
    lg.save([t], path)
    raw = path.read_bytes().replace(b'\\"on\\":\\"cuda:0\\"', b'\\"on\\":\\"cuda:9\\"')
    path.write_bytes(with_checksum(raw))
    with pytest.raises(lg.DeviceError, match="map_location='cpu'"):
        lg.load(path)
    assert lg.load(path, map_location="cpu")[0].tolist() == [1.0, 1.0]


# -- what is refused -----------------------------------------------------------------------------
Point = namedtuple("Point", "x y")


class Dictionary(dict):
    pass


@pytest.mark.parametrize(
    "bad", [object(), {1, 2}, Point(1, 2), Dictionary(), len, np.datetime64(1, "s"), range(3), 1j.__class__]
)
def test_unknown_objects_are_named_by_their_place(bad, path):
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match=r"save: \['a'\]\['1'\]\['x'\] is a"):
        lg.save({"a": [0, {"x": bad}]}, path)
    assert path.read_bytes() == b"old"


def test_bad_keys_cycles_and_depth(path):
    with pytest.raises(TypeError, match=r"\['a'\] has a key of type frozenset"):
        lg.save({"a": {frozenset(): 1}}, path)
    cycle = [1]
    cycle.append({"self": cycle})
    with pytest.raises(ValueError, match=r"\['1'\]\['self'\] contains itself"):
        lg.save(cycle, path)
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="deeper than 200 levels"):
        lg.save(deep, path)
    assert not path.exists()
    twice = [1]
    assert again([twice, twice], path) == [[1], [1]]


# -- saving is atomic ----------------------------------------------------------------------------
@pytest.mark.parametrize("step", ["write", "fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failing_save_leaves_the_old_file_and_no_litter(step, error, path, monkeypatch):
    lg.save([1], path)
    old = path.read_bytes()

    def fail(*_):
        raise error

    if step == "write":
        layout = files.layout
        monkeypatch.setattr(files, "layout", lambda *args: (layout(*args)[0], (fail() for _ in range(1))))
    else:
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(error):
        lg.save([2, lg.ones(3)], path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_permissions_links_and_folders(path, tmp_path):
    lg.save([1], path)
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    lg.save([2], link)
    assert link.is_symlink() and lg.load(path) == [2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(IsADirectoryError):
        lg.save([1], tmp_path)
    with pytest.raises(FileNotFoundError):
        lg.save([1], tmp_path / "none" / "x")
    with pytest.raises(FileNotFoundError):
        lg.load(tmp_path / "none")


def test_a_killed_process_leaves_the_old_file(path):
    lg.save({"x": lg.zeros(10)}, path)
    code = (
        "import os, sys, lucidgrad as lg\n"
        "os.fsync = lambda number: os.kill(os.getpid(), 9)\n"
        "lg.save({'x': lg.ones(10)}, sys.argv[1])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert ended.returncode == -9
    assert lg.load(path)["x"].sum() == 0


# -- damaged files -------------------------------------------------------------------------------
def with_checksum(raw):
    """A file whose header was changed, with a checksum that fits."""
    import zlib

    size = int.from_bytes(raw[:8], "little")
    text = raw[8 : 8 + size]
    at = text.index(b'"lucidgrad.checksum":"') + 22
    plain = text[:at] + b"0" * 8 + text[at + 8 :]
    return raw[:8] + text[:at] + f"{zlib.crc32(plain):08x}".encode() + text[at + 8 :] + raw[8 + size :]


def sample(path):
    tree = {"w": lg.arange(6.0, requires_grad=True), "b": [lg.tensor([True, False]), 3, 0.5, None, "text", (1, 2)]}
    lg.save(tree, path, metadata={"k": "v"})
    return path.read_bytes()


def test_every_truncation_is_refused(path):
    raw = sample(path)
    for n in range(len(raw)):
        path.write_bytes(raw[:n])
        with pytest.raises(FileFormatError):
            lg.load(path)
    path.write_bytes(raw + b"\0")
    with pytest.raises(FileFormatError, match="cut short or damaged"):
        lg.load(path)


def test_every_flipped_bit_is_refused(path):
    raw = sample(path)
    for i in range(len(raw)):
        for bit in range(8) if i < 16 or i >= len(raw) - 32 else (0, 5):
            path.write_bytes(raw[:i] + bytes([raw[i] ^ 1 << bit]) + raw[i + 1 :])
            with pytest.raises(FileFormatError):
                lg.load(path)


def test_flipped_bits_in_files_without_checksums(path):
    """What comes out is an error of one kind, or tensors; never anything else."""
    st = pytest.importorskip("safetensors.numpy")
    st.save_file({"a": np.arange(6.0), "b": np.ones((2, 2), bool)}, path, metadata={"k": "v"})
    raw = path.read_bytes()
    for i in range(int.from_bytes(raw[:8], "little") + 8):
        for bit in range(8):
            path.write_bytes(raw[:i] + bytes([raw[i] ^ 1 << bit]) + raw[i + 1 :])
            try:
                found = lg.load(path)
            except FileFormatError:
                continue
            assert all(isinstance(t, lg.Tensor) for t in found.values())


def header(path, entries, data=b"", **notes):
    text = json.dumps({"__metadata__": notes, **entries} if notes else entries).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def entry(shape=(2,), offsets=(0, 8), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("entries", "data"),
    [
        ({"x": entry((10**12,), (0, 4 * 10**12))}, b""),  # more than the file has
        ({"x": entry((2**62, 2**62), (0, 8))}, bytes(8)),
        ({"x": entry((0, 2**62, 2**62), (0, 0))}, b""),
        ({"x": entry((2,), (8, 0))}, bytes(8)),
        ({"x": entry((2,), (-8, 0))}, bytes(8)),
        ({"x": entry((-2,), (0, 8))}, bytes(8)),
        ({"x": entry((2.0,))}, bytes(8)),
        ({"x": entry((True, 2))}, bytes(8)),
        ({"x": entry((1,) * 65, (0, 4))}, bytes(4)),
        ({"x": entry(), "y": entry()}, bytes(8)),  # they overlap
        ({"x": entry(offsets=(4, 12))}, bytes(12)),  # a hole
        ({"x": entry(dtype="F7")}, bytes(8)),
        ({"x": entry((3,), (0, 3), "BOOL")}, b"\0\1\2"),
        ({"x": {"dtype": "F32"}}, b""),
        ({"x": [1]}, b""),
        ({"x": None}, b""),
    ],
)
def test_headers_that_lie(entries, data, path):
    header(path, entries, data)
    with pytest.raises(FileFormatError):
        lg.load(path)


def test_nothing_is_allocated_for_a_lie(path, monkeypatch):
    import tracemalloc

    path.write_bytes(struct.pack("<Q", 2**40) + b"{}")
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            lg.load(path)
        header(path, {"x": entry((10**11,), (0, 4 * 10**11))})
        with pytest.raises(FileFormatError):
            lg.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text", ["[]", "1", "{", '{"a":1,"a":2}', '{"__metadata__":{"a":1}}', "[" * 100000, '{"a":NaN}', "\xff"]
)
def test_headers_that_are_none(text, path):
    raw = text.encode("latin-1")
    path.write_bytes(struct.pack("<Q", len(raw)) + raw)
    with pytest.raises(FileFormatError):
        lg.load(path)


@pytest.mark.parametrize(
    "tree",
    [
        {"call": "os.system"}, {}, {"tensor": "none"}, {"same": 0}, {"tensor": "x", "requires_grad": True},
        {"float": "zz"},
        {"int": "12x"}, {"dtype": "object"}, {"dict": [[[1], 2]]}, {"dict": [1]}, {"dict": 3}, {"tuple": 5},
    ],
)  # fmt: skip
def test_trees_that_are_none(tree, path):
    lg.save({"x": lg.arange(3)}, path)
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    parsed = json.loads(raw[8 : 8 + size])
    about = json.loads(parsed["__metadata__"]["lucidgrad"])
    parsed["__metadata__"]["lucidgrad"] = json.dumps({**about, "tree": tree})
    text = json.dumps(parsed, separators=(",", ":")).encode()
    path.write_bytes(with_checksum(struct.pack("<Q", len(text)) + text + raw[8 + size :]))
    with pytest.raises(FileFormatError):
        lg.load(path)


def test_a_pickle_is_refused_and_not_run(path, tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(FileFormatError):
        lg.load(path)
    assert not (tmp_path / "ran").exists()


def test_random_bytes(path):
    draw = random.Random(0)
    for n in range(300):
        path.write_bytes(draw.randbytes(n) if n % 2 else struct.pack("<Q", n) + b"{" + draw.randbytes(n))
        with pytest.raises(FileFormatError):
            lg.load(path)
