"""`save` and `load` beside others: files that are none, names that are long, processes that die, headers that lie."""

import errno
import io
import os
import socket
import stat
import struct
import subprocess
import sys

import pytest
import thoroughness

import lucidgrad as lg
from lucidgrad import files
from lucidgrad.files import FileFormatError

TREE = {"w": lg.arange(6.0), "steps": [1, 2.5, None, "text", (True, b"\0")], "flags": lg.tensor([True, False])}


def _same(found):
    return repr(found) == repr(TREE)


def _process(code, *args, **options):
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, *map(str, args)], env=path, **options)


# -- what is written -------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", [None, 0o600, 0o644])
def test_nobody_else_can_read_a_scratch_file(tmp_path, monkeypatch, mode):
    path, seen = tmp_path / "file", []
    if mode is not None:
        path.write_bytes(b"")
        path.chmod(mode)
    opened = os.open

    def watched(name, flags, *rest, **options):
        number = opened(name, flags, *rest, **options)
        if flags & os.O_CREAT:
            seen.append(stat.S_IMODE(os.fstat(number).st_mode))
        return number

    monkeypatch.setattr(os, "open", watched)
    before = os.umask(0o022)
    try:
        lg.save(TREE, path)
    finally:
        os.umask(before)
    assert seen == [0o600]
    assert stat.S_IMODE(path.stat().st_mode) == (0o644 if mode is None else mode)


def test_what_is_no_regular_file_is_not_written(tmp_path):
    fifo, sock = tmp_path / "fifo", tmp_path / "socket"
    os.mkfifo(fifo)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(sock))
        for target, kind in ((fifo, "a FIFO"), (sock, "a socket"), ("/dev/null", "a device")):
            with pytest.raises(ValueError, match=f"is {kind}, expected a regular file"):
                lg.save(TREE, target)
    with pytest.raises(IsADirectoryError):
        lg.save(TREE, tmp_path)
    assert stat.S_ISFIFO(fifo.stat().st_mode) and stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo", "socket"]


@pytest.mark.parametrize("letter", ["a", "ü", "雪", "🌨"])
def test_names_are_counted_in_bytes(tmp_path, letter):
    most = os.pathconf(tmp_path, "PC_NAME_MAX")
    longest = letter * (most // len(letter.encode()))
    lg.save(TREE, tmp_path / longest)
    assert _same(lg.load(tmp_path / longest))
    with pytest.raises(OSError, match="too long") as caught:
        lg.save(TREE, tmp_path / (longest + letter))
    assert caught.value.errno == errno.ENAMETOOLONG
    assert [p.name for p in tmp_path.iterdir()] == [longest]


def test_scratch_files_of_killed_saves_are_cleared(tmp_path):
    path = tmp_path / "state"
    kill = "import os, sys, lucidgrad as lg\nos.fsync = lambda n: os.kill(os.getpid(), 9)\nlg.save([1], sys.argv[1])"
    assert _process(kill, path).wait() == -9
    assert len(list(tmp_path.iterdir())) == 1
    other = tmp_path / ".state.mine"  # a name that no scratch file has
    other.write_bytes(b"")
    lg.save(TREE, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [".state.mine", "state"]


def test_scratch_files_of_saves_that_go_on_are_left(tmp_path):
    path = tmp_path / "state"
    wait = (
        "import os, sys, lucidgrad as lg\nreal = os.fsync\n"
        "os.fsync = lambda n: (os.fsync_done or (print(flush=True), input())) and real(n)\nos.fsync_done = False\n"
        "lg.save(['slow'], sys.argv[1])"
    )
    with _process(wait, path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as slow:
        slow.stdout.readline()
        lg.save(["quick"], path)
        assert len(list(tmp_path.iterdir())) == 2
        slow.communicate(b"\n\n\n")
    assert slow.returncode == 0
    assert lg.load(path) == ["slow"]
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


# -- what is read ----------------------------------------------------------------------------------
def test_nothing_is_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for read in (lg.load, files.metadata):
        with pytest.raises(ValueError, match="is a FIFO, expected a regular file"):
            read(tmp_path / "fifo")
        with pytest.raises(ValueError, match="is a device, expected a regular file"):
            read("/dev/zero")
        with pytest.raises(IsADirectoryError):
            read(tmp_path)


@pytest.mark.parametrize("wrong", [None, 3, True, object(), [], io.StringIO(), b"\0"])
def test_what_is_no_path_and_no_file(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (lambda: lg.save([1], wrong), lambda: lg.load(wrong), lambda: files.metadata(wrong)):
        with pytest.raises((TypeError, ValueError), match="expected|null"):
            call()
    assert not list(tmp_path.iterdir())
    os.fstat(1)  # numbers are no files: none was closed


def test_weights_only_and_places_as_in_pytorch(tmp_path):
    lg.save(TREE, tmp_path / "file")
    for weights_only in (None, True, False):
        assert _same(lg.load(tmp_path / "file", "cpu", weights_only=weights_only))


class _Plain:
    """A file that can only be read on."""

    def __init__(self, data):
        self.source = io.BytesIO(data)

    def read(self, count=-1):
        return self.source.read(count)


class _Slow(io.BytesIO):
    """A file that gives less than it is asked for."""

    def readinto(self, memory):
        return super().readinto(memoryview(memory)[:3])


def test_open_files(tmp_path):
    memory = io.BytesIO()
    assert lg.save(TREE, memory, metadata={"a": "b"}) is None
    assert not memory.closed
    lg.save(TREE, tmp_path / "file", metadata={"a": "b"})
    assert memory.getvalue() == (tmp_path / "file").read_bytes()
    memory.seek(0)
    assert _same(lg.load(memory)) and memory.read() == b""
    for file in (_Plain(memory.getvalue()), _Slow(memory.getvalue())):
        assert _same(lg.load(file))
    assert files.metadata(io.BytesIO(memory.getvalue())) == {"a": "b"}
    behind = io.BytesIO(b"before" + memory.getvalue())
    behind.seek(6)
    assert _same(lg.load(behind))
    for buffering in (0, -1):
        with open(tmp_path / "file", "rb", buffering=buffering) as file:
            assert _same(lg.load(file))
    with open(tmp_path / "other", "w+b") as file:
        lg.save(TREE, file)
        file.seek(0)
        assert _same(lg.load(file))
    with pytest.raises(FileFormatError, match="BytesIO"):
        lg.load(io.BytesIO(memory.getvalue()[:-1]))
    stream = io.BytesIO()
    lg.utils.save_checkpoint(stream, step=7)
    stream.seek(0)
    assert lg.utils.load_checkpoint(stream) == {"step": 7}


# -- headers ---------------------------------------------------------------------------------------
def _file(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data


ENTRY = b'{"dtype":"F32","shape":[],"data_offsets":[0,4]}'


@pytest.mark.parametrize(
    "header",
    [
        b'{"\\ud800":%s}' % ENTRY, b'{"a\\udc00":%s}' % ENTRY, b'{"a":%s,"__metadata__":{"k":"\\udfff"}}' % ENTRY,
        b'{"a":%s,"__metadata__":{"\\ud83d":"v"}}' % ENTRY, b'{"\xed\xa0\x80":%s}' % ENTRY,
    ],
)  # fmt: skip
def test_halves_of_surrogate_pairs_are_no_text(header):
    with pytest.raises(FileFormatError):
        lg.load(io.BytesIO(_file(header, bytes(4))))
    whole = b'{"\\ud83c\\udf28":%s}' % ENTRY
    assert list(lg.load(io.BytesIO(_file(whole, bytes(4))))) == ["🌨"]
    with pytest.raises(ValueError, match="surrogate"):
        lg.save([1], io.BytesIO(), metadata={"k": "\ud800"})


LARGE = 60_000_000
SHAPES = {
    "lists": "b'{\"a\":[' + b'[],' * (n // 3)", "numbers": "b'{\"a\":[' + b'1,' * (n // 2)",
    "floats": "b'{\"a\":[' + b'.5,' * (n // 3)", "objects": "b'{\"a\":[' + b'{},' * (n // 3)",
    "depth": "b'{\"a\":' + b'[' * n", "names": "b'{' + b'\"\":0,' * (n // 5)", "a name": "b'{\"' + b'a' * n",
    "letters": "b'{\"' + '🌨'.encode() * (n // 4)", "digits": "b'{\"a\":' + b'1' * n", "spaces": "b'{' + b' ' * n",
    "a whole list": "b'{\"a\":[' + b'1,' * (n // 2) + b'1]}'", "escapes": "b'{\"' + b'\\\\\\\\u0061' * (n // 6)",
    "words": "b'{\"a\":[' + b'\"\",' * (n // 3)",
    "a tree": "b'{\"__metadata__\":{\"lucidgrad\":\"[' + b'[],' * (n // 3)",
}  # fmt: skip


def test_a_large_malformed_header_takes_little_memory(tmp_path):
    """A few times its length and what a bounded number of parts becomes: each might be an object of a hundred bytes."""
    n = thoroughness.cases(20_000_000, LARGE)
    code = f"""import resource, struct, sys
import lucidgrad as lg, lucidgrad.files
n = {n}
lg.save([1], sys.argv[1]), lg.load(sys.argv[1])
for shape in {list(SHAPES.values())!r}:
    with open(sys.argv[1], "wb") as file:
        header = eval(shape)
        file.write(struct.pack("<Q", len(header)) + header)
        del header
    with open("/proc/self/statm") as sizes:
        used = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 5 * n + (300 << 20), resource.RLIM_INFINITY))
    try:
        lg.load(sys.argv[1])
    except lg.files.FileFormatError:
        print("refused")
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""
    with _process(code, tmp_path / "file", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        out, told = ran.communicate()
    assert out.split() == [b"refused"] * len(SHAPES), told[-2000:]


def test_what_is_saved_can_be_loaded(monkeypatch):
    monkeypatch.setattr(files.container, "_MOST_PARTS", 1000)
    lg.save(list(range(900)), io.BytesIO())
    with pytest.raises(ValueError, match="keep many numbers in a tensor"):
        lg.save(list(range(1100)), io.BytesIO())


def test_one_mark_is_enough_however_the_other_is_damaged():
    whole = io.BytesIO()
    lg.save(TREE, whole, metadata={"k": "v"})
    tree, check = b'"lucidgrad":', b'"lucidgrad.checksum"'
    for first, second in (
        (tree, b'"lucidgrad.checks[m"'),
        (b'"lucudgrad":', check),
        (b'"lucudgrad":', check[:-2] + b'["'),
    ):
        damaged = whole.getvalue().replace(tree, first).replace(check, second)
        assert damaged != whole.getvalue()
        with pytest.raises(FileFormatError, match="checksum is wrong"):
            lg.load(io.BytesIO(damaged))


def test_damaged_files_are_refused_or_give_what_was_saved():
    """Bytes changed, cut out, doubled and swapped at random: nothing else comes of it, and little memory is taken."""
    whole = io.BytesIO()
    lg.save(TREE, whole, metadata={"k": "v"})
    data, draw, refused = whole.getvalue(), thoroughness.draw(5), 0
    count = thoroughness.cases(400, 30_000)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(draw.choice((1, 1, 2, 5))):
            at, to = sorted(draw.randrange(len(changed) + 1) for _ in range(2))
            how = draw.randrange(5)
            if how == 0 and at < len(changed):
                changed[at] ^= 1 << draw.randrange(8)
            elif how == 1:
                del changed[at:to]
            elif how == 2:
                changed[at:at] = changed[at:to]
            elif how == 3 and at < len(changed):
                changed[at] = draw.choice(b'[]{}",:0129\\ue \x00\xff')
            else:
                changed[:8] = struct.pack("<Q", draw.choice((0, 1, len(data) - 8, 2**31, 2**63, draw.randrange(400))))
        try:
            found = lg.load(io.BytesIO(changed))
        except FileFormatError:
            refused += 1
        else:  # without both marks of lucidgrad's it is a file of another program's
            assert _same(found) or (b'"lucidgrad"' not in changed and b'"lucidgrad.' not in changed)
    assert refused > count * 0.9
