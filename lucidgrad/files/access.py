"""Files as such: which may be read and written, and how a new one takes the place of an old one."""

import contextlib
import errno
import io
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # where there are no such locks, scratch files of killed processes stay
    fcntl = None  # type: ignore[assignment]

_TOKEN = 6  # random bytes in the name of a scratch file


def is_file(target: Any, method: str) -> bool:
    """Whether a target is an open binary file; else it must be a path."""
    if isinstance(target, (str, bytes, os.PathLike)):
        return False
    if isinstance(target, io.TextIOBase) or not callable(getattr(target, method, None)):
        what = "a text file" if isinstance(target, io.TextIOBase) else f"a {type(target).__name__}"
        raise TypeError(f"given {what}, expected a path or an open binary file with the method {method!r}")
    return True


def name_of(target: Any) -> str:
    """What a file is called in errors."""
    if isinstance(target, (str, bytes, os.PathLike)):
        return os.fsdecode(target)
    return str(getattr(target, "name", f"<{type(target).__name__}>"))


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


# -- reading -------------------------------------------------------------------------------------
class Source(NamedTuple):
    """A binary file, where what is read of it begins, and how many bytes follow."""

    file: Any
    start: int
    length: int


@contextlib.contextmanager
def opened(target: Any) -> Iterator[Source]:
    """A path or an open binary file as a source; only regular files are opened, and none is waited for."""
    if is_file(target, "read"):
        yield _rest(target)
        return
    path = os.fsdecode(target)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError as error:
        looked = f"no such file in {os.path.dirname(os.path.abspath(path))}; check the name and the working directory"
        raise FileNotFoundError(errno.ENOENT, looked, path) from error
    with open(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"load: {path!r} is {_kind(found.st_mode)}, expected a regular file")
        yield Source(file, 0, found.st_size)


def _rest(file: Any) -> Source:
    """What follows in an open file; one that can't go back is read at once."""
    try:
        start = file.tell()
        end = file.seek(0, io.SEEK_END)
        file.seek(start)
    except (AttributeError, OSError):
        data = file.read()
        return Source(io.BytesIO(data), 0, len(data))
    return Source(file, start, (file.tell() if end is None else end) - start)


def read_into(file: Any, memory: memoryview) -> bool:
    """Fill memory from a file; False if there is not enough."""
    done = 0
    while done < memory.nbytes:
        if hasattr(file, "readinto"):
            count = file.readinto(memory[done:])
        else:
            data = file.read(memory.nbytes - done)
            count = len(data)
            memory[done : done + count] = data
        if not count:
            return False
        done += count
    return True


# -- writing -------------------------------------------------------------------------------------
@contextlib.contextmanager
def replacing(path: "str | bytes | os.PathLike[Any]") -> Iterator[Any]:
    """A new file beside a path, which takes its place at the end and leaves no trace if anything fails.

    Until it is complete nobody else can read it, and a lock on it tells others that its process lives.
    """
    target = os.path.realpath(os.fsdecode(path))
    folder, name = os.path.split(target)
    _check_target(target)
    before = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    stem = _stem(name)
    _clear(folder, stem)
    beside, number = _scratch(folder, stem)
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.chmod(beside, 0o666 & ~_mask() if before is None else before)
            os.fsync(file.fileno())
            os.replace(beside, target)  # under the lock, so that nobody clears it away
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    _settle(folder)


def _check_target(target: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"save: {target!r} is a directory, expected the name of a file")
        if not stat.S_ISREG(mode):
            raise ValueError(f"save: {target!r} is {_kind(mode)}, expected a regular file or a new name")


def _stem(name: str) -> str:
    """How the names of a file's scratch files begin: short enough in bytes, and without half of a letter."""
    return "." + os.fsencode(name)[:200].decode("utf-8", "ignore") + "."


def _scratch(folder: str, stem: str) -> tuple[str, int]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        beside = os.path.join(folder, stem + secrets.token_hex(_TOKEN))
        number = os.open(beside, flags, 0o600)
        if _locked(number, wait=True) is False or os.fstat(number).st_nlink:
            return beside, number
        os.close(number)  # somebody took it for a dead one before it was locked


def _locked(number: int, wait: bool) -> bool:
    """Lock a file if the system and the file system can."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _clear(folder: str, stem: str) -> None:
    """Remove the scratch files of processes that were killed: nobody holds their locks."""
    pattern = re.compile(re.escape(stem) + f"[0-9a-f]{{{2 * _TOKEN}}}")
    with contextlib.suppress(OSError):
        found = [entry.path for entry in os.scandir(folder) if pattern.fullmatch(entry.name)]
        for path in found:
            with contextlib.suppress(OSError):
                number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
                try:
                    if stat.S_ISREG(os.fstat(number).st_mode) and _locked(number, wait=False):
                        os.unlink(path)
                finally:
                    os.close(number)


def _mask() -> int:
    """The process's mask of permissions; asking the system for it would change it for a moment."""
    with contextlib.suppress(OSError, ValueError, StopIteration), open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("Umask:")).split()[1], 8)
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _settle(folder: str) -> None:
    """Make sure that a new name in a folder survives a power cut, where the system can."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
