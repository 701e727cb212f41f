"""What this installation is made of."""

from .core import device

__version__ = "0.1.0"


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
