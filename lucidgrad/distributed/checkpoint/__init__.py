"""Checkpoints that all ranks write together: each its own part, and one index, which makes them a checkpoint.

A checkpoint is a folder. Every rank writes its rows of sharded tensors, its share of those that all ranks have alike,
and its own plain values to a safetensors file in a new subfolder; then the first rank replaces the index, in one step.
Until then the folder is the checkpoint that it was: a job that is killed at any moment leaves a whole one.
"""

import contextlib
import copy
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import lucidgrad as lg
from lucidgrad.communication.groups import get_rank, get_world_size, is_initialized
from lucidgrad.communication.objects import all_gather_object
from lucidgrad.files import FileFormatError
from lucidgrad.files.access import name_of, opened, replacing
from lucidgrad.files.container import dtype_named, explained
from lucidgrad.files.shards import Part, open_part, write_part
from lucidgrad.refusals import guard as _guard
from lucidgrad.shards import Shard, rows_of

from . import state_dict as state_dict
from .index import Entry, Index, Piece, Whole, assembled, planned
from .trees import Path, Taken, filled, mapped, wanted_by_optimiser, wanted_by_state

__all__ = ["CheckpointError", "load", "save", "state_dict"]

_INDEX = "index.json"
_TOKEN = "lucidgrad.token"  # in the metadata of every file: which save wrote it


class CheckpointError(RuntimeError):
    """Another rank could not save or load; it says why.

    Examples
    --------
    >>> from lucidgrad.distributed.checkpoint import CheckpointError
    >>> issubclass(CheckpointError, RuntimeError)
    True
    """


class _World:
    """The ranks that save or load together; a process that is not connected is alone."""

    def __init__(self, group: Any, alone: bool) -> None:
        self.group = group
        self.alone = alone or not is_initialized()
        self.rank = 0 if self.alone else get_rank(group)
        self.size = 1 if self.alone else get_world_size(group)
        if self.rank < 0:
            raise ValueError("checkpoint: this process is not in the group; only its members save and load")

    def exchange(self, value: Any) -> list[Any]:
        """What every rank gives, in the order of ranks."""
        if self.alone:
            return [value]
        found: list[Any] = [None] * self.size
        all_gather_object(found, value, group=self.group)
        return found

    @contextlib.contextmanager
    def together(self, what: str) -> Iterator[None]:
        """A step that counts as done if every rank has done it: an error on one is an error on all."""
        error: Exception | None = None
        try:
            yield
        except Exception as caught:
            error = caught
        told = self.exchange(None if error is None else f"{type(error).__name__}: {error}")
        if error is not None:
            raise error
        for rank, message in enumerate(told):
            if message is not None:
                raise CheckpointError(f"{what}: rank {rank} failed: {message}")


def _has_state(value: Any) -> bool:
    return callable(getattr(value, "state_dict", None)) and not isinstance(value, (lg.Tensor, dict))


def _state_of(value: Any) -> Any:
    """The state of an object, of which other ranks may have other parts."""
    own = getattr(value, "sharded_state_dict", None)
    return own() if callable(own) else value.state_dict()


def _folder(checkpoint_id: Any, what: str) -> str:
    if not isinstance(checkpoint_id, (str, os.PathLike)):
        raise TypeError(f"{what}: given checkpoint_id={checkpoint_id!r}, expected the path of a folder")
    return os.path.abspath(os.fspath(checkpoint_id))


# -- saving ----------------------------------------------------------------------------------------
def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: "str | os.PathLike[str] | None" = None,
    process_group: Any = None,
    no_dist: bool = False,
    rng: bool = True,
) -> None:
    """Write a checkpoint, all of it or nothing; every rank of the group calls this.

    Parameters
    ----------
    state_dict
        By name: modules, optimisers, schedulers, loaders and other objects with a ``state_dict``; and trees of tensors
        and plain values. What `fully_shard` and `ZeroRedundancyOptimizer` have split up is written in parts, what all
        ranks have alike is written once, and what differs between ranks is kept for each of them.
    checkpoint_id
        The folder, which all ranks can reach. The checkpoint in it is replaced when the new one is complete.
    process_group
        Who saves; by default all ranks.
    no_dist
        Save for this process alone.
    rng
        Whether the states of all default random generators, each rank's, are saved, too.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile
    >>> from lucidgrad.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> model = lg.nn.Linear(2, 1)
    >>> checkpoint.save({"model": model, "step": 7}, checkpoint_id=folder)
    >>> state = {"model": lg.nn.Linear(2, 1), "step": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> state["step"], bool((state["model"].weight == model.weight).all())
    (7, True)
    """
    world = _World(process_group, no_dist)
    plan, taken, token, folder = None, None, "", ""
    with world.together("checkpoint.save"):
        folder = _folder(checkpoint_id, "checkpoint.save")
        states = {name: _state_of(value) if _has_state(value) else value for name, value in state_dict.items()}
        taken = Taken({"states": states, "rng": lg.random.get_rng_state() if rng else None})
        token = secrets.token_hex(8)
    assert taken is not None
    found = world.exchange([token, [list(entry) for entry in taken.entries()]])
    token = found[0][0]
    entries = [[Entry(key, tuple(shape), *rest) for key, shape, *rest in own] for _, own in found]
    place = os.path.join(folder, token)
    try:
        names: dict[str, str] = {}
        size = 0
        with world.together("checkpoint.save"):
            plan = planned(entries)
            os.makedirs(place, exist_ok=True)
            pieces = {final: taken.tensors[key] for key, final in plan.writes[world.rank].items()}
            tree = taken.renamed(plan.keys[world.rank])
            names, size = write_part(os.path.join(place, _file_of(world.rank)), pieces, tree, {_TOKEN: token})
        assert plan is not None
        parts = world.exchange([names, size])
        with world.together("checkpoint.save"):
            if world.rank == 0:
                files = {_file_of(rank): size for rank, (_, size) in enumerate(parts)}
                tensors = {
                    key: Whole(shape, dtype, tuple(_piece(key, parts, *at) for at in places))
                    for key, (shape, dtype, places) in plan.tensors.items()
                }
                with replacing(os.path.join(folder, _INDEX)) as file:
                    file.write(Index(token, files, tensors).text().encode())
    except BaseException:
        with contextlib.suppress(OSError, ValueError):
            if token != _current(folder):
                shutil.rmtree(place)
        raise
    if world.rank == 0:
        _clear(folder, token)
    world.exchange(None)  # nobody goes on, to be killed perhaps, before the old one is gone or kept


def _file_of(rank: int) -> str:
    return f"rank-{rank:05}.safetensors"


def _piece(key: str, parts: list[Any], rank: int, start: int, stop: int) -> Piece:
    return Piece(_file_of(rank), parts[rank][0][key], start, stop)


def _current(folder: str) -> str | None:
    try:
        return _index(folder).token
    except FileNotFoundError:
        return None


def _clear(folder: str, token: str) -> None:
    """Remove what earlier saves left, finished ones and those that were killed."""
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False) and entry.name != token and _is_token(entry.name):
            shutil.rmtree(entry.path, ignore_errors=True)


def _is_token(name: str) -> bool:
    return len(name) == 16 and not set(name) - set("0123456789abcdef")


# -- loading ---------------------------------------------------------------------------------------
def _index(folder: str) -> Index:
    path = os.path.join(folder, _INDEX)
    with opened(path) as source, explained(name_of(path)):
        return Index.of_text(source.file.read().decode("utf-8"))


class _Files:
    """The files of a checkpoint, opened when they are needed and while they are."""

    def __init__(self, folder: str, index: Index) -> None:
        self.folder, self.index = os.path.join(folder, index.token), index
        self._open: dict[str, Part] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def part(self, file: str) -> Part:
        if file not in self._open:
            path = os.path.join(self.folder, file)
            try:
                size = os.stat(path).st_size
            except FileNotFoundError:
                raise FileFormatError(f"{path}: the file is missing, which the index names") from None
            if size != self.index.files[file]:
                raise FileFormatError(
                    f"{path}: the file has {size} bytes, the index says {self.index.files[file]}: it was cut short, or "
                    f"is not the one that was saved"
                )
            part = self._stack.enter_context(open_part(path))
            if part.notes.get(_TOKEN) != self.index.token:
                raise FileFormatError(f"{path}: another save wrote this file, expected that of {self.index.token}")
            self._open[file] = part
        return self._open[file]

    def tree(self, rank: int) -> Any:
        """The plain values of a rank."""
        return self.part(_file_of(rank)).tree()

    def rows(self, key: str, shard: Shard | None) -> lg.Tensor:
        """A tensor, or some rows of it, in host memory."""
        whole = self.index.tensors.get(key)
        if whole is None:
            raise FileFormatError(f"the index has no tensor {key!r}, which a rank's file refers to")
        start, stop = (0, rows_of(whole.shape)) if shard is None else (shard.start, shard.stop)
        if shard is not None and shard.shape != whole.shape:
            raise ValueError(f"checkpoint.load: {key!r} was saved with the shape {whole.shape}, expected {shard.shape}")
        made = assembled(whole, start, stop, self._read, lambda parts: _joined(parts, whole, stop - start))
        return made if shard is not None else made.reshape(whole.shape)

    def _read(self, piece: Piece) -> lg.Tensor:
        return lg.asarray(self.part(piece.file).array(piece.name))


def _joined(parts: list[lg.Tensor], whole: Whole, rows: int) -> lg.Tensor:
    if not parts:
        return lg.empty((rows, *whole.shape[1:]), dtype=dtype_named(whole.dtype, "a shard without rows"))
    return parts[0] if len(parts) == 1 else lg.concat(parts, axis=0)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: "str | os.PathLike[str] | None" = None,
    process_group: Any = None,
    no_dist: bool = False,
    rng: bool = True,
) -> None:
    """Load a checkpoint into objects that have been made anew: all of it, on all ranks, or nothing.

    There may be another number of ranks than saved it: each reads the rows that it holds now. With the same number,
    everything is as it was, random numbers included; with another, what differed between ranks is the first rank's, and
    random generators are left as they are.

    Parameters
    ----------
    state_dict
        By name, as given to `save`: objects with ``load_state_dict``, and trees, whose tensors are written in place and
        whose plain values are replaced in the dict. Names that are not asked for are left out.
    checkpoint_id
        The folder.
    process_group
        Who loads; by default all ranks.
    no_dist
        Load into this process alone.
    rng
        Whether random numbers go on from the saved states.

    Raises
    ------
    FileFormatError
        A file is missing, damaged or not the one that was saved; it is named.
    CheckpointError
        Another rank met an error.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile
    >>> from lucidgrad.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> weights = lg.arange(3.0)
    >>> checkpoint.save({"weights": weights, "step": 2}, checkpoint_id=folder)
    >>> state = {"weights": lg.zeros(3), "step": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'weights': tensor([0., 1., 2.]), 'step': 2}
    """
    world = _World(process_group, no_dist)
    loads: list[_Load] = []
    numbers: Any = None
    with world.together("checkpoint.load"):
        folder = _folder(checkpoint_id, "checkpoint.load")
        index = _index(folder)
        with _Files(folder, index) as files:
            same = index.ranks == world.size
            tree = files.tree(world.rank if same else 0)
            for name, value in state_dict.items():
                if name not in tree["states"]:
                    have = ", ".join(map(repr, tree["states"])) or "none"
                    raise ValueError(f"checkpoint.load: asked for {name!r}, the checkpoint has {have}")
                loads.append(_Load(state_dict, name, value, tree["states"][name], files))
            if rng and same and tree["rng"] is not None:
                numbers = filled(tree["rng"], lambda _, key: files.rows(key, None))
    before = lg.random.get_rng_state()
    done: list[_Load] = []
    try:
        with world.together("checkpoint.load"):
            for part in loads:
                done.append(part)
                part.do()
            if numbers is not None:
                lg.random.set_rng_state(numbers)
    except BaseException:
        for part in reversed(done):
            part.undo()
        lg.random.set_rng_state(before)
        raise


class _Load:
    """What becomes of one name: read and checked first, done when everything is."""

    def __init__(self, target: dict[str, Any], name: str, value: Any, saved: Any, files: _Files) -> None:
        self.target, self.name, self.value = target, name, value
        self.before: Any = None
        if _has_state(value):
            if not callable(getattr(value, "load_state_dict", None)):
                raise TypeError(f"checkpoint.load: {name} is a {type(value).__name__}, which has no load_state_dict")
            self.found = _read_state(name, value, saved, files)
        else:
            self.found = _read(saved, wanted_by_state(value), files)
            _check_tensors(name, value, self.found)

    def do(self) -> None:
        if _has_state(self.value):
            self.before = copy.deepcopy(_state_of(self.value))
            _load_state(self.value, self.found)
        else:
            self.before = [self.value, _written_over(self.value, self.found)]
            self.target[self.name] = _replaced(self.value, self.found)

    def undo(self) -> None:
        if self.before is None:
            return
        if _has_state(self.value):
            _load_state(self.value, self.before)
        else:
            self.target[self.name], old = self.before
            for tensor, values in old:
                with lg.no_grad():
                    tensor.copy_(values)


def _load_state(value: Any, state: Any) -> None:
    own = getattr(value, "load_sharded_state_dict", None)
    (own if callable(own) else value.load_state_dict)(state)


def _read(saved: Any, wanted: Callable[[Path, tuple[int, ...]], Shard | None], files: _Files) -> Any:
    def read(path: Path, key: str) -> lg.Tensor:
        whole = files.index.tensors.get(key)
        return files.rows(key, None if whole is None else wanted(path, whole.shape))

    return filled(saved, read)


def _read_state(name: str, value: Any, saved: Any, files: _Files) -> Any:
    """A state as an object takes it."""
    merge = getattr(value, "merged_state_dicts", None)
    if callable(merge):  # every rank saved another part
        saved = merge([files.tree(rank)["states"][name] for rank in range(files.index.ranks)])
    if isinstance(value, lg.optim.Optimizer):
        return _read(saved, wanted_by_optimiser(value.param_groups), files)
    state = value.state_dict()
    found = _read(saved, wanted_by_state(state), files)
    if isinstance(value, lg.nn.Module):
        _check_names(name, state, found)
    return found


def _check_names(name: str, own: Any, found: Any) -> None:
    missing, stray = sorted(own.keys() - found.keys()), sorted(found.keys() - own.keys())
    if missing or stray:
        raise ValueError(
            f"checkpoint.load: the saved state of {name} does not fit: it lacks {missing}, and has {stray} besides"
        )
    _check_tensors(name, dict(own), found)


def _check_tensors(name: str, own: Any, found: Any) -> None:
    """The tensors of a tree must be there, in their shapes."""

    def check(path: Path, leaf: Any) -> None:
        if not isinstance(leaf, lg.Tensor):
            return
        at: Any = found
        for step in path:
            at = at[step] if isinstance(at, (dict, list, tuple)) and _has(at, step) else None
        if not isinstance(at, lg.Tensor):
            raise ValueError(f"checkpoint.load: the checkpoint has no tensor at {(name, *path)}, expected one")
        if tuple(at.shape) != tuple(leaf.shape):
            raise ValueError(
                f"checkpoint.load: {(name, *path)} was saved with the shape {tuple(at.shape)}, expected "
                f"{tuple(leaf.shape)}"
            )

    mapped(own, check)


def _has(tree: Any, step: Any) -> bool:
    return step in tree if isinstance(tree, dict) else type(step) is int and step < len(tree)


def _written_over(own: Any, found: Any) -> list[tuple[lg.Tensor, lg.Tensor]]:
    """Write what was found into the tensors of a tree; they, and what they were."""
    old: list[tuple[lg.Tensor, lg.Tensor]] = []

    def write(path: Path, leaf: Any) -> None:
        if isinstance(leaf, lg.Tensor):
            at = found
            for step in path:
                at = at[step]
            old.append((leaf, leaf.detach().clone()))
            with lg.no_grad():
                leaf.copy_(at)

    mapped(own, write)
    return old


def _replaced(own: Any, found: Any) -> Any:
    """A tree that was found, with the tensors of another one where that has them: they were written."""
    if isinstance(own, lg.Tensor):
        return own
    if isinstance(own, dict) and isinstance(found, dict):
        return type(found)((key, _replaced(own.get(key), value)) for key, value in found.items())
    if type(own) in (list, tuple) and type(found) is type(own) and len(own) == len(found):
        return type(own)([_replaced(mine, value) for mine, value in zip(own, found, strict=True)])
    return found


_guard(__name__, __all__)
