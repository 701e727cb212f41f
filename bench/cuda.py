"""``python -m bench.cuda``: `lucidgrad.bench.gpu`, which installations have as well."""

import sys

from lucidgrad.bench.gpu import main

if __name__ == "__main__":
    sys.exit(main())
