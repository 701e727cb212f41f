"""Anomaly mode: find the operation whose backward made a NaN or an infinity or failed, and where it was called."""

import sys
import traceback
import warnings
from typing import Any

from lucidgrad.callers import is_own
from lucidgrad.core import device
from lucidgrad.core.dispatch import floats
from lucidgrad.core.modes import NewNodes, new, new_nodes, observers, plain_nodes, state
from lucidgrad.core.plan import reach
from lucidgrad.levels.layer import Layer
from lucidgrad.refusals import guard as _guard

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]

_TRACE = "traceback"  # where a node's metadata has the stack of its call
_NAN = "NaN in forward"  # and what its call did with it


def _note_stack(node: Any) -> None:
    """Keep where an operation was called, without this library's own frames."""
    frames = [f for f in traceback.extract_stack() if "<operator" not in f.filename]
    while frames and is_own(frames[-1].filename):
        frames.pop()
    node.metadata[_TRACE] = frames


def stack_of(node: Any) -> str:
    """Where the operation of a node was called, as text; empty if it was not noted."""
    extras = getattr(node, "extras", None)
    noted = extras.metadata.get(_TRACE) if extras is not None and extras.metadata else None
    return "".join(traceback.format_list(noted)) if noted else ""


def _note_nan(node: Any, y: Any, arrays: Any) -> None:
    """Keep whether the result of an operation has a NaN, and whether an input had one."""
    if "NaN" in _kinds_of(y):
        given = any("NaN" in _kinds_of(a) for a in arrays if type(a) in device.by_array)
        node.metadata[_NAN] = "was given" if given else "made"


def _story(node: Any) -> str:
    """Which of the operations that a node depends on had the first NaN in forward, if one had."""
    noted = [n for n in reach([node])[0] if getattr(n, "extras", None) is not None and n.extras.metadata]
    guilty = min((n for n in noted if _NAN in n.extras.metadata), key=lambda n: n.when, default=None)
    if guilty is None:
        return ""
    verb = guilty.extras.metadata[_NAN]
    return f". In forward, {guilty.recipe.primitive.name} {verb} the first NaN{_place(stack_of(guilty))}"


class _Inspector:
    """Knows the node whose rule runs, and looks at every cotangent of a walk if it is to check them."""

    def __init__(self, check: bool) -> None:
        self.check = check
        self._running: dict[Any, Any] = {}  # walk -> the node whose rule runs

    def before(self, node: Any, g: Any) -> None:
        kinds = _kinds_of(g) if self.check else ()
        if kinds:  # no operation before made it, or the walk would have ended there
            name, kind = node.recipe.primitive.name, " and ".join(kinds)
            _warn(f"{kind} came into backward of {name}", node)
            raise RuntimeError(
                f"{kind} came into backward of {name}, and no operation's backward made it: "
                f"the seed, a hook, or the sum of gradients did{_place(stack_of(node))}{_story(node)}"
            )
        walk = state.walking
        if walk not in self._running:
            walk.at_end.append(self._end)
        self._running[walk] = node

    def after(self, node: Any, g: Any, cts: Any) -> None:
        self._running[state.walking] = None
        for i, ct in enumerate(cts) if self.check else ():
            kinds = _kinds_of(ct)
            if kinds:
                message = (
                    f"backward of {node.recipe.primitive.name} made {kinds[0]} in the gradient of its input {i + 1}"
                )
                _warn(message, node)
                raise RuntimeError(f"{message} (shape {tuple(ct.shape)}){_place(stack_of(node))}{_story(node)}")

    def failed(self, node: Any) -> None:
        """An error is about to be raised, or was, for what a node should do."""
        _warn(f"an error came up in backward of {node.recipe.primitive.name}", node)

    def _end(self, walk: Any) -> None:
        node, error = self._running.pop(walk), sys.exc_info()[1]
        if node is not None:
            self.failed(node)
            if error is not None:
                error.add_note(f"in backward of {node.recipe.primitive.name}{_place(stack_of(node))}")


def _warn(message: str, node: Any) -> None:
    where = stack_of(node)
    if where:
        warnings.warn(f"{message}; the operation was called here:\n{where}", stacklevel=3)
    else:
        warnings.warn(f"{message}; it was called before anomaly detection was on", stacklevel=3)


def _place(where: str) -> str:
    last = [line.strip() for line in where.splitlines() if line.strip().startswith("File")]
    return f"; called at {last[-1].removeprefix('File ')}" if last else ""


def _kinds_of(ct: Any) -> tuple[str, ...]:
    """What is wrong with a cotangent: 'NaN', 'an infinity', both or nothing."""
    if type(ct) in (tuple, list):
        return tuple(dict.fromkeys(kind for part in ct for kind in _kinds_of(part)))
    array = ct if ct is None or type(ct) in device.by_array else ct.array
    if array is None or array.dtype not in floats:
        return ()
    while isinstance(array, Layer):
        array = array.front
    values = device.by_array[type(array)].to_numpy(array)
    bad = ("NaN", (values != values).any()), ("an infinity", (abs(values) == float("inf")).any())
    return tuple(kind for kind, found in bad if found)


class detect_anomaly(new_nodes):
    """A context in which backward raises where it makes a NaN or an infinity, and tells where the op was called.

    It looks at all values, so it takes time (and waits for the GPU): for debugging only. The call is also told where
    backward fails with an error of its own, and where a NaN came up in forward already, the call that made the first.

    Parameters
    ----------
    check_nan
        Look at the values; if False, only the calls are noted, also inside of a context that looks.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0], requires_grad=True)
    >>> with lg.autograd.detect_anomaly():
    ...     y = lg.sqrt(x) * 0 + x
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(None, _quietly, call=True)
        self._check = check_nan

    def _changes(self) -> Any:
        others = tuple(o for o in state.observers if not isinstance(o, _Inspector))
        return (*super()._changes(), (observers, (*others, _Inspector(self._check))))


def _quietly(node: Any, y: Any, arrays: Any, keywords: Any) -> None:
    with plain_nodes():
        _note_stack(node)
        if any(isinstance(o, _Inspector) and o.check for o in state.observers):
            _note_nan(node, y, arrays)


class set_detect_anomaly(detect_anomaly):
    """Switch anomaly detection on or off; as a context it is undone at the end.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> with lg.autograd.set_detect_anomaly(True):
    ...     lg.autograd.anomaly.is_anomaly_enabled()
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(check_nan)
        self._on = mode
        self._at_once = False
        self.__enter__()
        self._at_once = True

    def _changes(self) -> Any:
        if self._at_once:  # switched by the constructor: a block goes back to what was before it
            self._at_once = False
            self.__exit__()
        return super()._changes() if self._on else _without()


def _without() -> Any:
    """The modes without anomaly detection."""
    notes = tuple(n for n in state.notes if n is not _quietly)
    others = tuple(o for o in state.observers if not isinstance(o, _Inspector))
    return (new, NewNodes(state.keep, notes)), (observers, others)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.autograd.anomaly.is_anomaly_enabled()
    False
    """
    return _quietly in state.notes


_guard(__name__, __all__)
