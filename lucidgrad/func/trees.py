"""Trees: nested lists, tuples, dictionaries, named tuples, dataclasses and registered types of tensors."""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from lucidgrad.tensor import Tensor

__all__ = ["Shape", "flatten", "map", "register", "unflatten"]

_map = map  # the built-in one; below is one for trees
Parts = tuple[Iterable[Any], Any]


class _Family(NamedTuple):
    """How the trees of one type come apart and together."""

    take_apart: Callable[[Any], Parts]
    put_together: Callable[[list[Any], Any], Any]


_families: dict[type, _Family] = {
    list: _Family(lambda tree: (tree, None), lambda parts, _: parts),
    tuple: _Family(lambda tree: (tree, None), lambda parts, _: tuple(parts)),
    dict: _Family(lambda tree: (tree.values(), tuple(tree)), lambda parts, keys: dict(zip(keys, parts, strict=True))),
    collections.OrderedDict: _Family(
        lambda tree: (tree.values(), tuple(tree)),
        lambda parts, keys: collections.OrderedDict(zip(keys, parts, strict=True)),
    ),
    collections.defaultdict: _Family(
        lambda tree: (tree.values(), (*tree, tree.default_factory)),
        lambda parts, rest: collections.defaultdict(rest[-1], zip(rest[:-1], parts, strict=True)),
    ),
    collections.deque: _Family(
        lambda tree: (tree, (tree.maxlen,)), lambda parts, rest: collections.deque(parts, rest[0])
    ),
}
_BY_KEY = (dict, collections.OrderedDict, collections.defaultdict)  # the order of their parts means nothing


def register(
    tree_type: type, take_apart: Callable[[Any], Parts], put_together: Callable[[list[Any], Any], Any]
) -> None:
    """Make a type known as a tree.

    Parameters
    ----------
    tree_type
        The type; its subclasses are not included.
    take_apart
        ``take_apart(tree) -> (parts, rest)``: the parts, which may be trees, and what else makes up the tree.
    put_together
        ``put_together(parts, rest) -> tree``, the inverse.

    Examples
    --------
    >>> from lucidgrad.func import trees
    >>> class Pair:
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> trees.register(Pair, lambda p: ((p.left, p.right), None), lambda parts, _: Pair(*parts))
    >>> trees.map(lambda x: 2 * x, Pair(1, 2)).right
    4
    """
    _families[tree_type] = _Family(take_apart, put_together)


def _family(tree: Any) -> _Family | None:
    kind = type(tree)
    found = _families.get(kind)
    if found is not None or kind is Tensor:
        return found
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        found = _families[kind] = _Family(lambda tree: (tree, None), lambda parts, _: kind(*parts))
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(field.name for field in dataclasses.fields(kind) if field.init)
        found = _families[kind] = _Family(
            lambda tree: ([getattr(tree, name) for name in names], None),
            lambda parts, _: kind(**dict(zip(names, parts, strict=True))),
        )
    return found


class Shape:
    """The structure of a tree without its leaves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> leaves, shape = lg.func.trees.flatten({"a": 1, "b": (2, 3)})
    >>> leaves
    [1, 2, 3]
    """

    __slots__ = ("flat", "kind", "parts", "rest")

    def __init__(
        self, kind: type | None, parts: "tuple[Shape, ...]" = (), rest: Any = None, flat: bool = False
    ) -> None:
        self.kind, self.parts, self.rest = kind, parts, rest
        self.flat = flat  # known to have leaves only

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Shape):
            return NotImplemented
        return (self.kind, self.parts, self.rest) == (other.kind, other.parts, other.rest)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "*" if self.kind is None else f"{self.kind.__name__}{self.parts or ''}"

    def build(self, leaves: Iterator[Any]) -> Any:
        """The tree with these leaves."""
        if self.kind is None:
            return next(leaves)
        if self.flat:
            parts = list(itertools.islice(leaves, len(self.parts)))
        else:
            parts = [part.build(leaves) for part in self.parts]
        return _families[self.kind].put_together(parts, self.rest)


_LEAF = Shape(None)
_TENSORS = {Tensor}


def flatten(tree: Any) -> tuple[list[Any], Shape]:
    """The leaves of a tree in order, and its structure.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> leaves, shape = lg.func.trees.flatten({"a": 1, "b": (2, 3)})
    >>> leaves
    [1, 2, 3]
    """
    leaves: list[Any] = []
    return leaves, _gather(tree, leaves)


def _gather(tree: Any, leaves: list[Any]) -> Shape:
    family = _families.get(type(tree)) or _family(tree)
    if family is None:
        leaves.append(tree)
        return _LEAF
    parts, rest = family.take_apart(tree)
    parts = tuple(parts)
    if set(_map(type, parts)) == _TENSORS:
        leaves.extend(parts)
        shape = _flat(type(tree), len(parts))  # type: ignore[arg-type]  # a type has a hash
        return shape if rest is None else Shape(shape.kind, shape.parts, rest, flat=True)
    return Shape(type(tree), tuple([_gather(part, leaves) for part in parts]), rest)


@functools.lru_cache(maxsize=1024)
def _flat(kind: type, count: int) -> Shape:
    return Shape(kind, (_LEAF,) * count, flat=True)


def leaves_like(shape: Shape, tree: Any) -> list[Any] | None:
    """The leaves of a tree in the order of a structure, None if it has another one; dictionaries go by their keys."""
    leaves: list[Any] = []
    if _gather(tree, leaves) == shape:
        return leaves
    leaves, its_shape = flatten(_ordered(tree, shape))
    return leaves if its_shape == shape else None


def _ordered(tree: Any, shape: Shape) -> Any:
    """The tree with its dictionaries in the order that the structure has, where they have the same keys."""
    kind = type(tree)
    if kind is not shape.kind or kind not in _families:
        return tree
    parts, rest = _families[kind].take_apart(tree)
    parts = list(parts)
    if len(parts) != len(shape.parts):
        return tree
    if (
        kind in _BY_KEY
        and rest != shape.rest
        and set(rest) == set(shape.rest)
        and rest[len(parts) :] == shape.rest[len(parts) :]
    ):
        rest, parts = shape.rest, [tree[key] for key in shape.rest[: len(parts)]]
    parts = [_ordered(part, its_shape) for part, its_shape in zip(parts, shape.parts, strict=True)]
    return _families[kind].put_together(parts, rest)


def unflatten(shape: Shape, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> leaves, shape = lg.func.trees.flatten({"a": 1, "b": (2, 3)})
    >>> lg.func.trees.unflatten(shape, [10, 20, 30])
    {'a': 10, 'b': (20, 30)}
    """
    return shape.build(iter(leaves))


def map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of trees of one structure.

    Examples
    --------
    >>> from lucidgrad.func import trees
    >>> trees.map(lambda a, b: a + b, {"w": 1, "b": [2]}, {"w": 10, "b": [20]})
    {'w': 11, 'b': [22]}
    """
    leaves, shape = flatten(tree)
    columns = [leaves]
    for other in others:
        more = leaves_like(shape, other)
        if more is None:
            raise ValueError(f"trees.map: given trees of different structure, {shape} and {flatten(other)[1]}")
        columns.append(more)
    return unflatten(shape, [function(*row) for row in zip(*columns, strict=True)])


def broadcast_prefix(prefix: Any, tree: Any, what: str) -> list[Any]:
    """One value per leaf of a tree, from a tree that may end earlier: a value there holds for all leaves below."""
    leaves: list[Any] = []
    _broadcast(prefix, tree, what, leaves)
    return leaves


def _broadcast(prefix: Any, tree: Any, what: str, leaves: list[Any]) -> None:
    family = _family(prefix)
    if family is None:
        leaves.extend([prefix] * len(flatten(tree)[0]))
        return
    theirs = _family(tree)
    parts, rest = family.take_apart(prefix)
    parts = list(parts)
    tree_parts, tree_rest = theirs.take_apart(tree) if theirs is not None else ((), None)
    tree_parts = list(tree_parts)
    if type(prefix) in _BY_KEY and type(tree) in _BY_KEY:
        fits = prefix.keys() == tree.keys()
        parts = [prefix[key] for key in tree] if fits else parts
    else:
        fits = isinstance(prefix, list) == isinstance(tree, list) and len(parts) == len(tree_parts)
        fits = fits and rest == tree_rest and theirs is not None
    if not fits:
        raise ValueError(
            f"{what}: given {prefix!r}, which does not fit the structure {flatten(tree)[1]}; "
            f"expected one value, or the same structure"
        )
    for part, tree_part in zip(parts, tree_parts, strict=True):
        _broadcast(part, tree_part, what, leaves)
