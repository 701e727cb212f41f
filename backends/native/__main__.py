"""``python -m lucidgrad.backends.native``: build the compiled engine, if it is not there, and tell where it lies."""

import os
import sys

from lucidgrad import native

from . import status

if __name__ == "__main__":
    os.environ["LUCIDGRAD_ENGINE"] = "compiled"
    try:
        native.parts()
    except ImportError as error:
        sys.exit(str(error))
    print(status())
