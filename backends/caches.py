"""The compiler, and folders of compiled code that later processes load.

Whoever could write there could run anything as this user. A builder that is a process of its own loads this file alone.
"""

import os
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from hashlib import sha256
else:
    try:  # Python's own, as its `random` has it: hashlib loads all of OpenSSL, which takes longer than what it is for
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = [
    "Hung", "compiler", "complaint", "digest", "home", "make_private", "replace", "run", "seal", "sealed",
    "switched_off",
]  # fmt: skip

_SEAL = 32  # bytes of a hash, behind what it is of: loaders of libraries don't look there


class Hung(OSError):
    """A program that did not end in time."""


def switched_off() -> bool:
    """Whether the environment says that nothing is to be compiled."""
    return os.environ.get("LUCIDGRAD_COMPILED", "1").strip().lower() in ("0", "off", "false", "no")


def compiler() -> str:
    """The C compiler that the environment names, else the system's; raises OSError."""
    import shutil

    chosen = os.environ.get("LUCIDGRAD_CC")
    for name in [chosen] if chosen else ["cc", "gcc", "clang"]:
        if found := shutil.which(name):
            return str(Path(found).absolute())
    raise FileNotFoundError(f"LUCIDGRAD_CC={chosen} names no program" if chosen else "no C compiler: cc, gcc or clang")


def complaint(done: "subprocess.CompletedProcess[str]") -> str:
    """What a compiler said that failed, in one line."""
    lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
    return lines[0] if lines else f"exit status {done.returncode}"


def home(name: str) -> Path:
    """Where what is compiled for a purpose lies."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "lucidgrad" / name


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
        file.write(sha256(content).digest())
        file.flush()
        os.fsync(file.fileno())


def sealed(path: Path) -> bool:
    """Whether a file is whole, as it was sealed."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return sha256(content[:-_SEAL]).digest() == content[-_SEAL:]


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
    state = sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        state.update(len(raw).to_bytes(8, "little") + raw)
    return state.hexdigest()
