"""Checkpoints on disk: all that a training needs to go on as if it had not been interrupted."""

import copy
import os
from collections.abc import Mapping
from typing import Any

import lucidgrad as lg

__all__ = ["load_checkpoint", "save_checkpoint"]

_KIND = "lucidgrad checkpoint"


def save_checkpoint(
    path: "str | os.PathLike[str]", *, rng: bool = True, metadata: Mapping[str, str] | None = None, **parts: Any
) -> None:
    """Save the states of a model, an optimiser, a scheduler, a loader and so on, and of the random numbers.

    Parameters
    ----------
    path
        The file, which is replaced when the new one is complete.
    rng
        Whether the states of all default generators are saved, too.
    metadata
        Strings by name; see `lucidgrad.save`.
    **parts
        By name: objects with a ``state_dict``, and values such as the number of the step.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "checkpoint.safetensors")
    >>> g = lg.utils.data.DataLoader(range(4), shuffle=True)
    >>> lg.utils.save_checkpoint(path, loader=g, step=7)
    >>> lg.utils.load_checkpoint(path, loader=g)
    {'step': 7}
    """
    states = {name: part.state_dict() for name, part in parts.items() if _has_state(part)}
    values = {name: part for name, part in parts.items() if name not in states}
    found = {"kind": _KIND, "states": states, "values": values, "rng": lg.random.get_rng_state() if rng else None}
    lg.save(found, path, metadata=metadata)


def load_checkpoint(
    path: "str | os.PathLike[str]", *, rng: bool = True, map_location: Any = "cpu", **parts: Any
) -> dict[str, Any]:
    """Load what `save_checkpoint` saved into objects that have been made anew: all of it, or nothing.

    Parameters
    ----------
    path
        The file.
    rng
        Whether random numbers go on from the saved states.
    map_location
        Where tensors are read to, before each object takes them to where it is; see `lucidgrad.load`.
    **parts
        By name: objects with ``load_state_dict``. States that are not asked for are left out.

    Returns
    -------
    dict
        The values that were saved, by name.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "checkpoint.safetensors")
    >>> layer = lg.nn.Linear(2, 1)
    >>> lg.utils.save_checkpoint(path, model=layer, step=7)
    >>> lg.utils.load_checkpoint(path, model=lg.nn.Linear(2, 1))
    {'step': 7}
    """
    found = lg.load(path, map_location=map_location)
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise ValueError(f"load_checkpoint: {path} was not written by save_checkpoint; use lucidgrad.load")
    states = found["states"]
    for name, part in parts.items():
        if name not in states:
            raise ValueError(
                f"load_checkpoint: asked for the state {name!r}, the file has {', '.join(states) or 'none'}"
            )
        if not callable(getattr(part, "load_state_dict", None)):
            raise TypeError(f"load_checkpoint: {name} is a {type(part).__name__}, which has no load_state_dict")
        _compare(name, part.state_dict(), states[name])
    before = {name: copy.deepcopy(part.state_dict()) for name, part in parts.items()}
    numbers = lg.random.get_rng_state()
    try:
        for name, part in parts.items():
            part.load_state_dict(states[name])
        if rng and found["rng"] is not None:
            lg.random.set_rng_state(found["rng"])
    except BaseException:
        for name, part in parts.items():
            part.load_state_dict(before[name])
        lg.random.set_rng_state(numbers)
        raise
    values: dict[str, Any] = found["values"]
    return values


def _has_state(part: Any) -> bool:
    return callable(getattr(part, "state_dict", None)) and not isinstance(part, lg.Tensor)


def _compare(name: str, own: Any, saved: Any) -> None:
    """A state that is a dict of tensors, as a module's, must have the same names and shapes."""
    if not own or not all(isinstance(value, lg.Tensor) for value in own.values()) or not isinstance(saved, Mapping):
        return
    missing, stray = own.keys() - saved.keys(), saved.keys() - own.keys()
    if missing or stray:
        raise ValueError(
            f"load_checkpoint: the saved state of {name} does not fit: it lacks {sorted(missing)}, "
            f"and has {sorted(stray)}"
        )
    for key, value in own.items():
        if tuple(value.shape) != tuple(saved[key].shape):
            raise ValueError(
                f"load_checkpoint: {name}[{key!r}] was saved with the shape {saved[key].shape}, expected {value.shape}"
            )
