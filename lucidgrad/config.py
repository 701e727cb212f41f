"""What this installation is made of."""

from importlib import metadata

from .core import device

try:
    __version__ = metadata.version("lucidgrad")
except metadata.PackageNotFoundError:  # run from a checkout that is not installed
    __version__ = "unknown"


def show_config() -> None:
    """Print the version and the back ends: those in use, and those that a device name would load.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.show_config()  # doctest: +ELLIPSIS
    lucidgrad ...
    """
    print(f"lucidgrad {__version__}")
    for name, state in device.known().items():
        print(f"  {name}: {state}")
