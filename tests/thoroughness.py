"""How much a generated test tries: little in every run, thousands of cases in ``make nightly``."""

import os

#: Set by ``make nightly``.
NIGHTLY = bool(os.environ.get("LUCIDGRAD_NIGHTLY"))


def cases(quick: int, nightly: int) -> int:
    """The number of random cases to try in this run."""
    return nightly if NIGHTLY else quick
