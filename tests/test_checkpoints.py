"""Files of others: PyTorch's checkpoints, NumPy's arrays, models in several files. What is no data is refused."""

import io
import json
import os
import struct
import tracemalloc
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest
import thoroughness

import lucidgrad as lg
from lucidgrad import files
from lucidgrad.files import FileFormatError


# -- a writer of checkpoints, instruction by instruction -----------------------------------------------
class Raw(bytes):
    """Instructions as they are."""


def call(name, *given):
    return Raw(named(name) + dump(given) + b"R")


def named(name):
    module, _, last = name.rpartition(".")
    return Raw(f"c{module}\n{last}\n".encode())


def dump(obj):
    """The instructions that make an object."""
    if isinstance(obj, Raw):
        return obj
    if obj is None or isinstance(obj, bool):
        return {None: b"N", True: b"\x88", False: b"\x89"}[obj]
    if isinstance(obj, int):
        size = obj.bit_length() // 8 + 1
        return b"\x8a" + bytes([size]) + obj.to_bytes(size, "little", signed=True)
    if isinstance(obj, float):
        return b"G" + struct.pack(">d", obj)
    if isinstance(obj, str):
        return b"X" + struct.pack("<I", len(obj.encode())) + obj.encode()
    if isinstance(obj, bytes):
        return call("_codecs.encode", obj.decode("latin1"), "latin1")
    if isinstance(obj, tuple):
        return b"(" + b"".join(map(dump, obj)) + b"t"
    if isinstance(obj, list):
        return b"](" + b"".join(map(dump, obj)) + b"e"
    start = call("collections.OrderedDict") if isinstance(obj, OrderedDict) else b"}"
    return start + b"(" + b"".join(dump(part) for pair in obj.items() for part in pair) + b"u"


STORAGES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}  # fmt: skip


def storage(key, count, kind="Float", where="cpu"):
    name = f"torch.{kind}Storage" if kind else "torch.storage.UntypedStorage"
    return Raw(dump(("storage", named(name), key, where, count)) + b"Q")


def view(of, shape, steps, offset=0, needs=False, version=2, more=()):
    name = f"torch._utils._rebuild_tensor_v{version}"
    return call(name, of, offset, shape, steps, needs, OrderedDict(), *more)


def pickled(tree):
    return b"\x80\x02" + dump(tree) + b"."


def archive(data, memories=(), check=True, **more):
    """A checkpoint: its pickle, and the bytes of its storages."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("archive/data.pkl", data)
        members = {"byteorder": b"little", **{f"data/{k}": bytes(m) for k, m in enumerate(memories)}, "version": b"3\n"}
        for name, content in {**members, **more}.items():
            file.writestr(f"archive/{name}", content)
    raw = made.getvalue()
    return raw if check else without_checksums(raw)


def without_checksums(raw):
    changed = bytearray(raw)
    at = raw.index(b"PK\1\2")
    while raw[at : at + 4] == b"PK\1\2":
        changed[at + 16 : at + 20] = bytes(4)
        at += 46 + sum(struct.unpack_from("<HHH", raw, at + 28))
    return bytes(changed)


def load(raw, **options):
    return lg.load(io.BytesIO(raw), **options)


SIX = np.arange(6.0, dtype="float32")


def sample(**options):
    whole = storage("0", 6)
    tree = {
        "w": view(whole, (2, 3), (3, 1)), "t": view(whole, (3, 2), (1, 3)), "n": [1, 2.5, None, "text", (True, b"\0")],
        "b": view(storage("1", 2, "Bool"), (2,), (1,)),
    }  # fmt: skip
    return archive(pickled(tree), [SIX, np.array([True, False])], **options)


# -- what comes back -------------------------------------------------------------------------------------
def test_what_a_checkpoint_can_hold():
    state = OrderedDict(weight=view(storage("0", 6), (2, 3), (3, 1)))
    dtype = Raw(call("numpy.dtype", "f8", False, True) + dump((3, "<", None, None, None, -1, -1, 0)) + b"b")
    tree = {
        "state": Raw(dump(state) + dump({"_metadata": OrderedDict({"": {"version": 1}})}) + b"b"),
        "parameter": call("torch._utils._rebuild_parameter", view(storage("0", 6), (2,), (2,), 1), True, OrderedDict()),
        "leaf": view(storage("1", 1, "Double"), (), (), needs=True),
        "conj": view(storage("2", 1, "ComplexFloat"), (1,), (1,), more=({"conj": True},)),
        "neg": view(storage("0", 6), (2,), (1,), 1, more=({"neg": True},)),
        "stretched": view(storage("0", 6), (2, 2), (0, 1), 4),
        "empty": view(storage("0", 6), (0, 3), (3, 1), 6),
        "number": call("numpy._core.multiarray.scalar", dtype, struct.pack("<d", 2.5)),
        "old number": call("numpy.core.multiarray.scalar", dtype, struct.pack("<d", 3.5)),
        "size": call("torch.Size", (2, 3)), "device": call("torch.device", "cuda", 1), "dtype": named("torch.int16"),
        "set": call("__builtin__.set", [1, 2]), "complex": call("builtins.complex", 1.0, 2.0),
        "counter": call("collections.Counter", {1: 2}), "large": 10**30, 3: -1, (1, "a"): False,
    }  # fmt: skip
    found = load(archive(pickled(tree), [SIX, np.array(7.0), np.array([1 + 2j], "complex64")]))
    assert isinstance(found["parameter"], lg.nn.Parameter) and found["parameter"].requires_grad
    assert found["leaf"].requires_grad and found["leaf"].is_leaf and found["leaf"].dtype == lg.float64
    assert type(found["state"]) is OrderedDict and found["state"]._metadata == {"": {"version": 1}}
    assert {k: v.tolist() for k, v in found.items() if isinstance(v, lg.Tensor)} == {
        "parameter": [1.0, 3.0], "leaf": 7.0, "conj": [1 - 2j], "neg": [-1.0, -2.0], "stretched": [[4.0, 5.0]] * 2,
        "empty": [],
    }  # fmt: skip
    expected = {
        "number": np.float64(2.5), "old number": np.float64(3.5), "size": (2, 3), "device": lg.device("cuda", 1),
        "dtype": lg.int16, "set": {1, 2}, "complex": 1 + 2j, "counter": Counter({1: 2}), "large": 10**30, 3: -1,
        (1, "a"): False,
    }  # fmt: skip
    for key, value in expected.items():
        assert found[key] == value and type(found[key]) is type(value)
    found["state"]["weight"].add_(1)  # the same storage
    assert found["parameter"].tolist() == [2.0, 4.0]
    layer = lg.nn.Linear(3, 2, bias=False)
    layer.load_state_dict(found["state"])
    assert layer.weight.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize("dtype", [*STORAGES, "uint16", "uint32", "uint64", "bfloat16"])
def test_every_dtype(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    values = np.array([0, 1, 1, 0, 1]).astype(getattr(lg, dtype))
    of = storage("0", 5, STORAGES[dtype]) if dtype in STORAGES else storage("0", values.nbytes, None)
    more = {} if dtype in STORAGES else {"version": 3, "more": (named(f"torch.{dtype}"),)}
    a, b = load(archive(pickled([view(of, (2,), (2,), 1, **more), view(of, (5,), (1,), **more)]), [values.tobytes()]))
    assert (a.dtype, a.tolist(), b.tolist()) == (values.dtype, [1, 0], [0, 1, 1, 0, 1])
    b.copy_(1 - b if dtype != "bool" else ~b)
    assert a.tolist() == [0, 1]


def test_bytes_seen_as_two_dtypes_are_shared():
    of = storage("0", 8, None)
    a, b = (view(of, (n,), (1,), version=3, more=(named(f"torch.{d}"),)) for d, n in (("int32", 2), ("int64", 1)))
    a, b = load(archive(pickled((a, b)), [np.array([1, 0], "int32")]))
    a[1] = 1
    assert b.tolist() == [2**32 + 1]


def test_where_tensors_go():
    raw = archive(pickled([view(storage("0", 6, where="cuda:0"), (n,), (1,)) for n in (6, 3)]), [SIX])
    a, b = load(raw)
    assert str(a.device) == "cuda:0"
    a.add_(1)
    assert b.tolist() == [1.0, 2.0, 3.0]
    for where in ("cpu", {"cuda:0": "cpu"}, lambda memory, name: memory, lambda memory, name: "cpu"):
        assert str(load(raw, map_location=where)[0].device) == "cpu"
    assert str(load(raw, map_location=lambda memory, name: None)[0].device) == "cuda:0"
    assert all(t.requires_grad for t in load(raw, requires_grad=True, device="cpu"))
    elsewhere = archive(pickled(view(storage("0", 6, where="xla:1"), (6,), (1,))), [SIX])
    with pytest.raises(lg.DeviceError, match="map_location='cpu'"):
        load(elsewhere)


def test_bfloat16_on_either_device():
    pytest.importorskip("ml_dtypes")
    raw = archive(pickled(view(storage("0", 2, "BFloat16", "cuda:0"), (2,), (1,))), [b"\x80\x3f\x00\xc0"])
    for where, device in ((None, "cuda"), ("cpu", "cpu")):
        found = load(raw, map_location=where)
        assert (found.dtype, found.device.type, found.tolist()) == (lg.bfloat16, device, [1.0, -2.0])


def test_what_pytorch_saves():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimiser.step()
    steps = torch.optim.lr_scheduler.MultiStepLR(optimiser, [1, 2])
    x = torch.arange(12.0).reshape(3, 4)
    tree = {
        "model": model.state_dict(), "optimiser": optimiser.state_dict(), "steps": steps.state_dict(), "x": x[1:, ::2],
        "size": x.shape, "loss": np.float32(0.25), "flag": np.bool_(True), "kind": torch.float16, "large": 1 << 70,
        "set": {1}, "frozen": frozenset({"a"}), "bytes": b"\0\xff", "i": 1j, "w": model[0].weight, "text": "雪",
        "all": [torch.ones(2, dtype=getattr(torch, d)) for d in [*STORAGES, "uint16", "uint32", "uint64"]],
        "expanded": torch.ones(1).expand(3), "conj": torch.tensor([1j]).conj(), "empty": torch.ones(0, 2),
    }  # fmt: skip
    for protocol in (2, 3, 4, 5):
        for check in (True, False):
            file = io.BytesIO()
            torch.serialization.set_crc32_options(check)
            try:
                torch.save(tree, file, pickle_protocol=protocol)
            finally:
                torch.serialization.set_crc32_options(True)
            found = load(file.getvalue())
            assert found.keys() == tree.keys()
            plain = {k: v for k, v in tree.items() if k in "loss flag large set frozen bytes i text steps".split()}
            assert {k: found[k] for k in plain} == plain
            assert found["size"] == (3, 4) and found["kind"] == lg.float16 and isinstance(found["w"], lg.nn.Parameter)
            for k in ("x", "expanded", "conj", "empty"):
                assert found[k].tolist() == tree[k].tolist()
            assert [str(t.dtype) for t in found["all"]] == [str(t.dtype).removeprefix("torch.") for t in tree["all"]]
            ours = lg.nn.Sequential(lg.nn.Linear(2, 3), lg.nn.BatchNorm1d(3))
            ours.load_state_dict(found["model"])
            np.testing.assert_array_equal(ours[0].weight.detach().numpy(), model[0].weight.detach().numpy())
    for bad, what in (
        (model, "Sequential"), (torch.ones(2).to(torch.float8_e5m2), "float8_e5m2"), (x.to_sparse(), "sparse"),
    ):  # fmt: skip
        file = io.BytesIO()
        torch.save(bad, file)
        with pytest.raises(FileFormatError, match=what):
            load(file.getvalue())
    file = io.BytesIO()
    torch.save(tree, file, _use_new_zipfile_serialization=False)
    with pytest.raises(FileFormatError, match="before PyTorch 1.6"):
        load(file.getvalue())


# -- pickles that lie --------------------------------------------------------------------------------------
DEEP = Raw(b"]" * 300 + b"a" * 299)
TUPLES = Raw(b")" + b"\x85" * 100_000)
FULL = storage("0", 6)
REFUSED = {
    "a call": (call("os.system", "touch ran"), "'os.system'"),
    "a call of posix": (call("posix.system", "touch ran"), "'posix.system'"),
    "eval": (call("builtins.eval", "open('ran', 'w')"), "'builtins.eval'"),
    "getattr": (call("builtins.getattr", 1, "real"), "'builtins.getattr'"),
    "a module of ours": (named("lucidgrad.files.checkpoint.os"), "'lucidgrad.files.checkpoint.os'"),
    "an import by the stack": (Raw(dump("os") + dump("system") + b"\x93"), "'os.system'"),
    "a model": (named("torch.nn.modules.linear.Linear"), "Linear"),
    "an attribute": (Raw(named("collections.OrderedDict.fromkeys")), "fromkeys"),
    "old instructions": (Raw(b"(S'touch ran'\nios\nsystem\n"), "instruction b'S'"),
    "an instance": (Raw(b")" + b"i"), "instruction b'i'"),
    "a new object": (Raw(named("collections.OrderedDict") + b")\x81"), "instruction"),
    "an extension": (Raw(b"\x82\x01"), "instruction"),
    "a persistent line": (Raw(b"Pos\n"), "instruction b'P'"),
    "a function as a value": (named("collections.OrderedDict"), "collections.OrderedDict where a value"),
    "a storage as a value": (FULL, "_Storage where a value"),
    "a call of no function": (Raw(dump({}) + b")R"), "calls a dict"),
    "state": (Raw(dump([1]) + dump({"x": 1}) + b"b"), "changes a list"),
    "state of a dict": (Raw(call("collections.OrderedDict") + dump({"update": 1}) + b"b"), "changes a OrderedDict"),
    "metadata that are none": (Raw(call("collections.OrderedDict") + dump({"_metadata": 1}) + b"b"), "changes"),
    "a class's state": (Raw(named("torch._utils._rebuild_tensor_v2") + dump({"__module__": "os"}) + b"b"), "changes"),
    "depth": (DEEP, "more than 200 levels"),
    "deep tuples": (TUPLES, "more than 200 levels"),
    "deep keys": (Raw(b"}" + TUPLES + b"Ns"), "a key of type tuple"),
    "itself": (Raw(b"]q\0h\0a"), "contains itself"),
    "itself in a dict": (Raw(b"}q\0" + dump("a") + b"](h\0es"), "contains itself"),
    "a list as a key": (Raw(b"}]Ns"), "a key of type list"),
    "a tensor as a key": (Raw(b"}" + view(FULL, (), ()) + b"Ns"), "a key of type Tensor"),
    "keys of one hash": (Raw(b"}" + dump(2**61 << 61) + b"Ns"), "more than 64 bits"),
    "a huge integer": (Raw(b"\x8b" + struct.pack("<I", 2000) + bytes(2000)), "integer of 2000 bytes"),
    "a lie about an integer": (Raw(b"\x8b" + struct.pack("<I", 2**31)), "integer of"),
    "a lie about text": (Raw(b"X" + struct.pack("<I", 2**32 - 1)), "cut short"),
    "a lie about long text": (Raw(b"\x8d" + struct.pack("<Q", 2**63)), "cut short"),
    "an unknown memo": (Raw(b"h\x07"), "KeyError"),
    "an empty stack": (Raw(b"a"), "empty stack"),
    "no mark": (Raw(b"t"), "IndexError"),
    "too few": (Raw(b"N\x87"), "empty stack"),
    "more than one": (Raw(b"NN"), "leaves something over"),
    "an open mark": (Raw(b"(N"), "leaves something over"),
    "a key alone": (Raw(b"}(Nu"), "a key without a value"),
    "items in a list": (Raw(b"](NNu"), "fills a list"),
    "a name without an end": (Raw(b"c" + b"a" * 1000), "a name without an end"),
    "bytes": (call("_codecs.encode", "touch", "rot13"), "bytes in a form"),
    "an alien dtype": (call("numpy.dtype", "O8", False, True), "NumPy dtype 'O8'"),
    "a long number": (call("numpy._core.multiarray.scalar", call("numpy.dtype", "f8"), b"123"), "ValueError"),
    "no dtype": (call("numpy._core.multiarray.scalar", "f8", b"12345678"), "AttributeError"),
    "a byte order": (Raw(call("numpy.dtype", "f8") + dump((3, ">", None, None, None)) + b"b"), "changes"),
    "a wrong call": (call("torch.Size", 1, 2), "torch.Size is called in a way"),
    "a size of text": (call("torch.Size", "ab"), "shape that no tensor"),
    "a device of code": (call("torch.device", "os.system"), "device that is none"),
    "an id": (Raw(dump(("module", 1, 2, 3, 4)) + b"Q"), "no storage"),
    "a short id": (Raw(dump("storage") + b"Q"), "ValueError"),
    "a storage too large": (view(storage("0", 7), (7,), (1,)), "24 bytes"),
    "a storage too small": (view(storage("0", 5), (5,), (1,)), "24 bytes"),
    "a storage that is not there": (view(storage("9", 6), (6,), (1,)), "no 'archive/data/9'"),
    "a storage elsewhere": (view(storage("../data.pkl", 6), (6,), (1,)), "no 'archive/data/../data.pkl'"),
    "beyond the end": (view(FULL, (2, 3), (4, 1)), "element 6 of 6"),
    "beyond by offset": (view(FULL, (2,), (1,), 5), "element 6 of 6"),
    "before the start": (view(FULL, (2,), (1,), -1), "expected no negative"),
    "backwards": (view(FULL, (2,), (-1,), 1), "expected no negative"),
    "steps of text": (view(FULL, (2,), ("1",)), "expected no negative"),
    "wrong numbers of steps": (view(FULL, (2,), (1, 1)), "a tensor that is none"),
    "far": (view(FULL, (2**40, 2**40), (0, 0)), "which no tensor can have"),
    "very far": (view(FULL, (2,), (2**80,)), "element"),
    "negative": (view(FULL, (-2,), (1,)), "shape that no tensor"),
    "a shape of bools": (view(FULL, (True,), (1,)), "shape that no tensor"),
    "many axes": (view(FULL, (1,) * 65, (0,) * 65), "shape that no tensor"),
    "a tensor of no storage": (view("0", (2,), (1,)), "no storage"),
    "a tensor of a tensor": (view(view(FULL, (2,), (1,)), (2,), (1,)), "no storage"),
    "hooks": (call("torch._utils._rebuild_tensor_v2", FULL, 0, (2,), (1,), False, {1: 2}), "a tensor that is none"),
    "gradients of integers": (view(storage("0", 3, "Long"), (3,), (1,), needs=True), "RuntimeError"),
    "more than values": (view(FULL, (2,), (1,), more=({"code": 1},)), "more than values"),
    "a dtype that is none": (view(storage("0", 24, None), (2,), (1,), version=3, more=("object",)), "tensor of object"),
    "quantised": (view(storage("0", 24, "QUInt8"), (2,), (1,)), "QUInt8Storage"),
    "a parameter of nothing": (call("torch._utils._rebuild_parameter", 1, True, OrderedDict()), "a parameter that"),
    "no booleans": (view(storage("0", 24, "Bool"), (2,), (1,)), "neither 0 nor 1"),
    "a new protocol": (Raw(b"\x80\x06N"), "protocol"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_pickles_that_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree, told = REFUSED[name]
    with pytest.raises(FileFormatError) as caught:
        load(archive(pickled(tree), [SIX]))
    assert told in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"", b".", b"N.", b"\x80", b"\x80\x02.", b"I1\n.", b"\x80\x02N.N", b"\x80\x04\x95"])
def test_pickles_that_are_none(data):
    with pytest.raises(FileFormatError):
        load(archive(data))


def test_bombs(monkeypatch):
    """Little data that would become much: steps are bounded, what copies takes many, and what is shared stays so."""
    monkeypatch.setattr(files.pickles, "_MOST_STEPS", 100_000)
    text = dump("a" * 200_000) + b"q\0" + dump("latin1") + b"q\1"
    numbers = dump(list(range(1000))) + b"q\0"
    for data in (
        b"](" + text + (named("_codecs.encode") + b"(h\0h\1tR") * 100 + b"e",
        b"](" + numbers + (named("builtins.set") + b"h\0\x85R") * 1000 + b"e",
        b"](" + numbers + (named("torch.Size") + b"h\0\x85R") * 1000 + b"e",
        b"(" + b"]" * 120_000 + b"t",
        b"](" + b"".join(b"Nr" + struct.pack("<I", k) for k in range(60_000)) + b"e",
    ):
        with pytest.raises(FileFormatError, match="more than the 100000 steps|shape that no tensor"):
            load(archive(b"\x80\x02" + data + b"."))
    doubled = b"](" + b"]" + b"".join(b"q%c](h%ch%ce" % (k, k, k) for k in range(150)) + b"e"
    found = load(archive(b"\x80\x02" + doubled + b"."))[-1]
    assert found[0] is found[1]


def test_nothing_is_allocated_for_a_lie():
    raw = sample()
    lies = [raw.replace(struct.pack("<II", 24, 24), struct.pack("<II", size, size)) for size in (2**31, 2**32 - 1)]
    tracemalloc.start()
    try:
        for lie in lies:
            with pytest.raises(FileFormatError):
                load(lie)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


# -- archives that lie ---------------------------------------------------------------------------------------
def zipped(*members, method=zipfile.ZIP_STORED):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return made.getvalue()


GOOD = pickled([1])


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_are_refused():
    assert load(sample(check=False))["w"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert load(zipped(("data.pkl", GOOD))) == load(zipped(("a/b/data.pkl", GOOD))) == [1]
    raw = sample()
    listed = raw.index(b"PK\1\2")
    encrypted = bytearray(raw)
    encrypted[listed + 8] |= 1
    zeros = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (100000,), }", bytes(100_000))
    shrunk = zipped(("a.npy", zeros), method=zipfile.ZIP_DEFLATED)
    assert load(shrunk)["a"].shape == (100_000,)
    grown, cut = (shrunk.replace(struct.pack("<I", len(zeros)), struct.pack("<I", n)) for n in (2**31, 90_000))
    twice = bytearray(zipped(("a/data.pkl", GOOD), ("b", GOOD)))
    other = twice.index(b"PK\1\2", twice.index(b"PK\1\2") + 4)
    twice[other + 42 : other + 46] = bytes(4)  # both at the same place
    for bad, told in [
        (zipped(("a/data.pkl", GOOD), ("a/data.pkl", GOOD)), "stands twice"),
        (zipped(("a/data.pkl", GOOD), ("b/data.pkl", GOOD)), "no data.pkl"),
        (zipped(("a", b"")), "no data.pkl"),
        (zipped(("a/data.pkl", GOOD), method=zipfile.ZIP_BZIP2), "method 12"),
        (bytes(encrypted), "encrypted"),
        (bytes(twice), "those of another"),
        (zipped(("a/data.pkl", GOOD), method=zipfile.ZIP_DEFLATED), "is compressed"),
        (grown, "which can't be"),
        (cut, "end too early"),
        (archive(GOOD, byteorder=b"big"), "big-endian"),
        (archive(GOOD, **{"constants.pkl": b""}), "TorchScript"),
        (raw.replace(SIX.tobytes(), SIX[::-1].tobytes()), "checksum is wrong"),
        (raw + b"\0", "no end"),
        (raw[4:], "expected"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.rest of it", "before PyTorch 1.6"),
        (b"name".ljust(257, b"\0") + b"ustar\x0000" + bytes(248), "before PyTorch 1.6"),
        (pickled([1]), "this is a pickle"),
    ]:
        with pytest.raises(FileFormatError, match=told):
            load(bad)


def test_every_truncation_is_refused():
    raw = sample()
    for n in range(len(raw)):
        with pytest.raises(FileFormatError):
            load(raw[:n])


def test_damaged_checkpoints_are_refused_or_give_values():
    """Bits flipped, bytes exchanged, cut out and doubled: with checksums never other values, without them never other
    errors."""
    whole, bare, draw = sample(), sample(check=False), thoroughness.draw(3)
    expected, refused = repr(load(whole)), 0
    for i in range(len(whole)):
        changed = bytearray(whole)
        changed[i] ^= 1 << draw.randrange(8)
        try:
            assert repr(load(changed)) == expected
        except FileFormatError:
            refused += 1
    assert refused > len(whole) * 0.4
    end = bare.index(b"PK\3\4", 4)
    for _ in range(thoroughness.cases(3000, 100_000)):
        changed = bytearray(bare)
        for _ in range(draw.choice((1, 1, 2, 4))):
            at = draw.randrange(40, end) if draw.random() < 0.8 else draw.randrange(len(changed))
            changed[at] = draw.choice(
                (changed[at] ^ 1 << draw.randrange(8), draw.randrange(256), *b"(t]}aesuqhRQbcN.X")
            )
        try:
            assert repr(load(changed, map_location="cpu")) is not None
        except FileFormatError:
            continue


# -- NumPy's files -----------------------------------------------------------------------------------------
def test_arrays_of_numpy(tmp_path):
    values = {
        "a": np.arange(6.0).reshape(2, 3), "f": np.asfortranarray(np.arange(6).reshape(2, 3)), "s": np.array(2.5),
        "big": np.arange(3, dtype=">i2"), "b": np.array([True]), "e": np.zeros((0, 2), np.uint8), "c": np.array([1j]),
        "half": np.ones(3, np.float16), "one": np.arange(3)[None],
    }  # fmt: skip
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "all.npz", **values)
        found = lg.load(tmp_path / "all.npz")
        assert found.keys() == values.keys()
        for name, value in values.items():
            assert found[name].dtype == value.dtype.newbyteorder("=")
            np.testing.assert_array_equal(found[name].numpy(), value)
    for value in values.values():
        np.save(tmp_path / "one.npy", value)
        found = lg.load(tmp_path / "one.npy", requires_grad=True)
        np.testing.assert_array_equal(found.detach().numpy(), value)
    state = {"weight": np.ones((1, 2), np.float32), "bias": np.zeros(1, np.float32)}
    np.savez(tmp_path / "state.npz", **state)
    lg.nn.Linear(2, 1).load_state_dict(lg.load(tmp_path / "state.npz"))
    assert load(zipped()) == {}


def npy(header, data=b"", version=1):
    text = header.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data


@pytest.mark.parametrize(
    "raw",
    [
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x02N."),
        npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", bytes(4)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", bytes(8)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", bytes(9)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,), }", bytes(8)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", bytes(8)),
        npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", bytes(8)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': __import__('os'), }", bytes(8)),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}", bytes(8)),
        npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", b"\2"),
        npy("(" * 60000), npy("{}", version=4), npy("")[:9], b"\x93NUMPY", npy("a" * 100)[:50],
    ],
    ids=range(15),
)  # fmt: skip
def test_arrays_that_are_refused(raw):
    for given in (raw, zipped(("x.npy", raw))):
        with pytest.raises(FileFormatError):
            load(given)


# -- several files -----------------------------------------------------------------------------------------
def index(folder, places, name="model.safetensors.index.json"):
    (folder / name).write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    return folder / name


def test_models_in_several_files(tmp_path):
    lg.save({"a": lg.ones(2)}, tmp_path / "one.safetensors")
    (tmp_path / "two.bin").write_bytes(archive(pickled({"c": view(FULL, (3,), (1,)), "d": 1}), [SIX]))
    np.savez(tmp_path / "three.npz", b=np.zeros(1))
    places = {"c": "two.bin", "a": "one.safetensors", "b": "three.npz"}
    found = lg.load(index(tmp_path, places), device="cpu", requires_grad=True)
    assert list(found) == ["c", "a", "b"] and found["c"].tolist() == [0.0, 1.0, 2.0]
    assert all(t.requires_grad for t in found.values())
    with open(index(tmp_path, places), "rb") as file, pytest.raises(FileFormatError, match="expected its path"):
        lg.load(file)
    (tmp_path / "inner").mkdir()
    inner = tmp_path / "inner"
    for bad, told in [
        ({"a": "../one.safetensors"}, "beside it"), ({"a": str(tmp_path / "one.safetensors")}, "beside it"),
        ({"a": ".."}, "beside it"), ({"a": ""}, "beside it"), ({"a": "x\0"}, "beside it"), ({"a": 1}, "weight_map"),
        ([], "weight_map"), ({"a": "model.safetensors.index.json"}, "an index, too"),
        ({"z": "one"}, "does not have 'z'"),
    ]:  # fmt: skip
        lg.save({"a": lg.ones(2)}, inner / "one")
        with pytest.raises(FileFormatError, match=told):
            lg.load(index(inner, bad))
    with pytest.raises(FileNotFoundError):
        lg.load(index(inner, {"a": "none.bin"}))
    os.mkfifo(inner / "fifo")
    with pytest.raises(FileFormatError, match="FIFO"):
        lg.load(index(inner, {"a": "fifo"}))
    for text in (
        "{" + "[" * 100_000,
        '{"weight_map": {"a": "b", "a": "c"}}',
        '{"weight_map": NaN}',
        "{not json at all}",
    ):
        (inner / "i.json").write_text(text)
        with pytest.raises(FileFormatError):
            lg.load(inner / "i.json")
