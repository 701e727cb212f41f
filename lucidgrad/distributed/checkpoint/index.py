"""The index of a checkpoint: which file has which rows of which tensor, and who writes what; no rank is asked here."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lucidgrad.files import FileFormatError
from lucidgrad.shards import rows_of

KIND = "lucidgrad sharded checkpoint"
VERSION = 1


class Entry(NamedTuple):
    """What a rank has under a key: the rows from ``start`` to ``stop`` of a tensor.

    ``digest`` tells copies of a whole tensor that several ranks have from tensors that differ; rows of a shard have
    none: all ranks' rows together are the tensor.
    """

    key: str
    shape: tuple[int, ...]
    dtype: str
    start: int
    stop: int
    size: int  # bytes
    digest: str | None


class Piece(NamedTuple):
    """Rows of a tensor, and the place where they are."""

    file: str
    name: str
    start: int
    stop: int


class Whole(NamedTuple):
    """A tensor, and the pieces that it is made of."""

    shape: tuple[int, ...]
    dtype: str
    pieces: tuple[Piece, ...]


class Plan(NamedTuple):
    """Who writes what.

    ``writes`` has, for each rank, the final key of each entry that it writes, by the entry's own key; ``keys`` has, for
    each rank, the final key of each of its entries.
    """

    writes: list[dict[str, str]]
    keys: list[dict[str, str]]
    tensors: dict[str, tuple[tuple[int, ...], str, list[tuple[int, int, int]]]]  # by key: shape, dtype, (rank, rows)


def planned(ranks: Sequence[Iterable[Entry]]) -> Plan:
    """Who writes what, given what every rank has: every row of every tensor is written once.

    Whole tensors that ranks have alike are shared out by size. Where they differ, each kind is kept under a key of its
    own, so that with the same number of ranks everybody gets back what it had.

    Examples
    --------
    >>> from lucidgrad.distributed.checkpoint.index import Entry, planned
    >>> w = [Entry("w", (3,), "float32", 0, 2, 8, None)], [Entry("w", (3,), "float32", 2, 3, 4, None)]
    >>> planned(w).writes
    [{'w': 'w'}, {'w': 'w'}]
    >>> whole = [Entry("b", (3,), "float32", 0, 3, 12, "abc")]
    >>> planned([whole, whole]).writes
    [{'b': 'b'}, {}]
    """
    count = len(ranks)
    plan = Plan([{} for _ in range(count)], [{} for _ in range(count)], {})
    held: dict[str, list[tuple[int, Entry]]] = {}
    for rank, entries in enumerate(ranks):
        for entry in entries:
            held.setdefault(entry.key, []).append((rank, entry))
    loads = [0] * count
    copies: list[tuple[str, list[tuple[int, Entry]]]] = []
    taken = set(held)
    for key, found in held.items():
        kinds: dict[str | None, list[tuple[int, Entry]]] = {}
        for rank, entry in found:
            kinds.setdefault(entry.digest, []).append((rank, entry))
        if None in kinds:
            if len(kinds) > 1:
                raise ValueError(f"checkpoint: {key!r} is a shard on some ranks and whole on others, expected one kind")
            _place_shards(plan, key, found, loads)
            continue
        for same in kinds.values():
            final = key if same is next(iter(kinds.values())) else _free(f"{key}@{same[0][0]}", taken)
            taken.add(final)
            copies.append((final, same))
    for final, same in sorted(copies, key=lambda pair: -pair[1][0][1].size):  # large ones first: the rest fills up
        writer, entry = min(same, key=lambda pair: (loads[pair[0]], pair[0]))
        loads[writer] += entry.size
        plan.writes[writer][entry.key] = final
        plan.tensors[final] = entry.shape, entry.dtype, [(writer, 0, rows_of(entry.shape))]
        for rank, _ in same:
            plan.keys[rank][entry.key] = final
    return plan


def _free(key: str, taken: set[str]) -> str:
    while key in taken:
        key += "'"
    return key


def _place_shards(plan: Plan, key: str, found: list[tuple[int, Entry]], loads: list[int]) -> None:
    first = found[0][1]
    rows, at = rows_of(first.shape), 0
    pieces: list[tuple[int, int, int]] = []
    for rank, entry in found:
        if (entry.shape, entry.dtype) != (first.shape, first.dtype):
            raise ValueError(
                f"checkpoint: {key!r} is {entry.dtype} of shape {entry.shape} on rank {rank}, and {first.dtype} of "
                f"shape {first.shape} on rank {found[0][0]}; expected one shape and dtype"
            )
        plan.keys[rank][key] = key
    for rank, entry in sorted(found, key=lambda pair: (pair[1].start, -pair[1].stop, pair[0])):
        if entry.start == entry.stop or entry.stop <= at:  # empty, or another rank's rows once more
            continue
        if entry.start != at:
            break
        pieces.append((rank, entry.start, entry.stop))
        plan.writes[rank][key] = key
        loads[rank] += entry.size
        at = entry.stop
    if at != rows:
        raise ValueError(
            f"checkpoint: the shards of {key!r}, of shape {first.shape}, end at row {at} of {rows}; expected rows from "
            f"all ranks: every rank of the group has to call save"
        )
    plan.tensors[key] = first.shape, first.dtype, pieces


class Index:
    """What a checkpoint consists of."""

    def __init__(self, token: str, files: Mapping[str, int], tensors: Mapping[str, Whole]) -> None:
        self.token, self.files, self.tensors = token, dict(files), dict(tensors)

    @property
    def ranks(self) -> int:
        """How many ranks wrote it."""
        return len(self.files)

    def text(self) -> str:
        """As JSON."""
        tensors = {
            key: {"shape": list(whole.shape), "dtype": whole.dtype, "pieces": [list(piece) for piece in whole.pieces]}
            for key, whole in self.tensors.items()
        }
        made = {"kind": KIND, "version": VERSION, "token": self.token, "files": self.files, "tensors": tensors}
        return json.dumps(made, separators=(",", ":"))

    @staticmethod
    def of_text(text: str) -> "Index":
        """What some JSON says, if it makes sense; no file is looked at.

        Examples
        --------
        >>> from lucidgrad.distributed.checkpoint.index import Index, Piece, Whole
        >>> index = Index("0a", {"rank-0": 9}, {"w": Whole((2,), "float32", (Piece("rank-0", "w", 0, 2),))})
        >>> Index.of_text(index.text()).tensors["w"].shape
        (2,)
        """
        try:
            found = json.loads(text)
            if not isinstance(found, dict) or found.get("kind") != KIND:
                raise FileFormatError("expected the index of a checkpoint that distributed.checkpoint.save wrote")
            if found["version"] != VERSION:
                raise FileFormatError(f"the index has version {found['version']}, this release reads version {VERSION}")
            token, files = found["token"], found["files"]
            if not _is_name(token) or not all(_is_name(name) and type(n) is int for name, n in files.items()):
                raise FileFormatError("the index names files that can't be those of a checkpoint")
            tensors = {key: _whole(key, value, files) for key, value in found["tensors"].items()}
        except FileFormatError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise FileFormatError(f"the index is damaged ({type(error).__name__}: {error})") from error
        return Index(token, files, tensors)


def _is_name(word: Any) -> bool:
    return type(word) is str and word not in ("", ".", "..") and not any(sign in word for sign in "/\\:\0")


def _whole(key: str, found: Any, files: Mapping[str, int]) -> Whole:
    shape = tuple(found["shape"])
    pieces = tuple(Piece(*piece) for piece in found["pieces"])
    at = 0
    for piece in pieces:
        if piece.file not in files or piece.start != at or not piece.stop > piece.start:
            raise FileFormatError(f"the index has pieces of {key!r} that don't follow each other, or are in no file")
        at = piece.stop
    if at != rows_of(shape) and math.prod(shape):
        raise FileFormatError(f"the index has {at} rows of {key!r}, expected {rows_of(shape)}")
    return Whole(shape, found["dtype"], pieces)


def needed(whole: Whole, start: int, stop: int) -> list[tuple[Piece, int, int]]:
    """The pieces that have rows from ``start`` to ``stop``, and which of a piece's own rows these are.

    Examples
    --------
    >>> from lucidgrad.distributed.checkpoint.index import Piece, Whole, needed
    >>> whole = Whole((5,), "float32", (Piece("rank-0", "w", 0, 3), Piece("rank-1", "w", 3, 5)))
    >>> [(piece.file, first, last) for piece, first, last in needed(whole, 2, 4)]
    [('rank-0', 2, 3), ('rank-1', 0, 1)]
    """
    if not 0 <= start <= stop <= rows_of(whole.shape):
        raise ValueError(f"given the rows {start} to {stop} of a tensor of shape {whole.shape}, expected some of it")
    return [
        (piece, max(start, piece.start) - piece.start, min(stop, piece.stop) - piece.start)
        for piece in whole.pieces
        if piece.start < stop and start < piece.stop
    ]


def assembled(whole: Whole, start: int, stop: int, read: Callable[[Piece], Any], join: Callable[..., Any]) -> Any:
    """The rows from ``start`` to ``stop`` of a tensor; ``join`` makes one array of several, or an empty one of none."""
    parts = []
    for piece, first, last in needed(whole, start, stop):
        array = read(piece)
        expected = (piece.stop - piece.start, *whole.shape[1:]) if whole.shape else ()
        if tuple(array.shape) != expected and tuple(array.shape) != (1, *expected):
            raise FileFormatError(
                f"{piece.file}: {piece.name!r} has the shape {array.shape}, the index says {expected}"
            )
        rows = array.reshape((piece.stop - piece.start, *whole.shape[1:]))
        parts.append(rows[first:last])
    return join(parts)
