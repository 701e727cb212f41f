"""Anomaly mode: find the operation whose backward made a NaN or an infinity, and where it was called."""

import traceback
import warnings
from typing import Any

from lucidgrad.core import device
from lucidgrad.core.dispatch import floats
from lucidgrad.core.levels import Layer
from lucidgrad.core.modes import new_nodes, plain_nodes, state

__all__ = ["detect_anomaly", "is_anomaly_enabled", "set_detect_anomaly"]

_TRACE = "traceback"  # where a node's metadata has the stack of its call


def _note_stack(node: Any) -> None:
    """Keep where an operation was called, without this library's own frames."""
    frames = [f for f in traceback.extract_stack() if "<operator" not in f.filename]
    while frames and _is_ours(frames[-1].filename):
        frames.pop()
    node.metadata[_TRACE] = frames


def _is_ours(file: str) -> bool:
    return file.startswith(_HOME)


_HOME = __file__.rpartition("autograd")[0]


def stack_of(node: Any) -> str:
    """Where the operation of a node was called, as text; empty if it was not noted."""
    extras = getattr(node, "extras", None)
    noted = extras.metadata.get(_TRACE) if extras is not None and extras.metadata else None
    return "".join(traceback.format_list(noted)) if noted else ""


class _Inspector:
    """Looks at every cotangent of a walk."""

    def before(self, node: Any, g: Any) -> None:
        pass

    def after(self, node: Any, g: Any, cts: Any) -> None:
        given = [_bad(part) for part in (g if type(g) is tuple else (g,))]
        for i, ct in enumerate(cts):
            kind = _bad(ct)
            if kind is None or kind in given:
                continue  # it is none, or it came in
            name = node.recipe.primitive.name
            where = stack_of(node)
            message = f"backward of {name} made {kind} in the gradient of its input {i + 1}"
            if where:
                warnings.warn(f"{message}; the operation was called here:\n{where}", stacklevel=2)
            else:
                warnings.warn(f"{message}; it was called before anomaly detection was on", stacklevel=2)
            raise RuntimeError(f"{message} (shape {tuple(ct.shape)}){_place(where)}")


def _place(where: str) -> str:
    last = [line.strip() for line in where.splitlines() if line.strip().startswith("File")]
    return f"; called at {last[-1].removeprefix('File ')}" if last else ""


def _bad(ct: Any) -> str | None:
    """What is wrong with an array: 'NaN', 'an infinity' or nothing."""
    array = ct if ct is None or type(ct) in device.by_array else ct.array
    if array is None or array.dtype not in floats:
        return None
    while isinstance(array, Layer):
        array = array.front
    values = device.by_array[type(array)].to_numpy(array)
    if (values != values).any():
        return "NaN"
    return "an infinity" if (abs(values) == float("inf")).any() else None


class detect_anomaly(new_nodes):
    """A context in which backward raises where it makes a NaN or an infinity, and tells where the op was called.

    It looks at all values, so it takes time (and waits for the GPU): for debugging only.

    Parameters
    ----------
    check_nan
        Look at the values; if False, only the calls are noted.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.tensor([0.0], requires_grad=True)
    >>> with lg.autograd.detect_anomaly():
    ...     y = lg.sqrt(x) * 0 + x
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(None, _quietly)
        self._check = check_nan
        self._observers: list[tuple[Any, ...]] = []

    def __enter__(self) -> None:
        super().__enter__()
        self._observers.append(state.observers)
        if self._check:
            state.observers = (*state.observers, _Inspector())

    def __exit__(self, *exc: object) -> None:
        state.observers = self._observers.pop()
        super().__exit__(*exc)


def _quietly(node: Any) -> None:
    with plain_nodes():
        _note_stack(node)


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
        self._outside = state.keep, state.notes, state.observers
        if mode:
            super().__enter__()
        else:
            state.observers = tuple(o for o in state.observers if not isinstance(o, _Inspector))
            self._set(state.keep, tuple(n for n in state.notes if n is not _quietly))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        keep, notes, state.observers = self._outside
        self._set(keep, notes)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this thread."""
    return _quietly in state.notes
