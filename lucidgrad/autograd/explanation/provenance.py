"""Where values came from: notes taken while the forward runs, so that `explain` can name lines.

Every node gets the line that called it and a skeleton of its ancestry (ages only, no arrays). Every result that is
off the tape gets the reasons why: which values that carried gradients went into it, and where they lost them.
Tensors are known weakly, and reasons per tensor are few, so nothing lives longer than it would.
"""

import linecache
import weakref
from collections import deque
from typing import Any, NamedTuple

from lucidgrad.autograd.anomaly import _TRACE
from lucidgrad.callers import caller
from lucidgrad.core.box import INFERENCE, Box
from lucidgrad.core.dispatch import floats
from lucidgrad.core.modes import new_nodes, state, told
from lucidgrad.core.tape import Leaf, Output, clock

_NOTE = "provenance"  # where a node's metadata has its note
_MOST = 32  # reasons that one tensor keeps


class Site(NamedTuple):
    """A line of a program.

    Examples
    --------
    >>> from lucidgrad.autograd.explanation.provenance import Site
    >>> str(Site("train.py", 12, "step"))
    'train.py:12, in step'
    """

    file: str
    line: int
    function: str

    @property
    def source(self) -> str:
        """The text of the line, empty if it can't be read."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


def here() -> Site | None:
    """The innermost line that called into this library."""
    frame = caller()
    return None if frame is None else Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class Skeleton:
    """The ancestry of a node without its values."""

    __slots__ = ("parents", "when")

    def __init__(self, when: int, parents: tuple[Any, ...]) -> None:
        self.when = when
        self.parents = parents  # skeletons, and weak references to nodes that were made before notes were taken


def _skeleton(node: Any) -> Any:
    if type(node) is Leaf:
        return Skeleton(node.when, ())
    if type(node) is Output:
        return Skeleton(node.when, (_skeleton(node.fork),))
    noted = note_of(node)
    return weakref.ref(node) if noted is None else noted.skeleton


def depends(skeleton: Any, when: int) -> bool:
    """Whether the node of this time is among the ancestors."""
    seen: set[int] = set()
    stack = [skeleton]
    while stack:
        found = stack.pop()
        if isinstance(found, weakref.ref):
            found = found()
            if found is None:
                continue
            parents = tuple(_skeleton(p) for p in found.inputs if p is not None)
        else:
            parents = found.parents
        if found.when == when:
            return True
        if found.when not in seen:
            seen.add(found.when)
            stack += parents
    return False


class Reason:
    """Why a value carries no gradient: what was done where, to a value that did; or that it never did."""

    __slots__ = ("cause", "constant", "op", "order", "site", "source")

    def __init__(self, cause: str, op: str, site: Site | None, source: Any, constant: Any = None) -> None:
        self.cause, self.op, self.site = cause, op, site
        self.source = source  # the skeletons of the values that carried gradients
        self.constant = constant  # a weak reference to the tensor, where that never did
        self.order = next(clock)  # when it was: nodes are counted with it

    def concerns(self, x: Any, node: Any) -> bool:
        """Whether this cut off the tensor x, whose node is given."""
        if self.constant is not None:
            return self.constant() is x
        return node is not None and any(depends(s, node.when) for s in self.source)


class Note:
    """What is noted of a node: the line of its call, its ancestry, and why some of its inputs carry no gradient."""

    __slots__ = ("fed", "site", "skeleton")

    def __init__(self, site: Site | None, skeleton: Skeleton) -> None:
        self.site, self.skeleton = site, skeleton
        self.fed: tuple[Reason, ...] = ()


#: Reasons of tensors that are off the tape, by id, with a weak reference that takes the entry away.
_off: dict[int, tuple[Any, tuple[Reason, ...]]] = {}

#: Tensors that share the memory of another one by `detach`, by id: weak references to both.
_memory: dict[int, tuple[Any, Any]] = {}

#: The latest values that were read into host memory, where no tape follows.
_read: deque[Reason] = deque(maxlen=_MOST)


def note_of(node: Any) -> Note | None:
    """The note of a node, or None."""
    extras = getattr(node, "extras", None)
    return extras.metadata.get(_NOTE) if extras is not None and extras.metadata else None


def site_of(node: Any) -> Site | None:
    """The line that called the operation of a node, where `explaining` or anomaly mode noted it."""
    if type(node) is Output:
        node = node.fork
    noted = note_of(node)
    if noted is not None:
        return noted.site
    extras = getattr(node, "extras", None)
    frames = extras.metadata.get(_TRACE) if extras is not None and extras.metadata else None
    return Site(frames[-1].filename, frames[-1].lineno or 0, frames[-1].name) if frames else None


def reasons_of(x: Any) -> tuple[Reason, ...]:
    """Why a tensor is off the tape, as far as it was noted."""
    found = _off.get(id(x))
    return found[1] if found is not None and found[0]() is x else ()


def reads() -> list[Reason]:
    """The latest reads into host memory, newest first."""
    return list(reversed(_read))


def _keep_reasons(x: Any, reasons: list[Reason]) -> None:
    if len(reasons) > 1:
        reasons = sorted(set(reasons), key=lambda r: (r.constant is None, r.order))[-_MOST:]
    key = id(x)
    _off[key] = weakref.ref(x, lambda _: _off.pop(key, None)), tuple(reasons)


def _note(node: Any) -> None:
    if note_of(node) is None:  # contexts may nest
        parents = tuple([_skeleton(parent) for parent in node.inputs if parent is not None])
        node.metadata[_NOTE] = Note(here(), Skeleton(node.when, parents))


def _told(op: Any, inputs: tuple[Any, ...], made: Any) -> None:
    inherited = [reason for x in inputs if isinstance(x, Box) for reason in _carried(x)]
    results = made if type(made) is tuple else (made,)
    off = [y for y in results if isinstance(y, Box) and (y._node is None or type(y._node) is Leaf or op == "detach_")]
    for node in {y._node for y in results} if inherited and op != "host" else ():
        noted = note_of(getattr(node, "fork", node))
        if noted is not None:
            noted.fed = tuple(dict.fromkeys((*noted.fed, *inherited)))[-_MOST:]
    shared = _sharing(made) if inputs and made is inputs[0] and not isinstance(op, str) else []
    if not off and not shared and op != "host":
        return
    told = [x for x in inputs if isinstance(x, Box) and x._node is not None]
    sources = tuple(_skeleton(x._node) for x in told if op == "detach_" or not any(x is y for y in results))
    if op == "host":
        _read.extend([Reason("host", op, here(), sources)] if sources else [r for r in inherited if r.constant is None])
        return
    name = op.rstrip("_") if isinstance(op, str) else op.name
    for y in off:
        own = [Reason(_cause(op, y), name, here(), sources)] if sources else []
        if own or inherited:
            _keep_reasons(y, [*inherited, *own])
    for y, detached in shared:
        cause = "detach" if detached and state.recording else _cause(op, y)
        own = [Reason(cause, "detach" if cause == "detach" else name, here(), sources)] if sources else []
        own += [reason for x in inputs[1:] if isinstance(x, Box) for reason in _carried(x)]
        if own:
            _keep_reasons(y, [*reasons_of(y), *own])
    if op == "detach":
        key = id(made)
        _memory[key] = weakref.ref(made, lambda _: _memory.pop(key, None)), weakref.ref(inputs[0])


def _sharing(written: Any) -> list[tuple[Any, bool]]:
    """What changes with a tensor that was written, and is off the tape: its base, and what they were detached from."""
    found, at, detached, seen = [], written, False, set[int]()
    while isinstance(at, Box) and id(at) not in seen:
        seen.add(id(at))
        if at is not written and (at._node is None or type(at._node) is Leaf):
            found.append((at, detached))
        if at._alias is not None and at._alias is not INFERENCE:
            at = at._alias.base
        else:
            known = _memory.get(id(at))
            at, detached = (known[1](), True) if known is not None and known[0]() is at else (None, detached)
    return found


def _carried(x: Any) -> tuple[Reason, ...]:
    """The reasons that go with the use of a tensor; a leaf may have been cut off from what it was made of."""
    if x._node is not None:
        return tuple(r for r in reasons_of(x) if r.constant is None) if type(x._node) is Leaf else ()
    if not reasons_of(x):
        _keep_reasons(x, [Reason("constant", "", None, (), weakref.ref(x))])
    return reasons_of(x)


def _cause(op: Any, out: Any) -> str:
    if isinstance(op, str):
        return "detach"
    if not state.recording:
        return "inference_mode" if state.fresh is INFERENCE else "no_grad"
    return "integer" if op.name == "astype" and out.array.dtype not in floats else "not_differentiable"


class explaining(new_nodes):
    """A context in which calls are noted, so that `explain` can name the lines that are to blame.

    Use it around the forward; it costs a few microseconds per operation and looks at no values.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> with lg.autograd.explaining():
    ...     loss = (x.detach() * 2).sum()
    >>> lg.autograd.explain(loss, x).cause
    'detach'
    """

    def __init__(self) -> None:
        super().__init__(None, _note)

    def _changes(self) -> Any:
        if state.told is None:
            _read.clear()
        return (*super()._changes(), (told, _told))
