"""How much a generated test tries, and of what: a few cases, always the same ones, in every run; in ``make nightly``
thousands, and others each night."""

import datetime
import os
import random
import zlib
from typing import Any

#: Set by ``make nightly``.
NIGHTLY = bool(os.environ.get("LUCIDGRAD_NIGHTLY"))

#: What the cases of a nightly run are drawn by: the day, unless LUCIDGRAD_SEED says otherwise. It stays in the
#: environment, so that all processes of a run agree after midnight, too.
SEED = int(os.environ.setdefault("LUCIDGRAD_SEED", str(datetime.date.today().toordinal()))) if NIGHTLY else 0

#: Of so many tests one is run, another each night; all of them unless LUCIDGRAD_SHARE says otherwise.
SHARE = int(os.environ.get("LUCIDGRAD_SHARE") or 1)


def cases(quick: Any, nightly: Any) -> Any:
    """The number of random cases to try in this run, or whatever else depends on it."""
    return nightly if NIGHTLY else quick


def seeds(quick: int, nightly: int, first: int = 0) -> range:
    """The numbers of the random cases to try in this run."""
    first += SEED * 10**7
    return range(first, first + cases(quick, nightly))


def draw(what: int | str) -> random.Random:
    """Random numbers for something, others each night."""
    return random.Random(f"{what} {SEED}" if SEED else what)


def in_share(test: str) -> bool:
    """Whether a test is among those of this run; in as many nights as there are shares, all are."""
    night = int(os.environ.get("LUCIDGRAD_SEED") or datetime.date.today().toordinal())
    return (zlib.crc32(test.encode()) + night) % SHARE == 0
