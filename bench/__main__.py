"""``python -m bench``: see bench/README.md. The benchmark itself is a part of the package, `lucidgrad.bench`."""

import sys

from lucidgrad.bench.__main__ import main

sys.exit(main("python -m bench", whole=True))
