"""PyTorch's ``torch.save`` and ``torch.load``: `lucidgrad.files`, with PyTorch's arguments."""

from typing import Any

from lucidgrad import files

__all__ = ["load", "save"]


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write a tree of tensors, numbers and text to a file: `lucidgrad.save`, which pickles nothing.

    The arguments that say how to pickle are accepted. Whole modules are refused: save their ``state_dict()``.
    """
    files.save(obj, f)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read a file that `save` wrote, or PyTorch: `lucidgrad.load`, which runs no code.

    ``weights_only`` and the arguments that say how to unpickle are accepted: a file of anything but tensors, numbers,
    text and plain containers is refused.
    """
    return files.load(f, map_location, weights_only=weights_only)
