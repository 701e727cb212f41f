"""What this installation is made of."""

from .core import device

__all__ = ["get_num_threads", "set_num_threads", "show_config"]

__version__ = "0.1.0"


def show_config() -> None:
    """Print the version, the back ends (those in use, and those that a device name would load), and the CPU's compiler.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.show_config()  # doctest: +ELLIPSIS
    lucidgrad ...
    """
    print(f"lucidgrad {__version__}")
    for name, state in device.known().items():
        print(f"  {name}: {state}")
    from .backends.cpu.compiled import building, threads

    print(f"  compiled kernels on the CPU: {building.status()}, {threads.get_num_threads()} threads")


def get_num_threads() -> int:
    """The number of threads that loops of compiled kernels on the CPU are shared among.

    At first it is ``OMP_NUM_THREADS``, else the number of processors that this process may use. A child of `fork`
    has one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.config.get_num_threads() >= 1
    True
    """
    from .backends.cpu.compiled import threads

    return threads.get_num_threads()


def set_num_threads(n: int) -> None:
    """Share loops of compiled kernels on the CPU among ``n`` threads.

    Results do not depend on it. Matrix products have threads of their own, those of NumPy's BLAS
    (``OPENBLAS_NUM_THREADS``, or the package threadpoolctl).

    Examples
    --------
    >>> import lucidgrad as lg
    >>> before = lg.config.get_num_threads()
    >>> lg.config.set_num_threads(1)
    >>> lg.config.get_num_threads()
    1
    >>> lg.config.set_num_threads(before)
    """
    from .backends.cpu.compiled import threads

    threads.set_num_threads(n)
