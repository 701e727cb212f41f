"""Event files for TensorBoard, by the package tensorboardX: PyTorch's names, given lucidgrad's tensors.

``pip install tensorboardX`` writes them, ``pip install tensorboard`` and ``tensorboard --logdir runs`` show them.
"""

import importlib
from collections.abc import Callable
from typing import Any

from lucidgrad.tensor import Tensor

__all__ = ["SummaryWriter"]

#: The methods of tensorboardX's writer that PyTorch's has, too, with the same arguments.
_METHODS = """
add_scalar add_scalars add_histogram add_image add_images add_image_with_boxes add_figure add_video add_audio add_text
add_embedding add_pr_curve add_mesh add_hparams add_custom_scalars flush close
""".split()


def _plain(value: Any) -> Any:
    """Tensors as arrays of the host, also inside dicts, lists and tuples; they and their history stay as they are."""
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value


class SummaryWriter:
    """Writes what a training tells into a folder that TensorBoard shows.

    Its methods are PyTorch's: ``add_scalar``, ``add_scalars``, ``add_histogram``, ``add_image``, ``add_figure``,
    ``add_text``, ``add_hparams``, ..., ``flush`` and ``close``. Tensors of every device are taken, with or without
    history; to write one waits for it.

    Parameters
    ----------
    log_dir
        The folder; by default one in ``runs``, named by time and host.
    comment
        What is appended to that name.
    **settings
        Further arguments of ``tensorboardX.SummaryWriter``: ``purge_step``, ``max_queue``, ``flush_secs``,
        ``filename_suffix``.

    Examples
    --------
    >>> import lucidgrad as lg, tempfile
    >>> from lucidgrad.utils.tensorboard import SummaryWriter
    >>> with SummaryWriter(tempfile.mkdtemp()) as writer:  # doctest: +SKIP
    ...     for step in range(3):
    ...         writer.add_scalar("loss", lg.exp(-lg.tensor(float(step))), step)
    """

    def __init__(self, log_dir: Any = None, comment: str = "", **settings: Any) -> None:
        try:
            library = importlib.import_module("tensorboardX")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "SummaryWriter: event files are written by the package tensorboardX, which is not installed: "
                "pip install tensorboardX"
            ) from error
        self._writer = library.SummaryWriter(None if log_dir is None else str(log_dir), comment, **settings)

    @property
    def log_dir(self) -> str:
        """The folder."""
        return str(self._writer.logdir)

    def get_logdir(self) -> str:
        """The folder, as PyTorch's method has it."""
        return self.log_dir

    def add_profile(self, profile: Any, global_step: int | None = None, tag: str = "profile") -> None:
        """Write what a `lucidgrad.profiler.profile` measured: its table, and milliseconds by operation."""
        self._writer.add_text(tag, "\n".join(f"    {line}" for line in profile.table().splitlines()), global_step)
        for row in profile.key_averages():
            for way in ("forward", "backward"):
                stats = getattr(row, way)
                if stats.count:
                    self._writer.add_scalar(f"{tag}/{way}/{row.key}", stats.self_time * 1e3, global_step)

    def __enter__(self) -> "SummaryWriter":
        return self

    def __exit__(self, *exc: object) -> None:
        self._writer.close()


def _method(name: str) -> Callable[..., Any]:
    def method(self: SummaryWriter, *args: Any, **keywords: Any) -> Any:
        return getattr(self._writer, name)(*map(_plain, args), **{key: _plain(v) for key, v in keywords.items()})

    method.__name__, method.__qualname__ = name, f"SummaryWriter.{name}"
    method.__doc__ = f"``{name}`` of tensorboardX and PyTorch, for tensors."
    return method


for _name in _METHODS:
    setattr(SummaryWriter, _name, _method(_name))
