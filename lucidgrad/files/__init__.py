"""Files of tensors: `save` and `load` trees of tensors, numbers and text in the safetensors format, without pickle.

Other programs read the tensors by their names. The tree they stood in is kept as text in the header's metadata, with
checksums, so that a damaged file is told from a sound one. Checkpoints of PyTorch, NumPy's arrays and models in several
files are read, too. Loading only ever makes tensors, numbers, strings and plain containers, and runs no code.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lucidgrad.core import device as devices
from lucidgrad.core.dispatch import box
from lucidgrad.core.errors import DeviceError
from lucidgrad.refusals import guard as _guard
from lucidgrad.tensor import Tensor

from . import arrays, shards
from .access import Source, is_file, name_of, opened, replacing
from .archive import Archive, is_archive
from .checkpoint import Checkpoint, refuse_old
from .container import CHECK, TREE, FileFormatError, about_file, explained, is_text, layout, read_array, read_header
from .tree import Reader, Writer

__all__ = ["FileFormatError", "load", "metadata", "save"]

_Place = Callable[[Any, str], Any]  # an array of the host, and where it was, as an array where it goes


def save(obj: Any, path: "str | os.PathLike[str] | Any", *, metadata: Mapping[str, str] | None = None) -> None:
    """Write a tree of tensors, numbers and strings to a safetensors file, all of it or nothing.

    What is kept: dicts, ordered dicts, lists and tuples of tensors and arrays of every dtype, bools, ints, floats,
    complex numbers (NumPy's as Python's), strings, bytes, None, dtypes and devices; of tensors ``requires_grad``,
    whether one is a parameter, and which are the same or occupy the same memory. History and gradients are not.

    Parameters
    ----------
    obj
        The tree. An object of another type is a TypeError that says where it stands.
    path
        The file. It is replaced when the new one is complete, and not touched if anything fails before; until then
        nobody else can read the new one. Or an open binary file, such as an ``io.BytesIO``, which is written to.
    metadata
        Strings by name, for other readers of the file; see `lucidgrad.files.metadata`.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> lg.save({"w": lg.ones(2, requires_grad=True), "step": 3}, path)
    >>> lg.load(path)
    {'w': tensor([1., 1.], requires_grad=True), 'step': 3}
    """
    notes = dict(metadata or {})
    for key, value in notes.items():
        if type(key) is not str or type(value) is not str:
            raise TypeError(f"save: metadata has {key!r}: {type(value).__name__}, expected strings by strings")
        if key in (TREE, CHECK):
            raise ValueError(f"save: the metadata key {key!r} is used by the format; choose another")
        if not is_text(key) or not is_text(value):
            raise ValueError(f"save: the metadata {key!r} has half of a surrogate pair, which is no text")
    writer = Writer()
    tree = writer.node(obj, ())
    header, blocks = layout(tree, writer.arrays, notes)
    place: Any = contextlib.nullcontext(path) if is_file(path, "write") else replacing(path)
    with place as file:
        file.write(header)
        for block in blocks:
            file.write(block)


def load(
    path: "str | os.PathLike[str] | Any",
    map_location: Any = None,
    *,
    device: Any = None,
    requires_grad: bool | None = None,
    weights_only: bool | None = None,
) -> Any:
    """Read a file that `save` wrote, or another program: what it is, its first bytes tell.

    A safetensors file and NumPy's .npz give a dict of tensors, .npy a tensor; a checkpoint of PyTorch what was saved,
    if that is made of tensors, parameters, numbers, text and plain containers; an index of a model in several files
    (``model.safetensors.index.json``) the dict of all of them. No code in a file is run: what is no data is refused by
    its name. Sizes are checked against the file before memory is taken for them.

    Parameters
    ----------
    path
        The file, which must be a regular one; or an open binary file, such as an ``io.BytesIO``, read to its end.
    map_location, device
        Where tensors go: a device, a dict from the devices they were on to others, or a function that is given a tensor
        on the CPU and the name of the device it was on, and returns a device, a tensor that is there, or None. By
        default where they were.
    requires_grad
        Whether the tensors of floating-point and complex numbers require gradients, whatever was saved.
    weights_only
        As in PyTorch, where False lets a file run code; here none ever does, and both mean the same.

    Returns
    -------
    object
        The tree.

    Raises
    ------
    FileFormatError
        The file is none of these, is damaged or cut short, or has what is not loaded.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "pair.safetensors")
    >>> w = lg.arange(3.0)
    >>> lg.save([w, w], path)
    >>> a, b = lg.load(path, map_location="cpu")
    >>> a is b
    True
    """
    if map_location is not None and device is not None:
        raise ValueError("load: given both map_location and device, expected one of them")
    target = device if map_location is None else map_location
    with opened(path) as source, explained(name_of(path)):
        tree, tensors = _read(source, path, lambda host, saved_on: _placed(host, target, saved_on))
    if requires_grad is not None:
        for t in tensors:
            t.requires_grad_(requires_grad and (t.is_floating_point() or t.is_complex()))
    return tree


def _read(source: Source, path: Any, place: _Place) -> tuple[Any, Iterable[Tensor]]:
    """What a file holds, and the tensors in it."""
    first = source.file.read(min(source.length, 512))
    source.file.seek(source.start)
    if is_archive(first):
        archive = Archive(source)
        if not arrays.is_archive_of_arrays(archive):
            checkpoint = Checkpoint(archive, place)
            return checkpoint.tree(), checkpoint.tensors
        found = {name: box(place(array, "cpu")) for name, array in arrays.read_archive(archive).items()}
        return found, found.values()
    if first.startswith(arrays.MAGIC):
        made: Tensor = box(place(arrays.read_array(source), "cpu"))
        return made, [made]
    if shards.is_index(first, source.length):
        parts = shards.Index(source, path)
        found = parts.merged(lambda part, at: _read(part, at, place)[0])
        return found, found.values()
    refuse_old(first)
    return _read_own(source, place)


def _read_own(source: Source, place: _Place) -> tuple[Any, Iterable[Tensor]]:
    entries, notes, start = read_header(source)
    about = about_file(notes, entries)
    sums, wide = about.get("sums", {}), set(about.get("complex128", ()))
    held = {}
    for key, entry in entries.items():
        source.file.seek(start + entry.start)
        held[key] = read_array(source.file, key, entry, sums.get(key), key in wide)
    known: dict[tuple[str, str], Any] = {}

    def placed(name: str, saved_on: str) -> Any:
        if (name, saved_on) not in known:
            known[name, saved_on] = place(held[name], saved_on)
        return known[name, saved_on]

    reader = Reader(placed)
    tree = reader.node(about["tree"]) if about else {key: reader.tensor(key, {}, 0) for key in entries}
    return tree, reader.tensors


def metadata(path: "str | os.PathLike[str] | Any") -> dict[str, str]:
    """The strings that a safetensors file has beside its tensors, without those that `load` needs itself.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "noted.safetensors")
    >>> lg.save([1], path, metadata={"author": "Ada"})
    >>> lg.files.metadata(path)
    {'author': 'Ada'}
    """
    with opened(path) as source, explained(name_of(path)):
        _, notes, _ = read_header(source)
    return {key: value for key, value in notes.items() if key not in (TREE, CHECK)}


def _placed(host: Any, target: Any, saved_on: str) -> Any:
    """An array of the host where it goes."""
    if isinstance(target, Mapping):
        target = target.get(saved_on, saved_on)
    elif callable(target):
        try:
            found = target(box(host), saved_on)
        except Exception as error:  # which is not the file's fault
            given = getattr(target, "__name__", type(target).__name__)
            raise DeviceError(
                f"load: map_location is {given}, which failed; expected a function of a tensor and of where it was"
            ) from error
        target = found.device if isinstance(found, Tensor) else found
    where = str(devices.located(saved_on if target is None else target))
    try:
        return devices.backend_named(where).from_numpy(host, where)
    except TypeError as error:  # a dtype that the device does not compute with, which is not the file's fault
        raise DeviceError(str(error)) from error


_guard(__name__, __all__)
