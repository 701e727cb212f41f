"""Samples of sums over paths."""

from typing import Any

import lucidgrad.ops.ctc  # noqa: F401  this is loaded on demand


def _paths() -> dict[str, Any]:
    from rows import booleans, call, integers

    none, skip = [False] * 5, [False, False, False, True, False]
    begin = [True, True, False, False, False]
    end = [False, False, False, True, True]
    short = [False, True, True, False, False]
    return {
        "path_logsumexp": [
            call((4, 2, 5), booleans(skip, none), booleans(begin, begin), booleans(end, short), integers(4, 3)),
            call((3, 1, 1), booleans([False]), booleans([True]), booleans([True]), integers(2)),
            call((1, 2, 3), *[booleans(none[:3], none[:3])] + [booleans(begin[:3], begin[:3])] * 2, integers(1, 1)),
            call((2, 0, 3), *[booleans(skip)[:0, :3]] * 3, integers()),
        ]
    }


ROWS = _paths()
