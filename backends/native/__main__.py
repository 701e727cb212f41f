"""``python -m lucidgrad.backends.native``: build the compiled engine, if it is not there, and tell where it lies."""

import os
import sys

os.environ["LUCIDGRAD_ENGINE"] = "compiled"

from lucidgrad.backends.native import load, status  # noqa: E402  what loads it looks there

if __name__ == "__main__":
    try:
        load()
    except ImportError as error:
        sys.exit(str(error))
    print(status())
