"""Folders of compiled code that later processes load: whoever could write there could run anything as this user."""

import hashlib
import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

__all__ = ["Hung", "digest", "make_private", "replace", "run", "seal", "sealed"]

_SEAL = 32  # bytes of a hash, behind what it is of: loaders of libraries don't look there


class Hung(OSError):
    """A program that did not end in time."""


def make_private(folder: Path) -> None:
    """Make a folder that only this user may enter; raises OSError if there is one that others may write to."""
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir(0o700, exist_ok=True)
    state = folder.stat()
    if not stat.S_ISDIR(state.st_mode):
        raise NotADirectoryError(f"{folder} is no folder")
    if state.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to user {state.st_uid}, not to {os.geteuid()}")
    if state.st_mode & 0o022:
        raise PermissionError(f"{folder} may be written by others; chmod go-w makes it usable")


def seal(path: Path) -> None:
    """Write a file's hash behind it, and all of it to the disk."""
    with path.open("r+b") as file:
        content = file.read()
        file.write(hashlib.sha256(content).digest())
        file.flush()
        os.fsync(file.fileno())


def sealed(path: Path) -> bool:
    """Whether a file is whole, as it was sealed."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_SEAL]).digest() == content[-_SEAL:]


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file elsewhere, seal it, then let it appear."""
    scratch = path.with_name(f".{path.stem}.{os.getpid()}.{threading.get_ident()}{path.suffix}")
    try:
        write(scratch)
        seal(scratch)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def run(
    command: Sequence[str | Path], patience: float, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, or until patience ends: then it and all that it started are killed."""
    import signal  # here: most processes find all that they need
    import subprocess

    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=patience)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Hung(f"{command[0]} did not end within {patience} seconds") from error
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def digest(*parts: str | bytes) -> str:
    """A hash of several texts, each with its boundaries."""
    state = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        state.update(len(raw).to_bytes(8, "little") + raw)
    return state.hexdigest()
