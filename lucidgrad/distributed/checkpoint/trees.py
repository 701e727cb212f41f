"""States as trees: tensors are taken out of them, and put back in the rows that are wanted here."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import lucidgrad as lg
from lucidgrad.shards import Shard, rows_of, shard_of

from .index import Entry

#: The only key of the dict that stands for a tensor.
MARK = "lucidgrad.tensor"

Path = tuple[Any, ...]


def mapped(tree: Any, change: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """A copy of a tree of dicts, lists and tuples in which every leaf is what ``change(path, leaf)`` gives.

    Examples
    --------
    >>> from lucidgrad.distributed.checkpoint.trees import mapped
    >>> mapped({"a": [1, 2], "b": {"c": 3}}, lambda path, leaf: (path, leaf))
    {'a': [(('a', 0), 1), (('a', 1), 2)], 'b': {'c': (('b', 'c'), 3)}}
    """
    if isinstance(tree, dict):
        made = {key: mapped(value, change, (*path, key)) for key, value in tree.items()}
        return OrderedDict(made) if isinstance(tree, OrderedDict) else made
    if type(tree) in (list, tuple):
        return type(tree)([mapped(value, change, (*path, i)) for i, value in enumerate(tree)])
    return change(path, tree)


def is_mark(tree: Any) -> bool:
    """Whether something stands for a tensor."""
    return type(tree) is dict and len(tree) == 1 and MARK in tree


def key_of(path: Path) -> str:
    """The name of a place in a tree: its steps with slashes between.

    Examples
    --------
    >>> from lucidgrad.distributed.checkpoint.trees import key_of
    >>> key_of(("model", "0.weight")), key_of(("a/b",))
    ('model/0.weight', 'a~1b')
    """
    return "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)


class Taken:
    """A tree without its tensors, and the tensors by key."""

    def __init__(self, tree: Any) -> None:
        self.tensors: dict[str, lg.Tensor] = {}
        self.tree = mapped(tree, self._take)

    def _take(self, path: Path, leaf: Any) -> Any:
        if leaf is not None and path and path[-1] == MARK:
            raise ValueError(f"checkpoint: a dict has the key {MARK!r}, which stands for a tensor; choose another")
        if not isinstance(leaf, lg.Tensor):
            return leaf
        base = key = key_of(path)
        number = 1
        while key in self.tensors:
            number += 1
            key = f"{base}#{number}"
        self.tensors[key] = leaf
        return {MARK: key}

    def entries(self) -> list[Entry]:
        """What this rank has."""
        return [_entry(key, tensor) for key, tensor in self.tensors.items()]

    def renamed(self, keys: dict[str, str]) -> Any:
        """The tree with other keys."""
        return _marked(self.tree, lambda _, key: {MARK: keys[key]})


def _entry(key: str, tensor: lg.Tensor) -> Entry:
    shard, size = shard_of(tensor), tensor.size * tensor.itemsize
    if shard is not None:
        return Entry(key, shard.shape, str(tensor.dtype), shard.start, shard.stop, size, None)
    shape = tuple(tensor.shape)
    return Entry(key, shape, str(tensor.dtype), 0, rows_of(shape), size, _digest(tensor))


def _digest(tensor: lg.Tensor) -> str:
    """A number that tells tensors with other values."""
    host = tensor.detach().cpu().contiguous().reshape(-1)
    found = hashlib.blake2b(f"{tuple(tensor.shape)} {tensor.dtype}".encode(), digest_size=16)
    if host.size:
        found.update(memoryview(host.array.view("uint8")))
    return found.hexdigest()


def _marked(tree: Any, change: Callable[[Path, str], Any], path: Path = ()) -> Any:
    """A tree with something else in the place of all that stands for tensors."""
    if is_mark(tree):
        return change(path, tree[MARK])
    if isinstance(tree, dict):
        made = {key: _marked(value, change, (*path, key)) for key, value in tree.items()}
        return OrderedDict(made) if isinstance(tree, OrderedDict) else made
    if type(tree) in (list, tuple):
        return type(tree)([_marked(value, change, (*path, i)) for i, value in enumerate(tree)])
    return tree


def filled(tree: Any, read: Callable[[Path, str], Any]) -> Any:
    """A tree with tensors in their places again: ``read(path, key)`` gives each."""
    return _marked(tree, read)


def wanted_by_state(state: Any) -> Callable[[Path, tuple[int, ...]], Shard | None]:
    """What is wanted of each tensor by a state of tensors: its rows where a place has a shard, else the whole."""
    places: dict[Path, Shard] = {}

    def look(path: Path, leaf: Any) -> None:
        found = shard_of(leaf) if isinstance(leaf, lg.Tensor) else None
        if found is not None:
            places[path] = found

    mapped(state, look)
    return lambda path, _: places.get(path)


def wanted_by_optimiser(groups: list[dict[str, Any]]) -> Callable[[Path, tuple[int, ...]], Shard | None]:
    """The same for an optimiser, which need not have a state yet: what belongs to a parameter is cut alike.

    Tensors that don't have the parameter's shape are wanted whole.
    """
    params = [p for group in groups for p in group["params"]]

    def wanted(path: Path, shape: tuple[int, ...]) -> Shard | None:
        if len(path) < 2 or path[0] != "state" or not (type(path[1]) is int and path[1] < len(params)):
            return None
        found = shard_of(params[path[1]])
        return found if found is not None and found.shape == shape else None

    return wanted
