"""An emulated CUDA device, for machines without a GPU: tests, continuous integration, a look at what is launched.

Call `install` before CuPy is imported, or run a program with it: ``python -m lucidgrad.cudasim pytest tests``.
"""

from .backends.cudasim import *  # noqa: F403
from .backends.cudasim import __all__ as __all__

if __name__ == "__main__":
    from .backends.cudasim.launcher import main

    main()
